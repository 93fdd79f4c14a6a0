"""What people answered, as the place of the option they chose.

An answer names the object itself, or the side it was on, or counts options from 0 or from 1, or is +1 and -1. Which
of these it is, is a property of the whole column and never guessed row by row.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer.formats.columns import plain
from nearer.formats.faults import Faults
from nearer.formats.table import Codes, Column

UNDECIDED = -2
_UNKNOWN = -1
_MISTAKES = 0.05  # share of answers that may be mistakes; a reading that leaves more unexplained is not the right one

_UNDECIDED = (
    "canttell cannottell cantsay cannotsay cantdecide cannotdecide dontknow donotknow dunno idk noidea equal equally "
    "equallysimilar same thesame tie tied draw skip skipped unsure notsure neither neitherone none both undecided "
    "noanswer nopreference nodifference unknown dk weissnicht gleich"
)
_UNDECIDED_WORDS = frozenset(_UNDECIDED.split())
_SIDES = {
    2: (
        "left l first 1st a top arrowleft leftarrow optiona option1 pair1 pairleft leftpair up",
        "right r second 2nd b bottom arrowright rightarrow optionb option2 pair2 pairright rightpair down",
    ),
    3: (
        "left l first 1st a arrowleft leftarrow optiona option1",
        "middle center centre second 2nd b m optionb option2 arrowdown",
        "right r third 3rd c arrowright rightarrow optionc option3",
    ),
}


def is_undecided(value: Any) -> bool:
    """Whether a word says that somebody cannot tell.

    Examples
    --------
    >>> is_undecided("Can't tell"), is_undecided("?"), is_undecided("cat")
    (True, True, False)
    """
    text = str(value)
    return text.strip(" ?") == "" or plain(text) in _UNDECIDED_WORDS


def read_places(
    answer: Column,
    labels: list[Any],
    options: list[Codes],
    names: list[str],
    faults: Faults,
    source: str,
    from_zero: bool = False,
) -> NDArray[np.int8]:
    """Return the place, (n,), of the option chosen, or UNDECIDED, or -1 in rows that are bad.

    Parameters
    ----------
    answer : Column
    labels : list
        All objects.
    options : list of arrays (n,)
        Positions in ``labels`` of what was shown at each place.
    names : list of str
        Names of the columns of the options, which answers may repeat.
    faults : Faults
        Rows that cannot be used are added.
    source : str
    from_zero : bool
        Whether numbers are known to count from 0.
    """
    usable = ~faults.bad & (answer.codes >= 0)
    position = {str(label): index for index, label in enumerate(labels)}
    named = answer.mapped(lambda value: position.get(str(value), -1), -1, np.int32)
    by_label = np.full(len(named), _UNKNOWN, np.int8)
    for place in range(len(options) - 1, -1, -1):
        by_label[(named >= 0) & (named == options[place])] = place
    base = _base(answer, len(options), from_zero)
    by_word = answer.mapped(lambda value: _place_of_word(value, names, len(options)), _UNKNOWN, np.int8)
    by_number = answer.mapped(lambda value: _place_of_number(value, base, len(options)), _UNKNOWN, np.int8)
    # A word or a number means the same thing all through a column, also where an object happens to have its name.
    if _by_labels(by_label, by_number, usable, answer, source, known=from_zero):
        by_number[:] = _UNKNOWN
    else:
        by_label[answer.mapped(lambda value: _integer(value) is not None, False, bool)] = _UNKNOWN
    undecided = answer.mapped(is_undecided, False, bool) & (by_word < 0)
    if _by_labels(by_label, by_word, usable, answer, source):
        by_word[named >= 0] = _UNKNOWN
        undecided &= named < 0
    else:
        by_label[(by_word >= 0) | undecided] = _UNKNOWN
    places = np.where(by_label >= 0, by_label, np.where(by_word >= 0, by_word, by_number))
    places[undecided] = UNDECIDED
    faults.add(answer.codes < 0, "there is no answer")
    numbers = _numbers(answer)
    unclear = base is None and bool(numbers) and numbers <= set(range(len(options) + 1))
    if unclear and usable.any() and (places[usable] == _UNKNOWN).all():
        raise ValueError(
            f"{source}: the answers are numbers that may count from 0 or from 1; write left and right, or the objects"
        )
    faults.add(places == _UNKNOWN, lambda row: f"the answer {answer.text(row)} is none of the objects shown")
    return places


def _by_labels(
    by_label: NDArray[np.int8],
    by_side: NDArray[np.int8],
    usable: NDArray[np.bool_],
    answer: Column,
    source: str,
    known: bool = False,
) -> bool:
    """Whether the answers name objects and not sides.

    Where the two readings differ, one must explain nearly all answers and the other must not.

    Parameters
    ----------
    by_label, by_side : ndarray of int, shape (n,)
        Places by either reading.
    usable : ndarray of bool, shape (n,)
    answer : Column
    source : str
    known : bool
        Whether sides are what is written, unless most of them are out of range.
    """
    labels, sides = (by_label >= 0) & usable, (by_side >= 0) & usable
    n_labels, n_sides = int(labels.sum()), int(sides.sum())
    differ = labels & sides & (by_label != by_side)
    if known or not differ.any():
        return n_labels > n_sides if known else n_labels >= n_sides
    enough = (1 - _MISTAKES) * int((labels | sides).sum())
    if (n_labels >= enough) == (n_sides >= enough):
        first = int(np.flatnonzero(differ)[0])
        raise ValueError(
            f"{source}: the answers can be read as objects or as places (such as {answer.text(first)}), which is not "
            f"the same in {int(differ.sum())} rows; rename the objects (o1, o2, ...), or put what was nearer and what "
            "was farther into columns near and far"
        )
    return n_labels >= enough


def _integer(value: Any) -> int | None:
    text = str(value)
    return int(float(text)) if re.fullmatch(r"[+-]?\d{1,6}(\.0+)?", text) else None


def _numbers(answer: Column) -> set[int]:
    present = set(np.unique(answer.codes).tolist()) - {-1}
    return {number for code in present if (number := _integer(answer.values[code])) is not None}


def _base(answer: Column, n_options: int, from_zero: bool) -> int | None:
    """Return what numbers count from: 0, 1, or -1 for answers of +1 and -1; None if that cannot be told."""
    numbers = _numbers(answer)
    if from_zero:
        return 0
    zero, last = 0 in numbers, n_options in numbers  # other numbers are mistakes, and found row by row
    if n_options == 2 and -1 in numbers and not zero and not last:
        return -1
    return None if zero == last else (0 if zero else 1)


def _place_of_number(value: Any, base: int | None, n_options: int) -> int:
    number = _integer(value)
    if number is None or base is None:
        return _UNKNOWN
    place = {1: 0, -1: 1}.get(number, _UNKNOWN) if base < 0 else number - base
    return place if 0 <= place < n_options else _UNKNOWN


def _place_of_word(value: Any, names: list[str], n_options: int) -> int:
    word = plain(str(value))
    if not word or word.isdigit():
        return _UNKNOWN
    spelled = [plain(name) for name in names]
    if word in spelled:
        return spelled.index(word)
    for place, words in enumerate(_SIDES[n_options]):
        if word in words.split():
            return place
    return _UNKNOWN

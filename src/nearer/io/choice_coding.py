"""Answers as the place of the option chosen: what names, sides, numbers and truth values mean.

Which of these an answer is, and which option a code means, is a property of the whole column and never guessed row by
row. Numbers count from 1 where the number of options occurs and 0 does not, and from 0 the other way round. Of two
options, 0 and 1, +1 and -1, and truth values may as well tell whether the first was chosen: they are ambiguous, unless
a program is known to write them, or the column is named after the option (left_chosen).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer.data.labels import normalize_name
from nearer.io.columns import LEFT_CHOSEN, ORDINALS, RIGHT_CHOSEN
from nearer.io.messages import one_of, shortened
from nearer.io.table import Codes, Column, Numbers, RowErrors

UNDECIDED = -2
_UNKNOWN = -1
MAX_MISTAKEN_SHARE = 0.05  # of answers; a reading that leaves more unexplained is not the right one

_UNDECIDED = (
    "canttell cannottell cantsay cannotsay cantdecide cannotdecide dontknow donotknow dunno idk noidea equal equally "
    "equallysimilar same thesame tie tied draw skip skipped unsure notsure neither neitherone none both undecided "
    "noanswer nopreference nodifference unknown dk weissnicht gleich"
)
_UNDECIDED_WORDS = frozenset(_UNDECIDED.split())
_SIDE_WORDS = {
    2: (
        "left l first 1st a top arrowleft leftarrow optiona option1 item1 pair1 pairleft leftpair up a1 ao01",
        "right r second 2nd b bottom arrowright rightarrow optionb option2 item2 pair2 pairright rightpair down a2 "
        "ao02",
    ),
    3: (
        "left l first 1st a arrowleft leftarrow optiona option1 item1 a1 ao01",
        "middle center centre second 2nd b m optionb option2 item2 arrowdown a2 ao02",
        "right r third 3rd c arrowright rightarrow optionc option3 item3 a3 ao03",
    ),
}


def is_undecided(value: Any) -> bool:
    """Whether a word says that somebody cannot tell."""
    text = str(value)
    return text.strip(" ?") == "" or normalize_name(text) in _UNDECIDED_WORDS


def read_places(
    answer: Column,
    labels: list[Any],
    options: Sequence[Codes],
    names: list[str],
    errors: RowErrors,
    source: str,
    coding: Coding,
    titles: Sequence[str] = (),
    wanted: str = "chosen",
) -> NDArray[np.int8]:
    """Return the place, (n,), of the option chosen, or UNDECIDED, or -1 in rows that are bad."""
    usable = ~errors.bad & answer.filled
    n_options = len(options)
    position = {str(label): index for index, label in enumerate(labels)}
    named = answer.map_values(lambda value: position.get(str(value), -1), -1, np.int32)
    by_label = np.full(len(named), _UNKNOWN, np.int8)
    for place in range(n_options - 1, -1, -1):
        by_label[(named >= 0) & (named == options[place])] = place
    coded = _coded(answer, usable, coding)
    known = coding.places(coded, n_options) if coded else {}
    tried = known
    if tried is None:  # as many answers as possible mean something, to see whether they are codes at all
        values = sorted({normalize_code(value) for value in coded})
        small = [value for value in values if -1 <= (integer(value) or 0) <= n_options]
        tried = {value: min(at, n_options - 1) for at, value in enumerate(small)}
    by_word = answer.map_values(lambda value: place_of_word(value, names, n_options), _UNKNOWN, np.int8)
    by_code = answer.map_values(lambda value: tried.get(normalize_code(value), _UNKNOWN), _UNKNOWN, np.int8)
    if coding.first is not None:
        by_word[by_code >= 0] = _UNKNOWN

    def ambiguous(rows: NDArray[np.bool_], values: list[Any]) -> AmbiguousCoding:
        examples = (
            (normalize_code(answer.value(row)), titles or [shortened(labels[codes[row]]) for codes in options])
            for row in np.flatnonzero(rows).tolist()
        )
        return AmbiguousCoding(f"{source}: {_describe_ambiguity(values, examples, n_options, not titles, wanted)}")

    # A word or a number means the same thing all through a column, also where an object happens to have its name.
    if _answers_name_objects(by_label, by_code, usable, answer, source, known=coding.known):
        by_code[:] = _UNKNOWN
    elif known is None and (by_code[usable] >= 0).any():
        raise ambiguous(usable & (by_code >= 0), coded)
    else:
        by_label[answer.map_values(is_coded, False, bool)] = _UNKNOWN
    undecided = answer.map_values(is_undecided, False, bool) & (by_word < 0) & (by_code < 0)
    if _answers_name_objects(by_label, by_word, usable, answer, source):
        by_word[named >= 0] = _UNKNOWN
        undecided &= named < 0
    else:
        by_label[(by_word >= 0) | undecided] = _UNKNOWN
    places = np.where(by_label >= 0, by_label, np.where(by_word >= 0, by_word, by_code))
    places[undecided] = UNDECIDED
    unknown = usable & (places == _UNKNOWN)
    if n_options == 2 and coding.first is None and not (usable & (places >= 0)).any():
        words = answer[unknown].present
        if len(words) == 2:  # two keys, or yes and no
            raise ambiguous(unknown, words)
    errors.add(~answer.filled, "missing", what="answer")
    if not titles:
        _find_gaps(options, (by_label < 0) & (by_word < 0), places, answer, errors)

    def unknown_answer(row: int) -> Numbers:
        shown = [str(labels[codes[row]]) for codes in options if codes[row] >= 0]
        return {"answer": answer.value(row), "shown": shown}

    errors.add(places == _UNKNOWN, "unknown-answer", unknown_answer)
    return places


def _coded(answer: Column, usable: NDArray[np.bool_], coding: Coding) -> list[Any]:
    """Return the distinct answers that are codes: numbers and truth values, or anything if the caller says one."""
    present = answer[usable].present
    if coding.first is None:
        return [value for value in present if is_coded(value)]
    first = normalize_code(coding.first)
    return [value for value in present if normalize_code(value) == first or not is_undecided(value)]


def _describe_ambiguity(
    coded: list[Any], examples: Iterable[tuple[str, Sequence[str]]], n_options: int, have_names: bool, wanted: str
) -> str:
    """Return both readings of an ambiguous coding, with the first of some answers, and options, that they differ on."""
    values = sorted({normalize_code(value) for value in coded})
    numbers = [number for value in values if (number := integer(value)) is not None]
    counted = len(numbers) == len(values) and min(numbers) >= 0 and (n_options > 2 or max(numbers) > 1 or min(numbers))
    what = "that may count from 0 or from 1" if counted else "whose meaning is ambiguous"
    message = f"the answers are {' and '.join(values) if len(values) < 3 else ', '.join(values[:6])}, {what}"
    readings: dict[str, dict[str, int]] = {}
    for first in candidates(coded, n_options):
        with suppress(ValueError):
            readings[first] = Coding(first=first).places(coded, n_options) or {}
    for value, shown in examples:
        places = {first: meaning.get(value, -1) for first, meaning in readings.items()}
        if len(set(places.values())) > 1 and min(places.values()) >= 0:
            for first, place in places.items():
                options = ", ".join(shown)
                message += f"; if {first} means the first option, then {value} chooses {shown[place]} from {options}"
            break
    if not readings:  # true and false name none of three
        return f"{message}. Write the name or the position of the {wanted} item"
    names = f"the name of the {wanted} item" if n_options > 2 else "left and right"
    names += ", or the objects" if n_options == 2 and have_names else ""
    return f"{message}. Use {one_of('first_is', readings)}, or write {names}"


def _find_gaps(
    options: Sequence[Codes], counted: NDArray[np.bool_], places: NDArray[np.int8], answer: Column, errors: RowErrors
) -> None:
    """Add rows whose answer is a place that shows nothing, or a number that may count such a place or not."""
    shown = np.stack(options, axis=1)
    if (shown >= 0).all():
        return
    chosen = np.clip(places, 0, None)[:, None]
    empty = (places >= 0) & (np.take_along_axis(shown, chosen, axis=1)[:, 0] < 0)
    places[empty] = _UNKNOWN
    before = np.take_along_axis(np.cumsum(shown < 0, axis=1), chosen, axis=1)[:, 0] > 0
    errors.add(counted & (places >= 0) & before, "number-after-gap", lambda row: {"value": answer.value(row)})


def _answers_name_objects(
    by_label: NDArray[np.int8],
    by_side: NDArray[np.int8],
    usable: NDArray[np.bool_],
    answer: Column,
    source: str,
    known: bool = False,
) -> bool:
    """Whether the answers name objects and not sides.

    Where the two readings differ, one must explain nearly all answers and the other must not.
    """
    labels, sides = (by_label >= 0) & usable, (by_side >= 0) & usable
    n_labels, n_sides = int(labels.sum()), int(sides.sum())
    differ = labels & sides & (by_label != by_side)
    if known or not differ.any():
        return n_labels > n_sides if known else n_labels >= n_sides
    enough = (1 - MAX_MISTAKEN_SHARE) * int((labels | sides).sum())
    if (n_labels >= enough) == (n_sides >= enough):
        raise ValueError(
            f"{source}: the answers can be read as objects or as places (such as "
            f"{shortened(answer.value(int(differ.argmax())))}), which is not the same in {int(differ.sum())} rows; "
            "rename the objects (o1, o2, ...), or put what was nearer and what was farther into columns near and far"
        )
    return n_labels >= enough


def place_of_word(value: Any, names: list[str], n_options: int) -> int:
    """Return the place that a word means: the name of a column, or a side; -1 for all else."""
    word = normalize_name(str(value))
    if not word or word.isdigit():
        return _UNKNOWN
    for words_of_places in ([[normalize_name(name)] for name in names], _words_of_places(n_options)):
        for place, words in enumerate(words_of_places):
            if word in words:
                return place
    return _UNKNOWN


@cache
def _words_of_places(n_options: int) -> list[list[str]]:
    if n_options in _SIDE_WORDS:
        return [words.split() for words in _SIDE_WORDS[n_options]]
    return [[*ORDINALS[place : place + 1], f"option{place + 1}", f"item{place + 1}"] for place in range(n_options)]


TRUTH_VALUES = ("true", "false")
_AS_WRITTEN = {"1": 0, "true": 0, "-1": 1, "0": 1, "false": 1}


class AmbiguousCoding(ValueError):
    """Answers whose coding is ambiguous."""


def integer(value: Any) -> int | None:
    """Return the whole number that a cell holds, or None."""
    text = str(value)
    return int(float(text)) if re.fullmatch(r"[+-]?\d{1,6}(\.0+)?", text) else None


def normalize_code(value: Any) -> str:
    """Return a value as codings know it: "+1" and "1.0" are "1", "TRUE" is "true"."""
    number = integer(value)
    return str(value).strip().casefold() if number is None else str(number)


def is_coded(value: Any) -> bool:
    """Whether a value is a number or a truth value."""
    return integer(value) is not None or normalize_code(value) in TRUTH_VALUES


@dataclass(frozen=True)
class Coding:
    """What is known of the answers of a table."""

    from_zero: bool = False  # whether numbers count from 0
    as_written: bool = False  # whether 1 and true mean the first of two options, and -1, 0 and false the second
    reversed: bool = False  # whether it is the second that 1 and true mean
    first: str | None = None  # the value that means the first option, as the caller says

    @property
    def known(self) -> bool:
        """Whether numbers are codes, also where they could be objects."""
        return self.from_zero or self.as_written or self.first is not None

    def of_column(self, name: str) -> Coding:
        """Return what is known of a column with such a name."""
        if self.first is None and not self.from_zero and normalize_name(name) in (*LEFT_CHOSEN, *RIGHT_CHOSEN):
            return replace(self, as_written=True, reversed=normalize_name(name) in RIGHT_CHOSEN)
        return self

    def places(self, values: Iterable[Any], n_options: int) -> dict[str, int] | None:
        """Return the place of every value; None if that is ambiguous.

        ``values`` are all distinct answers that name no option.
        """
        present = {normalize_code(value) for value in values}
        if self.first is not None and n_options == 2:
            return _two_options(self.first, present)
        if self.first is not None:
            return {str(place + self.counts_from()): place for place in range(n_options)}
        if self.as_written and n_options == 2:
            return {value: 1 - place if self.reversed else place for value, place in _AS_WRITTEN.items()}
        numbers = {number for value in present if (number := integer(value)) is not None}
        if self.from_zero and n_options in numbers:
            return None  # the last of them would be the number before
        if self.from_zero or self.as_written:
            return {str(place): place for place in range(n_options)}
        if present & set(TRUTH_VALUES) or (n_options == 2 and numbers & {0, -1}):
            return None
        zero, last = 0 in numbers, n_options in numbers  # other numbers are mistakes, and found row by row
        return None if zero == last else {str(place + (not zero)): place for place in range(n_options)}

    def counts_from(self) -> int:
        """Return the number that means the first of many options."""
        number = None if self.first is None else integer(self.first)
        if number is None:
            raise ValueError(
                f"first_is={self.first!r}: it must be a number where there are more than two options; if the answers "
                "are no numbers, write the name or the position of what was chosen"
            )
        return number


def _two_options(first_is: str, present: set[str]) -> dict[str, int]:
    first = normalize_code(first_is)
    others = sorted(present - {first})
    number = integer(first)
    after = None if number is None else str(number + 1)
    if len(others) > 1 and after not in others:
        listed = ", ".join(map(repr, others[:6]))
        raise ValueError(f"first_is={first_is!r}: which of {listed} means the second option is ambiguous")
    if first not in present and after not in others and len(others) != 1:
        raise ValueError(f"first_is={first_is!r}: no answer is {first!r}")
    return {first: 0} | dict.fromkeys([each for each in others if each == after] or others[:1], 1)


def candidates(values: Iterable[Any], n_options: int) -> tuple[str, str]:
    """Return two values that may mean the first option."""
    present = {normalize_code(value) for value in values}
    if present & set(TRUTH_VALUES):
        return TRUTH_VALUES
    if len(present) == 2 and all(integer(value) is None for value in present):
        return min(present), max(present)
    return ("1", "-1") if "-1" in present and n_options == 2 else ("0", "1")

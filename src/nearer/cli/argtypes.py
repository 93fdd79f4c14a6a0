"""Types of option values: each reads a value from text, or states what is needed.

Every number has a range: what lies beyond is a slip of the keyboard, or would compute for longer than anyone waits.
"""

from __future__ import annotations

import re
from argparse import ArgumentTypeError
from collections.abc import Callable
from math import nan
from pathlib import Path

from nearer._common.formatting import intcomma, quote

KINDS = ("triplet", "quadruplet", "odd-one-out", "most-central", "grid", "ranking", "ranked-grid")
PAIR_KINDS = ("matrix", "ratings", "same-different", "confusions", "arrangement", "sorting")
_MAX_COUNT = 10**9
_MAX_DIMENSIONS = 1000
_MAX_SECONDS = 10**7  # about four months
_MAX_PRICE = 10**6
_MAX_DIGITS = 20  # Python refuses to read whole numbers of thousands of digits
_MAX_WORD_LENGTH = 60


def whole(least: int = 0, most: int = _MAX_COUNT) -> Callable[[str], int]:
    """Return a type of whole numbers.

    >>> whole(most=9)("12")
    Traceback (most recent call last):
    argparse.ArgumentTypeError: a whole number, 0 or more and at most 9, is needed, not '12'
    """

    def read(text: str) -> int:
        value = int(text) if text.isdecimal() and len(text) <= _MAX_DIGITS else -1
        if not least <= value <= most:
            needed = f"a whole number, {least} or more and at most {intcomma(most)}, is needed"
            raise ArgumentTypeError(f"{needed}, not {quote(text)}")
        return value

    return read


def real(low: float, high: float, needed: str, *, closed: bool = False) -> Callable[[str], float]:
    """Return a type of numbers between ``low`` and ``high``; ``closed``: or ``low`` itself."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = nan
        if not (low < value < high or (closed and value == low)):
            raise ArgumentTypeError(f"{needed} is needed, not {quote(text)}")
        return value

    return read


def scale(text: str) -> tuple[float, float]:
    """Return the ends of a scale, such as 1,7."""
    ends = text.split(",")
    try:
        low, high = map(float, ends)
    except ValueError:
        low = high = nan
    if not low < high:
        raise ArgumentTypeError(f"two numbers are needed, the lower first, such as 1,7, not {quote(text)}")
    return low, high


positive = whole(1)
port = whole(1, 65535)
dimensions = whole(1, _MAX_DIMENSIONS)
jobs = whole(1, 1024)
resamples = whole(0, 10_000)
seed = whole(0, 10**18)
dots = whole(20, 2400)
permutations = whole(19, 10**6)  # which can reach a p of 0.05
folds = whole(2, 100)
share = real(0, 1, "a number between 0 and 1")
share_or_none = real(0, 1, "a number from 0 to below 1", closed=True)
displacement = real(0, 10, "a displacement between 0 and 10 spreads")
effect = real(0, 10, "an effect from 0 to below 10", closed=True)
error = real(0, 0.5, "a number between 0 and 0.5, where guessing begins,")
noise = real(0, 0.5, "a number from 0 to below 0.5, where guessing begins,", closed=True)
price = real(0, _MAX_PRICE, f"an amount from 0 to {intcomma(_MAX_PRICE)}", closed=True)
seconds = real(0, _MAX_SECONDS, f"a number of seconds above 0, below {intcomma(_MAX_SECONDS)},")
points = real(1, 100, "a size in points between 1 and 100")


def positives(text: str) -> tuple[int, ...]:
    """Return whole numbers, 1 or more, separated by commas."""
    return tuple(map(positive, text.split(",")))


def word(text: str) -> str:
    """Return a name, such as that of a column."""
    if not 0 < len(text.strip()) <= _MAX_WORD_LENGTH:
        raise ArgumentTypeError(f"a name of at most {_MAX_WORD_LENGTH} characters is needed, not {quote(text)}")
    return text.strip()


def word_or_file(text: str) -> str:
    """Return a name, such as that of a column, or the path of a file that exists."""
    return text if text.strip() and Path(text).exists() else word(text)


def words(text: str) -> tuple[str, ...]:
    """Return words separated by commas, each once."""
    found = tuple(dict.fromkeys(word.strip() for word in text.split(",")))
    if not all(0 < len(word) <= _MAX_WORD_LENGTH for word in found):
        raise ArgumentTypeError(
            f"names separated by commas are needed, each at most {_MAX_WORD_LENGTH} characters long, not {quote(text)}"
        )
    return found


def names(text: str) -> tuple[str, ...]:
    """Return words separated by commas in capital letters, as methods are named."""
    return words(text.upper())


def names_or_file(text: str) -> tuple[str, ...]:
    """Return words separated by commas, or the name of a file that holds them."""
    return (text,) if Path(text).is_file() else words(text)


def number_or_names(text: str) -> int | tuple[str, ...]:
    """Return a number, 1 or more, or words separated by commas, or the name of a file that holds them."""
    return positive(text) if text.isdecimal() else names_or_file(text)


def number_or_file(text: str) -> int | Path:
    """Return a number, or the name of a file."""
    return whole()(text) if text.isdecimal() else Path(text)


def question_kind(text: str) -> str:
    """Return a kind of question, such as ``odd-one-out``, or ``2 of 8`` for a grid."""
    if text not in KINDS and not re.fullmatch(r"\d{1,2} of \d{1,2}", text):
        raise ArgumentTypeError(f"one of {', '.join(KINDS)}, or such as '2 of 8', is needed, not {quote(text)}")
    return text


def column_values(text: str) -> tuple[str, list[str]]:
    """Return ``COLUMN=VALUE,...`` as the column and its values: ("person", ["TEST", "p07"])."""
    column, sign, values = text.partition("=")
    found = [value.strip() for value in values.split(",")]
    if not sign or not column.strip() or not all(found):
        raise ArgumentTypeError(f"COLUMN=VALUE is needed, or COLUMN=VALUE,VALUE,..., not {quote(text)}")
    return column.strip(), found


def rule(text: str) -> str:
    """Return a rule about rows, such as ``rt > 0.2``, as it is."""
    from nearer.io.selecting import parse_rules

    try:
        parse_rules(text)
    except ValueError as error:
        raise ArgumentTypeError(f"a rule is needed: {error}") from None
    return text


def pairs(text: str) -> dict[str, str]:
    """Return ``NAME=VALUE,...`` as a dict."""
    found: dict[str, str] = {}
    for part in text.split(","):
        key, sign, value = part.partition("=")
        if not sign or not key.strip():
            raise ArgumentTypeError(f"NAME=VALUE is needed, separated by commas, not {quote(part)}")
        found[key.strip()] = value.strip()
    return found


def named_file(text: str) -> tuple[str | None, Path]:
    """Return ``NAME=FILE``, or ``FILE``, as the name, if there is one, and the file.

    >>> named_file("pixels=vectors.npz")
    ('pixels', PosixPath('vectors.npz'))
    >>> named_file("vectors.npz")[0] is None
    True
    """
    name, sign, file = text.partition("=")
    if not sign or Path(text).exists():
        return None, Path(text)
    if not file:
        raise ArgumentTypeError(f"FILE or NAME=FILE is needed, not {quote(text)}")
    return word(name), Path(file)


def axes_pair(text: str) -> tuple[int, int]:
    """Return two different axes, counted from 1, separated by a comma."""
    try:
        first, second = (dimensions(part.strip()) for part in text.split(","))
    except (ArgumentTypeError, ValueError):
        first = second = 0
    if first == second:
        raise ArgumentTypeError(f"two different axes, such as 1,3, are needed, not {quote(text)}")
    return first, second


def millimetres(text: str) -> tuple[float, float | None]:
    """Return a width and a height, or the width alone.

    >>> millimetres("85x60"), millimetres("170")
    ((85.0, 60.0), (170.0, None))
    """
    side = real(9.99, 2000.01, "a size in millimetres from 10 to 2000, such as 85x60 or 85,")
    sides = [side(part) for part in text.lower().replace("mm", "").split("x", 1)]
    return sides[0], sides[1] if len(sides) > 1 else None

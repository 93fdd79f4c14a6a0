"""Values of options: each function reads one from text, or says what is needed.

Every number has a range: what lies beyond is a slip of the keyboard, or would compute for longer than anyone waits.
"""

from __future__ import annotations

import re
from argparse import ArgumentTypeError
from math import nan
from pathlib import Path

from nearer._common.formatting import intcomma, quote

KINDS = ("triplet", "quadruplet", "odd-one-out", "most-central", "grid", "ranking", "ranked-grid")
MOST = 10**9  # of anything that is counted
MOST_DIMENSIONS = 1000
MOST_JOBS = 1024
MOST_RESAMPLES = 10_000
MOST_SEED = 10**18
MOST_SECONDS = 10**7  # about four months
MOST_PRICE = 10**6
_MOST_DIGITS = 20  # Python refuses to read whole numbers of thousands
_LONGEST_WORD = 60


def natural(text: str, least: int = 0, most: int = MOST) -> int:
    """Return a whole number from ``least`` to ``most``.

    Examples
    --------
    >>> natural("12", most=9)
    Traceback (most recent call last):
    argparse.ArgumentTypeError: a whole number, 0 or more and at most 9, is needed, not '12'
    """
    value = int(text) if text.isdecimal() and len(text) <= _MOST_DIGITS else -1
    if not least <= value <= most:
        raise ArgumentTypeError(
            f"a whole number, {least} or more and at most {intcomma(most)}, is needed, not {quote(text)}"
        )
    return value


def positive(text: str) -> int:
    """Return a whole number, 1 or more."""
    return natural(text, least=1)


def port(text: str) -> int:
    """Return the number of a port."""
    return natural(text, 1, 65535)


def positives(text: str) -> tuple[int, ...]:
    """Return whole numbers, 1 or more, that commas separate.

    Examples
    --------
    >>> positives("200,500")
    (200, 500)
    """
    return tuple(map(positive, text.split(",")))


def dimensions(text: str) -> int:
    """Return a number of dimensions."""
    return natural(text, 1, MOST_DIMENSIONS)


def jobs(text: str) -> int:
    """Return how many processes may run side by side."""
    return natural(text, 1, MOST_JOBS)


def resamples(text: str) -> int:
    """Return a number of bootstrap maps, which may be none."""
    return natural(text, 0, MOST_RESAMPLES)


def seed(text: str) -> int:
    """Return what random numbers start from."""
    return natural(text, 0, MOST_SEED)


def number(text: str, low: float, high: float, needed: str, *, closed: bool = False) -> float:
    """Return a number between ``low`` and ``high``; ``closed``: or ``low`` itself."""
    try:
        value = float(text)
    except ValueError:
        value = nan
    if not (low < value < high or (closed and value == low)):
        raise ArgumentTypeError(f"{needed} is needed, not {quote(text)}")
    return value


def share(text: str) -> float:
    """Return a number between 0 and 1."""
    return number(text, 0, 1, "a number between 0 and 1")


def share_or_none(text: str) -> float:
    """Return a number from 0 to below 1."""
    return number(text, 0, 1, "a number from 0 to below 1", closed=True)


def error(text: str) -> float:
    """Return a share of wrong answers that is better than guessing."""
    return number(text, 0, 0.5, "a number between 0 and 0.5, where guessing begins,")


def noise(text: str) -> float:
    """Return a share of wrong answers, which may be none."""
    return number(text, 0, 0.5, "a number from 0 to below 0.5, where guessing begins,", closed=True)


def price(text: str) -> float:
    """Return an amount of money."""
    return number(text, 0, MOST_PRICE, f"an amount from 0 to {intcomma(MOST_PRICE)}", closed=True)


def seconds(text: str) -> float:
    """Return a number of seconds."""
    return number(text, 0, MOST_SECONDS, f"a number of seconds above 0, below {intcomma(MOST_SECONDS)},")


def word(text: str) -> str:
    """Return a name, such as that of a column."""
    if not 0 < len(text.strip()) <= _LONGEST_WORD:
        raise ArgumentTypeError(f"a name of at most {_LONGEST_WORD} characters is needed, not {quote(text)}")
    return text.strip()


def word_or_file(text: str) -> str:
    """Return a name, such as that of a column, or the path of a file that exists."""
    return text if text.strip() and Path(text).exists() else word(text)


def words(text: str) -> tuple[str, ...]:
    """Return words that commas separate, each once."""
    found = tuple(dict.fromkeys(word.strip() for word in text.split(",")))
    if not all(0 < len(word) <= _LONGEST_WORD for word in found):
        raise ArgumentTypeError(
            f"names separated by commas are needed, each at most {_LONGEST_WORD} characters long, not {quote(text)}"
        )
    return found


def names(text: str) -> tuple[str, ...]:
    """Return words that commas separate in capital letters, as methods are called.

    Examples
    --------
    >>> names("ste, soe,STE")
    ('STE', 'SOE')
    """
    return words(text.upper())


def names_or_file(text: str) -> tuple[str, ...]:
    """Return words that commas separate, or the name of a file that holds them."""
    return (text,) if Path(text).is_file() else words(text)


def number_or_names(text: str) -> int | tuple[str, ...]:
    """Return a number, 1 or more, or words that commas separate, or the name of a file that holds them.

    Examples
    --------
    >>> number_or_names("12"), number_or_names("ann,bob")
    (12, ('ann', 'bob'))
    """
    return positive(text) if text.isdecimal() else names_or_file(text)


def number_or_file(text: str) -> int | Path:
    """Return a number, or the name of a file."""
    return natural(text) if text.isdecimal() else Path(text)


def question_kind(text: str) -> str:
    """Return a way to ask, such as ``odd-one-out``, or ``2 of 8`` for a grid.

    Examples
    --------
    >>> question_kind("2 of 8")
    '2 of 8'
    """
    if text not in KINDS and not re.fullmatch(r"\d{1,2} of \d{1,2}", text):
        raise ArgumentTypeError(f"one of {', '.join(KINDS)}, or such as '2 of 8', is needed, not {quote(text)}")
    return text


def column_values(text: str) -> tuple[str, list[str]]:
    """Return ``COLUMN=VALUE,...`` as the column and its values.

    Examples
    --------
    >>> column_values("person=TEST, p07")
    ('person', ['TEST', 'p07'])
    """
    column, sign, values = text.partition("=")
    found = [value.strip() for value in values.split(",")]
    if not sign or not column.strip() or not all(found):
        raise ArgumentTypeError(f"COLUMN=VALUE is needed, or COLUMN=VALUE,VALUE,..., not {quote(text)}")
    return column.strip(), found


def rule(text: str) -> str:
    """Return a rule about rows, such as ``rt > 0.2``, as it is.

    Examples
    --------
    >>> rule("rt > 0.2")
    'rt > 0.2'
    """
    from nearer.io.selecting import parse_rules

    try:
        parse_rules(text)
    except ValueError as error:
        raise ArgumentTypeError(f"a rule is needed: {error}") from None
    return text


def pairs(text: str) -> dict[str, str]:
    """Return ``NAME=VALUE,...`` as a dict.

    Examples
    --------
    >>> pairs("anchor=Reference, answer=Choice")
    {'anchor': 'Reference', 'answer': 'Choice'}
    """
    found: dict[str, str] = {}
    for part in text.split(","):
        key, sign, value = part.partition("=")
        if not sign or not key.strip():
            raise ArgumentTypeError(f"NAME=VALUE is needed, separated by commas, not {quote(part)}")
        found[key.strip()] = value.strip()
    return found


def points(text: str) -> float:
    """Return the size of letters in points."""
    return number(text, 1, 100, "a size in points between 1 and 100")


def dots(text: str) -> int:
    """Return dots on an inch."""
    return natural(text, 20, 2400)


def axes_pair(text: str) -> tuple[int, int]:
    """Return two axes, counted from 1.

    Examples
    --------
    >>> axes_pair("1,3")
    (1, 3)
    """
    try:
        first, second = (natural(part.strip(), 1, MOST_DIMENSIONS) for part in text.split(","))
    except (ArgumentTypeError, ValueError):
        first = second = 0
    if first == second:
        raise ArgumentTypeError(f"two different axes, such as 1,3, are needed, not {quote(text)}")
    return first, second


def millimetres(text: str) -> tuple[float, float | None]:
    """Return a width and a height, or the width alone.

    Examples
    --------
    >>> millimetres("85x60"), millimetres("170")
    ((85.0, 60.0), (170.0, None))
    """
    needed = "a size in millimetres from 10 to 2000, such as 85x60 or 85,"
    sides = [number(part, 9.99, 2000.01, needed) for part in text.lower().replace("mm", "").split("x", 1)]
    return sides[0], sides[1] if len(sides) > 1 else None

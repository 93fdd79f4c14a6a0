"""Values of options: each function reads one from text, or says what is needed."""

from __future__ import annotations

from argparse import ArgumentTypeError
from math import inf, nan
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nearer.benchmarks.data import Size


def natural(text: str, least: int = 0) -> int:
    """Return a whole number, ``least`` or more."""
    value = int(text) if text.isdecimal() else -1
    if value < least:
        raise ArgumentTypeError(f"a whole number, {least} or more, is needed, not {text!r}")
    return value


def positive(text: str) -> int:
    """Return a whole number, 1 or more."""
    return natural(text, least=1)


def positives(text: str) -> tuple[int, ...]:
    """Return whole numbers, 1 or more, that commas separate.

    Examples
    --------
    >>> positives("200,500")
    (200, 500)
    """
    return tuple(map(positive, text.split(",")))


def number(text: str, low: float = -inf, high: float = inf, needed: str = "a number") -> float:
    """Return a number between ``low`` and ``high``."""
    try:
        value = float(text)
    except ValueError:
        value = nan
    if not low < value < high:
        raise ArgumentTypeError(f"{needed} is needed, not {text!r}")
    return value


def share(text: str) -> float:
    """Return a number between 0 and 1."""
    return number(text, 0, 1, "a number between 0 and 1")


def seconds(text: str) -> float:
    """Return a number of seconds."""
    return number(text, 0, needed="a number of seconds above 0")


def words(text: str) -> tuple[str, ...]:
    """Return words that commas separate, each once."""
    found = tuple(dict.fromkeys(word.strip() for word in text.split(",")))
    if "" in found:
        raise ArgumentTypeError(f"names separated by commas are needed, not {text!r}")
    return found


def names(text: str) -> tuple[str, ...]:
    """Return words that commas separate in capital letters, as methods are called.

    Examples
    --------
    >>> names("ste, soe,STE")
    ('STE', 'SOE')
    """
    return words(text.upper())


def pairs(text: str) -> dict[str, str]:
    """Return ``NAME=VALUE,...`` as a dict.

    Examples
    --------
    >>> pairs("anchor=Reference, answer=Choice")
    {'anchor': 'Reference', 'answer': 'Choice'}
    """
    found: dict[str, str] = {}
    for part in text.split(","):
        name, sign, value = part.partition("=")
        if not sign or not name.strip():
            raise ArgumentTypeError(f"NAME=VALUE is needed, separated by commas, not {part!r}")
        found[name.strip()] = value.strip()
    return found


def sizes(text: str) -> tuple[Size, ...]:
    """Return numbers of objects and comparisons, such as ``1000x100000,2000x200000``."""
    from nearer.benchmarks.data import Size

    both = [size.split("x") for size in text.lower().split(",")]
    if any(len(pair) != 2 for pair in both):
        raise ArgumentTypeError(f"sizes such as 1000x100000,2000x200000 are needed, not {text!r}")
    return tuple(Size(positive(objects), positive(comparisons)) for objects, comparisons in both)

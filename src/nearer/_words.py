"""Numbers and labels as people read them, the same in every message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Write a number with its noun.

    Examples
    --------
    >>> counted(1, "answer"), counted(12000, "answer"), counted(2, "person", "people")
    ('1 answer', '12 000 answers', '2 people')
    """
    return f"{digits(number)} {noun if number == 1 else plural or noun + 's'}"


def digits(number: int) -> str:
    """Write a number with its thousands apart.

    Examples
    --------
    >>> digits(9999), digits(12000)
    ('9999', '12 000')
    """
    return f"{number:,}".replace(",", " ") if number >= 10_000 else str(number)


def percent(share: float) -> str:
    """Write a share as a percentage that is never rounded to none or all.

    Examples
    --------
    >>> percent(0.5), percent(0.031), percent(0.06), percent(0.0004), percent(0.9999)
    ('50%', '3.1%', '6%', '0.04%', '99.99%')
    """
    if share in (0, 1):
        return f"{100 * share:.0f}%"
    decimals = 0
    while decimals < 4 and (float(f"{100 * share:.{decimals}f}") in (0.0, 100.0) or (decimals == 0 and share < 0.1)):
        decimals += 1
    return f"{100 * share:.{decimals}f}".removesuffix(".0") + "%"


def name(label: Any) -> str:
    """Write a label so that no character of it can do anything to a terminal, cut where it is long.

    Examples
    --------
    >>> name("cat "), name(3), name("x" * 100)
    ("'cat '", '3', "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...'")
    """
    plain = label.item() if hasattr(label, "item") else label
    if isinstance(plain, str):
        return repr(plain if len(plain) <= 40 else plain[:37] + "...")
    return ascii(plain)[:40]


def listed(labels: Sequence[Any], most: int = 5) -> str:
    """Write labels in a row, the first few of many.

    Examples
    --------
    >>> listed(["a", "b"]), listed(list(range(9)), most=3)
    ("'a', 'b'", '0, 1, 2, ... (9 in all)')
    """
    shown = ", ".join(name(label) for label in labels[:most])
    return shown if len(labels) <= most else f"{shown}, ... ({len(labels)} in all)"

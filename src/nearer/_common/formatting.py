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
    return f"{number:,}".replace(",", " ") if abs(number) >= 10_000 else str(number)


def rounded(number: int) -> int:
    """Round to two digits, where more would claim too much.

    Examples
    --------
    >>> rounded(12345)
    12000
    """
    return int(float(f"{number:.1e}"))


def short(number: float) -> str:
    """Write a number in two digits, or as an integer from 10 on.

    Examples
    --------
    >>> short(0.123), short(123.4)
    ('0.12', '123')
    """
    return f"{number:.0f}" if number >= 10 else f"{number:.2g}"


def number(value: float) -> str:
    """Write a number that is no count: at most six digits that matter, thousands apart.

    Examples
    --------
    >>> number(0.1), number(1.0), number(1234.5), number(20000.0)
    ('0.1', '1', '1234.5', '20 000')
    """
    return digits(round(value)) if abs(value) >= 10_000 else f"{value:.6g}"


def figure(value: float | None) -> str:
    """Write an error, or another figure between 0 and 1 that is compared with others; a dash if it is not known.

    Examples
    --------
    >>> figure(0.12345), figure(None)
    ('0.123', '-')
    """
    return "-" if value is None else f"{value:.3f}"


def interval(low: float | None, high: float | None) -> str:
    """Write the interval of such a figure, or nothing.

    Examples
    --------
    >>> interval(0.11, 0.13)
    '0.110 to 0.130'
    """
    return "" if low is None or high is None else f"{figure(low)} to {figure(high)}"


def money(amount: float) -> str:
    """Write an amount of money.

    Examples
    --------
    >>> money(12.5), money(12345.678)
    ('12.50', '12 345.68')
    """
    whole, cents = f"{amount:.2f}".split(".")
    return f"{digits(int(whole))}.{cents}"


def percent(share: float) -> str:
    """Write a share as a percentage that is never rounded to none or all.

    Examples
    --------
    >>> percent(0.5), percent(0.031), percent(0.06), percent(0.0004), percent(0.9999)
    ('50%', '3.1%', '6%', '0.04%', '99.99%')
    >>> percent(1.0), percent(1 - 1e-7), percent(1e-7)
    ('100%', 'over 99.99%', 'under 0.01%')
    """
    share = round(share, 12)  # a sum of shares may be 1 up to rounding
    if share in (0, 1):
        return f"{100 * abs(share):.0f}%"
    for decimals in (0, 1, 2) if share >= 0.1 else (1, 2):
        written = f"{100 * share:.{decimals}f}"
        if float(written) not in (0.0, 100.0):
            return written.removesuffix(".0") + "%"
    return "under 0.01%" if share < 0.5 else "over 99.99%"


def level_of(level: float) -> str:
    """Write the level of an interval, which is a name and is not rounded.

    Examples
    --------
    >>> level_of(0.95), level_of(0.975)
    ('95%', '97.5%')
    """
    return f"{100 * level:g}%"


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
    return shown if len(labels) <= most else f"{shown}, ... ({digits(len(labels))} in all)"

"""Numbers and labels as people read them, the same in every message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def pluralize(number: int, noun: str, plural: str | None = None) -> str:
    """Write a number with its noun.

    Examples
    --------
    >>> pluralize(1, "answer"), pluralize(12000, "answer"), pluralize(2, "person", "people")
    ('1 answer', '12,000 answers', '2 people')
    """
    return f"{intcomma(number)} {noun if number == 1 else plural or noun + 's'}"


def intcomma(number: int) -> str:
    """Write a count, its thousands separated.

    Examples
    --------
    >>> intcomma(999), intcomma(12000)
    ('999', '12,000')
    """
    return f"{number:,}"


def round_to_two_digits(number: int) -> int:
    """Round a count to two significant digits, where more would claim too much.

    Examples
    --------
    >>> round_to_two_digits(12345)
    12000
    """
    return int(float(f"{number:.1e}"))


def two_digits(number: float) -> str:
    """Write a number in two significant digits, or as an integer from 10 on.

    Examples
    --------
    >>> two_digits(0.123), two_digits(123.4)
    ('0.12', '123')
    """
    return f"{number:.0f}" if number >= 10 else f"{number:.2g}"


def format_number(value: float) -> str:
    """Write a number that is no count: at most six significant digits, thousands separated.

    Examples
    --------
    >>> format_number(0.1), format_number(1.0), format_number(1234.5), format_number(20000.0)
    ('0.1', '1', '1,234.5', '20,000')
    """
    return intcomma(round(value)) if abs(value) >= 10_000 else f"{value:,.6g}"


def decimals(value: float | None) -> str:
    """Write an estimated rate, such as an error, in three decimals; a dash if it is not known.

    Examples
    --------
    >>> decimals(0.12345), decimals(None)
    ('0.123', '-')
    """
    return "-" if value is None else f"{value:.3f}"


def format_interval(low: float | None, high: float | None) -> str:
    """Write the interval of an estimate, or nothing.

    Examples
    --------
    >>> format_interval(0.11, 0.13)
    '0.110 to 0.130'
    """
    return "" if low is None or high is None else f"{decimals(low)} to {decimals(high)}"


def format_money(amount: float) -> str:
    """Write an amount of money.

    Examples
    --------
    >>> format_money(12.5), format_money(12345.678)
    ('12.50', '12,345.68')
    """
    return f"{amount:,.2f}"


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
    for n_decimals in (0, 1, 2) if share >= 0.1 else (1, 2):
        written = f"{100 * share:.{n_decimals}f}"
        if float(written) not in (0.0, 100.0):
            return written.removesuffix(".0") + "%"
    return "under 0.01%" if share < 0.5 else "over 99.99%"


def format_level(level: float) -> str:
    """Write the level of an interval, which is a name and is not rounded.

    Examples
    --------
    >>> format_level(0.95), format_level(0.975)
    ('95%', '97.5%')
    """
    return f"{100 * level:g}%"


def quote(label: Any) -> str:
    """Write a label so that no character of it can do anything to a terminal, cut where it is long.

    Examples
    --------
    >>> quote("cat "), quote(3), quote("x" * 100)
    ("'cat '", '3', "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...'")
    """
    plain = label.item() if hasattr(label, "item") else label
    if isinstance(plain, str):
        return repr(plain if len(plain) <= 40 else plain[:37] + "...")
    return ascii(plain)[:40]


def quote_all(labels: Sequence[Any], most: int = 5, *, total: int | None = None) -> str:
    """Write labels as a list, the first few of many; ``total`` is their number where only the first are at hand.

    Examples
    --------
    >>> quote_all(["a", "b"]), quote_all(list(range(9)), most=3)
    ("'a', 'b'", '0, 1, 2, ... (9 in all)')
    """
    shown = ", ".join(quote(label) for label in labels[:most])
    total = len(labels) if total is None else total
    return shown if total <= most else f"{shown}, ... ({intcomma(total)} in all)"

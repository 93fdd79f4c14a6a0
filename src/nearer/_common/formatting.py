"""Numbers and labels as people read them, the same in every message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def pluralize(number: int, noun: str, plural: str | None = None) -> str:
    """Write a number with its noun."""
    return f"{intcomma(number)} {noun if number == 1 else plural or noun + 's'}"


def intcomma(number: int) -> str:
    """Write a count, its thousands separated."""
    return f"{number:,}"


def round_to_two_digits(number: int) -> int:
    """Round a count to two significant digits, where more would claim too much."""
    return int(float(f"{number:.1e}"))


def two_digits(number: float) -> str:
    """Write a number in two significant digits, or as an integer from 10 on."""
    return f"{number:.0f}" if number >= 10 else f"{number:.2g}"


def format_number(value: float) -> str:
    """Write a number that is no count: at most six significant digits, thousands separated."""
    return intcomma(round(value)) if abs(value) >= 10_000 else f"{value:,.6g}"


def decimals(value: float | None) -> str:
    """Write an estimated rate, such as an error, in three decimals; a dash if it is not known."""
    return "-" if value is None else f"{value:.3f}"


def format_interval(low: float | None, high: float | None) -> str:
    """Write the interval of an estimate, or nothing."""
    return "" if low is None or high is None else f"{decimals(low)} to {decimals(high)}"


def format_money(amount: float) -> str:
    """Write an amount of money."""
    return f"{amount:,.2f}"


def percent(share: float) -> str:
    """Write a share as a percentage that is never rounded to none or all."""
    share = round(share, 12)  # a sum of shares may be 1 up to rounding
    if share in (0, 1):
        return f"{100 * abs(share):.0f}%"
    for n_decimals in (0, 1, 2) if share >= 0.1 else (1, 2):
        written = f"{100 * share:.{n_decimals}f}"
        if float(written) not in (0.0, 100.0):
            return written.removesuffix(".0") + "%"
    return "under 0.01%" if share < 0.5 else "over 99.99%"


def format_level(level: float) -> str:
    """Write the level of an interval, which is a name and is not rounded."""
    return f"{100 * level:g}%"


def quote(label: Any) -> str:
    """Write a label so that no character of it can do anything to a terminal, cut where it is long."""
    plain = label.item() if hasattr(label, "item") else label
    if isinstance(plain, str):
        return repr(plain if len(plain) <= 40 else plain[:37] + "...")
    return ascii(plain)[:40]


def quote_all(labels: Sequence[Any], most: int = 5, *, total: int | None = None) -> str:
    """Write labels as a list, the first few of many; ``total`` is their number where only the first are at hand."""
    shown = ", ".join(quote(label) for label in labels[:most])
    total = len(labels) if total is None else total
    return shown if total <= most else f"{shown}, ... ({intcomma(total)} in all)"

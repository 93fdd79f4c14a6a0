"""Columns of numbers: response times, confidences and weights."""

from __future__ import annotations

import math
import re
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nearer.data.labels import plain
from nearer.io.faults import Faults
from nearer.io.table import Column

_MISSING = frozenset({"", "na", "nan", "null", "none", "undefined", "nil"})
_NUMERIC = re.compile(r"[+-]?[\d.,]+")
_GROUPS = {mark: re.compile(rf"[+-]?[1-9]\d{{0,2}}({re.escape(mark)}\d{{3}})+") for mark in ",."}
_LONGEST_ANSWER = 100.0  # seconds; times whose median is above are in milliseconds


def _commas(texts: list[str]) -> tuple[str, str]:
    """Return what stands between thousands, and what before decimals, in a whole column.

    Half of Europe writes 1,5 and 1.234,5; others write 1.5 and 1,234.5. Where only numbers such as 1,234 have commas,
    these are thousands: numbers with decimals would not all have three of them and begin with 1 to 9.

    Examples
    --------
    >>> _commas(["1,234", "950"]), _commas(["1,234", "0,95"])
    ((',', '.'), ('', ','))
    """
    with_comma = [text for text in texts if "," in text and _NUMERIC.fullmatch(text)]
    both = next((text for text in with_comma if "." in text), None)
    if both is not None:
        return (",", ".") if both.rindex(",") < both.rindex(".") else (".", ",")
    if not with_comma:
        return "", "."
    return (",", ".") if all(_GROUPS[","].fullmatch(text) for text in with_comma) else ("", ",")


def _parsed(value: Any, thousands: str, decimal: str) -> float:
    """Return a number, NaN where there is none, and infinity for what is no number."""
    if isinstance(value, int):
        return float(value) if abs(value) < 2**63 else math.inf
    text = str(value).strip()
    if text.lower() in _MISSING:
        return math.nan
    if thousands and thousands in text:
        whole = text.split(decimal)[0]
        if not _GROUPS[thousands].fullmatch(whole):
            return math.inf
        text = whole.replace(thousands, "") + text[len(whole) :]
    try:
        return float(text.replace(decimal, "."))
    except ValueError:
        return math.inf


def plain_numbers(column: Column) -> NDArray[np.float64]:
    """Return the numbers of a column, (n,): NaN where there is none, infinity for what is no number.

    Examples
    --------
    >>> plain_numbers(Column(np.array([0, 1, -1, 2], np.int32), ["0,5", "1,25", "late"]))
    array([0.5 , 1.25,  nan,  inf])
    """
    commas = _commas([value for value in column.values if isinstance(value, str)])
    return np.asarray(column.mapped(lambda value: _parsed(value, *commas), math.nan, np.float64))


def read_numbers(
    column: Column, what: str, faults: Faults, source: str, notes: list[str], must: bool = False
) -> NDArray[np.float64] | None:
    """Return numbers, (n,), NaN where there is none; None for a column without any.

    Parameters
    ----------
    column : Column
    what : str
        Name for messages.
    faults : Faults
    source : str
    notes : list of str
    must : bool
        Whether a row without a number is bad.
    """
    numbers = plain_numbers(column)
    if not np.isfinite(numbers).any():
        if np.isinf(numbers).any():
            notes.append(f"{source}: the column of the {what} holds no numbers and was not used")
        return None
    wrong = np.isinf(numbers)
    if must:
        faults.add(wrong, lambda row: f"the {what} {column.text(row)} is no number")
        faults.add(np.isnan(numbers), f"there is no {what}")
    elif wrong.any():
        n_wrong, first = int(wrong.sum()), column.text(int(wrong.argmax()))
        rows = "1 row has" if n_wrong == 1 else f"{n_wrong} rows have"
        notes.append(f"{source}: {rows} a {what} that is no number, such as {first}; it counts as missing")
        numbers[wrong] = math.nan
    return numbers


def in_proportion(
    numbers: NDArray[np.float64],
    column: Column,
    what: str,
    faults: Faults,
    source: str,
    notes: list[str],
    most: float = 1e9,
) -> NDArray[np.float64]:
    """Return weights that sums and products can be made of.

    Rows whose weight is ``most`` times larger or smaller than the one in the middle are added to the faults. If the
    one in the middle is itself that far from 1, all are divided by it.
    """
    faults.add(numbers < 0, f"the {what} is negative")
    positive = np.sort(numbers[~faults.bad & (numbers > 0)])
    if len(positive) == 0:
        return numbers
    middle = float(positive[(len(positive) - 1) // 2])  # no mean of two: 1e308 + 1e308 is infinite
    with np.errstate(over="ignore"):
        ratio = numbers / middle
    apart = (ratio > most) | ((numbers > 0) & (ratio < 1 / most))
    faults.add(
        apart,
        lambda row: (
            f"the {what} {column.text(row)} is out of all proportion: {what}s of this file are about {middle:.3g}; "
            "correct it"
        ),
    )
    if 1 / most <= middle <= most:
        return numbers
    notes.append(f"{source}: {what}s were divided by {middle:.3g}, the one in the middle")
    return np.where(apart, 0.0, ratio)


def as_seconds(times: NDArray[np.float64], name: str, unit: Literal["s", "ms"] | None = None) -> NDArray[np.float64]:
    """Return response times in seconds; negative ones mean that there is none.

    Without a unit, the name of the column or the median tells milliseconds from seconds.

    Examples
    --------
    >>> as_seconds(np.array([1200.0, 800.0, -1.0]), "rt")
    array([1.2, 0.8, nan])
    """
    times = np.where(times < 0, np.nan, times)
    if unit is None:
        known = np.sort(times[~np.isnan(times)])
        says_so = plain(name).endswith(("ms", "msec", "msecs", "millis", "milliseconds"))
        long = len(known) > 0 and bool(known[(len(known) - 1) // 2] > _LONGEST_ANSWER)  # no mean of two, as above
        unit = "ms" if says_so or long else "s"
    return times / 1000 if unit == "ms" else times

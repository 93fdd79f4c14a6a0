"""Columns of numbers: response times, confidences and weights."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nearer.formats.columns import plain
from nearer.formats.faults import Faults
from nearer.formats.table import Column

_MISSING = frozenset({"", "na", "nan", "null", "none", "undefined", "nil"})
_LONGEST_ANSWER = 100.0  # seconds; times whose median is above are in milliseconds


def _parsed(value: Any) -> float:
    """Return a number, NaN where there is none, and infinity for what is no number."""
    if isinstance(value, int):
        return float(value) if abs(value) < 2**63 else math.inf
    text = str(value).strip()
    if text.lower() in _MISSING:
        return math.nan
    if "," in text and "." not in text:
        text = text.replace(",", ".")  # the decimal comma of half of Europe
    try:
        return float(text)
    except ValueError:
        return math.inf


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
        Rows that hold something that is no number are added.
    source : str
    notes : list of str
    must : bool
        Whether a row without a number is bad.
    """
    numbers = np.asarray(column.mapped(_parsed, math.nan, np.float64))
    if not np.isfinite(numbers).any():
        if np.isinf(numbers).any():
            notes.append(f"{source}: the column of the {what} holds no numbers and was not used")
        return None
    faults.add(np.isinf(numbers), lambda row: f"the {what} {column.text(row)} is no number")
    if must:
        faults.add(np.isnan(numbers), f"there is no {what}")
    return numbers


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
        known = times[~np.isnan(times)]
        says_so = plain(name).endswith(("ms", "msec", "msecs", "millis", "milliseconds"))
        long = len(known) > 0 and float(np.median(known)) > _LONGEST_ANSWER
        unit = "ms" if says_so or long else "s"
    return times / 1000 if unit == "ms" else times

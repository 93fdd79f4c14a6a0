"""Numbers that come with each row: answers and weights, checked once."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer.data.refusing import check_length, refuse, show


def read_answers(y: Any, m: int) -> NDArray[np.int8]:
    """Return answers as +1 and -1."""
    answers = _read_numbers(y, "y", m, "pass +1 and -1, or bools")
    if answers.dtype.kind == "b":
        return np.where(answers, np.int8(1), np.int8(-1))
    bad = (answers != 1) & (answers != -1)
    zeros_and_ones = bad.any() and bool(((answers == 0) | (answers == 1)).all())
    remedy = "pass +1 and -1, or bools"
    if zeros_and_ones:
        remedy += "; for 0 and 1: np.where(np.asarray(y) == 1, 1, -1) if 1 means as written"
    elif bad.any():
        remedy += "; drop the rows of other codes, such as 'cannot tell', first"
    refuse(bad, lambda row: f"y is {show(answers[row])}", remedy)
    return answers.astype(np.int8, copy=False)


def read_weights(weights: Any, m: int) -> NDArray[np.float64]:
    """Return finite nonnegative weights, not all zero."""
    values = _read_numbers(weights, "weights", m, "pass nonnegative numbers").astype(np.float64, copy=False)
    remedy = "weights must be finite and nonnegative"
    refuse(np.isinf(values), lambda row: f"weight is {show(values[row])}", remedy)
    refuse(values < 0, lambda row: f"weight {show(values[row])} is negative", remedy)
    refuse_all_zero(values)
    if not np.isfinite(values.sum()):
        raise ValueError("the sum of the weights is infinite; scale them down")
    return values


def refuse_all_zero(weights: NDArray[np.float64]) -> None:
    """Refuse weights under which no row counts."""
    if not weights.any():
        raise ValueError("all weights are zero; give at least one row a positive weight")


def _read_numbers(values: Any, name: str, m: int, remedy: str) -> NDArray[Any]:
    try:
        numbers = np.asarray(values.to_numpy() if hasattr(values, "to_numpy") else values)
        if numbers.dtype.kind == "O":
            numbers = np.asarray(numbers.tolist())
    except (TypeError, ValueError):  # ragged
        raise ValueError(f"{name} is not a 1-D array of numbers; {remedy}") from None
    if numbers.dtype.kind == "O":
        no_number = np.array([not isinstance(value, Real) for value in numbers.ravel()])
        refuse(no_number, lambda row: f"{name} is {show(numbers.flat[row])}", remedy)
    if numbers.dtype.kind not in "biuf":
        first = show(numbers.flat[0]) if numbers.size else "nothing"
        raise ValueError(
            f"{name} holds text or other values that are no numbers (first: {first}), expected numbers for {m} rows; "
            f"{remedy}; numbers read as text: [float(v) for v in {name}]"
            + (f"; words: [v == {first} for v in y]" if name == "y" else "")
        )
    check_length(numbers, name, m)
    if numbers.dtype.kind == "f":
        refuse(np.isnan(numbers), lambda _: f"{name} is NaN", f"{remedy}; drop rows without a value")
    return numbers

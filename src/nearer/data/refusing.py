"""Refusing bad rows: the first of them, how many there are in all, and a remedy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Indices: TypeAlias = NDArray[np.integer[Any]]
Labels: TypeAlias = NDArray[Any]
Mask: TypeAlias = NDArray[np.bool_]


def refuse(bad: Mask, what: Callable[[int], str], remedy: str) -> None:
    """Raise ValueError if any row of ``bad``, (m,) or (m, width), is set; ``what`` describes the first."""
    if not bad.any():
        return
    where = np.flatnonzero(bad if bad.ndim == 1 else bad.any(axis=1))
    more = ""
    if len(where) > 1:
        listed = ", ".join(map(str, where[:5])) + (", ..." if len(where) > 5 else "")
        more = f" ({len(where)} such rows in all: {listed})"
    raise ValueError(f"row {where[0]}: {what(int(where[0]))}{more}; {remedy}")


def check_length(values: NDArray[Any], name: str, m: int | None) -> None:
    """Refuse anything but one value a row."""
    if values.ndim != 1:
        raise ValueError(f"{name} must be 1-D, got shape {values.shape}; pass one value a row")
    if m is not None and len(values) != m:
        raise ValueError(f"{name} has {len(values)} values for {m} rows; pass one value a row")


def show(label: Any) -> str:
    """Write a label as people would: 'cat', not np.str_('cat')."""
    return repr(label.item()) if isinstance(label, np.generic) and label.dtype.kind not in "mM" else repr(label)

"""Checks of the numbers that users pass: what is refused is quoted, and what is wanted is said."""

from __future__ import annotations

import numpy as np


def check_level(level: float) -> None:
    """Refuse what is no level of confidence."""
    if not 0 < level < 1:
        raise ValueError(f"level={level!r} must be between 0 and 1, such as 0.95")


def check_counts(**counts: object) -> None:
    """Refuse settings that are no whole numbers from 1.

    Examples
    --------
    >>> check_counts(rank=0)
    Traceback (most recent call last):
    ValueError: rank must be a whole number, 1 or more, got 0
    """
    for name, value in counts.items():
        if not isinstance(value, int | np.integer) or value < 1:
            raise ValueError(f"{name} must be a whole number, 1 or more, got {value!r}")

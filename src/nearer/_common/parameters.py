"""Checks of the numbers that users pass: an error says what is wanted and quotes what arrived."""

from __future__ import annotations

import reprlib

import numpy as np

from nearer._common.formatting import intcomma


def check_integer(name: str, value: object, least: int, most: int | None = None) -> int:
    """Return an integer within bounds, or raise ValueError; a bool is no integer."""
    number = int(value) if isinstance(value, int | np.integer) and not isinstance(value, bool) else None
    if number is None or number < least or (most is not None and number > most):
        at_most = "" if most is None else f" and at most {intcomma(most)}"
        raise ValueError(f"{name} must be an integer >= {least}{at_most}, got {reprlib.repr(value)}")
    return number


def check_counts(**counts: object) -> None:
    """Refuse settings that are no integers from 1."""
    for name, value in counts.items():
        check_integer(name, value, 1)


def check_number(name: str, value: object, *, least: float | None = None, above: float | None = None) -> float:
    """Return a finite number that is at least, or above, a bound, or raise ValueError."""
    real = int | float | np.integer | np.floating
    number = float(value) if isinstance(value, real) and not isinstance(value, bool) else np.nan
    within = np.isfinite(number) and (least is None or number >= least) and (above is None or number > above)
    if not within:
        bounds = "".join(f" {sign} {end:g}" for sign, end in ((">=", least), (">", above)) if end is not None)
        raise ValueError(f"{name} must be a finite number{bounds}, got {reprlib.repr(value)}")
    return number


def check_level(level: float) -> None:
    """Refuse what is no level of confidence."""
    if not 0 < level < 1:
        raise ValueError(f"level={level!r} must be between 0 and 1, such as 0.95")

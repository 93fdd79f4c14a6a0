"""Several tests at once: p-values such that all of them together err no more often than one would."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number by Holm's method, in their order.

    Sorted, the smallest is multiplied by their number, the next by one less, and so on; none becomes smaller than one
    before it (Holm 1979).

    Examples
    --------
    >>> [round(p, 6) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    given = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(given, kind="stable")
    stepped = np.maximum.accumulate(given[order] * np.arange(len(given), 0, -1)) if len(given) else given
    corrected = np.empty(len(given))
    corrected[order] = np.minimum(stepped, 1.0)
    found: list[float] = corrected.tolist()
    return found

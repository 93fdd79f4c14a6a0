"""Objects in the order in which answers mention them.

A random start gives the first numbers to the first object. If the first were the one that is called 0, another name
for it would be another start, and another map. In order of appearance names do not matter.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nearer.comparisons import Comparisons


def in_order_of_appearance(comparisons: Comparisons) -> tuple[Comparisons, NDArray[np.integer]]:
    """Return the comparisons of positive weight, answers applied, over the objects that they mention, and these.

    Examples
    --------
    >>> kept, seen = in_order_of_appearance(Comparisons.from_triplets([[3, 0, 2], [2, 0, 3]], y=[1, -1]))
    >>> kept.rows.tolist(), seen.tolist()
    ([[0, 1, 2], [2, 0, 1]], [3, 0, 2])
    """
    kept = comparisons[comparisons.sample_weight > 0]
    oriented = kept.oriented
    mentioned, first, inverse = np.unique(oriented, return_index=True, return_inverse=True)
    order = np.argsort(first)
    number = np.empty(len(order), np.intp)
    number[order] = np.arange(len(order))
    rows = number[inverse.reshape(oriented.shape)]
    rows = rows[:, [0, 1, 3]] if kept.is_triplets else rows
    return replace(kept, rows=rows, answers=None, objects=np.arange(len(order))), mentioned[order]

"""Rows in an order that is kind to the cache, for maps that are larger than it.

A comparison of three random objects fetches three points, and three rows of the gradient, from memory. In the order
here the anchors and the near objects of many rows in a row come from one part of the map each, small enough to stay in
the cache, and the far objects pass by from the first to the last. Two counting sorts do it: by the far object, then by
the parts of the other two.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer.data.rows import Rows
from nearer.kernels.compiling import loop

FEWEST_OBJECTS = 500_000
FEWEST_ROWS_PER_OBJECT = 4
_PARTS = 6  # of a million objects in 5-D: 1.6 times as fast; a map of 200 000 hardly gains


def in_local_order(rows: Rows, n_objects: int) -> Rows:
    """Return the rows in a local order, a copy, where that pays: of many objects with several rows each.

    Examples
    --------
    >>> rows = Rows.of(np.array([[0, 1, 2], [3, 1, 2], [0, 1, 3]]))
    >>> in_local_order(rows, 4) is rows
    True
    """
    if n_objects < FEWEST_OBJECTS or len(rows) < FEWEST_ROWS_PER_OBJECT * n_objects:
        return rows
    return rows.taken(local_order(rows.objects, n_objects))


def local_order(objects: NDArray[np.integer], n_objects: int, n_parts: int = _PARTS) -> NDArray[Any]:
    """Return the order of rows, (m,): by the parts of their first two objects, then by the last one."""
    kind: Any = np.int32 if len(objects) < 2**31 else np.int64
    by_last, order = np.empty(len(objects), kind), np.empty(len(objects), kind)
    _sort_by_last(objects, np.zeros(n_objects + 1, np.int64), by_last)
    _sort_by_parts(objects, -(-n_objects // n_parts), n_parts, np.zeros(n_parts**2 + 1, np.int64), by_last, order)
    return order


@loop
def _sort_by_last(objects, starts, order):
    last = objects.shape[1] - 1
    for q in range(objects.shape[0]):
        starts[np.uint64(objects[q, last]) + np.uint64(1)] += 1
    for a in range(1, len(starts)):
        starts[a] += starts[a - 1]
    for q in range(objects.shape[0]):
        far = np.uint64(objects[q, last])
        order[starts[far]] = q
        starts[far] += 1


@loop
def _sort_by_parts(objects, size, n_parts, starts, before, order):
    for q in range(objects.shape[0]):
        starts[(objects[q, 0] // size) * n_parts + objects[q, 1] // size + 1] += 1
    for a in range(1, len(starts)):
        starts[a] += starts[a - 1]
    for r in range(len(before)):
        q = before[r]
        a = (objects[q, 0] // size) * n_parts + objects[q, 1] // size
        order[starts[a]] = q
        starts[a] += 1

"""The squared hinge on distances over all triplets of a graph, without listing them.

Only objects within the distance of an anchor's farthest neighbor plus the margin of 1 can cost anything. Objects are
sorted along the axis on which they are spread most, and a search ends where that coordinate alone is out of reach.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer.optimize.kernels.compiling import loop, run_blocks

MAX_BLOCKS = 8
MIN_BLOCK_ANCHORS = 64


def graph_hinge(
    points: NDArray[Any], starts: NDArray[np.int64], neighbors: NDArray[np.int64], n_threads: int | None = None
) -> tuple[float, NDArray[Any]]:
    """Return the sum of max(1 + d(i, j) - d(i, k), 0)^2 over neighbors j and others k of each i, and its gradient."""
    n = len(points)
    axis = int(np.argmax(np.ptp(points, axis=0)))
    order = np.argsort(points[:, axis], kind="stable")
    places = np.empty(n, dtype=np.int64)
    places[order] = np.arange(n)
    along = points[order, axis].astype(np.float64)
    count = max(1, min(MAX_BLOCKS, n // MIN_BLOCK_ANCHORS))
    bounds = [n * number // count for number in range(count + 1)]
    gradients = np.zeros((count, *points.shape), points.dtype)

    def block(number: int) -> float:
        start, stop = bounds[number], bounds[number + 1]
        return float(_graph_hinge(points, order, places, along, starts, neighbors, start, stop, gradients[number]))

    value = sum(run_blocks(block, count, n_threads))
    return value, gradients.sum(axis=0)


@loop
def _graph_hinge(points, order, places, along, starts, neighbors, start, stop, gradient):
    n = points.shape[0]
    close = np.full(n, -1)  # the last anchor that an object is no far object of
    near = np.empty(n)
    pushes = np.empty(n)
    total = 0.0
    for i in range(start, stop):
        first = starts[i]
        degree = starts[i + 1] - first
        if degree == 0 or degree == n - 1:
            continue
        close[i] = i
        reach = 0.0
        for t in range(degree):
            j = neighbors[first + t]
            close[j] = i
            near[t] = _distance(points, i, j)
            reach = max(reach, near[t])
            pushes[t] = 0.0
        reach += 1.0
        here = places[i]
        for direction in (-1, 1):
            place = here + direction
            while 0 <= place < n and abs(along[place] - along[here]) < reach:
                k = order[place]
                place += direction
                if close[k] == i:
                    continue
                far = _distance(points, i, k)
                if far >= reach:
                    continue
                push = 0.0
                for t in range(degree):
                    shortfall = 1.0 + near[t] - far
                    if shortfall > 0:
                        total += shortfall * shortfall
                        push += shortfall
                        pushes[t] += shortfall
                _add_pair_gradient(points, gradient, i, k, -2 * push / max(far, 1e-8))
        for t in range(degree):
            if pushes[t] > 0:
                _add_pair_gradient(points, gradient, i, neighbors[first + t], 2 * pushes[t] / max(near[t], 1e-8))
    return total


@loop
def _distance(points, i, j):
    total = 0.0
    for c in range(points.shape[1]):
        gap = np.float64(points[i, c] - points[j, c])
        total += gap * gap
    return np.sqrt(total)


@loop
def _add_pair_gradient(points, gradient, i, j, slope):
    for c in range(points.shape[1]):
        change = points.dtype.type(slope * (points[i, c] - points[j, c]))
        gradient[i, c] += change
        gradient[j, c] -= change

"""Losses and distances on points: one loop for each family of losses, all of one shape.

The comparisons are taken some hundred at a time. First the squared distances of all their near and far pairs; then what
these cost, and the slopes; then what the slopes add to the gradient. Each of the three is a loop of few instructions,
and the points that the first has fetched are still in the cache for the third: together they take little more than half
the time of one loop that does all of it for one comparison after the other.

Comparisons that come in pieces give the same sums, to the last bit, wherever they come from: all are cut into *ranges*
(`compiling.block_bounds`), each with a gradient of its own, and each range into *chunks* of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from threading import Event
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer.data.rows import Rows
from nearer.model import Compiled
from nearer.optimize.kernels.compiling import (
    block_bounds,
    default_threads,
    inlined,
    loop,
    prefetch_gradient,
    prefetch_points,
    push,
    run_blocks,
)

COUNT_BLOCK_ROWS = 1_000_000
PREFETCH_BYTES = 10_000_000  # of points, which are beyond the cache together with their gradients
TILE_ROWS = 256  # comparisons; their points, at most 1000 numbers each, stay in the second cache


def evaluate(
    compiled: Compiled, points: NDArray[Any], rows: Rows, n_threads: int | None = None
) -> tuple[float, NDArray[Any]]:
    """Return the weighted sum of a loss over comparisons and its gradient with respect to the points."""
    loop, ahead = LOOPS[compiled.family], _prefetches(points)
    bounds = block_bounds(len(rows), len(points))
    gradients = zero_gradients(len(bounds) - 1, points)

    def block(number: int) -> float:
        start, stop = bounds[number], bounds[number + 1]
        return float(loop(points, *rows, start, stop, compiled.parameters, gradients[number], ahead))

    values = run_blocks(block, len(gradients), n_threads)
    for other in gradients[1:]:
        gradients[0] += other
    return sum(values), gradients[0]


def zero_gradients(count: int, points: NDArray[Any]) -> list[NDArray[Any]]:
    """Return ``count`` gradients of 0, (n, p), the first in memory of its own, which alone may be kept."""
    return [np.zeros(points.shape, points.dtype), *np.zeros((count - 1, *points.shape), points.dtype)]


def add_gradient(compiled: Compiled, points: NDArray[Any], rows: Rows, gradient: NDArray[Any]) -> float:
    """Return the weighted sum of a loss over comparisons and add its gradient to one, (n, p), in this thread."""
    loop = LOOPS[compiled.family]
    return float(loop(points, *rows, 0, len(rows), compiled.parameters, gradient, _prefetches(points)))


def squared_distances(
    points: NDArray[Any], rows: Rows, n_threads: int | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the squared distances of the near and of the far pairs, answers applied, (m,) each."""
    near, far, ahead = np.empty(len(rows)), np.empty(len(rows)), _prefetches(points)
    bounds = block_bounds(len(rows), 0)

    def block(number: int) -> None:
        _squared_distances(points, rows.objects, rows.answers, bounds[number], bounds[number + 1], near, far, ahead)

    run_blocks(block, len(bounds) - 1, n_threads)
    return near, far


def _prefetches(points: NDArray[Any]) -> bool | None:
    """Return True if points are to be prefetched, None if they fit into the cache."""
    # Loops are compiled without it for None: prefetching what is there takes a tenth of their time.
    return True if points.nbytes >= PREFETCH_BYTES else None


def object_weights(rows: Rows, n_objects: int) -> NDArray[np.float64]:
    """Return the total weight of the comparisons of each object, (n,)."""
    total = np.zeros(n_objects)
    for start in range(0, len(rows), COUNT_BLOCK_ROWS):  # bincount makes 64 bit copies of what it counts
        here = slice(start, start + COUNT_BLOCK_ROWS)
        weights = rows.weights[here] if rows.weights.size else None
        for column in rows.objects[here].T:
            total += np.bincount(column, weights, minlength=n_objects)
    return total


def union(rows: Rows, parents: NDArray[np.intp]) -> None:
    """Join the objects of each pair in the forest ``parents``, (n,): its trees are connected components."""
    _union(rows.objects, rows.weights, parents)


# Parts of the loops. Unsigned indices: signed ones would be checked for negative values at every access.


@inlined
def pair_objects(objects, answers, q):
    """Return the objects (i, j) of the near pair and (l, k) of the far pair."""
    i = np.uint64(objects[q, 0])
    j = np.uint64(objects[q, 1])
    if objects.shape[1] == 3:
        l = i  # noqa: E741
        k = np.uint64(objects[q, 2])
    else:
        l = np.uint64(objects[q, 2])  # noqa: E741
        k = np.uint64(objects[q, 3])
    if answers.size and answers[q] < 0:
        i, j, l, k = l, k, i, j  # noqa: E741
    return i, j, l, k


@inlined
def near_far(points, i, j, l, k):  # noqa: E741
    near = points.dtype.type(0)
    far = points.dtype.type(0)
    for c in range(points.shape[1]):
        a = points[i, c] - points[j, c]
        b = points[l, c] - points[k, c]
        near += a * a
        far += b * b
    return near, far


# A tile of comparisons: the objects (i, j, l, k) of each, (t, 4), and two short arrays of distances, then of slopes.


@inlined
def orient_tile(objects, answers, start, stop, ends):
    """Write the objects of the near and far pairs of the rows from ``start`` to ``stop``."""
    last = objects.shape[1] - 1
    third = 0 if last == 2 else 2
    for q in range(start, stop):
        ends[q - start, 0] = objects[q, 0]
        ends[q - start, 1] = objects[q, 1]
        ends[q - start, 2] = objects[q, third]
        ends[q - start, 3] = objects[q, last]
    if answers.size:
        for q in range(start, stop):
            if answers[q] < 0:
                # Number by number: the assignment of a row takes numba as long to compile as all the rest of the loop.
                row = q - start
                ends[row, 0], ends[row, 2] = ends[row, 2], ends[row, 0]
                ends[row, 1], ends[row, 3] = ends[row, 3], ends[row, 1]


@inlined
def prefetch_tile(points, ends, count, ahead):
    if ahead is not None:
        for t in range(count):
            prefetch_points(points, ends[t, 0])
            prefetch_points(points, ends[t, 1])
            if ends[t, 2] != ends[t, 0]:
                prefetch_points(points, ends[t, 2])
            prefetch_points(points, ends[t, 3])


@inlined
def measure_tile(points, objects, answers, first, count, ends, near, far, ahead):
    """Write the objects, d2(near) and d2(far) of the ``count`` rows from ``first`` on."""
    orient_tile(objects, answers, first, first + count, ends)
    prefetch_tile(points, ends, count, ahead)
    for t in range(count):
        near[t], far[t] = near_far(points, ends[t, 0], ends[t, 1], ends[t, 2], ends[t, 3])


@inlined
def push_tile(points, ends, count, near, far, gradient, ahead):
    """Add the gradient of near[t] * d2(near_t) + far[t] * d2(far_t), summed over the tile."""
    if ahead is not None:
        for t in range(count):
            if near[t] != 0 or far[t] != 0:
                prefetch_gradient(gradient, ends[t, 0])
                prefetch_gradient(gradient, ends[t, 1])
                if ends[t, 2] != ends[t, 0]:
                    prefetch_gradient(gradient, ends[t, 2])
                prefetch_gradient(gradient, ends[t, 3])
    for t in range(count):
        if near[t] != 0 or far[t] != 0:
            push(points, gradient, ends[t, 0], ends[t, 1], ends[t, 2], ends[t, 3], near[t], far[t])


# One loop for each family of losses, in the order of the arguments of `evaluate`.


@loop
def _linear(points, objects, answers, weights, start, stop, parameters, gradient, ahead):
    """d2(far) - d2(near): the margin itself. Its gradient is linear in the points, its value is not needed."""
    ends, near, far = np.empty((TILE_ROWS, 4), np.uint64), np.empty(TILE_ROWS), np.empty(TILE_ROWS)
    for first in range(start, stop, TILE_ROWS):
        count = min(TILE_ROWS, stop - first)
        orient_tile(objects, answers, first, first + count, ends)
        for t in range(count):
            far[t] = weights[first + t] if weights.size else 1.0
            near[t] = -far[t]
        prefetch_tile(points, ends, count, ahead)
        push_tile(points, ends, count, near, far, gradient, ahead)
    return 0.0


@loop
def _hinge(points, objects, answers, weights, start, stop, parameters, gradient, ahead):
    """max(1 - gamma, 0)^a + nu max(gamma - 1, 0)^a."""
    nu, power = parameters
    ends, near, far = np.empty((TILE_ROWS, 4), np.uint64), np.empty(TILE_ROWS), np.empty(TILE_ROWS)
    total = 0.0
    for first in range(start, stop, TILE_ROWS):
        count = min(TILE_ROWS, stop - first)
        measure_tile(points, objects, answers, first, count, ends, near, far, ahead)
        for t in range(count):
            shortfall = 1.0 - (far[t] - near[t])
            weight = weights[first + t] if weights.size else 1.0
            if shortfall < 0:
                weight *= nu
            if power == 2:
                slope = 2 * shortfall
                value = shortfall * shortfall
            else:
                size = abs(shortfall)
                slope = size ** (power - 1)
                value = slope * size
                slope *= power * np.sign(shortfall)
            if weight != 0:  # or an infinite price of nothing would be no number
                total += weight * value
            near[t] = weight * slope if weight != 0 else 0.0
            far[t] = -near[t]
        push_tile(points, ends, count, near, far, gradient, ahead)
    return total


# The likelihoods cost log(1 + t) with t in [0, 1] for every comparison. Without weights the factors 1 + t of a tile are
# multiplied, at most 2^256, and the logarithm is taken once: it is half the time of the loop otherwise.


@loop
def _logistic(points, objects, answers, weights, start, stop, parameters, gradient, ahead):
    """log(1 + exp(target - gamma))."""
    target = parameters[0]
    ends, near, far = np.empty((TILE_ROWS, 4), np.uint64), np.empty(TILE_ROWS), np.empty(TILE_ROWS)
    total = 0.0
    for first in range(start, stop, TILE_ROWS):
        count = min(TILE_ROWS, stop - first)
        measure_tile(points, objects, answers, first, count, ends, near, far, ahead)
        product = 1.0
        for t in range(count):
            gamma = far[t] - near[t] - target
            odds = np.exp(-abs(gamma))
            slope = odds / (1 + odds) if gamma > 0 else 1 / (1 + odds)
            wrong = max(-gamma, 0.0)
            if weights.size:
                total += weights[first + t] * (wrong + np.log1p(odds))
                slope *= weights[first + t]
            else:
                total += wrong
                product *= 1 + odds
            near[t] = slope
            far[t] = -slope
        total += np.log(product)
        push_tile(points, ends, count, near, far, gradient, ahead)
    return total


@loop
def _log_ratio(points, objects, answers, weights, start, stop, parameters, gradient, ahead):
    """log(1 + ((offset + d2(near)) / (offset + d2(far)))^a)."""
    offset, exponent = parameters
    # Half-integer exponents, those of CKL and of t-STE with whole degrees of freedom, are products and a square root.
    whole = int(exponent)
    half = exponent - whole == 0.5
    by_products = 1 <= exponent <= 64 and (half or exponent == whole)
    ends, near, far = np.empty((TILE_ROWS, 4), np.uint64), np.empty(TILE_ROWS), np.empty(TILE_ROWS)
    total = 0.0
    for first in range(start, stop, TILE_ROWS):
        count = min(TILE_ROWS, stop - first)
        measure_tile(points, objects, answers, first, count, ends, near, far, ahead)
        product = 1.0
        for t in range(count):
            from_near = near[t] + offset
            from_far = far[t] + offset
            ratio = min(from_near, from_far) / max(from_near, from_far)
            if by_products:
                odds = np.sqrt(ratio) if half else 1.0
                for _ in range(whole):
                    odds *= ratio
            else:
                odds = ratio**exponent
            wrong = 0.0
            slope = odds / (1 + odds)
            if from_near > from_far:
                wrong = -exponent * np.log(ratio)
                slope = 1 / (1 + odds)
            slope *= exponent
            if weights.size:
                total += weights[first + t] * (wrong + np.log1p(odds))
                slope *= weights[first + t]
            else:
                total += wrong
                product *= 1 + odds
            near[t] = slope / from_near
            far[t] = -slope / from_far
        total += np.log(product)
        push_tile(points, ends, count, near, far, gradient, ahead)
    return total


@loop
def _distance_hinge(points, objects, answers, weights, start, stop, parameters, gradient, ahead):
    """max(1 + d(near) - d(far), 0)^2 with d the distance, not its square."""
    ends, near, far = np.empty((TILE_ROWS, 4), np.uint64), np.empty(TILE_ROWS), np.empty(TILE_ROWS)
    total = 0.0
    for first in range(start, stop, TILE_ROWS):
        count = min(TILE_ROWS, stop - first)
        measure_tile(points, objects, answers, first, count, ends, near, far, ahead)
        for t in range(count):
            d_near = np.sqrt(near[t])
            d_far = np.sqrt(far[t])
            shortfall = max(1.0 + d_near - d_far, 0.0)
            slope = weights[first + t] * shortfall if weights.size else shortfall
            total += slope * shortfall
            near[t] = slope / max(d_near, 1e-8)
            far[t] = -slope / max(d_far, 1e-8)
        push_tile(points, ends, count, near, far, gradient, ahead)
    return total


@loop
def _squared_distances(points, objects, answers, start, stop, near, far, ahead):
    ends = np.empty((TILE_ROWS, 4), np.uint64)
    for first in range(start, stop, TILE_ROWS):
        count = min(TILE_ROWS, stop - first)
        measure_tile(points, objects, answers, first, count, ends, near[first:], far[first:], ahead)


@inlined
def _join(parents, a, b):
    while parents[a] != a:
        parents[a] = parents[parents[a]]
        a = parents[a]
    while parents[b] != b:
        parents[b] = parents[parents[b]]
        b = parents[b]
    # The smaller number becomes the root, so that groups do not depend on the order of rows.
    if a < b:
        parents[b] = a
    else:
        parents[a] = b


@loop
def _union(objects, weights, parents):
    for q in range(objects.shape[0]):
        if weights.size and weights[q] == 0:
            continue
        _join(parents, np.int64(objects[q, 0]), np.int64(objects[q, 1]))
        first = 0 if objects.shape[1] == 3 else 2
        _join(parents, np.int64(objects[q, first]), np.int64(objects[q, objects.shape[1] - 1]))


LOOPS: dict[str, Callable[..., float]] = {
    "linear": _linear,
    "hinge": _hinge,
    "logistic": _logistic,
    "log_ratio": _log_ratio,
    "distance_hinge": _distance_hinge,
}


def evaluate_stream(
    compiled: Compiled,
    points: NDArray[Any],
    between: Callable[[Sequence[int]], Generator[Rows, None, None]],
    n_rows: int,
    chunk_rows: int,
    n_threads: int | None = None,
) -> tuple[float, NDArray[Any]]:
    """Return the weighted sum of a loss over comparisons that come in chunks, and its gradient."""
    bounds = block_bounds(n_rows, len(points))
    count = len(bounds) - 1
    if count == 1 and n_rows <= chunk_rows:  # what follows takes microseconds, of which small problems have few
        (rows,) = between(bounds)
        return evaluate(compiled, points, rows, n_threads)
    threads = min(count, n_threads or default_threads())
    values = np.zeros(count)
    gradients = zero_gradients(count, points)
    ended = Event()

    def work(thread: int) -> None:
        cuts, ranges = [bounds[count * thread // threads]], []
        for number in range(count * thread // threads, count * (thread + 1) // threads):
            stops = [*range(bounds[number] + chunk_rows, bounds[number + 1], chunk_rows), bounds[number + 1]]
            cuts += stops
            ranges += [number] * len(stops)
        with closing(between(cuts)) as chunks:  # a thread of its own may read ahead
            for number, rows in zip(ranges, chunks, strict=False):
                if ended.is_set():
                    break
                values[number] += add_gradient(compiled, points, rows, gradients[number])

    try:
        run_blocks(work, threads, threads)
    finally:
        ended.set()  # Ctrl-C, or one thread's file that cannot be read: the others need not go on to their end
    for other in gradients[1:]:
        gradients[0] += other
    return float(sum(values.tolist())), gradients[0]

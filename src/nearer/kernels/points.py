"""Losses and distances on points: one loop for each family of losses, all of one shape.

For every comparison the squared distances of its near and far pair, what they cost, and what that adds to the gradient
of the four points.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer.data.rows import Rows
from nearer.kernels.compiling import blocks, loop, part, run
from nearer.losses import Compiled

_BLOCK = 1_000_000


def evaluate(
    compiled: Compiled, points: NDArray[Any], rows: Rows, n_threads: int | None = None
) -> tuple[float, NDArray[Any]]:
    """Return the weighted sum of a loss over comparisons and its gradient with respect to the points.

    Parameters
    ----------
    compiled : Compiled
        Which loop, and its numbers.
    points : ndarray of float64 or float32, shape (n, p), in C order
    rows : Rows
    n_threads : int, optional
        As many as the machine allows if left out.

    Returns
    -------
    value : float
    gradient : ndarray, shape (n, p)
    """
    loop = _FAMILIES[compiled.family]
    bounds = blocks(len(rows), len(points))
    gradients = np.zeros((len(bounds) - 1, *points.shape), points.dtype)

    def block(number: int) -> float:
        start, stop = bounds[number], bounds[number + 1]
        return float(loop(points, *rows, start, stop, compiled.parameters, gradients[number]))

    values = run(block, len(gradients), n_threads)
    for other in gradients[1:]:
        gradients[0] += other
    return sum(values), gradients[0]


def add_gradient(compiled: Compiled, points: NDArray[Any], rows: Rows, gradient: NDArray[Any]) -> float:
    """Return the weighted sum of a loss over comparisons and add its gradient to one, (n, p), in this thread."""
    loop = _FAMILIES[compiled.family]
    return float(loop(points, *rows, 0, len(rows), compiled.parameters, gradient))


def pull(points: NDArray[Any], rows: Rows, n_threads: int | None = None) -> NDArray[Any]:
    """Return A^T w applied to the columns of ``points``, (n, p): the signed graph Laplacian of the comparisons.

    Its positive directions pull far pairs apart and near pairs together.
    """
    return evaluate(Compiled("linear"), points, rows, n_threads)[1] / 2


def squared_distances(
    points: NDArray[Any], rows: Rows, n_threads: int | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the squared distances of the near and of the far pairs, answers applied, (m,) each."""
    near, far = np.empty(len(rows)), np.empty(len(rows))
    bounds = blocks(len(rows), 0)

    def block(number: int) -> None:
        _distances(points, rows.objects, rows.answers, bounds[number], bounds[number + 1], near, far)

    run(block, len(bounds) - 1, n_threads)
    return near, far


def mentions(rows: Rows, n_objects: int) -> NDArray[np.float64]:
    """Return the total weight of the comparisons that mention each object, (n,)."""
    total = np.zeros(n_objects)
    for start in range(0, len(rows), _BLOCK):  # bincount makes 64 bit copies of what it counts
        here = slice(start, start + _BLOCK)
        weights = rows.weights[here] if rows.weights.size else None
        for column in rows.objects[here].T:
            total += np.bincount(column, weights, minlength=n_objects)
    return total


def unite(rows: Rows, parents: NDArray[np.intp]) -> None:
    """Join the objects of each pair in the forest ``parents``, (n,): its trees are groups, a root is its own parent."""
    _unite(rows.objects, rows.weights, parents)


# What the loops are made of. Unsigned indices: signed ones would be checked for negative values at every access.


@part
def pairs(objects, answers, q):
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


@part
def near_far(points, i, j, l, k):  # noqa: E741
    """Return d2(i, j) and d2(l, k)."""
    near = points.dtype.type(0)
    far = points.dtype.type(0)
    for c in range(points.shape[1]):
        a = points[i, c] - points[j, c]
        b = points[l, c] - points[k, c]
        near += a * a
        far += b * b
    return near, far


@part
def push(points, gradient, i, j, l, k, near, far):  # noqa: E741
    """Add the gradient of near * d2(i, j) + far * d2(l, k)."""
    twice_near = points.dtype.type(2 * near)
    twice_far = points.dtype.type(2 * far)
    if i == l:
        for c in range(points.shape[1]):
            a = twice_near * (points[i, c] - points[j, c])
            b = twice_far * (points[i, c] - points[k, c])
            gradient[i, c] += a + b
            gradient[j, c] -= a
            gradient[k, c] -= b
    else:
        for c in range(points.shape[1]):
            a = twice_near * (points[i, c] - points[j, c])
            b = twice_far * (points[l, c] - points[k, c])
            gradient[i, c] += a
            gradient[j, c] -= a
            gradient[l, c] += b
            gradient[k, c] -= b


# One loop for each family of losses, in the order of the arguments of `evaluate`.


@loop
def _linear(points, objects, answers, weights, start, stop, parameters, gradient):
    """d2(far) - d2(near): the margin itself. Its gradient is linear in the points, its value is not needed."""
    for q in range(start, stop):
        weight = weights[q] if weights.size else 1.0
        i, j, l, k = pairs(objects, answers, q)  # noqa: E741
        push(points, gradient, i, j, l, k, -weight, weight)
    return 0.0


@loop
def _hinge(points, objects, answers, weights, start, stop, parameters, gradient):
    """max(1 - gamma, 0)^a + nu max(gamma - 1, 0)^a."""
    nu, power = parameters
    total = 0.0
    for q in range(start, stop):
        i, j, l, k = pairs(objects, answers, q)  # noqa: E741
        near, far = near_far(points, i, j, l, k)
        shortfall = 1.0 - (far - near)
        if shortfall == 0 or (shortfall < 0 and nu == 0):
            continue
        weight = weights[q] if weights.size else 1.0
        if shortfall < 0:
            weight *= nu
        if power == 2:
            value = shortfall * shortfall
            slope = 2 * shortfall
        else:
            size = abs(shortfall)
            slope = size ** (power - 1)
            value = slope * size
            slope *= power if shortfall > 0 else -power
        total += weight * value
        slope *= weight
        push(points, gradient, i, j, l, k, slope, -slope)
    return total


# The likelihoods cost log(1 + t) with t in [0, 1] for every comparison. Without weights, factors 1 + t are multiplied
# and the logarithm is taken of 512 at a time, at most 2^512: it is half the time of the loop otherwise.


@loop
def _logistic(points, objects, answers, weights, start, stop, parameters, gradient):
    """log(1 + exp(target - gamma))."""
    target = parameters[0]
    total = 0.0
    product = 1.0
    for q in range(start, stop):
        i, j, l, k = pairs(objects, answers, q)  # noqa: E741
        near, far = near_far(points, i, j, l, k)
        gamma = np.float64(far - near) - target
        t = np.exp(-abs(gamma))
        slope = t / (1 + t) if gamma > 0 else 1 / (1 + t)
        wrong = max(-gamma, 0.0)
        if weights.size:
            total += weights[q] * (wrong + np.log1p(t))
            slope *= weights[q]
        else:
            total += wrong
            product *= 1 + t
            if q % 512 == 0:
                total += np.log(product)
                product = 1.0
        push(points, gradient, i, j, l, k, slope, -slope)
    return total + np.log(product)


@loop
def _log_ratio(points, objects, answers, weights, start, stop, parameters, gradient):
    """log(1 + ((offset + d2(near)) / (offset + d2(far)))^a)."""
    offset, exponent = parameters
    # Half-integer exponents, those of CKL and of t-STE with whole degrees of freedom, are products and a square root.
    whole = int(exponent)
    half = exponent - whole == 0.5
    by_products = 1 <= exponent <= 64 and (half or exponent == whole)
    total = 0.0
    product = 1.0
    for q in range(start, stop):
        i, j, l, k = pairs(objects, answers, q)  # noqa: E741
        near, far = near_far(points, i, j, l, k)
        from_near = np.float64(near) + offset
        from_far = np.float64(far) + offset
        ratio = min(from_near, from_far) / max(from_near, from_far)
        if by_products:
            t = np.sqrt(ratio) if half else 1.0
            for _ in range(whole):
                t *= ratio
        else:
            t = ratio**exponent
        wrong = 0.0
        slope = t / (1 + t)
        if from_near > from_far:
            wrong = -exponent * np.log(ratio)
            slope = 1 / (1 + t)
        slope *= exponent
        if weights.size:
            total += weights[q] * (wrong + np.log1p(t))
            slope *= weights[q]
        else:
            total += wrong
            product *= 1 + t
            if q % 512 == 0:
                total += np.log(product)
                product = 1.0
        push(points, gradient, i, j, l, k, slope / from_near, -slope / from_far)
    return total + np.log(product)


@loop
def _distance_hinge(points, objects, answers, weights, start, stop, parameters, gradient):
    """max(1 + d(near) - d(far), 0)^2 with d the distance, not its square."""
    total = 0.0
    for q in range(start, stop):
        i, j, l, k = pairs(objects, answers, q)  # noqa: E741
        near, far = near_far(points, i, j, l, k)
        d_near = np.sqrt(np.float64(near))
        d_far = np.sqrt(np.float64(far))
        shortfall = 1.0 + d_near - d_far
        if shortfall > 0:
            slope = weights[q] * shortfall if weights.size else shortfall
            total += slope * shortfall
            push(points, gradient, i, j, l, k, slope / max(d_near, 1e-8), -slope / max(d_far, 1e-8))
    return total


@loop
def _distances(points, objects, answers, start, stop, near, far):
    for q in range(start, stop):
        i, j, l, k = pairs(objects, answers, q)  # noqa: E741
        near[q], far[q] = near_far(points, i, j, l, k)


@part
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
def _unite(objects, weights, parents):
    for q in range(objects.shape[0]):
        if weights.size and weights[q] == 0:
            continue
        _join(parents, np.int64(objects[q, 0]), np.int64(objects[q, 1]))
        first = 0 if objects.shape[1] == 3 else 2
        _join(parents, np.int64(objects[q, first]), np.int64(objects[q, objects.shape[1] - 1]))


_FAMILIES: dict[str, Callable[..., float]] = {
    "linear": _linear,
    "hinge": _hinge,
    "logistic": _logistic,
    "log_ratio": _log_ratio,
    "distance_hinge": _distance_hinge,
}

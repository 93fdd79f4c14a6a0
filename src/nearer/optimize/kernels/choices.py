"""Minus the log-likelihood of choices by inner products, and its gradient: a loop for trials, a loop for two pairs.

A trial of k items a with weights x_a names one of them. With S the sum of all k, the similarity of a to the others is
x_a . (S - x_a), and the loops need no pair but the k sums of products: k p steps for a trial of k items.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer.optimize.kernels.compiling import block_bounds, loop, run_blocks
from nearer.optimize.kernels.points import zero_gradients


def evaluate_choices(
    points: NDArray[Any], items: NDArray[Any], weights: NDArray[Any], scale: float, n_threads: int | None = None
) -> tuple[float, NDArray[Any]]:
    """Return minus the log-likelihood of trials, the last of whose items, (m, k), is named, and its gradient, (n, p).

    The utility of an item is ``scale`` times the sum of its similarities to the others.
    """
    return _in_blocks(_choices_of_three if items.shape[1] == 3 else _choices, points, items, weights, scale, n_threads)


def evaluate_pairs(
    points: NDArray[Any], objects: NDArray[Any], weights: NDArray[Any], n_threads: int | None = None
) -> tuple[float, NDArray[Any]]:
    """Return minus the log-likelihood of comparisons of two pairs, near pair first, (m, 3) or (m, 4); its gradient."""
    return _in_blocks(_pairs, points, objects, weights, 1.0, n_threads)


def _in_blocks(
    one_block: Callable[..., float],
    points: NDArray[Any],
    objects: NDArray[Any],
    weights: NDArray[Any],
    scale: float,
    n_threads: int | None,
) -> tuple[float, NDArray[Any]]:
    bounds = block_bounds(len(objects), len(points))
    gradients = zero_gradients(len(bounds) - 1, points)

    def block(number: int) -> float:
        start, stop = bounds[number], bounds[number + 1]
        return float(one_block(points, objects, weights, start, stop, scale, gradients[number]))

    values = run_blocks(block, len(gradients), n_threads)
    for other in gradients[1:]:
        gradients[0] += other
    return sum(values), gradients[0]


@loop
def _choices(points, items, weights, start, stop, scale, gradient):
    k, p = items.shape[1], points.shape[1]
    total, whole, mixed, utilities = 0.0, np.empty(p), np.empty(p), np.empty(k)
    for q in range(start, stop):
        whole[:] = 0.0
        for place in range(k):
            whole += points[items[q, place]]
        highest = -np.inf
        for place in range(k):
            utility = 0.0
            for c in range(p):
                value = points[items[q, place], c]
                utility += value * (whole[c] - value)
            utilities[place] = scale * utility
            highest = max(highest, utilities[place])
        normalizer = 0.0
        for place in range(k):
            normalizer += np.exp(utilities[place] - highest)
        weight = weights[q] if weights.size else 1.0
        total += weight * (highest + np.log(normalizer) - utilities[k - 1])
        mixed[:] = 0.0
        for place in range(k):
            slope = np.exp(utilities[place] - highest) / normalizer
            if place == k - 1:
                slope -= 1.0
            utilities[place] = scale * weight * slope
            for c in range(p):
                mixed[c] += utilities[place] * points[items[q, place], c]
        for place in range(k):
            a, slope = items[q, place], utilities[place]
            for c in range(p):
                gradient[a, c] += slope * (whole[c] - 2 * points[a, c]) + mixed[c]
    return total


@loop
def _choices_of_three(points, items, weights, start, stop, scale, gradient):
    # Of three items, what is not named is a pair: up to a constant its similarity is minus the named one's to both.
    p, total = points.shape[1], 0.0
    for q in range(start, stop):
        a, b, c = items[q, 0], items[q, 1], items[q, 2]
        ab, ac, bc = 0.0, 0.0, 0.0
        for column in range(p):
            x, y, z = points[a, column], points[b, column], points[c, column]
            ab += x * y
            ac += x * z
            bc += y * z
        ab, ac, bc = -scale * ab, -scale * ac, -scale * bc
        highest = max(ab, ac, bc)
        e_ab, e_ac, e_bc = np.exp(ab - highest), np.exp(ac - highest), np.exp(bc - highest)
        normalizer = e_ab + e_ac + e_bc
        weight = weights[q] if weights.size else 1.0
        total += weight * (highest + np.log(normalizer) - ab)
        weight *= -scale
        s_ab = points.dtype.type(weight * (e_ab / normalizer - 1.0))
        s_ac, s_bc = points.dtype.type(weight * e_ac / normalizer), points.dtype.type(weight * e_bc / normalizer)
        for column in range(p):
            x, y, z = points[a, column], points[b, column], points[c, column]
            gradient[a, column] += s_ab * y + s_ac * z
            gradient[b, column] += s_ab * x + s_bc * z
            gradient[c, column] += s_ac * x + s_bc * y
    return total


@loop
def _pairs(points, objects, weights, start, stop, scale, gradient):
    last, p, total = objects.shape[1] - 1, points.shape[1], 0.0
    third = 0 if last == 2 else 2
    for q in range(start, stop):
        i, j, l, k = objects[q, 0], objects[q, 1], objects[q, third], objects[q, last]  # noqa: E741
        margin = 0.0
        for c in range(p):
            margin += points[i, c] * points[j, c] - points[l, c] * points[k, c]
        margin *= scale
        weight = weights[q] if weights.size else 1.0
        odds = np.exp(-abs(margin))
        total += weight * (max(-margin, 0.0) + np.log1p(odds))
        slope = -scale * weight * (odds / (1 + odds) if margin > 0 else 1 / (1 + odds))
        for c in range(p):
            gradient[i, c] += slope * points[j, c]
            gradient[j, c] += slope * points[i, c]
            gradient[l, c] -= slope * points[k, c]
            gradient[k, c] -= slope * points[l, c]
    return total

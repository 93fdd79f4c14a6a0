"""Putting new objects into a map without moving the old ones.

With the old points fixed, the comparisons that mention a new object are a small problem in its coordinates alone: the
same loss and the same trace penalty as in the fit. It starts at the mean of the objects that it was called near to.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearer._common.arrays import FloatArray
from nearer.data.comparisons import Comparisons, as_comparisons
from nearer.data.labels import are_indices, format_label
from nearer.model import Loss
from nearer.optimize.problems.points import FactoredProblem
from nearer.optimize.problems.sources import InMemory
from nearer.optimize.solvers import Factored, Solution, solve


def place_points(points: FloatArray, comparisons: Comparisons, loss: Loss, trace: float) -> Solution[FloatArray]:
    """Return the points of all objects of the comparisons, the first of which are given.

    Parameters
    ----------
    points : ndarray, shape (n, p)
        Of the objects 0..n-1 of the comparisons.
    comparisons : Comparisons
        Over n + k objects.
    loss : Loss
    trace : float
        Weight of the squared norm of the new points, in the sum form of the problem.

    Returns
    -------
    Solution
        Its value are the points of all, (n + k, p).

    Examples
    --------
    >>> from nearer.model import Hinge
    >>> rows = Comparisons.from_triplets([[3, 2, 0], [3, 1, 0], [2, 3, 1]])
    >>> placed = place_points(np.array([[0.0], [1.0], [2.0]]), rows, Hinge(), trace=0.01)
    >>> bool(placed.value[3, 0] > 1.5)
    True
    """
    n, k = len(points), comparisons.n_objects - len(points)
    everything = np.concatenate([points, np.zeros((k, points.shape[1]))])
    everything[n:] = _near_means(everything, comparisons, n)
    movable = np.arange(n + k) >= n
    problem = FactoredProblem(InMemory(comparisons), loss, movable=movable, rank=points.shape[1])
    problem = replace(problem, trace=trace / problem.total_weight)
    solution = solve(problem, Factored(tol=1e-8), everything)
    # The old points come back as they were, to the last bit.
    return replace(solution, value=np.concatenate([points, solution.value[n:]]))


def _near_means(everything: FloatArray, comparisons: Comparisons, n: int) -> FloatArray:
    """Return, for each new object, the mean of the old ones that it was called near to, (k, p); 0 if there are none."""
    near = comparisons.oriented[:, :2]
    pairs = np.concatenate([near, near[:, ::-1]])
    weights = np.tile(comparisons.sample_weight, 2)
    kept = (pairs[:, 0] >= n) & (pairs[:, 1] < n)
    pairs, weights = pairs[kept], weights[kept]
    sums = np.zeros((comparisons.n_objects, everything.shape[1]))
    np.add.at(sums, pairs[:, 0], weights[:, None] * everything[pairs[:, 1]])
    totals = np.bincount(pairs[:, 0], weights, comparisons.n_objects)
    means: FloatArray = (sums / np.where(totals > 0, totals, 1.0)[:, None])[n:]
    return means


def with_new_objects(
    old: NDArray[Any], X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
) -> Comparisons:
    """Return comparisons over the objects of a map and those that it lacks, these last."""
    if not isinstance(X, Comparisons) and are_indices(old):
        with warnings.catch_warnings():
            # Comparisons of new objects need not mention the first one.
            warnings.filterwarnings("ignore", "index 0 never occurs")
            comparisons = as_comparisons(X, y, sample_weight)
    elif not isinstance(X, Comparisons) and old.dtype.kind in "iu":
        # Integers that are labels: without the list of objects they would be read as indices.
        named = [*old.tolist(), *np.setdiff1d(np.asarray(X), old).tolist()]
        comparisons = as_comparisons(X, y, sample_weight, objects=named)
    else:
        comparisons = as_comparisons(X, y, sample_weight)
    if are_indices(old) != are_indices(comparisons.objects):
        raise ValueError(
            f"the map was fitted to objects such as {format_label(old[0])}, but these comparisons are about "
            f"{format_label(comparisons.objects[0])}; use the same labels, or indices, in both"
        )
    known = set(old.tolist())
    new = [label for label in comparisons.objects.tolist() if label not in known]
    if not new:
        return comparisons.reindex(old)
    comparisons = comparisons.reindex([*old.tolist(), *new])
    if not (comparisons.rows[(comparisons.rows >= len(old)).any(axis=1)] < len(old)).any():
        raise ValueError(
            f"no comparison links {format_label(new[0])} to an object of the map; add some, or fit all "
            "comparisons together"
        )
    unheard = np.setdiff1d(np.arange(len(old), comparisons.n_objects), comparisons.rows)
    if len(unheard):
        raise ValueError(
            f"object {format_label(comparisons.objects[unheard[0]])} is not on the map, and no comparison says where "
            f"it belongs; the map has {len(old)} objects, so new indices go on from {len(old)}"
            if are_indices(old)
            else f"object {format_label(comparisons.objects[unheard[0]])} is neither on the map nor in a comparison; "
            "leave it out of the objects"
        )
    return comparisons

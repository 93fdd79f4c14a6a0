"""Putting new objects into a map without moving the old ones.

With the old points fixed, the comparisons that mention a new object are a small problem in its coordinates alone: the
same loss and the same trace penalty as in the fit. It starts at the mean of the objects that it was called near to.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nearer.common.arrays import FloatArray
from nearer.data.comparisons import Comparisons
from nearer.losses import Loss
from nearer.problems.points import FactoredProblem, InMemory
from nearer.solvers import Factored, Outcome, solve


def place_points(points: FloatArray, comparisons: Comparisons, loss: Loss, trace: float) -> tuple[FloatArray, Outcome]:
    """Return the points of all objects of the comparisons, the first of which are given, and how they were found.

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
    points : ndarray, shape (n + k, p)
    outcome : Outcome

    Examples
    --------
    >>> from nearer.losses import Hinge
    >>> rows = Comparisons.from_triplets([[3, 2, 0], [3, 1, 0], [2, 3, 1]])
    >>> placed, _ = place_points(np.array([[0.0], [1.0], [2.0]]), rows, Hinge(), trace=0.01)
    >>> bool(placed[3, 0] > 1.5)
    True
    """
    n, k = len(points), comparisons.n_objects - len(points)
    everything = np.concatenate([points, np.zeros((k, points.shape[1]))])
    everything[n:] = _near_means(everything, comparisons, n)
    movable = np.arange(n + k) >= n
    problem = FactoredProblem(InMemory(comparisons), loss, movable=movable)
    problem = replace(problem, trace=trace / problem.total_weight)
    solver = Factored(points.shape[1], tol=1e-8, start=everything)
    solution = solve(problem, solver)
    assert solution.points is not None
    # The old points come back as they were, to the last bit.
    return np.concatenate([points, solution.points[n:]]), solution.outcome


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

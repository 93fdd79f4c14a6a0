"""Nonmetric scaling: the stress of a map, and SMACOF, which lowers it (de Leeuw 1977; Kruskal 1964).

With pairs of objects of weight w, distances d(X) and disparities h, the numbers in the right order nearest to them,

    stress(X)^2 = sum w (d - h)^2 / sum w d^2.

Of dissimilarities the order is total, up to ties, and h is a monotone regression. Comparisons, which contradict each
other, are an order of two pairs each: h(far) >= h(near) + gap and h(near) >= 0. Where distances fall short, both
disparities meet in the middle. Without a gap, objects on one point satisfy every order, and noise drives maps there.
For given h the sum is majorized by a quadratic, whose minimum is the Guttman transform V^+ B(X) X: V is the Laplacian
of the weights w, B(X) that of w h / d. A step of twice the length is taken where it lowers the stress.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import isotonic_regression

from nearer._common.arrays import FloatArray
from nearer.data.comparisons import Comparisons
from nearer.data.groups import near_far_codes
from nearer.optimize.solvers.driver import Outcome, Progress, Solver, has_settled

Ties: TypeAlias = Literal["primary", "secondary"]


@dataclass(frozen=True, eq=False)
class TotalOrder:
    """Pairs in the order of their dissimilarities."""

    ranks: NDArray[np.intp]  # (k,); the place of each pair, 0 for the smallest dissimilarity; ties share a place
    weights: FloatArray  # (k,); positive, of sum 1
    ties: Ties  # {"primary", "secondary"}; whether tied pairs may have different disparities, or must have the same

    def disparities(self, distances: FloatArray) -> tuple[FloatArray, float]:
        """Return the monotone regression of the distances on the ranks, and the weighted squares that it misses."""
        if self.ties == "primary":
            order = np.lexsort((distances, self.ranks))
            result = np.empty_like(distances)
            result[order] = isotonic_regression(distances[order], sample_weight=self.weights[order])
        else:
            totals = np.bincount(self.ranks, self.weights)
            means = np.bincount(self.ranks, self.weights * distances) / totals
            result = isotonic_regression(means, sample_weight=totals)[self.ranks]
        return result, float(self.weights @ (distances - result) ** 2)


@dataclass(frozen=True, eq=False)
class ComparedPairs:
    """Pairs of which some are known to be nearer than others."""

    near: NDArray[np.intp]  # (m,); positions among the pairs
    far: NDArray[np.intp]  # (m,); positions among the pairs
    shares: FloatArray  # (m,); weights of the comparisons, of sum 1/2: each has two pairs
    n_pairs: int
    gap: float  # by how much a far disparity must exceed a near one

    @classmethod
    def of(cls, comparisons: Comparisons, gap: float) -> tuple[NDArray[np.intp], ComparedPairs]:
        """Return the pairs that comparisons mention, (k, 2), and their order."""
        n = comparisons.n_objects
        keys, where = np.unique(near_far_codes(comparisons.oriented, n), return_inverse=True)
        near, far = where.reshape(2, -1)
        weights = comparisons.sample_weight
        pairs = np.column_stack(np.divmod(keys, n))
        return pairs, cls(near, far, weights / (2 * weights.sum()), len(keys), gap)

    @cached_property
    def weights(self) -> FloatArray:
        """The weight of the comparisons that mention each pair, (k,), of sum 1."""
        return self._summed(self.shares, self.shares)

    def of_comparisons(self, distances: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the disparities of the near and of the far pair of each comparison, (m,) each."""
        near, far = distances[self.near], distances[self.far]
        excess = np.maximum(self.gap + near - far, 0) / 2
        # Below 0 there are no distances: the far pair alone then makes the gap.
        return np.maximum(near - excess, 0), np.where(near < excess, np.maximum(far, self.gap), far + excess)

    def disparities(self, distances: FloatArray) -> tuple[FloatArray, float]:
        """Return the mean of the disparities that comparisons give to each pair, and the weighted squares missed."""
        near, far = self.of_comparisons(distances)
        missed = float(self.shares @ ((distances[self.near] - near) ** 2 + (distances[self.far] - far) ** 2))
        return self._summed(self.shares * near, self.shares * far) / self.weights, missed

    def _summed(self, near: FloatArray, far: FloatArray) -> FloatArray:
        sums = [np.bincount(self.near, near, self.n_pairs), np.bincount(self.far, far, self.n_pairs)]
        return np.sum(sums, axis=0, dtype=np.float64)


Order: TypeAlias = TotalOrder | ComparedPairs  # what is known of the order of distances


@dataclass(frozen=True, eq=False)
class StressProblem:
    """Pairs of objects and what is known of the order of their distances."""

    pairs: NDArray[np.integer]  # (k, 2); each pair once
    order: Order
    n_objects: int  # each of them in some pair

    def distances(self, points: FloatArray) -> FloatArray:
        difference = points[self.pairs[:, 0]] - points[self.pairs[:, 1]]
        return np.sqrt(np.einsum("kp,kp->k", difference, difference))

    def laplacian(self, weights: FloatArray) -> FloatArray:
        n, (a, b) = self.n_objects, self.pairs.T
        adjacency = np.bincount(a * n + b, weights, n * n).reshape(n, n)
        adjacency = adjacency + adjacency.T
        return np.diag(adjacency.sum(axis=1)) - adjacency

    @cached_property
    def inverse(self) -> FloatArray:
        """The pseudoinverse V^+ of the Laplacian of the weights, (n, n)."""
        # The mean of the points has an eigenvalue of 0 up to rounding, whose inverse would swamp all others.
        return np.asarray(np.linalg.pinv(self.laplacian(self.order.weights), rcond=1e-10, hermitian=True))

    def stress(self, points: FloatArray) -> float:
        """Return Kruskal's stress of points, at the size where it has a meaning."""
        _, missed = self.order.disparities(self.distances(self.scaled(points)))
        return float(np.sqrt(max(missed, 0.0)))

    def scaled(self, points: FloatArray) -> FloatArray:
        """Return points scaled such that their distances have a mean square of 1, unless they are all the same."""
        size = np.sqrt(self.order.weights @ self.distances(points) ** 2)
        return points / size if size > 0 else points


WINDOW_ITERATIONS = 10  # iterations over which the decrease is judged: some are short


@dataclass(frozen=True, eq=False)
class SmacofState:
    points: FloatArray
    distances: FloatArray
    disparities: FloatArray
    progress: Progress
    recent: tuple[float, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class Smacof(Solver):
    """Settings of SMACOF.

    Parameters
    ----------
    tol : float
        Stop when the stress falls by less than this in an iteration, over ten of them.
    max_iter : int
    """

    tol: float = 1e-6
    max_iter: int = 3000

    def init(self, problem: StressProblem, start: FloatArray | None, rng: np.random.Generator) -> SmacofState:
        if start is None or len(start) != problem.n_objects:
            raise ValueError(f"start must have one row for each of {problem.n_objects} objects")
        return _state(problem, start, 0)

    def step(self, problem: StressProblem, state: SmacofState) -> SmacofState:
        iteration, stress = state.progress.iteration + 1, state.progress.objective
        ratios = np.divide(state.disparities, state.distances, where=state.distances > 0, out=0 * state.distances)
        moved = problem.inverse @ (problem.laplacian(problem.order.weights * ratios) @ state.points)
        transformed = problem.scaled(moved)
        after = _state(problem, 2 * transformed - state.points, iteration)
        if not after.progress.objective < stress:
            after = _state(problem, transformed, iteration)
        return replace(after, recent=(*state.recent, after.progress.objective)[-WINDOW_ITERATIONS - 1 :])

    def done(self, problem: StressProblem, state: SmacofState) -> Outcome | None:
        if state.progress.objective == 0 or not state.disparities.any():
            return Outcome.CONVERGED
        settled = has_settled(state.recent, WINDOW_ITERATIONS, WINDOW_ITERATIONS * self.tol)
        return Outcome.CONVERGED if settled else None


def _state(problem: StressProblem, points: FloatArray, iteration: int) -> SmacofState:
    """Return points, scaled, with their disparities and their stress."""
    points = problem.scaled(points)
    distances = problem.distances(points)
    disparities, missed = problem.order.disparities(distances)
    stress = float(np.sqrt(max(missed, 0.0)))
    return SmacofState(points, distances, disparities, Progress(iteration, stress), (stress,))

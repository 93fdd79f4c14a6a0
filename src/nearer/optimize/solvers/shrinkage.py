"""A Schatten quasi-norm of points, which finds the number of dimensions, and proximal descent for it.

    minimize over X    sum_q c_q loss(d2(near_q), d2(far_q)) + weight * sum_k sigma_k(X)^power,    0 < power < 1

With a power below 1 the price of a small dimension rises without bound against its size, so that weak ones vanish and
strong ones are hardly touched. The penalty lies below its tangent, so that each step lowers the objective that draws
the singular values y_k of X - t grad f(X) towards 0 by the slopes at those of X (Chen, Dong and Chan 2013):

    X+ = U diag(max(y_k - t slope_k, 0)) V^T

A singular value that has come to 0 stays there, and its dimension is left out from then on: the rank is found on the
way, and as the gradient is a matrix times X, no step raises it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nearer._common.arrays import FloatArray
from nearer._common.parameters import check_counts, check_number
from nearer.optimize.problems.points import FactoredProblem
from nearer.optimize.solvers.driver import Outcome, Progress, Solver
from nearer.optimize.solvers.gram import ProximalState, backtrack


@dataclass(frozen=True, eq=False)
class SchattenProblem:
    """A problem over points and the quasi-norm that is added to its loss."""

    factored: FactoredProblem  # comparisons and loss; its own penalties are not used
    weight: float  # >= 0; of the quasi-norm, relative to the mean loss
    power: float = 0.5  # in (0, 1]; 1 is the nuclear norm of X

    @property
    def n_objects(self) -> int:
        return self.factored.n_objects

    def penalty(self, sizes: FloatArray) -> float:
        return self.weight * float(np.sum(sizes**self.power))

    def slopes(self, sizes: FloatArray) -> FloatArray:
        """Return the derivative of the penalty with respect to positive singular values, (r,)."""
        return self.weight * self.power * sizes ** (self.power - 1)

    def objective(self, points: FloatArray) -> float:
        sizes = np.asarray(np.linalg.svd(points, compute_uv=False), np.float64)
        return self.factored.loss_and_gradient(points)[0] + self.penalty(sizes)


MIN_RELATIVE_SIZE = 1e-10  # of a dimension, against the largest: rounding


@dataclass(frozen=True, eq=False, kw_only=True)
class ShrinkageState(ProximalState):
    """Points, (n, r), of rank r, with the gradient of the loss."""

    sizes: FloatArray  # singular values, falling, (r,)


@dataclass(frozen=True)
class Shrinkage(Solver):
    """Settings of proximal descent with shrunken singular values.

    Parameters
    ----------
    tol : float
        Stop when three steps in a row lower the objective by less than ``tol`` times the loss at a point.
    max_iter : int
    """

    tol: float = 1e-6
    max_iter: int = 2000

    def check(self, problem: SchattenProblem) -> None:
        check_counts(max_iter=self.max_iter)
        check_number("tol", self.tol, least=0)
        check_number("weight", problem.weight, least=0)
        if not 0 < problem.power <= 1:
            raise ValueError(f"power must be above 0 and at most 1, got {problem.power!r}")

    def init(self, problem: SchattenProblem, start: Any, rng: np.random.Generator) -> ShrinkageState:
        """Evaluate the start, which holds all dimensions that there will ever be."""
        if start is None:
            raise ValueError("Shrinkage leaves out dimensions of a map; pass one as start")
        points = np.array(start, dtype=np.float64)
        left, sizes, _ = np.linalg.svd(points, full_matrices=False)
        kept = sizes > MIN_RELATIVE_SIZE * sizes[0]
        points, sizes = np.ascontiguousarray(left[:, kept] * sizes[kept]), sizes[kept]
        loss, gradient = problem.factored.loss_and_gradient(points)
        # A first step of a hundredth of the map is short enough for any loss; the second knows the curvature.
        steepness = float(np.linalg.norm(gradient))
        step_size = 0.01 * float(np.linalg.norm(points)) / steepness if steepness > 0 else 1.0
        return ShrinkageState(points, gradient, Progress(0, loss + problem.penalty(sizes)), step_size, sizes=sizes)

    def step(self, problem: SchattenProblem, state: ShrinkageState) -> ShrinkageState:
        slopes = problem.slopes(state.sizes)

        def attempt(step_size: float) -> tuple[FloatArray, float, FloatArray, FloatArray, FloatArray]:
            left, sizes, right = np.linalg.svd(state.points - step_size * state.gradient, full_matrices=False)
            sizes = np.maximum(sizes - step_size * slopes, 0)
            points = (left * sizes) @ right
            loss, gradient = problem.factored.loss_and_gradient(points)
            return points, loss + problem.penalty(sizes), gradient, sizes, right

        found = backtrack(state, attempt)
        if found is None:
            return replace(state, stalled=True)
        (points, objective, gradient, sizes, right), step_size, stalled = found
        small = state.progress.objective - objective <= self.tol * problem.factored.objective_at_zero
        kept = sizes > MIN_RELATIVE_SIZE * sizes[0]
        if not kept.all():
            # Turned onto its axes the map loses columns of zeros; the gradient turns along.
            points, gradient, sizes = points @ right[kept].T, gradient @ right[kept].T, sizes[kept]
        progress = Progress(state.progress.iteration + 1, objective)
        # A dimension that has just vanished changes what the others cost.
        small_changes = state.small_changes + 1 if small and kept.all() else 0
        return ShrinkageState(points, gradient, progress, step_size, small_changes, stalled, sizes=sizes)

    def done(self, problem: SchattenProblem, state: ShrinkageState) -> Outcome | None:
        if not state.sizes.size:
            return Outcome.VANISHED
        if state.stalled:
            return Outcome.STALLED
        return Outcome.CONVERGED if state.small_changes >= 3 else None

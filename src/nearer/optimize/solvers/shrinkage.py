"""A Schatten quasi-norm of points, which finds the number of dimensions, and proximal descent for it.

    minimize over X    sum_q c_q loss(d2(near_q), d2(far_q)) + weight * sum_k sigma_k(X)^power,    0 < power < 1

The shares c_q are the weights of the comparisons divided by their sum, sigma_k the singular values of X. A sum of their
squares is the trace of the Gram matrix and shrinks all dimensions equally; with a power below 1 the price of a small
dimension rises without bound against its size, so that weak ones vanish and strong ones are hardly touched. The loss
depends on X through X X^T alone, so its gradient is M X for a matrix M: no step along it raises the rank.

At X with singular values s_k > 0 the penalty lies below its tangent, and the loss f below a parabola if t is small:

    F(Z) <= f(X) + <grad f(X), Z - X> + ||Z - X||^2 / (2 t) + sum_k penalty(s_k) + slope_k (sigma_k(Z) - s_k)

with equality at Z = X. The slopes grow as s_k falls, so that the right side is least where the singular values y_k of
X - t grad f(X) are drawn towards 0, each by its own amount, and the singular vectors stay (Chen, Dong and Chan 2013):

    X+ = U diag(max(y_k - t slope_k, 0)) V^T

Each step therefore lowers F. A singular value that has come to 0 stays there, and its dimension is left out from then
on: the rank is found on the way. The trial step t is the spectral (Barzilai-Borwein) one, halved until F falls enough.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from nearer._common.arrays import FloatArray
from nearer._common.parameters import check_counts, check_number
from nearer.optimize.problems.points import FactoredProblem
from nearer.optimize.solvers.driver import Outcome, Progress, Space


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
        """Return weight * sum_k sigma_k^power."""
        return self.weight * float(np.sum(sizes**self.power))

    def slopes(self, sizes: FloatArray) -> FloatArray:
        """Return the derivative of the penalty with respect to positive singular values, (r,)."""
        slopes: FloatArray = self.weight * self.power * sizes ** (self.power - 1)
        return slopes

    def objective(self, points: FloatArray) -> float:
        """Return the value to be minimized."""
        sizes = np.asarray(np.linalg.svd(points, compute_uv=False), np.float64)
        return self.factored.loss_and_gradient(points)[0] + self.penalty(sizes)


MIN_DECREASE = 1e-2
MIN_STEP_RATIO = 2.0**-40
MIN_RELATIVE_SIZE = 1e-10  # of a dimension, against the largest: rounding
N_SMALL_CHANGES = 3


@dataclass(frozen=True, eq=False)
class ShrinkageState:
    """Iterates of `Shrinkage`."""

    points: FloatArray  # (n, r), of rank r
    gradient: FloatArray  # of the loss
    sizes: FloatArray  # singular values, falling, (r,)
    progress: Progress
    step_size: float
    small_changes: int = 0  # consecutive steps that changed the objective by less than tol
    stalled: bool = False


@dataclass(frozen=True)
class Shrinkage:
    """Settings of proximal descent with shrunken singular values.

    Parameters
    ----------
    tol : float
        Stop when three steps in a row lower the objective by less than ``tol`` times the loss at a point.
    max_iter : int

    Examples
    --------
    >>> Shrinkage().tol
    1e-06
    """

    tol: float = 1e-6
    max_iter: int = 2000
    space: ClassVar[Space] = "points"

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
        progress = Progress(0, loss + problem.penalty(sizes), float("nan"))
        return ShrinkageState(points, gradient, sizes, progress, step_size)

    def step(self, problem: SchattenProblem, state: ShrinkageState) -> ShrinkageState:
        objective, step_size = state.progress.objective, state.step_size
        slopes = problem.slopes(state.sizes)
        while True:
            left, sizes, right = np.linalg.svd(state.points - step_size * state.gradient, full_matrices=False)
            sizes = np.maximum(sizes - step_size * slopes, 0)
            points = (left * sizes) @ right
            change = points - state.points
            size = float(np.vdot(change, change))
            loss, gradient = problem.factored.loss_and_gradient(points)
            trial = loss + problem.penalty(sizes)
            if trial <= objective - MIN_DECREASE / (2 * step_size) * size:
                break
            step_size /= 2
            if step_size < MIN_STEP_RATIO * state.step_size:
                return replace(state, stalled=True)
        small = objective - trial <= self.tol * problem.factored.objective_at_zero
        curvature = float(np.vdot(change, gradient - state.gradient))
        following = size / curvature if curvature > 0 else 4 * step_size
        kept = sizes > MIN_RELATIVE_SIZE * sizes[0]
        if not kept.all():
            # Turned onto its axes the map loses columns of zeros; the gradient turns along.
            points, gradient, sizes = points @ right[kept].T, gradient @ right[kept].T, sizes[kept]
        return ShrinkageState(
            points=points,
            gradient=gradient,
            sizes=sizes,
            progress=Progress(state.progress.iteration + 1, trial, float("nan")),
            step_size=float(np.clip(following, step_size / 16, step_size * 16)),
            # A dimension that has just vanished changes what the others cost.
            small_changes=state.small_changes + 1 if small and kept.all() else 0,
            stalled=size == 0,
        )

    def done(self, problem: SchattenProblem, state: ShrinkageState) -> Outcome | None:
        if not state.sizes.size:
            return Outcome.VANISHED
        if state.stalled:
            return Outcome.STALLED
        return Outcome.CONVERGED if state.small_changes >= N_SMALL_CHANGES else None

    def value(self, state: ShrinkageState) -> FloatArray:
        return state.points

"""Projected gradient descent over Gram matrices of rank at most p.

Each step moves against the gradient and projects onto the positive semidefinite matrices of rank p by keeping the p
largest eigenvalues (Jain, Jamieson and Nowak, NIPS 2016):

    G+ = P_p(G - t grad f(G)),    accepted when  f(G+) <= f(G) - s / (2 t) ||G+ - G||^2

The first trial step t of each line search is the spectral (Barzilai-Borwein) one. The set is not convex, so the start
matters: G = 0 makes the first step the best rank-p approximation of the pull of the data, a spectral start that is as
good as the best of many random ones and always the same. A loss with kinks (the plain hinge) can hold the descent at
one of them, short of a minimum.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from nearer._common.arrays import FloatArray
from nearer.optimize.problems.gram import Gram, Problem
from nearer.optimize.solvers.convex_steps import nearest_psd
from nearer.optimize.solvers.driver import Outcome, Progress, Space

SUFFICIENT_DECREASE = 1e-2
SMALLEST_CUT = 2.0**-40


@dataclass(frozen=True, eq=False)
class ProjectedState:
    """Iterates of `Projected`."""

    gram: FloatArray
    gradient: FloatArray
    progress: Progress
    reference: float  # the objective at G = 0
    step_size: float
    small_changes: int  # consecutive steps that changed the objective by less than tol
    stalled: bool


@dataclass(frozen=True)
class Projected:
    """Settings of projected gradient descent.

    Parameters
    ----------
    rank : int
        The largest rank p of the Gram matrix.
    tol : float
        Stop when three steps in a row lower the objective by less than ``tol`` times its value at G = 0. Relative to
        its current value a logistic loss on separable comparisons would never settle.
    max_iter : int
    start : {"zero", "random"}
        G = 0, or the Gram matrix of small Gaussian points.

    Examples
    --------
    >>> Projected(rank=2).start
    'zero'
    """

    rank: int
    tol: float = 1e-5
    max_iter: int = 2000
    start: Literal["zero", "random"] = "zero"
    space: ClassVar[Space] = "gram"

    def check(self, problem: Problem) -> None:
        """Refuse a rank below 1 and penalties that do not bound the solution."""
        if self.rank < 1:
            raise ValueError(f"rank must be at least 1, got {self.rank}")
        if self.start not in ("zero", "random"):
            raise ValueError(f"start must be 'zero' or 'random', got {self.start!r}")
        if not (0 <= problem.trace < np.inf and 0 <= problem.ridge < np.inf):
            raise ValueError(
                f"solver='projected' needs trace >= 0 and ridge >= 0, got {problem.trace} and {problem.ridge}"
            )

    def init(self, problem: Problem, start: Any, rng: np.random.Generator) -> ProjectedState:
        """Evaluate the start; the first step size takes the typical margin from 0 to about 1."""
        n = problem.margins.n_objects
        points = rng.normal(scale=1e-2, size=(n, self.rank)) if self.start == "random" else np.zeros((n, self.rank))
        gram = points @ points.T
        objective, gradient = problem.objective_and_gradient(gram)
        margin_change = float(problem.shares @ np.abs(problem.margins(nearest_psd(-gradient, self.rank))))
        step_size = 1 / margin_change if margin_change > 0 else 1.0
        reference = problem.objective(np.zeros((n, n)))
        return ProjectedState(gram, gradient, Progress(0, objective, float("nan")), reference, step_size, 0, False)

    def step(self, problem: Problem, state: ProjectedState) -> ProjectedState:
        """One line search along the projected path."""
        objective, iteration = state.progress.objective, state.progress.iteration
        step_size = state.step_size
        while True:
            gram = nearest_psd(state.gram - step_size * state.gradient, self.rank)
            change = gram - state.gram
            size = float(np.vdot(change, change))
            trial, gradient = problem.objective_and_gradient(gram)
            if trial <= objective - SUFFICIENT_DECREASE / (2 * step_size) * size:
                break
            step_size /= 2
            if step_size < SMALLEST_CUT * state.step_size:
                return replace(state, stalled=True)
        small = objective - trial <= self.tol * state.reference
        # The spectral step is the inverse curvature along the last change; where that is not positive, try longer.
        curvature = float(np.vdot(change, gradient - state.gradient))
        following = size / curvature if curvature > 0 else 4 * step_size
        return replace(
            state,
            gram=gram,
            gradient=gradient,
            progress=Progress(iteration + 1, trial, float("nan")),
            step_size=float(np.clip(following, step_size / 16, step_size * 16)),
            small_changes=state.small_changes + 1 if small else 0,
            stalled=size == 0,
        )

    def done(self, problem: Problem, state: ProjectedState) -> Outcome | None:
        """Stop when the objective has settled or no step lowers it."""
        if state.stalled:
            return Outcome.STALLED
        return Outcome.CONVERGED if state.small_changes >= 3 else None

    def value(self, state: ProjectedState) -> Gram:
        """Return the last iterate."""
        return Gram(state.gram)

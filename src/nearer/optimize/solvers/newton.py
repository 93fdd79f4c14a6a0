"""Newton's method with backtracking, for smooth convex problems of a few hundred parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from nearer._common.arrays import FloatArray
from nearer.optimize.problems.scaling import ScalingProblem
from nearer.optimize.solvers.driver import Outcome, Progress, Space

_DECREASE = 1e-4  # of what the slope promises, that a step must achieve
_HALVINGS = 50


@dataclass(frozen=True, eq=False)
class NewtonState:
    """Iterates of `Newton`; the decrement is twice the decrease that the last step was to bring."""

    theta: FloatArray
    progress: Progress
    decrement: float = np.inf
    stalled: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class Newton:
    """Settings of Newton's method.

    Parameters
    ----------
    tol : float
        Stop after a step that was to lower the objective by less than this.
    max_iter : int

    Examples
    --------
    >>> Newton().max_iter
    100
    """

    tol: float = 1e-10
    max_iter: int = 100
    space: ClassVar[Space] = "points"

    def check(self, problem: ScalingProblem) -> None:
        """Any problem will do."""

    def init(self, problem: ScalingProblem, start: FloatArray | None, rng: np.random.Generator) -> NewtonState:
        """Return the start; 0 if there is none."""
        theta = np.zeros(problem.n_parameters) if start is None else start
        return NewtonState(theta, Progress(0, problem.value(theta), float("nan")))

    def step(self, problem: ScalingProblem, state: NewtonState) -> NewtonState:
        """One step, halved until it lowers the objective enough."""
        theta, value = state.theta, state.progress.objective
        gradient, hessian = problem.gradient(theta), problem.hessian(theta)
        try:
            direction = -np.asarray(cho_solve(cho_factor(hessian), gradient))
        except LinAlgError:  # flat to rounding, as far out as separated answers lead
            direction = -np.linalg.pinv(hessian, hermitian=True) @ gradient
        decrement = float(-gradient @ direction)
        length = 1.0
        for _ in range(_HALVINGS):
            after = problem.value(theta + length * direction)
            if after <= value - _DECREASE * length * decrement:
                progress = Progress(state.progress.iteration + 1, after, float("nan"))
                return NewtonState(theta + length * direction, progress, decrement)
            length /= 2
        return NewtonState(theta, Progress(state.progress.iteration + 1, value, float("nan")), decrement, stalled=True)

    def done(self, problem: ScalingProblem, state: NewtonState) -> Outcome | None:
        """Stop when a step was to bring next to nothing, or brought nothing."""
        if state.decrement / 2 <= self.tol:
            return Outcome.CONVERGED
        return Outcome.STALLED if state.stalled else None

    def value(self, state: NewtonState) -> FloatArray:
        """Return the parameters."""
        return state.theta

"""SMACOF: majorization of the stress, in turn with monotone regression (de Leeuw 1977; Kruskal 1964).

With pairs of objects of weight w and their distances d(X), the disparities h are the numbers nearest to the distances
that are in the right order, and

    stress(X)^2 = sum w (d - h)^2 / sum w d^2.

For given h the sum is majorized at the present points by a quadratic, whose minimum is the Guttman transform
V^+ B(X) X: V is the Laplacian of the weights w, B(X) that of w h / d. Neither half of an iteration can raise the
stress. A step of twice the length goes as far as two (de Leeuw and Heiser 1980), and is taken where it lowers it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from nearer._common.arrays import FloatArray
from nearer.optimize.problems.stress import StressProblem
from nearer.optimize.solvers.driver import Outcome, Progress, Space

WINDOW = 10  # iterations over which the decrease is judged: some are short


@dataclass(frozen=True, eq=False)
class SmacofState:
    """Iterates of `Smacof`."""

    points: FloatArray
    distances: FloatArray
    disparities: FloatArray
    progress: Progress
    recent: tuple[float, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class Smacof:
    """Settings of SMACOF.

    Parameters
    ----------
    tol : float
        Stop when the stress falls by less than this in an iteration, over ten of them.
    max_iter : int

    Examples
    --------
    >>> Smacof().max_iter
    3000
    """

    tol: float = 1e-6
    max_iter: int = 3000
    space: ClassVar[Space] = "points"

    def check(self, problem: StressProblem) -> None:
        """Any problem will do."""

    def init(self, problem: StressProblem, start: FloatArray | None, rng: np.random.Generator) -> SmacofState:
        """Return the start with its stress."""
        if start is None or len(start) != problem.n_objects:
            raise ValueError(f"start must have one row for each of {problem.n_objects} objects")
        return _state(problem, start, 0)

    def step(self, problem: StressProblem, state: SmacofState) -> SmacofState:
        """One Guttman transform, taken twice as far where that is better."""
        iteration, stress = state.progress.iteration + 1, state.progress.objective
        ratios = np.divide(state.disparities, state.distances, where=state.distances > 0, out=0 * state.distances)
        transformed = problem.inverse @ (problem.laplacian(problem.order.weights * ratios) @ state.points)
        transformed = problem.scaled(transformed)
        after = _state(problem, 2 * transformed - state.points, iteration)
        if not after.progress.objective < stress:
            after = _state(problem, transformed, iteration)
        return replace(after, recent=(*state.recent, after.progress.objective)[-WINDOW - 1 :])

    def done(self, problem: StressProblem, state: SmacofState) -> Outcome | None:
        """Stop when the stress is 0 or has settled."""
        if state.progress.objective == 0 or not state.disparities.any():
            return Outcome.CONVERGED
        settled = len(state.recent) > WINDOW and state.recent[0] - state.recent[-1] <= WINDOW * self.tol
        return Outcome.CONVERGED if settled else None

    def value(self, state: SmacofState) -> FloatArray:
        """Return the points."""
        return state.points


def _state(problem: StressProblem, points: FloatArray, iteration: int) -> SmacofState:
    """Return points, scaled, with their disparities and their stress."""
    points = problem.scaled(points)
    distances = problem.distances(points)
    disparities, missed = problem.order.disparities(distances)
    progress = Progress(iteration, float(np.sqrt(max(missed, 0.0))), float("nan"))
    return SmacofState(points, distances, disparities, progress, (progress.objective,))

"""Quasi-Newton descent over nonnegative weights: two-metric projection (Bertsekas 1982) with L-BFGS.

Weights at 0 whose gradient is positive stay where they are. On all others the direction is that of L-BFGS, with the
curvature that the last steps have shown among these, and a step ends where it would leave the orthant.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer._common.arrays import PointArray
from nearer.optimize.problems.choices import WeightsProblem
from nearer.optimize.solvers.descent import (
    MIN_CURVATURE,
    MIN_DECREASE,
    MIN_STEP,
    WINDOW_ITERATIONS,
    CurvaturePair,
    quasi_newton_direction,
)
from nearer.optimize.solvers.driver import Outcome, Progress, Solver, has_settled


@dataclass(frozen=True, eq=False)
class OrthantState:
    points: PointArray  # (n, p), nonnegative
    gradient: PointArray
    progress: Progress
    pairs: tuple[CurvaturePair, ...]  # oldest first
    recent: tuple[float, ...]  # the last objectives, oldest first
    stalled: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class Orthant(Solver):
    """Settings of L-BFGS on the nonnegative orthant.

    Parameters
    ----------
    tol : float
        Stop when the objective falls, in five iterations, by less than five times ``tol`` times its value at 0.
    max_iter : int
    memory : int
        How many steps the estimate of the curvature remembers.
    """

    tol: float = 1e-5
    max_iter: int = 1000
    memory: int = 8

    def init(self, problem: WeightsProblem, start: PointArray, rng: np.random.Generator) -> OrthantState:
        points = np.ascontiguousarray(start)
        value, gradient = problem.objective_and_gradient(points)
        return OrthantState(points, gradient, Progress(0, value), (), (value,))

    def step(self, problem: WeightsProblem, state: OrthantState) -> OrthantState:
        points, value = state.points, state.progress.objective
        free = (points > 0) | (state.gradient < 0)
        gradient = np.where(free, state.gradient, 0)
        direction = quasi_newton_direction(points, gradient, _among(state.pairs, free))
        direction[~free] = 0
        length = 1.0
        while True:
            moved = np.maximum(points + points.dtype.type(length) * direction, 0)
            step = moved - points
            slope = float(np.vdot(step, gradient))
            trial, slopes = problem.objective_and_gradient(moved)
            if trial <= value + MIN_DECREASE * slope and slope <= 0:
                break
            length *= 0.25
            if length < MIN_STEP:  # before giving up, forget the curvature and try the plain gradient
                return replace(state, pairs=()) if state.pairs else replace(state, stalled=True)
        pairs = (*state.pairs, CurvaturePair(step, slopes - state.gradient, 1.0))[-self.memory :]
        recent = (*state.recent, trial)[-WINDOW_ITERATIONS - 1 :]
        return OrthantState(moved, slopes, Progress(state.progress.iteration + 1, trial), pairs, recent)

    def done(self, problem: WeightsProblem, state: OrthantState) -> Outcome | None:
        if state.stalled:
            return Outcome.STALLED
        if not state.gradient[(state.points > 0) | (state.gradient < 0)].any():
            return Outcome.CONVERGED
        least = WINDOW_ITERATIONS * self.tol * problem.objective_at_zero
        return Outcome.CONVERGED if has_settled(state.recent, WINDOW_ITERATIONS, least) else None


def _among(pairs: tuple[CurvaturePair, ...], free: NDArray[np.bool_]) -> tuple[CurvaturePair, ...]:
    """Return steps and changes among free weights, those along which the gradient clearly rises."""
    found: list[CurvaturePair] = []
    for step, change, _ in pairs:
        step, change = np.where(free, step, 0), np.where(free, change, 0)
        product: Any = np.vdot(step, change)
        if product > MIN_CURVATURE * np.vdot(change, change):
            found.append(CurvaturePair(step, change, product))
    return tuple(found)

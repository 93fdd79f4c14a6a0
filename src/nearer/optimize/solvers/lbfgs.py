"""L-BFGS over points: limited-memory quasi-Newton descent for the problem of `nearer.optimize.problems.points`.

The direction -H g multiplies the gradient by an estimate H of the inverse Hessian that the last few steps s and changes
of gradient y imply (Nocedal 1980). A backtracking line search takes the full step in nearly every iteration, so that an
iteration costs one evaluation. A pair whose curvature s.y is not clearly positive, as the problem is not convex, is
left out of H.

The problem has many local minima when there are few comparisons for each coordinate: descent folds the map early and
cannot unfold it again. It therefore follows a *path*: it begins with a large trace penalty, under which only what the
comparisons agree on grows, and lowers it each time the objective settles, down to the one asked for. A change
of the penalty by D changes every y by -2 D s, so that H carries over.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal, NamedTuple, Self

import numpy as np
from scipy.linalg import get_blas_funcs

from nearer._common.arrays import PointArray
from nearer._common.parameters import check_counts
from nearer.optimize.problems.points import FactoredProblem
from nearer.optimize.solvers.driver import Outcome, Progress, Space
from nearer.optimize.solvers.starts import Start, begin, check_begin

SUFFICIENT_DECREASE = 1e-4
SMALLEST_STEP = 2.0**-30
SMALLEST_CURVATURE = 1e-10  # of s.y against y.y
WINDOW = 5  # iterations over which the decrease is judged: single ones may be short
PATH_WINDOW, PATH_TOL = 3, 3e-3  # on the way along the path less will do


class CurvaturePair(NamedTuple):
    """A step s, the change y of the gradient along it, and s.y > 0."""

    step: PointArray
    change: PointArray
    product: np.floating


@dataclass(frozen=True, eq=False)
class FactoredState:
    """Iterates of `Factored`."""

    iterate: PointArray
    gradient: PointArray
    progress: Progress
    pairs: tuple[CurvaturePair, ...]  # oldest first
    recent: tuple[float, ...]  # the last objectives at this penalty, oldest first
    path: tuple[float, ...]  # the trace penalties from the present one to the one asked for
    stalled: bool = False
    best: PointArray | None = None  # the iterate of least held-out error
    best_error: float = np.inf
    since_best: int = 0


@dataclass(frozen=True, eq=False, kw_only=True)
class DescentSettings:
    """What L-BFGS over points is told wherever it runs; see `Factored`."""

    tol: float = 1e-4
    max_iter: int = 1000
    memory: int = 5
    start: Start = "spectral"
    path: tuple[float, ...] = (0.15, 0.015)
    n_init: int | None = None
    validation: float = 0.0
    patience: int = 10
    dtype: Literal["float64", "float32"] = "float64"
    n_threads: int | None = None
    space: ClassVar[Space] = "points"

    def descents(self) -> list[Self]:
        """Return the solvers of the ``n_init`` descents, one if that is left out."""
        return [self, *[replace(self, start="random")] * ((self.n_init or 1) - 1)]

    def check(self, problem: FactoredProblem) -> None:
        """Refuse settings that make no sense, and losses without a compiled loop."""
        check_begin(problem, self.start, self.path, self.dtype, self.n_threads)
        n_init = 1 if self.n_init is None else self.n_init
        check_counts(n_init=n_init, memory=self.memory, max_iter=self.max_iter, patience=self.patience)
        if not (0 <= self.validation < 1 or isinstance(self.validation, int | np.integer)) or self.validation < 0:
            raise ValueError(f"validation must be a share below 1 or a number of comparisons, got {self.validation!r}")
        if not 0 <= self.tol < np.inf:
            raise ValueError(f"tol must be a finite number >= 0, got {self.tol!r}")


@dataclass(frozen=True, eq=False, kw_only=True)
class Factored(DescentSettings):
    """Settings of L-BFGS over points.

    Parameters
    ----------
    tol : float
        Stop when the objective falls, in five iterations, by less than five times ``tol`` times its value at a point.
    max_iter : int
    memory : int
        How many steps the estimate of the curvature remembers.
    start : {"spectral", "random"} or ndarray of shape (n, p)
        The leading pull of the comparisons, Gaussian points, or a map to go on from.
    path : sequence of float
        The trace penalties to begin with, as shares of the one at which the map is a point. A map to go on from is not
        taken apart: no path leads there.
    n_init : int, optional
        Number of descents; those after the first start at random, and the lowest objective wins. Left out: one, but in
        one dimension six and in two dimensions four, up to 500,000 comparisons times dimensions, whose starts come from
        the comparisons and draw no random number; see `nearer.optimize.solvers.restarts`.
    validation : float
        Share of the comparisons, or their number, that is held out to stop early: when ``patience`` iterations in a row
        have not lowered their error, the map of least error is returned. 0 fits all comparisons to the end.
    patience : int
    dtype : {"float64", "float32"}
        Of the points. float32 takes half the memory and a fifth less time, and resolves margins to about 1e-5.
    n_threads : int, optional
        As many as there are cores, or as NUMBA_NUM_THREADS says, if left out. The result is the same for any number.

    Examples
    --------
    >>> Factored().start
    'spectral'
    """

    def init(self, problem: FactoredProblem, start: PointArray | None, rng: np.random.Generator) -> FactoredState:
        """Evaluate the start, at the penalty where the path begins."""
        points, path = begin(problem, self.start if start is None else start, self.path, self.dtype, rng)
        value, gradient = problem.objective_and_gradient(points, path[0])
        progress = Progress(0, value, float("nan"))
        return self._judged(problem, FactoredState(points, gradient, progress, (), (value,), path))

    def step(self, problem: FactoredProblem, state: FactoredState) -> FactoredState:
        """One line search along the quasi-Newton direction."""
        if len(state.path) > 1 and _settled(problem, state, PATH_WINDOW, PATH_TOL):
            state = _further(state)
        value = state.progress.objective
        direction = _direction(state)
        slope = float(np.vdot(direction, state.gradient))
        length = 1.0
        while True:
            step = direction if length == 1 else direction.dtype.type(length) * direction
            iterate = state.iterate + step
            trial, gradient = problem.objective_and_gradient(iterate, state.path[0])
            if trial <= value + SUFFICIENT_DECREASE * length * slope:
                break
            # The minimum of the parabola through what is known, within reason; half where the trial overflowed.
            parabola = -slope * length**2 / (2 * (trial - value - slope * length)) if np.isfinite(trial) else np.inf
            length = float(np.clip(parabola, 0.1 * length, 0.5 * length))
            if length < SMALLEST_STEP:
                # Before giving up, forget the curvature and try the plain gradient, then the next penalty.
                if state.pairs:
                    return replace(state, pairs=())
                return _further(state) if len(state.path) > 1 else replace(state, stalled=True)
        change = gradient - state.gradient
        product = np.vdot(step, change)
        pairs = state.pairs
        if product > SMALLEST_CURVATURE * np.vdot(change, change):
            pairs = (*pairs, CurvaturePair(step, change, product))[-self.memory :]
        moved = replace(
            state,
            iterate=iterate,
            gradient=gradient,
            progress=Progress(state.progress.iteration + 1, trial, float("nan")),
            pairs=pairs,
            recent=(*state.recent, trial)[-WINDOW - 1 :],
        )
        return self._judged(problem, moved)

    def done(self, problem: FactoredProblem, state: FactoredState) -> Outcome | None:
        """Stop when the objective, or the held-out error, has settled."""
        if state.stalled:
            return Outcome.STALLED
        if not state.gradient.any():
            return Outcome.CONVERGED
        if problem.held_out is not None and state.since_best >= self.patience:
            return Outcome.HELD_OUT
        arrived = len(state.path) == 1
        return Outcome.CONVERGED if arrived and _settled(problem, state, WINDOW, self.tol) else None

    def value(self, state: FactoredState) -> PointArray:
        """Return the iterate, or that of least held-out error."""
        return state.iterate if state.best is None else state.best

    def _judged(self, problem: FactoredProblem, state: FactoredState) -> FactoredState:
        if problem.held_out is None:
            return state
        error = problem.held_out_error(state.iterate)
        if error < state.best_error:
            return replace(state, best=state.iterate, best_error=error, since_best=0)
        return replace(state, since_best=state.since_best + 1)


def _settled(problem: FactoredProblem, state: FactoredState, window: int, tol: float) -> bool:
    """Whether the last ``window`` iterations lowered the objective by less than ``tol`` each, of its value at 0."""
    recent = state.recent[-window - 1 :]
    return len(recent) > window and recent[0] - recent[-1] <= window * tol * problem.objective_at_zero


def _further(state: FactoredState) -> FactoredState:
    """Return the same iterate at the next penalty of the path."""
    drop = state.iterate.dtype.type(state.path[0] - state.path[1])
    value = state.progress.objective - float(drop * np.vdot(state.iterate, state.iterate))
    pairs = []
    for pair in state.pairs:
        change = pair.change - 2 * drop * pair.step
        product = np.vdot(pair.step, change)
        if product > SMALLEST_CURVATURE * np.vdot(change, change):
            pairs.append(CurvaturePair(pair.step, change, product))
    return replace(
        state,
        path=state.path[1:],
        gradient=state.gradient - 2 * drop * state.iterate,
        progress=state.progress._replace(objective=value),
        pairs=tuple(pairs),
        recent=(value,),
    )


def _direction(state: FactoredState) -> PointArray:
    """Return -H g by the two-loop recursion."""
    direction: PointArray = np.negative(state.gradient, order="C")
    if not state.pairs:
        # A tenth of the size of the map: far enough to learn the curvature, near enough to be safe.
        size = np.linalg.norm(state.iterate) or 1.0
        direction *= direction.dtype.type(0.1 * size / np.linalg.norm(direction))
        return direction
    # In place: sums such as direction - scale * change would make two more passes through memory each.
    flat, scales = direction.reshape(-1), []
    axpy = get_blas_funcs("axpy", (flat,))
    for pair in reversed(state.pairs):
        scale = np.vdot(pair.step, flat) / pair.product
        axpy(pair.change.reshape(-1), flat, a=-scale)
        scales.append(scale)
    last = state.pairs[-1]
    flat *= last.product / np.vdot(last.change, last.change)
    for pair, scale in zip(state.pairs, reversed(scales), strict=True):
        axpy(pair.step.reshape(-1), flat, a=scale - np.vdot(pair.change, flat) / pair.product)
    return direction

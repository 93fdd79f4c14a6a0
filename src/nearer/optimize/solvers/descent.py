"""Descent over points: where it begins, L-BFGS, and the best of several starts.

At X = 0 all comparisons pull equally, and the sum of these pulls is a signed graph Laplacian A^T c. Its p leading
eigenvectors are a map that already gets many comparisons right. As descent folds a map early and cannot unfold it
again, L-BFGS (Nocedal 1980) follows a *path*: it begins with a large trace penalty, under which only what the
comparisons agree on grows, and lowers it each time the objective settles. A change of the penalty by D changes every
change y of the gradient by -2 D s, so that the estimate of the curvature carries over.

Points on a line cannot pass each other without a price, nor can groups of them in a plane, and most random starts fold
as well. Better ones come from the comparisons: the spectral start without the path, and the leading part of a map of
one or two dimensions *more*, in which there is room to pass. The number of descents that *agree*, ending as low as the
best one, says how far to trust that there is none better.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, Literal, NamedTuple, Self, TypeAlias

import numpy as np
from scipy.linalg import get_blas_funcs

from nearer._common.arrays import FloatArray, PointArray
from nearer._common.parameters import check_counts
from nearer._common.randomness import stream
from nearer.optimize.problems.points import FactoredProblem, laplacian_spectrum
from nearer.optimize.solvers.driver import (
    Callback,
    Outcome,
    Progress,
    Restarts,
    Solution,
    Solver,
    ValueT,
    has_settled,
    solve,
)

Start: TypeAlias = Literal["spectral", "random"] | PointArray

SAMPLE_ROWS = 20_000
MIN_RELATIVE_EIGENVALUE = 0.01  # of a dimension, against the largest eigenvalue


def spectral_start(problem: FactoredProblem) -> PointArray:
    """Return the leading eigenvectors of the Laplacian as points, (n, p), scaled to least loss."""
    rank = problem.rank
    eigenvalues, vectors = laplacian_spectrum(problem, rank)
    points = np.zeros((problem.n_objects, rank))
    kept = min(rank, len(eigenvalues))
    # A dimension that starts at 0 has no gradient and would stay there: those of eigenvalues below 0 start small.
    sizes = np.sqrt(np.maximum(eigenvalues, MIN_RELATIVE_EIGENVALUE * max(eigenvalues[0], 0.0)))
    points[:, :kept] = (vectors * sizes)[:, :kept]
    if problem.n_connected_components > 1:
        # Connected components have separate eigenvectors, and those that lead would leave each component flat.
        points += stream(0, "start").normal(scale=0.03 * np.sqrt(np.mean(points**2)), size=points.shape)
    points[problem.object_weights == 0] = 0
    return rescale(problem, points)


def begin_descent(
    problem: FactoredProblem, settings: Any, start: PointArray | None, rng: np.random.Generator
) -> tuple[PointArray, tuple[float, ...]]:
    """Return the start of a descent, that given or that of the settings, and the trace penalties on its path."""
    start = settings.start if start is None else start
    penalties: tuple[float, ...] = (problem.trace,)
    _check_start(problem, start)
    if not isinstance(start, str):
        points = np.array(start)
    else:
        spectrum = laplacian_spectrum(problem, problem.rank)
        vanishing = problem.loss.slope_at_zero * float(spectrum.eigenvalues[0])
        penalties = (*(share * vanishing for share in settings.path if share * vanishing > problem.trace), *penalties)
        problem = replace(problem, spectrum=spectrum)
        points = spectral_start(problem) if start == "spectral" else random_start(problem, rng)
    return np.ascontiguousarray(points, settings.dtype), penalties


def check_descent(problem: FactoredProblem, settings: Any) -> None:
    """Raise ValueError for settings with which no descent can begin, and for losses without a compiled loop."""
    if not isinstance(problem, FactoredProblem):
        raise ValueError("this solver moves points and works on a FactoredProblem; see nearer.optimize.problems.points")
    check_counts(rank=problem.rank, n_threads=1 if settings.n_threads is None else settings.n_threads)
    if settings.dtype not in ("float64", "float32"):
        raise ValueError(f"dtype must be 'float64' or 'float32', got {settings.dtype!r}")
    if not all(0 <= share < np.inf for share in settings.path):
        raise ValueError(f"path must hold finite numbers >= 0, got {settings.path!r}")
    _check_start(problem, settings.start)
    _ = problem.loss.compiled


def _check_start(problem: FactoredProblem, start: Start) -> None:
    shape = problem.n_objects, problem.rank
    if isinstance(start, str):
        if start not in ("spectral", "random"):
            raise ValueError(f"start must be 'spectral', 'random' or an array of points, got {start!r}")
    elif np.shape(start) != shape:
        raise ValueError(f"start must have shape {shape}, one row for each object, got {np.shape(start)}")
    elif not np.isfinite(start).all():
        raise ValueError("start holds NaN or infinity; pass finite points")


def random_start(problem: FactoredProblem, rng: np.random.Generator) -> PointArray:
    """Return Gaussian points, (n, p), scaled to least loss; objects in no comparison are at the origin."""
    points = rng.normal(size=(problem.n_objects, problem.rank))
    points[problem.object_weights == 0] = 0
    return rescale(problem, points)


def rescale(problem: FactoredProblem, points: FloatArray) -> PointArray:
    """Return points scaled to least loss, but never to a point."""
    # A poor start has its least loss at a point, where the gradient vanishes and descent would stay: the typical
    # difference of squared distances is kept at a tenth of what the loss aims at, which is about 1.
    from nearer.optimize import kernels

    rows = problem.source.sample(SAMPLE_ROWS)
    near, far = kernels.squared_distances(problem.places(points), rows, problem.n_threads)
    weights = rows.weights if rows.weights.any() else np.ones(len(rows))
    shares = weights / weights.sum()
    typical = float(shares @ np.abs(far - near))
    if typical == 0:
        return points

    # A grid, not a search: rounding must not decide where the descent begins.
    scales = np.geomspace(0.1, 100, 31) / typical
    costs = [problem.loss.evaluate(scale * near, scale * far, shares).value for scale in scales]
    return points * np.sqrt(scales[int(np.argmin(costs))])


MIN_DECREASE = 1e-4
MIN_STEP = 2.0**-30
MIN_CURVATURE = 1e-10  # of s.y against y.y
WINDOW_ITERATIONS = 5  # iterations over which the decrease is judged: single ones may be short
PATH_WINDOW_ITERATIONS, PATH_TOL = 3, 3e-3  # on the way along the path less will do


class CurvaturePair(NamedTuple):
    """A step s, the change y of the gradient along it, and s.y > 0."""

    step: PointArray
    change: PointArray
    product: Any


@dataclass(frozen=True, eq=False)
class FactoredState:
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
class DescentSettings(Solver):
    """Settings of L-BFGS over points on any processor; see `Factored`."""

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

    def descents(self) -> list[Self]:
        return [self, *[replace(self, start="random")] * ((self.n_init or 1) - 1)]

    def check(self, problem: FactoredProblem) -> None:
        check_descent(problem, self)
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
        Leading eigenvectors of the Laplacian of the comparisons, Gaussian points, or a map to go on from.
    path : sequence of float
        The trace penalties to begin with, as shares of the one at which the map is a point. Ignored where
        the start is a map.
    n_init : int, optional
        Number of descents; those after the first start at random, and the lowest objective wins. Left out: one, but in
        one dimension six and in two dimensions four, up to 500,000 comparisons times dimensions, whose starts come from
        the comparisons and draw no random number; see `nearer.optimize.solvers.descent`.
    validation : float
        Share of the comparisons, or their number, that is held out to stop early: when ``patience`` iterations in a row
        have not lowered their error, the map of least error is returned. 0 fits all comparisons to the end.
    patience : int
    dtype : {"float64", "float32"}
        Of the points. float32 takes half the memory and a fifth less time, and resolves margins to about 1e-5.
    n_threads : int, optional
        As many as there are cores, or as NUMBA_NUM_THREADS says, if left out. The result is the same for any number.
    """

    def init(self, problem: FactoredProblem, start: PointArray | None, rng: np.random.Generator) -> FactoredState:
        points, path = begin_descent(problem, self, start, rng)
        value, gradient = problem.objective_and_gradient(points, path[0])
        first = FactoredState(points, gradient, Progress(0, value), (), (value,), path)
        return self._with_held_out_error(problem, first)

    def step(self, problem: FactoredProblem, state: FactoredState) -> FactoredState:
        window, least = PATH_WINDOW_ITERATIONS, PATH_WINDOW_ITERATIONS * PATH_TOL * problem.objective_at_zero
        if len(state.path) > 1 and has_settled(state.recent, window, least):
            state = _next_penalty(state)
        value = state.progress.objective
        direction = quasi_newton_direction(state.iterate, state.gradient, state.pairs)
        slope = float(np.vdot(direction, state.gradient))
        length = 1.0
        while True:
            step = direction if length == 1 else direction.dtype.type(length) * direction
            iterate = state.iterate + step
            trial, gradient = problem.objective_and_gradient(iterate, state.path[0])
            if trial <= value + MIN_DECREASE * length * slope:
                break
            # The minimum of the parabola through what is known, within reason; half where the trial overflowed.
            parabola = -slope * length**2 / (2 * (trial - value - slope * length)) if np.isfinite(trial) else np.inf
            length = float(np.clip(parabola, 0.1 * length, 0.5 * length))
            if length < MIN_STEP:
                # Before giving up, forget the curvature and try the plain gradient, then the next penalty.
                if state.pairs:
                    return replace(state, pairs=())
                return _next_penalty(state) if len(state.path) > 1 else replace(state, stalled=True)
        moved = replace(
            state,
            iterate=iterate,
            gradient=gradient,
            progress=Progress(state.progress.iteration + 1, trial),
            pairs=(*state.pairs, *_curved([(step, gradient - state.gradient)]))[-self.memory :],
            recent=(*state.recent, trial)[-WINDOW_ITERATIONS - 1 :],
        )
        return self._with_held_out_error(problem, moved)

    def done(self, problem: FactoredProblem, state: FactoredState) -> Outcome | None:
        if state.stalled:
            return Outcome.STALLED
        if not state.gradient.any():
            return Outcome.CONVERGED
        if problem.held_out is not None and state.since_best >= self.patience:
            return Outcome.HELD_OUT
        least = WINDOW_ITERATIONS * self.tol * problem.objective_at_zero
        settled = len(state.path) == 1 and has_settled(state.recent, WINDOW_ITERATIONS, least)
        return Outcome.CONVERGED if settled else None

    def value(self, state: FactoredState) -> PointArray:
        return state.iterate if state.best is None else state.best

    def _with_held_out_error(self, problem: FactoredProblem, state: FactoredState) -> FactoredState:
        if problem.held_out is None:
            return state
        error = problem.held_out_error(state.iterate)
        if error < state.best_error:
            return replace(state, best=state.iterate, best_error=error, since_best=0)
        return replace(state, since_best=state.since_best + 1)


def _curved(pairs: Iterable[tuple[PointArray, PointArray]]) -> tuple[CurvaturePair, ...]:
    """Return the steps and changes along which the gradient clearly rises: elsewhere the problem is not convex."""
    found = (CurvaturePair(step, change, np.vdot(step, change)) for step, change in pairs)
    return tuple(pair for pair in found if pair.product > MIN_CURVATURE * np.vdot(pair.change, pair.change))


def _next_penalty(state: FactoredState) -> FactoredState:
    """Return the same iterate at the next penalty of the path."""
    drop = state.iterate.dtype.type(state.path[0] - state.path[1])
    value = state.progress.objective - float(drop * np.vdot(state.iterate, state.iterate))
    return replace(
        state,
        path=state.path[1:],
        gradient=state.gradient - 2 * drop * state.iterate,
        progress=state.progress._replace(objective=value),
        pairs=_curved((pair.step, pair.change - 2 * drop * pair.step) for pair in state.pairs),
        recent=(value,),
    )


def quasi_newton_direction(points: PointArray, gradient: PointArray, pairs: tuple[CurvaturePair, ...]) -> PointArray:
    """Return -H g by the two-loop recursion."""
    direction: PointArray = np.negative(gradient, order="C")
    if not pairs:
        # A tenth of the size of the map: far enough to learn the curvature, near enough to be safe.
        size = np.linalg.norm(points) or 1.0
        direction *= direction.dtype.type(0.1 * size / np.linalg.norm(direction))
        return direction
    # In place: sums such as direction - scale * change would make two more passes through memory each.
    flat, scales = direction.reshape(-1), []
    axpy = get_blas_funcs("axpy", (flat,))
    for pair in reversed(pairs):
        scale = np.vdot(pair.step, flat) / pair.product
        axpy(pair.change.reshape(-1), flat, a=-scale)
        scales.append(scale)
    last = pairs[-1]
    flat *= last.product / np.vdot(last.change, last.change)
    for pair, scale in zip(pairs, reversed(scales), strict=True):
        axpy(pair.step.reshape(-1), flat, a=scale - np.vdot(pair.change, flat) / pair.product)
    return direction


MAX_RESTART_DIMENSIONS = 2
MAX_RESTART_WORK = 500_000  # comparisons times dimensions, beyond which one descent takes a second
EXTRA_DIMENSIONS = (1, 2)
START_TOL = 1e-3  # of a map that is only a start
AGREEMENT_FACTOR = 50  # times what the stopping rule leaves open in an iteration
MIN_AGREEMENT_TOL = 1e-6


def best_of_restarts(
    descents: Iterator[Solution[ValueT]],
    tolerance: float,
    cost: Callable[[Solution[ValueT]], float] = attrgetter("objective"),
) -> Solution[ValueT]:
    """Return the best of several descents on one problem; after an interrupt, the best so far."""
    best: Solution[ValueT] | None = None  # of the others nothing is kept
    values: list[float] = []
    interrupted = False
    try:
        for solution in descents:
            values.append(cost(solution))
            if best is None or values[-1] < min(values[:-1]):
                best = solution
            interrupted = solution.interrupted
            if interrupted:
                break
    except KeyboardInterrupt:
        if best is None:
            raise
        interrupted = True
    assert best is not None
    if len(values) > 1:
        best = replace(best, restarts=Restarts.of(values, tolerance))
    return replace(best, outcome=Outcome.INTERRUPTED) if interrupted else best


def agreement_tolerance(tol: float) -> float:
    """Return the largest difference of objectives that agree, as a share of the objective at a point."""
    return max(AGREEMENT_FACTOR * tol, MIN_AGREEMENT_TOL)


def has_default_restarts(problem: FactoredProblem, solver: Any, start: PointArray | None = None) -> bool:
    """Whether to use several starts by default: few dimensions and a small problem."""
    return (
        isinstance(solver, DescentSettings)
        and solver.n_init is None
        and start is None
        and isinstance(solver.start, str)
        and solver.start == "spectral"
        and problem.rank <= MAX_RESTART_DIMENSIONS
        and len(problem.source) * problem.rank <= MAX_RESTART_WORK
    )


def max_dimensions(problem: FactoredProblem, solver: Any, start: PointArray | None = None) -> int:
    """Return the most dimensions that a descent of this solver takes place in."""
    return problem.rank + (max(EXTRA_DIMENSIONS) if has_default_restarts(problem, solver, start) else 0)


def solve_with_restarts(
    problem: FactoredProblem,
    solver: Any,
    start: PointArray | None = None,
    rng: np.random.Generator | None = None,
    callback: Callback | None = None,
) -> Solution[PointArray]:
    """Return the best of a solver's descents, without their states: a device may have room for one at a time."""

    def descend(problem: FactoredProblem, solver: Any, start: PointArray | None = None) -> Solution[PointArray]:
        return replace(solve(problem, solver, start, rng=rng, callback=callback), state=None)

    if has_default_restarts(problem, solver, start):
        descents = _descend_from_data(problem, solver, descend)
    else:
        solvers = solver.descents() if isinstance(solver, DescentSettings) else [solver]
        descents = (descend(problem, each, start if each is solver else None) for each in solvers)
    tolerance = agreement_tolerance(solver.tol)
    if problem.held_out is not None:
        return best_of_restarts(descents, tolerance, lambda solution: problem.held_out_error(solution.value))
    return best_of_restarts(descents, tolerance * problem.objective_at_zero)


def _descend_from_data(
    problem: FactoredProblem, solver: Any, descend: Callable[..., Solution[PointArray]]
) -> Iterator[Solution[PointArray]]:
    """Yield descents from the spectral start, with and without a path, and from maps of more dimensions."""
    yield descend(problem, solver)
    yield descend(problem, replace(solver, path=()))
    for extra in EXTRA_DIMENSIONS:
        above = descend(replace(problem, rank=problem.rank + extra), replace(solver, tol=max(solver.tol, START_TOL)))
        if above.interrupted:
            raise KeyboardInterrupt
        for flat in _flatten(np.asarray(above.value, np.float64), problem.object_weights > 0, problem.rank):
            yield descend(problem, solver, rescale(problem, flat))


def _flatten(points: FloatArray, seen: Any, rank: int) -> Iterator[FloatArray]:
    """Yield the leading dimensions of a map; for a line from a plane also the diagonals."""
    moved = points - points[seen].mean(axis=0)
    moved[~seen] = 0
    leading = moved @ np.linalg.eigh(moved.T @ moved)[1][:, ::-1]
    yield np.ascontiguousarray(leading[:, :rank])
    if (rank, points.shape[1]) == (1, 2):
        yield leading[:, :1] + leading[:, 1:]
        yield leading[:, :1] - leading[:, 1:]

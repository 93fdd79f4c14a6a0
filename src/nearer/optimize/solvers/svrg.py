"""Stochastic descent over points: SVRG with the stabilized Barzilai-Borwein step, in minibatches (Ma et al. 2018).

An epoch begins at a *snapshot* Z with the gradient of the whole objective f there, and passes once over all m
comparisons, in batches b, which move the points against

    v_b(X) = m / |b| * (grad f_b(X) - grad f_b(Z)) + grad f(Z) + grad penalty(X) - grad penalty(Z)

an unbiased estimate of grad f(X), whose variance vanishes as X and Z approach a minimum. Batch b moves by
|b| / m * T * v_b. From the last two snapshots s apart, between which the gradient changed by y,
T = |s|^2 / (|s.y| + e |s|^2), bounded also where the problem is not convex. An epoch that does not end lower than it
began is undone and tried again with a quarter of the step. While the trace penalty falls along its path, the epochs run
over a sample of the comparisons, which is as informative then.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from nearer._common.arrays import PointArray
from nearer._common.parameters import check_counts
from nearer.data.rows import Rows
from nearer.optimize.problems.points import FactoredProblem
from nearer.optimize.problems.sources import Source
from nearer.optimize.solvers.descent import Start, begin_descent, check_descent
from nearer.optimize.solvers.driver import Outcome, Progress, Solver, has_settled

WINDOW_EPOCHS = 3  # epochs over which the decrease is judged: single ones may be short
PATH_TOL = 1e-2  # on the way along the path less will do
MAX_REJECTED_EPOCHS = 12  # epochs in a row, each with a quarter of the step before
N_ROWS_PER_COORDINATE = 20  # of the sample that the descent begins with
SAMPLE_ROWS = 20_000  # comparisons that the first step is estimated from
PROBE_LENGTH = 1e-2  # of the size of the map: how far that estimate looks
N_ROWS_PER_OBJECT, MIN_BATCH_ROWS, MAX_BATCH_SHARE = 4, 1000, 0.1
CHUNK_ROWS = 2**17  # rows that are shuffled at a time: few enough to be taken from the cache
MIN_SAVING = 4  # by how many times a sample must be smaller than the whole to be used


@dataclass(frozen=True, eq=False)
class SVRGState:
    """The snapshot after an epoch, the lowest so far, and what the next one needs."""

    points: PointArray
    gradient: PointArray  # of the whole objective, at the present penalty
    progress: Progress
    step_size: float  # T of the next epoch
    floor: float  # e, in units of curvature
    seed: int
    recent: tuple[float, ...]  # the objectives of the last snapshots at this penalty, oldest first
    path: tuple[float, ...]  # the trace penalties from the present one to the one asked for
    sample: FactoredProblem | None = None  # the problem of some comparisons, while these are enough
    rejected: int = 0  # epochs in a row that ended higher than they began


@dataclass(frozen=True, eq=False, kw_only=True)
class SVRG(Solver):
    """Settings of stochastic variance-reduced descent over points.

    Parameters
    ----------
    tol : float
        Stop when three epochs lower the objective by less than ``tol`` times its value at a point.
    max_iter : int
        The most epochs. Each reads the comparisons twice and evaluates them three times.
    batch_size : int, optional
        Comparisons in a batch; if left out four for each object, at least 1000, at most a tenth of them all.
    epsilon : float > 0
        What bounds the step: the least curvature that is believed, as a share of that along the first gradient.
    start, path, dtype, n_threads
        As for `Factored`.
    """

    tol: float = 1e-3
    max_iter: int = 200
    batch_size: int | None = None
    epsilon: float = 1e-3
    start: Start = "spectral"
    path: tuple[float, ...] = (0.3, 0.03, 0.003)
    dtype: Literal["float64", "float32"] = "float64"
    n_threads: int | None = None

    def check(self, problem: FactoredProblem) -> None:
        check_descent(problem, self)
        problem.source.check_blocks()
        check_counts(max_iter=self.max_iter, batch_size=1 if self.batch_size is None else self.batch_size)
        if not 0 < self.epsilon < np.inf:
            raise ValueError(f"epsilon must be a finite number > 0, got {self.epsilon!r}")
        if not 0 <= self.tol < np.inf:
            raise ValueError(f"tol must be a finite number >= 0, got {self.tol!r}")

    def init(self, problem: FactoredProblem, start: PointArray | None, rng: np.random.Generator) -> SVRGState:
        points, path = begin_descent(problem, self, start, rng)
        sample = None if len(path) == 1 else sample_problem(problem, N_ROWS_PER_COORDINATE * points.size, rng)
        value, gradient = (sample or problem).objective_and_gradient(points, path[0])
        curvature = _curvature(problem, points, gradient, path[0])
        floor, seed = self.epsilon * curvature, int(rng.integers(2**63))
        step_size = 1 / (curvature + floor)
        return SVRGState(points, gradient, Progress(0, value), step_size, floor, seed, (value,), path, sample)

    def step(self, problem: FactoredProblem, state: SVRGState) -> SVRGState:
        if has_settled(state.recent, 1, PATH_TOL * problem.objective_at_zero):
            if len(state.path) > 1:
                state = _next_penalty(state)
            elif state.sample is not None:
                state = _use_all_rows(problem, state)
        problem = state.sample or problem
        points = self._pass(problem, state)
        value, gradient = problem.objective_and_gradient(points, state.path[0])
        epoch = state.progress.iteration + 1
        if not value <= state.progress.objective:  # or it is not a number
            progress = state.progress._replace(iteration=epoch)
            return replace(state, progress=progress, step_size=state.step_size / 4, rejected=state.rejected + 1)
        step, change = points - state.points, gradient - state.gradient
        square = float(np.vdot(step, step))
        curvature = abs(float(np.vdot(step, change))) / square if square else np.inf
        return replace(
            state,
            points=points,
            gradient=gradient,
            progress=Progress(epoch, value),
            step_size=1 / (curvature + state.floor),
            recent=(*state.recent, value)[-WINDOW_EPOCHS - 1 :],
            rejected=0,
        )

    def done(self, problem: FactoredProblem, state: SVRGState) -> Outcome | None:
        if not state.gradient.any():
            return Outcome.CONVERGED
        if state.rejected >= MAX_REJECTED_EPOCHS:
            return Outcome.STALLED
        arrived = len(state.path) == 1 and state.sample is None
        settled = arrived and has_settled(state.recent, WINDOW_EPOCHS, self.tol * problem.objective_at_zero)
        return Outcome.CONVERGED if settled else None

    def _pass(self, problem: FactoredProblem, state: SVRGState) -> PointArray:
        """Return the points after one move for each batch."""
        rng = np.random.default_rng([state.seed, state.progress.iteration])
        points, m = state.points.copy(), len(problem.source)
        size = self.batch_size or default_batch_size(problem.n_objects, m)
        with np.errstate(over="ignore", invalid="ignore"):  # a step that was too long is undone
            for batch in batches(problem.source, size, rng):
                move = estimate(problem, batch, points, state.points, state.gradient, state.path[0])
                move *= -state.step_size * len(batch) / m
                points += move
        return points


def estimate(
    problem: FactoredProblem,
    batch: Rows,
    points: PointArray,
    snapshot: PointArray,
    gradient: PointArray,
    trace: float | None = None,
) -> PointArray:
    """Return v_b(X), the batch's estimate of the gradient at ``points``, (n, p), given that at the snapshot."""
    from nearer.optimize import kernels

    compiled, threads = problem.loss.compiled, problem.n_threads
    result = kernels.evaluate(compiled, points, batch, threads)[1]
    result -= kernels.evaluate(compiled, snapshot, batch, threads)[1]
    result *= len(problem.source) / (len(batch) * problem.total_weight)
    trace = problem.trace if trace is None else trace
    if trace:
        result += (2 * trace) * (points - snapshot)
    if problem.ridge:
        result += (2 * problem.ridge) * (points @ (points.T @ points) - snapshot @ (snapshot.T @ snapshot))
    if problem.movable is not None:
        result[~problem.movable] = 0
    result += gradient
    return result


def _curvature(problem: FactoredProblem, points: PointArray, gradient: PointArray, trace: float) -> float:
    """Return how fast the gradient of a sample changes along the gradient."""
    from nearer.optimize import kernels

    length = float(np.linalg.norm(gradient))
    if length == 0:
        return 1.0
    step = gradient * (PROBE_LENGTH * (float(np.linalg.norm(points)) or 1.0) / length)
    rows = problem.source.sample(SAMPLE_ROWS)
    weight = float(rows.weights.sum()) if rows.weights.size else float(len(rows))
    change = kernels.evaluate(problem.loss.compiled, points - step, rows, problem.n_threads)[1]
    change -= kernels.evaluate(problem.loss.compiled, points, rows, problem.n_threads)[1]
    # The norm of the change, not its part along s: the steepest curvature that shows, for a first step that is safe.
    ratio = float(np.linalg.norm(change) / np.linalg.norm(step))
    return (ratio / weight if weight else 0.0) + 2 * trace or 1.0


def _use_all_rows(problem: FactoredProblem, state: SVRGState) -> SVRGState:
    """Return the same snapshot, from now on with all comparisons."""
    value, gradient = problem.objective_and_gradient(state.points)
    progress = state.progress._replace(objective=value)
    return replace(state, gradient=gradient, progress=progress, recent=(value,), sample=None)


def _next_penalty(state: SVRGState) -> SVRGState:
    """Return the same snapshot at the next penalty of the path."""
    drop = state.path[0] - state.path[1]
    value = state.progress.objective - drop * float(np.vdot(state.points, state.points))
    return replace(
        state,
        path=state.path[1:],
        gradient=state.gradient - 2 * drop * state.points,
        progress=state.progress._replace(objective=value),
        recent=(value,),
    )


def default_batch_size(n_objects: int, n_comparisons: int) -> int:
    """Return a batch large enough that the moves of all points, O(n p), cost no more than its loss."""
    return max(1, min(max(N_ROWS_PER_OBJECT * n_objects, MIN_BATCH_ROWS), int(MAX_BATCH_SHARE * n_comparisons)))


def batches(source: Source, size: int, rng: np.random.Generator) -> Iterator[Rows]:
    """Return all comparisons, each once, about ``size`` at a time and in random order."""
    # Rows are often sorted by object. A chunk therefore takes every k-th row of its block, and is shuffled before it is
    # cut into batches; more than one chunk is never copied.
    for rows in source.blocks(rng):
        n_chunks = -(-len(rows) // CHUNK_ROWS)
        for first in rng.permutation(n_chunks):
            of_chunk = np.arange(first, len(rows), n_chunks)
            rng.shuffle(of_chunk)
            chunk = rows.take(of_chunk)
            count = max(1, round(len(of_chunk) / size))
            for number in range(count):
                yield chunk.take(slice(len(of_chunk) * number // count, len(of_chunk) * (number + 1) // count))


@dataclass(frozen=True, eq=False)
class Sample(Source):
    rows: Rows
    n: int

    @property
    def n_objects(self) -> int:
        return self.n

    def __len__(self) -> int:
        return len(self.rows)

    def blocks(self, rng: np.random.Generator | None = None) -> Iterator[Rows]:
        yield self.rows


def sample_problem(problem: FactoredProblem, n_rows: int, rng: np.random.Generator) -> FactoredProblem | None:
    """Return the problem of a sample of comparisons; None if that saves little, or leaves out an object."""
    from nearer.optimize import kernels

    if MIN_SAVING * n_rows > len(problem.source):
        return None
    parts, count = [], 0
    for batch in batches(problem.source, CHUNK_ROWS, rng):
        parts.append(batch)
        count += len(batch)
        if count >= n_rows:
            break
    rows = kernels.Rows.of(*(np.concatenate(columns)[:n_rows] for columns in zip(*parts, strict=True)))
    if (kernels.object_weights(rows, problem.n_objects)[problem.object_weights > 0] == 0).any():
        return None
    return replace(problem, source=Sample(rows, problem.n_objects))

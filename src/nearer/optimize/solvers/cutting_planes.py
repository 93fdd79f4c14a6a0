"""Cutting planes for structure preserving embedding, on points.

    maximize over G >= 0, tr(G) = n, centred    <G, A> / (n |A|) - slack * xi    subject to    cut_q(G) >= margin - xi

|A| is the largest eigenvalue of A, so that the first term is at most 1. Only the cuts that some map has violated are
in the problem; each step solves it, asks the oracle for the worst cuts of the solution, and adds them.

G = X X^T with X of full rank is the convex problem itself; with few columns it is its low-rank form. Both are solved by
the method of multipliers (Burer and Monteiro 2003). What is paid for xi is slack * max_q of what is missing, whose
conjugate is the set of multipliers y >= 0 with sum at most slack, so a step of the multipliers is a projection onto
that set. They give a bound: no map of any dimension is better than

    n lambda_max(A / (n |A|) + sum_q y_q B_q) - margin * sum_q y_q,        <B_q, G> = cut_q(G),

over the vectors that are orthogonal to ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import minimize

from nearer._common.arrays import FloatArray
from nearer.geometry import centred
from nearer.optimize.problems.structure import MOST_FOR_BOUND, Cuts, StructureProblem
from nearer.optimize.solvers.driver import Outcome, Progress, Space

_ROUNDS = 60  # of multipliers
_GROWTH = 2.0
_ESCAPE = 0.01  # of the size of the map


@dataclass(frozen=True, eq=False)
class CuttingState:
    """Points, the cuts so far and their multipliers."""

    points: FloatArray
    cuts: Cuts
    multipliers: FloatArray
    stiffness: float
    shortfall: float
    settled: bool  # whether the cuts so far imply all others
    progress: Progress
    stalled: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class CuttingPlanes:
    """Settings of the cutting-plane method.

    Parameters
    ----------
    tol : float
        How much of the margin may be missing in the end, and how exact each problem is solved; the mean of the squared
        norms of the points is 1.
    max_iter : int
        The most times that cuts are added.

    Examples
    --------
    >>> CuttingPlanes(tol=1e-4).max_iter
    200
    """

    tol: float = 1e-3
    max_iter: int = 200
    space: ClassVar[Space] = "points"

    def check(self, problem: StructureProblem) -> None:
        """Refuse settings that make no sense."""
        if not (self.tol > 0 and self.max_iter >= 1 and problem.rank >= 1):
            raise ValueError(
                f"CuttingPlanes needs tol > 0 and max_iter >= 1, got {self}, and rank >= 1, got {problem.rank}"
            )

    def init(self, problem: StructureProblem, start: Any, rng: np.random.Generator) -> CuttingState:
        """Start with no cuts, from points whose Gram matrix is nearest to I / 2 + A / |A|, or from a map."""
        n = problem.n_objects
        if start is not None:
            points = np.asarray(start, dtype=np.float64)
        elif n <= MOST_FOR_BOUND:
            eigenvalues, vectors = np.linalg.eigh(centred(n * problem.similarity.toarray()))
            points = (vectors * np.sqrt(np.maximum(eigenvalues + 0.5, 0.01)))[:, ::-1][:, : problem.rank]
        else:
            points = rng.normal(size=(n, problem.rank))
        points = _on_sphere(points)
        cuts, shortfall = problem.oracle.worst(points, problem.margin)
        objective = problem.objective(points)
        progress = Progress(0, objective, float("nan"))
        return CuttingState(points, cuts, np.zeros(cuts.n_cuts), 1.0 / n, shortfall, False, progress)

    def step(self, problem: StructureProblem, state: CuttingState) -> CuttingState:
        """Solve with the cuts so far, and add the worst of those that the solution violates."""
        points, multipliers, stiffness, missing = _solve(problem, state, self.tol)
        found, shortfall = problem.oracle.worst(points, problem.margin)
        value = float(np.vdot(points, problem.similarity @ points)) - problem.slack * max(shortfall, 0.0)
        bound, direction = problem.bound(state.cuts, multipliers)
        gap = bound - value
        settled = shortfall <= missing + 0.5 * self.tol
        cuts = state.cuts if settled else state.cuts.plus(found)
        if direction is not None and problem.rank >= problem.n_objects and gap > problem.slack * self.tol:
            points = _with_direction(points, direction)
        return CuttingState(
            points,
            cuts,
            np.concatenate([multipliers, np.zeros(cuts.n_cuts - len(multipliers))]),
            stiffness,
            shortfall,
            settled,
            Progress(state.progress.iteration + 1, value, gap),
            settled and state.settled and gap > 0.9 * state.progress.gap,
        )

    def done(self, problem: StructureProblem, state: CuttingState) -> Outcome | None:
        """Stop when no cut is violated more than those in the problem and, if it is convex, the gap is small."""
        if not state.settled:
            return None
        if problem.rank < problem.n_objects or not state.progress.gap > problem.slack * self.tol:
            return Outcome.CONVERGED
        return Outcome.STALLED if state.stalled else None

    def value(self, state: CuttingState) -> FloatArray:
        """Return the points."""
        return state.points


def _solve(problem: StructureProblem, state: CuttingState, tol: float) -> tuple[FloatArray, FloatArray, float, float]:
    """Return points, multipliers, stiffness and the largest shortfall of the problem with the cuts of a state."""
    n, cuts, points = problem.n_objects, state.cuts, state.points
    differences = cuts.incidence(n)
    spread = differences.T.tocsr()
    multipliers, stiffness, shape = state.multipliers, state.stiffness, points.shape
    last = np.inf

    def shortfalls(at: FloatArray) -> tuple[FloatArray, FloatArray]:
        gaps = differences @ at
        squares = np.einsum("ep,ep->e", gaps, gaps)
        values: FloatArray = np.bincount(cuts.cut, cuts.weight * squares, minlength=cuts.n_cuts).astype(np.float64)
        return problem.margin - values, gaps

    def lagrangian(flat: FloatArray) -> tuple[float, FloatArray]:
        free = flat.reshape(shape)
        at = _on_sphere(free)
        missing, gaps = shortfalls(at)
        raised = onto_slack(multipliers + stiffness * missing, problem.slack)
        pulled = problem.similarity @ at
        step = raised - multipliers
        value = -float(np.vdot(at, pulled)) + float(raised @ missing) - float(step @ step) / (2 * stiffness)
        gradient = -2 * pulled - 2 * (spread @ ((raised[cuts.cut] * cuts.weight)[:, None] * gaps))
        # Through the projection onto centred points of a fixed size.
        gradient -= gradient.mean(axis=0)
        gradient -= at * (float(np.vdot(at, gradient)) / n)
        return value, gradient.ravel() * np.sqrt(n) / np.linalg.norm(free - free.mean(axis=0))

    for _ in range(_ROUNDS):
        settings: Any = {"maxiter": 300, "maxcor": 20, "ftol": 1e-15, "gtol": 0.01 * tol / n}
        found = minimize(lagrangian, points.ravel(), jac=True, method="L-BFGS-B", options=settings)
        points = _on_sphere(found.x.reshape(shape))
        missing, _ = shortfalls(points)
        raised = onto_slack(multipliers + stiffness * missing, problem.slack)
        change = float(np.abs(raised - multipliers).max(initial=0.0)) / stiffness
        multipliers = raised
        if change < 0.25 * tol:
            break
        if change > 0.7 * last:
            stiffness *= _GROWTH
        last = change
    return points, multipliers, stiffness, float(missing.max(initial=0.0))


def _with_direction(points: FloatArray, direction: FloatArray) -> FloatArray:
    """Return points with their smallest dimension replaced by a little of a direction.

    A dimension that has shrunk to nothing has no gradient, and points that lack one they need would stay without it.
    """
    _, axes = np.linalg.eigh(points.T @ points)
    turned = points @ axes
    turned[:, 0] = _ESCAPE * np.sqrt(len(points)) * direction
    return _on_sphere(turned)


def onto_slack(multipliers: FloatArray, slack: float) -> FloatArray:
    """Return the nearest multipliers that are at least 0 and sum to at most ``slack``.

    Examples
    --------
    >>> onto_slack(np.array([3.0, 1.0, -1.0]), 2.0).tolist()
    [2.0, 0.0, 0.0]
    """
    clipped = np.maximum(multipliers, 0)
    if clipped.sum() <= slack:
        return clipped
    falling = np.sort(multipliers)[::-1]
    lowered = (np.cumsum(falling) - slack) / np.arange(1, len(falling) + 1)
    level = lowered[np.flatnonzero(falling > lowered)[-1]]
    projected: FloatArray = np.maximum(multipliers - level, 0)
    return projected


def _on_sphere(points: FloatArray) -> FloatArray:
    """Return points with their mean at 0 and a mean squared norm of 1."""
    moved = points - points.mean(axis=0)
    result: FloatArray = moved * (np.sqrt(len(points)) / np.linalg.norm(moved))
    return result

"""Several descents on one problem, of which the best is kept.

Points on a line cannot pass each other without a price, nor can groups of them in a plane: a descent that has folded a
map of one or two dimensions never unfolds it. The usual remedy is random starts, most of which fold as well. Better
ones come from the comparisons. The spectral start without the path of penalties keeps the order that it has. And in a
map of one or two dimensions *more* there is room to pass: its leading part, pressed flat, is a start that is hardly
ever folded. On a line, that of the plane is also taken along its diagonals. None of these draws a random number, and
none depends on the names of the objects or the order of the rows.

How many descents *agree*, ending as low as the best one, tells how far to trust that there is none better.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from nearer.common.arrays import FloatArray
from nearer.problems.points import FactoredProblem
from nearer.solvers.driver import Callback, Outcome, Restarts, Solution, solve
from nearer.solvers.lbfgs import Factored
from nearer.solvers.starts import at_best_size

FEW_DIMENSIONS = 2
MOST_WORK = 500_000  # comparisons times dimensions, beyond which one descent takes a second
_EXTRA_DIMENSIONS = (1, 2)
_START_TOL = 1e-3  # of a map that is only a start
_AGREEING = 50  # times what the stopping rule leaves open in an iteration
_LEAST_AGREEING = 1e-6


def several_by_default(problem: FactoredProblem, solver: Any) -> bool:
    """Whether a solver that leaves the number of descents open gets several: in few dimensions, at a small size."""
    return (
        isinstance(solver, Factored)
        and solver.n_init is None
        and isinstance(solver.start, str)
        and solver.start == "spectral"
        and solver.rank <= FEW_DIMENSIONS
        and len(problem.source) * solver.rank <= MOST_WORK
    )


def dimensions_above(problem: FactoredProblem, solver: Any) -> int:
    """Return the most dimensions that a descent of this solver takes place in."""
    return int(solver.rank) + (max(_EXTRA_DIMENSIONS) if several_by_default(problem, solver) else 0)


def solve_from_all_starts(
    problem: FactoredProblem, solver: Any, rng: np.random.Generator, callback: Callback | None = None
) -> Solution:
    """Return the best of a solver's descents; its `Restarts` tell how many there were.

    Parameters
    ----------
    problem : FactoredProblem
    solver : Factored or SVRG
    rng : numpy Generator
        For random starts.
    callback : callable, optional
        Called with each `Progress` of each descent.

    Returns
    -------
    Solution
        Of least held-out error, or lowest. An interrupt ends all descents with the best so far.
    """
    descents = _from_comparisons if several_by_default(problem, solver) else _one_by_one
    return best_of(descents(problem, solver, rng, callback), problem, solver.tol)


def best_of(descents: Iterator[Solution], problem: FactoredProblem, tol: float) -> Solution:
    """Return the best of solutions that are worked out one by one, until one of them is interrupted."""
    solutions: list[Solution] = []
    interrupted = False
    try:
        for solution in descents:
            solutions.append(solution)
            if solution.outcome is Outcome.INTERRUPTED:
                break
    except KeyboardInterrupt:
        if not solutions:
            raise
        interrupted = True
    badness = [_badness(problem, solution) for solution in solutions]
    best = solutions[int(np.argmin(badness))]
    open_ = max(_AGREEING * tol, _LEAST_AGREEING) * (problem.objective_at_zero if problem.held_out is None else 1.0)
    best = replace(best, restarts=Restarts.of(badness, open_))
    interrupted = interrupted or solutions[-1].outcome is Outcome.INTERRUPTED
    return replace(best, outcome=Outcome.INTERRUPTED) if interrupted else best


def _badness(problem: FactoredProblem, solution: Solution) -> float:
    if problem.held_out is None or solution.points is None:
        return solution.history[-1].objective
    return problem.held_out_error(solution.points)


def _one_by_one(
    problem: FactoredProblem, solver: Any, rng: np.random.Generator, callback: Callback | None
) -> Iterator[Solution]:
    for descent in solver.descents():
        yield solve(problem, descent, rng, callback)


def _from_comparisons(
    problem: FactoredProblem, solver: Factored, rng: np.random.Generator, callback: Callback | None
) -> Iterator[Solution]:
    """Yield where the spectral start leads, with and without a path, and what comes from maps of more dimensions."""
    yield solve(problem, solver, rng, callback)
    yield solve(problem, replace(solver, path=()), rng, callback)
    for extra in _EXTRA_DIMENSIONS:
        wide = replace(solver, rank=solver.rank + extra, tol=max(solver.tol, _START_TOL))
        above = solve(problem, wide, rng, callback)
        if above.outcome is Outcome.INTERRUPTED:
            raise KeyboardInterrupt
        assert above.points is not None
        for flat in _flattened(np.asarray(above.points, np.float64), problem.mentions > 0, solver.rank):
            yield solve(problem, replace(solver, start=at_best_size(problem, flat)), rng, callback)


def _flattened(points: FloatArray, seen: Any, rank: int) -> Iterator[FloatArray]:
    """Yield the leading part of a map; that of a plane on a line also along the diagonals."""
    moved = points - points[seen].mean(axis=0)
    moved[~seen] = 0
    leading = moved @ np.linalg.eigh(moved.T @ moved)[1][:, ::-1]
    yield np.ascontiguousarray(leading[:, :rank])
    if (rank, points.shape[1]) == (1, 2):
        yield leading[:, :1] + leading[:, 1:]
        yield leading[:, :1] - leading[:, 1:]

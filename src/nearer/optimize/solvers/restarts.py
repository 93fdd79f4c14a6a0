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

from collections.abc import Callable, Iterator
from dataclasses import replace
from operator import attrgetter
from typing import Any

import numpy as np

from nearer._common.arrays import FloatArray, PointArray
from nearer.optimize.problems.points import FactoredProblem
from nearer.optimize.solvers.device_lbfgs import DeviceState
from nearer.optimize.solvers.driver import Callback, Outcome, Restarts, Solution, ValueT, solve
from nearer.optimize.solvers.lbfgs import DescentSettings
from nearer.optimize.solvers.starts import at_best_size

FEW_DIMENSIONS = 2
MOST_WORK = 500_000  # comparisons times dimensions, beyond which one descent takes a second
_EXTRA_DIMENSIONS = (1, 2)
_START_TOL = 1e-3  # of a map that is only a start
_AGREEING = 50  # times what the stopping rule leaves open in an iteration
_LEAST_AGREEING = 1e-6


def best_of_restarts(
    descents: Iterator[Solution[ValueT]],
    agreeing: float,
    badness: Callable[[Solution[ValueT]], float] = attrgetter("objective"),
) -> Solution[ValueT]:
    """Return the best of several descents on one problem, which are worked out one by one.

    An interrupt ends them all with the best so far, whose outcome says so; before there is any, it goes on.

    Parameters
    ----------
    descents : iterator of Solution
    agreeing : float
        How far from the best one that agrees with it may be.
    badness : callable, optional
        What is to be small; the objective if left out.
    """
    best: Solution[ValueT] | None = None  # of the others nothing is kept
    values: list[float] = []
    interrupted = False
    try:
        for solution in descents:
            values.append(badness(solution))
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
        best = replace(best, restarts=Restarts.of(values, agreeing))
    return replace(best, outcome=Outcome.INTERRUPTED) if interrupted else best


def agreeing_within(tol: float) -> float:
    """Return how far apart objectives of descents that agree may be, as a share of the objective at a point."""
    return max(_AGREEING * tol, _LEAST_AGREEING)


def several_by_default(problem: FactoredProblem, solver: Any, start: PointArray | None = None) -> bool:
    """Whether to use several starts by default: few dimensions and a small problem."""
    return (
        isinstance(solver, DescentSettings)
        and solver.n_init is None
        and start is None
        and isinstance(solver.start, str)
        and solver.start == "spectral"
        and problem.rank <= FEW_DIMENSIONS
        and len(problem.source) * problem.rank <= MOST_WORK
    )


def dimensions_above(problem: FactoredProblem, solver: Any, start: PointArray | None = None) -> int:
    """Return the most dimensions that a descent of this solver takes place in."""
    return problem.rank + (max(_EXTRA_DIMENSIONS) if several_by_default(problem, solver, start) else 0)


def solve_from_all_starts(
    problem: FactoredProblem,
    solver: Any,
    start: PointArray | None = None,
    rng: np.random.Generator | None = None,
    callback: Callback | None = None,
) -> Solution[PointArray]:
    """Return the best of a solver's descents; its `Restarts` tell how many there were.

    Parameters
    ----------
    problem : FactoredProblem
    solver : Factored, FactoredOnDevice or SVRG
    start : ndarray, shape (n, p), optional
        Points that the first descent goes on from.
    rng : numpy Generator, optional
        For random starts.
    callback : callable, optional
        Called with each `Progress` of each descent.

    Returns
    -------
    Solution
        Of least held-out error, or lowest.
    """
    if several_by_default(problem, solver, start):
        descents = _from_comparisons(problem, solver, rng, callback)
    else:
        descents = _one_by_one(problem, solver, start, rng, callback)
    agreeing = agreeing_within(solver.tol)
    if problem.held_out is not None:
        return best_of_restarts(descents, agreeing, lambda solution: problem.held_out_error(solution.value))
    return best_of_restarts(descents, agreeing * problem.objective_at_zero)


def _one_by_one(
    problem: FactoredProblem,
    solver: Any,
    start: PointArray | None,
    rng: np.random.Generator | None,
    callback: Callback | None,
) -> Iterator[Solution[PointArray]]:
    first, *others = solver.descents()
    yield _descended(problem, first, start, rng, callback)
    for descent in others:
        yield _descended(problem, descent, None, rng, callback)


def _descended(
    problem: FactoredProblem,
    solver: Any,
    start: PointArray | None,
    rng: np.random.Generator | None,
    callback: Callback | None,
) -> Solution[PointArray]:
    """Return where a descent ends; without what it leaves on a device, where there is room for one at a time."""
    solution: Solution[PointArray] = solve(problem, solver, start, rng=rng, callback=callback)
    return replace(solution, state=None) if isinstance(solution.state, DeviceState) else solution


def _from_comparisons(
    problem: FactoredProblem, solver: Any, rng: np.random.Generator | None, callback: Callback | None
) -> Iterator[Solution[PointArray]]:
    """Yield where the spectral start leads, with and without a path, and what comes from maps of more dimensions."""
    yield _descended(problem, solver, None, rng, callback)
    yield _descended(problem, replace(solver, path=()), None, rng, callback)
    for extra in _EXTRA_DIMENSIONS:
        wide, rough = replace(problem, rank=problem.rank + extra), replace(solver, tol=max(solver.tol, _START_TOL))
        above = _descended(wide, rough, None, rng, callback)
        if above.interrupted:
            raise KeyboardInterrupt
        for flat in _flattened(np.asarray(above.value, np.float64), problem.mentions > 0, problem.rank):
            yield _descended(problem, solver, at_best_size(problem, flat), rng, callback)


def _flattened(points: FloatArray, seen: Any, rank: int) -> Iterator[FloatArray]:
    """Yield the leading part of a map; that of a plane on a line also along the diagonals."""
    moved = points - points[seen].mean(axis=0)
    moved[~seen] = 0
    leading = moved @ np.linalg.eigh(moved.T @ moved)[1][:, ::-1]
    yield np.ascontiguousarray(leading[:, :rank])
    if (rank, points.shape[1]) == (1, 2):
        yield leading[:, :1] + leading[:, 1:]
        yield leading[:, :1] - leading[:, 1:]

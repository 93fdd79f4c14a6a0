"""The convex solver: seconds to its certificate, and beside scs, a general solver, on the same problem.

Each time is the median of several. The limits are those the project has set itself on two cores: 2 seconds at
100 objects and 1000 comparisons, 20 seconds at 400 and 5000.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median
from typing import TypedDict

from tqdm import tqdm

from benchmarks.sdp import FORMS, build_model, solve_with_scs
from benchmarks.triplets import Size
from nearer import Comparisons, Penalty
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import DMOE
from nearer.model import TwoSidedHinge
from nearer.optimize import ADMM, solve
from nearer.optimize.problems.gram import Problem
from nearer.optimize.problems.margins import MarginMap

LIMITS = {Size(100, 1000): 2.0, Size(400, 5000): 20.0}
SETTINGS = {
    "default": DMOE(10, penalty=Penalty()),
    "ridge alone": DMOE(10, penalty=Penalty(trace=0.0, ridge=3.0)),
    "trace alone": DMOE(10, penalty=Penalty(trace=0.1, ridge=0.0)),
    "trace alone, one-sided": DMOE(10, penalty=Penalty(trace=0.1, ridge=0.0), nu=0.0),
    "power 1": DMOE(10, penalty=Penalty(), power=1),
    "specificities": DMOE(10, penalty=Penalty(specificity=20.0)),
}
SCS_SIZE = Size(50, 1000)
#: Tolerances of scs, the loosest first; the first that is close enough is timed.
TOLERANCES = (1e-3, 1e-4, 1e-5, 1e-6)
#: Both solvers must come this close to the minimum, relative to it.
CLOSE = 1e-4
_NO_FIGURE = "it was stopped, or ran out of iterations, and its time means nothing; run again"


class ConvexRow(TypedDict):
    """One setting of DMOE at one size."""

    objects: int
    comparisons: int
    setting: str
    seconds: float
    limit: float
    iterations: int
    relative_gap: float


class ScsRow(TypedDict):
    """One solver on the problem that both solve; excess is relative to the minimum, ratio to our seconds."""

    solver: str
    eps: float | None
    objective: float
    excess: float
    build_seconds: float
    seconds: float
    ratio: float


@dataclass(frozen=True)
class ScsComparison:
    """Ours first, then scs in each of its forms."""

    size: Size
    minimum: float
    rows: list[ScsRow]


def settings_rows(repeats: int) -> Iterator[ConvexRow]:
    """Fit each setting at each size so many times."""
    work = [(size, limit, name, model) for size, limit in LIMITS.items() for name, model in SETTINGS.items()]
    # disable=None: a bar on a terminal, silence in a log file.
    for size, limit, name, model in tqdm(work, desc="convex", unit="setting", disable=None):
        train = _train(size)
        seconds = _seconds(lambda model=model, train=train: model.fit(train), repeats)  # type: ignore[misc]
        if not model.converged_:
            raise ValueError(f"{name!r} at size {size} did not meet its stopping rule: {_NO_FIGURE}")
        gap = model.dual_gap_ / model.history_[-1].objective
        yield ConvexRow(
            objects=size.objects, comparisons=size.comparisons, setting=name, seconds=seconds, limit=limit,
            iterations=model.n_iter_, relative_gap=gap,
        )  # fmt: skip


def default_problem(train: Comparisons) -> Problem:
    """Return the problem that DMOE with the default penalty solves.

    Examples
    --------
    >>> default_problem(sample_triplets(make_gaussian(10, 2, random_state=0), 50, random_state=0)).ridge
    0.02
    """
    margins, weights = MarginMap.from_quadruplets(train.oriented, train.n_objects).merge_duplicates(train.sample_weight)
    margins, _ = margins.over_seen_objects()
    return Penalty().over_gram_matrices(Problem(margins, TwoSidedHinge(), weights))


def compare_with_scs(size: Size = SCS_SIZE, repeats: int = 5) -> ScsComparison:
    """Solve one problem with ours and with scs, each at its loosest tolerance within `CLOSE` of the minimum.

    Building a model is not part of the seconds; what follows (scs: setup and solve; ours: `solve`) is.

    Raises
    ------
    ImportError
        Without scs.
    ValueError
        When a solver does not come close enough.
    """
    try:
        import scs  # noqa: F401
    except ImportError as error:
        raise ImportError("the comparison with scs needs scs; install it with: pip install scs") from error
    start = time.perf_counter()
    problem = default_problem(_train(size))
    build = time.perf_counter() - start
    minimum = _reached(problem, ADMM(tol=1e-8, max_iter=100_000))
    ours = _ours(problem, minimum, build, repeats)
    others = [_scs(problem, form, minimum, ours["seconds"], repeats) for form in FORMS]
    return ScsComparison(size, minimum, [ours, *others])


def _ours(problem: Problem, minimum: float, build: float, repeats: int) -> ScsRow:
    for tol in TOLERANCES:
        objective = _reached(problem, ADMM(tol=tol))
        if objective / minimum - 1 <= CLOSE:
            seconds = _seconds(lambda tol=tol: solve(problem, ADMM(tol=tol)), 5 * repeats)  # type: ignore[misc]
            return _scs_row("nearer", tol, objective, minimum, build, seconds, seconds)
    raise ValueError(f"nearer does not come within {CLOSE:g} of the minimum at tol={TOLERANCES[-1]:g}")


def _reached(problem: Problem, solver: ADMM) -> float:
    solution = solve(problem, solver)
    if not solution.outcome.ok:
        raise ValueError(f"{solver} did not meet its stopping rule: {_NO_FIGURE}")
    return problem.objective(solution.value.matrix)


def _scs(problem: Problem, form: str, minimum: float, our_seconds: float, repeats: int) -> ScsRow:
    start = time.perf_counter()
    model = build_model(problem, form)
    build = time.perf_counter() - start
    for eps in TOLERANCES:
        objective = problem.objective(model.gram(solve_with_scs(model, eps)))
        if abs(objective / minimum - 1) <= CLOSE:
            seconds = _seconds(lambda eps=eps: solve_with_scs(model, eps), repeats)  # type: ignore[misc]
            return _scs_row(f"scs, {form}", eps, objective, minimum, build, seconds, our_seconds)
    raise ValueError(f"scs ({form}) does not come within {CLOSE:g} of the minimum at eps={TOLERANCES[-1]:g}")


def _scs_row(
    solver: str, eps: float | None, objective: float, minimum: float, build: float, seconds: float, our_seconds: float
) -> ScsRow:
    return ScsRow(
        solver=solver, eps=eps, objective=objective, excess=objective / minimum - 1, build_seconds=build,
        seconds=seconds, ratio=seconds / our_seconds,
    )  # fmt: skip


def _train(size: Size) -> Comparisons:
    return sample_triplets(make_gaussian(size.objects, 10, random_state=0), size.comparisons, random_state=0)


def _seconds(work: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return median(times)


def convex_text(rows: list[ConvexRow], repeats: int) -> str:
    """Return the table of settings for people."""
    lines = ["objects   rows  setting                  seconds  limit  steps  relative gap"]
    lines += [
        f"{row['objects']:7d} {row['comparisons']:6d}  {row['setting']:<24}{row['seconds']:8.3f} {row['limit']:6.1f} "
        f"{row['iterations']:6d} {row['relative_gap']:13.1e}"
        for row in rows
    ]
    lines.append(
        f"Medians of {repeats}, of whole fits to a relative duality gap of 1e-4; limit: the seconds to stay below."
    )
    return "\n".join(lines) + "\n"


def scs_text(found: ScsComparison) -> str:
    """Return the comparison with scs for people."""
    head = f"DMOE's default problem, {found.size.objects} objects, {found.size.comparisons} comparisons, 10-D; "
    lines = [f"{head}minimum {found.minimum:.8f}", "solver               eps   objective   excess  seconds  ratio"]
    lines += [
        f"{row['solver']:<16}{'-' if row['eps'] is None else format(row['eps'], '.0e'):>8}{row['objective']:12.8f}"
        f"{row['excess']:9.1e}{row['seconds']:9.4f}{row['ratio']:7.1f}"
        for row in found.rows
    ]
    lines.append(
        f"eps: the loosest tolerance at which a solver is within {CLOSE:g} of the minimum. Seconds: setup and solve; "
        "building the model\nis left out of both. Ratio: divided by nearer. Hinges: the problem as it is, for any nu; "
        "residuals: a sum of squares, for nu = 1;\neliminated: the same, the margins put into a dense quadratic form."
    )
    return "\n".join(lines) + "\n"

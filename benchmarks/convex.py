"""The convex solver: seconds to its certificate, against scs, a general solver, on the same problem.

The convex problem of DMOE, default loss, in the form that scs takes.

With x = (svec G, ...) scs minimizes x^T P x / 2 + c^T x subject to A x + s = b, s in a cone. svec takes the lower
triangle by columns, off-diagonal entries times sqrt(2), so that inner products are kept. The squared two-sided hinge
at nu = 1 is (1 - margin)^2, and can be stated in three ways, none of which is best for every solver:

    hinges       a shortfall and an excess for each comparison, at least 0: the form that serves any nu
    residuals    one free residual for each comparison
    eliminated   svec G alone, with the comparisons in a dense P
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any, TypeAlias, TypedDict

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from tqdm import tqdm

from benchmarks.triplets import Size
from nearer import Comparisons, Penalty
from nearer._common.arrays import FloatArray
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import DMOE
from nearer.model import TwoSidedHinge
from nearer.optimize import ADMM, nearest_psd, solve
from nearer.optimize.problems.gram import Problem
from nearer.optimize.problems.margins import MarginMap


@dataclass(frozen=True, eq=False)
class Model:
    """What scs is given, and how its answer becomes a Gram matrix.

    Examples
    --------
    >>> from nearer.optimize.problems.margins import MarginMap
    >>> margins = MarginMap.from_quadruplets(np.array([[0, 1, 0, 2]]), n_objects=3)
    >>> model = build_model(Problem(margins, TwoSidedHinge(), np.array([1.0]), trace=0.1, ridge=1.0), "residuals")
    >>> model.data["A"].shape, model.cone
    ((7, 7), {'z': 1, 's': 3})
    """

    data: dict[str, Any]
    cone: dict[str, int]
    n_objects: int

    def gram(self, x: FloatArray) -> FloatArray:
        """Return the nearest matrix in the cone to the one that a solution holds."""
        rows, columns = _triangle(self.n_objects)
        entries = x[: len(rows)] / np.where(rows == columns, 1.0, np.sqrt(2))
        gram = np.zeros((self.n_objects, self.n_objects))
        gram[rows, columns] = gram[columns, rows] = entries
        return nearest_psd(gram)


def build_model(problem: Problem, form: str) -> Model:
    """State a problem without specificities, with the loss TwoSidedHinge(nu=1, power=2), in one of `FORMS`."""
    if problem.loss != TwoSidedHinge() or problem.has_specificities or problem.margins.diagonal != 1:
        raise ValueError("this form is for the default loss of DMOE, without specificities or diagonal weight")
    return FORMS[form](problem)


def _triangle(n: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    columns, rows = np.triu_indices(n)  # the upper triangle by rows is the lower one by columns
    return rows, columns


def _design(margins: MarginMap) -> Any:
    """Return the (m, n(n+1)/2) matrix that sends svec G to margins."""
    n, m = margins.n_objects, len(margins)
    rows, columns = _triangle(n)
    place = np.empty((n, n), dtype=np.intp)
    place[rows, columns] = place[columns, rows] = np.arange(len(rows))
    design = sp.csc_array((m, len(rows)))
    for pairs, sign in ((margins.near, -1.0), (margins.far, 1.0)):
        first, second = np.divmod(pairs, n)
        for entry, weight in (
            (place[first, first], 1.0),
            (place[second, second], 1.0),
            (place[first, second], -(2**0.5)),
        ):
            values = np.full(m, sign * weight)
            design = design + sp.csc_array((values, (np.arange(m), entry)), shape=design.shape)
    return design


def _trace(problem: Problem) -> FloatArray:
    rows, columns = _triangle(problem.margins.n_objects)
    diagonal: FloatArray = (rows == columns).astype(np.float64)
    return problem.trace * diagonal


def _model(
    problem: Problem, quadratic: Any, linear: FloatArray, blocks: list[Any], right: FloatArray, **cone: int
) -> Model:
    n = problem.margins.n_objects
    k = n * (n + 1) // 2
    in_cone = sp.hstack([-sp.eye_array(k), sp.csc_array((k, len(linear) - k))])
    data = {
        # scs reads the upper triangle of P, and the index type of the older sparse matrices.
        "P": sp.csc_matrix(sp.triu(quadratic)),
        "A": sp.csc_matrix(sp.vstack([*blocks, in_cone])),
        "b": np.concatenate([right, np.zeros(k)]),
        "c": linear,
    }
    return Model(data, {**cone, "s": n}, n)


def _hinges(problem: Problem) -> Model:
    design, eye = _design(problem.margins), sp.eye_array(len(problem.margins))
    m, k = design.shape
    quadratic = sp.diags_array(np.concatenate([np.full(k, problem.ridge), 2 * problem.shares, 2 * problem.shares]))
    linear = np.concatenate([_trace(problem), np.zeros(2 * m)])
    balance = sp.hstack([design, eye, -eye])  # margin + shortfall - excess = 1
    positive = sp.hstack([sp.csc_array((2 * m, k)), -sp.eye_array(2 * m)])
    right = np.concatenate([np.ones(m), np.zeros(2 * m)])
    return _model(problem, quadratic, linear, [balance, positive], right, z=m, l=2 * m)


def _residuals(problem: Problem) -> Model:
    design = _design(problem.margins)
    m, k = design.shape
    quadratic = sp.diags_array(np.concatenate([np.full(k, problem.ridge), 2 * problem.shares]))
    linear = np.concatenate([_trace(problem), np.zeros(m)])
    return _model(problem, quadratic, linear, [sp.hstack([design, sp.eye_array(m)])], np.ones(m), z=m)


def _eliminated(problem: Problem) -> Model:
    design = _design(problem.margins)
    k = design.shape[1]
    quadratic = 2 * (design.T @ sp.diags_array(problem.shares) @ design) + problem.ridge * sp.eye_array(k)
    return _model(problem, quadratic, _trace(problem) - 2 * (design.T @ problem.shares), [], np.zeros(0))


Form: TypeAlias = Callable[[Problem], Model]
FORMS: dict[str, Form] = {"hinges": _hinges, "residuals": _residuals, "eliminated": _eliminated}


def solve_with_scs(model: Model, eps: float) -> FloatArray:
    """Set scs up, solve to its tolerances eps, and return its x.

    Raises
    ------
    ValueError
        When scs says that it did not solve the problem.
    """
    import scs

    answer = scs.SCS(model.data, model.cone, eps_abs=eps, eps_rel=eps, max_iters=100_000, verbose=False).solve()
    if answer["info"]["status"] != "solved":
        raise ValueError(f"scs ended with the status {answer['info']['status']!r} at eps={eps:g}; try a larger eps")
    x: FloatArray = answer["x"]
    return x


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

"""From comparisons, a loss, a penalty and a solver to a map: what happens inside every `fit`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearer.common.arrays import FloatArray
from nearer.data.comparisons import Comparisons
from nearer.embedding.predictor import Predictor
from nearer.geometry import centred, embedding_from_gram, principal
from nearer.losses import DistanceHinge, Loss
from nearer.problems.gram import Problem
from nearer.problems.margins import MarginMap
from nearer.problems.penalty import Penalty
from nearer.problems.points import FactoredProblem, InMemory, Source, rows_of
from nearer.problems.spectrum import leading_pull
from nearer.solvers import Factored, Outcome, Progress, Solution, Solver, solve
from nearer.solvers.driver import Callback
from nearer.solvers.restarts import dimensions_above, solve_from_all_starts

_FEW_OBJECTS = 1000
# The path is the one that candidates are judged along. The last digits are worth 1% of the error on clean answers.
# It is longer than that of other methods, and such maps are hardly ever folded: one start will do.
OF_RANK = Factored(tol=1e-5, path=(0.6, 0.35, 0.2, 0.1, 0.03), n_init=1)


@dataclass(frozen=True, eq=False)
class Fitted:
    """What a fit leaves behind.

    Attributes
    ----------
    embedding : ndarray, shape (n, p)
    problem : Problem or FactoredProblem
        As it was solved, over the objects that are compared.
    solution : Solution
        Over all objects.
    vanishing_trace : float
        The trace penalty from which on the map is a point; infinity for a loss without one.
    predictor : Predictor, optional
        The Gram matrix that predicts, if the map does not.
    """

    embedding: FloatArray
    problem: Problem | FactoredProblem
    solution: Solution
    vanishing_trace: float
    predictor: Predictor | None = None


def fit_gram(
    comparisons: Comparisons,
    loss: Loss,
    penalty: Penalty,
    solver: Solver[Any, Any],
    n_components: int,
    rng: np.random.Generator,
    callback: Callback | None = None,
) -> Fitted:
    """Solve for a Gram matrix; the map is its leading part."""
    _refuse_huge(comparisons.n_objects)
    margins = MarginMap.from_quadruplets(comparisons.oriented, comparisons.n_objects)
    margins, weights = margins.merged(comparisons.sample_weight)
    margins, seen = margins.over_seen_objects()
    problem = penalty.of(Problem(margins, loss, weights))
    solution = solve(problem, solver, rng, callback)
    assert solution.gram is not None
    embedding = np.zeros((comparisons.n_objects, n_components))
    embedding[seen] = embedding_from_gram(centred(solution.gram), n_components)
    everywhere = solution.among(seen, comparisons.n_objects)
    assert everywhere.gram is not None
    predictor = Predictor.of(everywhere.gram, everywhere.specificities, problem.margins.diagonal)
    return Fitted(embedding, problem, everywhere, problem.vanishing_trace, predictor)


def refined(fitted: Fitted, comparisons: Comparisons, loss: Loss) -> Fitted:
    """Return a fit over Gram matrices with its map moved to a minimum of the same problem over points.

    The leading part of a Gram matrix of high rank is a poor map of its own: what was cut away had its share in every
    distance. Descent from there makes up for it.
    """
    if not fitted.embedding.any() or not fitted.solution.outcome.ok:
        return fitted
    problem = FactoredProblem(InMemory(comparisons), loss, fitted.problem.trace, fitted.problem.ridge)
    solver = Factored(fitted.embedding.shape[1], start=fitted.embedding)
    solution = solve(problem, solver)
    assert solution.points is not None
    outcome = Outcome.INTERRUPTED if solution.outcome is Outcome.INTERRUPTED else fitted.solution.outcome
    return replace(
        fitted,
        embedding=principal(solution.points, problem.mentions > 0),
        solution=replace(fitted.solution, outcome=outcome),
    )


def with_points(fitted: Fitted, comparisons: Comparisons, loss: Loss, penalty: Penalty, n_components: int) -> Fitted:
    """Return a fit with a map of its own, fitted to the comparisons over points of dimension ``n_components``."""
    if not fitted.solution.outcome.ok:
        points = fitted.embedding[:, :n_components]
        return replace(fitted, embedding=np.pad(points, ((0, 0), (0, n_components - points.shape[1]))))
    rng = np.random.default_rng(0)  # a spectral start draws nothing
    other = fit_points(InMemory(comparisons), loss, penalty, replace(OF_RANK, rank=n_components), rng)
    outcome = other.solution.outcome if other.solution.outcome is Outcome.INTERRUPTED else fitted.solution.outcome
    return replace(fitted, embedding=other.embedding, solution=replace(fitted.solution, outcome=outcome))


def fit_points(
    source: Source,
    loss: Loss,
    penalty: Penalty,
    solver: Any,
    rng: np.random.Generator,
    callback: Callback | None = None,
) -> Fitted:
    """Solve for points; the map is these points, centred, axes in order of falling variance."""
    seen = None
    if isinstance(source, InMemory):
        seen = _few_of_many(source.comparisons)
        if seen is not None:
            comparisons = source.comparisons
            source = InMemory(replace(comparisons, rows=seen.rows, objects=comparisons.objects[seen.objects]))
            if np.shape(solver.start) == (seen.n_objects, solver.rank):
                solver = replace(solver, start=solver.start[seen.objects])
    fitted = _fit_seen(source, loss, penalty, solver, rng, callback)
    if seen is None:
        return fitted
    embedding = np.zeros((seen.n_objects, solver.rank))
    embedding[seen.objects] = fitted.embedding
    return replace(fitted, embedding=embedding)


class _Seen(NamedTuple):
    """The objects that comparisons mention, of how many, and the rows as positions among them."""

    objects: NDArray[np.integer]
    n_objects: int
    rows: NDArray[np.intp]


def _few_of_many(comparisons: Comparisons) -> _Seen | None:
    """Return what is mentioned if that is less than half of all objects, which need not be carried along then.

    Of few objects any that is not mentioned is left out: its direction would take a place in the start of the descent.
    """
    n = comparisons.n_objects
    if n > _FEW_OBJECTS and comparisons.rows.size >= n // 2:
        return None
    mentioned = np.zeros(n, dtype=bool)
    mentioned[comparisons.rows] = True
    if mentioned.all():
        return None
    objects, rows = np.unique(comparisons.rows, return_inverse=True)
    return _Seen(objects, n, rows.reshape(comparisons.rows.shape))


def _fit_seen(
    source: Source, loss: Loss, penalty: Penalty, solver: Any, rng: np.random.Generator, callback: Callback | None
) -> Fitted:
    held_out = None
    if getattr(solver, "validation", 0):
        if not isinstance(source, InMemory):
            raise ValueError("validation needs comparisons in memory; pass solver settings without it")
        train, judge = source.comparisons.split(solver.validation, random_state=rng)
        source, held_out = InMemory(train), rows_of(judge)
    problem = FactoredProblem(source, loss, held_out=held_out, n_threads=solver.n_threads)
    solver.check(problem)
    if problem.total_weight == 0:
        raise ValueError("all comparisons that are left to fit have weight 0; hold out others, or fewer")
    problem = replace(problem, spectrum=leading_pull(problem, dimensions_above(problem, solver)))
    assert problem.spectrum is not None
    largest = float(problem.spectrum.eigenvalues[0])
    # Answers that cancel each other leave rounding of a pull of 0.
    largest = largest if largest > 1e-12 else 0.0
    problem = penalty.over_points(problem, largest)
    # A distance has no slope at 0 that a finite penalty could hold against: its map never vanishes.
    vanishing = np.inf if isinstance(loss, DistanceHinge) and largest > 0 else loss.pull_of_zero * largest
    if vanishing <= problem.trace:
        solution = _nothing(problem, solver.rank)
    else:
        solution = solve_from_all_starts(problem, solver, rng, callback)
    assert solution.points is not None
    embedding = principal(np.asarray(solution.points, np.float64), problem.mentions > 0)
    return Fitted(embedding, problem, solution, vanishing)


def _nothing(problem: FactoredProblem, rank: int) -> Solution:
    progress = Progress(0, problem.objective_at_zero, float("nan"))
    return Solution(None, np.zeros((problem.n_objects, rank)), None, Outcome.VANISHED, 0, [progress])


def _refuse_huge(n_objects: int) -> None:
    """Refuse what no (n, n) matrix can be made for: most often identifiers taken for indices."""
    gigabytes = 8 * n_objects**2 / 1e9
    if gigabytes > 50:
        raise ValueError(
            f"{n_objects} objects need a Gram matrix of {gigabytes:.0f} GB; take solver='factored', or, if the rows "
            "hold identifiers and not indices 0..n-1, fit Comparisons.from_triplets(rows, objects=np.unique(rows))"
        )

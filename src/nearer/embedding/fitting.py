"""From comparisons, a loss, a penalty and a solver to a map; new objects on a map; and the bases of such estimators."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray
from nearer.data.comparisons import Comparisons
from nearer.data.groups import restrict_to_seen, seen_objects, with_positive_weight
from nearer.data.streamed import Judgments, StreamedComparisons
from nearer.embedding.base import OrdinalEmbedding
from nearer.embedding.predictor import Predictor
from nearer.geometry import align, double_center, embedding_from_gram, principal_axes_of_seen, to_principal_axes
from nearer.model import DistanceHinge, Loss
from nearer.optimize.problems.covariance import Covariance, CovarianceRoot
from nearer.optimize.problems.gram import Problem
from nearer.optimize.problems.margins import MarginMap
from nearer.optimize.problems.points import FactoredProblem, Penalty, laplacian_spectrum
from nearer.optimize.problems.sources import InMemory, Source, as_rows, as_source
from nearer.optimize.solvers import Factored, FactoredOnDevice, Outcome, Progress, Solution, solve
from nearer.optimize.solvers.descent import max_dimensions, solve_with_restarts
from nearer.optimize.solvers.driver import AnySolver, Callback, ValueT, limited_blas

_MAX_FEW_OBJECTS = 1000
_MAX_OBJECTS_GRAM = 79_056  # whose matrix takes 50 GB


class Recipe(NamedTuple):
    """What a method minimizes, and how."""

    loss: Loss
    penalty: Penalty
    solver: AnySolver
    rank: int  # dimension of the points, for a solver over points; of the map, for one over Gram matrices
    covariance: Covariance | None = None  # of all objects, by their features


@dataclass(frozen=True, eq=False)
class Fitted:
    """What a fit leaves behind."""

    embedding: FloatArray  # (n, p)
    solution: Solution[Any]  # its value is about the objects that are compared
    trace: float  # the weights of the penalty, in the mean form of the problem
    ridge: float
    total_weight: float  # of the comparisons
    vanishing_trace: float  # the trace penalty from which on the map is a point; infinity for a loss without one
    predictor: Predictor | None = None  # the Gram matrix that predicts, if the map does not

    def interrupted(self) -> Fitted:
        """Return the same as the result of a fit that Ctrl-C ended."""
        return replace(self, solution=replace(self.solution, outcome=Outcome.INTERRUPTED))


def fit(
    comparisons: Judgments,
    recipe: Recipe,
    rng: np.random.Generator,
    start: FloatArray | None = None,
    callback: Callback | None = None,
) -> Fitted:
    """Find the map that a recipe asks for."""
    solver = recipe.solver
    with limited_blas(solver.space, comparisons.n_objects):
        if solver.space == "points":
            source = as_source(comparisons, on_cluster=isinstance(solver, Factored))
            return fit_points(source, recipe, rng, usable_start(start, recipe.rank), callback)
        if isinstance(comparisons, StreamedComparisons):
            raise ValueError(
                f"{type(solver).__name__} works on a Gram matrix and needs all comparisons in memory; "
                f"fit a {type(comparisons).__name__} with a solver over points, such as solver='factored'"
            )
        return _fit_gram(comparisons, recipe, rng, callback)


def check_solver(solver: Any, named: Mapping[str, AnySolver | None]) -> None:
    """Refuse what is neither one of these names nor a solver."""
    if isinstance(solver, str):
        if solver not in named:
            raise ValueError(f"solver must be one of {[*named]} or a solver object, got {solver!r}")
    elif isinstance(solver, type) or not hasattr(solver, "step"):
        raise ValueError(f"solver must be a name or an object such as nearer.optimize.solvers.ADMM(), got {solver!r}")


def usable_start(start: FloatArray | None, rank: int) -> FloatArray | None:
    """Return a map to go on from; None if it is degenerate, with no gradient in the missing directions."""
    if start is None or start.shape[1] != rank or np.linalg.matrix_rank(start) < min(rank, len(start) - 1):
        return None
    return start


def completed(solution: Solution[ValueT]) -> Solution[ValueT]:
    """Return a solution; an interrupt that ended it goes on."""
    if solution.interrupted:
        raise KeyboardInterrupt
    return solution


def gram_problem(
    comparisons: Comparisons, loss: Loss, covariance: Covariance | None = None
) -> tuple[Problem, NDArray[np.intp]]:
    """Return the problem over Gram matrices of the objects that comparisons mention, and which those are."""
    margins = MarginMap.from_quadruplets(comparisons.oriented, comparisons.n_objects)
    margins, weights = margins.merge_duplicates(comparisons.sample_weight)
    margins, seen = margins.over_seen_objects()
    if covariance is not None:
        margins = replace(margins, root=covariance.root(seen))
    return Problem(margins, loss, weights), seen


def _fit_gram(comparisons: Comparisons, recipe: Recipe, rng: np.random.Generator, callback: Callback | None) -> Fitted:
    """Solve for a Gram matrix; the map is its leading part."""
    n = comparisons.n_objects
    if n > _MAX_OBJECTS_GRAM:  # most often identifiers taken for indices
        raise ValueError(
            f"{n} objects need a Gram matrix of {8 * n**2 / 1e9:.0f} GB; take solver='factored', or, if the rows "
            "hold identifiers and not indices 0..n-1, fit Comparisons.from_triplets(rows, objects=np.unique(rows))"
        )
    problem, seen = gram_problem(comparisons, recipe.loss, recipe.covariance)
    problem = recipe.penalty.over_gram_matrices(problem)
    solution = solve(problem, recipe.solver, rng=rng, callback=callback)
    if recipe.covariance is None:
        embedding = np.zeros((n, recipe.rank))
        embedding[seen] = embedding_from_gram(double_center(solution.value.matrix), recipe.rank)
    else:
        embedding = _expand(embedding_from_gram(solution.value.matrix, len(seen)), seen, recipe.covariance)
        embedding = np.pad(embedding, ((0, 0), (0, max(recipe.rank - len(seen), 0))))[:, : recipe.rank]
    predictor = Predictor.over_all_objects(solution.value, seen, n, problem.margins.diagonal, recipe.covariance)
    return Fitted(
        embedding, solution, problem.trace, problem.ridge, problem.total_weight, problem.vanishing_trace, predictor
    )


def fit_points(
    source: Source,
    recipe: Recipe,
    rng: np.random.Generator,
    start: FloatArray | None = None,
    callback: Callback | None = None,
) -> Fitted:
    """Solve for points; the map is these points, centered, axes in order of falling variance."""
    n = source.n_objects
    if recipe.covariance is not None:
        return _fit_described(source, recipe, recipe.covariance, rng, start, callback)
    # Of few objects any that is not mentioned is left out: its direction would take a place in the start of the
    # descent. Of many, only so many that they need not be carried along.
    few = isinstance(source, InMemory) and (n <= _MAX_FEW_OBJECTS or source.comparisons.rows.size < n // 2)
    if not few or seen_objects(source.comparisons).all():
        return _fit_compared(source, recipe, rng, start, callback)
    among, seen = restrict_to_seen(source.comparisons)
    solver: Any = recipe.solver
    given = solver.start
    if not isinstance(given, str) and np.shape(given) == (n, recipe.rank):
        recipe = recipe._replace(solver=replace(solver, start=np.asarray(given)[seen]))
    fitted = _fit_compared(InMemory(among), recipe, rng, None if start is None else start[seen], callback)
    embedding = np.zeros((n, recipe.rank))
    embedding[seen] = fitted.embedding
    return replace(fitted, embedding=embedding)


def _fit_described(
    source: Source,
    recipe: Recipe,
    covariance: Covariance,
    rng: np.random.Generator,
    start: FloatArray | None,
    callback: Callback | None,
) -> Fitted:
    """Solve for the representers of the objects that are compared; the others lie where features expect them."""
    assert isinstance(source, InMemory)
    among, seen = restrict_to_seen(with_positive_weight(source.comparisons))
    root = covariance.root(seen)
    solver: Any = recipe.solver
    if np.shape(solver.start) == (source.n_objects, recipe.rank):
        recipe = recipe._replace(solver=replace(solver, start=root.solve(np.asarray(solver.start)[seen])))
    begin = None if start is None else root.solve(start[seen])
    fitted = _fit_compared(InMemory(among), recipe, rng, begin, callback, root)
    return replace(fitted, embedding=_expand(np.asarray(fitted.solution.value, np.float64), seen, covariance))


def _expand(representers: FloatArray, seen: NDArray[np.intp], covariance: Covariance) -> FloatArray:
    """Return the points of all objects from representers of some, axes in order; those that nothing tells of at 0."""
    points, among = covariance.loadings(seen) @ representers, np.zeros(len(covariance.own), dtype=bool)
    among[seen] = True
    nowhere = ~among & ~covariance.directions.any(axis=1)
    points[nowhere] = points[among].mean(axis=0)
    return principal_axes_of_seen(points, among)


def _fit_compared(
    source: Source,
    recipe: Recipe,
    rng: np.random.Generator,
    start: FloatArray | None,
    callback: Callback | None,
    root: CovarianceRoot | None = None,
) -> Fitted:
    loss, penalty, rank = recipe.loss, recipe.penalty, recipe.rank
    solver: Any = recipe.solver  # over points
    held_out = None
    if getattr(solver, "validation", 0):
        if not isinstance(source, InMemory):
            raise ValueError("validation needs comparisons in memory; pass solver settings without it")
        train, judge = source.comparisons.split(solver.validation, random_state=rng)
        source, held_out = InMemory(train), as_rows(judge)
    problem = FactoredProblem(source, loss, held_out=held_out, rank=rank, n_threads=solver.n_threads, root=root)
    if isinstance(solver, FactoredOnDevice):
        problem = replace(problem, source=solver.copy(source, max_dimensions(problem, solver, start)))
    solver.check(problem)
    if problem.total_weight == 0:
        raise ValueError("all comparisons that are left to fit have weight 0; hold out others, or fewer")
    spectrum = laplacian_spectrum(problem, max_dimensions(problem, solver, start))
    # Answers that cancel each other leave rounding of a pull of 0.
    largest = float(spectrum.eigenvalues[0]) if spectrum.eigenvalues[0] > 1e-12 else 0.0
    problem = penalty.over_points(replace(problem, spectrum=spectrum), largest)
    # A distance has no slope at 0 that a finite penalty could hold against: its map never vanishes.
    vanishing = np.inf if isinstance(loss, DistanceHinge) and largest > 0 else loss.slope_at_zero * largest
    if vanishing <= problem.trace:
        zero = np.zeros((problem.n_objects, problem.rank))
        solution = Solution(zero, Outcome.VANISHED, 0, [Progress(0, problem.objective_at_zero, float("nan"))])
    else:
        solution = solve_with_restarts(problem, solver, start, rng, callback)
    places = problem.places(np.asarray(solution.value, np.float64))
    embedding = to_principal_axes(places, problem.object_weights > 0)
    return Fitted(embedding, solution, problem.trace, problem.ridge, problem.total_weight, vanishing)


def refine_map(fitted: Fitted, comparisons: Comparisons, loss: Loss, covariance: Covariance | None = None) -> Fitted:
    """Return a fit over Gram matrices with its map moved to a minimum of the same problem over points."""
    # The leading part of a Gram matrix of high rank is a poor map of its own: what was cut off had its share in every
    # distance. Descent from there makes up for it.
    if not fitted.embedding.any() or not fitted.solution.outcome.ok:
        return fitted
    rank = fitted.embedding.shape[1]
    if covariance is not None:
        among, seen = restrict_to_seen(with_positive_weight(comparisons))
        root = covariance.root(seen)
        problem = FactoredProblem(InMemory(among), loss, fitted.trace, fitted.ridge, rank=rank, root=root)
        solution = solve(problem, Factored(), root.solve(fitted.embedding[seen]))
        fitted = replace(fitted, embedding=_expand(solution.value, seen, covariance))
        return fitted.interrupted() if solution.interrupted else fitted
    problem = FactoredProblem(InMemory(comparisons), loss, fitted.trace, fitted.ridge, rank=rank)
    solution = solve(problem, Factored(), fitted.embedding)
    fitted = replace(fitted, embedding=to_principal_axes(solution.value, problem.object_weights > 0))
    return fitted.interrupted() if solution.interrupted else fitted


def refit_map(fitted: Fitted, comparisons: Comparisons, recipe: Recipe) -> Fitted:
    """Return a fit with a map of its own, which a recipe over points finds."""
    if not fitted.solution.outcome.ok:
        points = fitted.embedding[:, : recipe.rank]
        return replace(fitted, embedding=np.pad(points, ((0, 0), (0, recipe.rank - points.shape[1]))))
    rng = np.random.default_rng(0)  # a spectral start draws nothing
    other = fit_points(InMemory(comparisons), recipe, rng)
    fitted = replace(fitted, embedding=other.embedding)
    return fitted.interrupted() if other.solution.interrupted else fitted


class LossEmbedding(OrdinalEmbedding):
    """Base of estimators whose map has a loss."""

    @abstractmethod
    def _loss(self) -> Loss:
        """Return the loss with this estimator's settings."""

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of the answers -1 and +1 (`classes_`), shape (m, 2).

        They are those of the method's own model of answers (see `nearer.model`) at the margins of the fitted map, not
        calibrated on held-out answers: a map that fits its training answers too closely is also too sure of itself.
        """
        holds = self._loss().probability_of(*self._distances(self._comparisons(X).quadruplets))
        return np.column_stack([1 - holds, holds])

    def _store_fit(
        self, fitted: Fitted, comparisons: Judgments, solver: AnySolver, onto: FloatArray | None = None
    ) -> None:
        """Store a fit, its map rotated onto the one before it, if there is one."""
        points = fitted.embedding
        self._store_map(points if onto is None else align(points, onto, scaling=False, moving=False), comparisons)
        self._store_run(fitted.solution, solver)
        self.trace_, self._total_weight = fitted.trace, fitted.total_weight

    def _report(self, fitted: Fitted) -> None:
        """Warn of a fit that is not what it should be."""
        outcome = fitted.solution.outcome
        if outcome is Outcome.INTERRUPTED:
            advice = f"{outcome.value} after {self.n_iter_} iterations; the best map so far is on the estimator"
        elif outcome is Outcome.MAX_ITER:
            advice = (
                f"{outcome.value}. The result is usable; for a better one pass solver={type(self.solver_).__name__}"
                f"(...) of nearer.optimize with max_iter above {self.solver_.max_iter} or a larger tol, or "
                "raise the penalty"
            )
        elif fitted.vanishing_trace == 0:
            advice = "the answers cancel each other out, so that no map is better than a single point; check the data"
        elif self.trace_ >= fitted.vanishing_trace:
            advice = f"{Outcome.VANISHED.value}; choose a trace well below 1"
        elif not self.embedding_.any():
            advice = f"{Outcome.VANISHED.value}; choose a smaller trace or a larger specificity"
        else:
            return
        self._warn(advice, fitted.solution.interrupted)

    def _add_objects(self, added: Comparisons) -> None:
        self.embedding_ = self._placed_points(self.embedding_, added)

    def _placed_points(self, points: FloatArray, added: Comparisons) -> FloatArray:
        """Return the given points and those of the objects beyond them."""
        return self._accepted(place_points(points, added, self._loss(), self.trace_ * self._total_weight))

    def _accepted(self, placement: Solution[FloatArray]) -> FloatArray:
        """Return the points that were found for new objects, with a warning where they may not be the best ones."""
        solution = completed(placement)
        if not solution.outcome.ok:
            self._warn(f"new objects may not be at their best places: {solution.outcome.value}")
        return solution.value


class GramEmbedding(LossEmbedding):
    """Base of estimators that may have a Gram matrix, which then predicts in place of the map."""

    def _check_state(self) -> None:
        super()._check_state()
        n = self.n_objects_
        if hasattr(self, "gram_") and self.gram_.shape != (n, n):
            raise ValueError(f"gram_ has shape {self.gram_.shape}, and there are {n} objects")

    def _distances(self, quadruplets: NDArray[np.integer]) -> tuple[FloatArray, FloatArray]:
        if not hasattr(self, "gram_"):
            return super()._distances(quadruplets)
        return MarginMap.from_quadruplets(quadruplets, self.n_objects_).distances(self.gram_)

    def _add_objects(self, added: Comparisons) -> None:
        if not hasattr(self, "gram_"):
            super()._add_objects(added)
            return
        # The old objects keep their block of the matrix; new ones get points in the space that it spans. A constant on
        # the diagonal changes no margin; this one brings the matrix of the closed form into the cone.
        n = self.n_objects_
        lift = max(0.0, -float(np.linalg.eigvalsh(self.gram_)[0]))
        points = self._placed_points(embedding_from_gram(self.gram_ + lift * np.eye(n), n), added)
        gram = points @ points.T - lift * np.eye(len(points))
        gram[:n, :n] = self.gram_
        super()._add_objects(added)
        self.gram_: FloatArray = gram
        if hasattr(self, "specificities_"):
            self.specificities_: FloatArray = np.pad(self.specificities_, (0, len(points) - n))


def place_points(points: FloatArray, comparisons: Comparisons, loss: Loss, trace: float) -> Solution[FloatArray]:
    """Return the points of all objects of the comparisons, the first of which are given and stay where they are."""
    n = len(points)
    start = np.concatenate([points, _means_of_near_objects(points, comparisons, n)])
    movable = np.arange(len(start)) >= n
    problem = FactoredProblem(InMemory(comparisons), loss, movable=movable, rank=points.shape[1])
    problem = replace(problem, trace=trace / problem.total_weight)
    solution = solve(problem, Factored(tol=1e-8), start)
    # The old points come back as they were, to the last bit.
    return replace(solution, value=np.concatenate([points, solution.value[n:]]))


def place_described_points(
    points: FloatArray, comparisons: Comparisons, loss: Loss, trace: float, expected: FloatArray, spread: FloatArray
) -> Solution[FloatArray]:
    """Return the points of all objects, the last of which are expected somewhere, with covariance spread spread^T."""
    n = len(points)
    root = _Deviations(points, expected, spread)
    problem = FactoredProblem(
        InMemory(comparisons), loss, movable=np.arange(len(points) + len(expected)) >= n, rank=points.shape[1]
    )
    problem = replace(problem, trace=trace / problem.total_weight, root=root)
    solution = solve(problem, Factored(tol=1e-8), np.zeros((n + len(expected), points.shape[1])))
    return replace(solution, value=root.times(solution.value))


@dataclass(frozen=True, eq=False)
class _Deviations:
    """Places of which the last follow deviations from where they are expected, and the others stay."""

    points: FloatArray  # (n, p)
    expected: FloatArray  # (k, p)
    spread: FloatArray  # (k, k)

    def times(self, deviations: FloatArray) -> FloatArray:
        """Return the places for deviations, (n + k, p), of which the first n are ignored."""
        return np.concatenate([self.points, self.expected + self.spread @ deviations[len(self.points) :]])

    def transposed_times(self, gradient: FloatArray) -> FloatArray:
        """Return the gradient with respect to the deviations."""
        n = len(self.points)
        return np.concatenate([np.zeros_like(self.points), self.spread.T @ gradient[n:]])


def _means_of_near_objects(points: FloatArray, comparisons: Comparisons, n: int) -> FloatArray:
    """Return, for each new object, the mean of the old ones that it was called near to, (k, p); 0 if there are none."""
    near = comparisons.oriented[:, :2]
    new, old = np.concatenate([near, near[:, ::-1]]).T
    kept = (new >= n) & (old < n)
    new, old, weights = new[kept] - n, old[kept], np.tile(comparisons.sample_weight, 2)[kept]
    sums = np.zeros((comparisons.n_objects - n, points.shape[1]))
    np.add.at(sums, new, weights[:, None] * points[old])
    totals = np.bincount(new, weights, len(sums))
    return sums / np.where(totals > 0, totals, 1.0)[:, None]

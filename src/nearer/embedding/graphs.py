"""Methods that also take an unweighted graph: SOE; LOE, which takes all triplets of a graph; and SPE."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.csgraph import shortest_path

from nearer._common.arrays import FloatArray, PointArray
from nearer._common.randomness import stream
from nearer.data.comparisons import Comparisons
from nearer.data.conversions import Graph, graph_triplets, warn_of_uninformative_anchors
from nearer.data.groups import restrict_to_seen, with_positive_weight
from nearer.data.labels import read_objects
from nearer.data.streamed import Judgments
from nearer.embedding.base import OrdinalEmbedding
from nearer.embedding.classical import Classical
from nearer.embedding.fitting import Fitted, GramEmbedding, usable_start
from nearer.geometry import double_center, embedding_from_gram, to_principal_axes
from nearer.model import DistanceHinge, Hinge, Loss
from nearer.optimize.problems.points import GraphProblem, GraphTriplets, laplacian_spectrum
from nearer.optimize.solvers import Factored, Outcome, Solution, solve
from nearer.optimize.solvers.cutting_planes import (
    BMatching,
    CuttingPlanes,
    GivenComparisons,
    NearestNeighbors,
    Oracle,
    StructureProblem,
)
from nearer.optimize.solvers.descent import agreement_tolerance, best_of_restarts
from nearer.optimize.solvers.driver import Callback, limited_blas

MAX_TRIPLETS = 1_000_000  # of a graph that are written down; a larger one is sampled


class GraphInputMixin(OrdinalEmbedding):
    """Base of estimators that take an unweighted graph: each neighbor is nearer than each object that is none."""

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        callback: Callback | None = None,
    ) -> Self:
        """Fit a map to comparisons, as every estimator does, or to a graph.

        Parameters
        ----------
        X : Comparisons, ComparisonsFile, array-like of shape (m, 3) or (m, 4), or SciPy sparse of shape (n, n)
            A sparse matrix is the adjacency matrix of a graph, as for `fit_graph`.
        y, sample_weight, callback
            As for every estimator; a graph has neither answers nor weights.
        """
        if not sp.issparse(X):
            self._fitted_to_matrix = False
            return super().fit(X, y, sample_weight, callback=callback)
        if y is not None or sample_weight is not None:
            raise ValueError("a graph has neither answers nor weights; pass the adjacency matrix alone")
        return self.fit_graph(X, callback=callback)

    def fit_graph(self, adjacency: Any, *, objects: Any = None, callback: Callback | None = None) -> Self:
        """Fit a map to an unweighted graph: the triplets (i, j, k) of every neighbor j and every other k of each i.

        `comparisons_` has all triplets of the graph, or a million of them, drawn evenly, if there are more.

        Parameters
        ----------
        adjacency : SciPy sparse or array-like, shape (n, n)
            Row i has ones at the neighbors of i and zeros elsewhere. It need not be symmetric.
        objects : sequence of labels, shape (n,), optional
            The numbers 0..n-1 if left out.
        callback : callable, optional
            Called with the `Progress` of each iteration.
        """
        self._check_settings()
        graph = Graph.from_adjacency(adjacency)
        self._check_dimensions(graph.n_objects)
        warn_of_uninformative_anchors(graph)
        if self.n_objects not in (None, graph.n_objects):
            raise ValueError(
                f"n_objects={self.n_objects}, but the adjacency matrix has {graph.n_objects} rows; leave it out, or "
                "add empty rows and columns for objects without neighbors"
            )
        size = MAX_TRIPLETS if graph.n_triplets > MAX_TRIPLETS else None
        comparisons = graph_triplets(graph, size, self._repeatable_rng("triplets"))
        if objects is not None:
            labels = read_objects(objects)
            if len(labels) != graph.n_objects:
                raise ValueError(f"{len(labels)} objects are named, but the matrix has {graph.n_objects} rows")
            comparisons = replace(comparisons, objects=labels)
        self._fitted_to_matrix = True
        self._fit_graph(graph, comparisons, callback)
        return self

    def _check_objects(self, X: Any) -> None:
        is_graph = sp.issparse(X)
        if not is_graph:
            super()._check_objects(X)
        elif X.shape != (self.n_objects_, self.n_objects_):
            raise ValueError(f"the graph has a matrix of shape {X.shape}, and the map {self.n_objects_} objects")

    def _fit_graph(self, graph: Graph, comparisons: Comparisons, callback: Callback | None) -> None:
        """Fit to a graph, of whose triplets some, or all, are given."""
        self._fit(comparisons, callback)


@dataclass(eq=False, repr=False, kw_only=True)
class SOE(GraphInputMixin, Classical):
    """Soft ordinal embedding (Terada and von Luxburg 2014).

    Minimizes max(1 + d(near) - d(far), 0)^2, with distances and not their squares. An unweighted graph is taken as the
    triplets that it stands for, a million of them, drawn evenly, if there are more; `LOE` takes them all.

    Parameters
    ----------
    n_components : int, default 2
        Dimension p of the map.
    trace : float >= 0, default 0.0001
        Penalty on the trace of the Gram matrix. In the unit of GNMDS, the value at which its map is a point: that of
        SOE is never one.
    {shared}
    """

    trace: float = 0.0001

    def _loss(self) -> Loss:
        return DistanceHinge()


_N_LANDMARKS = 300
_TIE_BREAK = 1e-6
# On the extra dimension, for each object and neighbor; and the most iterations at each of them.
_DIMENSION_PENALTIES, _MAX_UNFOLDING_ITER = tuple(0.01 * 2**k for k in range(8)), 200


@dataclass(eq=False, repr=False, kw_only=True)
class LOE(SOE):
    """Local ordinal embedding (Terada and von Luxburg 2014): a map of an unweighted graph.

    Minimizes max(1 + d(i, j) - d(i, k), 0)^2 over all neighbors j and all other objects k of each i. Comparisons are
    taken as well, and then the method is `SOE`.

    Parameters
    ----------
    n_components : int, default 2
        Dimension p of the map.
    trace : float >= 0, default 0
        Penalty on the trace of the Gram matrix, in the unit of GNMDS. The original has none.
    solver : {"factored", "svrg", "projected"} or solver object, default "factored"
        L-BFGS over points, for which a graph is taken whole; its ``tol`` is then meant for each edge. The others take
        comparisons, of a graph at most a million, drawn evenly.
    n_objects, random_state
        As for every estimator; random_state is for random starts and drawn triplets; the default solver needs none.

    Attributes
    ----------
    embedding_, objects_, n_objects_, n_iter_, converged_, history_, restarts_, solver_, trace_, comparisons_
        As for every estimator. Of a graph with more than a million triplets `comparisons_` has a million, drawn evenly.

    Examples
    --------
    >>> from nearer.datasets import make_gaussian
    >>> from nearer.data import graph_from_embedding
    >>> graph = graph_from_embedding(make_gaussian(40, 2, random_state=0), 6)
    >>> model = LOE(n_components=2).fit(graph)
    >>> int(graph.multiply(graph_from_embedding(model.embedding_, 6)).sum()) >= 0.95 * 40 * 6
    True
    """

    trace: float = 0.0
    device: str | None = field(default=None, init=False)

    def _fit_graph(self, graph: Graph, comparisons: Comparisons, callback: Callback | None) -> None:
        recipe = self._recipe()
        # What is left of a fold costs little, and is worth the steps.
        solver = Factored(tol=1e-5) if self.solver == "factored" else recipe.solver
        if not isinstance(solver, Factored):
            super()._fit_graph(graph, comparisons, callback)
            return
        problem = GraphProblem(GraphTriplets(graph), recipe.loss, rank=recipe.rank, n_threads=solver.n_threads)
        if solver.validation:
            raise ValueError(
                "validation holds out comparisons; a graph is fitted whole, pass solver settings without it"
            )
        # The tolerance is meant for each edge: most triplets of a large graph never cost anything, so that their mean
        # would be small from the beginning.
        per_triplet = replace(solver, tol=solver.tol / problem.n_triplets_per_edge)
        per_triplet.check(problem)
        rng = stream(self.random_state, "start")
        with self._warning_of_early_interrupt(), limited_blas("points", graph.n_objects):
            spectrum = laplacian_spectrum(problem, problem.rank)
            problem = replace(problem, spectrum=spectrum)
            penalized = recipe.penalty.over_points(problem, float(spectrum.eigenvalues[0]))
            problem = replace(problem, trace=penalized.trace, ridge=penalized.ridge)
            descents = (_descend(problem, descent, rng, callback) for descent in per_triplet.descents())
            tolerance = agreement_tolerance(per_triplet.tol) * problem.objective_at_zero
            best = best_of_restarts(descents, tolerance)
            embedding = to_principal_axes(np.asarray(best.value, np.float64), np.ones(graph.n_objects, dtype=bool))
        fitted = Fitted(embedding, best, problem.trace, problem.ridge, problem.total_weight, np.inf)
        self._store_fit(fitted, comparisons, solver)
        self._report(fitted)


def _descend(
    problem: GraphProblem, solver: Factored, rng: np.random.Generator, callback: Callback | None
) -> Solution[PointArray]:
    """Return where a descent ends; one that starts with the graph begins with an extra dimension."""
    if not isinstance(solver.start, str) or solver.start == "random":
        return solve(problem, solver, rng=rng, callback=callback)
    rank, n_iter = problem.rank, 0
    points = isomap_start(problem.graph, rank + 1)
    everything = np.ones(len(points), dtype=bool)
    short = replace(solver, max_iter=_MAX_UNFOLDING_ITER)
    for pressure in _DIMENSION_PENALTIES:
        pressed = replace(
            problem, rank=rank + 1, pressure=pressure / (problem.n_objects * problem.n_triplets_per_edge), flat=rank
        )
        start = _rescaled_start(problem, to_principal_axes(points, everything))
        solution = solve(pressed, short, start, rng=rng, callback=callback)
        points, n_iter = np.asarray(solution.value, np.float64), n_iter + solution.n_iter
        if solution.interrupted:
            return replace(solution, value=to_principal_axes(points, everything)[:, :rank], n_iter=n_iter)
    flat = _rescaled_start(problem, to_principal_axes(points, everything)[:, :rank])
    solution = solve(problem, solver, flat, rng=rng, callback=callback)
    return replace(solution, n_iter=n_iter + solution.n_iter)


def isomap_start(graph: Graph, n_components: int) -> FloatArray:
    """Return points whose distances are near to the numbers of steps between objects along the graph, (n, p)."""
    n = graph.n_objects
    landmarks = np.sort(stream(0, "start").permutation(n)[:_N_LANDMARKS])
    steps = shortest_path(graph.adjacency, unweighted=True, directed=False, indices=landmarks)
    reached = np.isfinite(steps)
    steps[~reached] = steps[reached].max() + 1
    squares = steps**2
    # Axes that are equally long, as those of a ring, could be any; which ones must not depend on rounding.
    uneven = 1 + _TIE_BREAK * stream(0, "start").random(2 * (len(landmarks),))
    among = embedding_from_gram(-double_center(squares[:, landmarks] * (uneven + uneven.T)) / 4, n_components)
    sizes = np.sum(among**2, axis=0)
    sizes[sizes <= 1e-12 * sizes[0]] = np.inf
    away = squares - squares[:, landmarks].mean(axis=1, keepdims=True)
    points = -(away.T @ among) / (2 * sizes)
    # A dimension that starts at 0 has no gradient and would stay there, and objects at one place would stay together.
    points += stream(0, "start").normal(scale=0.01 * np.sqrt(np.mean(points**2)), size=points.shape)
    return points


def _rescaled_start(problem: GraphProblem, points: FloatArray) -> FloatArray:
    """Return points scaled such that the loss is least, of sizes at which neighbors are 0.1 to 100 apart."""
    first, second = problem.graph.edges.T
    typical = float(np.mean(np.linalg.norm(points[first] - points[second], axis=1)))
    # A grid, not a search: rounding must not decide where the descent begins.
    scales = np.geomspace(0.1, 100, 31) / typical
    return min(scales, key=lambda scale: problem.loss_and_gradient(scale * points)[0]) * points


MAX_OBJECTS_FULL_RANK = 300
_DEFAULT_RANK = 10  # beyond


@dataclass(eq=False, repr=False, kw_only=True)
class SPE(GraphInputMixin, GramEmbedding):
    """Structure preserving embedding (Shaw and Jebara 2009): a map from which a graph can be read again.

    Maximizes <G, A> over Gram matrices G of a given trace, A the adjacency matrix, such that the algorithm that made
    the graph would make it again from the distances of G. Its constraints are found as they are violated. Where not
    all can be met, the largest shortfall is made small.

    Parameters
    ----------
    n_components : int, default 2
        Dimension p of the map.
    connectivity : {"knn", "b-matching"}, default "knn"
        Which algorithm it is: every neighbor of an object is nearer than every other object, or the graph is the
        shortest of all graphs with its degrees. Comparisons are taken as constraints of the first kind.
    rank : int, optional
        Of the Gram matrix. If left out, any up to 300 objects, which makes the problem convex, and 10 beyond.
        ``rank=n_components`` makes the map itself meet the constraints where it can.
    margin : float >= 0, default 0.01
        By how much squared distances must differ; the mean of the squared norms of the points is 1.
    slack : float > 0, default 10
        The price of the largest shortfall, where <G, A> is at most 1.
    tol : float > 0, default 0.001
        How much of the margin may be missing for want of exactness.
    n_objects, random_state
        As for every estimator; random_state is for triplets that are kept, and the start with over 600 objects.

    Attributes
    ----------
    embedding_, objects_, n_objects_, converged_, history_, solver_, comparisons_
        As for every estimator. `n_iter_` is how often constraints were added.
    gram_ : ndarray, shape (n_objects_, n_objects_)
        The Gram matrix, which predicts; the map is its leading part. Not there if ``rank=n_components``.
    dual_gap_ : float
        No Gram matrix of any rank has an objective that is larger by more than this; NaN above 600 objects.
    shortfall_ : float
        By how much the worst constraint is short of the margin; at most ``tol`` where all can be met.

    Examples
    --------
    >>> ring = np.roll(np.eye(8), 1, axis=1) + np.roll(np.eye(8), -1, axis=1)
    >>> model = SPE(n_components=2).fit_graph(ring)
    >>> model.score(model.comparisons_)
    1.0
    """

    connectivity: Literal["knn", "b-matching"] = "knn"
    rank: int | None = None
    margin: float = 0.01
    slack: float = 10.0
    tol: float = 0.001

    def _check_settings(self) -> None:
        super()._check_settings()
        if self.connectivity not in ("knn", "b-matching"):
            raise ValueError(f"connectivity must be 'knn' or 'b-matching', got {self.connectivity!r}")
        whole = isinstance(self.rank, int | np.integer) and not isinstance(self.rank, bool)
        if self.rank is not None and (not whole or self.rank < self.n_components):
            raise ValueError(f"rank must be an integer, n_components={self.n_components} or more, got {self.rank!r}")
        if not (0 <= self.margin < np.inf and 0 < self.slack < np.inf and 0 < self.tol < np.inf):
            raise ValueError(
                "margin must be a finite number >= 0, slack and tol finite numbers above 0, got "
                f"margin={self.margin!r}, slack={self.slack!r}, tol={self.tol!r}"
            )

    def _loss(self) -> Hinge:
        return Hinge()

    def _fit(self, comparisons: Judgments, callback: Callback | None = None, start: FloatArray | None = None) -> None:
        comparisons = self._require_in_memory(comparisons)
        if self.connectivity != "knn":
            raise ValueError("comparisons do not define a b-matching; pass a graph, or connectivity='knn'")
        among, seen = restrict_to_seen(with_positive_weight(comparisons))
        self._solve(GivenComparisons(among), seen, comparisons, callback, start)

    def _fit_graph(self, graph: Graph, comparisons: Comparisons, callback: Callback | None) -> None:
        oracle: Oracle = NearestNeighbors(graph) if self.connectivity == "knn" else BMatching(graph)
        self._solve(oracle, np.arange(graph.n_objects), comparisons, callback)

    def _solve(
        self,
        oracle: Oracle,
        seen: NDArray[np.integer],
        comparisons: Comparisons,
        callback: Callback | None,
        before: FloatArray | None = None,
    ) -> None:
        """Solve for the objects that are seen, put the others at the origin, and keep the map."""
        n, solver = comparisons.n_objects, CuttingPlanes(tol=self.tol)
        usual = n if n <= MAX_OBJECTS_FULL_RANK else max(_DEFAULT_RANK, self.n_components)
        rank = max(1, min(usual if self.rank is None else int(self.rank), n))
        start = usable_start(before, rank)
        problem = StructureProblem(oracle, self.margin, self.slack, rank)
        rng = stream(self.random_state, "start")
        with self._warning_of_early_interrupt():
            solution = solve(problem, solver, None if start is None else start[seen], rng=rng, callback=callback)
        points = np.zeros((n, solution.value.shape[1]))
        points[seen] = solution.value
        embedding = embedding_from_gram(points @ points.T, self.n_components)
        fitted = Fitted(embedding, solution, 0.0, 0.0, 1.0, np.inf)
        self._store_fit(fitted, comparisons, solver, before)
        self.__dict__.pop("gram_", None)  # of an earlier fit
        if points.shape[1] > self.n_components:
            self.gram_ = points @ points.T
        self.dual_gap_ = solution.dual_gap
        self.shortfall_ = max(solution.state.shortfall, 0.0)
        self._report(fitted)

    def _report(self, fitted: Fitted) -> None:
        if fitted.solution.outcome is Outcome.MAX_ITER:
            self._warn(
                f"constraints were added {self.n_iter_} times, and some are still short of the margin by "
                f"{self.shortfall_:.2g}. The result is usable; for a better one choose a larger tol or rank"
            )
        elif fitted.solution.interrupted:
            super()._report(fitted)

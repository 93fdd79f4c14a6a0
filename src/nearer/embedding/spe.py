"""Structure preserving embedding: a map from which the graph can be read again."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from nearer.common.arrays import FloatArray
from nearer.common.randomness import RandomState, stream
from nearer.data.comparisons import Comparisons
from nearer.data.file import ComparisonsFile
from nearer.data.graph import Graph
from nearer.data.units import restricted, with_positive_weight
from nearer.embedding.fitting import Fitted
from nearer.embedding.graph_input import TakesGraphs
from nearer.geometry import embedding_from_gram
from nearer.losses import Hinge
from nearer.problems.margins import MarginMap
from nearer.problems.penalty import Penalty
from nearer.problems.structure import BMatching, GivenComparisons, NearestNeighbours, Oracle, StructureProblem
from nearer.solvers import Outcome, Solver, solve
from nearer.solvers.blas import limited_blas
from nearer.solvers.cutting_planes import CuttingPlanes
from nearer.solvers.driver import Callback

MOST_OBJECTS_CONVEX = 300
_USUAL_RANK = 10  # beyond


class SPE(TakesGraphs):
    """Structure preserving embedding (Shaw and Jebara 2009): a map from which a graph can be read again.

    Maximizes <G, A> over Gram matrices G of a given trace, A the adjacency matrix, such that the algorithm that made
    the graph would make it again from the distances of G. Its constraints are found as they are violated. Where not
    all can be met, the largest shortfall is made small.

    Parameters
    ----------
    n_components : int, default 2
        Dimension p of the map.
    connectivity : {"knn", "b-matching"}, default "knn"
        Which algorithm it is: every neighbour of an object is nearer than every other object, or the graph is the
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
    n_objects : int, optional
        The number of objects, if it is more than the comparisons show.
    random_state : int, Generator, SeedSequence or None
        For triplets that are drawn to be kept, and for the start with more than 600 objects.

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

    def __init__(
        self,
        n_components: int = 2,
        *,
        connectivity: Literal["knn", "b-matching"] = "knn",
        rank: int | None = None,
        margin: float = 0.01,
        slack: float = 10.0,
        tol: float = 0.001,
        n_objects: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.connectivity = connectivity
        self.rank = rank
        self.margin = margin
        self.slack = slack
        self.tol = tol
        self.n_objects = n_objects
        self.random_state = random_state

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

    def _settle(self, comparisons: Comparisons | ComparisonsFile) -> None:
        n = comparisons.n_objects
        usual = n if n <= MOST_OBJECTS_CONVEX else max(_USUAL_RANK, self.n_components)
        self._rank_used = max(1, min(usual if self.rank is None else int(self.rank), n))

    def _loss(self) -> Hinge:
        return Hinge()

    def _penalty(self, solver: Solver[Any, Any]) -> Penalty:
        return Penalty(trace=0.0, ridge=0.0)

    def _rank(self) -> int:
        return self._rank_used

    def _solver(self, n_objects: int, n_comparisons: int) -> Solver[Any, Any]:
        return CuttingPlanes(tol=self.tol)

    def _fit_graph(self, graph: Graph, comparisons: Comparisons, callback: Callback | None) -> Self:
        self._settle(comparisons)
        oracle: Oracle = NearestNeighbours(graph) if self.connectivity == "knn" else BMatching(graph)
        solver = CuttingPlanes(self._rank(), self.tol)
        with limited_blas("gram", graph.n_objects):
            fitted = self._structured(oracle, np.arange(graph.n_objects), graph.n_objects, solver, callback)
        self._keep(fitted, comparisons)
        self.solver_ = solver
        self._report(fitted, solver)
        return self

    def _solved(
        self, comparisons: Comparisons | ComparisonsFile, solver: Solver[Any, Any], callback: Callback | None
    ) -> Fitted:
        comparisons = self._in_memory(comparisons)
        if self.connectivity != "knn":
            raise ValueError("comparisons say nothing of a b-matching; pass a graph, or connectivity='knn'")
        assert isinstance(solver, CuttingPlanes)
        among, seen = restricted(with_positive_weight(comparisons))
        if solver.start is not None:
            solver = replace(solver, start=solver.start[seen])
        return self._structured(GivenComparisons(among), seen, comparisons.n_objects, solver, callback)

    def _structured(
        self, oracle: Oracle, seen: NDArray[np.integer], n: int, solver: CuttingPlanes, callback: Callback | None
    ) -> Fitted:
        """Solve for the objects that are seen, and put the others at the origin."""
        problem = StructureProblem(oracle, self.margin, self.slack)
        solution = solve(problem, solver, stream(self.random_state, "start"), callback)
        assert solution.points is not None
        points = np.zeros((n, solution.points.shape[1]))
        points[seen] = solution.points
        embedding = embedding_from_gram(points @ points.T, self.n_components)
        return Fitted(embedding, problem, replace(solution, points=points), np.inf)  # type: ignore[arg-type]

    def _keep(self, fitted: Fitted, comparisons: Comparisons | ComparisonsFile) -> None:
        super()._keep(fitted, comparisons)
        points, state = fitted.solution.points, fitted.solution.state
        assert points is not None
        self.__dict__.pop("gram_", None)  # of an earlier fit
        if points.shape[1] > self.n_components:
            self.gram_ = points @ points.T
        self.dual_gap_ = fitted.solution.dual_gap
        self.shortfall_ = max(state.shortfall, 0.0)

    def _report(self, fitted: Fitted, solver: Solver[Any, Any]) -> None:
        if fitted.solution.outcome is Outcome.MAX_ITER:
            warnings.warn(
                f"SPE: constraints were added {self.n_iter_} times, and some are still short of the margin by "
                f"{self.shortfall_:.2g}. The result is usable; for a better one choose a larger tol or rank.",
                ConvergenceWarning,
                stacklevel=4,
            )
        elif fitted.solution.outcome is Outcome.INTERRUPTED:
            super()._report(fitted, solver)

    def _distances(self, quadruplets: NDArray[np.integer]) -> tuple[FloatArray, FloatArray]:
        if not hasattr(self, "gram_"):
            return super()._distances(quadruplets)
        return MarginMap.from_quadruplets(quadruplets, self.n_objects_).distances(self.gram_)

    def _extend(self, added: Comparisons) -> None:
        if hasattr(self, "gram_"):
            # The old objects keep their block of the matrix; new ones get points in the space that it spans.
            n = self.n_objects_
            points = self._placed(embedding_from_gram(self.gram_, n), added)
            gram = points @ points.T
            gram[:n, :n] = self.gram_
            super()._extend(added)
            self.gram_ = gram
        else:
            super()._extend(added)

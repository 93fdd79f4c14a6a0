"""Structure preserving embedding: a map from which the graph can be read again."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray
from nearer._common.randomness import RandomState, stream
from nearer.data.comparisons import Comparisons
from nearer.data.conversions import Graph
from nearer.data.groups import restrict_to_seen, with_positive_weight
from nearer.data.streamed import Judgments
from nearer.embedding.fitting import Fitted, GramEmbedding, turned, usable_start
from nearer.embedding.graph_input import TakesGraphs
from nearer.geometry import embedding_from_gram
from nearer.model import Hinge
from nearer.optimize.solvers import Outcome, solve
from nearer.optimize.solvers.cutting_planes import (
    BMatching,
    CuttingPlanes,
    GivenComparisons,
    NearestNeighbors,
    Oracle,
    StructureProblem,
)
from nearer.optimize.solvers.driver import Callback

MOST_OBJECTS_CONVEX = 300
_USUAL_RANK = 10  # beyond


class SPE(TakesGraphs, GramEmbedding):
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

    def _loss(self) -> Hinge:
        return Hinge()

    def _fit(self, comparisons: Judgments, callback: Callback | None = None, start: FloatArray | None = None) -> None:
        comparisons = self._in_memory(comparisons)
        if self.connectivity != "knn":
            raise ValueError("comparisons say nothing of a b-matching; pass a graph, or connectivity='knn'")
        among, seen = restrict_to_seen(with_positive_weight(comparisons))
        before = usable_start(start, self._rank(comparisons.n_objects))
        known = None if before is None else before[seen]
        self._solve(GivenComparisons(among), seen, comparisons, known, callback, onto=start)

    def _fit_graph(self, graph: Graph, comparisons: Comparisons, callback: Callback | None) -> None:
        oracle: Oracle = NearestNeighbors(graph) if self.connectivity == "knn" else BMatching(graph)
        self._solve(oracle, np.arange(graph.n_objects), comparisons, None, callback)

    def _rank(self, n_objects: int) -> int:
        usual = n_objects if n_objects <= MOST_OBJECTS_CONVEX else max(_USUAL_RANK, self.n_components)
        return max(1, min(usual if self.rank is None else int(self.rank), n_objects))

    def _solve(
        self,
        oracle: Oracle,
        seen: NDArray[np.integer],
        comparisons: Comparisons,
        start: FloatArray | None,
        callback: Callback | None,
        onto: FloatArray | None = None,
    ) -> None:
        """Solve for the objects that are seen, put the others at the origin, and keep the map."""
        n, solver = comparisons.n_objects, CuttingPlanes(tol=self.tol)
        problem = StructureProblem(oracle, self.margin, self.slack, self._rank(n))
        rng = stream(self.random_state, "start")
        with self._telling_of_interrupts():
            solution = solve(problem, solver, start, rng=rng, callback=callback)
        points = np.zeros((n, solution.value.shape[1]))
        points[seen] = solution.value
        embedding = embedding_from_gram(points @ points.T, self.n_components)
        fitted = turned(Fitted(embedding, solution, 0.0, 0.0, 1.0, np.inf), onto)
        self._keep_fitted(fitted, comparisons, solver)
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

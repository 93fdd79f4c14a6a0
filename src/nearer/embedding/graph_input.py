"""What estimators share that take a graph in place of comparisons."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import scipy.sparse as sp
from numpy.typing import ArrayLike

from nearer._common.randomness import stream
from nearer.data.comparisons import Comparisons
from nearer.data.conversions import Graph, graph_triplets, warn_of_uninformative_anchors
from nearer.data.labels import read_objects
from nearer.embedding.base import OrdinalEmbedding
from nearer.optimize.solvers.driver import Callback

MOST_TRIPLETS = 1_000_000  # of a graph that are written down; a larger one is sampled


class TakesGraphs(OrdinalEmbedding):
    """Base of estimators that take an unweighted graph: each neighbour is nearer than each object that is none."""

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        callback: Callback | None = None,
    ) -> Self:
        """Fit a map to comparisons, or to a graph.

        Ctrl-C during a fit leaves the best map so far on the estimator, warns, and raises KeyboardInterrupt.

        Parameters
        ----------
        X : Comparisons, ComparisonsFile, array-like of shape (m, 3) or (m, 4), or SciPy sparse of shape (n, n)
            Triplets (anchor, near, far) or quadruplets (near pair, far pair), as indices or labels. A sparse matrix is
            the adjacency matrix of a graph, as for `fit_graph`.
        y : array-like, shape (m,), optional
            Answers: +1 (or True) as written, -1 (or False) the other way round. All +1 if left out.
        sample_weight : array-like, shape (m,), optional
            Nonnegative weights; a row of weight 2 counts as two rows.
        callback : callable, optional
            Called with the `Progress` of each iteration.

        Returns
        -------
        self
        """
        if not sp.issparse(X):
            self._from_matrix = False
            return super().fit(X, y, sample_weight, callback=callback)
        if y is not None or sample_weight is not None:
            raise ValueError("a graph has neither answers nor weights; pass the adjacency matrix alone")
        return self.fit_graph(X, callback=callback)

    def fit_graph(self, adjacency: Any, *, objects: Any = None, callback: Callback | None = None) -> Self:
        """Fit a map to an unweighted graph: the triplets (i, j, k) of every neighbour j and every other k of each i.

        Parameters
        ----------
        adjacency : SciPy sparse or array-like, shape (n, n)
            Row i has ones at the neighbours of i and zeros elsewhere. It need not be symmetric.
        objects : sequence of labels, shape (n,), optional
            The numbers 0..n-1 if left out.
        callback : callable, optional
            Called with the `Progress` of each iteration.

        Returns
        -------
        self
            `comparisons_` has all triplets of the graph, or a million of them, drawn evenly, if there are more.
        """
        self._check_settings()
        graph = Graph.from_adjacency(adjacency)
        self._check_dimensions(graph.n_objects)
        warn_of_uninformative_anchors(graph)
        if self.n_objects not in (None, graph.n_objects):
            raise ValueError(
                f"n_objects={self.n_objects}, but the adjacency matrix has {graph.n_objects} rows; leave it out, or "
                "add empty rows and columns for objects without neighbours"
            )
        size = MOST_TRIPLETS if graph.n_triplets > MOST_TRIPLETS else None
        rng = stream(0 if self.random_state is None else self.random_state, "triplets")
        comparisons = graph_triplets(graph, size, rng)
        if objects is not None:
            labels = read_objects(objects)
            if len(labels) != graph.n_objects:
                raise ValueError(f"{len(labels)} objects are named, but the matrix has {graph.n_objects} rows")
            comparisons = replace(comparisons, objects=labels)
        self._from_matrix = True
        self._fit_graph(graph, comparisons, callback)
        return self

    def _check_known(self, X: Any) -> None:
        is_graph = sp.issparse(X)
        if not is_graph:
            super()._check_known(X)
        elif X.shape != (self.n_objects_, self.n_objects_):
            raise ValueError(f"the graph has a matrix of shape {X.shape}, and the map {self.n_objects_} objects")

    def _fit_graph(self, graph: Graph, comparisons: Comparisons, callback: Callback | None) -> None:
        """Fit to a graph, of whose triplets some, or all, are given."""
        self._fit(comparisons, callback)

"""Soft ordinal embedding of a graph, with all its triplets and without writing them down.

    minimize over X    (1/m) sum over neighbours j and all other k of each i of max(1 + d(i, j) - d(i, k), 0)^2

plus the trace penalty of every method over points. A value with its gradient costs what the pairs within reach cost.

A graph is easily folded, and no small step unfolds a map. So the descent has one dimension more than is wanted, begins
at a map of the numbers of steps between objects along the graph, and pays more and more for the extra dimension: in it
the sheet can turn over before it is pressed flat. Classical scaling of all numbers of steps takes an n x n matrix; here
some hundred landmarks are scaled, and the others are placed by their steps to these (de Silva and Tenenbaum 2004).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from nearer._common.arrays import FloatArray, PointArray
from nearer.data.conversions import Graph
from nearer.data.rows import Rows
from nearer.optimize.problems.points import FactoredProblem
from nearer.optimize.problems.sources import Source


@dataclass(frozen=True, eq=False)
class GraphTriplets(Source):
    """The triplets of a graph as a source of comparisons, made a block at a time."""

    graph: Graph

    @property
    def n_objects(self) -> int:
        """The number of objects."""
        return self.graph.n_objects

    def __len__(self) -> int:
        return self.graph.n_triplets

    def blocks(self, rng: np.random.Generator | None = None) -> Iterator[Rows]:
        """Return all triplets, some at a time."""
        for block in self.graph.blocks():
            yield Rows.of(block)


@dataclass(frozen=True, eq=False)
class GraphProblem(FactoredProblem):
    """The problem over points for all triplets of a graph, none of which is written down.

    Parameters
    ----------
    source : GraphTriplets
    loss : DistanceHinge
    pressure : float
        Weight of the squares of the coordinates from ``flat`` on.
    flat : int
        The number of dimensions that cost nothing more.

    Examples
    --------
    >>> from nearer.model import DistanceHinge
    >>> path = GraphTriplets(Graph.from_adjacency([[0, 1, 0], [1, 0, 1], [0, 1, 0]]))
    >>> GraphProblem(path, DistanceHinge()).objective_and_gradient(np.array([[0.0], [1.0], [1.5]]))[0]
    0.125
    """

    source: GraphTriplets
    pressure: float = 0.0
    flat: int = 0

    @property
    def graph(self) -> Graph:
        """The graph."""
        return self.source.graph

    @property
    def mentions(self) -> FloatArray:
        """The number of triplets that mention each object, (n,)."""
        graph = self.graph
        degrees = graph.degrees.astype(np.float64)
        others = graph.n_objects - 1 - degrees
        near = graph.adjacency.T @ others
        far = degrees.sum() - degrees - graph.adjacency.T @ degrees
        total: FloatArray = degrees * others + near + far
        return total

    @property
    def n_groups(self) -> int:
        """One: an anchor is compared with all others."""
        return 1

    @property
    def total_weight(self) -> float:
        """The number of triplets."""
        return float(len(self.source))

    @property
    def others(self) -> float:
        """The number of triplets for each edge, on average."""
        return self.total_weight / len(self.graph.neighbours)

    def objective_and_gradient(self, points: PointArray, trace: float | None = None) -> tuple[float, PointArray]:
        """Return the value to be minimized and its gradient with respect to X, (n, p); at another trace if given."""
        value, gradient = super().objective_and_gradient(points, trace)
        if self.pressure:
            extra = points[:, self.flat :]
            value += self.pressure * float(np.vdot(extra, extra))
            gradient[:, self.flat :] += points.dtype.type(2 * self.pressure) * extra
        return value, gradient

    def loss_and_gradient(self, points: PointArray) -> tuple[float, PointArray]:
        """Return the mean loss alone and its gradient."""
        from nearer.optimize.kernels.graph import graph_hinge

        value, gradient = graph_hinge(points, self.graph.starts, self.graph.neighbours, self.n_threads)
        gradient /= points.dtype.type(self.total_weight)
        return value / self.total_weight, gradient

    def pull(self, points: PointArray) -> PointArray:
        """Return A^T c applied to the columns of ``points``, (n, p): the signed Laplacian of the triplets."""
        return self.graph.pull(points) / self.total_weight

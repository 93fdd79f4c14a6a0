"""Structure that a map must preserve, as linear constraints on squared distances that are found one after the other.

A *cut* is a weighted sum of squared distances that must be at least the margin: d2(i, k) - d2(i, j) for a neighbour j
and another object k of i, or the length of another b-matching less that of the graph. There are far too many to write
down. An *oracle* looks at a map and names those that it violates most, which is all that a cutting-plane method asks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.spatial.distance import cdist

from nearer._common.arrays import FloatArray
from nearer.data.comparisons import Comparisons
from nearer.data.conversions import Graph
from nearer.geometry import centred
from nearer.optimize.problems.margins import pair_distances

MOST_FOR_BOUND = 600  # objects: a set of eigenvalues at each step is not worth its time beyond
_BLOCK = 4_000_000  # distances at a time


@dataclass(frozen=True, eq=False)
class Cuts:
    """Cuts, one a row: entries of pairs of objects with weights.

    Attributes
    ----------
    cut, first, second : ndarray of int64, shape (e,)
    weight : ndarray, shape (e,)
        The cut is the sum of weight * d2(first, second) over its entries.
    n_cuts : int

    Examples
    --------
    >>> cuts = Cuts.of_triplets(np.array([[0, 1, 2]]))
    >>> cuts.values(np.array([[0.0], [1.0], [3.0]]))
    array([8.])
    """

    cut: NDArray[np.int64]
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    weight: FloatArray
    n_cuts: int

    @classmethod
    def none(cls) -> Self:
        """Return no cuts."""
        empty = np.empty(0, np.int64)
        return cls(empty, empty, empty, np.empty(0), 0)

    @classmethod
    def of_triplets(cls, rows: NDArray[np.integer]) -> Self:
        """Return the cuts d2(far) - d2(near) of triplets, (m, 3), or quadruplets, (m, 4)."""
        quadruplets = (rows[:, [0, 1, 0, 2]] if rows.shape[1] == 3 else rows).astype(np.int64)
        m = len(rows)
        return cls(
            np.tile(np.arange(m), 2),
            np.concatenate([quadruplets[:, 2], quadruplets[:, 0]]),
            np.concatenate([quadruplets[:, 3], quadruplets[:, 1]]),
            np.repeat([1.0, -1.0], m),
            m,
        )

    def plus(self, other: Cuts) -> Cuts:
        """Return these cuts and others after them."""
        return Cuts(
            np.concatenate([self.cut, other.cut + self.n_cuts]),
            np.concatenate([self.first, other.first]),
            np.concatenate([self.second, other.second]),
            np.concatenate([self.weight, other.weight]),
            self.n_cuts + other.n_cuts,
        )

    def incidence(self, n_objects: int) -> Any:
        """Return the sparse matrix that takes points to the differences of the pairs, (e, n)."""
        e = len(self.cut)
        ones = np.ones(e)
        places = np.tile(np.arange(e), 2), np.concatenate([self.first, self.second])
        return sp.csr_array((np.concatenate([ones, -ones]), places), shape=(e, n_objects))

    def values(self, points: FloatArray) -> FloatArray:
        """Return the value of each cut, (n_cuts,)."""
        squares = pair_distances(points, self.first, self.second)
        return np.bincount(self.cut, self.weight * squares, minlength=self.n_cuts).astype(np.float64)

    def laplacian(self, multipliers: FloatArray, n_objects: int) -> FloatArray:
        """Return the matrix B with <B, G> = sum of multiplier * cut, (n, n)."""
        shares = multipliers[self.cut] * self.weight
        matrix = np.zeros((n_objects, n_objects))
        np.add.at(matrix, (self.first, self.second), -shares)
        matrix = matrix + matrix.T
        matrix[np.diag_indices(n_objects)] -= matrix.sum(axis=1)
        return matrix


class Oracle(Protocol):
    """What knows all constraints."""

    @property
    def n_objects(self) -> int:
        """The number of objects."""
        ...

    @property
    def similarity(self) -> Any:
        """The sparse symmetric matrix A of which <G, A> is to be large, (n, n)."""
        ...

    def worst(self, points: FloatArray, margin: float) -> tuple[Cuts, float]:
        """Return cuts that a map violates most, and by how much the worst is short of the margin (below 0: none)."""
        ...


@dataclass(frozen=True, eq=False)
class NearestNeighbours:
    """Each neighbour must be nearer than each other object: for each anchor its farthest neighbour, nearest other.

    Examples
    --------
    >>> oracle = NearestNeighbours(Graph.from_adjacency([[0, 1, 0], [1, 0, 1], [0, 1, 0]]))
    >>> cuts, shortfall = oracle.worst(np.array([[0.0], [2.0], [1.0]]), margin=0.5)
    >>> cuts.n_cuts, shortfall
    (2, 3.5)
    """

    graph: Graph

    @property
    def n_objects(self) -> int:
        """The number of objects."""
        return self.graph.n_objects

    @property
    def similarity(self) -> Any:
        """The symmetric part of the adjacency matrix."""
        return (self.graph.adjacency + self.graph.adjacency.T) / 2

    def worst(self, points: FloatArray, margin: float) -> tuple[Cuts, float]:
        """Return the worst cut of each anchor that has one short of the margin, and the largest shortfall."""
        n = self.n_objects
        anchors = np.flatnonzero(self.graph.counts)
        rows, shortfalls = [], []
        adjacency = self.graph.adjacency
        for block in np.array_split(anchors, -(-len(anchors) * n // _BLOCK)):
            squares = cdist(points[block], points, "sqeuclidean")
            linked = adjacency[block].toarray() > 0
            near = np.where(linked, squares, -np.inf).argmax(axis=1)
            squares[np.arange(len(block)), block] = np.inf
            far = np.where(linked, np.inf, squares).argmin(axis=1)
            rows.append(np.column_stack([block, near, far]))
            place = np.arange(len(block))
            shortfalls.append(margin - squares[place, far] + squares[place, near])
        shortfall = np.concatenate(shortfalls)
        return Cuts.of_triplets(np.concatenate(rows)[shortfall > 0]), float(shortfall.max())


@dataclass(frozen=True, eq=False)
class GivenComparisons:
    """Each comparison must hold: as many of the worst ones at a time as there are objects.

    The similarity of two objects is how often they are the near pair.
    """

    comparisons: Comparisons

    @property
    def n_objects(self) -> int:
        """The number of objects."""
        return self.comparisons.n_objects

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """The different comparisons, as answered, (m, 4): equal ones are one constraint."""
        return np.unique(self.comparisons.oriented[self.comparisons.sample_weight > 0].astype(np.int64), axis=0)

    @property
    def similarity(self) -> Any:
        """The weights of the near pairs."""
        n = self.n_objects
        near = self.comparisons.oriented[:, :2]
        half = sp.csr_array((self.comparisons.sample_weight / 2, (near[:, 0], near[:, 1])), shape=(n, n))
        return half + half.T

    def worst(self, points: FloatArray, margin: float) -> tuple[Cuts, float]:
        """Return the worst comparisons that are short of the margin, and the largest shortfall."""
        i, j, l, k = self.rows.T  # noqa: E741
        shortfall = margin - pair_distances(points, l, k) + pair_distances(points, i, j)
        worst = np.argsort(-shortfall, kind="stable")[: self.n_objects]
        return Cuts.of_triplets(self.rows[worst[shortfall[worst] > 0]]), float(shortfall.max())


@dataclass(frozen=True, eq=False)
class BMatching:
    """The graph must be the shortest one of all with its degrees, by the margin for each edge that differs.

    The shortest one is found as a linear program in the edges: degrees as given, each edge between 0 and 1. Its optimum
    may have halves along odd cycles; such a cut asks for a little more than is needed, never for less.
    """

    graph: Graph

    def __post_init__(self) -> None:
        unequal = self.graph.adjacency - self.graph.adjacency.T
        if abs(unequal).sum() > 0:
            row, column = np.argwhere(unequal.toarray())[0]
            raise ValueError(
                f"a b-matching is symmetric, but of objects {row} and {column} only one is a neighbour of the other; "
                "take (adjacency + adjacency.T) > 0, or connectivity='knn'"
            )

    @property
    def n_objects(self) -> int:
        """The number of objects."""
        return self.graph.n_objects

    @property
    def similarity(self) -> Any:
        """The adjacency matrix."""
        return self.graph.adjacency

    def worst(self, points: FloatArray, margin: float) -> tuple[Cuts, float]:
        """Return the cut of the shortest other graph, and how far it is short of the margin for each edge."""
        n = self.n_objects
        first, second = np.triu_indices(n, 1)
        squares = pair_distances(points, first, second)
        own = np.asarray(self.graph.adjacency.toarray()[first, second])
        places = np.concatenate([first, second]), np.tile(np.arange(len(first)), 2)
        degrees: Any = sp.csr_array((np.ones(2 * len(first)), places), shape=(n, len(first)))
        # An edge of the graph is dearer by the margin: else the graph itself would be the answer.
        found = linprog(squares + margin * own, A_eq=degrees, b_eq=self.graph.degrees, bounds=(0, 1), method="highs")
        other = found.x - own
        swapped = float(np.maximum(other, 0).sum())
        if swapped < 1e-6:
            return Cuts.none(), -np.inf
        used = np.flatnonzero(np.abs(other) > 1e-9)
        weight = other[used] / swapped
        shortfall = margin - float(weight @ squares[used])
        return Cuts(np.zeros(len(used), np.int64), first[used], second[used], weight, 1), shortfall


@dataclass(frozen=True, eq=False)
class StructureProblem:
    """An oracle of constraints, the margin that they ask for, the price of what is missing, and the columns of X.

    As many columns as there are objects make the problem convex.

    Examples
    --------
    >>> from nearer.data.conversions import Graph
    >>> from nearer.optimize.problems.structure import NearestNeighbours
    >>> path = Graph.from_adjacency([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> problem = StructureProblem(NearestNeighbours(path), margin=0.01, slack=10.0)
    >>> line = np.sqrt(1.5) * np.array([[-1.0], [0.0], [1.0]])
    >>> round(problem.objective(line), 6)
    0.0
    """

    oracle: Oracle
    margin: float
    slack: float
    rank: int = 2
    trace: float = 0.0
    total_weight: float = 1.0

    @property
    def n_objects(self) -> int:
        """The number of objects n."""
        return self.oracle.n_objects

    @cached_property
    def similarity(self) -> Any:
        """A / (n |A|), sparse."""
        matrix = self.oracle.similarity
        largest = np.linalg.norm(matrix.toarray(), 2) if self.n_objects <= MOST_FOR_BOUND else _largest(matrix)
        return matrix / (largest * self.n_objects)

    def objective(self, points: FloatArray) -> float:
        """Return the value to be maximized, with all constraints."""
        _, shortfall = self.oracle.worst(points, self.margin)
        return float(np.vdot(points, self.similarity @ points)) - self.slack * max(shortfall, 0.0)

    def bound(self, cuts: Cuts, multipliers: FloatArray) -> tuple[float, FloatArray | None]:
        """Return a value that no map exceeds, and the direction, (n,), that would gain most; NaN and None above 600."""
        n = self.n_objects
        if n > MOST_FOR_BOUND:
            return float("nan"), None
        matrix = centred(self.similarity.toarray() + cuts.laplacian(multipliers, n))
        # Ones would count as an eigenvector of 0: they are moved out of the way.
        eigenvalues, vectors = np.linalg.eigh(matrix - (1 + np.abs(matrix).sum()) / n)
        return float(n * eigenvalues[-1] - self.margin * multipliers.sum()), vectors[:, -1]


def _largest(matrix: Any) -> float:
    from scipy.sparse.linalg import eigsh

    return float(eigsh(matrix, k=1, v0=np.ones(matrix.shape[0]), return_eigenvectors=False)[0])

"""Conversions between graphs, dissimilarities and comparisons.

A graph says that every neighbor j of i is nearer to i than every object k that is none, the triplet (i, j, k). Object i
is the anchor of deg(i) (n - 1 - deg(i)) triplets. They are numbered anchor by anchor, so that any of them can be had
from its number alone, and a graph with more triplets than memory can still be sampled evenly.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, Self, SupportsIndex

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from nearer._common.arrays import FloatArray, checked_points
from nearer._common.parameters import check_integer
from nearer._common.progress import warn_caller
from nearer._common.randomness import RandomState, stream
from nearer.data.comparisons import Comparisons
from nearer.data.labels import read_objects

__all__ = ["comparisons_from_distances", "comparisons_from_graph", "count_triplets", "graph_from_embedding"]

MAX_ROWS = 20_000_000  # 240 MB of triplets; more must be asked for as a sample
BLOCK_TRIPLETS = 1_000_000  # triplets at a time: 24 MB of numbers


def count_triplets(adjacency: Any) -> int:
    """Return how many triplets a graph stands for, without making any; see `comparisons_from_graph`.

    Examples
    --------
    >>> count_triplets([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]])
    8
    """
    return Graph.from_adjacency(adjacency).n_triplets


def comparisons_from_graph(
    adjacency: Any, *, n_samples: SupportsIndex | None = None, random_state: RandomState = None
) -> Comparisons:
    """Return the triplets that a graph stands for: each neighbor is nearer than each object that is none.

    Parameters
    ----------
    adjacency : SciPy sparse or array-like, shape (n, n)
        Row i has ones at the neighbors of i and zeros elsewhere. A graph of nearest neighbors need not be symmetric.
    n_samples : int, optional
        How many triplets to draw, evenly and without replacement. By default all of them, which must not be more than
        20 million; `count_triplets` tells how many there are.
    random_state : None, int, SeedSequence, Generator or RandomState

    Returns
    -------
    Comparisons
        Triplets over n objects. A UserWarning counts objects that are the anchor of none: those without neighbors and
        those with all others as neighbors.

    Examples
    --------
    >>> path = [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]]
    >>> comparisons_from_graph(path).rows[:3].tolist()
    [[0, 1, 2], [0, 1, 3], [1, 0, 3]]
    >>> comparisons_from_graph(path, n_samples=5, random_state=0)
    Comparisons(5 triplets over 4 objects)
    """
    graph = Graph.from_adjacency(adjacency)
    warn_of_uninformative_anchors(graph)
    return graph_triplets(graph, n_samples, stream(random_state, "triplets"))


def graph_triplets(graph: Graph, n_samples: SupportsIndex | None, rng: np.random.Generator) -> Comparisons:
    """Return all triplets of a graph, or a sample."""
    size = _check_size(n_samples, graph.n_triplets, "the graph")
    if size is not None:
        numbers = rng.choice(graph.n_triplets, size=size, replace=False)
        rows = _narrow(graph.triplets(numbers), graph.n_objects)
    else:
        rows = np.empty((graph.n_triplets, 3), np.int32 if graph.n_objects < 2**31 else np.int64)
        for start, block in zip(range(0, len(rows), BLOCK_TRIPLETS), graph.blocks(), strict=True):
            rows[start : start + len(block)] = block
    return Comparisons.from_triplets(rows, n_objects=graph.n_objects)


def warn_of_uninformative_anchors(graph: Graph) -> None:
    """Warn of objects that are the anchor of no triplet; refuse a graph of nothing else."""
    n_isolated, n_full = (int(np.sum(graph.degrees == degree)) for degree in (0, graph.n_objects - 1))
    found = f"of {graph.n_objects} objects {n_isolated} have no neighbors and {n_full} have all others as neighbors"
    if graph.n_triplets == 0:
        raise ValueError(f"the graph has no triplets: {found}")
    if n_isolated + n_full:
        warn_caller(f"{found}; they are the anchor of no triplet")


def comparisons_from_distances(
    distances: ArrayLike,
    *,
    n_samples: SupportsIndex | None = None,
    kind: Literal["triplet", "quadruplet"] = "triplet",
    random_state: RandomState = None,
) -> Comparisons:
    """Return which of two dissimilarities is the smaller one, for all of them or for a sample.

    Equal ones give no comparison; NaN stands for a dissimilarity that is not known.

    Parameters
    ----------
    distances : array-like, shape (n, n)
        Dissimilarities; any order-preserving change of them gives the same comparisons. The diagonal does not count.
        For triplets, which compare within a row, the matrix need not be symmetric.
    n_samples : int, optional
        How many comparisons to draw, evenly and without replacement; by default all of them, at most 20 million.
    kind : {"triplet", "quadruplet"}
        Compare pairs with a common object, or any two pairs.
    random_state : None, int, SeedSequence, Generator or RandomState

    Examples
    --------
    >>> distances = [[0, 1, 2], [1, 0, 2], [2, 2, 0]]
    >>> comparisons_from_distances(distances).rows.tolist()
    [[0, 1, 2], [1, 0, 2]]
    >>> comparisons_from_distances(distances, kind="quadruplet").rows.tolist()
    [[0, 1, 0, 2], [0, 1, 1, 2]]
    """
    if kind not in ("triplet", "quadruplet"):
        raise ValueError(f"kind must be 'triplet' or 'quadruplet', got {kind!r}")
    matrix = _check_distances(distances, symmetric=kind == "quadruplet")
    n = len(matrix)
    known = ~np.isnan(matrix)
    if kind == "quadruplet":
        known &= np.triu(np.ones((n, n), dtype=bool), 1)
    first, second = np.nonzero(known)
    lists = first if kind == "triplet" else np.zeros(len(first), dtype=np.int64)
    values = matrix[first, second]
    order = np.lexsort((values, lists))
    near, far = _enumerate_comparisons(lists[order], values[order], n_samples, stream(random_state, "triplets"))
    pairs = np.column_stack([first, second])[order]
    rows = _narrow(np.column_stack([pairs[near], pairs[far]]), n)
    if kind == "triplet":
        return Comparisons.from_triplets(rows[:, [0, 1, 3]], n_objects=n)
    return Comparisons.from_quadruplets(rows, n_objects=n)


def graph_from_embedding(embedding: ArrayLike, n_neighbors: int, *, symmetric: bool = False) -> Any:
    """Return the graph of nearest neighbors of a map.

    Parameters
    ----------
    embedding : array-like, shape (n, p)
        Points, such as the `embedding_` of an estimator.
    n_neighbors : int
        How many neighbors each object has, fewer than n.
    symmetric : bool
        Make two objects neighbors if one of them is a neighbor of the other.

    Returns
    -------
    scipy.sparse.csr_array, shape (n, n)
        Row i has ones at the nearest neighbors of i.

    Examples
    --------
    >>> graph_from_embedding([[0.0], [1.0], [3.0]], 1).toarray().tolist()
    [[0, 1, 0], [1, 0, 0], [0, 1, 0]]
    """
    from sklearn.neighbors import NearestNeighbors

    points = checked_points(embedding, "embedding")
    check_integer("n_neighbors", n_neighbors, 1, len(points) - 1)
    graph = sp.csr_array(NearestNeighbors(n_neighbors=n_neighbors).fit(points).kneighbors_graph(), dtype=np.int8)
    graph = sp.csr_array(graph.maximum(graph.T)) if symmetric else graph
    graph.sort_indices()
    return graph


def _enumerate_comparisons(
    lists: NDArray[np.int64], values: NDArray[Any], n_samples: SupportsIndex | None, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return positions (near, far) with values[near] < values[far] in one list; values rise within each list."""
    positions = np.arange(len(values))
    new_list = np.r_[True, lists[1:] != lists[:-1]][: len(values)]
    new_value = new_list | np.r_[True, values[1:] != values[:-1]][: len(values)]
    list_starts = np.maximum.accumulate(np.where(new_list, positions, 0))
    # What comes before the first of equal values is smaller.
    smaller = np.maximum.accumulate(np.where(new_value, positions, 0)) - list_starts
    ends = np.cumsum(smaller)
    total = int(ends[-1]) if len(ends) else 0
    if total == 0:
        raise ValueError("no two dissimilarities that can be compared differ; there is nothing to learn from them")
    size = _check_size(n_samples, total, "the matrix")
    numbers = np.arange(total) if size is None else rng.choice(total, size=size, replace=False)
    far = np.searchsorted(ends, numbers, side="right")
    return list_starts[far] + numbers - (ends - smaller)[far], far


def _check_distances(distances: ArrayLike, symmetric: bool) -> NDArray[np.float64]:
    """Return a copy with NaN on the diagonal."""
    matrix = np.array(distances)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) < 3 or matrix.dtype.kind not in "biuf":
        raise ValueError(
            f"dissimilarities are a square matrix of numbers, at least 3 by 3; got {matrix.shape} of {matrix.dtype}"
        )
    matrix = matrix.astype(np.float64)
    np.fill_diagonal(matrix, np.nan)
    if np.isinf(matrix).any():
        row, column = np.argwhere(np.isinf(matrix))[0]
        raise ValueError(f"row {row}, column {column} is infinite; put NaN where a dissimilarity is not known")
    if symmetric:
        both = np.where(np.isnan(matrix), matrix.T, matrix)
        differing = np.argwhere(~(np.isnan(both) | (both == both.T)))
        if len(differing):
            row, column = differing[0]
            raise ValueError(
                f"row {row}, column {column} holds {both[row, column]} and row {column}, column {row} holds "
                f"{both[column, row]}; quadruplets need a symmetric matrix: take their mean, or kind='triplet'"
            )
        return both
    return matrix


def _check_size(n_samples: SupportsIndex | None, total: int, what: str) -> int | None:
    if n_samples is None:
        if total > MAX_ROWS:
            raise ValueError(f"{what} gives {total} comparisons; ask for some of them, such as n_samples=1_000_000")
        return None
    size = operator.index(n_samples)
    if not 1 <= size <= total:
        raise ValueError(
            f"n_samples={size}, but {what} gives {total} comparisons; ask for 1 to {total}, or leave it out for all"
        )
    return size


def _narrow(rows: NDArray[np.int64], n_objects: int) -> NDArray[Any]:
    return rows.astype(np.int32 if n_objects < 2**31 else np.int64)


@dataclass(frozen=True, eq=False)
class Graph:
    """The neighbors of each of n objects, sorted."""

    starts: NDArray[np.int64]  # (n + 1,); the neighbors of i are ``neighbors[starts[i] : starts[i + 1]]``
    neighbors: NDArray[np.int64]  # (e,)

    @classmethod
    def from_adjacency(cls, adjacency: Any) -> Self:
        """Return the graph of an adjacency matrix: row i has ones at the neighbors of i."""
        matrix: Any = adjacency
        if sp.issparse(adjacency):
            matrix = sp.csr_array(matrix, copy=True)
        else:
            dense = np.asarray(adjacency)
            if dense.ndim != 2 or dense.dtype.kind not in "biuf":
                raise ValueError(
                    f"an adjacency matrix has n rows and n columns of zeros and ones; got shape {dense.shape} of "
                    f"{dense.dtype}"
                )
            matrix = sp.csr_array(dense)
        if matrix.shape[0] != matrix.shape[1] or matrix.shape[0] < 3:
            raise ValueError(f"an adjacency matrix is square, with at least 3 rows; got shape {matrix.shape}")
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        wrong = np.flatnonzero(~(matrix.data == 1))  # NaN is wrong too
        if len(wrong):
            row = int(np.searchsorted(matrix.indptr, wrong[0], side="right")) - 1
            raise ValueError(
                f"the adjacency matrix holds {matrix.data[wrong[0]]} in row {row}, column {matrix.indices[wrong[0]]}, "
                f"and {len(wrong) - 1} more entries that are neither 0 nor 1; leave weights out with (adjacency > 0), "
                "or take comparisons_from_distances for a matrix of dissimilarities"
            )
        diagonal = np.flatnonzero(matrix.diagonal())
        if len(diagonal):
            raise ValueError(
                f"object {diagonal[0]} is a neighbor of itself, and {len(diagonal) - 1} more are; set the diagonal "
                "of the adjacency matrix to 0"
            )
        matrix.sort_indices()
        return cls(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64))

    @property
    def n_objects(self) -> int:
        """The number of objects n."""
        return len(self.starts) - 1

    @cached_property
    def degrees(self) -> NDArray[np.int64]:
        """The number of neighbors of each object, (n,)."""
        return np.diff(self.starts)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """The number of triplets that each object is the anchor of, (n,)."""
        return self.degrees * (self.n_objects - 1 - self.degrees)

    @property
    def n_triplets(self) -> int:
        """The number of triplets."""
        return int(self.counts.sum())

    @property
    def edges(self) -> NDArray[np.int64]:
        """Object and neighbor, (e, 2)."""
        return np.column_stack([np.repeat(np.arange(self.n_objects), self.degrees), self.neighbors])

    @cached_property
    def adjacency(self) -> Any:
        """The adjacency matrix as a SciPy csr_array of floats, (n, n)."""
        n, values = self.n_objects, np.ones(len(self.neighbors))
        # Paths and components are computed with 32 bit indices; older versions of SciPy refuse others.
        indices, starts = self.neighbors.astype(np.int32), self.starts.astype(np.int32)
        return sp.csr_array((values, indices, starts), shape=(n, n))

    @cached_property
    def _others(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the number of far objects before each one that is not far from i, and where those of i begin."""
        # Not far from i are its neighbors and i itself. The keys of all anchors rise, n + 1 apart.
        n = self.n_objects
        anchors = np.concatenate([np.repeat(np.arange(n), self.degrees), np.arange(n)])
        objects = np.concatenate([self.neighbors, np.arange(n)])
        order = np.lexsort((objects, anchors))
        anchors, objects = anchors[order], objects[order]
        begins = self.starts[:-1] + np.arange(n)
        before = objects - (np.arange(len(objects)) - begins[anchors])
        return anchors * (n + 1) + before, begins

    def triplets(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the triplets (anchor, neighbor, other) with these numbers, (m, 3)."""
        n = self.n_objects
        ends = np.cumsum(self.counts)
        anchors = np.searchsorted(ends, numbers, side="right")
        rest = numbers - (ends - self.counts)[anchors]
        which, far = np.divmod(rest, n - 1 - self.degrees[anchors])
        keys, begins = self._others
        # The far-th object that is no neighbor: far, plus those that are skipped on the way.
        passed = np.searchsorted(keys, anchors * (n + 1) + far, side="right") - begins[anchors]
        return np.column_stack([anchors, self.neighbors[self.starts[anchors] + which], far + passed])

    def blocks(self) -> Iterator[NDArray[np.int64]]:
        """Return all triplets, some at a time."""
        for start in range(0, self.n_triplets, BLOCK_TRIPLETS):
            yield self.triplets(np.arange(start, min(start + BLOCK_TRIPLETS, self.n_triplets)))

    def laplacian_product(self, points: FloatArray) -> FloatArray:
        """Return the Laplacian of all far pairs less that of all near pairs, applied to points, (n, p)."""
        # An edge is the near pair of n - 1 - deg(i) triplets, a pair without one the far pair of deg(i).
        n, edges = self.n_objects, self.adjacency
        # As far pairs, all pairs count deg(i); an edge then counts n - 1 too many.
        spread = self.degrees.astype(np.float64)[:, None]
        everywhere = (n * spread + spread.sum()) * points - spread * points.sum(axis=0) - (spread * points).sum(axis=0)
        received = np.asarray(edges.sum(axis=0)).reshape(-1, 1)
        along = (spread + received) * points - edges @ points - edges.T @ points
        return everywhere - (n - 1) * along


def check_dissimilarities(D: ArrayLike, n_objects: int | None = None) -> FloatArray:
    """Return a matrix of dissimilarities, NaN where one is missing, or raise ValueError."""
    matrix = _square_matrix(D, "dissimilarities")
    n = len(matrix)
    if n_objects not in (None, n):
        raise ValueError(f"n_objects={n_objects}, but the matrix is about {n} objects; leave n_objects out")
    if n < 3:
        raise ValueError(f"a matrix of {n} objects has no two dissimilarities to compare; it takes at least 3")
    if np.isinf(matrix).any():
        a, b = np.argwhere(np.isinf(matrix))[0]
        raise ValueError(f"the dissimilarity of {a} and {b} is infinite; write NaN where it is not known")
    # A pair that is known one way only is known.
    return np.where(np.isnan(matrix), matrix.T, matrix)


def read_pair_weights(weights: ArrayLike | None, n: int) -> FloatArray:
    """Return the weights of pairs, (n, n); ones if none are given."""
    if weights is None:
        return np.ones((n, n))
    matrix = _square_matrix(weights, "weights")
    if len(matrix) != n:
        raise ValueError(f"weights must have shape {(n, n)}, one for each dissimilarity, got {matrix.shape}")
    if not np.isfinite(matrix).all() or matrix.min() < 0:
        raise ValueError("weights must be finite numbers >= 0; write 0 for a pair that does not count")
    return matrix


def _square_matrix(values: ArrayLike, what: str) -> FloatArray:
    try:
        matrix = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what} must be a matrix of numbers, with NaN where one is missing: {error}") from error
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"{what} must be a square matrix, a row and a column for each object, got {matrix.shape}")
    np.fill_diagonal(matrix, 0.0)
    both = np.isfinite(matrix) & np.isfinite(matrix.T)
    differ = both & ~np.isclose(matrix, matrix.T, rtol=1e-8, atol=0)
    if differ.any():
        a, b = np.argwhere(differ)[0]
        raise ValueError(
            f"{what} must be symmetric, but that of {a} and {b} is {matrix[a, b]} one way and {matrix[b, a]} the "
            "other; pass (D + D.T) / 2 if the difference does not matter"
        )
    return matrix


def comparison_chain(pairs: NDArray[np.integer], values: FloatArray, n: int, objects: ArrayLike | None) -> Comparisons:
    """Return comparisons of each pair with a pair of the next larger dissimilarity: the order, in few rows."""
    # Of two groups of ties each pair of one is compared with some pair of the other.
    ranks = np.unique(values, return_inverse=True)[1].ravel()
    if len(ranks) == 0 or ranks.max() == 0:
        raise ValueError(f"all {len(ranks)} known dissimilarities are equal; there is no order to fit a map to")
    groups = np.split(np.argsort(ranks, kind="stable"), np.cumsum(np.bincount(ranks))[:-1])
    near, far = [], []
    for lower, upper in pairwise(groups):
        size = max(len(lower), len(upper))
        near.append(np.resize(lower, size))
        far.append(np.resize(upper, size))
    rows = np.hstack([pairs[np.concatenate(near)], pairs[np.concatenate(far)]])
    comparisons = Comparisons.from_quadruplets(rows, n_objects=n)
    labels = comparisons.objects if objects is None else read_objects(objects)
    if len(labels) != n:
        raise ValueError(f"objects holds {len(labels)} labels, and the matrix is about {n} objects")
    return replace(comparisons, objects=labels)

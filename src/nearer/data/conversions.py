"""Between graphs, dissimilarities and comparisons.

Methods for graphs and methods for comparisons meet on the same data: a graph says that neighbours are nearer than other
objects, a matrix of dissimilarities says which of two pairs is the nearer one, and a map has a graph of nearest
neighbours.
"""

from __future__ import annotations

import operator
import warnings
from typing import Any, Literal, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearer._common.arrays import checked_points
from nearer._common.parameters import check_integer
from nearer._common.randomness import RandomState, stream
from nearer.data.comparisons import Comparisons
from nearer.data.graph import BLOCK, Graph

__all__ = ["comparisons_from_distances", "comparisons_from_graph", "count_triplets", "graph_from_embedding"]

MOST_ROWS = 20_000_000  # 240 MB of triplets; more must be asked for as a sample


def count_triplets(adjacency: Any) -> int:
    """Return how many triplets a graph stands for, without making any.

    Parameters
    ----------
    adjacency : sparse or array-like, shape (n, n)
        Zeros and ones; see `comparisons_from_graph`.

    Examples
    --------
    >>> count_triplets([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]])
    8
    """
    return Graph.from_adjacency(adjacency).n_triplets


def comparisons_from_graph(
    adjacency: Any, *, n_samples: SupportsIndex | None = None, random_state: RandomState = None
) -> Comparisons:
    """Return the triplets that a graph stands for: each neighbour is nearer than each object that is none.

    Parameters
    ----------
    adjacency : SciPy sparse or array-like, shape (n, n)
        Row i has ones at the neighbours of i and zeros elsewhere. A graph of nearest neighbours need not be symmetric.
    n_samples : int, optional
        How many triplets to draw, evenly and without replacement. All of them if left out, which must not be more than
        20 million; `count_triplets` tells how many there are.
    random_state : None, int, SeedSequence, Generator or RandomState

    Returns
    -------
    Comparisons
        Triplets over n objects. A UserWarning counts objects that are the anchor of none: those without neighbours and
        those with all others as neighbours.

    Examples
    --------
    >>> path = [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]]
    >>> comparisons_from_graph(path).rows[:3].tolist()
    [[0, 1, 2], [0, 1, 3], [1, 0, 3]]
    >>> comparisons_from_graph(path, n_samples=5, random_state=0)
    Comparisons(5 triplets over 4 objects)
    """
    graph = Graph.from_adjacency(adjacency)
    warn_of_idle(graph)
    return triplets_of(graph, n_samples, stream(random_state, "triplets"))


def triplets_of(graph: Graph, n_samples: SupportsIndex | None, rng: np.random.Generator) -> Comparisons:
    """Return all triplets of a graph, or so many of them."""
    size = _checked_size(n_samples, graph.n_triplets, "the graph")
    if size is not None:
        return Comparisons.from_triplets(_narrow(graph.sample(size, rng), graph.n_objects), n_objects=graph.n_objects)
    rows = np.empty((graph.n_triplets, 3), dtype=_index_type(graph.n_objects))
    for number, block in enumerate(graph.blocks()):
        rows[number * BLOCK : number * BLOCK + len(block)] = block
    return Comparisons.from_triplets(rows, n_objects=graph.n_objects)


def warn_of_idle(graph: Graph) -> None:
    """Warn of objects that are the anchor of no triplet; refuse a graph of nothing else."""
    if graph.n_triplets == 0:
        raise ValueError(
            f"the graph says nothing: of {graph.n_objects} objects {graph.n_isolated} have no neighbours and "
            f"{graph.n_full} have all others as neighbours"
        )
    if graph.n_isolated + graph.n_full:
        warnings.warn(
            f"of {graph.n_objects} objects {graph.n_isolated} have no neighbours and {graph.n_full} have all others as "
            "neighbours; they are the anchor of no triplet",
            UserWarning,
            stacklevel=3,
        )


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
        How many comparisons to draw, evenly and without replacement; all of them, at most 20 million, if left out.
    kind : {"triplet", "quadruplet"}
        Compare pairs with a common object, or any two pairs.
    random_state : None, int, SeedSequence, Generator or RandomState

    Returns
    -------
    Comparisons

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
    matrix = _checked_distances(distances, symmetric=kind == "quadruplet")
    n = len(matrix)
    known = ~np.isnan(matrix)
    if kind == "quadruplet":
        known &= np.triu(np.ones((n, n), dtype=bool), 1)
    first, second = np.nonzero(known)
    lists = first if kind == "triplet" else np.zeros(len(first), dtype=np.int64)
    values = matrix[first, second]
    order = np.lexsort((values, lists))
    near, far = _compared(lists[order], values[order], n_samples, stream(random_state, "triplets"))
    pairs = np.column_stack([first, second])[order]
    rows = np.column_stack([pairs[near], pairs[far]])
    if kind == "triplet":
        return Comparisons.from_triplets(_narrow(rows[:, [0, 1, 3]], n), n_objects=n)
    return Comparisons.from_quadruplets(_narrow(rows, n), n_objects=n)


def graph_from_embedding(embedding: ArrayLike, n_neighbors: int, *, symmetric: bool = False) -> Any:
    """Return the graph of nearest neighbours of a map.

    Parameters
    ----------
    embedding : array-like, shape (n, p)
        Points, such as the `embedding_` of an estimator.
    n_neighbors : int
        How many neighbours each object has, fewer than n.
    symmetric : bool
        Make two objects neighbours if one of them is a neighbour of the other.

    Returns
    -------
    scipy.sparse.csr_array, shape (n, n)
        Row i has ones at the nearest neighbours of i.

    Examples
    --------
    >>> graph_from_embedding([[0.0], [1.0], [3.0]], 1).toarray().tolist()
    [[0, 1, 0], [1, 0, 0], [0, 1, 0]]
    >>> graph_from_embedding([[0.0], [1.0], [3.0]], 1, symmetric=True).toarray().tolist()
    [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    """
    import scipy.sparse as sp
    from sklearn.neighbors import NearestNeighbors

    points = checked_points(embedding, "embedding")
    check_integer("n_neighbors", n_neighbors, 1, len(points) - 1)
    graph = sp.csr_array(NearestNeighbors(n_neighbors=n_neighbors).fit(points).kneighbors_graph(), dtype=np.int8)
    graph = sp.csr_array(graph.maximum(graph.T)) if symmetric else graph
    graph.sort_indices()
    return graph


def _compared(
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
    size = _checked_size(n_samples, total, "the matrix")
    numbers = np.arange(total) if size is None else rng.choice(total, size=size, replace=False)
    far = np.searchsorted(ends, numbers, side="right")
    return list_starts[far] + numbers - (ends - smaller)[far], far


def _checked_distances(distances: ArrayLike, symmetric: bool) -> NDArray[np.float64]:
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


def _checked_size(n_samples: SupportsIndex | None, total: int, what: str) -> int | None:
    if n_samples is None:
        if total > MOST_ROWS:
            raise ValueError(f"{what} gives {total} comparisons; ask for some of them, such as n_samples=1_000_000")
        return None
    size = operator.index(n_samples)
    if not 1 <= size <= total:
        raise ValueError(
            f"n_samples={size}, but {what} gives {total} comparisons; ask for 1 to {total}, or leave it out for all"
        )
    return size


def _index_type(n_objects: int) -> type[np.signedinteger[Any]]:
    return np.int32 if n_objects < 2**31 else np.int64


def _narrow(rows: NDArray[np.int64], n_objects: int) -> NDArray[Any]:
    return rows.astype(_index_type(n_objects))

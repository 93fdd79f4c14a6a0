"""Unweighted graphs as sets of triplets that are never written out.

In a graph every neighbour j of i is nearer to i than every object k that is none: the triplet (i, j, k). Object i is
the anchor of deg(i) (n - 1 - deg(i)) triplets. They are numbered anchor by anchor, so that any of them can be had from
its number alone, and a graph with more triplets than memory can still be sampled evenly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray

BLOCK = 1_000_000  # triplets at a time: 24 MB of numbers


@dataclass(frozen=True, eq=False)
class Graph:
    """The neighbours of each of n objects, sorted.

    Attributes
    ----------
    starts : ndarray of int64, shape (n + 1,)
        The neighbours of i are ``neighbours[starts[i] : starts[i + 1]]``.
    neighbours : ndarray of int64, shape (e,)

    Examples
    --------
    >>> graph = Graph.from_adjacency([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> graph.n_triplets, graph.triplets(np.arange(2)).tolist()
    (2, [[0, 1, 2], [2, 1, 0]])
    """

    starts: NDArray[np.int64]
    neighbours: NDArray[np.int64]

    @classmethod
    def from_adjacency(cls, adjacency: Any) -> Self:
        """Return the graph of an adjacency matrix: row i has ones at the neighbours of i.

        Raises
        ------
        ValueError
            If the matrix is not square, or has weights, loops or NaN.
        """
        matrix = _square(adjacency)
        _refuse_weights(matrix)
        diagonal = np.flatnonzero(matrix.diagonal())
        if len(diagonal):
            raise ValueError(
                f"object {diagonal[0]} is a neighbour of itself, and {len(diagonal) - 1} more are; set the diagonal "
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
        """The number of neighbours of each object, (n,)."""
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
    def n_isolated(self) -> int:
        """The number of objects without neighbours."""
        return int(np.sum(self.degrees == 0))

    @property
    def n_full(self) -> int:
        """The number of objects that are neighbours of all others."""
        return int(np.sum(self.degrees == self.n_objects - 1))

    @property
    def edges(self) -> NDArray[np.int64]:
        """Object and neighbour, (e, 2)."""
        return np.column_stack([np.repeat(np.arange(self.n_objects), self.degrees), self.neighbours])

    @cached_property
    def adjacency(self) -> Any:
        """The adjacency matrix as a SciPy csr_array of floats, (n, n)."""
        n, values = self.n_objects, np.ones(len(self.neighbours))
        # Paths and components are computed with 32 bit indices; older versions of SciPy refuse others.
        indices, starts = self.neighbours.astype(np.int32), self.starts.astype(np.int32)
        return sp.csr_array((values, indices, starts), shape=(n, n))

    @cached_property
    def _others(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return, for each object that is not far from i, how many far ones come before it; and where those of i begin.

        Not far from i are its neighbours and i itself. The keys of all anchors rise, n + 1 apart.
        """
        n = self.n_objects
        anchors = np.concatenate([np.repeat(np.arange(n), self.degrees), np.arange(n)])
        objects = np.concatenate([self.neighbours, np.arange(n)])
        order = np.lexsort((objects, anchors))
        anchors, objects = anchors[order], objects[order]
        begins = self.starts[:-1] + np.arange(n)
        before = objects - (np.arange(len(objects)) - begins[anchors])
        return anchors * (n + 1) + before, begins

    def triplets(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the triplets (anchor, neighbour, other) with these numbers, (m, 3)."""
        n = self.n_objects
        ends = np.cumsum(self.counts)
        anchors = np.searchsorted(ends, numbers, side="right")
        rest = numbers - (ends - self.counts)[anchors]
        which, far = np.divmod(rest, n - 1 - self.degrees[anchors])
        keys, begins = self._others
        # The far-th object that is no neighbour: so many plus those that are passed over on the way.
        passed = np.searchsorted(keys, anchors * (n + 1) + far, side="right") - begins[anchors]
        return np.column_stack([anchors, self.neighbours[self.starts[anchors] + which], far + passed])

    def blocks(self) -> Iterator[NDArray[np.int64]]:
        """Return all triplets, some at a time."""
        for start in range(0, self.n_triplets, BLOCK):
            yield self.triplets(np.arange(start, min(start + BLOCK, self.n_triplets)))

    def sample(self, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return so many triplets, drawn evenly and without replacement."""
        return self.triplets(rng.choice(self.n_triplets, size=size, replace=False))

    def pull(self, points: FloatArray) -> FloatArray:
        """Return the Laplacian of all far pairs less that of all near pairs, applied to points, (n, p).

        An edge is the near pair of n - 1 - deg(i) triplets, a pair without one the far pair of deg(i).
        """
        n, edges = self.n_objects, self.adjacency
        # As far pairs, all pairs count deg(i); an edge then counts n - 1 too many.
        spread = self.degrees.astype(np.float64)
        total = spread.sum()
        everywhere = (
            (n * spread + total)[:, None] * points
            - spread[:, None] * points.sum(axis=0)
            - (spread[:, None] * points).sum(axis=0)
        )
        received = np.asarray(edges.sum(axis=0)).ravel()
        along = (spread + received)[:, None] * points - edges @ points - edges.T @ points
        pulled: FloatArray = everywhere - (n - 1) * along
        return pulled


def _square(adjacency: Any) -> Any:
    """Return a square matrix as a csr_array of its own without stored zeros."""
    if sp.issparse(adjacency):
        sparse: Any = adjacency
        matrix: Any = sp.csr_array(sparse, copy=True)
    else:
        dense = np.asarray(adjacency)
        if dense.ndim != 2 or dense.dtype.kind not in "biuf":
            raise ValueError(
                f"an adjacency matrix has n rows and n columns of zeros and ones; got shape {dense.shape} of "
                f"{dense.dtype}"
            )
        matrix = sp.csr_array(dense)
    n = matrix.shape[0]
    if matrix.shape != (n, n) or n < 3:
        raise ValueError(f"an adjacency matrix is square, with at least 3 rows; got shape {matrix.shape}")
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def _refuse_weights(matrix: Any) -> None:
    wrong = np.flatnonzero(~(matrix.data == 1))  # NaN is wrong too
    if len(wrong):
        row = int(np.searchsorted(matrix.indptr, wrong[0], side="right")) - 1
        raise ValueError(
            f"the adjacency matrix holds {matrix.data[wrong[0]]} in row {row}, column {matrix.indices[wrong[0]]}, and "
            f"{len(wrong) - 1} more entries that are neither 0 nor 1; leave weights out with (adjacency > 0), or take "
            "comparisons_from_distances for a matrix of dissimilarities"
        )

"""The linear map from a Gram matrix to margins, and its adjoint.

A comparison q has a near pair (i, j) and a far pair (l, k). With the squared distance

    d2(a, b) = g_aa - 2 g_ab + g_bb

of a Gram matrix G its margin is ``(A G)_q = d2(l, k) - d2(i, j)``: linear in G. The adjoint sends weights v on the
comparisons to ``A^T v = sum_q v_q K_q``. Every K_q is the Laplacian of the far edge minus that of the near edge, so
``A^T v`` is the Laplacian of a graph whose edges carry signed sums of v. Both directions cost O(m + n^2) time and
need two integers of storage a comparison; triplets are quadruplets whose pairs share their first object.

A *diagonal weight* w other than 1 takes ``w g_aa - 2 g_ab + w g_bb`` in place of the squared distance. Below 1 it
discounts how far an object lies from the centre, and so from everything; at 0 only inner products are compared.
Up to a constant that no margin sees, these are the squared distances of G + diag(s) with s_a = (w - 1) g_aa + const.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nearer.common.arrays import FloatArray
from nearer.data.units import pair_codes


def squared_distances(gram: FloatArray, diagonal: float = 1.0) -> FloatArray:
    """Return the (n, n) matrix of squared distances of a Gram matrix, its diagonal weighted by ``diagonal``.

    Examples
    --------
    >>> squared_distances(np.array([[0.0, 0.0], [0.0, 9.0]]))
    array([[0., 9.],
           [9., 0.]])
    """
    lengths = diagonal * np.diagonal(gram)
    distances: FloatArray = lengths[:, None] + lengths[None, :] - 2.0 * gram
    return distances


@dataclass(frozen=True, eq=False)
class MarginMap:
    """The map A of a set of comparisons over ``n_objects`` objects.

    Parameters
    ----------
    near, far : ndarray of int, shape (m,)
        Each pair (a, b) as its position a * n + b in a raveled (n, n) matrix.
    n_objects : int
    diagonal : float
        Weight of the diagonal of G.

    Examples
    --------
    >>> line = np.array([[0.0], [1.0], [3.0]])
    >>> margins = MarginMap.from_quadruplets(np.array([[0, 1, 0, 2]]), n_objects=3)
    >>> margins(line @ line.T)
    array([8.])
    """

    near: NDArray[np.intp]
    far: NDArray[np.intp]
    n_objects: int
    diagonal: float = 1.0

    @classmethod
    def from_quadruplets(cls, quadruplets: NDArray[np.integer], n_objects: int) -> MarginMap:
        """Build the map from rows (i, j, l, k) of shape (m, 4), near pair first."""
        i, j, l, k = quadruplets.T.astype(np.intp)  # noqa: E741
        return cls(near=i * n_objects + j, far=l * n_objects + k, n_objects=n_objects)

    def merged(self, weights: FloatArray) -> tuple[MarginMap, FloatArray]:
        """Return the map with each distinct comparison once, and the sum of its weights; rows of weight 0 are left out.

        Rows in one fixed order, whatever order they came in, make a repeated row and a row of weight 2 the same
        problem to the last bit.
        """
        kept = weights > 0
        near, far = (self._sorted_pairs(pairs[kept]) for pairs in (self.near, self.far))
        codes, inverse = np.unique(np.column_stack([near, far]), axis=0, return_inverse=True)
        totals: FloatArray = np.zeros(len(codes))
        totals += np.bincount(inverse.ravel(), weights[kept])
        return replace(self, near=codes[:, 0], far=codes[:, 1]), totals

    def over_seen_objects(self) -> tuple[MarginMap, NDArray[np.intp]]:
        """Return the map over the objects that comparisons mention, and which those are.

        No comparison moves the others from the origin, so that a solver need not carry them along.
        """
        pairs = np.stack([self.near, self.far])
        seen, inverse = np.unique(np.stack(np.divmod(pairs, self.n_objects)), return_inverse=True)
        first, second = inverse.reshape(2, *pairs.shape)
        near, far = first * len(seen) + second
        return replace(self, near=near, far=far, n_objects=len(seen)), seen

    def _sorted_pairs(self, pairs: NDArray[np.intp]) -> NDArray[np.intp]:
        return pair_codes(*np.divmod(pairs, self.n_objects), self.n_objects)

    def __len__(self) -> int:
        return len(self.near)

    @cached_property
    def ends(self) -> NDArray[np.int32]:
        """The objects (i, j, l, k) of each comparison, (m, 4)."""
        pairs = (*np.divmod(self.near, self.n_objects), *np.divmod(self.far, self.n_objects))
        return np.column_stack(pairs).astype(np.int32)

    def distances(self, gram: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the squared distances of the near and of the far pairs, diagonal weighted, (m,) each."""
        flat = squared_distances(gram, self.diagonal).ravel()
        return flat.take(self.near), flat.take(self.far)

    def __call__(self, gram: FloatArray) -> FloatArray:
        """Return the margins A G, shape (m,)."""
        near, far = self.distances(gram)
        return far - near

    def adjoint(self, weights: FloatArray) -> FloatArray:
        """Return A^T v for weights v of shape (m,): a signed graph Laplacian, (n, n)."""
        return self.distances_adjoint(-weights, weights)

    def distances_adjoint(self, near_weights: FloatArray, far_weights: FloatArray) -> FloatArray:
        """Return the adjoint of `distances`: the Laplacian of the graph with these edge weights."""
        n = self.n_objects
        edges = np.zeros((n, n))
        edges += np.bincount(self.near, near_weights, n * n).reshape(n, n)
        edges += np.bincount(self.far, far_weights, n * n).reshape(n, n)
        laplacian = -edges - edges.T
        laplacian[np.diag_indices(n)] -= laplacian.sum(axis=1)
        laplacian[np.diag_indices(n)] *= self.diagonal
        return laplacian

"""Disparities: the numbers in the right order that are nearest to given distances.

Of a matrix of dissimilarities the order is total, up to ties, and the disparities are its monotone regression (Kruskal
1964). Comparisons are a partial order, and as people contradict themselves often none at all: a cycle of answers would
make all its disparities equal, and a few wrong answers link nearly all pairs into one such cycle. Each comparison is
therefore an order of its own, of two pairs, as each row of a matrix is in conditional scaling:

    h(far) >= h(near) + gap,        h(near) >= 0.

Where its distances fall short of that, both disparities meet in the middle, and it adds (gap + d(near) - d(far))^2 / 2
to the stress. Without a gap, objects on one point satisfy every order between them, and noise drives maps there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import isotonic_regression

from nearer.common.arrays import FloatArray
from nearer.data.comparisons import Comparisons
from nearer.data.units import near_and_far

Ties: TypeAlias = Literal["primary", "secondary"]


@dataclass(frozen=True, eq=False)
class TotalOrder:
    """Pairs in the order of their dissimilarities.

    Parameters
    ----------
    ranks : ndarray of int, shape (k,)
        The place of each pair, 0 for the smallest dissimilarity; ties share a place.
    weights : ndarray, shape (k,)
        Positive, of sum 1.
    ties : {"primary", "secondary"}
        Whether tied pairs may have different disparities, or must have the same.

    Examples
    --------
    >>> order = TotalOrder(np.array([0, 1, 1]), np.full(3, 1 / 3), "secondary")
    >>> order.disparities(np.array([1.0, 2.0, 4.0]))[0].tolist()
    [1.0, 3.0, 3.0]
    """

    ranks: NDArray[np.intp]
    weights: FloatArray
    ties: Ties

    def disparities(self, distances: FloatArray) -> tuple[FloatArray, float]:
        """Return the monotone regression of the distances on the ranks, and the weighted squares that it misses."""
        if self.ties == "primary":
            order = np.lexsort((distances, self.ranks))
            result = np.empty_like(distances)
            result[order] = isotonic_regression(distances[order], sample_weight=self.weights[order])
        else:
            totals = np.bincount(self.ranks, self.weights)
            means = np.bincount(self.ranks, self.weights * distances) / totals
            result = isotonic_regression(means, sample_weight=totals)[self.ranks]
        return result, float(self.weights @ (distances - result) ** 2)


@dataclass(frozen=True, eq=False)
class ComparedPairs:
    """Pairs of which some are known to be nearer than others.

    Parameters
    ----------
    near, far : ndarray of int, shape (m,)
        Positions among the pairs.
    shares : ndarray, shape (m,)
        Weights of the comparisons, of sum 1/2: each has two pairs.
    n_pairs : int
    gap : float
        By how much a far disparity must exceed a near one.

    Examples
    --------
    >>> order = ComparedPairs(np.array([0]), np.array([1]), np.array([0.5]), 2, gap=1.0)
    >>> order.disparities(np.array([3.0, 1.0]))[0].tolist()
    [1.5, 2.5]
    """

    near: NDArray[np.intp]
    far: NDArray[np.intp]
    shares: FloatArray
    n_pairs: int
    gap: float

    @classmethod
    def of(cls, comparisons: Comparisons, gap: float) -> tuple[NDArray[np.intp], ComparedPairs]:
        """Return the pairs that comparisons mention, (k, 2), and their order."""
        n = comparisons.n_objects
        keys, where = np.unique(near_and_far(comparisons.oriented, n), return_inverse=True)
        near, far = where.reshape(2, -1)
        weights = comparisons.sample_weight
        pairs = np.column_stack(np.divmod(keys, n))
        return pairs, cls(near, far, weights / (2 * weights.sum()), len(keys), gap)

    @cached_property
    def weights(self) -> FloatArray:
        """The weight of the comparisons that mention each pair, (k,), of sum 1."""
        return self._summed(self.shares, self.shares)

    def of_comparisons(self, distances: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the disparities of the near and of the far pair of each comparison, (m,) each."""
        near, far = distances[self.near], distances[self.far]
        excess = np.maximum(self.gap + near - far, 0) / 2
        # Below 0 there are no distances: the far pair alone then makes the gap.
        return np.maximum(near - excess, 0), np.where(near < excess, np.maximum(far, self.gap), far + excess)

    def disparities(self, distances: FloatArray) -> tuple[FloatArray, float]:
        """Return the mean of the disparities that comparisons give to each pair, and the weighted squares missed."""
        near, far = self.of_comparisons(distances)
        missed = float(self.shares @ ((distances[self.near] - near) ** 2 + (distances[self.far] - far) ** 2))
        return self._summed(self.shares * near, self.shares * far) / self.weights, missed

    def _summed(self, near: FloatArray, far: FloatArray) -> FloatArray:
        sums = [np.bincount(self.near, near, self.n_pairs), np.bincount(self.far, far, self.n_pairs)]
        total: FloatArray = np.sum(sums, axis=0, dtype=np.float64)
        return total

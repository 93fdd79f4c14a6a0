"""The stress of a map: how far its distances are from disparities in the right order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from nearer.common.arrays import FloatArray


class Order(Protocol):
    """What is known of the order of distances."""

    @property
    def weights(self) -> FloatArray:
        """The weights of the pairs, (k,), which sum to 1."""
        ...

    def disparities(self, distances: FloatArray) -> tuple[FloatArray, float]:
        """Return the disparity of each pair, (k,), and the weighted sum of squares by which distances miss theirs."""
        ...


@dataclass(frozen=True, eq=False)
class StressProblem:
    """Pairs of objects and what is known of the order of their distances.

    Parameters
    ----------
    pairs : ndarray of int, shape (k, 2)
        Each pair once.
    order : Order
    n_objects : int
        Each of them in some pair.
    """

    pairs: NDArray[np.integer]
    order: Order
    n_objects: int

    def distances(self, points: FloatArray) -> FloatArray:
        """Return the distances of the pairs, (k,)."""
        difference = points[self.pairs[:, 0]] - points[self.pairs[:, 1]]
        result: FloatArray = np.sqrt(np.einsum("kp,kp->k", difference, difference))
        return result

    def laplacian(self, weights: FloatArray) -> FloatArray:
        """Return the graph Laplacian of the pairs with these weights, (n, n)."""
        n, (a, b) = self.n_objects, self.pairs.T
        adjacency = np.bincount(a * n + b, weights, n * n).reshape(n, n)
        adjacency = adjacency + adjacency.T
        result: FloatArray = np.diag(adjacency.sum(axis=1)) - adjacency
        return result

    @cached_property
    def inverse(self) -> FloatArray:
        """The pseudoinverse V^+ of the Laplacian of the weights, (n, n)."""
        # The mean of the points has an eigenvalue of 0 up to rounding, whose inverse would swamp all others.
        return np.asarray(np.linalg.pinv(self.laplacian(self.order.weights), rcond=1e-10, hermitian=True))

    def stress(self, points: FloatArray) -> float:
        """Return Kruskal's stress of points, at the size where it has a meaning."""
        _, missed = self.order.disparities(self.distances(self.scaled(points)))
        return float(np.sqrt(max(missed, 0.0)))

    def scaled(self, points: FloatArray) -> FloatArray:
        """Return points scaled such that their distances have a mean square of 1, unless they are all the same."""
        size = np.sqrt(self.order.weights @ self.distances(points) ** 2)
        return points / size if size > 0 else points

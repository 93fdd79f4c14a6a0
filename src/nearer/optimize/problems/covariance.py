r"""The prior covariance of objects that come with features, and coordinates in which a penalty is the usual one.

    K = diag(own) + W W^T

The penalties tr(G K^-1) and ||K^-1/2 G K^-1/2||_F^2 of a Gram matrix take those directions for granted in which objects
are expected to differ. With any S for which S S^T = K, the *representer* B of G = S B S^T has tr(B) and ||B||_F^2: the
problem over B is the one without features, but for margins A(S B S^T) and their adjoint S^T A^T(v) S; over points it is
X = S Y. With the singular vectors V and values sigma of diag(own)^-1/2 W,

    S = diag(own)^1/2 (I + V diag(sqrt(1 + sigma^2) - 1) V^T)

so that a product costs O(n r) a column. Objects that no comparison mentions follow from the others: the least penalty
given those is at X_u = K_us K_ss^-1 X_s, which is W_u W_s^T S^-T Y. So a problem is about the objects mentioned alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class CovarianceRoot:
    """The root S of a covariance, S S^T = K."""

    scale: FloatArray  # (n,): roots of the own variances
    vectors: FloatArray  # (n, r), orthonormal: V
    stretch: FloatArray  # (r,): what S adds along them

    @cached_property
    def matrix(self) -> FloatArray:
        """S itself, (n, n)."""
        return self.scale[:, None] * (np.eye(len(self.scale)) + (self.vectors * self.stretch) @ self.vectors.T)

    @property
    def _is_dense(self) -> bool:
        """Whether the directions are so many that the matrix itself is no more work."""
        return len(self.scale) <= 2 * len(self.stretch)

    def times(self, representers: FloatArray) -> FloatArray:
        """Return S Y: the places of points that a penalty sees as Y, (n, p)."""
        if self._is_dense:
            return self.matrix @ representers
        return self.scale[:, None] * self._stretched(representers, self.stretch)

    def transposed_times(self, gradient: FloatArray) -> FloatArray:
        """Return S^T X: the gradient with respect to Y from that with respect to places, (n, p)."""
        return (
            self.matrix.T @ gradient
            if self._is_dense
            else self._stretched(self.scale[:, None] * gradient, self.stretch)
        )

    def congruence(self, representer: FloatArray) -> FloatArray:
        """Return S B S^T for a symmetric B, (n, n)."""
        return self.times(self.times(representer).T)

    def transposed_congruence(self, matrix: FloatArray) -> FloatArray:
        """Return S^T L S for a symmetric L, (n, n)."""
        return self.transposed_times(self.transposed_times(matrix).T)

    def solve(self, places: FloatArray) -> FloatArray:
        """Return S^-1 X, (n, p)."""
        return self._stretched(places / self.scale[:, None], 1 / (1 + self.stretch) - 1)

    def solve_transposed(self, matrix: FloatArray) -> FloatArray:
        """Return S^-T X, (n, p)."""
        return self._stretched(matrix, 1 / (1 + self.stretch) - 1) / self.scale[:, None]

    def mean_curvature(self, objects: NDArray[np.integer]) -> float:
        """Return how much larger ||S^T A_q S||_F^2 is than ||A_q||_F^2, in the mean over rows (m, 3 or 4)."""
        # A_q = f f^T - g g^T for the differences f and g of the far and the near pair.
        i, j, l, k = objects.T if objects.shape[1] == 4 else objects.T[[0, 1, 0, 2]]  # noqa: E741

        def mean_square(of: FloatArray) -> float:
            def inner(a: Any, b: Any, c: Any, d: Any) -> Any:
                return of[a, c] - of[a, d] - of[b, c] + of[b, d]

            return float(np.mean(inner(l, k, l, k) ** 2 + inner(i, j, i, j) ** 2 - 2 * inner(l, k, i, j) ** 2))

        return mean_square(self.matrix @ self.matrix.T) / mean_square(np.eye(len(self.scale)))

    def _stretched(self, columns: FloatArray, stretch: FloatArray) -> FloatArray:
        return columns + self.vectors @ (stretch[:, None] * (self.vectors.T @ columns))


class Covariance(NamedTuple):
    """K = diag(own) + W W^T over all objects."""

    own: FloatArray  # (n,): above 0
    directions: FloatArray  # (n, r): W; rows of objects without features are 0

    @property
    def matrix(self) -> FloatArray:
        """K, (n, n)."""
        return np.diag(self.own) + self.directions @ self.directions.T

    def root(self, objects: NDArray[np.intp]) -> CovarianceRoot:
        """Return the root over some of the objects."""
        scale = np.sqrt(self.own[objects])
        vectors, values, _ = np.linalg.svd(self.directions[objects] / scale[:, None], full_matrices=False)
        kept = values > 1e-9  # others have no direction that is theirs
        return CovarianceRoot(scale, np.ascontiguousarray(vectors[:, kept]), np.sqrt(1 + values[kept] ** 2) - 1)

    def loadings(self, objects: NDArray[np.intp]) -> FloatArray:
        """Return T with X = T Y for all objects, (n, k), from representers of some: the means of the others."""
        root = self.root(objects)
        loadings = self.directions @ root.solve(self.directions[objects]).T
        loadings[objects] = root.matrix
        return loadings

    def regression(self, new: NDArray[np.intp], old: NDArray[np.intp]) -> FloatArray:
        """Return K_no K_oo^-1, (k, n): the places of new objects expected from those of old ones."""
        root = self.root(old)
        return self.directions[new] @ root.solve_transposed(root.solve(self.directions[old])).T

    def expected(self, points: FloatArray, new: NDArray[np.intp], old: NDArray[np.intp]) -> FloatArray:
        """Return the places of new objects expected from those of old ones, (n, p), around a mean that these tell."""
        root, ones = self.root(old), np.ones((len(old), 1))
        weights = root.solve_transposed(root.solve(ones))
        mean = weights.T @ points / weights.sum()
        return mean + self.regression(new, old) @ (points - mean)

    def log_likelihood(self, points: FloatArray, objects: NDArray[np.intp]) -> float:
        """Return that of the places of some objects, each axis at its most likely mean and variance."""
        root, ones = self.root(objects), np.ones((len(objects), 1))
        ones, white = root.solve(ones), root.solve(points)
        white = white - ones @ (ones.T @ white) / float(np.vdot(ones, ones))
        log_volume = float(np.log(root.scale).sum() + np.log1p(root.stretch).sum())
        sizes = np.log(np.maximum(np.mean(white**2, axis=0), np.finfo(float).tiny))
        return -points.shape[1] * log_volume - len(objects) / 2 * float(sizes.sum())

    def conditional(self, new: NDArray[np.intp], old: NDArray[np.intp]) -> FloatArray:
        """Return the covariance of new objects given the places of old ones, (k, k)."""
        root = self.root(old)
        explained = self.directions[new] @ root.solve(self.directions[old]).T
        own, directions = self.own[new], self.directions[new]
        return np.diag(own) + directions @ directions.T - explained @ explained.T

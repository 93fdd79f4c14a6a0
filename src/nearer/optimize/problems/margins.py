"""Margins of Gram matrices, as a linear map with its adjoint, and of points; and errors counted from them.

A comparison q has a near pair (i, j) and a far pair (l, k). With the squared distance

    d2(a, b) = g_aa - 2 g_ab + g_bb

of a Gram matrix G its margin is ``(A G)_q = d2(l, k) - d2(i, j)``: linear in G. The adjoint sends weights v on the
comparisons to ``A^T v``, the Laplacian of a graph whose edges carry signed sums of v. Triplets are quadruplets whose
pairs share their first object. A *diagonal weight* w other than 1 takes ``w g_aa - 2 g_ab + w g_bb`` in place of the
squared distance; below 1 it discounts how far an object lies from the center, and so from everything. With the root S
of a prior covariance the map takes the representer B of G = S B S^T (see `optimize.problems.covariance`), and its
adjoint is S^T (A^T v) S.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist
from scipy.special import ndtr

from nearer._common.arrays import FloatArray
from nearer.data.comparisons import Comparisons
from nearer.data.groups import pair_codes
from nearer.optimize.problems.covariance import CovarianceRoot

Ties: TypeAlias = Literal["half", "satisfied"]
TIE_RTOL = 1e-12
# Rows gathered at once from an embedding: 2^16 rows of 10 doubles are 5 MB, which stays in cache.
BLOCK_ROWS = 2**16


def squared_distances(gram: FloatArray, diagonal: float = 1.0) -> FloatArray:
    """Return the (n, n) matrix of squared distances of a Gram matrix, its diagonal weighted by ``diagonal``."""
    lengths = diagonal * np.diagonal(gram)
    return lengths[:, None] + lengths[None, :] - 2.0 * gram


def with_specificities(gram: FloatArray, specificities: FloatArray | None) -> FloatArray:
    """Return G + diag(s)."""
    return gram if specificities is None else gram + np.diag(specificities)


@dataclass(frozen=True, eq=False)
class MarginMap:
    """The map A of a set of comparisons over ``n_objects`` objects."""

    near: NDArray[np.intp]  # (m,); each pair (a, b) as its position a * n + b in a raveled (n, n) matrix
    far: NDArray[np.intp]  # (m,); likewise
    n_objects: int
    diagonal: float = 1.0  # weight of the diagonal of G
    root: CovarianceRoot | None = None  # S, for a map of representers

    @classmethod
    def from_quadruplets(cls, quadruplets: NDArray[np.integer], n_objects: int) -> MarginMap:
        """Build the map from rows (i, j, l, k) of shape (m, 4), near pair first."""
        i, j, l, k = quadruplets.T.astype(np.intp)  # noqa: E741
        return cls(near=i * n_objects + j, far=l * n_objects + k, n_objects=n_objects)

    def merge_duplicates(self, weights: FloatArray) -> tuple[MarginMap, FloatArray]:
        """Return the map with each distinct comparison of positive weight once, and the sums of the weights."""
        # Rows in one fixed order, whatever order they came in, make a repeated row and a row of weight 2 the same
        # problem to the last bit.
        kept = weights > 0
        near, far = (self._sorted_pairs(pairs[kept]) for pairs in (self.near, self.far))
        codes, inverse = np.unique(np.column_stack([near, far]), axis=0, return_inverse=True)
        totals = np.bincount(inverse.ravel(), weights[kept]).astype(np.float64)
        return replace(self, near=codes[:, 0], far=codes[:, 1]), totals

    def over_seen_objects(self) -> tuple[MarginMap, NDArray[np.intp]]:
        """Return the map over the objects that comparisons mention, and which those are."""
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

    def distances(self, gram: FloatArray, specificities: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
        """Return the squared distances of the near and of the far pairs, diagonal weighted, (m,) each."""
        if self.root is not None:
            gram = self.root.congruence(gram)
        flat = squared_distances(with_specificities(gram, specificities), self.diagonal).ravel()
        return flat.take(self.near), flat.take(self.far)

    def __call__(self, gram: FloatArray, specificities: FloatArray | None = None) -> FloatArray:
        near, far = self.distances(gram, specificities)
        return far - near

    def adjoint(self, weights: FloatArray) -> FloatArray:
        """Return A^T v for weights v of shape (m,): a signed graph Laplacian, (n, n)."""
        return self.distances_adjoint(-weights, weights)

    def distances_adjoint(self, near_weights: FloatArray, far_weights: FloatArray) -> FloatArray:
        """Return the adjoint of `distances` with respect to its first argument."""
        return self.to_representer(self.laplacian(near_weights, far_weights))

    def to_representer(self, laplacian: FloatArray) -> FloatArray:
        """Return a gradient with respect to G as one with respect to what the map takes."""
        return laplacian if self.root is None else self.root.transposed_congruence(laplacian)

    def laplacian(self, near_weights: FloatArray, far_weights: FloatArray) -> FloatArray:
        """Return the Laplacian of the graph with these edge weights: the gradient with respect to G."""
        n = self.n_objects
        edges = np.zeros((n, n))
        edges += np.bincount(self.near, near_weights, n * n).reshape(n, n)
        edges += np.bincount(self.far, far_weights, n * n).reshape(n, n)
        laplacian = -edges - edges.T
        laplacian[np.diag_indices(n)] -= laplacian.sum(axis=1)
        laplacian[np.diag_indices(n)] *= self.diagonal
        return laplacian


def error_from_margins(margins: ArrayLike, sample_weight: ArrayLike | None = None, *, ties: Ties = "half") -> float:
    """Weighted share of negative margins.

    Parameters
    ----------
    margins : array of shape (m,)
        Exactly zero means a tie, as `margins` returns it.
    sample_weight : array of shape (m,), optional
        Non-negative, not all zero.
    ties : {"half", "satisfied"}
        Whether a tie counts one half or nothing.

    Examples
    --------
    >>> error_from_margins([2.0, -1.0, 0.0, 1.0])
    0.375
    >>> error_from_margins([2.0, -1.0, 0.0, 1.0], ties="satisfied")
    0.25
    """
    if ties not in ("half", "satisfied"):
        raise ValueError(f"ties={ties!r} is not known; choose 'half' or 'satisfied'")
    gamma = _check_margins(margins)
    wrong = (gamma < 0).astype(np.float64)
    if ties == "half":
        wrong[gamma == 0] = 0.5
    return float(np.average(wrong, weights=check_weights(gamma, sample_weight)))


def soft_error(margins: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    """Return the error to expect if each margin carried Gaussian noise as large as the margins themselves.

    The mean of Phi(-gamma / r), r the root mean square of the margins: a smooth stand-in for the error that does not
    depend on the scale of the map. On few held-out comparisons it tells settings apart far better than counting.

    Parameters
    ----------
    margins : array of shape (m,)
    sample_weight : array of shape (m,), optional
        Non-negative, not all zero.

    Examples
    --------
    >>> soft_error([0.0, 0.0])
    0.5
    >>> round(soft_error([1.0, 1.0]), 4)
    0.1587
    """
    gamma = _check_margins(margins)
    if np.isinf(gamma).any():
        raise ValueError(f"row {int(np.isinf(gamma).argmax())}: the margin is infinite; check the embedding")
    weights = check_weights(gamma, sample_weight)
    size = np.sqrt(np.average(gamma**2, weights=weights))
    return float(np.average(ndtr(-gamma / size), weights=weights)) if size > 0 else 0.5


def pair_distances(points: NDArray[np.float64], first: NDArray[Any], second: NDArray[Any]) -> NDArray[np.float64]:
    """Squared Euclidean distances between the pairs ``first[q], second[q]`` of rows of ``points``.

    Differences are squared, never expanded into inner products: far from the origin the expansion cancels.
    """
    if len(points) ** 2 <= len(first):
        # All n^2 distances are then no more work, and no more memory, than the m that are asked for.
        table = cdist(points, points, "sqeuclidean")
        return np.asarray(table[first, second], dtype=np.float64)
    distances = np.empty(len(first))
    for start in range(0, len(first), BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        difference = points[first[rows]] - points[second[rows]]
        np.einsum("qp,qp->q", difference, difference, out=distances[rows])
    return distances


def clear_ties(near: NDArray[np.float64], far: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return far - near with differences that are mere rounding set to exactly zero."""
    difference = far - near
    # Absolute values: a Gram matrix fitted without the cone can give negative "squared distances".
    difference[np.abs(difference) <= TIE_RTOL * (np.abs(far) + np.abs(near))] = 0.0
    return difference


def _check_margins(margins: ArrayLike) -> NDArray[np.float64]:
    gamma = np.asarray(margins, dtype=np.float64)
    if gamma.ndim != 1:
        raise ValueError(f"margins must have shape (m,); got shape {gamma.shape}")
    if gamma.size == 0:
        raise ValueError("there are no comparisons to score; give at least one")
    if np.isnan(gamma).any():
        raise ValueError(
            f"row {int(np.isnan(gamma).argmax())}: the margin is NaN; check the embedding for NaN or infinity"
        )
    return gamma


def check_weights(gamma: NDArray[np.float64], sample_weight: ArrayLike | None) -> NDArray[np.float64] | None:
    """Return weights of margins, one for each, finite and not all 0; None if there are none."""
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != gamma.shape:
        raise ValueError(f"sample_weight has shape {weights.shape}, but there are {len(gamma)} comparisons")
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise ValueError("sample_weight must be finite and non-negative, with at least one positive weight")
    return weights


def error_of_points(points: NDArray[np.float64], comparisons: Comparisons) -> float:
    """Return the weighted share of comparisons that points, (n, p), get wrong; ties count one half."""
    i, j, l, k = comparisons.oriented.T  # noqa: E741
    margins = clear_ties(pair_distances(points, i, j), pair_distances(points, l, k))
    return error_from_margins(margins, comparisons.sample_weight)

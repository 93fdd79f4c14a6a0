"""Positive semidefinite matrices: projections, proximal points, factors."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from nearer.margins import FloatArray


def nearest_psd(matrix: FloatArray, max_rank: int | None = None) -> FloatArray:
    """Return the nearest positive semidefinite matrix in Frobenius norm, of rank at most ``max_rank``.

    Examples
    --------
    >>> nearest_psd(np.diag([2.0, -1.0]))
    array([[2., 0.],
           [0., 0.]])
    """
    return from_spectrum(*leading_spectrum(matrix, max_rank))


def leading_spectrum(matrix: FloatArray, max_rank: int | None = None) -> tuple[FloatArray, FloatArray]:
    """Return the ``max_rank`` largest eigenvalues of the symmetric part, clipped at 0, and their vectors."""
    symmetric = (matrix + matrix.T) / 2
    n = len(symmetric)
    if max_rank is None or max_rank >= n:
        eigenvalues, vectors = np.linalg.eigh(symmetric)
    else:
        eigenvalues, vectors = eigh(symmetric, subset_by_index=(n - max_rank, n - 1))
    return np.maximum(eigenvalues, 0), vectors


def from_spectrum(eigenvalues: FloatArray, vectors: FloatArray) -> FloatArray:
    """Return V diag(s) V^T for eigenvalues s >= 0, using only those above 0."""
    kept = eigenvalues > 0
    half = vectors[:, kept] * np.sqrt(eigenvalues[kept])
    product: FloatArray = half @ half.T
    return product


def penalty_prox(matrix: FloatArray, trace: float, ridge: float, step: float) -> FloatArray:
    """Return argmin over G >= 0 of trace * tr(G) + ridge / 2 * ||G||^2 + ||G - matrix||^2 / (2 step)."""
    eigenvalues, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return from_spectrum(np.maximum(eigenvalues - step * trace, 0) / (1 + step * ridge), vectors)


def shrink_spectrum(matrix: FloatArray, amount: float) -> FloatArray:
    """Return argmin of amount * ||G||_* + ||G - matrix||^2 / 2 over symmetric G: eigenvalues drawn towards 0."""
    eigenvalues, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    shrunk = np.sign(eigenvalues) * np.maximum(np.abs(eigenvalues) - amount, 0)
    product: FloatArray = (vectors * shrunk) @ vectors.T
    return product


def centred(gram: FloatArray) -> FloatArray:
    """Return the Gram matrix of the same points with their mean at the origin; distances stay as they are."""
    means = gram.mean(axis=0)
    result: FloatArray = gram - means[None, :] - means[:, None] + means.mean()
    return result


def embedding_from_gram(gram: FloatArray, n_components: int) -> FloatArray:
    """Return the (n, p) points whose Gram matrix is nearest to ``gram``, axes in order of falling variance.

    The sign of each axis is free; the entry of largest size is made positive, so that equal input gives equal maps.
    An eigenvalue that is nothing but rounding is 0, and so is its axis: the root would make 1e-8 of 1e-16.

    Examples
    --------
    >>> embedding_from_gram(np.diag([1.0, 4.0]), n_components=1).round(6)
    array([[0.],
           [2.]])
    """
    eigenvalues, vectors = leading_spectrum(gram, n_components)
    eigenvalues = np.where(eigenvalues > len(gram) * np.finfo(float).eps * eigenvalues[-1], eigenvalues, 0.0)
    points = (vectors * np.sqrt(eigenvalues))[:, ::-1]
    return with_fixed_signs(np.pad(points, ((0, 0), (0, n_components - points.shape[1]))))


def with_fixed_signs(points: FloatArray) -> FloatArray:
    """Return points with the entry of largest size in each column positive.

    Examples
    --------
    >>> with_fixed_signs(np.array([[1.0, 2.0], [-3.0, 0.0]])).tolist()
    [[-1.0, 2.0], [3.0, 0.0]]
    """
    largest = np.take_along_axis(points, np.abs(points).argmax(axis=0)[None], axis=0)
    result: FloatArray = points * np.where(largest < 0, -1.0, 1.0)
    return result

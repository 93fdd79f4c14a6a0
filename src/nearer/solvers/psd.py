"""Positive semidefinite matrices: projections, proximal points, factors."""

from __future__ import annotations

import numpy as np

from nearer.common.arrays import FloatArray
from nearer.geometry import leading_spectrum


def nearest_psd(matrix: FloatArray, max_rank: int | None = None) -> FloatArray:
    """Return the nearest positive semidefinite matrix in Frobenius norm, of rank at most ``max_rank``.

    Examples
    --------
    >>> nearest_psd(np.diag([2.0, -1.0]))
    array([[2., 0.],
           [0., 0.]])
    """
    return from_spectrum(*leading_spectrum(matrix, max_rank))


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

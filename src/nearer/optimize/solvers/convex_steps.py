"""The two steps of the convex solvers: a linear system, and a proximal point in the cone of semidefinite matrices.

The system is solved by conjugate gradients, without forming a matrix:

    (A^T W A + shift I) G = right

and, for problems with specificities s, whose margins are those of G + diag(s),

    A^T W A (G + diag(s)) + shift G = right,    diag(A^T W A (G + diag(s))) + own.shift * s = own.right.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nearer._common.arrays import FloatArray
from nearer.geometry import leading_spectrum
from nearer.optimize.problems.margins import MarginMap


class Own(NamedTuple):
    """The equations of the specificities: the shift of their diagonal, the right side and the start, (n,) each."""

    shift: float
    right: FloatArray
    start: FloatArray


class Solved(NamedTuple):
    """G, (n, n), s, (n,), and whether the residual got small enough."""

    gram: FloatArray
    specificities: FloatArray
    ok: bool


def solve_normal_equations(
    margins: MarginMap,
    weights: FloatArray,
    shift: float,
    right: FloatArray,
    start: FloatArray,
    *,
    rtol: float,
    cut: float = 0.0,
    own: Own | None = None,
    max_iter: int | None = None,
) -> Solved:
    """Solve until the residual is below ``rtol`` times the right side, or below ``cut`` times that of the start.

    Examples
    --------
    >>> margins = MarginMap.from_quadruplets(np.array([[0, 1, 0, 2]]), n_objects=3)
    >>> gram, _, ok = solve_normal_equations(margins, np.ones(1), 2.0, np.eye(3), np.zeros((3, 3)), rtol=1e-10)
    >>> bool(np.allclose(margins.adjoint(margins(gram)) + 2 * gram, np.eye(3))), ok
    (True, True)
    """
    from nearer.optimize.kernels import normal_cg

    n = margins.n_objects
    gram = np.array(start, np.float64, order="C")
    own = own or Own(np.inf, np.zeros(n), np.zeros(n))
    specificities = np.array(own.start, np.float64)
    right = np.ascontiguousarray(right, np.float64)
    limit = max(10 * n, 500) if max_iter is None else max_iter
    equations = (margins.ends, weights, margins.diagonal, shift, own.shift, right, own.right)
    ok = normal_cg(*equations, gram, specificities, cut, rtol, limit)
    return Solved(gram, specificities, bool(ok))


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

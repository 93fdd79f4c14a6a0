"""The linear system that two solvers share: (A^T W A + shift I) G = right."""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from nearer.margins import FloatArray, MarginMap


def solve_normal_equations(
    margins: MarginMap, weights: FloatArray, shift: float, right: FloatArray, start: FloatArray, rtol: float
) -> tuple[FloatArray, bool]:
    """Solve (A^T diag(weights) A + shift I) G = right by conjugate gradients, without forming a matrix.

    Returns
    -------
    gram : ndarray, shape (n, n)
    solved : bool
        Whether the relative residual got below ``rtol``.

    Examples
    --------
    >>> margins = MarginMap.from_quadruplets(np.array([[0, 1, 0, 2]]), n_objects=3)
    >>> gram, solved = solve_normal_equations(margins, np.ones(1), 2.0, np.eye(3), np.zeros((3, 3)), rtol=1e-10)
    >>> bool(np.allclose(margins.adjoint(margins(gram)) + 2 * gram, np.eye(3))), solved
    (True, True)
    """
    n = margins.n_objects

    def apply(flat: FloatArray) -> FloatArray:
        matrix = flat.reshape(n, n)
        return (margins.adjoint(weights * margins(matrix)) + shift * matrix).ravel()

    operator = LinearOperator((n * n, n * n), matvec=apply, dtype=np.float64)
    solution, failed = cg(operator, right.ravel(), x0=start.ravel(), rtol=rtol, maxiter=max(10 * n, 500))
    return solution.reshape(n, n), not failed

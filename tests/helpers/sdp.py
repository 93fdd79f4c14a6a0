"""The convex problem handed to a general SDP solver: an independent truth, built from the paper's matrices."""

import clarabel
import numpy as np
import scipy.sparse as sp

from helpers.drawn_rows import kernel


def svec(matrix: np.ndarray) -> np.ndarray:
    """Upper triangle by columns, off-diagonal entries times sqrt(2): inner products are kept."""
    n = len(matrix)
    return np.array([matrix[i, j] * (1 if i == j else np.sqrt(2)) for j in range(n) for i in range(j + 1)])


def unsvec(entries: np.ndarray) -> np.ndarray:
    """The symmetric matrix of an upper triangle."""
    n = int(np.sqrt(2 * len(entries)))
    matrix = np.zeros((n, n))
    i, j = np.array([(i, j) for j in range(n) for i in range(j + 1)]).T
    matrix[i, j] = matrix[j, i] = entries / np.where(i == j, 1, np.sqrt(2))
    return matrix


def sdp_minimum(rows, n, shares, loss, trace, ridge, specificity=np.inf, covariance=None):
    """Minimize over (svec G, s, shortfall, excess) with clarabel and return the optimal value.

    With a covariance K the penalties are trace * tr(G K^-1) and ridge / 2 * tr(G K^-1 G K^-1).
    """
    m, k = len(rows), n * (n + 1) // 2
    has_s = np.isfinite(specificity)
    kernels = [kernel(row, n) for row in rows]
    design = np.array([svec(matrix) for matrix in kernels])
    diagonals = np.array([np.diag(matrix) for matrix in kernels]) if has_s else np.zeros((m, 0))
    size = k + diagonals.shape[1] + 2 * m

    quadratic, linear = np.zeros(size), np.zeros(size)
    precision = np.eye(n) if covariance is None else np.linalg.inv(covariance)
    linear[:k] = trace * svec(precision)
    basis = np.array([unsvec(row) for row in np.eye(k)])
    of_gram = ridge * np.array([svec(precision @ each @ precision) for each in basis])
    if has_s:
        quadratic[k : k + n] = specificity
    for start, price in ((size - 2 * m, 1.0), (size - m, loss.nu)):
        part = slice(start, start + m)
        if loss.power == 1:
            linear[part] = price * shares
        else:
            quadratic[part] = 2 * price * shares

    eye, none = sp.eye_array(m), sp.csr_array((m, m))
    pairs = sp.csr_array(np.hstack([design, diagonals]))
    constraints = sp.vstack(
        [
            sp.hstack([-pairs, -eye, none]),  # margin + shortfall >= 1
            sp.hstack([pairs, none, -eye]),  # margin - excess <= 1
            sp.hstack([sp.csr_array((m, pairs.shape[1])), -eye, none]),
            sp.hstack([sp.csr_array((m, pairs.shape[1])), none, -eye]),
            sp.hstack([-sp.eye_array(k), sp.csr_array((k, size - k))]),
        ]
    )
    right = np.concatenate([-np.ones(m), np.ones(m), np.zeros(2 * m + k)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    cones = [clarabel.NonnegativeConeT(4 * m), clarabel.PSDTriangleConeT(n)]
    answer = clarabel.DefaultSolver(
        sp.block_diag([sp.csc_array(np.triu(of_gram)), sp.diags_array(quadratic[k:])]).tocsc(),
        linear,
        constraints.tocsc(),
        right,
        cones,
        settings,
    ).solve()
    assert str(answer.status) in ("Solved", "AlmostSolved"), answer.status
    return answer.obj_val

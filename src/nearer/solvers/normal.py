"""The linear system that the convex solvers share, by conjugate gradients without forming a matrix.

    (A^T W A + shift I) G = right

and, for problems with specificities s, whose margins are those of G + diag(s),

    A^T W A (G + diag(s)) + shift G = right,    diag(A^T W A (G + diag(s))) + own.shift * s = own.right.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nearer.common.arrays import FloatArray
from nearer.problems.margins import MarginMap


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
    from nearer.kernels import normal_cg

    n = margins.n_objects
    gram = np.array(start, np.float64, order="C")
    own = own or Own(np.inf, np.zeros(n), np.zeros(n))
    specificities = np.array(own.start, np.float64)
    right = np.ascontiguousarray(right, np.float64)
    limit = max(10 * n, 500) if max_iter is None else max_iter
    equations = (margins.ends, weights, margins.diagonal, shift, own.shift, right, own.right)
    ok = normal_cg(*equations, gram, specificities, cut, rtol, limit)
    return Solved(gram, specificities, bool(ok))

"""Leading eigenpairs of a symmetric matrix that is known by its products with tall matrices: a block Krylov space.

A *tall* matrix has a row for each object and lies where the products are worked out: in memory, as an array of NumPy,
or on a device, as a tensor of PyTorch. What is done with it here is written in words that both have; what is small is
an array of NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from scipy.linalg import cholesky, eigh, solve_triangular

from nearer._common.arrays import FloatArray
from nearer._common.progress import progress_bar

Tall: TypeAlias = Any  # ndarray or Tensor of float64

_NEARLY_DEPENDENT = 1e-4  # its square, in the products, is far from the precision of the numbers


def leading_pairs(
    product: Callable[[Tall], Tall], block: Tall, rank: int, n_blocks: int = 8
) -> tuple[FloatArray, FloatArray]:
    """Return leading eigenvalues, falling, (rank,), and their vectors as columns, (n, rank).

    Parameters
    ----------
    product : callable
        Returns the product of the matrix with a tall one.
    block : ndarray or Tensor, shape (n, w)
        Where the space begins: columns that lie in no eigenspace, a few more of them than ``rank``.
    rank : int
    n_blocks : int
        How many blocks the space has; no more columns in all of them than there are dimensions to fill.

    Examples
    --------
    >>> matrix = np.diag([7.0, 5.0, *np.linspace(-1, 1, 98)])
    >>> values, _ = leading_pairs(matrix.__matmul__, np.random.default_rng(0).normal(size=(100, 4)), 2)
    >>> values.round(6).tolist()
    [7.0, 5.0]
    """
    n, width = block.shape
    shape = n_blocks * width, n
    # One array for all blocks, column after column: products with it read memory once, not once for each block.
    space = (np.empty(shape) if isinstance(block, np.ndarray) else block.new_empty(shape)).T
    # Of the images of the space only these products are kept: of a million objects they would be the largest thing.
    within = np.zeros((n_blocks * width, n_blocks * width))
    with progress_bar("start", n_blocks) as bar:
        for begin in range(0, n_blocks * width, width):
            end, before = begin + width, space[:, :begin]
            for _ in range(2):  # once leaves rounding errors as large as what remains of a block
                if begin:
                    block = block - before @ (before.T @ block)
                block = _orthonormal(block)
            space[:, begin:end] = block
            block = product(block)
            within[:end, begin:end] = _small(space[:, :end].T @ block)
            within[begin:end, :end] = within[:end, begin:end].T
            bar.update()
    eigenvalues, vectors = eigh(within)
    shares = np.ascontiguousarray(vectors[:, : -rank - 1 : -1])
    # Rounding, which is another on a device, must not decide which way a vector points.
    shares *= np.sign(np.take_along_axis(shares, np.abs(shares).argmax(axis=0)[None], axis=0))
    return eigenvalues[: -rank - 1 : -1], _small(space @ _beside(space, shares))


def _orthonormal(block: Tall) -> Tall:
    """Return an orthonormal basis of the columns of a tall matrix, (n, k).

    By a Cholesky factor of its products, a tenth of the time of a QR decomposition; that one where columns are nearly
    dependent, which the products would hide.
    """
    try:
        factor = cholesky(_small(block.T @ block))
    except np.linalg.LinAlgError:
        return _beside(block, np.linalg.qr(_small(block))[0])
    sizes = np.diagonal(factor)
    if sizes.min() <= _NEARLY_DEPENDENT * sizes.max():
        return _beside(block, np.linalg.qr(_small(block))[0])
    return block @ _beside(block, solve_triangular(factor, np.eye(len(factor))))


def _small(matrix: Tall) -> FloatArray:
    """Return a matrix as an array."""
    found: FloatArray = matrix if isinstance(matrix, np.ndarray) else matrix.cpu().numpy()
    return found


def _beside(tall: Tall, matrix: FloatArray) -> Tall:
    """Return an array as a matrix of the kind of a tall one, where that lies."""
    return matrix if isinstance(tall, np.ndarray) else tall.new_tensor(matrix)

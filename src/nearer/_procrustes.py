"""How alike two configurations of points are, up to what comparisons cannot fix: place, turn and scale."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import orthogonal_procrustes

from nearer._points import checked_points


def procrustes_error(embedding: ArrayLike, truth: ArrayLike, *, scaling: bool = True) -> float:
    """Share of the configuration left unexplained after the best rigid motion, and scale, onto the truth.

    With A and B the two centred configurations and s the nuclear norm of A^T B, the best orthogonal Q gives

        min over c, Q of |c A Q - B|^2 / |B|^2         = 1 - s^2 / (|A|^2 |B|^2)      (``scaling=True``),
        min over Q    of |A Q - B|^2 / (|A|^2 + |B|^2) = 1 - 2 s / (|A|^2 + |B|^2)   (``scaling=False``).

    Both are symmetric in their arguments, at most 1, and 0 exactly when the shapes are similar (congruent).

    Parameters
    ----------
    embedding, truth : arrays of shape (n, p) and (n, q)
        The one with fewer columns is padded with zero columns.
    scaling : bool
        Whether a change of scale is free. Comparisons alone never fix it.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> square = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]])
    >>> turned = 3 * square @ np.array([[0.0, 1.0], [-1.0, 0.0]]) + 5
    >>> round(procrustes_error(turned, square), 12)
    0.0
    >>> round(procrustes_error(turned, square, scaling=False), 12)
    0.4
    """
    first, second = _centred(embedding, "embedding"), _centred(truth, "truth")
    if len(first) != len(second):
        raise ValueError(
            f"embedding has {len(first)} rows and truth has {len(second)}; "
            "give both one row for each object, in one order"
        )
    columns = max(first.shape[1], second.shape[1])
    first, second = (np.pad(a, ((0, 0), (0, columns - a.shape[1]))) for a in (first, second))
    size_first, size_second = np.linalg.norm(first), np.linalg.norm(second)
    if scaling:
        first, second = first / size_first, second / size_second
        nuclear_norm = orthogonal_procrustes(first, second)[1]
        error = 1 - nuclear_norm**2
    else:
        nuclear_norm = orthogonal_procrustes(first, second)[1]
        error = 1 - 2 * nuclear_norm / (size_first**2 + size_second**2)
    # Rounding can leave the true range by an ulp.
    return float(np.clip(error, 0.0, 1.0))


def _centred(points: ArrayLike, name: str) -> NDArray[np.float64]:
    array = checked_points(points, name)
    if array.size == 0:
        raise ValueError(f"{name} is empty, shape {array.shape}; give at least two objects and one column")
    centred: NDArray[np.float64] = array - array.mean(axis=0)
    # Equal rows leave rounding of the mean behind, not exact zeros.
    if np.abs(centred).max() <= 1e-14 * np.abs(array).max():
        raise ValueError(f"all rows of {name} are equal, so it has no shape to compare; check that the fit converged")
    return centred

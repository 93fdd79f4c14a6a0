"""Maps up to what comparisons cannot fix, place, turn and scale: alignment, principal axes, ellipses, Gram matrices.

With A and B two centred configurations and A^T B = U S V^T, the orthogonal Q that brings A Q nearest to B is U V^T, and
the best scale is tr(S) / |A|^2 (Procrustes analysis).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh

from nearer.common.arrays import FloatArray, PointArray, checked_points

__all__ = ["align"]


def align(
    points: ArrayLike, onto: ArrayLike, *, scaling: bool = True, moving: bool = True, seen: ArrayLike | None = None
) -> FloatArray:
    """Return points turned, mirrored, moved and scaled to lie on others as well as they can, by least squares.

    Comparisons fix neither place nor turn nor scale of a map: two maps can be compared only once one is laid onto the
    other.

    Parameters
    ----------
    points : array-like, shape (n, p) or (k, n, p)
        A map, or several, each of which is aligned by itself.
    onto : array-like, shape (n, q)
    scaling : bool
        Whether to scale. By how much is judged in the columns in which ``onto`` varies.
    moving : bool
        Whether to move. The others are taken as centred if not.
    seen : array-like of bool, shape (n,), or of int, optional
        The objects that the alignment is chosen by; the rest moves along, and ``onto`` may have NaN for it. All if
        left out.

    Returns
    -------
    ndarray, shape (n, q) or (k, n, q)

    Examples
    --------
    >>> square = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]])
    >>> turned = 3 * square @ np.array([[0.0, 1.0], [-1.0, 0.0]]) + 5
    >>> align(turned, square).round(6).tolist()
    [[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]]
    >>> line = np.array([[1.0, 0.0], [-1.0, 0.0]])
    >>> align(line, [[0.0, 2.0], [0.0, -2.0]], scaling=False).round(6).tolist()
    [[0.0, 1.0], [0.0, -1.0]]
    """
    maps, target = np.asarray(points, dtype=np.float64), np.asarray(onto, dtype=np.float64)
    if target.ndim != 2:
        raise ValueError(f"onto must have shape (n, q), one row for each object; got shape {target.shape}")
    if maps.ndim not in (2, 3) or (seen is None and maps.shape[-2] != len(target)):
        raise ValueError(f"points must have one row for each of the {len(target)} of onto, got shape {maps.shape}")
    chosen = np.arange(len(target)) if seen is None else np.asarray(seen)
    goal = checked_points(target[chosen], "onto")
    centre = goal.mean(axis=0)
    if moving:
        maps = maps - maps[..., chosen, :].mean(axis=-2, keepdims=True)
    turn, closeness = rotation(maps[..., chosen, :], goal - centre)
    turned: FloatArray = maps @ turn
    if scaling:
        along = turned[..., chosen, :][..., np.ptp(goal, axis=0) > 0]  # further columns are beside the others
        sizes = np.einsum("...ip,...ip->...", along, along)
        factors = np.divide(closeness, sizes, out=np.ones(np.shape(sizes)), where=sizes > 0)
        turned *= factors[..., None, None]
    turned += centre if moving else 0.0  # adding 0 leaves no -0.0
    return turned


def rotation(points: FloatArray, onto: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the orthogonal matrix, (..., p, q), that turns points onto others best, and the nuclear norm of A^T B."""
    left, closeness, right = np.linalg.svd(np.swapaxes(points, -1, -2) @ onto, full_matrices=False)
    return left @ right, closeness.sum(axis=-1)


def same_size(points: FloatArray, onto: FloatArray) -> tuple[FloatArray, float]:
    """Return points turned onto a centred map and as large as it, centred; and the correlation of both.

    Examples
    --------
    >>> line = np.array([[1.0, 0.0], [-1.0, 0.0]])
    >>> turned, correlation = same_size(np.array([[0.0, 5.0], [0.0, 1.0]]), line)
    >>> turned.round(6).tolist(), round(correlation, 6)
    ([[1.0, 0.0], [-1.0, 0.0]], 1.0)
    """
    centred = points - points.mean(axis=0)
    sizes = float(np.linalg.norm(centred)), float(np.linalg.norm(onto))
    if sizes[0] == 0 or sizes[1] == 0:  # a map that is a point is right about nothing
        return np.zeros_like(onto), 0.0
    turn, closeness = rotation(centred, onto)
    turned: FloatArray = centred @ turn * (sizes[1] / sizes[0]) + 0.0
    return turned, float(closeness / (sizes[0] * sizes[1]))


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
        error = 1 - rotation(first, second)[1] ** 2
    else:
        error = 1 - 2 * rotation(first, second)[1] / (size_first**2 + size_second**2)
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


def ellipses_of(
    embedding: FloatArray, covariances: FloatArray, radius: float, axes: tuple[int, int] = (0, 1)
) -> FloatArray:
    """Return an ellipse for each object, (n, 5): centre, half axes (longer first), angle in degrees.

    Parameters
    ----------
    embedding : ndarray, shape (n, p)
    covariances : ndarray, shape (n, p, p)
    radius : float
        How many standard deviations it reaches out.
    axes : pair of int
        Which two axes of the map.

    Examples
    --------
    >>> ellipses_of(np.zeros((1, 2)), np.diag([1.0, 4.0])[None], 2.5).tolist()
    [[0.0, 0.0, 5.0, 2.5, 90.0]]
    """
    if embedding.shape[1] < 2:
        raise ValueError("ellipses need a map of two dimensions; of this one, standard deviations say it all")
    pair = list(axes)
    variances, directions = np.linalg.eigh(covariances[:, pair][:, :, pair])
    lengths = radius * np.sqrt(np.maximum(variances[:, ::-1], 0))
    angles = np.degrees(np.arctan2(directions[:, 1, 1], directions[:, 0, 1]))
    return np.column_stack([embedding[:, pair], lengths, angles])


def principal(points: PointArray, seen: Any) -> FloatArray:
    """Return points with the mean of those ``seen`` at 0 and their axes in order of falling variance; others at 0.

    The sign of each axis is free; the entry of largest size is made positive.

    Examples
    --------
    >>> principal(np.array([[1.0, 0.0], [1.0, 2.0], [5.0, 5.0]]), np.array([True, True, False])).tolist()
    [[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]]
    """
    return along_axes(np.where(seen[:, None], points, points[seen].mean(axis=0)), seen)


def along_axes(points: PointArray, seen: Any) -> FloatArray:
    """Return points as `principal` does, but the others where they are among those that are ``seen``.

    Examples
    --------
    >>> along_axes(np.array([[1.0, 0.0], [1.0, 2.0], [5.0, 5.0]]), np.array([True, True, False])).tolist()
    [[-1.0, 0.0], [1.0, 0.0], [4.0, 4.0]]
    """
    moved = points - points[seen].mean(axis=0)
    _, axes = np.linalg.eigh(moved[seen].T @ moved[seen])
    return with_fixed_signs(moved @ axes[:, ::-1]) + 0.0


def leading_spectrum(matrix: FloatArray, max_rank: int | None = None) -> tuple[FloatArray, FloatArray]:
    """Return the ``max_rank`` largest eigenvalues of the symmetric part, clipped at 0, and their vectors."""
    symmetric = (matrix + matrix.T) / 2
    n = len(symmetric)
    if max_rank is None or max_rank >= n:
        eigenvalues, vectors = np.linalg.eigh(symmetric)
    else:
        eigenvalues, vectors = eigh(symmetric, subset_by_index=(n - max_rank, n - 1))
    return np.maximum(eigenvalues, 0), vectors


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


def centred(gram: FloatArray) -> FloatArray:
    """Return the Gram matrix of the same points with their mean at the origin; distances stay as they are."""
    means = gram.mean(axis=0)
    result: FloatArray = gram - means[None, :] - means[:, None] + means.mean()
    return result

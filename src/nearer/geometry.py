"""Maps up to location, rotation and scale, which comparisons do not fix: alignment, principal axes, ellipses, Gram.

With A and B two centered configurations and A^T B = U S V^T, the orthogonal Q that brings A Q nearest to B is U V^T,
and the best scale is tr(S) / |A|^2 (Procrustes analysis). Varimax (Kaiser 1958) maximizes the variance of squared
coordinates within each axis, one plane after the other: V(Q) = sum_j mean_i(z_ij^4) - mean_i(z_ij^2)^2, z = X Q.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh

from nearer._common.arrays import FloatArray, PointArray, checked_points

__all__ = ["align", "axes_along", "axes_onto", "rotate_to", "varimax", "varimax_axes"]


def align(
    points: ArrayLike, onto: ArrayLike, *, scaling: bool = True, moving: bool = True, seen: ArrayLike | None = None
) -> FloatArray:
    """Return points, (n, q), rotated, reflected, moved and scaled to match others by least squares (Procrustes).

    Comparisons fix neither location nor rotation nor scale of a map: two maps can be compared only once aligned.

    Parameters
    ----------
    points : array-like, shape (n, p) or (k, n, p)
        A map, or several, each aligned separately.
    onto : array-like, shape (n, q)
    scaling, moving : bool
        Whether to scale, by the columns in which ``onto`` varies, and to move; if not, both are taken as centered.
    seen : array-like of bool, shape (n,), or of int, optional
        The objects that decide; the rest moves along, and ``onto`` may have NaN for it. All if left out.

    Examples
    --------
    >>> square = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]])
    >>> rotated = 3 * square @ np.array([[0.0, 1.0], [-1.0, 0.0]]) + 5
    >>> align(rotated, square).round(6).tolist()
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
    center = goal.mean(axis=0)
    if moving:
        maps = maps - maps[..., chosen, :].mean(axis=-2, keepdims=True)
    turn, closeness = rotation(maps[..., chosen, :], goal - center)
    rotated = maps @ turn
    if scaling:
        along = rotated[..., chosen, :][..., np.ptp(goal, axis=0) > 0]  # further columns have no counterpart
        sizes = np.einsum("...ip,...ip->...", along, along)
        factors = np.divide(closeness, sizes, out=np.ones(np.shape(sizes)), where=sizes > 0)
        rotated *= factors[..., None, None]
    rotated += center if moving else 0.0  # adding 0 leaves no -0.0
    return rotated


def rotation(points: FloatArray, onto: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the orthogonal matrix, (..., p, q), that best rotates points onto others, and nuclear norm of A^T B."""
    left, closeness, right = np.linalg.svd(np.swapaxes(points, -1, -2) @ onto, full_matrices=False)
    return left @ right, closeness.sum(axis=-1)


def match_size(points: FloatArray, onto: FloatArray) -> tuple[FloatArray, float]:
    """Return centered points rotated onto a centered map and scaled to its size, and their correlation."""
    centered = points - points.mean(axis=0)
    sizes = float(np.linalg.norm(centered)), float(np.linalg.norm(onto))
    if sizes[0] == 0 or sizes[1] == 0:  # a map that is a point is right about nothing
        return np.zeros_like(onto), 0.0
    turn, closeness = rotation(centered, onto)
    rotated = centered @ turn * (sizes[1] / sizes[0]) + 0.0
    return rotated, float(closeness / (sizes[0] * sizes[1]))


def procrustes_error(embedding: ArrayLike, truth: ArrayLike, *, scaling: bool = True) -> float:
    """Share of the configuration left unexplained after the best rigid motion, and scale, onto the truth.

    With A and B the two centered configurations and s the nuclear norm of A^T B, the best orthogonal Q gives

        min over c, Q of |c A Q - B|^2 / |B|^2         = 1 - s^2 / (|A|^2 |B|^2)      (``scaling=True``),
        min over Q    of |A Q - B|^2 / (|A|^2 + |B|^2) = 1 - 2 s / (|A|^2 + |B|^2)   (``scaling=False``).

    Both are symmetric, at most 1, and 0 exactly when the shapes are similar (congruent).

    Parameters
    ----------
    embedding, truth : arrays of shape (n, p) and (n, q)
        The one with fewer columns is padded with zeros.
    scaling : bool
        Whether a change of scale is free. Comparisons alone never fix it.

    Examples
    --------
    >>> square = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]])
    >>> rotated = 3 * square @ np.array([[0.0, 1.0], [-1.0, 0.0]]) + 5
    >>> round(procrustes_error(rotated, square), 12), round(procrustes_error(rotated, square, scaling=False), 12)
    (0.0, 0.4)
    """
    first, second = _center(embedding, "embedding"), _center(truth, "truth")
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


def _center(points: ArrayLike, name: str) -> NDArray[np.float64]:
    array = checked_points(points, name)
    if array.size == 0:
        raise ValueError(f"{name} is empty, shape {array.shape}; give at least two objects and one column")
    centered = array - array.mean(axis=0)
    # Equal rows leave rounding of the mean behind, not exact zeros.
    if np.abs(centered).max() <= 1e-14 * np.abs(array).max():
        raise ValueError(f"all rows of {name} are equal, so it has no shape to compare; check that the fit converged")
    return centered


def covariance_ellipses(
    embedding: FloatArray, covariances: FloatArray, radius: float, axes: tuple[int, int] = (0, 1)
) -> FloatArray:
    """Return an ellipse for each object, (n, 5): center, half axes (longer first), angle in degrees."""
    if embedding.shape[1] < 2:
        raise ValueError("ellipses need a map of two dimensions; this one has standard deviations only")
    pair = list(axes)
    variances, directions = np.linalg.eigh(covariances[:, pair][:, :, pair])
    lengths = radius * np.sqrt(np.maximum(variances[:, ::-1], 0))
    angles = np.degrees(np.arctan2(directions[:, 1, 1], directions[:, 0, 1]))
    return np.column_stack([embedding[:, pair], lengths, angles])


def to_principal_axes(points: PointArray, seen: Any) -> FloatArray:
    """Return points with the mean of those ``seen`` at 0 and their axes in order of falling variance; others at 0."""
    return principal_axes_of_seen(np.where(seen[:, None], points, points[seen].mean(axis=0)), seen)


def principal_axes_of_seen(points: PointArray, seen: Any) -> FloatArray:
    """Return points as `to_principal_axes` does, but the others where they are among those that are ``seen``."""
    moved = points - points[seen].mean(axis=0)
    _, axes = np.linalg.eigh(moved[seen].T @ moved[seen])
    return fix_signs(moved @ axes[:, ::-1]) + 0.0


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
    """Return the (n, p) points whose Gram matrix is nearest to ``gram``, axes in order of falling variance."""
    # The sign of each axis is free; the entry of largest size is made positive, so that equal input gives equal maps.
    # An eigenvalue that is nothing but rounding is 0, and so is its axis: the root would make 1e-8 of 1e-16.
    eigenvalues, vectors = leading_spectrum(gram, n_components)
    eigenvalues = np.where(eigenvalues > len(gram) * np.finfo(float).eps * eigenvalues[-1], eigenvalues, 0.0)
    points = (vectors * np.sqrt(eigenvalues))[:, ::-1]
    return fix_signs(np.pad(points, ((0, 0), (0, n_components - points.shape[1]))))


def fix_signs(points: FloatArray) -> FloatArray:
    """Return points with the entry of largest size in each column positive."""
    largest = np.take_along_axis(points, np.abs(points).argmax(axis=0)[None], axis=0)
    return points * np.where(largest < 0, -1.0, 1.0)


def double_center(gram: FloatArray) -> FloatArray:
    """Return the Gram matrix of the same points with their mean at the origin; distances stay as they are."""
    means = gram.mean(axis=0)
    return gram - means[None, :] - means[:, None] + means.mean()


MAX_SWEEPS = 1000
ROTATION_TOL = 1e-12  # radians


def rotate_to(embedding: ArrayLike, *features: ArrayLike) -> FloatArray:
    """Return a map rotated such that the first feature grows most along its first axis, the second along the second.

    Features grow towards the positive end. Axes beyond the features are in order of falling variance.

    Parameters
    ----------
    embedding : array-like, shape (n, p)
    *features : array-like, shape (n,)
        At most p, a number for each object, or NaN. Each gets the best axis at right angles to those before.

    Examples
    --------
    >>> kite = np.array([[1.0, 1.0], [-1.0, -1.0], [2.0, -2.0], [-1.0, 1.0]])
    >>> (rotate_to(kite, [5, 1, 3, 3]) / np.sqrt(2)).round().astype(int).tolist()
    [[1, 0], [-1, 0], [0, 2], [0, -1]]
    """
    points = checked_points(embedding, "embedding")
    return points @ axes_along(points, *features) + 0.0


def axes_along(embedding: ArrayLike, *features: ArrayLike) -> FloatArray:
    """Return the orthogonal matrix, (p, p), by which `rotate_to` rotates a map.

    Examples
    --------
    >>> axes_along([[1.0, 1.0], [-1.0, -1.0], [2.0, -2.0], [-1.0, 1.0]], [5, 1, 3, 3]).round(3).tolist()
    [[0.707, 0.707], [0.707, -0.707]]
    """
    points = checked_points(embedding, "embedding")
    n, p = points.shape
    if not 1 <= len(features) <= p:
        raise ValueError(f"a map of {p} axes can be rotated to 1 to {p} features, got {len(features)}")
    axes = np.empty((p, 0))
    for number, feature in enumerate(features):
        values = np.asarray(feature, dtype=np.float64)
        if values.shape != (n,):
            raise ValueError(f"a feature needs a number for each of the {n} objects, got shape {values.shape}")
        known = np.isfinite(values)
        free = _orthogonal_complement(axes)
        slopes = gradient(points[known] @ free, values[known]) if known.any() else np.zeros(1)
        size, spread = float(np.linalg.norm(slopes)), np.ptp(values[known]) if known.any() else 0.0
        if size * np.ptp(points, axis=0).max() <= 1e-12 * spread:
            raise ValueError(f"feature {number + 1} grows in no direction of the map that is left; leave it out")
        axes = np.column_stack([axes, free @ (slopes / size)])
    return _complete_axes(points, axes)


def gradient(points: FloatArray, values: FloatArray) -> FloatArray:
    """Return the gradient, (p,), of the linear function nearest to values; the shortest of equals."""
    return np.linalg.lstsq(points - points.mean(axis=0), values - values.mean(), rcond=1e-10)[0]


def axes_onto(embedding: ArrayLike, onto: ArrayLike, seen: ArrayLike | None = None) -> FloatArray:
    """Return the orthogonal matrix, (p, p), that rotates a map such that its first axes match those of another.

    Unlike `align` it keeps all axes of the map; where it has more than the other, those come first that lie on the
    other best, at any scale.

    Parameters
    ----------
    embedding : array-like, shape (n, p)
    onto : array-like, shape (n, q)
        Of more axes than p, the first p count.
    seen : array-like of bool, shape (n,), or of int, optional
        The objects that are in both; ``onto`` may have NaN for the others.

    Examples
    --------
    >>> axes_onto([[0.0, 1.0], [0.0, -1.0], [1.0, 0.0]], [[2.0], [-2.0], [0.0]]).round().astype(int).tolist()
    [[0, 1], [1, 0]]
    """
    points, target = checked_points(embedding, "embedding"), np.asarray(onto, dtype=np.float64)
    if target.ndim != 2 or len(target) != len(points):
        raise ValueError(f"onto must have one row for each of the {len(points)} objects, got shape {target.shape}")
    chosen: NDArray[Any] = np.arange(len(points)) if seen is None else np.asarray(seen)
    goal = checked_points(target[chosen], "onto")[:, : points.shape[1]]
    if len(goal) < 2:
        raise ValueError("a map is rotated onto another by the objects in both, and there are fewer than two")
    among, goal = points[chosen] - points[chosen].mean(axis=0), goal - goal.mean(axis=0)
    # Axes W and a scale c that minimize |c A W - B|^2. With as many axes as the other map has, that is Procrustes
    # analysis. With more, the complement of A W is free: B gets it as further columns, and W is found again, until
    # nothing changes (Green and Gower 1979). The error never grows.
    axes, _ = rotation(among, goal)
    for _ in range(MAX_SWEEPS if goal.shape[1] < points.shape[1] else 0):
        shown, free = among @ axes, _orthogonal_complement(axes)
        scale = np.vdot(shown, goal) / max(np.vdot(shown, shown), np.finfo(float).tiny)
        rotated = rotation(scale * among, np.column_stack([goal, scale * among @ free]))[0][:, : goal.shape[1]]
        moved, axes = np.abs(rotated - axes).max(), rotated
        if moved <= ROTATION_TOL:
            break
    return _complete_axes(points, axes)


def varimax(embedding: ArrayLike, *, normalize: bool = False, seen: ArrayLike | None = None) -> FloatArray:
    """Return a map rotated by varimax: objects lie far out on few axes each, as far as they can (Kaiser 1958).

    Axes are in order of falling variance, the entry of largest size on each positive, whatever the map's earlier
    rotation, unless two of its principal axes are equally long.

    Parameters
    ----------
    embedding : array-like, shape (n, p)
    normalize : bool
        Whether every object has equal weight, wherever it lies (Kaiser's normalization).
    seen : array-like of bool, shape (n,), or of int, optional
        The objects that decide; the rest moves along. All if left out.

    Examples
    --------
    >>> cross = np.array([[3.0, 3.0], [-2.0, -2.0], [1.0, -1.0], [-0.5, 0.5]])
    >>> abs(varimax(cross)).argmax(axis=1).tolist()
    [0, 0, 1, 1]
    """
    points = checked_points(embedding, "embedding")
    return points @ varimax_axes(points, normalize=normalize, seen=seen) + 0.0


def varimax_axes(embedding: ArrayLike, *, normalize: bool = False, seen: ArrayLike | None = None) -> FloatArray:
    """Return the orthogonal matrix, (p, p), by which `varimax` rotates a map.

    Examples
    --------
    >>> cross = [[0.0, 2.0], [0.0, -1.9], [0.0, -0.1], [1.0, 0.0], [-0.9, 0.0], [-0.1, 0.0]]
    >>> varimax_axes(cross).round().astype(int).tolist()
    [[0, 1], [1, 0]]
    """
    points = checked_points(embedding, "embedding")
    among = points if seen is None else points[np.asarray(seen)]
    among = among - among.mean(axis=0)
    axes = np.linalg.eigh(among.T @ among)[1][:, ::-1]  # whatever its earlier rotation
    rotated = among @ axes
    if normalize:
        lengths = np.linalg.norm(rotated, axis=1, keepdims=True)
        rotated = np.divide(rotated, lengths, out=np.zeros_like(rotated), where=lengths > 0)
    for _ in range(MAX_SWEEPS):
        largest = 0.0
        for pair in combinations(range(points.shape[1]), 2):
            angle = _varimax_angle(*rotated[:, pair].T)
            turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
            rotated[:, pair], axes[:, pair] = rotated[:, pair] @ turn, axes[:, pair] @ turn
            largest = max(largest, abs(angle))
        if largest <= ROTATION_TOL:
            break
    axes = axes[:, np.argsort(-(among @ axes).var(axis=0), kind="stable")]
    return _fix_axis_signs(points, axes)


class DimensionMatch(NamedTuple):
    """Which dimension of a second embedding goes with each of a first, (p,); -1 for none. And how they correlate."""

    assignment: NDArray[np.intp]
    correlations: FloatArray


def match_dimensions(first: ArrayLike, second: ArrayLike) -> DimensionMatch:
    """Return the dimensions of a second embedding that go with those of a first, one to one.

    The assignment has the largest sum of positive correlations over objects (Kuhn 1955). Dimensions are not rotated: it
    is for those that have a meaning as they are.

    Parameters
    ----------
    first : array-like, shape (n, p)
    second : array-like, shape (n, q)
        Of the same objects.

    Returns
    -------
    DimensionMatch
        ``assignment``, (p,): columns of ``second``, -1 where it has too few. ``correlations``, (p,): of the dimensions
        that go together, 0 where none does or a dimension is constant.

    Examples
    --------
    >>> first = [[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.5]]
    >>> match_dimensions(first, [row[::-1] for row in first])
    DimensionMatch(assignment=array([2, 1, 0]), correlations=array([1., 1., 1.]))
    """
    from scipy.optimize import linear_sum_assignment

    a, b = checked_points(first, "first"), checked_points(second, "second")
    if len(a) != len(b):
        raise ValueError(f"first has {len(a)} objects and second {len(b)}; dimensions are matched over the same ones")
    a, b = (each - each.mean(axis=0) for each in (a, b))
    lengths = np.linalg.norm(a, axis=0)[:, None] * np.linalg.norm(b, axis=0)
    correlations = np.divide(a.T @ b, lengths, out=np.zeros(lengths.shape), where=lengths > 0)
    rows, columns = linear_sum_assignment(-correlations.clip(min=0))  # or two that differ would cost a match
    assignment, found = np.full(a.shape[1], -1), np.zeros(a.shape[1])
    assignment[rows], found[rows] = columns, np.clip(correlations[rows, columns], -1, 1)
    return DimensionMatch(assignment, found)


def _varimax_angle(x: FloatArray, y: FloatArray) -> float:
    """Return the rotation of the plane of two axes that maximizes V, in closed form, at most 45 degrees."""
    u, v = x**2 - y**2, 2 * x * y
    sine = 2 * (u @ v - u.sum() * v.sum() / len(x))
    cosine = u @ u - v @ v - (u.sum() ** 2 - v.sum() ** 2) / len(x)
    if np.hypot(sine, cosine) <= 1e-14 * (u @ u + v @ v):  # V is the same for all angles
        return 0.0
    return float(np.arctan2(sine, cosine) / 4)


def _orthogonal_complement(axes: FloatArray) -> FloatArray:
    """Return an orthonormal basis, (p, p - k), of what is at right angles to k axes, which are orthonormal."""
    if axes.shape[1] == 0:
        return np.eye(len(axes))
    return np.linalg.svd(axes, full_matrices=True)[0][:, axes.shape[1] :]


def _complete_axes(points: FloatArray, axes: FloatArray) -> FloatArray:
    """Return axes with the principal axes of what is at right angles to them behind."""
    free = _orthogonal_complement(axes)
    if free.shape[1] == 0:
        return axes
    among = (points - points.mean(axis=0)) @ free
    principal = free @ np.linalg.eigh(among.T @ among)[1][:, ::-1]
    return np.column_stack([axes, _fix_axis_signs(points, principal)])


def _fix_axis_signs(points: FloatArray, axes: FloatArray) -> FloatArray:
    """Return axes with signs for which the largest coordinate along each is positive."""
    rotated = points @ axes
    return np.where((fix_signs(rotated) == rotated).all(axis=0), 1.0, -1.0) * axes

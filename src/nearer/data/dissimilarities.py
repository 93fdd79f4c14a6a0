"""Matrices of dissimilarities at the border: checked, and their order as comparisons."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearer._common.arrays import FloatArray
from nearer.data.comparisons import Comparisons
from nearer.data.labels import read_objects


def read_dissimilarities(D: ArrayLike, n_objects: int | None = None) -> FloatArray:
    """Return a matrix of dissimilarities, NaN where one is missing, or say what is wrong with it.

    Examples
    --------
    >>> read_dissimilarities([[0, 1], [2, 0]])
    Traceback (most recent call last):
    ValueError: dissimilarities must be symmetric, but that of 0 and 1 is 1.0 one way and 2.0 the other; ...
    """
    matrix = _square(D, "dissimilarities")
    n = len(matrix)
    if n_objects not in (None, n):
        raise ValueError(f"n_objects={n_objects}, but the matrix is about {n} objects; leave n_objects out")
    if n < 3:
        raise ValueError(f"a matrix of {n} objects has no two dissimilarities to compare; it takes at least 3")
    if np.isinf(matrix).any():
        a, b = np.argwhere(np.isinf(matrix))[0]
        raise ValueError(f"the dissimilarity of {a} and {b} is infinite; write NaN where it is not known")
    # A pair that is known one way only is known.
    return np.where(np.isnan(matrix), matrix.T, matrix)


def read_pair_weights(weights: ArrayLike | None, n: int) -> FloatArray:
    """Return the weights of pairs, (n, n); ones if none are given."""
    if weights is None:
        return np.ones((n, n))
    matrix = _square(weights, "weights")
    if len(matrix) != n:
        raise ValueError(f"weights must have shape {(n, n)}, one for each dissimilarity, got {matrix.shape}")
    if not np.isfinite(matrix).all() or matrix.min() < 0:
        raise ValueError("weights must be finite numbers >= 0; write 0 for a pair that does not count")
    return matrix


def _square(values: ArrayLike, what: str) -> FloatArray:
    try:
        matrix = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what} must be a matrix of numbers, with NaN where one is missing: {error}") from error
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"{what} must be a square matrix, a row and a column for each object, got {matrix.shape}")
    np.fill_diagonal(matrix, 0.0)
    both = np.isfinite(matrix) & np.isfinite(matrix.T)
    differ = both & ~np.isclose(matrix, matrix.T, rtol=1e-8, atol=0)
    if differ.any():
        a, b = np.argwhere(differ)[0]
        raise ValueError(
            f"{what} must be symmetric, but that of {a} and {b} is {matrix[a, b]} one way and {matrix[b, a]} the "
            "other; pass (D + D.T) / 2 if the difference does not matter"
        )
    return matrix


def chain_of(pairs: NDArray[np.integer], values: FloatArray, n: int, objects: ArrayLike | None) -> Comparisons:
    """Return comparisons of each pair with a pair of the next larger dissimilarity: the order, in few rows.

    Of two groups of ties each pair of one is compared with some pair of the other.

    Examples
    --------
    >>> chain_of(np.array([[0, 1], [0, 2], [1, 2]]), np.array([1.0, 3.0, 2.0]), 3, ["a", "b", "c"]).rows.tolist()
    [[0, 1, 1, 2], [1, 2, 0, 2]]
    """
    ranks = np.unique(values, return_inverse=True)[1].ravel()
    if len(ranks) == 0 or ranks.max() == 0:
        raise ValueError(f"all {len(ranks)} known dissimilarities are equal; there is no order to fit a map to")
    groups = np.split(np.argsort(ranks, kind="stable"), np.cumsum(np.bincount(ranks))[:-1])
    near, far = [], []
    for lower, upper in pairwise(groups):
        size = max(len(lower), len(upper))
        near.append(np.resize(lower, size))
        far.append(np.resize(upper, size))
    rows = np.hstack([pairs[np.concatenate(near)], pairs[np.concatenate(far)]])
    comparisons = Comparisons.from_quadruplets(rows, n_objects=n)
    if objects is None:
        return comparisons
    labels = read_objects(objects)
    if len(labels) != n:
        raise ValueError(f"objects holds {len(labels)} labels, and the matrix is about {n} objects")
    return replace(comparisons, objects=labels)

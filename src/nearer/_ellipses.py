"""Ellipses from covariances: where each object of a map may lie."""

from __future__ import annotations

import numpy as np

from nearer.margins import FloatArray


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

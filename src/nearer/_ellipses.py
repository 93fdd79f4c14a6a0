"""Ellipses from covariances: where each object of a map may lie."""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2

from nearer.margins import FloatArray


def ellipses_of(
    embedding: FloatArray, covariances: FloatArray, level: float = 0.95, axes: tuple[int, int] = (0, 1)
) -> FloatArray:
    """Return an ellipse for each object, (n, 5): centre, half axes (longer first), angle in degrees.

    Each holds a normal distribution with that centre and covariance with probability ``level``.

    Parameters
    ----------
    embedding : ndarray, shape (n, p)
    covariances : ndarray, shape (n, p, p)
    level : float
        Between 0 and 1.
    axes : pair of int
        Which two axes of the map.

    Examples
    --------
    >>> ellipses_of(np.zeros((1, 2)), np.diag([1.0, 4.0])[None], 0.95).round(2).tolist()
    [[0.0, 0.0, 4.9, 2.45, 90.0]]
    """
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, got {level!r}")
    if embedding.shape[1] < 2:
        raise ValueError(
            "ellipses need a map of two dimensions; of this one, standard deviations say it all"
        )
    pair = list(axes)
    variances, directions = np.linalg.eigh(covariances[:, pair][:, :, pair])
    lengths = np.sqrt(chi2.ppf(level, 2) * np.maximum(variances[:, ::-1], 0))
    angles = np.degrees(np.arctan2(directions[:, 1, 1], directions[:, 0, 1]))
    return np.column_stack([embedding[:, pair], lengths, angles])

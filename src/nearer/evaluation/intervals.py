"""Confidence intervals of an error from correlated answers, which are right or wrong together in clusters.

An error e with the variance V of a ratio over clusters is as well known as a share among e (1 - e) / V independent
answers: Wilson's interval. For the K overlapping training parts of cross-validation V is multiplied by 1 + K / (K - 1)
(Nadeau and Bengio 2003), which makes the interval one for the expected error of the method.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from nearer._common.arrays import FloatArray


class Interval(NamedTuple):
    """An error and the interval that holds it."""

    error: float
    low: float
    high: float


def wilson_interval(error: float, n: float, quantile: float) -> tuple[float, float]:
    """Return Wilson's interval of a share among n independent answers, n not necessarily whole."""
    square = quantile**2 / n
    center = (error + square / 2) / (1 + square)
    half = np.sqrt(square * error * (1 - error) + square**2 / 4) / (1 + square)
    # Rounding can put an end beyond the error itself.
    return float(np.clip(center - half, 0.0, error)), float(np.clip(center + half, error, 1.0))


def effective_n(weights: FloatArray) -> float:
    """Return the effective number of weights, (sum w)^2 / sum w^2 (Kish)."""
    return float(weights.sum() ** 2 / np.square(weights).sum())


def clustered_variance(wrong: FloatArray, weights: FloatArray, clusters: NDArray[np.intp]) -> float:
    """Return the variance of the weighted mean of ``wrong``, (m,), where rows of a cluster are correlated."""
    n_clusters = len(np.unique(clusters))
    if n_clusters < 2:
        return np.inf
    residuals = weights * (wrong - np.average(wrong, weights=weights))
    sums = np.bincount(clusters, residuals)
    return float(n_clusters / (n_clusters - 1) * np.square(sums).sum() / weights.sum() ** 2)


def add_variances(variance: float, freedom: float, other: float, other_freedom: float) -> tuple[float, float]:
    """Return the sum of two variances and its degrees of freedom (Satterthwaite)."""
    total = variance + other
    return total, total**2 / (variance**2 / freedom + other**2 / other_freedom)


def mean_interval(values: FloatArray, weights: FloatArray, clusters: NDArray[np.intp], level: float) -> Interval:
    """Return the weighted mean of values, (m,), with its interval by Student's t over correlated ``clusters``, (m,)."""
    mean = float(np.average(values, weights=weights))
    reach = float(stdtrit(len(np.unique(clusters)) - 1, 0.5 + level / 2))
    reach *= float(np.sqrt(clustered_variance(values, weights, clusters)))
    return Interval(mean, mean - reach, mean + reach)


def overlap_factor(n_folds: int) -> float:
    """Return the factor of the variance between answers for maps of overlapping training parts."""
    return 1 + n_folds / (n_folds - 1)


def error_interval(
    wrong: FloatArray,
    weights: FloatArray,
    clusters: NDArray[np.intp],
    level: float,
    repeats: NDArray[np.intp] | None = None,
    n_folds: int | None = None,
) -> Interval:
    """Return the weighted mean of ``wrong``, (m,), with its interval, for correlated rows of ``clusters``, (m,).

    ``repeats``, (m,), say which map predicted each row, where maps are themselves random: the variance between them is
    added. ``n_folds`` of a cross-validation makes the interval one for the expected error of the method, not of these
    maps.
    """
    error = float(np.average(wrong, weights=weights))
    factor = 1.0 if n_folds is None else overlap_factor(n_folds)
    variance = factor * clustered_variance(wrong, weights, clusters)
    n_clusters = len(np.unique(clusters))
    freedom = float(max(n_clusters - 1, 1))
    if repeats is not None and (n_repeats := int(repeats.max()) + 1) > 1:
        # What both have in common is not subtracted: training parts overlap, which hides some of the variance.
        between = clustered_variance(wrong, weights, repeats)
        if between > 0:
            # Few repeats make a poor estimate of the variance between maps.
            variance, freedom = add_variances(variance, freedom, between, n_repeats - 1)
    if variance > 0:
        n = min(error * (1 - error) / variance, effective_n(weights) / factor)
    else:
        n = effective_n(np.bincount(clusters, weights).astype(np.float64)) / factor
    if n == 0:
        return Interval(error, 0.0, 1.0)
    return Interval(error, *wilson_interval(error, n, float(stdtrit(freedom, 0.5 + level / 2))))

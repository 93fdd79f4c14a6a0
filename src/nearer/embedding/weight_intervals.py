r"""Intervals of nonnegative weights: Laplace's approximation, object by object, calibrated by a parametric bootstrap.

With I the Fisher information about the weights of an object, and A the dimensions on which they are positive, these are
normally distributed about their estimate, with covariance :math:`C = I_{AA}^{-1}`. The penalty has moved the estimate
by :math:`-C \lambda`, which is undone. A weight at 0, with slope s of the log-likelihood, has the normal distribution
of mean s / h and variance 1 / h, :math:`h = I_{dd} - I_{dA} C I_{Ad}`, cut off at 0.

The weights of the other objects are taken as known, which makes intervals too narrow. So answers to the same trials are
drawn from the fitted weights, and fitted again. What positive weights are off by then, as a median in units of the
standard deviation, is subtracted, and all standard deviations are multiplied by the factor at which 95% of the positive
weights that these answers were drawn from are covered.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtri_exp

from nearer._common.arrays import FloatArray
from nearer.data.choices import Choices
from nearer.optimize.problems.choices import WeightsProblem, simulate_choices
from nearer.optimize.problems.information import object_information
from nearer.optimize.solvers import solve
from nearer.optimize.solvers.orthant import Orthant

MAX_INFORMATION_TRIALS = 500_000  # of more, as many stand for all
LEVEL = 0.95
_Z = 1.96
_FACTORS = np.arange(1.0, 3.0, 0.02)
_MIN_CURVATURE = 1e-6  # of a weight about which nothing was asked


def weight_intervals(points: FloatArray, choices: Choices, penalty: float, rng: np.random.Generator) -> FloatArray:
    """Return intervals of 95% of the weights, (n, p, 2)."""
    drawn = simulate_choices(points, choices, rng)
    solution = solve(WeightsProblem(drawn, penalty), Orthant(tol=1e-6), points)
    if solution.interrupted:
        raise KeyboardInterrupt
    known, found = points > 0, solution.value > 0
    centers, errors = _approximation(solution.value, drawn, penalty, rng)
    both, shift, factor = known & found, 0.0, _FACTORS[-1]
    if both.any():
        shift = float(np.median((centers - points)[both] / errors[both]))
    for factor in _FACTORS:
        low, high = np.moveaxis(_intervals(centers - shift * errors * found, errors, found, factor), 2, 0)
        if np.mean((low <= points) & (points <= high), where=known) >= LEVEL:
            break
    centers, errors = _approximation(points, choices, penalty, rng)
    return _intervals(centers - shift * errors * known, errors, known, factor)


def _intervals(centers: FloatArray, errors: FloatArray, positive: NDArray[np.bool_], factor: float) -> FloatArray:
    """Return intervals, (n, p, 2), of normal distributions, and of those that are cut off at 0."""
    errors = factor * errors
    # Of what lies above 0, a share of 2.5% lies above the upper end.
    tail = ndtri_exp(np.log((1 - LEVEL) / 2) + log_ndtr(centers / errors))
    upper = centers + np.where(positive, _Z, -tail) * errors
    lower = np.where(positive, centers - _Z * errors, 0.0)
    return np.stack([lower, upper], axis=2).clip(min=0)


def _approximation(
    points: FloatArray, choices: Choices, penalty: float, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return centers and standard deviations of the normal distributions, (n, p) each."""
    score = -WeightsProblem(choices).loss_and_gradient(points)[1] * choices.total_weight
    sample = choices if choices.n_answers <= MAX_INFORMATION_TRIALS else choices.sample(MAX_INFORMATION_TRIALS, rng)
    share = sample.total_weight / choices.total_weight
    centers, errors = np.zeros_like(points), np.zeros_like(points)
    for item, found in enumerate(object_information(points, sample)):
        information = found / share
        active = np.flatnonzero(points[item] > 0)
        covariance = np.linalg.inv(information[np.ix_(active, active)] + _MIN_CURVATURE * np.eye(len(active)))
        among = information[:, active]
        explained = np.einsum("da,ab,db->d", among, covariance, among)
        curvature = np.maximum(np.diagonal(information) - explained, _MIN_CURVATURE)
        centers[item], errors[item] = score[item] / curvature, curvature**-0.5
        centers[item, active] = points[item, active] + penalty * covariance.sum(axis=1)
        errors[item, active] = np.sqrt(np.diagonal(covariance))
    return centers, errors

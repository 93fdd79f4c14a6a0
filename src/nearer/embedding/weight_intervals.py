r"""Intervals of nonnegative weights: Laplace's approximation, object by object, calibrated by a parametric bootstrap.

Near its maximum the posterior of the weights of an object on the dimensions on which they are positive is normal. Its
covariance is the inverse H of the Fisher information, and the penalty has moved its center by :math:`-H \lambda`, which
is undone. A weight at 0 has a posterior proportional to :math:`e^{-g x - h x^2 / 2}` for x >= 0, g being the gradient
and h the curvature there: a normal distribution, cut off.

The weights of the other objects are taken as known, which makes intervals too narrow. So answers to the same trials are
drawn from the fitted weights, and fitted again. The factor by which intervals must be wider to hold 95% of the weights
from which these answers were drawn is applied to those of the answers that were given.
"""

from __future__ import annotations

import numpy as np
from scipy.special import log_ndtr, ndtri_exp

from nearer._common.arrays import FloatArray
from nearer.data.choices import Choices
from nearer.optimize.problems.choices import WeightsProblem, simulate_choices
from nearer.optimize.problems.information import object_information
from nearer.optimize.solvers import solve
from nearer.optimize.solvers.orthant import Orthant

MAX_INFORMATION_TRIALS = 500_000  # of more, as many stand for all
LEVEL = 0.95
_Z_95 = 1.96
_MIN_CURVATURE = 1e-6  # of a weight about which nothing was asked


def weight_intervals(points: FloatArray, choices: Choices, penalty: float, rng: np.random.Generator) -> FloatArray:
    """Return intervals of 95% of the weights, (n, p, 2)."""
    centers, errors = _approximation(points, choices, penalty, rng)
    drawn = simulate_choices(points, choices, rng)
    solution = solve(WeightsProblem(drawn, penalty), Orthant(tol=1e-5), points)
    if solution.interrupted:
        raise KeyboardInterrupt
    again, errors_again = _approximation(solution.value, drawn, penalty, rng)
    both = (points > 0) & (solution.value > 0)
    factor = 1.0
    if both.any():
        factor = max(float(np.quantile(np.abs(again - points)[both] / errors_again[both], 0.95)) / _Z_95, 1.0)
    half = factor * _Z_95 * errors
    # At 0 the center is negative: of the normal distribution that is cut off there, 95% lie below the upper end.
    tail = ndtri_exp(np.log(1 - LEVEL) + log_ndtr(centers / errors))
    upper = np.where(points > 0, centers + half, centers - factor * errors * tail)
    lower = np.where(points > 0, centers - half, 0.0)
    return np.stack([lower, upper], axis=2).clip(min=0)


def _approximation(
    points: FloatArray, choices: Choices, penalty: float, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return centers and standard deviations of the normal distributions, (n, p) each."""
    gradient = WeightsProblem(choices, penalty).objective_and_gradient(points)[1] * choices.total_weight
    sample = choices if choices.n_answers <= MAX_INFORMATION_TRIALS else choices.sample(MAX_INFORMATION_TRIALS, rng)
    share = sample.total_weight / choices.total_weight
    centers, errors = np.zeros_like(points), np.zeros_like(points)
    for item, found in enumerate(object_information(points, sample)):
        information = found / share
        curvature = np.maximum(np.diagonal(information), _MIN_CURVATURE)
        centers[item], errors[item] = -gradient[item] / curvature, curvature**-0.5
        active = np.flatnonzero(points[item] > 0)
        among = information[np.ix_(active, active)] + _MIN_CURVATURE * np.eye(len(active))
        covariance = np.linalg.inv(among)
        centers[item, active] = points[item, active] + penalty * covariance.sum(axis=1)
        errors[item, active] = np.sqrt(np.diagonal(covariance))
    return centers, errors

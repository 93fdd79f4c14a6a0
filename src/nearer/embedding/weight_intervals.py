r"""Intervals of nonnegative weights: Laplace's approximation, object by object, calibrated by a parametric bootstrap.

The penalty pulls weights to 0. So those that are positive are fitted once more, without it, all together: the pull on
one object moves the others, too. With I the Fisher information about the weights of an object there, and A the
dimensions on which they are positive, these are normally distributed about their estimate, with covariance
:math:`C = I_{AA}^{-1}`. A weight at 0, with slope s of the log-likelihood, has the normal distribution of mean s / h
and variance 1 / h, :math:`h = I_{dd} - I_{dA} C I_{Ad}`, cut off at 0.

The weights of the other objects are taken as known, which makes intervals too narrow. So answers to the same trials are
drawn from the fitted weights, and fitted again. All standard deviations are multiplied by the factor at which 97% of
the positive weights that these answers were drawn from are covered: which weights are positive is known there, and not
of the answers that were given.
"""

from __future__ import annotations

from dataclasses import replace

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
LEVEL, _BOOTSTRAP_LEVEL = 0.95, 0.97
REFIT_TOL = 1e-6
_Z = 1.96
_FACTORS = np.arange(1.0, 3.0, 0.02)
_MIN_CURVATURE = 1e-6  # of a weight about which nothing was asked


def weight_intervals(points: FloatArray, problem: WeightsProblem, rng: np.random.Generator) -> FloatArray:
    """Return intervals of 95% of the weights, (n, p, 2)."""
    choices = problem.choices
    drawn = simulate_choices(points, choices, rng)
    solution = solve(replace(problem, choices=drawn), Orthant(tol=REFIT_TOL), points)
    if solution.interrupted:
        raise KeyboardInterrupt
    again, known = _approximation(solution.value, drawn, rng), points > 0
    factor = _FACTORS[-1]
    for factor in _FACTORS:
        low, high = np.moveaxis(_intervals(*again, solution.value > 0, factor), 2, 0)
        if np.mean((low <= points) & (points <= high), where=known) >= _BOOTSTRAP_LEVEL:
            break
    return _intervals(*_approximation(points, choices, rng), known, factor)


def _intervals(centers: FloatArray, errors: FloatArray, positive: NDArray[np.bool_], factor: float) -> FloatArray:
    """Return intervals, (n, p, 2), of normal distributions, and of those that are cut off at 0."""
    errors = factor * errors
    # Of what lies above 0, a share of 2.5% lies above the upper end.
    tail = ndtri_exp(np.log((1 - LEVEL) / 2) + log_ndtr(centers / errors))
    upper = centers + np.where(positive, _Z, -tail) * errors
    lower = np.where(positive, centers - _Z * errors, 0.0)
    return np.stack([lower, upper], axis=2).clip(min=0)


def _approximation(points: FloatArray, choices: Choices, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Return centers and standard deviations of the normal distributions, (n, p) each."""
    problem, positive = WeightsProblem(choices), points > 0
    refitted = solve(replace(problem, movable=positive), Orthant(tol=REFIT_TOL), points)
    if refitted.interrupted:
        raise KeyboardInterrupt
    points = refitted.value
    score = -problem.loss_and_gradient(points)[1] * choices.total_weight
    sample = choices if choices.n_answers <= MAX_INFORMATION_TRIALS else choices.sample(MAX_INFORMATION_TRIALS, rng)
    share = sample.total_weight / choices.total_weight
    centers, errors = np.zeros_like(points), np.zeros_like(points)
    for item, found in enumerate(object_information(points, sample)):
        information = found / share
        active = np.flatnonzero(positive[item])
        covariance = np.linalg.inv(information[np.ix_(active, active)] + _MIN_CURVATURE * np.eye(len(active)))
        among = information[:, active]
        explained = np.einsum("da,ab,db->d", among, covariance, among)
        curvature = np.maximum(np.diagonal(information) - explained, _MIN_CURVATURE)
        centers[item], errors[item] = score[item] / curvature, curvature**-0.5
        centers[item, active] = points[item, active]
        errors[item, active] = np.sqrt(np.diagonal(covariance))
    return centers, errors

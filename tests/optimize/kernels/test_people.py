"""The compiled likelihood of people's answers against plain NumPy and finite differences."""

import numpy as np
import pytest
from helpers.drawn_rows import random_quadruplets
from scipy.optimize import approx_fprime

from nearer.model.answers import AnswerModel, answer_probability
from nearer.optimize.kernels.people import grid_log_likelihood, log_likelihood

N, Q, M = 6, 3, 40


@pytest.fixture
def drawn(kind):
    rng = np.random.default_rng(0)
    rows = random_quadruplets(rng, N, M, kind).astype(np.int64)
    return rows, rng.normal(size=(N, Q)), rng.uniform(0.5, 4, M), rng.uniform(0, 0.4, M), rng.uniform(0.5, 2, M)


def reference(rows, points, slopes, lapses, weights, offset):
    i, j, l, k = rows.T  # noqa: E741
    near, far = (np.square(points[a] - points[b]).sum(axis=1) for a, b in ((i, j), (l, k)))
    return weights @ np.log(AnswerModel(slopes, offset, lapses).probability(near, far))


def test_value_and_gradient_are_those_of_the_answer_model(drawn):
    rows, points, slopes, lapses, weights = drawn
    gradient = np.zeros((N, Q))
    value, by_offset, by_slope = log_likelihood(points, rows, slopes, lapses, weights, 0.7, gradient)
    assert value == pytest.approx(reference(rows, points, slopes, lapses, weights, 0.7))
    numeric = approx_fprime(
        points.ravel(), lambda x: reference(rows, x.reshape(N, Q), slopes, lapses, weights, 0.7), 1e-7
    )
    np.testing.assert_allclose(gradient.ravel(), numeric, atol=2e-5)
    of_offset = approx_fprime([0.0], lambda x: reference(rows, points, slopes, lapses, weights, 0.7 * np.exp(x[0])))
    of_slope = approx_fprime([0.0], lambda x: reference(rows, points, slopes * np.exp(x[0]), lapses, weights, 0.7))
    assert by_offset == pytest.approx(of_offset[0], abs=1e-5)
    assert by_slope == pytest.approx(of_slope[0], abs=1e-5)


def test_overwhelming_odds_stay_finite(drawn):
    rows, points, _, _, weights = drawn
    gradient = np.zeros((N, Q))
    found = log_likelihood(points, rows, np.full(M, 1e6), np.zeros(M), weights, 1e-6, gradient)
    assert np.isfinite(found).all()
    assert np.isfinite(gradient).all()


def test_the_grid_has_the_likelihood_of_each_person():
    rng = np.random.default_rng(0)
    log_odds, weights, people = rng.normal(size=M), rng.uniform(0.5, 2, M), np.arange(M) % 3
    factors, lapses = np.array([0.5, 1.0, 2.0]), np.array([0.01, 0.3])
    found = np.zeros((4, 3, 2))
    grid_log_likelihood(log_odds, weights, people, factors, lapses, found)
    for a, factor in enumerate(factors):
        for b, lapse in enumerate(lapses):
            each = weights * np.log(answer_probability(factor * log_odds, lapse))
            np.testing.assert_allclose(found[:, a, b], np.bincount(people, each, 4))

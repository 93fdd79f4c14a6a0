"""The model of answers: its derivatives against finite differences, its information against all possible answers."""

import numpy as np
import pytest
from helpers.drawn_rows import random_quadruplets
from scipy.optimize import approx_fprime, minimize
from scipy.special import expit, logit

from nearer.comparing.group_models import FittedMap, Responses, fit_map, information, lapse_rates, log_loss, scores
from nearer.model.answers import answer_probability


@pytest.fixture(scope="module", params=["triplets", "quadruplets"])
def responses(request):
    rng = np.random.default_rng(0)
    return Responses(random_quadruplets(rng, 6, 40, request.param), rng.uniform(0.5, 2, 40), 6)


@pytest.fixture(scope="module")
def fitted():
    return FittedMap(np.random.default_rng(1).normal(size=(6, 2)), 0.1)


def minus_log_likelihood(responses, points, lapse):
    i, j, l, k = responses.rows.T  # noqa: E741
    gaps = ((points[l] - points[k]) ** 2).sum(1) - ((points[i] - points[j]) ** 2).sum(1)
    return -responses.weights @ np.log(lapse / 2 + (1 - lapse) * expit(gaps))


def test_scores_are_derivatives(responses, fitted):
    units = np.arange(40) % 3
    of_map, of_lapse = scores(responses, fitted, units)
    for unit in range(3):
        part = responses.subset(units == unit)
        by_map = approx_fprime(fitted.points.ravel(), lambda x, p=part: -minus_log_likelihood(p, x.reshape(6, 2), 0.1))
        by_lapse = approx_fprime([0.1], lambda x, p=part: -minus_log_likelihood(p, fitted.points, x[0]))
        np.testing.assert_allclose(of_map[unit], by_map, atol=1e-5)
        np.testing.assert_allclose(of_lapse[unit], by_lapse[0], atol=1e-4)
    assert minus_log_likelihood(responses, fitted.points, 0.1) == pytest.approx(
        responses.weights @ log_loss(responses, fitted)
    )


def test_information_is_the_expected_square_of_the_score(responses, fitted):
    responses = Responses(responses.rows, np.ones(40), 6)
    turned = Responses(responses.rows[:, [2, 3, 0, 1]], np.ones(40), 6)
    each = np.arange(40)
    expected = np.zeros((13, 13))
    for way in (responses, turned):
        score = np.column_stack(scores(way, fitted, each))
        expected += score.T @ (score * answer_probability(way.margins(fitted.points), 0.1)[:, None])
    of_map, cross, of_lapse = information(responses, fitted)
    np.testing.assert_allclose(of_map, expected[:12, :12], atol=1e-10)
    np.testing.assert_allclose(cross, expected[:12, 12], atol=1e-10)
    assert of_lapse == pytest.approx(expected[12, 12])


def test_shift_and_turn_have_no_score(responses, fitted):
    score = scores(responses, fitted, np.zeros(40, dtype=int))[0].reshape(6, 2)
    np.testing.assert_allclose(score.sum(axis=0), 0, atol=1e-10)
    assert np.vdot(score, fitted.points @ np.array([[0.0, 1.0], [-1.0, 0.0]])) == pytest.approx(0, abs=1e-10)


def test_a_fit_is_that_of_a_general_minimizer(responses, fitted):
    def price(x):
        points, lapse = x[:-1].reshape(6, 2), expit(x[-1])
        beyond = (x[-1] + 4) / 1.5
        away = points - fitted.points
        return minus_log_likelihood(responses, points, lapse) + 1.5 * (away**2).sum() + beyond**2 / 2

    plain = minimize(price, np.append(fitted.points.ravel(), logit(0.1)), method="BFGS", options={"gtol": 1e-6})
    found = fit_map(responses, fitted, fitted.points, 3.0)
    np.testing.assert_allclose(found.points.ravel(), plain.x[:-1], atol=2e-3)
    assert price(np.append(found.points.ravel(), logit(found.lapse))) <= plain.fun + 1e-4


def test_who_answers_both_ways_equally_often_has_a_high_lapse_rate():
    responses = Responses(np.tile([0, 1, 0, 2], (40, 1)), np.ones(40), 3)
    responses.rows[20::2] = [0, 2, 0, 1]
    rates = lapse_rates(responses, np.array([[0.0], [1.0], [3.0]]), np.repeat([0, 1], 20))
    assert rates[0] < 0.2
    assert rates[-1] > 0.8

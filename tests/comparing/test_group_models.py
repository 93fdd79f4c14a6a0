"""The model of groups: people who differ, the number of dimensions, and maps that depart from that of all."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from benchmarks.validity.groups import TwoGroups
from nearer.comparing.group_models import (
    Population,
    Responses,
    choose_components,
    departure_precision,
    fit_common,
    fit_departing,
    fit_dimensions,
    fit_maps,
    fit_stretched,
    log_probabilities,
)
from nearer.geometry import procrustes_error
from nearer.model.answers import AnswerModel


def responses_to(study, seed=0):
    comparisons, groups, maps, _ = study.draw(np.random.default_rng(seed))
    return Responses.of(comparisons), groups, maps


@pytest.fixture(scope="module")
def plain():
    return responses_to(TwoGroups(8, sizes=(8, 8), n_answers=(60, 60)))


@pytest.fixture(scope="module")
def common(plain):
    return fit_dimensions(plain[0], 3, np.random.default_rng(0))[2]


def test_the_map_is_that_of_the_answers(plain, common):
    assert procrustes_error(common.points, plain[2][0]) < 0.05
    assert np.square(common.points).mean() == pytest.approx(1, abs=0.1)
    np.testing.assert_allclose(common.points.mean(axis=0), 0, atol=1e-10)


def test_a_fit_is_where_the_likelihood_is_largest(plain, common):
    """No direction of the map raises the likelihood, once people and the map agree."""
    responses = plain[0]
    fitted = fit_common(responses, common, 3, 400)
    best = responses.weights @ log_probabilities(responses, fitted)
    rng = np.random.default_rng(0)
    for _ in range(10):
        moved = replace(fitted, points=fitted.points + 0.05 * rng.normal(size=fitted.points.shape))
        assert responses.weights @ log_probabilities(responses, moved) < best


def test_slopes_and_lapses_of_people_are_found_and_shrunk():
    steep = responses_to(TwoGroups(10, sizes=(10, 10), steepness=(0.5, 5.0), lapses=(0.0, 0.0)))[0]
    fitted = fit_dimensions(steep, 3, np.random.default_rng(0))[2]
    assert fitted.deviations[10:].min() > fitted.deviations[:10].max()
    assert fitted.population.slope_deviation > 0.5
    lapsing = responses_to(TwoGroups(10, sizes=(10, 10), steepness=(5.0, 5.0), lapses=(0.0, 1.0)))[0]
    fitted = fit_common(lapsing, fit_dimensions(lapsing, 3, np.random.default_rng(0))[2], 10)
    assert fitted.lapses[10:].mean() > fitted.lapses[:10].mean() + 0.2
    few = fit_common(lapsing.subset(np.arange(2000) % 20 == 0), fitted, 2)  # five answers of each
    assert np.ptp(few.lapses) < np.ptp(fitted.lapses)


def test_people_without_answers_are_like_the_population(plain, common):
    none = replace(plain[0], n_people=17)
    more = replace(common, deviations=np.zeros(17), lapses=np.full(17, 0.05))
    fitted = fit_common(none, more, 1)
    assert abs(fitted.deviations[16]) < 0.1
    assert fitted.lapses[16] == pytest.approx(fitted.lapses.mean(), abs=0.1)


def test_the_population_is_a_distribution():
    assert Population().shares.sum() == pytest.approx(1)
    assert Population(slope_deviation=1e-3).shares.max() > 0.1


@pytest.mark.parametrize("p", [1, 2])
def test_the_number_of_dimensions_predicts_best(p):
    responses = responses_to(TwoGroups(10, p, sizes=(10, 10)))[0]
    trials = np.arange(len(responses.rows))
    assert choose_components(responses, trials, np.random.default_rng(0)) == p
    shown, tested = fit_maps(responses, trials, None, np.random.default_rng(0))
    assert (shown.points.shape[1], tested.points.shape[1]) == (p, p + 1)
    shown, tested = fit_maps(responses, trials, 3, np.random.default_rng(0))
    assert (shown.points.shape[1], tested.points.shape[1]) == (3, 4)


def test_a_map_that_is_asked_for_in_too_few_dimensions_is_tested_in_enough():
    responses = responses_to(TwoGroups(9, 4, sizes=(15, 15)))[0]
    shown, tested = fit_maps(responses, np.arange(len(responses.rows)), 1, np.random.default_rng(0))
    assert shown.points.shape[1] == 1
    assert tested.points.shape[1] >= 4


def test_three_objects_have_a_plane_at_most():
    responses = responses_to(TwoGroups(3, 1, sizes=(3, 3), n_moved=0))[0]
    shown, tested = fit_maps(responses, np.arange(len(responses.rows)), None, np.random.default_rng(0))
    assert (shown.points.shape[1], tested.points.shape[1]) == (1, 2)


def test_a_departing_map_is_that_of_a_general_minimizer(plain, common):
    responses, groups, _ = plain
    part = responses.subset(groups == 0)
    answering = common.answering(part.people)

    def price(x):
        points = x.reshape(common.points.shape)
        near, far = part.distances(points)
        log_likelihood = part.weights @ np.log(answering.probability(near, far))
        return np.square(points - common.points).sum() * 3 / 2 - log_likelihood

    found = fit_departing(part, common, 3.0)
    plainly = minimize(price, common.points.ravel(), method="BFGS", options={"gtol": 1e-5})
    assert price(found.ravel()) == pytest.approx(plainly.fun, abs=1e-3)
    tight = fit_departing(part, common, departure_precision(common, 1e-3))
    assert np.abs(tight - common.points).max() < 0.01 * np.abs(found - common.points).max() + 1e-3


def test_weights_of_dimensions_are_found_along_any_axes(plain, common):
    """A group that sees the map stretched along a slanted axis is fitted by weights alone."""
    responses = plain[0]
    axis = np.array([0.6, 0.8])
    seen = common.points @ (np.eye(2) + 0.8 * np.outer(axis, axis))
    near, far = responses.distances(seen)
    certain = AnswerModel(30.0, common.offset, 0.0).probability(near, far) < 0.5
    rows = np.where(certain[:, None], responses.rows[:, [2, 3, 0, 1]], responses.rows)
    answers = replace(responses, rows=rows)
    stretched = fit_stretched(answers, common, 0.1)
    assert procrustes_error(stretched, seen) < 0.3 * procrustes_error(common.points, seen)
    np.testing.assert_allclose(fit_stretched(answers, common, 1e9), common.points, atol=1e-3)

"""The likelihood of weighted maps: against plain formulas, finite differences, and integrals."""

import numpy as np
import pytest
from helpers.people import planted_weights
from scipy.integrate import quad
from scipy.optimize import approx_fprime
from scipy.special import expit
from scipy.stats import norm

from nearer.embedding.individual_model import (
    NUMBER_SCALES,
    Quadratic,
    Spread,
    Unknowns,
    WeightedModel,
    evidence,
    expand,
    likeliest_spread,
    standard_errors,
)
from nearer.embedding.individual_search import (
    likeliest_rotation,
    metric_quadratic,
    normalize_weights,
    plane_rotation,
    rotated_contrasts,
)
from nearer.sampling.model import distinct_comparisons

RNG = np.random.default_rng(3)
ANSWERS = planted_weights(RNG.normal(size=(4, 3)), 60, n_objects=8, seed=1).comparisons


SOME = Spread(0.7, 0.4)


def model_of(spread=SOME):
    return WeightedModel(distinct_comparisons(ANSWERS), 8, 3, spread)


def unknowns_of(model, seed=0):
    rng = np.random.default_rng(seed)
    people = rng.normal(size=(4, 4)) * model.deviations
    return Unknowns(rng.normal(size=(8, 3)), people, np.array([1.0, 0.3, -3.0]))


def plain_log_likelihood(model, unknowns):
    """The formulas of the docstring, one answer at a time."""
    steepness, kernel, lapse = unknowns.numbers
    people = sorted(set(ANSWERS.annotators.tolist()))
    total = 0.0
    for (i, j, l, k), name in zip(ANSWERS.oriented.tolist(), ANSWERS.annotators.tolist(), strict=True):  # noqa: E741
        *c, g, own_lapse = unknowns.people[people.index(name)]
        weights = np.exp(model_of().contrasts @ c)
        near = weights @ (unknowns.points[i] - unknowns.points[j]) ** 2
        far = weights @ (unknowns.points[l] - unknowns.points[k]) ** 2
        width = np.exp(kernel)
        odds = np.exp(steepness + g) * (1 + width) * np.log((2 * width + far) / (2 * width + near))
        guess = expit(lapse + own_lapse)
        total += np.log(guess / 2 + (1 - guess) * expit(odds))
    return total


def test_the_likelihood_is_that_of_the_docstring():
    model = model_of()
    unknowns = unknowns_of(model)
    assert model.log_likelihoods(unknowns).sum() == pytest.approx(plain_log_likelihood(model, unknowns))


@pytest.mark.parametrize("spread", [SOME, Spread(0.0, 0.4)])
def test_the_gradient_is_that_of_finite_differences(spread):
    model = model_of(spread)
    start = model.pack(unknowns_of(model))
    found = approx_fprime(start, lambda vector: model.density(vector)[0], 1e-6)
    np.testing.assert_allclose(model.density(start)[1], found, atol=2e-3, rtol=1e-4)


def test_packing_and_unpacking():
    model = model_of()
    unknowns = unknowns_of(model)
    for back, there in zip(model.unpack(model.pack(unknowns)), unknowns, strict=True):
        np.testing.assert_allclose(back, there)


def test_centring_weights_changes_no_distance():
    model = model_of()
    unknowns = unknowns_of(model)
    moved = normalize_weights(model, unknowns, np.ones(8, bool))
    np.testing.assert_allclose(model.log_likelihoods(moved), model.log_likelihoods(unknowns))
    np.testing.assert_allclose(model.log_weights(moved.people).mean(axis=0), 0, atol=1e-12)


def test_the_pull_of_a_person_is_the_slope_of_their_likelihood():
    model = model_of()
    unknowns = unknowns_of(model)
    shape = expand(model, unknowns)
    gradient = shape.pull - np.einsum("sde,se->sd", shape.curvature, unknowns.people)

    def of_person(theta):
        people = unknowns.people.copy()
        people[2] = theta
        return model.log_likelihoods(unknowns._replace(people=people))[2]

    np.testing.assert_allclose(gradient[2], approx_fprime(unknowns.people[2], of_person, 1e-6), atol=1e-3)


def test_evidence_is_an_integral():
    shape = Quadratic(np.array([[[3.0]], [[0.5]]]), np.array([[1.5], [-2.0]]))
    whole = 0.0
    for curvature, pull in ((3.0, 1.5), (0.5, -2.0)):
        integrand = lambda t, c=curvature, h=pull: np.exp(h * t - c * t * t / 2) * norm.pdf(t, scale=0.8)  # noqa: E731
        whole += np.log(quad(integrand, -12, 12)[0])
    assert shape.evidence(np.array([0.8])) == pytest.approx(whole)
    assert shape.evidence(np.array([0.0])) == 0


def test_evidence_of_people_who_do_not_differ_is_the_likelihood():
    model = model_of(Spread(0.0, 0.0))
    unknowns = unknowns_of(model)
    unknowns = unknowns._replace(people=np.zeros_like(unknowns.people))
    model.__dict__["deviations"] = np.zeros(4)
    expected = model.log_likelihoods(unknowns).sum() - 1.5 * np.sum(unknowns.points**2)
    assert evidence(model, unknowns) == pytest.approx(expected)


def test_the_spread_of_known_values_is_found():
    rng = np.random.default_rng(0)
    sharp = np.tile(200.0 * np.eye(3), (400, 1, 1))
    values = rng.normal(size=(400, 3)) * [0.6, 0.3, 1.0]
    found = likeliest_spread(Quadratic(sharp, 200 * values), Spread(0.2, 0.2))
    # What the pulls have beside is noise of variance 1 / 200 that is not there.
    np.testing.assert_allclose(np.sqrt(np.square(found) + 1 / 200), [0.6, 0.3], rtol=0.1)


def test_slopes_by_the_metric_are_those_by_weights_in_a_turned_map():
    model = model_of()
    unknowns = unknowns_of(model)
    unknowns = unknowns._replace(people=np.column_stack([np.zeros((4, 2)), unknowns.people[:, 2:]]))
    turn = plane_rotation(3, (0, 2), 0.4) @ plane_rotation(3, (0, 1), 1.0)
    turned = expand(model, unknowns._replace(points=unknowns.points @ turn))
    along = metric_quadratic(model, unknowns).along(rotated_contrasts(turn, model.contrasts))
    np.testing.assert_allclose(along.curvature, turned.curvature, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(along.pull, turned.pull, rtol=1e-8, atol=1e-8)


def test_axes_that_were_planted_are_found():
    """Metrics of people that are diagonal in turned axes."""
    rng = np.random.default_rng(0)
    turn = plane_rotation(3, (0, 1), 0.5) @ plane_rotation(3, (1, 2), 0.8) @ plane_rotation(3, (0, 2), -0.3)
    plan = rotated_contrasts(turn, model_of().contrasts)
    theta = rng.normal(size=(40, 4)) * [0.7, 0.7, 0.1, 0.1]
    curvature = np.tile(100.0 * np.eye(8), (40, 1, 1))
    found, spread = likeliest_rotation(Quadratic(curvature, 100 * theta @ plan.T), model_of().contrasts, rng)
    overlap = np.abs(found.T @ turn)
    np.testing.assert_allclose(overlap.max(axis=0), 1, atol=0.02)
    assert 0.5 < spread.weights < 0.9


N, P, S = 6, 3, 4


def test_standard_errors_are_those_of_the_whole_information():
    rng = np.random.default_rng(0)
    answers = distinct_comparisons(planted_weights(rng.normal(size=(S, P)), 40, n_objects=N).comparisons)
    model = WeightedModel(answers, N, P, Spread(0.6, 0.4))
    start = np.concatenate([rng.normal(size=N * P), 0.5 * rng.normal(size=S * (P + 1)), [1.0, 0.3, -2.0]])

    def unknowns(vector):
        points, people = vector[: N * P].reshape(N, P), vector[N * P : -3].reshape(S, P + 1)
        return Unknowns(points, people, vector[-3:])

    slopes = approx_fprime(start, lambda vector: model.parts(unknowns(vector))[1].probability, 1e-7)
    chance = model.parts(unknowns(start))[1].probability
    prior = np.concatenate([np.full(N * P, P), np.tile(1 / model.deviations**2, S), 1 / NUMBER_SCALES**2])
    information = slopes.T @ (slopes * (answers.total_weights / (chance * (1 - chance)))[:, None]) + np.diag(prior)
    covariance = np.linalg.inv(information)[N * P : -3, N * P : -3]
    relative = np.kron(np.eye(S) - 1 / S, np.eye(P + 1))
    covariance = relative @ covariance @ relative.T
    logs = np.kron(np.eye(S), np.hstack([model.contrasts, np.zeros((P, 2))]))
    expected = np.sqrt(np.diag(logs @ covariance @ logs.T)).reshape(S, P)
    log_weights, axes = standard_errors(model, unknowns(start))
    np.testing.assert_allclose(log_weights, expected, rtol=1e-3)
    assert 0 < axes < 90


def test_weights_that_do_not_differ_are_known():
    answers = distinct_comparisons(planted_weights(np.zeros((S, P)), 40, n_objects=N).comparisons)
    model = WeightedModel(answers, N, P, Spread(0.0, 0.4))
    log_weights, axes = standard_errors(model, Unknowns(np.ones((N, P)), np.zeros((S, P + 1)), np.zeros(3)))
    assert not log_weights.any()
    assert np.isnan(axes)

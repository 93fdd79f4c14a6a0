"""Kinds of people: found where they are, one where people differ by degrees or not at all."""

import numpy as np
import pytest
from scipy.stats import norm

from nearer.embedding.individual_model import Quadratic
from nearer.embedding.individual_search import _expectation_maximization, find_kinds, weights_marginal

NOISE = 0.2


def seen(values, seed=0):
    """What answers say of values that they show with noise."""
    rng = np.random.default_rng(seed)
    shown = values + NOISE * rng.normal(size=values.shape)
    return Quadratic(np.tile(np.eye(values.shape[1]) / NOISE**2, (len(values), 1, 1)), shown / NOISE**2)


def test_two_kinds_are_found():
    kind = np.arange(30) % 3 == 0
    found = find_kinds(seen(np.where(kind, 0.8, -0.6)[:, None]), 0.7)
    np.testing.assert_array_equal(found.of_people, kind)
    np.testing.assert_allclose(found.centers[:, 0], [-0.6, 0.8], atol=0.15)


@pytest.mark.parametrize("spread", [0.0, 0.02, 0.7])
def test_people_who_differ_by_degrees_or_not_at_all_are_one_kind(spread):
    values = spread * np.random.default_rng(1).normal(size=(30, 2))
    found = find_kinds(seen(values), spread)
    assert len(found.centers) == 1
    assert not found.of_people.any()


def test_the_likelihood_of_one_kind_is_that_of_sums_of_normals():
    values = 0.5 * np.random.default_rng(0).normal(size=(25, 1))
    shape = seen(values)
    shown = shape.pull[:, 0] * NOISE**2
    mixture = _expectation_maximization(shape, np.zeros((1, 1)), np.ones(1), 0.3)
    width = np.sqrt(max(np.mean(shown**2) - NOISE**2, 0))
    whole = norm.logpdf(shown, scale=np.hypot(width, NOISE)) - norm.logpdf(shown, loc=shown, scale=NOISE)
    expected = np.sum(whole + shown**2 / (2 * NOISE**2))
    assert mixture.likelihood == pytest.approx(expected, abs=0.01)


def test_what_is_known_of_weights_alone_is_less():
    """With everything else integrated out, the curvature is that of the inverse's block."""
    rng = np.random.default_rng(0)
    factor = rng.normal(size=(3, 4, 6))
    shape = Quadratic(factor @ np.swapaxes(factor, 1, 2), rng.normal(size=(3, 4)))
    deviations = np.array([0.7, 0.7, 0.4, 1.0])
    alone = weights_marginal(shape, deviations)
    whole = shape.curvature + np.diag([0, 0, 1 / 0.4**2, 1])
    inverse = np.linalg.inv(whole)
    np.testing.assert_allclose(np.linalg.inv(alone.curvature), inverse[:, :2, :2], rtol=1e-6)
    best = np.einsum("sde,se->sd", inverse, shape.pull)[:, :2]
    np.testing.assert_allclose(np.einsum("sde,se->sd", np.linalg.inv(alone.curvature), alone.pull), best, rtol=1e-6)

"""Starts that climb: towards the normal distribution that is nearest, whatever the start."""

import numpy as np
import pytest
from helpers import posterior_twin as twin

from nearer.sampling import Prior
from nearer.sampling.climbing import FIRST_RATE, Climb

ROWS = np.array([np.random.default_rng(q).choice(9, 3, replace=False) for q in range(80)])


def test_without_information_it_ends_at_the_prior():
    model = twin.model_about([[0, 1, 2]], 3, 2, weights=[1e-12])
    climb = Climb(model, np.full(model.size, 0.5), np.random.default_rng(0))
    climb.go(500, FIRST_RATE, FIRST_RATE)
    climb.go(1000, FIRST_RATE, FIRST_RATE / 100)
    centres, scales = np.r_[np.zeros(11), Prior().centres], np.r_[np.ones(11), Prior().scales]
    normal = np.delete(np.arange(20), 17)  # all but the Cauchy one
    np.testing.assert_allclose(((climb.mean - centres) / scales)[normal], 0, atol=0.12)
    np.testing.assert_allclose((np.exp(climb.log_deviation) / scales)[normal], 1, atol=0.12)
    drawn = climb.draw(4000)
    np.testing.assert_allclose(drawn.mean(axis=0), climb.mean, atol=5 * np.exp(climb.log_deviation.max()) / 4000**0.5)
    np.testing.assert_allclose(drawn.std(axis=0), np.exp(climb.log_deviation), rtol=0.08)


def test_it_rises_step_by_step_and_says_so():
    model, steps = twin.model_about(ROWS, 9, 2), []
    start = model.start(np.random.default_rng(0))
    climb = Climb(model, start, np.random.default_rng(1), lambda: steps.append(1))
    assert climb.height == -np.inf
    climb.go(30, FIRST_RATE, FIRST_RATE)
    first = climb.height
    assert first == pytest.approx(np.mean(climb.bounds[-20:]))
    climb.go(200, FIRST_RATE, FIRST_RATE / 20)
    assert climb.height > first + 5
    assert len(steps) == len(climb.bounds) == 230
    assert (climb.mean[:18] != start[:18]).all()  # and the start is left as it was
    np.testing.assert_array_equal(start, model.start(np.random.default_rng(0)))


def test_the_bound_is_that_of_the_density_and_the_entropy():
    """At a fixed normal distribution: the mean of guesses is E[log-density] + sum of log-deviations."""
    model = twin.model_about(ROWS, 9, 2)
    climb = Climb(model, model.start(np.random.default_rng(0)), np.random.default_rng(1))
    climb.log_deviation[:] = -3.0
    expected = np.mean([model.density(q)[0] for q in climb.draw(2000)]) - 3.0 * model.size
    climb.go(300, 1e-12, 1e-12)
    assert np.mean(climb.bounds) == pytest.approx(expected, abs=0.3)

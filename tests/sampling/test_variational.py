"""The mean-field approximation: known answers, a bound that rises, repeatability."""

import numpy as np
import pytest
from helpers import posterior_reference as reference
from helpers.drawn_rows import random_quadruplets

from nearer import Comparisons
from nearer.datasets import make_gaussian
from nearer.sampling import Prior, Variational
from nearer.sampling.model import model_of
from nearer.sampling.variational import FIRST_RATE, MeanField, sample_variational

ROWS = np.array([np.random.default_rng(q).choice(9, 3, replace=False) for q in range(80)])


def test_without_information_it_ends_at_the_prior():
    model = reference.model_about([[0, 1, 2]], 3, 2, weights=[1e-12])
    climb = MeanField(model, np.full(model.size, 0.5), np.random.default_rng(0))
    climb.optimize(500, FIRST_RATE, FIRST_RATE)
    climb.optimize(1000, FIRST_RATE, FIRST_RATE / 100)
    centres, scales = np.r_[np.zeros(11), Prior().centers], np.r_[np.ones(11), Prior().scales]
    normal = np.delete(np.arange(20), 17)  # all but the Cauchy one
    np.testing.assert_allclose(((climb.mean - centres) / scales)[normal], 0, atol=0.12)
    np.testing.assert_allclose((np.exp(climb.log_deviation) / scales)[normal], 1, atol=0.12)
    drawn = climb.draw(4000)
    np.testing.assert_allclose(drawn.mean(axis=0), climb.mean, atol=5 * np.exp(climb.log_deviation.max()) / 4000**0.5)
    np.testing.assert_allclose(drawn.std(axis=0), np.exp(climb.log_deviation), rtol=0.08)


def test_the_lower_bound_rises_at_each_step():
    model, steps = reference.model_about(ROWS, 9, 2), []
    start = model.start(np.random.default_rng(0))
    climb = MeanField(model, start, np.random.default_rng(1), lambda: steps.append(1))
    assert climb.lower_bound == -np.inf
    climb.optimize(30, FIRST_RATE, FIRST_RATE)
    first = climb.lower_bound
    assert first == pytest.approx(np.mean(climb.bounds[-20:]))
    climb.optimize(200, FIRST_RATE, FIRST_RATE / 20)
    assert climb.lower_bound > first + 5
    assert len(steps) == len(climb.bounds) == 230
    assert (climb.mean[:18] != start[:18]).all()  # and the start is left as it was
    np.testing.assert_array_equal(start, model.start(np.random.default_rng(0)))


def test_the_bound_is_that_of_the_density_and_the_entropy():
    """At a fixed normal distribution: the mean of guesses is E[log-density] + sum of log-deviations."""
    model = reference.model_about(ROWS, 9, 2)
    climb = MeanField(model, model.start(np.random.default_rng(0)), np.random.default_rng(1))
    climb.log_deviation[:] = -3.0
    expected = np.mean([model.density(q)[0] for q in climb.draw(2000)]) - 3.0 * model.size
    climb.optimize(300, 1e-12, 1e-12)
    assert np.mean(climb.bounds) == pytest.approx(expected, abs=0.3)


SEED = np.random.SeedSequence(0)


def test_without_information_the_answer_is_the_prior():
    """Independent normal numbers are what it approximates by: means, deviations and the bound are known exactly."""
    model = reference.model_about([[0, 1, 2]], 3, 2, weights=[1e-12])
    found = sample_variational(model, Variational(n_steps=2000, n_draws=4000), SEED)
    draws = np.delete(found.unknowns[0], -3, axis=1)  # all but the Cauchy one
    centres, scales = np.zeros(19), np.ones(19)
    centres[-8:], scales[-8:] = np.delete(Prior().centers, 6), np.delete(Prior().scales, 6)
    np.testing.assert_allclose((draws.mean(axis=0) - centres) / scales, 0, atol=0.12)
    np.testing.assert_allclose(draws.std(axis=0) / scales, 1, atol=0.12)
    # E[-z^2 / 2] + log(scale) for each of them; the Cauchy number adds between -2 and 0 above its own log(scale).
    bound = -0.5 * 19 + np.log(Prior().scales).sum()
    assert bound - 2 < found.densities[0, -200:].mean() < bound + 1


def test_the_lower_bound_rises_and_includes_the_likelihood():
    model, _ = model_of(Comparisons.from_triplets(ROWS), 2)
    found = sample_variational(model, Variational(400, 20), SEED)
    bounds = found.densities[0]
    assert bounds.shape == (500,)
    parts = bounds.reshape(5, 100).mean(axis=1)
    assert (np.diff(parts) > -1.5).all()  # up to the noise of the guesses
    assert parts[-1] > parts[0] + 10
    assert found.unknowns.shape == (1, 20, model.size)
    assert (found.n_steps, found.n_divergent, found.interrupted) == (2 * (8 * 100 + 400), 0, False)


def test_the_lower_bound_reached_does_not_depend_on_the_start():
    points = make_gaussian(15, 2, random_state=1)
    rows = random_quadruplets(np.random.default_rng(0), 15, 560, "quadruplets")
    near, far = (((points[rows[:, a]] - points[rows[:, b]]) ** 2).sum(axis=1) for a, b in ((0, 1), (2, 3)))
    model, _ = model_of(Comparisons.from_quadruplets(rows, near < far), 2)
    reached = [
        sample_variational(model, Variational(800, 4), np.random.SeedSequence(seed)).densities[0, -50:].mean()
        for seed in range(6)
    ]
    assert np.ptp(reached) < 10


def test_results_are_reproducible_to_the_last_bit():
    model, _ = model_of(Comparisons.from_triplets(ROWS), 2)
    one, two = (sample_variational(model, Variational(50, 10), np.random.SeedSequence(0)) for _ in range(2))
    np.testing.assert_array_equal(one.unknowns, two.unknowns)
    other = sample_variational(model, Variational(50, 10), np.random.SeedSequence(1))
    assert (other.unknowns != one.unknowns).all()


@pytest.mark.parametrize("after", [0, 30, 95])
def test_an_interrupt_keeps_the_approximation_so_far(after, monkeypatch):
    model, _ = model_of(Comparisons.from_triplets(ROWS), 2)
    count = iter(range(1000))

    def interrupted(self, unknowns):
        if next(count) == 2 * after:  # two evaluations a step
            raise KeyboardInterrupt
        return plain(self, unknowns)

    plain = type(model).density
    monkeypatch.setattr(type(model), "density", interrupted)
    settings = Variational(50, 10, n_starts=4, n_start_steps=20)
    if after == 0:
        with pytest.raises(KeyboardInterrupt):
            sample_variational(model, settings, SEED)
        return
    found = sample_variational(model, settings, SEED)
    assert found.interrupted
    # Two starts and a half; all four, and 15 steps of the best.
    assert found.densities.shape == (1, {30: 20, 95: 35}[after])
    assert np.isfinite(found.unknowns).all()


@pytest.mark.parametrize(
    ("settings", "message"), [({"n_steps": 5}, "n_steps"), ({"n_draws": 1}, "n_draws"), ({"rate": 0}, "rate")]
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        Variational(**settings)

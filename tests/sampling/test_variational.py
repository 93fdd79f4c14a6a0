"""The approximation: a case with a known answer, a bound that rises, repeatability."""

import numpy as np
import pytest
from helpers import posterior_twin as twin
from helpers.drawn_rows import random_quadruplets

from nearer import Comparisons
from nearer.datasets import make_gaussian
from nearer.sampling import Prior, Variational
from nearer.sampling.model import model_of
from nearer.sampling.variational import approximate

SEED = np.random.SeedSequence(0)
ROWS = np.array([np.random.default_rng(q).choice(9, 3, replace=False) for q in range(80)])


def test_without_information_the_answer_is_the_prior():
    """Independent normal numbers are what it approximates by: means, deviations and the bound are known exactly."""
    model = twin.model_about([[0, 1, 2]], 3, 2, weights=[1e-12])
    found = approximate(model, Variational(n_steps=2000, n_draws=4000), SEED)
    draws = np.delete(found.unknowns[0], -3, axis=1)  # all but the Cauchy one
    centres, scales = np.zeros(19), np.ones(19)
    centres[-8:], scales[-8:] = np.delete(Prior().centres, 6), np.delete(Prior().scales, 6)
    np.testing.assert_allclose((draws.mean(axis=0) - centres) / scales, 0, atol=0.12)
    np.testing.assert_allclose(draws.std(axis=0) / scales, 1, atol=0.12)
    # E[-z^2 / 2] + log(scale) for each of them; the Cauchy number adds between -2 and 0 above its own log(scale).
    bound = -0.5 * 19 + np.log(Prior().scales).sum()
    assert bound - 2 < found.densities[0, -200:].mean() < bound + 1


def test_the_bound_rises_and_has_the_data_in_it():
    model, _ = model_of(Comparisons.from_triplets(ROWS), 2)
    found = approximate(model, Variational(400, 20), SEED)
    bounds = found.densities[0]
    assert bounds.shape == (500,)
    parts = bounds.reshape(5, 100).mean(axis=1)
    assert (np.diff(parts) > -1.5).all()  # up to the noise of the guesses
    assert parts[-1] > parts[0] + 10
    assert found.unknowns.shape == (1, 20, model.size)
    assert (found.n_steps, found.n_divergent, found.interrupted) == (2 * (8 * 100 + 400), 0, False)


def test_the_bound_that_is_reached_does_not_depend_on_the_start():
    points = make_gaussian(15, 2, random_state=1)
    rows = random_quadruplets(np.random.default_rng(0), 15, 560, "quadruplets")
    near, far = (((points[rows[:, a]] - points[rows[:, b]]) ** 2).sum(axis=1) for a, b in ((0, 1), (2, 3)))
    model, _ = model_of(Comparisons.from_quadruplets(rows, near < far), 2)
    reached = [
        approximate(model, Variational(800, 4), np.random.SeedSequence(seed)).densities[0, -50:].mean()
        for seed in range(6)
    ]
    assert np.ptp(reached) < 10


def test_a_seed_repeats_every_bit():
    model, _ = model_of(Comparisons.from_triplets(ROWS), 2)
    one, two = (approximate(model, Variational(50, 10), np.random.SeedSequence(0)) for _ in range(2))
    np.testing.assert_array_equal(one.unknowns, two.unknowns)
    other = approximate(model, Variational(50, 10), np.random.SeedSequence(1))
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
    settings = Variational(50, 10, n_starts=4, n_first=20)
    if after == 0:
        with pytest.raises(KeyboardInterrupt):
            approximate(model, settings, SEED)
        return
    found = approximate(model, settings, SEED)
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

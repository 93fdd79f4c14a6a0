"""R-hat and effective sizes of chains for which both are known."""

import numpy as np
import pytest
from scipy.signal import lfilter

from nearer.sampling import diagnose


def autoregressive(correlation, chains=4, length=5000, seed=0):
    """Stationary chains x_t = correlation * x_(t-1) + noise, of variance 1."""
    rng = np.random.default_rng(seed)
    noise = np.sqrt(1 - correlation**2) * rng.standard_normal((chains, length))
    noise[:, 0] = rng.standard_normal(chains)
    return lfilter([1.0], [1.0, -correlation], noise, axis=1)


@pytest.mark.parametrize("correlation", [-0.4, 0.0, 0.5, 0.9])
def test_effective_size_of_autoregressive_chains(correlation):
    """The integrated autocorrelation time is (1 + c) / (1 - c)."""
    diagnosis = diagnose(autoregressive(correlation))
    expected = 20_000 * (1 - correlation) / (1 + correlation)
    assert diagnosis.effective == pytest.approx(expected, rel=0.15)
    assert diagnosis.rhat == pytest.approx(1, abs=0.01)


def test_effective_size_is_what_the_mean_is_known_by():
    """The variance of the mean over many repetitions is 1 / effective."""
    means = [autoregressive(0.8, 2, 500, seed).mean() for seed in range(400)]
    sizes = [diagnose(autoregressive(0.8, 2, 500, seed)).effective for seed in range(50)]
    assert np.median(sizes) == pytest.approx(1 / np.var(means), rel=0.2)


def test_a_rising_map_of_the_draws_changes_nothing_in_the_effective_size():
    draws = autoregressive(0.7)
    assert diagnose(np.exp(5 * draws)).effective == diagnose(draws).effective


def test_heavy_tails_do_no_harm():
    draws = np.random.default_rng(0).standard_cauchy((4, 2000))
    diagnosis = diagnose(draws)
    assert diagnosis.rhat < 1.01
    assert diagnosis.effective > 6000


@pytest.mark.parametrize(
    "spoil",
    [
        lambda draws: draws + np.array([[0.0], [0.0], [0.0], [3.0]]),  # another place
        lambda draws: draws * np.array([[1.0], [1.0], [1.0], [6.0]]),  # the same place, another spread
        lambda draws: draws + np.linspace(0, 3, 1000),  # on the way in all chains alike
    ],
    ids=["place", "spread", "trend"],
)
def test_chains_that_have_not_seen_the_same_are_told(spoil):
    draws = np.random.default_rng(0).standard_normal((4, 1000))
    assert diagnose(draws).rhat < 1.01
    assert diagnose(spoil(draws)).rhat > 1.1


def test_one_chain_is_compared_with_itself():
    draws = np.random.default_rng(0).standard_normal((1, 1000))
    assert diagnose(draws).rhat < 1.02
    assert diagnose(np.sort(draws)).rhat > 1.5


def test_nothing_is_known_of_a_constant_or_of_too_few():
    for draws in (np.ones((4, 100)), np.random.default_rng(0).normal(size=(4, 3)), np.ones((2, 1))):
        assert np.isnan(diagnose(draws)).all()


def test_an_odd_number_of_draws_leaves_the_middle_out():
    draws = autoregressive(0.3, length=1001)
    without = np.delete(draws, 500, axis=1)
    assert diagnose(draws) == diagnose(without)

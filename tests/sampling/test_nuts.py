"""The sampler: the prior without information, the truth of a small model, repeatability, interrupts."""

import hashlib
import os
import signal
from pathlib import Path

import numpy as np
import pytest
from helpers import posterior_reference as reference
from helpers.importance import ROWS, gaps_to_the_truth, small_model
from scipy.stats import cauchy, kstest, norm

from nearer import Comparisons
from nearer.sampling import NUTS, Prior, chains, nuts
from nearer.sampling.model import draws_of, model_of
from nearer.sampling.nuts import sample_nuts

SMALL = NUTS(3, n_warmup=40, n_draws=20, thin=5)
EXPOSURE = 11 + 6  # the only unknown of three objects in two dimensions that is not normal


def seeds(number, seed=0):
    return np.random.SeedSequence(seed).spawn(number)


def uninformed(n=3, p=2):
    """Comparisons of hardly any weight: nothing but the prior is left."""
    return reference.model_about([[0, 1, 2]], n, p, weights=[1e-12])


@pytest.fixture(scope="module")
def from_the_prior():
    model = uninformed()
    found = sample_nuts(model, NUTS(2, n_warmup=500, n_draws=12_000, thin=6), seeds(2), 1)
    return found.unknowns.reshape(-1, model.size)


def test_without_information_all_unknowns_follow_the_prior(from_the_prior):
    """Bounds of a Kolmogorov-Smirnov test with 4000 draws, as good as independent."""
    centres, scales = np.zeros(20), np.ones(20)
    centres[-9:], scales[-9:] = Prior().centers, Prior().scales
    for column in range(20):
        shape = cauchy if column == EXPOSURE else norm
        test = kstest(from_the_prior[:, column], shape(centres[column], scales[column]).cdf)
        assert test.pvalue > 1e-4, column


def test_without_information_moments_are_those_of_the_prior(from_the_prior):
    standard = from_the_prior[:, :11]
    error = 1 / np.sqrt(len(standard))
    np.testing.assert_allclose(standard.mean(axis=0), 0, atol=5 * error)
    np.testing.assert_allclose(standard.var(axis=0), 1, atol=5 * np.sqrt(2) * error)
    correlations = np.corrcoef(np.delete(from_the_prior, EXPOSURE, axis=1).T) - np.eye(19)
    np.testing.assert_allclose(correlations, 0, atol=5 * error)


@pytest.mark.parametrize(("kind", "people"), [("triplets", False), ("quadruplets", False), ("quadruplets", True)])
def test_a_small_posterior_is_that_of_importance_sampling(kind, people):
    """Chances of questions, a distance and some numbers, within Monte Carlo error of weighted draws from the prior."""
    model = small_model(kind, people=people)
    found = sample_nuts(model, NUTS(4, n_warmup=300, n_draws=1500 if people else 4000, thin=4), seeds(4), 1)
    gaps = gaps_to_the_truth(model, found.unknowns)
    assert (np.abs(gaps.means) < 4 * gaps.errors).all()
    np.testing.assert_allclose(gaps.variances, 0, atol=0.5 if people else 0.25)


def test_densities_are_those_of_the_draws():
    model, _ = model_of(Comparisons.from_triplets(ROWS), 2)
    found = sample_nuts(model, SMALL, seeds(3), 1)
    assert found.unknowns.shape == (3, 4, model.size)
    for unknowns, values in zip(found.unknowns, found.densities, strict=True):
        np.testing.assert_array_equal([model.density(q)[0] for q in unknowns], values)
    assert len(np.unique(found.densities)) == 12  # chains and draws differ
    assert not found.interrupted


def digest():
    """Of the draws of one seed, over points and comparisons that use all of the loops."""
    rows = np.array([np.random.default_rng(q).choice(9, 3, replace=False) for q in range(80)])
    model, _ = model_of(Comparisons.from_triplets(rows), 3)
    found = sample_nuts(model, SMALL, seeds(3), 1)
    maps = draws_of(model, found.unknowns.reshape(-1, model.size))
    return hashlib.sha256(found.unknowns.tobytes() + maps.points.tobytes()).hexdigest()


def test_results_do_not_depend_on_the_number_of_threads():
    model, _ = model_of(Comparisons.from_triplets(ROWS), 2)
    one, two, five = (sample_nuts(model, SMALL, seeds(3), n_threads) for n_threads in (1, 2, 5))
    for other in (two, five):
        np.testing.assert_array_equal(other.unknowns, one.unknowns)
        assert other.n_steps == one.n_steps
    different = sample_nuts(model, SMALL, seeds(3, seed=1), 1)
    assert (different.unknowns != one.unknowns).all()


def test_another_process_draws_the_same_bits(forks):
    folders = [str(folder) for folder in (Path(__file__).parent, Path(__file__).parents[1])]
    code = f"import sys; sys.path[:0] = {folders}; import test_nuts; print(test_nuts.digest())"
    other = forks.run("-c", code)
    assert other.stdout.strip() == digest()


@pytest.fixture
def interrupt(monkeypatch):
    """Return a function that has Ctrl-C pressed once the chains together made so many moves."""
    made = []
    plain = nuts._Chain._move

    def after(moves):
        def move(self, step, depth):
            made.append(1)
            if len(made) == moves:
                os.kill(os.getpid(), signal.SIGINT)
            return plain(self, step, depth)

        monkeypatch.setattr(nuts._Chain, "_move", move)

    return after


def test_an_interrupt_keeps_the_draws_of_all_chains(interrupt):
    model, _ = model_of(Comparisons.from_triplets(ROWS), 2)
    interrupt(after := 1000)
    # So many that a busy machine, on which the signal comes late, has not finished them.
    found = sample_nuts(model, NUTS(2, n_warmup=20, n_draws=1_500_000, thin=10), seeds(2), 2)
    assert found.interrupted
    chains, drawn, _ = found.unknowns.shape
    assert chains == 2 or drawn > after // 40
    assert 1 <= drawn < 150_000
    assert found.densities.shape == (chains, drawn)


def test_an_interrupt_keeps_the_first_chain_if_the_others_wait_for_a_thread(interrupt):
    model, _ = model_of(Comparisons.from_triplets(ROWS), 2)
    interrupt(1000)
    found = sample_nuts(model, NUTS(4, n_warmup=20, n_draws=300_000, thin=2), seeds(4), 1)
    assert found.interrupted
    assert found.unknowns.shape[0] == 1
    assert found.unknowns.shape[1] >= 400


def test_an_interrupt_during_warm_up_is_raised(interrupt):
    model, _ = model_of(Comparisons.from_triplets(ROWS), 2)
    interrupt(5)
    with pytest.raises(KeyboardInterrupt):
        sample_nuts(model, NUTS(2, n_warmup=300_000, n_draws=4, thin=1), seeds(2), 2)


def test_an_interrupt_while_chains_are_started_stops_running_ones(monkeypatch):
    class Interrupted(chains.ThreadPoolExecutor):
        def submit(self, *arguments):
            if self._threads:
                raise KeyboardInterrupt
            return super().submit(*arguments)

    moves = []
    plain = nuts._Chain._move
    monkeypatch.setattr(chains, "ThreadPoolExecutor", Interrupted)
    monkeypatch.setattr(nuts._Chain, "_move", lambda *arguments: moves.append(1) or plain(*arguments))
    model, _ = model_of(Comparisons.from_triplets(ROWS), 2)
    with pytest.raises(KeyboardInterrupt):
        sample_nuts(model, NUTS(2, n_warmup=50_000, n_draws=4, thin=1), seeds(2), 2)
    assert len(moves) < 50_000


def test_an_error_in_a_chain_is_raised(monkeypatch):
    def fail(self, step, depth):
        raise RuntimeError("out of luck")

    monkeypatch.setattr(nuts._Chain, "_move", fail)
    model, _ = model_of(Comparisons.from_triplets(ROWS), 2)
    with pytest.raises(RuntimeError, match="out of luck"):
        sample_nuts(model, SMALL, seeds(3), 2)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_chains": 0}, "n_chains"),
        ({"n_warmup": 10}, "n_warmup must be an integer >= 20"),
        ({"n_draws": 2.5}, "n_draws"),
        ({"thin": True}, "thin"),
        ({"max_depth": 0}, "max_depth"),
        ({"acceptance": 1.0}, "acceptance"),
        ({"n_draws": 30, "thin": 10}, "lower thin"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        NUTS(**settings)

"""Microcanonical steps and chains: the prior without information, the truth of a small model, steps that adapt."""

from itertools import pairwise

import numpy as np
import pytest
from helpers import posterior_twin as twin
from helpers.importance import gaps_to_the_truth, small_model
from scipy.stats import cauchy, kstest, norm

from nearer.datasets import make_gaussian, sample_triplets
from nearer.optimize.kernels import samplers as kernel
from nearer.sampling import Microcanonical, Prior
from nearer.sampling.microcanonical import Chain

EXPOSURE = 11 + 6  # the only unknown of three objects in two dimensions that is not normal
ROWS = np.array([np.random.default_rng(q).choice(9, 3, replace=False) for q in range(200)])


def chain_of(model, seed=0, **settings):
    rng = np.random.default_rng(seed)
    settings = Microcanonical(**settings)
    return Chain(model, rng, model.start(rng), np.ones(model.size), settings, lambda n_steps: None)


def drawn(model, n_steps, n_chains=4, **settings):
    chains = [chain_of(model, seed, **settings) for seed in range(n_chains)]
    for chain in chains:
        chain.warm_up()
        chain.go_on(n_steps)
    return np.array([chain.draws for chain in chains])


@pytest.fixture(scope="module")
def from_the_prior():
    """Walks of a fixed step where comparisons have hardly any weight: nothing but the prior is left."""
    model = twin.model_about([[0, 1, 2]], 3, 2, weights=[1e-12])
    scales = np.r_[np.ones(11), Prior().scales]
    draws = []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        q = model.start(rng)
        value, gradient = model.density(q)
        velocity = rng.standard_normal(model.size)
        velocity /= np.linalg.norm(velocity)
        for number in range(2100):
            value, _ = kernel.walk(q, velocity, gradient, value, 1.0, 15.0, scales, 60, rng, model.arguments)
            if number >= 100:
                draws.append(q.copy())
    return np.array(draws)


def test_without_information_all_unknowns_follow_the_prior(from_the_prior):
    """Bounds of a Kolmogorov-Smirnov test with 4000 draws, as good as independent but for the Cauchy one."""
    centres, scales = np.r_[np.zeros(11), Prior().centres], np.r_[np.ones(11), Prior().scales]
    for column in np.delete(np.arange(20), EXPOSURE):
        test = kstest(from_the_prior[:, column], norm(centres[column], scales[column]).cdf)
        assert test.pvalue > 1e-4, column
    assert kstest(from_the_prior[:, EXPOSURE], cauchy(0, Prior().scales[6]).cdf).statistic < 0.06


def test_without_information_moments_are_those_of_the_prior(from_the_prior):
    standard = from_the_prior[:, :11]
    error = 1 / np.sqrt(len(standard))
    np.testing.assert_allclose(standard.mean(axis=0), 0, atol=5 * error)
    np.testing.assert_allclose(standard.var(axis=0), 1, atol=5 * np.sqrt(2) * error)
    correlations = np.corrcoef(np.delete(from_the_prior, EXPOSURE, axis=1).T) - np.eye(19)
    np.testing.assert_allclose(correlations, 0, atol=5 * error)


@pytest.mark.parametrize(("kind", "people"), [("triplets", False), ("quadruplets", True)])
def test_a_small_posterior_is_nearly_that_of_importance_sampling(kind, people):
    """Steps are not corrected by acceptance: a bias stays, of a few hundredths in a chance."""
    model = small_model(kind, p=2, people=people)
    gaps = gaps_to_the_truth(model, drawn(model, 20_000))
    np.testing.assert_allclose(gaps.means[:3], 0, atol=0.03)
    np.testing.assert_allclose((gaps.means / gaps.deviations)[3:], 0, atol=0.25)


def test_with_shorter_steps_it_is_the_truth():
    """Nearly the same bounds as for the no-U-turn sampler."""
    model = small_model("quadruplets", p=2)
    gaps = gaps_to_the_truth(model, drawn(model, 40_000, error=1e-7))
    assert (np.abs(gaps.means) < 6 * gaps.errors).all()
    np.testing.assert_allclose(gaps.variances, 0, atol=0.25)


def test_the_error_of_the_energy_falls_with_the_sixth_power_of_the_step():
    model = twin.model_about(ROWS, 9, 2)
    errors = []
    for step in (0.04, 0.02, 0.01):
        rng = np.random.default_rng(0)
        of_step = []
        for q in twin.prior_draws(rng, 60, 9, 2):
            q[-3] = 0.0  # the exposure, far out in whose tail no step is short
            value, gradient = model.density(q)
            velocity = rng.standard_normal(model.size)
            velocity /= np.linalg.norm(velocity)
            ones = np.ones(model.size)
            of_step.append(kernel.walk(q, velocity, gradient, value, step, 1e9, ones, 1, rng, model.arguments)[1])
        errors.append(np.array(of_step))
    for longer, shorter in pairwise(errors):
        assert np.log2(np.median(longer / shorter)) == pytest.approx(6, abs=0.5)


def test_a_walk_moves_everything_in_place_and_keeps_the_speed():
    model = twin.model_about(ROWS, 9, 2)
    chain = chain_of(model)
    before = chain.unknowns.copy()
    value, _ = kernel.walk(
        chain.unknowns, chain.velocity, chain.gradient, chain.value, 0.3, 20.0, np.ones(model.size), 7, chain.rng,
        model.arguments,
    )  # fmt: skip
    assert np.linalg.norm(chain.velocity) == pytest.approx(1, rel=1e-12)
    assert np.linalg.norm(chain.unknowns - before) <= 7 * 0.3 * (1 + 1e-12)
    found, gradient = model.density(chain.unknowns)
    assert value == found
    np.testing.assert_array_equal(chain.gradient, gradient)


def test_a_step_back_along_the_path_ends_where_it_began():
    """Without noise the steps can be reversed, as those of the exact path."""
    model = twin.model_about(ROWS, 9, 2)
    chain = chain_of(model)
    before = chain.unknowns.copy()
    value = chain.value
    for _ in range(2):
        value, _ = kernel.walk(
            chain.unknowns, chain.velocity, chain.gradient, value, 0.3, 1e300, np.ones(model.size), 20, chain.rng,
            model.arguments,
        )  # fmt: skip
        chain.velocity *= -1
    np.testing.assert_allclose(chain.unknowns, before, atol=1e-8)


def test_the_warm_up_finds_a_step_of_about_the_wanted_error_and_scales():
    """Within a factor of ten, which is less than one of 1.5 in the step, in most chains."""
    points = make_gaussian(15, 2, random_state=0)
    model = twin.model_about(sample_triplets(points, 400, flipped=0.1, random_state=0).rows, 15, 2)
    chains = [chain_of(model, seed) for seed in range(8)]
    errors = []
    for chain in chains:
        chain.warm_up()
        assert chain.n_steps == 700
        errors.append(np.exp(np.mean([np.log(chain._walk(20)) for _ in range(50)])))
    assert 3e-6 < np.median(errors) < 3e-4
    # Answers say where objects lie, and nothing about the spread of steepness among people who are not told apart.
    for chain in chains:
        assert np.median(chain.scales[:30]) < 0.5
        assert chain.scales[-2] == pytest.approx(Prior().scales[7], rel=0.4)


def test_a_wall_does_not_shorten_steps_for_good():
    """On a line an object passes the origin by a leap of the map only: once in fifteen seeds steps went to 1e-5."""
    model = small_model("triplets")
    for seed in range(25):
        chain = chain_of(model, seed)
        chain.warm_up()
        assert chain.step > 0.05
        if seed < 5:
            chain.go_on(5000)
            assert chain.step > 0.03


def test_a_chain_turns_back_where_the_density_is_no_number(monkeypatch):
    model = twin.model_about(ROWS, 9, 2)
    chain = chain_of(model, thin=5)
    chain.warm_up()
    plain, count = kernel.walk, iter(range(1000))

    def fails(q, *arguments):
        value, error = plain(q, *arguments)
        if next(count) % 3 == 1:
            q[:] = np.nan
            return np.nan, np.nan
        return value, error

    monkeypatch.setattr(kernel, "walk", fails)
    chain.go_on(50)
    assert np.isfinite(chain.draws).all()
    assert [model.density(q)[0] for q in chain.draws] == chain.values
    assert len(np.unique(chain.values)) == 10


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_chains": 0}, "n_chains"),
        ({"n_warmup": 99}, "n_warmup must be an integer >= 100"),
        ({"n_steps": 79}, "n_steps must be an integer >= 80"),
        ({"n_steps": 100, "thin": 26}, "n_steps must be an integer >= 104"),
        ({"thin": 0}, "thin"),
        ({"n_starts": 0}, "n_starts"),
        ({"n_climb": 5}, "n_climb"),
        ({"tolerance": 0.0}, "tolerance must be between 0 and 1"),
        ({"error": 1}, "error must be between 0 and 1"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        Microcanonical(**settings)


def test_a_chain_that_mostly_turns_back_keeps_a_step():
    """Its median error is infinite, and its step must not become 0."""
    chain = chain_of(twin.model_about(ROWS, 9, 2))
    chain.warm_up()
    walk, count = chain._walk_back, [0]

    def refuse(n_steps):
        count[0] += 1
        return np.inf if count[0] % 3 else walk(n_steps)

    chain._walk_back = refuse
    chain.go_on(100)
    assert chain.step > 0
    assert len({draw.tobytes() for draw in chain.draws}) == len(chain.draws) > 0

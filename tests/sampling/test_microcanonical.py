"""Microcanonical chains: prior, truth of a small model, steps; convergence, interrupts, replaced chains."""

import os
import signal
import time
import warnings
from itertools import pairwise

import numpy as np
import pytest
from helpers import posterior_reference as reference
from helpers.importance import gaps_to_the_truth, small_model
from scipy.stats import cauchy, kstest, norm

from nearer import Comparisons
from nearer.datasets import make_gaussian, sample_triplets
from nearer.optimize.kernels import samplers as kernel
from nearer.sampling import Diagnosis, Microcanonical, Prior, diagnose, microcanonical
from nearer.sampling.annotators import annotator_parameters
from nearer.sampling.microcanonical import Chain, sample_until_converged
from nearer.sampling.model import draws_of, model_of
from nearer.sampling.summaries import predictive_probability
from nearer.sampling.variational import MeanField

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
        chain.draw(n_steps)
    return np.array([chain.draws for chain in chains])


@pytest.fixture(scope="module")
def from_the_prior():
    """Walks of a fixed step where comparisons have hardly any weight: nothing but the prior is left."""
    model = reference.model_about([[0, 1, 2]], 3, 2, weights=[1e-12])
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
    centres, scales = np.r_[np.zeros(11), Prior().centers], np.r_[np.ones(11), Prior().scales]
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


def test_shorter_steps_have_no_bias():
    """Nearly the same bounds as for the no-U-turn sampler."""
    model = small_model("quadruplets", p=2)
    gaps = gaps_to_the_truth(model, drawn(model, 40_000, error=1e-7))
    assert (np.abs(gaps.means) < 6 * gaps.errors).all()
    np.testing.assert_allclose(gaps.variances, 0, atol=0.25)


def test_the_error_of_the_energy_falls_with_the_sixth_power_of_the_step():
    model = reference.model_about(ROWS, 9, 2)
    errors = []
    for step in (0.04, 0.02, 0.01):
        rng = np.random.default_rng(0)
        of_step = []
        for q in reference.prior_draws(rng, 60, 9, 2):
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
    model = reference.model_about(ROWS, 9, 2)
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


def test_steps_without_noise_are_reversible():
    """Without noise the steps can be reversed, as those of the exact path."""
    model = reference.model_about(ROWS, 9, 2)
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
    model = reference.model_about(sample_triplets(points, 400, flipped=0.1, random_state=0).rows, 15, 2)
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


def test_steps_recover_after_a_barrier():
    """On a line an object passes the origin by a leap of the map only: once in fifteen seeds steps went to 1e-5."""
    model = small_model("triplets")
    for seed in range(25):
        chain = chain_of(model, seed)
        chain.warm_up()
        assert chain.step > 0.05
        if seed < 5:
            chain.draw(5000)
            assert chain.step > 0.03


def test_a_chain_reverses_where_the_density_is_nan(monkeypatch):
    model = reference.model_about(ROWS, 9, 2)
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
    chain.draw(50)
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


def test_a_chain_that_mostly_reverses_keeps_a_positive_step():
    """Its median error is infinite, and its step must not become 0."""
    chain = chain_of(reference.model_about(ROWS, 9, 2))
    chain.warm_up()
    walk, count = chain._walk_or_reverse, [0]

    def refuse(n_steps):
        count[0] += 1
        return np.inf if count[0] % 3 else walk(n_steps)

    chain._walk_or_reverse = refuse
    chain.draw(100)
    assert chain.step > 0
    assert len({draw.tobytes() for draw in chain.draws}) == len(chain.draws) > 0


# Or it might settle before.
SHORT = Microcanonical(3, n_warmup=100, n_steps=400, thin=10, n_starts=3, n_climb=20, tolerance=1e-30)
ENDLESS = Microcanonical(2, n_warmup=100, n_steps=10_000_000, thin=10, tolerance=1e-9, n_starts=2, n_climb=10)
POINTS = make_gaussian(12, 2, random_state=1)
ANSWERS = sample_triplets(POINTS, 300, flipped=0.05, random_state=0)


@pytest.fixture(scope="module")
def model():
    return model_of(ANSWERS, 2)[0]


def run_of(model, settings, seed=0, budget=None):
    return microcanonical._Run(model, settings, np.random.SeedSequence(seed), 1, budget)


def share_right(model, unknowns, rows):
    return np.mean(predictive_probability(draws_of(model, unknowns), rows) > 0.5)


def test_results_do_not_depend_on_threads(model):
    one, again, two = (sample_until_converged(model, SHORT, [], np.random.SeedSequence(0), k) for k in (1, 1, 2))
    for other in (again, two):
        np.testing.assert_array_equal(other.unknowns, one.unknowns)
        np.testing.assert_array_equal(other.densities, one.densities)
        assert other.n_steps == one.n_steps
    different = sample_until_converged(model, SHORT, [], np.random.SeedSequence(1), 1)
    assert (different.unknowns != one.unknowns).all()


def test_densities_are_those_of_the_draws(model):
    found = sample_until_converged(model, SHORT, [], np.random.SeedSequence(0), 1)
    assert found.unknowns.shape == (3, 40, model.size)
    assert (found.interrupted, found.n_divergent) == (False, 0)
    for unknowns, values in zip(found.unknowns, found.densities, strict=True):
        np.testing.assert_array_equal([model.density(q)[0] for q in unknowns], values)
    assert len(np.unique(found.densities)) == 120
    # Two gradients for each step of the climbs that went on, and one for each step of the chains, or more: where steps
    # turn out to be too long, they draw again.
    assert found.n_steps >= 3 * 500 + 2 * 5 * 20


def test_sampling_ends_when_predictions_have_converged(model):
    most = 5000
    settings = {"n_warmup": 300, "n_steps": most, "thin": 20}
    easy, hard = (
        sample_until_converged(model, Microcanonical(tolerance=tolerance, **settings), [], np.random.SeedSequence(0), 1)
        for tolerance in (0.01, 1e-30)
    )
    assert easy.unknowns.shape[1] < most // 20
    assert easy.unknowns.shape[1] % 50 == 0  # whole rounds
    assert hard.unknowns.shape[1] == most // 20
    # What it settled on is what more draws say, and better than guessing.
    rows = sample_triplets(POINTS).rows
    one, other = (
        predictive_probability(draws_of(model, of.unknowns.reshape(-1, model.size)), rows) for of in (easy, hard)
    )
    assert np.abs(one - other).mean() < 0.04
    assert np.mean(other > 0.5) > 0.9


def test_the_vote_error_is_the_loss_that_more_draws_remove():
    """Of few answers; more draws are those of all repetitions together."""
    weak = reference.model_about(sample_triplets(POINTS, 50, random_state=1).rows, len(POINTS), 2)
    settings = Microcanonical(4, n_warmup=300, n_steps=400, thin=20, tolerance=0.9)
    runs = [run_of(weak, settings, seed) for seed in range(6)]
    votes, said = [], []
    for run in runs:
        found = run.result([])
        votes.append(predictive_probability(draws_of(weak, found.unknowns.reshape(-1, weak.size)), runs[0].questions))
        said.append(run._agreement()[0])
    lead = np.mean(votes, axis=0) - 0.5
    lost = [np.mean(2 * np.abs(lead) * ((vote > 0.5) != (lead > 0))) for vote in votes]
    assert np.mean(lost) / 3 < np.mean(said) < 3 * np.mean(lost)


def test_pairs_for_diagnosis_are_of_different_objects():
    n = 2500
    rows = np.random.default_rng(0).permutation(n)[:2499].reshape(-1, 3)
    model = reference.model_about(rows, n, 1)
    for seed in range(100):
        run = run_of(model, SHORT, seed)
        assert (run.pairs[:, 0] != run.pairs[:, 1]).all()
        assert len(run.pairs) > 40


def test_long_thinning_leaves_draws_in_every_round(model):
    settings = Microcanonical(2, n_warmup=100, n_steps=6000, thin=1500, n_starts=2, n_climb=10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = sample_until_converged(model, settings, [], np.random.SeedSequence(0), 1)
    assert found.unknowns.shape == (2, 4, model.size)


def test_steps_that_are_not_a_multiple_of_thin(model):
    """A round of fewer steps than a draw takes would draw for ever."""
    settings = Microcanonical(2, n_warmup=100, n_steps=2003, thin=10, tolerance=1e-9, n_starts=2, n_climb=10)
    found = sample_until_converged(model, settings, [], np.random.SeedSequence(0), 1, budget=30)
    assert found.unknowns.shape == (2, 200, model.size)


def test_sampling_ends_at_its_budget():
    budget = 0.8
    points = make_gaussian(200, 3, random_state=0)
    large, _ = model_of(sample_triplets(points, 20_000, flipped=0.1, random_state=0), 5)
    settings = Microcanonical(n_steps=10_000_000, tolerance=1e-9)
    began = time.monotonic()
    found = sample_until_converged(large, settings, [], np.random.SeedSequence(0), 2, budget)
    taken = time.monotonic() - began
    assert 0.9 * budget < taken < budget + 10
    assert not found.interrupted
    assert np.isfinite(found.unknowns).all()
    assert (
        share_right(large, found.unknowns.reshape(-1, large.size), sample_triplets(points, 2000, random_state=9).rows)
        > 0.7
    )


@pytest.mark.parametrize("budget", [1e-9, 0.02])
def test_a_tiny_budget_returns_draws(model, budget):
    found = sample_until_converged(model, ENDLESS, [], np.random.SeedSequence(0), 1, budget)
    assert found.unknowns.shape[2] == model.size
    assert found.unknowns.shape[1] >= 1
    assert np.isfinite(found.unknowns).all()
    assert not found.interrupted


def test_a_budget_that_ends_while_a_chain_is_replaced(monkeypatch):
    flat, folded = flat_and_folded()
    begin_at(monkeypatch, [flat, folded, flat])
    run = run_of(SHARP, STUCK, budget=1e6)
    plain = run._replace_bad_chains

    def late():
        run.deadline = time.monotonic()
        return plain()

    run._replace_bad_chains = late
    found = run.result([])
    assert run.n_replaced == 1
    assert found.unknowns.shape[0] == 2  # the new chain has no draws yet


@pytest.fixture
def interrupt(monkeypatch):
    """Return a function that does something once the chains together walked so often."""
    plain, walked = microcanonical.Chain._walk, []

    def after(walks, what):
        def walk(self, n_steps):
            walked.append(1)
            if len(walked) == walks:
                what()
            return plain(self, n_steps)

        monkeypatch.setattr(microcanonical.Chain, "_walk", walk)

    return after


def press():
    os.kill(os.getpid(), signal.SIGINT)


def strike():
    raise KeyboardInterrupt


@pytest.mark.parametrize("what", [press, strike])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_an_interrupt_keeps_the_draws(model, interrupt, what, n_threads):
    interrupt(2 * 20 + 500, what)
    found = sample_until_converged(model, ENDLESS, [], np.random.SeedSequence(0), n_threads)
    assert found.interrupted
    chains, drawn, _ = found.unknowns.shape
    assert chains * drawn >= 100
    assert found.densities.shape == (chains, drawn)


@pytest.mark.parametrize("what", [press, strike])
def test_an_interrupt_during_warm_up_is_raised(model, interrupt, what):
    interrupt(10, what)
    settings = Microcanonical(2, n_warmup=1_000_000, n_starts=2, n_climb=10)
    with pytest.raises(KeyboardInterrupt):
        sample_until_converged(model, settings, [], np.random.SeedSequence(0), 2)


def test_an_interrupt_while_starts_are_optimized_is_raised(model, monkeypatch):
    plain, count = MeanField.optimize, iter(range(100))

    def go(self, *arguments):
        if next(count) == 1:
            raise KeyboardInterrupt
        return plain(self, *arguments)

    monkeypatch.setattr(MeanField, "optimize", go)
    with pytest.raises(KeyboardInterrupt):
        sample_until_converged(model, SHORT, [], np.random.SeedSequence(0), 1)


def test_an_error_in_a_chain_is_raised(model, interrupt):
    def fail():
        raise RuntimeError("out of luck")

    interrupt(30, fail)
    with pytest.raises(RuntimeError, match="out of luck"):
        sample_until_converged(model, SHORT, [], np.random.SeedSequence(0), 2)


def test_given_starts_are_used_before_random_ones(model, monkeypatch):
    begun = []
    plain = MeanField.__init__

    def begin(self, model, start, *arguments):
        begun.append(start.copy())
        plain(self, model, start, *arguments)

    monkeypatch.setattr(MeanField, "__init__", begin)
    given = [np.full(model.size, 0.1), np.full(model.size, 0.2)]
    sample_until_converged(model, SHORT, given, np.random.SeedSequence(0), 1)
    assert len(begun) == 3 + 1  # the best one is unrolled
    np.testing.assert_array_equal(begun[:2], given)
    with_one = Microcanonical(3, n_warmup=100, n_steps=400, thin=10, n_starts=1, n_climb=20)
    sample_until_converged(model, with_one, given, np.random.SeedSequence(0), 1)
    assert len(begun) == 4 + 2
    np.testing.assert_array_equal(begun[4], given[0])


def test_a_line_is_found_in_a_plane_and_no_arc(monkeypatch):
    """From random starts objects on a line come to lie on an arc, from which no chain finds back."""
    line = np.random.default_rng(1).uniform(-1, 1, (30, 1))
    model = model_of(sample_triplets(line, 1400, flipped=0.15, random_state=3), 2)[0]

    def flatness(seed):
        run = microcanonical._Run(model, Microcanonical.for_cross_validation(), np.random.SeedSequence(seed), 1, None)
        with microcanonical.progress_bar("climbing", silent=True) as run.bar:
            run._optimize_starts([])
        points = draws_of(model, run.fits[0].mean[None]).points[0]
        extents = np.linalg.svd(points - points.mean(axis=0))[1]
        return extents[1] / extents[0]

    found = [flatness(seed) for seed in range(4)]
    assert np.median(found) < 0.12
    monkeypatch.setattr(microcanonical, "isomap_start", lambda model, unknowns: unknowns)
    assert np.median([flatness(seed) for seed in range(4)]) > 2 * np.median(found)


# Chains that are stuck: of one start the left half of the map lies on the right one, in another order. Steepness and
# lapses are known, or the chain would first doubt the answers, then unfold, and then trust them.
PLACES = make_gaussian(20, 2, random_state=0)
PLACES = (PLACES - PLACES.mean(axis=0)) / PLACES.std(axis=0)
KNOWN = Prior((-1.2, -2.3, 5.0, 0.0, -2.2, 1.0, 0.0, -1.2, 0.0), (0.5, 0.5, 0.1, 1.0, 0.1, 1.5, 0.06, 0.5, 0.7))
SHARP = model_of(sample_triplets(PLACES, 2000, flipped=0.05, random_state=0), 2, KNOWN)[0]
STUCK = Microcanonical(3, n_warmup=200, n_steps=2000, thin=20, tolerance=0.05)
EVERYTHING = sample_triplets(PLACES).rows


def flat_and_folded():
    flat, folded = SHARP.start(np.random.default_rng(0)), SHARP.start(np.random.default_rng(0))
    places, left = PLACES.copy(), PLACES[:, 0] < 0
    flat[:40] = places.ravel()
    places[left] = np.roll(places[left], 3, axis=0)
    places[:, 0] = np.abs(places[:, 0])
    folded[:40] = places.ravel()
    return flat, folded


def begin_at(monkeypatch, starts):
    """Have chains begin at given unknowns, whatever the climbs found."""

    def climb(self, _):
        self.fits = [MeanField(self.model, start, np.random.default_rng(0)) for start in starts]
        for climb in self.fits:
            climb.log_deviation[:] = -4.0

    monkeypatch.setattr(microcanonical._Run, "_optimize_starts", climb)


def test_a_chain_on_a_folded_map_is_replaced(monkeypatch):
    flat, folded = flat_and_folded()
    begin_at(monkeypatch, [flat, folded, flat])
    run = run_of(SHARP, STUCK)
    found = run.result([])
    assert run.n_replaced == 1
    assert len(found.unknowns) == 3
    assert min(share_right(SHARP, chain, EVERYTHING) for chain in found.unknowns) > 0.97


def test_a_chain_on_a_folded_map_stays_there_without_replacement(monkeypatch):
    """Or the test before would say nothing."""
    flat, folded = flat_and_folded()
    begin_at(monkeypatch, [flat, folded, flat])
    monkeypatch.setattr(microcanonical._Run, "_replace_bad_chains", lambda self: False)
    found = run_of(SHARP, STUCK).result([])
    assert [share_right(SHARP, chain, EVERYTHING) > 0.97 for chain in found.unknowns] == [True, False, True]


def test_chains_that_differ_by_chance_are_not_replaced():
    """With few answers and few draws their scores differ by chance."""
    for seed in range(8):
        few, _ = model_of(sample_triplets(POINTS, 60, flipped=0.2, random_state=seed), 2)
        settings = Microcanonical(4, n_warmup=100, n_steps=100, thin=20, n_starts=2, n_climb=20)
        run = run_of(few, settings, seed)
        run.result([])
        assert run.n_replaced == 0


def test_modes_that_predict_equally_well_are_both_kept(monkeypatch):
    """Two groups that were never compared with each other: one may be mirrored, and nobody can tell."""
    rows = np.concatenate(
        [sample_triplets(POINTS[:6], random_state=0).rows, sample_triplets(POINTS[6:], random_state=0).rows + 6]
    )
    two, _ = model_of(Comparisons.from_triplets(np.tile(rows, (3, 1))), 2)
    one = two.start(np.random.default_rng(0))
    one[:24] = ((POINTS - POINTS.mean(axis=0)) / POINTS.std()).ravel()
    other = one.copy()
    other[12:24:2] *= -1
    begin_at(monkeypatch, [one, other])
    run = run_of(two, Microcanonical(2, n_warmup=200, n_steps=2000, thin=20))
    found = run.result([])
    assert run.n_replaced == 0

    def across(chain):
        points = draws_of(two, chain).points
        return np.linalg.norm(points[:, :6, None] - points[:, None, 6:], axis=3).reshape(len(chain), -1)

    distances = np.array([across(chain) for chain in found.unknowns])
    assert max(diagnose(distances[:, :, k]).rhat for k in range(36)) > 1.2  # two maps, and it shows


def test_random_responders_have_high_lapse_rates():
    rng = np.random.default_rng(0)
    people = np.arange(660) % 6
    rows = rng.permutation(sample_triplets(POINTS).rows)
    tossed = (people < 2) & (rng.random(660) < 0.5)
    rows = np.where(tossed[:, None], rows[:, [0, 2, 1]], rows)
    model, _ = model_of(Comparisons.from_triplets(rows, annotators=people), 2)
    found = sample_until_converged(model, Microcanonical(2, n_warmup=400), [], np.random.SeedSequence(0), 2)
    unknowns = found.unknowns.reshape(-1, model.size)
    _, lapses = annotator_parameters(model, unknowns)
    assert lapses[:, :2].mean(axis=0).min() > 0.5
    assert lapses[:, 2:].mean(axis=0).max() < 0.2
    assert (np.quantile(lapses[:, :2], 0.05, axis=0) > np.quantile(lapses[:, 2:], 0.95, axis=0).max()).all()
    # They cost the map next to nothing.
    assert share_right(model, unknowns, sample_triplets(POINTS).rows) > 0.95


def test_a_single_chain_ends_by_the_rhat_of_its_halves(model, monkeypatch):
    settings = Microcanonical(1, n_warmup=100, n_steps=2000, thin=20, n_starts=1, n_climb=20)
    for rhat, n_draws in ((2.0, 2000 // 20), (1.0, 500 // 20)):
        monkeypatch.setattr(microcanonical, "diagnose", lambda _, rhat=rhat: Diagnosis(rhat, 10.0))
        found = sample_until_converged(model, settings, [], np.random.SeedSequence(0), 1)
        assert found.unknowns.shape[1] == n_draws
        assert np.isnan(found.vote_error)

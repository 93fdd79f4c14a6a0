"""Objects that come later: old ones stay to the last bit, new ones go where they belong."""

from dataclasses import replace

import numpy as np
import pytest
from helpers import posterior_reference as reference
from scipy.stats import kstest, norm

from nearer import Comparisons
from nearer.datasets import make_gaussian, sample_triplets
from nearer.sampling import NUTS
from nearer.sampling.model import distinct_comparisons, draws_of, model_of
from nearer.sampling.new_objects import add_objects, sample_new_objects
from nearer.sampling.nuts import sample_nuts

N_OLD, N = 15, 18
POINTS = make_gaussian(N, 2, random_state=3)
TRIPLETS = np.random.default_rng(0).permutation(sample_triplets(POINTS, logistic_slope=50, random_state=0).rows)
AMONG_OLD = (TRIPLETS < N_OLD).all(axis=1)
OLD, NEW = TRIPLETS[AMONG_OLD][:600], TRIPLETS[~AMONG_OLD][:300]
SETTINGS = NUTS(4, n_warmup=150, n_draws=60, thin=4)


def comparisons_of(rows, n_objects):
    return distinct_comparisons(Comparisons.from_triplets(rows, n_objects=n_objects))


@pytest.fixture(scope="module")
def old():
    model, _ = model_of(Comparisons.from_triplets(OLD), 2)
    found = sample_nuts(model, SETTINGS, np.random.SeedSequence(0).spawn(4), 1)
    return model, found.unknowns.reshape(-1, model.size)


@pytest.fixture(scope="module")
def placed(old):
    model, unknowns = old
    larger, start = add_objects(model, unknowns, np.arange(N_OLD), N, np.random.default_rng(0))
    # As often asked about as usual: the exposure of an object in no comparison is far below all others.
    larger = replace(larger, comparisons=comparisons_of(NEW, N), exposure=np.r_[model.exposure, np.zeros(N - N_OLD)])
    return larger, start, sample_new_objects(larger, start, np.arange(N) >= N_OLD, np.random.default_rng(1))


def test_more_objects_come_from_the_prior_and_the_known_ones_stay():
    model, _ = model_of(Comparisons.from_quadruplets([[0, 1, 2, 3], [0, 2, 1, 3]]), 2)
    unknowns = reference.prior_draws(np.random.default_rng(0), 1000, 4, 2)
    known = np.array([1, 2, 4, 6])
    larger, more = add_objects(model, unknowns, known, 7, np.random.default_rng(1))
    assert (larger.n_objects, more.shape) == (7, (1000, larger.size))
    assert len(larger.comparisons) == 0
    np.testing.assert_array_equal(larger.exposure[known], model.exposure)
    np.testing.assert_array_equal(np.delete(larger.exposure, known), model.least_exposure)
    np.testing.assert_array_equal(draws_of(larger, more).points[:, known], draws_of(model, unknowns).points)
    before, after = reference.split(unknowns, 4, 2), reference.split(more, 7, 2)
    np.testing.assert_array_equal(after.u, before.u)
    np.testing.assert_array_equal(after.numbers, before.numbers)
    for fresh in (after.z[:, [0, 3, 5]], after.v[:, [0, 3, 5]]):
        assert kstest(fresh.ravel(), norm.cdf).pvalue > 1e-3


def test_the_likelihood_of_the_old_comparisons_stays():
    model, _ = model_of(Comparisons.from_triplets(OLD), 2)
    unknowns = reference.prior_draws(np.random.default_rng(0), 2, N_OLD, 2)
    known = np.arange(N)[-N_OLD:]
    larger, more = add_objects(model, unknowns, known, N, np.random.default_rng(1))
    larger = replace(
        larger, comparisons=replace(model.comparisons, pairs=known[model.comparisons.pairs].astype(np.int32))
    )
    prior, larger_prior = (reference.log_prior(q, n, 2, model.prior) for q, n in ((unknowns[0], N_OLD), (more[0], N)))
    other, larger_other = (reference.log_prior(q, n, 2, model.prior) for q, n in ((unknowns[1], N_OLD), (more[1], N)))
    gain = model.density(unknowns[1])[0] - model.density(unknowns[0])[0] - (other - prior)
    larger_gain = larger.density(more[1])[0] - larger.density(more[0])[0] - (larger_other - larger_prior)
    assert gain == pytest.approx(larger_gain)


def test_annotators_are_dropped_and_map_and_hyperparameters_stay():
    named = Comparisons.from_triplets(OLD, annotators=np.arange(len(OLD)) % 5)
    model, _ = model_of(named, 2)
    unknowns = reference.prior_draws(np.random.default_rng(0), 3, N_OLD, 2, n_people=5)
    larger, more = add_objects(model, unknowns, np.arange(N_OLD), N, np.random.default_rng(1))
    assert (larger.comparisons.n_annotators, more.shape) == (0, (3, larger.size))
    before, after = reference.split(unknowns, N_OLD, 2, 5), reference.split(more, N, 2)
    np.testing.assert_array_equal(after.v[:, :N_OLD], before.v)
    np.testing.assert_array_equal(after.numbers, before.numbers)
    np.testing.assert_array_equal(draws_of(larger, more).points[:, :N_OLD], draws_of(model, unknowns).points)


def test_old_objects_stay_to_the_last_bit_in_every_draw(old, placed):
    model, unknowns = old
    larger, start, found = placed
    before, after = reference.split(start, N, 2), reference.split(found, N, 2)
    np.testing.assert_array_equal(after.z[:, :N_OLD], before.z[:, :N_OLD])
    np.testing.assert_array_equal(after.v[:, :N_OLD], before.v[:, :N_OLD])
    np.testing.assert_array_equal(after.u, before.u)
    np.testing.assert_array_equal(after.numbers, before.numbers)
    np.testing.assert_array_equal(draws_of(larger, found).points[:, :N_OLD], draws_of(model, unknowns).points)
    assert (after.z[:, N_OLD:] != before.z[:, N_OLD:]).all()


def test_new_objects_are_where_a_fit_of_everything_puts_them(placed):
    larger, _, found = placed
    everything, _ = model_of(Comparisons.from_triplets(np.concatenate([OLD, NEW])), 2)
    refit = sample_nuts(everything, SETTINGS, np.random.SeedSequence(1).spawn(4), 1)

    def distances(model, unknowns):
        points = draws_of(model, unknowns).points
        return np.linalg.norm(points[:, N_OLD:, None] - points[:, None, :N_OLD], axis=3).mean(axis=0)

    one, other = distances(larger, found), distances(everything, refit.unknowns.reshape(-1, everything.size))
    assert np.corrcoef(one.ravel(), other.ravel())[0, 1] > 0.95
    pairs = [np.sign(of[:, :, None] - of[:, None, :]) for of in (one, other)]
    assert np.mean(pairs[0] == pairs[1]) > 0.9


def shares_right(model, unknowns):
    """Of the comparisons with new objects, for each draw."""
    points = draws_of(model, unknowns).points
    near, far = (((points[:, NEW[:, 0]] - points[:, NEW[:, column]]) ** 2).sum(axis=2) for column in (1, 2))
    return (near < far).mean(axis=1)


def test_new_objects_are_placed_whatever_the_orientation_of_the_next_draw(placed):
    """As maps of different chains do. Turning all old objects by half a circle is the same map."""
    larger, start, found = placed
    turned = start.copy()
    turned[1::2, : 2 * N_OLD] *= -1
    right = shares_right(larger, sample_new_objects(larger, turned, np.arange(N) >= N_OLD, np.random.default_rng(1)))
    assert right.min() > shares_right(larger, found).mean() - 0.1


def test_new_objects_leave_their_start_under_noise_free_answers():
    """Without noise and from a draw of the prior, one fit in six would stay on the wrong side of the map."""
    points = make_gaussian(35, 2, random_state=3)
    rows = np.random.default_rng(0).permutation(sample_triplets(points).rows)
    among_old = (rows < 30).all(axis=1)
    model, _ = model_of(Comparisons.from_triplets(rows[among_old][:2000]), 2)
    sure = [
        -3.0,
        -4.0,
        5.0,
        -1.0,
        -7.0,
        4.0,
        0.0,
        -1.2,
        0.0,
    ]  # even spreads and scales, steep, hardly a lapse, rho near 1
    truth = np.r_[(points[:30] / points.std()).ravel(), np.zeros(2 + 30), sure][None]
    asked, judged = rows[~among_old][:600], rows[~among_old][600:3000]
    for seed in range(12):
        rng = np.random.default_rng(seed)
        larger, start = add_objects(model, truth, np.arange(30), 35, rng)
        larger = replace(larger, comparisons=comparisons_of(asked, 35), exposure=np.zeros(35))
        found = draws_of(larger, sample_new_objects(larger, start, np.arange(35) >= 30, rng)).points[0]
        near, far = (((found[judged[:, 0]] - found[judged[:, column]]) ** 2).sum(axis=1) for column in (1, 2))
        assert np.mean(near < far) > 0.93, seed


def test_a_new_object_is_drawn_from_its_posterior_given_the_others():
    """One new object in one dimension, old ones fixed: against a grid."""
    model, _ = model_of(Comparisons.from_triplets([[0, 1, 2], [1, 2, 3], [2, 1, 3]]), 1)
    unknowns = np.tile(reference.prior_draws(np.random.default_rng(1), 1, 4, 1), (3000, 1))
    rows = np.array([[4, 0, 1], [4, 2, 1], [3, 4, 0]])
    larger, start = add_objects(model, unknowns, np.arange(4), 5, np.random.default_rng(0))
    larger = replace(larger, comparisons=comparisons_of(rows, 5))
    found = sample_new_objects(larger, start, np.arange(5) >= 4, np.random.default_rng(0))[:, 4]
    grid = np.linspace(-5, 5, 400)
    scales = np.linspace(-4, 4, 33)
    q = np.tile(start[0], (len(grid) * len(scales), 1))
    q[:, 4], q[:, 5 + 1 + 4] = (side.ravel() for side in np.meshgrid(grid, scales, indexing="ij"))
    density = reference.log_density(q, larger)
    mass = np.exp(density - density.max()).reshape(len(grid), -1).sum(axis=1)
    mass /= mass.sum()
    assert found.mean() == pytest.approx(grid @ mass, abs=0.1)
    assert found.std() == pytest.approx(np.sqrt(grid**2 @ mass - (grid @ mass) ** 2), rel=0.12)

"""Shares and powers redrawn given the coordinates: their density, and what the step leaves as it is."""

import numpy as np
import pytest
from scipy.stats import kstest, multivariate_normal, norm

from nearer import Comparisons
from nearer.data.features import Features
from nearer.sampling import Microcanonical
from nearer.sampling.features import FeatureKernel, feature_basis
from nearer.sampling.microcanonical import sample_until_converged
from nearer.sampling.model import draws_of, model_of
from nearer.sampling.shares import ShareSampler
from nearer.sampling.summaries import diagnose

N = 9
SOME = [0, 1, 2, 4, 5, 6, 8]


@pytest.fixture(scope="module")
def model():
    """Two sets of features, one of which describes seven of nine objects; the last object is in no comparison."""
    rng = np.random.default_rng(0)
    sets = Features(rng.normal(size=(N, 3)), name="sounds"), Features(rng.normal(size=(7, 30)), SOME, name="pictures")
    kernels = [FeatureKernel.of(each, np.arange(N)) for each in sets]
    rows = rng.permuted(np.tile(np.arange(N - 1), (40, 1)), axis=1)[:, :3]
    asked = Comparisons.from_triplets(rows, n_objects=N)
    return model_of(asked, 2, features=feature_basis(kernels, np.arange(N)))[0]


def coordinates_of(model, unknowns):
    return model.mixed(unknowns)[: model.n_objects * model.n_components].reshape(model.n_objects, -1)


def test_the_density_is_that_of_a_normal_distribution(model):
    rng = np.random.default_rng(1)
    sampler, features = ShareSampler(model), model.features
    coordinates = rng.normal(size=(model.n_objects, 2))
    squares = np.bincount(sampler.groups, (coordinates**2).sum(axis=1))
    members = [sampler.groups == group for group in range(len(sampler.counts))]
    products = np.array([features.directions[each].T @ coordinates[each] for each in members])
    differences = []
    for numbers in rng.normal(size=(3, 4)):
        unknowns = np.zeros(model.size)
        model.feature_numbers(unknowns)[:] = numbers
        covariance = model.prior_covariance(unknowns[None])
        expected = multivariate_normal(cov=covariance).logpdf(coordinates.T).sum()
        expected += norm(features.centers, features.scales).logpdf(numbers).sum()
        differences.append(sampler._given(numbers, squares, products).log_density - expected)
    assert np.ptp(differences) < 1e-9


def test_the_coordinates_stay_and_all_else_is_redrawn(model):
    rng = np.random.default_rng(2)
    sampler, before = ShareSampler(model), model.draw_prior(1, rng)[0]
    after = before.copy()
    for _ in range(5):
        sampler.redraw(after, rng)
    np.testing.assert_allclose(coordinates_of(model, after), coordinates_of(model, before), atol=1e-9)
    assert (np.abs(model.feature_numbers(after) - model.feature_numbers(before)) > 1e-6).all()
    changed = before != after
    n, p = model.n_objects, model.n_components
    assert changed[: n * p].all()
    assert not changed[n * p : model.core_size].any(), "axes, scales and hyperparameters stay"
    assert changed[model.core_size :].all()


def test_the_prior_stays_the_prior(model):
    """Of draws from the prior, shares, powers, factors and deviations are draws from it again."""
    rng = np.random.default_rng(3)
    sampler, drawn = ShareSampler(model), model.draw_prior(1500, rng)
    for unknowns in drawn:
        sampler.redraw(unknowns, rng)
    normal = (model.feature_numbers(drawn) - model.features.centers) / model.features.scales
    free = np.column_stack([normal, drawn[:, :4], drawn[:, model.core_size : model.core_size + 4]])
    assert min(kstest(column, "norm").pvalue for column in free.T) > 0.001
    correlations = np.corrcoef(np.column_stack([free, np.abs(free)]).T) - np.eye(2 * free.shape[1])
    assert np.abs(correlations).max() < 4.5 / np.sqrt(len(drawn))


def test_chains_of_many_answers_agree_in_shares():
    """Without the step, R-hat of this posterior is 1.5."""
    rng = np.random.default_rng(6)
    n, m = 30, 900
    kernel = FeatureKernel.of(Features(rng.normal(size=(n, 8))), np.arange(n))
    rows = rng.permuted(np.tile(np.arange(n), (m, 1)), axis=1)[:, :3]
    basis = feature_basis([kernel], np.arange(n))
    model, _ = model_of(Comparisons.from_triplets(rows, n_objects=n), 2, features=basis)
    truth = model.draw_prior(1, rng)
    model.feature_numbers(truth)[:] = 0.8, 0.4
    draw = draws_of(model, truth)
    near, far = (np.square(draw.points[:, rows[:, 0]] - draw.points[:, rows[:, k]]).sum(axis=2) for k in (1, 2))
    is_right = rng.random(m) < draw.answer_model.probability(near, far)[0]
    answered = np.where(is_right[:, None], rows, rows[:, [0, 2, 1]])
    model, _ = model_of(Comparisons.from_triplets(answered, n_objects=n), 2, features=basis)
    found = sample_until_converged(model, Microcanonical(), [], np.random.SeedSequence(5), 1, silent=True)
    shares, powers = np.moveaxis(model.feature_numbers(found.unknowns), 2, 0)
    assert max(diagnose(shares).rhat, diagnose(powers).rhat) < 1.2

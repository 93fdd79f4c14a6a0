"""Features as a prior: covariance, gradient, and rows of new objects."""

import numpy as np
import pytest

from nearer import Comparisons
from nearer.data.features import Features
from nearer.sampling.features import MAX_DIRECTIONS, FeatureKernel, extend_basis, feature_basis
from nearer.sampling.model import model_of

N = 12
SOME = [0, 1, 2, 4, 5, 6, 8, 9, 10, 11]


@pytest.fixture(scope="module")
def features():
    """Of all objects, and of ten of them."""
    rng = np.random.default_rng(0)
    return Features(rng.normal(size=(N, 6)), name="sounds"), Features(rng.normal(size=(10, 30)), SOME, name="pictures")


@pytest.fixture(scope="module")
def kernels(features):
    return [FeatureKernel.of(each, np.arange(N)) for each in features]


@pytest.fixture(scope="module")
def model(kernels):
    rng = np.random.default_rng(1)
    rows = rng.permuted(np.tile(np.arange(N), (60, 1)), axis=1)[:, :3]
    comparisons = Comparisons.from_triplets(rows, annotators=rng.integers(0, 3, 60))
    return model_of(comparisons, 3, features=feature_basis(kernels, comparisons.objects))[0]


def kernel_written_out(rows, length):
    """Half the linear and half the Gaussian kernel, each centered and of mean 1 on the diagonal."""
    n = len(rows)
    center = np.eye(n) - 1 / n
    squares = ((rows[:, None] - rows[None]) ** 2).sum(axis=2)
    parts = [center @ each @ center for each in (rows @ rows.T, np.exp(-squares / (2 * length**2)))]
    return sum(each * n / np.trace(each) for each in parts) / 2


def test_the_gradient_matches_finite_differences_in_every_unknown(model):
    unknowns = 0.7 * np.random.default_rng(2).normal(size=model.size)
    gradient = model.density(unknowns)[1].copy()
    steps = 1e-5 * np.eye(model.size)
    numeric = [(model.density(unknowns + step)[0] - model.density(unknowns - step)[0]) / 2e-5 for step in steps]
    assert np.abs(gradient - numeric).max() < 1e-6


def test_directions_are_those_of_the_kernel(kernels, features):
    for kernel, given in zip(kernels, features, strict=True):
        rows = given.values - given.values.mean(axis=0)
        rows = rows / rows.std(axis=0) if rows.shape[1] == 6 else rows  # parameters in units of their own
        i, j = np.triu_indices(len(rows), 1)
        expected = kernel_written_out(rows, np.median(np.linalg.norm(rows[i] - rows[j], axis=1)))
        found = kernel.directions * kernel.values @ kernel.directions.T
        np.testing.assert_allclose(found, expected, atol=1e-10)


def test_coordinates_have_the_covariance_of_the_prior(model, kernels):
    unknowns = np.zeros(model.size)
    logits, powers = np.split(model.feature_numbers(unknowns), 2)
    logits[:], powers[:] = (0.5, -1.0), np.log([1.0, 1.6])
    shares = np.exp(logits) / (1 + np.exp(logits).sum())
    expected = np.diag(1 - model.features.described @ shares)
    for share, kernel, power, known in zip(shares, kernels, np.exp(powers), (np.arange(N), SOME), strict=True):
        values = kernel.values**power
        values *= len(known) / values.sum()
        expected[np.ix_(known, known)] += share * (kernel.directions * values) @ kernel.directions.T
    # The coordinates are linear in own deviations and in factors of directions, which are standard normal.
    free = [*range(N * 3), *range(model.core_size, model.size - 4)]
    columns = []
    for place in free:
        given = unknowns.copy()
        given[place] = 1.0
        columns.append(model.mixed(given)[: N * 3])
    covariance = np.array(columns).T @ np.array(columns)
    np.testing.assert_allclose(covariance[::3, ::3], expected, atol=1e-12)
    assert np.abs(covariance[::3, 1::3]).max() < 1e-12


def test_without_answers_the_density_is_that_of_the_prior(model):
    from dataclasses import replace

    from nearer.sampling.model import DistinctComparisons

    alone = replace(model, comparisons=DistinctComparisons.empty())
    rng = np.random.default_rng(3)
    values = []
    for unknowns in rng.normal(size=(2, alone.size)):
        deviations = (unknowns[-4:] - alone.features.centers) / alone.features.scales
        of_core = unknowns[: alone.core_size - 9]
        hyper = (alone.hyperparameters(unknowns) - np.array(alone.prior.centers)) / np.array(alone.prior.scales)
        normal = np.delete(hyper, 6)
        factors = unknowns[alone.core_size : -4]
        squares = [deviations, of_core, normal, factors]
        expected = -0.5 * sum((each**2).sum() for each in squares) - np.log1p(hyper[6] ** 2)
        values.append(alone.density(unknowns)[0] - expected)
    assert values[0] == pytest.approx(values[1], abs=1e-9)


def test_rows_of_known_objects_are_extended_to_their_own_directions(kernels, features):
    for kernel, given in zip(kernels, features, strict=True):
        directions, variances = kernel.extend(given.values)
        np.testing.assert_allclose(directions, kernel.directions, atol=1e-12)
        np.testing.assert_allclose(variances, kernel.directions**2 @ kernel.values, atol=1e-12)


def test_a_new_object_takes_what_it_has(model, kernels, features):
    new = Features(features[0].values[:1], ["x"], name="sounds")
    basis = extend_basis(model.features, kernels, np.array(["x", "y"], dtype=object), [new])
    np.testing.assert_allclose(basis.described[N:], [[1, 0], [0, 0]], atol=1e-12)
    np.testing.assert_allclose(
        basis.directions[N], np.where(basis.owners == 0, model.features.directions[0], 0), atol=1e-12
    )
    with pytest.raises(ValueError, match="sounds has 2 columns for the new objects, and 6 for those of the map"):
        extend_basis(model.features, kernels, np.array(["x"]), [Features([[1.0, 2.0]], ["x"], name="sounds")])


def test_a_new_object_has_the_variance_of_its_row(model, kernels):
    """What the directions of the known objects leave of it is variance of its own, at a power of 1."""
    rows = np.random.default_rng(7).normal(size=(4, 6))
    basis = extend_basis(model.features, kernels, np.arange(N, N + 4), [Features(rows, range(N, N + 4), "sounds")])
    assert (basis.described[N:, 0] < 0.9).all()
    kernel = kernels[0]
    everything = (np.vstack([kernel.rows * kernel.spread + kernel.center, rows]) - kernel.center) / kernel.spread
    distances = ((everything[:, None] - everything) ** 2).sum(axis=2)
    gaussian = np.exp(-0.5 * distances / kernel.length**2)
    centering = np.eye(N + 4) - np.pad(np.full((N + 4, N), 1 / N), ((0, 0), (0, 4)))
    gaussian = centering @ gaussian @ centering.T
    exact = kernel.scales[0] * everything @ everything.T + kernel.scales[1] * gaussian
    variances = np.diag(basis.covariance([0.8, 0.0], 1.0).matrix)
    np.testing.assert_allclose(variances[N:], 0.2 + 0.8 * np.diag(exact)[N:], atol=1e-12)


def test_of_many_objects_the_leading_directions_are_kept():
    rows = np.random.default_rng(4).normal(size=(100, 40))
    kernel = FeatureKernel.of(Features(rows), np.arange(100))
    assert len(kernel.values) == MAX_DIRECTIONS
    assert (np.diff(kernel.values) <= 0).all()
    assert feature_basis([kernel], np.arange(100)).log_values.shape == (MAX_DIRECTIONS,)


def test_features_that_say_nothing_are_refused():
    with pytest.raises(ValueError, match="the same for all objects"):
        FeatureKernel.of(Features(np.ones((5, 2))), np.arange(5))
    with pytest.raises(ValueError, match="describes 2 objects; it takes at least three"):
        FeatureKernel.of(Features([[1.0], [2.0]], ["a", "b"]), np.array(["a", "b", "c"]))

"""The compiled density, maps and predictions of `nearer.posterior` against plain NumPy."""

import numpy as np
import pytest
from helpers import posterior_twin as twin
from helpers.drawn_rows import random_quadruplets

from nearer.kernels import nuts, posterior
from nearer.posterior.model import Model, Prior

SHAPES = [(3, 1), (5, 1), (6, 2), (4, 7)]
OTHER = Prior(
    centres=(-0.3, -1.0, 1.2, 0.4, -2.0, -0.5, 0.1),
    scales=(0.7, 0.4, 1.5, 0.8, 1.1, 2.0, 0.3),
)


def make(kind, n, p, weighted, seed=0, m=37, prior=OTHER):
    rng = np.random.default_rng(seed)
    rows = random_quadruplets(rng, n, m, kind).astype(np.int32)
    objects = np.ascontiguousarray(rows[:, [0, 1, 3]] if kind == "triplets" else rows)
    weights = rng.uniform(0.1, 3, m) if weighted else np.empty(0)
    return Model(objects, weights, rng.normal(size=n), 0.0, -1.0, p, prior)


def unknowns(model, seed=1):
    return twin.prior_draws(np.random.default_rng(seed), 4, model.n_objects, model.n_components, model.prior)


def expected(model, q):
    return twin.log_density(
        q, model.objects, model.weights, model.exposure, model.n_objects, model.n_components, model.prior
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n", "p"), SHAPES)
def test_density_is_that_of_the_docstring_up_to_a_constant(kind, n, p, weighted):
    model = make(kind, n, p, weighted)
    draws = unknowns(model)
    found = np.array([model.density(q)[0] for q in draws])
    np.testing.assert_allclose(np.diff(found), np.diff(expected(model, draws)), rtol=1e-8, atol=1e-7)


@pytest.mark.parametrize("m", [1, 7, 8, 9, 16, 17])
def test_probabilities_are_multiplied_in_portions_without_losing_one(m):
    """Without weights the logarithm is taken of several factors at once."""
    model = make("triplets", 6, 2, False, m=m)
    weighted = Model(model.objects, np.ones(m), model.exposure, 0.0, -1.0, 2, OTHER)
    q = unknowns(model)[0]
    (plain, plain_gradient), (other, other_gradient) = model.density(q), weighted.density(q)
    assert plain == pytest.approx(other, rel=1e-12)
    np.testing.assert_allclose(plain_gradient, other_gradient, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n", "p"), SHAPES)
def test_gradient_matches_finite_differences_in_every_unknown(kind, n, p, weighted):
    model = make(kind, n, p, weighted)
    for q in unknowns(model)[:2]:
        _, gradient = model.density(q)
        bumps = 1e-5 * np.eye(model.size)
        slopes = (expected(model, q + bumps) - expected(model, q - bumps)) / 2e-5
        np.testing.assert_allclose(gradient, slopes, rtol=2e-5, atol=2e-5 * np.abs(gradient).max())


def test_repeated_rows_are_weights():
    model = make("quadruplets", 6, 2, False)
    repeated = Model(np.tile(model.objects, (3, 1)), np.empty(0), model.exposure, 0.0, -1.0, 2, OTHER)
    weighted = Model(model.objects, np.full(len(model.objects), 3.0), model.exposure, 0.0, -1.0, 2, OTHER)
    q = unknowns(model)[0]
    assert repeated.density(q)[0] == pytest.approx(weighted.density(q)[0], rel=1e-12)
    np.testing.assert_allclose(repeated.density(q)[1], weighted.density(q)[1], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("n", "p"), SHAPES)
def test_maps_are_those_of_the_docstring(n, p):
    model = make("triplets", n, p, False)
    for q in unknowns(model):
        points, axes, lengths, factors = np.empty((n, p)), np.empty(p), np.empty(n), np.empty(n)
        posterior.place_objects(q, model.exposure, axes, lengths, factors, points)
        np.testing.assert_allclose(points, twin.map_of(q, model.exposure, n, p), rtol=1e-6, atol=1e-9)
        assert (axes**2).sum() == pytest.approx(1)
        np.testing.assert_allclose(factors[:, None] * axes * q[: n * p].reshape(n, p), points, rtol=1e-12)


def test_an_object_at_the_origin_stays_there_and_has_a_finite_gradient():
    model = make("triplets", 4, 2, False)
    q = unknowns(model)[0]
    q[:2] = 0
    value, gradient = model.density(q)
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()
    points = np.empty((4, 2))
    posterior.place_objects(q, model.exposure, np.empty(2), np.empty(4), np.empty(4), points)
    np.testing.assert_array_equal(points[0], 0)


def draws(n=8, p=3, k=5, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(k, n, p)), rng.uniform(0.5, 20, k), rng.uniform(0.01, 3, k), rng.uniform(0, 0.2, k)


def predicted(maps, objects):
    found = np.full(len(objects), np.nan)
    cut = len(objects) // 3
    for start, stop in ((0, cut), (cut, len(objects))):  # whatever the blocks
        posterior.predict(*maps, objects, start, stop, found)
    return found


@pytest.mark.parametrize("p", [1, 2, 3, 8])
def test_predictions_are_means_over_draws(kind, p):
    maps, objects = draws(p=p), make(kind, 8, p, False, m=200).objects
    np.testing.assert_allclose(predicted(maps, objects), twin.chances(*maps, objects).mean(axis=0), rtol=1e-12)


@pytest.mark.parametrize("p", [1, 2, 3, 8, 15])
def test_exchanging_the_pairs_gives_the_complement_to_the_last_bit(kind, p):
    maps, objects = draws(p=p, k=9), make(kind, 8, p, False, m=2000).objects
    exchanged = np.ascontiguousarray(objects[:, [0, 2, 1]] if kind == "triplets" else objects[:, [2, 3, 0, 1]])
    found, other = predicted(maps, objects), predicted(maps, exchanged)
    np.testing.assert_array_equal(1 - found, other)
    np.testing.assert_array_equal(1 - other, found)


def test_equal_distances_are_an_even_chance():
    maps = (np.zeros((2, 3, 2)), np.ones(2), np.ones(2), np.zeros(2))
    assert predicted(maps, np.array([[0, 1, 2]], np.int32)) == 0.5


def test_a_frozen_unknown_stays_and_the_others_move():
    model = make("triplets", 6, 2, False)
    q = unknowns(model)[0]
    value, gradient = model.density(q)
    inverse_mass = np.where(np.arange(model.size) < 4, 1.0, 0.0)
    rng = np.random.default_rng(0)
    moved, _, found, acceptance, n_steps, diverged = nuts.transition(
        q, gradient, value, 0.05, inverse_mass, 5, rng, model.arguments
    )
    np.testing.assert_array_equal(moved[4:], q[4:])
    assert (moved[:4] != q[:4]).all()
    assert found == model.density(moved)[0]
    assert 0 < acceptance <= 1
    assert 1 <= n_steps < 2**5
    assert not diverged


def test_short_steps_keep_the_energy_and_huge_ones_are_divergent():
    model = make("triplets", 6, 2, False)
    q = unknowns(model)[0]
    value, gradient = model.density(q)
    ones, rng = np.ones(model.size), np.random.default_rng(0)
    _, _, _, acceptance, _, diverged = nuts.transition(q, gradient, value, 1e-4, ones, 3, rng, model.arguments)
    assert acceptance > 1 - 1e-4
    assert not diverged
    stayed, _, _, acceptance, n_steps, diverged = nuts.transition(
        q, gradient, value, 1e6, ones, 3, rng, model.arguments
    )
    np.testing.assert_array_equal(stayed, q)
    assert (acceptance, n_steps, diverged) == (0, 1, True)

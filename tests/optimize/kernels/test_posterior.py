"""The compiled density, maps and predictions of `nearer.sampling` against plain NumPy."""

import numpy as np
import pytest
from helpers import posterior_reference as reference
from helpers.drawn_rows import random_quadruplets

from nearer.optimize.kernels import posterior, samplers
from nearer.sampling.model import Prior

SHAPES = [(3, 1), (5, 1), (6, 2), (5, 3), (4, 4), (7, 5), (4, 7), (5, 8), (5, 15)]
OTHER = Prior(
    centers=(-0.3, -1.0, 1.2, 0.4, -2.0, -0.5, 0.1, -0.7, 0.2),
    scales=(0.7, 0.4, 1.5, 0.8, 1.1, 2.0, 0.3, 0.6, 0.4),
)
N_PEOPLE = 4


def make(kind, n, p, weighted=False, by_people=False, seed=0, m=37):
    rng = np.random.default_rng(seed)
    rows = random_quadruplets(rng, n, m, kind)
    weights = rng.uniform(0.1, 3, m) if weighted else ()
    people = np.sort(np.r_[np.arange(N_PEOPLE), rng.integers(N_PEOPLE, size=m - N_PEOPLE)]) if by_people else None
    exposure = rng.normal(size=n)
    return reference.model_about(rows, n, p, weights=weights, people=people, exposure=exposure, prior=OTHER)


def unknowns(model, seed=1):
    rng = np.random.default_rng(seed)
    return reference.prior_draws(
        rng, 4, model.n_objects, model.n_components, model.prior, model.comparisons.n_annotators
    )


def drawn_objects(kind, n, m, seed=0):
    rows = random_quadruplets(np.random.default_rng(seed), n, m, kind).astype(np.int32)
    return np.ascontiguousarray(rows[:, [0, 1, 3]] if kind == "triplets" else rows)


@pytest.mark.parametrize("by_people", [False, True], ids=["together", "people"])
@pytest.mark.parametrize("weighted", [False, True], ids=["alike", "weighted"])
@pytest.mark.parametrize(("n", "p"), SHAPES)
def test_density_is_that_of_the_docstring_up_to_a_constant(kind, n, p, weighted, by_people):
    model = make(kind, n, p, weighted, by_people)
    draws = unknowns(model)
    found = np.array([model.density(q)[0] for q in draws])
    np.testing.assert_allclose(np.diff(found), np.diff(reference.log_density(draws, model)), rtol=1e-8, atol=1e-7)


@pytest.mark.parametrize("m", [1, 7, 8, 9, 511, 512, 513, 1030])
def test_comparisons_are_taken_in_portions_without_losing_one(m):
    """People change within portions, and at their ends."""
    people = np.arange(m) // 3
    rows = random_quadruplets(np.random.default_rng(0), 6, m, "quadruplets")
    plain, weighted = (
        reference.model_about(rows, 6, 2, weights=weights, people=people, prior=OTHER) for weights in ((), np.ones(m))
    )
    first, second = unknowns(plain)[:2]
    found = plain.density(second)[0] - plain.density(first)[0]
    assert found == pytest.approx(reference.log_density(second, plain) - reference.log_density(first, plain), rel=1e-9)
    (value, gradient), (other, other_gradient) = plain.density(first), weighted.density(first)
    assert value == pytest.approx(other, rel=1e-12)
    np.testing.assert_allclose(gradient, other_gradient, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("by_people", [False, True], ids=["together", "people"])
@pytest.mark.parametrize("weighted", [False, True], ids=["alike", "weighted"])
@pytest.mark.parametrize(("n", "p"), SHAPES)
def test_gradient_matches_finite_differences_in_every_unknown(kind, n, p, weighted, by_people):
    model = make(kind, n, p, weighted, by_people)
    for q in unknowns(model)[:2]:
        _, gradient = model.density(q)
        bumps = 1e-5 * np.eye(model.size)
        slopes = (reference.log_density(q + bumps, model) - reference.log_density(q - bumps, model)) / 2e-5
        np.testing.assert_allclose(gradient, slopes, rtol=2e-5, atol=2e-5 * np.abs(gradient).max())


def test_repeated_rows_are_weights():
    rows = random_quadruplets(np.random.default_rng(0), 6, 37, "quadruplets")
    repeated = reference.model_about(np.tile(rows, (3, 1)), 6, 2, prior=OTHER)
    weighted = reference.model_about(rows, 6, 2, weights=np.full(37, 3.0), prior=OTHER)
    q = unknowns(repeated)[0]
    assert repeated.density(q)[0] == pytest.approx(weighted.density(q)[0], rel=1e-12)
    np.testing.assert_allclose(repeated.density(q)[1], weighted.density(q)[1], rtol=1e-10, atol=1e-10)


def test_one_person_in_the_middle_answers_as_all_do_where_they_are_not_distinguished():
    """The same likelihood, and of the person's two unknowns the prior alone."""
    rows = random_quadruplets(np.random.default_rng(0), 6, 37, "triplets")
    together, alone = (reference.model_about(rows, 6, 2, people=people, prior=OTHER) for people in (None, np.zeros(37)))
    for q in unknowns(together):
        with_person = np.r_[q[:-9], 0.0, 0.0, q[-9:]]
        (value, gradient), (other, other_gradient) = together.density(q), alone.density(with_person)
        assert value == other
        np.testing.assert_array_equal(np.delete(other_gradient, [-11, -10]), gradient)


def test_where_the_arrays_lie_changes_no_bit():
    """Chains of one seed must not part because memory is handed out another way."""
    model = make("triplets", 9, 5, True, True, m=2000)
    q = unknowns(model)[0]
    value, gradient = model.density(q)

    def moved(array, by):
        room = np.empty(array.nbytes + 64, np.uint8)
        there = room[by : by + array.nbytes].view(array.dtype).reshape(array.shape)
        there[...] = array
        return there

    for by in (8, 16, 24, 40):
        arguments = [moved(a, by) if isinstance(a, np.ndarray) else a for a in model.arguments]
        other = moved(np.empty_like(gradient), by)
        assert posterior.density(moved(q, by), other, *arguments) == value
        np.testing.assert_array_equal(other, gradient)


def spaced(low, high, count=3001):
    """Both ends, and numbers between them of all sizes and mantissas, an odd number of them."""
    return np.r_[low, np.sort(np.random.default_rng(0).uniform(low, high, count - 2)), high]


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize(
    ("function", "exact", "values"),
    [
        (posterior.exponentials, np.exp, spaced(-700, 0)),
        (posterior.exponentials, np.exp, spaced(-1e-3, 0)),
        (posterior.exponentials, np.exp, -(10 ** spaced(-320, 0))),
        (posterior.logarithms, np.log, 10 ** spaced(-300, 300)),
        (posterior.logarithms, np.log, np.r_[spaced(0.5, 2), 2.0 ** np.arange(-1000, 1000)]),
    ],
)
def test_exponentials_and_logarithms_are_those_of_numpy(function, exact, values, in_place):
    """Up to what the rounding of an argument of 700 makes of its exponential, 700 times 2^-53."""
    values, count = values.copy(), len(values) - 2
    expected = exact(values)
    result = values if in_place else np.full(len(values), -1.0)
    untouched = result[count:].copy()
    function(values, count, result, np.empty(len(values), np.int64))
    np.testing.assert_allclose(result[:count], expected[:count], rtol=8e-14)
    np.testing.assert_array_equal(result[count:], untouched)


def test_near_one_the_logarithm_loses_no_digits():
    """Of distances that are nearly alike: an error relative to the logarithm, and not to 1."""
    values = np.r_[1.0, 1 + 10.0 ** np.arange(-15, -1), 1 - 10.0 ** np.arange(-15, -1)]
    found = np.empty(len(values))
    posterior.logarithms(values, len(values), found, np.empty(len(values), np.int64))
    np.testing.assert_allclose(found, np.log(values), rtol=3e-15)


def test_an_exponential_beyond_the_normal_numbers_stays_a_normal_number():
    found = np.empty(3)
    posterior.exponentials(np.array([-701.0, -1e5, -np.inf]), 3, found, np.empty(3, np.int64))
    np.testing.assert_allclose(found, np.exp(-700.0), rtol=8e-14)


@pytest.mark.parametrize(("n", "p"), SHAPES)
def test_maps_are_those_of_the_docstring(n, p):
    model = make("triplets", n, p, by_people=True)
    for q in unknowns(model):
        points, axes, lengths, factors = np.empty((n, p)), np.empty(p), np.empty(n), np.empty(n)
        posterior.place_objects(q, model.exposure, N_PEOPLE, axes, lengths, factors, points)
        np.testing.assert_allclose(points, reference.map_of(q, model.exposure, n, p, N_PEOPLE), rtol=1e-6, atol=1e-9)
        assert (axes**2).sum() == pytest.approx(1)
        np.testing.assert_allclose(factors[:, None] * axes * q[: n * p].reshape(n, p), points, rtol=1e-12)


def test_an_object_at_the_origin_stays_there_and_has_a_finite_gradient():
    model = make("triplets", 4, 2)
    q = unknowns(model)[0]
    q[:2] = 0
    value, gradient = model.density(q)
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()
    points = np.empty((4, 2))
    posterior.place_objects(q, model.exposure, 0, np.empty(2), np.empty(4), np.empty(4), points)
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
    maps, objects = draws(p=p), drawn_objects(kind, 8, 200)
    np.testing.assert_allclose(predicted(maps, objects), reference.chances(*maps, objects).mean(axis=0), rtol=1e-12)


@pytest.mark.parametrize("p", [1, 2, 3, 8, 15])
def test_exchanging_the_pairs_gives_the_complement_to_the_last_bit(kind, p):
    maps, objects = draws(p=p, k=9), drawn_objects(kind, 8, 2000)
    exchanged = np.ascontiguousarray(objects[:, [0, 2, 1]] if kind == "triplets" else objects[:, [2, 3, 0, 1]])
    found, other = predicted(maps, objects), predicted(maps, exchanged)
    np.testing.assert_array_equal(1 - found, other)
    np.testing.assert_array_equal(1 - other, found)


def test_equal_distances_are_an_even_chance():
    maps = (np.zeros((2, 3, 2)), np.ones(2), np.ones(2), np.zeros(2))
    assert predicted(maps, np.array([[0, 1, 2]], np.int32)) == 0.5


def test_a_frozen_unknown_stays_and_the_others_move():
    model = make("triplets", 6, 2)
    q = unknowns(model)[0]
    value, gradient = model.density(q)
    inverse_mass = np.where(np.arange(model.size) < 4, 1.0, 0.0)
    rng = np.random.default_rng(0)
    moved, _, found, acceptance, n_steps, diverged = samplers.transition(
        q, gradient, value, 0.05, inverse_mass, 5, rng, model.arguments
    )
    np.testing.assert_array_equal(moved[4:], q[4:])
    assert (moved[:4] != q[:4]).all()
    assert found == model.density(moved)[0]
    assert 0 < acceptance <= 1
    assert 1 <= n_steps < 2**5
    assert not diverged


def test_short_steps_keep_the_energy_and_huge_ones_are_divergent():
    model = make("triplets", 6, 2)
    q = unknowns(model)[0]
    value, gradient = model.density(q)
    ones, rng = np.ones(model.size), np.random.default_rng(0)
    _, _, _, acceptance, _, diverged = samplers.transition(q, gradient, value, 1e-4, ones, 3, rng, model.arguments)
    assert acceptance > 1 - 1e-4
    assert not diverged
    stayed, _, _, acceptance, n_steps, diverged = samplers.transition(
        q, gradient, value, 1e6, ones, 3, rng, model.arguments
    )
    np.testing.assert_array_equal(stayed, q)
    assert (acceptance, n_steps, diverged) == (0, 1, True)

"""What is sampled: different comparisons, their weights, exposure, and the maps of draws."""

import numpy as np
import pytest
from helpers import posterior_twin as twin
from helpers.drawn_rows import random_quadruplets

from nearer import Comparisons
from nearer.posterior.model import NUMBERS, Draws, Prior, different, draws_of, model_of, times_asked


def quadruplets(kind="quadruplets", n=7, m=60, seed=0):
    return random_quadruplets(np.random.default_rng(seed), n, m, kind)


def said(rows, weights):
    """What is said with which weight: a mapping from (near pair, far pair), unordered pairs."""
    rows = rows if rows.shape[1] == 4 else rows[:, [0, 1, 0, 2]]
    found = {}
    for (i, j, l, k), weight in zip(rows.tolist(), weights, strict=True):  # noqa: E741
        key = (frozenset((i, j)), frozenset((l, k)))
        found[key] = found.get(key, 0.0) + weight
    return found


def test_different_says_what_was_said(kind):
    rng = np.random.default_rng(1)
    rows, weights, y = quadruplets(kind), rng.uniform(0.1, 2, 60), rng.choice([-1, 1], 60)
    turned = np.where(y[:, None] < 0, rows[:, [2, 3, 0, 1]], rows)
    found, totals = different(Comparisons.from_quadruplets(rows, y, weights=weights))
    expected, given = said(turned, weights), said(found, totals)
    assert expected.keys() == given.keys()
    assert len(found) == len(given)
    assert all(given[key] == pytest.approx(expected[key]) for key in expected)
    assert found.dtype == np.int32
    assert found.shape[1] == (3 if kind == "triplets" else 4)


def test_rows_of_triplets_written_as_quadruplets_become_triplets_whatever_the_order_in_the_pairs():
    rows = quadruplets("triplets")
    rng = np.random.default_rng(2)
    for columns in ([0, 1], [2, 3]):
        turn = rng.random(60) < 0.5
        rows[np.ix_(turn, columns)] = rows[np.ix_(turn, columns[::-1])]
    plain = different(Comparisons.from_triplets(quadruplets("triplets")[:, [0, 1, 3]]))
    for one, other in zip(different(Comparisons.from_quadruplets(rows)), plain, strict=True):
        np.testing.assert_array_equal(one, other)


def test_one_comparison_of_four_objects_makes_all_rows_quadruplets():
    found, _ = different(Comparisons.from_quadruplets([[0, 1, 0, 2], [0, 1, 2, 3]]))
    assert found.tolist() == [[0, 1, 0, 2], [0, 1, 2, 3]]


def test_order_answers_and_repetitions_are_the_same_model_to_the_last_bit(kind):
    rng = np.random.default_rng(3)
    rows = quadruplets(kind)
    weights = rng.uniform(0.1, 2, 60)
    rows[40:] = rows[:20]  # said more than once, with weights whose sum depends on the order of adding
    rows[30:40] = rows[:10]
    plain = different(Comparisons.from_quadruplets(rows, weights=weights))
    order, flip = rng.permutation(60), rng.random(60) < 0.5
    turned = np.where(flip[:, None], rows[:, [2, 3, 0, 1]], rows)[order]
    other = different(Comparisons.from_quadruplets(turned, ~flip[order], weights=weights[order]))
    for one, another in zip(plain, other, strict=True):
        np.testing.assert_array_equal(one, another)
    doubled = different(Comparisons.from_quadruplets(np.tile(rows, (2, 1)), weights=np.tile(weights, 2)))
    np.testing.assert_allclose(doubled[1], 2 * plain[1], rtol=1e-15)


def test_contradictions_stay_two_rows():
    rows, weights = different(Comparisons.from_triplets([[0, 1, 2], [0, 2, 1], [0, 2, 1]]))
    assert (rows.tolist(), weights.tolist()) == ([[0, 1, 2], [0, 2, 1]], [1.0, 2.0])


def test_rows_of_one_trial_share_their_weight():
    rows = [[0, 1, 2], [0, 1, 3], [0, 1, 4], [0, 2, 3], [0, 2, 4]]
    found, weights = different(Comparisons.from_triplets(rows, trials=["a", "a", "a", "b", "c"]))
    assert found.tolist() == rows
    np.testing.assert_allclose(weights, [3**-0.4] * 3 + [1, 1])
    _, doubled = different(Comparisons.from_triplets(rows, trials=[1, 1, 1, 2, 3], weights=[2.0] * 5))
    np.testing.assert_allclose(doubled, 2 * weights)


def test_weights_that_add_up_to_one_in_a_trial_are_taken_as_they_are():
    rows = [[0, 1, 2], [0, 1, 3], [0, 1, 4], [0, 2, 3]]
    shared = Comparisons.from_triplets(rows, trials=["a", "a", "a", "b"], weights=[1 / 3] * 3 + [1])
    np.testing.assert_allclose(different(shared)[1], shared.sample_weight)
    np.testing.assert_allclose(times_asked(shared), [2, 1, 2, 2, 1])


def test_a_row_of_weight_zero_is_no_row_of_its_trial_either():
    rows = [[0, 1, 2], [0, 1, 3], [0, 1, 4]]
    found, weights = different(Comparisons.from_triplets(rows, trials=["a"] * 3, weights=[1, 1, 0]))
    assert found.tolist() == rows[:2]
    np.testing.assert_allclose(weights, 2**-0.4)


def test_trials_may_have_any_label():
    rows = [[0, 1, 2], [0, 1, 3], [0, 1, 4]]
    _, weights = different(Comparisons.from_triplets(rows, trials=[("a", 1), ("a", 1), 7]))
    np.testing.assert_allclose(weights, [2**-0.4, 2**-0.4, 1])


def test_a_model_is_over_the_objects_that_are_compared():
    model, seen = model_of(Comparisons.from_triplets([[3, 9, 5], [5, 3, 9]], n_objects=20), 2)
    assert seen.tolist() == [3, 5, 9]
    assert sorted(model.objects.tolist()) == [[0, 2, 1], [1, 0, 2]]
    assert model.weights.size == 0
    assert (model.n_objects, model.size) == (3, 3 * 2 + 2 + 3 + 7)


def test_exposure_is_the_logarithm_of_how_often_objects_come_up():
    rows = [[0, 1, 2], [0, 1, 3], [0, 2, 3], [4, 0, 1]]
    weights = np.array([1.0, 2.0, 0.5, 0.0])
    model, seen = model_of(Comparisons.from_triplets(rows, weights=weights, n_objects=6), 1)
    asked = np.log1p([3.5, 3, 1.5, 2.5])
    assert seen.tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(model.exposure, asked - asked.mean())
    np.testing.assert_allclose(model.exposure + model.usual_exposure, asked)
    np.testing.assert_allclose(model.exposure.min() - model.least_exposure, np.log(2))  # half as often as the rarest
    np.testing.assert_array_equal(model.weights, [1, 2, 0.5])


def test_draws_are_maps_and_ways_to_answer():
    model, _ = model_of(Comparisons.from_quadruplets(quadruplets()), 3)
    unknowns = twin.prior_draws(np.random.default_rng(0), 6, model.n_objects, 3)
    draws = draws_of(model, unknowns)
    assert isinstance(draws, Draws)
    assert len(draws) == 6
    np.testing.assert_allclose(draws.points, twin.map_of(unknowns, model.exposure, model.n_objects, 3), rtol=1e-6)
    for found, expected in zip(draws[1:], twin.answering(unknowns[:, -7:]), strict=True):
        np.testing.assert_allclose(found, expected)


def test_starts_differ_and_have_the_numbers_at_their_centres():
    model, _ = model_of(Comparisons.from_quadruplets(quadruplets()), 3)
    first, second = (model.start(np.random.default_rng(seed)) for seed in (0, 1))
    assert (first[: 3 * model.n_objects] != second[: 3 * model.n_objects]).all()
    np.testing.assert_array_equal(first[-7:], Prior().centres)
    assert len(NUMBERS) == len(Prior().centres) == len(Prior().scales)


def test_the_prior_is_as_wide_as_its_docstring_says():
    draws = twin.prior_draws(np.random.default_rng(0), 20_000, 2, 2)
    unknowns = twin.split(draws, 2, 2)
    lapse = twin.answering(unknowns.numbers)[2]
    scale = np.exp(np.exp(unknowns.numbers[:, 1]) * unknowns.v[:, 0])
    assert 0.6 < np.mean((lapse > 0.004) & (lapse < 0.08)) < 0.75
    assert np.mean((scale < 1.2) & (scale > 1 / 1.2)) > 0.6


def test_the_number_of_rows_of_a_trial_gives_no_answer_away():
    """Of a grid of six the two chosen are in four rows each, the other four in two."""
    grid = [[0, near, far] for near in (1, 2) for far in (3, 4, 5, 6)]
    model, _ = model_of(Comparisons.from_triplets([*grid, [1, 2, 3]], trials=["grid"] * 8 + ["other"]), 1)
    np.testing.assert_allclose(model.exposure + model.usual_exposure, np.log1p([1, 2, 2, 2, 1, 1, 1]))
    weighted = Comparisons.from_triplets(grid, trials=["grid"] * 8, weights=[3.0] * 8)
    np.testing.assert_allclose(times_asked(weighted), 3)

"""The test of groups: p-values are uniform where groups do not matter, small where they do; so with displacements."""

import math

import numpy as np
import pytest
from helpers.drawn_rows import random_quadruplets
from helpers.few import one_start
from scipy.special import expit
from scipy.stats import chi2, kstest

from benchmarks.validity.groups import TwoGroups, p_value
from nearer.comparing.group_models import FittedMap, Responses, departure_precision, fit_groups, fit_map, log_loss
from nearer.comparing.group_results import PermutationTest
from nearer.comparing.group_tests import (
    LOOSE_DEPARTURE,
    TEST_DEPARTURE,
    Blocks,
    BlockScores,
    displacements,
    efficient_scores,
    length_intervals,
    permutation_test,
    untested_displacements,
)
from nearer.comparing.groups import common_map
from nearer.geometry import align
from nearer.model.answers import answer_probability


def outcome(study, seed, n_permutations=199):
    rng = np.random.default_rng(seed)
    comparisons, groups, _, _ = study.draw(rng)
    blocks = Blocks.of(np.asarray(comparisons.annotators, dtype=np.intp), groups, 2)
    responses, common = Responses.of(comparisons), common_map(comparisons, 2)
    scores = efficient_scores(responses, common, blocks)
    return responses, common, groups, permutation_test(scores, blocks, n_permutations, rng), scores, blocks


def test_p_is_uniform_where_people_differ_and_groups_do_not(monkeypatch):
    one_start(monkeypatch)
    study = TwoGroups(8, sizes=(4, 8), n_answers=40, own=0.5)
    p_values = [p_value(study, seed, 99)[0] for seed in range(24)]
    assert kstest(p_values, "uniform").pvalue > 0.01
    assert min(p_values) < 0.25
    assert max(p_values) > 0.75


def test_p_is_small_where_objects_are_displaced(monkeypatch):
    one_start(monkeypatch)
    found = outcome(TwoGroups(8, sizes=(10, 10), n_answers=80, moved_by=0.8), 0)[3]
    assert found.p_value == 1 / 200  # the least of 199 permutations
    assert found.object_p_values.min() <= 0.05


def test_the_statistic_is_what_maps_of_groups_gain(monkeypatch):
    """Squares of sums are twice the log-likelihood that maps of the groups gain, less the price of their departures.

    T measures each by what it is expected to be: with the squares s of the blocks of two groups, s1 s2 / (s1 + s2).
    """
    one_start(monkeypatch)
    study = TwoGroups(8, sizes=(15, 15), n_answers=80, moved_by=0.2)
    responses, common, groups, found, scores, blocks = outcome(study, 1, 19)
    precision = departure_precision(common, TEST_DEPARTURE)
    gained = 0.0
    for group in (0, 1):
        part = responses.subset(groups == group)
        own = fit_map(part, common, common.points, precision)
        gained += part.weights @ (log_loss(part, common) - log_loss(part, own))
        gained -= precision / 2 * np.square(own.points - common.points).sum()
    sums = [np.square(scores.whitened[blocks.groups == group].sum(axis=0)).sum() for group in (0, 1)]
    assert sum(sums) == pytest.approx(2 * gained, rel=0.25)
    sizes = [np.square(scores.whitened[blocks.groups == group]).sum() for group in (0, 1)]
    assert found.statistic == pytest.approx(sum(sums) / (sizes[0] * sizes[1] / sum(sizes)))


def test_a_small_group_with_less_noise_is_no_difference(monkeypatch):
    """Scores of people who hardly lapse are larger than those of others: sums alone reject in half of these studies."""
    one_start(monkeypatch)
    study = TwoGroups(8, sizes=(5, 25), n_answers=60, lapses=(0.05, 0.9))
    p_values = [p_value(study, seed, 99)[0] for seed in range(20)]
    assert np.mean(np.array(p_values) <= 0.05) <= 0.2


def statistic_of_expected_answers(first, second):
    """T where every question has both answers, weighed by how often each is given in two groups."""
    rng = np.random.default_rng(0)
    rows = random_quadruplets(rng, 8, 300, "triplets")
    parts, groups = [], np.repeat([0, 1], 600)
    for group in (first, second):
        chance = answer_probability(Responses(rows, np.ones(300), 8).margins(group.points), group.lapse)
        parts.append(np.concatenate([chance, 1 - chance]))
    both = np.concatenate([rows, rows[:, [2, 3, 0, 1]]])
    responses = Responses(np.tile(both, (2, 1)), np.concatenate(parts), 8)
    common = fit_map(responses, first, 0.0, 1e-6)
    blocks = Blocks.of(groups, groups, 2)
    return float(np.square(efficient_scores(responses, common, blocks).whitened).sum())


def test_noise_alone_is_no_difference_of_maps():
    """Groups of another scale, or of other lapses, gain next to nothing beside a move of the same size."""
    points = np.random.default_rng(1).normal(size=(8, 2))
    moved = points.copy()
    moved[0] += 0.15 * np.linalg.norm(points) * np.array([0.6, 0.8])
    seen = FittedMap(points, 0.05)
    of_move = statistic_of_expected_answers(seen, FittedMap(moved, 0.05))
    assert statistic_of_expected_answers(seen, FittedMap(1.15 * points, 0.05)) < 0.02 * of_move
    assert statistic_of_expected_answers(seen, FittedMap(points, 0.2)) < 0.02 * of_move
    assert of_move > 1


def test_people_in_both_groups_are_their_own_control(monkeypatch):
    """Each person has a map far from the others', and half of the answers on a map with some objects moved."""
    one_start(monkeypatch)
    rng = np.random.default_rng(0)
    same, moved = TwoGroups(8, sizes=(12, 0), n_answers=60), []
    first, _, maps, _ = same.draw(rng)
    people = np.asarray(first.annotators, dtype=np.intp)
    conditions = np.tile(np.repeat([0, 1], 30), 12)
    points = maps[0]
    rows = np.array(first.rows)
    second = points.copy()
    second[:3] *= -1
    for row, condition in zip(rows, conditions, strict=True):
        seen = second if condition else points
        near, far = (np.square(seen[row[0]] - seen[row[k]]).sum() for k in (1, 2))
        moved.append(row if rng.random() < expit(2 * (far - near)) else row[[0, 2, 1]])
    comparisons = type(first).from_triplets(np.array(moved), n_objects=8)
    blocks = Blocks.of(people, conditions, 2)
    assert blocks.within
    responses, common = Responses.of(comparisons), common_map(comparisons, 2)
    found = permutation_test(efficient_scores(responses, common, blocks), blocks, 199, rng)
    assert found.p_value <= 0.01
    for permuted in blocks.permutations(5, rng):
        for person in range(12):
            assert np.sort(permuted[:, blocks.people == person]).tolist() == [[0, 1]] * 5


def test_the_smallest_p_counts_the_ways_to_deal_out_labels():
    people = np.arange(6)
    halves = Blocks.of(people, np.array([0, 0, 0, 1, 1, 1]), 2)
    assert math.exp(halves.log_n_arrangements) == pytest.approx(10)  # 20, and groups may change names
    unequal = Blocks.of(people, np.array([0, 0, 1, 1, 1, 1]), 2)
    assert math.exp(unequal.log_n_arrangements) == pytest.approx(15)
    within = Blocks.of(np.repeat(np.arange(4), 2), np.tile([0, 1], 4), 2)
    assert math.exp(within.log_n_arrangements) == pytest.approx(8)  # 16, and conditions may change names


@pytest.mark.parametrize("length", [0.0, 1.0, 5.0])
def test_the_interval_of_a_single_length_holds_it(length):
    rng = np.random.default_rng(0)
    squared = np.square(rng.normal(size=(2000, 2)) + np.array([length, 0])).sum(axis=1)
    lows, highs = length_intervals(squared, np.full(2000, chi2.ppf(0.95, 2)), 2, 0.9)
    inside = (lows <= length) & (length <= highs)
    # Where little moved, the high end is never below it: 5% miss less.
    assert inside.mean() == pytest.approx(0.9 if length > 2 else 0.95, abs=0.03)


def test_very_long_and_untested_lengths_have_intervals():
    lows, highs = length_intervals(np.array([1e8]), chi2.ppf([0.975], 2), 2, 0.95)
    np.testing.assert_allclose([lows[0], highs[0]], [1e4 - 1.96, 1e4 + 1.96], atol=1e-3)
    lows, highs = length_intervals(np.array([50.0]), np.array([np.inf]), 2, 0.95)
    assert (lows, highs) == (0.0, np.inf)


def shifts_of(n_people, n_objects, moved, rng):
    """Return people of two groups whose steps are normal, the first object moved in the second group."""
    shifts = rng.normal(size=(n_people, n_objects, 2))
    groups = np.arange(n_people) % 2
    shifts[groups == 1, 0, 0] += moved
    shifts -= shifts.mean(axis=0)
    blocks = Blocks(np.arange(n_people), groups, np.arange(n_people), 2)
    return BlockScores(shifts.reshape(n_people, -1), shifts, np.ones(n_people)), blocks


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_intervals_leave_0_exactly_where_the_test_rejects(level):
    rng = np.random.default_rng(0)
    rejected = []
    for moved in np.linspace(0, 2.5, 40):
        found, blocks = shifts_of(20, 6, moved, rng)
        test = permutation_test(found, blocks, 199, rng)
        apart = rng.normal(size=(6, 2))
        moves = displacements(found, blocks, test, apart, 1.0, level, np.ones(6, dtype=bool))
        np.testing.assert_array_equal(moves.lows > 0, test.object_p_values <= 1 - level + 1e-9)
        assert (moves.lows <= moves.lengths + 1e-9).all()
        assert (moves.lows <= moves.highs).all()
        assert np.linalg.norm(moves.vectors) == pytest.approx(np.linalg.norm(apart))
        rejected += (moves.lows > 0).tolist()
    assert 0 < np.mean(rejected) < 1


def test_the_corrected_length_of_what_did_not_move_is_small():
    rng = np.random.default_rng(1)
    found, blocks = shifts_of(40, 50, 0.0, rng)
    test = permutation_test(found, blocks, 199, rng)
    moves = displacements(found, blocks, test, rng.normal(size=(50, 2)), 1.0, 0.95, np.arange(50) > 0)
    assert np.isnan(moves.vectors[0]).all()
    assert (moves.corrected[1:] == 0).mean() > 0.5


def test_intervals_hold_what_people_with_maps_of_their_own_see(monkeypatch):
    one_start(monkeypatch)
    held = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        study = TwoGroups(9, sizes=(8, 8), n_answers=60, moved_by=0.6, own=0.4)
        comparisons, groups, maps, _ = study.draw(rng)
        responses, common = Responses.of(comparisons), common_map(comparisons, 2)
        blocks = Blocks.of(np.asarray(comparisons.annotators, dtype=np.intp), groups, 2)
        found = efficient_scores(responses, common, blocks)
        test = permutation_test(found, blocks, 199, rng)
        first, second = (align(each.points, common.points) for each in
                         fit_groups(responses, common, groups, [common] * 2, LOOSE_DEPARTURE))  # fmt: skip
        moves = displacements(found, blocks, test, second - first, 1.0, 0.95, np.ones(9, dtype=bool))
        truth = np.linalg.norm(align(maps[1], common.points) - align(maps[0], common.points), axis=1)
        held += ((moves.lows <= truth) & (truth <= moves.highs)).tolist()
    assert np.mean(held) > 0.85  # 0.96 to 0.99 of single objects in 60 studies


def test_without_a_test_there_are_no_intervals():
    found = untested_displacements(np.ones((2, 2)), 1.0, np.array([True, False]))
    assert np.isnan(found.lows).all()
    assert np.isfinite(found.lengths).tolist() == [True, False]


def test_the_critical_statistic_is_the_one_from_which_p_is_small():
    largest = np.arange(99.0)[::-1]
    test = PermutationTest(0.0, 1.0, np.zeros(1), np.ones(1), 99, 0.01, np.ones(1), largest)
    for statistic in (93.5, 94.5, 95.5):
        p = (1 + (largest >= statistic).sum()) / 100
        assert (statistic > test.critical(0.05)) == (p <= 0.05)
    assert test.critical(0.005) == np.inf

"""The test of groups: its p-values are uniform where groups do not matter, and small where they do."""

import math

import numpy as np
import pytest
from helpers.drawn_rows import random_quadruplets
from helpers.few import one_start
from scipy.stats import kstest

from benchmarks.groups import TwoGroups, p_value
from nearer.comparing.groups.answering import Fitted, Said, fit_map, log_loss
from nearer.comparing.groups.comparison import common_map
from nearer.comparing.groups.crossing import precision_of
from nearer.comparing.groups.permuting import _DEPARTURE, Blocks, permutation_test, scored
from nearer.model.answers import answer_probability


def outcome(study, seed, n_permutations=199):
    rng = np.random.default_rng(seed)
    comparisons, groups, _, _ = study.draw(rng)
    blocks = Blocks.of(np.asarray(comparisons.annotators, dtype=np.intp), groups, 2)
    said, common = Said.of(comparisons), common_map(comparisons, 2)
    scores = scored(said, common, blocks)
    return said, common, groups, permutation_test(scores, blocks, n_permutations, rng), scores, blocks


def test_p_is_uniform_where_people_differ_and_groups_do_not(monkeypatch):
    one_start(monkeypatch)
    study = TwoGroups(8, sizes=(4, 8), n_answers=40, own=0.5)
    p_values = [p_value(study, seed, 99)[0] for seed in range(24)]
    assert kstest(p_values, "uniform").pvalue > 0.01
    assert min(p_values) < 0.25
    assert max(p_values) > 0.75


def test_p_is_small_where_objects_moved(monkeypatch):
    one_start(monkeypatch)
    found = outcome(TwoGroups(8, sizes=(10, 10), n_answers=80, moved_by=0.8), 0)[3]
    assert found.p == 1 / 200  # the least of 199 permutations
    assert found.p_of_objects.min() <= 0.05


def test_the_statistic_is_what_maps_of_groups_gain(monkeypatch):
    """Squares of sums are twice the log-likelihood that maps of the groups gain, less the price of their departures.

    T measures each by what it is expected to be: with the squares s of the blocks of two groups, s1 s2 / (s1 + s2).
    """
    one_start(monkeypatch)
    study = TwoGroups(8, sizes=(15, 15), n_answers=80, moved_by=0.2)
    said, common, groups, found, scores, blocks = outcome(study, 1, 19)
    precision = precision_of(common, _DEPARTURE)
    gained = 0.0
    for group in (0, 1):
        part = said.among(groups == group)
        own = fit_map(part, common, common.points, precision)
        gained += part.weights @ (log_loss(part, common) - log_loss(part, own))
        gained -= precision / 2 * np.square(own.points - common.points).sum()
    sums = [np.square(scores.whitened[blocks.groups == group].sum(axis=0)).sum() for group in (0, 1)]
    assert sum(sums) == pytest.approx(2 * gained, rel=0.25)
    sizes = [np.square(scores.whitened[blocks.groups == group]).sum() for group in (0, 1)]
    assert found.statistic == pytest.approx(sum(sums) / (sizes[0] * sizes[1] / sum(sizes)))


def test_a_small_quiet_group_beside_a_large_noisy_one_is_no_difference(monkeypatch):
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
        chance = answer_probability(Said(rows, np.ones(300), 8).margins(group.points), group.lapse)
        parts.append(np.concatenate([chance, 1 - chance]))
    both = np.concatenate([rows, rows[:, [2, 3, 0, 1]]])
    said = Said(np.tile(both, (2, 1)), np.concatenate(parts), 8)
    common = fit_map(said, first, 0.0, 1e-6)
    blocks = Blocks.of(groups, groups, 2)
    return float(np.square(scored(said, common, blocks).whitened).sum())


def test_noise_alone_is_no_difference_of_maps():
    """Groups of another scale, or of other lapses, gain next to nothing beside a move of the same size."""
    points = np.random.default_rng(1).normal(size=(8, 2))
    moved = points.copy()
    moved[0] += 0.15 * np.linalg.norm(points) * np.array([0.6, 0.8])
    seen = Fitted(points, 0.05)
    of_move = statistic_of_expected_answers(seen, Fitted(moved, 0.05))
    assert statistic_of_expected_answers(seen, Fitted(1.15 * points, 0.05)) < 0.02 * of_move
    assert statistic_of_expected_answers(seen, Fitted(points, 0.2)) < 0.02 * of_move
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
        moved.append(row if rng.random() < expit_of(far - near) else row[[0, 2, 1]])
    comparisons = type(first).from_triplets(np.array(moved), n_objects=8)
    blocks = Blocks.of(people, conditions, 2)
    assert blocks.within
    said, common = Said.of(comparisons), common_map(comparisons, 2)
    found = permutation_test(scored(said, common, blocks), blocks, 199, rng)
    assert found.p <= 0.01
    for dealt in blocks.permutations(5, rng):
        for person in range(12):
            assert np.sort(dealt[:, blocks.people == person]).tolist() == [[0, 1]] * 5


def expit_of(gap):
    return 1 / (1 + math.exp(-2 * gap))


def test_the_smallest_p_counts_the_ways_to_deal_out_labels():
    people = np.arange(6)
    halves = Blocks.of(people, np.array([0, 0, 0, 1, 1, 1]), 2)
    assert math.exp(halves.log_ways) == pytest.approx(10)  # 20, and groups may change names
    unequal = Blocks.of(people, np.array([0, 0, 1, 1, 1, 1]), 2)
    assert math.exp(unequal.log_ways) == pytest.approx(15)
    within = Blocks.of(np.repeat(np.arange(4), 2), np.tile([0, 1], 4), 2)
    assert math.exp(within.log_ways) == pytest.approx(8)  # 16, and conditions may change names

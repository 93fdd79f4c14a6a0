"""Displacements: they are as long as those of refitted maps, and their intervals agree with the test and hold them."""

import numpy as np
import pytest
from helpers.few import one_start
from scipy.stats import chi2

from benchmarks.groups import TwoGroups
from nearer.comparing.groups.answering import Said
from nearer.comparing.groups.comparison import _LOOSE, common_map
from nearer.comparing.groups.crossing import group_maps
from nearer.comparing.groups.moved import displacements, length_intervals, untested
from nearer.comparing.groups.permuting import Blocks, Permuted, Scored, permutation_test, scored
from nearer.geometry import align


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
    return Scored(shifts.reshape(n_people, -1), shifts, np.ones(n_people)), blocks


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_intervals_leave_0_exactly_where_the_test_rejects(level):
    rng = np.random.default_rng(0)
    rejected = []
    for moved in np.linspace(0, 2.5, 40):
        found, blocks = shifts_of(20, 6, moved, rng)
        test = permutation_test(found, blocks, 199, rng)
        apart = rng.normal(size=(6, 2))
        moves = displacements(found, blocks, test, apart, 1.0, level, np.ones(6, dtype=bool))
        np.testing.assert_array_equal(moves.lows > 0, test.p_of_objects <= 1 - level + 1e-9)
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
        said, common = Said.of(comparisons), common_map(comparisons, 2)
        blocks = Blocks.of(np.asarray(comparisons.annotators, dtype=np.intp), groups, 2)
        found = scored(said, common, blocks)
        test = permutation_test(found, blocks, 199, rng)
        first, second = (align(each.points, common.points) for each in
                         group_maps(said, common, groups, [common] * 2, _LOOSE))  # fmt: skip
        moves = displacements(found, blocks, test, second - first, 1.0, 0.95, np.ones(9, dtype=bool))
        truth = np.linalg.norm(align(maps[1], common.points) - align(maps[0], common.points), axis=1)
        held += ((moves.lows <= truth) & (truth <= moves.highs)).tolist()
    assert np.mean(held) > 0.85  # 0.96 to 0.99 of single objects in 60 studies


def test_without_a_test_there_are_no_intervals():
    found = untested(np.ones((2, 2)), 1.0, np.array([True, False]))
    assert np.isnan(found.lows).all()
    assert np.isfinite(found.lengths).tolist() == [True, False]


def test_the_critical_statistic_is_the_one_from_which_p_is_small():
    largest = np.arange(99.0)[::-1]
    test = Permuted(0.0, 1.0, np.zeros(1), np.ones(1), 99, 0.01, np.ones(1), largest)
    for statistic in (93.5, 94.5, 95.5):
        p = (1 + (largest >= statistic).sum()) / 100
        assert (statistic > test.critical(0.05)) == (p <= 0.05)
    assert test.critical(0.005) == np.inf

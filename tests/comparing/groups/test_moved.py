"""Displacements: one Newton step for each resample is as good as a fit, and intervals hold the length."""

import numpy as np
import pytest
from helpers.few import one_start

from nearer.comparing.groups import moved
from nearer.comparing.groups.answering import Said, fit_map
from nearer.comparing.groups.comparison import common_map
from nearer.comparing.groups.crossing import precision_of
from nearer.comparing.groups.moved import displacements, inflation, length_intervals, resampled_maps
from nearer.comparing.groups.permuting import Blocks
from nearer.geometry import align
from nearer.lab.benchmarks.groups import TwoGroups


@pytest.mark.parametrize("length", [0.0, 1.0, 5.0])
def test_the_interval_of_a_length_holds_it(length):
    rng = np.random.default_rng(0)
    seen = np.linalg.norm(rng.normal(size=(2000, 2)) + np.array([length, 0]), axis=1)
    lows, highs = length_intervals(seen, np.full(2000, 2.0), 2, 0.9)
    inside = (lows <= length) & (length <= highs)
    # Where little moved, the high end is never below it: 5% miss less.
    assert inside.mean() == pytest.approx(0.9 if length > 2 else 0.95, abs=0.03)


def test_very_long_and_noiseless_lengths_have_intervals():
    lows, highs = length_intervals(np.array([1e4, 3.0, np.nan]), np.array([2.0, 0.0, 2.0]), 2, 0.95)
    np.testing.assert_allclose(lows, [1e4 - 1.96, 3.0, np.nan], atol=1e-3)
    np.testing.assert_allclose(highs, [1e4 + 1.96, 3.0, np.nan], atol=1e-3)


def test_the_corrected_length_of_what_did_not_move_is_small():
    rng = np.random.default_rng(0)
    maps = np.stack([np.zeros((500, 2)), rng.normal(size=(500, 2))])
    drawn = maps + np.array([0.0, 1.0])[:, None, None] * rng.normal(size=(200, 1, 500, 2))
    found = displacements(maps, drawn, 1.0, 1.0, 0.95, np.arange(500) > 0)
    assert np.isnan(found.vectors[0]).all()
    assert np.nanmean(found.lengths**2) == pytest.approx(2, abs=0.3)
    assert (found.corrected[1:] == 0).mean() > 0.5
    assert (found.lows[1:] > 0).mean() < 0.06


def test_a_step_for_each_resample_is_as_good_as_a_fit(monkeypatch):
    one_start(monkeypatch)
    monkeypatch.setattr(moved, "_COPIES", 1)
    rng = np.random.default_rng(0)
    comparisons, groups, _, _ = TwoGroups(10, sizes=(30, 30), n_answers=100).draw(rng)
    people = np.asarray(comparisons.annotators, dtype=np.intp)
    said, common = Said.of(comparisons), common_map(comparisons, 2)
    blocks = Blocks.of(people, groups, 2)
    maps, drawn = resampled_maps(said, common, blocks, rng)
    inside = said.among(groups == 0)
    fitted = []
    for _ in range(20):
        weights = rng.exponential(size=30)
        again = inside.weighted((weights / weights.mean())[people[groups == 0]])
        fitted.append(align(fit_map(again, common, common.points, precision_of(common, 2.0)).points, common.points))
    by_fits = np.std(np.array(fitted) - maps[0], axis=0)
    by_steps = np.std(drawn[:, 0], axis=0)
    # Both are guesses from few resamples, and steps are too short: which copies of the data make up for.
    assert np.median(by_steps / by_fits) == pytest.approx(1.0, abs=0.35)
    assert np.corrcoef(by_steps.ravel(), by_fits.ravel())[0, 1] > 0.5
    assert 1 <= inflation(said, common, blocks, rng) < 4


@pytest.mark.parametrize("p", [1, 2, 3])
def test_maps_that_happen_to_agree_do_not_make_an_interval_of_nothing(p):
    rng = np.random.default_rng(0)
    for truth in (0.0, 1.0):
        seen = np.zeros((2000, p))
        seen[:, 0] = truth
        seen += rng.normal(size=seen.shape)
        lows, highs = length_intervals(np.linalg.norm(seen, axis=1), np.full(2000, float(p)), p, 0.95)
        assert (highs > 0.5).all()
        assert np.mean((lows <= truth) & (truth <= highs)) > 0.93

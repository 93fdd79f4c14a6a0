"""Worlds: their answers follow the noise they name, truth and answers come from seeds of their own, pools hold."""

import numpy as np
import pytest

from benchmarks.active.worlds import WORLDS, Pool, Simulated, egg_noise
from nearer import Comparisons


def test_people_answer_about_eggs_as_published():
    share = 0.6
    right = 0.5 + (1 - 2 * 0.07074231) * (1 / (1 + np.exp(-17.55473809 * (share - 0.5))) - 0.5)
    assert egg_noise(np.array([0.4**2]), np.array([0.6**2]))[0] == pytest.approx(right)
    life = Simulated(np.array([[0.0], [0.4], [1.0]]), {"noise": egg_noise}, np.random.SeedSequence(0))
    asked = np.tile([[1, 2, 0]], (20_000, 1))
    assert (life.answer(asked)[:, 1] == 0).mean() == pytest.approx(right, abs=0.015)


def test_flips_are_one_in_ten():
    life = WORLDS["cloud2-flips"].life(seed=0, run=0)
    truth = {tuple(row) for row in life.test.rows.tolist()}
    given = life.answer(life.test.rows)
    assert np.mean([tuple(row) in truth for row in given.tolist()]) == pytest.approx(0.9, abs=0.01)


def test_a_run_has_its_own_truth_whoever_asks():
    one, same, other = (WORLDS["cloud5-logistic"].life(3, run) for run in (0, 0, 1))
    np.testing.assert_array_equal(one.points, same.points)
    np.testing.assert_array_equal(one.answer(one.questions[:50]), same.answer(one.questions[:50]))
    assert not np.array_equal(one.points, other.points)
    assert not np.array_equal(one.points, WORLDS["cloud5-flips"].life(3, 0).points)


def test_equal_distances_are_no_fair_question():
    """The middle of three has both others equally far away."""
    life = Simulated(np.array([[0.0], [1.0], [2.0]]), {"noise": None}, np.random.SeedSequence(0))
    assert sorted(life.test.rows.tolist()) == [[0, 1, 2], [2, 1, 0]]


def test_a_pool_keeps_whole_acts_apart_and_answers_with_what_was_given():
    rng = np.random.default_rng(0)
    rows = np.array([rng.permutation(8)[:3] for _ in range(600)])
    given = Comparisons.from_triplets(rows, trials=np.repeat(np.arange(300), 2))
    life = Pool(given, np.random.SeedSequence(1))
    kept = set(life.test.trials.tolist())
    assert len(kept) == 60
    assert len(life.test) == 120
    keys = [tuple(row) for row in life.questions.tolist()]
    assert len(set(keys)) == len(keys)
    free = {tuple(row) for row, trial in zip(rows.tolist(), given.trials.tolist(), strict=True) if trial not in kept}
    answers = life.answer(life.questions[:, [0, 2, 1]])
    assert {tuple(row) for row in answers.tolist()} <= free
    assert {(a, *sorted((b, c))) for a, b, c in free} == set(keys)


def test_a_question_answered_both_ways_gets_either_answer():
    given = Comparisons.from_triplets([[0, 1, 2], [0, 2, 1]] * 50)
    seen = {Pool(given, np.random.SeedSequence(seed)).answer(np.array([[0, 1, 2]]))[0, 1] for seed in range(20)}
    assert seen == {1, 2}


def test_checkpoints_grow_from_two_answers_an_object_to_the_most():
    for world in WORLDS.values():
        sizes = world.checkpoints()
        assert (sizes[0], sizes[-1]) == (2 * world.n_objects, world.most)
        assert list(sizes) == sorted(set(sizes))
        assert 12 <= len(sizes) <= 14


def test_with_features_maps_are_judged_from_few_answers_on():
    world = WORLDS["zappos"]
    assert world.checkpoints()[0] == 170
    assert world.checkpoints(featured=True)[0] == 42
    assert {85, 170} <= set(world.checkpoints(featured=True))

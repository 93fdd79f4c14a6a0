"""Rules: what each asks, and that the crowd kernel's gains are mutual informations."""

import numpy as np
import pytest
from helpers.fake_salmon import make_salmon
from helpers.few import few_draws
from scipy.stats import entropy

from benchmarks.active.rules import (
    Information,
    Landmarks,
    Ours,
    Random,
    Salmon,
    information_gains,
    places_of_head,
    squared_distances,
)
from benchmarks.active.worlds import Pool, Simulated
from benchmarks.programs import MeasurementFailed, salmon_program
from nearer import Comparisons

SEED = np.random.SeedSequence(5)


@pytest.fixture
def life():
    points = np.random.default_rng(0).normal(size=(9, 2))
    return Simulated(points, {"noise": None, "flipped": 0.1}, np.random.SeedSequence(1))


@pytest.fixture
def pool():
    rng = np.random.default_rng(0)
    rows = np.array([rng.permutation(8)[:3] for _ in range(150)])
    return Pool(Comparisons.from_triplets(rows, n_objects=8), np.random.SeedSequence(1))


def keys(rows):
    return [(a, *sorted((b, c))) for a, b, c in np.asarray(rows).tolist()]


@pytest.mark.parametrize("rule", [Random, Landmarks, Information])
@pytest.mark.parametrize("kind", ["life", "pool"])
def test_every_question_is_asked_once(rule, kind, request):
    world = request.getfixturevalue(kind)
    chooser, asked = rule(world, 2, SEED), []
    while len(rows := chooser.ask(25)):
        asked += keys(rows)
        chooser.tell(world.answer(rows))
    assert sorted(asked) == sorted(keys(world.questions))


def test_landmarks_come_first(life):
    chooser = Landmarks(life, 2, SEED)
    assert len(chooser.landmarks) == 4
    # Each object against all pairs of landmarks that it is none of.
    first = chooser.ask(5 * 6 + 4 * 3)
    assert np.isin(first[:, 1:], chooser.landmarks).all()
    assert not np.isin(chooser.ask(20)[:, 1:], chooser.landmarks).all(axis=1).any()


def test_heads_take_turns(life):
    chooser = Information(life, 2, SEED)
    rows = chooser.ask(18)
    chooser.tell(life.answer(rows))
    assert sorted(chooser.ask(9)[:, 0].tolist()) == list(range(9))


def test_gains_are_mutual_informations():
    """Of the joint distribution of place and answer: H(place) + H(answer) - H(both)."""
    rng = np.random.default_rng(3)
    squares = squared_distances(rng.normal(size=(6, 2)))
    belief = places_of_head(squares, np.array([[1, 2], [3, 4]]), 0.3)
    by_hand = np.ones(6)
    for near, far in ((1, 2), (3, 4)):
        by_hand *= (0.3 + squares[:, far]) / (0.6 + squares[:, near] + squares[:, far])
    np.testing.assert_allclose(belief, by_hand / by_hand.sum())
    (gain,) = information_gains(squares, belief, np.array([[2, 5]]), 0.3)
    chance = (0.3 + squares[:, 5]) / (0.6 + squares[:, 2] + squares[:, 5])
    joint = np.stack([belief * chance, belief * (1 - chance)])
    assert gain == pytest.approx(entropy(joint.sum(axis=0)) + entropy(joint.sum(axis=1)) - entropy(joint.ravel()))


def test_ours_asks_only_what_is_in_the_pool_and_never_again(pool, monkeypatch):
    few_draws(monkeypatch)
    chooser, asked = Ours(pool, 2, SEED), []
    for _ in range(3):
        rows = chooser.ask(10)
        chooser.tell(pool.answer(rows))
        asked += keys(rows)
    assert len(set(asked)) == 30
    assert set(asked) <= set(keys(pool.questions))
    assert len(chooser.chooser.comparisons_) == 30


def test_salmon_gets_answers_and_sends_its_best_questions(life, tmp_path):
    program = salmon_program(make_salmon(tmp_path / "salmon"))
    assert program.version == "1.0.3"
    chooser = Salmon(life, 2, SEED, program)
    try:
        chooser.tell(life.answer(chooser.ask(10)))  # random: at most one answer an object so far
        rows = chooser.ask(3)
        sums = np.sort(life.questions.sum(axis=1))[-3:]
        assert sorted(rows.sum(axis=1).tolist()) == sums.tolist()
        assert keys(chooser.ask(3)) == keys(rows)  # it may ask again
        np.testing.assert_array_equal(chooser.own_map()[:, 0], np.arange(9))
        chooser.tell(life.answer(life.questions[:55]))
        with pytest.raises(MeasurementFailed, match="too many answers"):
            chooser.ask(3)
    finally:
        chooser.close()


def test_salmon_asks_a_question_of_a_pool_once(pool, tmp_path):
    chooser = Salmon(pool, 2, SEED, salmon_program(make_salmon(tmp_path / "salmon")))
    try:
        asked = []
        for _ in range(5):
            rows = chooser.ask(9)
            asked += keys(rows)
            chooser.tell(pool.answer(rows))
        assert len(set(asked)) == 45
        assert set(asked) <= set(keys(pool.questions))
    finally:
        chooser.close()

"""Lists: shares, repeats, catch trials, order, positions, and that nobody gets a question twice."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from nearer.design import Questions
from nearer.design.lists.inputs import AnsweredQuestion
from nearer.design.lists.lists import add_catch_trials, counterbalance, empty_lists, make_lists
from nearer.design.mix import QuestionMix

OBJECTS = [*"abcdefghij"]
MIX = QuestionMix(0.2, 0.1)


def questions(objects=OBJECTS, kind="triplet", **options):
    return Questions(objects, kind=kind, test_share=0, repeat_share=0, random_state=0, **options)


def lists_of(trials):
    found = {}
    for trial in trials:
        found.setdefault(trial.participant, []).append(trial)
    return found


def same(trial, headed=True):
    return (trial.shown[0], *sorted(trial.shown[1:])) if headed else tuple(sorted(trial.shown))


def made(n, people=(), mix=MIX, seed=0, catches=(), **options):
    asking = questions(**options)
    lists = empty_lists(asking, n, people)
    add_catch_trials(asking, lists, catches)
    return make_lists(asking, lists, n, mix, np.random.default_rng(seed))


@pytest.mark.parametrize("kind", ["triplet", "odd-one-out", "most-central", "2 of 4"])
def test_shares_hold_over_all_lists_and_nobody_gets_a_question_twice(kind):
    trials = made(10, ("ann", "bob", "cem", "dot"), QuestionMix(0.25, 0.125), kind=kind)
    assert Counter(trial.purpose for trial in trials) == {"start": 25, "test": 10, "repeat": 5}
    for person, theirs in lists_of(trials).items():
        assert [trial.number for trial in theirs] == [*range(1, 11)], person
        keys = [same(trial, kind in ("triplet", "2 of 4")) for trial in theirs]
        assert len(set(keys)) == 10


def test_a_repeat_is_a_random_question_of_another_with_swapped_positions():
    trials = made(20, ("ann", "bob", "cem"))
    tests = {same(trial): trial for trial in trials if trial.purpose == "test"}
    repeats = [trial for trial in trials if trial.purpose == "repeat"]
    assert len(repeats) == 6
    for trial in repeats:
        first = tests[same(trial)]
        assert first.participant != trial.participant
        assert first.shown[1:] == trial.shown[:0:-1]


def test_without_participants_a_repeat_comes_half_a_list_later():
    trials = made(40, (), QuestionMix(0.3, 0.2))
    first = {same(trial): trial for trial in trials if trial.purpose == "test"}
    repeats = [trial for trial in trials if trial.purpose == "repeat"]
    assert len(repeats) == 8
    assert {trial.number - first[same(trial)].number for trial in repeats} == {20}
    assert all(trial.shown[1:] == first[same(trial)].shown[:0:-1] for trial in repeats)


def test_answered_questions_are_not_asked_again():
    """Of 12 questions about four objects ann has had seven, so that she gets the other five."""
    every = [
        (head, *(o for o in "abcd" if o not in (head, left_out)))
        for head in "abcd"
        for left_out in "abcd"
        if left_out != head
    ]
    had = [AnsweredQuestion(row, (row[1],), "ann") for row in every[:7]]
    ask = questions([*"abcd"])
    ask.tell(np.array([each.shown for each in had]), annotator="ann")
    lists = empty_lists(ask, 5, ("ann", "bob"), had)
    trials = make_lists(ask, lists, 5, QuestionMix(0.2, 0.2), np.random.default_rng(0), had)
    theirs = lists_of(trials)
    assert {same(trial) for trial in theirs["ann"]} == {(row[0], *sorted(row[1:])) for row in every[7:]}
    assert len(theirs["bob"]) == 5
    with pytest.raises(ValueError, match="'ann' has answered 7 of them, so that 6 more cannot be asked"):
        empty_lists(ask, 6, ("ann",), had)


def test_more_questions_than_the_pool_has_are_rejected():
    with pytest.raises(
        ValueError, match="there are 12 questions to ask, not 13; ask for fewer with -n, or add objects"
    ):
        made(13, objects=[*"abcd"])
    assert len({same(trial) for trial in made(12, (), QuestionMix(0.5, 0), objects=[*"abcd"])}) == 12


def test_random_questions_are_drawn_from_the_whole_pool_alike():
    """Each of 12 questions is a test question of one person in four; the bounds are four standard errors wide."""
    people = tuple(f"p{number}" for number in range(100))
    trials = made(6, people, QuestionMix(0.5, 0), objects=[*"abcd"])
    times = Counter(same(trial) for trial in trials if trial.purpose == "test")
    assert sum(times.values()) == 300
    assert len(times) == 12
    assert all(abs(count - 25) < 17 for count in times.values())


def test_catch_trials_are_evenly_spaced_and_counterbalanced():
    catches = [AnsweredQuestion(tuple(OBJECTS[at : at + 3]), (OBJECTS[at + 1],)) for at in range(4)]
    trials = made(20, ("ann", "bob"), QuestionMix(0.1, 0.1), catches=catches)
    for theirs in lists_of(trials).values():
        assert len(theirs) == 24
        at = [number for number, trial in enumerate(theirs) if trial.purpose == "catch"]
        assert all(5 <= after - before <= 7 for before, after in pairwise(at))
        assert sum(trial.right[0] == trial.shown[1] for trial in theirs if trial.purpose == "catch") == 2
        others = {same(trial) for trial in theirs if trial.purpose != "catch"}
        assert not others & {same(trial) for trial in theirs if trial.purpose == "catch"}


def test_random_and_other_questions_are_mixed():
    """The places of twenty test questions among hundred are those of a random order."""
    trials = made(100, (), QuestionMix(0.2, 0), seed=3)
    places = [trial.number for trial in trials if trial.purpose == "test"]
    assert 35 < np.mean(places) < 66
    assert len({(place - 1) // 25 for place in places}) == 4


def test_the_same_seed_makes_the_same_lists():
    four, again, five = (made(15, ("ann", "bob"), seed=seed) for seed in (4, 4, 5))
    assert four == again != five


def test_each_allowed_question_is_in_the_list():
    allowed = [["a", "b", "c"], ["b", "c", "d"], ["c", "d", "e"], ["d", "e", "f"]]
    trials = made(4, (), QuestionMix(0.25, 0), allowed=allowed)
    assert {same(trial) for trial in trials} == {tuple(row) for row in allowed}


def drawn(n_objects, n_questions, n_places, n_lists, rng):
    rows = np.array([rng.permutation(n_objects)[:n_places] for _ in range(n_questions * n_lists)])
    return rows, np.repeat(np.arange(n_lists), n_questions)


def counts_of(placed, lists, n_objects):
    counts = np.zeros((lists.max() + 1, n_objects, placed.shape[1]), int)
    for row, which in zip(placed, lists, strict=True):
        counts[which, row, np.arange(len(row))] += 1
    return counts


@pytest.mark.parametrize(
    ("n_objects", "n_questions", "n_places", "n_lists"), [(20, 60, 2, 4), (15, 60, 3, 2), (30, 40, 8, 1)]
)
def test_each_object_is_in_each_position_about_equally_often(n_objects, n_questions, n_places, n_lists):
    rng = np.random.default_rng(0)
    rows, lists = drawn(n_objects, n_questions, n_places, n_lists, rng)
    placed = counterbalance(rows, [[(at, 0)] for at in lists.tolist()], n_objects, rng)
    assert (np.sort(placed) == np.sort(rows)).all()
    counts = counts_of(placed, lists, n_objects)
    assert np.ptp(counts, axis=2).max() <= 2
    assert np.ptp(counts.sum(axis=0), axis=1).max() <= 4
    by_chance = np.ptp(counts_of(rng.permuted(rows, axis=1), lists, n_objects), axis=2).max()
    assert by_chance > 2


def test_a_second_showing_counts_with_its_sides_swapped():
    """Shown twice with sides swapped, every object is left as often as right, whatever the first places are."""
    rng = np.random.default_rng(1)
    rows, _ = drawn(9, 25, 2, 1, rng)
    placed = counterbalance(rows, [[(0, 0), (1, 1)]] * len(rows), 9, rng)
    both = np.concatenate([placed, np.roll(placed, 1, axis=1)])
    assert np.ptp(counts_of(both, np.zeros(50, int), 9)[0], axis=1).max() == 0


def test_right_answers_are_counterbalanced():
    rng = np.random.default_rng(2)
    rows, _ = drawn(12, 40, 2, 1, rng)
    right = [int(row[0]) if at < 8 else -1 for at, row in enumerate(rows)]
    placed = counterbalance(rows, [[(0, 0)]] * 40, 12, rng, right)
    assert sum(placed[at, 0] == right[at] for at in range(8)) == 4

"""The mix of questions: shares are exact in the long run, whatever the schedule."""

from collections import Counter

import numpy as np
import pytest

from nearer.design.mix import CATCH, INFORMATION, PRACTICE, REPEAT, TEST, QuestionMix


@pytest.mark.parametrize(("test_share", "repeat_share"), [(0.1, 0.05), (0.4, 0.3), (0, 0.2), (1 / 3, 0), (0, 0)])
def test_a_stream_keeps_its_shares_at_every_length(test_share, repeat_share):
    mix, asked = QuestionMix(test_share, repeat_share), Counter()
    for n in range(1, 2001):
        asked[mix.next_purpose(asked)] += 1
        assert 0 <= asked[TEST] - test_share * n < 1
        assert abs(asked[REPEAT] - repeat_share * n) < 2  # one may wait for a random question that is due as well
    assert asked.total() == 2000
    assert asked[INFORMATION] == pytest.approx(2000 * mix.chosen_share, abs=2)


def test_missed_purposes_are_made_up_for():
    mix = QuestionMix(0.5, 0.1)
    assert [mix.next_purpose({INFORMATION: 9, TEST: n}) for n in (8, 9, 10)] == [TEST, TEST, REPEAT]
    assert mix.next_purpose({"start": 8, TEST: 10, REPEAT: 2}) == TEST  # 10 of 21
    assert mix.next_purpose({INFORMATION: 7, TEST: 11, REPEAT: 2}) == REPEAT  # 2 of 21
    assert mix.next_purpose({INFORMATION: 7, TEST: 11, REPEAT: 3, CATCH: 50, PRACTICE: 5}) == INFORMATION


@pytest.mark.parametrize(("n_questions", "n_lists"), [(10, 4), (13, 5), (1, 100), (60, 1)])
def test_counts_of_lists_add_up_to_the_shares(n_questions, n_lists):
    mix = QuestionMix(0.25, 0.05)
    counts = mix.counts_by_list(n_questions, n_lists)
    assert len(counts) == n_lists
    for purpose, share in ((TEST, 0.25), (REPEAT, 0.05)):
        each = [count[purpose] for count in counts]
        assert sum(each) == pytest.approx(n_questions * n_lists * share, abs=0.5)
        assert max(each) - min(each) <= 1


def test_independent_participants_keep_the_shares_on_average():
    mix, rng = QuestionMix(0.3, 0.2, n_catch=3, n_practice=2), np.random.default_rng(0)
    drawn = Counter(mix.purpose_at(place, 20, rng) for _ in range(1000) for place in range(25))
    assert (drawn[PRACTICE], drawn[CATCH]) == (2000, 3000)
    assert drawn[TEST] == pytest.approx(6000, abs=4 * np.sqrt(20_000 * 0.3 * 0.7))
    assert drawn[REPEAT] == pytest.approx(4000, abs=4 * np.sqrt(20_000 * 0.2 * 0.8))


def test_practice_and_catch_positions_are_the_same_for_all():
    mix = QuestionMix(1, 0, n_catch=2, n_practice=1)
    found = [mix.purpose_at(place, 6, np.random.default_rng(place)) for place in range(9)]
    assert found == [PRACTICE, TEST, TEST, CATCH, TEST, TEST, CATCH, TEST, TEST]


@pytest.mark.parametrize(("n", "n_catch"), [(6, 2), (2, 1), (10, 3), (40, 7)])
def test_catch_trials_are_spread_evenly(n, n_catch):
    mix = QuestionMix(n_catch=n_catch)
    inside, anywhere = mix.catch_positions(n), mix.catch_positions(n, inside=False)
    assert {0, n + n_catch - 1}.isdisjoint(inside)
    for positions in (inside, anywhere):
        assert len(set(positions)) == n_catch
        assert np.ptp(np.diff(positions)) <= 1 if n_catch > 1 else positions
    assert QuestionMix().catch_positions(n) == QuestionMix().catch_positions(n, inside=False) == []


def test_every_second_short_list_has_a_repeat():
    assert [counts[REPEAT] for counts in QuestionMix(repeat_share=0.05).counts_by_list(10, 4)] == [1, 0, 1, 0]


def test_catch_trials_have_fixed_places():
    assert QuestionMix(n_catch=2).catch_positions(10) == [4, 7]
    assert QuestionMix(n_catch=5).catch_positions(1, inside=False) == [0, 1, 2, 4, 5]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"test_share": -0.1}, "test_share must be a finite number >= 0, got -0.1"),
        ({"repeat_share": float("nan")}, "repeat_share must be a finite number >= 0, got nan"),
        ({"test_share": 0.7, "repeat_share": 0.4}, "test_share=0.7 and repeat_share=0.4 are more than 1 together"),
        ({"n_catch": 1.5}, "n_catch must be an integer >= 0, got 1.5"),
        ({"n_practice": -1}, "n_practice must be an integer >= 0, got -1"),
    ],
)
def test_invalid_mixes_are_rejected(settings, message):
    with pytest.raises(ValueError, match=message):
        QuestionMix(**settings)

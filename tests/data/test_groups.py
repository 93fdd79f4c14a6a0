"""Groups of rows: trials, questions, folds, trials that give both answers, and the exact test of guessing."""

import numpy as np
import pytest

from nearer import Comparisons
from nearer.data.groups import (
    assign_folds,
    group_indices,
    guessing_p_value,
    is_tied,
    restrict_to_seen,
    seen_objects,
    trial_indices,
)
from nearer.datasets import make_gaussian, sample_triplets

TRIPLETS = sample_triplets(make_gaussian(12, 2, random_state=0), 60, random_state=0)


def same_parts(first, second):
    """Whether two numberings put the same rows together."""
    return np.array_equal(first[:, None] == first, second[:, None] == second)


def test_trials_stay_whole_whatever_their_labels():
    trials = np.array([f"trial {k // 3}" for k in range(60)])[::-1]
    units = group_indices(Comparisons.from_triplets(TRIPLETS.rows, trials=trials))
    assert same_parts(units, np.arange(60) // 3)
    assert units.tolist() == sorted(units)  # numbered as they appear


def test_a_question_stays_whole_whichever_way_it_is_asked_and_answered():
    a, b, c = 0, 1, 2
    rows = [[a, b, a, c], [a, c, a, b], [c, a, b, a], [b, a, a, c], [a, b, b, c]]
    assert group_indices(Comparisons.from_quadruplets(rows)).tolist() == [0, 0, 0, 0, 1]


def test_neither_labels_nor_answers_nor_repetitions_move_a_row():
    plain = group_indices(TRIPLETS)
    order = np.random.default_rng(0).permutation(12)
    np.testing.assert_array_equal(group_indices(Comparisons.from_triplets(order[TRIPLETS.rows])), plain)
    turned = Comparisons.from_triplets(TRIPLETS.rows[:, [0, 2, 1]], y=-np.ones(60, int))
    np.testing.assert_array_equal(group_indices(turned), plain)
    repeated = Comparisons.from_triplets(np.concatenate([TRIPLETS.rows, TRIPLETS.rows[:9]]))
    np.testing.assert_array_equal(group_indices(repeated), np.r_[plain, plain[:9]])


def test_folds_are_about_equal_and_hold_whole_units():
    units = np.arange(90) // 3
    folds = assign_folds(units, 4, np.random.default_rng(0))
    assert set(folds) == {0, 1, 2, 3}
    assert np.ptp(np.bincount(folds)) <= 3
    assert all(len(set(folds[units == unit])) == 1 for unit in range(30))


def test_trials_may_have_labels_of_several_kinds():
    rows = Comparisons.from_triplets([[0, 1, 2], [1, 0, 2], [2, 0, 1]], trials=["a", 3, "a"])
    assert group_indices(rows).tolist() == [0, 1, 0]


def test_without_trials_they_are_questions_for_folds_and_rows_for_what_counts_acts():
    rows = Comparisons.from_triplets([[0, 1, 2], [2, 0, 1], [0, 2, 1]], annotators=["b", "a", "b"])
    assert group_indices(rows, "trials").tolist() == group_indices(rows, "questions").tolist() == [0, 1, 0]
    assert group_indices(rows, "annotators").tolist() == [0, 1, 0]
    assert trial_indices(rows).tolist() == [0, 1, 2]


def test_what_is_kept_whole_must_be_known():
    with pytest.raises(ValueError, match="by='people' is not known"):
        group_indices(TRIPLETS, "people")
    with pytest.raises(ValueError, match="do not say who answered"):
        group_indices(TRIPLETS, "annotators")


def test_restricting_to_seen_objects_changes_no_comparison():
    sparse = Comparisons.from_triplets([("d", "a", "f"), ("f", "d", "a")], objects=list("abcdef"), weights=[1, 2])
    kept, seen = restrict_to_seen(sparse)
    assert kept.objects.tolist() == ["a", "d", "f"]
    np.testing.assert_array_equal(seen[kept.rows], sparse.rows)
    np.testing.assert_array_equal(np.flatnonzero(seen_objects(sparse)), seen)
    assert restrict_to_seen(kept)[0] is kept


def test_tied_rows_are_those_whose_opposite_is_in_the_same_trial_of_the_same_person():
    rng = np.random.default_rng(0)
    rows = np.array([rng.permutation(5)[:4] for _ in range(400)])
    rows = np.where(rng.random((400, 1)) < 0.5, rows, np.sort(rows, axis=1))
    y, trials, people = rng.choice([-1, 1], 400), rng.integers(8, size=400), rng.choice(["a", "b"], 400)
    comparisons = Comparisons.from_quadruplets(rows, y, trials=trials, annotators=people)
    pairs = [(frozenset(row[:2]), frozenset(row[2:])) for row in comparisons.oriented.tolist()]
    given = set(zip(trials, people, pairs, strict=True))
    expected = [(trial, person, pair[::-1]) in given for trial, person, pair in zip(trials, people, pairs, strict=True)]
    assert 50 < sum(expected) < 350
    assert is_tied(comparisons).tolist() == expected


def test_without_trials_every_row_is_an_answer():
    assert not is_tied(Comparisons.from_triplets([[0, 1, 2], [0, 2, 1]])).any()


def triplets(rng, m, error, n=15, trials=None):
    points = rng.normal(size=(n, 2))
    rows = np.argpartition(rng.random((m, n)), 3, axis=1)[:, :3]
    away = np.linalg.norm(points[rows[:, :1]] - points[rows[:, 1:]], axis=2)
    wrong = (away[:, 0] > away[:, 1]) ^ (rng.random(m) < error)
    rows[wrong] = rows[wrong][:, [0, 2, 1]]
    return Comparisons.from_triplets(rows, n_objects=n, trials=trials)


def test_guesses_are_rejected_at_the_level():
    rng = np.random.default_rng(0)
    p_values = np.array([guessing_p_value(triplets(rng, 80, 0.5), rng) for _ in range(300)])
    assert 0.02 < np.mean(p_values <= 0.05) < 0.09
    assert 0.4 < p_values.mean() < 0.6


def test_answers_about_points_are_no_guesses():
    rng = np.random.default_rng(1)
    assert max(guessing_p_value(triplets(rng, 300, 0.2), rng) for _ in range(10)) < 0.01


def test_rows_of_one_trial_are_flipped_together():
    """Copies of one guess are one guess: ten rows of a trial that all say the same are no evidence."""
    rng = np.random.default_rng(2)
    p_values = []
    for _ in range(100):
        once = triplets(rng, 40, 0.5).rows
        rows = Comparisons.from_triplets(np.repeat(once, 10, axis=0), n_objects=15, trials=np.repeat(np.arange(40), 10))
        p_values.append(guessing_p_value(rows, rng))
    assert np.mean(np.array(p_values) <= 0.05) < 0.13


@pytest.mark.parametrize("m", [1, 3])
def test_hardly_any_answers_reject_nothing(m):
    rng = np.random.default_rng(3)
    assert guessing_p_value(triplets(rng, m, 0.0), rng) > 0.05


def test_the_way_a_row_is_written_changes_nothing():
    rng = np.random.default_rng(4)
    rows = triplets(rng, 120, 0.3).rows
    turned = np.random.default_rng(5).random(120) < 0.5
    written = rows.copy()
    written[turned] = written[turned][:, [0, 2, 1]]
    y = np.where(turned, -1, 1)
    first = guessing_p_value(Comparisons.from_triplets(rows, n_objects=15), np.random.default_rng(6))
    assert guessing_p_value(Comparisons.from_triplets(written, y, n_objects=15), np.random.default_rng(6)) == first

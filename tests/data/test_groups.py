import numpy as np
import pytest

from nearer import Comparisons
from nearer.data.groups import assign_folds, group_indices, restrict_to_seen, seen_objects, trial_indices
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

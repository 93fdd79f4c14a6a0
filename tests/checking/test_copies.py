"""Copied answers are found, also with a few changes; people who agree because the questions are clear are not."""

import numpy as np
import pytest

from nearer import Comparisons
from nearer.checking.context import Context
from nearer.checking.copies import _upper_mean, check_copies
from nearer.io.answers import Answers

N_OBJECTS = 15


def study(seed, errors, n_questions=300, same=True):
    """Return rows (people, questions, 3) of people who err at their own rate on the same or on their own questions."""
    rng = np.random.default_rng([seed, 5])
    points = rng.normal(size=(N_OBJECTS, 2))
    lists = 1 if same else len(errors)
    asked = np.argpartition(rng.random((lists, n_questions, N_OBJECTS)), 3, axis=2)[:, :, :3]
    rows = np.broadcast_to(asked, (len(errors), n_questions, 3)).copy()
    away = np.linalg.norm(points[rows[:, :, :1]] - points[rows[:, :, 1:]], axis=3)
    wrong = (away[:, :, 0] > away[:, :, 1]) ^ (rng.random(rows.shape[:2]) < np.array(errors)[:, None])
    rows[wrong] = rows[wrong][:, [0, 2, 1]]
    return rows


def copied(rows):
    """Return who is found to have the same answers as somebody else."""
    people = np.repeat([f"p{number}" for number in range(len(rows))], rows.shape[1])
    trials = np.arange(len(people))
    comparisons = Comparisons.from_triplets(rows.reshape(-1, 3), annotators=people, trials=trials, n_objects=N_OBJECTS)
    answers = Answers(comparisons, trials, "triplet", "study.csv", trials + 2, annotators=people)
    return {who for each in check_copies(Context(answers, 2)) if each.code == "copies" for who in each.concerned}


@pytest.mark.parametrize("n_others", [3, 10])
def test_five_identical_sets_of_answers_are_found(n_others):
    rows = study(n_others, [0.2] * (n_others + 5))
    rows[-5:] = rows[-1]
    assert copied(rows) == {f"p{number}" for number in range(n_others, n_others + 5)}


def test_a_copy_with_a_few_changes_is_found():
    rows = study(1, [0.2] * 10)
    rows[9] = rows[8]
    changed = np.random.default_rng(0).choice(300, 6, replace=False)
    rows[9, changed] = rows[9, changed][:, [0, 2, 1]]
    assert copied(rows) == {"p8", "p9"}


def test_the_upper_end_of_an_agreement_is_nearer_where_people_mostly_agree():
    """Of answers that are +1 or -1 with mean r the variance is 1 - r^2: people who err rarely are known well."""
    ends = _upper_mean(np.array([0.0, 0.8, 1.0]), np.full(3, 3000.0))
    assert ends == pytest.approx([2 / np.sqrt(3000), 0.8 + 2 * 0.6 / np.sqrt(3000), 1.0], abs=0.002)


@pytest.mark.parametrize("error", [0.01, 0.1, 0.3])
def test_independent_people_are_not_found(error):
    assert copied(study(2, [error] * 12)) == set()


def test_careful_people_among_careless_ones_are_not_found():
    assert copied(study(3, [0.02, 0.02, 0.02] + [0.4] * 9)) == set()


def test_two_views_of_the_objects_are_no_copies():
    """Half of the people judge by another map; within a half they agree far more than across."""
    rows = np.concatenate([study(4, [0.1] * 6), study(4, [0.1] * 6)])
    other = study(5, [0.1] * 6)
    asked = np.sort(rows[0, :, 1:], axis=1)
    rng = np.random.default_rng(6)
    points = rng.normal(size=(N_OBJECTS, 2))
    anchor = rows[0, :, 0]
    near_first = np.linalg.norm(points[anchor] - points[asked[:, 0]], axis=1) < np.linalg.norm(
        points[anchor] - points[asked[:, 1]], axis=1
    )
    for person in range(6, 12):
        said = near_first ^ (rng.random(300) < 0.1)
        rows[person, :, 1:] = np.where(said[:, None], asked, asked[:, ::-1])
    assert other.shape == rows[:6].shape
    assert copied(rows) == set()


def test_the_same_sequence_of_places_on_other_questions_is_nothing():
    rows = study(6, [0.2] * 8, same=False)
    assert copied(rows) == set()

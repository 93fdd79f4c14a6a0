"""People who count less: held-out answers must not tell how much they count."""

import numpy as np
import pytest

from nearer import Comparisons
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import CKL
from nearer.evaluation import comparison_error, held_out_error
from nearer.io import read_answers
from nearer.study import RunSettings, fit_study
from nearer.study.settings import AnnotatorWeighted

pytestmark = pytest.mark.usefixtures("few_repeats")
N = 15
POINTS = make_gaussian(N, 2, random_state=0)


def answers_of(flips, each=60):
    rows, people = [], []
    for person, flipped in enumerate(flips):
        rows.append(sample_triplets(POINTS, each, flipped=flipped, random_state=person).rows)
        people += [f"p{person}"] * each
    return np.concatenate(rows), people


def test_the_error_is_that_of_answers_as_they_are():
    """Half of the people toss coins: of their answers nobody foretells more than half, whatever they weigh."""
    rows, people = answers_of([0.05] * 6 + [0.5] * 6)
    table = {"anchor": rows[:, 0], "near": rows[:, 1], "far": rows[:, 2], "annotator": people}
    settings = RunSettings("CKL", 2, quick=True, weigh_annotators=True)
    study = fit_study(read_answers(table), settings)
    assert study.error.error > 0.25
    assert study.weighed
    assert any("are weighted by the reliability" in note for note in study.notes)


def test_weighing_makes_a_better_map():
    rows, people = answers_of([0.05] * 6 + [0.5] * 6)
    comparisons = Comparisons.from_triplets(rows, annotators=people, n_objects=N)
    truth = sample_triplets(POINTS)
    plain, weighed = CKL(2).fit(comparisons), AnnotatorWeighted(CKL(2), random_state=0).fit(comparisons)
    assert comparison_error(truth, weighed.embedding_) < comparison_error(truth, plain.embedding_) - 0.02


def test_no_error_is_below_the_noise_of_the_answers():
    """One answer in four is wrong; weights from all answers would make it look like one in six."""
    rows, people = answers_of([0.05] * 8 + [0.45] * 8, each=40)
    comparisons = Comparisons.from_triplets(rows, annotators=people, n_objects=N)
    found = held_out_error(AnnotatorWeighted(CKL(2), random_state=0), comparisons, random_state=0)
    assert found.error > 0.23


def test_where_nobody_can_be_distinguished_all_count_alike():
    """Two people who contradict each other are both always wrong by the other one's map."""
    rows, people = answers_of([0.0, 0.0])
    rows[60:] = rows[60:, [0, 2, 1]]
    comparisons = Comparisons.from_triplets(rows, annotators=people, n_objects=N)
    model = AnnotatorWeighted(CKL(2), random_state=0).fit(comparisons)
    assert not model.is_weighted_
    np.testing.assert_array_equal(model.embedding_, CKL(2).fit(comparisons).embedding_)
    table = {"anchor": rows[:, 0], "near": rows[:, 1], "far": rows[:, 2], "annotator": people}
    study = fit_study(read_answers(table), RunSettings("CKL", 2, quick=True, weigh_annotators=True))
    assert not study.weighed
    assert any("equal weight" in note for note in study.notes)
    assert not any("are weighted by the reliability" in note for note in study.notes)


def test_weights_follow_the_seed():
    rows, people = answers_of([0.1] * 10 + [0.4] * 10, each=20)  # more people than groups: the seed deals them out
    comparisons = Comparisons.from_triplets(rows, annotators=people, n_objects=N)
    first, again, other = (AnnotatorWeighted(CKL(2), random_state=seed).fit(comparisons).method_ for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.comparisons_.weights, again.comparisons_.weights)
    assert not np.allclose(first.comparisons_.weights, other.comparisons_.weights)


def test_a_learning_curve_with_people_weighed_begins_where_nobody_can_be_distinguished():
    rows, people = answers_of([0.3] * 12, each=12)
    table = {"anchor": rows[:, 0], "near": rows[:, 1], "far": rows[:, 2], "annotator": people}
    study = fit_study(read_answers(table), RunSettings("CKL", 2, n_resamples=0, weigh_annotators=True))
    assert study.curve is not None, study.notes

"""What was asked and what was answered."""

import numpy as np
import pytest

from nearer.design.active.pool import form_of
from nearer.design.active.record import Record

OBJECTS = np.array(list("abcdef"))


@pytest.fixture
def record():
    return Record(form_of("triplet"), 6)


def answer(anchor, near, far):
    return np.array([[anchor, near, anchor, far]])


def test_an_answer_has_the_purpose_of_its_question(record):
    record.ask(np.array([0, 1, 2]), "test", "ann")
    record.ask(np.array([0, 1, 2]), "information", None)
    record.tell(answer(0, 2, 1), "ann")
    record.tell(answer(0, 2, 1), "bob")  # whom nobody in particular was asked
    record.tell(answer(3, 2, 1), "bob")
    assert record.purposes == ["test", "information", "other"]
    assert record.open == {}


def test_a_second_answer_is_kept_without_counting(record):
    for person in ("ann", "ann", "bob"):
        record.tell(answer(0, 1, 2), person)
    assert record.purposes == ["other", "again", "other"]
    np.testing.assert_array_equal(record.comparisons(OBJECTS).sample_weight, [1, 0, 1])


def test_a_repeat_counts(record):
    record.tell(answer(0, 1, 2), "ann")
    record.ask(np.array([0, 1, 2]), "repeat", "ann")
    record.tell(answer(0, 2, 1), "ann")
    assert record.purposes == ["other", "repeat"]
    assert record.comparisons(OBJECTS).weights is None


def test_questions_seen_by_annotators(record):
    record.ask(np.array([0, 2, 1]), "start", "ann")
    record.tell(answer(3, 4, 5), None)
    assert record.seen == {"ann": {(0, 1, 2)}, None: {(3, 4, 5)}}
    assert list(record.open) == [("ann", (0, 1, 2))]


def test_objects_are_counted_once_per_question(record):
    record.ask(np.array([0, 1, 2]), "start", None)
    record.tell(answer(0, 1, 2), None)
    record.tell(answer(0, 3, 4), None)
    assert record.counts.tolist() == [2, 1, 1, 1, 1, 0]


def test_a_seen_question_that_is_drawn_counts_as_random(record):
    record.tell(answer(0, 1, 2), "ann")
    record.tell(answer(0, 1, 2), "bob")
    record.ask(np.array([3, 4, 5]), "information", "bob")
    record.count_as_test("bob", (0, 1, 2))
    record.count_as_test("bob", (3, 4, 5))
    record.tell(answer(3, 4, 5), "bob")
    assert record.purposes == ["other", "test", "test"]


def test_rows_of_one_answer_are_one_trial():
    record = Record(form_of("odd-one-out"), 6)
    record.tell(form_of("odd-one-out").comparisons(np.array([0, 1, 2]), 0), None)
    record.tell(form_of("odd-one-out").comparisons(np.array([3, 1, 2]), 2), None)
    comparisons = record.comparisons(OBJECTS)
    assert comparisons.trials.tolist() == [0, 0, 1, 1]
    assert comparisons.rows.shape == (4, 4)
    assert record.purposes_of_rows().tolist() == ["other"] * 4


def test_a_record_is_restored_from_its_state(record):
    record.tell(answer(0, 1, 2), "ann")
    record.tell(answer(0, 1, 2), "ann")
    record.tell(answer(1, 3, 2), None, "test")
    record.ask(np.array([3, 4, 5]), "information", 7)
    again = Record.from_state(record.form, 6, record.state())
    for name in ("keys", "annotators", "purposes"):
        assert getattr(again, name) == getattr(record, name)
    np.testing.assert_array_equal(np.concatenate(again.answers), np.concatenate(record.answers))
    assert list(again.open) == [(7, (3, 4, 5))]
    np.testing.assert_array_equal(again.counts, record.counts)


def test_a_state_about_other_objects_is_refused(record):
    record.tell(answer(0, 1, 5), None)
    with pytest.raises(ValueError, match="not there"):
        Record.from_state(record.form, 4, record.state())


def test_answers_without_an_annotator_go_with_named_ones(record):
    record.tell(answer(0, 1, 2), "ann")
    record.tell(answer(0, 2, 1), None)
    assert record.comparisons(OBJECTS).annotators.tolist() == ["ann", "(unnamed)"]

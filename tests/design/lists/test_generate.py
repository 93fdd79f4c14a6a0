"""From answers to lists: notes, purposes, kinds."""

from pathlib import Path

import numpy as np
import pytest
from helpers.few import few_draws

from nearer.design import Questions
from nearer.design.lists.generate import (
    ListRequest,
    StudyHistory,
    format_summary,
    generate_lists,
    new_names,
    with_forecast,
)
from nearer.design.lists.inputs import answered_questions
from nearer.design.lists.lists import MIN_CATCH_PROBABILITY, QuestionList, generate_catch_trials
from nearer.io import read_answers

OBJECTS = [*"abcdef"]
POINTS = dict(zip(OBJECTS, np.array([[0, 0], [1, 0.1], [0.2, 1], [9, 9], [9.5, 8], [8, 9.3]]), strict=True))


@pytest.fixture(autouse=True)
def few(monkeypatch):
    few_draws(monkeypatch)


def distance(one, other):
    return np.sum((POINTS[one] - POINTS[other]) ** 2)


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    drawn = [rng.permutation(OBJECTS)[:3].tolist() for _ in range(n)]
    return [(a, b, c) if distance(a, b) < distance(a, c) else (a, c, b) for a, b, c in drawn]


def table_of(n, **more):
    anchor, near, far = zip(*rows(n), strict=True)
    return {"anchor": anchor, "near": near, "far": far, **more}


@pytest.mark.filterwarnings("ignore")
def test_purposes_and_numbers_of_trials_come_from_the_file_and_catch_trials_do_not_count():
    purpose = ["test", "catch", "", "start", "my own"] * 4
    answers = read_answers(table_of(20, purpose=purpose, trial=[*range(31, 51)]), also=["purpose", "trial"])
    history = StudyHistory.of(answers, "purpose", "trial")
    assert len(history.answers) == 16
    assert history.purposes.tolist() == ["test", "other", "start", "other"] * 4
    assert history.last_trial == 50
    found = answered_questions(history.answers, history.purposes)
    assert [each.purpose for each in found] == history.purposes.tolist()
    others = np.delete(rows(20), range(1, 20, 5), axis=0).tolist()
    assert [[each.shown[0], *each.named] for each in found] == [row[:2] for row in others]
    made = generate_lists(ListRequest(8, n_components=2), history)
    assert [trial.number for trial in made.trials] == [*range(51, 59)]
    assert made.questions.purposes_.tolist() == history.purposes.tolist()
    assert made.error is None
    assert with_forecast(made).error.n_answers == 4
    with pytest.raises(ValueError, match="all answers are to catch trials"):
        StudyHistory.of(read_answers(table_of(3, purpose=["catch"] * 3), also=["purpose"]), "purpose", None)


def test_weights_are_ignored_with_a_note_and_zero_weights_dropped():
    history = StudyHistory.of(read_answers(table_of(12, weight=[1, 2, 0] * 4)), None, None)
    made = generate_lists(ListRequest(4, n_components=2), history)
    assert "weights of answers are not used to choose questions: each answer counts as one" in made.notes
    assert len(made.questions.comparisons_) == 8


@pytest.mark.parametrize(
    ("table", "kind"),
    [
        ({"item1": ["a"], "item2": ["b"], "item3": ["d"], "odd": ["d"]}, "odd-one-out"),
        ({"item1": ["a"], "item2": ["b"], "item3": ["d"], "central": ["b"]}, "most-central"),
        ({"anchor": ["a", "b"], "shown": ["b;c;d;e", "a;c;d;e"], "chosen": ["b;c", "a;c"]}, "2 of 4"),
        ({"near_1": ["a"], "near_2": ["b"], "far_1": ["d"], "far_2": ["e"]}, "triplet"),
    ],
)
def test_the_kind_of_further_questions(table, kind):
    answers = read_answers(table)
    lists = generate_lists(ListRequest(1, OBJECTS, n_components=2), StudyHistory.of(answers, None, None))
    assert lists.kind == kind
    assert any("cannot be chosen" in note for note in lists.notes) == ("near_1" in table)
    named = [set(each.named) for each in answered_questions(answers)]
    assert named == [set(cell.split(";")) for role in ("odd", "central", "chosen") for cell in table.get(role, ())]


def test_integers_of_a_file_are_the_names_of_a_list():
    table = {"anchor": [1, 2, 3], "near": [2, 3, 1], "far": [3, 1, 2]}
    made = generate_lists(
        ListRequest(6, ["1", "2", "3", "10"], n_components=2), StudyHistory.of(read_answers(table), None, None)
    )
    assert made.questions.objects_.tolist() == ["1", "2", "3", "10"]
    assert made.new_objects == ("10",)


def test_catch_trials_are_certain_by_the_posterior():
    """Two groups that lie far apart: whatever is obvious has its right answer in the group of the anchor."""
    questions = Questions(OBJECTS, 2, test_share=0, repeat_share=0, random_state=0)
    questions.tell(rows(120))
    lists = [QuestionList("ann"), QuestionList("bob", {(0, 1, 3)})]
    generate_catch_trials(questions, lists, 5, np.random.default_rng(0))
    for catch in lists[0].items + lists[1].items:
        head, right = (OBJECTS[at] for at in (catch.question[0], catch.right[0]))
        other = next(OBJECTS[at] for at in catch.question[1:] if at not in catch.right)
        assert distance(head, right) < distance(head, other)
    assert all(catch.key != (0, 1, 3) for catch in lists[1].items)
    assert len({catch.key for catch in lists[0].items}) == 5
    with pytest.raises(ValueError, match=f"above {MIN_CATCH_PROBABILITY}; the highest is 1"):
        generate_catch_trials(questions, [QuestionList()], 61, np.random.default_rng(0))


def test_focus_on_neighbors():
    history = StudyHistory.of(read_answers(table_of(30)), None, None)
    assert len(generate_lists(ListRequest(4, n_components=2, focus=["neighbors"]), history).trials) == 4


def test_names_of_new_participants_are_not_taken():
    assert new_names(3, {"p02", "ann"}) == ["p01", "p03", "p04"]
    assert new_names(100, {"p001"})[:2] == ["p002", "p003"]
    assert len(set(new_names(100, {"p001"}))) == 100


def test_a_summary_counts_what_was_generated():
    made = generate_lists(ListRequest(20, OBJECTS, participants=2), None)
    assert format_summary(made, [Path("q.csv")]).splitlines() == [
        "2 participants, 20 questions each, about 6 objects (triplet)",
        "of 40 trials: 34 to start with, 4 random, 2 repeated",
        "4 random questions give an unbiased error: keep the column purpose with the answers",
        "written: q.csv",
    ]
    assert made.participants == ["p01", "p02"]

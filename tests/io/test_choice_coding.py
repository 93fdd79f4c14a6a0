"""Answers that name objects or sides: one meaning for the whole column, or a refusal."""

import itertools

import pytest

from nearer.io import BadAnswers, read_answers
from nearer.io.messages import statement

SIDES = ["left", "right", "up", "a", "b"]


def table(rows, answers):
    anchor, first, second = zip(*rows, strict=True)
    return {"anchor": anchor, "option_a": first, "option_b": second, "response": answers}


def test_sides_stay_sides_where_an_object_has_the_name_of_one():
    rows = [("a", "b", "c"), ("b", "a", "c"), ("c", "b", "a")]
    assert read_answers(table(rows, ["a", "b", "a"])).places.tolist() == [0, 1, 0]


def test_objects_with_the_names_of_sides_are_not_mistaken_for_answers():
    rows = list(itertools.permutations(SIDES, 3))
    places = [at % 2 for at in range(len(rows))]
    answers = read_answers(table(rows, [("left", "right")[place] for place in places]))
    assert answers.places.tolist() == places


def test_objects_stay_objects_where_one_has_the_name_of_a_side():
    rows = list(itertools.permutations(["a", "cat", "dog", "owl"], 3))
    places = [at % 2 for at in range(len(rows))]
    named = [row[1 + place] for row, place in zip(rows, places, strict=True)]
    assert read_answers(table(rows, named)).places.tolist() == places
    with pytest.raises(BadAnswers, match="table:1: the answer 'a' is none of the objects shown") as caught:
        read_answers(table(rows, ["a", *named[1:]]))  # here "a" is the anchor, not the first side
    assert caught.value.n_bad == 1


@pytest.mark.parametrize("mistake", [False, True])
def test_what_cannot_be_distinguished_is_refused(mistake):
    rows = list(itertools.permutations(SIDES, 3))
    named = [row[1 + at % 2] for at, row in enumerate(rows)]
    if mistake:
        named[0] = rows[0][0]  # the anchor: not shown, but the name of a side
    with pytest.raises(ValueError, match=r"as objects or as places .*rename the objects .*near and far"):
        read_answers(table(rows, named))


def test_cannot_tell_is_decided_for_the_whole_column_too():
    rows = [("x", "same", "y"), ("x", "y", "z"), ("y", "z", "x")]
    sides = read_answers(table(rows, ["same", "left", "right"]))
    assert (sides.report.n_undecided, sides.places.tolist()) == (1, [0, 1])
    with pytest.raises(BadAnswers, match="table:2: the answer 'same'"):
        read_answers(table(rows, ["same", "same", "x"]))


def test_an_answer_that_was_not_shown_is_reported_with_what_was():
    shown = {"item1": ["daisy"] * 3, "item2": ["pyne", "pine", "pine"], "item3": ["rose"] * 3, "item4": ["fern"] * 3}
    with pytest.raises(BadAnswers) as caught:
        read_answers({**shown, "odd": ["pine", "elm", "rose"]})
    misspelt, other = (statement(row) for row in caught.value.bad_rows)
    listed = "shown were 'daisy', 'pyne', 'rose' and 'fern'"
    assert misspelt == (
        f"the answer 'pine' is none of the objects shown; {listed}; perhaps 'pyne' or the answer is misspelt"
    )
    assert other.endswith("shown were 'daisy', 'pine', 'rose' and 'fern'")


def test_only_a_few_of_many_objects_shown_are_listed():
    shown = {f"item{at}": [f"object{at}"] * 2 for at in range(1, 13)}
    with pytest.raises(BadAnswers, match=r"'object8' and 4 more") as caught:
        read_answers({**shown, "odd": ["object1", "xyz"]})
    assert "object9" not in str(caught.value)

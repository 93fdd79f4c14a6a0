"""Catch questions: never in the map, and right or wrong whatever way they are written down."""

import warnings
from dataclasses import replace
from math import comb

import numpy as np
import pytest

from nearer.checking import check
from nearer.checking.case import Case
from nearer.checking.catches import check_catches
from nearer.formats import Catches, read_answers


def quietly(*args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return read_answers(*args, **kwargs)


def table(rows, names):
    return dict(zip(names.split(), map(list, zip(*rows, strict=True)), strict=True))


ITEMS = "person item1 item2 item3 odd catch"


def test_right_answers_in_the_column():
    rows = [
        ("x", "a", "b", "c", "c", ""),
        ("x", "a", "b", "silly", "silly", "silly"),
        ("x", "b", "c", "silly", "b", "silly"),
        ("y", "a", "c", "d", "d", ""),
        ("y", "a", "silly", "b", "silly", "silly"),
        ("y", "a", "c", "silly", "can't tell", "silly"),
        ("y", "b", "c", "d", "can't tell", ""),
    ]
    answers = quietly(table(rows, ITEMS), catch="catch")
    assert answers.catches == Catches("catch", "expected", ("x", "y"), (2, 2), (1, 1))
    assert answers.lines.tolist() == [1, 4]
    assert answers.comparisons.objects.tolist() == ["a", "b", "c", "d"]  # silly is asked about in catch questions alone
    assert answers.n_undecided == 1
    assert [str(left) for left in answers.left_out] == ["4 rows left out where catch marks a catch question"]
    assert answers.unused == ()
    assert not any("was not used" in note for note in answers.notes)
    with pytest.raises(ValueError, match=r"(?s)right answers in column 'catch' cannot be read: .*'zebra' is none of"):
        quietly(table([*rows, ("x", "a", "b", "c", "a", "zebra")], ITEMS), catch="catch")


@pytest.mark.parametrize(("left", "right"), [("left", "right"), ("1", "2"), ("dog", "car")])
def test_right_answers_as_the_answers_are_written(left, right):
    names = "who anchor left right answer expected"
    rows = [
        ("x", "cat", "dog", "car", left, ""),
        ("x", "cat", "dog", "car", right, ""),
        ("x", "cat", "dog", "car", left, left),
        ("x", "cat", "dog", "car", right, left),
        ("y", "cat", "dog", "car", right, right),
    ]
    answers = quietly(table(rows, names), catch="expected", columns={"annotator": "who"})
    assert answers.catches == Catches("expected", "expected", ("x", "y"), (2, 1), (1, 1))
    assert len(answers) == 2


@pytest.mark.parametrize(("left", "right"), [("left", "right"), ("1", "2")])
def test_right_answers_may_be_objects_where_answers_are_sides(left, right):
    rows = [
        ("x", "a", "b", "c", left, ""),
        ("x", "a", "c", "d", right, "d"),
        ("x", "b", "d", "a", left, "a"),
        ("y", "b", "c", "a", right, ""),
        ("y", "c", "d", "b", left, "d"),
    ]
    answers = quietly(table(rows, "person anchor left right answer catch"), catch="catch")
    assert answers.catches == Catches("catch", "expected", ("x", "y"), (2, 1), (1, 1))
    wrong = [(*row[:5], row[5] and "zebra") for row in rows]
    with pytest.raises(ValueError, match=r"(?s)right answers in column 'catch' cannot be read: .*zebra"):
        quietly(table(wrong, "person anchor left right answer catch"), catch="catch")


def test_right_answers_beside_near_and_far():
    rows = [("x", "a", "b", "c", ""), ("x", "a", "b", "d", "b"), ("x", "a", "d", "b", "b")]
    answers = quietly(table(rows, "person anchor near far catch"), catch="catch")
    assert answers.catches == Catches("catch", "expected", ("x",), (2,), (1,))


@pytest.mark.parametrize(("yes", "no"), [("1", "0"), ("TRUE", "FALSE"), ("yes", "no"), ("catch", ""), ("1", "")])
def test_without_right_answers_most_people_are_right(yes, no):
    rows = [
        (person, *(("a", "b", "s") if person != "z" else ("s", "b", "a")), odd, yes)
        for person, odd in (("w", "s"), ("x", "s"), ("y", "a"), ("z", "s"))
    ]
    rows += [("w", "b", "c", "d", "d", yes), ("x", "b", "c", "d", "c", yes)]  # nobody knows
    rows += [(person, "a", "c", "d", "d", no) for person in "wxyz"]
    answers = quietly(table(rows, ITEMS), catch="catch")
    assert answers.catches == Catches("catch", "majority", ("w", "x", "y", "z"), (1, 1, 1, 1), (1, 1, 0, 1))
    assert len(answers) == 4
    assert any("2 answers to catch questions could not be judged" in note for note in answers.notes)
    assert any("what most people said is right" in note for note in answers.notes)


def test_zeros_and_ones_beside_empty_cells_are_answers_where_answers_are():
    names = "person anchor left right answer catch"
    rows = [("x", "a", "b", "c", "0", ""), ("x", "a", "b", "d", "1", "1"), ("x", "a", "d", "b", "1", "0")]
    answers = quietly(table(rows, names), catch="catch", first_is=0)
    assert answers.catches == Catches("catch", "expected", ("x",), (2,), (1,))


def test_what_is_no_catch_question():
    rows = [("x", "a", "b", "c", "c", "0")] * 3
    answers = quietly(table(rows, ITEMS), catch="catch")
    assert answers.catches is None
    assert any("no row is a catch question" in note for note in answers.notes)
    with pytest.raises(ValueError, match="all answers are to catch questions"):
        quietly(table([("x", "a", "b", "c", "c", "1")] * 3, ITEMS), catch="catch")
    with pytest.raises(ValueError, match="no column 'chatch'; perhaps 'catch' is meant"):
        quietly(table(rows, ITEMS), catch="chatch")


def test_catch_questions_in_many_files(tmp_path):
    for person in ("p1", "p2"):
        odd = "c" if person == "p1" else "a"
        text = f"item1,item2,item3,odd,catch\na,b,c,{odd},c\na,b,d,d,\n"
        (tmp_path / f"{person}.csv").write_text(text)
    answers = quietly(tmp_path, catch="catch")
    assert answers.catches == Catches("catch", "expected", ("p1", "p2"), (1, 1), (1, 0))
    assert answers.line(1) == "p2.csv:3"


def test_who_is_named():
    """By the binomial distribution, summed here: so few right ones of someone with 9 in 10 have a chance below 2%."""
    rows = [("x", "a", "b", "c", "c", ""), ("x", "a", "b", "c", "c", "c")]
    answers = quietly(table(rows, ITEMS), catch="catch")
    for n in range(1, 13):
        most = max(
            (k for k in range(n) if sum(comb(n, j) * 0.9**j * 0.1 ** (n - j) for j in range(k + 1)) < 0.02), default=-1
        )
        people = tuple(f"p{k}" for k in range(n + 1))
        given = Catches("catch", "expected", people, (n,) * (n + 1), tuple(range(n + 1)))
        found = check_catches(Case(replace(answers, catches=given), 2, np.random.default_rng(0)))
        named = [person for finding in found.findings for person in finding.people]
        assert named == list(people[: most + 1])
        assert found.counts["n_failed_catch"] == most + 1
    assert "catch" in {finding.code for finding in check(answers, random_state=0)}

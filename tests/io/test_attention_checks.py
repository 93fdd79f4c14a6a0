"""Catch questions: never in the map, and right or wrong whatever way they are written down."""

import json
from math import comb

import numpy as np
import pytest
from helpers.tables import table

from nearer.checking import check
from nearer.checking.context import Context
from nearer.checking.random_responders import check_catches
from nearer.cli.main import main
from nearer.io import Catches, read_answers

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


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
    answers = read_answers(table(rows, ITEMS), catch="catch")
    assert answers.report.catches == Catches("catch", "expected", ("x", "y"), (2, 2), (1, 1))
    assert answers.lines.tolist() == [1, 4]
    assert answers.comparisons.objects.tolist() == ["a", "b", "c", "d"]  # silly is asked about in catch questions alone
    assert answers.report.n_undecided == 1
    assert [str(left) for left in answers.report.left_out] == ["4 rows left out where catch marks a catch question"]
    assert answers.report.unused == ()
    assert not any("was not used" in note for note in answers.report.notes)
    with pytest.raises(ValueError, match=r"(?s)right answers in column 'catch' cannot be read: .*'zebra' is none of"):
        read_answers(table([*rows, ("x", "a", "b", "c", "a", "zebra")], ITEMS), catch="catch")


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
    answers = read_answers(table(rows, names), catch="expected", columns={"annotator": "who"})
    assert answers.report.catches == Catches("expected", "expected", ("x", "y"), (2, 1), (1, 1))
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
    answers = read_answers(table(rows, "person anchor left right answer catch"), catch="catch")
    assert answers.report.catches == Catches("catch", "expected", ("x", "y"), (2, 1), (1, 1))
    wrong = [(*row[:5], row[5] and "zebra") for row in rows]
    with pytest.raises(ValueError, match=r"(?s)right answers in column 'catch' cannot be read: .*zebra"):
        read_answers(table(wrong, "person anchor left right answer catch"), catch="catch")


def test_right_answers_beside_near_and_far():
    rows = [("x", "a", "b", "c", ""), ("x", "a", "b", "d", "b"), ("x", "a", "d", "b", "b")]
    answers = read_answers(table(rows, "person anchor near far catch"), catch="catch")
    assert answers.report.catches == Catches("catch", "expected", ("x",), (2,), (1,))


@pytest.mark.parametrize(("yes", "no"), [("1", "0"), ("TRUE", "FALSE"), ("yes", "no"), ("catch", ""), ("1", "")])
def test_without_right_answers_most_people_are_right(yes, no):
    rows = [
        (person, *(("a", "b", "s") if person != "z" else ("s", "b", "a")), odd, yes)
        for person, odd in (("w", "s"), ("x", "s"), ("y", "a"), ("z", "s"))
    ]
    rows += [("w", "b", "c", "d", "d", yes), ("x", "b", "c", "d", "c", yes)]  # nobody knows
    rows += [(person, "a", "c", "d", "d", no) for person in "wxyz"]
    answers = read_answers(table(rows, ITEMS), catch="catch")
    assert answers.report.catches == Catches("catch", "majority", ("w", "x", "y", "z"), (1, 1, 1, 1), (1, 1, 0, 1))
    assert len(answers) == 4
    assert any("2 answers to catch questions could not be scored" in note for note in answers.report.notes)
    assert any("the answer of the majority counts as right" in note for note in answers.report.notes)


def test_zeros_and_ones_beside_empty_cells_are_answers_where_answers_are():
    names = "person anchor left right answer catch"
    rows = [("x", "a", "b", "c", "0", ""), ("x", "a", "b", "d", "1", "1"), ("x", "a", "d", "b", "1", "0")]
    answers = read_answers(table(rows, names), catch="catch", first_is=0)
    assert answers.report.catches == Catches("catch", "expected", ("x",), (2,), (1,))


def test_what_is_no_catch_question():
    rows = [("x", "a", "b", "c", "c", "0")] * 3
    answers = read_answers(table(rows, ITEMS), catch="catch")
    assert answers.report.catches is None
    assert any("no row is a catch question" in note for note in answers.report.notes)
    with pytest.raises(ValueError, match="all answers are to catch questions"):
        read_answers(table([("x", "a", "b", "c", "c", "1")] * 3, ITEMS), catch="catch")
    with pytest.raises(ValueError, match="no column 'chatch'; perhaps 'catch' is meant"):
        read_answers(table(rows, ITEMS), catch="chatch")


def test_catch_questions_in_many_files(tmp_path):
    for person in ("p1", "p2"):
        odd = "c" if person == "p1" else "a"
        text = f"item1,item2,item3,odd,catch\na,b,c,{odd},c\na,b,d,d,\n"
        (tmp_path / f"{person}.csv").write_text(text)
    answers = read_answers(tmp_path, catch="catch")
    assert answers.report.catches == Catches("catch", "expected", ("p1", "p2"), (1, 1), (1, 0))
    assert answers.line(1) == "p2.csv:3"


def test_who_is_named():
    """By the binomial distribution, summed here: so few right ones of someone with 9 in 10 have a chance below 2%."""
    rows = [("x", "a", "b", "c", "c", ""), ("x", "a", "b", "c", "c", "c")]
    answers = read_answers(table(rows, ITEMS), catch="catch")
    for n in range(1, 13):
        most = max(
            (k for k in range(n) if sum(comb(n, j) * 0.9**j * 0.1 ** (n - j) for j in range(k + 1)) < 0.02), default=-1
        )
        people = tuple(f"p{k}" for k in range(n + 1))
        given = Catches("catch", "expected", people, (n,) * (n + 1), tuple(range(n + 1)))
        context = Context(answers.reported(catches=given), 2, 0)
        named = [person for finding in check_catches(context) for person in finding.concerned]
        assert named == list(people[: most + 1])
        assert context.counts["n_failed_catch"] == most + 1
    assert "catch" in {finding.code for finding in check(answers, random_state=0)}


IDENTICAL = [  # columns, a question with an object twice, and a right and a wrong answer to it
    ("anchor left right answer", ("a", "a", "b"), "left", "right"),
    ("anchor left right answer", ("a", "a", "b"), "a", "b"),
    ("anchor left right answer", ("a", "b", "a"), "2", "1"),
    ("near_1 near_2 far_1 far_2", (), ("a", "a", "b", "c"), ("b", "c", "a", "a")),
    ("anchor near far", (), ("a", "a", "b"), ("a", "b", "a")),
    ("left_1 left_2 right_1 right_2 answer", ("b", "c", "a", "a"), "right", "left"),
    ("item1 item2 item3 odd", ("a", "b", "a"), "b", "a"),
    ("item1 item2 item3 odd", ("a", "b", "a"), "2", "3"),
    ("items odd", ("a;b;a",), "b", "a"),
    ("items odd", ('["a", "b", "a", "c"]',), "c", "a"),
    ("item1 item2 item3 central", ("a", "b", "a"), "a", "b"),
    ("item1 item2 item3 central", ("a", "b", "a"), "3", "2"),
    ("anchor shown chosen", ("a", "a;b;c;d"), "a;b", "b;c"),
    ("anchor shown_1 shown_2 shown_3 chosen", ("a", "b", "a", "c"), "a", "b"),
    ("anchor ranking", ("a",), "a;b;c", "b;a;c"),
    ("anchor shown ranking", ("a", "a;b;c;d"), "a;b", "b;a"),
]


def usual_rows(names, right):
    """Ordinary answers in some columns, in which every place is named."""
    shown = [each for each in names.split() if each not in ("answer", "odd", "central", "chosen")]
    rows = []
    for at, one in enumerate(("defg", "efgd", "gdef", "dgfe") * 2):
        cells = {name: one[place % 4] for place, name in enumerate(shown)}
        cells |= {"items": ";".join(one[:3]), "shown": ";".join(one[1:]), "ranking": ";".join(one[1:])}
        answers = {"left": ("left", "right"), "a": (one[1], one[2]), "2": ("1", "2"), "right": ("left", "right")}
        last = answers.get(right, (one[1], one[2]))[at % 2]
        if "item1" in names:
            last = {"2": str(at % 3 + 1), "3": str(at % 3 + 1)}.get(right, one[at % 3])
        rows.append([last if name in ("answer", "odd", "central", "chosen") else cells[name] for name in names.split()])
    return rows


@pytest.mark.parametrize(
    ("names", "question", "right", "wrong", "mark"),
    [(*each, "yes") for each in IDENTICAL]
    + [(*each, each[2]) for each in IDENTICAL if isinstance(each[2], str) and "ranking" not in each[0]],
)
def test_an_object_twice_is_the_obvious_catch_question(names, question, right, wrong, mark):
    """It is neither refused nor skipped: more like another than like itself is wrong."""
    asked = [(*question, *(each if isinstance(each, tuple) else (each,))) for each in (right, wrong, right)]
    rows = [["x", *each, mark] for each in asked]
    rows += [["y", *each, "no" if mark == "yes" else ""] for each in usual_rows(names, right)]
    answers = read_answers(table(rows, f"person {names} catch"), catch="catch")
    assert answers.report.catches == Catches("catch", answers.report.catches.by, ("x",), (3,), (2,))
    assert len(answers) == 8
    assert "a" not in answers.comparisons.objects.tolist()
    assert not any("could not be scored" in note for note in answers.report.notes)


def test_an_object_twice_in_an_array_of_indices(tmp_path):
    rows = np.array([[0, 1, 2], [0, 0, 1], [1, 2, 0], [0, 2, 0]])
    names = np.array(["ant", "bee", "cow"])
    np.savez(tmp_path / "a.npz", triplets=rows, names=names, person=np.array(list("xxyy")), catch=[0, 1, 0, 1])
    answers = read_answers(tmp_path / "a.npz", catch="catch")
    assert answers.report.catches == Catches("catch", "majority", ("x", "y"), (1, 1), (1, 0))
    assert answers.comparisons.objects[answers.comparisons.rows].tolist() == names[rows[[0, 2]]].tolist()


def test_right_answers_may_all_be_in_two_places():
    rng = np.random.default_rng(0)
    shown = np.array([rng.permutation(list("abcdefgh"))[:3] for _ in range(160)])
    place = np.where(np.arange(160) < 100, rng.integers(3, size=160), rng.integers(2, size=160))
    odd = shown[np.arange(160), place]
    table = dict(zip(["item1", "item2", "item3"], shown.T.tolist(), strict=True))
    table |= {"odd": odd.tolist(), "catch": [""] * 100 + odd[100:].tolist()}
    answers = read_answers(table, catch="catch")
    assert len(answers) == 100
    assert answers.report.catches.n_right == (60,)


def test_two_equal_options_alone_cannot_be_judged_but_cant_tell_is_wrong_of_an_object_twice():
    names = "person anchor left right answer catch"
    rows = [
        ("x", "a", "b", "c", "left", "no"),
        ("x", "a", "b", "b", "left", "yes"),
        ("x", "b", "c", "a", "right", "no"),
    ]
    answers = read_answers(table(rows, names), catch="catch")
    assert any("1 answer to catch questions could not be scored" in note for note in answers.report.notes)
    assert len(answers) == 2
    rows[1] = ("x", "a", "a", "c", "can't tell", "yes")
    answers = read_answers(table(rows, names), catch="catch")
    assert answers.report.catches == Catches("catch", "majority", ("x",), (1,), (0,))
    assert answers.report.n_undecided == 0


def test_nothing_that_is_wrong_with_a_catch_question_stops_the_reading():
    rows = [
        ("x", "a", "b", "c", "left", ""),
        ("x", "a", "b", "c", "right", ""),
        ("x", "", "red", "red", "banana", "left"),  # "press left", without objects
        ("y", "a", "b", "c", "", "left"),
        ("y", "b", "a", "c", "left", ""),
    ]
    answers = read_answers(table(rows, "person anchor left right answer catch"), catch="catch")
    assert (len(answers), answers.report.n_bad) == (3, 0)
    assert answers.report.catches == Catches("catch", "expected", ("y",), (1,), (0,))  # no answer is no right one
    assert any("1 answer to catch questions could not be scored" in note for note in answers.report.notes)
    with pytest.raises(ValueError, match=r"4 rows? cannot be used|2 rows cannot be used"):
        read_answers(table(rows, "person anchor left right answer catch"))


def test_catch_questions_of_people_whose_rows_are_on_one_line(tmp_path):
    """Rows are told apart, also where a server writes all of a person's on one line."""
    people = [
        [
            {"person": who, "anchor": "a", "left": "b", "right": "c", "answer": "left", "catch": "no"},
            {"person": who, "anchor": "a", "left": "a", "right": "c", "answer": said, "catch": "yes"},
            {"person": who, "anchor": "b", "left": "a", "right": "c", "answer": "right", "catch": "no"},
        ]
        for who, said in (("p", "left"), ("q", "right"))
    ]
    (tmp_path / "answers.jsonl").write_text("\n".join(map(json.dumps, people)))
    answers = read_answers(tmp_path / "answers.jsonl", catch="catch", also=["answer"])
    assert answers.report.catches == Catches("catch", "majority", ("p", "q"), (1, 1), (1, 0))
    assert answers.also["answer"].tolist() == ["left", "right"] * 2


def test_the_program_scores_them(tmp_path, capsys):
    rng = np.random.default_rng(0)
    lines = ["person,anchor,left,right,answer,catch"]
    for who in ("p", "q", "r"):
        for at in range(40):
            a, b, c = rng.permutation(list("abcdefgh"))[:3]
            lines.append(f"{who},{a},{b},{c},{rng.choice(['left', 'right'])},0")
            if at % 10 == 0:
                lines.append(f"{who},{a},{a},{b},{'right' if who == 'r' else 'left'},1")
    path = tmp_path / "a.csv"
    path.write_text("\n".join(lines))
    assert main(["check", str(path)]) == 2
    err = capsys.readouterr().err
    assert "12 rows cannot be used" in err
    assert "name the column that marks them: --catch NAME (catch='NAME')" in err
    assert main(["check", str(path), "--catch", "catch"]) == 0
    out = capsys.readouterr().out
    assert "catch questions (column catch): 8 of 12 answers right" in out
    assert "'r': 0 of 4 right" in out
    quick = ["--method", "STE", "--quick", "--dimensions", "1"]
    assert main(["fit", str(path), "--catch", "catch", "-o", str(tmp_path / "map"), *quick]) == 0
    assert "8 of 12 answers right" in capsys.readouterr().err

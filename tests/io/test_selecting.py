"""Rows that are left out while a table is read, and answers that are chosen afterwards."""

import json

import numpy as np
import pytest

from nearer.cli.main import main
from nearer.io import BadAnswers, read_answers

TABLE = {
    "Participant ID": ["p1", "p1", "p2", "TEST", "p2", "p3"],
    "condition": ["A", "B", "A", "A", "", "A"],
    "anchor": list("abcabc"),
    "near": list("bcabca"),
    "far": list("cabcab"),
    "rt": [0.5, 0.1, 2.0, 0.7, 0.9, None],
    "block": [1, 2, 2, 2, 2, 10],
}


def lines(**said):
    return read_answers(TABLE, **said).lines.tolist()


def test_rows_are_kept_and_left_out_by_what_columns_hold():
    assert lines(keep={"condition": "A"}) == [1, 3, 4, 6]
    assert lines(exclude={"Participant ID": "TEST"}) == [1, 2, 3, 5, 6]
    assert lines(exclude={"condition": "B"}) == [1, 3, 4, 5, 6]  # what is empty is not B
    assert lines(keep={"condition": ["A", "B"]}, exclude={"participant id": ["TEST", "p1"]}) == [3, 6]
    assert lines(keep={"block": 2}) == lines(keep={"block": "2.0"}) == [2, 3, 4, 5]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("rule", "kept"),
    [
        ("rt > 0.5", [3, 4, 5]),
        ("rt>=0.5", [1, 3, 4, 5]),
        ("rt < 0.5", [2]),
        ("rt <= 0.5 and condition = A", [1]),
        ("block != 2", [1, 6]),
        ("block < 10", [1, 2, 3, 4, 5]),  # as numbers: as text 10 is below 2
        ("'Participant ID' == \"p2\"", [3, 5]),
        (["rt > 0.2", "condition == A"], [1, 3, 4]),
    ],
)
def test_rules(rule, kept):
    assert lines(where=rule) == kept


def test_numbers_with_decimal_commas_are_numbers_to_rules_as_they_are_to_times():
    excel = {**TABLE, "rt": ["0,5", "0,1", "2,0", "0,7", "0,9", ""]}
    answers = read_answers(excel, where="rt > 0.5")
    assert answers.lines.tolist() == [3, 4, 5]
    assert answers.seconds.tolist() == [2.0, 0.7, 0.9]
    with pytest.raises(ValueError, match="'0,5' is not a number, which has a point before decimals"):
        read_answers(excel, where="rt > 0,5")
    assert read_answers(excel, keep={"rt": "0.5"}).lines.tolist() == [1]
    assert read_answers(excel, exclude={"rt": 0.5}).lines.tolist() == [2, 3, 4, 5, 6]


def test_a_column_may_be_named_by_its_role():
    assert lines(exclude={"person": "p1"}) == lines(exclude={"annotator": "p1"}) == [3, 4, 5, 6]
    odd = {("who" if name == "Participant ID" else name): column for name, column in TABLE.items()}
    answers = read_answers(odd, columns={"annotator": "who"}, exclude={"person": "p1"})
    assert answers.lines.tolist() == [3, 4, 5, 6]


def test_what_was_left_out_is_counted_each_row_once():
    with pytest.warns(UserWarning, match="no row has 'TSET' in column 'person'; perhaps 'TEST' is meant"):
        answers = read_answers(TABLE, exclude={"person": ["TSET", "p1"]}, where="rt > 0.2")
    assert [str(left) for left in answers.report.left_out] == [
        "2 rows left out where Participant ID is 'TSET' or 'p1'",
        "1 row left out where rt is not above 0.2",  # no empty cell is said to be below a number
    ]
    assert read_answers(TABLE).report.left_out == ()


def test_rows_that_are_left_out_need_not_be_readable_and_change_nothing():
    broken = {**TABLE, "near": ["b", "", "a", "", "c", "a"]}
    with pytest.raises(ValueError, match="cannot be used"):
        read_answers(broken)
    assert len(read_answers(broken, keep={"block": [1, 10]})) == 2
    table = {"person": ["p", "p", "TEST"], "anchor": [1, 2, "x"], "near": [2, 3, "y"], "far": [3, 1, "z"]}
    assert read_answers(table, exclude={"person": "TEST"}).comparisons.objects.tolist() == [1, 2, 3]


def test_rows_that_are_left_out_need_not_be_whole(tmp_path):
    """Rows with too few or too many cells, such as the last one of somebody who left, are judged by what they have."""
    text = "person,anchor,near,far,rt\np1,a,b,c,1\nTEST,a\nTEST,a,b,c,1,more,cells\np1,b,c,a,1\n"
    for name in ("p1.csv", "p2.csv"):
        (tmp_path / name).write_text(text.replace("p1", name[:2]))
    for source, n_files in ((tmp_path / "p1.csv", 1), (tmp_path, 2)):
        with pytest.raises(ValueError, match=f"{2 * n_files} rows cannot be used"):
            read_answers(source)
        answers = read_answers(source, exclude={"person": "TEST"})
        assert (len(answers), answers.report.n_bad, answers.report.notes) == (2 * n_files, 0, ())
        assert [str(left) for left in answers.report.left_out] == [
            f"{2 * n_files} rows left out where person is 'TEST'"
        ]
        with pytest.raises(ValueError, match="2 cells where the header has 5"):
            read_answers(source, where="anchor != z")


@pytest.mark.parametrize("broken", ["item,word\nx,y\n", "anchor,near\n'", "PK\x03\x04 no table"])
def test_files_of_which_all_rows_are_left_out_need_not_go_with_the_others(tmp_path, broken):
    for who in ("p1", "p2"):
        (tmp_path / f"{who}.csv").write_text("anchor,near,far\na,b,c\nb,c,a\n")
    (tmp_path / "p3.csv").write_text(broken)
    with pytest.raises(ValueError, match="1 file does not match the others"):
        read_answers(tmp_path)
    with pytest.warns(UserWarning, match="1 file without a row that the filters keep: 'p3.csv'"):
        answers = read_answers(tmp_path, exclude={"person": "p3"})
    assert answers.annotators.tolist() == ["p1", "p1", "p2", "p2"]


def test_files_of_another_form_whose_rows_are_left_out(tmp_path):
    for who in ("p1", "p2"):
        (tmp_path / f"{who}.csv").write_text("stage,anchor,near,far\nmain,a,b,c\nmain,b,c,a\n")
    for who in ("p3", "p4", "p5"):  # most files, so that they would say what is usual
        (tmp_path / f"{who}.csv").write_text("stage,item1,item2,item3,odd\npilot,a,b,c,b\npilot,b,c,a,a\n")
    with pytest.warns(UserWarning, match="3 files without a row that the filters keep"):
        answers = read_answers(tmp_path, keep={"stage": "main"})
    assert (answers.kind, len(answers)) == ("triplet", 4)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"keep": {"conditon": "A"}}, "no column 'conditon'; perhaps 'condition' is meant"),
        ({"keep": {"condition": "C"}}, "no row is left: 6 rows left out where condition is not 'C'"),
        ({"keep": {"condition": "C"}}, "no row has 'C' in column 'condition'; there are 'A', 'B'"),
        ({"keep": {"condition": []}}, "no value of 'condition'"),
        ({"where": "rt"}, "'rt' is not a rule; write a column"),
        ({"where": "rt > fast"}, "'fast' is not a number"),
        ({"where": "rt > 0.2 and"}, "is not a rule|not a number"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_what_cannot_be_meant_is_refused(said, message):
    with pytest.raises(ValueError, match=message):
        read_answers(TABLE, **said)


def test_files_are_selected_from_as_tables_are(tmp_path):
    path = tmp_path / "a.csv"
    rows = zip(*TABLE.values(), strict=True)
    cells = [",".join("" if cell is None else str(cell) for cell in row) for row in rows]
    path.write_text("\n".join([",".join(TABLE), *cells]) + "\n")
    assert read_answers(path, keep={"condition": "A"}).lines.tolist() == [2, 4, 5, 7]  # the header is line 1


def test_answers_can_be_indexed_and_stay_about_the_same_objects():
    items = ("oak elm fir oak", "elm fir ash ash", "fir ash oak elm", "oak elm ash oak")
    table = dict(zip(("item_1", "item_2", "item_3", "odd"), map(str.split, items), strict=True))
    answers = read_answers(table | {"rt": [1, 2, 3, 4]})
    some = answers[[3, 1]]
    assert (some.lines.tolist(), some.answer_of.tolist()) == ([2, 4], [0, 0, 1, 1])
    assert some.comparisons.objects.tolist() == answers.comparisons.objects.tolist()
    np.testing.assert_array_equal(some.comparisons.rows, answers.comparisons.rows[[2, 3, 6, 7]])
    np.testing.assert_array_equal(answers[answers.seconds > 2].seconds, [3, 4])
    assert len(answers[:1]) == 1
    with pytest.raises(ValueError, match="selects no answers"):
        answers[answers.seconds > 9]


def test_answers_are_chosen_by_rules_too():
    answers = read_answers(TABLE)
    chosen = answers.where("seconds > 0.2 and person != TEST")
    assert chosen.lines.tolist() == [1, 3, 5]
    assert [left.n_rows for left in chosen.report.left_out] == [2, 1]
    again = chosen.where("person = p2")
    assert len(again.report.left_out) == 3
    with pytest.raises(ValueError, match="no column 'condition'"):
        answers.where("condition = A")


def test_the_program_selects_and_tells(tmp_path, capsys):
    rng = np.random.default_rng(0)
    rows = [rng.choice(list("abcdef"), 3, replace=False) for _ in range(120)]
    people = rng.choice(["ann", "bob", "eve", "TEST"], 120)
    text = "\n".join(f"{p},{','.join(row)},{k % 3}" for k, (p, row) in enumerate(zip(people, rows, strict=True)))
    (tmp_path / "a.csv").write_text(f"person,anchor,near,far,block\n{text}\n")
    (tmp_path / "out.txt").write_text("eve  # left early\n\n")
    said = ["--exclude", "person=TEST", "--exclude-from", str(tmp_path / "out.txt"), "--where", "block < 2"]
    main(["check", str(tmp_path / "a.csv"), "--json", *said])
    found = json.loads(capsys.readouterr().out)["left_out"]
    away = np.isin(people, ["TEST", "eve"])
    late = ~away & (np.arange(120) % 3 == 2)
    assert [(each["n_rows"], each["where"]) for each in found] == [
        (int(away.sum()), "person is 'TEST' or 'eve'"),
        (int(late.sum()), "block is not below 2"),
    ]
    assert found[0] | {"n_rows": 0, "where": ""} == {
        "n_rows": 0, "column": "person", "sign": "!=", "values": ["TEST", "eve"], "where": ""
    }  # fmt: skip
    main(["check", str(tmp_path / "a.csv"), *said])
    assert f"{away.sum()} rows left out where person is 'TEST' or 'eve'" in capsys.readouterr().out
    (tmp_path / "out.txt").write_text("# nobody yet\n")
    assert main(["check", str(tmp_path / "a.csv"), *said]) == 2
    assert "out.txt lists nobody; write one person on each line" in capsys.readouterr().err


def test_further_columns_come_with_the_answers(tmp_path):
    table = {"anchor": ["oak", "elm", "fir"], "near": ["elm", "fir", "oak"], "far": ["fir", "oak", "elm"]}
    table |= {"group": ["B", "A", None], "age of person": [31, 20, 45]}
    answers = read_answers(table, also=["group", "age of person"], where="'age of person' > 25")
    assert answers.also["group"].tolist() == ["B", ""]
    assert answers.also["age of person"].tolist() == ["31", "45"]
    assert answers[1:].also["group"].tolist() == [""]
    with pytest.raises(ValueError, match="no column 'grop'; perhaps 'group' is meant"):
        read_answers(table, also=["grop"])


def test_bad_rows_that_a_misspelled_filter_keeps_come_with_its_note():
    table = {"block": ["practice", "main"], "anchor": ["a", "a"], "near": ["a", "b"], "far": ["c", "c"]}
    with pytest.raises(BadAnswers, match="no row has 'practise' in column 'block'; perhaps 'practice'"):
        read_answers(table, exclude={"block": "practise"})
    assert len(read_answers(table, exclude={"block": "practice"})) == 1

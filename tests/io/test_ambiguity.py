"""Columns that may say what was answered are used, asked about or told of, and never ignored in silence."""

import pytest
from helpers.tables import labeled_rows

from nearer.io import read_answers

SHOWN = {"anchor": ["a", "b", "c", "d"], "left": ["b", "c", "d", "a"], "right": ["c", "d", "a", "b"]}
NEAR_FAR = {"anchor": SHOWN["anchor"], "near": SHOWN["left"], "far": SHOWN["right"]}
IJK = dict(zip("ijk", SHOWN.values(), strict=True))
ITEMS = {"item1": list("uvwuvw"), "item2": list("vwuvwu"), "item3": list("xyzxyz")}
TURNED = [("a", "b", "a", "c"), ("b", "d", "b", "c"), ("c", "d", "c", "a"), ("d", "b", "d", "a")]
RIGHT = [True, False, True, False]


def coded(yes, no):
    return [yes if right else no for right in RIGHT]


CHOSEN = ["b", "d", "d", "b"]


@pytest.mark.parametrize("name", ["response", "choice", "selected"])
@pytest.mark.parametrize(("yes", "no"), [(1, -1), (True, False)])
def test_answers_beside_near_and_far_turn_rows(name, yes, no):
    assert labeled_rows(read_answers(NEAR_FAR | {name: coded(yes, no)})) == TURNED


@pytest.mark.parametrize(("yes", "no"), [("L", "R"), (1, 0), ("yes", "no"), ("left", "right")])
def test_codes_beside_near_and_far_are_asked_about(yes, no):
    table = NEAR_FAR | {"choice": coded(yes, no)}
    with pytest.raises(
        ValueError, match=r"in addition to near and far; use --first-is [a-z1]+ .* or --first-is [a-z0]+ "
    ):
        read_answers(table)
    assert labeled_rows(read_answers(table, first_is=yes)) == TURNED
    assert len(read_answers(table, columns={"answer": None})) == 4


def test_an_answer_that_names_what_is_far_is_no_near_and_far():
    table = NEAR_FAR | {"response": CHOSEN}
    with pytest.raises(ValueError, match=r"if they are only what was shown, use --columns left=near"):
        read_answers(table)
    columns = {"left": "near", "right": "far", "answer": "response"}
    assert labeled_rows(read_answers(table, columns=columns)) == TURNED


def test_a_column_that_the_caller_names_as_the_answer_is_believed():
    table = NEAR_FAR | {"left": SHOWN["left"], "right": SHOWN["right"], "note": ["left", "right", "left", "right"]}
    with pytest.warns(UserWarning, match="'near', 'far' hold objects and were not used"):
        assert labeled_rows(read_answers(table, columns={"answer": "note"})) == TURNED
    with pytest.raises(ValueError, match="column 'note' holds left and right in addition to near and far"):
        read_answers(NEAR_FAR | {"note": table["note"]}, columns={"answer": "note"})
    with pytest.raises(
        ValueError, match="column 'note' holds 'b', 'c', 'd' in addition to near and far, which already give"
    ):
        read_answers(NEAR_FAR | {"note": list("bcdb")}, columns={"answer": "note"})


@pytest.mark.parametrize(
    ("name", "yes", "no"), [("label", 1, 0), ("correct", True, False), ("agrees", "yes", "no"), ("is_near", "T", "F")]
)
def test_two_values_beside_near_and_far_are_reported_of(name, yes, no):
    with pytest.warns(UserWarning, match=f"'{name}' holds .* and was not used; .* use --columns answer={name}"):
        read_answers(NEAR_FAR | {name: coded(yes, no)})


def test_i_j_k_and_an_answer_are_anchor_left_and_right():
    assert labeled_rows(read_answers(IJK | {"response": CHOSEN}, kind="triplet")) == TURNED
    assert labeled_rows(read_answers(IJK | {"response": ["left", "right"] * 2}, kind="triplet")) == TURNED
    signs = IJK | {"response": coded(1, -1)}
    with pytest.raises(ValueError, match="if -1 means the first option"):
        read_answers(signs, kind="triplet")
    assert labeled_rows(read_answers(signs, kind="triplet", first_is=1)) == TURNED
    assert labeled_rows(read_answers(IJK | {"y": coded(1, -1)})) == TURNED
    with pytest.raises(ValueError, match="read as triplet, 'a' is nearer to 'b' than to 'c'; read as odd-one-out"):
        read_answers(IJK | {"response": CHOSEN})


def test_two_answers_that_differ_are_asked_about():
    table = SHOWN | {"answer": ["left"] * 4, "response": coded("left", "right")}
    with pytest.raises(
        ValueError, match=r"'answer' and 'response' can each be .* differ in 2 of 4 rows, first in line 2"
    ):
        read_answers(table)
    assert labeled_rows(read_answers(table, columns={"answer": "response"})) == TURNED
    same = SHOWN | {"answer": CHOSEN, "response": coded("left", "right")}
    assert labeled_rows(read_answers(same)) == TURNED
    with pytest.raises(ValueError, match=r"use --columns odd=odd .* or --columns odd=response"):
        read_answers(ITEMS | {"odd": ITEMS["item1"], "response": ITEMS["item2"]})


def test_gorilla_holds_the_right_answer_beside_the_response():
    program = {"Participant Private ID": ["1"] * 4, "Trial Number": ["1", "2", "3", "4"], "Zone Type": ["button"] * 4}
    table = program | SHOWN | {"ANSWER": SHOWN["right"], "Response": CHOSEN}
    with pytest.warns(UserWarning, match="'ANSWER' holds objects and was not used"):
        assert labeled_rows(read_answers(table)) == TURNED


def test_an_empty_column_is_no_answer():
    table = SHOWN | {"choice": [""] * 4, "key_resp.keys": coded("left", "right")}
    with pytest.warns(UserWarning, match="column 'choice' is empty and was not used"):
        assert labeled_rows(read_answers(table)) == TURNED
    with pytest.raises(ValueError, match="there is no answer"):
        read_answers(SHOWN | {"choice": [""] * 4})


def test_keys_of_two_screens_are_named():
    table = SHOWN | {"key_resp.keys": coded("left", "right"), "key_resp_2.keys": ["space"] * 4}
    with pytest.raises(ValueError, match=r"'key_resp.keys' and 'key_resp_2.keys' can each be the answer"):
        read_answers(table)


def test_a_constant_anchor_is_reported_of():
    table = {"target": ["t"] * 6, **ITEMS, "response": ITEMS["item1"]}
    with pytest.raises(
        ValueError, match=r"'target' holds the same text .* --columns anchor=target.*read as odd-one-out"
    ):
        read_answers(table)
    with pytest.warns(UserWarning, match=r"'target' was not used; if it is the anchor, use --kind grid"):
        read_answers(table, kind="odd-one-out")
    assert read_answers(table, kind="grid", columns={"anchor": "target"}).kind == "grid"


def test_columns_of_options_that_share_no_object_are_refused():
    names = [f"o{number}" for number in range(10)] * 3
    near = {"anchor": names, "left": names[1:] + names[:1], "right": names[2:] + names[:2], "answer": ["left"] * 30}
    assert read_answers(near).report.notes == ()
    with pytest.raises(ValueError, match=r"column 'right' was read as right, but none of its 10 labels \('o0.png', "):
        read_answers(near | {"right": [f"{name}.png" for name in near["right"]]})


def jspsych(trial_type, responses, shown=SHOWN):
    n_rows = len(responses)
    program = {"trial_type": [trial_type] * n_rows, "trial_index": list(range(n_rows)), "time_elapsed": [9] * n_rows}
    return program | {"response": responses} | shown


def test_digits_on_keys_are_no_numbers_of_buttons():
    assert labeled_rows(read_answers(jspsych("html-button-response", coded("0", "1")))) == TURNED
    assert labeled_rows(read_answers(jspsych("html-keyboard-response", coded("1", "2")))) == TURNED
    with pytest.raises(ValueError, match=r"--first-is 0 .* or --first-is 1"):
        read_answers(jspsych("html-keyboard-response", coded("1", "0")))
    with pytest.raises(ValueError, match="from 0 or from 1"):
        read_answers(jspsych("html-keyboard-response", ["1"] * 4))
    table = jspsych("html-keyboard-response", ["1", "2", "3"] * 2, ITEMS)
    assert read_answers(table, kind="odd-one-out").places.tolist() == [0, 1, 2, 0, 1, 2]


def test_a_number_of_a_button_that_is_not_there_is_asked_about():
    with pytest.raises(ValueError, match="from 0 or from 1") as error:
        read_answers(jspsych("html-button-response", coded("1", "2")))
    assert "skip" not in str(error.value)
    shown = {"anchor": SHOWN["anchor"], "choices": ['["x", "y"]', '["y", "z"]', '["x", "z"]', '["z", "x"]']}
    with pytest.raises(ValueError, match="do not count from 0") as error:
        read_answers(jspsych("html-button-response", coded("1", "2"), shown))
    assert "skip" not in str(error.value)


@pytest.mark.parametrize(
    ("top", "note"),
    [("sep=;\n", False), ("# made on Monday\n# by us\n", True), ("sep=;\n# x\n", True), ("# anchor;near;far\n", None)],
)
def test_lines_before_the_header(tmp_path, top, note):
    header = "" if note is None else "anchor;near;far\n"
    (tmp_path / "answers.csv").write_text(f"{top}{header}a;b;c\nb;c;a\n")
    if note:
        with pytest.warns(UserWarning, match=r"comments w.* ignored"):
            answers = read_answers(tmp_path / "answers.csv")
    else:
        answers = read_answers(tmp_path / "answers.csv")
    assert labeled_rows(answers) == [("a", "b", "a", "c"), ("b", "c", "b", "a")]
    assert answers.lines.tolist() == [len((top + header).splitlines()) + 1, len((top + header).splitlines()) + 2]


def test_an_export_of_salmon_without_people():
    table = {"head": [0, 1, 2], "winner": [1, 2, 0], "loser": [2, 0, 1]}
    files = {"head_filename": ["a", "b", "c"], "winner_filename": ["b", "c", "a"]}
    answers = read_answers(table | files)
    assert labeled_rows(answers) == [("a", "b", "a", "c"), ("b", "c", "b", "a"), ("c", "a", "c", "b")]
    assert answers.report.notes == ()


def test_a_fourth_column_that_always_is_one_of_three_is_asked_about():
    rows = [("p", "q", "r"), ("q", "s", "p"), ("r", "p", "t"), ("t", "q", "s"), ("s", "t", "p"), ("q", "r", "t")]
    table = dict(zip("ABC", map(list, zip(*rows, strict=True)), strict=True))
    table["D"] = [row[at] for row, at in zip(rows, (0, 1, 2, 0, 1, 2), strict=True)]
    with pytest.raises(ValueError, match=r"column 'D' holds one of .*\n.*items=A\+B\+C,odd=D") as error:
        read_answers(table)
    assert "items=A+B+C,central=D" in str(error.value)
    assert read_answers(table, columns={"items": "A+B+C", "odd": "D"}).kind == "odd-one-out"
    # Pairs that share an object are quadruplets like others.
    shared = {"A": table["A"], "B": table["B"], "C": table["C"], "D": table["A"]}
    assert read_answers(shared).kind == "quadruplet"

"""Several items of which one is named; columns that hold no objects, or objects and no role; codings; old exports."""

import json

import numpy as np
import pytest

from nearer.cli.main import main
from nearer.evaluation import comparison_error
from nearer.io import BadAnswers, read_answers, write_answers
from nearer.io.messages import statement

ROWS = [list("uvwxyz"), list("vuxwzy"), list("wxyzuv"), list("zyxwvu")]


def columns(rows, stem="item", start=1):
    return {f"{stem}{at}": list(cells) for at, cells in enumerate(zip(*rows, strict=True), start)}


def said(answers):
    return [tuple(row) for row in answers.comparisons.objects[answers.comparisons.oriented[:, [0, 1, 3]]].tolist()]


@pytest.mark.parametrize("k", [3, 4, 5, 6])
@pytest.mark.parametrize("role", ["odd", "central"])
def test_any_number_of_items(k, role):
    rows = [row[:k] for row in ROWS]
    answers = read_answers(columns(rows) | {role: [row[-1] for row in rows]})
    comparisons = answers.comparisons
    assert len(comparisons) == len(rows) * (k - 1) * (k - 2)
    assert comparisons.objects.tolist() == sorted({each for row in rows for each in row})
    np.testing.assert_allclose(np.bincount(answers.answer_of, comparisons.weights), 1)
    assert comparisons.trials.tolist() == answers.answer_of.tolist()
    for row, named in zip(said(answers), answers.answer_of.tolist(), strict=True):
        assert row[2 if role == "odd" else 1] == rows[named][-1]
        assert len(set(row)) == 3


@pytest.mark.parametrize("role", ["odd", "central"])
def test_comparisons_hold_where_the_answer_is_right(role):
    corners = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    points = np.vstack([corners, [0.0, 0.0] if role == "central" else [9.0, 9.0]])
    labels = list("uvwxy")
    answers = read_answers(columns([labels]) | {role: ["y"]})
    assert comparison_error(answers.comparisons, points) == 0


def test_rows_may_have_fewer_items():
    table = {"item1": ["u", "v", "u"], "item2": ["v", "w", "x"], "item3": ["w", "x", ""], "item4": ["x", "", ""]}
    answers = read_answers(table | {"odd": ["u", "v", "u"]}, skip_bad=True)
    assert np.bincount(answers.answer_of).tolist() == [6, 2]
    assert [*map(statement, answers.report.bad_rows)] == ["there are fewer than three objects"]
    holes = {"item1": ["u", "v"], "item2": ["", "w"], "item3": ["w", "x"], "item4": ["x", "u"]}
    named = read_answers(holes | {"odd": ["w", "u"]})
    assert np.bincount(named.answer_of).tolist() == [2, 6]
    counted = read_answers(holes | {"odd": ["3", "4"]}, skip_bad=True)
    assert "an item before it is missing; name the object" in statement(counted.report.bad_rows[0])
    nothing = read_answers(holes | {"odd": ["item2", "item4"]}, skip_bad=True)
    assert "'item2' is none of the objects shown" in statement(nothing.report.bad_rows[0])


def test_an_item_twice_is_bad():
    with pytest.raises(BadAnswers, match="table:1: 'u' appears twice"):
        read_answers({"o1": ["u"], "o2": ["v"], "o3": ["w"], "o4": ["u"], "odd": ["v"]})
    with pytest.raises(BadAnswers, match="table:1: 'u' appears twice"):
        read_answers({"items": ["u;v;u"], "odd": ["v"]})


def test_lists_of_items():
    table = {"items": [["u", "v", "w"], ["v", "w", "x", "u"]], "odd": ["w", "x"]}
    answers = read_answers(table)
    assert np.bincount(answers.answer_of).tolist() == [2, 6]
    assert answers.places.tolist() == [2, 2]
    long = {"items": [[f"o{at}" for at in range(51)], list("uvw")], "odd": ["o1", "u"]}
    assert "more than 50 objects" in statement(read_answers(long, skip_bad=True).report.bad_rows[0])
    assert said(read_answers({"items": [[7, 8, 10]], "odd": [10]}))[0] == ("7", "8", "10")


def test_cannot_tell_among_four_counts_all_four_answers():
    answers = read_answers(columns([row[:4] for row in ROWS]) | {"odd": ["?", "u", "x", "w"]}, undecided="split")
    assert np.bincount(answers.answer_of).tolist() == [24, 6, 6, 6]
    np.testing.assert_allclose(np.bincount(answers.answer_of, answers.comparisons.weights), 1)


def test_items_come_back(tmp_path):
    answers = read_answers(columns([row[:5] for row in ROWS]) | {"odd": ["u", "v", "w", "x"]})
    for name in ("answers.csv", "answers.npz", "answers.parquet"):
        again = read_answers(write_answers(answers, tmp_path / name))
        assert (again.kind, said(again), again.places.tolist()) == ("odd-one-out", said(answers), [0, 0, 0, 2])


def test_indices_of_many_items_in_an_array(tmp_path):
    path = tmp_path / "items.npz"
    np.savez(path, X=np.array([[0, 1, 2, 3, 4], [4, 3, 2, 1, 0]]), y=np.array([4, 0]))
    answers = read_answers(path, "odd-one-out", preset="cblearn")
    assert len(answers.comparisons) == 24
    assert {row[2] for row in said(answers)} == {4}


def test_columns_of_items_can_be_given():
    table = dict(zip("wxyzr", (["u", "v"], ["v", "w"], ["w", "x"], ["x", "u"], ["x", "u"]), strict=True))
    roles = {f"object_{at}": name for at, name in enumerate("wxyz", 1)} | {"odd": "r"}
    for given in (roles, {"items": "w+x+y+z", "odd": "r"}, {"objects": list("wxyz"), "odd": "r"}):
        answers = read_answers(table, columns=given)
        assert (answers.kind, len(answers.comparisons), answers.report.notes) == ("odd-one-out", 12, ())
    with pytest.raises(ValueError, match="three columns at least"):
        read_answers(table, columns={"object_1": "w", "object_2": "x", "odd": "r"})
    with pytest.raises(ValueError, match="not both"):
        read_answers(table, columns=roles | {"items": "w"})


def test_a_column_of_objects_that_is_not_used_is_told():
    table = columns([row[:3] for row in ROWS]) | {"odd": list("uvwx"), "correct": list("vwxy"), "block": ["1"] * 4}
    with pytest.warns(UserWarning, match=r"table: column 'correct' holds objects and was not used"):
        assert len(read_answers(table).report.notes) == 1
    listed = table | {"correct": [json.dumps(row[:3]) for row in ROWS]}
    with pytest.warns(UserWarning, match="'correct' holds objects"):
        read_answers(listed)
    numbers = {"anchor": [1, 2, 3], "near": [2, 3, 1], "far": [3, 1, 2], "age": [1, 2, 3], "trial": [1, 2, 3]}
    assert read_answers(numbers).report.notes == ()


def jspsych(rows, **more):
    n = len(rows)
    log = {
        "trial_type": ["html-button-response"] * n,
        "trial_index": range(n),
        "time_elapsed": range(n),
        "rt": [900] * n,
    }
    return log | columns(rows) | {"response": [at % 3 for at in range(n)]} | more


PROMPT = "<p>Click on the odd one.</p>"


@pytest.mark.parametrize("n_rows", [2, 4])
def test_a_prompt_is_no_anchor(n_rows):
    rows = [row[:3] for row in ROWS[:n_rows]]
    lists = [json.dumps(row) for row in rows]
    for table in (jspsych(rows, stimulus=[PROMPT] * n_rows), jspsych(rows, stimulus=[PROMPT] * n_rows, choices=lists)):
        with pytest.raises(
            ValueError, match=r"read as odd-one-out, 'u' is the odd one .*; read as most-central, 'u' is"
        ):
            read_answers(table)
        odd = read_answers({name: table[name] for name in table if name != "choices"}, "odd-one-out")
        assert odd.places.tolist() == [at % 3 for at in range(n_rows)]
    with pytest.raises(ValueError, match=r"'stimulus' holds the same text in every row .*--columns anchor=stimulus"):
        read_answers(jspsych(rows, stimulus=[PROMPT] * n_rows, choices=lists), "grid")


def test_plain_text_that_never_changes_is_no_anchor_unless_the_caller_says_so():
    table = {"target": ["Which?"] * 6, "left": list("uvwxyz"), "right": list("vwxyzu"), "answer": ["left"] * 6}
    with pytest.raises(ValueError, match=r"column 'target' holds the same text .*use --columns anchor=target"):
        read_answers(table)
    assert said(read_answers(table, columns={"anchor": "target"}))[0] == ("Which?", "u", "v")
    few = {name: column[:3] for name, column in table.items()}
    assert len(read_answers(few)) == 3


def test_prompts_that_change_are_no_anchors_either():
    rows = [row[:3] for row in ROWS]
    lists = [[f"<img src='{each}.png'>" for each in row] for row in rows]
    prompts = [f"<p>Trial {at} of 4: which is odd?</p>" for at in range(4)]
    with pytest.raises(ValueError, match="'stimulus' holds HTML, where other columns hold pictures or sounds"):
        read_answers(jspsych(rows, stimulus=prompts, choices=lists), "grid")
    plain = [f"Trial {at}" for at in range(6)]
    table = jspsych([*rows, *rows[:2]], stimulus=plain, choices=[*rows, *rows[:2]])
    table = {name: column for name, column in table.items() if not name.startswith("item")}
    with pytest.warns(UserWarning, match="none of its values is ever an option"):
        read_answers(table)


def test_a_file_whose_beginning_is_one_cell(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text('anchor,near,far,remark\na,b,c,"' + "long\n" * 25_000 + '"\n' + "b,c,a,c\n" * 20_000)
    assert len(read_answers(path)) == 20_001


def test_stimuli_in_html_are_objects():
    pictures = [f"<img src='{each}.png'>" for each in "abcd"]
    table = {"anchor": pictures, "left": pictures[1:] + pictures[:1], "right": pictures[2:] + pictures[:2]}
    assert len(read_answers(table | {"answer": ["left"] * 4}).comparisons.objects) == 4


def test_a_choice_names_the_column_of_an_option():
    table = {"reference": ["x", "y"], **columns([list("uvw"), list("vwx")], "option"), "choice": ["option2", "option3"]}
    assert read_answers(table).places.tolist() == [1, 2]
    assert read_answers(table | {"choice": ["left", "right"]}).places.tolist() == [0, 2]
    gap = table | {"option1": ["", "v"], "choice": [2, 3]}
    with pytest.raises(BadAnswers, match="table:1: an option before another is missing"):
        read_answers(gap)


def test_keys_are_asked_for():
    table = {"anchor": ["x", "y"], "left": ["p", "q"], "right": ["q", "r"], "answer": ["f", "j"]}
    with pytest.raises(ValueError, match=r"if f means the first option, then f chooses 'p' from 'p', 'q'; if j means"):
        read_answers(table)
    assert read_answers(table, first_is="f").places.tolist() == [0, 1]


def test_a_bad_row_does_not_hide_the_doubt():
    table = columns([row[:4] for row in ROWS]) | {"response": ["u", "v", "banana", "z"]}
    with pytest.raises(ValueError, match="read as odd-one-out, 'u' is the odd one of 'u', 'v', 'w', 'x'; read as most"):
        read_answers(table)
    sides = {"anchor": ["u", "v"], "left": ["v", "w"], "right": ["w", "u"], "response": ["left", "banana"]}
    table = sides | {"choices": [["left", "right"]] * 2}
    with pytest.raises(BadAnswers, match="table:2: the answer 'banana'"):
        read_answers(table)
    assert read_answers(table, skip_bad=True).places.tolist() == [0]


def test_two_programs_cannot_both_have_written_a_file():
    with pytest.raises(ValueError, match="has the columns of jspsych, not of salmon"):
        read_answers(jspsych([row[:3] for row in ROWS]), preset="salmon")


def test_what_is_said_of_a_person_goes_with_every_trial(tmp_path):
    path = tmp_path / "people.json"
    trials = [{"anchor": "u", "near": "v", "far": "w"}, {"anchor": "v", "near": "w", "far": "u"}]
    path.write_text(json.dumps([{"participant": who, "trials": trials} for who in ("p", "q")]))
    assert read_answers(path).annotators.tolist() == ["p", "p", "q", "q"]
    path.write_text(json.dumps({"participant": "p", "trials": trials}))
    assert read_answers(path).annotators.tolist() == ["p", "p"]


def test_commands_take_items_and_codings(tmp_path, capsys):
    path = tmp_path / "data.json"
    table = jspsych([row[:3] for row in ROWS], stimulus=[PROMPT] * 4)
    path.write_text(json.dumps([dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]))
    assert main(["check", str(path)]) == 2
    assert "read as most-central, 'u' is the most central of 'u', 'v', 'w'" in capsys.readouterr().err
    roles = "object_1=item1,object_2=item2,object_3=item3,odd=response"
    assert main(["check", str(path), "--kind", "odd-one-out", "--columns", roles, "--json"]) in (0, 1)
    assert json.loads(capsys.readouterr().out)["kind"] == "odd-one-out"
    sides = tmp_path / "sides.csv"
    sides.write_text("anchor,left,right,answer\na,b,c,-1\nb,c,a,1\nc,a,b,1\n")
    assert main(["check", str(sides), "--json"]) == 2
    assert "--first-is -1" in capsys.readouterr().err
    assert main(["check", str(sides), "--first-is", "-1", "--json"]) in (0, 1)


def test_names_and_indices_of_salmon_do_not_mix():
    table = {"head": [0, 1], "winner": [1, 2], "loser": [2, 0], "puid": ["p", "q"]}
    names = {f"{role}_filename": [f"{at}.png" for at in table[role]] for role in ("head", "winner", "loser")}
    assert said(read_answers(table | names)) == [("0.png", "1.png", "2.png"), ("1.png", "2.png", "0.png")]
    indices = read_answers(table | names, columns={"anchor": "head"})
    assert said(indices) == [(0, 1, 2), (1, 2, 0)]
    clash = names | {"winner_filename": ["1.png", "0.png"]}  # two names for 1, one name for 0 and 2
    del clash["loser_filename"]
    with pytest.warns(UserWarning, match="no loser_filename, so that objects keep their indices"):
        assert said(read_answers(table | clash)) == [(0, 1, 2), (1, 2, 0)]


def test_times_of_gorilla_are_milliseconds():
    table = {"Participant Private ID": ["7", "7"], "Trial Number": [1, 2], "Zone Type": ["response_button_text"] * 2}
    table |= {
        "Reaction Time": [80.5, 90],
        "Response": ["v", "w"],
        "anchor": ["u", "v"],
        "left": ["v", "w"],
        "right": ["w", "u"],
    }
    answers = read_answers(table)
    assert answers.seconds.tolist() == [0.0805, 0.09]
    assert answers.places.tolist() == [0, 0]

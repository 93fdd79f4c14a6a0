"""Exports of other programs, purposes of questions, and objects that several columns make up."""

import json
import os
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from helpers.tables import triplets_said

from nearer.cli.main import main
from nearer.data.comparisons import Comparisons
from nearer.io import BadAnswers, read_answers, write_answers

SALMON = (
    "head,left,right,winner,loser,sampler,score,puid,response_time,network_latency,time_received,loser_html,"
    "head_html,winner_html,left_html,right_html,head_filename,winner_filename,loser_filename,left_filename,"
    "right_filename,num_responses\n"
    "0,1,2,2,1,Random,0.5,p1,1.25,0.1,1600000000.5,<img src='b.png' />,<img src='a.png' />,<img src='c.png' />,"
    "<img src='b.png' />,<img src='c.png' />,a.png,c.png,b.png,b.png,c.png,1\n"
    "2,1,0,1,0,Random,0.5,p2,-1,0.1,1600000001.5,<img src='a.png' />,<img src='c.png' />,<img src='b.png' />,"
    "<img src='b.png' />,<img src='a.png' />,c.png,b.png,a.png,b.png,a.png,2\n"
)


def test_salmon(tmp_path):
    path = tmp_path / "responses.csv"
    path.write_text(SALMON)
    for preset in (None, "salmon"):
        answers = read_answers(path, preset=preset)
        assert triplets_said(answers) == [("a.png", "c.png", "b.png"), ("c.png", "b.png", "a.png")]
        assert answers.places.tolist() == [1, 0]
        assert answers.annotators.tolist() == ["p1", "p2"]
        np.testing.assert_array_equal(answers.seconds, [1.25, np.nan])
        assert answers.comparisons.trials is None


def test_salmon_with_indices_alone_and_nobody(tmp_path):
    path = tmp_path / "responses.csv"
    path.write_text("head,winner,loser,puid\n0,1,2,\n2,1,0,\n")
    answers = read_answers(path)
    assert triplets_said(answers) == [("0", "1", "2"), ("2", "1", "0")]
    assert answers.annotators is None
    with pytest.raises(ValueError, match="not an export of Salmon"):
        read_answers({"anchor": ["a"], "near": ["b"], "far": ["c"]}, preset="salmon")


JSPSYCH = [
    {"rt": 3000, "stimulus": "<p>Welcome</p>", "response": 0, "trial_type": "html-button-response"},
    {"rt": 1500, "response": 1, "anchor": "a", "left": "b", "right": "c", "trial_type": "html-button-response"},
    {"rt": 50, "response": 1, "anchor": "b", "left": "a", "right": "c", "trial_type": "html-button-response"},
]


def with_defaults(rows):
    return [row | {"trial_index": i, "time_elapsed": 1000 * i, "subject": "s1"} for i, row in enumerate(rows)]


def as_csv(rows):
    names = list(dict.fromkeys(name for row in rows for name in row))
    quoted = [[json.dumps(str(row.get(name, ""))) for name in names] for row in rows]
    return "\n".join([",".join(names), *(",".join(cells) for cells in quoted)])


@pytest.mark.parametrize("form", ["json", "csv", "jsonl"])
def test_jspsych_with_sides(tmp_path, form):
    path = tmp_path / f"data.{form}"
    rows = with_defaults(JSPSYCH)
    text = {"json": json.dumps(rows), "csv": as_csv(rows), "jsonl": "\n".join(map(json.dumps, rows))}[form]
    path.write_text(text)
    with pytest.warns(UserWarning, match="1 row names no objects"):
        answers = read_answers(path)
    assert answers.kind == "triplet"
    assert triplets_said(answers) == [("a", "c", "b"), ("b", "c", "a")]  # a lone 1 is the second button
    assert answers.places.tolist() == [1, 1]
    assert answers.seconds.tolist() == [1.5, 0.05]
    assert answers.annotators.tolist() == ["s1", "s1"]
    assert answers.comparisons.trials is None


@pytest.mark.parametrize("choices", [["b", "c"], ["b", "c", "d"]])
def test_jspsych_with_lists(tmp_path, choices):
    path = tmp_path / "data.csv"
    row = {"rt": 900, "stimulus": "a", "choices": ";".join(choices), "response": 1}
    row |= {"trial_type": "image-button-response"}
    path.write_text(as_csv(with_defaults([JSPSYCH[0], row, row | {"response": 0}])))
    with pytest.warns(UserWarning, match="1 row names no objects"):
        answers = read_answers(path, preset="jspsych")
    assert answers.kind == ("triplet" if len(choices) == 2 else "grid")
    assert triplets_said(answers)[0] == ("a", "c", "b")
    assert answers.places.tolist() == [1, 0]


def screens(*extra):
    """Trials of two people about four objects, and other screens before those of each."""
    row = {"rt": 900, "response": 1, "trial_type": "image-button-response"}
    triplets = [("a", ["b", "c"]), ("b", ["c", "d"]), ("c", ["d", "a"])]
    trials = [row | {"stimulus": anchor, "choices": choices} for anchor, choices in triplets]
    return with_defaults([*(row | each for each in extra), *trials] * 2)


@pytest.mark.parametrize("form", ["json", "csv"])
def test_screens_with_one_button_are_passed_over(tmp_path, form):
    path = tmp_path / f"data.{form}"
    rows = screens({"stimulus": "Welcome", "choices": ["Continue"], "response": 0})
    path.write_text(json.dumps(rows) if form == "json" else as_csv(rows))
    with pytest.warns(UserWarning, match="2 rows show fewer than two objects and were ignored"):
        answers = read_answers(path)
    assert triplets_said(answers) == [("a", "c", "b"), ("b", "d", "c"), ("c", "a", "d")] * 2
    assert answers.comparisons.objects.tolist() == list("abcd")


def test_questions_about_something_else_are_passed_over(tmp_path):
    path = tmp_path / "data.json"
    consent = {"stimulus": "Do you consent?", "choices": ["Yes", "No"], "response": 0}
    path.write_text(
        json.dumps(screens(consent, consent | {"stimulus": "Are you of age?"}, consent | {"response": None}))
    )
    mentioned = "'Are you of age?', 'Do you consent?', 'No', 'Yes'"
    with pytest.warns(UserWarning, match="6 rows are about objects that no other row") as caught:
        answers = read_answers(path)
    assert mentioned in str(caught[0].message)
    assert triplets_said(answers) == [("a", "c", "b"), ("b", "d", "c"), ("c", "a", "d")] * 2
    again = write_answers(answers, tmp_path / "again.json", "jspsych")
    assert len(read_answers(again)) == 6


def test_a_question_about_something_else_is_found_beside_choices_that_never_change(tmp_path):
    path = tmp_path / "data.json"
    row = {"rt": 900, "response": 1, "trial_type": "image-button-response", "choices": ["x", "y", "z"]}
    consent = row | {"stimulus": "Do you consent?", "choices": ["Yes", "No"]}
    path.write_text(json.dumps(with_defaults([consent, *(row | {"stimulus": anchor} for anchor in "abc")])))
    with pytest.warns(UserWarning, match=r"1 row is about objects that no other row mentions .* and was ignored"):
        assert len(read_answers(path)) == 3


def test_a_block_of_other_objects_stays(tmp_path):
    path = tmp_path / "data.json"
    other = [{"stimulus": x, "choices": [y, z]} for x, y, z in ("xyz", "yzx", "zyx")]
    path.write_text(json.dumps(screens(*other)))
    answers = read_answers(path)
    assert len(answers) == 12
    assert answers.report.notes == ()


@pytest.mark.parametrize("kind", ["triplet", "odd-one-out", "ranking"])
def test_other_files_keep_such_rows_with_a_note(kind):
    rows = [*("abc", "bcd", "cda"), "xyz"]
    first, second, third = ([row[at] for row in rows] for at in range(3))
    table = {
        "triplet": {"anchor": first, "near": second, "far": third},
        "odd-one-out": {"o1": first, "o2": second, "o3": third, "odd": third},
        "ranking": {"anchor": first, "rank_1": second, "rank_2": third},
    }[kind]
    with pytest.warns(UserWarning, match=r"1 row is about objects that no other row mentions \('x', 'y', 'z'\)"):
        answers = read_answers(table, kind)
    assert len(answers) == 4
    assert read_answers({name: column[:3] for name, column in table.items()}, kind).report.notes == ()
    assert read_answers({name: column[2:] for name, column in table.items()}, kind).report.notes == ()


def test_strays_are_found_among_many_rows(monkeypatch):
    monkeypatch.setattr("nearer.io.selecting.SAMPLED_ROWS", 1000)
    rng = np.random.default_rng(0)
    rows = rng.permuted(np.tile(np.arange(50), (2000, 1)), axis=1)[:, :3].astype(str).astype(object)
    rows[1500] = ["x", "y", "z"]
    with pytest.warns(UserWarning, match="1 row is about"):
        read_answers(dict(zip(["anchor", "near", "far"], rows.T, strict=True)))


def test_a_trial_without_a_response_is_bad(tmp_path):
    path = tmp_path / "data.json"
    path.write_text(json.dumps(with_defaults([JSPSYCH[1], JSPSYCH[2] | {"response": None}])))
    with pytest.raises(BadAnswers, match=r"data.json:2: there is no answer"):
        read_answers(path)


def test_cblearn(tmp_path):
    path = tmp_path / "data.npz"
    rows = np.array([[0, 1, 2], [2, 1, 0]])
    np.savez(path, X=rows, y=np.array([1, -1]))
    answers = read_answers(path)
    assert triplets_said(answers) == [(0, 1, 2), (2, 0, 1)]
    assert answers.comparisons.rows.tolist() == rows.tolist()
    np.savez(path, X=rows, y=np.array([True, False]))
    assert triplets_said(read_answers(path, preset="cblearn")) == [(0, 1, 2), (2, 0, 1)]
    np.savez(path, X=rows, y=np.array([0, 1]))
    with pytest.raises(ValueError, match="0 and 1"):
        read_answers(path)
    np.savez(path, X=rows, y=np.array([0, 2]))
    assert triplets_said(read_answers(path, "odd-one-out", preset="cblearn"))[:2] == [(1, 2, 0), (2, 1, 0)]


def test_names_stand_for_indices(tmp_path):
    path = tmp_path / "data.npz"
    rows, names = np.array([[0, 1, 2], [2, 1, 7]], np.int32), np.array(["z", "y", "x", "w"])
    np.savez(path, triplets=rows, names=names, worker=np.array([5, 6]), trial=np.array([1, 1]))
    with pytest.raises(BadAnswers, match=r"data.npz:2: '7' is none of 0..3"):
        read_answers(path)
    answers = read_answers(path, skip_bad=True)
    assert triplets_said(answers) == [("z", "y", "x")]
    assert answers.comparisons.objects.tolist() == ["z", "y", "x", "w"]
    assert answers.annotators.tolist() == [5]
    np.savez(path, triplets=rows[:1], names=np.array(["z", "z", "x"]))
    with pytest.warns(UserWarning, match="not distinct"):
        assert triplets_said(read_answers(path)) == [(0, 1, 2)]


def data_folder():
    for folder in (os.environ.get("NEARER_DATA"), Path(__file__).parents[3] / "shared" / "data"):
        if folder and (Path(folder) / "cars.npz").exists():
            return Path(folder)
    pytest.skip("no real data: neither $NEARER_DATA nor ../shared/data holds cars.npz")


@pytest.mark.parametrize("name", ["cars", "food", "characters_latin", "eggs30", "music"])
def test_real_data(name):
    path = data_folder() / f"{name}.npz"
    answers = read_answers(path)
    with np.load(path) as data:
        np.testing.assert_array_equal(answers.comparisons.rows, data["triplets"])
        if "names" in data:
            assert answers.comparisons.objects.tolist() == data["names"].tolist()
        if "trial" in data:
            n_trials = len(np.unique(np.stack([data["trial"], data["worker"]]), axis=1).T)
            assert answers.comparisons.weights.sum() == pytest.approx(n_trials)


@pytest.mark.parametrize("end", ["END OF FILE\n", "END OF FILE,,,,,,\r\n", '"END OF FILE"'])
def test_the_last_line_of_gorilla_is_no_row(tmp_path, end):
    file = tmp_path / "gorilla.csv"
    file.write_text(
        "Event Index,Participant Private ID,Trial Number,Zone Type,Response,anchor,left,right\n"
        "1,5,1,response_button_image,b,a,b,c\n2,5,2,response_button_image,c,b,c,a\n" + end,
        newline="",
    )
    assert len(read_answers(file)) == 2


TRIALS = [("cat", "dog", "car", "left"), ("car", "cat", "bus", "right"), ("dog", "bus", "cat", "right")]


def table(more=()):
    """Rows as PsychoPy writes them: a page of instructions, trials, and a last page."""
    pages = [{"start.keys": "left", "start.rt": 3.0, "participant": "p1"}]
    trials = [
        {"anchor": a, "left": b, "right": c, "key_resp.keys": key, "key_resp.rt": 0.5 + at, "trials.thisN": at}
        | {"participant": "p1"}
        for at, (a, b, c, key) in enumerate(TRIALS)
    ]
    rows = [*pages, *more, *trials, {"end.keys": "right", "end.rt": 9.0, "participant": "p1"}]
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


@pytest.mark.filterwarnings("ignore:.*ignored:UserWarning")
def test_keys_pressed_outside_of_trials_are_no_answers():
    answers = read_answers(table())
    assert answers.report.columns["answer"] == ("key_resp.keys",)
    assert answers.seconds.tolist() == [0.5, 1.5, 2.5]
    assert answers.places.tolist() == [0, 1, 1]
    assert answers.annotators.tolist() == ["p1"] * 3


@pytest.mark.filterwarnings("ignore:.*ignored:UserWarning")
def test_of_two_loops_the_caller_says_which():
    practice = {"practice.keys": "left", "practice.rt": 4.0, "practice_loop.thisN": 0, "participant": "p1"}
    with pytest.raises(ValueError, match=r"choose one with --columns answer="):
        read_answers(table([practice]))
    answers = read_answers(table([practice]), columns={"answer": "key_resp.keys"})
    assert answers.seconds.tolist() == [0.5, 1.5, 2.5]  # with the keys come their times


def test_rows_of_practice_are_passed_over_once_the_answers_are_named(tmp_path):
    file = tmp_path / "p.csv"
    file.write_text(
        "anchor,left,right,practice.thisN,trials.thisN,prac.keys,main.keys,main.rt,participant\n"
        "cat,dog,car,0,,right,,,p1\ncat,dog,car,,0,,left,0.9,p1\ncar,bus,cat,,1,,left,0.8,p1\ndog,car,cat,,2,,right,1,p1\n"
    )
    with pytest.warns(UserWarning, match="1 row has no response and was ignored"):
        answers = read_answers(file, columns={"answer": "main.keys"})
    assert answers.lines.tolist() == [3, 4, 5]


TABLE = {"anchor": [*"aab"], "near": [*"bbc"], "far": [*"cca"]}


def notes_of(purposes, told=False, **options):
    with pytest.warns(UserWarning, match="harder than random ones") if told else nullcontext():
        return read_answers({**TABLE, "purpose": purposes}, **options).report.notes


def test_an_error_over_chosen_questions_is_said_to_be_too_large():
    (note,) = notes_of(["information", "test", "information"], told=True)
    assert "2 of 3 questions were chosen to be informative" in note
    assert "that of the 1 random one, which `nearer ask` reports, is unbiased" in note
    (note,) = notes_of(["information", "", "start"], told=True)
    assert "random questions among them would give an unbiased one" in note
    (note,) = notes_of(["information", "test", "catch"], told=True)  # `nearer ask` counts no catch questions either
    assert "1 of 2 questions were chosen" in note


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("purposes", [["start", "test", "repeat"], ["information", "main", "test"], ["", "", ""]])
def test_other_columns_of_that_name_say_nothing(purposes):
    assert not any("chosen" in note for note in notes_of(purposes))


def test_comparisons_say_which_questions_were_chosen():
    with pytest.warns(UserWarning, match="chosen"):
        answers = read_answers({**TABLE, "purpose": ["information", "test", "test"]})
    assert answers.comparisons.chosen.tolist() == [True, False, False]
    assert read_answers(TABLE).comparisons.chosen is None
    assert notes_of(["information", "test", "test"], also=["purpose"]) == ()  # who asks for the column is not told


@pytest.mark.parametrize("name", ["answers.csv", "answers.tsv", "answers.npz", "answers.parquet"])
def test_that_comes_back_from_files(name, tmp_path):
    written = Comparisons.from_triplets([("a", "b", "c"), ("b", "c", "d"), ("c", "a", "d")], chosen=[0, 1, 0])
    with pytest.warns(UserWarning, match="1 of 3 questions were chosen"):
        read = read_answers(write_answers(written, tmp_path / name)).comparisons
    assert read.chosen.tolist() == [False, True, False]


RNG = np.random.default_rng(0)
OBJECTS = [(hue, light) for hue in ("red", "green", "blue") for light in ("1", "2")]
ROWS = [[OBJECTS[k] for k in RNG.choice(6, 4, replace=False)] for _ in range(20)]


def column(at, part):
    return [row[at][part] for row in ROWS]


def parts(*names):
    """Two columns for each place."""
    return {f"{name}_{what}": column(at, k) for at, name in enumerate(names) for k, what in enumerate(("hue", "light"))}


def whole(*names):
    return {name: [f"{hue}/{light}" for hue, light in (row[at] for row in ROWS)] for at, name in enumerate(names)}


def same(one, other):
    assert one.kind == other.kind
    np.testing.assert_array_equal(one.comparisons.objects, other.comparisons.objects)
    np.testing.assert_array_equal(one.comparisons.rows, other.comparisons.rows)


def test_triplets_and_answers_that_name_a_combination():
    columns = {role: f"{role}_hue*{role}_light" for role in ("anchor", "near", "far")}
    same(read_answers(parts(*columns), columns=columns), read_answers(whole(*columns)))
    asked = parts("anchor", "left", "right")
    answer = {"answer_hue": asked["left_hue"], "answer_light": asked["left_light"]}
    roles = {role: f"{role}_hue * {role}_light" for role in ("anchor", "left", "right", "answer")}
    expected = whole("anchor", "left", "right")
    same(read_answers(asked | answer, columns=roles), read_answers(expected | {"answer": expected["left"]}))


def test_lists_of_combinations():
    names = ("anchor", "a", "b", "c")
    columns = {"anchor": "anchor_hue*anchor_light", "ranking": "a_hue*a_light+b_hue*b_light+c_hue*c_light"}
    expected = read_answers(whole(*names), columns={"anchor": "anchor", "ranking": ["a", "b", "c"]})
    same(read_answers(parts(*names), columns=columns), expected)
    listed = columns | {"ranking": columns["ranking"].split("+")}
    same(read_answers(parts(*names), columns=listed), expected)


def test_a_part_that_is_missing_is_a_missing_object():
    table = parts("anchor", "near", "far")
    table["near_light"] = ["", *table["near_light"][1:]]
    columns = {role: f"{role}_hue*{role}_light" for role in ("anchor", "near", "far")}
    with pytest.raises(ValueError, match="there is no near"):
        read_answers(table, columns=columns)
    assert read_answers(table, columns=columns, skip_bad=True).report.n_bad == 1


def test_what_cannot_be_combined_is_refused():
    table = parts("anchor", "near", "far")
    with pytest.raises(ValueError, match=r"has no column 'size', of 'anchor_hue\*size'; it has 'anchor_hue'"):
        read_answers(table, columns={"anchor": "anchor_hue*size"})
    double = {"x": ["a/b", "a"], "y": ["c", "b/c"], "near": ["p", "q"], "far": ["q", "p"]}
    with pytest.raises(ValueError, match=r"are called 'a/b/c'; take '/' out"):
        read_answers(double, columns={"anchor": "x*y"})
    one = {"a*b": ["x"], "near": ["y"], "far": ["z"]}  # a column with a star in its name stays one column
    assert read_answers(one, columns={"anchor": "a*b"}).comparisons.objects.tolist() == ["x", "y", "z"]


def test_on_the_command_line(tmp_path, capsys):
    table = parts("anchor", "near", "far")
    lines = [",".join(table), *(",".join(row) for row in zip(*table.values(), strict=True))]
    (tmp_path / "answers.csv").write_text("\n".join(lines), encoding="utf-8")
    said = ",".join(f"{role}={role}_hue*{role}_light" for role in ("anchor", "near", "far"))
    main(["check", str(tmp_path / "answers.csv"), "--columns", said])
    assert "6 objects" in capsys.readouterr().out

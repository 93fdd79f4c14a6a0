"""Exports of other programs are read as they mean it."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

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


def said(answers):
    return [tuple(row) for row in answers.comparisons.objects[answers.comparisons.oriented[:, [0, 1, 3]]].tolist()]


def test_salmon(tmp_path):
    path = tmp_path / "responses.csv"
    path.write_text(SALMON)
    for preset in (None, "salmon"):
        answers = read_answers(path, preset=preset)
        assert said(answers) == [("a.png", "c.png", "b.png"), ("c.png", "b.png", "a.png")]
        assert answers.places.tolist() == [1, 0]
        assert answers.annotators.tolist() == ["p1", "p2"]
        np.testing.assert_array_equal(answers.seconds, [1.25, np.nan])
        assert answers.comparisons.trials is None


def test_salmon_with_indices_alone_and_nobody(tmp_path):
    path = tmp_path / "responses.csv"
    path.write_text("head,winner,loser,puid\n0,1,2,\n2,1,0,\n")
    answers = read_answers(path)
    assert said(answers) == [("0", "1", "2"), ("2", "1", "0")]
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
    assert said(answers) == [("a", "c", "b"), ("b", "c", "a")]  # a lone 1 is the second button
    assert answers.places.tolist() == [1, 1]
    assert answers.seconds.tolist() == [1.5, 0.05]
    assert answers.annotators.tolist() == ["s1", "s1"]
    assert answers.comparisons.trials is None


@pytest.mark.parametrize("choices", [["b", "c"], ["b", "c", "d"]])
def test_jspsych_with_lists(tmp_path, choices):
    path = tmp_path / "data.csv"
    row = {
        "rt": 900,
        "stimulus": "a",
        "choices": ";".join(choices),
        "response": 1,
        "trial_type": "image-button-response",
    }
    path.write_text(as_csv(with_defaults([JSPSYCH[0], row, row | {"response": 0}])))
    with pytest.warns(UserWarning, match="1 row names no objects"):
        answers = read_answers(path, preset="jspsych")
    assert answers.kind == ("triplet" if len(choices) == 2 else "grid")
    assert said(answers)[0] == ("a", "c", "b")
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
    assert said(answers) == [("a", "c", "b"), ("b", "d", "c"), ("c", "a", "d")] * 2
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
    assert said(answers) == [("a", "c", "b"), ("b", "d", "c"), ("c", "a", "d")] * 2
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


def test_strays_are_found_among_many_rows():
    rng = np.random.default_rng(0)
    rows = rng.permuted(np.tile(np.arange(50), (200_000, 1)), axis=1)[:, :3].astype(str).astype(object)
    rows[150_000] = ["x", "y", "z"]
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
    assert said(answers) == [(0, 1, 2), (2, 0, 1)]
    assert answers.comparisons.rows.tolist() == rows.tolist()
    np.savez(path, X=rows, y=np.array([True, False]))
    assert said(read_answers(path, preset="cblearn")) == [(0, 1, 2), (2, 0, 1)]
    np.savez(path, X=rows, y=np.array([0, 1]))
    with pytest.raises(ValueError, match="0 and 1"):
        read_answers(path)
    np.savez(path, X=rows, y=np.array([0, 2]))
    assert said(read_answers(path, "odd-one-out", preset="cblearn"))[:2] == [(1, 2, 0), (2, 1, 0)]


def test_names_stand_for_indices(tmp_path):
    path = tmp_path / "data.npz"
    rows, names = np.array([[0, 1, 2], [2, 1, 7]], np.int32), np.array(["z", "y", "x", "w"])
    np.savez(path, triplets=rows, names=names, worker=np.array([5, 6]), trial=np.array([1, 1]))
    with pytest.raises(BadAnswers, match=r"data.npz:2: '7' is none of 0..3"):
        read_answers(path)
    answers = read_answers(path, skip_bad=True)
    assert said(answers) == [("z", "y", "x")]
    assert answers.comparisons.objects.tolist() == ["z", "y", "x", "w"]
    assert answers.annotators.tolist() == [5]
    np.savez(path, triplets=rows[:1], names=np.array(["z", "z", "x"]))
    with pytest.warns(UserWarning, match="not distinct"):
        assert said(read_answers(path)) == [(0, 1, 2)]


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

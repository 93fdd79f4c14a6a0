"""Files of questions: what collects answers with them writes files that can be read as they are."""

import csv
import json
import re
from pathlib import Path

import pytest

from nearer.design.lists.sheets import Trial, format_of, write_sheets
from nearer.io import read_answers

ODD = ["<b>bold</b>", 'say "x", y', "a & b", "é;1", "-30"]
TRIPLETS = [
    Trial("ann", 1, ("cat", "dog", "cow"), "test"),
    Trial("ann", 2, (ODD[0], ODD[1], "cat"), "start"),
    Trial("ann", 3, ("cow", "dog", "cat"), "catch", ("cat",)),
    Trial("bob", 1, ("cow", ODD[2], ODD[3]), "repeat"),
    Trial("bob", 2, ("cow", ODD[4], "dog"), "information"),
    Trial("bob", 3, ("cow", "cat", "dog"), "catch", ("cat",)),
]
ITEMS = [
    Trial("ann", 1, ("cat", "dog", "cow"), "test"),
    Trial("ann", 2, ("dog", "pig", "cow"), "start"),
    Trial("ann", 3, ("pig", "cat", "cow"), "catch", ("cow",)),
    Trial("ann", 4, ("pig", "cow", "cat"), "catch", ("cow",)),
]


def options_of(trial, kind):
    return trial.shown if kind in ("odd-one-out", "most-central") else trial.shown[1:]


def chosen(trial, at, kind):
    """The right answer to catch trials, and the last or the first option, in turns, to others."""
    options = options_of(trial, kind)
    return options.index(trial.right[0]) if trial.right else (len(options) - 1 if at % 2 else 0)


def said_by(trials, kind):
    """What the answers say: the near and the far pair of the objects, or who is odd."""
    said = []
    for at, trial in enumerate(trials):
        options, place = options_of(trial, kind), chosen(trial, at, kind)
        others = [each for each in options if each != options[place]]
        if kind == "odd-one-out":
            said.append({(others[0], others[1], options[place]), (others[1], others[0], options[place])})
        else:
            said.append({(trial.shown[0], options[place], other) for other in others})
    return said


def read_back(path, trials, kind, told=None):
    answers = read_answers(path, told, also=["purpose"], catch="catch")
    kept = [trial for trial in trials if trial.purpose != "catch"]
    said = [each for trial, each in zip(trials, said_by(trials, kind), strict=True) if trial.purpose != "catch"]
    labels = answers.comparisons.objects[answers.comparisons.oriented[:, [0, 1, 3]]]
    found = [{tuple(row) for row in labels[answers.answer_of == at].tolist()} for at in range(len(answers))]
    assert found == said
    assert answers.also["purpose"].tolist() == [trial.purpose for trial in kept]
    assert answers.report.catches.by == "expected"
    assert answers.report.catches.n_right == answers.report.catches.n_asked
    if answers.annotators is not None:
        assert answers.annotators.tolist() == [trial.participant for trial in kept]
    return answers


@pytest.mark.parametrize(("kind", "trials", "column"), [("triplet", TRIPLETS, "answer"), ("odd-one-out", ITEMS, "odd")])
def test_csv_is_read_once_it_has_a_column_of_answers(kind, trials, column, tmp_path):
    path = tmp_path / "questions.csv"
    assert write_sheets(trials, kind, path, "csv") == [path]
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for at, (row, trial) in enumerate(zip(rows, trials, strict=True)):
        row[column] = options_of(trial, kind)[chosen(trial, at, kind)]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    read_back(path, trials, kind)


@pytest.mark.parametrize(("kind", "trials", "key"), [("triplet", TRIPLETS, "answer"), ("odd-one-out", ITEMS, "odd")])
def test_json_lines_are_read_once_each_has_an_answer(kind, trials, key, tmp_path):
    path = tmp_path / "questions.jsonl"
    assert write_sheets(trials, kind, path, "jsonl") == [path]
    questions = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for at, (question, trial) in enumerate(zip(questions, trials, strict=True)):
        assert question["options"] == list(options_of(trial, kind))
        question[key] = question["options"][chosen(trial, at, kind)]
    assert questions[0]["question"] == ("Which is more like cat?" if kind == "triplet" else "Which is the odd one out?")
    path.write_text("\n".join(map(json.dumps, questions)), encoding="utf-8")
    read_back(path, trials, kind)


@pytest.mark.filterwarnings("ignore:data.json. 1 row names no objects")
@pytest.mark.parametrize(("kind", "trials"), [("triplet", TRIPLETS), ("odd-one-out", ITEMS)])
def test_what_jspsych_saves_is_read_as_it_is(kind, trials, tmp_path):
    path = tmp_path / "questions.json"
    write_sheets(trials, kind, path, "jspsych")
    timeline = json.loads(path.read_text(encoding="utf-8"))
    assert all(each["type"] == "html-button-response" for each in timeline)
    assert not any("<b>bold" in text for each in timeline for text in [each["stimulus"], *each["choices"]])
    saved = [{"trial_type": "html-keyboard-response", "trial_index": 0, "time_elapsed": 5, "rt": 5, "response": " "}]
    for at, (each, trial) in enumerate(zip(timeline, trials, strict=True)):
        assert len(each["choices"]) == len(options_of(trial, kind))
        saved.append(
            {"rt": 900, "stimulus": each["stimulus"], "response": chosen(trial, at, kind)}
            | {"trial_type": each["type"], "trial_index": at + 1, "time_elapsed": 1000 * at}
            | each["data"]
        )
    (tmp_path / "data.json").write_text(json.dumps(saved), encoding="utf-8")
    answers = read_back(tmp_path / "data.json", trials, kind, None if kind == "triplet" else kind)
    assert answers.seconds.tolist() == [0.9] * len(answers)


def test_qualtrics_gets_text_to_import_and_a_key(tmp_path):
    path = tmp_path / "questions.txt"
    key = tmp_path / "questions.key.csv"
    assert write_sheets(TRIPLETS, "triplet", path, "qualtrics") == [path, key]
    text = path.read_text(encoding="utf-8")
    assert text.startswith(
        "[[AdvancedFormat]]\n\n[[Block:ann]]\n\n[[Question:MC:SingleAnswer:Horizontal]]\n[[ID:ann_1]]\n"
    )
    found = re.findall(r"\[\[ID:(\w+)\]\]\n(.*)\n\n\[\[Choices\]\]\n(.*)\n(.*)\n\n\[\[PageBreak\]\]", text)
    assert [each[0] for each in found] == ["ann_1", "ann_2", "ann_3", "bob_1", "bob_2", "bob_3"]
    assert found[1][1:] == ("Which is more like <b>&lt;b&gt;bold&lt;/b&gt;</b>?", "say &quot;x&quot;, y", "cat")
    with key.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["question"] for row in rows] == [each[0] for each in found]
    assert [row["catch"] for row in rows] == ["", "", "2", "", "", "1"]
    for at, (row, trial) in enumerate(zip(rows, TRIPLETS, strict=True)):  # as Qualtrics numbers choices
        row["answer"] = chosen(trial, at, "triplet") + 1
    with (tmp_path / "answers.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    read_back(tmp_path / "answers.csv", TRIPLETS, "triplet")


def test_participants_with_similar_names_have_separate_blocks(tmp_path):
    trials = [Trial(who, 1, ("cat", "dog", "[[PageBreak]]"), "test") for who in ("a b", "a_b", "é")]
    write_sheets(trials, "triplet", tmp_path / "q.txt", "qualtrics")
    text = (tmp_path / "q.txt").read_text(encoding="utf-8")
    assert text.count("[[PageBreak]]") == 3
    assert len(set(re.findall(r"\[\[ID:(\w+)\]\]", text))) == 3
    assert len(set(re.findall(r"\[\[Block:(\w+)\]\]", text))) == 3


def test_grids_are_written_as_csv_and_read_back(tmp_path):
    trials = [
        Trial(None, 1, ("cat", "dog", "cow", "pig"), "start"),
        Trial(None, 2, ("dog", "cat", "cow", "pig"), "catch", ("cat", "pig")),
    ]
    path = tmp_path / "questions.csv"
    write_sheets(trials, "2 of 3", path, "csv")
    lines = path.read_text().splitlines()
    assert lines[0] == "trial,anchor,shown_1,shown_2,shown_3,purpose,catch"
    answered = [f"{lines[0]},chosen", f"{lines[1]},cow;dog", f"{lines[2]},pig;cat"]
    path.write_text("\n".join(answered) + "\n")
    answers = read_answers(path, catch="catch")
    assert answers.kind == "grid"
    assert answers.report.catches.n_right == (1,)
    for form in ("jspsych", "qualtrics"):
        with pytest.raises(ValueError, match=r"several objects are chosen at once, .* write \.csv"):
            write_sheets(trials, "2 of 3", tmp_path / "no.json", form)
    assert not (tmp_path / "no.json").exists()


def test_the_ending_says_what_is_written():
    assert [format_of(Path(f"q{ending}"), None) for ending in (".csv", ".JSON", ".txt", ".jsonl")] == [
        "csv",
        "jspsych",
        "qualtrics",
        "jsonl",
    ]
    assert format_of(Path("q.dat"), "csv") == "csv"
    with pytest.raises(ValueError, match=r"q\.dat: the ending is of no known format .* give --format"):
        format_of(Path("q.dat"), None)

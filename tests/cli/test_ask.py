"""`nearer ask`: from nothing, from answers, around the loop, and what it refuses."""

import csv
import json

import numpy as np
import pytest
from helpers.few import few_draws, one_start

from nearer.cli.main import main
from nearer.io import read_answers

OBJECTS = ["ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen"]
POINTS = dict(zip(OBJECTS, np.random.default_rng(3).normal(size=(8, 2)), strict=True))


@pytest.fixture
def study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    few_draws(monkeypatch)
    one_start(monkeypatch)
    (tmp_path / "names.txt").write_text("\n".join(OBJECTS) + "\n")
    return tmp_path


def run(capsys, *arguments):
    try:
        status = main(["ask", *arguments])
    except SystemExit as stop:
        status = stop.code
    return status, *capsys.readouterr()


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def nearest(row, rng):
    """The object that a map with noise names, of a triplet or of a set."""
    if "anchor" in row:
        near = {side: np.sum((POINTS[row["anchor"]] - POINTS[row[side]]) ** 2) for side in ("left", "right")}
        left = rng.random() < 1 / (1 + np.exp(-5 * (near["right"] - near["left"])))
        return row["left" if left else "right"]
    shown = [row[f"object_{at}"] for at in (1, 2, 3)]
    return max(shown, key=lambda each: sum(np.sum((POINTS[each] - POINTS[other]) ** 2) for other in shown))


def answer(questions, answers, column="answer"):
    """Fill in a column of answers."""
    rng = np.random.default_rng(0)
    rows = [row | {column: row.get("catch") or nearest(row, rng)} for row in rows_of(questions)]
    with open(answers, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def keys(rows):
    return [(row["anchor"], *sorted((row["left"], row["right"]))) for row in rows]


def test_a_study_is_designed_from_names_alone(study, capsys):
    status, out, _ = run(capsys, "--objects", "names.txt", "-n", "60", "-o", "questions.csv")
    assert status == 0
    assert "60 questions about 8 objects (triplet)\nof 60 trials: 51 to start with, 6 random, 3 repeated\n" in out
    assert (
        "6 random questions give an unbiased error: keep the column purpose with the answers\nwritten: questions" in out
    )
    rows = rows_of("questions.csv")
    times = [sum(name in key for key in keys(rows)) for name in OBJECTS]
    assert max(times) - min(times) <= 8  # of 22.5 each
    assert sum(times) == 180


@pytest.mark.filterwarnings("ignore:a2.csv. 51 of 66 questions were chosen")
def test_the_loop_ask_collect_fit_ask(study, capsys):
    """What was asked for is read back, nobody gets a question twice, and numbers of trials go on."""
    assert run(capsys, "--objects", "names.txt", "-n", "30", "--participants", "3", "-o", "q1.csv")[0] == 0
    answer("q1.csv", "a1.csv")
    assert main(["fit", "a1.csv", "-o", "map", "--quick", "--method", "SOE", "--dimensions", "2"]) == 0
    capsys.readouterr()
    arguments = ["a1.csv", "-n", "20", "--participants", "p01,p02,zoe", "--catch-trials", "2", "--dimensions", "2"]
    status, out, err = run(capsys, *arguments, "-o", "q2.csv", "--json")
    assert (status, "learning from 90 answers about 8 objects" in err) == (0, True)
    figures = json.loads(out)
    assert figures["purposes"] == {"start": 0, "information": 51, "test": 6, "repeat": 3, "catch": 6}
    assert (figures["n_random_answers"], figures["n_trials"]) == (9, 66)
    assert figures["error_low"] <= figures["error"] <= figures["error_high"]
    before, after = rows_of("a1.csv"), rows_of("q2.csv")
    for who in ("p01", "p02", "zoe"):
        theirs = [row for row in before + after if row["participant"] == who]
        assert len(set(keys(theirs))) == len(theirs)
        assert len({row["trial"] for row in theirs}) == len(theirs)
    answer("q2.csv", "a2.csv")
    arguments = ["a1.csv", "a2.csv", "-n", "10", "--dimensions", "2"]
    status, out, _ = run(capsys, *arguments, "-o", "q3.csv")
    assert "error so far, on 15 random questions: 0." in out
    assert (
        "chosen questions are harder than random ones, and an error over them is too large; 1 random question gives"
        in out
    )
    status, out, _ = run(capsys, *arguments, "-o", "q3.csv", "--json")
    figures = json.loads(out)
    assert (status, figures["n_answers"], figures["n_random_answers"]) == (0, 150, 15)  # no catch trials among them
    checked = read_answers("a2.csv", catch="catch").report.catches
    assert checked.n_right == checked.n_asked == (2, 2, 2)


def test_catch_trials_of_the_answers_have_answers_that_the_truth_gives(study, capsys):
    run(capsys, "--objects", "names.txt", "-n", "150", "-o", "q1.csv")
    answer("q1.csv", "a1.csv")
    assert run(capsys, "a1.csv", "-n", "10", "--catch-trials", "6", "--dimensions", "2", "-o", "q2.csv")[0] == 0
    catches = [row for row in rows_of("q2.csv") if row["catch"]]
    clear = [
        np.sum((POINTS[row["anchor"]] - POINTS[row[side]]) ** 2)
        for row in catches
        for side in sorted(("left", "right"), key=lambda side: row[side] != row["catch"])
    ]
    assert len(catches) == 6
    assert all(near < far for near, far in zip(clear[::2], clear[1::2], strict=True))


def test_objects_can_be_added_and_are_asked_about_at_once(study, capsys):
    run(capsys, "--objects", "names.txt", "-n", "60", "-o", "q1.csv")
    answer("q1.csv", "a1.csv")
    (study / "more.txt").write_text("object\nant\nowl\npig\n")
    status, out, _ = run(capsys, "a1.csv", "--objects", "more.txt", "-n", "20", "--dimensions", "2", "-o", "q2.csv")
    assert (status, "2 new objects: 'owl', 'pig'" in out, "about 10 objects" in out) == (0, True, True)
    shown = [row[side] for row in rows_of("q2.csv") for side in ("anchor", "left", "right")]
    assert min(shown.count("owl"), shown.count("pig")) >= 2


def test_the_kind_is_that_of_the_answers(study, capsys):
    run(capsys, "--objects", "names.txt", "-n", "40", "--kind", "odd-one-out", "-o", "q1.csv")
    answer("q1.csv", "a1.csv", "odd")
    status, out, _ = run(capsys, "a1.csv", "-n", "5", "-o", "q2.csv", "--json", "--dimensions", "2")
    assert (status, json.loads(out)["kind"]) == (0, "odd-one-out")
    (study / "catch.csv").write_text("object_1,object_2,object_3,answer\nant,bee,cat,cat\n")
    arguments = ["a1.csv", "-n", "5", "-o", "q2.csv", "--dimensions", "2", "--catch-trials", "catch.csv"]
    assert run(capsys, *arguments)[0] == 0
    assert [row["catch"] for row in rows_of("q2.csv") if row["purpose"] == "catch"] == ["cat"]
    (study / "pairs.csv").write_text("near_1,near_2,far_1,far_2\nant,bee,cat,dog\neel,fox,gnu,hen\n")
    status, out, err = run(capsys, "pairs.csv", "-n", "5", "-o", "q3.csv", "--dimensions", "2")
    assert (status, "questions of kind 'quadruplet' cannot be chosen; triplets are asked instead" in err) == (0, True)


@pytest.mark.parametrize("ending", ["json", "txt"])
def test_other_programs_get_their_formats(ending, study, capsys):
    path = f"questions.{ending}"
    status, out, _ = run(
        capsys, "--objects", "names.txt", "-n", "12", "--participants", "ann,bob", "-o", path, "--json"
    )
    figures = json.loads(out)
    assert (status, figures["format"]) == (0, {"json": "jspsych", "txt": "qualtrics"}[ending])
    assert all((study / name).exists() for name in figures["files"])
    assert figures["participants"] == ["ann", "bob"]


def test_the_same_seed_gives_the_same_file(study, capsys):
    for name, seed in (("one", "1"), ("two", "1"), ("three", "2")):
        run(capsys, "--objects", "names.txt", "-n", "20", "--seed", seed, "-o", f"{name}.csv")
    assert (study / "one.csv").read_bytes() == (study / "two.csv").read_bytes() != (study / "three.csv").read_bytes()


ANSWERS = "anchor,near,far,person\n" + "".join(
    f"{a},{b},{c},ann\n" for a in "abcd" for b in "abcd" for c in "abcd" if a != b < c != a
)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["-n", "5"], "there are no objects to ask about; name them with --objects FILE, or give answers or features"),
        (["--objects", "names.txt", "-n", "169"], "there are 168 questions to ask, not 169; ask for fewer with -n"),
        (["answers.csv", "-n", "1", "--participants", "ann"], "'ann' has answered all of them, so that 1 more cannot"),
        (["--objects", "names.txt", "-n", "5", "--focus", "cta,dog,eel"], "--focus: 'cta' is none of the 8 objects"),
        (["--objects", "names.txt", "-n", "5", "--apart", "cat,dgo"], "perhaps 'dog' is meant"),
        (["--objects", "names.txt", "-n", "5", "--allowed", "allowed.csv"], "allowed.csv: 'cow' is none of the 8"),
        (["--objects", "twice.txt", "-n", "5"], "twice.txt names objects twice: 'cat'"),
        (["--objects", "two.txt", "-n", "5"], "no question is left that may be asked"),
        (["--objects", "names.txt", "-n", "5", "--kind", "2 of 8"], "no question is left that may be asked"),
        (["--objects", "names.txt", "-n", "5", "--kind", "grid"], "a grid needs its size: pass --kind '2 of 8'"),
        (["--objects", "names.txt", "-n", "5", "--catch-trials", "2"], "catch trials are generated from answers"),
        (["--objects", "names.txt", "-n", "5", "--catch-trials", "catch.csv"], "catch.csv: 'cow' is none of the 8"),
        (["--objects", "names.txt", "-n", "5", "--test-share", "1"], "a number from 0 to below 1 is needed"),
        (["--objects", "names.txt", "-n", "5", "--test-share", "0.6", "--repeat-share", "0.5"], "below 1 together"),
        (["--objects", "names.txt", "-n", "5", "--participants", "bob.txt"], "names participants twice: 'bob'"),
        (["missing.csv", "-n", "5"], "missing.csv"),
    ],
)
def test_bad_input_ends_with_a_sentence_and_without_a_file(arguments, sentence, study, capsys):
    (study / "answers.csv").write_text(ANSWERS)
    (study / "allowed.csv").write_text("anchor,left,right\ncat,dog,cow\n")
    (study / "catch.csv").write_text("anchor,near,far\ncat,dog,cow\n")
    (study / "twice.txt").write_text("cat\ndog\ncat\n")
    (study / "two.txt").write_text("cat\ndog\n")
    (study / "bob.txt").write_text("bob\nbob\n")
    status, out, err = run(capsys, *arguments, "-o", "questions.csv")
    assert (status, out) == (2, "")
    assert sentence in err
    assert not (study / "questions.csv").exists()


def test_what_is_read_is_not_written_over(study, capsys):
    status, _, err = run(capsys, "--objects", "names.txt", "-n", "5", "-o", "names.txt", "--format", "csv")
    assert (status, "names.txt would be written over by the questions" in err) == (2, True)
    (study / "data").mkdir()
    (study / "data" / "answers.csv").write_text(ANSWERS)
    status, _, err = run(capsys, "data", "-n", "5", "-o", "data/questions.csv")
    assert (status, "would be read among the answers in data" in err) == (2, True)


def test_catch_trials_from_a_file_go_into_every_list(study, capsys):
    (study / "catch.csv").write_text("anchor,left,right,answer\nant,bee,cat,bee\ndog,eel,fox,fox\n")
    arguments = ["--objects", "names.txt", "-n", "10", "--participants", "2", "--catch-trials", "catch.csv"]
    assert run(capsys, *arguments, "-o", "q.csv")[0] == 0
    rows = [row for row in rows_of("q.csv") if row["purpose"] == "catch"]
    assert [(row["anchor"], row["catch"]) for row in rows if row["participant"] == "p01"]
    assert sorted(row["catch"] for row in rows) == ["bee", "bee", "fox", "fox"]

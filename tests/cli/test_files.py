"""The commands that carry a file of answers to a report, as a user would call them."""

import csv
import json
import re
from dataclasses import replace

import numpy as np
import pytest
from helpers.schemas import check_file

from nearer.cli.main import main
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import BestOf
from nearer.embedding.storage import load_model
from nearer.evaluation import comparison_error
from nearer.io import read_answers

pytestmark = pytest.mark.usefixtures("few_repeats")
N = 14
LABELS = [f"thing {k}" for k in range(N)]
POINTS = make_gaussian(N, 2, random_state=0)


def write_answers(path, m=400, seed=0, labels=LABELS, points=POINTS):
    """Triplets with the two options in random order, by six people."""
    rng = np.random.default_rng([seed, 1])
    answers = sample_triplets(points, m, flipped=0.05, random_state=seed).rows
    with open(path, "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["participant", "anchor", "left", "right", "answer", "rt"])
        for k, (anchor, near, far) in enumerate(answers):
            left_is_near = rng.random() < 0.5
            options = (near, far) if left_is_near else (far, near)
            names = [labels[anchor], *(labels[option] for option in options)]
            table.writerow([f"p{k % 6}", *names, "left" if left_is_near else "right", int(rng.gamma(4, 500))])
    return path


def run(arguments, capsys):
    try:
        status = main([str(argument) for argument in arguments])
    except SystemExit as stop:
        status = stop.code
    return status, *capsys.readouterr()


@pytest.fixture(scope="module")
def fitted(tmp_path_factory, few_repeats):
    folder = tmp_path_factory.mktemp("study")
    file = write_answers(folder / "answers.csv")
    assert main(["fit", str(file), "-o", str(folder / "map"), "--resamples", "10", "--method", "STE"]) == 0
    return folder


def test_three_commands_make_a_report(fitted, capsys):
    status, out, _ = run(["check", fitted / "answers.csv"], capsys)
    assert status == 0
    assert "400 answers by 6 people about 14 objects" in out
    status, out, _ = run(["report", fitted / "map"], capsys)
    assert status == 0
    page = (fitted / "map" / "report.html").read_text(encoding="utf-8")
    assert "<h1>answers</h1>" in page
    assert "thing 3" in page


def test_the_folder_holds_everything(fitted):
    names = {path.name for path in (fitted / "map").iterdir()} - {"report.html"}
    assert names == {
        "embedding.csv", "model.json", "model.npz", "results.json", "log.txt", "map.png", "margins.png",
        "learning-curve.png", "dimensions.png", "distances.csv", "distances_spread.csv",
    }  # fmt: skip
    with open(fitted / "map" / "embedding.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["object"] for row in rows] == sorted(LABELS)
    results = json.loads((fitted / "map" / "results.json").read_text())
    assert [[float(row[f"x{k + 1}"]) for k in range(len(results["scree"]))] for row in rows] == results["embedding"]
    assert results["source"]["kind"] == "triplet"
    assert results["error"]["low"] < results["error"]["held_out"] < results["error"]["high"] < 0.3
    assert len(results["annotators"]) == 6
    assert all(0.5 < person["median_seconds"] < 4 for person in results["annotators"])
    assert np.shape(results["covariances"]) == (N, len(results["scree"]), len(results["scree"]))


@pytest.mark.parametrize("name", ["results.json", "model.json"])
def test_its_files_are_as_their_schemas_say(fitted, name):
    check_file(fitted / "map" / name)


def test_its_tables_have_the_columns_that_are_promised(fitted):
    headers = {}
    for name in ("embedding.csv", "distances.csv", "distances_spread.csv"):
        with open(fitted / "map" / name, newline="", encoding="utf-8") as file:
            headers[name] = next(csv.reader(file))
    axes = range(1, len(json.loads((fitted / "map" / "results.json").read_text())["scree"]) + 1)
    assert headers["embedding.csv"] == ["object", *(f"x{k}" for k in axes), *(f"sd{k}" for k in axes)]
    assert headers["distances.csv"] == headers["distances_spread.csv"] == ["object", *sorted(LABELS)]


def test_a_run_repeats_to_the_last_bit(fitted, tmp_path, capsys):
    again = ["fit", fitted / "answers.csv", "-o", tmp_path, "--resamples", "10", "--method", "STE"]
    assert run(again, capsys)[0] == 0
    first, second = (json.loads((folder / "results.json").read_text()) for folder in (fitted / "map", tmp_path))
    for changing in ("date", "seconds", "command"):
        first.pop(changing), second.pop(changing)
    assert first == second
    assert (fitted / "map" / "embedding.csv").read_bytes() == (tmp_path / "embedding.csv").read_bytes()


def test_score_judges_new_answers(fitted, tmp_path, capsys):
    new = write_answers(tmp_path / "new.csv", m=300, seed=5)
    status, out, _ = run(["score", fitted / "map", new, "--json"], capsys)
    figures = json.loads(out)
    assert status == 0
    assert figures["n_answers"] == 300
    assert 0.03 < figures["low"] < figures["error"] < figures["high"] < 0.25
    assert figures["map_low"] < figures["map_error"] < figures["map_high"]
    model, judged = load_model(fitted / "map"), read_answers(new).comparisons
    assert figures["error"] == pytest.approx(1 - model.score(judged), abs=1e-12)
    assert figures["map_error"] == pytest.approx(comparison_error(judged, model.embedding_), abs=1e-12)
    status, out, _ = run(["score", fitted / "map", new, "--level", "0.5"], capsys)
    assert status == 0
    low, high = map(float, re.search(r"error \S+ \(50% interval (\S+) to (\S+)\), of the map", out).groups())
    assert figures["low"] < low < figures["error"] < high < figures["high"]


def test_place_puts_a_new_object_where_it_belongs(fitted, tmp_path, capsys):
    """The new object is a copy of an old one, and must land beside it."""
    points = np.vstack([POINTS, POINTS[3]])
    rows = sample_triplets(points, random_state=0).rows
    rows = rows[(rows == N).any(axis=1)][::40]
    labels = [*LABELS, "new"]
    with open(tmp_path / "new.csv", "w", newline="") as file:
        csv.writer(file).writerows([["anchor", "near", "far"], *([labels[k] for k in row] for row in rows)])
    status, out, _ = run(["place", fitted / "map", tmp_path / "new.csv", "-o", tmp_path / "larger", "--json"], capsys)
    assert status == 0
    placed = np.array(json.loads(out)["objects"]["new"])
    results = json.loads((tmp_path / "larger" / "results.json").read_text())
    old = np.array(results["embedding"])[:-1]
    distances = np.linalg.norm(old - placed, axis=1)
    assert results["objects"][int(distances.argmin())] == "thing 3"
    assert run(["report", tmp_path / "larger"], capsys)[0] == 0


def test_a_map_of_the_method_that_was_chosen_can_be_added_to(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(BestOf.__init__.__kwdefaults__, "n_folds", 2)  # of five, for speed
    labels = [*LABELS[:-2], "new", "newer"]
    file = write_answers(tmp_path / "answers.csv", m=150, labels=labels[:-2], points=POINTS[:-2])
    assert run(["fit", file, "-o", tmp_path / "map", "--quick", "--dimensions", "2"], capsys)[0] == 0
    for last, (old, grown) in enumerate([("map", "larger"), ("larger", "largest")], start=N - 2):
        rows = sample_triplets(POINTS[: last + 1], random_state=0).rows
        rows = rows[(rows == last).any(axis=1)][::20]
        with open(tmp_path / f"{grown}.csv", "w", newline="") as table:
            csv.writer(table).writerows([["anchor", "near", "far"], *([labels[k] for k in row] for row in rows)])
        assert run(["place", tmp_path / old, tmp_path / f"{grown}.csv", "-o", tmp_path / grown], capsys)[0] == 0
        status, out, _ = run(["score", tmp_path / grown, tmp_path / f"{grown}.csv", "--json"], capsys)
        assert status == 0
        assert json.loads(out)["error"] < 0.25
    assert run(["report", tmp_path / "largest"], capsys)[0] == 0


def test_colours_and_titles_go_into_the_report(fitted, tmp_path, capsys):
    (tmp_path / "things.csv").write_text("object,size,colour\nthing 0,3,red\nthing 1,,blue\n")
    arguments = ["report", fitted / "map", "--attributes", tmp_path / "things.csv", "--title", "Things <b>"]
    assert run([*arguments, "-o", tmp_path / "page.html"], capsys)[0] == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Things &lt;b&gt;" in page
    assert '"colour"' in page


def test_a_hostile_label_is_inert_in_every_file(tmp_path, capsys):
    labels = ["=cmd()", "<script>alert(1)</script>", "@x", '"><img src=x onerror=alert(1)>', *LABELS[4:]]
    file = write_answers(tmp_path / "answers.csv", labels=labels)
    assert run(["fit", file, "-o", tmp_path / "map", "--quick", "--method", "STE", "--dimensions", "2"], capsys)[0] == 0
    assert run(["report", tmp_path / "map"], capsys)[0] == 0
    cells = [line.split(",")[0] for line in (tmp_path / "map" / "embedding.csv").read_text().splitlines()]
    assert not any(cell.lstrip('"').startswith(("=", "@", "+", "-")) for cell in cells)
    page = (tmp_path / "map" / "report.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert "<img src=x" not in page


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (b"anchor,near,far\n", "no rows"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", ""),
        (b"anchor,near,far\na,b\n", "answers.csv:2"),
        (b"colour,size\nred,3\n", "column"),
    ],
)
@pytest.mark.parametrize("command", ["check", "fit"])
def test_files_that_cannot_be_read_end_with_a_sentence(command, content, message, tmp_path, capsys):
    (tmp_path / "answers.csv").write_bytes(content)
    extra = ["-o", tmp_path / "map"] if command == "fit" else []
    status, out, err = run([command, tmp_path / "answers.csv", *extra], capsys)
    assert (status, out) == (2, "")
    assert err.startswith("nearer: ")
    assert "Traceback" not in err
    assert message in err
    assert not (tmp_path / "map").exists()


def test_bad_rows_are_skipped_only_when_asked(tmp_path, capsys):
    file = write_answers(tmp_path / "answers.csv")
    with open(file, "a") as table:
        table.write("p0,thing 1,thing 2,thing 3,banana,300\n")
    status, _, err = run(["check", file], capsys)
    assert status == 2
    assert "answers.csv:402" in err
    assert "--skip-bad" in err
    status, out, _ = run(["check", file, "--skip-bad", "--json"], capsys)
    assert status == 0
    assert len(json.loads(out)["bad_rows"]) == 1


def test_errors_in_the_data_set_the_exit_status(tmp_path, capsys):
    rows = [["a", "b", "c"], ["b", "a", "c"], ["c", "b", "a"], ["x", "y", "z"], ["y", "x", "z"], ["z", "y", "x"]] * 5
    with open(tmp_path / "answers.csv", "w", newline="") as file:
        csv.writer(file).writerows([["anchor", "near", "far"], *rows])
    status, out, _ = run(["check", tmp_path / "answers.csv"], capsys)
    assert status == 1
    assert "ERROR" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--method", "STE", "--set", "power=3"], "STE has no setting 'power'"),
        (["--method", "banana"], "invalid choice"),
        (["--dimensions", "0"], "--dimensions: a whole number, 1 or more"),
        (["--resamples", "3"], "resamples"),
        (["--level", "95"], "between 0 and 1"),
        (["--columns", "anchor"], "NAME=VALUE"),
        (["--columns", "anchor=nothing"], "nothing"),
    ],
)
def test_bad_options_end_with_a_sentence(arguments, message, fitted, tmp_path, capsys):
    status, out, err = run(["fit", fitted / "answers.csv", "-o", tmp_path / "map", *arguments], capsys)
    assert (status, out) == (2, "")
    assert message in err
    assert not (tmp_path / "map").exists()


@pytest.mark.parametrize("command", ["score", "place", "report"])
def test_a_folder_without_a_map_ends_with_a_sentence(command, fitted, tmp_path, capsys):
    extra = {"score": [fitted / "answers.csv"], "place": [fitted / "answers.csv", "-o", tmp_path / "x"], "report": []}
    status, _, err = run([command, tmp_path, *extra[command]], capsys)
    assert status == 2
    assert "nearer fit" in err


def test_ctrl_c_keeps_the_map(tmp_path, monkeypatch, capsys):
    from nearer.study import study as study_module

    def interrupt(*_):
        raise KeyboardInterrupt

    parts = [replace(part, compute=interrupt) if part.name == "findings" else part for part in study_module.ANALYSES]
    monkeypatch.setattr(study_module, "ANALYSES", parts)
    file = write_answers(tmp_path / "answers.csv")
    status, out, _ = run(["fit", file, "-o", tmp_path / "map", "--method", "STE", "--dimensions", "2"], capsys)
    assert status == 130
    assert "stopped before its end" in out
    results = json.loads((tmp_path / "map" / "results.json").read_text())
    assert results["error"] is not None
    assert results["findings"] is None
    assert run(["report", tmp_path / "map"], capsys)[0] == 0
    assert run(["score", tmp_path / "map", file], capsys)[0] == 0


def test_plan_says_how_many(tmp_path, capsys):
    arguments = ["plan", "--objects", "12", "--target", "0.25", "--studies", "2", "--price", "0.1"]
    status, out, _ = run([*arguments, "--json", "-o", tmp_path / "plan.png"], capsys)
    figures = json.loads(out)
    assert status == 0
    assert figures["low"] <= figures["n_answers"] <= figures["high"]
    assert figures["cost"] == pytest.approx(0.1 * figures["n_answers"])
    assert (tmp_path / "plan.png").stat().st_size > 5000


def test_plan_predicts_the_error_of_a_study_like_a_pilot(fitted, capsys):
    arguments = ["plan", "--like", fitted / "answers.csv", "--at", "250", "--studies", "2", "--json"]
    status, out, _ = run(arguments, capsys)
    figures = json.loads(out)
    assert status == 0
    assert figures["estimated_noise"]["noise"] < 0.15
    reached = json.loads((fitted / "map" / "results.json").read_text())["error"]["map"]
    assert figures["error"] == pytest.approx(reached, abs=0.08)


def test_plan_needs_no_target_whatever_the_noise(capsys):
    status, out, _ = run(["plan", "--objects", "8", "--noise", "0.2", "--studies", "1", "--json"], capsys)
    assert status == 0
    assert json.loads(out)["target_error"] == pytest.approx(0.25)


def test_plan_of_guesses_asks_for_more(capsys):
    arguments = ["plan", "--objects", "12", "--noise", "0.2", "--at", "150", "--studies", "6", "--json"]
    close, guessed = (
        json.loads(run([*arguments, "--noise-model", model], capsys)[1])["error"]
        for model in ("close-calls", "guesses")
    )
    assert guessed > close


def test_plan_takes_the_noise_from_the_file_alone(fitted, capsys):
    for extra in (["--noise", "0.1"], ["--noise-model", "guesses"]):
        status, _, err = run(["plan", "--like", fitted / "answers.csv", *extra], capsys)
        assert status == 2
        assert "leave out --noise and --noise-model" in err


def test_plan_needs_to_know_how_many_objects(capsys):
    status, _, err = run(["plan"], capsys)
    assert status == 2
    assert "--objects" in err


QUICK = ["--quick", "--method", "STE", "--dimensions", "2"]


def test_answers_are_never_written_over(tmp_path, capsys):
    file = write_answers(tmp_path / "embedding.csv")
    before = file.read_bytes()
    status, _, err = run(["fit", file, "-o", tmp_path, *QUICK], capsys)
    assert status == 2
    assert "written over" in err
    assert file.read_bytes() == before


def test_a_folder_holds_one_run_only(fitted, tmp_path, capsys):
    """What an earlier run has left goes as soon as there is a new map; other files stay."""
    folder = tmp_path / "map"
    folder.mkdir()
    for path in (fitted / "map").iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    (folder / "report.html").write_text("old")
    (folder / "my notes.txt").write_text("mine")
    few = write_answers(tmp_path / "few.csv", m=60)
    assert run(["fit", few, "-o", folder, *QUICK], capsys)[0] == 0
    names = {path.name for path in folder.iterdir()}
    assert not {"report.html", "learning-curve.png", "dimensions.png"} & names
    assert "my notes.txt" in names
    assert json.loads((folder / "results.json").read_text())["source"]["n_answers"] == 60


def test_place_refuses_a_model_of_another_map(fitted, tmp_path, capsys):
    folder = tmp_path / "map"
    folder.mkdir()
    for name in ("model.json", "model.npz", "results.json"):
        (folder / name).write_bytes((fitted / "map" / name).read_bytes())
    results = json.loads((folder / "results.json").read_text())
    results["objects"][0] = "somebody else"
    (folder / "results.json").write_text(json.dumps(results))
    status, _, err = run(["place", folder, fitted / "answers.csv", "-o", tmp_path / "larger"], capsys)
    assert status == 2
    assert "different objects" in err


def test_a_carriage_return_in_a_label_starts_no_row(tmp_path, capsys):
    labels = ["a\r=cmd()", *LABELS[1:]]
    file = write_answers(tmp_path / "answers.csv", labels=labels)
    assert run(["fit", file, "-o", tmp_path / "map", *QUICK], capsys)[0] == 0
    with open(tmp_path / "map" / "embedding.csv", newline="") as table:
        cells = [row[0] for row in csv.reader(table)]
    assert len(cells) == N + 1
    assert not any(cell.startswith("=") for cell in cells)


@pytest.mark.parametrize("option", [["--hold-out", "annotators"], ["--weigh-annotators"]])
def test_what_needs_people_is_refused_without_them(option, tmp_path, capsys):
    rows = sample_triplets(POINTS, 60, random_state=0).rows.tolist()
    with open(tmp_path / "answers.csv", "w", newline="") as file:
        csv.writer(file).writerows([["anchor", "near", "far"], *rows])
    status, _, err = run(["fit", tmp_path / "answers.csv", "-o", tmp_path / "map", *QUICK, *option], capsys)
    assert status == 2
    assert "at least two people" in err
    assert not (tmp_path / "map").exists()


def test_the_log_says_how_it_was_called(tmp_path, capsys):
    file = write_answers(tmp_path / "answers.csv", m=80)
    extra = ["--seed", "7", "--set", "trace=0.02"]
    assert run(["fit", file, "-o", tmp_path / "map", *QUICK, *extra], capsys)[0] == 0
    log = (tmp_path / "map" / "log.txt").read_text()
    assert "--seed 7 --set trace=0.02" in log
    assert '"trace": 0.02' in log


def test_the_penalty_of_dmoe_can_be_set_in_parts(tmp_path, capsys):
    file = write_answers(tmp_path / "answers.csv", m=80)
    arguments = [
        "--quick",
        "--method",
        "DMOE",
        "--dimensions",
        "2",
        "--set",
        "trace=0.2,ridge=1,diagonal=1,specificity=50",
    ]
    assert run(["fit", file, "-o", tmp_path / "map", *arguments], capsys)[0] == 0
    chosen = json.loads((tmp_path / "map" / "results.json").read_text())["settings"]["chosen"]
    assert chosen["penalty"]["trace"] == 0.2
    assert chosen["penalty"]["specificity"] == 50


def test_numbers_in_one_file_are_the_same_objects_as_text_in_another(tmp_path, capsys):
    from nearer.io import write_answers

    rows = sample_triplets(POINTS, 200, random_state=0)
    write_answers(rows, tmp_path / "numbers.parquet")
    with open(tmp_path / "text.csv", "w", newline="") as file:
        csv.writer(file).writerows([["anchor", "near", "far"], *rows.rows.tolist()])
    assert run(["fit", tmp_path / "numbers.parquet", "-o", tmp_path / "map", *QUICK], capsys)[0] == 0
    status, out, err = run(["score", tmp_path / "map", tmp_path / "text.csv", "--json"], capsys)
    assert status == 0, err
    assert json.loads(out)["error"] < 0.2


def test_options_offer_what_the_library_has():
    """The kinds stand in the command line too, so that help comes without loading the library."""
    from typing import get_args

    from nearer.cli import argtypes
    from nearer.io import Kind

    assert get_args(Kind) == argtypes.KINDS


def test_every_method_is_an_estimator():
    from nearer import embedding
    from nearer.study import METHOD_CLASSES
    from nearer.study.methods import METHODS

    assert set(METHOD_CLASSES.values()) == set(METHODS)
    assert set(METHODS) == set(embedding.__all__)

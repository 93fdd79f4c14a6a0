"""`nearer example`, and what it says to do next."""

import json
import shlex
from pathlib import Path

from nearer.cli.main import main


def run(arguments, capsys):
    status = main([str(argument) for argument in arguments])
    return status, *capsys.readouterr()


def test_it_writes_a_study_and_says_what_to_do(tmp_path, capsys):
    folder = tmp_path / "my study"
    status, out, err = run(["example", folder], capsys)
    assert (status, err) == (0, "")
    names = {"answers.csv", "attributes.csv", "new-answers.csv", "new-object.csv", "README.txt"}
    assert {path.name for path in folder.iterdir()} == names
    assert all(name in out for name in names)
    commands = [shlex.split(line) for line in out.splitlines() if line.startswith("  nearer ")]
    assert [command[1] for command in commands] == ["check", "fit", "report"]
    assert commands[0][2] == str(folder / "answers.csv")


def test_what_it_says_to_do_is_what_the_tutorial_does(tmp_path, capsys, monkeypatch):
    """There the commands are run as they stand."""
    monkeypatch.chdir(tmp_path)
    status, out, _ = run(["example", "study", "--json"], capsys)
    assert status == 0
    steps = json.loads(out)["next"]
    tutorial = (Path(__file__).parents[2] / "docs" / "tutorial.md").read_text(encoding="utf-8")
    assert [step for step in steps if f"$ {step}\n" not in tutorial] == []
    status, out, err = run([*shlex.split(steps[0])[1:], "--json"], capsys)
    assert (status, err) == (0, "")
    found = json.loads(out)
    assert found["worst"] == "warning"
    assert found["counts"]["n_at_chance"] == 1


def test_it_never_writes_over_a_file(tmp_path, capsys):
    (tmp_path / "answers.csv").write_text("mine")
    status, out, err = run(["example", tmp_path], capsys)
    assert (status, out) == (2, "")
    assert err.count("\n") == 1
    assert "answers.csv is there already" in err
    assert [path.name for path in tmp_path.iterdir()] == ["answers.csv"]


def test_a_file_in_place_of_the_folder_ends_with_a_sentence(tmp_path, capsys):
    (tmp_path / "study").write_text("")
    status, out, err = run(["example", tmp_path / "study"], capsys)
    assert (status, out) == (2, "")
    assert err.startswith("nearer: ")
    assert "cannot be used" in err


def test_a_messy_folder_and_what_to_do_with_it(tmp_path, capsys):
    status, out, err = run(["example", tmp_path, "--lab", "--json"], capsys)
    assert (status, err) == (0, "")
    found = json.loads(out)
    assert len(list((tmp_path / "data").iterdir())) == 43
    assert [shlex.split(step)[1] for step in found["next"]] == ["check", "fit", "compare", "figure", "report"]
    assert run(["example", tmp_path, "--lab"], capsys)[0] == 2

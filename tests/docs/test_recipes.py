"""docs/recipes.md: its tables, commands and code, in a folder that has the files it names."""

import re
import shlex
from pathlib import Path

import pytest

from nearer.cli.main import main
from nearer.comparing import compare_people
from nearer.io import read_answers

PAGE = (Path(__file__).parents[2] / "docs" / "recipes.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"^`([\w.]+)`:\n\n```text\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE))
CODE = {
    section.partition("\n")[0]: re.findall(r"^```(python|sh)\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
    for section in PAGE.split("\n## ")[1:]
}
STUDY = [name for name, code in CODE.items() if any("study/" in text for _, text in code)]  # one after another
SAID = [("cat.png", "dog.png", "car.png"), ("car.png", "bus.png", "cat.png"), ("dog.png", "cat.png", "bus.png")]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.filterwarnings("ignore:.*ignored:UserWarning")
@pytest.mark.parametrize(
    ("name", "options", "person", "seconds"),
    [
        ("psychopy.csv", {}, "p01", [1.204, 0.981, 1.533]),
        ("gorilla.csv", {}, "501", [1.204, 0.981, 1.533]),
        ("jspsych.csv", {}, "s01", [1.204, 0.981, 1.533]),
        ("keys.csv", {"first_is": "f"}, "s01", [1.204, 0.981, 1.533]),
        ("answers.csv", {}, "R_1", None),
    ],
)
def test_every_table_says_the_same_three_things(folder, name, options, person, seconds):
    if name == "answers.csv":
        pytest.importorskip("pandas")
        exec(compile(dict(CODE["From Qualtrics"])["python"], "docs/recipes.md", "exec"), {})
    answers = read_answers(name, **options)
    found = answers.comparisons.objects[answers.comparisons.oriented[:, [0, 1, 3]]]
    assert [tuple(row) for row in found.tolist()] == SAID
    assert answers.annotators.tolist() == [person] * 3
    assert (answers.seconds if seconds is None else answers.seconds.tolist()) == seconds


@pytest.mark.parametrize("section", [name for name, code in CODE.items() if name not in STUDY])
def test_the_commands_of_a_recipe_work(folder, section, capsys):
    for language, text in CODE[section]:
        if language == "python":
            pytest.importorskip("pandas")
            exec(compile(text, "docs/recipes.md", "exec"), {})
            continue
        for command in text.splitlines():
            program, *arguments = shlex.split(command, comments=True)
            assert program == "nearer"
            assert main(arguments) == 0, command
            assert "read: " in capsys.readouterr().out


def test_a_wide_file_of_qualtrics_is_sent_to_its_recipe(folder):
    with pytest.raises(ValueError, match='"From Qualtrics" in the recipes'):
        read_answers("qualtrics.csv")


# What takes minutes is done in seconds here: other figures, the same files.
QUICKER = {
    "fit": ["--quick", "--method", "SOE", "--dimensions", "2"],
    "--by": ["--permutations", "99", "--dimensions", "2"],
    "--with": ["--people-maps", "0", "--measure", "spearman"],
    "--set": ["--set", "trace=0.01"],  # SOE has no solver that samples
}


def quicker(arguments):
    return [*arguments, *(more for key, options in QUICKER.items() if key in arguments for more in options)]


def few_people(table):
    """Keep the answers of nine people, the careless one among them."""
    lines = table.read_text(encoding="utf-8").splitlines(keepends=True)
    table.write_text("".join(line for line in lines if not "p01" <= line[:3] < "p16"), encoding="utf-8")


@pytest.mark.usefixtures("few_repeats")
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_recipes_of_a_study_work_one_after_another(tmp_path, monkeypatch, capsys):
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(compare_people.__kwdefaults__, "n_splits", 2)  # of 5
    ran = []
    for language, text in (each for section in STUDY for each in CODE[section]):
        if language == "python":
            exec(compile(text, "docs/recipes.md", "exec"), {})
            continue
        for command in text.replace("\\\n", "").splitlines():
            program, *arguments = shlex.split(command, comments=True)
            assert program == "nearer"
            assert main(quicker(arguments)) == 0, command
            ran.append(arguments[0])
            if arguments[0] == "example":
                few_people(tmp_path / "study" / "answers.csv")
            printed = capsys.readouterr().out
            assert "'p17': 1 of 5 right" in printed or "names p17" not in command
    assert set(ran) == {"example", "check", "fit", "report", "compare", "axes", "figure", "score", "add"}
    study = tmp_path / "study"
    made = ("groups/displacements.csv", "groups/groups.pdf", "people/people.png", "rsa/rsa.csv", "axes/properties.csv")
    assert [name for name in made if not (study / name).exists()] == []
    assert (study / "figure.pdf").read_bytes().startswith(b"%PDF")
    assert "left out: 80 rows where participant is 'p17'" in (study / "map" / "log.txt").read_text(encoding="utf-8")
    assert "new-answers.csv" in (study / "later" / "log.txt").read_text(encoding="utf-8")
    page = (study / "map" / "report.html").read_text(encoding="utf-8")
    assert "catch questions were not part of the map." in PAGE
    assert "catch questions were not part of the map." in page

"""docs/asking.md: its files, code and commands."""

import io
import json
import re
from pathlib import Path

import pytest

from nearer.cli.main import main
from nearer.io import read_answers

PAGE = (Path(__file__).parents[2] / "docs" / "asking.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"^`([\w.]+)`:\n\n```text\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_answers_of_qualtrics_are_read_with_the_key(folder):
    pytest.importorskip("pandas")
    code = re.search(r"## Qualtrics.*?^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)[1]
    exec(compile(code, "docs/asking.md", "exec"), {})
    answers = read_answers("answers.csv", catch="catch", also=["purpose"])
    said = answers.comparisons.objects[answers.comparisons.oriented[:, [0, 1, 3]]].tolist()
    assert said == [["cat", "dog", "car"], ["car", "bus", "cat"], ["dog", "cat", "bus"]]
    assert answers.annotators.tolist() == ["R_1", "R_1", "R_2"]  # a preview is nobody
    assert answers.also["purpose"].tolist() == ["start", "test", "start"]
    assert (answers.report.catches.n_asked, answers.report.catches.n_right) == ((2,), (2,))


def test_the_key_is_that_which_the_program_writes(folder):
    (folder / "names.txt").write_text("cat\ndog\ncar\nbus\nvan\n")
    (folder / "catch.csv").write_text("anchor,near,far\ncat,dog,bus\n")
    arguments = ["--objects", "names.txt", "-n", "5", "--participants", "2", "--catch-trials", "catch.csv"]
    assert main(["ask", *arguments, "-o", "survey.txt"]) == 0
    written = (folder / "survey.key.csv").read_text(encoding="utf-8").splitlines()
    assert written[0] == FILES["questions.key.csv"].splitlines()[0]
    assert re.fullmatch(r"p01,1,\w+,\w+,\w+,\w+,,p01_1", written[1])


def test_plain_csv_has_the_columns_that_the_page_shows(folder):
    shown = re.search(r"## Plain CSV\n\n```text\n(.*?)\n", PAGE)[1]
    (folder / "names.txt").write_text("cat\ndog\ncar\nbus\nvan\n")
    (folder / "catch.csv").write_text("anchor,near,far\ncat,dog,bus\n")
    arguments = ["--objects", "names.txt", "-n", "5", "--participants", "2", "--catch-trials", "catch.csv"]
    assert main(["ask", *arguments, "-o", "q.csv"]) == 0
    assert (folder / "q.csv").read_text(encoding="utf-8").splitlines()[0] == shown


def test_every_option_that_the_page_names_is_one(capsys):
    with pytest.raises(SystemExit):
        main(["ask", "--help"])
    usage = capsys.readouterr().out
    for option in set(re.findall(r"(?<=[`\s])--[a-z][a-z-]+", PAGE)):
        assert option in usage, option


def test_a_program_answers_questions_as_json_lines(folder, monkeypatch, capsys):
    """The lines of the page are those that are written, and its program answers such that they are read back."""
    (line,) = re.findall(r"^\{\"trial.*\}$", PAGE, re.MULTILINE)
    (folder / "names.txt").write_text("flute\noboe\nharp\ntuba\npiano\n")
    program = re.search(r"## Language models.*?^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)[1]
    for kind, right in (("triplet", "answer"), ("odd-one-out", "odd")):
        arguments = ["--objects", "names.txt", "--kind", kind, "-n", "6", "--test-share", "0.95", "--repeat-share", "0"]
        assert main(["ask", *arguments, "-o", "questions.jsonl"]) == 0
        questions = [json.loads(each) for each in (folder / "questions.jsonl").read_text().splitlines()]
        if kind == "triplet":
            assert list(questions[0]) == list(json.loads(line))
        capsys.readouterr()
        monkeypatch.setattr("sys.stdin", io.StringIO((folder / "questions.jsonl").read_text()))
        exec(compile(program, "docs/asking.md", "exec"), {})
        written = capsys.readouterr().out
        (folder / "machine.jsonl").write_text(written)
        answers = read_answers("machine.jsonl", also=["purpose"])
        assert (answers.kind, len(answers)) == (kind, 6)
        assert set(answers.annotators.tolist()) == {"model"}
        for question, row in zip(map(json.loads, written.splitlines()), range(6), strict=True):
            chosen = question["options"][answers.places[row]]
            assert question[right] == chosen

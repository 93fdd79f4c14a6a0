"""docs/tutorial.md and docs/lab.md: their commands work as they stand, and print what they show.

`python docs/_extensions/transcripts.py docs/tutorial.md` writes what they print now.
"""

import csv
import json
import re
import shlex
import subprocess
from pathlib import Path

import numpy as np
import pytest

from nearer.cli.main import main
from nearer.datasets.example import INSTRUMENTS
from nearer.datasets.lab_files import lab_positions

pytestmark = pytest.mark.usefixtures("few_repeats")
DOCS = Path(__file__).parents[2] / "docs"
# What takes minutes is done in seconds here: other figures, the same files.
QUICKER = {"fit": ["--quick", "--method", "SOE", "--dimensions", "2"], "plan": ["--studies", "1", "--at", "100"]}
QUICKER |= {"compare": ["--permutations", "99", "--dimensions", "2"], "axes": ["--level", "0.9"]}
PAGES = {
    "tutorial.md": {"example", "check", "fit", "report", "score", "place", "plan", "ask"},
    "lab.md": {"example", "check", "fit", "compare", "axes", "figure", "report"},
}


@pytest.fixture
def tool(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS / "_extensions"))
    import transcripts

    return transcripts


def without_figures(text):
    """Return lines without their numbers, and without findings' examples, which depend on the last digits."""
    lines = [line.strip() for line in text.splitlines() if not line.lstrip().startswith("- ")]
    return [re.sub(r"-?\d[\d ]*(\.\d+)?", "#", line) for line in lines if line]


def headlines(text):
    return [line for line in without_figures(text) if re.match("ERROR|WARNING|NOTE|GOOD", line)]


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_the_tutorial_print_what_it_shows(page, tool, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    ran = []
    for command, shown in tool.transcripts((DOCS / page).read_text(encoding="utf-8")):
        program, *arguments = shlex.split(command)
        if program != "nearer":
            done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
            assert done.stdout == shown
            continue
        quicker = QUICKER.get(arguments[0], [])
        assert main([*arguments, *quicker]) == 0, command
        printed = capsys.readouterr().out
        ran.append(arguments[0])
        assert shown, f"{command}: nothing is shown; run docs/_extensions/transcripts.py"
        if not quicker:
            alike = headlines if arguments[0] == "check" else without_figures
            assert alike(printed) == alike(shown), f"{command}: run docs/_extensions/transcripts.py"
    assert set(ran) == PAGES[page]
    assert "woodwind" in (tmp_path / "study" / "map" / "report.html").read_text(encoding="utf-8")
    if page == "lab.md":
        check_what_a_paper_needs(tmp_path / "study")


def check_what_a_paper_needs(study):
    """What was left out is on the page, groups differ where it was planted, and the figure has its size."""
    page = (study / "map" / "report.html").read_text(encoding="utf-8")
    assert "138 rows" in page  # of TEST and those who guess
    found = json.loads((study / "groups" / "comparison.json").read_text(encoding="utf-8"))
    assert found["test"]["p_value"] == pytest.approx(0.01)  # the least of 99 permutations
    planted = set(lab_moved())
    moved = {
        row["object"]
        for row in csv.DictReader((study / "groups" / "displacements.csv").open())
        if row["significant"] == "yes"
    }
    assert moved & planted
    width = re.search(rb"/MediaBox \[ 0 0 ([\d.]+)", (study / "figure.pdf").read_bytes())
    assert float(width[1]) == pytest.approx(85 / 25.4 * 72, abs=0.1)


def lab_moved():
    """Return the instruments that experts see elsewhere."""
    at = lab_positions()
    away = np.linalg.norm(at["expert"] - at["novice"], axis=1) > 0
    return [name for name, moved in zip(INSTRUMENTS, away, strict=True) if moved]


def test_the_figures_that_the_tutorial_speaks_of_are_shown(tool):
    """Prose beside the transcripts names the careless person and two dimensions."""
    shown = dict(tool.transcripts((DOCS / "tutorial.md").read_text(encoding="utf-8")))
    assert "'p17'" in shown["nearer check study/answers.csv"]
    assert "a map of 2 dimensions" in shown["nearer fit study/answers.csv -o study/map"]
    assert "accordion" in shown["nearer place study/map study/new-object.csv -o study/larger"]


def test_transcripts_are_written_below_their_commands(tool):
    page = "# A\n\n```console\n$ one x\nold\n$ two\n```\n\n```sh\n$ three\n```\n"
    assert tool.transcripts(page) == [("one x", "old\n"), ("two", "")]
    again = tool.rewritten(page, lambda command: f"ran {command}\n")
    assert again == page.replace("$ one x\nold\n$ two\n", "$ one x\nran one x\n$ two\nran two\n")
    assert tool.rewritten(again, lambda command: f"ran {command}\n") == again


def test_a_block_without_a_command_is_refused(tool):
    with pytest.raises(ValueError, match="dollar sign"):
        tool.transcripts("```console\nprinted\n```\n")


def test_a_command_that_fails_is_reported(tool, tmp_path):
    assert tool.run_command("echo a", tmp_path) == "a\n"
    with pytest.raises(RuntimeError, match="status 3"):
        tool.run_command("exit 3", tmp_path)

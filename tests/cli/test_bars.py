"""What takes long shows a bar on a terminal."""

import os
import re
import struct
from pathlib import Path

import pytest

from nearer.cli.main import main

pty = pytest.importorskip("pty", reason="a terminal of a Unix system")
fcntl, termios = pytest.importorskip("fcntl"), pytest.importorskip("termios")

PROGRAM = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from pytest import MonkeyPatch
from helpers.few import few_repeats
patch = MonkeyPatch()
few_repeats(patch)
from nearer._common import progress
patch.setattr(progress, "_DELAY_SECONDS", 0.0)  # few fits take no second
from nearer.cli.main import main
sys.exit(main())
"""


@pytest.fixture
def on_a_terminal(forks):
    """Return a function that returns what a command writes to a terminal of 100 columns."""

    def run(folder, *arguments, program=PROGRAM):
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        forks.begin("-c", program, *arguments, cwd=folder, streams=[theirs] * 3)
        os.close(theirs)
        said = b""
        try:
            while part := os.read(ours, 65536):
                said += part
        except OSError:  # the other end is closed
            pass
        os.close(ours)
        assert forks.status() == 0
        return said.decode("utf-8")

    return run


def test_fit_and_check_show_bars(tmp_path, on_a_terminal):
    assert main(["example", str(tmp_path / "study")]) == 0
    table = tmp_path / "study" / "answers.csv"
    lines = table.read_text(encoding="utf-8").splitlines(keepends=True)
    table.write_text("".join(lines[:241]), encoding="utf-8")  # of three people, for speed
    fit = ("fit", "study/answers.csv", "--method", "STE", "--dimensions", "2", "--resamples", "10", "--out", "map")
    said = on_a_terminal(tmp_path, *fit)
    assert re.search(r"bootstrap: +\d+%", said)
    assert re.search(r"checking: +0%", said)  # before the first check is done
    assert re.search(r"checking: +0%", on_a_terminal(tmp_path, "check", "study/answers.csv"))


SLOW_STEP = """
import time
from nearer._common.progress import progress_bar
with progress_bar("thinking", 2) as bar:
    time.sleep(2.6)
    bar.update()
"""


def test_a_bar_is_redrawn_while_one_step_takes_its_time(tmp_path, on_a_terminal):
    shown = on_a_terminal(tmp_path, program=SLOW_STEP)
    assert re.search(r"thinking: +0%.* 0/2 \[00:01<", shown)
    assert re.search(r"thinking: +0%.* 0/2 \[00:02<", shown)


ASK = """
import sys
from nearer._common import progress
progress._DELAY_SECONDS = 0.0
from nearer.cli.main import main
sys.exit(main())
"""


def test_ask_shows_bars_while_it_learns_and_looks_ahead(tmp_path, on_a_terminal):
    assert main(["example", str(tmp_path / "study")]) == 0
    table = tmp_path / "study" / "answers.csv"
    lines = table.read_text(encoding="utf-8").splitlines(keepends=True)
    table.write_text("".join(lines[:121]), encoding="utf-8")
    shown = on_a_terminal(tmp_path, "ask", "study/answers.csv", "-n", "5", "-o", "questions.csv", program=ASK)
    for what in ("finding starts", "drawing", "looking ahead"):
        assert re.search(rf"{what}: +\d+%", shown)
    before, after = shown.split("the error so far")
    assert "drawing" in before
    assert "drawing" in after


@pytest.mark.parametrize(
    ("arguments", "bar"),
    [
        (("plan", "--objects", "8", "--noise", "0.2", "--studies", "2"), "simulating"),
        (("compare", "study/answers.csv", "--by", "group", "--out", "groups"), "cross-prediction"),
    ],
    ids=["plan", "compare"],
)
def test_plans_and_comparisons_of_groups_show_bars(arguments, bar, tmp_path, on_a_terminal):
    assert main(["example", str(tmp_path / "study")]) == 0
    assert re.search(bar + r": +\d+%", on_a_terminal(tmp_path, *arguments))

"""Files of other tools, through `nearer check`, and the table of the manual that says so."""

import json
import shlex
from pathlib import Path

import pytest
from helpers.tool_files import FILES

from nearer.cli.main import main

PAGE = Path(__file__).parents[2] / "docs" / "files.md"


def row(file):
    """Return the line of a file in the table of the manual."""
    command = shlex.join(["nearer", "check", file.name, *file.options])
    return f"| {file.tool} | {file.holds} | {file.kind} | `{command}` |"


@pytest.fixture
def check(tmp_path, capsys):
    def run(file, *options):
        if file.name.endswith(".xlsx"):
            pytest.importorskip("python_calamine", reason="reads workbooks: pip install python-calamine")
        (tmp_path / file.name).write_bytes(file.content())
        status = main(["check", str(tmp_path / file.name), *options])
        return status, *capsys.readouterr()

    return run


def test_there_are_25():
    from helpers.lab_exports import EXPORTS

    assert len(FILES) + len(EXPORTS) >= 40


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.tool}: {file.name}")
def test_a_file_is_read_by_the_command_of_the_manual(file, check):
    status, out, err = check(file, *file.options, "--json")
    assert status in (0, 1), err
    found = json.loads(out)
    assert found["kind"] == file.kind
    assert found["worst"] != "error", out
    assert row(file) in PAGE.read_text(encoding="utf-8"), row(file)


@pytest.mark.parametrize("file", [file for file in FILES if file.options], ids=lambda file: file.name)
def test_the_refusal_names_the_command(file, check):
    status, _, err = check(file)
    assert status == 2
    assert " ".join(map(shlex.quote, file.options)) in err

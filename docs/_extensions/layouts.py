"""The page docs/layouts.md: raw files in the layouts of labs, and what `nearer check` says about each.

    python docs/_extensions/layouts.py

Its sections are made from the files that tests/helpers/lab_exports.py writes.
"""

from __future__ import annotations

import io
import re
import shlex
import sys
import textwrap
from contextlib import redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from nearer.cli.main import main

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "layouts.md"
PLACE = "<!-- every layout, by docs/_extensions/layouts.py -->\n"
_N_LINES, _WIDTH, _JSON_LINES = 4, 110, 5


def first_lines(file: Path) -> str:
    """Return the first lines of a raw file, cut at the right; of an npz file the first rows of each array."""
    if file.suffix == ".npz":
        with np.load(file) as arrays:
            return "\n".join(f"{name} = {str(arrays[name][:_N_LINES].tolist())[:-1]}, ...]" for name in arrays)
    lines = []
    for line in file.read_text(encoding="utf-8").splitlines()[:_N_LINES]:
        width = _WIDTH * (_JSON_LINES if line[0] in "[{" else 1)
        lines += textwrap.wrap(line if len(line) <= width else line[: width - 4] + " ...", _WIDTH)
    return "\n".join(lines)


def about_reading(printed: str) -> str:
    """Return what `nearer check` printed before its first finding about the answers themselves."""
    opening, findings = re.split(r"\n\n(?=NOTE +\d+ questions were answered both ways)", printed)[0].split("\n\n", 1)
    opening = "\n".join(textwrap.fill(line, _WIDTH) for line in opening.splitlines())
    return f"{opening}\n\n{findings}\n..."


def section(export: Any, file: Path, printed: str) -> str:
    """Return the section of a layout, given its file and what `nearer check` printed about it."""
    about = export.write.__doc__.rpartition(": ")[-1]
    command = shlex.join(["nearer", "check", file.name, *export.options])
    return (
        f"\n## {export.name}\n\n{about[:1].upper()}{about[1:]}\n\n```text\n{first_lines(file)}\n```\n\n"
        f"```text\n$ {command}\n{about_reading(printed)}\n```\n"
    )


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "tests"))
    from helpers.lab_exports import EXPORTS

    sections = []
    for each in EXPORTS:
        with TemporaryDirectory() as folder, redirect_stdout(io.StringIO()) as printed:
            path = each.write(Path(folder))
            main(["check", str(path), *each.options])
            sections.append(section(each, path, printed.getvalue()))
    introduction, mark, _ = PAGE.read_text(encoding="utf-8").partition(PLACE)
    PAGE.write_text(introduction + mark + "".join(sections), encoding="utf-8")

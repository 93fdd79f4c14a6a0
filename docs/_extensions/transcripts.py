"""Transcripts in the documentation: commands are run again, and what they print is written below them.

    python docs/_extensions/transcripts.py docs/tutorial.md

A block that is marked `console` holds lines that begin with a dollar sign, the commands, each followed by what it wrote
to standard output. The commands of a page run in order, all in one new folder, so that later ones find the files of
earlier ones. Everything else on the page stays as it is.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

_BLOCK = re.compile(r"(?<=^```console\n)(.*?)(?=^```$)", re.DOTALL | re.MULTILINE)
_PROMPT = "$ "


def steps(block: str) -> list[tuple[str, str]]:
    r"""Return the commands of a block, and what each printed.

    Examples
    --------
    >>> steps("$ echo a\na\n$ true\n")
    [('echo a', 'a\n'), ('true', '')]
    """
    found: list[tuple[str, str]] = []
    for line in block.splitlines(keepends=True):
        if line.startswith(_PROMPT):
            found.append((line.removeprefix(_PROMPT).strip(), ""))
        elif found:
            found[-1] = found[-1][0], found[-1][1] + line
        else:
            raise ValueError(f"a block of commands begins with a dollar sign, not with {line!r}")
    return found


def transcripts(page: str) -> list[tuple[str, str]]:
    """Return all commands of a page in order, and what each printed."""
    return [step for block in _BLOCK.findall(page) for step in steps(block)]


def rewritten(page: str, run: Callable[[str], str]) -> str:
    """Return a page with what its commands print now."""

    def again(block: re.Match[str]) -> str:
        return "".join(f"{_PROMPT}{command}\n{run(command)}" for command, _ in steps(block[0]))

    return _BLOCK.sub(again, page)


def run_command(command: str, folder: Path) -> str:
    """Run a command in a folder and return what it printed; `nearer` is that of this Python."""
    program = re.sub(r"^nearer ", lambda _: f'"{sys.executable}" -m nearer.cli.main ', command)
    start = time.perf_counter()
    done = subprocess.run(program, shell=True, cwd=folder, capture_output=True, text=True, check=False)
    sys.stderr.write(f"{time.perf_counter() - start:6.1f} s  {command}\n")
    if done.returncode:
        raise RuntimeError(f"{command} ended with status {done.returncode}:\n{done.stderr}")
    return "\n".join(line.rstrip() for line in done.stdout.splitlines()) + "\n" if done.stdout else ""


if __name__ == "__main__":
    for name in sys.argv[1:]:
        with TemporaryDirectory() as place:
            text = Path(name).read_text(encoding="utf-8")
            Path(name).write_text(rewritten(text, lambda each, at=Path(place): run_command(each, at)), encoding="utf-8")

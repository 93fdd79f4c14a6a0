"""`nearer example`."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from nearer.cli.parsing import Commands, add_command, say

_ABOUT = """\
Write the files of a small study to try the other commands on: 24 people name the odd one of three musical instruments.
It is simulated, with a careless person, catch questions and two groups who see a few instruments differently;
README.txt says what is planted. Files that are there already are never written over."""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "example", "write the files of a study to try things on", _ABOUT, command=run)
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder of the files")


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from nearer.datasets.example_files import write_example

    files = write_example(options.folder)
    answers, attributes, results = (
        shlex.quote(str(options.folder / name)) for name in ("answers.csv", "attributes.csv", "map")
    )
    steps = [
        f"nearer check {answers}",
        f"nearer fit {answers} -o {results}",
        f"nearer report {results} --attributes {attributes}",
    ]
    lines = [f"written to {options.folder}: {', '.join(files)}", "what to do next:", *(f"  {step}" for step in steps)]
    say(options, "\n".join(lines), {"folder": str(options.folder), "files": files, "next": steps})
    return 0

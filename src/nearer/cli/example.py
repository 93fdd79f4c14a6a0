"""`nearer example`."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from nearer.cli.arguments import Commands, add_command, print_result

_ABOUT = """\
Write the files of a small study to try the other commands on: 24 people name the odd one of three musical instruments.
It is simulated, with a careless person, catch questions and two groups who see a few instruments differently;
README.txt says what is planted. Files that are there already are never written over.

With --lab it is a folder as labs have them: 40 people, a file each, of which some are not like the others, with a
practice block, a test run, an empty file, and two people who guess. Two groups see a third of the instruments
differently."""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "example", "write the files of a study to try things on", _ABOUT, command=run)
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder of the files")
    parser.add_argument("--lab", action="store_true", help="a messy folder of 40 files, one for each participant")


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from nearer.datasets.example_files import write_example
    from nearer.datasets.lab_files import write_lab

    files = write_lab(options.folder) if options.lab else write_example(options.folder)
    steps = _steps_of_lab(options.folder) if options.lab else _steps(options.folder)
    shown = f"{files[0]}, ..., {', '.join(files[-4:])}" if options.lab else ", ".join(files)
    lines = [f"written to {options.folder}: {shown}", "what to do next:", *(f"  {step}" for step in steps)]
    print_result(options, "\n".join(lines), {"folder": str(options.folder), "files": files, "next": steps})
    return 0


def _steps(folder: Path) -> list[str]:
    answers, attributes, results = _quoted(folder, "answers.csv", "attributes.csv", "map")
    return [
        f"nearer check {answers}",
        f"nearer fit {answers} -o {results}",
        f"nearer report {results} --attributes {attributes}",
    ]


def _steps_of_lab(folder: Path) -> list[str]:
    from nearer.datasets.lab_files import GUESSING, TEST

    names = ("data", "attributes.csv", "map", "groups", "figure.pdf")
    data, attributes, results, groups, figure = _quoted(folder, *names)
    rows = "--keep block=main --catch catch"
    people = f"--exclude person={','.join([TEST, *GUESSING])}"
    return [
        f"nearer check {data} {rows}",
        f"nearer fit {data} {rows} {people} -o {results}",
        f"nearer compare {data} {rows} {people} --by group -o {groups}",
        f"nearer figure {results} --attributes {attributes} --color-by family --arrows size_cm -o {figure}",
        f"nearer report {results} --attributes {attributes}",
    ]


def _quoted(folder: Path, *names: str) -> list[str]:
    return [shlex.quote(str(folder / name)) for name in names]

"""`nearer example` and `nearer demo`: things to try."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from nearer.cli.arguments import Commands, add_command, add_seed, print_result

_EXAMPLE = """\
Write the files of a small study to try the other commands on: 24 people name the odd one of three musical instruments.
It is simulated, with a careless person, catch questions and two groups who perceive a few instruments differently;
README.txt lists what is planted. Existing files are never overwritten.

With --lab it is a folder such as labs have: 40 people, a file each, some in another layout, with a practice block, a
test run, an empty file, and two random responders. Two groups perceive a third of the instruments differently.

With --things it is 20,000 odd-one-out trials about 200 objects, in the format of THINGS and VICE: three numbers a line,
the last one odd, and a file of names."""


_DEMO = """\
Simulate people who compare named colors, wrongly one time in nine, learn a map of the colors from their answers alone,
report how well it predicts answers it has not seen, and draw it."""


def add(commands: Commands) -> None:
    """Add the commands."""
    example = add_command(
        commands, "example", "write the files of a study to try things on", _EXAMPLE, command=_example
    )
    example.add_argument("folder", type=Path, metavar="DIR", help="folder of the files")
    example.add_argument("--things", action="store_true", help="trials as those of THINGS, in the format of its files")
    example.add_argument("--lab", action="store_true", help="a messy folder of 40 files, one for each participant")
    demo = add_command(commands, "demo", "learn and draw a map of colors", _DEMO, command=_demo)
    demo.add_argument(
        "--out", type=Path, default=Path("demo"), metavar="DIR", help="folder of colors.png (default: demo)"
    )
    add_seed(demo)


def _demo(options: argparse.Namespace) -> int:
    from nearer.study.demo import run_demo

    result = run_demo(options.out, options.seed)
    print_result(options, result.summary(), result.to_dict())
    return 0


def _example(options: argparse.Namespace) -> int:
    from nearer.datasets.example import write_example, write_things_like
    from nearer.datasets.lab_files import write_lab

    if options.lab and options.things:
        raise ValueError("--lab and --things are two examples; choose one")
    if options.things:
        files, steps = write_things_like(options.folder), _steps_of_things(options.folder)
        shown = ", ".join(files)
    elif options.lab:
        files, steps = write_lab(options.folder), _steps_of_lab(options.folder)
        shown = f"{files[0]}, ..., {', '.join(files[-4:])}"
    else:
        files, steps = write_example(options.folder), _steps(options.folder)
        shown = ", ".join(files)
    lines = [f"written to {options.folder}: {shown}", "what to do next:", *(f"  {step}" for step in steps)]
    print_result(options, "\n".join(lines), {"folder": str(options.folder), "files": files, "next": steps})
    return 0


def _steps(folder: Path) -> list[str]:
    answers, attributes, results = _quoted(folder, "answers.csv", "attributes.csv", "map")
    report = f"nearer report {results} --attributes {attributes}"
    return [f"nearer check {answers}", f"nearer fit {answers} -o {results}", report]


def _steps_of_things(folder: Path) -> list[str]:
    triplets, names, results = _quoted(folder, "triplets.txt", "unique_id.txt", "map")
    reading = f"{triplets} --kind odd-one-out --names {names}"
    return [f"nearer check {reading}", f"nearer fit {reading} -o {results}", f"nearer report {results}"]


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

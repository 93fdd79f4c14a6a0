"""`nearer compare answers.csv --people`: what each person goes by."""

from __future__ import annotations

import argparse

from nearer.cli.values import natural

_MOST_AXES = 20


def _axes(text: str) -> int:
    """Return a number of axes that can be weighed against each other."""
    return natural(text, 2, _MOST_AXES)


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of this way."""
    group = parser.add_argument_group("what each person goes by")
    group.add_argument(
        "--people", action="store_true", default=None,
        help="one map with weights of its axes for each person, and whether that predicts better",
    )  # fmt: skip
    group.add_argument("--axes", type=_axes, default=2, metavar="P", help="of the map that people weigh (2)")


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from nearer.cli.parsing import read_file, say, tell
    from nearer.comparing import compare_people
    from nearer.comparing.people_files import people_figures, write_people

    options.file = options.file[0] if len(options.file) == 1 else options.file
    answers = read_file(options)
    tell("fitting a map with weights for each person, and judging it by held-out answers")
    found = compare_people(answers.comparisons, options.axes, random_state=options.seed)
    files = [] if options.out is None else write_people(found, options.out)
    text = str(found) + (f"\n{options.out} has {', '.join(files)}" if files else "")
    say(options, text, {"folder": str(options.out) if files else None, "files": files, **people_figures(found)})
    return 0

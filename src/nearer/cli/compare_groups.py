"""`nearer compare answers.csv --by COLUMN`: groups of people."""

from __future__ import annotations

import argparse

from nearer.cli.values import dimensions, natural, share, word


def _permutations(text: str) -> int:
    """Return a number of permutations that can reach a p of 0.05."""
    return natural(text, 19, 10**6)


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of this way."""
    group = parser.add_argument_group("groups of people")
    group.add_argument("--by", type=word, default=None, metavar="COLUMN", help="the column that says the group")
    group.add_argument("--dimensions", type=dimensions, default=None, metavar="P", help="of the maps (chosen)")
    group.add_argument(
        "--permutations", type=_permutations, default=4999, metavar="N", help="of people, or within people (4999)"
    )
    group.add_argument("--level", type=share, default=0.95, metavar="L", help="of the intervals (0.95)")


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from nearer.cli.parsing import read_file, say, tell
    from nearer.comparing import compare_groups
    from nearer.comparing.group_files import figures_of, write_comparison

    options.file = options.file[0] if len(options.file) == 1 else options.file
    answers = read_file(options, also=[options.by])
    tell("comparing groups" if options.dimensions else "choosing the number of dimensions, and comparing groups")
    found = compare_groups(
        answers,
        options.by,
        n_components=options.dimensions,
        n_permutations=options.permutations,
        level=options.level,
        random_state=options.seed,
    )
    files = [] if options.out is None else write_comparison(found, options.out)
    text = str(found) + (f"\n{options.out} has {', '.join(files)}" if files else "")
    say(options, text, {"folder": str(options.out) if files else None, "files": files, **figures_of(found)})
    return 0

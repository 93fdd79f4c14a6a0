"""`nearer compare answers.csv --by COLUMN`: groups of people."""

from __future__ import annotations

import argparse

from nearer.cli.argtypes import word


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of this way."""
    group = parser.add_argument_group("groups of people")
    group.add_argument("--by", type=word, default=None, metavar="COLUMN", help="the column that says the group")


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from nearer.cli.arguments import log_step, print_comparison, read_file
    from nearer.comparing import compare_groups
    from nearer.comparing.groups import N_PERMUTATIONS

    options.file = options.file[0] if len(options.file) == 1 else options.file
    answers = read_file(options, also=[options.by])
    log_step("comparing groups" if options.dimensions else "choosing the number of dimensions, and comparing groups")
    found = compare_groups(
        answers,
        options.by,
        n_components=options.dimensions,
        n_permutations=options.permutations or N_PERMUTATIONS,
        level=options.level,
        random_state=options.seed,
    )
    print_comparison(options, found)
    return 0

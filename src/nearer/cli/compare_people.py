"""`nearer compare answers.csv --people`: what each person goes by."""

from __future__ import annotations

import argparse


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of this way."""
    group = parser.add_argument_group("what each person goes by")
    group.add_argument(
        "--people", action="store_true", default=None,
        help="one map with weights of its axes for each person, and whether that predicts better",
    )  # fmt: skip


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from nearer.cli.arguments import log_step, print_comparison, read_file
    from nearer.comparing import compare_people

    options.file = options.file[0] if len(options.file) == 1 else options.file
    answers = read_file(options)
    log_step("fitting a map with weights for each person, and judging it by held-out answers")
    found = compare_people(
        answers.comparisons,
        options.dimensions or 2,
        n_splits=options.folds,
        level=options.level,
        random_state=options.seed,
    )
    print_comparison(options, found)
    return 0

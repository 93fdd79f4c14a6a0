"""`nearer compare answers.csv --by COLUMN`: groups of people."""

from __future__ import annotations

import argparse

from nearer.cli.values import word


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of this way."""
    group = parser.add_argument_group("groups of people")
    group.add_argument("--by", type=word, default=None, metavar="COLUMN", help="the column that says the group")


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    raise ValueError("groups of people are not compared yet")

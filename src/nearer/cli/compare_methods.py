"""`nearer compare answers.csv --methods A,B`: methods."""

from __future__ import annotations

import argparse

from nearer.cli.values import words


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of this way."""
    group = parser.add_argument_group("methods")
    group.add_argument("--methods", type=words, default=None, metavar="A,B,...", help="such as DMOE,STE,posterior")


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    raise ValueError("methods are not compared yet")

"""`nearer compare MAP --with model.csv`: a map and matrices of distances."""

from __future__ import annotations

import argparse
from pathlib import Path


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of this way."""
    group = parser.add_argument_group("a map and a matrix")
    group.add_argument(
        "--with", type=Path, default=None, action="append", dest="model", metavar="FILE",
        help="a matrix of distances with names of objects; may be given several times",
    )  # fmt: skip


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    raise ValueError("a map and matrices of distances are not compared yet")

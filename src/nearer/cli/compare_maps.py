"""`nearer compare MAP OTHER`: two maps."""

from __future__ import annotations

import argparse


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of this way."""
    del parser


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    raise ValueError("two maps are not compared yet")

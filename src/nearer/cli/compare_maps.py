"""`nearer compare MAP OTHER`: two maps."""

from __future__ import annotations

import argparse


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of this way."""
    del parser


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from nearer.cli.arguments import print_comparison
    from nearer.comparing import compare_maps

    found = compare_maps(*options.file, level=options.level)
    print_comparison(options, found)
    return 0

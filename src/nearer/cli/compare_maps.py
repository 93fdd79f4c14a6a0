"""`nearer compare MAP OTHER`: two maps."""

from __future__ import annotations

import argparse


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of this way."""
    del parser


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from nearer.cli.arguments import print_result
    from nearer.comparing import compare_maps
    from nearer.comparing.map_files import figures_of_maps, write_maps

    found = compare_maps(*options.file, level=options.level)
    files = [] if options.out is None else write_maps(found, options.out)
    text = str(found) + (f"\nwritten to {options.out}: {', '.join(files)}" if files else "")
    print_result(
        options, text, {"folder": str(options.out) if files else None, "files": files, **figures_of_maps(found)}
    )
    return 0

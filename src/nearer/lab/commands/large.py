"""`nearer bench large`."""

from __future__ import annotations

import argparse

from nearer.cli.parsing import Commands
from nearer.cli.values import dimensions, positive
from nearer.lab.commands.benchmark import Report, add_benchmark

_ABOUT = """\
Draw triplets of Gaussian points and fit them once, in a process of its own; tell the seconds of each stage, the
held-out error and the peak memory."""


def add(commands: Commands) -> None:
    """Add the benchmark."""
    parser = add_benchmark(commands, "large", "one fit at a large size", _ABOUT, run)
    parser.add_argument("--objects", type=positive, required=True, metavar="N")
    parser.add_argument("--comparisons", type=positive, required=True, metavar="M")
    parser.add_argument("--dimension", type=dimensions, default=5, metavar="P", help="of points and map (5)")
    parser.add_argument("--loss", type=str.upper, default="GNMDS", metavar="NAME", help="estimator (GNMDS)")


def run(options: argparse.Namespace) -> Report:
    """Run the benchmark."""
    from nearer.lab.benchmarks.large import large_text, run_large
    from nearer.lab.benchmarks.triplets import Size

    result = run_large(options.loss, Size(options.objects, options.comparisons), options.dimension, options.seed)
    return Report(large_text(result), {"benchmark": "large", **result})

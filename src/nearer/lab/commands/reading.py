"""`nearer bench reading`."""

from __future__ import annotations

import argparse

from nearer.cli.parsing import Commands
from nearer.cli.values import positive
from nearer.lab.commands.benchmark import Report, add_benchmark

_ABOUT = """\
Write files of many answers, CSV and Parquet, and read each in a process of its own; tell seconds and peak memory."""


def add(commands: Commands) -> None:
    """Add the benchmark."""
    parser = add_benchmark(commands, "reading", "files of many answers", _ABOUT, run)
    parser.add_argument("--rows", type=positive, default=10_000_000, metavar="N", help="answers in a file (10000000)")


def run(options: argparse.Namespace) -> Report:
    """Run the benchmark."""
    from nearer.lab.benchmarks.reading import reading_text, run_reading

    results = run_reading(options.rows, options.seed)
    return Report(reading_text(results), {"files": results})

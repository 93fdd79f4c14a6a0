"""`nearer bench`."""

from __future__ import annotations

import argparse

from nearer.benchmarks.commands import add_benchmarks
from nearer.commands.parsing import INTERRUPTED, Commands, fail, say


def add(commands: Commands) -> None:
    """Add the command."""
    about = "Measure time, memory and accuracy."
    bench = commands.add_parser("bench", help="measure time, memory and accuracy", description=about)
    add_benchmarks(bench)
    bench.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from nearer.experiments import Interrupted

    try:
        report = options.benchmark(options)
    except Interrupted as stop:
        return fail(str(stop), INTERRUPTED)
    say(options, report.text, report.figures)
    return 0

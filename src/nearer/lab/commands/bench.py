"""`nearer bench`: one benchmark a file, as the commands are."""

from __future__ import annotations

import argparse

from nearer.cli.interrupts import INTERRUPTED
from nearer.cli.parsing import Commands, fail, say
from nearer.lab.commands import accuracy, convex, coverage, large, reading, scaling, speed


def add(commands: Commands) -> None:
    """Add the command.

    Examples
    --------
    >>> parser = argparse.ArgumentParser()
    >>> add(parser.add_subparsers())
    >>> parser.parse_args(["bench", "speed", "--sizes", "100x2000"]).repeats
    3
    """
    about = "Measure time, memory and accuracy."
    bench = commands.add_parser("bench", help="measure time, memory and accuracy", description=about)
    benchmarks = bench.add_subparsers(title="benchmarks", required=True, metavar="BENCHMARK")
    for benchmark in (speed, scaling, large, accuracy, coverage, reading, convex):
        benchmark.add(benchmarks)
    bench.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from nearer.lab.common.records import Interrupted

    try:
        report = options.benchmark(options)
    except Interrupted as stop:
        return fail(str(stop), INTERRUPTED)
    say(options, report.text, report.figures)
    return 0

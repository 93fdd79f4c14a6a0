"""What all benchmarks share: how one is added to the program, run, and reported."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from nearer.cli.arguments import Commands, add_command, add_seed, print_result, report_error
from nearer.cli.process import INTERRUPTED


class Report(NamedTuple):
    """What a benchmark has to say, to people and to programs."""

    text: str
    figures: dict[str, Any]


def add_benchmark(
    commands: Commands,
    name: str,
    summary: str,
    about: str,
    run: Callable[[argparse.Namespace], Report],
    *,
    leaves_files: bool = False,
    seeded: bool = True,
) -> argparse.ArgumentParser:
    """Add a benchmark, and return its parser; results that it leaves go into a folder of its name."""
    parser = add_command(commands, name, summary, about, command=run_benchmark, benchmark=run)
    if seeded:
        add_seed(parser)
    if leaves_files:
        out = Path("results") / name
        parser.add_argument("--out", type=Path, default=out, metavar="DIR", help=f"folder of results ({out})")
    return parser


def run_benchmark(options: argparse.Namespace) -> int:
    """Run a benchmark and print its report."""
    from benchmarks.records import Interrupted

    try:
        report = options.benchmark(options)
    except Interrupted as stop:
        return report_error(str(stop), INTERRUPTED)
    print_result(options, report.text, report.figures)
    return 0

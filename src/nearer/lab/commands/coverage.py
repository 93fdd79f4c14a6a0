"""`nearer bench coverage`."""

from __future__ import annotations

import argparse

from nearer.cli.parsing import Commands
from nearer.cli.values import names, positive, words
from nearer.lab.commands.benchmark import Report, add_benchmark

_ABOUT = """\
Bootstrap maps of synthetic answers, whose true points are known, and count how often the 95% ellipse of an object
covers its true place.

Conditions: flips, logistic (both by default), few, many, noisy, small, solid, large. Each map is kept in
DIR/measurements.jsonl as soon as it is finished; stop with Ctrl-C at any time, and the same command goes on from there.
The end result is table.txt and table.csv in DIR."""


def add(commands: Commands) -> None:
    """Add the benchmark."""
    parser = add_benchmark(commands, "coverage", "what ellipses cover", _ABOUT, run, out="results/coverage")
    parser.add_argument("--conditions", type=words, default=(), metavar="NAME,...", help="kinds of data")
    parser.add_argument(
        "--methods",
        type=names,
        default=("STE",),
        metavar="NAME,...",
        help="STE,TSTE,CKL,SOE,GNMDS,DMOE,Posterior (STE)",
    )
    parser.add_argument("--replications", type=positive, default=100, metavar="N", help="maps of each (100)")


def run(options: argparse.Namespace) -> Report:
    """Run the benchmark."""
    from nearer.lab.benchmarks import coverage
    from nearer.lab.common.records import write_tables

    conditions = options.conditions or coverage.DEFAULTS
    work = coverage.Coverage(options.out, conditions, options.methods, options.replications, seed=options.seed)
    rows = work.execute()
    text = coverage.coverage_text(work, rows)
    write_tables(options.out, text, rows)
    return Report(text, {"benchmark": "coverage", "folder": str(options.out), "table": rows})

"""`nearer bench accuracy`."""

from __future__ import annotations

import argparse
import sys

from nearer.cli.parsing import Commands
from nearer.cli.values import jobs, positive, positives, words
from nearer.lab.commands.benchmark import Report, add_benchmark

_ABOUT = """\
Compare the held-out error, and the calibration, of every estimator and of those of cblearn 0.4, at their defaults and
cross-validated, on synthetic data and on human judgments, at five numbers of comparisons.

Data sets: synthetic and its variants n60, n200, d2, d5, d20, flips, logistic; human judgments: music, cars, food,
eggs30, eggs300, characters_latin, zappos. Human judgments are looked for in ../shared/data and in $NEARER_DATA; data
sets that are not there are left out.

Each tuned fit is kept in DIR/own.jsonl or DIR/peers.jsonl as soon as it is finished; stop with Ctrl-C at any time, and
the same command goes on from there. The end result is table.txt, table.csv and figures in DIR."""


def add(commands: Commands) -> None:
    """Add the benchmark."""
    parser = add_benchmark(commands, "accuracy", "errors beside cblearn's", _ABOUT, run, out="results/accuracy")
    parser.add_argument("--data", type=words, default=(), metavar="NAME,...", help="data sets (all)")
    parser.add_argument(
        "--methods",
        type=words,
        default=(),
        metavar="NAME,...",
        help="own, peers, or names such as DMOE,cblearn-STE (all)",
    )
    parser.add_argument("--trials", type=positive, default=10, metavar="N", help="trials of each size (10)")
    parser.add_argument(
        "--sizes", type=positives, default=(), metavar="M,...", help="numbers of comparisons (five for each data set)"
    )
    parser.add_argument("--jobs", type=jobs, default=-1, metavar="N", help="fits side by side (one on each core)")
    parser.add_argument("--again", type=words, default=(), metavar="NAME,...", help="methods to run again")
    parser.add_argument("--report", action="store_true", help="run nothing; tables and figures of what is on file")
    parser.add_argument("--no-peer", action="store_true", help="leave cblearn out")
    parser.add_argument("--peer-python", default=None, metavar="PATH", help="a Python that has cblearn already")


def run(options: argparse.Namespace) -> Report:
    """Run the benchmark."""
    from nearer.lab.accuracy import PEERS, AccuracyRun, report
    from nearer.lab.common.programs import peer_program

    methods, left_out = report.chosen_methods(options.methods, with_peers=not options.no_peer)
    data, missing = report.chosen_data(options.data)
    notes = [*left_out, *missing, *report.size_notes(data, options.sizes)]
    for note in notes:
        sys.stderr.write(f"nearer: {note}\n")
    needs_peer = not options.report and any(method in PEERS for method in methods)
    work = AccuracyRun(
        options.out,
        data,
        methods,
        peer_program(options.peer_python) if needs_peer else None,
        sizes=options.sizes,
        n_trials=options.trials,
        seed=options.seed,
        n_jobs=options.jobs,
    )
    if options.again:
        work.forget(report.chosen_methods(options.again)[0])
    text, figures = report.write_report(work, work.on_file() if options.report else work.execute(), notes)
    return Report(f"{text}\nWritten to {options.out}.", figures)

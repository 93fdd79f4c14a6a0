"""`python -m benchmarks reproduce`."""

from __future__ import annotations

import argparse
from pathlib import Path

from nearer.cli.argtypes import jobs, names, positive, positives
from nearer.cli.arguments import Commands, add_command, add_seed, print_result, report_error
from nearer.cli.process import INTERRUPTED

_ABOUT = """\
Run an experiment of "Less but Better" (Ma, Xu, Yang and Cao, AAAI 2019) again: every method tuned by
cross-validation on its training comparisons, then judged by all others.

Each tuned fit is kept in DIR/trials.jsonl as soon as it is finished. Stop with Ctrl-C at any time; the same command
goes on from there. The end result is table.txt, table.csv, errors.png and figure1.png in DIR."""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "reproduce", "run an experiment of the paper again", _ABOUT, command=run)
    parser.add_argument("experiment", choices=["synthetic", "music"])
    parser.add_argument(
        "--sizes", type=positives, default=(), metavar="M,M,...",
        help="numbers of training comparisons (synthetic: 200,500,1000,10000; music: 200,500,1000,5000)",
    )  # fmt: skip
    parser.add_argument("--trials", type=positive, default=20, metavar="N", help="trials of each size (20)")
    add_seed(parser)
    parser.add_argument("--jobs", type=jobs, default=None, metavar="N", help="fits side by side (one on each core)")
    parser.add_argument(
        "--methods", type=names, default=("DMOE", "GNMDS", "STE", "TSTE"), metavar="NAME,...",
        help="which of DMOE,GNMDS,STE,TSTE (all), and of the descents over points GNMDS-X,STE-X,TSTE-X,CKL-X,SOE-X",
    )  # fmt: skip
    parser.add_argument("--out", type=Path, default=None, metavar="DIR", help="folder of the results (results/NAME)")


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from benchmarks.paper import EXPERIMENTS, Run, table_rows, table_text
    from benchmarks.paper.table import draw_figures
    from benchmarks.records import Interrupted, write_tables

    folder = options.out or Path("results") / options.experiment
    experiment = EXPERIMENTS[options.experiment]
    work = Run(
        experiment,
        folder,
        sizes=options.sizes,
        n_trials=options.trials,
        seed=options.seed,
        methods=options.methods,
        n_jobs=-1 if options.jobs is None else options.jobs,
    )
    try:
        records = work.execute()
    except Interrupted as stop:
        return report_error(str(stop), INTERRUPTED)
    rows = table_rows(experiment, records)
    text = table_text(experiment, rows)
    write_tables(folder, text, rows)
    figures = draw_figures(experiment, work.seed, records, folder)
    about = {"experiment": experiment.name, "note": experiment.note, "seed": work.seed, "trials": work.n_trials}
    files = ", ".join(["table.txt", "table.csv", "trials.jsonl", *figures])
    print_result(
        options,
        f"{text}\nWritten to {folder}: {files}.",
        {**about, "folder": str(folder), "figures": figures, "table": rows},
    )
    return 0

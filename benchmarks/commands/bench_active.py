"""`python -m benchmarks active`: its options, and what it says to people and to programs."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from benchmarks.commands.report import Report, add_benchmark
from nearer.cli.argtypes import jobs, positive, words
from nearer.cli.arguments import Commands

if TYPE_CHECKING:
    from benchmarks.active.run import ActiveRun
    from benchmarks.programs import Program

_ABOUT = """\
Count the answers that each way to choose questions needs to reach given errors, with the same estimator for all.

Rules: random, landmarks, information (the crowd kernel's), salmon (Salmon's sampler ARR) and ours (nearer.design).
Worlds: eggs, line, colors, cloud2-logistic, cloud2-flips, and the same for cloud5 and cloud10; pools of answers that
people gave: food, zappos, cars. eggs and the pools are looked for in ../shared/data and in $NEARER_DATA; worlds whose
file is not there are left out.

Salmon needs an older NumPy: the first run installs it into an environment of its own, in $NEARER_CACHE or the user's
cache; if that cannot be done, the others are run. Each run is kept in DIR/runs.jsonl as soon as it is finished; stop
with Ctrl-C at any time, and the same command goes on from there. The end result is table.txt, table.csv, curves.csv and
active.png in DIR."""


def add_active(commands: Commands) -> None:
    """Add the benchmark."""
    parser = add_benchmark(commands, "active", "answers that chosen questions need", _ABOUT, _run, leaves_files=True)
    parser.add_argument("--worlds", type=words, default=(), metavar="NAME,...", help="where questions are asked (all)")
    parser.add_argument("--rules", type=words, default=(), metavar="NAME,...", help="who chooses them (all)")
    parser.add_argument("--runs", type=positive, default=10, metavar="N", help="runs of each (10)")
    parser.add_argument("--batch", type=positive, default=30, metavar="K", help="questions at a time (30)")
    parser.add_argument("--jobs", type=jobs, default=-1, metavar="N", help="runs side by side (one on each core)")
    parser.add_argument("--again", type=words, default=(), metavar="NAME,...", help="rules to run again")
    parser.add_argument("--report", action="store_true", help="run nothing; table and figure of what is on file")
    parser.add_argument("--salmon-python", default=None, metavar="PATH", help="a Python that has Salmon already")


def _run(options: argparse.Namespace) -> Report:
    from benchmarks.accuracy.datasets import missing_sentence
    from benchmarks.active.run import RULES, ActiveRun
    from benchmarks.active.worlds import WORLDS

    worlds, rules = options.worlds or tuple(WORLDS), options.rules or RULES
    settings: dict[str, Any] = {
        "n_runs": options.runs, "batch": options.batch, "seed": options.seed, "n_jobs": options.jobs,
    }  # fmt: skip
    ActiveRun(options.out, worlds, rules, **settings)  # wrong names are told before anything is installed
    missing = [WORLDS[world].file or world for world in worlds if not WORLDS[world].is_there]
    worlds = tuple(world for world in worlds if WORLDS[world].is_there)
    notes = [missing_sentence(missing)] if missing else []
    salmon = None
    if "salmon" in rules and not options.report:
        salmon, note = _salmon(options.salmon_python)
        if salmon is None:
            notes.append(note)
            rules = tuple(rule for rule in rules if rule != "salmon")
    for note in notes:
        sys.stderr.write(f"nearer: {note}\n")
    work = ActiveRun(options.out, worlds, rules, salmon=salmon, **settings)
    if options.again:
        work.forget(options.again)
    return _report(work, notes, run=not options.report)


def _salmon(python: str | None) -> tuple[Program | None, str]:
    """Return Salmon, or why there is none."""
    from benchmarks.programs import salmon_program

    try:
        return salmon_program(python), ""
    except ValueError as error:
        if python is not None:
            raise
        return None, f"{error}; the other rules are run without it"


def _report(work: ActiveRun, notes: list[str], *, run: bool) -> Report:
    from benchmarks.active.figure import draw_curves
    from benchmarks.active.summary import curve_rows, needed_rows, needed_text
    from benchmarks.records import csv_text, write_tables

    records = work.execute() if run else work.on_file()
    if not records:
        raise ValueError(f"there are no runs in {work.folder} to report; leave --report out to make them")
    rows, curves = needed_rows(records), curve_rows(records)
    text = needed_text(rows, [*notes, *work.failures])
    write_tables(work.folder, text, rows)
    (work.folder / "curves.csv").write_text(csv_text(curves), encoding="utf-8")
    try:
        draw_curves(curves, work.folder / "active.png")
    except ImportError as error:
        sys.stderr.write(f"nearer: no figure: {error}\n")
    figures = {"folder": str(work.folder), "notes": notes, "failures": list(work.failures), "table": rows}
    return Report(f"{text}\nWritten to {work.folder}.", {"benchmark": "active", **figures})

"""The options of the benchmarks of active questions, of the survey under load, and of scale; and what they print."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.commands.report import Report, add_benchmark
from nearer.cli.argtypes import dimensions, jobs, positive, seconds, whole, words
from nearer.cli.arguments import Commands

if TYPE_CHECKING:
    from benchmarks.active.run import ActiveRun
    from benchmarks.programs import Program

_ACTIVE = """\
Count the answers that each way to choose questions needs to reach given errors, with the same estimator for all.

Rules: random, landmarks, information (the crowd kernel's), salmon (Salmon's sampler ARR) and ours (nearer.design); of
zappos and cars also random+features and ours+features, which know the vectors of a vision network for the pictures.
Worlds: eggs, line, colors, cloud2-logistic, cloud2-flips, and the same for cloud5 and cloud10; pools of answers that
people gave: food, zappos, cars. eggs and the pools are looked for in ../shared/data and in $NEARER_DATA; worlds whose
file is not there are left out.

Salmon needs an older NumPy: the first run installs it into an environment of its own, in $NEARER_CACHE or the user's
cache; if that cannot be done, the others are run. Each run is kept in DIR/runs.jsonl as soon as it is finished; stop
with Ctrl-C at any time, and the same command goes on from there. The end result is table.txt, table.csv, curves.csv and
active.png in DIR."""


def add_active(commands: Commands) -> None:
    """Add the benchmark."""
    parser = add_benchmark(
        commands, "active", "answers that chosen questions need", _ACTIVE, _run_active, leaves_files=True
    )
    parser.add_argument("--worlds", type=words, default=(), metavar="NAME,...", help="where questions are asked (all)")
    parser.add_argument("--rules", type=words, default=(), metavar="NAME,...", help="who chooses them (all)")
    parser.add_argument("--runs", type=positive, default=10, metavar="N", help="runs of each (10)")
    parser.add_argument("--batch", type=positive, default=30, metavar="K", help="questions at a time (30)")
    parser.add_argument("--jobs", type=jobs, default=-1, metavar="N", help="runs side by side (one on each core)")
    parser.add_argument("--again", type=words, default=(), metavar="NAME,...", help="rules to run again")
    parser.add_argument("--report", action="store_true", help="run nothing; table and figure of what is on file")
    parser.add_argument("--salmon-python", default=None, metavar="PATH", help="a Python that has Salmon already")


def _run_active(options: argparse.Namespace) -> Report:
    from benchmarks.accuracy.datasets import missing_sentence
    from benchmarks.active.run import RULES, ActiveRun
    from benchmarks.active.worlds import WORLDS

    worlds, rules = options.worlds or tuple(WORLDS), options.rules or RULES
    settings: dict[str, Any] = {
        "n_runs": options.runs, "batch": options.batch, "seed": options.seed, "n_jobs": options.jobs,
    }  # fmt: skip
    ActiveRun(options.out, worlds, rules, **settings)  # wrong names are reported before anything is installed
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
    from benchmarks.active.summary import curve_rows, draw_curves, needed_rows, needed_text
    from benchmarks.records import csv_text, write_tables

    records = work.execute() if run else work.on_file()
    if not records:
        raise ValueError(f"there are no runs in {work.folder} to report; leave --report out to make them")
    rows, curves = needed_rows(records), curve_rows(records)
    text = needed_text(rows, [*notes, *work.failures])
    write_tables(work.folder, text, rows)
    (work.folder / "curves.csv").write_text(csv_text(curves), encoding="utf-8")
    draw_curves(curves, work.folder / "active.png")
    figures = {"folder": str(work.folder), "notes": notes, "failures": list(work.failures), "table": rows}
    return Report(f"{text}\nWritten to {work.folder}.", {"benchmark": "active", **figures})


_SURVEY = """\
Serve a study on this machine, let simulated people answer, and look for every confirmed answer in the database.

Parts: load (people at their pace, the engine with them), rate (ever more answers a second, until people wait too long),
faults (server and engine killed, database locked, disk full, clock set back, while people answer) and attacks (what
somebody in the same network may do to a server without a proxy). Nothing leaves this machine, and each part ends by
itself; its figures are written to DIR as soon as it is finished. A full disk needs the right to mount one, a clock set
back Debian's package faketime; what cannot be tried is reported."""


def add_survey(commands: Commands) -> None:
    """Add the benchmark."""
    parser = add_benchmark(
        commands, "survey", "a study under load, and in trouble", _SURVEY, _run_survey, leaves_files=True
    )
    parser.add_argument("--parts", type=words, default=(), metavar="NAME,...", help="load,rate,faults,attacks (all)")
    parser.add_argument("--people", type=positive, default=1000, metavar="N", help="people at a time (1000)")
    parser.add_argument("--pause", type=seconds, default=2.0, metavar="S", help="mean seconds between answers (2)")
    parser.add_argument("--seconds", type=seconds, default=180.0, metavar="S", help="how long the load lasts (180)")
    parser.add_argument("--kills", type=whole(), default=50, metavar="N", help="how often the server is killed (50)")
    parser.add_argument(
        "--engine-kills", type=whole(), default=20, metavar="N", help="how often the engine is killed (20)"
    )


def _run_survey(options: argparse.Namespace) -> Report:
    from benchmarks.survey.run import PARTS, SurveyRun, survey_text

    work = SurveyRun(
        options.out, options.people, options.pause, options.seconds, options.kills, options.engine_kills, options.seed
    )
    found = work.execute(options.parts or PARTS)
    text = survey_text(found)
    (options.out / "table.txt").write_text(text, encoding="utf-8")
    return Report(text, {"benchmark": "survey", "folder": str(options.out), **found})


_SCALE = """\
Fit the same comparisons in several ways, each in a process of its own: on one and two threads, from files that are read
a block at a time, on a cluster of processes on this machine, and on a GPU where there is one. Tell seconds, gradients,
error, memory and, where the machine counts it, energy; how a gradient scales; and what more workers would bring.

Ways: threads:K, npy, parquet, workers:K, cuda, mps, cpu (PyTorch on the processor). Each fit is kept in
DIR/measurements.jsonl as soon as it is done; stop with Ctrl-C at any time, and the same command goes on from there. The
end result is table.txt and table.csv in DIR."""


def add_scale(commands: Commands) -> None:
    """Add the benchmark."""
    parser = add_benchmark(commands, "scale", "threads, files, cluster and GPU", _SCALE, _run_scale, leaves_files=True)
    parser.add_argument("--ways", type=words, default=(), metavar="WAY,...", help="ways to fit (all but devices)")
    parser.add_argument("--objects", type=positive, default=50_000, metavar="N", help="objects (50000)")
    parser.add_argument("--comparisons", type=positive, default=5_000_000, metavar="M", help="comparisons (5000000)")
    parser.add_argument("--dimension", type=dimensions, default=10, metavar="P", help="of points and map (10)")
    parser.add_argument("--loss", type=str.upper, default="STE", metavar="NAME", help="estimator (STE)")
    parser.add_argument("--repeats", type=positive, default=3, metavar="N", help="fits of each way (3)")
    parser.add_argument("--iterations", type=positive, default=1000, metavar="N", help="at most (1000)")
    parser.add_argument("--data", type=Path, default=None, metavar="DIR", help="keep the rows there (nowhere)")


def _run_scale(options: argparse.Namespace) -> Report:
    from benchmarks.records import write_tables
    from benchmarks.scale.report import scale_text
    from benchmarks.scale.run import DEFAULT_WAYS, Scale
    from benchmarks.triplets import Size

    work = Scale(
        options.out,
        options.ways or DEFAULT_WAYS,
        options.loss,
        Size(options.objects, options.comparisons),
        options.dimension,
        options.repeats,
        options.seed,
        options.iterations,
        options.data,
    )
    rows = work.execute()
    text = scale_text(work, rows)
    write_tables(options.out, text, rows)
    return Report(text, {"benchmark": "scale", "folder": str(options.out), "table": rows})

"""The options of each benchmark, and what it prints."""

from __future__ import annotations

import argparse
import sys
from argparse import ArgumentTypeError
from typing import TYPE_CHECKING

from benchmarks.commands.bench_active import add_active, add_scale, add_survey
from benchmarks.commands.report import Report, add_benchmark
from nearer._common.formatting import quote
from nearer.cli.argtypes import dimensions, jobs, names, positive, positives, seconds, words
from nearer.cli.arguments import Commands

if TYPE_CHECKING:
    from benchmarks.triplets import Size


def add(commands: Commands) -> None:
    """Add all benchmarks.

    Examples
    --------
    >>> parser = argparse.ArgumentParser()
    >>> add(parser.add_subparsers())
    >>> parser.parse_args(["speed", "--sizes", "100x2000"]).repeats
    3
    """
    models = _add_accuracy, _add_features, _add_people, _add_coverage
    for add_one in (_add_speed, _add_scaling, _add_large, *models, _add_reading, _add_convex):
        add_one(commands)
    add_active(commands)
    add_survey(commands)
    add_scale(commands)


def sizes(text: str) -> tuple[Size, ...]:
    """Return numbers of objects and comparisons, such as ``1000x100000,2000x200000``."""
    from benchmarks.triplets import Size

    both = [size.split("x") for size in text.lower().split(",")]
    if any(len(pair) != 2 for pair in both):
        raise ArgumentTypeError(f"sizes such as 1000x100000,2000x200000 are needed, not {quote(text)}")
    return tuple(Size(positive(objects), positive(comparisons)) for objects, comparisons in both)


_SPEED = """\
Time fits of nearer and of cblearn 0.4 on the same triplets, each fit in a process of its own, taking turns; compare
seconds, held-out error and peak memory.

cblearn needs an older NumPy: the first run installs it into an environment of its own, in $NEARER_CACHE or the user's
cache. Each measurement is kept in DIR/measurements.jsonl as soon as it is finished; stop with Ctrl-C at any time, and
the same command goes on from there. The end result is table.txt and table.csv in DIR."""


def _add_speed(commands: Commands) -> None:
    parser = add_benchmark(commands, "speed", "fits against those of cblearn", _SPEED, _run_speed, leaves_files=True)
    parser.add_argument("--losses", type=names, default=None, metavar="NAME,...", help="GNMDS,STE,TSTE,CKL,SOE (all)")
    parser.add_argument(
        "--sizes", type=sizes, default=None, metavar="NxM,...",
        help="objects x comparisons (1000x100000,2000x200000,10000x200000)",
    )  # fmt: skip
    parser.add_argument("--repeats", type=positive, default=3, metavar="N", help="fits of each (3)")
    parser.add_argument("--dimension", type=dimensions, default=5, metavar="P", help="of points and maps (5)")
    parser.add_argument("--no-peer", action="store_true", help="measure nearer alone")
    parser.add_argument("--peer-python", default=None, metavar="PATH", help="a Python that has cblearn already")
    parser.add_argument(
        "--peer-repeats", type=positive, default=None, metavar="N",
        help="fits of cblearn (as --repeats, but one where the first took more than 120 s)",
    )  # fmt: skip
    parser.add_argument(
        "--peer-timeout", type=seconds, default=3600.0, metavar="S", help="seconds to wait for a cblearn fit (3600)"
    )


def _run_speed(options: argparse.Namespace) -> Report:
    from benchmarks import speed
    from benchmarks.programs import peer_program
    from benchmarks.records import write_tables

    speed.check_losses(options.losses or speed.LOSSES)
    work = speed.Speed(
        options.out,
        None if options.no_peer else peer_program(options.peer_python),
        options.losses or speed.LOSSES,
        options.sizes or speed.SIZES,
        repeats=options.repeats,
        peer_repeats=options.peer_repeats,
        dimension=options.dimension,
        seed=options.seed,
        peer_timeout=options.peer_timeout,
    )
    rows = speed.speed_rows(work.execute())
    text = speed.speed_text(work, rows)
    write_tables(options.out, text, rows)
    notes = speed.speed_notes(work, rows)
    return Report(text, {"benchmark": "speed", "folder": str(options.out), "notes": notes, "table": rows})


_SCALING = """\
Time fits at growing numbers of comparisons (of 1000 objects) and of objects (with 200000 comparisons), and fit the
exponents. Each measurement is kept in DIR/measurements.jsonl as soon as it is finished; an interrupted run goes on
with the same command. The end result is table.txt, table.csv and scaling.png in DIR."""


def _add_scaling(commands: Commands) -> None:
    parser = add_benchmark(commands, "scaling", "time against size", _SCALING, _run_scaling, leaves_files=True)
    parser.add_argument("--loss", type=names, default=("GNMDS",), metavar="NAME,...", help="one or more (GNMDS)")
    parser.add_argument(
        "--comparisons", type=positives, default=None, metavar="M,...",
        help="at 1000 objects (10000,30000,100000,300000,1000000,3000000)",
    )  # fmt: skip
    parser.add_argument(
        "--objects", type=positives, default=None, metavar="N,...",
        help="with 200000 comparisons (1000,2000,5000,10000)",
    )  # fmt: skip
    parser.add_argument("--repeats", type=positive, default=3, metavar="N", help="fits of each size (3)")
    parser.add_argument("--dimension", type=dimensions, default=5, metavar="P", help="of points and maps (5)")


def _run_scaling(options: argparse.Namespace) -> Report:
    from benchmarks import scaling
    from benchmarks.records import write_tables
    from benchmarks.scaling import draw_scaling

    work = scaling.Scaling(
        options.out,
        options.loss,
        comparisons=options.comparisons or scaling.COMPARISONS,
        objects=options.objects or scaling.OBJECTS,
        repeats=options.repeats,
        dimension=options.dimension,
        seed=options.seed,
    )
    rows = work.execute()
    text = scaling.scaling_text(work, rows)
    write_tables(options.out, text, rows)
    draw_scaling(rows, options.out / "scaling.png")
    found = {"folder": str(options.out), "table": rows, "exponents": scaling.exponents(rows)}
    return Report(text, {"benchmark": "scaling", **found})


_LARGE = """\
Draw triplets of Gaussian points and fit them once, in a process of its own; tell the seconds of each stage, the
held-out error and the peak memory."""


def _add_large(commands: Commands) -> None:
    parser = add_benchmark(commands, "large", "one fit at a large size", _LARGE, _run_large)
    parser.add_argument("--objects", type=positive, required=True, metavar="N")
    parser.add_argument("--comparisons", type=positive, required=True, metavar="M")
    parser.add_argument("--dimension", type=dimensions, default=5, metavar="P", help="of points and map (5)")
    parser.add_argument("--loss", type=str.upper, default="GNMDS", metavar="NAME", help="estimator (GNMDS)")


def _run_large(options: argparse.Namespace) -> Report:
    from benchmarks.large import large_text, run_large
    from benchmarks.triplets import Size

    result = run_large(options.loss, Size(options.objects, options.comparisons), options.dimension, options.seed)
    return Report(large_text(result), {"benchmark": "large", **result})


_ACCURACY = """\
Compare the held-out error, and the calibration, of every estimator and of those of cblearn 0.4, at their defaults and
cross-validated, on synthetic data and on human judgments, at five numbers of comparisons.

Data sets: synthetic and its variants n60, n200, d2, d5, d20, flips, logistic; human judgments: music, cars, food,
eggs30, eggs300, characters_latin, zappos. Human judgments are looked for in ../shared/data and in $NEARER_DATA; data
sets that are not there are left out.

Each tuned fit is kept in DIR/own.jsonl or DIR/peers.jsonl as soon as it is finished; stop with Ctrl-C at any time, and
the same command goes on from there. The end result is table.txt, table.csv and figures in DIR."""


def _add_accuracy(commands: Commands) -> None:
    parser = add_benchmark(
        commands, "accuracy", "errors against cblearn's", _ACCURACY, _run_accuracy, leaves_files=True
    )
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


def _run_accuracy(options: argparse.Namespace) -> Report:
    from benchmarks.accuracy import PEERS, AccuracyRun, report
    from benchmarks.programs import peer_program

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


_PEOPLE = """\
Compare the held-out error and log-loss of maps where people may differ in noise alone, in weights of the axes, too, and
in maps of their own, too, on real answers and in simulated worlds.

Each fit is kept in benchmarks/people.jsonl as soon as it is finished, and only what is missing is fitted; stop with
Ctrl-C at any time, and the same command goes on from there. The table is written to docs/people.md."""


def _add_people(commands: Commands) -> None:
    parser = add_benchmark(commands, "people", "what maps of people are worth", _PEOPLE, _run_people, seeded=False)
    parser.add_argument("--runs", type=positive, default=3, metavar="N", help="runs of each (3)")
    parser.add_argument("--jobs", type=jobs, default=-1, metavar="N", help="fits side by side (one on each core)")


def _run_people(options: argparse.Namespace) -> Report:
    from benchmarks import people

    work = people.PeopleRun(n_runs=options.runs, n_jobs=options.jobs)
    text = work.write(work.execute())
    return Report(text, {"benchmark": "people", "page": str(work.page)})


_FEATURES = """\
Compare the held-out error of maps of n/2 to 10 n answers with and without features of the n objects, and with those of
other objects; that of answers about new objects, too.

Worlds: zappos, cars, eggs30, food, which are looked for in ../shared/data and in $NEARER_DATA and left out if they are
not there, and synthetic-0, synthetic-0.3, synthetic-0.7 and synthetic-1. Methods: posterior, convex.

Each fit is kept in benchmarks/features.jsonl as soon as it is finished, and only what is missing is fitted; stop with
Ctrl-C at any time, and the same command goes on from there. Tables and figure are written to docs/features.md."""


def _add_features(commands: Commands) -> None:
    parser = add_benchmark(commands, "features", "answers that features save", _FEATURES, _run_features, seeded=False)
    parser.add_argument("--worlds", type=words, default=(), metavar="NAME,...", help="answers and features (all)")
    parser.add_argument("--methods", type=words, default=(), metavar="NAME,...", help="posterior,convex (both)")
    parser.add_argument("--runs", type=positive, default=5, metavar="N", help="runs of each (5)")
    parser.add_argument("--jobs", type=jobs, default=-1, metavar="N", help="fits side by side (one on each core)")


def _run_features(options: argparse.Namespace) -> Report:
    from benchmarks import features
    from benchmarks.accuracy.datasets import find_file, missing_sentence

    worlds = options.worlds or tuple(features.WORLDS)
    missing = {name: [file for file in files if find_file(file) is None] for name, files in features.FILES.items()}
    absent = [file for name in worlds for file in missing.get(name, ())]
    if absent:
        sys.stderr.write(f"nearer: {missing_sentence(absent)}\n")
    work = features.FeatureRun(
        worlds=[name for name in worlds if not missing.get(name)],
        methods=options.methods or tuple(features.METHODS.values()),
        n_runs=options.runs,
        n_jobs=options.jobs,
    )
    return Report(work.write(records := work.execute()), {"benchmark": "features", "records": records})


_COVERAGE = """\
Bootstrap maps of synthetic answers, whose true points are known, and count how often the 95% ellipse of an object
covers its true place.

Conditions: flips, logistic (both by default), student, few, many, noisy, small, solid, large. Each map is kept in
DIR/measurements.jsonl as soon as it is finished; stop with Ctrl-C at any time, and the same command goes on from there.
The end result is table.txt and table.csv in DIR."""


def _add_coverage(commands: Commands) -> None:
    parser = add_benchmark(commands, "coverage", "what ellipses cover", _COVERAGE, _run_coverage, leaves_files=True)
    parser.add_argument("--conditions", type=words, default=(), metavar="NAME,...", help="kinds of data")
    parser.add_argument(
        "--methods",
        type=words,
        default=("STE",),
        metavar="NAME,...",
        help="STE,TSTE,CKL,SOE,GNMDS,DMOE,Posterior (STE)",
    )
    parser.add_argument("--replications", type=positive, default=100, metavar="N", help="maps of each (100)")


def _run_coverage(options: argparse.Namespace) -> Report:
    from benchmarks import coverage
    from benchmarks.records import write_tables

    conditions = options.conditions or coverage.DEFAULTS
    work = coverage.Coverage(options.out, conditions, options.methods, options.replications, seed=options.seed)
    rows = work.execute()
    text = coverage.coverage_text(work, rows)
    write_tables(options.out, text, rows)
    return Report(text, {"benchmark": "coverage", "folder": str(options.out), "table": rows})


_READING = """\
Write files of many answers, CSV and Parquet, and read each in a process of its own; tell seconds and peak memory."""


def _add_reading(commands: Commands) -> None:
    parser = add_benchmark(commands, "reading", "files of many answers", _READING, _run_reading)
    parser.add_argument("--rows", type=positive, default=10_000_000, metavar="N", help="answers in a file (10000000)")


def _run_reading(options: argparse.Namespace) -> Report:
    from benchmarks.reading import reading_text, run_reading

    results = run_reading(options.rows, options.seed)
    return Report(reading_text(results), {"files": results})


_CONVEX = """\
Time the convex solver of DMOE to a relative duality gap of 1e-4 for several penalties, and against scs on one problem,
both to the same objective. scs comes with: pip install scs."""


def _add_convex(commands: Commands) -> None:
    parser = add_benchmark(commands, "convex", "the convex solver, and scs", _CONVEX, _run_convex, seeded=False)
    parser.add_argument("--repeats", type=positive, default=5, metavar="N", help="fits of each (5)")


def _run_convex(options: argparse.Namespace) -> Report:
    from benchmarks import convex

    rows = list(convex.settings_rows(options.repeats))
    text, figures = convex.convex_text(rows, options.repeats), {"benchmark": "convex", "table": rows}
    try:
        found = convex.compare_with_scs(convex.SCS_SIZE, options.repeats)
    except ImportError as error:
        return Report(f"{text}\n{error}\n", {**figures, "scs": None})
    return Report(f"{text}\n{convex.scs_text(found)}", {**figures, "minimum": found.minimum, "scs": found.rows})

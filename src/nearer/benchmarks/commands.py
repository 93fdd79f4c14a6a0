"""The commands of `nearer bench`: what they take, and what they print."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

_SPEED = """\
Time fits of nearer and of cblearn 0.4 on the same triplets, each fit in a process of its own, taking turns; compare
seconds, held-out error and peak memory.

cblearn needs an older NumPy: the first run installs it into an environment of its own, in $NEARER_CACHE or the user's
cache. Each measurement is kept in DIR/measurements.jsonl as soon as it is finished; stop with Ctrl-C at any time, and
the same command goes on from there. The end result is table.txt and table.csv in DIR."""

_SCALING = """\
Time fits at growing numbers of comparisons (of 1000 objects) and of objects (with 200000 comparisons), and fit the
exponents. Each measurement is kept in DIR/measurements.jsonl as soon as it is finished; an interrupted run goes on
with the same command. The end result is table.txt, table.csv and scaling.png in DIR."""

_LARGE = """\
Draw triplets of Gaussian points and fit them once, in a process of its own; tell the seconds of each stage, the
held-out error and the peak memory."""

_CONVEX = """\
Time the convex solver of DMOE to a relative duality gap of 1e-4 for several penalties, and beside scs on one problem,
both to the same objective. scs comes with: pip install "nearer[bench]"."""


_ACCURACY = """\
Compare the held-out error, and the calibration, of every estimator and of those of cblearn 0.4, at their defaults and
cross-validated, on synthetic data and on human judgments, at five numbers of comparisons.

Data sets: synthetic and its variants n60, n200, d2, d5, d20, flips, logistic; human judgments: music, cars, food,
eggs30, eggs300, characters_latin, zappos. Human judgments are looked for in ../shared/data and in $NEARER_DATA; data
sets that are not there are left out.

Each tuned fit is kept in DIR/own.jsonl or DIR/peers.jsonl as soon as it is finished; stop with Ctrl-C at any time, and
the same command goes on from there. The end result is table.txt, table.csv and figures in DIR."""


_READING = """\
Write files of many answers, CSV and Parquet, and read each in a process of its own; tell seconds and peak memory."""

_COVERAGE = """\
Bootstrap maps of synthetic answers, whose true points are known, and count how often the 95% ellipse of an object
covers its true place.

Conditions: flips, logistic (both by default), few, many, noisy, small, solid, large. Each map is kept in
DIR/measurements.jsonl as soon as it is finished; stop with Ctrl-C at any time, and the same command goes on from there.
The end result is table.txt and table.csv in DIR."""


class Report(NamedTuple):
    """What a benchmark has to say, to people and to programs."""

    text: str
    figures: dict[str, Any]


def add_benchmarks(bench: argparse.ArgumentParser) -> None:
    """Add the benchmarks to the parser of `nearer bench`; each sets ``benchmark``, a function of the options.

    Examples
    --------
    >>> parser = argparse.ArgumentParser()
    >>> add_benchmarks(parser)
    >>> parser.parse_args(["speed", "--sizes", "100x2000"]).repeats
    3
    """
    commands = bench.add_subparsers(title="benchmarks", required=True, metavar="BENCHMARK")

    speed = _benchmark(commands, "speed", "fits beside those of cblearn", _SPEED, _speed, out="results/speed")
    speed.add_argument("--losses", type=_names, default=None, metavar="NAME,...", help="GNMDS,STE,TSTE,CKL,SOE (all)")
    speed.add_argument(
        "--sizes", type=_sizes, default=None, metavar="NxM,...",
        help="objects x comparisons (1000x100000,2000x200000,10000x200000)",
    )  # fmt: skip
    speed.add_argument("--repeats", type=_positive, default=3, metavar="N", help="fits of each (3)")
    speed.add_argument("--dimension", type=_positive, default=5, metavar="P", help="of points and maps (5)")
    speed.add_argument("--no-peer", action="store_true", help="measure nearer alone")
    speed.add_argument("--peer-python", default=None, metavar="PATH", help="a Python that has cblearn already")
    speed.add_argument(
        "--peer-repeats", type=_positive, default=None, metavar="N",
        help="fits of cblearn (as --repeats, but one where the first took more than 120 s)",
    )  # fmt: skip
    speed.add_argument(
        "--peer-timeout", type=_seconds, default=3600.0, metavar="S", help="seconds to wait for a cblearn fit (3600)"
    )

    scaling = _benchmark(commands, "scaling", "time against size", _SCALING, _scaling, out="results/scaling")
    scaling.add_argument("--loss", type=_names, default=("GNMDS",), metavar="NAME,...", help="one or more (GNMDS)")
    scaling.add_argument(
        "--comparisons", type=_positives, default=None, metavar="M,...",
        help="at 1000 objects (10000,30000,100000,300000,1000000,3000000)",
    )  # fmt: skip
    scaling.add_argument(
        "--objects", type=_positives, default=None, metavar="N,...",
        help="with 200000 comparisons (1000,2000,5000,10000)",
    )  # fmt: skip
    scaling.add_argument("--repeats", type=_positive, default=3, metavar="N", help="fits of each size (3)")
    scaling.add_argument("--dimension", type=_positive, default=5, metavar="P", help="of points and maps (5)")

    large = _benchmark(commands, "large", "one fit at a large size", _LARGE, _large)
    large.add_argument("--objects", type=_positive, required=True, metavar="N")
    large.add_argument("--comparisons", type=_positive, required=True, metavar="M")
    large.add_argument("--dimension", type=_positive, default=5, metavar="P", help="of points and map (5)")
    large.add_argument("--loss", type=str.upper, default="GNMDS", metavar="NAME", help="estimator (GNMDS)")

    accuracy = _benchmark(commands, "accuracy", "errors beside cblearn's", _ACCURACY, _accuracy, out="results/accuracy")
    accuracy.add_argument("--data", type=_words, default=(), metavar="NAME,...", help="data sets (all)")
    accuracy.add_argument(
        "--methods",
        type=_words,
        default=(),
        metavar="NAME,...",
        help="own, peers, or names such as DMOE,cblearn-STE (all)",
    )
    accuracy.add_argument("--trials", type=_positive, default=10, metavar="N", help="trials of each size (10)")
    accuracy.add_argument(
        "--sizes", type=_positives, default=(), metavar="M,...", help="numbers of comparisons (five for each data set)"
    )
    accuracy.add_argument(
        "--jobs", type=_positive, default=-1, metavar="N", help="fits side by side (one on each core)"
    )
    accuracy.add_argument("--again", type=_words, default=(), metavar="NAME,...", help="methods to run again")
    accuracy.add_argument("--report", action="store_true", help="run nothing; tables and figures of what is on file")
    accuracy.add_argument("--no-peer", action="store_true", help="leave cblearn out")
    accuracy.add_argument("--peer-python", default=None, metavar="PATH", help="a Python that has cblearn already")

    coverage = _benchmark(commands, "coverage", "what ellipses cover", _COVERAGE, _coverage, out="results/coverage")
    coverage.add_argument("--conditions", type=_words, default=(), metavar="NAME,...", help="kinds of data")
    coverage.add_argument(
        "--methods", type=_names, default=("STE",), metavar="NAME,...", help="STE,TSTE,CKL,SOE,GNMDS,DMOE (STE)"
    )
    coverage.add_argument("--replications", type=_positive, default=100, metavar="N", help="maps of each (100)")

    reading = _benchmark(commands, "reading", "files of many answers", _READING, _reading)
    reading.add_argument("--rows", type=_positive, default=10_000_000, metavar="N", help="answers in a file (10000000)")

    convex = _benchmark(commands, "convex", "the convex solver, and scs", _CONVEX, _convex)
    convex.add_argument("--repeats", type=_positive, default=5, metavar="N", help="fits of each (5)")


def _benchmark(
    commands: Commands, name: str, summary: str, about: str, run: Callable[[argparse.Namespace], Report], out: str = ""
) -> argparse.ArgumentParser:
    parser = commands.add_parser(
        name, help=summary, description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print JSON for programs; progress goes to stderr")
    if run is not _convex:
        parser.add_argument("--seed", type=_natural, default=0, metavar="N", help="of data and starts (0)")
    if out:
        parser.add_argument("--out", type=Path, default=Path(out), metavar="DIR", help=f"folder of results ({out})")
    parser.set_defaults(benchmark=run)
    return parser


def _speed(options: argparse.Namespace) -> Report:
    from nearer.benchmarks import speed, speed_table
    from nearer.benchmarks.peer import peer_program
    from nearer.benchmarks.tables import write_tables

    speed.check_losses(options.losses or speed.LOSSES)
    run = speed.Speed(
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
    rows = speed_table.speed_rows(run.execute())
    text = speed_table.speed_text(run, rows)
    write_tables(options.out, text, rows)
    notes = speed_table.speed_notes(run, rows)
    return Report(text, {"benchmark": "speed", "folder": str(options.out), "notes": notes, "table": rows})


def _scaling(options: argparse.Namespace) -> Report:
    from nearer.benchmarks import scaling
    from nearer.benchmarks.scaling_figure import draw_scaling
    from nearer.benchmarks.tables import write_tables

    run = scaling.Scaling(
        options.out,
        options.loss,
        comparisons=options.comparisons or scaling.COMPARISONS,
        objects=options.objects or scaling.OBJECTS,
        repeats=options.repeats,
        dimension=options.dimension,
        seed=options.seed,
    )
    rows = run.execute()
    text = scaling.scaling_text(run, rows)
    write_tables(options.out, text, rows)
    try:
        draw_scaling(rows, options.out / "scaling.png")
    except ImportError as error:
        sys.stderr.write(f"nearer: no figure: {error}\n")
    found = {"folder": str(options.out), "table": rows, "exponents": scaling.exponents(rows)}
    return Report(text, {"benchmark": "scaling", **found})


def _large(options: argparse.Namespace) -> Report:
    from nearer.benchmarks.data import Size
    from nearer.benchmarks.large import large_text, run_large

    result = run_large(options.loss, Size(options.objects, options.comparisons), options.dimension, options.seed)
    return Report(large_text(result), {"benchmark": "large", **result})


def _accuracy(options: argparse.Namespace) -> Report:
    from nearer.benchmarks.peer import peer_program
    from nearer.experiments.accuracy import PEERS, AccuracyRun, report

    methods, left_out = report.chosen_methods(options.methods, with_peers=not options.no_peer)
    data, missing = report.chosen_data(options.data)
    notes = [*left_out, *missing, *report.size_notes(data, options.sizes)]
    for note in notes:
        sys.stderr.write(f"nearer: {note}\n")
    needs_peer = not options.report and any(method in PEERS for method in methods)
    run = AccuracyRun(
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
        run.forget(report.chosen_methods(options.again)[0])
    text, figures = report.write_report(run, run.on_file() if options.report else run.execute(), notes)
    return Report(f"{text}\nWritten to {options.out}.", figures)


def _reading(options: argparse.Namespace) -> Report:
    from nearer.benchmarks.reading import reading_text, run_reading

    results = run_reading(options.rows, options.seed)
    return Report(reading_text(results), {"files": results})


def _coverage(options: argparse.Namespace) -> Report:
    from nearer.benchmarks import coverage
    from nearer.benchmarks.tables import write_tables

    conditions = options.conditions or coverage.DEFAULTS
    run = coverage.Coverage(options.out, conditions, options.methods, options.replications, seed=options.seed)
    rows = run.execute()
    text = coverage.coverage_text(run, rows)
    write_tables(options.out, text, rows)
    return Report(text, {"benchmark": "coverage", "folder": str(options.out), "table": rows})


def _convex(options: argparse.Namespace) -> Report:
    from nearer.benchmarks import convex

    rows = list(convex.settings_rows(options.repeats))
    text, figures = convex.convex_text(rows, options.repeats), {"benchmark": "convex", "table": rows}
    try:
        found = convex.compare_with_scs(convex.SCS_SIZE, options.repeats)
    except ImportError as error:
        return Report(f"{text}\n{error}\n", {**figures, "scs": None})
    return Report(f"{text}\n{convex.scs_text(found)}", {**figures, "minimum": found.minimum, "scs": found.rows})


def _natural(text: str, least: int = 0) -> int:
    number = int(text) if text.isdecimal() else -1
    if number < least:
        raise argparse.ArgumentTypeError(f"a whole number, {least} or more, is needed, not {text!r}")
    return number


def _positive(text: str) -> int:
    return _natural(text, least=1)


def _positives(text: str) -> tuple[int, ...]:
    return tuple(map(_positive, text.split(",")))


def _seconds(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"a number of seconds above 0 is needed, not {text!r}")
    return number


def _names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip().upper() for name in text.split(",")))


def _words(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word.strip() for word in text.split(",")))


def _sizes(text: str) -> tuple[Any, ...]:
    from nearer.benchmarks.data import Size

    pairs = [size.split("x") for size in text.lower().split(",")]
    if any(len(pair) != 2 for pair in pairs):
        raise argparse.ArgumentTypeError(f"sizes such as 1000x100000,2000x200000 are needed, not {text!r}")
    return tuple(Size(_positive(objects), _positive(comparisons)) for objects, comparisons in pairs)

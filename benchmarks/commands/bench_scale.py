"""`python -m benchmarks scale`: its options, and what it says to people and to programs."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.commands.report import Report, add_benchmark
from nearer.cli.argtypes import dimensions, positive, words
from nearer.cli.arguments import Commands

_ABOUT = """\
Fit the same comparisons in several ways, each in a process of its own: on one and two threads, from files that are read
a block at a time, on a cluster of processes on this machine, and on a GPU where there is one. Tell seconds, gradients,
error, memory and, where the machine counts it, energy; how a gradient scales; and what more workers would bring.

Ways: threads:K, npy, parquet, workers:K, cuda, mps, cpu (PyTorch on the processor). Each fit is kept in
DIR/measurements.jsonl as soon as it is done; stop with Ctrl-C at any time, and the same command goes on from there. The
end result is table.txt and table.csv in DIR."""


def add_scale(commands: Commands) -> None:
    """Add the benchmark."""
    parser = add_benchmark(commands, "scale", "threads, files, cluster and GPU", _ABOUT, _run, leaves_files=True)
    parser.add_argument("--ways", type=words, default=(), metavar="WAY,...", help="ways to fit (all but devices)")
    parser.add_argument("--objects", type=positive, default=50_000, metavar="N", help="objects (50000)")
    parser.add_argument("--comparisons", type=positive, default=5_000_000, metavar="M", help="comparisons (5000000)")
    parser.add_argument("--dimension", type=dimensions, default=10, metavar="P", help="of points and map (10)")
    parser.add_argument("--loss", type=str.upper, default="STE", metavar="NAME", help="estimator (STE)")
    parser.add_argument("--repeats", type=positive, default=3, metavar="N", help="fits of each way (3)")
    parser.add_argument("--iterations", type=positive, default=1000, metavar="N", help="at most (1000)")
    parser.add_argument("--data", type=Path, default=None, metavar="DIR", help="keep the rows there (nowhere)")


def _run(options: argparse.Namespace) -> Report:
    from benchmarks.records import write_tables
    from benchmarks.scale.run import DEFAULT_WAYS, Scale
    from benchmarks.scale.telling import scale_text
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

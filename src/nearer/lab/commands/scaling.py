"""`nearer bench scaling`."""

from __future__ import annotations

import argparse
import sys

from nearer.cli.parsing import Commands
from nearer.cli.values import dimensions, names, positive, positives
from nearer.lab.commands.benchmark import Report, add_benchmark

_ABOUT = """\
Time fits at growing numbers of comparisons (of 1000 objects) and of objects (with 200000 comparisons), and fit the
exponents. Each measurement is kept in DIR/measurements.jsonl as soon as it is finished; an interrupted run goes on
with the same command. The end result is table.txt, table.csv and scaling.png in DIR."""


def add(commands: Commands) -> None:
    """Add the benchmark."""
    parser = add_benchmark(commands, "scaling", "time against size", _ABOUT, run, out="results/scaling")
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


def run(options: argparse.Namespace) -> Report:
    """Run the benchmark."""
    from nearer.lab.benchmarks import scaling
    from nearer.lab.benchmarks.scaling import draw_scaling
    from nearer.lab.common.records import write_tables

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
    try:
        draw_scaling(rows, options.out / "scaling.png")
    except ImportError as error:
        sys.stderr.write(f"nearer: no figure: {error}\n")
    found = {"folder": str(options.out), "table": rows, "exponents": scaling.exponents(rows)}
    return Report(text, {"benchmark": "scaling", **found})

"""`nearer bench speed`."""

from __future__ import annotations

import argparse

from nearer.cli.parsing import Commands
from nearer.cli.values import dimensions, names, positive, seconds
from nearer.lab.commands.benchmark import Report, add_benchmark
from nearer.lab.commands.sizes import sizes

_ABOUT = """\
Time fits of nearer and of cblearn 0.4 on the same triplets, each fit in a process of its own, taking turns; compare
seconds, held-out error and peak memory.

cblearn needs an older NumPy: the first run installs it into an environment of its own, in $NEARER_CACHE or the user's
cache. Each measurement is kept in DIR/measurements.jsonl as soon as it is finished; stop with Ctrl-C at any time, and
the same command goes on from there. The end result is table.txt and table.csv in DIR."""


def add(commands: Commands) -> None:
    """Add the benchmark."""
    parser = add_benchmark(commands, "speed", "fits beside those of cblearn", _ABOUT, run, out="results/speed")
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


def run(options: argparse.Namespace) -> Report:
    """Run the benchmark."""
    from nearer.lab.benchmarks import speed
    from nearer.lab.common.programs import peer_program
    from nearer.lab.common.records import write_tables

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

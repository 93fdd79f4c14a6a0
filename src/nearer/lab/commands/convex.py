"""`nearer bench convex`."""

from __future__ import annotations

import argparse

from nearer.cli.parsing import Commands
from nearer.cli.values import positive
from nearer.lab.commands.benchmark import Report, add_benchmark

_ABOUT = """\
Time the convex solver of DMOE to a relative duality gap of 1e-4 for several penalties, and beside scs on one problem,
both to the same objective. scs comes with: pip install "nearer[bench]"."""


def add(commands: Commands) -> None:
    """Add the benchmark."""
    parser = add_benchmark(commands, "convex", "the convex solver, and scs", _ABOUT, run, seeded=False)
    parser.add_argument("--repeats", type=positive, default=5, metavar="N", help="fits of each (5)")


def run(options: argparse.Namespace) -> Report:
    """Run the benchmark."""
    from nearer.lab.benchmarks import convex

    rows = list(convex.settings_rows(options.repeats))
    text, figures = convex.convex_text(rows, options.repeats), {"benchmark": "convex", "table": rows}
    try:
        found = convex.compare_with_scs(convex.SCS_SIZE, options.repeats)
    except ImportError as error:
        return Report(f"{text}\n{error}\n", {**figures, "scs": None})
    return Report(f"{text}\n{convex.scs_text(found)}", {**figures, "minimum": found.minimum, "scs": found.rows})

"""What the benchmarks have in common: options, and what they return."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from nearer.cli.parsing import Commands
from nearer.cli.values import seed


class Report(NamedTuple):
    """What a benchmark has to say, to people and to programs."""

    text: str
    figures: dict[str, Any]


def add_benchmark(
    commands: Commands,
    name: str,
    summary: str,
    about: str,
    run: Callable[[argparse.Namespace], Report],
    *,
    out: str = "",
    seeded: bool = True,
) -> argparse.ArgumentParser:
    """Add a benchmark, and return its parser; ``out`` is the folder of its results, if it leaves any."""
    parser = commands.add_parser(
        name, help=summary, description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print JSON for programs; progress goes to stderr")
    if seeded:
        parser.add_argument("--seed", type=seed, default=0, metavar="N", help="of data and starts (0)")
    if out:
        parser.add_argument("--out", type=Path, default=Path(out), metavar="DIR", help=f"folder of results ({out})")
    parser.set_defaults(benchmark=run)
    return parser

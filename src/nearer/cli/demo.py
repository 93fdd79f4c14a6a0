"""`nearer demo`."""

from __future__ import annotations

import argparse
from pathlib import Path

from nearer.cli.arguments import Commands, add_command, add_seed, print_result

_ABOUT = """\
Simulate people who compare named colours, wrongly one time in nine, learn a map of the colours from their answers
alone, say how well it predicts answers it has not seen, and draw it."""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "demo", "learn and draw a map of colours", _ABOUT, command=run)
    parser.add_argument("--out", type=Path, default=Path("demo"), metavar="DIR", help="folder of colors.png (demo)")
    add_seed(parser, "the simulated answers")


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from nearer.study.demo import run_demo

    result = run_demo(options.out, options.seed)
    print_result(options, result.text(), result.as_dict())
    return 0

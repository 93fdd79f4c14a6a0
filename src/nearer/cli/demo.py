"""`nearer demo`."""

from __future__ import annotations

import argparse
from pathlib import Path

from nearer.cli.parsing import Commands, add_command, say
from nearer.cli.values import seed

_ABOUT = """\
Simulate people who compare named colours, wrongly one time in nine, learn a map of the colours from their answers
alone, say how well it predicts answers it has not seen, and draw it."""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "demo", "learn and draw a map of colours", _ABOUT, run)
    parser.add_argument("--out", type=Path, default=Path("demo"), metavar="DIR", help="folder of colors.png (demo)")
    parser.add_argument("--seed", type=seed, default=0, metavar="N", help="of the simulated answers (0)")


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from nearer.study.demo import run_demo

    result = run_demo(options.out, options.seed)
    say(options, result.text(), result.as_dict())
    return 0

"""`nearer plan`."""

from __future__ import annotations

import argparse
from pathlib import Path

from nearer.commands.parsing import Commands, add_command, natural, say

_KINDS = ("triplet", "quadruplet", "odd-one-out", "most-central", "grid", "ranking")
_ABOUT = """\
How many answers does a study need? Simulate studies of so many objects, with answers as noisy as expected, and find
the number that brings the error of the map down to the target, with an interval, the curve and the cost."""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "plan", "find out how many answers a study needs", _ABOUT, run)
    parser.add_argument("--objects", type=natural, required=True, metavar="N", help="objects to compare")
    parser.add_argument("--dimensions", type=natural, default=2, metavar="P", help="of their map (2)")
    parser.add_argument("--noise", type=_number, default=0.1, metavar="E", help="expected share of wrong answers (0.1)")
    parser.add_argument("--target", type=_number, default=0.15, metavar="E", help="error to reach (0.15)")
    parser.add_argument(
        "--against", choices=("answers", "truth"), default="answers",
        help="what the error is measured on: new answers, noise included, or the true order (answers)",
    )  # fmt: skip
    parser.add_argument("--kind", choices=_KINDS, default="triplet", help="how people will be asked (triplet)")
    parser.add_argument("--annotators", type=natural, default=None, metavar="N", help="people who will answer")
    parser.add_argument("--price", type=_number, default=None, metavar="X", help="of one answer")
    parser.add_argument("--studies", type=natural, default=8, metavar="N", help="studies to simulate (8)")
    parser.add_argument("--seed", type=natural, default=0, metavar="N", help="of the simulated studies (0)")
    parser.add_argument(
        "-o", "--out", type=Path, default=None, metavar="FILE", help="picture of the curve, such as plan.png"
    )


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from nearer.planning import plan, plot_plan
    from nearer.plotting import save_figure

    found = plan(
        options.objects,
        options.dimensions,
        noise=options.noise,
        target_error=options.target,
        n_annotators=options.annotators,
        price=options.price,
        kind=options.kind,
        against=options.against,
        n_replications=options.studies,
        random_state=options.seed,
    )
    if options.out is not None:
        save_figure(plot_plan(found), options.out)
    say(options, str(found), found.as_dict())
    return 0


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"a number is needed, not {text!r}") from None

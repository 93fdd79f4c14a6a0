"""`nearer plan`."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nearer.cli.parsing import Commands, add_command, add_reading, add_seed, read_file, say, tell
from nearer.cli.values import dimensions, error, noise, positive, price

if TYPE_CHECKING:
    from nearer.data.comparisons import Comparisons
    from nearer.planning import Design, NoiseEstimate

_FEWEST_LEFT = 100
_ABOUT = """\
How many answers does a study need? Simulate studies of so many objects, with answers as noisy as expected, and find
the number that brings the error of the map down to the target, with an interval, the curve and the cost.

A file of first answers says more than a guess: with --like FILE the noise is estimated from it, and with --at M the
error that M answers asked as in the file will reach is predicted from its questions and the map learned from it."""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "plan", "find out how many answers a study needs", _ABOUT, command=run)
    parser.add_argument(
        "--objects", type=positive, default=None, metavar="N", help="objects to compare (those of FILE)"
    )
    parser.add_argument("--dimensions", type=dimensions, default=2, metavar="P", help="of their map (2)")
    parser.add_argument(
        "--noise", type=noise, default=None, metavar="E", help="expected share of wrong answers (0.1; that of FILE)"
    )
    parser.add_argument("--target", type=error, default=0.15, metavar="E", help="error to reach (0.15)")
    parser.add_argument("--at", type=positive, default=None, metavar="M", help="predict the error at M answers instead")
    parser.add_argument(
        "--against", choices=("answers", "truth"), default="answers",
        help="what the error is measured on: new answers, noise included, or the true order (answers)",
    )  # fmt: skip
    parser.add_argument("--annotators", type=positive, default=None, metavar="N", help="people who will answer")
    parser.add_argument("--price", type=price, default=None, metavar="X", help="of one answer")
    parser.add_argument("--studies", type=positive, default=8, metavar="N", help="studies to simulate (8)")
    add_seed(parser, "the simulated studies")
    parser.add_argument("-o", "--out", type=Path, default=None, metavar="FILE", help="picture of the curve (none)")
    parser.add_argument(
        "--like", type=Path, default=None, dest="file", metavar="FILE", help="first answers of the study"
    )
    add_reading(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from nearer.common.words import counted, percent
    from nearer.planning import estimate_noise

    if options.at is not None and options.out is not None:
        raise ValueError("--out draws the curve on the way to a target, and there is none with --at")
    if options.file is None and options.objects is None:
        raise ValueError("say how many objects there are with --objects, or give first answers with --like FILE")
    pilot = estimate = None
    lines, figures = [], {}
    if options.file is not None:
        answers = read_file(options)
        pilot, options.kind = answers.comparisons, options.kind or answers.kind
        tell(f"noise of the answers in {options.file.name}")
        estimate = estimate_noise(pilot, options.dimensions, random_state=options.seed)
        options.objects = options.objects or pilot.n_objects
        options.noise = estimate.noise if options.noise is None else options.noise
        lines.append(
            f"{percent(estimate.noise)} of the answers in {options.file.name} are wrong ({percent(estimate.low)} to "
            f"{percent(estimate.high)}), judging by maps of {counted(options.dimensions, 'dimension')}."
        )
        figures["estimated_noise"] = {"noise": estimate.noise, "low": estimate.low, "high": estimate.high}
    tell(f"{counted(options.studies, 'simulated study', 'simulated studies')} of {counted(options.objects, 'object')}")
    text, found = _number_of_answers(options) if options.at is None else _error_at(options, pilot, estimate)
    say(options, "\n".join([*lines, text]), figures | found)
    return 0


def _number_of_answers(options: argparse.Namespace) -> tuple[str, dict[str, Any]]:
    """Return how many answers reach the target, in words and in figures."""
    from nearer.planning import plan, plot_plan
    from nearer.plotting import save_figure

    found = plan(
        _design(options, options.annotators),
        options.target,
        against=options.against,
        price=options.price,
        n_replications=options.studies,
        random_state=options.seed,
    )
    if options.out is not None:
        save_figure(plot_plan(found), options.out)
    return str(found), found.as_dict()


def _error_at(
    options: argparse.Namespace, pilot: Comparisons | None, estimate: NoiseEstimate | None
) -> tuple[str, dict[str, Any]]:
    """Return the error that a number of answers will reach, in words and in figures."""
    import numpy as np

    from nearer.common.words import counted, figure, interval, level_of, money
    from nearer.planning import predict_error
    from nearer.planning.plans import floor_of, measured_on

    alike: dict[str, Any] = {}
    if pilot is not None and estimate is not None and options.objects == pilot.n_objects:
        alike["points"] = estimate.points
        # Those beyond M judge the map; with too few of them, questions are drawn at random.
        if len(np.unique(pilot.trials) if pilot.trials is not None else pilot) >= options.at + _FEWEST_LEFT:
            alike["questions"] = pilot
    found = predict_error(
        _design(options, None if "questions" in alike else options.annotators),
        options.at,
        against=options.against,
        n_replications=options.studies,
        random_state=options.seed,
        **alike,
    )
    lines = [
        f"With {counted(options.at, 'answer')} the error {measured_on(options.against)} will be about "
        f"{figure(found.error)}; {level_of(found.level)} of simulated studies reach {interval(found.low, found.high)}.",
        *floor_of(found.floor),
    ]
    cost = {} if options.price is None else {"cost": options.price * options.at}
    lines += [f"The answers cost {money(cost['cost'])}."] if cost else []
    return "\n".join(lines), asdict(found) | cost


def _design(options: argparse.Namespace, n_annotators: int | None) -> Design:
    from nearer.planning import Design

    noise = 0.1 if options.noise is None else float(options.noise)
    return Design(options.objects, options.dimensions, noise, kind=options.kind or "triplet", n_annotators=n_annotators)

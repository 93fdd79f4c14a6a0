"""`nearer plan`."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nearer.cli.argtypes import dimensions, error, noise, positive, price
from nearer.cli.arguments import Commands, add_command, add_reading, add_seed, log_step, print_result, read_file

if TYPE_CHECKING:
    from nearer.design.planning import Design, NoiseEstimate

_ABOUT = """\
How many answers does a study need? Simulate studies of so many objects, with answers as noisy as expected, and find
the number that brings the error of the map down to the target, with an interval, the curve and the cost.

A file of first answers says more than a guess: with --like FILE what they leave possible, the map, how noisy answers
are and how people differ, is drawn anew for each simulated study, which goes on after these answers. With another
number of --objects it is a new study, of objects and people like these. With --at M the error that M answers will reach
is predicted."""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "plan", "find out how many answers a study needs", _ABOUT, command=run)
    parser.add_argument(
        "--objects", type=positive, default=None, metavar="N", help="objects to compare (those of FILE)"
    )
    parser.add_argument("--dimensions", type=dimensions, default=2, metavar="P", help="of their map (2)")
    parser.add_argument("--noise", type=noise, default=None, metavar="E", help="expected share of wrong answers (0.1)")
    parser.add_argument(
        "--noise-model", choices=("close-calls", "guesses"), default=None,
        help="whether errors are close calls, or guesses whatever the distances (close-calls)",
    )  # fmt: skip
    parser.add_argument(
        "--target", type=error, default=None, metavar="E",
        help="error to reach (0.05 above the noise; with --against truth 0.15)",
    )  # fmt: skip
    parser.add_argument("--at", type=positive, default=None, metavar="M", help="predict the error at M answers instead")
    parser.add_argument(
        "--against", choices=("answers", "truth"), default="answers",
        help="what the error is measured on: new answers, noise included, or the true order (answers)",
    )  # fmt: skip
    parser.add_argument("--annotators", type=positive, default=None, metavar="N", help="people who will answer")
    parser.add_argument("--price", type=price, default=None, metavar="X", help="of one answer")
    parser.add_argument(
        "--studies", type=positive, default=None, metavar="N", help="studies to simulate (20; with --at 40)"
    )
    add_seed(parser, "the simulated studies")
    parser.add_argument("-o", "--out", type=Path, default=None, metavar="FILE", help="picture of the curve (none)")
    parser.add_argument(
        "--like", type=Path, default=None, dest="file", metavar="FILE", help="first answers of the study"
    )
    add_reading(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from nearer._common.formatting import percent, pluralize
    from nearer.design.planning import estimate_noise

    if options.at is not None and options.out is not None:
        raise ValueError("--out draws the curve on the way to a target, and there is none with --at")
    if options.file is None and options.objects is None:
        raise ValueError("say how many objects there are with --objects, or give first answers with --like FILE")
    if options.file is not None and (options.noise is not None or options.noise_model is not None):
        raise ValueError(
            "--like takes the noise and what it is like from the answers in FILE; leave out --noise and --noise-model, "
            "or leave out --like to plan without first answers"
        )
    pilot = None
    lines, figures = [], {}
    if options.file is not None:
        answers = read_file(options)
        options.kind = options.kind or answers.kind
        log_step(f"noise of the answers in {options.file.name}")
        pilot = estimate_noise(answers.comparisons, options.dimensions, random_state=options.seed)
        options.objects = options.objects or answers.comparisons.n_objects
        options.noise = pilot.noise
        lines.append(
            f"{percent(pilot.noise)} of the answers in {options.file.name} are wrong (90% interval "
            f"{percent(pilot.low)} to {percent(pilot.high)}), judging by maps of "
            f"{pluralize(options.dimensions, 'dimension')}."
        )
        figures["estimated_noise"] = {"noise": pilot.noise, "low": pilot.low, "high": pilot.high}
    options.studies = options.studies or (20 if options.at is None else 40)
    log_step(
        f"{pluralize(options.studies, 'simulated study', 'simulated studies')} of "
        f"{pluralize(options.objects, 'object')}"
    )
    text, found = _number_of_answers(options, pilot) if options.at is None else _error_at(options, pilot)
    print_result(options, "\n".join([*lines, text]), figures | found)
    return 0


def _number_of_answers(options: argparse.Namespace, pilot: NoiseEstimate | None) -> tuple[str, dict[str, Any]]:
    """Return how many answers reach the target, in words and in figures."""
    from nearer.design.planning import plan, plot_plan
    from nearer.plotting import save_figure

    found = plan(
        _design(options),
        options.target,
        against=options.against,
        pilot=pilot,
        price=options.price,
        n_replications=options.studies,
        random_state=options.seed,
    )
    if options.out is not None:
        save_figure(plot_plan(found), options.out)
    return str(found), found.as_dict()


def _error_at(options: argparse.Namespace, pilot: NoiseEstimate | None) -> tuple[str, dict[str, Any]]:
    """Return the error that a number of answers will reach, in words and in figures."""
    from nearer._common.formatting import decimals, format_interval, format_level, format_money, pluralize
    from nearer.design.planning import predict_error
    from nearer.design.planning.plans import floor_of, measured_on

    found = predict_error(
        _design(options),
        options.at,
        against=options.against,
        pilot=pilot,
        n_replications=options.studies,
        random_state=options.seed,
    )
    lines = [
        f"With {pluralize(options.at, 'answer')} the error {measured_on(options.against)} will be about "
        f"{decimals(found.error)}; {format_level(found.level)} of simulated studies reach "
        f"{format_interval(found.low, found.high)}.",
        *floor_of(found.floor),
    ]
    if pilot is not None and pilot.continued_by(_design(options)):
        there = pluralize(min(pilot.n_answers, options.at), "answer")
        lines.append(f"{there} of {options.file.name} count among them; further questions are drawn at random.")
    cost = {} if options.price is None else {"cost": options.price * options.at}
    lines += [f"The answers cost {format_money(cost['cost'])}."] if cost else []
    return "\n".join(lines), asdict(found) | cost


def _design(options: argparse.Namespace) -> Design:
    from nearer.design.planning import Design

    return Design(
        options.objects,
        options.dimensions,
        0.1 if options.noise is None else float(options.noise),
        kind=options.kind or "triplet",
        noise_model=options.noise_model or "close-calls",
        n_annotators=options.annotators,
    )

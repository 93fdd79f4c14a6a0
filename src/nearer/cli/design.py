"""`nearer ask` and `nearer plan`: which questions to ask next, and how many answers a study needs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nearer._common.formatting import decimals, format_interval, format_level, format_money, percent, pluralize
from nearer.cli import argtypes, arguments
from nearer.cli.argtypes import dimensions, names_or_file, noise, positive, share, share_or_none
from nearer.cli.arguments import (
    Commands,
    add_command,
    add_features,
    add_reading,
    add_seed,
    dimension_of,
    features_of,
    log_step,
    print_result,
)
from nearer.cli.process import INTERRUPTED

if TYPE_CHECKING:
    from nearer.design import Design, NoiseEstimate
    from nearer.design.lists.generate import ListRequest, StudyHistory

_ASK = """\
Choose the next questions of a study: those whose answers are most informative about the map, given the answers so far.

  nearer ask answers.csv -n 200 -o questions.csv               go on with a study
  nearer ask --objects names.txt -n 600 -o questions.csv       begin one, from the names of its objects
  nearer ask answers.csv --objects more.txt -n 200 -o q.csv    add objects to it
  nearer ask --features vectors.csv -n 100 -o questions.csv    begin one with objects of which something is known

The ending of -o is the format: .csv for anything, .json for jsPsych, .txt for Qualtrics, .jsonl for programs. With
--participants each of them gets a list of -n questions, and nobody gets a question twice. A share of the questions is
random: chosen ones are harder than others, so that only the random ones give an unbiased error. The column purpose
marks them; keep it with the answers for the next `nearer ask`."""
_PLAN = """\
How many answers does a study need? Simulate studies of so many objects, with answers as noisy as expected, and find
the number that brings the error of the map down to the target, with an interval, the curve and the cost.

A file of first answers says more than a guess: with --like FILE what they leave possible, the map, how noisy answers
are and how people differ, is drawn anew for each simulated study, which goes on after these answers. With another
number of --objects it is a new study, of objects and people like these. With --at M the error that M answers will reach
is predicted.

With --power the plan says how likely a study detects that two groups differ, that people weigh axes differently, or
that a model correlates with the map:

  nearer plan --objects 20 --power groups --people 20,40 --answers 50 --effect 0.5    an object moved by half the spread
  nearer plan --objects 20 --power people --people 30 --answers 50,100 --effect 0.7   standard deviation of log weights
  nearer plan --objects 20 --power models --people 10 --answers 30 --effect 0.3       correlation with true distances

With --features FILE maps of simulated studies are learned from answers and features, and the plan says how many answers
are needed with them and without. How much they explain is learned from first answers; without these, a share of the
variance of places between 0.5 and 0.85 is assumed, as real ones had. Yours may explain less (--feature-share)."""


def add(commands: Commands) -> None:
    """Add the commands."""
    _add_ask(commands)
    _add_plan(commands)


def _add_ask(commands: Commands) -> None:
    parser = add_command(commands, "ask", "choose the next questions of a study", _ASK, command=_ask)
    files = parser.add_argument(
        "file", type=Path, nargs="+", default=[], metavar="FILE",
        help="answers so far: CSV, TSV, Parquet, JSON lines or npz, or a folder, or several files; none to begin with",
    )  # fmt: skip
    files.required = False  # nargs="*" would be taken as empty by the first option
    parser.add_argument(
        "-n", "--questions", type=positive, required=True, metavar="N",
        help="questions of each participant, or in all without --participants; catch trials are added to them",
    )  # fmt: skip
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="FILE", help="file of the questions")
    parser.add_argument(
        "--format", choices=("csv", "jspsych", "qualtrics", "jsonl"), help="format of the file (default: by its ending)"
    )
    parser.add_argument(
        "--objects", type=Path, metavar="FILE",
        help="names of the objects, one on each line or in a column called object (default: those of the answers)",
    )  # fmt: skip
    add_features(parser, "by which questions are chosen before there are answers", of_study=True)
    parser.add_argument(
        "--dimensions", type=dimensions, metavar="P",
        help="dimensions of the map that the questions are for (default: those of study.toml, or chosen by answers)",
    )  # fmt: skip
    _add_lists(parser)
    _add_pool(parser)
    add_seed(parser)
    add_reading(
        parser,
        {
            "type": argtypes.question_kind, "metavar": "KIND",
            "help": "how people are asked: triplet, odd-one-out, most-central, or '2 of 8' for a grid; also how they "
            "were, where the file does not say (default: that of the answers, or triplet)",
        },
    )  # fmt: skip


def _add_lists(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("lists")
    group.add_argument(
        "--participants", type=argtypes.number_or_names, metavar="N",
        help="their number, or their names, separated by commas or one on each line of a file (default: one list for "
        "anybody)",
    )  # fmt: skip
    group.add_argument(
        "--test-share", type=share_or_none, default=0.1, metavar="S",
        help="share of random questions, for an unbiased error (default: 0.1)",
    )  # fmt: skip
    group.add_argument(
        "--repeat-share", type=share_or_none, default=0.05, metavar="S",
        help="share of questions that are asked again, for the noise ceiling (default: 0.05)",
    )  # fmt: skip
    group.add_argument(
        "--catch-trials", type=argtypes.number_or_file, metavar="N",
        help="number of catch trials of each list, made from questions whose answers are certain; or a file of them, "
        "with their right answers (default: none)",
    )  # fmt: skip


def _add_pool(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("which questions")
    group.add_argument(
        "--focus", type=names_or_file, default=(), metavar="NAMES",
        help="objects whose distances from each other matter, separated by commas, or a file; or the word neighbors, "
        "where the order of the nearest neighbors of each object matters (default: the whole map)",
    )  # fmt: skip
    group.add_argument(
        "--apart", type=names_or_file, action="append", default=[], metavar="NAMES",
        help="objects that must not appear in one question, separated by commas; may be given again; or a file with "
        "such a group on each line",
    )  # fmt: skip
    group.add_argument(
        "--allowed", type=Path, metavar="FILE", help="the only questions that may be asked, one in each row"
    )


def _ask(options: argparse.Namespace) -> int:
    from nearer.design.lists.generate import format_summary, generate_lists, with_forecast
    from nearer.design.lists.sheets import format_of, write_sheets

    file_format = format_of(options.out, options.format)
    sources = [path for _, path in options.features]
    inputs = [*options.file, *sources, *filter(None, [options.objects, options.allowed])]
    for path in inputs:
        if path.resolve() == options.out.resolve():
            raise ValueError(f"{options.out} would be written over by the questions; choose another file with -o")
        if path.is_dir() and path.resolve() == options.out.resolve().parent:
            raise ValueError(f"{options.out} would be read among the answers in {path}; choose another folder with -o")
    history = _history(options) if options.file else None
    lists = generate_lists(_request(options, history), history, log_step)
    for note in lists.notes:
        arguments.log_note(note)
    files = write_sheets(lists.trials, lists.kind, options.out, file_format)
    lists = with_forecast(lists, log_step)  # the questions are written even if this fails
    result = lists.to_dict(files) | {"format": file_format, "seed": options.seed}
    print_result(options, format_summary(lists, files), result)
    return 0


def _history(options: argparse.Namespace) -> StudyHistory:
    """Return the answers so far, with the columns that an earlier file of questions brought with it."""
    from nearer.design.lists.generate import StudyHistory

    kind, options.kind = options.kind, _kind_read(options.kind)
    first = arguments.read_file(options, verbose=False)
    purpose = next((column for column in first.report.unused if column.lower() == "purpose"), None)
    trial = next(iter(first.report.columns.get("trial", ())), None)
    answers = arguments.read_file(options, also=[column for column in (purpose, trial) if column]).with_paths()
    options.kind = kind
    return StudyHistory.of(answers, purpose, trial)


def _kind_read(kind: str | None) -> Any:
    """Return the kind that a file is read as."""
    return "grid" if kind is not None and " of " in kind else kind


def _request(options: argparse.Namespace, history: StudyHistory | None) -> ListRequest:
    """Return what the options ask for; names and catch trials are read from their files."""
    from nearer.design.lists.generate import ListRequest
    from nearer.design.lists.inputs import ASKABLE_KINDS, names_or_file, read_groups, read_names
    from nearer.design.mix import QuestionMix
    from nearer.io import read_answers

    if options.test_share + options.repeat_share >= 1:
        raise ValueError("--test-share and --repeat-share must leave room for other questions: below 1 together")
    people, catches = options.participants, options.catch_trials
    if isinstance(catches, Path):
        same = history is not None and history.answers.kind in ASKABLE_KINDS
        kind = _kind_read(options.kind) or (history.answers.kind if history and same else None)
        catches = read_answers(catches, kind, separate_labels=True).with_paths()  # few, and made by hand
    return ListRequest(
        options.questions,
        [] if options.objects is None else read_names(options.objects),
        options.kind,
        dimension_of(options),
        people if people is None or isinstance(people, int) else names_or_file(people, "participant"),
        mix=QuestionMix(options.test_share, options.repeat_share),
        catches=catches,
        focus=names_or_file(options.focus, "object"),
        apart=read_groups(options.apart),
        allowed=options.allowed,
        features=[each.features for each in features_of(options)],
        seed=options.seed,
    )


def _add_plan(commands: Commands) -> None:
    parser = add_command(commands, "plan", "find out how many answers a study needs", _PLAN, command=_plan)
    parser.add_argument("--objects", type=positive, metavar="N", help="number of objects (default: those of FILE)")
    what = "dimensions of their map (default: those of study.toml, or 2)"
    parser.add_argument("--dimensions", type=dimensions, metavar="P", help=what)
    parser.add_argument("--noise", type=noise, metavar="E", help="expected share of wrong answers (default: 0.1)")
    parser.add_argument(
        "--noise-model", choices=("close-calls", "guesses"),
        help="whether errors are close calls, or guesses whatever the distances (default: close-calls)",
    )  # fmt: skip
    parser.add_argument(
        "--target", type=argtypes.error, metavar="E",
        help="error to reach (default: 0.05 above the noise; with --against truth 0.15)",
    )  # fmt: skip
    parser.add_argument("--at", type=positive, metavar="M", help="predict the error at M answers instead")
    parser.add_argument(
        "--against", choices=("answers", "truth"), default="answers",
        help="what the error is measured on: new answers, noise included, or the true order (default: answers)",
    )  # fmt: skip
    parser.add_argument("--annotators", type=positive, metavar="N", help="number of people who will answer")
    parser.add_argument("--price", type=argtypes.price, metavar="X", help="price of one answer")
    parser.add_argument(
        "--studies",
        type=positive,
        metavar="N",
        help="studies to simulate (default: 20; with --at 40, with --power 100)",
    )
    add_features(parser, "with which maps are learned", of_study=True)
    parser.add_argument(
        "--feature-share", type=share_or_none, metavar="S",
        help="share of the variance of places that features explain (default: between 0.5 and 0.85; with --like as "
        "learned)",
    )  # fmt: skip
    _add_power(parser)
    add_seed(parser)
    parser.add_argument("-o", "--out", type=Path, metavar="FILE", help="picture of the curve (default: none)")
    parser.add_argument("--like", type=Path, dest="file", metavar="FILE", help="first answers of the study")
    add_reading(parser)


def _add_power(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("power")
    group.add_argument(
        "--power", choices=("groups", "people", "models"), help="what a study should detect, in place of a target"
    )
    group.add_argument(
        "--people", type=argtypes.positives, metavar="N,...", help="numbers of people, or of those in each group"
    )
    group.add_argument("--answers", type=argtypes.positives, metavar="M,...", help="numbers of answers of each person")
    group.add_argument(
        "--effect", type=argtypes.effect, metavar="E",
        help="how far objects are moved in one group, as a share of the spread of the map; the standard deviation of "
        "the logarithms of people's weights; or the correlation of a model with the true distances",
    )  # fmt: skip
    group.add_argument(
        "--moved",
        type=share,
        metavar="S",
        help="share of the objects that one group sees elsewhere (default: one object)",
    )


def _check_power(options: argparse.Namespace) -> None:
    """Refuse options that do nothing with or without --power, and ask for those that are needed."""
    needed = {"--people": options.people, "--answers": options.answers, "--effect": options.effect}
    if options.power is None:
        extra = [name for name, value in {**needed, "--moved": options.moved}.items() if value is not None]
        if extra:
            raise ValueError(f"{extra[0]} belongs to --power; say what a study should detect, such as --power groups")
        return
    missing = [name for name, value in needed.items() if value is None]
    if missing:
        raise ValueError(f"--power needs --people, --answers and --effect; add {' and '.join(missing)}")
    unused = {name: getattr(options, name) for name in ("target", "at", "annotators", "price", "out", "feature_share")}
    unused |= {
        "features": options.features or None,
        "against": options.against if options.against != "answers" else None,
    }
    for name, value in unused.items():
        if value is not None:
            raise ValueError(f"--{name.replace('_', '-')} does nothing for --power; leave it out")


def _plan(options: argparse.Namespace) -> int:
    _check_power(options)
    if options.at is not None and options.out is not None:
        raise ValueError("--out draws the curve on the way to a target, and there is none with --at")
    if options.file is None and options.objects is None and not options.features:
        raise ValueError(
            "say how many objects there are with --objects, or give first answers with --like FILE, or their --features"
        )
    if options.file is not None and options.feature_share is not None:
        raise ValueError("--like takes the share of features from the answers in FILE; leave out --feature-share")
    if options.file is not None and (options.noise is not None or options.noise_model is not None):
        raise ValueError(
            "--like takes the noise and what it is like from the answers in FILE; leave out --noise and --noise-model, "
            "or leave out --like to plan without first answers"
        )
    pilot = None
    lines: list[str] = []
    figures: dict[str, Any] = {}
    if options.file is not None:
        from nearer.design import estimate_noise

        answers = arguments.read_file(options)
        sets = [each.features for each in features_of(options)]
        options.kind, options.dimensions = options.kind or answers.kind, dimension_of(options) or 2
        log_step(f"noise of the answers in {options.file.name}")
        pilot = estimate_noise(
            answers.comparisons, options.dimensions, features=sets or None, random_state=options.seed
        )
        options.objects = options.objects or pilot.comparisons.n_objects
        options.noise = pilot.noise
        lines.append(
            f"{percent(pilot.noise)} of the answers in {options.file.name} are wrong (90% interval "
            f"{percent(pilot.low)} to {percent(pilot.high)}), judging by maps of "
            f"{pluralize(options.dimensions, 'dimension')}."
        )
        figures["estimated_noise"] = {"noise": pilot.noise, "low": pilot.low, "high": pilot.high}
    else:
        from nearer.data.features import described_objects

        sets = [each.features for each in features_of(options)]
        options.objects = options.objects or len(described_objects(sets) or sets[0].values)
    options.known = sets if pilot is None and sets else None
    options.dimensions = options.dimensions or 2
    options.studies = options.studies or (100 if options.power else 20 if options.at is None else 40)
    log_step(
        f"{pluralize(options.studies, 'simulated study', 'simulated studies')} of "
        f"{pluralize(options.objects, 'object')}"
    )
    if options.power is not None:
        text, found = _power(options, pilot)
    else:
        text, found = _number_of_answers(options, pilot) if options.at is None else _error_at(options, pilot)
    print_result(options, "\n".join([*lines, text]), figures | found)
    return INTERRUPTED if found.get("interrupted") else 0


def _power(options: argparse.Namespace, pilot: NoiseEstimate | None) -> tuple[str, dict[str, Any]]:
    """Return how likely studies detect an effect, in words and in figures; after Ctrl-C of those that are done."""
    from nearer.comparing import Power, predict_power
    from nearer.comparing.power import power_table

    found: list[Power] = []
    sizes = [(people, answers) for people in options.people for answers in options.answers]
    try:
        for people, answers in sizes:
            if len(sizes) > 1:
                log_step(f"{pluralize(people, 'person', 'people')} with {pluralize(answers, 'answer')} each")
            found.append(
                predict_power(
                    options.power, _design(options), people, answers, options.effect, moved=options.moved, pilot=pilot,
                    n_replications=options.studies, random_state=options.seed,
                )
            )  # fmt: skip
            if found[-1].interrupted:
                break
    except KeyboardInterrupt:
        if not found:
            raise
    text = str(found[0]) if len(sizes) == 1 else power_table(found)
    interrupted = len(found) < len(sizes) or found[-1].interrupted
    return text, {"powers": [each.to_dict() for each in found], "interrupted": interrupted}


def _number_of_answers(options: argparse.Namespace, pilot: NoiseEstimate | None) -> tuple[str, dict[str, Any]]:
    """Return how many answers reach the target, in words and in figures."""
    from nearer.design import plan, plot_plan
    from nearer.plotting import save_figure

    found = plan(_design(options), options.target, price=options.price, **_simulation(options, pilot))
    if options.out is not None:
        save_figure(plot_plan(found), options.out)
    return str(found), found.to_dict()


def _error_at(options: argparse.Namespace, pilot: NoiseEstimate | None) -> tuple[str, dict[str, Any]]:
    """Return the error that a number of answers will reach, in words and in figures."""
    from nearer.design import predict_error
    from nearer.design.planning.features import describe_shares
    from nearer.design.planning.plans import describe_against, describe_floor

    found = predict_error(_design(options), options.at, **_simulation(options, pilot))
    lines = [
        f"With {pluralize(options.at, 'answer')} the error {describe_against(options.against)} will be about "
        f"{decimals(found.error)}; {format_level(found.level)} of simulated studies reach "
        f"{format_interval(found.low, found.high)}.",
        *describe_floor(found.floor),
    ]
    if found.without_features is not None:
        alone = found.without_features
        lines.insert(
            1, f"Without features it will be about {decimals(alone.error)} ({format_interval(alone.low, alone.high)})."
        )
        lines.insert(2, describe_shares(found.feature_share or {}, is_learned=pilot is not None))
    if pilot is not None and pilot.is_continued_by(_design(options)):
        there = pluralize(min(pilot.n_answers, options.at), "answer")
        lines.append(f"{there} of {options.file.name} are included; further questions are drawn at random.")
    cost = {} if options.price is None else {"cost": options.price * options.at}
    lines += [f"The answers cost {format_money(cost['cost'])}."] if cost else []
    return "\n".join(lines), found.to_dict() | cost


def _simulation(options: argparse.Namespace, pilot: NoiseEstimate | None) -> dict[str, Any]:
    """Return the design of the studies to simulate, for either kind of plan."""
    return {
        "against": options.against, "pilot": pilot, "features": options.known, "feature_share": options.feature_share,
        "n_replications": options.studies, "random_state": options.seed,
    }  # fmt: skip


def _design(options: argparse.Namespace) -> Design:
    from nearer.design import Design

    return Design(
        options.objects,
        options.dimensions,
        0.1 if options.noise is None else float(options.noise),
        kind=options.kind or "triplet",
        noise_model=options.noise_model or "close-calls",
        n_annotators=options.annotators,
    )

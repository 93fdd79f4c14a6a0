"""`nearer ask`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nearer.cli.argtypes import (  # fmt: skip
    dimensions,
    names_or_file,
    number_or_file,
    number_or_names,
    positive,
    question_kind,
    share_or_none,
)
from nearer.cli.arguments import Commands, add_command, add_reading, add_seed, log_step, print_result, read_file

if TYPE_CHECKING:
    from nearer.design.lists.generate import ListRequest, StudyHistory

_ABOUT = """\
Write the next questions of a study: those whose answers tell most about the map, given the answers so far.

  nearer ask answers.csv -n 200 -o questions.csv               go on with a study
  nearer ask --objects names.txt -n 600 -o questions.csv       begin one, from the names of its objects
  nearer ask answers.csv --objects more.txt -n 200 -o q.csv    add objects to it

The ending of -o says for what: .csv for anything, .json for jsPsych, .txt for Qualtrics. With --participants each of
them gets a list of -n questions, and nobody gets a question twice. A share of the questions is random: chosen ones are
harder than others, so that only the random ones give an unbiased error. The column purpose says which they are; keep it
with the answers, and the next `nearer ask` knows."""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "ask", "choose the next questions of a study", _ABOUT, command=run)
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
        "--format", choices=("csv", "jspsych", "qualtrics"), help="what to write (by the ending of the file)"
    )
    parser.add_argument(
        "--objects", type=Path, metavar="FILE",
        help="names of the objects, one on each line or in a column called object (those of the answers)",
    )  # fmt: skip
    parser.add_argument(
        "--dimensions", type=dimensions, metavar="P", help="of the map that the questions are for (the answers decide)"
    )
    _add_lists(parser)
    _add_pool(parser)
    add_seed(parser, "what is drawn")
    add_reading(
        parser,
        {
            "type": question_kind, "metavar": "KIND",
            "help": "how people are asked: triplet, odd-one-out, most-central, or '2 of 8' for a grid; also how they "
            "were, where the file does not say (that of the answers, else triplet)",
        },
    )  # fmt: skip


def _add_lists(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("lists")
    group.add_argument(
        "--participants", type=number_or_names, metavar="N",
        help="how many, or their names, separated by commas or one on each line of a file (one list for anybody)",
    )  # fmt: skip
    group.add_argument(
        "--test-share",
        type=share_or_none,
        default=0.1,
        metavar="S",
        help="share of random questions, for an unbiased error (0.1)",
    )
    group.add_argument(
        "--repeat-share", type=share_or_none, default=0.05, metavar="S",
        help="share of questions that are asked again, for the noise ceiling (0.05)",
    )  # fmt: skip
    group.add_argument(
        "--catch-trials", type=number_or_file, metavar="N",
        help="how many catch trials each list gets, made from what the answers leave no doubt about; or a file of "
        "them, with their right answers (none)",
    )  # fmt: skip


def _add_pool(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("which questions")
    group.add_argument(
        "--focus", type=names_or_file, default=(), metavar="NAMES",
        help="objects whose distances from each other matter, separated by commas, or a file; or the word neighbors, "
        "where it matters which of its neighbors are nearer to each object (the whole map)",
    )  # fmt: skip
    group.add_argument(
        "--apart", type=names_or_file, action="append", default=[], metavar="NAMES",
        help="objects that must not meet in a question, separated by commas; may be given again; or a file with such a "
        "group on each line",
    )  # fmt: skip
    group.add_argument(
        "--allowed", type=Path, metavar="FILE", help="the only questions that may be asked, one in each row"
    )


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from nearer.design.lists.generate import format_summary, generate_lists, with_forecast
    from nearer.design.lists.sheets import format_of, write_sheets

    file_format = format_of(options.out, options.format)
    inputs = [*options.file, *filter(None, [options.objects, options.allowed])]
    for path in inputs:
        if path.resolve() == options.out.resolve():
            raise ValueError(f"{options.out} would be written over by the questions; choose another file with -o")
        if path.is_dir() and path.resolve() == options.out.resolve().parent:
            raise ValueError(f"{options.out} would be read among the answers in {path}; choose another folder with -o")
    history = _history(options) if options.file else None
    lists = generate_lists(_request(options, history), history, log_step)
    for note in lists.notes:
        sys.stderr.write(f"nearer: {note}\n")
    files = write_sheets(lists.trials, lists.kind, options.out, file_format)
    lists = with_forecast(lists, log_step)  # the questions are written even if this fails
    result = lists.to_dict(files) | {"format": file_format, "seed": options.seed}
    print_result(options, format_summary(lists, files), result)
    return 0


def _history(options: argparse.Namespace) -> StudyHistory:
    """Return the answers so far, with the columns that an earlier file of questions brought with it."""
    from nearer.design.lists.generate import StudyHistory

    kind, options.kind = options.kind, _kind_read(options.kind)
    first = read_file(options, told=False)
    purpose = next((column for column in first.report.unused if column.lower() == "purpose"), None)
    trial = next(iter(first.report.columns.get("trial", ())), None)
    answers = read_file(options, also=[column for column in (purpose, trial) if column]).with_paths()
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
        options.dimensions,
        people if people is None or isinstance(people, int) else names_or_file(people, "participant"),
        mix=QuestionMix(options.test_share, options.repeat_share),
        catches=catches,
        focus=names_or_file(options.focus, "object"),
        apart=read_groups(options.apart),
        allowed=options.allowed,
        seed=options.seed,
    )

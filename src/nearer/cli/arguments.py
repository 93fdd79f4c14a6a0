"""What the commands have in common: options, and what they do when something goes wrong."""

from __future__ import annotations

import argparse
import difflib
import json
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from nearer.cli.argtypes import KINDS, PAIR_KINDS, column_values, named_file, pairs, rule, scale, seed, word
from nearer.cli.process import complain

if TYPE_CHECKING:
    from nearer.data.dissimilarities import Dissimilarities
    from nearer.io import Answers
    from nearer.io.features import FeatureFile
    from nearer.io.multi_file import FileList
    from nearer.survey.exporting import StudyTable

FAILED = 2
Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


class Parser(argparse.ArgumentParser):
    """A parser whose errors quote no more of what arrived than is needed to find it."""

    def error(self, message: str) -> NoReturn:
        """End with the usage and a short sentence."""
        super().error(short(message, 60))

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Refuse what is not known at once: the parser of a command shows how that is used, not the program."""
        options, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return options, unknown

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse a value that is none of the choices, and name the one that may be meant."""
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            alike = difflib.get_close_matches(str(value)[:60], [str(choice) for choice in action.choices or ()], n=1)
            if alike:
                error.message = f"{error.message}; perhaps {alike[0]!r} is meant"
            raise


def short(message: str, most: int = 300) -> str:
    """Cut every word of a message that is longer than ``most`` characters, and the message after ten times as many.

    >>> short("no such file: " + "x" * 1000, most=20)
    'no such file: xxxxxxxxxxxxxxxxx...'
    """
    cut = re.sub(rf"\S{{{most + 1},}}", lambda word: f"{word[0][: most - 3]}...", message)
    return cut if len(cut) <= 10 * most else f"{cut[: 10 * most - 3]}..."


def add_command(
    commands: Commands, name: str, summary: str, about: str, **defaults: Callable[[argparse.Namespace], Any]
) -> argparse.ArgumentParser:
    """Add a command, or a part of one, with ``--json``, and return its parser; ``command=run`` is what it does."""
    parser = commands.add_parser(
        name, help=summary, description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print JSON for programs; progress goes to stderr")
    parser.set_defaults(**defaults)
    return parser


def add_seed(parser: argparse._ActionsContainer) -> None:
    """Add the random seed."""
    parser.add_argument("--seed", type=seed, default=0, metavar="N", help="random seed (default: 0)")


def add_folder(parser: argparse.ArgumentParser) -> None:
    """Add the folder of an earlier run."""
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder that `nearer fit` wrote")


def add_file(parser: argparse.ArgumentParser, *, of_pairs: bool = False) -> None:
    """Add files of answers, or ``of_pairs`` of dissimilarities, and the options that say how they are to be read."""
    parser.add_argument(
        "file", type=Path, nargs="+", metavar="FILE",
        help="answers: CSV, TSV, Excel, Parquet, JSON lines or npz, an answer a row; or a folder, or several files, "
        "such as one for each participant; or the folder of a study of `nearer survey`",
    )  # fmt: skip
    if not of_pairs:
        add_reading(parser)
        return
    about = "how people were asked, or what was said of pairs of objects (default: inferred from the columns)"
    add_reading(parser, {"choices": (*KINDS, *PAIR_KINDS), "help": about})
    group = parser.add_argument_group("how to read ratings and matrices")
    group.add_argument(
        "--high-is", choices=("different", "similar"),
        help="what a large number means (default: as the name of the column or the diagonal says, else different)",
    )  # fmt: skip
    group.add_argument(
        "--scale", type=scale, metavar="LOW,HIGH", help="ends of the scale; ratings beyond them cannot be used"
    )


def add_features(parser: argparse._ActionsContainer, about: str, *, of_study: bool = False) -> None:
    """Add files of features; ``about`` is what becomes of them, ``of_study``: those of study.toml are the default."""
    parser.add_argument(
        "--features", type=named_file, action="append", default=[], metavar="[NAME=]FILE",
        help=f"what is known of the objects, {about}: a row of numbers for each, as CSV, Parquet, npz, or npy with a "
        f"list of names; may be given again for further sets{' (default: those of study.toml)' if of_study else ''}",
    )  # fmt: skip
    if of_study:
        parser.add_argument(
            "--without-features", action="store_true", help="go by answers alone, even if study.toml names features"
        )


def features_of(options: argparse.Namespace) -> tuple[FeatureFile, ...]:
    """Return the feature sets that the options name, or else those in the settings of a study; after `read_file`."""
    from nearer.io.features import read_feature_files

    if getattr(options, "without_features", False):
        if options.features:
            raise ValueError("--features and --without-features contradict each other; leave out one of them")
        return ()
    study: StudyTable | None = getattr(options, "study_table", None)
    given = options.features or ([] if study is None else list(study.feature_files))
    return read_feature_files(given)


class _Merge(argparse.Action):
    """Takes an option that is given several times as one, so that what a message proposes may be added to a command."""

    def __call__(self, parser: object, namespace: argparse.Namespace, values: Any, option: str | None = None) -> None:
        setattr(namespace, self.dest, {**(getattr(namespace, self.dest) or {}), **values})


def add_reading(parser: argparse.ArgumentParser, kind: dict[str, Any] | None = None) -> None:
    """Add the options of reading answers; ``kind``: arguments of ``--kind`` in place of the usual ones."""
    group = parser.add_argument_group("how to read the file")
    usual = {
        "choices": KINDS,
        "help": "how people were asked (default: inferred from the names of the columns); in numbers without column "
        "names, the last is the odd one of an odd-one-out trial",
    }
    group.add_argument("--kind", **(kind or usual))
    group.add_argument(
        "--columns", type=pairs, action=_Merge, default=None, metavar="ROLE=NAME,...",
        help="roles of columns, such as anchor=Reference,answer=Choice,annotator=Subject (default: inferred from their "
        "names); shown=a+b+c for several, object_1=a,object_2=b,... for items, trial= for none; anchor=hue*size for an "
        "object that two columns make up",
    )  # fmt: skip
    group.add_argument("--preset", choices=("salmon", "jspsych", "cblearn"), help="the program that wrote the file")
    group.add_argument("--sheet", type=word, metavar="NAME", help="which sheet of a workbook, if it has several")
    group.add_argument(
        "--first-is", metavar="VALUE",
        help="the answer that stands for the first option, where answers are numbers, truth values or keys, such as 1",
    )  # fmt: skip
    group.add_argument("--skip-bad", action="store_true", help="skip and count rows that cannot be used")
    group.add_argument(
        "--undecided", choices=("drop", "split"), default="drop",
        help="answers such as \"can't tell\": drop and count them, or count half for each side (default: drop)",
    )  # fmt: skip
    group.add_argument("--weight-by-confidence", action="store_true", help="weight answers by confidence")
    group.add_argument(
        "--separate-labels", action="store_true",
        help="columns hold different objects by design, such as anchors that are never options",
    )  # fmt: skip
    group.add_argument(
        "--names", type=Path, metavar="FILE",
        help="names of the objects, where the answers hold numbers that count from 0: a name a line, or a table with a "
        "column uniqueID or name",
    )  # fmt: skip
    add_selecting(parser)


def add_selecting(parser: argparse.ArgumentParser) -> None:
    """Add the options that select rows of a file."""
    group = parser.add_argument_group("which answers to use")
    chosen: dict[str, Any] = {
        "type": column_values, "action": "append", "default": [], "metavar": "COLUMN=VALUE,..."
    }  # fmt: skip
    group.add_argument("--keep", **chosen, help="only rows with one of these values, such as condition=A")
    group.add_argument("--exclude", **chosen, help="no rows with one of these values, such as person=TEST,p07")
    group.add_argument(
        "--exclude-from", type=Path, action="append", default=[], metavar="FILE",
        help="no answers of the people in this file, one on each line",
    )  # fmt: skip
    group.add_argument(
        "--where", type=rule, action="append", default=[], metavar="RULE",
        help="only rows that satisfy a rule, such as 'rt > 0.2'; values as in the file",
    )  # fmt: skip
    group.add_argument(
        "--catch", type=word, default=None, metavar="COLUMN",
        help="column that marks catch questions, by their right answers or by yes and no; they are no part of the map, "
        "and show who does not pay attention",
    )  # fmt: skip


def read_file(
    options: argparse.Namespace, verbose: bool = True, also: Sequence[str] = (), known_labels: bool = False
) -> Answers:
    """Return the answers in the files that the options name, and further columns.

    ``verbose``: print what was noticed; ``known_labels``: the labels are those of a map.
    """
    from nearer._common.progress import elapsed_time

    with elapsed_time("reading answers"), warnings.catch_warnings():
        from nearer.io import read_answers

        study = _study_in(options)
        warnings.simplefilter("ignore", UserWarning)  # each is among the notes
        answers = read_answers(
            options.file if study is None else study.columns,
            options.kind,
            columns=options.columns,
            preset=options.preset,
            sheet=options.sheet,
            skip_bad=options.skip_bad,
            undecided=options.undecided,
            weight_by_confidence=options.weight_by_confidence,
            first_is=options.first_is,
            keep=_together(options.keep),
            exclude=_together([*options.exclude, *map(_people_in, options.exclude_from)]),
            where=options.where,
            also=also,
            catch=options.catch,
            separate_labels=options.separate_labels or known_labels or study is not None,
            names=options.names,
        )
    if study is not None:
        answers = study.named(answers)
    if verbose:
        for line in _report_lines(answers):
            log_note(line)
    return answers


def read_data(options: argparse.Namespace, verbose: bool = True) -> Answers | Dissimilarities:
    """Return the answers in the files that the options name, or the dissimilarities.

    Files that hold no answers to questions are tried as dissimilarities, which are recognized by their layout.
    """
    if options.kind in PAIR_KINDS or options.high_is or options.scale:
        return _read_pairs(options, verbose)
    try:
        return read_file(options, verbose)
    except ValueError as error:
        from nearer.io import BadAnswers
        from nearer.io.columns import AmbiguousColumns

        is_recognized = isinstance(error, BadAnswers) or (isinstance(error, AmbiguousColumns) and error.kinds)
        if options.kind is not None or is_recognized or any(map(is_study, options.file)):
            raise
        from nearer.io.dissimilarities import proposed_command
        from nearer.io.matrices import UnclearMatrix

        try:
            return _read_pairs(options, verbose)
        except UnclearMatrix:
            raise
        except (ValueError, OSError):
            proposed = proposed_command(options.file, options.sheet)
        raise ValueError(f"{error}{proposed}") if "\nTry:" not in str(error) else error from None


def _read_pairs(options: argparse.Namespace, verbose: bool) -> Dissimilarities:
    from nearer.io import read_dissimilarities

    if options.catch or options.preset or options.first_is is not None:
        raise ValueError("--catch, --preset and --first-is are for answers to questions; leave them out")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # each is among the findings
        data = read_dissimilarities(
            options.file, options.kind, columns=options.columns, sheet=options.sheet, high_is=options.high_is,
            scale=options.scale, skip_bad=options.skip_bad, keep=_together(options.keep),
            exclude=_together([*options.exclude, *map(_people_in, options.exclude_from)]), where=options.where,
        )  # fmt: skip
    if verbose:
        from nearer.io.messages import sentence as sentence_of

        for finding in data.findings:
            log_note(sentence_of(finding))
    return data


def _report_lines(answers: Answers) -> Iterator[str]:
    """Return what reading found out, a line each."""
    from nearer.io.column_checks import columns_line
    from nearer.io.columns import has_other_names

    report = answers.report
    yield from map(str, report.left_out)
    if report.catches:
        yield str(report.catches)
    if report.trial_numbers:
        examples = "".join(f"\n  {example}" for example in report.trial_numbers.listed(answers.source))
        yield f"warning: {answers.source}: {report.trial_numbers}{examples}"
    yield from report.notes
    if report.unused or has_other_names(report.columns):
        yield f"{answers.source}: {columns_line(report)}"


def dimension_of(options: argparse.Namespace) -> int | None:
    """Return the dimension asked for on the command line, or in the settings of a study; after `read_file`."""
    study: StudyTable | None = getattr(options, "study_table", None)
    given: int | None = options.dimensions
    return given if given is not None or study is None else study.n_components


def files_of(options: argparse.Namespace) -> FileList:
    """Return the files that the answers come from; of a study, what was in it when it was read."""
    from nearer.io.multi_file import file_list

    study: StudyTable | None = getattr(options, "study_table", None)
    return file_list(options.file) if study is None else study


def _study_in(options: argparse.Namespace) -> StudyTable | None:
    """Return the answers of a study, if its folder is what the options name, and keep them for `files_of`."""
    files = options.file if isinstance(options.file, list) else [options.file]
    if len(files) != 1 or not is_study(files[0]):
        return None
    from nearer.survey.exporting import study_table

    options.study_table = study_table(Path(files[0]))
    found: StudyTable = options.study_table
    return found


def is_study(folder: Path) -> bool:
    """Whether a folder is that of a survey study."""
    return (Path(folder) / "study.toml").is_file()


def _together(given: list[tuple[str, list[str]]]) -> dict[str, list[str]]:
    """Return the values of each column, whether they were given at once or one after the other."""
    together: dict[str, list[str]] = {}
    for column, values in given:
        together.setdefault(column, []).extend(values)
    return together


def _people_in(path: Path) -> tuple[str, list[str]]:
    """Return who is listed in a file; what follows a # is a remark."""
    from nearer.io.delimited import as_text, read_bytes

    text = as_text(read_bytes(path), path.name)
    lines = [line.partition("#")[0].strip() for line in text.splitlines()]
    people = [line for line in lines if line]
    if not people:
        raise ValueError(f"{path.name} lists nobody; write one person on each line")
    return "person", people


def log_step(step: str) -> None:
    """Announce a step that takes its time."""
    sys.stderr.write(f"nearer: {step} ...\n")


def log_note(note: str) -> None:
    """Print a remark on stderr."""
    sys.stderr.write(f"nearer: {note}\n")


def print_result(options: argparse.Namespace, text: str, figures: Any) -> None:
    """Print text for people, or figures for programs."""
    from nearer._common.json_files import plain_values

    written = json.dumps(plain_values(figures), indent=2, allow_nan=False) if options.json else text.rstrip()
    try:
        sys.stdout.write(written + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:  # which names no file
        raise OSError(error.errno, error.strerror, "the standard output") from error


def report_error(sentence: str, status: int = FAILED) -> int:
    """Print an error and return the exit status."""
    complain(f"nearer: {short(sentence)}\n")
    return status


def sentence(error: Exception, out: Path | None = None) -> str:
    """Return an error in a sentence; ``out`` is where results should go."""
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename} " if error.filename is not None else ""
        ours = out is not None and str(error.filename).startswith(str(out))
        advice = "; choose another folder with --out" if ours else ""
        return f"{where}cannot be used: {error.strerror.lower()}{advice}"
    if isinstance(error, ModuleNotFoundError) and str(error).startswith("No module named"):
        package = (error.name or "").partition(".")[0]
        return f"this needs {package}; install it with: pip install {package}"
    return str(error) or type(error).__name__

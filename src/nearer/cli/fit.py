"""`nearer check`, `nearer fit` and `nearer add`: from answers to a map."""

from __future__ import annotations

import argparse
import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nearer.cli.argtypes import dimensions, pairs, resamples, share
from nearer.cli.arguments import (
    Commands,
    add_command,
    add_features,
    add_file,
    add_folder,
    add_seed,
    dimension_of,
    features_of,
    files_of,
    is_study,
    log_note,
    log_step,
    print_result,
    read_data,
    read_file,
    report_error,
)
from nearer.cli.process import INTERRUPTED
from nearer.study.methods import METHOD_CLASSES

if TYPE_CHECKING:
    from nearer.checking import Findings
    from nearer.data.dissimilarities import Dissimilarities
    from nearer.study import DissimilarityStudy, Study
    from nearer.study.update import Changes

_CHECK = """\
Check a file of answers before a map is made of it: contradictions and cycles, objects that were hardly compared or are
not connected to the others, people who answer at random, too fast or always on one side, and whether there are enough
answers. The exit status is 1 if there are errors."""
_FIT = """\
Learn a map from a file of answers, and find out how far to trust it.

By default it samples the posterior: all maps that the answers leave possible, with their number of dimensions, the
noise of the answers and the reliability of people. With many answers a normal approximation takes the place of samples;
with fewer than 300 for each object, or more than 5,000 objects, held-out answers choose among faster methods (--method
best) and the number of dimensions. DIR gets embedding.csv (the map, with labels), distances.csv and
distances_spread.csv (between all objects, up to 1,000 of them, and how well each distance is known), model.json and
model.npz (for `nearer score` and `nearer place`), figures, log.txt (versions, seed and settings) and results.json, from
which `nearer report DIR` makes a page.
The same file, seed and versions give the same map. Ctrl-C keeps what was found until then.

Where `nearer check` would find an error, so that no map of the answers can be right, fit stops with status 1; with
--anyway it goes on, and the results state the error."""
_ADD = """\
Bring a map up to date with further answers. The answers that it was made from are stored with it; the map is learned
anew from all of them, with the same method and settings, and rotated onto the old one, so that objects stay where they
were as far as the answers leave them there. New objects are welcome. OUT gets all that `nearer fit` writes.

`nearer place` puts new objects onto a map without moving the others; `nearer score` judges a map by new answers."""


def add(commands: Commands) -> None:
    """Add the commands."""
    check = add_command(commands, "check", "find out what is wrong with a file of answers", _CHECK, command=_check)
    add_file(check, of_pairs=True)
    check.add_argument(
        "--dimensions", type=dimensions, metavar="P",
        help="dimensions of the map that the answers are for (default: 2, or those of study.toml)",
    )  # fmt: skip
    add_features(check, "to see whether they fit the answers", of_study=True)
    add_seed(check)
    fit = add_command(commands, "fit", "learn a map from a file of answers", _FIT, command=_fit)
    add_file(fit, of_pairs=True)
    fit.add_argument("-o", "--out", type=Path, required=True, metavar="DIR", help="folder of the results")
    group = fit.add_argument_group("what to fit")
    group.add_argument(
        "--method", choices=tuple(METHOD_CLASSES), default="auto",
        help="method (default: auto, which is posterior, or best for many objects with few answers each)",
    )  # fmt: skip
    group.add_argument(
        "--dimensions", type=dimensions, metavar="P",
        help="dimensions of the map (default: chosen by the answers, or those of study.toml)",
    )  # fmt: skip
    group.add_argument(
        "--set", type=pairs, default={}, dest="parameters", metavar="NAME=VALUE,...",
        help="settings of the method, such as trace=0.01",
    )  # fmt: skip
    add_features(group, "which make up for missing answers as far as they agree with those there are", of_study=True)
    add_seed(group)
    group.add_argument("--title", help="title of the report (default: the name of the file)")
    group.add_argument(
        "--weigh-annotators", action="store_true", help="weight answers by the reliability of the person"
    )
    _add_anyway(group)
    trust = fit.add_argument_group("how far to trust it")
    trust.add_argument("--quick", action="store_true", help="skip ellipses, learning curve and reliability of people")
    trust.add_argument(
        "--resamples", type=resamples, default=100, metavar="N",
        help="number of bootstrap maps behind the ellipses (default: 100)",
    )  # fmt: skip
    trust.add_argument(
        "--level", type=share, default=0.95, metavar="L", help="level of intervals and ellipses (default: 0.95)"
    )
    trust.add_argument(
        "--hold-out", choices=("trials", "annotators"), default="trials",
        help="what is held out and resampled as a whole: trials, for errors on further answers of the same people, or "
        "annotators, for further people (default: trials)",
    )  # fmt: skip
    update = add_command(commands, "add", "bring a map up to date with further answers", _ADD, command=_update)
    add_folder(update)
    add_file(update)
    update.add_argument(
        "-o", "--out", type=Path, required=True, metavar="OUT",
        help="folder of the results; that of the map itself is replaced",
    )  # fmt: skip
    add_features(update, "further rows for those of the map, such as of new objects")
    _add_anyway(update)


def _add_anyway(parser: argparse._ActionsContainer) -> None:
    parser.add_argument("--anyway", action="store_true", help="make a map even if the answers have errors")


def _check(options: argparse.Namespace) -> int:
    from nearer.checking import check
    from nearer.checking.findings import format_finding
    from nearer.data.dissimilarities import Dissimilarities
    from nearer.io.column_checks import columns_line

    answers = read_data(options, verbose=False)  # the notes are among the findings
    if isinstance(answers, Dissimilarities):
        return _check_pairs(options, answers)
    sets = [each.features for each in features_of(options)]
    findings = check(answers, n_components=dimension_of(options) or 2, random_state=options.seed, features=sets)
    report = answers.report
    figures = {
        "file": answers.source, "kind": answers.kind, "columns": report.columns,
        "unused": list(report.unused), "worst": findings.worst, "findings": findings.to_dicts(),
        "counts": dict(findings.counts), "bad_rows": list(report.skipped),
        "left_out": [left.to_dict() for left in report.left_out],
        "catches": None if report.catches is None else report.catches._asdict(),
    }  # fmt: skip
    catches = None if report.catches is None else str(report.catches)
    heading = filter(None, [findings.heading, columns_line(report), *map(str, report.left_out), catches])
    print_result(options, "\n\n".join(["\n".join(heading), *map(format_finding, findings)]), figures)
    return 1 if findings.worst == "error" else 0


def _check_pairs(options: argparse.Namespace, data: Dissimilarities) -> int:
    """Print what is wrong with dissimilarities."""
    from nearer.checking import check_dissimilarities
    from nearer.checking.findings import format_finding

    findings = check_dissimilarities(data, n_components=dimension_of(options) or 2)
    read = ", ".join(f"{role} = {name}" for role, name in data.columns.items())
    heading = [findings.heading, f"read: {read or 'a square matrix'}"]
    figures = {
        "file": data.source, "kind": data.kind, "columns": data.columns, "high_is": data.high_is,
        "known_by": data.known_by, "worst": findings.worst, "findings": findings.to_dicts(),
        "counts": dict(findings.counts),
    }  # fmt: skip
    print_result(options, "\n\n".join(["\n".join(heading), *map(format_finding, findings)]), figures)
    return 1 if findings.worst == "error" else 0


def _fit(options: argparse.Namespace) -> int:
    from nearer._common.progress import elapsed_time

    with elapsed_time("loading"):
        from nearer.data.dissimilarities import Dissimilarities
        from nearer.study import (
            ErroneousAnswers,
            Provenance,
            RunSettings,
            StudyInterrupted,
            run_dissimilarity_study,
            run_study,
        )
        from nearer.study.dissimilarities import DissimilarityStudy
        from nearer.study.folder import has_study, refuse_input

    given: dict[str, Any] = {
        "method": options.method,
        "parameters": {name: _value(text) for name, text in options.parameters.items()},
        "seed": options.seed,
        "n_resamples": options.resamples,
        "by": options.hold_out,
        "level": options.level,
        "quick": options.quick,
        "weigh_annotators": options.weigh_annotators,
    }
    RunSettings(**given)  # what is wrong with them is found before the file is read
    refuse_input([*options.file, *(path for _, path in options.features)], options.out)
    answers, features = read_data(options), features_of(options)
    sets = tuple(each.features for each in features)
    settings = RunSettings(n_components=dimension_of(options), **given, features=sets)
    replaces = has_study(options.out)
    provenance = Provenance.of_files(files_of(options), options.arguments, options.title, features)
    study: Study | DissimilarityStudy
    try:
        if isinstance(answers, Dissimilarities):
            study = run_dissimilarity_study(
                answers, settings, options.out, provenance, despite_errors=options.anyway, log_step=log_step
            )
        else:
            study = run_study(
                answers, settings, options.out, provenance, despite_errors=options.anyway, log_step=log_step
            )
    except ErroneousAnswers as error:
        return _stop(options, error.findings, "fit")
    except StudyInterrupted as stop:
        return report_error(f"stopped; {stop}", INTERRUPTED)
    if replaces:
        log_note(f"the results of an earlier run in {options.out} were replaced")
    return _print_pairs(options, study) if isinstance(study, DissimilarityStudy) else _print_study(options, study)


def _print_pairs(options: argparse.Namespace, study: DissimilarityStudy) -> int:
    """Print what was found of dissimilarities."""
    from nearer.report.verdict import verdict

    results = study.results
    assert results is not None
    judged, error = verdict(results), results.error
    folder = shlex.quote(str(options.out))
    text = [study.summary(), *judged.lines, f"written to {options.out}; for a page to look at: nearer report {folder}"]
    figures = {
        "folder": str(options.out), "files": study.files, "kind": study.data.kind, "n_objects": study.data.n_objects,
        "n_answers": study.data.n_answers, "dimensions": results.n_components, "method": results.settings.method,
        "stress": study.model.stress_, "error": None if error is None else error.held_out,
        "error_interval": None if error is None else [error.low, error.high], "reliability": results.reliability,
        "ellipse_size": results.ellipse_size, "verdict": judged.lines, "trust": judged.trust,
        "findings": study.findings.worst, "notes": study.notes,
    }  # fmt: skip
    print_result(options, "\n".join(text), figures)
    return 0


def _value(text: str) -> Any:
    """Return the value of a setting: JSON, or else text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _update(options: argparse.Namespace) -> int:
    from nearer.io.multi_file import file_list
    from nearer.study import ErroneousAnswers, Provenance, StoredStudy, StudyInterrupted, update_study
    from nearer.study.folder import refuse_input

    if any(map(is_study, options.file)):
        raise ValueError("a study keeps all its answers, those of before and those that came later: nearer fit STUDY")
    refuse_input([*options.file, *(path for _, path in options.features)], options.out)
    earlier = StoredStudy.read(options.folder)
    lot = Provenance.of_files(file_list(options.file), options.arguments)
    earlier.refuse_again(lot)
    answers = read_file(options)
    try:
        study, changes = update_study(
            earlier, answers, options.out, lot, features=features_of(options), despite_errors=options.anyway,
            log_step=log_step, log_note=log_note,
        )  # fmt: skip
    except ErroneousAnswers as error:
        return _stop(options, error.findings, "add")
    except StudyInterrupted as stop:
        return report_error(f"stopped; {stop}", INTERRUPTED)
    return _print_study(options, study, changes)


def _stop(options: argparse.Namespace, errors: Findings, command: str) -> int:
    """Print the errors in place of making a map."""
    advice = f"No map was made. See to this first, or use nearer {command} --anyway to make a map all the same."
    figures = {"folder": None, "findings": "error", "errors": errors.to_dicts()}
    print_result(options, f"{errors}\n\n{advice}", figures)
    return 1


def _print_study(options: argparse.Namespace, study: Study, changes: Changes | None = None) -> int:
    """Print what was found, and return the exit status."""
    from nearer.report.verdict import verdict

    assert study.results is not None
    judged, error, ceiling = verdict(study.results), study.error, study.ceiling
    folder = shlex.quote(str(options.out))
    text = [study.summary(), *judged.lines, f"written to {options.out}; for a page to look at: nearer report {folder}"]
    figures: dict[str, Any] = {
        "folder": str(options.out),
        "files": study.files,
        "n_objects": study.model.n_objects_,
        "n_answers": len(study.answers),
        "n_comparisons": len(study.answers.comparisons),
        "n_bad": study.answers.report.n_bad,
        "dimensions": study.n_components,
        "method": type(study.chosen).__name__,
        "features": [each.to_dict() for each in study.results.features or ()],
        "restarts": study.n_restarts,
        "error": None if error is None else error.error,
        "error_interval": None if error is None else [error.low, error.high],
        "map_error": None if error is None else error.map_error,
        "ceiling": None if ceiling is None else ceiling.error,
        "reliability": study.results.reliability,
        "ellipse_size": study.ellipse_size,
        "verdict": judged.lines,
        "trust": judged.trust,
        "findings": None if study.findings is None else study.findings.worst,
        "notes": study.notes,
    }
    if changes is not None:
        text.append(changes.summary())
        figures["changes"] = changes.to_dict()
    print_result(options, "\n".join(text), figures)
    return INTERRUPTED if study.interrupted else 0

"""`nearer fit`."""

from __future__ import annotations

import argparse
import datetime
import json
import shlex
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nearer.cli.argtypes import dimensions, pairs, resamples, share
from nearer.cli.arguments import (
    Commands,
    add_command,
    add_file,
    add_seed,
    dimension_of,
    files_of,
    log_step,
    print_result,
    read_file,
    report_error,
)
from nearer.cli.process import INTERRUPTED
from nearer.study.methods import METHOD_CLASSES

if TYPE_CHECKING:
    from nearer.checking import Findings
    from nearer.report.verdict import Verdict
    from nearer.study import Study

_ABOUT = """\
Learn a map from a file of answers, and find out how far to trust it.

Left to itself it samples the posterior: all maps that the answers leave possible, with their number of dimensions, the
noise of the answers and the reliability of people; where that would take minutes, with more than some 200,000 different
answers or thousands of objects, held-out answers choose among faster methods (--method best) and the number of
dimensions. DIR gets embedding.csv (the map, with labels), distances.csv and
distances_spread.csv (between all objects, up to 1000 of them, and how well each distance is known), model.json and
model.npz (for `nearer score` and `nearer place`), figures, log.txt (versions, seed and settings) and results.json, from
which `nearer report DIR` makes a page. The same file, seed and versions give the same map. Ctrl-C keeps what was found
until then.

Where `nearer check` would find an error, so that no map of the answers can be right, it says so and stops with status
1; with --anyway it goes on, and the results say so."""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "fit", "learn a map from a file of answers", _ABOUT, command=run)
    add_file(parser)
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="DIR", help="folder of the results")
    group = parser.add_argument_group("what to fit")
    group.add_argument(
        "--method", choices=tuple(METHOD_CLASSES), default="auto", help="(auto: posterior, best for large files)"
    )
    group.add_argument(
        "--dimensions", type=dimensions, default=None, metavar="P", help="of the map (chosen, or what study.toml says)"
    )
    group.add_argument(
        "--set", type=pairs, default={}, dest="parameters", metavar="NAME=VALUE,...",
        help="settings of the method, such as trace=0.01",
    )  # fmt: skip
    add_seed(group, "everything that is drawn")
    group.add_argument("--title", default=None, help="heading of the report (name of the file)")
    group.add_argument(
        "--weigh-annotators", action="store_true", help="people who disagree with everybody else count less"
    )
    group.add_argument("--anyway", action="store_true", help="make a map even if the answers have errors")
    trust = parser.add_argument_group("how far to trust it")
    trust.add_argument("--quick", action="store_true", help="no ellipses, learning curve or reliability of people")
    trust.add_argument("--resamples", type=resamples, default=100, metavar="N", help="maps behind the ellipses (100)")
    trust.add_argument("--level", type=share, default=0.95, metavar="L", help="of intervals and ellipses (0.95)")
    trust.add_argument(
        "--hold-out", choices=("trials", "annotators"), default="trials",
        help="what is held out and resampled whole: speak of further answers, or of further people (trials)",
    )  # fmt: skip


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from nearer.checking import check_errors, message_of
    from nearer.report.verdict import verdict
    from nearer.study import RunSettings, begin_study, end_study, fit_study, keep_study, read_results
    from nearer.study.folder import refuse_input

    settings = RunSettings(
        method=options.method,
        parameters={name: _value(text) for name, text in options.parameters.items()},
        seed=options.seed,
        n_resamples=options.resamples,
        by=options.hold_out,
        level=options.level,
        quick=options.quick,
        weigh_annotators=options.weigh_annotators,
    )
    start = time.perf_counter()
    refuse_input(options.file, options.out)
    answers = read_file(options)
    settings = replace(settings, n_components=dimension_of(options))
    errors = check_errors(answers, n_components=settings.n_components or 2)
    if errors and not options.anyway:
        return stop(options, errors)
    about = _about(options)
    kept: list[Study] = []

    def keep(study: Study) -> None:
        write = keep_study if kept else begin_study
        write(study, options.out, about | {"seconds": time.perf_counter() - start})
        kept.append(study)

    replaced = (options.out / "results.json").exists()
    anyway = tuple(
        f"a map was asked for with --anyway, in spite of an error: {message_of(error).title}" for error in errors
    )
    try:
        study = fit_study(answers, settings, keep, log_step, anyway)
        files = end_study(study, options.out, about | {"seconds": time.perf_counter() - start})
    except KeyboardInterrupt:
        return report_error(f"stopped; {left(options.out, kept)}", INTERRUPTED)
    found = summary(study, verdict(read_results(options.out)))
    figures = {"folder": str(options.out), "files": files, **found}
    if replaced:
        sys.stderr.write(f"nearer: the results of an earlier run in {options.out} were replaced\n")
    print_result(options, told(study, options.out, found), figures)
    return INTERRUPTED if study.interrupted else 0


def left(folder: Path, kept: Sequence[Study]) -> str:
    """Return what an interrupted run has left in its folder."""
    if kept:
        return f"{folder} holds what was found until then"
    earlier = (folder / "results.json").exists()
    return f"no map was written{f', and {folder} holds that of an earlier run' if earlier else ''}"


def stop(options: argparse.Namespace, errors: Findings, command: str = "fit") -> int:
    """Repeat the errors in place of making a map."""
    advice = f"No map was made. See to this first, or use nearer {command} --anyway to make a map all the same."
    print_result(options, f"{errors}\n\n{advice}", {"folder": None, "findings": "error", "errors": errors.to_dicts()})
    return 1


def summary(study: Study, judged: Verdict) -> dict[str, Any]:
    """Return the figures of a study that fit on a screen."""
    from nearer.study.results import size_of_ellipses

    error, ceiling = study.error, study.ceiling
    restarts = getattr(study.model, "restarts_", (1, 1))  # of a posterior, chains tell
    return {
        "n_objects": study.model.n_objects_,
        "n_answers": len(study.answers),
        "n_comparisons": len(study.answers.comparisons),
        "n_bad": study.answers.report.n_bad,
        "dimensions": study.model.embedding_.shape[1],
        "method": type(study.chosen).__name__,
        "restarts": list(restarts) if restarts[0] > 1 else None,
        "error": None if error is None else error.error,
        "error_interval": None if error is None else [error.low, error.high],
        "map_error": None if error is None else error.map_error,
        "ceiling": None if ceiling is None else ceiling.error,
        "reliability": None if study.distances is None else study.distances.reliability,
        "ellipse_size": size_of_ellipses(study),
        "verdict": list(judged.lines),
        "trust": judged.trust,
        "findings": None if study.findings is None else study.findings.worst,
        "notes": list(study.notes),
    }


def told(study: Study, folder: Path, found: dict[str, Any]) -> str:
    """Return the figures of a study in words."""
    from nearer._common.formatting import percent, pluralize
    from nearer.checking import message_of
    from nearer.checking.findings import format_line
    from nearer.checking.sample_size import CURVE_CODES
    from nearer.evaluation.reproducibility import DISTANCES_FAIR

    answers = study.answers
    lines = [
        f"{pluralize(found['n_objects'], 'object')}, {pluralize(len(answers), 'answer')} "
        f"({pluralize(found['n_comparisons'], 'comparison')})",
        f"a map of {pluralize(found['dimensions'], 'dimension')}, by {found['method']}",
    ]
    if found["restarts"] is not None:
        lines.append(f"{found['restarts'][1]} of {pluralize(found['restarts'][0], 'start')} led to this map")
    if answers.report.n_bad:
        lines.append(f"{pluralize(answers.report.n_bad, 'row')} skipped because they could not be used")
    if study.error is not None:
        lines.append(str(study.error))
    if study.ceiling is not None:
        lines.append(str(study.ceiling))
    if study.distances is not None:
        lines.append(str(study.distances))
    # Of a map whose distances are not reproducible, small ellipses would promise too much.
    if found["ellipse_size"] is not None and not (study.distances and study.distances.reliability < DISTANCES_FAIR):
        lines.append(
            f"a typical object is known to lie within {percent(found['ellipse_size'])} of the typical distance between "
            "two objects (95% ellipse)"
        )
    if study.findings is not None:
        if study.curve is not None:
            lines += [message_of(finding).text for finding in study.findings if finding.code in CURVE_CODES]
        lines += [format_line(finding) for finding in study.findings if finding.severity in ("error", "warning")]
    lines += [f"note: {note}" for note in study.notes]
    lines += found["verdict"]
    lines += [f"written to {folder}; for a page to look at: nearer report {shlex.quote(str(folder))}"]
    return "\n".join(lines)


def _about(options: argparse.Namespace) -> dict[str, Any]:
    files = files_of(options)
    return {
        "title": options.title or files.title,
        "file": files.source,
        "sha256": files.digest(),
        "source": {"n_files": len(files.paths)},
        "command": shlex.join(["nearer", *options.arguments]),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text

"""`nearer add`."""

from __future__ import annotations

import argparse
import datetime
import shlex
import shutil
import sys
import time
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any

from nearer.cli.arguments import (
    Commands,
    add_command,
    add_file,
    add_folder,
    is_study,
    log_step,
    print_result,
    read_file,
    report_error,
)
from nearer.cli.process import INTERRUPTED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nearer.io import Answers
    from nearer.io.multi_file import FileList
    from nearer.study import Study
    from nearer.study.update import Earlier

_ABOUT = """\
Bring a map up to date with answers that came later. The answers that it was made from are stored with it; the map is
learned anew from all of them, with the same method and settings, and turned onto the old one, so that objects are where
they were as far as the answers leave them there. New objects are welcome. OUT gets all that `nearer fit` writes.

`nearer place` puts new objects onto a map without moving the others; `nearer score` judges a map by new answers."""
_LISTED = 5


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "add", "bring a map up to date with more answers", _ABOUT, command=run)
    add_folder(parser)
    add_file(parser)
    parser.add_argument(
        "-o",
        "--out",
        type=Path,
        required=True,
        metavar="OUT",
        help="folder of the results; that of the map is replaced",
    )
    parser.add_argument("--anyway", action="store_true", help="make a map even if the answers have errors")


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from nearer.checking import check_errors
    from nearer.cli.fit import stop
    from nearer.embedding.storage import load_model
    from nearer.io.multi_file import file_list
    from nearer.study.folder import refuse_input
    from nearer.study.update import Earlier, joined, results_for

    if any(map(is_study, options.file)):
        raise ValueError("a study keeps all its answers, those of before and those that came later: nearer fit STUDY")
    refuse_input(options.file, options.out)
    model, files = load_model(options.folder), file_list(options.file)
    earlier = Earlier(model, results_for(model, options.folder), options.folder)
    settings = earlier.settings
    _refuse_again(earlier, files)
    new = read_file(options)
    answers, notes = joined(earlier, new)
    errors = check_errors(answers, n_components=settings.n_components or 2)
    if errors and not options.anyway:
        return stop(options, errors, "add")
    for note in notes:
        sys.stderr.write(f"nearer: {note}\n")
    said = (*notes, f"{len(new)} answers of {new.source} were added to those of {options.folder}")
    said += tuple(f"a map was asked for with --anyway, in spite of an error: {error.title}" for error in errors)
    about = _about(options, earlier, new, files)
    with _folder(options) as folder:
        return _learn(options, earlier, new, answers, about, said, folder)


def _learn(
    options: argparse.Namespace,
    earlier: Earlier,
    new: Answers,
    answers: Answers,
    about: dict[str, Any],
    said: tuple[str, ...],
    folder: Path,
) -> int:
    """Fit the map anew, write it to a folder, and say what has changed."""
    from nearer.cli.fit import left, summary, told
    from nearer.report.verdict import verdict
    from nearer.study import begin_study, end_study, fit_study, keep_study, read_results
    from nearer.study.folder import replace_run
    from nearer.study.update import turned_onto

    start, aside = time.perf_counter(), folder != options.out
    kept: list[Study] = []

    def keep(study: Study) -> None:
        write = keep_study if kept else begin_study
        write(study, folder, about | {"seconds": time.perf_counter() - start})
        kept.append(study)

    try:
        turn = partial(turned_onto, earlier=earlier.model)
        study = fit_study(answers, earlier.settings, keep, log_step, said, turn)
        if study.interrupted and aside:
            raise KeyboardInterrupt
        written = end_study(study, folder, about | {"seconds": time.perf_counter() - start})
    except KeyboardInterrupt:
        return report_error(
            f"stopped; {f'{options.out} is as it was' if aside else left(options.out, kept)}", INTERRUPTED
        )
    found, changes = summary(study, verdict(read_results(folder))), _changes(earlier, new, study)
    if aside:
        replace_run(folder, options.out)
    figures = {"folder": str(options.out), "files": written, **found, "changes": changes}
    print_result(options, "\n".join([told(study, options.out, found), *_told(changes)]), figures)
    return INTERRUPTED if study.interrupted else 0


def _refuse_again(earlier: Earlier, files: FileList) -> None:
    """Refuse the very file that a map was made from."""
    digest = files.digest()
    if any(lot.get("sha256") == digest for lot in earlier.lots):
        raise ValueError(
            f"the map of {earlier.folder} was made from {files.source}: its answers would count double; name the file "
            "of those that came later"
        )


@contextmanager
def _folder(options: argparse.Namespace) -> Iterator[Path]:
    """Give the folder to write to: not that of the map itself, which must not be lost if something goes wrong."""
    if options.out.resolve() != options.folder.resolve():
        yield options.out
        return
    beside = options.folder.resolve()
    folder = Path(mkdtemp(prefix=f".{beside.name}-", dir=beside.parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _about(options: argparse.Namespace, earlier: Earlier, new: Answers, files: FileList) -> dict[str, Any]:
    from nearer.study.update import about_lots

    command = shlex.join(["nearer", *options.arguments])
    lot = {"file": files.source, "sha256": files.digest(), "n_answers": len(new), "command": command}
    return {
        "title": (earlier.results["placed"] or {}).get("title") or earlier.results["title"] or files.title,
        **about_lots(earlier, lot, len(files.paths)),
        "command": command,
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


def _changes(earlier: Earlier, new: Answers, study: Study) -> dict[str, Any]:
    """Return what is different from the map before."""
    from nearer.study.update import error_on_new, moved

    before, known = earlier.results["error"] or {}, set(earlier.model.objects_.tolist())
    return {
        "n_added": len(new),
        "new_objects": [str(label) for label in study.model.objects_.tolist() if label not in known],
        "error_before": before.get("held_out"),
        "error_after": None if study.error is None else study.error.error,
        "error_of_old_map_on_new_answers": error_on_new(earlier.model, new),
        "moved": moved(study.model, earlier.model),
    }


def _told(changes: dict[str, Any]) -> list[str]:
    from nearer._common.formatting import decimals, percent, pluralize, quote, quote_all

    lines = [f"what the {pluralize(changes['n_added'], 'new answer')} changed:"]
    if changes["error_of_old_map_on_new_answers"] is not None:
        lines.append(
            f"  the map before predicted them with an error of {decimals(changes['error_of_old_map_on_new_answers'])}"
        )
    if changes["error_before"] is not None and changes["error_after"] is not None:
        lines.append(
            f"  held-out error {decimals(changes['error_before'])} before, {decimals(changes['error_after'])} now"
        )
    if changes["new_objects"]:
        lines.append(
            f"  {pluralize(len(changes['new_objects']), 'new object')}: {quote_all(changes['new_objects'], 10)}"
        )
    most = list(changes["moved"].items())[:_LISTED]
    if most:
        listing = ", ".join(f"{quote(label)} {percent(away)}" for label, away in most)
        lines.append(f"  moved most, in typical distances between two objects: {listing}")
    return lines

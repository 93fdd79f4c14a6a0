"""The folder that a run leaves: the map as CSV, the model, figures, a log, and one JSON file for the report."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np

from nearer._common.arrays import FloatArray
from nearer._common.files import write_text
from nearer._common.formatting import pluralize
from nearer._common.json_files import read_json
from nearer._common.tables import escape_formula
from nearer.embedding.base import OrdinalEmbedding
from nearer.embedding.storage import save_model
from nearer.evaluation.distances import DISTANCES, MOST_OBJECTS, SPREAD, distance_matrix, matrix_csv
from nearer.evaluation.uncertainty import Bootstrap
from nearer.study.figures import FIGURES, draw_study
from nearer.study.results import results_of
from nearer.study.schema import checked
from nearer.study.schema_checks import HINT
from nearer.study.study import Study

RESULTS, MAP, LOG = "results.json", "embedding.csv", "log.txt"
#: What other commands read.
DATA_FILES = (MAP, DISTANCES, SPREAD, RESULTS, LOG, "model.json", "model.npz")
#: All names that a run, or a report of it, may write.
FILES = (*DATA_FILES, "report.html", *FIGURES)


def refuse_input(files: Path | Sequence[Path], folder: Path) -> None:
    """Refuse to write over the answers that a run is to read, or beside many files that it would be read among."""
    results = {(folder / name).resolve() for name in FILES}
    for file in [files] if isinstance(files, Path) else files:
        if file.resolve() in results:
            raise ValueError(f"{file} would be written over by the results; choose another folder with --out")
        if file.is_dir() and file.resolve() == folder.resolve():
            raise ValueError(f"{file} is the folder of the answers; choose another folder for the results with --out")


def refuse_output(file: Path, folder: Path, inputs: Sequence[Path | None] = ()) -> None:
    """Refuse to write one file over another: a result in the folder of a map, or an input of the command."""
    kept = {(folder / name).resolve() for name in DATA_FILES} | {path.resolve() for path in inputs if path is not None}
    if file.resolve() in kept:
        raise ValueError(f"{file} is a file that this command reads, and would be lost; choose another name with --out")


@contextmanager
def new_run(folder: Path) -> Iterator[Path]:
    """Give a folder to write a run to; once it is written, its files take the place of those of an earlier run.

    On an error, on a full disk or on Ctrl-C, the earlier run is left as it was.
    """
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    beside = Path(mkdtemp(prefix=".new-", dir=folder))
    try:
        yield beside
        replace_run(beside, folder)
    except OSError as error:
        if Path(str(error.filename)).parent != beside:
            raise
        raise OSError(error.errno, error.strerror, str(folder / Path(error.filename).name)) from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)
        if is_new and not any(folder.iterdir()):
            folder.rmdir()


def replace_run(new: Path, old: Path) -> None:
    """Put the files of a run in place of those of an earlier one."""
    for name in FILES:
        if (new / name).exists():
            (new / name).replace(old / name)
        else:
            (old / name).unlink(missing_ok=True)


def begin_study(study: Study, folder: Path, about: Mapping[str, Any]) -> None:
    """Write a map as soon as there is one, in place of what an earlier run has left."""
    with new_run(folder) as new:
        save_model(study.model, new)
        write_distances(study.model, new)
        keep_study(study, new, about)


def keep_study(study: Study, folder: Path, about: Mapping[str, Any]) -> dict[str, Any]:
    """Write what has been found out so far, and return it."""
    results = results_of(study, about)
    write_map(study.model, results, folder)
    return results


def end_study(study: Study, folder: Path, about: Mapping[str, Any]) -> list[str]:
    """Write the end result, with a log and figures, and return the names of all files."""
    results = keep_study(study, folder, about)
    write_text(folder / LOG, log_text(results))
    matrices = write_distances(study.model, folder, study.places)
    return [MAP, *matrices, RESULTS, LOG, "model.json", "model.npz", *draw_study(study, folder)]


def write_distances(model: OrdinalEmbedding, folder: Path, places: Bootstrap | None = None) -> list[str]:
    """Write the distances between all objects, with their spread where it is known, and return the names of the files.

    Of more than `MOST_OBJECTS` there is none.
    """
    for name in (DISTANCES, SPREAD):  # of an earlier map
        (folder / name).unlink(missing_ok=True)
    if model.n_objects_ > MOST_OBJECTS:
        return []
    found = distance_matrix(model, places)
    files = {DISTANCES: found.matrix} | ({} if found.spread is None else {SPREAD: found.spread})
    for name, matrix in files.items():
        write_text(folder / name, matrix_csv(matrix, found.objects))
    return list(files)


def write_map(model: OrdinalEmbedding, results: Mapping[str, Any], folder: Path) -> None:
    """Write a map as CSV, with standard deviations where there are ellipses, and the results."""
    covariances = results["covariances"]
    std = None if covariances is None else np.sqrt(np.diagonal(np.array(covariances), axis1=1, axis2=2))
    write_text(folder / MAP, map_csv(model, std))
    write_text(folder / RESULTS, json.dumps(results, indent=1, allow_nan=False) + "\n")


def read_results(folder: str | PathLike[str]) -> dict[str, Any]:
    """Return the results in a folder that `nearer fit` wrote.

    Examples
    --------
    >>> read_results("nowhere")
    Traceback (most recent call last):
    ValueError: nowhere holds no results: there is no results.json; make them with `nearer fit FILE -o nowhere`
    """
    path = Path(folder) / RESULTS
    if not path.is_file():
        raise ValueError(
            f"{folder} holds no results: there is no {RESULTS}; make them with `nearer fit FILE -o {folder}`"
        )
    try:
        results: dict[str, Any] = dict(checked(read_json(path.read_bytes())))
    except ValueError as error:
        raise ValueError(f"{path} cannot be used: {str(error).removesuffix(HINT)}; run `nearer fit` again") from error
    return results


def map_csv(model: OrdinalEmbedding, std: FloatArray | None = None) -> str:
    """Return a map as CSV: a label, its coordinates and, where known, their standard deviations.

    A label that a spreadsheet would take for a formula gets an apostrophe before it.
    """
    points = model.embedding_
    names = [f"x{k + 1}" for k in range(points.shape[1])]
    numbers = points
    if std is not None:
        names += [f"sd{k + 1}" for k in range(points.shape[1])]
        numbers = np.hstack([points, std])
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")  # or a label with a carriage return in it would go without quotes
    writer.writerow(["object", *names])
    for label, row in zip(model.objects_.tolist(), numbers.tolist(), strict=True):
        writer.writerow([escape_formula(str(label)), *map(repr, row)])
    return text.getvalue()


def log_text(results: Mapping[str, Any]) -> str:
    """Return what is needed to repeat a run exactly."""
    settings = results["settings"]
    lines = [
        f"command: {results['command']}",
        f"date: {results['date']}",
        f"seconds: {results['seconds']:.1f}",
        f"file: {results['source']['file']} (sha256 {results['source']['sha256']})",
        *(
            f"lot: {lot['file']} (sha256 {lot.get('sha256', 'not known')}), {lot.get('n_answers', 'unknown')} answers, "
            f"by: {lot.get('command', 'not known')}"
            for lot in results["source"].get("lots") or ()
        ),
        *(
            f"left out: {pluralize(out['n_rows'], 'row')} where {out['where']}"
            for out in results["source"].get("left_out") or ()
        ),
        f"seed: {results['seed']}",
        "versions: " + ", ".join(f"{name} {number}" for name, number in results["versions"].items()),
        f"run: {json.dumps(settings['run'])}",
        f"method: {settings['method']} {json.dumps(settings['parameters'])}",
        f"chosen: {json.dumps(settings['chosen'])}",
        *(f"note: {note}" for note in results["notes"]),
    ]
    return "\n".join(lines) + "\n"

"""The folder that a run leaves: the map as CSV, the model, figures, a log, and one JSON file for the report."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from nearer.embedding.base import OrdinalEmbedding
from nearer.formats.inert import inert
from nearer.margins import FloatArray
from nearer.runs.results import results_of
from nearer.runs.study import Study
from nearer.storage import save_model

RESULTS = "results.json"


def write_study(
    study: Study, folder: Path, about: Mapping[str, Any], attributes: Mapping[str, Sequence[Any]], *, final: bool = True
) -> list[str]:
    """Write a study into a folder, and return the names of the files.

    Parameters
    ----------
    study : Study
    folder : Path
        Made if it is not there.
    about, attributes
        As for `results_of`.
    final : bool
        Whether the study is complete: the model and the figures are written then. Of one that is not, the map and the
        figures found so far are kept, in case that the run is stopped.
    """
    folder.mkdir(parents=True, exist_ok=True)
    results = results_of(study, about, attributes)
    texts = {
        "embedding.csv": map_csv(study.model, None if study.places is None else study.places.std),
        RESULTS: json.dumps(results, indent=1, allow_nan=False) + "\n",
    }
    if final:
        texts["log.txt"] = log_text(results)
    for name, text in texts.items():
        part = folder / f"{name}.part"
        part.write_text(text, encoding="utf-8", newline="")
        part.replace(folder / name)
    if not final:
        return list(texts)
    save_model(study.model, folder)
    from nearer.runs.figures import draw_study

    return [*texts, "model.json", "model.npz", *draw_study(study, folder)]


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
        results = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is no whole JSON file: {error}; run `nearer fit` again") from error
    if not isinstance(results, dict):
        raise ValueError(f"{path} holds no results; run `nearer fit` again")
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
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["object", *names])
    for label, row in zip(model.objects_.tolist(), numbers.tolist(), strict=True):
        writer.writerow([inert(str(label)), *map(repr, row)])
    return text.getvalue()


def log_text(results: Mapping[str, Any]) -> str:
    """Return what is needed to repeat a run exactly."""
    lines = [
        f"command: {results['command']}",
        f"date: {results['date']}",
        f"seconds: {results['seconds']:.1f}",
        f"file: {results['source']['file']} (sha256 {results['source']['sha256']})",
        f"seed: {results['seed']}",
        "versions: " + ", ".join(f"{name} {number}" for name, number in results["versions"].items()),
        f"method: {results['settings']['method']}",
        f"settings: {json.dumps(results['settings']['parameters'])}",
        f"chosen: {json.dumps(results['settings']['chosen'])}",
        *(f"note: {note}" for note in results["notes"]),
    ]
    return "\n".join(lines) + "\n"

"""A run's folder with its map turned: the model, its results and figures, all along the new axes.

No distance changes, and nothing that was found out about the map: errors, margins and sizes of ellipses stay.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray
from nearer._common.files import write_text
from nearer._common.formatting import pluralize, quote_all
from nearer._common.json_files import plain_values
from nearer.embedding.base import OrdinalEmbedding
from nearer.embedding.storage import save_model
from nearer.evaluation.distances import DISTANCES, SPREAD
from nearer.study.attributes import read_attributes
from nearer.study.figures import FIGURES, draw_placed
from nearer.study.folder import LOG, RESULTS, new_run, read_results, write_map

_SPREAD = re.compile(r"sd\d+")  # columns of embedding.csv that are no coordinates


def read_places(path: Path, objects: Sequence[str]) -> FloatArray:
    """Return the places that another map gives to objects, (n, q), NaN for those that are not on it.

    Parameters
    ----------
    path : Path
        The folder of a map, or a CSV with a column of labels and a column of numbers for each axis.
    objects : sequence of str
    """
    if path.is_dir():
        other = read_results(path)
        row_of = {label: row for row, label in enumerate(other["objects"])}
        if not any(label in row_of for label in objects):
            raise ValueError(f"the maps have no object in common; {path} has {quote_all(other['objects'])}")
        known = np.array(other["embedding"], dtype=np.float64)
        nowhere = np.full(known.shape[1], np.nan)
        return np.array([known[row_of[label]] if label in row_of else nowhere for label in objects])
    columns = {name: of for name, of in read_attributes(path, objects).items() if not _SPREAD.fullmatch(name)}
    words = [name for name, column in columns.items() if any(isinstance(cell, str) for cell in column)]
    if words or not columns:
        raise ValueError(f"{path} must have numbers beside the labels, an axis a column; {quote_all(words)} has words")
    places = np.array(list(columns.values()), dtype=np.float64).T
    places[np.isnan(places).any(axis=1)] = np.nan
    return places


def write_turned(
    model: OrdinalEmbedding, results: Mapping[str, Any], source: Path, folder: Path, note: str, axes: FloatArray
) -> OrdinalEmbedding:
    """Write a copy of a run with its map turned, and return the model.

    Parameters
    ----------
    model, results
        What is in the folder ``source``.
    source, folder : Path
        Of the run, and of the copy.
    note : str
        How it was turned, for the log and the page.
    axes : ndarray, shape (p, p)
        Orthogonal; the map becomes ``embedding @ axes``.
    """
    if (folder / RESULTS).exists() and folder.resolve() == source.resolve():
        raise ValueError(f"{folder} has the map that is to be turned; choose another folder with --out")
    new = model.turned(axes)
    turned = {**results, **turned_results(results, axes), "notes": [*(results["notes"] or []), note]}
    with new_run(folder) as beside:
        save_model(new, beside)
        write_map(new, turned, beside)
        for name in (*FIGURES, DISTANCES, SPREAD):  # what does not depend on the axes; the map is drawn anew
            if name != "map.png" and (source / name).is_file():
                shutil.copyfile(source / name, beside / name)
        log = (source / LOG).read_text(encoding="utf-8") if (source / LOG).is_file() else ""
        write_text(beside / LOG, f"{log}turned: {note}\n")
        draw_placed(turned, beside)
    return new


def turned_results(results: Mapping[str, Any], axes: FloatArray) -> dict[str, Any]:
    """Return what is different in the results of a turned map.

    Examples
    --------
    >>> results = {"embedding": [[0.0, 1.0], [0.0, -1.0]], "covariances": None}
    >>> turned_results(results, np.array([[0.0, 1.0], [1.0, 0.0]]))["embedding"]
    [[1.0, 0.0], [-1.0, 0.0]]
    """
    points, covariances = np.array(results["embedding"]) @ axes + 0.0, results["covariances"]
    if covariances is not None:
        covariances = axes.T @ np.array(covariances) @ axes
        diagonal = np.arange(len(axes))
        covariances[:, diagonal, diagonal] = covariances[:, diagonal, diagonal].clip(min=0)  # but for rounding
    found = {"embedding": points, "covariances": covariances, "scree": points.var(axis=0)}
    return {key: plain_values(value) for key, value in found.items()}


def shared(places: FloatArray, seen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which objects have a place on another map, too, or say that they are too few."""
    both = seen & np.isfinite(places).all(axis=1)
    if both.sum() < 2:
        raise ValueError(f"the maps have {pluralize(int(both.sum()), 'object')} in common, and two are needed at least")
    return both

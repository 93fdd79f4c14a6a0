"""The folder that a comparison of groups leaves: figures for programs, tables, maps and a picture with arrows."""

from __future__ import annotations

import csv
import io
import json
import re
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from nearer.common.arrays import FloatArray
from nearer.common.json_files import plain_values
from nearer.comparing.groups import GroupComparison, PairOfGroups
from nearer.data.labels import Labels
from nearer.formats.text import inert
from nearer.study.folder import write_text

_LONGEST = 40


def figures_of(found: GroupComparison) -> dict[str, Any]:
    """Return everything that was found, as plain values."""
    prediction, test = found.prediction, found.test
    return {
        "groups": found.groups,
        "n_people": found.n_people,
        "n_comparisons": found.n_comparisons,
        "dimensions": found.common.shape[1],
        "test": None
        if test is None
        else {
            "p": test.p,
            "statistic": test.statistic,
            "n_permutations": test.n_permutations,
            "smallest_p": test.smallest_p,
            "permuted": "within people" if found.within else "over people",
        },
        "pairs": [_pair(found, pair) for pair in found.pairs],
        "prediction": {
            "answers_of": found.groups,
            "maps_of": [*found.groups, "all"],
            "errors": prediction.errors,
            "lows": prediction.lows,
            "highs": prediction.highs,
            "gains": prediction.gains,
            "gain_lows": prediction.gain_lows,
            "gain_highs": prediction.gain_highs,
            "level": prediction.level,
            "n_folds": prediction.n_folds,
            "unit": prediction.unit,
        },
        "departure": found.departure,
        "lapses": found.lapses,
        "notes": found.notes,
    }


def _pair(found: GroupComparison, pair: PairOfGroups) -> dict[str, Any]:
    sure = pair.moved()
    return {
        "first": pair.first,
        "second": pair.second,
        "p": pair.p,
        "p_adjusted": pair.p_adjusted,
        "moved": [str(label) for label in found.objects[sure].tolist()],
    }


def write_comparison(found: GroupComparison, folder: Path) -> list[str]:
    """Write everything into a folder and return the names of the files."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {"comparison.json": json.dumps(plain_values(figures_of(found)), indent=1, allow_nan=False) + "\n"}
    files["moved.csv"] = _moved_csv(found)
    for stem, points in zip(_stems(["all", *found.groups]), [found.common, *found.maps], strict=True):
        files[f"map-{stem}.csv"] = points_csv(found.objects, points)
    for name, text in files.items():
        write_text(folder / name, text)
    return [*files, *_draw(found, folder)]


def points_csv(objects: Labels, points: FloatArray) -> str:
    """Return a map as CSV."""
    header = ["object", *(f"x{k + 1}" for k in range(points.shape[1]))]
    return table([header, *([str(label), *row] for label, row in zip(objects.tolist(), points.tolist(), strict=True))])


def table(rows: Iterable[list[Any]]) -> str:
    r"""Return rows as CSV; what is no number is left empty, and text that a spreadsheet would run is made inert.

    Examples
    --------
    >>> table([["object", "p"], ["=1", float("nan")]])
    "object,p\r\n'=1,\r\n"
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    for row in rows:
        writer.writerow([_cell(cell) for cell in row])
    return text.getvalue()


def _cell(cell: Any) -> str:
    if isinstance(cell, str):
        return inert(cell)
    return "" if cell is None or not np.isfinite(cell) else repr(cell)


def _moved_csv(found: GroupComparison) -> str:
    axes = range(1, found.common.shape[1] + 1)
    measured = ["length", "corrected_length", "low", "high", "p", "moved"]
    rows: list[list[Any]] = [["object", "from", "to", *(f"dx{k}" for k in axes), *(f"sd{k}" for k in axes), *measured]]
    for pair in found.pairs:
        moves, sure = pair.displacements, pair.moved()
        deviations = np.sqrt(np.diagonal(moves.covariances, axis1=1, axis2=2))
        for i, label in enumerate(found.objects.tolist()):
            lengths = [float(each[i]) for each in (moves.lengths, moves.corrected, moves.lows, moves.highs)]
            p = None if pair.p_of_objects is None else float(pair.p_of_objects[i])
            vectors = [*moves.vectors[i].tolist(), *deviations[i].tolist()]
            rows.append([str(label), pair.first, pair.second, *vectors, *lengths, p, "yes" if sure[i] else "no"])
    return table(rows)


def _stems(names: Iterable[str]) -> list[str]:
    """Return names as parts of names of files, each once."""
    stems: list[str] = []
    for name in names:
        stem = re.sub(r"[^\w-]+", "-", name).strip("-")[:_LONGEST] or "group"
        number, free = 2, stem
        while free.lower() in (each.lower() for each in stems):
            free, number = f"{stem}-{number}", number + 1
        stems.append(free)
    return stems


def _draw(found: GroupComparison, folder: Path) -> list[str]:
    """Draw a figure for each pair of groups; none, and a warning, without matplotlib."""
    try:
        import matplotlib as mpl  # noqa: F401
    except ModuleNotFoundError:
        what = 'no figures were drawn: they need matplotlib; install it with: pip install "nearer[plot]"'
        warnings.warn(what, UserWarning, stacklevel=2)
        return []
    from nearer.plotting import save_figure

    stems = dict(zip(found.groups, _stems(["all", *found.groups])[1:], strict=True))
    files = []
    for pair in found.pairs:
        stem = "groups" if len(found.pairs) == 1 else f"groups-{stems[pair.first]}-{stems[pair.second]}"
        ax = draw_pair(found, pair)
        for ending in ("png", "pdf"):
            save_figure(ax, folder / f"{stem}.{ending}")
            files.append(f"{stem}.{ending}")
    return files


def draw_pair(found: GroupComparison, pair: PairOfGroups) -> Any:
    """Draw the maps of two groups, with arrows from one to the other, and return the Axes."""
    from nearer.plotting import plot_arrows

    first, second = (found.maps[found.groups.index(name)].copy() for name in (pair.first, pair.second))
    unknown = ~np.isfinite(pair.displacements.lengths)
    first[unknown] = np.nan
    labels = [str(label) for label in found.objects.tolist()]
    sure = "moved for sure" if pair.p_of_objects is None else "moved (p \u2264 0.05)"
    return plot_arrows(first, second, labels, pair.moved(), names=(pair.first, pair.second), sure=sure)

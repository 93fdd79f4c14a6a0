"""The folder that a comparison of groups leaves: figures for programs, tables, maps and a picture with arrows."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from nearer._common.arrays import FloatArray
from nearer.comparing.groups.comparison import GroupComparison, PairOfGroups
from nearer.comparing.results_files import FIGURES, json_text, save_figures, table, write_texts
from nearer.data.labels import Labels

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
    return {
        "first": pair.first,
        "second": pair.second,
        "p": pair.p,
        "p_adjusted": pair.p_adjusted,
        "moved": [str(label) for label in found.objects[pair.moved()].tolist()],
    }


def write_comparison(found: GroupComparison, folder: Path) -> list[str]:
    """Write everything into a folder and return the names of the files."""
    files = {FIGURES: json_text(figures_of(found)), "moved.csv": _moved_csv(found)}
    stems = _stems(["all", *found.groups])
    for stem, points in zip(stems, [found.common, *found.maps], strict=True):
        files[f"map-{stem}.csv"] = points_csv(found.objects, points)
    of_group = dict(zip(found.groups, stems[1:], strict=True))
    pictures = {
        "groups" if len(found.pairs) == 1 else f"groups-{of_group[pair.first]}-{of_group[pair.second]}": partial(
            draw_pair, found, pair
        )
        for pair in found.pairs
    }
    _remove_former(folder)
    return [*write_texts(folder, files), *save_figures(folder, pictures)]


def _remove_former(folder: Path) -> None:
    """Remove the maps and figures of an earlier comparison, whose groups may have had other names."""
    if (folder / FIGURES).is_file():
        for former in (*folder.glob("map-*.csv"), *folder.glob("groups*.png"), *folder.glob("groups*.pdf")):
            former.unlink()


def points_csv(objects: Labels, points: FloatArray) -> str:
    """Return a map as CSV."""
    header = ["object", *(f"x{k + 1}" for k in range(points.shape[1]))]
    return table([header, *([str(label), *row] for label, row in zip(objects.tolist(), points.tolist(), strict=True))])


def _moved_csv(found: GroupComparison) -> str:
    axes = range(1, found.common.shape[1] + 1)
    measured = ["length", "corrected_length", "low", "high", "p", "moved"]
    rows: list[list[Any]] = [["object", "from", "to", *(f"dx{k}" for k in axes), *measured]]
    for pair in found.pairs:
        moves, moved = pair.displacements, pair.moved()
        for i, label in enumerate(found.objects.tolist()):
            lengths = [float(each[i]) for each in (moves.lengths, moves.corrected, moves.lows, moves.highs)]
            p = None if pair.p_of_objects is None else float(pair.p_of_objects[i])
            vector = moves.vectors[i].tolist()
            rows.append([str(label), pair.first, pair.second, *vector, *lengths, p, "yes" if moved[i] else "no"])
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


def draw_pair(found: GroupComparison, pair: PairOfGroups) -> Any:
    """Draw the maps of two groups, with arrows from one to the other, and return the Axes."""
    from nearer.plotting import plot_arrows

    first, second = (found.maps[found.groups.index(name)].copy() for name in (pair.first, pair.second))
    unknown = ~np.isfinite(pair.displacements.lengths)
    first[unknown] = np.nan
    labels = [str(label) for label in found.objects.tolist()]
    return plot_arrows(first, second, labels, pair.moved(), names=(pair.first, pair.second))

"""The folder that a comparison of two maps leaves."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

from nearer.common.json_files import plain_values
from nearer.comparing.group_files import table
from nearer.comparing.maps import MapComparison
from nearer.study.folder import write_text


def figures_of_maps(found: MapComparison) -> dict[str, Any]:
    """Return everything that was found, as plain values."""
    crossed = (found.first_on_second, found.second_on_first)
    first_on_second, second_on_first = (None if each is None else each._asdict() for each in crossed)
    return {
        "names": found.names,
        "n_shared": len(found.objects),
        "only_first": found.only_first,
        "only_second": found.only_second,
        "procrustes": found.procrustes,
        "pearson": found.pearson,
        "spearman": found.spearman,
        "first_on_second": first_on_second,
        "second_on_first": second_on_first,
        "moved": found.objects[found.moved()],
        "notes": found.notes,
    }


def write_maps(found: MapComparison, folder: Path) -> list[str]:
    """Write everything into a folder and return the names of the files."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {
        "comparison.json": json.dumps(plain_values(figures_of_maps(found)), indent=1, allow_nan=False) + "\n",
        "moved.csv": _moved_csv(found),
    }
    for name, text in files.items():
        write_text(folder / name, text)
    try:
        import matplotlib as mpl  # noqa: F401
    except ModuleNotFoundError:
        what = 'no figure was drawn: it needs matplotlib; install it with: pip install "nearer[plot]"'
        warnings.warn(what, UserWarning, stacklevel=2)
        return list(files)
    from nearer.plotting import plot_arrows, save_figure

    sure = None if found.p_of_objects is None else found.moved()
    words = "from one to the other" if sure is None else "elsewhere for sure"
    ax = plot_arrows(found.first, found.second, found.objects, sure, names=found.names, sure=words)
    for name in ("maps.png", "maps.pdf"):
        save_figure(ax, folder / name)
    return [*files, "maps.png", "maps.pdf"]


def _moved_csv(found: MapComparison) -> str:
    axes = range(1, found.first.shape[1] + 1)
    places = [f"{which}{k}" for which in ("first_x", "second_x") for k in axes]
    rows: list[list[Any]] = [["object", *places, "length", "distance", "p", "moved"]]
    sure = found.moved()
    for i, label in enumerate(found.objects.tolist()):
        distance = None if found.distances is None else float(found.distances[i]) ** 0.5
        p = None if found.p_of_objects is None else float(found.p_of_objects[i])
        both = [*found.first[i].tolist(), *found.second[i].tolist()]
        rows.append([label, *both, float(found.lengths[i]), distance, p, "yes" if sure[i] else "no"])
    return table(rows)

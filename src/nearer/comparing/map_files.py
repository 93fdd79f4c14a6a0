"""The folder that a comparison of two maps leaves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nearer.comparing.maps import MapComparison
from nearer.comparing.results_files import FIGURES, json_text, save_figures, table, write_texts


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
    files = {FIGURES: json_text(figures_of_maps(found)), "moved.csv": _moved_csv(found)}
    return [*write_texts(folder, files), *save_figures(folder, {"maps": lambda: draw_maps(found)})]


def draw_maps(found: MapComparison) -> Any:
    """Draw both maps, with arrows from one to the other, and return the Axes."""
    from nearer.plotting import plot_arrows

    if found.p_of_objects is None:
        return plot_arrows(found.first, found.second, found.objects, names=found.names, emphasized="displacement")
    return plot_arrows(found.first, found.second, found.objects, found.moved(), names=found.names)


def _moved_csv(found: MapComparison) -> str:
    axes = range(1, found.first.shape[1] + 1)
    places = [f"{which}{k}" for which in ("first_x", "second_x") for k in axes]
    rows: list[list[Any]] = [["object", *places, "length", "distance", "p", "moved"]]
    moved = found.moved()
    for i, label in enumerate(found.objects.tolist()):
        distance = None if found.distances is None else float(found.distances[i]) ** 0.5
        p = None if found.p_of_objects is None else float(found.p_of_objects[i])
        both = [*found.first[i].tolist(), *found.second[i].tolist()]
        rows.append([label, *both, float(found.lengths[i]), distance, p, "yes" if moved[i] else "no"])
    return table(rows)

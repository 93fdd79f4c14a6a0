"""The figures of a run: the map, the margins and, where they are known, the learning curve and the dimensions."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nearer._common.arrays import FloatArray
from nearer._common.formatting import digits, level_of, percent
from nearer.evaluation.curves import CHANCE
from nearer.geometry import ellipses_of
from nearer.plotting.curve_scale import BEST_POSSIBLE, GUESSING, X_TITLE, Y_TITLE, CurveScale
from nearer.study.study import Study, margins_histogram

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_study(study: Study, folder: Path) -> list[str]:
    """Draw all figures and return the names of their files; none, and a warning, without matplotlib."""
    known = {"learning-curve.png": study.curve is not None, "dimensions.png": study.dimension is not None}
    drawn = {name: partial(draw, study) for name, draw in FIGURES.items() if known.get(name, True)}
    if not _save(drawn, folder):
        what = "no figures were drawn: they need matplotlib; install it with: pip install matplotlib"
        warnings.warn(what, UserWarning, stacklevel=2)
        return []
    return list(drawn)


def draw_placed(results: Mapping[str, Any], folder: Path) -> None:
    """Draw the map of results, objects that were placed later in another colour; nothing without matplotlib."""
    points, ellipses = np.array(results["embedding"]), None
    if results["covariances"] is not None and points.shape[1] > 1:
        ellipses = ellipses_of(points, np.array(results["covariances"]), results["scales"][1])
    n_new = len((results["placed"] or {}).get("objects", []))
    _save({"map.png": lambda: _map(points, results["objects"], ellipses, n_new)}, folder)


def _save(figures: Mapping[str, Callable[[], Axes]], folder: Path) -> bool:
    """Draw figures into files, and return whether there is matplotlib to do so."""
    try:
        import matplotlib as mpl  # noqa: F401
    except ModuleNotFoundError:
        return False
    from nearer.plotting import save_figure

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph", UserWarning)  # labels in letters that the font lacks
        for name, draw in figures.items():
            save_figure(draw(), folder / name)
    return True


def draw_map(study: Study) -> Axes:
    """Draw the first two axes of the map, with ellipses where they are known."""
    points, ellipses = study.model.embedding_, None
    if study.places is not None and points.shape[1] > 1:
        ellipses = study.places.ellipses(study.settings.level)
    return _map(points, [str(label) for label in study.model.objects_], ellipses)


def _map(points: FloatArray, labels: list[str], ellipses: FloatArray | None, n_new: int = 0) -> Axes:
    """Draw a map; the last so many objects, which were placed on it later, in another colour."""
    from nearer.plotting import FAINT, PALETTE, plot_map
    from nearer.plotting.maps import dot_area

    n_components, variances = points.shape[1], points.var(axis=0)
    if n_components == 1:
        points = np.hstack([points, np.zeros_like(points)])
    colors = None if n_new == 0 else [PALETTE["GNMDS"]] * (len(points) - n_new) + [PALETTE["DMOE"]] * n_new
    ax = plot_map(points, labels, colors, ellipses=ellipses, area=dot_area(len(points)))
    if n_components > 2:
        share = f", {percent(variances[:2].sum() / variances.sum())} of the variance" if variances.any() else ""
        words = f"axes 1 and 2 of {n_components}{share}; the others are not shown"
        words = words.replace("the others are", "axis 3 is") if n_components == 3 else words
        ax.text(0, 0, words, transform=ax.transAxes, fontsize=7, color=FAINT, va="bottom")
    return ax


def draw_margins(study: Study) -> Axes:
    """Draw the margins on the map as the page does: how many lie where, those below zero in another colour."""
    from nearer.plotting import FAINT, INK, PALETTE, new_figure, plain

    found, ax = margins_histogram(study), new_figure(6, 4).add_subplot()
    edges = np.array(found["edges"])
    wrong = edges[1:] <= 1e-9
    ax.bar(
        edges[:-1], found["counts"], np.diff(edges), align="edge", edgecolor="white", linewidth=0.5,
        color=np.where(wrong, PALETTE["DMOE"], PALETTE["GNMDS"]).tolist(),
    )  # fmt: skip
    ax.axvline(0, color=INK, linewidth=0.8, linestyle=":")
    ax.set(xlabel="margin, below zero the map is wrong", ylabel="comparisons", xlim=(edges[0], edges[-1]))
    ax.set_title("The outermost bars also hold what lies beyond them.", loc="left", fontsize=8, color=FAINT)
    return plain(ax)


def draw_curve(study: Study) -> Axes:
    """Draw the held-out error against the number of comparisons, on the axes of the page."""
    from nearer.plotting import FAINT, INK, new_figure, plain

    assert study.curve is not None
    curve, ax = study.curve, new_figure(5, 3.5).add_subplot()
    band = f"{level_of(study.settings.level)} interval"
    ax.fill_between(curve.sizes, curve.lows, curve.highs, color=INK, alpha=0.12, linewidth=0, label=band)
    ax.plot(curve.sizes, curve.errors, "o-", color=INK, markersize=4, linewidth=1.4)
    known = study.ceiling is not None and not study.ceiling.best.vague
    levels = {GUESSING: CHANCE} | ({BEST_POSSIBLE: study.ceiling.error} if study.ceiling and known else {})
    for name, height in levels.items():
        ax.axhline(height, color=FAINT, linewidth=1, linestyle="--")
        ax.annotate(
            name, (0, height), (4, 3), xycoords=("axes fraction", "data"), textcoords="offset points", fontsize=8
        )
    scale = CurveScale.of(curve.sizes.tolist(), curve.highs.tolist())
    ax.set(xscale="log", xlabel=X_TITLE, ylabel=Y_TITLE, xlim=scale.x, ylim=scale.y)
    ax.set_xticks(scale.ticks, [digits(round(size)) for size in scale.ticks])
    ax.set_yticks(scale.heights)
    ax.minorticks_off()
    ax.legend(frameon=False, fontsize=8, loc="lower left")
    return plain(ax)


def draw_dimensions(study: Study) -> Axes:
    """Draw the held-out error of maps of different dimension, and the one that was chosen."""
    from nearer.plotting import INK, new_figure, plain

    assert study.dimension is not None
    found, ax = study.dimension, new_figure(5, 3.5).add_subplot()
    ax.errorbar(found.candidates, found.errors, found.standard_errors, fmt="o-", color=INK, markersize=4, capsize=2)
    if found.chosen is not None:
        at = int(np.flatnonzero(found.candidates == found.chosen)[0])
        ax.plot(found.chosen, found.errors[at], "o", markersize=12, markerfacecolor="none", color=INK, label="chosen")
        ax.legend(frameon=False)
    ax.set(xlabel="dimensions", ylabel="held-out error of the map", xticks=found.candidates)
    return plain(ax)


#: What is drawn, by the names of the files.
FIGURES: dict[str, Callable[[Study], Axes]] = {
    "map.png": draw_map,
    "margins.png": draw_margins,
    "learning-curve.png": draw_curve,
    "dimensions.png": draw_dimensions,
}

"""The figures of a run: the map, the margins and, where they are known, the learning curve and the dimensions."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from nearer.runs.study import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_study(study: Study, folder: Path) -> list[str]:
    """Draw all figures and return the names of their files; none, and a warning, without matplotlib."""
    try:
        import matplotlib as mpl  # noqa: F401
    except ModuleNotFoundError:
        what = 'no figures were drawn: they need matplotlib; install it with: pip install "nearer[plot]"'
        warnings.warn(what, UserWarning, stacklevel=2)
        return []
    from nearer.plotting import save_figure

    known = {"learning-curve.png": study.curve is not None, "dimensions.png": study.dimension is not None}
    drawn = [name for name in FIGURES if known.get(name, True)]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph", UserWarning)  # labels in letters that the font lacks
        for name in drawn:
            save_figure(FIGURES[name](study), folder / name)
    return drawn


def draw_map(study: Study) -> Axes:
    """Draw the first two axes of the map, with ellipses where they are known."""
    from nearer.plotting import plot_map

    points = study.model.embedding_
    ellipses = None
    if points.shape[1] == 1:
        points = np.hstack([points, np.zeros_like(points)])
    elif study.places is not None:
        ellipses = study.places.ellipses(study.settings.level)
    return plot_map(points, [str(label) for label in study.model.objects_], ellipses=ellipses)


def draw_margins(study: Study) -> Axes:
    """Draw the distribution of the margins on the map."""
    from nearer.metrics import margins
    from nearer.plotting import plot_margins

    return plot_margins(margins(study.model.comparisons_, study.model.embedding_))


def draw_curve(study: Study) -> Axes:
    """Draw the held-out error against the number of comparisons, with chance and the noise ceiling."""
    from nearer.plotting import FAINT, INK, new_figure, plain

    assert study.curve is not None
    curve, ax = study.curve, new_figure(5, 3.5).add_subplot()
    ax.fill_between(curve.sizes, curve.lows, curve.highs, color=INK, alpha=0.12, linewidth=0)
    ax.plot(curve.sizes, curve.errors, "o-", color=INK, markersize=4, linewidth=1.4)
    levels = {"chance": 0.5}
    if study.ceiling is not None:
        levels["least possible: people differ by so much"] = study.ceiling.error
    for name, height in levels.items():
        ax.axhline(height, color=FAINT, linewidth=1, linestyle="-" if height == 0.5 else "--")
        ax.annotate(
            name, (1, height), (-4, 3), xycoords=("axes fraction", "data"), textcoords="offset points", ha="right",
            fontsize=8,
        )  # fmt: skip
    ax.set(xscale="log", xlabel="comparisons", ylabel="held-out error", ylim=(0, 0.55))
    return plain(ax)


def draw_dimensions(study: Study) -> Axes:
    """Draw the held-out error of maps of different dimension, and the one that was chosen."""
    from nearer.plotting import INK, new_figure, plain

    assert study.dimension is not None
    found, ax = study.dimension, new_figure(5, 3.5).add_subplot()
    ax.errorbar(found.candidates, found.errors, found.standard_errors, fmt="o-", color=INK, markersize=4, capsize=2)
    at = int(np.flatnonzero(found.candidates == found.chosen)[0])
    ax.plot(found.chosen, found.errors[at], "o", markersize=12, markerfacecolor="none", color=INK, label="chosen")
    ax.set(xlabel="dimensions", ylabel="held-out error of the map", xticks=found.candidates)
    ax.legend(frameon=False)
    return plain(ax)


#: What is drawn, by the names of the files.
FIGURES: dict[str, Callable[[Study], Axes]] = {
    "map.png": draw_map,
    "margins.png": draw_margins,
    "learning-curve.png": draw_curve,
    "dimensions.png": draw_dimensions,
}

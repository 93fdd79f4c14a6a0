"""The figure of `nearer bench scaling`: seconds against comparisons and against objects, in logarithms."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from nearer.lab.benchmarks.scaling import Axis, Row, exponent
from nearer.plotting import FAINT, INK, PALETTE, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_scaling(rows: Sequence[Row], axis: Axis, ax: Axes | None = None) -> Axes:
    """Draw the seconds of a fit along one axis: a dot for each size, a line for each fitted power law.

    Examples
    --------
    >>> row = Row(grows="objects", loss="STE", objects=10, comparisons=50, seconds=1.0, iterations=5,
    ...           seconds_per_iteration=0.2, error=0.1, peak_memory_mb=1.0, warnings=0, repeats=1)
    >>> plot_scaling([row], "objects").get_xlabel()
    'objects'
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax = new_figure(5, 4).add_subplot() if ax is None else ax
    for loss in dict.fromkeys(row["loss"] for row in rows):
        line = [row for row in rows if (row["grows"], row["loss"]) == (axis, loss)]
        sizes, seconds = np.array([[row[axis], row["seconds"]] for row in line]).reshape(-1, 2).T
        color = PALETTE.get(loss, INK)
        slope = exponent(sizes, seconds)
        ax.plot(sizes, seconds, "o", color=color, markersize=5, label=loss if slope is None else f"{loss}: {slope:.2f}")
        if slope is not None:
            # The line of least squares goes through the means of the logarithms.
            scale = np.exp(np.mean(np.log(seconds) - slope * np.log(sizes)))
            ax.plot(sizes, scale * sizes**slope, "-", color=color, linewidth=1.2, alpha=0.6)
    ax.set(xscale="log", yscale="log", xlabel=axis, ylabel="seconds of a fit")
    ax.legend(frameon=False, fontsize=8, title="exponent", title_fontsize=8)
    for axis_of_ticks in (ax.xaxis, ax.yaxis):
        low, high = axis_of_ticks.get_view_interval()
        axis_of_ticks.set_major_locator(LogLocator(subs=(1.0,) if high > 30 * low else (1.0, 2.0, 5.0)))
        axis_of_ticks.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}".replace(",", " ")))
        axis_of_ticks.set_minor_formatter(NullFormatter())
    for side, spine in ax.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(FAINT)
    ax.tick_params(which="both", color=FAINT, labelcolor=INK, labelsize=9)
    return ax


def draw_scaling(rows: Sequence[Row], path: Path) -> None:
    """Write a figure with one panel for each axis."""
    axes = list(dict.fromkeys(row["grows"] for row in rows))
    figure = new_figure(4.6 * len(axes) + 0.4, 3.8)
    panels = figure.subplots(1, len(axes), squeeze=False)[0]
    for panel, axis in zip(panels, axes, strict=True):
        plot_scaling(rows, axis, ax=panel)
        other: Axis = "objects" if axis == "comparisons" else "comparisons"
        fixed = next(row[other] for row in rows if row["grows"] == axis)
        panel.set_title(f"{fixed:,} {other}".replace(",", " "), fontsize=10)
    figure.savefig(path, dpi=200)

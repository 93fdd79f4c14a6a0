"""Estimates with their intervals, a row for each: models of a map, and methods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from nearer._common.formatting import format_level
from nearer.comparing.matrices.measures import NAMES
from nearer.comparing.matrices.results import MatrixComparison
from nearer.comparing.method_results import MethodComparison
from nearer.plotting import FAINT, INK, PALETTE, new_figure, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LONGEST = 28  # letters of a name


class Row(NamedTuple):
    """A row of such a figure: a name, an estimate, and intervals from the first, which is drawn boldest, on."""

    name: str
    estimate: float
    intervals: tuple[tuple[float, float], ...]


def draw_intervals(rows: Sequence[Row], labels: Sequence[str], ax: Axes) -> Axes:
    """Draw estimates as dots with their intervals, the first row at the top; ``labels`` are those of the intervals."""
    colors = (PALETTE["GNMDS"], PALETTE["DMOE"])
    for height, row in enumerate(reversed(rows)):
        count = len(row.intervals)
        for number, ((low, high), color) in enumerate(zip(row.intervals, colors, strict=False)):
            at = height + 0.22 * ((count - 1) / 2 - number)
            label = labels[number] if height == 0 else None
            ax.plot([low, high], [at, at], color=color, linewidth=2.4, solid_capstyle="butt", label=label)
            ax.plot(row.estimate, at, "o", color=color, markersize=6)
    names = [row.name if len(row.name) <= _LONGEST else f"{row.name[: _LONGEST - 3]}..." for row in reversed(rows)]
    ax.set_yticks(range(len(rows)), names)
    ax.set_ylim(-0.6, len(rows) - 0.4)
    ax.grid(axis="x", color=FAINT, alpha=0.25, linewidth=0.6)
    ax.locator_params(axis="x", nbins=7)
    ax.set_axisbelow(True)
    plain(ax)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return ax


def plot_matrices(found: MatrixComparison, ax: Axes | None = None) -> Axes:
    """Draw how well each model explains the distances of a map, with intervals and the noise ceiling as a band.

    Parameters
    ----------
    found : MatrixComparison
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np
    >>> from nearer.comparing import compare_matrices
    >>> apart = np.abs(np.arange(6.0)[:, None] - np.arange(6.0))
    >>> plot_matrices(compare_matrices(apart, {"a line": apart}, n_resamples=20, random_state=0)).get_xlabel()
    "Spearman's correlation with the map's distances"
    """
    rows = []
    for model in found.models:
        intervals = [(model.low, model.high)]
        if model.people_low is not None and model.people_high is not None:
            intervals.append((model.people_low, model.people_high))
        rows.append(Row(model.name, model.estimate, tuple(intervals)))
    if ax is None:
        ax = new_figure(6, 1.6 + 0.45 * len(rows)).add_subplot()
    level = format_level(found.level)
    if found.ceiling is not None:
        ax.axvspan(
            found.ceiling.low, found.ceiling.high, color=FAINT, alpha=0.3, linewidth=0, zorder=0, label="noise ceiling"
        )
    draw_intervals(rows, [f"{level} interval over objects", f"{level} interval over people"], ax)
    lows = [low for row in rows for low, _ in row.intervals]
    ax.axvline(0, color=INK, linewidth=0.8)
    ax.set_xlim(min(-0.02, min(lows) - 0.03), 1.02)  # or a dot at 1 would be cut in half
    ax.set_xlabel(f"{NAMES[found.measure]} with the map's distances")
    ax.legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(0, 1), ncols=3, borderaxespad=0.2)
    return ax


def plot_methods(found: MethodComparison, ax: Axes | None = None) -> Axes:
    """Draw by how much the error of each method differs from that of the first, with intervals.

    Parameters
    ----------
    found : MethodComparison
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> from nearer.comparing import MethodScore
    >>> ste = MethodScore("STE", 0.2, 0.18, 0.22, 0.2, 0.45, 0.3, None, None, None, None, None)
    >>> soe = MethodScore("SOE", 0.21, 0.19, 0.23, 0.21, 0.5, 0.2, 0.01, -0.01, 0.03, 0.3, 0.3)
    >>> plot_methods(MethodComparison((ste, soe), 5, 5, "trials", "annotators", 400, 0.95)).get_xlabel()
    'held-out error less that of STE (0.200)'
    """
    first, *others = found.methods
    rows = []
    for score in others:
        assert score.difference is not None  # which only the first lacks
        assert score.difference_low is not None
        assert score.difference_high is not None
        row = Row(
            f"{score.name} ({score.error:.3f})", score.difference, ((score.difference_low, score.difference_high),)
        )
        rows.append(row)
    if ax is None:
        ax = new_figure(6, 1.4 + 0.4 * len(rows)).add_subplot()
    ax.axvline(0, color=INK, linewidth=0.8)
    draw_intervals(rows, [f"{format_level(found.level)} interval; left of the line: better than {first.name}"], ax)
    ax.set_xlabel(f"held-out error less that of {first.name} ({first.error:.3f})")
    ax.legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2)
    return ax

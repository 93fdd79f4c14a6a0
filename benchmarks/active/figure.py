"""The figure of the benchmark: error against answers, one panel for each world."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.active.summary import CurveRow
from benchmarks.active.worlds import WORLDS
from nearer._common.formatting import pluralize
from nearer.plotting import FAINT, INK, PALETTE, despine, new_figure

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

_COLUMNS = 3
_COLORS = {
    "random": "#8c8c8c", "landmarks": PALETTE["SOE"], "information": PALETTE["STE"], "salmon": PALETTE["GNMDS"],
    "salmon, its own map": PALETTE["GNMDS"], "ours": PALETTE["DMOE"],
}  # fmt: skip
_LOWEST = 0.004  # of the axis
_TICKS = (0.5, 0.3, 0.2, 0.1, 0.05, 0.03, 0.02, 0.01, 0.005)


def draw_curves(rows: Sequence[CurveRow], path: Path) -> None:
    """Draw all worlds, each in a panel, with one legend."""
    worlds = list(dict.fromkeys(row["world"] for row in rows))
    columns = min(_COLUMNS, len(worlds))
    lines = -(-len(worlds) // columns)
    figure = new_figure(3.5 * columns + 0.2, 2.9 * lines + 0.5)
    panels = figure.subplots(lines, columns, squeeze=False)
    for ax, world in zip(panels.flat, worlds, strict=False):
        shown = [row for row in rows if row["world"] == world]
        plot_curves(shown, ax)
        ax.set_title(f"{world} ({_runs(shown)})\n{WORLDS[world].title}", fontsize=8, color=INK, loc="left")
    for ax in list(panels.flat)[len(worlds) :]:
        ax.set_axis_off()
    for line in range(lines):
        panels[line, 0].set_ylabel("error", fontsize=9, color=INK)
    for place in range(max(len(worlds) - columns, 0), len(worlds)):
        panels.flat[place].set_xlabel("answers", fontsize=9, color=INK)
    named: dict[str, Artist] = {}
    for ax in panels.flat:
        handles, labels = ax.get_legend_handles_labels()
        named |= dict(zip(labels, handles, strict=True))
    rules = [rule for rule in _COLORS if rule in named]
    figure.legend(
        [named[rule] for rule in rules], rules, loc="outside lower center", ncols=len(rules), frameon=False,
        fontsize=9, labelcolor=INK,
    )  # fmt: skip
    figure.savefig(path, dpi=160)


def _runs(rows: Sequence[CurveRow]) -> str:
    """Say how many runs the curves of a world have."""
    fewest, most = min(row["runs"] for row in rows), max(row["runs"] for row in rows)
    return pluralize(most, "run") if fewest == most else f"{fewest} to {most} runs"


def plot_curves(rows: Sequence[CurveRow], ax: Axes) -> Axes:
    """Draw median errors in one world with a band from the lower to the upper quartile, both axes logarithmic."""
    for rule in (name for name in _COLORS if any(row["rule"] == name for row in rows)):
        curve = [row for row in rows if row["rule"] == rule]
        answers = [row["answers"] for row in curve]
        own = "own map" in rule
        ax.plot(
            answers, [row["median"] for row in curve], color=_COLORS[rule], label=rule,
            linewidth=2.2 if rule == "ours" else 1.4, linestyle=(0.0, (3.0, 1.5)) if own else "-",
            zorder=4 if rule == "ours" else 3,
        )  # fmt: skip
        ax.fill_between(
            answers, [row["lower_quartile"] for row in curve], [row["upper_quartile"] for row in curve],
            color=_COLORS[rule], alpha=0.06 if own else 0.14, linewidth=0,
        )  # fmt: skip
    _scale(rows, ax)
    ax.grid(axis="y", color=FAINT, alpha=0.25, linewidth=0.6)
    return despine(ax)


def _scale(rows: Sequence[CurveRow], ax: Axes) -> None:
    """Give both axes round ticks in their own units."""
    most, least = max(row["answers"] for row in rows), min(row["answers"] for row in rows)
    low = max(min(row["median"] for row in rows) * 0.85, _LOWEST)
    high = max(row["upper_quartile"] for row in rows) * 1.1
    ax.set_xscale("log")
    ax.set_yscale("log")
    ticks = [size for size in (50, 100, 200, 500, 1000, 2000, 5000) if least <= size <= most]
    ax.set_xticks(ticks, [f"{size:,}" for size in ticks])
    levels = [level for level in _TICKS if low <= level <= high]
    ax.set_yticks(levels, [f"{level:g}" for level in levels])
    ax.set_ylim(low, high)
    ax.minorticks_off()

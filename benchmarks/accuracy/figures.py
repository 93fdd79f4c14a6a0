"""The figures of the benchmark: error against comparisons, reliability diagrams."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.accuracy.datasets import DATA_SETS
from benchmarks.accuracy.entries import LIMIT, METHODS, PEERS, loss_of
from benchmarks.accuracy.summary import AccuracyRow, CalibrationRow, Ranking, curve_of
from nearer.plotting import FAINT, INK, PALETTE, despine, new_figure, plot_reliability

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

_POSTERIOR = "#2a2f6e"
#: Drawn once more next to the peers, to compare them with.
_REFERENCE = ("DMOE", "Posterior")
_DEFAULTS, _TUNED = (0.0, (1.0, 1.5)), (0.0, (4.0, 1.5))
_ROW = 0.27  # inches between two labels


def draw_all(
    rows: Sequence[AccuracyRow], ranking: Ranking | None, calibration: Sequence[CalibrationRow], folder: Path
) -> list[str]:
    """Write one figure for each data set, ``ranks.png`` and ``reliability.png``; return the names of the files."""
    names = []
    for data in dict.fromkeys(row["data"] for row in rows):
        draw_errors([row for row in rows if row["data"] == data], folder / f"{data}.png")
        names.append(f"{data}.png")
    if ranking is not None:
        draw_ranks(ranking, folder / "ranks.png")
        names.append("ranks.png")
    if calibration:
        draw_reliability(calibration, folder / "reliability.png")
        names.append("reliability.png")
    return names


def color_of(method: str) -> str:
    """Return the colour of a method, the same for a peer as for our own estimator of that loss.

    Examples
    --------
    >>> color_of("cblearn-STE-cv") == color_of("STE")
    True
    """
    return {"Posterior": _POSTERIOR, **PALETTE}.get(loss_of(method), INK)


def draw_errors(rows: Sequence[AccuracyRow], path: Path) -> None:
    """Draw the error on one data set against the number of comparisons: our methods, and the peers."""
    data = DATA_SETS[rows[0]["data"]]
    own = [row for row in rows if row["method"] not in PEERS and row["method"] != LIMIT]
    peers = [row for row in rows if row["method"] in PEERS]
    panels = [("nearer", own)] if own or not peers else []
    if peers:
        panels.append(("cblearn", [row for row in own if row["method"] in _REFERENCE] + peers))
    figure = new_figure(4.6 * len(panels) + 0.3, 4.9)
    axes = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
    for (title, shown), ax in zip(panels, axes, strict=True):
        plot_error_curves(shown, ax)
        plot_limit(rows, ax)
        ax.set_title(title, fontsize=10, color=INK, loc="left")
        _add_legend(ax, title == "cblearn")
    for ax in axes[1:]:
        ax.set_ylabel("")
    figure.suptitle(f"{data.name}: {data.title}", fontsize=11, color=INK)
    figure.savefig(path, dpi=200)


def _add_legend(ax: Axes, with_peers: bool) -> None:
    """Name the lines below the panel; peers by the colour of their loss and the style of their tuning."""
    from matplotlib.lines import Line2D

    handles: dict[str, Artist] = {}
    for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
        name = loss_of(label)
        handles[name] = handle if name == label else Line2D([], [], color=color_of(label), linewidth=1.5)
    if with_peers:
        for name, style in (("at its defaults", _DEFAULTS), ("cross-validated", _TUNED)):
            handles[name] = Line2D([], [], color=INK, linewidth=1.3, linestyle=style)
    ax.legend(
        handles.values(), handles.keys(), frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(-0.06, -0.14),
        ncols=4, handlelength=2.4, columnspacing=1.4, labelcolor=INK,
    )  # fmt: skip


def plot_error_curves(rows: Sequence[AccuracyRow], ax: Axes) -> Axes:
    """Draw median errors with a band from the lower to the upper quartile, one line for each method.

    Our methods have full lines, peers dashed ones, and peers at their defaults dotted ones.
    """
    for method in (name for name in METHODS if any(row["method"] == name for row in rows)):
        curve = [row for row in rows if row["method"] == method and row["median"] is not None]
        if not curve:
            continue
        sizes = [row["size"] for row in curve]
        bold = method in _REFERENCE
        style = "-" if method not in PEERS else _TUNED if method.endswith("-cv") else _DEFAULTS
        ax.plot(
            sizes, [row["median"] or 0.0 for row in curve], linestyle=style, color=color_of(method),
            linewidth=2.2 if bold else 1.3, marker="o", markersize=4 if bold else 2.5, zorder=3 if bold else 2,
            label=method,
        )  # fmt: skip
        ax.fill_between(
            sizes, [row["lower_quartile"] or 0.0 for row in curve], [row["upper_quartile"] or 0.0 for row in curve],
            color=color_of(method), alpha=0.12, linewidth=0,
        )  # fmt: skip
    every = sorted({row["size"] for row in rows})
    ax.set_xscale("log")
    ax.set_xticks(every, [f"{size:,}" for size in every])
    ax.minorticks_off()
    ax.set_xlabel("comparisons", fontsize=9, color=INK)
    ax.set_ylabel("held-out error", fontsize=9, color=INK)
    ax.grid(axis="y", color=FAINT, alpha=0.25, linewidth=0.6)
    return despine(ax)


def plot_limit(rows: Sequence[AccuracyRow], ax: Axes) -> None:
    """Draw the error of the best possible predictor; the line breaks where it is not known."""
    known = {row["size"]: row["limit"] for row in rows}
    if any(limit is not None for limit in known.values()):
        sizes = sorted(known)
        limits = [np.nan if (limit := known[size]) is None else limit for size in sizes]
        ax.plot(sizes, limits, "D--", color="black", linewidth=1.4, markersize=3, zorder=4, label="best possible")


def draw_reliability(calibration: Sequence[CalibrationRow], path: Path) -> None:
    """Draw a reliability diagram for each method, on the answers of all noisy and human data sets together."""
    columns = min(len(calibration), 4)
    lines = -(-len(calibration) // columns)
    figure = new_figure(2.5 * columns + 0.4, 2.75 * lines + 0.3)
    axes = figure.subplots(lines, columns, squeeze=False, sharex=True, sharey=True)
    lowest = 1.0
    for ax, row in zip(axes.flat, calibration, strict=False):
        plot_reliability(curve_of(row["counts"]), color=color_of(row["method"]), ax=ax)
        # The error is the mean over the records, not that of the pooled curve.
        ax.set_title(f"{row['method']}  (ECE {row['ece']:.3f})", fontsize=9, color=INK)
        ax.set(xlabel="", ylabel="")
        lowest = min(lowest, ax.get_ylim()[0])
    axes.flat[0].set_ylim(bottom=lowest)  # shared by all
    for ax in list(axes.flat)[len(calibration) :]:
        ax.set_axis_off()
    # The lowest panel of each column labels the axis.
    for place in range(max(len(calibration) - columns, 0), len(calibration)):
        axes.flat[place].set_xlabel("confidence", fontsize=9, color=INK)
        axes.flat[place].tick_params(labelbottom=True)
    for line in range(lines):
        axes[line, 0].set_ylabel("share right", fontsize=9, color=INK)
    figure.savefig(path, dpi=200)


def draw_ranks(ranking: Ranking, path: Path) -> None:
    """Write the diagram to a file."""
    labels = (len(ranking.methods) + 1) // 2
    height = _ROW * (labels + len(ranking.groups()) * 0.45 + 3.6)
    figure = new_figure(8.4, height, constrained=False)
    plot_ranks(ranking, figure.add_axes((0.0, 0.0, 1.0, 1.0)))
    figure.savefig(path, dpi=200)


def plot_ranks(ranking: Ranking, ax: Axes) -> Axes:
    """Draw mean ranks, best to the left: the better half is labelled on the left, the other on the right.

    Lengths across are ranks; lengths down are rows of labels.
    """
    ranks, n = ranking.mean_ranks, len(ranking.methods)
    groups, half = ranking.groups(), (n + 1) // 2
    low, high = 1.0, float(n)
    margin = 0.36 * (high - low)  # room for labels
    first_label = 1.0 + 0.45 * len(groups)
    ax.set(xlim=(low - margin, high + margin), ylim=(first_label + half - 0.2, -2.8))
    ax.set_axis_off()

    ax.plot([low, high], [0, 0], color=INK, linewidth=1)
    for tick in range(1, n + 1):
        ax.plot([tick, tick], [0, -0.2], color=INK, linewidth=1)
        ax.text(tick, -0.35, str(tick), ha="center", va="bottom", fontsize=8, color=INK)
    _draw_critical_difference(ranking, low, ax)

    for place, (method, rank) in enumerate(zip(ranking.methods, ranks, strict=True)):
        on_left = place < half
        depth = first_label + (place if on_left else n - 1 - place)
        edge, side = (low - 0.04 * margin, "right") if on_left else (high + 0.04 * margin, "left")
        peer = method in PEERS
        color = INK if peer else PALETTE["DMOE"]
        ax.plot([rank, rank, edge], [0, depth, depth], color=FAINT if peer else color, linewidth=0.9)
        words = f"{method}  {rank:.1f}" if on_left else f"{rank:.1f}  {method}"
        ax.text(
            edge - 0.03 * margin if on_left else edge + 0.03 * margin, depth, words, ha=side, va="center", fontsize=9,
            color=color,
        )  # fmt: skip

    for row, (first, last) in enumerate(groups):
        depth = 0.5 + 0.45 * row
        ax.plot(
            [ranks[first] - 0.06, ranks[last] + 0.06], [depth, depth], color=INK, linewidth=3.5, solid_capstyle="butt"
        )
    return ax


def _draw_critical_difference(ranking: Ranking, low: float, ax: Axes) -> None:
    width = ranking.critical_difference
    ax.plot([low, low + width], [-1.55, -1.55], color=INK, linewidth=1)
    for end in (low, low + width):
        ax.plot([end, end], [-1.4, -1.7], color=INK, linewidth=1)
    words = f"critical difference {width:.2f}; mean ranks over {ranking.n_blocks} pairs of data set and size"
    ax.text(low, -2.2, words, ha="left", va="center", fontsize=8, color=INK)

"""The critical-difference diagram: methods on an axis of mean ranks, bars over those that cannot be told apart."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nearer.lab.accuracy.peers import PEERS
from nearer.lab.accuracy.ranks import Ranking
from nearer.plotting import FAINT, INK, PALETTE, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROW = 0.27  # inches between two labels


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

"""Two maps of the same objects in one picture: an arrow from where one has an object to where the other has it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearer._common.arrays import FloatArray, checked_points
from nearer._common.figures import ACCENT, FAINT, INK, new_figure
from nearer.plotting.maps import plot_map

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_OTHERS_COLOR = "#c4c4c4"
_DOT_AREA = 22.0  # square points


def plot_arrows(
    first: ArrayLike,
    second: ArrayLike,
    labels: Sequence[str] | NDArray[Any] | None = None,
    moved: ArrayLike | None = None,
    ax: Axes | None = None,
    *,
    names: tuple[str, str] = ("first", "second"),
    emphasized: str = "displaced (p \u2264 0.05)",
) -> Axes:
    """Draw objects where one map has them, with an arrow to where another has them.

    Parameters
    ----------
    first, second : arrays of shape (n, p)
        Two maps, laid onto each other; the first two columns are drawn. Maps of one dimension get a line for each
        object. An object with a place that is not finite in either is left out.
    labels : sequence of str, length n, optional
        Those of moved objects are written in ink, the others pale where there is room.
    moved : array of bool, shape (n,), optional
        Objects in another place are drawn in color, the others pale; all in color if left out.
    ax : Axes, optional
    names : pair of str
        What the two maps are called in the legend.
    emphasized : str
        What the legend says of those in color.

    Returns
    -------
    Axes

    Examples
    --------
    >>> ax = plot_arrows([[0.0, 0.0], [1.0, 1.0]], [[0.5, 0.0], [1.0, 1.0]], ["a", "b"], [True, False])
    >>> sorted(text.get_text() for text in ax.texts)
    ['a', 'b']
    """
    starts, ends = _two_columns(np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64))
    if starts.shape != ends.shape:
        raise ValueError(f"the maps have {len(starts)} and {len(ends)} objects; give both the same ones, in one order")
    n = len(starts)
    chosen = np.ones(n, dtype=bool) if moved is None else np.asarray(moved, dtype=bool)
    texts = [""] * n if labels is None else [str(label) for label in labels]
    if len(chosen) != n or len(texts) != n:
        raise ValueError(f"there are {n} objects; give a label, and whether it moved, for each")
    shown = np.flatnonzero(np.isfinite(np.hstack([starts, ends])).all(axis=1))
    starts, ends, chosen = starts[shown], ends[shown], chosen[shown]
    texts = [texts[index] for index in shown]
    if ax is None:
        ax = _new_axes(np.vstack([starts, ends]))
    _draw_arrows(ax, starts, ends, chosen, texts)
    _draw_arrow_legend(ax, names, emphasized, chosen)
    return ax


def _two_columns(first: FloatArray, second: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the first two columns; maps on a line get a second one with a height for each object."""
    if first.ndim != 2 or second.ndim != 2:
        raise ValueError(f"maps must have shape (n, p), got {first.shape} and {second.shape}")
    if first.shape[1] > 1 and second.shape[1] > 1:
        return first[:, :2], second[:, :2]
    middle = np.nan_to_num(first[:, 0] + second[:, 0])
    heights = np.argsort(np.argsort(-middle)) * (np.ptp(middle) / 2 or 1.0) / max(len(middle) - 1, 1)
    return np.column_stack([first[:, 0], heights]), np.column_stack([second[:, 0], heights])


def _new_axes(points: FloatArray) -> Axes:
    checked_points(points, "the maps")
    width, height = np.ptp(points, axis=0)
    shape = float(np.clip(height / width if width > 0 else 1.0, 0.5, 1))
    # Room for the legend below.
    figure = new_figure(8, 8 * shape + 0.5, constrained=False)
    below = 0.5 / (8 * shape + 0.5)
    return figure.add_axes((0.02, 0.02 + below, 0.96, 0.96 - below))


def _draw_arrows(ax: Axes, starts: FloatArray, ends: FloatArray, chosen: NDArray[np.bool_], texts: list[str]) -> None:
    from matplotlib.collections import PathCollection
    from matplotlib.patches import FancyArrowPatch

    # To the labels an arrow is a row of dots without color: none is written across it.
    along = [starts + share * (ends - starts) for share in (0.0, 0.25, 0.5, 0.75, 1.0)]
    unseen = 4 * len(starts)
    colors = [ACCENT if each else _OTHERS_COLOR for each in chosen] + ["none"] * unseen
    before, drawn = len(ax.texts), len(ax.collections)
    plot_map(np.vstack(along), [*texts, *[""] * unseen], colors, ax, area=_DOT_AREA)
    # Their outlines would be circles along the arrows; lines that lead to labels are collections, too.
    for dots in [each for each in list(ax.collections)[drawn:] if isinstance(each, PathCollection)]:
        dots.set_edgecolor("none")
        dots.set_zorder(3)
    pale = {text for text, each in zip(texts, chosen, strict=True) if not each}
    for text in list(ax.texts[before:]):
        if text.get_text() == "":
            text.remove()
        else:
            text.set_color(FAINT if text.get_text() in pale and chosen.any() else INK)
    _write_missing_labels(ax, starts, ends, chosen, texts)
    # Those in color lie above the others.
    for index in np.argsort(chosen, kind="stable"):
        ax.add_patch(
            FancyArrowPatch(
                tuple(starts[index]), tuple(ends[index]), arrowstyle="-|>", mutation_scale=9 if chosen[index] else 6,
                color=ACCENT if chosen[index] else _OTHERS_COLOR, linewidth=1.5 if chosen[index] else 0.9,
                shrinkA=0, shrinkB=0, zorder=2 if chosen[index] else 1,
            )
        )  # fmt: skip


def _write_missing_labels(
    ax: Axes, starts: FloatArray, ends: FloatArray, chosen: NDArray[np.bool_], texts: list[str]
) -> None:
    """Write the labels of moved objects that found no room before the heads of their arrows, come what may."""
    written = {text.get_text() for text in ax.texts}
    for index in np.flatnonzero(chosen):
        if texts[index] and texts[index] not in written:
            way = ends[index] - starts[index]
            across = abs(way[0]) >= abs(way[1])
            ax.annotate(
                texts[index], tuple(ends[index]), (5 * np.sign(way[0]) * across, 5 * np.sign(way[1]) * (not across)),
                textcoords="offset points", fontsize=8, color=INK,
                ha=("left" if way[0] >= 0 else "right") if across else "center",
                va="center" if across else ("bottom" if way[1] >= 0 else "top"),
            )  # fmt: skip


def _draw_arrow_legend(ax: Axes, names: tuple[str, str], emphasized: str, chosen: NDArray[np.bool_]) -> None:
    from matplotlib.lines import Line2D

    def line(color: str, marker: str, text: str) -> Line2D:
        size = 5 if marker in ("o", "$\u25b6$") else 0
        width = 0.0 if marker else 1.5
        return Line2D([], [], color=color, marker=marker, markersize=size, linewidth=width, label=text)

    handles = [line(INK, "o", f"{names[0]} (dot)"), line(INK, "$\u25b6$", f"{names[1]} (arrowhead)")]
    if chosen.any():
        handles.append(line(ACCENT, "", emphasized))
    if not chosen.all():
        handles.append(line(_OTHERS_COLOR, "", "others" if chosen.any() else f"none {emphasized}"))
    ax.legend(
        handles=handles, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=len(handles), frameon=False, fontsize=9,
        handlelength=1.4, borderaxespad=0.2,
    )  # fmt: skip

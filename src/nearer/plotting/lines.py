"""Maps of one axis: a row for each object, in order, with its name, its place and the interval that holds it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearer._common.arrays import FloatArray
from nearer._common.figures import FAINT, INK, SECOND
from nearer.plotting.framing import framed_axes
from nearer.plotting.keys import Attribute, as_colors, as_shapes, matched, words_of
from nearer.plotting.papers import Paper
from nearer.plotting.rows import every_that_fits, text_widths

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROW, _HIGHEST = 1.35, 2.4  # heights of a letter; heights of a figure in widths, where they are open


def plot_line(
    places: ArrayLike,
    labels: Sequence[str] | NDArray[Any] | None = None,
    ax: Axes | None = None,
    *,
    reaches: ArrayLike | None = None,
    color_by: Attribute | None = None,
    shape_by: Attribute | None = None,
    palette: Mapping[str, str] | None = None,
    paper: Paper | None = None,
) -> Axes:
    """Draw a map of one axis: a row for each object, the largest on top.

    Parameters
    ----------
    places : array of shape (n,) or (n, 1)
    labels : sequence of str, length n, optional
        Written where rows are high enough; otherwise every second, third and so on.
    ax : Axes, optional
    reaches : array of shape (n,), optional
        How far the interval of each object reaches to both sides.
    color_by, shape_by, palette, paper
        As of `plot_map`.

    Returns
    -------
    Axes

    Examples
    --------
    >>> ax = plot_line([0.0, 2.0, 1.0], ["low", "high", "middle"])
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['high', 'middle', 'low']
    """
    at = np.asarray(places, dtype=np.float64).reshape(-1)
    n, sheet = len(at), paper or Paper()
    names = _names(labels, n)
    half = None if reaches is None else _checked_reaches(reaches, n)
    color = None if color_by is None else as_colors(*matched(color_by, n), palette)
    shape = None if shape_by is None else as_shapes(*matched(shape_by, n))
    order = np.argsort(-at, kind="stable")
    size = sheet.font_size
    mark = float(np.clip(0.75 * size, 3, 6))
    with sheet.text([*names, *words_of(color, shape)]):
        if ax is None:
            room = (text_widths(names, size) + 4.0, 2.2 * size + 6, 2.0, 0.0)
            high = (max(n * _ROW * size, 45) + room[1] + 6) / (sheet.width * 72 / 25.4)
            ax = framed_axes(sheet, min(high, _HIGHEST), color, shape, mark, room)
        tones = [SECOND] * n if color is None else color.marks
        _draw_rows(ax, at, order, half, tones, ["o"] * n if shape is None else shape.marks, mark)
        ax.set_ylim(n - 0.5, -0.5)
        shown = every_that_fits(ax, n, 1.1 * size)
        ax.set_yticks(shown, [names[order[row]] for row in shown])
        for text in ax.get_yticklabels():
            text.set(parse_math=False, color=INK)
        ax.tick_params(axis="y", length=0)
        ax.tick_params(axis="x", color=FAINT, labelcolor=INK)
        ax.set_xlabel("place on the map", color=INK)
        for side in ("top", "left", "right"):
            ax.spines[side].set_visible(False)
        ax.spines["bottom"].set_color(FAINT)
    return ax


def _draw_rows(
    ax: Axes,
    at: FloatArray,
    order: NDArray[np.intp],
    half: FloatArray | None,
    tones: Sequence[Any],
    marks: Sequence[str],
    mark: float,
) -> None:
    """Draw the rows in order: a pale line to lead the eye, an interval, a mark."""
    for row, index in enumerate(order):
        ax.axhline(row, color=FAINT, linewidth=0.3, alpha=0.5, zorder=0)
        if half is not None:
            ends = [at[index] - half[index], at[index] + half[index]]
            ax.plot(ends, [row, row], color=tones[index], linewidth=1.2, alpha=0.7, solid_capstyle="butt", zorder=1)
        ax.plot(
            at[index], row, marks[index], color=tones[index], markersize=mark, markeredgecolor=(0, 0, 0, 0.25),
            markeredgewidth=0.5, zorder=2,
        )  # fmt: skip


def _names(labels: Any, n_objects: int) -> list[str]:
    if labels is None:
        return [""] * n_objects
    if len(labels) != n_objects:
        raise ValueError(f"there are {len(labels)} labels for {n_objects} objects; give one for each")
    return [" ".join(str(label).split()) for label in labels]


def _checked_reaches(reaches: ArrayLike, n_objects: int) -> FloatArray:
    half = np.asarray(reaches, dtype=np.float64)
    if half.shape != (n_objects,) or not (half >= 0).all():
        raise ValueError(f"reaches must be {n_objects} numbers, 0 or more; got shape {half.shape}")
    return half

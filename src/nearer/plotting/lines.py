"""Rows below one another: objects along one axis of a map, and people by the weight of an axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearer._common.arrays import FloatArray
from nearer._common.figures import FAINT, INK, PALETTE, SECOND, despine, new_figure
from nearer.plotting.keys import Attribute, as_colors, as_shapes, checked_attribute, framed_axes, key_texts
from nearer.plotting.papers import Paper

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROW_HEIGHT, _MAX_HEIGHT = 1.35, 2.4  # heights of a letter; heights of a figure in widths, where they are open
_MAX_PEOPLE_LABELS = 80  # below one another; beyond, they would be too small to read


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
    names = _checked_labels(labels, n)
    half = None if reaches is None else _checked_reaches(reaches, n)
    color = None if color_by is None else as_colors(*checked_attribute(color_by, n), palette)
    shape = None if shape_by is None else as_shapes(*checked_attribute(shape_by, n))
    order = np.argsort(-at, kind="stable")
    size = sheet.font_size
    mark = float(np.clip(0.75 * size, 3, 6))
    with sheet.text([*names, *key_texts(color, shape)]):
        if ax is None:
            room = (max_text_width(names, size) + 4.0, 2.2 * size + 6, 2.0, 0.0)
            high = (max(n * _ROW_HEIGHT * size, 45) + room[1] + 6) / (sheet.width * 72 / 25.4)
            ax = framed_axes(sheet, min(high, _MAX_HEIGHT), color, shape, mark, room)
        tones = [SECOND] * n if color is None else color.marks
        _draw_rows(ax, at, order, half, tones, ["o"] * n if shape is None else shape.marks, mark)
        ax.set_ylim(n - 0.5, -0.5)
        shown = rows_with_labels(ax, n, 1.1 * size)
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


def _checked_labels(labels: Any, n_objects: int) -> list[str]:
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


def max_text_width(names: Sequence[str], size: float) -> float:
    """Return how wide the widest of these names is, in points, in the present font.

    Examples
    --------
    >>> max_text_width([""], 7.0), 8 < max_text_width(["i", "mmm"], 7.0) < 30
    (0.0, True)
    """
    from nearer._common.figures import new_figure

    figure = new_figure(1, 1)
    text = figure.text(0, 0, "", fontsize=size, parse_math=False)
    widest = 0.0
    for name in set(names) - {""}:
        text.set_text(name)
        widest = max(widest, float(text.get_window_extent().width) * 72 / figure.dpi)
    return widest


def rows_with_labels(ax: Axes, n_rows: int, height: float) -> list[int]:
    """Return the rows of axes whose names of so many points lie on no other: all, every second, every third and so on.

    Examples
    --------
    >>> from nearer._common.figures import new_figure
    >>> rows_with_labels(new_figure(1, 1, constrained=False).add_axes((0, 0, 1, 1)), 10, 14.0)
    [0, 2, 4, 6, 8]
    """
    inner = float(ax.get_window_extent().height) * 72 / ax.figure.dpi
    step = max(int(np.ceil(height * n_rows / inner)), 1)
    return list(range(0, n_rows, step))


def plot_weights(model: Any, axis: int | None = None, ax: Axes | None = None, *, level: float = 0.95) -> Axes:
    """Draw what an axis counts for each person, with intervals: people below one another, by their weights.

    With two axes the weight of the one says that of the other, and one panel says all. With more there is one for each
    axis, side by side, people in the order of the first.

    Parameters
    ----------
    model : IndividualDifferences
        Fitted.
    axis : int, optional
        The axis, from 0; left out, all of them.
    ax : Axes, optional
        For one axis.
    level : float
        Of the intervals.

    Returns
    -------
    Axes
        The first of them, if there are several.

    Examples
    --------
    >>> from nearer import Comparisons
    >>> from nearer.embedding import IndividualDifferences
    >>> rng = np.random.default_rng(0)
    >>> rows = [rng.choice(6, 3, replace=False) for _ in range(80)]
    >>> model = IndividualDifferences(spread=0.5, random_state=0)
    >>> ax = plot_weights(model.fit(Comparisons.from_triplets(rows, annotators=["ann", "bob"] * 40)))
    >>> sorted(text.get_text() for text in ax.get_yticklabels())
    ['ann', 'bob']
    """
    if not hasattr(model, "weights_interval_"):
        raise ValueError("there are no weights to draw; fit an IndividualDifferences first")
    n_people, p = model.weights_.shape
    if axis is not None and not 0 <= axis < p:
        raise ValueError(f"axis={axis} is none of the {p} axes, which are 0 to {p - 1}")
    order = np.argsort(model.weights_[:, 0 if axis is None else axis], kind="stable")
    shown = [axis] if axis is not None else [0] if p == 2 or ax is not None else list(range(p))
    if ax is None:
        figure = new_figure(2.4 + 2.6 * len(shown), float(np.clip(0.9 + 0.17 * n_people, 2.5, 14)))
        panels = figure.subplots(1, len(shown), sharey=True, squeeze=False)[0]
    else:
        panels = np.array([ax])
    for panel, number in zip(panels, shown, strict=True):
        _draw_weights(panel, model, number, order, model.intervals(level))
    for panel in panels[1:]:
        panel.tick_params(axis="y", length=0)
    _label_people(panels[0], [str(model.people_[row]) for row in order])
    first: Axes = panels[0]
    return first


def _draw_weights(ax: Axes, model: Any, axis: int, order: Any, intervals: Any) -> None:
    """Draw one panel: a dot and a line for each person, in the color of their kind."""
    tones = list(PALETTE.values())
    places = np.arange(len(order))
    weights, (low, high) = model.weights_[order, axis], intervals[order, axis].T
    ax.axvline(1, color=FAINT, linewidth=0.8, zorder=0)
    for kind in range(model.n_kinds_):
        of_kind = model.kinds_[order] == kind
        tone = tones[(kind + 1) % len(tones)]
        ax.hlines(places[of_kind], low[of_kind], high[of_kind], color=tone, linewidth=1.2, alpha=0.55)
        ax.plot(weights[of_kind], places[of_kind], "o", color=tone, markersize=4.5, label=f"kind {kind + 1}")
    _set_log2_scale(ax, float(intervals.min()), float(intervals.max()))
    despine(ax)
    other = f"; axis {2 - axis} has its inverse" if model.weights_.shape[1] == 2 else ""
    same = "" if model.axes_identified_ else "\n(nothing says that people differ)"
    ax.set_xlabel(f"weight of axis {axis + 1}{other}{same}", fontsize=9, color=INK)
    if model.n_kinds_ > 1:
        ax.legend(frameon=False, fontsize=8, labelcolor=INK, loc="lower right")


def _set_log2_scale(ax: Axes, low: float, high: float) -> None:
    """Set a logarithmic scale with ticks that people read: halves and doubles."""
    reach = float(np.clip(max(high, 1 / low), 2, 1e6))
    ax.set_xscale("log", base=2)
    powers = np.arange(-int(np.floor(np.log2(reach))), int(np.floor(np.log2(reach))) + 1)
    powers = powers[:: max(1, len(powers) // 8)] if len(powers) > 9 else powers
    names = [f"{2**power}" if power >= 0 else f"1/{2**-power}" for power in powers.tolist()]
    ax.set_xticks(2.0 ** powers.astype(float), names)
    ax.minorticks_off()
    ax.set_xlim(1 / (reach * 1.08), reach * 1.08)


def _label_people(ax: Axes, names: list[str]) -> None:
    ax.set_ylim(-0.7, len(names) - 0.3)
    if len(names) > _MAX_PEOPLE_LABELS:
        ax.set_yticks([])
        ax.set_ylabel(f"{len(names)} people", fontsize=9, color=INK)
        return
    ax.set_yticks(np.arange(len(names)), [name if len(name) <= 24 else name[:23] + "…" for name in names])
    ax.tick_params(axis="y", length=0, labelsize=float(np.clip(500 / len(names), 5, 9)))

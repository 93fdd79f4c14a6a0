"""Labels on axes: texts that lie on no other text and no mark, with lines to those that are away from their marks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nearer._common.arrays import FloatArray
from nearer._common.figures import FAINT, INK
from nearer.plotting.label_places import place_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text

_MOST = 600  # labels that look for a place


def write_labels(
    ax: Axes,
    anchors: FloatArray,
    labels: Sequence[str],
    radii: FloatArray,
    taken: FloatArray,
    *,
    colors: Sequence[str] | None = None,
    n_last: int = 0,
) -> None:
    """Write labels beside their marks, or away from them with a line; those that find no place are left out.

    Limits and place of the axes have to be final: labels are placed on paper, not on the map. Size and font are those
    of matplotlib's present settings.

    Parameters
    ----------
    ax : Axes
    anchors : ndarray, shape (k, 2)
        Marks that the labels belong to, in the units of the axes.
    labels : sequence of str, length k
        Of an empty one nothing is written.
    radii : ndarray, shape (k, 2)
        Half widths and heights of the marks, in points.
    taken : ndarray, shape (m, 4)
        Further boxes in points, from the lower left corner of the figure, that no label may lie on.
    colors : sequence of str, optional
        Of the labels.
    n_last : int
        How many labels, at the end, are not among those that are left out where marks are too many.
    """
    from matplotlib.backends import backend_agg

    scale = ax.figure.dpi / 72
    places = np.asarray(ax.transData.transform(anchors)) / scale
    frame = ax.get_window_extent().get_points().ravel() / scale
    texts: list[Text] = []
    labels = _in_the_open(labels, places, n_last)
    for label, color in zip(labels, colors or [INK] * len(labels), strict=True):
        # Labels are no formulas, whatever signs are in them; and they are inside the axes and need no further room.
        text = ax.text(0, 0, label, color=color, ha="center", va="center", parse_math=False, in_layout=False)
        texts.append(text)
    agg: Any = backend_agg  # which has no types
    pen = agg.RendererAgg(1, 1, ax.figure.dpi)  # one for all: the figure would make a sheet for each label
    boxes = np.array([text.get_window_extent(pen).size for text in texts]).reshape(-1, 2) / scale
    written = np.array([bool(label) for label in labels], dtype=bool)
    marks = np.vstack([np.hstack([places - radii, places + radii]), taken])
    found = place_labels(places[written], radii[written], boxes[written], marks, frame)
    centres, lines = np.full((len(labels), 2), np.nan), np.full((len(labels), 4), np.nan)
    centres[written], lines[written] = found.centres, found.lines
    to_data = ax.transData.inverted()
    for text, centre in zip(texts, centres, strict=True):
        if np.isnan(centre[0]):
            text.remove()
            continue
        text.set_position(tuple(to_data.transform(centre * scale)))
    drawn = np.isfinite(lines[:, 0])
    if drawn.any():
        _draw_lines(ax, lines[drawn], radii[drawn], scale)


def _in_the_open(labels: Sequence[str], places: FloatArray, n_last: int) -> Sequence[str]:
    """Return labels, of which only those of marks with the most room around them are kept if there are too many.

    No more than a few hundred find a place, whoever tries.
    """
    from scipy.spatial import KDTree

    if len(labels) <= _MOST:
        return labels
    room = np.asarray(KDTree(places).query(places, k=2)[0])[:, 1]
    room[len(room) - n_last :] = np.inf
    kept = set(np.argsort(-room, kind="stable")[:_MOST].tolist())
    return [label if number in kept else "" for number, label in enumerate(labels)]


def _draw_lines(ax: Axes, lines: FloatArray, radii: FloatArray, scale: float) -> None:
    """Draw thin lines from the edge of each mark to its label."""
    from matplotlib.collections import LineCollection

    start, end = lines[:, :2], lines[:, 2:]
    length = np.linalg.norm(end - start, axis=1, keepdims=True)
    begin = start + (end - start) / length * np.minimum(radii.min(axis=1, keepdims=True), length)
    ends = ax.transData.inverted().transform(np.stack([begin, end], axis=1).reshape(-1, 2) * scale)
    ax.add_collection(
        LineCollection(list(ends.reshape(-1, 2, 2)), colors=FAINT, linewidths=0.5, zorder=2.5), autolim=False
    )

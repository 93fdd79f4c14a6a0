"""Arrows from the centre of a map: the directions in which attributes grow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from nearer.common.arrays import FloatArray
from nearer.plotting.style import ACCENT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_REACH = 0.9  # of the way from the centre to the edge of the map that the longest arrow goes
_STEP = 2.5  # points between boxes along an arrow that keep labels off it


def draw_arrows(
    ax: Axes, points: FloatArray, arrows: Sequence[tuple[str, FloatArray]]
) -> tuple[FloatArray, FloatArray]:
    """Draw arrows from the mean of the points, and return their tips, (k, 2), and boxes on paper along them, (m, 4)."""
    from matplotlib.patches import FancyArrowPatch

    if not arrows:
        return np.empty((0, 2)), np.empty((0, 4))
    directions = np.array([direction for _, direction in arrows], dtype=np.float64)
    if directions.shape != (len(arrows), 2) or not np.isfinite(directions).all() or not directions.any(axis=1).all():
        raise ValueError("each arrow needs a name and a direction of two finite numbers, not both 0")
    centre = points.mean(axis=0)
    low, high = points.min(axis=0), points.max(axis=0)
    with np.errstate(divide="ignore"):
        # How often each direction goes into the way to the edge; the least keeps all arrows on the map.
        room = np.where(directions > 0, (high - centre) / directions, (low - centre) / directions)
    tips = centre + directions * _REACH * np.where(directions == 0, np.inf, room).min()
    scale = ax.figure.dpi / 72
    boxes = []
    for tip in tips:
        arrow = FancyArrowPatch(
            tuple(centre), tuple(tip), arrowstyle="-|>", mutation_scale=6, color=ACCENT, linewidth=0.8, shrinkA=0,
            shrinkB=0, zorder=1.5,
        )  # fmt: skip
        arrow.set_in_layout(False)
        ax.add_patch(arrow)
        start, end = ax.transData.transform(np.array([centre, tip])) / scale
        steps = np.linspace(0, 1, max(int(np.linalg.norm(end - start) / _STEP), 2))[:, None]
        along = start + (end - start) * steps
        boxes.append(np.hstack([along - 1, along + 1]))
    return tips, np.vstack(boxes)

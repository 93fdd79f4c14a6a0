"""Arrows from the centre of a map: the directions in which attributes grow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nearer._common.arrays import FloatArray
from nearer._common.figures import ACCENT, FAINT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_REACH = 0.9  # of the way from the centre to the edge of the map that the longest arrow goes
_SURE = 0.05
_PALE = "#6f6f6f"  # FAINT is too pale to read
_STEP = 2.5  # points between boxes along an arrow that keep labels off it


class Arrow(NamedTuple):
    """The direction in which an attribute grows.

    Attributes
    ----------
    name : str
    direction : array-like, shape (2,)
        The longest goes to the edge of the map, the others in proportion.
    sure : bool
        Whether it is drawn in full; dashed and pale if not.
    """

    name: str
    direction: Any
    sure: bool = True

    @property
    def color(self) -> str:
        """Of its name."""
        return ACCENT if self.sure else _PALE


def arrows_of(fits: Sequence[Any], axes: tuple[int, int] = (0, 1)) -> list[Arrow]:
    """Return an arrow for each attribute of numbers: as long as its R2, sure if its p-value (Holm) is below 0.05.

    Parameters
    ----------
    fits : sequence of PropertyFit
    axes : pair of int
        The axes that are drawn; what of a direction lies along others is not seen.
    """
    grown = [fit for fit in fits if fit.direction is not None]
    return [
        Arrow(fit.name, fit.r2 * np.array(fit.direction)[list(axes)], fit.p_holm < _SURE)
        for fit in sorted(grown, key=lambda fit: -fit.r2)
    ]


def draw_arrows(ax: Axes, points: FloatArray, arrows: Sequence[Arrow]) -> tuple[FloatArray, FloatArray]:
    """Draw arrows from the mean of the points, and return their tips, (k, 2), and boxes on paper along them, (m, 4)."""
    from matplotlib.patches import FancyArrowPatch

    if not arrows:
        return np.empty((0, 2)), np.empty((0, 4))
    directions = np.array([arrow.direction for arrow in arrows], dtype=np.float64)
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
    for arrow, tip in zip(arrows, tips, strict=True):
        drawn = FancyArrowPatch(
            tuple(centre), tuple(tip), arrowstyle="-|>", mutation_scale=6, color=ACCENT if arrow.sure else FAINT,
            linewidth=0.8, linestyle="-" if arrow.sure else (0, (4, 3)), shrinkA=0, shrinkB=0, zorder=1.5,
        )  # fmt: skip
        drawn.set_in_layout(False)
        ax.add_patch(drawn)
        start, end = ax.transData.transform(np.array([centre, tip])) / scale
        steps = np.linspace(0, 1, max(int(np.linalg.norm(end - start) / _STEP), 2))[:, None]
        along = start + (end - start) * steps
        boxes.append(np.hstack([along - 1, along + 1]))
    return tips, np.vstack(boxes)

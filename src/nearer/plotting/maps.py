"""Maps: a dot for each object, its name where there is room, and where else it may lie."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearer.plotting.style import INK, SECOND, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Lets a white dot be seen on white paper, and two dots of one colour be told apart.
_OUTLINE = (0.0, 0.0, 0.0, 0.25)
# Where a label may go, best first, as directions from its dot.
_DIRECTIONS = np.array(
    [(1, 0), (-1, 0), (0, 1), (0, -1)]
    + [(side, slant) for slant in (0.5, -0.5, 0.8, -0.8) for side in (1, -1)]
    + [(side, slant) for slant in (1, -1) for side in (0.4, -0.4)]
)


def plot_map(
    embedding: ArrayLike,
    labels: Sequence[str] | NDArray[Any] | None = None,
    colors: Any = None,
    ax: Axes | None = None,
    *,
    ellipses: ArrayLike | None = None,
    area: float | None = None,
) -> Axes:
    """Draw a map: one dot for each object, with its name where there is room for it.

    Parameters
    ----------
    embedding : array of shape (n, p)
        The first two columns are drawn, with equal scales.
    labels : sequence of str, length n, optional
        A label that would lie on another label or on a dot is left out.
    colors : anything that matplotlib takes as the colours of n dots, optional
    ax : Axes, optional
    ellipses : array of shape (n, 5), optional
        Where each object may lie, as `PosteriorEmbedding.ellipses` returns it: centre, half axes, angle in degrees.
    area : float, optional
        Of a dot, in square points. Left out, it goes by the number of objects, and is larger where there are colours.

    Returns
    -------
    Axes

    Examples
    --------
    >>> ax = plot_map([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], labels=["a", "b", "c"])
    >>> [text.get_text() for text in ax.texts]
    ['a', 'b', 'c']
    """
    points = np.asarray(embedding, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] < 2:
        raise ValueError(f"a map needs an embedding of shape (n, p) with p >= 2; got shape {points.shape}")
    if labels is not None and len(labels) != len(points):
        raise ValueError(f"there are {len(labels)} labels for {len(points)} objects; give one for each")
    if ax is None:
        corners = points[:, :2]
        if ellipses is not None:
            reach = np.asarray(ellipses, dtype=np.float64)[:, 2:3]
            corners = np.vstack([corners - reach, corners + reach])
        width, height = np.ptp(corners, axis=0)
        shape = height / width if width > 0 else 1.0
        ax = new_figure(8, 8 * float(np.clip(shape, 0.5, 1)), constrained=False).add_axes((0.02, 0.02, 0.96, 0.96))
    # Colours are seen on patches; without them a dot says where an object is.
    if area is None:
        area = dot_area(len(points)) if colors is None else float(np.clip(17000 / len(points), 20, 250))
    ax.scatter(
        points[:, 0], points[:, 1], s=area, c=SECOND if colors is None else colors,
        edgecolors=[_OUTLINE], linewidths=0.7,
    )  # fmt: skip
    if ellipses is not None:
        _draw_ellipses(ax, np.asarray(ellipses, dtype=np.float64), len(points), colors)
    ax.set_aspect("equal", adjustable="datalim")
    ax.margins(0.08)
    ax.set_axis_off()
    if labels is not None:
        _place_labels(ax, points[:, :2], [str(label) for label in labels], np.sqrt(area) / 2)
    return ax


def dot_area(n_points: int) -> float:
    """Return the area of the dots of a map without colours, in square points.

    Examples
    --------
    >>> dot_area(24), dot_area(100)
    (60.0, 30.0)
    """
    return float(np.clip(3000 / n_points, 12, 60))


def _draw_ellipses(ax: Axes, ellipses: NDArray[np.float64], n_points: int, colors: Any) -> None:
    """Draw an ellipse under each dot, in a pale tone of its colour."""
    from matplotlib.collections import EllipseCollection

    if ellipses.shape != (n_points, 5):
        raise ValueError(
            f"ellipses must have the shape ({n_points}, 5): centre, half axes and angle of each object; "
            f"got {ellipses.shape}"
        )
    ax.add_collection(
        EllipseCollection(
            2 * ellipses[:, 2], 2 * ellipses[:, 3], ellipses[:, 4], units="xy", offsets=ellipses[:, :2],
            offset_transform=ax.transData, facecolors=SECOND if colors is None else colors, alpha=0.15, zorder=0,
        )
    )  # fmt: skip
    ax.update_datalim(np.concatenate([ellipses[:, :2] + side * ellipses[:, 2:3] for side in (-1, 1)]))


def _place_labels(ax: Axes, points: NDArray[np.float64], labels: Sequence[str], radius: float) -> None:
    """Write each label beside its dot, in the first direction that is free, or not at all.

    Labels with the most crowded dots choose first: those in the open find room later.
    """
    ax.apply_aspect()  # fixes the scales that everything below is measured in
    pixels_per_point = ax.figure.dpi / 72
    dots = np.asarray(ax.transData.transform(points)) / pixels_per_point
    frame = ax.get_window_extent().get_points() / pixels_per_point
    taken = np.hstack([dots - radius, dots + radius])
    gaps = np.linalg.norm(dots[:, None] - dots[None, :], axis=2)
    crowding = np.exp(-((gaps / 40) ** 2)).sum(axis=1)
    for index in np.argsort(-crowding, kind="stable"):
        text = ax.text(0, 0, labels[index], fontsize=8, color=INK, ha="center", va="center")
        extent = text.get_window_extent()
        half = np.array([extent.width, extent.height]) / 2 / pixels_per_point
        centres = dots[index] + _DIRECTIONS * (half + radius + 1)
        boxes = np.hstack([centres - half, centres + half])
        overlaps = np.all((boxes[:, None, :2] < taken[:, 2:]) & (boxes[:, None, 2:] > taken[:, :2]), axis=2)
        inside = np.all((boxes[:, :2] >= frame[0]) & (boxes[:, 2:] <= frame[1]), axis=1)
        free = np.flatnonzero(inside & ~np.any(overlaps, axis=1))
        if len(free) == 0:
            text.remove()
            continue
        taken = np.vstack([taken, boxes[free[0]]])
        x, y = ax.transData.inverted().transform(centres[free[0]] * pixels_per_point)
        text.set_position((float(x), float(y)))

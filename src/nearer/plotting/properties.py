"""Attributes on a map: an arrow for each, in the direction in which it grows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearer.common.arrays import checked_points
from nearer.plotting.maps import plot_map
from nearer.plotting.style import ACCENT, FAINT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox

_LONGEST = 0.85  # of the way from the middle of the map to the outermost objects
_DOT_PIXELS = 9  # from the middle of a dot to a label above or below it
_SURE = 0.05
_PALE = "#6f6f6f"  # FAINT is too pale to read


def plot_properties(
    embedding: ArrayLike,
    fits: Sequence[Any],
    labels: Sequence[str] | NDArray[Any] | None = None,
    ax: Axes | None = None,
    **map_options: Any,
) -> Axes:
    """Draw a map with an arrow for each attribute of numbers.

    An arrow has the direction in which its attribute grows, and its length goes by R2. What of it lies along further
    axes of the map is not seen. Arrows of attributes whose p-value (Holm) is 0.05 or more are dashed and pale.

    Parameters
    ----------
    embedding : array-like, shape (n, p)
        The first two columns are drawn.
    fits : sequence of PropertyFit
        As `nearer.comparing.fit_properties` returns them. Those of words have no direction and are not drawn.
    labels : sequence of str, length n, optional
        Of objects. One that lies on the name of an attribute is left out.
    ax : Axes, optional
    **map_options
        For `plot_map`, such as ``colors`` and ``ellipses``.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from nearer.comparing import fit_properties
    >>> places = np.random.default_rng(0).normal(size=(20, 2))
    >>> fits = fit_properties(places, {"size": places @ [1.0, 2.0]}, random_state=0)
    >>> [text.get_text() for text in plot_properties(places, fits).texts if text.get_text()]
    ['size']
    """
    points = checked_points(embedding, "embedding")
    ax = plot_map(points, labels, ax=ax, **map_options)
    objects = [text for text in ax.texts if text.get_text()]
    drawn = sorted((fit for fit in fits if fit.direction is not None), key=lambda fit: -fit.r2)
    middle = points[:, :2].mean(axis=0)
    tips = middle + _as_long_as_fits(points[:, :2] - middle, [fit.r2 * np.array(fit.direction)[:2] for fit in drawn])
    names: list[Text] = []
    for fit, tip in zip(drawn, tips, strict=True):
        sure = fit.p_holm < _SURE
        color = ACCENT if sure else FAINT
        style = {"arrowstyle": "-|>", "color": color, "linewidth": 1.8 if sure else 1.2, "shrinkA": 0, "shrinkB": 0}
        ax.annotate("", tip, middle, arrowprops=style | {"linestyle": "-" if sure else (0, (4, 3))}, zorder=1.5)
        names.append(_named(ax, fit, tip, names))
    _make_room(ax, points[:, :2], objects, names, [np.linspace(middle, tip, 100) for tip in tips])
    return ax


def _as_long_as_fits(away: NDArray[Any], arrows: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return arrows, (k, 2), as long as all can be without leaving the box that the objects fill."""
    ways = np.array(arrows, dtype=np.float64).reshape(-1, 2)
    room = np.full(ways.shape, np.inf)
    np.divide(np.where(ways > 0, away.max(axis=0), away.min(axis=0)), ways, out=room, where=ways != 0)
    farthest = _LONGEST * float(np.linalg.norm(away, axis=1).max())
    return np.asarray(ways * room.min(initial=farthest))


def _named(ax: Axes, fit: Any, tip: NDArray[Any], others: Sequence[Text]) -> Text:
    """Write the name of an attribute behind the tip of its arrow; farther out, or beside it, where there is no room."""
    along, sure = np.array(fit.direction)[:2], fit.p_holm < _SURE
    outward = along / max(float(np.linalg.norm(along)), 1e-12)
    text = ax.annotate(
        fit.name, (float(tip[0]), float(tip[1])), (0, 0), textcoords="offset points", fontsize=9, zorder=5, ha="center",
        va="center", fontweight="bold" if sure else "normal", color=ACCENT if sure else _PALE,
        bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "alpha": 0.8, "linewidth": 0},
    )  # fmt: skip
    taken, frame = [other.get_window_extent() for other in others], ax.get_window_extent()
    half = np.array(text.get_window_extent().size) / 2 * 72 / ax.figure.dpi
    beside = np.array([half[0] + 8, 0.0]) if abs(outward[1]) > 0.5 else np.array([0.0, half[1] + 8])
    ways = [outward * (half + 5 + farther) for farther in range(0, 40, 4)]
    ways += [side * beside - outward * back for back in range(0, 60, 6) for side in (1, -1)]
    for x, y in [*ways, ways[0]]:
        text.set_position((float(x), float(y)))
        box = text.get_window_extent()
        inside = bool((box.p0 >= frame.p0).all() and (box.p1 <= frame.p1).all())
        if inside and not any(map(box.overlaps, taken)):
            break
    return text


def _make_room(
    ax: Axes, points: NDArray[Any], objects: Sequence[Text], names: Sequence[Text], ways: Sequence[NDArray[Any]]
) -> None:
    """Put labels of objects that an arrow or its name lies on elsewhere around their dots.

    Where there is no room a label stays on an arrow, which is drawn below it; on a name or another label it is left out.
    """
    boxes = [text.get_window_extent() for text in names]
    dots = ax.transData.transform(points)
    along = ax.transData.transform(np.vstack(ways)) if ways else np.empty((0, 2))

    def free(text: Text, marks: NDArray[Any]) -> bool:
        box = text.get_window_extent()
        others = [other.get_window_extent() for other in objects if other is not text and other.figure is not None]
        return not any(map(box.overlaps, [*boxes, *others])) and not _inside(box, marks)

    for text in objects:
        box = text.get_window_extent()
        if not any(map(box.overlaps, boxes)) and not _inside(box, along):
            continue
        at = np.array(text.get_position())
        nearest = np.linalg.norm(points - at, axis=1).argmin()
        around = [points[nearest] + (at - points[nearest]) * side for side in ((-1, -1), (-1, 1), (1, -1))]
        middle = np.array([(box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2])
        for up in (1, -1):
            away = dots[nearest] + (0, up * (box.height / 2 + _DOT_PIXELS)) - middle
            around.append(ax.transData.inverted().transform(ax.transData.transform(at) + away))
        for place, marks in [(each, np.vstack([along, dots])) for each in around] + [(at, dots)]:
            text.set_position((float(place[0]), float(place[1])))
            if free(text, marks):
                break
        else:
            text.remove()


def _inside(box: Bbox, pixels: NDArray[Any]) -> bool:
    """Whether any of the places is in a box."""
    return bool(np.all((pixels > box.p0) & (pixels < box.p1), axis=1).any())

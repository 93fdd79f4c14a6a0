"""Maps: a mark for each object, its name where there is room, and where else it may lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearer._common.arrays import FloatArray
from nearer._common.figures import FAINT, INK, SECOND
from nearer.plotting.directions import Arrow, draw_arrows
from nearer.plotting.framing import SCREEN, framed_axes
from nearer.plotting.keys import Attribute, Coded, as_colors, as_shapes, draw_keys_beside, matched, words_of
from nearer.plotting.labels import write_labels
from nearer.plotting.papers import Paper
from nearer.plotting.pictures import draw_pictures, picture_side

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EllipseStyle: TypeAlias = Literal["filled", "outline", "none", "auto"]
# Lets a white dot be seen on white paper, and two dots of one colour be told apart.
_OUTLINE = (0.0, 0.0, 0.0, 0.25)
_FLATTEST = 0.65  # heights of a figure for a paper in widths: flatter maps would have no room for names
_LARGE = 0.5  # of the map's width: larger ellipses would cover it
_MANY, _DENSE = 40, 0.35  # ellipses, and the share of the map that they cover, beyond which outlines are clearer


def plot_map(
    embedding: ArrayLike,
    labels: Sequence[str] | NDArray[Any] | None = None,
    colors: Any = None,
    ax: Axes | None = None,
    *,
    ellipses: ArrayLike | None = None,
    area: float | None = None,
    axes: tuple[int, int] = (0, 1),
    color_by: Attribute | None = None,
    shape_by: Attribute | None = None,
    palette: Mapping[str, str] | None = None,
    images: Mapping[int, Any] | None = None,
    ellipse_style: EllipseStyle = "filled",
    arrows: Sequence[tuple[str, ArrayLike] | tuple[str, ArrayLike, bool]] = (),
    paper: Paper | None = None,
) -> Axes:
    """Draw a map: one dot for each object, with its name where there is room for it.

    Parameters
    ----------
    embedding : array of shape (n, p)
        Two columns are drawn, with equal scales.
    labels : sequence of str, length n, optional
        A label lies on no other label and on no dot. One that has to go away from its dot is joined to it by a line,
        one that finds no place is left out. Of an empty one nothing is written.
    colors : anything that matplotlib takes as the colours of n dots, optional
    ax : Axes, optional
        Their limits and their place on the figure should not change afterwards: labels are placed on paper.
    ellipses : array of shape (n, 5), optional
        Where each object may lie, as `PosteriorEmbedding.ellipses` returns it: centre, half axes, angle in degrees.
    area : float, optional
        Of a dot, in square points. Left out, it goes by the number of objects, and is larger where there are colours.
    axes : pair of int
        Which columns of the embedding, counted from 0.
    color_by : pair of a name and n values, optional
        Numbers become colours of a scale, words colours that the colour-blind tell apart, None is grey.
    shape_by : pair of a name and n words, optional
        At most eight different ones.
    palette : mapping from word to colour, optional
        Of ``color_by``.
    images : mapping from int to path or array, optional
        Pictures to draw in place of dots, by the number of the object.
    ellipse_style : {"filled", "outline", "none", "auto"}
        ``"auto"`` draws outlines where ellipses are many, or cover much of the map.
    arrows : sequence of pairs of a name and a direction of shape (2,)
        Drawn from the centre of the map; the longest goes to its edge, the others in proportion. A third value of
        False makes an arrow dashed and pale.
    paper : Paper, optional
        Size in millimetres and font of a figure for a paper.

    Returns
    -------
    Axes

    Examples
    --------
    >>> ax = plot_map([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], labels=["a", "b", "c"])
    >>> [text.get_text() for text in ax.texts]
    ['a', 'b', 'c']
    """
    points = _checked(embedding, labels, axes)
    n = len(points)
    color = None if color_by is None else as_colors(*matched(color_by, n), palette)
    shape = None if shape_by is None else as_shapes(*matched(shape_by, n))
    if colors is not None and color is not None:
        raise ValueError("colors and color_by both say how dots are coloured; give one of them")
    tones = colors if color is None else color.marks
    names = [""] * n if labels is None else [" ".join(str(label).split()) for label in labels]
    regions = None if ellipses is None or ellipse_style == "none" else _checked_ellipses(ellipses, n)
    area = _area(n, colors is not None, color or shape, paper) if area is None else area
    sheet, ways = paper or SCREEN, [Arrow(*arrow) for arrow in arrows]
    with sheet.text([*names, *(way.name for way in ways), *words_of(color, shape)]):
        if ax is None:
            high = _shape_of(points, 0.5 if paper is None else _FLATTEST)
            ax = framed_axes(sheet, high, color, shape, float(np.sqrt(area)))
        else:
            draw_keys_beside(ax, color, shape, float(np.sqrt(area)))
        if regions is not None:
            _draw_ellipses(ax, points, regions, tones, ellipse_style)
        _draw_dots(ax, points, tones, shape, area, np.setdiff1d(np.arange(n), list(images or ())))
        ax.set_aspect("equal", adjustable="datalim")
        ax.margins(0.08)
        ax.set_axis_off()
        radii = np.repeat(np.sqrt(area) / 2 * _reach_of(shape, n), 2).reshape(n, 2)
        if images:
            radii = _draw_images(ax, points, images, color, radii)
        ax.apply_aspect()  # fixes the scales that everything below is measured in
        tips, shafts = draw_arrows(ax, points, ways)
        write_labels(
            ax, np.vstack([points, tips]), [*names, *(way.name for way in ways)],
            np.vstack([radii, np.ones((len(tips), 2))]), shafts,
            colors=[INK] * n + [way.color for way in ways], n_last=len(ways),
        )  # fmt: skip
    return ax


def dot_area(n_points: int) -> float:
    """Return the area of the dots of a map without colours, in square points.

    Examples
    --------
    >>> dot_area(24), dot_area(100)
    (60.0, 30.0)
    """
    return float(np.clip(3000 / n_points, 12, 60))


def _checked(embedding: ArrayLike, labels: Any, axes: tuple[int, int]) -> FloatArray:
    """Return the two columns to draw."""
    points = np.asarray(embedding, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] < 2:
        raise ValueError(
            f"a map needs an embedding of shape (n, p) with p >= 2; got shape {points.shape}; plot_line draws one axis"
        )
    if labels is not None and len(labels) != len(points):
        raise ValueError(f"there are {len(labels)} labels for {len(points)} objects; give one for each")
    if len(set(axes)) != 2 or not all(0 <= axis < points.shape[1] for axis in axes):
        raise ValueError(
            f"axes={tuple(axes)} is no pair of the {points.shape[1]} axes of the map; give two different ones from 0 "
            f"to {points.shape[1] - 1}"
        )
    return points[:, list(axes)]


def _checked_ellipses(ellipses: ArrayLike, n_points: int) -> FloatArray:
    regions = np.asarray(ellipses, dtype=np.float64)
    if regions.shape != (n_points, 5):
        raise ValueError(
            f"ellipses must have the shape ({n_points}, 5): centre, half axes and angle of each object; "
            f"got {regions.shape}"
        )
    return regions


def _shape_of(points: FloatArray, flattest: float) -> float:
    """Return how high a map is in widths, from ``flattest`` to 1."""
    width, height = np.ptp(points, axis=0)
    return float(np.clip(height / width if width > 0 else 1.0, flattest, 1))


def _area(n_points: int, colored: bool, coded: Coded | None, paper: Paper | None) -> float:
    """Return the area of a dot, in square points."""
    # Colours are seen on patches; without them a dot says where an object is.
    if colored:
        return float(np.clip(17000 / n_points, 20, 250))
    area = dot_area(n_points) * (1.5 if coded else 1)
    return area if paper is None else max(area * min(paper.width / SCREEN.width, 1), 4.0)


def _draw_dots(
    ax: Axes, points: FloatArray, colors: Any, shape: Coded | None, area: float, drawn: NDArray[np.intp]
) -> None:
    """Draw a dot, or the shape that its word has, for each of the objects ``drawn``."""
    from matplotlib.colors import to_rgba_array

    look: dict[str, Any] = {"s": area, "edgecolors": [_OUTLINE], "linewidths": min(0.7, np.sqrt(area) / 8)}
    ax.update_datalim(points)  # pictures take the places of dots, and count as much
    if shape is None and len(drawn) == len(points):
        ax.scatter(points[:, 0], points[:, 1], c=SECOND if colors is None else colors, **look)
        return
    tones = np.broadcast_to(to_rgba_array(SECOND if colors is None else colors), (len(points), 4))
    marks = np.array(["o"] * len(points) if shape is None else shape.marks)
    for mark in dict.fromkeys(marks[drawn].tolist()):
        of_it = drawn[marks[drawn] == mark]
        ax.scatter(points[of_it, 0], points[of_it, 1], c=tones[of_it], marker=mark, **look)


def _reach_of(shape: Coded | None, n_points: int) -> FloatArray:
    """Return how far marks reach out, in half the side of their area: diamonds are squares on a corner."""
    return np.array([1.0] * n_points if shape is None else [1.45 if mark == "D" else 1.0 for mark in shape.marks])


def _draw_ellipses(ax: Axes, points: FloatArray, ellipses: FloatArray, colors: Any, style: EllipseStyle) -> None:
    """Draw an ellipse under each dot, in a pale tone of its color, or as a line; a note where most are too large."""
    from matplotlib.colors import to_rgba_array

    large = 2 * ellipses[:, 2] > _LARGE * np.ptp(points, axis=0).max()
    if large.sum() > len(points) / 2:
        words = f"{large.sum()} of {len(points)} ellipses are larger than half the map; none is drawn"
        ax.text(0, 1, words, transform=ax.transAxes, fontsize=7, color=FAINT, va="bottom")
        return
    tones = np.broadcast_to(to_rgba_array(SECOND if colors is None else colors), (len(points), 4))
    for chosen, dashed in ((~large, False), (large, True)):
        if chosen.any():
            _draw_some_ellipses(ax, ellipses[chosen], tones[chosen], "outline" if dashed else style, dashed)


def _draw_some_ellipses(ax: Axes, ellipses: FloatArray, tone: FloatArray, style: EllipseStyle, dashed: bool) -> None:
    from matplotlib.collections import EllipseCollection

    if style == "auto":
        style = "outline" if _crowded(ellipses) else "filled"
    look: dict[str, Any] = (
        {"facecolors": tone, "alpha": 0.15} if style == "filled"
        else {"facecolors": "none", "edgecolors": tone, "linewidths": 0.5, "alpha": 0.6}
    )  # fmt: skip
    ax.add_collection(
        EllipseCollection(
            2 * ellipses[:, 2], 2 * ellipses[:, 3], ellipses[:, 4], units="xy", offsets=ellipses[:, :2],
            offset_transform=ax.transData, zorder=0, clip_on=dashed, linestyles="dashed" if dashed else "solid", **look,
        ),
        autolim=False,  # the points alone decide what is shown
    )  # fmt: skip


def _crowded(ellipses: FloatArray) -> bool:
    """Return whether ellipses are many, or cover much of their map."""
    covered = np.pi * (ellipses[:, 2] * ellipses[:, 3]).sum()
    reach = ellipses[:, 2:3]
    corners = np.vstack([ellipses[:, :2] - reach, ellipses[:, :2] + reach])
    return len(ellipses) > _MANY or covered > _DENSE * np.prod(np.ptp(corners, axis=0))


def _draw_images(
    ax: Axes, points: FloatArray, images: Mapping[int, Any], color: Coded | None, radii: FloatArray
) -> FloatArray:
    """Draw pictures in place of dots, with a margin that holds them, and return the half sizes of all marks."""
    ax.apply_aspect()
    scale = ax.figure.dpi / 72
    width, height = np.array(ax.get_window_extent().size) / scale
    side = picture_side(np.asarray(ax.transData.transform(points)) / scale, width, height)
    ax.margins(max(0.08, 0.6 * side / min(width, height)))
    known = draw_pictures(ax, points, images, side, color.marks if color else None)
    return np.array([known.get(index, radius) for index, radius in enumerate(radii)])

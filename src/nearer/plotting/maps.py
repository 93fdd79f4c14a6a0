"""Maps: a mark or a picture for each object, its label where there is room, ellipses, and arrows of attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import KDTree

from nearer._common.arrays import FloatArray
from nearer._common.figures import ACCENT, FAINT, INK, SECOND
from nearer._common.formatting import quote_all
from nearer._common.progress import warn_caller
from nearer.plotting.keys import (
    SCREEN,
    Attribute,
    Encoding,
    as_colors,
    as_shapes,
    checked_attribute,
    draw_keys_right,
    framed_axes,
    key_texts,
)
from nearer.plotting.labels import write_labels
from nearer.plotting.papers import Paper

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EllipseStyle: TypeAlias = Literal["filled", "outline", "none", "auto"]
# Lets a white dot be seen on white paper, and two dots of one color be told apart.
_OUTLINE_COLOR = (0.0, 0.0, 0.0, 0.25)
_MIN_PAPER_HEIGHT = 0.65  # heights of a figure for a paper in widths: flatter maps would have no room for names
_LARGE_ELLIPSE = 0.5  # of the map's width: larger ellipses would cover it
_MAX_FILLED_ELLIPSES, _MAX_FILLED_COVER = (
    40,
    0.35,
)  # ellipses, and the share of the map that they cover, beyond which outlines are clearer
_LONGEST_ARROW = 0.9  # of the way from the center to the edge of the map that the longest arrow goes
_ALPHA = 0.05
_UNCERTAIN_COLOR = "#6f6f6f"  # FAINT is too pale to read
_BOX_STEP_POINTS = 2.5  # points between boxes along an arrow that keep labels off it
_MIN_PICTURE_POINTS, _MAX_PICTURE_POINTS = 9.0, 60.0  # points
_PICTURE_DPI = 600  # dots on an inch that are kept


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
    colors : anything that matplotlib takes as the colors of n dots, optional
    ax : Axes, optional
        Their limits and their place on the figure should not change afterwards: labels are placed on paper.
    ellipses : array of shape (n, 5), optional
        Where each object may lie, as `PosteriorEmbedding.ellipses` returns it: center, half axes, angle in degrees.
    area : float, optional
        Of a dot, in square points. Left out, it goes by the number of objects, and is larger where there are colors.
    axes : pair of int
        Which columns of the embedding, counted from 0.
    color_by : pair of a name and n values, optional
        Numbers become colors of a scale, words colors that the color-blind tell apart, None is gray.
    shape_by : pair of a name and n words, optional
        At most eight different ones.
    palette : mapping from word to color, optional
        Of ``color_by``.
    images : mapping from int to path or array, optional
        Pictures to draw in place of dots, by the number of the object.
    ellipse_style : {"filled", "outline", "none", "auto"}
        ``"auto"`` draws outlines where ellipses are many, or cover much of the map.
    arrows : sequence of pairs of a name and a direction of shape (2,)
        Drawn from the center of the map; the longest goes to its edge, the others in proportion. A third value of
        False makes an arrow dashed and pale.
    paper : Paper, optional
        Size in millimeters and font of a figure for a paper.

    Returns
    -------
    Axes

    Examples
    --------
    >>> ax = plot_map([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], labels=["a", "b", "c"])
    >>> [text.get_text() for text in ax.texts]
    ['a', 'b', 'c']
    """
    points = _checked_points(embedding, labels, axes)
    n = len(points)
    color = None if color_by is None else as_colors(*checked_attribute(color_by, n), palette)
    shape = None if shape_by is None else as_shapes(*checked_attribute(shape_by, n))
    if colors is not None and color is not None:
        raise ValueError("colors and color_by both say how dots are colored; give one of them")
    tones = colors if color is None else color.marks
    names = [""] * n if labels is None else [" ".join(str(label).split()) for label in labels]
    regions = None if ellipses is None or ellipse_style == "none" else _checked_ellipses(ellipses, n)
    area = _dot_area_of(n, colors is not None, color or shape, paper) if area is None else area
    sheet, ways = paper or SCREEN, [Arrow(*arrow) for arrow in arrows]
    with sheet.text([*names, *(way.name for way in ways), *key_texts(color, shape)]):
        if ax is None:
            high = _height_to_width(points, 0.5 if paper is None else _MIN_PAPER_HEIGHT)
            ax = framed_axes(sheet, high, color, shape, float(np.sqrt(area)))
        else:
            draw_keys_right(ax, color, shape, float(np.sqrt(area)))
        if regions is not None:
            _draw_ellipses(ax, points, regions, tones, ellipse_style)
        _draw_dots(ax, points, tones, shape, area, np.setdiff1d(np.arange(n), list(images or ())))
        ax.set_aspect("equal", adjustable="datalim")
        ax.margins(0.08)
        ax.set_axis_off()
        radii = np.repeat(np.sqrt(area) / 2 * _marker_reach(shape, n), 2).reshape(n, 2)
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
    """Return the area of the dots of a map without colors, in square points.

    Examples
    --------
    >>> dot_area(24), dot_area(100)
    (60.0, 30.0)
    """
    return float(np.clip(3000 / n_points, 12, 60))


def _checked_points(embedding: ArrayLike, labels: Any, axes: tuple[int, int]) -> FloatArray:
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
            f"ellipses must have the shape ({n_points}, 5): center, half axes and angle of each object; "
            f"got {regions.shape}"
        )
    return regions


def _height_to_width(points: FloatArray, flattest: float) -> float:
    """Return how high a map is in widths, from ``flattest`` to 1."""
    width, height = np.ptp(points, axis=0)
    return float(np.clip(height / width if width > 0 else 1.0, flattest, 1))


def _dot_area_of(n_points: int, colored: bool, coded: Encoding | None, paper: Paper | None) -> float:
    """Return the area of a dot, in square points."""
    # Colors are seen on patches; without them a dot says where an object is.
    if colored:
        return float(np.clip(17000 / n_points, 20, 250))
    area = dot_area(n_points) * (1.5 if coded else 1)
    return area if paper is None else max(area * min(paper.width / SCREEN.width, 1), 4.0)


def _draw_dots(
    ax: Axes, points: FloatArray, colors: Any, shape: Encoding | None, area: float, drawn: NDArray[np.intp]
) -> None:
    """Draw a dot, or the shape that its word has, for each of the objects ``drawn``."""
    from matplotlib.colors import to_rgba_array

    look: dict[str, Any] = {"s": area, "edgecolors": [_OUTLINE_COLOR], "linewidths": min(0.7, np.sqrt(area) / 8)}
    ax.update_datalim(points)  # pictures take the places of dots, and count as much
    if shape is None and len(drawn) == len(points):
        ax.scatter(points[:, 0], points[:, 1], c=SECOND if colors is None else colors, **look)
        return
    tones = np.broadcast_to(to_rgba_array(SECOND if colors is None else colors), (len(points), 4))
    marks = np.array(["o"] * len(points) if shape is None else shape.marks)
    for mark in dict.fromkeys(marks[drawn].tolist()):
        of_it = drawn[marks[drawn] == mark]
        ax.scatter(points[of_it, 0], points[of_it, 1], c=tones[of_it], marker=mark, **look)


def _marker_reach(shape: Encoding | None, n_points: int) -> FloatArray:
    """Return how far marks reach out, in half the side of their area: diamonds are squares on a corner."""
    return np.array([1.0] * n_points if shape is None else [1.45 if mark == "D" else 1.0 for mark in shape.marks])


def _draw_ellipses(ax: Axes, points: FloatArray, ellipses: FloatArray, colors: Any, style: EllipseStyle) -> None:
    """Draw an ellipse under each dot, in a pale tone of its color, or as a line; a note where most are too large."""
    from matplotlib.colors import to_rgba_array

    large = 2 * ellipses[:, 2] > _LARGE_ELLIPSE * np.ptp(points, axis=0).max()
    if large.sum() > len(points) / 2:
        words = f"{large.sum()} of {len(points)} ellipses are larger than half the map; none is drawn"
        ax.text(0, 1, words, transform=ax.transAxes, fontsize=7, color=FAINT, va="top")  # in the margin of the map
        return
    tones = np.broadcast_to(to_rgba_array(SECOND if colors is None else colors), (len(points), 4))
    for chosen, dashed in ((~large, False), (large, True)):
        if chosen.any():
            _add_ellipses(ax, ellipses[chosen], tones[chosen], "outline" if dashed else style, dashed)


def _add_ellipses(ax: Axes, ellipses: FloatArray, tone: FloatArray, style: EllipseStyle, dashed: bool) -> None:
    from matplotlib.collections import EllipseCollection

    if style == "auto":
        style = "outline" if _is_crowded(ellipses) else "filled"
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


def _is_crowded(ellipses: FloatArray) -> bool:
    """Return whether ellipses are many, or cover much of their map."""
    covered = np.pi * (ellipses[:, 2] * ellipses[:, 3]).sum()
    reach = ellipses[:, 2:3]
    corners = np.vstack([ellipses[:, :2] - reach, ellipses[:, :2] + reach])
    return len(ellipses) > _MAX_FILLED_ELLIPSES or covered > _MAX_FILLED_COVER * np.prod(np.ptp(corners, axis=0))


def _draw_images(
    ax: Axes, points: FloatArray, images: Mapping[int, Any], color: Encoding | None, radii: FloatArray
) -> FloatArray:
    """Draw pictures in place of dots, with a margin that holds them, and return the half sizes of all marks."""
    ax.apply_aspect()
    scale = ax.figure.dpi / 72
    width, height = np.array(ax.get_window_extent().size) / scale
    side = picture_side(np.asarray(ax.transData.transform(points)) / scale, width, height)
    ax.margins(max(0.08, 0.6 * side / min(width, height)))
    known = draw_pictures(ax, points, images, side, color.marks if color else None)
    return np.array([known.get(index, radius) for index, radius in enumerate(radii)])


class Arrow(NamedTuple):
    """The direction in which an attribute grows; drawn dashed and pale if it is not certain."""

    name: str
    direction: Any
    is_certain: bool = True

    @property
    def color(self) -> str:
        """Of its name."""
        return ACCENT if self.is_certain else _UNCERTAIN_COLOR


def property_arrows(fits: Sequence[Any], axes: tuple[int, int] = (0, 1)) -> list[Arrow]:
    """Return an arrow for each attribute of numbers: as long as its R2, sure if its p-value (Holm) is below 0.05."""
    grown = [fit for fit in fits if fit.direction is not None]
    return [
        Arrow(fit.name, fit.r2 * np.array(fit.direction)[list(axes)], fit.p_holm < _ALPHA)
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
    center = points.mean(axis=0)
    low, high = points.min(axis=0), points.max(axis=0)
    with np.errstate(divide="ignore"):
        # How often each direction goes into the way to the edge; the least keeps all arrows on the map.
        room = np.where(directions > 0, (high - center) / directions, (low - center) / directions)
    tips = center + directions * _LONGEST_ARROW * np.where(directions == 0, np.inf, room).min()
    scale = ax.figure.dpi / 72
    boxes = []
    for arrow, tip in zip(arrows, tips, strict=True):
        drawn = FancyArrowPatch(
            tuple(center), tuple(tip), arrowstyle="-|>", mutation_scale=6, color=ACCENT if arrow.is_certain else FAINT,
            linewidth=0.8, linestyle="-" if arrow.is_certain else (0, (4, 3)), shrinkA=0, shrinkB=0, zorder=1.5,
        )  # fmt: skip
        drawn.set_in_layout(False)
        ax.add_patch(drawn)
        start, end = ax.transData.transform(np.array([center, tip])) / scale
        steps = np.linspace(0, 1, max(int(np.linalg.norm(end - start) / _BOX_STEP_POINTS), 2))[:, None]
        along = start + (end - start) * steps
        boxes.append(np.hstack([along - 1, along + 1]))
    return tips, np.vstack(boxes)


def picture_side(places: FloatArray, width: float, height: float) -> float:
    """Return how large pictures may be, in points, on a frame of so many points.

    They fill a fifth of the frame at most, and of ten objects one or so has a neighbor whose picture touches its own.

    Examples
    --------
    >>> picture_side(np.array([[10.0, 10.0], [90.0, 90.0]]), 100.0, 100.0)
    31.622776601683793
    """
    side = np.sqrt(0.2 * width * height / len(places))
    if len(places) > 1:
        gaps = np.asarray(KDTree(places).query(places, k=2, p=np.inf)[0])[:, 1]
        side = min(side, float(np.quantile(gaps, 0.1)))
    return float(np.clip(side, _MIN_PICTURE_POINTS, _MAX_PICTURE_POINTS))


def draw_pictures(
    ax: Axes, points: FloatArray, images: Mapping[int, Any], side: float, colors: list[Any] | None = None
) -> dict[int, FloatArray]:
    """Draw pictures at points, the longer side so many points long, in frames of the given colors.

    Returns the half width and half height of each that could be read, by its number.
    """
    from matplotlib.offsetbox import AnnotationBbox, OffsetImage

    halves, unread = {}, []
    for index, image in images.items():
        pixels = _read_pixels(image, side)
        if pixels is None:
            unread.append(str(image))
            continue
        scale = side / max(pixels.shape[:2])
        frame = None if colors is None else {"edgecolor": colors[index], "linewidth": 1.2, "facecolor": "white"}
        box = AnnotationBbox(
            OffsetImage(pixels, zoom=scale), tuple(points[index]), frameon=frame is not None, bboxprops=frame,
            pad=0.08, annotation_clip=False, zorder=2,
        )  # fmt: skip
        box.set_in_layout(False)
        ax.add_artist(box)
        edge = 0.0 if frame is None else 2.0
        halves[index] = np.array(pixels.shape[1::-1]) * scale / 2 + edge
    if unread:
        warn_caller(
            f"pictures that cannot be read are drawn as dots: {quote_all(unread, 5)}; give png, jpg, webp or gif"
        )
    return halves


def _read_pixels(image: Any, side: float) -> FloatArray | None:
    """Return a picture as an array, no finer than can be printed, or None where it cannot be read."""
    from PIL import Image, UnidentifiedImageError

    if not isinstance(image, str | PathLike):
        return np.asarray(image)
    try:
        with Image.open(Path(image)) as opened:
            picture = opened.convert("RGBA")
    except (UnidentifiedImageError, OSError, ValueError):
        return None
    most = max(int(side / 72 * _PICTURE_DPI), 1)
    picture.thumbnail((most, most), Image.Resampling.LANCZOS)
    return np.asarray(picture)


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
        Of objects.
    ax : Axes, optional
    **map_options
        For `plot_map`, such as ``colors`` and ``ellipses``.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np
    >>> from nearer.comparing import fit_properties
    >>> places = np.random.default_rng(0).normal(size=(20, 2))
    >>> fits = fit_properties(places, {"size": places @ [1.0, 2.0]}, random_state=0)
    >>> [text.get_text() for text in plot_properties(places, fits).texts if text.get_text()]
    ['size']
    """
    return plot_map(embedding, labels, ax=ax, arrows=property_arrows(fits), **map_options)

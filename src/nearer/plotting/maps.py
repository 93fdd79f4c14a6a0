"""Maps: a mark or a picture for each object, its label where there is room, ellipses, and arrows.

Arrows are those of attributes, or lead from where one map has an object to where another has it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import KDTree

from nearer._common.arrays import FloatArray, checked_points
from nearer._common.figures import ACCENT, FAINT, INK, SECOND, new_figure
from nearer._common.formatting import quote_all
from nearer._common.progress import warn_caller
from nearer.plotting.keys import OUTLINE_COLOR, SCREEN, Attribute, Encoding, draw_keys, encode, framed_axes, key_texts
from nearer.plotting.labels import label_texts, write_labels
from nearer.plotting.papers import Paper

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EllipseStyle: TypeAlias = Literal["filled", "outline", "none", "auto"]
_MIN_PAPER_HEIGHT = 0.65  # heights of a figure for a paper in widths: flatter maps would have no room for names
_LARGE_ELLIPSE = 0.5  # of the map's width: larger ellipses would cover it
# Outlines are clearer beyond so many ellipses, or where they cover this share of the map.
_MAX_FILLED_ELLIPSES, _MAX_FILLED_COVER = 40, 0.35
_LONGEST_ARROW = 0.9  # of the way from the center to the edge of the map that the longest arrow goes
_ALPHA = 0.05
_UNCERTAIN_COLOR = "#6f6f6f"  # FAINT is too pale to read
_BOX_STEP_POINTS = 2.5  # points between boxes along an arrow that keep labels off it
_MIN_PICTURE_POINTS, _MAX_PICTURE_POINTS = 9.0, 60.0  # points
_PICTURE_DPI = 600  # dots on an inch that are kept
_OTHERS_COLOR = "#c4c4c4"  # of objects that did not move
_ARROW_DOT_AREA = 22.0  # square points


class Arrow(NamedTuple):
    """The direction in which an attribute grows; drawn dashed and pale if it is not certain."""

    name: str
    direction: Any
    is_certain: bool = True


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
        Of a dot, in square points. By default it goes by the number of objects, and is larger where there are colors.
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

    Examples
    --------
    >>> ax = plot_map([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], labels=["a", "b", "c"])
    >>> [text.get_text() for text in ax.texts]
    ['a', 'b', 'c']
    """
    points = np.asarray(embedding, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] < 2:
        raise ValueError(
            f"a map needs an embedding of shape (n, p) with p >= 2; got shape {points.shape}; plot_line draws one axis"
        )
    n, p = points.shape
    names = label_texts(labels, n)
    if len(set(axes)) != 2 or not all(0 <= axis < p for axis in axes):
        raise ValueError(
            f"axes={tuple(axes)} is no pair of the {p} axes of the map; give two different ones from 0 to {p - 1}"
        )
    points = points[:, list(axes)]
    color, shape = encode(n, color_by, shape_by, palette)
    if colors is not None and color is not None:
        raise ValueError("colors and color_by both say how dots are colored; give one of them")
    tones = colors if color is None else color.marks
    regions = None if ellipses is None or ellipse_style == "none" else np.asarray(ellipses, dtype=np.float64)
    if regions is not None and regions.shape != (n, 5):
        raise ValueError(
            f"ellipses must have the shape ({n}, 5): center, half axes and angle of each object; got {regions.shape}"
        )
    area = _dot_area_of(n, colors is not None, color or shape, paper) if area is None else area
    sheet, ways = paper or SCREEN, [Arrow(*arrow) for arrow in arrows]
    texts = [*names, *(way.name for way in ways)]
    with sheet.text([*texts, *key_texts(color, shape)]):
        if ax is None:
            high = _height_to_width(points, 0.5 if paper is None else _MIN_PAPER_HEIGHT)
            ax = framed_axes(sheet, high, color, shape, float(np.sqrt(area)))
        else:
            draw_keys(ax, color, shape, float(np.sqrt(area)))
        if regions is not None:
            _draw_ellipses(ax, points, regions, tones, ellipse_style)
        _draw_dots(ax, points, tones, shape, area, np.setdiff1d(np.arange(n), list(images or ())))
        ax.set_aspect("equal", adjustable="datalim")
        ax.margins(0.08)
        ax.set_axis_off()
        # Marks reach out by half the side of their area; diamonds are squares on a corner.
        reach = np.array([1.45 if shape is not None and shape.marks[index] == "D" else 1.0 for index in range(n)])
        radii = np.repeat(np.sqrt(area) / 2 * reach, 2).reshape(n, 2)
        if images:
            _draw_pictures(ax, points, images, None if color is None else color.marks, radii)
        ax.apply_aspect()  # fixes the scales that everything below is measured in
        tips, shafts = _draw_attribute_arrows(ax, points, ways)
        radii = np.vstack([radii, np.ones((len(tips), 2))])
        inks = [INK] * n + [ACCENT if way.is_certain else _UNCERTAIN_COLOR for way in ways]
        write_labels(ax, np.vstack([points, tips]), texts, radii, shafts, colors=inks, n_last=len(ways))
    return ax


def dot_area(n_points: int) -> float:
    """Return the area of the dots of a map without colors, in square points."""
    return float(np.clip(3000 / n_points, 12, 60))


def _dot_area_of(n_points: int, colored: bool, coded: Encoding | None, paper: Paper | None) -> float:
    # Colors are seen on patches; without them a dot says where an object is.
    if colored:
        return float(np.clip(17000 / n_points, 20, 250))
    area = dot_area(n_points) * (1.5 if coded else 1)
    return area if paper is None else max(area * min(paper.width / SCREEN.width, 1), 4.0)


def _height_to_width(points: FloatArray, flattest: float) -> float:
    """Return how high a map is in widths, from ``flattest`` to 1."""
    width, height = np.ptp(points, axis=0)
    return float(np.clip(height / width if width > 0 else 1.0, flattest, 1))


def _draw_dots(
    ax: Axes, points: FloatArray, colors: Any, shape: Encoding | None, area: float, drawn: NDArray[np.intp]
) -> None:
    """Draw a dot, or the shape that its word has, for each of the objects ``drawn``."""
    look: dict[str, Any] = {"s": area, "edgecolors": [OUTLINE_COLOR], "linewidths": min(0.7, np.sqrt(area) / 8)}
    ax.update_datalim(points)  # pictures take the places of dots, and count as much
    if shape is None and len(drawn) == len(points):
        ax.scatter(points[:, 0], points[:, 1], c=SECOND if colors is None else colors, **look)
        return
    tones = _tones_of(colors, len(points))
    marks = np.array(["o"] * len(points) if shape is None else shape.marks)
    for mark in dict.fromkeys(marks[drawn].tolist()):
        of_it = drawn[marks[drawn] == mark]
        ax.scatter(points[of_it, 0], points[of_it, 1], c=tones[of_it], marker=mark, **look)


def _tones_of(colors: Any, n_points: int) -> FloatArray:
    from matplotlib.colors import to_rgba_array

    return np.broadcast_to(to_rgba_array(SECOND if colors is None else colors), (n_points, 4))


def _draw_ellipses(ax: Axes, points: FloatArray, ellipses: FloatArray, colors: Any, style: EllipseStyle) -> None:
    """Draw an ellipse under each dot, in a pale tone of its color, or as a line; a note where most are too large."""
    from matplotlib.collections import EllipseCollection

    large = 2 * ellipses[:, 2] > _LARGE_ELLIPSE * np.ptp(points, axis=0).max()
    if large.sum() > len(points) / 2:
        words = f"{large.sum()} of {len(points)} ellipses are larger than half the map; none is drawn"
        ax.text(0, 1, words, transform=ax.transAxes, fontsize=7, color=FAINT, va="top")  # in the margin of the map
        return
    tones = _tones_of(colors, len(points))
    for chosen, dashed in ((~large, False), (large, True)):
        some = ellipses[chosen]
        if not len(some):
            continue
        outline = dashed or style == "outline" or (style == "auto" and _is_crowded(some))
        look: dict[str, Any] = (
            {"facecolors": "none", "edgecolors": tones[chosen], "linewidths": 0.5, "alpha": 0.6} if outline
            else {"facecolors": tones[chosen], "alpha": 0.15}
        )  # fmt: skip
        drawn = EllipseCollection(
            2 * some[:, 2], 2 * some[:, 3], some[:, 4], units="xy", offsets=some[:, :2], offset_transform=ax.transData,
            zorder=0, clip_on=dashed, linestyles="dashed" if dashed else "solid", **look,
        )  # fmt: skip
        ax.add_collection(drawn, autolim=False)  # the points alone decide what is shown


def _is_crowded(ellipses: FloatArray) -> bool:
    """Return whether ellipses are many, or cover much of their map."""
    covered = np.pi * (ellipses[:, 2] * ellipses[:, 3]).sum()
    reach = ellipses[:, 2:3]
    corners = np.vstack([ellipses[:, :2] - reach, ellipses[:, :2] + reach])
    return len(ellipses) > _MAX_FILLED_ELLIPSES or covered > _MAX_FILLED_COVER * np.prod(np.ptp(corners, axis=0))


def _draw_pictures(
    ax: Axes, points: FloatArray, images: Mapping[int, Any], colors: list[Any] | None, radii: FloatArray
) -> None:
    """Draw pictures in place of dots, with a margin that holds them, and write their half sizes into ``radii``."""
    from matplotlib.offsetbox import AnnotationBbox, OffsetImage

    ax.apply_aspect()
    scale = ax.figure.dpi / 72
    width, height = np.array(ax.get_window_extent().size) / scale
    side = _picture_side(np.asarray(ax.transData.transform(points)) / scale, width, height)
    ax.margins(max(0.08, 0.6 * side / min(width, height)))
    unread = []
    for index, image in images.items():
        pixels = read_pixels(image, side)
        if pixels is None:
            unread.append(str(image))
            continue
        zoom = side / max(pixels.shape[:2])
        frame = None if colors is None else {"edgecolor": colors[index], "linewidth": 1.2, "facecolor": "white"}
        box = AnnotationBbox(
            OffsetImage(pixels, zoom=zoom), tuple(points[index]), frameon=frame is not None, bboxprops=frame,
            pad=0.08, annotation_clip=False, zorder=2,
        )  # fmt: skip
        box.set_in_layout(False)
        ax.add_artist(box)
        radii[index] = np.array(pixels.shape[1::-1]) * zoom / 2 + (0.0 if frame is None else 2.0)
    if unread:
        warn_caller(
            f"pictures that cannot be read are drawn as dots: {quote_all(unread, 5)}; give png, jpg, webp or gif"
        )


def _picture_side(places: FloatArray, width: float, height: float) -> float:
    """Return how large pictures may be, in points, on a frame of so many points."""
    # They fill a fifth of the frame at most, and of ten objects one or so has a neighbor whose picture touches its own.
    side = np.sqrt(0.2 * width * height / len(places))
    if len(places) > 1:
        gaps = np.asarray(KDTree(places).query(places, k=2, p=np.inf)[0])[:, 1]
        side = min(side, float(np.quantile(gaps, 0.1)))
    return float(np.clip(side, _MIN_PICTURE_POINTS, _MAX_PICTURE_POINTS))


def read_pixels(image: Any, side: float) -> FloatArray | None:
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


def _draw_attribute_arrows(ax: Axes, points: FloatArray, arrows: Sequence[Arrow]) -> tuple[FloatArray, FloatArray]:
    """Draw arrows from the mean of the points, and return their tips, (k, 2), and boxes on paper along them, (m, 4)."""
    if not arrows:
        return np.empty((0, 2)), np.empty((0, 4))
    directions = np.array([arrow.direction for arrow in arrows], dtype=np.float64)
    if directions.shape != (len(arrows), 2) or not np.isfinite(directions).all() or not directions.any(axis=1).all():
        raise ValueError("each arrow needs a name and a direction of two finite numbers, not both 0")
    center = points.mean(axis=0)
    with np.errstate(divide="ignore"):
        # How often each direction goes into the way to the edge; the least keeps all arrows on the map.
        room = (np.where(directions > 0, points.max(axis=0), points.min(axis=0)) - center) / directions
    tips = center + directions * _LONGEST_ARROW * np.where(directions == 0, np.inf, room).min()
    scale = ax.figure.dpi / 72
    boxes = []
    for arrow, tip in zip(arrows, tips, strict=True):
        color, style = (ACCENT, "-") if arrow.is_certain else (FAINT, (0, (4, 3)))
        drawn = _arrow(center, tip, color, 6, linewidth=0.8, linestyle=style, zorder=1.5)
        drawn.set_in_layout(False)
        ax.add_patch(drawn)
        start, end = ax.transData.transform(np.array([center, tip])) / scale
        steps = np.linspace(0, 1, max(int(np.linalg.norm(end - start) / _BOX_STEP_POINTS), 2))[:, None]
        along = start + (end - start) * steps
        boxes.append(np.hstack([along - 1, along + 1]))
    return tips, np.vstack(boxes)


def _arrow(start: FloatArray, end: FloatArray, color: str, head: float, **look: Any) -> Any:
    from matplotlib.patches import FancyArrowPatch

    return FancyArrowPatch(
        tuple(start), tuple(end), arrowstyle="-|>", mutation_scale=head, color=color, shrinkA=0, shrinkB=0, **look
    )


def property_arrows(fits: Sequence[Any], axes: tuple[int, int] = (0, 1)) -> list[Arrow]:
    """Return an arrow for each attribute of numbers: as long as its R2, sure if its p-value (Holm) is below 0.05."""
    grown = [fit for fit in fits if fit.direction is not None]
    return [
        Arrow(fit.name, fit.r2 * np.array(fit.direction)[list(axes)], fit.p_holm < _ALPHA)
        for fit in sorted(grown, key=lambda fit: -fit.r2)
    ]


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
        Objects in another place are drawn in color, the others pale; all in color by default.
    ax : Axes, optional
    names : pair of str
        What the two maps are called in the legend.
    emphasized : str
        What the legend says of those in color.

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
        points = checked_points(np.vstack([starts, ends]), "the maps")
        height = 8 * _height_to_width(points, 0.5) + 0.5  # with room for the legend below
        ax = new_figure(8, height, constrained=False).add_axes((0.02, 0.02 + 0.5 / height, 0.96, 0.96 - 0.5 / height))
    _draw_moves(ax, starts, ends, chosen, texts)
    _draw_move_legend(ax, names, emphasized, chosen)
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


def _draw_moves(ax: Axes, starts: FloatArray, ends: FloatArray, chosen: NDArray[np.bool_], texts: list[str]) -> None:
    from matplotlib.collections import PathCollection

    # To the labels an arrow is a row of dots without color: none is written across it.
    along = [starts + share * (ends - starts) for share in (0.0, 0.25, 0.5, 0.75, 1.0)]
    unseen = 4 * len(starts)
    colors = [ACCENT if each else _OTHERS_COLOR for each in chosen]
    before, drawn = len(ax.texts), len(ax.collections)
    plot_map(np.vstack(along), [*texts, *[""] * unseen], colors + ["none"] * unseen, ax, area=_ARROW_DOT_AREA)
    # Their outlines would be circles along the arrows; lines that lead to labels are collections, too.
    for dots in [each for each in list(ax.collections)[drawn:] if isinstance(each, PathCollection)]:
        dots.set_edgecolor("none")
        dots.set_zorder(3)
    pale = {text for text, each in zip(texts, chosen, strict=True) if not each}
    for text in ax.texts[before:]:
        text.set_color(FAINT if text.get_text() in pale and chosen.any() else INK)
    _write_missing_labels(ax, starts, ends, chosen, texts)
    for index in np.argsort(chosen, kind="stable"):
        head, width, order = (9, 1.5, 2) if chosen[index] else (6, 0.9, 1)  # those in color lie above the others
        ax.add_patch(_arrow(starts[index], ends[index], colors[index], head, linewidth=width, zorder=order))


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


def _draw_move_legend(ax: Axes, names: tuple[str, str], emphasized: str, chosen: NDArray[np.bool_]) -> None:
    from matplotlib.lines import Line2D

    dot: dict[str, Any] = {"color": INK, "markersize": 5, "linewidth": 0.0}
    handles = [
        Line2D([], [], marker="o", label=f"{names[0]} (dot)", **dot),
        Line2D([], [], marker="$\u25b6$", label=f"{names[1]} (arrowhead)", **dot),
    ]
    if chosen.any():
        handles.append(Line2D([], [], color=ACCENT, linewidth=1.5, label=emphasized))
    if not chosen.all():
        others = "others" if chosen.any() else f"none {emphasized}"
        handles.append(Line2D([], [], color=_OTHERS_COLOR, linewidth=1.5, label=others))
    ax.legend(
        handles=handles, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=len(handles), frameon=False, fontsize=9,
        handlelength=1.4, borderaxespad=0.2,
    )  # fmt: skip

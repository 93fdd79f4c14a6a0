"""Pictures of the objects in place of dots."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial import KDTree

from nearer._common.arrays import FloatArray
from nearer._common.formatting import quote_all
from nearer._common.progress import warn_caller

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SMALLEST, _LARGEST = 9.0, 60.0  # points
_SHARPNESS = 600  # dots on an inch that are kept


def picture_side(places: FloatArray, width: float, height: float) -> float:
    """Return how large pictures may be, in points, on a frame of so many points.

    They fill a fifth of the frame at most, and of ten objects one or so has a neighbour whose picture touches its own.

    Examples
    --------
    >>> picture_side(np.array([[10.0, 10.0], [90.0, 90.0]]), 100.0, 100.0)
    31.622776601683793
    """
    side = np.sqrt(0.2 * width * height / len(places))
    if len(places) > 1:
        gaps = np.asarray(KDTree(places).query(places, k=2, p=np.inf)[0])[:, 1]
        side = min(side, float(np.quantile(gaps, 0.1)))
    return float(np.clip(side, _SMALLEST, _LARGEST))


def draw_pictures(
    ax: Axes, points: FloatArray, images: Mapping[int, Any], side: float, colors: list[Any] | None = None
) -> dict[int, FloatArray]:
    """Draw pictures at points, the longer side so many points long, in frames of the given colours.

    Returns the half width and half height of each that could be read, by its number.
    """
    from matplotlib.offsetbox import AnnotationBbox, OffsetImage

    halves, unread = {}, []
    for index, image in images.items():
        pixels = _pixels(image, side)
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


def _pixels(image: Any, side: float) -> FloatArray | None:
    """Return a picture as an array, no finer than can be printed, or None where it cannot be read."""
    from PIL import Image, UnidentifiedImageError

    if not isinstance(image, str | PathLike):
        return np.asarray(image)
    try:
        with Image.open(Path(image)) as opened:
            picture = opened.convert("RGBA")
    except (UnidentifiedImageError, OSError, ValueError):
        return None
    most = max(int(side / 72 * _SHARPNESS), 1)
    picture.thumbnail((most, most), Image.Resampling.LANCZOS)
    return np.asarray(picture)

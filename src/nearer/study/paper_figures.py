"""The figures of a study as a paper needs them, from the results that a run has left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nearer._common.arrays import FloatArray
from nearer._common.formatting import listed
from nearer.geometry import ellipses_of
from nearer.plotting.directions import Arrow
from nearer.plotting.maps import EllipseStyle
from nearer.plotting.papers import Paper
from nearer.study.pictures import find_pictures

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class MapLook:
    """What is drawn of a map, and how.

    Attributes
    ----------
    axes : (int, int)
        Counted from 0.
    color_by, shape_by : str, optional
        Attributes.
    palette : mapping from word to colour
    labels : sequence of str, optional
        The objects whose names are written; all if left out.
    images : path, optional
        Folder of pictures.
    ellipses : {"filled", "outline", "none", "auto"}
    arrows : sequence of Arrow
        The directions in which attributes grow along the axes that are drawn.
    """

    axes: tuple[int, int] = (0, 1)
    color_by: str | None = None
    shape_by: str | None = None
    palette: Mapping[str, str] = field(default_factory=dict)
    labels: Sequence[str] | None = None
    images: str | PathLike[str] | None = None
    ellipses: EllipseStyle = "auto"
    arrows: Sequence[Arrow] = ()


class Drawn(NamedTuple):
    """A figure.

    Attributes
    ----------
    ax : Axes
    left_out : list of str
        Labels that found no place.
    spread_elsewhere : float
        The share of the variance that lies along axes which are not drawn.
    """

    ax: Axes
    left_out: list[str]
    spread_elsewhere: float


def draw_map_for_paper(results: Mapping[str, Any], look: MapLook, paper: Paper) -> Drawn:
    """Draw a map, or the line that it is if it has one axis.

    Parameters
    ----------
    results : mapping
        As `read_results` returns them, with attributes where they are asked for.
    look : MapLook
    paper : Paper
    """
    from nearer.plotting import plot_line, plot_map

    points, objects = np.array(results["embedding"], dtype=np.float64), list(results["objects"])
    names = _names(objects, look.labels)
    coded: dict[str, Any] = {
        "color_by": look.color_by and (look.color_by, attribute_of(results, look.color_by)),
        "shape_by": look.shape_by and (look.shape_by, attribute_of(results, look.shape_by)),
        "palette": look.palette or None,
        "paper": paper,
    }
    if points.shape[1] == 1:
        ax = plot_line(points, names, reaches=_reaches(results, look), **coded)
        return Drawn(ax, _missing(names, [text.get_text() for text in ax.get_yticklabels()]), 0.0)
    if max(look.axes) >= points.shape[1]:
        raise ValueError(
            f"the map has {points.shape[1]} axes, and axis {max(look.axes) + 1} is not among them; choose --axes from "
            f"1 to {points.shape[1]}"
        )
    ax = plot_map(
        points, names, ellipses=_regions(results, points, look), axes=look.axes, ellipse_style=look.ellipses,
        arrows=look.arrows,
        images=None if look.images is None else find_pictures(Path(look.images), objects), **coded,
    )  # fmt: skip
    variances = points.var(axis=0)
    elsewhere = 1 - variances[list(look.axes)].sum() / variances.sum() if variances.any() else 0.0
    return Drawn(ax, _missing(names, [text.get_text() for text in ax.texts]), max(float(elsewhere), 0.0))


def draw_heatmap_for_paper(results: Mapping[str, Any], look: MapLook, paper: Paper) -> Drawn:
    """Draw the distances on a map, over all its axes."""
    from nearer.plotting import plot_heatmap

    names = _names(list(results["objects"]), look.labels)
    ax = plot_heatmap(np.array(results["embedding"], dtype=np.float64), names, paper=paper)
    return Drawn(ax, _missing(names, [text.get_text() for text in ax.get_yticklabels()]), 0.0)


def _names(objects: list[str], shown: Sequence[str] | None) -> list[str]:
    """Return what is written of each object: its label, or nothing."""
    if shown is None:
        return objects
    strange = [label for label in shown if label not in objects]
    if strange:
        raise ValueError(f"labels of no object: {listed(strange, 5)}; the map has {listed(objects, 5)}")
    return [label if label in shown else "" for label in objects]


def _missing(names: Sequence[str], written: Sequence[str]) -> list[str]:
    there = set(written)
    return [name for name in names if name and " ".join(name.split()) not in there]


def attribute_of(results: Mapping[str, Any], name: str) -> list[Any]:
    """Return an attribute of the objects, one value for each."""
    known = results["attributes"] or {}
    if name not in known:
        where = f"there are {listed(list(known), 10)}" if known else "give a file of them with --attributes FILE.csv"
        raise ValueError(f"there is no attribute {name!r}; {where}")
    return list(known[name])


def _regions(results: Mapping[str, Any], points: FloatArray, look: MapLook) -> FloatArray | None:
    if results["covariances"] is None or look.ellipses == "none":
        return None
    return ellipses_of(points, np.array(results["covariances"]), results["scales"][1], look.axes)


def _reaches(results: Mapping[str, Any], look: MapLook) -> FloatArray | None:
    if results["covariances"] is None or look.ellipses == "none":
        return None
    reaches: FloatArray = results["scales"][0] * np.sqrt(np.array(results["covariances"])[:, 0, 0])
    return reaches

"""The frame of a figure: room for its title above, for keys below, and the axes between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nearer._common.figures import INK
from nearer.plotting.keys import Coded, draw_keys
from nearer.plotting.papers import MM, Paper

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_EDGE = 3.0  # points that stay empty on each side
_LEAST = 40.0  # points that axes need to show anything
#: A figure for the screen, in letters that go with its eight inches.
SCREEN = Paper(width=8 / MM, font_size=8.0)


def framed_axes(
    paper: Paper,
    shape: float,
    color: Coded | None = None,
    form: Coded | None = None,
    mark: float = 5.0,
    room: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0),
) -> Axes:
    """Return axes on a figure of their own, with keys below and the title above.

    Parameters
    ----------
    paper : Paper
        Where its height is open, keys and title come on top of the height of the axes.
    shape : float
        How high the axes are, in widths of the paper.
    color, form : Coded, optional
        What keys are drawn for.
    mark : float
        The width of a dot, in points.
    room : (float, float, float, float)
        Points left, below, right and above that texts of the axes need.
    """
    size = paper.font_size
    foot = draw_keys(paper.figure(shape), color, form, size, mark)  # measured on a sheet that is thrown away
    top = 1.6 * (size + 1) if paper.title else 0.0
    width = paper.width * MM * 72
    height = width * shape + foot + top if paper.height is None else paper.height * MM * 72
    figure = paper.figure(height / width)
    draw_keys(figure, color, form, size, mark)
    left, below, right, above = np.array(room) + _EDGE
    inner = (width - left - right, height - foot - top - below - above)
    if min(inner) < _LEAST:
        raise ValueError(
            f"on {paper.width:g} x {height / MM / 72:.0f} mm there is no room for what is drawn beside keys and texts; "
            "make it larger, or its letters smaller"
        )
    if paper.title:
        figure.text(
            _EDGE / width, 1 - _EDGE / height, paper.title, fontsize=size + 1, color=INK, va="top", parse_math=False
        )
    return figure.add_axes((left / width, (foot + below) / height, inner[0] / width, inner[1] / height))

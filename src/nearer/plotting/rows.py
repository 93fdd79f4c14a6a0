"""Names beside rows: how wide they are, and which of them fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def text_widths(names: Sequence[str], size: float) -> float:
    """Return how wide the widest of these names is, in points, in the present font.

    Examples
    --------
    >>> text_widths([""], 7.0), 8 < text_widths(["i", "mmm"], 7.0) < 30
    (0.0, True)
    """
    from nearer._common.figures import new_figure

    figure = new_figure(1, 1)
    text = figure.text(0, 0, "", fontsize=size, parse_math=False)
    widest = 0.0
    for name in set(names) - {""}:
        text.set_text(name)
        widest = max(widest, float(text.get_window_extent().width) * 72 / figure.dpi)
    return widest


def every_that_fits(ax: Axes, n_rows: int, height: float) -> list[int]:
    """Return the rows of axes whose names of so many points lie on no other: all, every second, every third and so on.

    Examples
    --------
    >>> from nearer._common.figures import new_figure
    >>> every_that_fits(new_figure(1, 1, constrained=False).add_axes((0, 0, 1, 1)), 10, 14.0)
    [0, 2, 4, 6, 8]
    """
    inner = float(ax.get_window_extent().height) * 72 / ax.figure.dpi
    step = max(int(np.ceil(height * n_rows / inner)), 1)
    return list(range(0, n_rows, step))

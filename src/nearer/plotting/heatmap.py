"""Distances between all objects as a heat map, in the order of a tree of clusters drawn beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearer._common.arrays import FloatArray
from nearer._common.figures import FAINT, INK
from nearer.plotting.framing import framed_axes
from nearer.plotting.papers import Paper
from nearer.plotting.rows import every_that_fits, text_widths
from nearer.plotting.trees import draw_links

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TREE = 0.22  # of the side of the map, for the tree
_MOST_ORDERED = 600  # leaves: the best order takes time as the cube of their number
_SCALE = "viridis"
_LONGEST = 2.2  # sides, where the height is open: cells are as high as names, and no higher
_BAR = 3.6  # heights of a letter, for the scale of colours below


def plot_heatmap(
    distances: ArrayLike,
    labels: Sequence[str] | NDArray[Any] | None = None,
    ax: Axes | None = None,
    *,
    paper: Paper | None = None,
) -> Axes:
    """Draw the distances between all objects, near ones dark, beside the tree that average linkage makes of them.

    Leaves are in the order in which neighbours are as alike as the tree allows (Bar-Joseph, Gifford and Jaakkola 2001).

    Parameters
    ----------
    distances : array of shape (n, n) or (n, p)
        Distances, or a map: a square matrix that is symmetric with zeros on its diagonal is one of distances.
    labels : sequence of str, length n, optional
        Written beside the rows where they are high enough; otherwise every second, third and so on.
    ax : Axes, optional
        Gets the heat map; the tree goes to its left, inside of its place.
    paper : Paper, optional
        Size in millimetres and font.

    Returns
    -------
    Axes
        Of the heat map.

    Examples
    --------
    >>> ax = plot_heatmap([[0.0, 0.0], [9.0, 0.0], [1.0, 0.0], [9.0, 1.0]], ["a", "x", "b", "y"])
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['a', 'b', 'x', 'y']
    """
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    matrix = _checked(distances)
    n, sheet = len(matrix), paper or Paper()
    if labels is not None and len(labels) != n:
        raise ValueError(f"there are {len(labels)} labels for {n} objects; give one for each")
    names = [""] * n if labels is None else [" ".join(str(label).split()) for label in labels]
    tree = linkage(squareform(matrix, checks=False), "average", optimal_ordering=n <= _MOST_ORDERED)
    leaves = leaves_list(tree)
    with sheet.text(names):
        size = sheet.font_size
        if ax is None:
            ax = _own_axes(sheet, names)
        beside = ax.inset_axes((-_TREE, 0, _TREE - 0.01, 1))
        draw_links(beside, tree, np.full(n, -1), leaves, others=INK, thickest=0.6)
        beside.set(ylim=(n - 0.5, -0.5), xlim=(1.02 * tree[-1, 2], 0))
        beside.set_axis_off()
        image = ax.imshow(matrix[np.ix_(leaves, leaves)], cmap=_SCALE, vmin=0, aspect="auto", interpolation="nearest")
        shown = every_that_fits(ax, n, 1.1 * size) if labels is not None else []
        ax.yaxis.tick_right()
        ax.set_yticks(shown, [names[leaves[row]] for row in shown])
        ax.set_xticks([])
        for text in ax.get_yticklabels():
            text.set(parse_math=False, color=INK)
        ax.tick_params(axis="y", length=0, pad=2)
        ax.spines[:].set_visible(False)
        _draw_scale(ax, image, size)
    return ax


def _checked(distances: ArrayLike) -> FloatArray:
    """Return distances, those of a map if one was given."""
    from scipy.spatial.distance import pdist, squareform

    matrix = np.asarray(distances, dtype=np.float64)
    if matrix.ndim != 2 or len(matrix) < 2 or not np.isfinite(matrix).all():
        raise ValueError(
            f"a heat map needs distances of shape (n, n), or a map of shape (n, p), of finite numbers and at least two "
            f"objects; got shape {matrix.shape}"
        )
    square = matrix.shape[0] == matrix.shape[1]
    if square and np.allclose(matrix, matrix.T) and not np.diagonal(matrix).any() and (matrix >= 0).all():
        return (matrix + matrix.T) / 2
    return squareform(pdist(matrix))


def _own_axes(sheet: Paper, names: Sequence[str]) -> Axes:
    """Return axes with room for the tree, for names and for the scale; as high as names need where that is open."""
    size, width = sheet.font_size, sheet.width * 72 / 25.4
    right = text_widths(names, size) + 4
    side = (width - right - 6) / (1 + _TREE)
    high = np.clip(1.12 * size * len(names), side, _LONGEST * side) if any(names) else side
    shape = (high + _BAR * size + 6) / width
    return framed_axes(sheet, shape, room=(_TREE * side, _BAR * size, right, 0.0))


def _draw_scale(ax: Axes, image: Any, size: float) -> None:
    """Draw the scale of colours below the heat map."""
    height = float(ax.get_window_extent().height) * 72 / ax.figure.dpi
    place = ax.inset_axes((0.0, -1.4 * size / height, 0.45, 0.6 * size / height))
    bar = ax.figure.colorbar(image, cax=place, orientation="horizontal")
    bar.outline.set(visible=False)
    bar.ax.locator_params(nbins=4)
    bar.ax.tick_params(color=FAINT, labelcolor=INK)
    bar.ax.text(
        1.06, 0.5, "distance", transform=bar.ax.transAxes, va="center", ha="left", color=INK, in_layout=False
    )  # fmt: skip

"""Distances as a heat map, and trees of clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearer._common.arrays import FloatArray
from nearer._common.figures import FAINT, INK, PALETTE, new_figure
from nearer.plotting.keys import framed_axes
from nearer.plotting.lines import max_text_width, rows_with_labels
from nearer.plotting.papers import Paper

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TREE_WIDTH = 0.22  # of the side of the map, for the tree
_MAX_ORDERED_LEAVES = 600  # leaves: the best order takes time as the cube of their number
_COLORMAP = "viridis"
_MAX_HEIGHT = 2.2  # sides, where the height is open: cells are as high as names, and no higher
_COLORBAR_LINES = 3.6  # heights of a letter, for the scale of colors below
_MAX_LEAF_LABELS = 150  # below one another; beyond, they would be too small to read


def plot_heatmap(
    distances: ArrayLike,
    labels: Sequence[str] | NDArray[Any] | None = None,
    ax: Axes | None = None,
    *,
    paper: Paper | None = None,
) -> Axes:
    """Draw the distances between all objects, near ones dark, beside the tree that average linkage makes of them.

    Leaves are in the order in which neighbors are as alike as the tree allows (Bar-Joseph, Gifford and Jaakkola 2001).

    Parameters
    ----------
    distances : array of shape (n, n) or (n, p)
        Distances, or a map: a square matrix that is symmetric with zeros on its diagonal is one of distances.
    labels : sequence of str, length n, optional
        Written beside the rows where they are high enough; otherwise every second, third and so on.
    ax : Axes, optional
        Gets the heat map; the tree goes to its left, inside of its place.
    paper : Paper, optional
        Size in millimeters and font.

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

    matrix = _checked_distances(distances)
    n, sheet = len(matrix), paper or Paper()
    if labels is not None and len(labels) != n:
        raise ValueError(f"there are {len(labels)} labels for {n} objects; give one for each")
    names = [""] * n if labels is None else [" ".join(str(label).split()) for label in labels]
    tree = linkage(squareform(matrix, checks=False), "average", optimal_ordering=n <= _MAX_ORDERED_LEAVES)
    leaves = leaves_list(tree)
    with sheet.text(names):
        size = sheet.font_size
        if ax is None:
            ax = _heatmap_axes(sheet, names)
        beside = ax.inset_axes((-_TREE_WIDTH, 0, _TREE_WIDTH - 0.01, 1))
        draw_links(beside, tree, np.full(n, -1), leaves, others=INK, thickest=0.6)
        beside.set(ylim=(n - 0.5, -0.5), xlim=(1.02 * tree[-1, 2], 0))
        beside.set_axis_off()
        image = ax.imshow(
            matrix[np.ix_(leaves, leaves)], cmap=_COLORMAP, vmin=0, aspect="auto", interpolation="nearest"
        )
        shown = rows_with_labels(ax, n, 1.1 * size) if labels is not None else []
        ax.yaxis.tick_right()
        ax.set_yticks(shown, [names[leaves[row]] for row in shown])
        ax.set_xticks([])
        for text in ax.get_yticklabels():
            text.set(parse_math=False, color=INK)
        ax.tick_params(axis="y", length=0, pad=2)
        ax.spines[:].set_visible(False)
        _draw_colorbar(ax, image, size)
    return ax


def _checked_distances(distances: ArrayLike) -> FloatArray:
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


def _heatmap_axes(sheet: Paper, names: Sequence[str]) -> Axes:
    """Return axes with room for the tree, for names and for the scale; as high as names need where that is open."""
    size, width = sheet.font_size, sheet.width * 72 / 25.4
    right = max_text_width(names, size) + 4
    side = (width - right - 6) / (1 + _TREE_WIDTH)
    high = np.clip(1.12 * size * len(names), side, _MAX_HEIGHT * side) if any(names) else side
    shape = (high + _COLORBAR_LINES * size + 6) / width
    return framed_axes(sheet, shape, room=(_TREE_WIDTH * side, _COLORBAR_LINES * size, right, 0.0))


def _draw_colorbar(ax: Axes, image: Any, size: float) -> None:
    """Draw the scale of colors below the heat map."""
    height = float(ax.get_window_extent().height) * 72 / ax.figure.dpi
    place = ax.inset_axes((0.0, -1.4 * size / height, 0.45, 0.6 * size / height))
    bar = ax.figure.colorbar(image, cax=place, orientation="horizontal")
    bar.outline.set(visible=False)
    bar.ax.locator_params(nbins=4)
    bar.ax.tick_params(color=FAINT, labelcolor=INK)
    bar.ax.text(
        1.06, 0.5, "distance", transform=bar.ax.transAxes, va="center", ha="left", color=INK, in_layout=False
    )  # fmt: skip


def plot_dendrogram(
    model: Any, ax: Axes | None = None, *, labels: Sequence[str] | NDArray[Any] | bool | None = None
) -> Axes:
    """Draw the tree of a clustering: objects below one another, clusters in their colors, what joins them in gray.

    Parameters
    ----------
    model : ComparisonHC
        Fitted; or anything with `linkage_matrix_` and `labels_`.
    ax : Axes, optional
    labels : sequence of str, length n, or False, optional
        Names of the objects; left out, those the model knows, for up to 150 objects. False writes none.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from nearer.embedding.clustering import ComparisonHC
    >>> alike = [("cat", "dog", "car"), ("dog", "cat", "bus"), ("car", "bus", "dog"), ("bus", "car", "cat")]
    >>> ax = plot_dendrogram(ComparisonHC(n_clusters=2, random_state=0).fit(alike))
    >>> sorted(text.get_text() for text in ax.get_yticklabels())
    ['bus', 'car', 'cat', 'dog']
    """
    if not hasattr(model, "linkage_matrix_"):
        raise ValueError("there is no tree to draw; fit a ComparisonHC first")
    from scipy.cluster.hierarchy import leaves_list

    tree, clusters = np.asarray(model.linkage_matrix_), np.asarray(model.labels_)
    n, leaves = len(clusters), leaves_list(tree)
    names = _leaf_labels(model, labels, n)
    ax = new_figure(6, float(np.clip(0.17 * n, 2.5, 14))).add_subplot() if ax is None else ax
    draw_links(ax, tree, clusters, leaves)
    ax.set_ylim(n - 0.5, -0.5)
    ax.margins(x=0.02)
    ax.invert_xaxis()
    ax.yaxis.tick_right()
    shown = [names[leaf] for leaf in leaves] if names else []
    ax.set_yticks(np.arange(len(shown)), shown)
    ax.tick_params(axis="y", length=0, labelsize=float(np.clip(900 / n, 5, 9)))
    for text, leaf in zip(ax.get_yticklabels(), leaves, strict=False):
        text.set_color(_cluster_color(int(clusters[leaf])))  # a cluster of one object has no link of its color
    ax.tick_params(axis="x", color=FAINT, labelcolor=INK, labelsize=8)
    for side in ("top", "left", "right"):
        ax.spines[side].set_visible(False)
    ax.spines["bottom"].set_color(FAINT)
    ax.set_xlabel("how unlike the clusters are that join", fontsize=9, color=INK)
    return ax


def _leaf_labels(model: Any, labels: Any, n_objects: int) -> list[str]:
    """Return the names to write, or none."""
    if labels is None:
        objects = getattr(model, "objects_", np.arange(n_objects))
        return [str(label) for label in objects] if n_objects <= _MAX_LEAF_LABELS else []
    if isinstance(labels, bool):
        if labels:
            raise ValueError("labels=True says nothing; give the names, or leave labels out for those of the model")
        return []
    if len(labels) != n_objects:
        raise ValueError(f"there are {len(labels)} labels for {n_objects} objects; give one for each")
    return [str(label) for label in labels]


def draw_links(
    ax: Axes,
    tree: NDArray[np.float64],
    clusters: NDArray[Any],
    leaves: NDArray[np.integer],
    *,
    others: str = FAINT,
    thickest: float = 1.2,
) -> None:
    """Draw a bracket for each merge: in the color of its cluster, or in another where it joins several.

    A cluster of -1 is none.

    In a loop over merges: scipy's own drawing calls itself at each level, too often for trees like a chain.
    """
    n, width = len(clusters), float(np.clip(200 / len(clusters), 0.3, thickest))
    heights = np.append(np.zeros(n), tree[:, 2])
    places, cluster_of = np.empty(2 * n - 1), np.append(clusters, np.full(n - 1, -1))
    places[leaves] = np.arange(n)
    for link, (one, other) in enumerate(tree[:, :2].astype(int), start=n):
        places[link] = (places[one] + places[other]) / 2
        cluster_of[link] = cluster_of[one] if cluster_of[one] == cluster_of[other] else -1
        color = _cluster_color(int(cluster_of[link])) if cluster_of[link] >= 0 else others
        along, across = heights[[one, link, link, other]], places[[one, one, other, other]]
        ax.plot(along, across, color=color, linewidth=width, solid_joinstyle="miter")


def _cluster_color(cluster: int) -> str:
    tones = list(PALETTE.values())
    return tones[cluster % len(tones)]

"""Trees of clusters: a leaf for each object, clusters in their colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nearer.plotting.style import FAINT, INK, PALETTE, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_NAMES = 150  # below one another; beyond, they would be too small to read


def plot_dendrogram(
    model: Any, ax: Axes | None = None, *, labels: Sequence[str] | NDArray[Any] | bool | None = None
) -> Axes:
    """Draw the tree of a clustering: objects below one another, clusters in their colours, what joins them in grey.

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
    >>> from nearer.clustering import ComparisonHC
    >>> alike = [("cat", "dog", "car"), ("dog", "cat", "bus"), ("car", "bus", "dog"), ("bus", "car", "cat")]
    >>> ax = plot_dendrogram(ComparisonHC(n_clusters=2, random_state=0).fit(alike))
    >>> sorted(text.get_text() for text in ax.get_yticklabels())
    ['bus', 'car', 'cat', 'dog']
    """
    if not hasattr(model, "linkage_matrix_"):
        raise ValueError("there is no tree to draw; fit a ComparisonHC first")
    from scipy.cluster.hierarchy import dendrogram

    tree, clusters = np.asarray(model.linkage_matrix_), np.asarray(model.labels_)
    names = _names(model, labels, len(clusters))
    height = float(np.clip(0.17 * len(clusters), 2.5, 14))
    ax = new_figure(6, height).add_subplot() if ax is None else ax
    colors, width = _colors_of_links(tree, clusters), float(np.clip(200 / len(clusters), 0.3, 1.2))
    drawn = dendrogram(tree, no_plot=True, link_color_func=lambda link: colors[link])
    for across, along, color in zip(drawn["icoord"], drawn["dcoord"], drawn["color_list"], strict=True):
        ax.plot(along, across, color=color, linewidth=width, solid_joinstyle="miter")
    leaves = np.array(drawn["leaves"])
    ax.set_ylim(10 * len(leaves), 0)  # scipy puts leaves at 5, 15, 25, ...
    ax.margins(x=0.02)
    ax.invert_xaxis()
    ax.yaxis.tick_right()
    shown = [names[leaf] for leaf in leaves] if names else []
    ax.set_yticks(5 + 10 * np.arange(len(shown)), shown)
    ax.tick_params(axis="y", length=0, labelsize=float(np.clip(900 / len(leaves), 5, 9)))
    for text, leaf in zip(ax.get_yticklabels(), leaves, strict=False):
        text.set_color(_tone(int(clusters[leaf])))  # a cluster of one object has no link of its colour
    ax.tick_params(axis="x", color=FAINT, labelcolor=INK, labelsize=8)
    for side in ("top", "left", "right"):
        ax.spines[side].set_visible(False)
    ax.spines["bottom"].set_color(FAINT)
    ax.set_xlabel("how unlike the clusters are that join", fontsize=9, color=INK)
    return ax


def _names(model: Any, labels: Any, n_objects: int) -> list[str]:
    """Return the names to write, or none."""
    if labels is None:
        objects = getattr(model, "objects_", np.arange(n_objects))
        return [str(label) for label in objects] if n_objects <= _MOST_NAMES else []
    if isinstance(labels, bool):
        if labels:
            raise ValueError("labels=True says nothing; give the names, or leave labels out for those of the model")
        return []
    if len(labels) != n_objects:
        raise ValueError(f"there are {len(labels)} labels for {n_objects} objects; give one for each")
    return [str(label) for label in labels]


def _colors_of_links(tree: NDArray[np.float64], clusters: NDArray[np.integer]) -> dict[int, str]:
    """Return the colour of each link by its number: that of its cluster, or grey where it joins several."""
    cluster_of = {leaf: int(cluster) for leaf, cluster in enumerate(clusters)}
    colors = {}
    for link, (one, other) in enumerate(tree[:, :2].astype(int), start=len(clusters)):
        same = cluster_of[int(one)] == cluster_of[int(other)]
        cluster_of[link] = cluster_of[int(one)] if same else -1
        colors[link] = _tone(cluster_of[link]) if cluster_of[link] >= 0 else FAINT
    return colors


def _tone(cluster: int) -> str:
    tones = list(PALETTE.values())
    return tones[cluster % len(tones)]

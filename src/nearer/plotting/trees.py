"""Trees of clusters: a leaf for each object, clusters in their colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nearer._common.figures import FAINT, INK, PALETTE, new_figure

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
    names = _names(model, labels, n)
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


def draw_links(
    ax: Axes,
    tree: NDArray[np.float64],
    clusters: NDArray[Any],
    leaves: NDArray[np.integer],
    *,
    others: str = FAINT,
    thickest: float = 1.2,
) -> None:
    """Draw a bracket for each merge: in the colour of its cluster, or in another where it joins several.

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
        color = _tone(int(cluster_of[link])) if cluster_of[link] >= 0 else others
        along, across = heights[[one, link, link, other]], places[[one, one, other, other]]
        ax.plot(along, across, color=color, linewidth=width, solid_joinstyle="miter")


def _tone(cluster: int) -> str:
    tones = list(PALETTE.values())
    return tones[cluster % len(tones)]

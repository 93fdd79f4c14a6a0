"""Objects or people in rows below one another: along one axis, by their weights, in a heat map, in a tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearer._common.arrays import FloatArray
from nearer._common.figures import FAINT, INK, PALETTE, SECOND, despine, new_figure
from nearer.plotting.keys import COLORMAP, OUTLINE_COLOR, Attribute, draw_colorbar, encode, framed_axes, key_texts
from nearer.plotting.labels import label_texts
from nearer.plotting.papers import Paper

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROW_HEIGHT, _MAX_LINE_HEIGHT = 1.35, 2.4  # heights of a letter; heights of a figure in widths, where they are open
_MAX_PEOPLE_LABELS, _MAX_LEAF_LABELS = 80, 150  # below one another; beyond, they would be too small to read
_TREE_WIDTH = 0.22  # of the side of the map, for the tree
_MAX_ORDERED_LEAVES = 600  # leaves: the best order takes time as the cube of their number
_MAX_MAP_HEIGHT = 2.2  # sides, where the height is open: cells are as high as names, and no higher
_COLORBAR_LINES = 3.6  # heights of a letter, for the scale of colors below
_TONES = list(PALETTE.values())


def plot_line(
    places: ArrayLike,
    labels: Sequence[str] | NDArray[Any] | None = None,
    ax: Axes | None = None,
    *,
    reaches: ArrayLike | None = None,
    color_by: Attribute | None = None,
    shape_by: Attribute | None = None,
    palette: Mapping[str, str] | None = None,
    paper: Paper | None = None,
) -> Axes:
    """Draw a map of one axis: a row for each object, the largest on top.

    Parameters
    ----------
    places : array of shape (n,) or (n, 1)
    labels : sequence of str, length n, optional
        Written where rows are high enough; otherwise every second, third and so on.
    ax : Axes, optional
    reaches : array of shape (n,), optional
        How far the interval of each object reaches to both sides.
    color_by, shape_by, palette, paper
        As of `plot_map`.

    Examples
    --------
    >>> ax = plot_line([0.0, 2.0, 1.0], ["low", "high", "middle"])
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['high', 'middle', 'low']
    """
    at = np.asarray(places, dtype=np.float64).reshape(-1)
    n, sheet = len(at), paper or Paper()
    names = label_texts(labels, n)
    half = None if reaches is None else np.asarray(reaches, dtype=np.float64)
    if half is not None and (half.shape != (n,) or not (half >= 0).all()):
        raise ValueError(f"reaches must be {n} numbers, 0 or more; got shape {half.shape}")
    color, shape = encode(n, color_by, shape_by, palette)
    size = sheet.font_size
    mark = float(np.clip(0.75 * size, 3, 6))
    with sheet.text([*names, *key_texts(color, shape)]):
        if ax is None:
            room = (_max_text_width(names, size) + 4.0, 2.2 * size + 6, 2.0, 0.0)
            high = (max(n * _ROW_HEIGHT * size, 45) + room[1] + 6) / (sheet.width * 72 / 25.4)
            ax = framed_axes(sheet, min(high, _MAX_LINE_HEIGHT), color, shape, mark, room)
        order = np.argsort(-at, kind="stable")
        for row, index in enumerate(order):
            tone = SECOND if color is None else color.marks[index]
            ax.axhline(row, color=FAINT, linewidth=0.3, alpha=0.5, zorder=0)  # leads the eye
            if half is not None:
                ends = [at[index] - half[index], at[index] + half[index]]
                ax.plot(ends, [row, row], color=tone, linewidth=1.2, alpha=0.7, solid_capstyle="butt", zorder=1)
            ax.plot(
                at[index], row, "o" if shape is None else shape.marks[index], color=tone, markersize=mark,
                markeredgecolor=OUTLINE_COLOR, markeredgewidth=0.5, zorder=2,
            )  # fmt: skip
        ax.set_ylim(n - 0.5, -0.5)
        _name_rows(ax, [names[index] for index in order], size)
        ax.tick_params(axis="x", color=FAINT, labelcolor=INK)
        ax.set_xlabel("place on the map", color=INK)
        _keep_foot(ax)
    return ax


def _keep_foot(ax: Axes) -> None:
    ax.spines[["top", "left", "right"]].set_visible(False)
    ax.spines["bottom"].set_color(FAINT)


def _max_text_width(names: Sequence[str], size: float) -> float:
    """Return how wide the widest of these names is, in points, in the present font."""
    figure = new_figure(1, 1)
    text = figure.text(0, 0, "", fontsize=size, parse_math=False)
    widest = 0.0
    for name in set(names) - {""}:
        text.set_text(name)
        widest = max(widest, float(text.get_window_extent().width) * 72 / figure.dpi)
    return widest


def _name_rows(ax: Axes, names: Sequence[str], size: float) -> None:
    """Write the names of rows that lie on no other: of all, or of every second, every third and so on."""
    inner = float(ax.get_window_extent().height) * 72 / ax.figure.dpi
    step = max(int(np.ceil(1.1 * size * len(names) / inner)), 1)
    ax.set_yticks(range(0, len(names), step), names[::step])
    for text in ax.get_yticklabels():
        text.set(parse_math=False, color=INK)
    ax.tick_params(axis="y", length=0)


def plot_weights(people: Any, axis: int | None = None, ax: Axes | None = None) -> Axes:
    """Draw what an axis counts for each person, with intervals: people below one another, by their weights.

    With two axes the weight of the one says that of the other, and one panel says all. With more there is one for each
    axis, side by side, people in the order of the first.

    Parameters
    ----------
    people : PeopleComparison, or PosteriorEmbedding
        Compared, or fitted with ``people="weights"`` or ``people="maps"``.
    axis : int, optional
        The axis, from 0; all of them by default.
    ax : Axes, optional
        For one axis.

    Returns
    -------
    Axes
        The first of them, if there are several.

    Examples
    --------
    >>> from nearer import Comparisons
    >>> from nearer.embedding import PosteriorEmbedding
    >>> rng = np.random.default_rng(0)
    >>> rows = [rng.choice(6, 3, replace=False) for _ in range(80)]
    >>> model = PosteriorEmbedding(2, people="weights", solver="fast", random_state=0)
    >>> ax = plot_weights(model.fit(Comparisons.from_triplets(rows, annotators=["ann", "bob"] * 40)))
    >>> sorted(text.get_text() for text in ax.get_yticklabels())
    ['ann', 'bob']
    """
    shown = getattr(people, "differences_", people)
    if not hasattr(shown, "weight_intervals"):
        raise ValueError("there are no weights to draw; fit PosteriorEmbedding(people='maps'), or call compare_people")
    intervals = shown.weight_intervals
    n_people, p = shown.weights.shape
    if axis is not None and not 0 <= axis < p:
        raise ValueError(f"axis={axis} is none of the {p} axes, which are 0 to {p - 1}")
    order = np.argsort(shown.weights[:, 0 if axis is None else axis], kind="stable")
    axes = [axis] if axis is not None else [0] if p == 2 or ax is not None else list(range(p))
    panels: list[Any] = [ax]
    if ax is None:
        figure = new_figure(2.4 + 2.6 * len(axes), float(np.clip(0.9 + 0.17 * n_people, 2.5, 14)))
        panels = list(figure.subplots(1, len(axes), sharey=True, squeeze=False)[0])
    for panel, number in zip(panels, axes, strict=True):
        _draw_weights(panel, shown, number, order, intervals)
    for panel in panels[1:]:
        panel.tick_params(axis="y", length=0)
    first: Axes = panels[0]
    first.set_ylim(-0.7, n_people - 0.3)
    if n_people > _MAX_PEOPLE_LABELS:
        first.set_yticks([])
        first.set_ylabel(f"{n_people} people", fontsize=9, color=INK)
    else:
        names = [str(shown.people[row]) for row in order]
        first.set_yticks(np.arange(n_people), [name if len(name) <= 24 else name[:23] + "…" for name in names])
        first.tick_params(axis="y", length=0, labelsize=float(np.clip(500 / n_people, 5, 9)))
    return first


def _draw_weights(ax: Axes, people: Any, axis: int, order: Any, intervals: Any) -> None:
    """Draw one panel: a dot and a line for each person, in the color of their kind."""
    places = np.arange(len(order))
    weights, (low, high) = people.weights[order, axis], intervals[order, axis].T
    ax.axvline(1, color=FAINT, linewidth=0.8, zorder=0)
    n_kinds = len(people.kind_weights)
    for kind in range(n_kinds):
        of_kind = people.kinds[order] == kind
        tone = _TONES[(kind + 1) % len(_TONES)]
        ax.hlines(places[of_kind], low[of_kind], high[of_kind], color=tone, linewidth=1.2, alpha=0.55)
        ax.plot(weights[of_kind], places[of_kind], "o", color=tone, markersize=4.5, label=f"kind {kind + 1}")
    _set_log2_scale(ax, float(intervals.min()), float(intervals.max()))
    despine(ax)
    other = f"; axis {2 - axis} has its inverse" if people.weights.shape[1] == 2 else ""
    same = "" if people.axes_identified else "\n(nothing says that people differ)"
    ax.set_xlabel(f"weight of axis {axis + 1}{other}{same}", fontsize=9, color=INK)
    if n_kinds > 1:
        ax.legend(frameon=False, fontsize=8, labelcolor=INK, loc="lower right")


def _set_log2_scale(ax: Axes, low: float, high: float) -> None:
    """Set a logarithmic scale with ticks that people read: halves and doubles."""
    reach = float(np.clip(max(high, 1 / low), 2, 1e6))
    ax.set_xscale("log", base=2)
    powers = np.arange(-int(np.floor(np.log2(reach))), int(np.floor(np.log2(reach))) + 1)
    powers = powers[:: max(1, len(powers) // 8)] if len(powers) > 9 else powers
    names = [f"{2**power}" if power >= 0 else f"1/{2**-power}" for power in powers.tolist()]
    ax.set_xticks(2.0 ** powers.astype(float), names)
    ax.minorticks_off()
    ax.set_xlim(1 / (reach * 1.08), reach * 1.08)


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
    names = label_texts(labels, n)
    tree = linkage(squareform(matrix, checks=False), "average", optimal_ordering=n <= _MAX_ORDERED_LEAVES)
    leaves = leaves_list(tree)
    with sheet.text(names):
        size = sheet.font_size
        ax = _heatmap_axes(sheet, names) if ax is None else ax
        beside = ax.inset_axes((-_TREE_WIDTH, 0, _TREE_WIDTH - 0.01, 1))
        _draw_links(beside, tree, np.full(n, -1), leaves, others=INK, thickest=0.6)
        beside.set(ylim=(n - 0.5, -0.5), xlim=(1.02 * tree[-1, 2], 0))
        beside.set_axis_off()
        shown = matrix[np.ix_(leaves, leaves)]
        image = ax.imshow(shown, cmap=COLORMAP, vmin=0, aspect="auto", interpolation="nearest")
        ax.yaxis.tick_right()
        _name_rows(ax, [] if labels is None else [names[leaf] for leaf in leaves], size)
        ax.set_xticks([])
        ax.tick_params(axis="y", pad=2)
        ax.spines[:].set_visible(False)
        height = float(ax.get_window_extent().height) * 72 / ax.figure.dpi
        bar = draw_colorbar(ax.inset_axes((0.0, -1.4 * size / height, 0.45, 0.6 * size / height)), image)
        bar.text(1.06, 0.5, "distance", transform=bar.transAxes, va="center", ha="left", color=INK, in_layout=False)
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
    right = _max_text_width(names, size) + 4
    side = (width - right - 6) / (1 + _TREE_WIDTH)
    high = np.clip(1.12 * size * len(names), side, _MAX_MAP_HEIGHT * side) if any(names) else side
    shape = (high + _COLORBAR_LINES * size + 6) / width
    return framed_axes(sheet, shape, room=(_TREE_WIDTH * side, _COLORBAR_LINES * size, right, 0.0))


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
        Names of the objects; by default those the model knows, for up to 150 objects. False writes none.

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
    _draw_links(ax, tree, clusters, leaves, others=FAINT, thickest=1.2)
    ax.set_ylim(n - 0.5, -0.5)
    ax.margins(x=0.02)
    ax.invert_xaxis()
    ax.yaxis.tick_right()
    ax.set_yticks(range(len(names)), [names[leaf] for leaf in leaves] if names else [])
    ax.tick_params(axis="y", length=0, labelsize=float(np.clip(900 / n, 5, 9)))
    for text, leaf in zip(ax.get_yticklabels(), leaves, strict=False):
        text.set_color(_TONES[clusters[leaf] % len(_TONES)])  # a cluster of one object has no link of its color
    ax.tick_params(axis="x", color=FAINT, labelcolor=INK, labelsize=8)
    _keep_foot(ax)
    ax.set_xlabel("how unlike the clusters are that join", fontsize=9, color=INK)
    return ax


def _leaf_labels(model: Any, labels: Any, n_objects: int) -> list[str]:
    """Return the names to write, or none."""
    if labels is None:
        labels = getattr(model, "objects_", np.arange(n_objects)) if n_objects <= _MAX_LEAF_LABELS else False
    if isinstance(labels, bool):
        if labels:
            raise ValueError("labels=True says nothing; give the names, or leave labels out for those of the model")
        return []
    if len(labels) != n_objects:
        raise ValueError(f"there are {len(labels)} labels for {n_objects} objects; give one for each")
    return [str(label) for label in labels]


def _draw_links(
    ax: Axes, tree: FloatArray, clusters: NDArray[Any], leaves: NDArray[np.integer], *, others: str, thickest: float
) -> None:
    """Draw a bracket for each merge: in the color of its cluster, or in another where it joins several, or of -1."""
    # In a loop over merges: scipy's own drawing calls itself at each level, too often for trees like a chain.
    n, width = len(clusters), float(np.clip(200 / len(clusters), 0.3, thickest))
    heights = np.append(np.zeros(n), tree[:, 2])
    places, cluster_of = np.empty(2 * n - 1), np.append(clusters, np.full(n - 1, -1))
    places[leaves] = np.arange(n)
    for link, (one, other) in enumerate(tree[:, :2].astype(int), start=n):
        places[link] = (places[one] + places[other]) / 2
        cluster_of[link] = cluster_of[one] if cluster_of[one] == cluster_of[other] else -1
        color = _TONES[cluster_of[link] % len(_TONES)] if cluster_of[link] >= 0 else others
        along, across = heights[[one, link, link, other]], places[[one, one, other, other]]
        ax.plot(along, across, color=color, linewidth=width, solid_joinstyle="miter")

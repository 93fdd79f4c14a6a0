"""Figures: maps, margin distributions, the loss, errors over trials.

Every function takes ``ax=None`` and returns the Axes it drew on; without one it makes a figure of its own, to be saved
with ``ax.figure.savefig("map.png")``. Nothing is ever shown, and no global state of matplotlib is touched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearer.losses import TwoSidedHinge

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from nearer.metrics import ReliabilityCurve

INK, FAINT = "#2b2b2b", "#9a9a9a"
PALETTE = {
    "DMOE": "#b5403a",
    "GNMDS": "#3d6a8a",
    "STE": "#5f8f7a",
    "TSTE": "#8a7aa8",
    "SOE": "#c28a2e",
    "CKL": "#7a5c4a",
}
_ACCENT, _SECOND = PALETTE["DMOE"], PALETTE["GNMDS"]
# Lets a white dot be seen on white paper, and two dots of one colour be told apart.
_OUTLINE = (0.0, 0.0, 0.0, 0.25)
# Where a label may go, best first, as directions from its dot.
_DIRECTIONS = np.array(
    [(1, 0), (-1, 0), (0, 1), (0, -1)]
    + [(side, slant) for slant in (0.5, -0.5, 0.8, -0.8) for side in (1, -1)]
    + [(side, slant) for slant in (1, -1) for side in (0.4, -0.4)]
)


def new_figure(width: float, height: float, *, constrained: bool = True) -> Figure:
    """Return an empty figure of so many inches, or say how to get matplotlib.

    Examples
    --------
    >>> new_figure(4, 3).get_size_inches()
    array([4., 3.])
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError('figures need matplotlib; install it with: pip install "nearer[plot]"') from error
    return Figure(figsize=(width, height), layout="constrained" if constrained else None)


def plot_map(
    embedding: ArrayLike,
    labels: Sequence[str] | NDArray[Any] | None = None,
    colors: Any = None,
    ax: Axes | None = None,
    *,
    ellipses: ArrayLike | None = None,
) -> Axes:
    """Draw a map: one dot for each object, with its name where there is room for it.

    Parameters
    ----------
    embedding : array of shape (n, p)
        The first two columns are drawn, with equal scales.
    labels : sequence of str, length n, optional
        A label that would lie on another label or on a dot is left out.
    colors : anything that matplotlib takes as the colours of n dots, optional
    ax : Axes, optional
    ellipses : array of shape (n, 5), optional
        Where each object may lie, as `PosteriorEmbedding.ellipses` returns it: centre, half axes, angle in degrees.

    Returns
    -------
    Axes

    Examples
    --------
    >>> ax = plot_map([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], labels=["a", "b", "c"])
    >>> [text.get_text() for text in ax.texts]
    ['a', 'b', 'c']
    """
    points = np.asarray(embedding, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] < 2:
        raise ValueError(f"a map needs an embedding of shape (n, p) with p >= 2; got shape {points.shape}")
    if labels is not None and len(labels) != len(points):
        raise ValueError(f"there are {len(labels)} labels for {len(points)} objects; give one for each")
    if ax is None:
        corners = points[:, :2]
        if ellipses is not None:
            reach = np.asarray(ellipses, dtype=np.float64)[:, 2:3]
            corners = np.vstack([corners - reach, corners + reach])
        width, height = np.ptp(corners, axis=0)
        shape = height / width if width > 0 else 1.0
        ax = new_figure(8, 8 * float(np.clip(shape, 0.5, 1)), constrained=False).add_axes((0.02, 0.02, 0.96, 0.96))
    # Colours are seen on patches; without them a dot says where an object is.
    area = float(np.clip(3000 / len(points), 12, 60) if colors is None else np.clip(17000 / len(points), 20, 250))
    ax.scatter(
        points[:, 0], points[:, 1], s=area, c=_SECOND if colors is None else colors,
        edgecolors=[_OUTLINE], linewidths=0.7,
    )  # fmt: skip
    if ellipses is not None:
        _draw_ellipses(ax, np.asarray(ellipses, dtype=np.float64), len(points), colors)
    ax.set_aspect("equal", adjustable="datalim")
    ax.margins(0.08)
    ax.set_axis_off()
    if labels is not None:
        _place_labels(ax, points[:, :2], [str(label) for label in labels], np.sqrt(area) / 2)
    return ax


def _draw_ellipses(ax: Axes, ellipses: NDArray[np.float64], n_points: int, colors: Any) -> None:
    """Draw an ellipse under each dot, in a pale tone of its colour."""
    from matplotlib.collections import EllipseCollection

    if ellipses.shape != (n_points, 5):
        raise ValueError(
            f"ellipses must have the shape ({n_points}, 5): centre, half axes and angle of each object; "
            f"got {ellipses.shape}"
        )
    ax.add_collection(
        EllipseCollection(
            2 * ellipses[:, 2], 2 * ellipses[:, 3], ellipses[:, 4], units="xy", offsets=ellipses[:, :2],
            offset_transform=ax.transData, facecolors=_SECOND if colors is None else colors, alpha=0.15, zorder=0,
        )
    )  # fmt: skip
    ax.update_datalim(np.concatenate([ellipses[:, :2] + side * ellipses[:, 2:3] for side in (-1, 1)]))


def _place_labels(ax: Axes, points: NDArray[np.float64], labels: Sequence[str], radius: float) -> None:
    """Write each label beside its dot, in the first direction that is free, or not at all.

    Labels with the most crowded dots choose first: those in the open find room later.
    """
    ax.apply_aspect()  # fixes the scales that everything below is measured in
    pixels_per_point = ax.figure.dpi / 72
    dots = np.asarray(ax.transData.transform(points)) / pixels_per_point
    frame = ax.get_window_extent().get_points() / pixels_per_point
    taken = np.hstack([dots - radius, dots + radius])
    gaps = np.linalg.norm(dots[:, None] - dots[None, :], axis=2)
    crowding = np.exp(-((gaps / 40) ** 2)).sum(axis=1)
    for index in np.argsort(-crowding, kind="stable"):
        text = ax.text(0, 0, labels[index], fontsize=8, color=INK, ha="center", va="center")
        extent = text.get_window_extent()
        half = np.array([extent.width, extent.height]) / 2 / pixels_per_point
        centres = dots[index] + _DIRECTIONS * (half + radius + 1)
        boxes = np.hstack([centres - half, centres + half])
        overlaps = np.all((boxes[:, None, :2] < taken[:, 2:]) & (boxes[:, None, 2:] > taken[:, :2]), axis=2)
        inside = np.all((boxes[:, :2] >= frame[0]) & (boxes[:, 2:] <= frame[1]), axis=1)
        free = np.flatnonzero(inside & ~np.any(overlaps, axis=1))
        if len(free) == 0:
            text.remove()
            continue
        taken = np.vstack([taken, boxes[free[0]]])
        x, y = ax.transData.inverted().transform(centres[free[0]] * pixels_per_point)
        text.set_position((float(x), float(y)))


def plot_margins(margins: ArrayLike, held_out: ArrayLike | None = None, ax: Axes | None = None) -> Axes:
    """Draw the distribution of margins, its mean and one standard deviation to each side.

    Parameters
    ----------
    margins : array of shape (m,)
        Of the training comparisons.
    held_out : array, optional
        Margins of comparisons that the map was not fitted to.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> plot_margins([0.5, 1.0, 1.5]).get_xlabel()
    'margin'
    """
    ax = new_figure(6, 4).add_subplot() if ax is None else ax
    samples = [("training", np.asarray(margins, dtype=np.float64), _ACCENT)]
    if held_out is not None:
        samples.append(("held out", np.asarray(held_out, dtype=np.float64), _SECOND))
    if any(values.size == 0 for _, values, _ in samples):
        raise ValueError("there are no margins to draw; give at least one")
    # The far tails would squeeze everything else into a few bins.
    ranges = np.array([np.quantile(values, [0.001, 0.999]) for _, values, _ in samples])
    low, high = ranges[:, 0].min() - 1e-3, ranges[:, 1].max() + 1e-3  # not empty, even if all margins are equal
    bins = np.linspace(low, high, 61)
    for row, (name, values, color) in enumerate(samples):
        mean, std = values.mean(), values.std()
        label = f"{name}: mean {mean:.2f}, std {std:.2f}"
        ax.hist(values, bins=bins.tolist(), density=True, histtype="stepfilled", color=color, alpha=0.3, label=label)
        ax.hist(values, bins=bins.tolist(), density=True, histtype="step", color=color, linewidth=1.2)
        # Above the histograms, in units of the height of the axes: a dot for the mean, a bar for the deviation.
        ax.errorbar(
            mean, 0.97 - 0.05 * row, xerr=std, fmt="o", color=color, capsize=3, markersize=5,
            transform=ax.get_xaxis_transform(),
        )  # fmt: skip
    ax.axvline(0, ymax=0.76, color=FAINT, linewidth=0.8, linestyle=":")
    ax.set_ylim(top=1.2 * ax.get_ylim()[1])
    ax.set_xlim(low, high)
    ax.set(xlabel="margin", ylabel="density")
    ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(0, 0.92), fontsize=8)
    return plain(ax)


def plot_loss(nus: Sequence[float] = (0.0, 0.25, 1.0), ax: Axes | None = None) -> Axes:
    """Draw the two-sided hinge for several prices nu of the upper side, squared (solid) and plain (dashed).

    Parameters
    ----------
    nus : sequence of float
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> len(plot_loss([0.0, 1.0]).lines)
    4
    """
    ax = new_figure(5, 4).add_subplot() if ax is None else ax
    grid = np.linspace(-0.6, 2.6, 321)
    shades = np.linspace(0.35, 1.0, len(nus))
    for power, style, color in ((2, "-", _ACCENT), (1, "--", _SECOND)):
        for nu, shade in zip(nus, shades, strict=True):
            values = TwoSidedHinge(nu, power).value(grid)
            label = rf"$\nu = {nu:g}$" + (", squared" if power == 2 else ", plain")
            ax.plot(grid, values, style, color=color, alpha=float(shade), linewidth=1.8, label=label)
    ax.set(xlabel="margin", ylabel="loss", xlim=(grid[0], grid[-1]), ylim=(-0.05, 2.6))
    ax.legend(frameon=False, loc="upper center", ncols=2, fontsize=8)
    return plain(ax)


def plot_errors(
    errors: Mapping[str, ArrayLike],
    paper: Mapping[str, float] | None = None,
    limit: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the errors of several methods over trials as box plots.

    Parameters
    ----------
    errors : mapping from method to array of shape (trials,)
    paper : mapping from method to float, optional
        Medians reported elsewhere, drawn as diamonds.
    limit : float, optional
        The error of the best possible predictor, drawn as a dashed line.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> ax = plot_errors({"DMOE": [0.3, 0.31], "STE": [0.38, 0.4]}, limit=0.28)
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['DMOE', 'STE']
    """
    ax = new_figure(4, 4).add_subplot() if ax is None else ax
    from matplotlib.colors import to_rgb

    lines = {"color": FAINT, "linewidth": 1.0}  # copied below: boxplot adds to what it is given
    boxes = ax.boxplot(
        [np.asarray(values) for values in errors.values()], tick_labels=list(errors), widths=0.55, patch_artist=True,
        whiskerprops=dict(lines), capprops=dict(lines), medianprops={"linewidth": 2.0},
        flierprops={"marker": ".", "markersize": 4, "markeredgecolor": FAINT},
    )  # fmt: skip
    # Pale boxes, full medians: the median of a single trial, whose box has no height, is still seen.
    for method, box, median in zip(errors, boxes["boxes"], boxes["medians"], strict=True):
        color = PALETTE.get(method.removesuffix("-X"), INK)
        box.set(facecolor=(*to_rgb(color), 0.35), edgecolor=color)
        median.set_color(color)
    reported = [(place, paper[method]) for place, method in enumerate(errors, start=1) if paper and method in paper]
    if reported:
        ax.plot(
            *zip(*reported, strict=True), "D", color="white", markeredgecolor=INK, markersize=6, zorder=3,
            label="median in the paper",
        )  # fmt: skip
    if limit is not None:
        ax.axhline(limit, color=INK, linewidth=1, linestyle="--", zorder=0, label="best possible (median)")
    ax.set_ylabel("held-out error")
    return plain(ax)


def plot_path(model: Any, ax: Axes | None = None) -> Axes:
    """Draw the search of a `DMOE` that chose its own settings: the error along each path of penalties.

    A line for each path with a band of one standard error over the folds, pale where candidates dropped out early and
    were judged by fewer folds; a number beside a point is its ridge; the ring is the setting that was chosen.

    Parameters
    ----------
    model : DMOE
        Fitted, with `cv_results_`.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> from nearer.datasets import make_gaussian, sample_triplets
    >>> from nearer.embedding import DMOE
    >>> rows = sample_triplets(make_gaussian(10, 2, random_state=0), 100, random_state=0)
    >>> plot_path(DMOE().fit(rows)).get_ylabel()
    'held-out error, smoothed'
    """
    if not hasattr(model, "cv_results_"):
        raise ValueError("there is no search to draw; fit a DMOE that leaves its penalty open")
    ax = new_figure(6, 4).add_subplot() if ax is None else ax
    results = model.cv_results_
    splits = np.stack([scores for name, scores in results.items() if name.startswith("split")])
    judged = (~np.isnan(splits)).sum(axis=0)
    errors, deviations = -results["mean_test_score"], results["std_test_score"] / np.sqrt(judged)
    traces, ridges = results["param_trace"], results["param_ridge"]
    for path, color in zip(dict.fromkeys(results["path"]), PALETTE.values(), strict=False):
        where = np.flatnonzero(results["path"] == path)
        where = where[np.argsort(traces[where], kind="stable")]
        low, high = errors[where] - deviations[where], errors[where] + deviations[where]
        ax.fill_between(traces[where], low, high, color=color, alpha=0.12, linewidth=0)
        ax.plot(traces[where], errors[where], color=color, linewidth=1.2, label=path)
        shades = np.where(judged[where] == judged.max(), 1.0, 0.35)
        ax.scatter(traces[where], errors[where], s=14, color=color, alpha=shades.tolist(), zorder=3)
        for place in where[ridges[where] > 0]:
            ax.annotate(
                f"{ridges[place]:g}", (traces[place], errors[place]), (3, 3), textcoords="offset points", fontsize=7,
                color=color,
            )  # fmt: skip
    best = model.best_index_
    ax.plot(traces[best], errors[best], "o", markersize=11, markerfacecolor="none", color=INK, label="chosen")
    if (traces > 0).all():
        ax.set_xscale("log")
    ax.set(xlabel="trace penalty, 1 where the map vanishes", ylabel="held-out error, smoothed")
    ax.legend(frameon=False, fontsize=8)
    return plain(ax)


def plot_reliability(
    curve: ReliabilityCurve, name: str | None = None, color: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw how often predictions are right against how sure they are; on the diagonal they are right as often as said.

    The bars below show where the predictions are; a bin with less than one in 2000 of them has no dot.

    Parameters
    ----------
    curve : ReliabilityCurve
        Of `nearer.metrics.reliability_curve`.
    name : str, optional
        Goes above, with the expected calibration error.
    color : str, optional
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> from nearer.metrics import reliability_curve
    >>> plot_reliability(reliability_curve([0.8, 0.8, 0.8, 0.8], [1, -1, 1, -1]), "a coin").get_title()
    'a coin  (ECE 0.300)'
    """
    ax = new_figure(4, 4).add_subplot() if ax is None else ax
    color = _ACCENT if color is None else color
    share = curve.weight / curve.weight.sum()
    edges = np.linspace(0.5, 1, len(share) + 1)
    # A sixth of the panel is enough to see where the predictions are.
    ax.bar(
        edges[:-1], share / share.max() / 6, np.diff(edges), align="edge", color=color, alpha=0.25, linewidth=0,
        transform=ax.get_xaxis_transform(),
    )  # fmt: skip
    ax.plot([0.5, 1], [0.5, 1], color=FAINT, linewidth=1)
    seen = share > 5e-4  # a bin with hardly any predictions shows noise
    ax.plot(curve.confidence[seen], curve.right[seen], "o-", color=color, markersize=3.5, linewidth=1.4)
    if name is not None:
        ax.set_title(f"{name}  (ECE {curve.error:.3f})", fontsize=9, color=INK)
    low = min(0.45, float(curve.right[seen].min()) - 0.05)
    ax.set(xlim=(0.5, 1.01), ylim=(low, 1.01), xticks=[0.5, 0.75, 1.0], yticks=[0.5, 0.75, 1.0])
    ax.set_xlabel("confidence", fontsize=9, color=INK)
    ax.set_ylabel("share right", fontsize=9, color=INK)
    return plain(ax)


def save_figure(ax: Axes, path: str | PathLike[str]) -> None:
    """Write the figure that axes are on into a file, in the format that its name says."""
    figure = ax.get_figure(root=True)
    assert figure is not None, "axes without a figure draw nothing"
    try:
        figure.savefig(path, dpi=150)
    except ValueError as error:  # of matplotlib, on an ending it does not know
        raise ValueError(f"{path}: {error}") from error


def plain(ax: Axes) -> Axes:
    """Leave of the frame only what is read off: two pale axes."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(FAINT)
    ax.tick_params(color=FAINT, labelcolor=INK, labelsize=9)
    return ax

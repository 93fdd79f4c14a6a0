"""What a fit has learned and how well: margins, loss, search, calibration, errors, scale of the learning curve."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from nearer._common.figures import ACCENT, FAINT, INK, PALETTE, SECOND, despine, new_figure
from nearer._common.formatting import decimals
from nearer.evaluation.curves import CHANCE
from nearer.model import TwoSidedHinge

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from nearer.evaluation.metrics import ReliabilityCurve

X_TITLE, Y_TITLE = "comparisons learned from (logarithmic)", "held-out error"
GUESSING, BEST_POSSIBLE = "guessing", "noise ceiling"
_MIN_TICK_GAP = 0.13  # of the axis: labels that are nearer to each other may touch
_MIN_HALF_TICK_GAP = 0.1  # and those of four digits, nearer than this, do


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
    samples = [("training", np.asarray(margins, dtype=np.float64), ACCENT)]
    if held_out is not None:
        samples.append(("held out", np.asarray(held_out, dtype=np.float64), SECOND))
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
    return despine(ax)


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
    for power, style, color in ((2, "-", ACCENT), (1, "--", SECOND)):
        for nu, shade in zip(nus, shades, strict=True):
            values = TwoSidedHinge(nu, power).value(grid)
            label = rf"$\nu = {nu:g}$" + (", squared" if power == 2 else ", plain")
            ax.plot(grid, values, style, color=color, alpha=float(shade), linewidth=1.8, label=label)
    ax.set(xlabel="margin", ylabel="loss", xlim=(grid[0], grid[-1]), ylim=(-0.05, 2.6))
    ax.legend(frameon=False, loc="upper center", ncols=2, fontsize=8)
    return despine(ax)


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
    return despine(ax)


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
    return despine(ax)


def plot_reliability(
    curve: ReliabilityCurve, name: str | None = None, color: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw how often predictions are right against how sure they are; on the diagonal they are right as often as said.

    The bars below show where the predictions are; a bin with less than one in 2000 of them has no dot.

    Parameters
    ----------
    curve : ReliabilityCurve
        Of `nearer.evaluation.reliability_curve`.
    name : str, optional
        Goes above, with the expected calibration error.
    color : str, optional
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> from nearer.evaluation import reliability_curve
    >>> plot_reliability(reliability_curve([0.8, 0.8, 0.8, 0.8], [1, -1, 1, -1]), "a coin").get_title()
    'a coin  (ECE 0.300)'
    """
    ax = new_figure(4, 4).add_subplot() if ax is None else ax
    color = ACCENT if color is None else color
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
        ax.set_title(f"{name}  (ECE {decimals(curve.error)})", fontsize=9, color=INK)
    low = min(0.45, float(curve.right[seen].min()) - 0.05)
    ax.set(xlim=(0.5, 1.01), ylim=(low, 1.01), xticks=[0.5, 0.75, 1.0], yticks=[0.5, 0.75, 1.0])
    ax.set_xlabel("confidence", fontsize=9, color=INK)
    ax.set_ylabel("share right", fontsize=9, color=INK)
    return despine(ax)


@dataclass(frozen=True)
class CurveScale:
    """From where to where a learning curve is drawn, and which sizes are written below it.

    Examples
    --------
    >>> scale = CurveScale.of([100, 110, 1000], [0.4, 0.3, 0.2])
    >>> scale.ticks, scale.y
    ([110, 1000], (0.0, 0.55))
    """

    x: tuple[float, float]
    y: tuple[float, float]
    ticks: list[float]
    heights: list[float]

    @classmethod
    def of(cls, sizes: Sequence[float], highs: Sequence[float]) -> CurveScale:
        """Return the scale for sizes >= 1 and the upper ends of their errors."""
        least, most = max(min(sizes), 1.0), max(*sizes, 1.0)
        room = max(most / least, 2.0) ** 0.06
        x = (least / room, most * room)
        width = math.log(x[1] / x[0])
        ticks: list[float] = []
        for size in sorted(sizes, key=lambda size: (size != most, size != _half_of_last(sizes), -size)):
            apart = _MIN_HALF_TICK_GAP if size == _half_of_last(sizes) else _MIN_TICK_GAP
            if size >= 1 and all(abs(math.log(other / size)) > apart * width for other in ticks):
                ticks.append(size)
        top = round(1.1 * max(CHANCE, *highs), 6)
        return cls(x, (0.0, top), sorted(ticks), [tenth / 10 for tenth in range(int(10 * top) + 1)])


def _half_of_last(sizes: Sequence[float]) -> float:
    """Return the size that the last is compared with, as `nearer.evaluation.curves` does it."""
    return min((size for size in sizes if size != sizes[-1]), key=lambda size: abs(size - sizes[-1] / 2), default=0.0)

"""What a fit has learned and how well: margins, loss, search, calibration, errors, agreement with answers.

Shepard's diagram shows judged dissimilarities against distances of a map. Comparisons judge two distances at a time, so
their diagram has the gap between both on its axis: the logarithm of the ratio, or the difference. Where both are equal
people can only guess, and the share of answers that agree with the map is one half; a map that is right has it rise
from there to one, less what people answer by mistake.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from nearer._common.arrays import FloatArray
from nearer._common.figures import ACCENT, FAINT, INK, PALETTE, SECOND, despine, new_figure
from nearer._common.formatting import decimals, intcomma
from nearer._common.parameters import check_integer, check_level
from nearer.data.comparisons import Comparisons, as_comparisons
from nearer.data.groups import group_indices, with_positive_weight
from nearer.evaluation.curves import CHANCE
from nearer.evaluation.intervals import error_interval
from nearer.model import TwoSidedHinge
from nearer.plotting.keys import framed_axes
from nearer.plotting.papers import Paper

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from nearer.evaluation.metrics import ReliabilityCurve

Gap: TypeAlias = Literal["ratio", "difference"]
_GAP_TITLES: dict[Gap, str] = {
    "ratio": "longer distance / shorter distance",
    "difference": "difference of the distances",
}
_LAST_BIN_QUANTILE = 0.98  # of the answers lie before the last bin ends, which holds the others as well
_COUNTS_HEIGHT, _COUNTS_GAP = 0.22, 0.05  # of the height, for how many answers there are
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

    Examples
    --------
    >>> from nearer.evaluation import reliability_curve
    >>> plot_reliability(reliability_curve([0.8, 0.8, 0.8, 0.8], [1, -1, 1, -1]), "a coin").get_title()
    'a coin  (ECE 0.300)'
    """
    ax = new_figure(4, 4).add_subplot() if ax is None else ax
    color = color or ACCENT
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
    """From where to where a learning curve is drawn, and which sizes are written below it."""

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
        # The size that the last is compared with, as `nearer.evaluation.curves` does it.
        earlier = [size for size in sizes if size != sizes[-1]]
        half = min(earlier, key=lambda size: abs(size - sizes[-1] / 2), default=0.0)
        for size in sorted(sizes, key=lambda size: (size != most, size != half, -size)):
            apart = _MIN_HALF_TICK_GAP if size == half else _MIN_TICK_GAP
            if size >= 1 and all(abs(math.log(other / size)) > apart * width for other in ticks):
                ticks.append(size)
        top = round(1.1 * max(CHANCE, *highs), 6)
        return cls(x, (0.0, top), sorted(ticks), [tenth / 10 for tenth in range(int(10 * top) + 1)])


class Agreement(NamedTuple):
    """Answers in bins by the gap between the two distances on the map.

    Attributes
    ----------
    edges : ndarray, shape (k + 1,)
        Of the bins; the last holds all beyond it.
    gap : ndarray, shape (k,)
        The median gap in a bin.
    n_answers : ndarray, shape (k,)
        Answers, or their weight.
    share, low, high : ndarray, shape (k,)
        The share that agrees with the map, and its interval; NaN in an empty bin.
    expected : ndarray, shape (k,)
        What the model says of the same answers.
    """

    edges: FloatArray
    gap: FloatArray
    n_answers: FloatArray
    share: FloatArray
    low: FloatArray
    high: FloatArray
    expected: FloatArray


def agreement(
    model: Any, comparisons: Any = None, *, by: Gap = "ratio", n_bins: int = 12, level: float = 0.95
) -> Agreement:
    """Return how often answers agree with a map, by how clear-cut they are on it.

    Parameters
    ----------
    model : estimator of nearer.embedding
        Fitted.
    comparisons : Comparisons or rows, optional
        Those that the map was made from, if left out. A share of those is a little higher than of others.
    by : {"ratio", "difference"}
        The gap: the logarithm of the ratio of the two distances, or their difference.
    n_bins : int
    level : float
        Of the intervals, which take rows of one trial as one answer.

    Examples
    --------
    >>> from nearer.datasets import make_gaussian, sample_triplets
    >>> from nearer.embedding import STE
    >>> rows = sample_triplets(make_gaussian(10, 2, random_state=0), 300, random_state=0)
    >>> found = agreement(STE(random_state=0).fit(rows), n_bins=4)
    >>> float(found.n_answers.sum())
    300.0
    """
    if by not in ("ratio", "difference"):
        raise ValueError(f"by={by!r} is not known; choose 'ratio' or 'difference'")
    check_integer("n_bins", n_bins, 1)
    check_level(level)
    if not hasattr(model, "embedding_"):
        raise ValueError("there is no map to judge; fit the model first")
    rows = model.comparisons_ if comparisons is None else comparisons
    judged = with_positive_weight(as_comparisons(rows).reindex(model.objects_))
    gaps = _distance_gaps(model.embedding_, judged, by)
    size, answers = np.abs(gaps), np.ones(len(judged)) if judged.answers is None else judged.answers
    agrees = np.where(gaps == 0, 0.5, np.sign(gaps) == answers)
    chance = np.asarray(model.predict_proba(judged))[:, 1]
    expected = np.where(gaps < 0, 1 - chance, chance)
    finite = size[np.isfinite(size)]
    end = float(np.quantile(finite, _LAST_BIN_QUANTILE)) if len(finite) else 1.0
    edges = np.linspace(0, end if end > 0 else 1.0, n_bins + 1)
    place = np.clip(np.searchsorted(edges, size, side="right") - 1, 0, n_bins - 1)
    weights, units = judged.sample_weight, group_indices(judged)
    columns = np.full((6, n_bins), np.nan)
    columns[1] = np.bincount(place, weights, n_bins)
    for k in np.flatnonzero(columns[1] > 0):
        own = place == k
        wrong = error_interval(1 - agrees[own], weights[own], units[own], level)
        columns[0, k] = min(np.median(size[own]), edges[-1])
        columns[2:5, k] = 1 - wrong.error, 1 - wrong.high, 1 - wrong.low
        columns[5, k] = np.average(expected[own], weights=weights[own])
    return Agreement(edges, *columns)


def plot_shepard(
    model: Any,
    comparisons: Any = None,
    ax: Axes | None = None,
    *,
    by: Gap = "ratio",
    n_bins: int = 12,
    level: float = 0.95,
    paper: Paper | None = None,
) -> Axes:
    """Draw the share of answers that agree with a map against how clear-cut they are on it.

    Dots with intervals are what people said, the line is what the model expects, bars below are how many answers there
    are; the last bin holds all that are still clearer.

    Parameters
    ----------
    model, comparisons, by, n_bins, level
        As of `agreement`.
    ax : Axes, optional
    paper : Paper, optional
        Size in millimeters and font.

    Examples
    --------
    >>> from nearer.datasets import make_gaussian, sample_triplets
    >>> from nearer.embedding import STE
    >>> rows = sample_triplets(make_gaussian(10, 2, random_state=0), 300, random_state=0)
    >>> plot_shepard(STE(random_state=0).fit(rows)).get_ylabel()
    'answers that agree'
    """
    found, sheet = agreement(model, comparisons, by=by, n_bins=n_bins, level=level), paper or Paper()
    with sheet.text():
        size = sheet.font_size
        ax = framed_axes(sheet, 0.8, room=(4 * size, 3.4 * size, 4.0, 2.0)) if ax is None else ax
        seen = found.n_answers > 0
        below = np.minimum(found.share - found.low, found.share), found.high - found.share
        ax.plot(found.gap[seen], found.expected[seen], color=ACCENT, linewidth=1.2, label="model", zorder=2)
        ax.errorbar(
            found.gap[seen], found.share[seen], np.array(below)[:, seen], fmt="o", color=SECOND, markersize=0.45 * size,
            linewidth=0.8, label=f"answers, {100 * level:g}% intervals", zorder=3,
        )  # fmt: skip
        ax.axhline(0.5, color=FAINT, linewidth=0.5, linestyle="--", zorder=0)
        low = min(0.45, float(found.low[seen].min()) - 0.03)
        ax.set(xlim=(0, found.edges[-1] * 1.03), ylim=(low - (1.02 - low) * (_COUNTS_HEIGHT + _COUNTS_GAP), 1.02))
        ax.set_yticks([tick for tick in (0.25, 0.5, 0.75, 1.0) if tick >= low])
        ax.set_ylabel("answers that agree", color=INK)
        ax.set_xlabel(_GAP_TITLES[by], color=INK)
        if by == "ratio":
            _write_ratios(ax, found.edges[-1])
        _draw_counts(ax, found, low, size)
        ax.legend(frameon=False, loc="lower right", bbox_to_anchor=(1, _COUNTS_HEIGHT + 0.1), borderaxespad=0)
        ax.spines[["top", "right"]].set_visible(False)
        ax.spines[["left", "bottom"]].set_color(FAINT)
        ax.tick_params(color=FAINT, labelcolor=INK)
    return ax


def _distance_gaps(points: FloatArray, comparisons: Comparisons, by: Gap) -> FloatArray:
    """Return how much longer the far pair is than the near pair, as written, (m,); ties up to rounding are 0."""
    i, j, l, k = comparisons.quadruplets.T  # noqa: E741
    near, far = (np.linalg.norm(points[a] - points[b], axis=1) for a, b in ((i, j), (l, k)))
    tie = np.abs(far - near) <= 1e-12 * np.maximum(far, near)
    if by == "difference":
        return np.where(tie, 0.0, far - near)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(tie, 0.0, np.log(far) - np.log(near))


def _write_ratios(ax: Axes, end: float) -> None:
    """Write ratios where logarithms of them are drawn."""
    ratios = np.array([1, 1.5, 2, 3, 5, 7, 10, 20, 50, 100, 1000])
    shown = ratios[np.log(ratios) <= end * 1.03]
    kept = [shown[0]]
    for ratio in shown[1:]:
        if np.log(ratio / kept[-1]) > 0.08 * end:
            kept.append(ratio)
    ax.set_xticks(np.log(kept), [f"{ratio:g}" for ratio in kept])


def _draw_counts(ax: Axes, found: Agreement, low: float, size: float) -> None:
    """Draw bars at the foot for how many answers are in each bin, and say how many there are."""
    strip = ax.get_ylim()[0]
    heights = found.n_answers / found.n_answers.max() * (low - strip) * _COUNTS_HEIGHT / (_COUNTS_HEIGHT + _COUNTS_GAP)
    ax.bar(
        found.edges[:-1], heights, np.diff(found.edges), bottom=strip, align="edge", color=FAINT, alpha=0.5,
        edgecolor="white", linewidth=0.5,
    )  # fmt: skip
    ax.annotate(
        f"{intcomma(round(found.n_answers.sum()))} answers", (1, strip + heights.max()), (0, -0.6 * size),
        xycoords=ax.get_yaxis_transform(), textcoords="offset points", ha="right", color=FAINT,
    )  # fmt: skip

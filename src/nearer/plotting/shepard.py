"""How surely people tell distances apart: the share of answers that agree with a map, against how clear-cut they are.

Shepard's diagram shows judged dissimilarities against distances of a map. Comparisons judge two distances at a time, so
their diagram has the gap between both on its axis: the logarithm of the ratio, or the difference. A map sets the longer
distance in the far pair; answers agree with it or do not. Where both are equal people can only guess, and the share is
one half; a map that is right has it rise from there to one, less what people answer by mistake.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from nearer._common.arrays import FloatArray
from nearer._common.figures import ACCENT, FAINT, INK, SECOND
from nearer._common.formatting import intcomma
from nearer._common.parameters import check_integer, check_level
from nearer.data.comparisons import Comparisons, as_comparisons
from nearer.data.groups import group_indices, with_positive_weight
from nearer.evaluation.intervals import error_interval
from nearer.plotting.keys import framed_axes
from nearer.plotting.papers import Paper

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Gap: TypeAlias = Literal["ratio", "difference"]
_LAST_BIN_QUANTILE = 0.98  # of the answers lie before the last bin ends, which holds the others as well
_COUNTS_HEIGHT, _COUNTS_GAP = 0.22, 0.05  # of the height, for how many answers there are


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

    Returns
    -------
    Agreement

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
    judged = with_positive_weight(_comparisons_of(model, comparisons))
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

    Returns
    -------
    Axes

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
        ax.set_xlabel(_X_TITLES[by], color=INK)
        if by == "ratio":
            _write_ratios(ax, found.edges[-1])
        _draw_counts(ax, found, low, size)
        ax.legend(frameon=False, loc="lower right", bbox_to_anchor=(1, _COUNTS_HEIGHT + 0.1), borderaxespad=0)
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
        for side in ("left", "bottom"):
            ax.spines[side].set_color(FAINT)
        ax.tick_params(color=FAINT, labelcolor=INK)
    return ax


_X_TITLES = {"ratio": "longer distance / shorter distance", "difference": "difference of the distances"}


def _comparisons_of(model: Any, comparisons: Any) -> Comparisons:
    if not hasattr(model, "embedding_"):
        raise ValueError("there is no map to judge; fit the model first")
    rows = model.comparisons_ if comparisons is None else comparisons
    return as_comparisons(rows).reindex(model.objects_)


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

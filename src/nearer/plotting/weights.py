"""Weights of the axes of a map, for each person: what they go by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nearer._common.figures import FAINT, INK, PALETTE, new_figure, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_NAMES = 80  # below one another; beyond, they would be too small to read


def plot_weights(model: Any, axis: int | None = None, ax: Axes | None = None, *, level: float = 0.95) -> Axes:
    """Draw what an axis counts for each person, with intervals: people below one another, by their weights.

    With two axes the weight of the one says that of the other, and one panel says all. With more there is one for each
    axis, side by side, people in the order of the first.

    Parameters
    ----------
    model : IndividualDifferences
        Fitted.
    axis : int, optional
        The axis, from 0; left out, all of them.
    ax : Axes, optional
        For one axis.
    level : float
        Of the intervals.

    Returns
    -------
    Axes
        The first of them, if there are several.

    Examples
    --------
    >>> from nearer import Comparisons
    >>> from nearer.embedding import IndividualDifferences
    >>> rng = np.random.default_rng(0)
    >>> rows = [rng.choice(6, 3, replace=False) for _ in range(80)]
    >>> model = IndividualDifferences(spread=0.5, random_state=0)
    >>> ax = plot_weights(model.fit(Comparisons.from_triplets(rows, annotators=["ann", "bob"] * 40)))
    >>> sorted(text.get_text() for text in ax.get_yticklabels())
    ['ann', 'bob']
    """
    if not hasattr(model, "weights_interval_"):
        raise ValueError("there are no weights to draw; fit an IndividualDifferences first")
    n_people, p = model.weights_.shape
    if axis is not None and not 0 <= axis < p:
        raise ValueError(f"axis={axis} is none of the {p} axes, which are 0 to {p - 1}")
    order = np.argsort(model.weights_[:, 0 if axis is None else axis], kind="stable")
    shown = [axis] if axis is not None else [0] if p == 2 or ax is not None else list(range(p))
    if ax is None:
        figure = new_figure(2.4 + 2.6 * len(shown), float(np.clip(0.9 + 0.17 * n_people, 2.5, 14)))
        panels = figure.subplots(1, len(shown), sharey=True, squeeze=False)[0]
    else:
        panels = np.array([ax])
    for panel, number in zip(panels, shown, strict=True):
        _draw(panel, model, number, order, model.intervals(level))
    for panel in panels[1:]:
        panel.tick_params(axis="y", length=0)
    _name_people(panels[0], [str(model.people_[row]) for row in order])
    first: Axes = panels[0]
    return first


def _draw(ax: Axes, model: Any, axis: int, order: Any, intervals: Any) -> None:
    """Draw one panel: a dot and a line for each person, in the colour of their kind."""
    tones = list(PALETTE.values())
    places = np.arange(len(order))
    weights, (low, high) = model.weights_[order, axis], intervals[order, axis].T
    ax.axvline(1, color=FAINT, linewidth=0.8, zorder=0)
    for kind in range(model.n_kinds_):
        of_kind = model.kinds_[order] == kind
        tone = tones[(kind + 1) % len(tones)]
        ax.hlines(places[of_kind], low[of_kind], high[of_kind], color=tone, linewidth=1.2, alpha=0.55)
        ax.plot(weights[of_kind], places[of_kind], "o", color=tone, markersize=4.5, label=f"kind {kind + 1}")
    _scale(ax, float(intervals.min()), float(intervals.max()))
    plain(ax)
    other = f"; axis {2 - axis} has its inverse" if model.weights_.shape[1] == 2 else ""
    same = "" if model.axes_identified_ else "\n(nothing says that people differ)"
    ax.set_xlabel(f"weight of axis {axis + 1}{other}{same}", fontsize=9, color=INK)
    if model.n_kinds_ > 1:
        ax.legend(frameon=False, fontsize=8, labelcolor=INK, loc="lower right")


def _scale(ax: Axes, low: float, high: float) -> None:
    """Set a logarithmic scale with ticks that people read: halves and doubles."""
    reach = float(np.clip(max(high, 1 / low), 2, 1e6))
    ax.set_xscale("log", base=2)
    powers = np.arange(-int(np.floor(np.log2(reach))), int(np.floor(np.log2(reach))) + 1)
    powers = powers[:: max(1, len(powers) // 8)] if len(powers) > 9 else powers
    names = [f"{2**power}" if power >= 0 else f"1/{2**-power}" for power in powers.tolist()]
    ax.set_xticks(2.0 ** powers.astype(float), names)
    ax.minorticks_off()
    ax.set_xlim(1 / (reach * 1.08), reach * 1.08)


def _name_people(ax: Axes, names: list[str]) -> None:
    ax.set_ylim(-0.7, len(names) - 0.3)
    if len(names) > _MOST_NAMES:
        ax.set_yticks([])
        ax.set_ylabel(f"{len(names)} people", fontsize=9, color=INK)
        return
    ax.set_yticks(np.arange(len(names)), [name if len(name) <= 24 else name[:23] + "…" for name in names])
    ax.tick_params(axis="y", length=0, labelsize=float(np.clip(500 / len(names), 5, 9)))

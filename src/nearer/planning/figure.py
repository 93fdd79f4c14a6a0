"""The figure of a plan: error against the number of answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nearer.common.words import digits
from nearer.planning.plans import Plan
from nearer.plotting import FAINT, INK, PALETTE, new_figure, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_plan(plan: Plan, ax: Axes | None = None) -> Axes:
    """Draw the error of simulated studies against their size, and where it meets the target.

    Parameters
    ----------
    plan : Plan
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> from nearer.embedding import TSTE
    >>> from nearer.planning import Design, plan
    >>> quick = TSTE(n_components=2, trace=0.02)
    >>> ax = plot_plan(plan(Design(15, 2), 0.2, estimator=quick, n_replications=2, random_state=0))
    >>> ax.get_xlabel()
    'answers'
    """
    if ax is None:
        ax = new_figure(6.4, 4.2).add_subplot()
    line, band = PALETTE["DMOE"], PALETTE["GNMDS"]
    ax.fill_between(plan.sizes, plan.lows, plan.highs, color=line, alpha=0.15, linewidth=0)
    ax.plot(plan.sizes, plan.errors, color=line, marker="o", markersize=4, linewidth=1.6)
    ax.axvspan(plan.low, plan.high, color=band, alpha=0.12, linewidth=0)
    ax.axvline(plan.n_answers, color=band, linewidth=1.2)
    ax.axhline(plan.target_error, color=band, linewidth=1.2, linestyle="--")
    ax.set_xscale("log")
    ax.set_xlim(plan.sizes[0], plan.sizes[-1])
    ax.set_ylim(0, None)
    ax.set_xticks(plan.sizes, [digits(size) for size in plan.sizes.tolist()], rotation=35, ha="right")
    ax.minorticks_off()
    left: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "fontsize": 9}
    ax.annotate(f"target {plan.target_error:.3f}", (0, plan.target_error), (6, -12), color=INK, **left)
    if plan.floor:
        ax.axhline(plan.floor, color=FAINT, linewidth=1.0, linestyle=":")
        ax.annotate(f"floor {plan.floor:.3f}: wrong answers", (0, plan.floor), (6, -12), color=INK, **left)
    ax.set_xlabel("answers", color=INK)
    ax.set_ylabel("error on new answers" if plan.against == "answers" else "error against the true order", color=INK)
    title = f"{digits(plan.n_answers)} answers ({digits(plan.low)} to {digits(plan.high)})"
    ax.set_title(title, color=INK, fontsize=11, loc="left")
    return plain(ax)

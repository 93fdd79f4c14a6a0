"""How many answers each rule needs to reach an error, against random questions in the same runs; and the figure."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isinf, isnan, nan
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import numpy as np
from sklearn.isotonic import IsotonicRegression

from benchmarks.accuracy.report import markdown
from benchmarks.active.worlds import WORLDS
from benchmarks.records import Record
from nearer._common.arrays import FloatArray
from nearer._common.formatting import pluralize
from nearer.plotting import FAINT, INK, PALETTE, despine, new_figure

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

_LEAST = 1e-4  # an error of none in thousands of triplets
OWN = {"salmon": "salmon, its own map"}


class NeededRow(TypedDict):
    """Answers that a rule needs in a world to reach an error: median and quartiles over runs; inf: more than most.

    ``ratio`` and its quartiles are to random questions in the same runs; ``most`` says at how many answers runs end.
    """

    world: str
    rule: str
    target: float
    runs: int
    reached: int
    median: float
    lower_quartile: float
    upper_quartile: float
    ratio: float
    ratio_lower: float
    ratio_upper: float
    ratio_is_bound: bool
    most: int


class CurveRow(TypedDict):
    """Errors of a rule in a world after so many answers: median and quartiles over runs."""

    world: str
    rule: str
    answers: int
    runs: int
    median: float
    lower_quartile: float
    upper_quartile: float


def answers_needed(answers: Sequence[int], errors: Sequence[float], target: float) -> float:
    """Return after how many answers an error is reached, inf if never; at the least the first checkpoint.

    Examples
    --------
    >>> answers_needed([100, 200, 400], [0.4, 0.2, 0.1], 0.2), answers_needed([100, 200], [0.4, 0.2], 0.1)
    (200.0, inf)
    >>> round(answers_needed([100, 400], [0.4, 0.1], 0.2), 1)
    200.0
    """
    if not answers:
        return inf
    logs = np.log(np.maximum(errors, _LEAST))
    falling = IsotonicRegression(increasing=False).fit_transform(np.arange(len(logs)), logs)
    wanted = np.log(target) + 1e-9
    below = np.flatnonzero(falling <= wanted)
    if not len(below):
        return inf
    place = int(below[0])
    if place == 0:
        return float(answers[0])
    share = (falling[place - 1] - wanted) / (falling[place - 1] - falling[place])
    first, last = np.log(answers[place - 1]), np.log(answers[place])
    return round(float(np.exp(first + share * (last - first))), 6)


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """Return median, lower and upper quartile of values of which some may be infinite; nan of none.

    Examples
    --------
    >>> quartiles([1.0, 3.0, inf]), quartiles([])
    ((3.0, 2.0, inf), (nan, nan, nan))
    """
    if not len(values):
        return nan, nan, nan
    large = 1e15
    found = np.quantile(np.minimum(values, large), [0.5, 0.25, 0.75])
    median, lower, upper = (inf if value > large / 1e6 else float(value) for value in found)
    return median, lower, upper


def needed_rows(records: Sequence[Record]) -> list[NeededRow]:
    """Return the table: worlds, rules and targets in their order."""
    rows = []
    curves = _curves(records)
    for world, rule in dict.fromkeys((world, rule) for world, rule, _ in curves):
        own = {run: curve for (w, r, run), curve in curves.items() if (w, r) == (world, rule)}
        baseline = {run: curves[world, "random", run] for run in own if (world, "random", run) in curves}
        for target in WORLDS[world].targets:
            needed = {run: answers_needed(*curve, target) for run, curve in own.items()}
            random = {run: answers_needed(*curve, target) for run, curve in baseline.items()}
            median, lower, upper = quartiles(list(needed.values()))
            ratios, bound = _ratios(needed, random, WORLDS[world].most)
            ratio, ratio_lower, ratio_upper = quartiles(ratios)
            rows.append(
                NeededRow(
                    world=world, rule=rule, target=target, runs=len(needed),
                    reached=sum(not isinf(value) for value in needed.values()),
                    median=median, lower_quartile=lower, upper_quartile=upper,
                    ratio=ratio, ratio_lower=ratio_lower, ratio_upper=ratio_upper,
                    ratio_is_bound=bound, most=WORLDS[world].most,
                )
            )  # fmt: skip
    return rows


def _ratios(needed: dict[int, float], random: dict[int, float], most: int) -> tuple[list[float], bool]:
    """Return the ratio in each run that has one, and whether some are upper bounds: random needs more than most."""
    ratios, bound = [], False
    for run, baseline in random.items():
        if isinf(baseline) and isinf(needed[run]):
            continue
        bound |= isinf(baseline)
        ratios.append(needed[run] / min(baseline, most))
    return ratios, bound


def curve_rows(records: Sequence[Record]) -> list[CurveRow]:
    """Return medians and quartiles of the errors at the checkpoints.

    A run that ended early, below the lowest target twice, counts with its last error from there on.
    """
    rows = []
    curves = _curves(records)
    for world, rule in dict.fromkeys((world, rule) for world, rule, _ in curves):
        own = [curve for (w, r, _), curve in curves.items() if (w, r) == (world, rule)]
        longest = max((answers for answers, _ in own), key=len)
        for place, answers in enumerate(longest):
            errors: FloatArray = np.array([each[min(place, len(each) - 1)] for _, each in own if each])
            median, lower, upper = (float(value) for value in np.quantile(errors, [0.5, 0.25, 0.75]))
            rows.append(
                CurveRow(
                    world=world, rule=rule, answers=answers, runs=len(errors), median=median, lower_quartile=lower,
                    upper_quartile=upper,
                )
            )  # fmt: skip
    return rows


def _curves(records: Sequence[Record]) -> dict[tuple[str, str, int], tuple[list[int], list[float]]]:
    """Return answers and errors of each world, rule and run; Salmon's own map is a rule of its own."""
    curves = {}
    for found in records:
        world, rule, run = found["world"], found["method"], found["trial"]
        curve = found["curve"]
        if curve:
            curves[world, rule, run] = [each["answers"] for each in curve], [each["error"] for each in curve]
        own = [each for each in curve if each["error_own"] is not None]
        if rule in OWN and own:
            curves[world, OWN[rule], run] = [each["answers"] for each in own], [each["error_own"] for each in own]
    return curves


def needed_text(rows: Sequence[NeededRow], notes: Sequence[str] = ()) -> str:
    """Return the table for people, in Markdown with aligned columns: to read, or to paste into a page."""
    lines = ["Answers needed, median over runs (quartiles), and as a share of those that random questions need.", ""]
    for world in dict.fromkeys(row["world"] for row in rows):
        found = [row for row in rows if row["world"] == world]
        targets = list(dict.fromkeys(row["target"] for row in found))
        head = ["questions", "runs", *(f"error {target:g}" for target in targets)]
        body = [
            [rule, str(next(row["runs"] for row in found if row["rule"] == rule))]
            + [_cell(row) for row in found if row["rule"] == rule]
            for rule in dict.fromkeys(row["rule"] for row in found)
        ]
        lines += [f"### {world}: {WORLDS[world].title}", "", markdown(head, body), ""]
    return "\n".join([*lines, *notes, *([""] if notes else [])])


def _cell(row: NeededRow) -> str:
    def shown(value: float) -> str:
        return f"> {row['most']}" if isinf(value) else f"{value:.0f}"

    if isinf(row["median"]) and isinf(row["lower_quartile"]):
        return shown(inf)
    text = shown(row["median"])
    if row["runs"] > 1:
        text += f" ({shown(row['lower_quartile'])}-{shown(row['upper_quartile'])})"
    if row["rule"] != "random" and not isnan(row["ratio"]) and not isinf(row["ratio"]):
        text += f", {'<' if row['ratio_is_bound'] else ''}{row['ratio']:.2f}"
    return text


_COLUMNS = 3
_COLORS = {
    "random": "#8c8c8c", "landmarks": PALETTE["SOE"], "information": PALETTE["STE"], "salmon": PALETTE["GNMDS"],
    "salmon, its own map": PALETTE["GNMDS"], "ours": PALETTE["DMOE"], "random+features": INK,
    "ours+features": PALETTE["CKL"],
}  # fmt: skip
_LOWEST = 0.004  # of the axis
_TICKS = (0.5, 0.3, 0.2, 0.1, 0.05, 0.03, 0.02, 0.01, 0.005)


def draw_curves(rows: Sequence[CurveRow], path: Path) -> None:
    """Draw all worlds, each in a panel, with one legend."""
    worlds = list(dict.fromkeys(row["world"] for row in rows))
    columns = min(_COLUMNS, len(worlds))
    lines = -(-len(worlds) // columns)
    figure = new_figure(3.5 * columns + 0.2, 2.9 * lines + 0.5)
    panels = figure.subplots(lines, columns, squeeze=False)
    for ax, world in zip(panels.flat, worlds, strict=False):
        shown = [row for row in rows if row["world"] == world]
        plot_curves(shown, ax)
        ax.set_title(f"{world} ({_runs(shown)})\n{WORLDS[world].title}", fontsize=8, color=INK, loc="left")
    for ax in list(panels.flat)[len(worlds) :]:
        ax.set_axis_off()
    for line in range(lines):
        panels[line, 0].set_ylabel("error", fontsize=9, color=INK)
    for place in range(max(len(worlds) - columns, 0), len(worlds)):
        panels.flat[place].set_xlabel("answers", fontsize=9, color=INK)
    named: dict[str, Artist] = {}
    for ax in panels.flat:
        handles, labels = ax.get_legend_handles_labels()
        named |= dict(zip(labels, handles, strict=True))
    rules = [rule for rule in _COLORS if rule in named]
    figure.legend(
        [named[rule] for rule in rules], rules, loc="outside lower center", ncols=len(rules), frameon=False,
        fontsize=9, labelcolor=INK,
    )  # fmt: skip
    figure.savefig(path, dpi=160)


def _runs(rows: Sequence[CurveRow]) -> str:
    """Say how many runs the curves of a world have."""
    fewest, most = min(row["runs"] for row in rows), max(row["runs"] for row in rows)
    return pluralize(most, "run") if fewest == most else f"{fewest} to {most} runs"


def plot_curves(rows: Sequence[CurveRow], ax: Axes) -> Axes:
    """Draw median errors in one world with a band from the lower to the upper quartile, both axes logarithmic."""
    for rule in (name for name in _COLORS if any(row["rule"] == name for row in rows)):
        curve = [row for row in rows if row["rule"] == rule]
        answers = [row["answers"] for row in curve]
        own = "own map" in rule
        ax.plot(
            answers, [row["median"] for row in curve], color=_COLORS[rule], label=rule,
            linewidth=2.2 if rule == "ours" else 1.4, linestyle=(0.0, (3.0, 1.5)) if own else "-",
            zorder=4 if rule == "ours" else 3,
        )  # fmt: skip
        ax.fill_between(
            answers, [row["lower_quartile"] for row in curve], [row["upper_quartile"] for row in curve],
            color=_COLORS[rule], alpha=0.06 if own else 0.14, linewidth=0,
        )  # fmt: skip
    _scale(rows, ax)
    ax.grid(axis="y", color=FAINT, alpha=0.25, linewidth=0.6)
    return despine(ax)


def _scale(rows: Sequence[CurveRow], ax: Axes) -> None:
    """Give both axes round ticks in their own units."""
    most, least = max(row["answers"] for row in rows), min(row["answers"] for row in rows)
    low = max(min(row["median"] for row in rows) * 0.85, _LOWEST)
    high = max(row["upper_quartile"] for row in rows) * 1.1
    ax.set_xscale("log")
    ax.set_yscale("log")
    ticks = [size for size in (50, 100, 200, 500, 1000, 2000, 5000) if least <= size <= most]
    ax.set_xticks(ticks, [f"{size:,}" for size in ticks])
    levels = [level for level in _TICKS if low <= level <= high]
    ax.set_yticks(levels, [f"{level:g}" for level in levels])
    ax.set_ylim(low, high)
    ax.minorticks_off()

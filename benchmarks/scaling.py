"""How the time of a fit grows with the comparisons m and with the objects n.

A power law, seconds = c * size^a, is a line in logarithms; its exponent a is found by least squares there. The number
of iterations varies from size to size, so that seconds an iteration tell the cost of the method more cleanly.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict

import numpy as np

from benchmarks.programs import machine, nearer_program
from benchmarks.records import Record
from benchmarks.session import Session, Task
from benchmarks.speed import check_losses
from benchmarks.triplets import Size, check_size
from nearer.plotting import FAINT, INK, PALETTE, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COMPARISONS = (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000)
OBJECTS = (1000, 2000, 5000, 10_000)
#: What the other number is while one grows.
FIXED = Size(1000, 200_000)

Axis: TypeAlias = Literal["comparisons", "objects"]
_HEAD = "  objects  comparisons  loss    seconds  iterations  ms an iteration    error  peak memory, MB"


class ScalingRow(TypedDict):
    """Medians over the repeats of one loss at one size."""

    grows: Axis
    loss: str
    objects: int
    comparisons: int
    seconds: float
    iterations: float
    seconds_per_iteration: float
    error: float
    peak_memory_mb: float
    warnings: int
    repeats: int


class Exponent(TypedDict):
    """Fitted exponents of one loss, in m or in n; None where fewer than two sizes were measured."""

    grows: Axis
    loss: str
    seconds: float | None
    seconds_per_iteration: float | None


@dataclass(frozen=True)
class Scaling:
    """Fits at growing sizes, checked before they start.

    Parameters
    ----------
    folder : Path
        Gets ``measurements.jsonl``; made if it is not there.
    losses : sequence of str
    comparisons, objects : sequences of int
        Sizes along each axis; `fixed` is the other number.
    fixed : Size
    repeats, dimension, seed : int
    """

    folder: Path
    losses: Sequence[str] = ("GNMDS",)
    comparisons: Sequence[int] = COMPARISONS
    objects: Sequence[int] = OBJECTS
    fixed: Size = FIXED
    repeats: int = 3
    dimension: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        check_losses(self.losses)
        for _, size in self.sizes():
            check_size(size)

    @property
    def path(self) -> Path:
        """The file of records."""
        return self.folder / "measurements.jsonl"

    def sizes(self) -> list[tuple[Axis, Size]]:
        """Return all sizes, by axis, growing."""
        by_comparisons = [Size(self.fixed.objects, number) for number in sorted(set(self.comparisons))]
        by_objects = [Size(number, self.fixed.comparisons) for number in sorted(set(self.objects))]
        return [("comparisons", size) for size in by_comparisons] + [("objects", size) for size in by_objects]

    def execute(self) -> list[ScalingRow]:
        """Measure what is left to measure and return the table, by axis, size and loss.

        Raises
        ------
        Interrupted
            On Ctrl-C. What was finished is on file.
        """
        program = nearer_program()
        rows = []
        with Session(self.path, self.repeats * len(self.losses) * len(self.sizes()), "scaling") as session:
            for axis, size in self.sizes():
                for loss in self.losses:
                    tasks = [Task(loss, size, self.dimension, self.seed, repeat) for repeat in range(self.repeats)]
                    rows.append(_row(axis, loss, size, [session.run(task, program) for task in tasks]))
        return rows


def _row(axis: Axis, loss: str, size: Size, records: Sequence[Record]) -> ScalingRow:
    failures = [record["failure"] for record in records if "failure" in record]
    if failures:
        raise ValueError(f"{failures[0]} (size {size}); finished measurements are kept")
    return ScalingRow(
        grows=axis,
        loss=loss,
        objects=size.objects,
        comparisons=size.comparisons,
        seconds=median(record["seconds"] for record in records),
        iterations=median(record["n_iter"] for record in records),
        seconds_per_iteration=median(record["seconds"] / max(record["n_iter"], 1) for record in records),
        error=median(record["error"] for record in records),
        peak_memory_mb=median(record["peak_memory"] for record in records) / 1e6,
        warnings=sum(len(record["warnings"]) for record in records),
        repeats=len(records),
    )


def exponent(sizes: Iterable[float], values: Iterable[float]) -> float | None:
    """Return the exponent a of values = c * sizes^a by least squares in logarithms, None for fewer than two sizes.

    Examples
    --------
    >>> round(exponent([1, 2, 4], [3.0, 12.0, 48.0]), 6)
    2.0
    """
    x, y = np.log(list(sizes)), np.log(list(values))
    if len(np.unique(x)) < 2:
        return None
    centred = x - x.mean()
    return float(centred @ y / (centred @ centred))


def exponents(rows: Sequence[ScalingRow]) -> list[Exponent]:
    """Fit a power law to each loss along each axis."""
    found = []
    for axis, loss in dict.fromkeys((row["grows"], row["loss"]) for row in rows):
        line = [row for row in rows if (row["grows"], row["loss"]) == (axis, loss)]
        sizes = [row[axis] for row in line]
        found.append(
            Exponent(
                grows=axis,
                loss=loss,
                seconds=exponent(sizes, (row["seconds"] for row in line)),
                seconds_per_iteration=exponent(sizes, (row["seconds_per_iteration"] for row in line)),
            )
        )
    return found


def scaling_text(scaling: Scaling, rows: Sequence[ScalingRow]) -> str:
    """Return the tables for people: sizes, then exponents."""
    lines = []
    for axis in dict.fromkeys(row["grows"] for row in rows):
        lines += [f"growing number of {axis}", _HEAD]
        lines += [_line(row) for row in rows if row["grows"] == axis] + [""]
    lines += ["exponents a of seconds ~ size^a", "  grows        loss    seconds  seconds an iteration"]
    for found in exponents(rows):
        figures = [f"{'-' if a is None else f'{a:.2f}':>9}" for a in (found["seconds"], found["seconds_per_iteration"])]
        lines.append(f"  {found['grows']:<13}{found['loss']:<6}{figures[0]}{figures[1]:>22}")
    lines += [
        "",
        f"{machine()}; {scaling.dimension}-D; noise-free triplets of Gaussian points; seed {scaling.seed}.",
        f"Each fit in a new process, after an untimed fit of tiny data; medians of {scaling.repeats}. "
        "Error: held-out triplets, ties counted half.",
    ]
    return "\n".join(lines) + "\n"


def _line(row: ScalingRow) -> str:
    return (
        f"{row['objects']:9d}{row['comparisons']:13d}  {row['loss']:<6}{row['seconds']:9.2f}{row['iterations']:12.0f}"
        f"{1e3 * row['seconds_per_iteration']:17.2f}{row['error']:9.4f}{row['peak_memory_mb']:17.0f}"
    )


def plot_scaling(rows: Sequence[ScalingRow], axis: Axis, ax: Axes | None = None) -> Axes:
    """Draw the seconds of a fit along one axis: a dot for each size, a line for each fitted power law.

    Examples
    --------
    >>> row = ScalingRow(grows="objects", loss="STE", objects=10, comparisons=50, seconds=1.0, iterations=5,
    ...           seconds_per_iteration=0.2, error=0.1, peak_memory_mb=1.0, warnings=0, repeats=1)
    >>> plot_scaling([row], "objects").get_xlabel()
    'objects'
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax = new_figure(5, 4).add_subplot() if ax is None else ax
    for loss in dict.fromkeys(row["loss"] for row in rows):
        line = [row for row in rows if (row["grows"], row["loss"]) == (axis, loss)]
        sizes, seconds = np.array([[row[axis], row["seconds"]] for row in line]).reshape(-1, 2).T
        color = PALETTE.get(loss, INK)
        slope = exponent(sizes, seconds)
        ax.plot(sizes, seconds, "o", color=color, markersize=5, label=loss if slope is None else f"{loss}: {slope:.2f}")
        if slope is not None:
            # The line of least squares goes through the means of the logarithms.
            scale = np.exp(np.mean(np.log(seconds) - slope * np.log(sizes)))
            ax.plot(sizes, scale * sizes**slope, "-", color=color, linewidth=1.2, alpha=0.6)
    ax.set(xscale="log", yscale="log", xlabel=axis, ylabel="seconds of a fit")
    ax.legend(frameon=False, fontsize=8, title="exponent", title_fontsize=8)
    for axis_of_ticks in (ax.xaxis, ax.yaxis):
        low, high = axis_of_ticks.get_view_interval()
        axis_of_ticks.set_major_locator(LogLocator(subs=(1.0,) if high > 30 * low else (1.0, 2.0, 5.0)))
        axis_of_ticks.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
        axis_of_ticks.set_minor_formatter(NullFormatter())
    for side, spine in ax.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(FAINT)
    ax.tick_params(which="both", color=FAINT, labelcolor=INK, labelsize=9)
    return ax


def draw_scaling(rows: Sequence[ScalingRow], path: Path) -> None:
    """Write a figure with one panel for each axis."""
    axes = list(dict.fromkeys(row["grows"] for row in rows))
    figure = new_figure(4.6 * len(axes) + 0.4, 3.8)
    panels = figure.subplots(1, len(axes), squeeze=False)[0]
    for panel, axis in zip(panels, axes, strict=True):
        plot_scaling(rows, axis, ax=panel)
        other: Axis = "objects" if axis == "comparisons" else "comparisons"
        fixed = next(row[other] for row in rows if row["grows"] == axis)
        panel.set_title(f"{fixed:,} {other}", fontsize=10)
    figure.savefig(path, dpi=200)

"""What all comparisons share: the file of their values, estimates drawn with intervals, p-values of several tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray
from nearer._common.figures import FAINT, INK, PALETTE, despine, new_figure
from nearer._common.results import Result
from nearer.data.comparisons import Comparisons, as_comparisons
from nearer.data.labels import factorize
from nearer.data.streamed import Judgments
from nearer.io.answers import Answers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Fewer annotators than this say nothing about other people.
MIN_ANNOTATORS = 8
_MAX_NAME_LENGTH = 28  # characters, in a figure


class Comparison(Result):
    """Base of the results of comparisons: values, tables and figures go into one folder."""

    json_name: ClassVar[str] = "comparison.json"
    #: What was compared, for programs that read the file.
    kind: ClassVar[str]
    #: The name of the file of `plot`; empty where there is none, or several.
    figure_name: ClassVar[str] = ""

    def _derived(self) -> Mapping[str, Any]:
        return {"kind": self.kind}

    def figures(self) -> dict[str, Callable[[], Axes]]:
        """Return what draws each figure, by the name of its file without an ending."""
        return {self.figure_name: self.plot} if self.figure_name else {}


class Estimate(NamedTuple):
    """A row of a figure: a name, an estimate, and its intervals, each drawn as a line of its own."""

    name: str
    value: float
    intervals: tuple[tuple[float, float], ...]


def plot_estimates(
    estimates: Sequence[Estimate],
    labels: Sequence[str],
    xlabel: str,
    ax: Axes | None = None,
    band: tuple[float, float, str] | None = None,
) -> Axes:
    """Draw estimates as dots with their intervals, the first at the top, and return the Axes.

    ``labels`` name the intervals in the legend; ``band`` is a range to shade, and its name.
    """
    if ax is None:
        ax = new_figure(6, 1.5 + 0.45 * len(estimates)).add_subplot()
    ax.axvline(0, color=INK, linewidth=0.8)
    if band is not None:
        ax.axvspan(*band[:2], color=FAINT, alpha=0.3, linewidth=0, zorder=0, label=band[2])
    colors = (PALETTE["GNMDS"], PALETTE["DMOE"])
    for height, row in enumerate(reversed(estimates)):
        count = len(row.intervals)
        for number, ((low, high), color) in enumerate(zip(row.intervals, colors, strict=False)):
            at = height + 0.22 * ((count - 1) / 2 - number)
            label = labels[number] if height == 0 else None
            ax.plot([low, high], [at, at], color=color, linewidth=2.4, solid_capstyle="butt", label=label)
            ax.plot(row.value, at, "o", color=color, markersize=6)
    longest = _MAX_NAME_LENGTH
    names = [each.name if len(each.name) <= longest else f"{each.name[: longest - 3]}..." for each in estimates]
    ax.set_yticks(range(len(names)), names[::-1])
    ax.set_ylim(-0.6, len(names) - 0.4)
    ax.grid(axis="x", color=FAINT, alpha=0.25, linewidth=0.6)
    ax.locator_params(axis="x", nbins=7)
    ax.set_axisbelow(True)
    despine(ax)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel(xlabel)
    ax.legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(0, 1), ncols=3, borderaxespad=0.2)
    return ax


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number by Holm's method (1979), in their order.

    Sorted, the smallest is multiplied by their number, the next by one less, and so on; none becomes smaller than one
    before it.
    """
    given = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(given, kind="stable")
    stepped = np.maximum.accumulate(given[order] * np.arange(len(given), 0, -1)) if len(given) else given
    corrected = np.empty(len(given))
    corrected[order] = np.minimum(stepped, 1.0)
    return corrected.tolist()


def is_significant(p_values: FloatArray | None, n: int, alpha: float) -> NDArray[np.bool_]:
    """Return which of n p-values are at most alpha; none where they are not known."""
    return np.zeros(n, dtype=bool) if p_values is None else p_values <= alpha


def p_text(p_value: float | None) -> str:
    """Write a p-value in two digits; nothing where there is none."""
    return "" if p_value is None else f"{p_value:.2g}"


def comparisons_of(answers: Any) -> Comparisons:
    """Return the comparisons of answers that were read from a file, or of whatever stands for comparisons."""
    return answers.comparisons if isinstance(answers, Answers) else as_comparisons(answers)


def count_annotators(comparisons: Judgments) -> int:
    """Return how many people answered; 0 where that is not known."""
    annotators = comparisons.annotators if isinstance(comparisons, Comparisons) else None
    return 0 if annotators is None else len(factorize(annotators)[0])

"""The axes of a learning curve, the same on the page and in the figure: logarithms of sizes, errors from zero."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from nearer.evaluation.curves import CHANCE

X_TITLE, Y_TITLE = "comparisons learned from (logarithmic)", "held-out error"
GUESSING, BEST_POSSIBLE = "guessing", "noise ceiling"
_APART = 0.13  # of the axis: labels that are nearer to each other may touch
_LEAST_APART = 0.1  # and those of four digits, nearer than this, do


@dataclass(frozen=True)
class CurveScale:
    """From where to where a learning curve is drawn, and which sizes are written below it.

    Attributes
    ----------
    x : (float, float)
        In comparisons.
    y : (float, float)
    ticks : list of float
        Sizes that were measured, as many as there is room for: first the last and that of about half as many, which
        words beside the curve compare.
    heights : list of float
        Errors that are written beside it.

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
        for size in sorted(sizes, key=lambda size: (size != most, size != _half(sizes), -size)):
            apart = _LEAST_APART if size == _half(sizes) else _APART
            if size >= 1 and all(abs(math.log(other / size)) > apart * width for other in ticks):
                ticks.append(size)
        top = round(1.1 * max(CHANCE, *highs), 6)
        return cls(x, (0.0, top), sorted(ticks), [tenth / 10 for tenth in range(int(10 * top) + 1)])


def _half(sizes: Sequence[float]) -> float:
    """Return the size that the last is compared with, as `nearer.evaluation.curves` does it."""
    return min((size for size in sizes if size != sizes[-1]), key=lambda size: abs(size - sizes[-1] / 2), default=0.0)

"""The axes of a learning curve, the same on the page and in the figure: logarithms of sizes, errors from zero."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from nearer._trend import CHANCE

X_TITLE, Y_TITLE = "comparisons learned from", "held-out error"
GUESSING, BEST_POSSIBLE = "guessing", "best possible"
_APART = 0.13  # of the axis: labels that are nearer to each other touch


@dataclass(frozen=True)
class CurveScale:
    """From where to where a learning curve is drawn, and which sizes are written below it.

    Attributes
    ----------
    x : (float, float)
        In comparisons.
    y : (float, float)
    ticks : list of float
        Sizes that were measured, as many as there is room for, the last always among them.
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
        for size in sorted(sizes, reverse=True):
            if size >= 1 and (not ticks or math.log(ticks[-1] / size) > _APART * width):
                ticks.append(size)
        top = round(1.1 * max(CHANCE, *highs), 6)
        return cls(x, (0.0, top), ticks[::-1], [tenth / 10 for tenth in range(int(10 * top) + 1)])

"""Whether more answers would help: the one rule for it, wherever it is asked.

A learning curve has held-out errors e_1, ..., e_k, each with an interval, for growing numbers of comparisons. Its last
error is compared with that of about half as many,

    fall = e_half - e_k,        standard error of e_k = (high - low) / (2 z),    z of the interval's level.

The error still *falls* if the fall is more than a twentieth of the error and more than its standard error: both are
judged by the same answers, so that their difference is surer than either. It has *settled* if the fall is less than a
twentieth of the error or half of its standard error, the interval is narrow enough to know, and the answers are not so
few that the curve may be flat because it has not begun to fall; or if it has come down to the noise ceiling. An error
whose interval holds one half is that of *guessing*, unless it is so wide that nothing is known. That speaks of
predictions. Distances, which `nearer.reproducibility` is about, may need more answers than predictions do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, TypeAlias

from nearer._words import counted, digits, percent

Kind: TypeAlias = Literal["guessing", "unknown", "falls", "settled"]

CHANCE = 0.5
_FALL = 0.05  # of the error, from half of the answers to all
_WIDE = 0.1  # an interval beyond this does not tell whether the error still falls
_NEAR_CHANCE = 0.4  # an error known to be above this is as good as a coin's


@dataclass(frozen=True)
class Trend:
    """Where a learning curve leads.

    Attributes
    ----------
    kind : {"guessing", "unknown", "falls", "settled"}
    sentence : str
        The figures, and whether more answers would help.
    """

    kind: Kind
    sentence: str


def trend(
    sizes: Sequence[float],
    errors: Sequence[float],
    lows: Sequence[float],
    highs: Sequence[float],
    level: float = 0.95,
    *,
    few: bool = False,
    best: float | None = None,
) -> Trend:
    """Return where a learning curve leads; sizes ascend, and there is at least one.

    Parameters
    ----------
    sizes, errors, lows, highs : sequences of float
    level : float
        Of the intervals.
    few : bool
        Whether the answers are so few that a flat curve may be one that has not begun to fall.
    best : float, optional
        The noise ceiling, where it is known.

    Examples
    --------
    >>> trend([400, 800], [0.2, 0.15], [0.18, 0.13], [0.22, 0.17])
    Trend(kind='falls', sentence='From 400 to 800 comparisons the error fell from 20.0% to 15.0%: more answers would \
still make predictions better.')
    >>> trend([400, 800], [0.152, 0.15], [0.13, 0.13], [0.17, 0.17]).kind
    'settled'
    """
    last, low, high = errors[-1], lows[-1], highs[-1]
    within = f"{percent(low)} to {percent(high)}"
    if high >= CHANCE and low > _NEAR_CHANCE:
        return Trend(
            "guessing",
            f"With {_comparisons(sizes[-1])} the error is no better than a coin's ({within}): there are too few "
            "answers, or no order in them.",
        )
    half = min(range(len(sizes) - 1), key=lambda place: abs(sizes[place] - sizes[-1] / 2), default=None)
    standard_error = (high - low) / (2 * NormalDist().inv_cdf(0.5 + level / 2))
    falls = half is not None and errors[half] - last > max(_FALL * last, standard_error)
    if half is None or high >= CHANCE or (high - low > _WIDE and not falls):
        return Trend(
            "unknown",
            f"With {_comparisons(sizes[-1])} the error is somewhere from {within}, which is too wide to tell whether "
            "more answers would make predictions better: they are too few to know.",
        )
    if few and not falls:
        return Trend(
            "unknown",
            f"With {_comparisons(sizes[-1])} the error is {_short(last)} and hardly falls, but so few answers leave a "
            "map mostly to chance: it may fall once there are more.",
        )
    way = f"From {digits(round(sizes[half]))} to {_comparisons(sizes[-1])} the error"
    fell = f"{way} fell from {_short(errors[half])} to {_short(last)}"
    if falls and best is not None and last - best <= _FALL * last:
        return Trend(
            "settled",
            f"{fell}, which is as good as the answers allow ({_short(best)}): more of the same kind would hardly make "
            "predictions better.",
        )
    if falls:
        return Trend("falls", f"{fell}: more answers would still make predictions better.")
    if errors[half] - last > max(_FALL * last, standard_error / 2):
        return Trend("unknown", f"{fell}, which may be chance: whether more answers would help cannot be told yet.")
    return Trend(
        "settled",
        f"{way} went from {_short(errors[half])} to {_short(last)}: it has settled, and more answers of the same kind "
        "would hardly make predictions better.",
    )


def _short(error: float) -> str:
    return f"{100 * error:.1f}%"


def _comparisons(size: float) -> str:
    return counted(round(size), "comparison")

"""Whether more answers would help: the one rule for it, wherever it is asked.

A learning curve has held-out errors e_1, ..., e_k, each with an interval, for growing numbers of comparisons. Its last
error is compared with that of about half as many,

    fall = e_half - e_k,

with the standard error s of that difference: both are judged by the same answers, so that it is surer than either.
Where s was not kept, that of e_k, (high - low) / (2 z) with the z of the interval's level, stands in.

The error still *falls* if the fall is more than a twentieth of the error and more than 1.64 s. It has *settled* if the
fall is less than a twentieth of the error or half of s, and with 1.64 s more not above a tenth of it, the interval is
narrow enough to know, and the answers are not so few that the curve may be flat because it has not begun to fall. It
counts as settled as well once it lies within an interval of the noise ceiling that is informative
(`nearer.evaluation.ceiling`) and whose lower end is near: what is left to gain is then small, whether the error
falls or not. An error whose interval holds one half is that of *guessing*, unless it is so wide that nothing is known.
That speaks of predictions. Distances, which `nearer.reproducibility` is about, may need more answers than predictions
do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, TypeAlias

from nearer.common.words import counted, digits, percent
from nearer.evaluation.ceiling import SURELY_CHANCE, Best

Kind: TypeAlias = Literal["guessing", "unknown", "falls", "settled"]

CHANCE = 0.5
_FALL = 0.05  # of the error, from half of the answers to all
_WIDE = 0.1  # an interval beyond this does not tell whether the error still falls
_SURE = 1.64  # standard errors: a fall is taken for one by chance once in twenty
_SMALL = 0.04  # of all comparisons: what is left to gain at most, where it is no longer worth the asking


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
    best: Best | None = None,
    falls_by: Sequence[float | None] | None = None,
    unit: str = "answers",
) -> Trend:
    """Return where a learning curve leads; sizes ascend, and there is at least one.

    Parameters
    ----------
    sizes, errors, lows, highs : sequences of float
    level : float
        Of the intervals.
    few : bool
        Whether the answers are so few that a flat curve may be one that has not begun to fall.
    best : Best, optional
        The noise ceiling, where it is known.
    falls_by : sequence of float or None, optional
        Standard errors of the difference of each error from the last.
    unit : str
        What there may be too few of: answers, or people where they are held out whole.

    Examples
    --------
    >>> trend([400, 800], [0.2, 0.15], [0.18, 0.13], [0.22, 0.17])
    Trend(kind='falls', sentence='From 400 to 800 comparisons the error fell from 20.0% to 15.0%: more answers would \
still make predictions better.')
    >>> trend([400, 800], [0.152, 0.15], [0.13, 0.13], [0.17, 0.17]).kind
    'settled'
    """
    last, low, high = errors[-1], lows[-1], highs[-1]
    within, all_of = f"{percent(low)} to {percent(high)}", _comparisons(sizes[-1])
    if high >= CHANCE and low > SURELY_CHANCE:
        return Trend(
            "guessing",
            f"With {all_of} the error is no better than that of guessing ({within}): there are too few {unit}, or no "
            "order in the answers.",
        )
    half = min(range(len(sizes) - 1), key=lambda place: abs(sizes[place] - sizes[-1] / 2), default=None)
    fall, paired = 0.0 if half is None else errors[half] - last, None
    if half is not None and falls_by is not None:
        paired = falls_by[half]
    standard_error = (high - low) / (2 * NormalDist().inv_cdf(0.5 + level / 2)) if paired is None else paired
    falls = fall > max(_FALL * last, _SURE * standard_error)
    if half is None or high >= CHANCE or (high - low > _WIDE and not falls):
        return Trend(
            "unknown",
            f"With {all_of} the error is somewhere from {within}, which is too wide to tell whether more answers would "
            f"make predictions better: there are too few {unit} to know.",
        )
    if few and not falls:
        return Trend(
            "unknown",
            f"With {all_of} the error is {_short(last)} and hardly falls, but so few answers leave a map mostly to "
            "chance: it may fall once there are more.",
        )
    verb = "fell" if fall > 0 else "went"
    fell = (
        f"From {digits(round(sizes[half]))} to {all_of} the error {verb} from {_short(errors[half])} to {_short(last)}"
    )
    if best is not None and high - low <= _WIDE and _little_left(last, best):
        left = f", by {_short(last - best.low)} of comparisons at most" if last > best.low else ""
        return Trend(
            "settled",
            f"{fell}, and the noise ceiling is {best.within}: more answers of the same kind would hardly make "
            f"predictions better{left}.",
        )
    if falls:
        return Trend("falls", f"{fell}: more answers would still make predictions better.")
    open_yet = fall > max(_FALL * last, standard_error / 2)
    if open_yet or (paired is not None and fall + _SURE * paired > 2 * _FALL * last):
        return Trend("unknown", f"{fell}, which may be chance: whether more answers would help cannot be told yet.")
    return Trend(
        "settled",
        f"{fell}: it has settled, and more answers of the same kind would hardly make predictions better.",
    )


def _little_left(error: float, best: Best) -> bool:
    """Whether an error is within what is known of the best possible, and that is known well."""
    return not best.vague and error <= best.high and error - best.low <= _SMALL


def _short(error: float) -> str:
    return f"{100 * error:.1f}%"


def _comparisons(size: float) -> str:
    return counted(round(size), "comparison")

"""Learning curves: how the held-out error falls with the number of answers, and whether more answers would help.

The last error is compared with that of about half as many comparisons, by the standard error of their difference: it
falls, has settled, is that of guessing, or nothing is known (the page on mathematics has the rule). All this is about
predictions; distances may need more answers than predictions do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearer._common.arrays import FloatArray
from nearer._common.formatting import decimals, format_interval, intcomma, percent, pluralize
from nearer._common.parameters import check_integer, check_level
from nearer._common.randomness import RandomState, stream
from nearer._common.results import Result
from nearer.data.comparisons import Comparisons
from nearer.data.groups import Grouping, group_indices
from nearer.evaluation.ceiling import AT_CHANCE, NoiseCeiling
from nearer.evaluation.held_out import Evaluable, Task, evaluate_all, read_weighted
from nearer.evaluation.intervals import clustered_variance, error_interval

Kind: TypeAlias = Literal["guessing", "unknown", "falls", "settled"]

CHANCE = 0.5
TEST_SHARE = 0.2
N_SIZES = 6
_MIN_FALL = 0.05  # of the error, from half of the answers to all
_MAX_WIDTH = 0.1  # of an interval that shows whether the error still falls
_Z_95 = 1.64  # one-sided
_MAX_GAIN_LEFT = 0.04  # of all comparisons, where it is no longer worth asking more


@dataclass(frozen=True, eq=False)
class LearningCurve(Result):
    """Held-out error for each number of training comparisons.

    Attributes
    ----------
    sizes : ndarray of int, shape (k,)
        Training comparisons, on average over the repeats: trials stay whole.
    errors, lows, highs : ndarray, shape (k,)
        Error of what `predict` uses, with its confidence interval.
    fall_errors : ndarray, shape (k,), or None
        Standard error of the difference of each error from the last, which is of the same answers.

    Examples
    --------
    >>> print(LearningCurve(np.array([50, 200]), np.array([0.3, 0.2]), np.array([0.25, 0.18]), np.array([0.35, 0.22])))
    comparisons   error   interval
             50   0.300   0.250 to 0.350
            200   0.200   0.180 to 0.220
    """

    sizes: NDArray[np.int64]
    errors: FloatArray
    lows: FloatArray
    highs: FloatArray
    fall_errors: FloatArray | None = None

    def summary(self) -> str:
        """Return a table of errors as text."""
        rows = zip(self.sizes, self.errors, self.lows, self.highs, strict=True)
        lines = [f"{size:>11}   {decimals(error)}   {format_interval(low, high)}" for size, error, low, high in rows]
        return "\n".join(["comparisons   error   interval", *lines])


def learning_curve(
    estimator: Evaluable,
    comparisons: Any,
    sizes: ArrayLike | None = None,
    *,
    n_sizes: int = N_SIZES,
    n_repeats: int = 5,
    by: Grouping = "trials",
    level: float = 0.95,
    n_jobs: int | None = None,
    random_state: RandomState = None,
) -> LearningCurve:
    """Return the held-out error against the number of training comparisons.

    Each repeat draws a test part of a fifth of the comparisons and an order of the rest, in whole trials; maps of all
    sizes are tested on that part, and trained on the first so many of that order, so that larger training parts contain
    the smaller ones. The interval is for the expected error at a size: it includes the variance between repeats.

    Parameters
    ----------
    estimator : estimator of `nearer.embedding`
        Copies of it are fitted.
    comparisons : Comparisons or array-like, shape (m, 3) or (m, 4)
    sizes : array-like of int, optional
        Numbers of training comparisons, rounded up to whole trials. Left out: all but the test part,
        half of that, and more below, evenly spaced in their logarithm down to one for each object.
    n_sizes : int >= 2
        How many, where sizes are left out. Errors at the largest two are the same for any number.
    n_repeats : int >= 1
    by : {"trials", "annotators", "questions"}
        What is kept whole, as for `WholeKFold`.
    level, n_jobs, random_state
        As for `held_out_error`.

    Examples
    --------
    >>> from nearer.datasets import make_gaussian, sample_triplets
    >>> from nearer.embedding import STE
    >>> judgments = sample_triplets(make_gaussian(15, 2, random_state=0), 600, random_state=0)
    >>> curve = learning_curve(STE(2, random_state=0), judgments, [30, 400], n_repeats=2, random_state=0)
    >>> curve.sizes.tolist(), bool(curve.errors[0] > curve.errors[1])
    ([30, 400], True)
    """
    check_level(level)
    check_integer("n_repeats", n_repeats, 1)
    check_integer("n_sizes", n_sizes, 2)
    judged = read_weighted(comparisons)
    units = group_indices(judged, by)
    rng = stream(random_state, "split")
    orders = [_order(units, rng) for _ in range(n_repeats)]
    wanted = _checked_sizes(sizes, judged, min(len(rows) for rows, _, _ in orders), n_sizes)
    ends = np.array([whole[np.searchsorted(whole, wanted)] for _, whole, _ in orders])
    tests = [test for _, _, test in orders]
    tasks = [
        Task(estimator, np.sort(rows[:end]), test)
        for (rows, _, test), of_repeat in zip(orders, ends, strict=True)
        for end in of_repeat
    ]
    found = evaluate_all(tasks, judged, n_jobs, "learning curve")
    tested, repeats = np.concatenate(tests), np.repeat(np.arange(n_repeats), [len(test) for test in tests])
    weights, clusters = judged.sample_weight[tested], units[tested]
    wrong = [np.concatenate([each.predictions for each in found[size :: len(wanted)]]) for size in range(len(wanted))]
    errors, lows, highs = np.array([error_interval(each, weights, clusters, level, repeats) for each in wrong]).T
    fall_errors = np.array([_standard_error(each - wrong[-1], weights, clusters, repeats) for each in wrong])
    return LearningCurve(np.rint(ends.mean(axis=0)).astype(np.int64), errors, lows, highs, fall_errors)


def _standard_error(
    differences: FloatArray, weights: FloatArray, clusters: NDArray[np.intp], repeats: NDArray[np.intp]
) -> float:
    """Return the standard error of the mean difference of two errors, between answers and between repeats."""
    variance = clustered_variance(differences, weights, clusters)
    between = clustered_variance(differences, weights, repeats) if repeats[-1] > 0 else 0.0
    return float(np.sqrt(variance + between))


def _order(
    units: NDArray[np.intp], rng: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.int64], NDArray[np.intp]]:
    """Return the training rows of a repeat in their order, where whole units end among them, and the test rows."""
    counts = np.bincount(units)
    if len(counts) < 2:
        raise ValueError("all comparisons belong to one trial, which stays whole; nothing is left to test on")
    order = rng.permutation(len(counts))
    from_end = np.cumsum(counts[order[::-1]])
    n_test = min(int(np.searchsorted(from_end, TEST_SHARE * len(units))) + 1, len(counts) - 1)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    rows = np.argsort(place[units], kind="stable")
    n_train = len(rows) - int(from_end[n_test - 1])
    return rows[:n_train], np.cumsum(counts[order[: len(order) - n_test]]), np.sort(rows[n_train:])


def _checked_sizes(sizes: ArrayLike | None, comparisons: Comparisons, most: int, n_sizes: int) -> NDArray[np.int64]:
    if sizes is None:
        half = max(most // 2, 1)
        steps = np.geomspace(half, min(comparisons.n_objects, half), n_sizes - 1)
        return np.unique(np.append(np.rint(steps).astype(np.int64), most))
    wanted = checked_counts("sizes", sizes)
    if wanted.max() > most:
        raise ValueError(
            f"a training part of {wanted.max()} comparisons was asked for, but {most} of {len(comparisons)} are left "
            "outside the test part; ask for fewer, or leave sizes out"
        )
    return wanted


def checked_counts(name: str, values: ArrayLike) -> NDArray[np.int64]:
    """Return a list of integers >= 1, each once, in order."""
    counts = np.atleast_1d(np.asarray(values))
    if counts.ndim != 1 or counts.size == 0 or counts.dtype.kind not in "iu" or counts.min() < 1:
        raise ValueError(f"{name} must be integers >= 1, got {values!r}")
    return np.unique(counts).astype(np.int64)


@dataclass(frozen=True)
class Trend(Result):
    """Whether the error of a learning curve still falls, in a word and in a sentence with figures."""

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
    ceiling: NoiseCeiling | None = None,
    fall_errors: Sequence[float | None] | None = None,
    unit: str = "answers",
) -> Trend:
    """Return whether the error of a learning curve still falls; sizes ascend, and there is at least one.

    ``few``: a flat curve may not have begun to fall. ``fall_errors``: standard errors of the difference of each error
    from the last. ``unit``: what there may be too few of; people where they are held out whole.

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
    if high >= CHANCE and low > AT_CHANCE:
        return Trend(
            "guessing",
            f"With {all_of} the error is no better than that of guessing ({within}): there are too few {unit}, or no "
            "order in the answers.",
        )
    half = min(range(len(sizes) - 1), key=lambda place: abs(sizes[place] - sizes[-1] / 2), default=None)
    fall, paired = 0.0 if half is None else errors[half] - last, None
    if half is not None and fall_errors is not None:
        paired = fall_errors[half]
    standard_error = (high - low) / (2 * NormalDist().inv_cdf(0.5 + level / 2)) if paired is None else paired
    falls = fall > max(_MIN_FALL * last, _Z_95 * standard_error)
    if half is None or high >= CHANCE or (high - low > _MAX_WIDTH and not falls):
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
        f"From {intcomma(round(sizes[half]))} to {all_of} the error {verb} from {_short(errors[half])} to "
        f"{_short(last)}"
    )
    if ceiling is not None and high - low <= _MAX_WIDTH and _is_near_ceiling(last, ceiling):
        left = f", by {_short(last - ceiling.low)} of comparisons at most" if last > ceiling.low else ""
        return Trend(
            "settled",
            f"{fell}, and the noise ceiling is {ceiling.interval_text}: more answers of the same kind would hardly "
            f"make predictions better{left}.",
        )
    if falls:
        return Trend("falls", f"{fell}: more answers would still make predictions better.")
    open_yet = fall > max(_MIN_FALL * last, standard_error / 2)
    if open_yet or (paired is not None and fall + _Z_95 * paired > 2 * _MIN_FALL * last):
        return Trend("unknown", f"{fell}, which may be chance: it is not known yet whether more answers would help.")
    return Trend(
        "settled",
        f"{fell}: it has settled, and more answers of the same kind would hardly make predictions better.",
    )


def _is_near_ceiling(error: float, ceiling: NoiseCeiling) -> bool:
    """Whether an error is within the interval of the ceiling, and that is informative."""
    return not ceiling.is_vague and error <= ceiling.high and error - ceiling.low <= _MAX_GAIN_LEFT


def _short(error: float) -> str:
    return f"{100 * error:.1f}%"


def _comparisons(size: float) -> str:
    return pluralize(round(size), "comparison")

"""How the held-out error falls as answers come in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearer.common.arrays import FloatArray
from nearer.common.parameters import check_integer, check_level
from nearer.common.randomness import RandomState, stream
from nearer.common.words import figure, interval
from nearer.data.comparisons import Comparisons
from nearer.data.units import By, units_of
from nearer.evaluation.held_out import Judgeable, Task, judge_all, read_judged
from nearer.evaluation.intervals import clustered_variance, error_interval

TEST_SHARE = 0.2
N_SIZES = 6


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """Held-out error for each number of training comparisons.

    Attributes
    ----------
    sizes : ndarray of int, shape (k,)
        Training comparisons, on average over the repeats: trials stay whole.
    errors, lows, highs : ndarray, shape (k,)
        Error of what `predict` uses, with its confidence interval.
    falls_by : ndarray, shape (k,), or None
        Standard error of the difference of each error from the last, which the same answers were judged by.

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
    falls_by: FloatArray | None = None

    def __str__(self) -> str:
        rows = zip(self.sizes, self.errors, self.lows, self.highs, strict=True)
        lines = [f"{size:>11}   {figure(error)}   {interval(low, high)}" for size, error, low, high in rows]
        return "\n".join(["comparisons   error   interval", *lines])


def learning_curve(
    estimator: Judgeable,
    comparisons: Any,
    sizes: ArrayLike | None = None,
    *,
    n_sizes: int = N_SIZES,
    n_repeats: int = 5,
    by: By = "trials",
    level: float = 0.95,
    n_jobs: int | None = None,
    random_state: RandomState = None,
) -> LearningCurve:
    """Return the held-out error against the number of training comparisons.

    Each repeat draws a test part of a fifth of the comparisons and an order of the rest, in whole trials; all sizes are
    judged by that part, and train on the first so many of that order, so that the larger contain the smaller. The
    interval is for the expected error at a size: it takes in both the answers tested and what varies between repeats.

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

    Returns
    -------
    LearningCurve

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
    judged = read_judged(comparisons)
    units = units_of(judged, by)
    rng = stream(random_state, "split")
    orders = [_order(units, rng) for _ in range(n_repeats)]
    wanted = _checked_sizes(sizes, judged, min(order.n_most for order in orders), n_sizes)
    ends = np.array([[order.first_end(size) for size in wanted] for order in orders])
    tasks = [
        Task(estimator, np.sort(order.rows[:end]), order.test)
        for order, row in zip(orders, ends, strict=True)
        for end in row
    ]
    found = judge_all(tasks, judged, n_jobs, "learning curve")
    tested = np.concatenate([order.test for order in orders])
    repeats = np.repeat(np.arange(n_repeats), [len(order.test) for order in orders])
    weights, clusters = judged.sample_weight[tested], units[tested]
    wrong = [np.concatenate([each.predictions for each in found[size :: len(wanted)]]) for size in range(len(wanted))]
    errors, lows, highs = np.array([error_interval(each, weights, clusters, level, repeats) for each in wrong]).T
    falls_by = np.array([_standard_error(each - wrong[-1], weights, clusters, repeats) for each in wrong])
    return LearningCurve(np.rint(ends.mean(axis=0)).astype(np.int64), errors, lows, highs, falls_by)


def _standard_error(
    differences: FloatArray, weights: FloatArray, clusters: NDArray[np.intp], repeats: NDArray[np.intp]
) -> float:
    """Return the standard error of the mean difference of two errors: from the answers tested, and between repeats."""
    variance = clustered_variance(differences, weights, clusters)
    between = clustered_variance(differences, weights, repeats) if repeats[-1] > 0 else 0.0
    return float(np.sqrt(variance + between))


@dataclass(frozen=True, eq=False)
class _Order:
    """One repeat: rows to train on in their order, where whole units end among them, and the rows to judge by."""

    rows: NDArray[np.intp]
    ends: NDArray[np.int64]
    test: NDArray[np.intp]

    @property
    def n_most(self) -> int:
        return len(self.rows)

    def first_end(self, size: int) -> int:
        return int(self.ends[np.searchsorted(self.ends, size)])


def _order(units: NDArray[np.intp], rng: np.random.Generator) -> _Order:
    counts = np.bincount(units)
    if len(counts) < 2:
        raise ValueError("all comparisons belong to one trial, which stays whole; nothing is left to judge by")
    order = rng.permutation(len(counts))
    from_end = np.cumsum(counts[order[::-1]])
    n_test = min(int(np.searchsorted(from_end, TEST_SHARE * len(units))) + 1, len(counts) - 1)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    rows = np.argsort(place[units], kind="stable")
    n_train = len(rows) - int(from_end[n_test - 1])
    return _Order(rows[:n_train], np.cumsum(counts[order[: len(order) - n_test]]), np.sort(rows[n_train:]))


def _checked_sizes(sizes: ArrayLike | None, comparisons: Comparisons, most: int, n_sizes: int) -> NDArray[np.int64]:
    if sizes is None:
        half = max(most // 2, 1)
        steps = np.geomspace(half, min(comparisons.n_objects, half), n_sizes - 1)
        return np.unique(np.append(np.rint(steps).astype(np.int64), most))
    wanted = np.atleast_1d(np.asarray(sizes))
    if wanted.ndim != 1 or wanted.size == 0 or wanted.dtype.kind not in "iu" or wanted.min() < 1:
        raise ValueError(f"sizes must be integers >= 1, got {sizes!r}")
    if wanted.max() > most:
        raise ValueError(
            f"a training part of {wanted.max()} comparisons was asked for, but {most} of {len(comparisons)} are left "
            "beside the test part; ask for fewer, or leave sizes out"
        )
    return np.unique(wanted).astype(np.int64)

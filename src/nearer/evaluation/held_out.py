"""The error on answers that were held out, with its interval: copies of an estimator are fitted to parts and judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import clone

from nearer._common.arrays import FloatArray
from nearer._common.formatting import decimals, format_interval, format_level
from nearer._common.parameters import check_level
from nearer._common.progress import progress_bar
from nearer._common.randomness import RandomState
from nearer.data.comparisons import Comparisons, as_comparisons
from nearer.data.groups import Grouping, group_indices, resolve_grouping, with_positive_weight
from nearer.evaluation.folds import WholeKFold
from nearer.evaluation.intervals import error_interval
from nearer.evaluation.metrics import margins


class Judgeable(Protocol):
    """What can be fitted and judged: an estimator of `nearer.embedding`, or a wrapper of one."""

    @property
    def embedding_(self) -> FloatArray:
        """The map, (n, p)."""

    def fit(self, X: Any) -> Self:
        """Fit a map to comparisons."""

    def decision_function(self, X: Any) -> FloatArray:
        """Return the margins of comparisons as written, (m,)."""


class Task(NamedTuple):
    """A fit: an estimator, the rows to train on and the rows to judge by."""

    estimator: Judgeable
    train: NDArray[np.intp]
    test: NDArray[np.intp]


class Judged(NamedTuple):
    """What was wrong, for each row of a test: 1 wrong, 1/2 a tie, 0 right.

    ``predictions`` is of what `predict` uses, ``map`` of the p-dimensional `embedding_`.
    """

    predictions: FloatArray
    map: FloatArray


def read_judged(comparisons: Any) -> Comparisons:
    """Return the comparisons of positive weight, from whatever a function was given."""
    return with_positive_weight(as_comparisons(comparisons))


def judge_all(tasks: Sequence[Task], comparisons: Comparisons, n_jobs: int | None, what: str) -> list[Judged]:
    """Do all fits and return what each got wrong, in their order, with a bar where it takes long."""
    calls = (delayed(_fit_and_judge)(task.estimator, comparisons[task.train], comparisons[task.test]) for task in tasks)
    found = Parallel(n_jobs=n_jobs, return_as="generator")(calls)
    return list(progress_bar(what, len(tasks), found, unit="fit"))


def _fit_and_judge(estimator: Judgeable, train: Comparisons, test: Comparisons) -> Judged:
    return judge(clone(estimator).fit(train), test)


def judge(model: Judgeable, test: Comparisons) -> Judged:
    """Return what a fitted map gets wrong."""
    answers = 1 if test.answers is None else test.answers
    return Judged(_wrong(model.decision_function(test) * answers), _wrong(margins(test, model.embedding_)))


def _wrong(gamma: FloatArray) -> FloatArray:
    return np.where(gamma == 0, 0.5, (gamma < 0).astype(np.float64))


@dataclass(frozen=True)
class HeldOutError:
    """Cross-validated error; chance is 0.5, and see `nearer.evaluation` for the least that is possible.

    Attributes
    ----------
    error, low, high : float
        Of what `predict` uses, with the confidence interval of its expectation.
    map_error, map_low, map_high : float
        Of the p-dimensional map, `embedding_`.
    n_splits : int
        Folds that were made.
    by : str
        What they kept whole.
    level : float
        Of confidence.

    Examples
    --------
    >>> print(HeldOutError(0.112, 0.0951, 0.1304, 0.12, 0.1031, 0.1388, 5, "trials"))
    held-out error 0.112 (95% interval 0.095 to 0.130); of the map 0.120 (0.103 to 0.139); 5 folds of whole trials
    """

    error: float
    low: float
    high: float
    map_error: float
    map_low: float
    map_high: float
    n_splits: int
    by: Grouping
    level: float = 0.95

    def __str__(self) -> str:
        return (
            f"held-out error {decimals(self.error)} ({format_level(self.level)} interval "
            f"{format_interval(self.low, self.high)}); "
            f"of the map {decimals(self.map_error)} ({format_interval(self.map_low, self.map_high)}); "
            f"{self.n_splits} folds of whole {self.by}"
        )


def held_out_error(
    estimator: Judgeable,
    comparisons: Any,
    *,
    n_splits: int = 5,
    by: Grouping = "trials",
    level: float = 0.95,
    n_jobs: int | None = None,
    random_state: RandomState = None,
) -> HeldOutError:
    """Return the error on answers that a map was fitted without, by cross-validation.

    The weighted share of wrong predictions, ties half. An estimator that tunes itself does so within each training
    part. The interval is for the expected error, on further answers, of maps that the estimator learns from as many
    answers about these objects as the folds are trained on, ``1 - 1 / n_splits`` of all. It counts both the answers
    judged by and those learned from as drawn at random: the variance between trials (or what ``by`` keeps whole; rows
    of one trial are not independent) times ``1 + n_splits / (n_splits - 1)`` for training parts that overlap, the
    correction of Nadeau and Bengio (2003). The map of all answers errs a little less in expectation. by="trials" speaks
    of new answers of the same people, by="annotators" of new people.

    Parameters
    ----------
    estimator : estimator of `nearer.embedding`
        Copies of it are fitted.
    comparisons : Comparisons or array-like, shape (m, 3) or (m, 4)
    n_splits, by
        As for `WholeKFold`.
    level : float
        Of confidence.
    n_jobs : int, optional
        Fits at a time; 1 if left out, -1 for all cores.
    random_state : None, int, SeedSequence, Generator or RandomState
        For the folds.

    Returns
    -------
    HeldOutError

    Examples
    --------
    >>> from nearer.datasets import make_gaussian, sample_triplets
    >>> from nearer.embedding import STE
    >>> judgments = sample_triplets(make_gaussian(15, 2, random_state=0), 600, flipped=0.1, random_state=0)
    >>> found = held_out_error(STE(2, random_state=0), judgments, random_state=0)
    >>> found.low < found.error < found.high, found.by
    (True, 'questions')
    """
    check_level(level)
    judged = read_judged(comparisons)
    units = group_indices(judged, by)
    folds = list(WholeKFold(n_splits, by=by, random_state=random_state).split(judged))
    found = judge_all([Task(estimator, *fold) for fold in folds], judged, n_jobs, "held-out error")
    wrong = in_order(found, [test for _, test in folds])
    of_predictions, of_map = (
        error_interval(each, judged.sample_weight, units, level, n_folds=len(folds)) for each in wrong
    )
    return HeldOutError(*of_predictions, *of_map, len(folds), resolve_grouping(judged, by), level)


def in_order(found: list[Judged], tests: list[NDArray[np.intp]]) -> Judged:
    """Put together what folds got wrong, row by row of the whole set.

    Examples
    --------
    >>> parts = [Judged(np.array([1.0]), np.array([0.0])), Judged(np.array([0.5, 0.0]), np.array([0.0, 1.0]))]
    >>> in_order(parts, [np.array([1]), np.array([0, 2])]).predictions
    array([0.5, 1. , 0. ])
    """
    order = np.argsort(np.concatenate(tests))
    return Judged(*(np.concatenate(parts)[order] for parts in zip(*found, strict=True)))

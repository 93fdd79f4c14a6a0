"""Which answers a fitted map gets wrong; and many copies of an estimator, fitted to one part and judged by another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import clone
from tqdm import tqdm

from nearer.common.arrays import FloatArray
from nearer.data.comparisons import Comparisons, as_comparisons
from nearer.data.units import with_positive_weight
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
    return list(tqdm(found, total=len(tasks), desc=what, unit="fit", delay=1, leave=False, disable=None))


def _fit_and_judge(estimator: Judgeable, train: Comparisons, test: Comparisons) -> Judged:
    return judge(clone(estimator).fit(train), test)


def judge(model: Judgeable, test: Comparisons) -> Judged:
    """Return what a fitted map gets wrong."""
    answers = 1 if test.answers is None else test.answers
    return Judged(_wrong(model.decision_function(test) * answers), _wrong(margins(test, model.embedding_)))


def _wrong(gamma: FloatArray) -> FloatArray:
    return np.where(gamma == 0, 0.5, (gamma < 0).astype(np.float64))

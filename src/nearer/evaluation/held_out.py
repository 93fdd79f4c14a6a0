"""Folds that keep trials, people or questions whole, and the error on held-out answers, with its interval."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, Self, TypeAlias

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import clone

from nearer._common.arrays import FloatArray
from nearer._common.formatting import decimals, format_interval, format_level
from nearer._common.parameters import check_integer, check_level
from nearer._common.progress import progress_bar
from nearer._common.randomness import RandomState, stream
from nearer._common.results import Result
from nearer.data.choices import Choices, ItemTrials
from nearer.data.comparisons import Comparisons, as_comparisons
from nearer.data.groups import (
    Grouping,
    balance_folds,
    group_indices,
    resolve_grouping,
    with_positive_weight,
)
from nearer.data.labels import Labels, factorize, read_labels
from nearer.embedding.base import OrdinalEmbedding
from nearer.evaluation.intervals import Interval, error_interval
from nearer.evaluation.metrics import margins


@dataclass(frozen=True)
class WholeKFold:
    """Folds for cross-validation that keep trials, annotators or questions whole.

    Works wherever scikit-learn takes ``cv=``; for its ``scoring=`` see `accuracy_scorer`. Rows of one trial are one
    judgment: split between training and test, they would leak. Folds are random, have about equally many rows, and
    are never empty. A `Comparisons` keeps its list of objects in every fold: an object that a training part misses is
    still scored.

    Parameters
    ----------
    n_splits : int >= 2, default 5
        The number of folds; fewer where there are fewer units.
    by : {"trials", "annotators", "questions"}
        What is kept whole. "trials" keeps questions whole where the comparisons have no trials, as rows that ask one
        question are copies of each other or contradict each other. "questions" may split a trial.
    random_state : None, int, SeedSequence, Generator or RandomState

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from nearer.datasets import make_gaussian, sample_triplets
    >>> from nearer.embedding import STE
    >>> judgments = sample_triplets(make_gaussian(15, 2, random_state=0), 600, random_state=0)
    >>> scores = cross_val_score(STE(2, random_state=0), judgments, cv=WholeKFold(3, random_state=0))
    >>> scores.shape, bool(scores.min() > 0.8)
    ((3,), True)
    """

    n_splits: int = 5
    by: Grouping = field(default="trials", kw_only=True)
    random_state: RandomState = field(default=None, kw_only=True)

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Fold]:
        """Return pairs of training and test rows, as indices; ``groups``, (m,), are kept whole in place of ``by``."""
        units, sizes = self._units(X, groups)
        n_folds = self._n_folds(sizes)
        folds = balance_folds(sizes, n_folds, stream(self.random_state, "split"))[units]
        return ((np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)) for fold in range(n_folds))

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds that `split` makes of X; ``n_splits`` without an X."""
        return self.n_splits if X is None else self._n_folds(self._units(X, groups)[1])

    def _units(self, X: Any, groups: Any) -> tuple[NDArray[np.intp], NDArray[np.integer]]:
        """Return the unit of each row, and how many rows of positive weight each unit has."""
        comparisons = as_comparisons(X)
        if groups is not None:
            units = factorize(read_labels(groups, "groups", len(comparisons)))[1]
        else:
            units = group_indices(comparisons, self.by)
        return units, np.bincount(units[comparisons.sample_weight > 0], minlength=int(units.max()) + 1)

    def _n_folds(self, sizes: NDArray[np.integer]) -> int:
        n_splits = check_integer("n_splits", self.n_splits, 2)
        n_units = int(np.count_nonzero(sizes))
        if n_units < 2:
            raise ValueError(
                f"cannot make folds: all comparisons with weight are one unit (by={self.by!r}), which stays whole; "
                "choose another `by`, or collect more answers"
            )
        return min(n_splits, n_units)


class Evaluable(Protocol):
    """What can be fitted and evaluated: an estimator of `nearer.embedding`, or a wrapper of one."""

    @property
    def embedding_(self) -> FloatArray:
        """The map, (n, p)."""

    @property
    def objects_(self) -> Labels:
        """The labels of the objects on it, (n,)."""

    def fit(self, X: Any) -> Self:
        """Fit a map to comparisons."""

    def decision_function(self, X: Any) -> FloatArray:
        """Return the margins of comparisons as written, (m,)."""


Fold: TypeAlias = tuple[NDArray[np.intp], NDArray[np.intp]]  # training and test rows


class Task(NamedTuple):
    """A fit: an estimator, its training rows and its test rows."""

    estimator: Evaluable
    train: NDArray[np.intp]
    test: NDArray[np.intp]


class Losses(NamedTuple):
    """Zero-one losses of rows, 1/2 for ties: of what `predict` uses, and of the p-dimensional `embedding_`."""

    predictions: FloatArray
    map: FloatArray


def read_weighted(comparisons: Any) -> Comparisons:
    """Return the comparisons of positive weight, from whatever stands for comparisons."""
    return with_positive_weight(as_comparisons(comparisons))


def evaluate_all(tasks: Sequence[Task], comparisons: Comparisons, n_jobs: int | None, what: str) -> list[Losses]:
    """Return the losses of all tasks, in their order, with a progress bar."""
    calls = (
        delayed(_fit_and_evaluate)(task.estimator, comparisons[task.train], comparisons[task.test]) for task in tasks
    )
    found = Parallel(n_jobs=n_jobs, return_as="generator")(calls)
    return list(progress_bar(what, len(tasks), found, unit="fit"))


def _fit_and_evaluate(estimator: Evaluable, train: Comparisons, test: Comparisons) -> Losses:
    return evaluate(clone(estimator).fit(train), test)


def cross_validate(
    models: Sequence[Evaluable], comparisons: Comparisons, folds: Sequence[Fold], n_jobs: int | None, what: str
) -> list[Losses]:
    """Return the losses of each model, in the order of the rows, each predicted by the fit that it is held out of."""
    found = evaluate_all([Task(model, *fold) for model in models for fold in folds], comparisons, n_jobs, what)
    order = np.argsort(np.concatenate([test for _, test in folds]))
    each = [found[start : start + len(folds)] for start in range(0, len(found), len(folds))]
    return [Losses(*(np.concatenate(parts)[order] for parts in zip(*of, strict=True))) for of in each]


def number_folds(folds: Sequence[Fold], n_rows: int) -> NDArray[np.intp]:
    """Return the number of the fold that each row is tested in, (m,); -1 where in none."""
    numbers = np.full(n_rows, -1)
    for number, (_, test) in enumerate(folds):
        numbers[test] = number
    return numbers


def evaluate(model: Evaluable, test: Comparisons) -> Losses:
    """Return the losses of a fitted map."""
    if len(model.embedding_) > test.n_objects:  # objects with features are on the map, whoever was asked about them
        test = test.reindex(model.objects_)
    answers = 1 if test.answers is None else test.answers
    gamma = model.decision_function(test) * answers
    found = gamma, margins(test, model.embedding_) if getattr(model, "_has_distances", True) else gamma
    return Losses(*(np.where(gamma == 0, 0.5, (gamma < 0).astype(np.float64)) for gamma in found))


def answer_probabilities(model: OrdinalEmbedding, test: Comparisons) -> FloatArray:
    """Return the probability of each answer, (m,), by a fitted model."""
    columns = np.ones(len(test), dtype=int) if test.answers is None else (test.answers > 0).astype(int)
    return model.predict_proba(test)[np.arange(len(test)), columns]


@dataclass(frozen=True)
class HeldOutError(Result):
    """Cross-validated error; chance is 0.5, and `noise_ceiling` estimates the least error possible.

    Attributes
    ----------
    error, low, high : float
        Of what `predict` uses, with the confidence interval of its expectation.
    map_error, map_low, map_high : float
        Of the p-dimensional map, `embedding_`.
    n_splits, by : int, {"trials", "annotators", "questions"}
        Folds that were made, 1 for a test part, and what they kept whole.
    level : float
    choice : Interval or None
        Error of the choice of the odd one out of three, with its interval; None where there are other trials.

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
    choice: Interval | None = None

    def summary(self) -> str:
        """Return errors, intervals and folds as text."""
        return (
            f"held-out error {decimals(self.error)} ({format_level(self.level)} interval "
            f"{format_interval(self.low, self.high)}); "
            f"of the map {decimals(self.map_error)} ({format_interval(self.map_low, self.map_high)}); "
            f"{'a test part' if self.n_splits == 1 else f'{self.n_splits} folds'} of whole {self.by}"
        )


def held_out_error(
    estimator: Evaluable,
    comparisons: Any,
    *,
    n_splits: int = 5,
    by: Grouping = "trials",
    level: float = 0.95,
    n_jobs: int | None = None,
    random_state: RandomState = None,
) -> HeldOutError:
    """Return the error on answers that a map was fitted without, by cross-validation.

    The weighted share of wrong predictions, ties half. The interval is for the expected error, on further answers, of
    maps that the estimator learns from as many answers about these objects as the folds are trained on; that of the
    map of all answers is a little lower (see `nearer.evaluation.intervals`). by="trials" is about new answers of the
    same people, by="annotators" about new people.

    Parameters
    ----------
    estimator : estimator of `nearer.embedding`
        Copies of it are fitted; one that tunes itself does so within each training part.
    comparisons : Comparisons or array-like, shape (m, 3) or (m, 4)
    n_splits, by
        As for `WholeKFold`.
    level : float
        Of confidence.
    n_jobs : int, optional
        Fits at a time; 1 if left out, -1 for all cores.
    random_state : None, int, SeedSequence, Generator or RandomState

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
    judged = read_weighted(comparisons)
    units = group_indices(judged, by)
    folds = list(WholeKFold(n_splits, by=by, random_state=random_state).split(judged))
    (wrong,) = cross_validate([estimator], judged, folds, n_jobs, "held-out error")
    of_predictions, of_map = (
        error_interval(each, judged.sample_weight, units, level, n_folds=len(folds)) for each in wrong
    )
    choice = _choice_interval(wrong, judged, units, level, len(folds))
    return HeldOutError(*of_predictions, *of_map, len(folds), resolve_grouping(judged, by), level, choice)


def error_on_rows(
    model: Evaluable, comparisons: Comparisons, rows: NDArray[np.integer], *, level: float = 0.95
) -> HeldOutError:
    """Return the error on rows that a fitted map was not made of, whole trials: as `held_out_error`, without fits."""
    judged = comparisons[rows]
    units, wrong = group_indices(judged), evaluate(model, judged)
    of_predictions, of_map = (error_interval(each, judged.sample_weight, units, level) for each in wrong)
    choice = _choice_interval(wrong, judged, units, level)
    return HeldOutError(*of_predictions, *of_map, 1, resolve_grouping(judged, "trials"), level, choice)


def _choice_interval(
    wrong: Losses, judged: Comparisons, units: NDArray[np.intp], level: float, n_folds: int | None = None
) -> Interval | None:
    """Return the error of the choice among three items, where all trials are of this kind."""
    if not is_odd_one_of_three(judged):
        return None
    lost = choice_losses(wrong.predictions, group_indices(judged, "trials"))
    return error_interval(lost, judged.sample_weight, units, level, n_folds=n_folds)


def is_odd_one_of_three(comparisons: Comparisons) -> bool:
    """Whether all trials name the odd one of three items."""
    if comparisons.trials is None or not comparisons.is_triplets or len(comparisons) % 2:
        return False
    parts = Choices.of(comparisons).parts
    return all(isinstance(part, ItemTrials) and not part.central and part.items.shape[1] == 3 for part in parts)


def choice_losses(losses: FloatArray, trials: NDArray[np.intp]) -> FloatArray:
    """Return the loss of the choice in the trial of each row, (m,): it is right if all comparisons of it are."""
    worst = np.zeros(int(trials.max()) + 1)
    np.maximum.at(worst, trials, losses)
    return np.asarray(worst[trials])

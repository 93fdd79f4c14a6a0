r"""Methods beside each other: how often each predicts held-out answers wrongly, and by how much they differ.

Every method is fitted to the same training parts and judged by the same held-out answers. With w_q the weights of the
answers and e_q what a method gets wrong (1 wrong, 1/2 a tie, 0 right), two methods differ in the mean of

    d_q = e_q(method) - e_q(reference),

which is known much better than either error: an answer that is noise is wrong for both, and cancels.

**How well it is known.** Two things are left to chance. *Which answers are held out*: answers of one person, or of one
trial, hang together, so that the variance V of the mean is that of whole units (`nearer.evaluation.intervals`).
*Which answers are trained on*: in each fold two maps of other answers meet. With d_f the difference in fold f and v_f
its variance by units within the fold, folds vary beyond these by

    tau^2 = max(0, var(d_f) - mean(v_f)),

and the mean of k of them by tau^2 / k if they were independent. They are not, as training parts overlap; Nadeau and
Bengio (2003) put 1/k + n_test / n_train = 1/k + 1/(k - 1) in place of 1/k. So

    variance = V + (1/k + 1/(k - 1)) tau^2,

with a t distribution of the degrees of freedom of Satterthwaite. With the test of Nadeau and Bengio alone V would be
counted twice, and known from k numbers.

Differences are to the *first* method: the best of several is best partly by luck, and intervals around it would lie.
p-values are corrected together (Holm 1979).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit
from sklearn.base import clone

from nearer._common.arrays import FloatArray
from nearer._common.parameters import check_level
from nearer._common.progress import progress_bar
from nearer._common.randomness import RandomState
from nearer.comparing.groups.grouping import comparisons_in
from nearer.comparing.holm import holm
from nearer.comparing.matrices.ceiling import FEWEST_PEOPLE, people_of
from nearer.comparing.method_results import MethodComparison, MethodScore
from nearer.data.comparisons import Comparisons
from nearer.data.groups import By, kept_whole, units_of
from nearer.embedding.base import OrdinalEmbedding
from nearer.evaluation.folds import WholeKFold
from nearer.evaluation.held_out import judge, read_judged
from nearer.evaluation.intervals import clustered_variance, error_interval

_LEAST_CHANCE = 1e-6  # of an answer: one that was held impossible costs 14 and not infinity


@dataclass(eq=False)
class _Tally:
    """What one method made of the held-out answers: NaN where they were not judged yet."""

    wrong: FloatArray
    map_wrong: FloatArray
    loss: FloatArray
    seconds: float = 0.0


def compare_methods(
    comparisons: Any,
    methods: Mapping[str, OrdinalEmbedding],
    *,
    n_splits: int = 5,
    by: By = "trials",
    dimension: Callable[[Comparisons], int] | None = None,
    level: float = 0.95,
    random_state: RandomState = None,
) -> MethodComparison:
    """Compare methods by the same held-out answers.

    Parameters
    ----------
    comparisons : Answers, Comparisons or array-like, shape (m, 3) or (m, 4)
    methods : mapping from str to estimator
        At least two; the others are set against the first. Copies of them are fitted.
    n_splits, by
        Folds, as for `WholeKFold`: by="trials" asks about further answers of the same people, by="annotators" about
        further people.
    dimension : callable, optional
        From the comparisons of a training part to the number of dimensions that all methods get there; each keeps its
        own if left out.
    level : float
        Of intervals.
    random_state : None, int, SeedSequence, Generator or RandomState
        For the folds.

    Returns
    -------
    MethodComparison
        After Ctrl-C, of the folds that were over; before there are two, the interrupt goes on.

    References
    ----------
    C. Nadeau and Y. Bengio (2003). Inference for the generalization error. Machine Learning 52.

    Examples
    --------
    >>> from nearer.datasets import make_gaussian, sample_triplets
    >>> from nearer.embedding import STE
    >>> judgments = sample_triplets(make_gaussian(12, 2, random_state=0), 400, random_state=0)
    >>> methods = {"line": STE(1, random_state=0), "plane": STE(2, random_state=0)}
    >>> found = compare_methods(judgments, methods, random_state=0)
    >>> plane = found.methods[1]
    >>> plane.difference < 0, plane.p_holm < 0.01, found.best
    (True, True, 'plane')
    """
    check_level(level)
    if len(methods) < 2:
        raise ValueError(f"it takes two methods to compare, got {', '.join(methods) or 'none'}")
    judged = read_judged(comparisons_in(comparisons))
    folds = list(WholeKFold(n_splits, by=by, random_state=random_state).split(judged))
    tallies, n_done = _judge(judged, methods, folds, dimension)
    fold_of = np.full(len(judged), -1)
    for number, (_, test) in enumerate(folds[:n_done]):
        fold_of[test] = number
    rows = np.flatnonzero(fold_of >= 0)
    people = people_of(judged)
    unit: By = "annotators" if people >= FEWEST_PEOPLE or by == "annotators" else kept_whole(judged, by)
    clusters, weights = units_of(judged, unit)[rows], judged.sample_weight[rows]
    scores = [
        _score(name, tally, tallies[0], rows, weights, clusters, fold_of[rows], level, n_done)
        for name, tally in zip(methods, tallies, strict=True)
    ]
    corrected = iter(holm([score["p_value"] for score in scores[1:]]))
    kept = tuple(MethodScore(**score, p_holm=None if k == 0 else next(corrected)) for k, score in enumerate(scores))
    return MethodComparison(kept, n_done, len(folds), kept_whole(judged, by), unit, len(rows), level)


def _judge(
    judged: Comparisons,
    methods: Mapping[str, OrdinalEmbedding],
    folds: list[tuple[NDArray[np.intp], NDArray[np.intp]]],
    dimension: Callable[[Comparisons], int] | None,
) -> tuple[list[_Tally], int]:
    """Return what each method gets wrong, and how many folds all of them have been judged by."""
    tallies = [_Tally(*np.full((3, len(judged)), np.nan)) for _ in methods]
    n_done = 0
    with progress_bar("methods", len(folds) * len(methods)) as bar:
        try:
            for train, test in folds:
                given = None if dimension is None else dimension(judged[train])
                for (name, method), tally in zip(methods.items(), tallies, strict=True):
                    copied: OrdinalEmbedding = clone(method) if given is None else _of_dimension(method, given)
                    _judge_one(name, copied.for_judging(), judged[train], judged[test], test, tally)
                    bar.update()
                n_done += 1
        except KeyboardInterrupt:
            if n_done < 2:
                raise
    return tallies, n_done


def _of_dimension(method: OrdinalEmbedding, dimension: int) -> OrdinalEmbedding:
    copied: OrdinalEmbedding = clone(method)
    most = copied.get_params(deep=False).get("max_components")
    if most is not None and most < dimension:
        copied.set_params(max_components=dimension)
    copied.set_params(n_components=dimension)
    return copied


def _judge_one(
    name: str, method: OrdinalEmbedding, train: Comparisons, test: Comparisons, rows: NDArray[np.intp], tally: _Tally
) -> None:
    start = time.perf_counter()
    try:
        model = method.fit(train)
    except ValueError as error:
        raise ValueError(f"{name}: {error}; leave it out, or give it what it needs") from error
    tally.seconds += time.perf_counter() - start
    tally.wrong[rows], tally.map_wrong[rows] = judge(model, test)
    held = model.predict_proba(test)
    answers = np.ones(len(test)) if test.answers is None else test.answers
    chances = np.where(answers > 0, held[:, 1], held[:, 0])
    tally.loss[rows] = -np.log(np.clip(chances, _LEAST_CHANCE, 1.0))


def _score(
    name: str,
    tally: _Tally,
    first: _Tally,
    rows: NDArray[np.intp],
    weights: FloatArray,
    clusters: NDArray[np.intp],
    folds: NDArray[np.intp],
    level: float,
    n_done: int,
) -> dict[str, Any]:
    """Return the figures of one method."""
    found = error_interval(tally.wrong[rows], weights, clusters, level, n_folds=n_done)
    score: dict[str, Any] = {"name": name, "error": found.error, "low": found.low, "high": found.high}
    score["map_error"] = float(np.average(tally.map_wrong[rows], weights=weights))
    score["log_loss"] = float(np.average(tally.loss[rows], weights=weights))
    score["seconds"] = tally.seconds / max(n_done, 1)
    if tally is first:
        return score | dict.fromkeys(("difference", "difference_low", "difference_high", "p_value"))
    gap, low, high, p = paired_difference(tally.wrong[rows] - first.wrong[rows], weights, clusters, folds, level)
    return score | {"difference": gap, "difference_low": low, "difference_high": high, "p_value": p}


def paired_difference(
    differences: FloatArray,
    weights: FloatArray,
    clusters: NDArray[np.intp],
    folds: NDArray[np.intp],
    level: float = 0.95,
) -> tuple[float, float, float, float]:
    """Return the mean of differences over answers, its interval and the p-value of none.

    Parameters
    ----------
    differences, weights : ndarray, shape (m,)
    clusters, folds : ndarray of int >= 0, shape (m,)
        Answers that hang together, and the fold of each.
    level : float

    Returns
    -------
    difference, low, high, p_value : float

    Examples
    --------
    >>> gaps = np.tile([0.0, 0.0, 1.0, 0.0], 25)
    >>> found = paired_difference(gaps, np.ones(100), np.arange(100), np.arange(100) % 5)
    >>> found[0], found[1] > 0.1, found[3] < 0.001
    (0.25, True, True)
    """
    mean = float(np.average(differences, weights=weights))
    n_clusters = len(np.unique(clusters))
    freedom = float(max(n_clusters - 1, 1))
    variance = clustered_variance(differences, weights, clusters)
    numbers = np.unique(folds)
    k = len(numbers)
    if k > 1 and np.isfinite(variance):
        parts = [folds == number for number in numbers]
        means = [float(np.average(differences[part], weights=weights[part])) for part in parts]
        within = [clustered_variance(differences[part], weights[part], clusters[part]) for part in parts]
        beyond = float(np.var(means, ddof=1) - np.mean(within)) if np.isfinite(within).all() else 0.0
        if beyond > 0:
            between = (1 / k + 1 / (k - 1)) * beyond
            freedom = (variance + between) ** 2 / (variance**2 / freedom + between**2 / (k - 1))
            variance += between
    if variance == 0:  # the same on every answer, or by the same amount
        return mean, mean, mean, 1.0 if mean == 0 else 0.0
    if not np.isfinite(variance):
        return mean, -1.0, 1.0, 1.0
    error = float(np.sqrt(variance))
    reach = float(stdtrit(freedom, 0.5 + level / 2)) * error
    return mean, mean - reach, mean + reach, float(2 * stdtr(freedom, -abs(mean) / error))

r"""How reliable each person is, and weights that listen more to those who are.

A person's answers are judged by a map fitted without them. If person a answers against the map with probability e_a,
and independently from answer to answer, the likelihood of a map that person a contradicts k_a times in n_a is

    sum_a (n_a - k_a) log(1 - e_a) + k_a log(e_a)  =  const - sum_a k_a log((1 - e_a) / e_a):

the likeliest map is the one with the smallest count of contradictions weighted by the log-odds of each person. Log-odds
are 0 at chance, where answers say nothing. They grow without bound as e_a falls, and few answers can be right by luck,
so e_a is drawn towards what is usual: it gets a Beta distribution over people, fitted to the counts of all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, ndtri

from nearer._common.arrays import FloatArray
from nearer._common.formatting import decimals, format_interval
from nearer._common.parameters import check_level
from nearer._common.randomness import RandomState
from nearer.data.comparisons import Comparisons, as_comparisons
from nearer.data.groups import trial_indices
from nearer.data.labels import Labels, factorize
from nearer.embedding.base import OrdinalEmbedding
from nearer.evaluation.folds import WholeKFold
from nearer.evaluation.held_out import Task, in_order, judge_all, read_judged
from nearer.evaluation.intervals import wilson

# Of the usual error, and of how many answers it is worth: beyond these, people are as alike or as unlike as matters.
_USUAL = np.linspace(0.005, 0.6, 120)
_WORTH = np.geomspace(1.0, 3000.0, 60)


@dataclass(frozen=True, eq=False)
class AnnotatorReliability:
    """Error of each person's answers against a map fitted without them.

    Attributes
    ----------
    names : ndarray of labels, shape (a,)
    n_answers : ndarray of int, shape (a,)
        Acts of judgment: trials, or rows where no trials are known.
    errors, lows, highs : ndarray, shape (a,)
        With confidence intervals; 0.5 is chance.

    Examples
    --------
    >>> print(AnnotatorReliability(*map(np.array, (["ann", "bob"], [40, 38], [0.1, 0.5], [0.04, 0.35], [0.23, 0.65]))))
    annotator   answers   error   interval
    ann              40   0.100   0.040 to 0.230
    bob              38   0.500   0.350 to 0.650
    """

    names: Labels
    n_answers: NDArray[np.int64]
    errors: FloatArray
    lows: FloatArray
    highs: FloatArray

    def __str__(self) -> str:
        names = [str(name) for name in self.names]
        width = max(len(name) for name in [*names, "annotator"])
        rows = zip(names, self.n_answers, self.errors, self.lows, self.highs, strict=True)
        lines = [
            f"{name:<{width}}   {n:>7}   {decimals(error)}   {format_interval(low, high)}"
            for name, n, error, low, high in rows
        ]
        return "\n".join([f"{'annotator':<{width}}   answers   error   interval", *lines])


def annotator_reliability(
    estimator: OrdinalEmbedding,
    comparisons: Any,
    *,
    n_groups: int = 10,
    level: float = 0.95,
    n_jobs: int | None = None,
    random_state: RandomState = None,
) -> AnnotatorReliability:
    """Return the error of each person's answers against a map fitted without them.

    People are put into groups of about equally many answers, and each group is judged by a map of all the others: one
    fit for each group. With at most ``n_groups`` people everybody is judged by a map of everybody else. The error is
    that of what `predict` uses, weighted, ties half; an error far above that of others may be carelessness as well as
    another view.

    Parameters
    ----------
    estimator : estimator of `nearer.embedding`
        Copies of it are fitted.
    comparisons : Comparisons
        With annotators, at least two.
    n_groups : int >= 2
    level : float
        Of Wilson's intervals, which count trials and not rows.
    n_jobs : int, optional
        Fits at a time; 1 if left out, -1 for all cores.
    random_state : None, int, SeedSequence, Generator or RandomState
        For the groups.

    Returns
    -------
    AnnotatorReliability

    Examples
    --------
    >>> from nearer.datasets import make_gaussian, sample_triplets
    >>> from nearer.embedding import STE
    >>> points, judgments = make_gaussian(15, 2, random_state=0), []
    >>> for person, flipped in enumerate([0.1, 0.1, 0.1, 0.5]):
    ...     rows = sample_triplets(points, 200, flipped=flipped, random_state=person).rows
    ...     judgments.append(Comparisons.from_triplets(rows, annotators=[f"p{person}"] * 200, n_objects=15))
    >>> found = annotator_reliability(STE(2, random_state=0), Comparisons.concatenate(judgments), random_state=0)
    >>> str(found.names[found.errors.argmax()])
    'p3'
    """
    check_level(level)
    judged = read_judged(comparisons)
    if judged.annotators is None:
        raise ValueError("the comparisons do not say who answered; pass annotators= when making them")
    names, person = factorize(judged.annotators)
    if len(names) < 2:
        raise ValueError("all answers are of one annotator, and no map can be fitted without them; two are needed")
    folds = list(WholeKFold(n_groups, by="annotators", random_state=random_state).split(judged))
    found = judge_all([Task(estimator, *fold) for fold in folds], judged, n_jobs, "annotators")
    wrong = in_order(found, [test for _, test in folds]).predictions
    weights = judged.sample_weight
    errors = np.bincount(person, weights * wrong) / np.bincount(person, weights)
    answers, numbers = acts_of(judged, person)
    quantile = float(ndtri(0.5 + level / 2))
    lows, highs = np.array([wilson(*each, quantile) for each in zip(errors, numbers, strict=True)]).T
    return AnnotatorReliability(names, answers, errors, lows, highs)


def acts_of(judged: Comparisons, person: NDArray[np.intp]) -> tuple[NDArray[np.int64], FloatArray]:
    """Return how many acts of judgment each person has given, and how many of equal weight theirs are worth.

    Acts are trials, or rows where no trials are known. With weights w they are worth (sum w)^2 / sum w^2.

    Parameters
    ----------
    judged : Comparisons
    person : ndarray of int >= 0, shape (m,)
        Who gave each row; everybody up to the largest gave one of some weight.

    Examples
    --------
    >>> judged = Comparisons.from_triplets([[0, 1, 2], [1, 2, 0], [2, 0, 1]], trials=[5, 5, 6])
    >>> acts_of(judged, np.array([0, 0, 0]))
    (array([2]), array([1.8]))
    """
    owner, weights = person, judged.sample_weight
    if judged.trials is not None:
        # Some number their trials anew for each person.
        pairs = person * (len(judged) + 1) + trial_indices(judged)
        _, first, act = np.unique(pairs, return_index=True, return_inverse=True)
        owner, weights = person[first], np.bincount(act, weights).astype(np.float64)
    return np.bincount(owner), np.bincount(owner, weights) ** 2 / np.bincount(owner, weights**2)


def reliability_weights(reliability: AnnotatorReliability, comparisons: Any) -> FloatArray:
    """Return weights that count people by the log-odds of their being right.

    Errors are first drawn towards the usual one, the more the fewer answers a person gave; who does no better than
    chance gets 0. People that the reliability does not know get the usual error. Weights that the comparisons have
    already are multiplied in, and the sum of the weights stays what it was: without any, their mean is 1.

    Judge a map that was fitted with these weights by the answers without them: people who agree with the map count
    more here, and would make its held-out error look smaller than it is.

    Parameters
    ----------
    reliability : AnnotatorReliability
    comparisons : Comparisons
        With annotators.

    Returns
    -------
    ndarray, shape (m,)

    Examples
    --------
    >>> known = AnnotatorReliability(*map(np.array, (["a", "b"], [500, 500], [0.1, 0.5], [0.08, 0.46], [0.13, 0.54])))
    >>> both = Comparisons.from_triplets([[0, 1, 2], [1, 2, 0]], annotators=["a", "b"])
    >>> reliability_weights(known, both).round(2)
    array([1.99, 0.01])
    """
    judged = as_comparisons(comparisons)
    if judged.annotators is None:
        raise ValueError("the comparisons do not say who answered; pass annotators= when making them")
    usual, worth = _usual_error(reliability.errors * reliability.n_answers, reliability.n_answers)
    drawn = (reliability.errors * reliability.n_answers + usual * worth) / (reliability.n_answers + worth)
    errors = dict(zip(reliability.names.tolist(), drawn.tolist(), strict=True))
    people, person = factorize(judged.annotators)
    error = np.array([errors.get(name, usual) for name in people.tolist()])
    factors = np.maximum(np.log((1 - error) / error), 0.0)[person]
    weights = judged.sample_weight * factors
    if not weights.any():
        raise ValueError(
            "nobody answers better than chance against a map of the others, so that no weights are left; check the "
            "answers, or whether the map had enough of them"
        )
    scaled: FloatArray = weights * (judged.sample_weight.sum() / weights.sum())
    return scaled


def _usual_error(wrong: FloatArray, answers: NDArray[np.int64]) -> tuple[float, float]:
    """Return mean and size of the Beta distribution that makes these counts likeliest."""
    counts, many = wrong[:, None, None], answers[:, None, None]
    likelihood = np.zeros((len(_USUAL), len(_WORTH)))
    first, second = _USUAL[:, None] * _WORTH, (1 - _USUAL[:, None]) * _WORTH
    for block in range(0, len(wrong), 100):
        k, n = counts[block : block + 100], many[block : block + 100]
        likelihood += (betaln(k + first, n - k + second) - betaln(first, second)).sum(axis=0)
    row, column = np.unravel_index(likelihood.argmax(), likelihood.shape)
    return float(_USUAL[row]), float(_WORTH[column])

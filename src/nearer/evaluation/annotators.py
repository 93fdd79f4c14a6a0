"""How reliable each person is, and weights for their answers.

A person's answers are predicted by a map fitted without them. The likeliest map has the smallest count of
contradictions weighted by the log-odds of each person, log((1 - e_a) / e_a). Few answers can be right by chance, so e_a
is shrunk (empirical Bayes): it gets a Beta distribution over people, fitted to the counts of all.
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
from nearer._common.results import Result
from nearer.data.comparisons import Comparisons, as_comparisons
from nearer.data.groups import trial_indices
from nearer.data.labels import Labels, factorize
from nearer.embedding.base import OrdinalEmbedding
from nearer.evaluation.held_out import WholeKFold, cross_validate, read_weighted
from nearer.evaluation.intervals import wilson_interval

# Grids of the mean of the Beta distribution over people, and of its size in answers.
_MEAN_ERROR_GRID = np.linspace(0.005, 0.6, 120)
_BETA_SIZE_GRID = np.geomspace(1.0, 3000.0, 60)


@dataclass(frozen=True, eq=False)
class AnnotatorReliability(Result):
    """Error of each person's answers, of trials where they are known, against a map fitted without them.

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

    def summary(self) -> str:
        """Return a table of people as text."""
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

    People are put into groups of about equally many answers, and the answers of each group are predicted by a map of
    all the others. The error is that of what `predict` uses, weighted, ties half; an error far above that of others may
    be carelessness or another perception.

    Parameters
    ----------
    estimator : estimator of `nearer.embedding`
        Copies of it are fitted.
    comparisons : Comparisons
        With annotators, at least two.
    n_groups : int >= 2
        With at most so many people, each is predicted by a map of everybody else.
    level : float
        Of Wilson's intervals, which count trials and not rows.
    n_jobs, random_state
        As for `held_out_error`.

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
    judged = read_weighted(comparisons)
    if judged.annotators is None:
        raise ValueError("the comparisons do not say who answered; pass annotators= when making them")
    names, person = factorize(judged.annotators)
    if len(names) < 2:
        raise ValueError("all answers are of one annotator, and no map can be fitted without them; two are needed")
    folds = list(WholeKFold(n_groups, by="annotators", random_state=random_state).split(judged))
    (losses,) = cross_validate([estimator], judged, folds, n_jobs, "annotators")
    weights = judged.sample_weight
    errors = np.bincount(person, weights * losses.predictions) / np.bincount(person, weights)
    answers, numbers = count_trials(judged, person)
    quantile = float(ndtri(0.5 + level / 2))
    lows, highs = np.array([wilson_interval(*each, quantile) for each in zip(errors, numbers, strict=True)]).T
    return AnnotatorReliability(names, answers, errors, lows, highs)


def count_trials(judged: Comparisons, person: NDArray[np.intp]) -> tuple[NDArray[np.int64], FloatArray]:
    """Return the number of trials (rows, where no trials are known) of each person, and its effective number."""
    # ``person``, (m,), is the number of who gave each row. With weights w the effective number is (sum w)^2 / sum w^2.
    who, weights = person, judged.sample_weight
    if judged.trials is not None:
        # Trials may be numbered from one for each person.
        pairs = person * (len(judged) + 1) + trial_indices(judged)
        _, first, trial = np.unique(pairs, return_index=True, return_inverse=True)
        who, weights = person[first], np.bincount(trial, weights).astype(np.float64)
    return np.bincount(who), np.bincount(who, weights) ** 2 / np.bincount(who, weights**2)


def reliability_weights(reliability: AnnotatorReliability, comparisons: Any) -> FloatArray:
    """Return weights for the answers of people, (m,): the log-odds of their being right.

    Errors are first shrunk to that of a typical person, the more the fewer answers a person gave; who does no better
    than chance gets 0, and who is not in ``reliability`` the error of a typical person. Weights of the comparisons are
    multiplied in, and their sum is kept. Take the held-out error of a map that was fitted with these weights without
    them: people who agree with the map count more here, and would make the error look smaller than it is.

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
    wrong, answers = reliability.errors * reliability.n_answers, reliability.n_answers
    typical, size = _typical_error(wrong, answers)
    shrunk = (wrong + typical * size) / (answers + size)
    errors = dict(zip(reliability.names.tolist(), shrunk.tolist(), strict=True))
    people, person = factorize(judged.annotators)
    error = np.array([errors.get(name, typical) for name in people.tolist()])
    factors = np.maximum(np.log((1 - error) / error), 0.0)[person]
    weights = judged.sample_weight * factors
    if not weights.any():
        raise ValueError(
            "nobody's answers are predicted better than chance by a map of the others, so that all weights are 0; "
            "check the answers, or whether the map had enough of them"
        )
    return weights * (judged.sample_weight.sum() / weights.sum())


def _typical_error(wrong: FloatArray, answers: NDArray[np.int64]) -> tuple[float, float]:
    """Return mean and size of the Beta distribution over people, by maximum likelihood on the grids."""
    likelihood = np.zeros((len(_MEAN_ERROR_GRID), len(_BETA_SIZE_GRID)))
    first, second = _MEAN_ERROR_GRID[:, None] * _BETA_SIZE_GRID, (1 - _MEAN_ERROR_GRID[:, None]) * _BETA_SIZE_GRID
    for start in range(0, len(wrong), 100):
        k, n = (each[start : start + 100, None, None] for each in (wrong, answers))
        likelihood += (betaln(k + first, n - k + second) - betaln(first, second)).sum(axis=0)
    row, column = np.unravel_index(likelihood.argmax(), likelihood.shape)
    return float(_MEAN_ERROR_GRID[row]), float(_BETA_SIZE_GRID[column])

"""How well a model explains what each person sees: correlations of its distances with those of every person's map."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from nearer._common.arrays import FloatArray
from nearer._common.formatting import decimals, format_level
from nearer._common.parameters import check_level
from nearer._common.results import Result
from nearer.comparing.matrix_tests import MEASURE_NAMES, Measure, measure_function
from nearer.comparing.shared_features import check_models
from nearer.data.conversions import check_dissimilarities
from nearer.data.labels import Labels
from nearer.embedding import PosteriorEmbedding

_MAX_DRAWS = 200


@dataclass(frozen=True, eq=False)
class PeopleCorrelations(Result):
    """Correlations of a model's distances with those of each person's map, and of their mean over people.

    Attributes
    ----------
    people : ndarray of labels, shape (s,)
    correlations, lows, highs : ndarray, shape (s,)
        Means over the posterior of the map of each person, and ends of intervals.
    mean, low, high : float
        Of the mean correlation over these people.
    measure : {"spearman", "kendall", "tau-a", "pearson"}
    level : float
        Of the intervals.
    """

    people: Labels
    correlations: FloatArray
    lows: FloatArray
    highs: FloatArray
    mean: float
    low: float
    high: float
    measure: Measure
    level: float

    def summary(self) -> str:
        """Return the mean correlation, and the people who agree with the model least and most."""
        order = np.argsort(self.correlations)
        ends = [f"{self.people[k]} {decimals(self.correlations[k])}" for k in (order[0], order[-1])]
        return (
            f"{MEASURE_NAMES[self.measure]} with the maps of {len(self.people)} people: {decimals(self.mean)} on "
            f"average ({format_level(self.level)} interval {decimals(self.low)} to {decimals(self.high)}); "
            f"lowest {ends[0]}, highest {ends[1]}"
        )


def correlate_people(
    model: PosteriorEmbedding, distances: ArrayLike, *, measure: Measure = "spearman", level: float = 0.95
) -> PeopleCorrelations:
    """Correlate the distances that a model predicts with those of the map of each person.

    Parameters
    ----------
    model : PosteriorEmbedding
        Fitted with ``people="maps"`` or ``people="weights"``.
    distances : array-like, shape (n, n)
        What the model predicts: symmetric, in the order of ``model.objects_``, NaN where it says nothing.
    measure : {"spearman", "kendall", "tau-a", "pearson"}
    level : float
        Of the intervals. They are about these people and objects; people with few answers are drawn towards the others.

    Examples
    --------
    >>> from nearer import Comparisons
    >>> rng = np.random.default_rng(0)
    >>> points = rng.normal(size=(8, 2))
    >>> rows = rng.permuted(np.tile(np.arange(8), (300, 1)), axis=1)[:, :3]
    >>> near, far = (((points[rows[:, 0]] - points[rows[:, k]]) ** 2).sum(axis=1) for k in (1, 2))
    >>> answers = Comparisons.from_triplets(rows, near < far, annotators=np.arange(300) % 3)
    >>> model = PosteriorEmbedding(2, people="maps", solver="fast", random_state=0).fit(answers)
    >>> correlate_people(model, np.linalg.norm(points[:, None] - points, axis=2)).mean > 0.8
    True
    """
    check_level(level)
    correlation = measure_function(measure)
    matrix = check_dissimilarities(distances)
    if len(matrix) != model.n_objects_:
        raise ValueError(f"the matrix is about {len(matrix)} objects, and the map has {model.n_objects_}")
    check_models(model, {"the model": matrix})
    rows, columns = np.triu_indices(len(matrix), 1)
    known = np.isfinite(matrix[rows, columns])
    rows, columns, predicted = rows[known], columns[known], matrix[rows, columns][known]
    if len(np.unique(predicted)) < 2:
        raise ValueError(
            "the matrix has no two distances that differ, of all that are not NaN, so that nothing correlates with it"
        )
    if model.differences_ is None:
        raise ValueError("all people share one map; fit it with people='maps' for a map of each")
    found = []
    some = np.unique(np.linspace(0, len(model.draws_) - 1, _MAX_DRAWS).astype(int))
    for number in range(len(model.differences_.people)):
        maps = model._draws_of(number).points[some]  # in all dimensions
        found.append([correlation(np.linalg.norm(own[rows] - own[columns], axis=1), predicted) for own in maps])
    drawn = np.array(found)  # (s, k)
    tails = ((1 - level) / 2, (1 + level) / 2)
    lows, highs = np.quantile(drawn, tails, axis=1)
    of_mean = drawn.mean(axis=0)
    low, high = np.quantile(of_mean, tails).tolist()
    return PeopleCorrelations(
        model.differences_.people, drawn.mean(axis=1), lows, highs, float(of_mean.mean()), low, high, measure, level
    )

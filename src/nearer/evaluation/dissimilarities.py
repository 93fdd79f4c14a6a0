"""How far to trust a map of dissimilarities: its dimensions, ellipses, held-out error and the reliability of distances.

The error is that of comparisons: of two pairs that a person judged differently, the map has the wrong one as the
farther apart, a tie counting one half. With C pairs of pairs in the same order, D in the other, and T not tied in the
judgments, it is (1 - (C - D) / T) / 2, where (C - D) / T is the d of Somers (1962). Its ceiling has the bounds of Nili
et al. (2014): people predicted by the mean of all, who are among them, and by the mean of the others.

People are resampled as a whole, by the Bayesian bootstrap (Rubin 1981), where there are enough of them, and cells of
the matrix otherwise.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist, squareform
from scipy.stats import kendalltau, rankdata, t
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from nearer._common.arrays import FloatArray
from nearer._common.progress import progress_bar
from nearer._common.randomness import RandomState, stream
from nearer._common.results import Result
from nearer.data.dissimilarities import Dissimilarities
from nearer.data.groups import MIN_ANNOTATORS, Grouping, small_sample_factor
from nearer.embedding.nonmetric_mds import NonmetricMDS, refit_map
from nearer.evaluation.ceiling import NoiseCeiling
from nearer.evaluation.curves import CHANCE
from nearer.evaluation.dimension import DimensionChoice
from nearer.evaluation.distances import SplitHalf, spearman_brown
from nearer.evaluation.intervals import overlap_factor
from nearer.evaluation.uncertainty import Bootstrap, mean_squares
from nearer.geometry import match_size

N_FOLDS, MAX_FOLDS = 5, 20
N_SPLITS = 10
MIN_PEOPLE = 3  # of whom each is predicted by the others
_MIN_OBJECTS = 6  # of which cells can be left out


def order_error(values: FloatArray, distances: FloatArray) -> float:
    """Return the share of pairs of unequal values that distances have in the wrong order; NaN if all are equal.

    Examples
    --------
    >>> round(order_error(np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.3, 0.2])), 3)
    0.333
    """
    known = ~np.isnan(values) & ~np.isnan(distances)
    values, distances = values[known], distances[known]
    n = len(values)
    counts, ties = (np.unique(each, return_counts=True)[1] for each in (values, distances))
    n_pairs = n * (n - 1) / 2
    untied, apart = (n_pairs - float(np.sum(each * (each - 1) / 2)) for each in (counts, ties))
    if untied <= 0:
        return float("nan")
    if apart <= 0:
        return 0.5
    tau = float(kendalltau(values, distances).statistic)
    return float((1 - tau * np.sqrt(untied * apart) / untied) / 2)


def fit_dissimilarities(model: NonmetricMDS, data: Dissimilarities) -> NonmetricMDS:
    """Return the model, fitted to what all people say together."""
    return model.fit_dissimilarities(squareform_of(data.combined()), objects=np.array(data.objects))


def squareform_of(values: FloatArray) -> FloatArray:
    """Return a symmetric matrix of values of pairs; NaN stays NaN."""
    matrix: FloatArray = squareform(values, checks=False)
    return matrix


@dataclass(frozen=True)
class OrderError(Result):
    """The error of a map on held-out judgments, of each person where people are known.

    Attributes
    ----------
    error, low, high : float
        The mean over people, or folds of cells, and its interval by Student's t.
    by : {"annotators", "questions"}
        What was held out whole: people, or cells (pairs of objects).
    n_folds : int
    of_people, n_judged : tuple
        The error of each person against a map of others, NaN for those who do not rank pairs, and how many pairs each
        judged; empty without people.
    ceiling : NoiseCeiling or None
    """

    error: float
    low: float
    high: float
    by: Grouping
    n_folds: int
    of_people: tuple[float, ...] = ()
    n_judged: tuple[int, ...] = ()
    ceiling: NoiseCeiling | None = None


def held_out_order(
    model: NonmetricMDS, data: Dissimilarities, *, level: float = 0.95, random_state: RandomState = None
) -> OrderError | None:
    """Return the error of a fitted map on judgments of people who were left out, or else on cells that were.

    None where there are too few of both.
    """
    rng = stream(random_state, "folds")
    values, counted = data.of_people, np.flatnonzero(data.counted)
    if data.people is None or len(counted) < MIN_PEOPLE:
        if model.n_objects_ < _MIN_OBJECTS:
            return None
        errors = _cell_errors(model, data.combined(), rng)
        mean, low, high = _mean_interval(errors, level)
        return OrderError(mean, low, high, "questions", len(errors))
    folds = np.array_split(rng.permutation(counted), min(len(counted), MAX_FOLDS))
    found, others = np.full(len(values), np.nan), np.full(len(values), np.nan)
    for fold in progress_bar("held-out people", len(folds), folds, unit="fit"):
        rest = np.ones(len(values))
        rest[fold] = 0
        matrix = data.combined(rest)
        distances = pdist(_fresh_map(model, matrix))
        for person in fold:
            found[person] = order_error(values[person], distances)
            others[person] = order_error(values[person], matrix)
    together = np.array([order_error(each, data.combined()) for each in values[counted]])
    best, lowest, _ = _mean_interval(together, level)
    worst, _, highest = _mean_interval(others[counted], level)
    ceiling = NoiseCeiling(best, max(lowest, 0.0), min(highest, 1.0), worst, len(data.pairs[0]), data.n_answers, level)
    mean, low, high = _mean_interval(found[counted], level)
    judged = tuple(int(each) for each in (~np.isnan(values)).sum(axis=1))
    return OrderError(mean, low, high, "annotators", len(folds), tuple(found.tolist()), judged, ceiling)


def _fresh_map(model: NonmetricMDS, values: FloatArray) -> FloatArray:
    """Return the map of dissimilarities of pairs from a start of its own: that of a fit to all would know them all."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the fit to all judgments has warned already
        return clone(model).set_params(n_init=1).fit_dissimilarities(squareform_of(values)).embedding_


def _cell_errors(model: NonmetricMDS, values: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return the error on each fold of cells of a map of the others."""
    errors = []
    for fold in np.array_split(rng.permutation(np.flatnonzero(~np.isnan(values))), N_FOLDS):
        held = np.isin(np.arange(len(values)), fold)
        points = _fresh_map(model, np.where(held, np.nan, values))
        errors.append(order_error(np.where(held, values, np.nan), pdist(points)))
    return np.array(errors)


def _mean_interval(errors: FloatArray, level: float) -> tuple[float, float, float]:
    known = errors[~np.isnan(errors)]
    if len(known) < 2:
        mean = float(known.mean()) if len(known) else float("nan")
        return mean, mean, mean
    mean, half = known.mean(), t.ppf((1 + level) / 2, len(known) - 1) * known.std(ddof=1) / np.sqrt(len(known))
    return float(mean), float(max(mean - half, 0)), float(min(mean + half, 1))


def max_dimension(n_objects: int) -> int:
    """Return the most dimensions that the order of dissimilarities determines: n > 4 p (Kruskal and Wish 1978)."""
    return (n_objects - 1) // 4


def choose_dimension(
    model: NonmetricMDS, data: Dissimilarities, candidates: Sequence[int], *, random_state: RandomState = None
) -> DimensionChoice | None:
    """Choose the number of dimensions by the error on cells that were left out, by the rule of one standard error.

    None for fewer than six objects. All candidates are judged by the same folds.
    """
    values = data.combined()
    if data.n_objects < _MIN_OBJECTS:
        return None
    tried = [p for p in candidates if p <= max(2, max_dimension(data.n_objects))]
    seed = int(stream(random_state, "split").integers(2**31))
    errors, spreads = [], []
    for p in progress_bar("dimensions", len(tried), tried, unit="dimension"):
        of_folds = _cell_errors(clone(model).set_params(n_components=p), values, np.random.default_rng(seed))
        errors.append(float(np.nanmean(of_folds)))
        spreads.append(float(np.nanstd(of_folds, ddof=1) / np.sqrt(N_FOLDS)))
    found, deviations = np.array(errors), np.array(spreads)
    best = int(found.argmin())
    chosen = tried[int((found <= found[best] + deviations[best]).argmax())]
    # Two-sided, though only small errors count: the best of several dimensions is flattered.
    margin = t.ppf(0.975, N_FOLDS - 1) * np.sqrt(overlap_factor(N_FOLDS)) * deviations[best]
    guesses = found[best] + margin >= CHANCE
    return DimensionChoice(np.array(tried), found, deviations, None if guesses else chosen)


def bootstrap_map(
    model: NonmetricMDS, data: Dissimilarities, *, n_resamples: int = 100, random_state: RandomState = None
) -> Bootstrap | None:
    """Return where each object may lie, by maps of resampled people, or of resampled cells where people are few.

    Covariances are mean squares around the map; of people, times the square of `small_sample_factor`. None where cells
    would be resampled and hardly outnumber the coordinates: such a map fits whatever there is, and never moves.
    """
    rng = stream(random_state, "split")
    counted = np.flatnonzero(data.counted)
    by: Grouping = "annotators" if data.people is not None and len(counted) >= MIN_ANNOTATORS else "questions"
    if by == "questions" and model.n_components > max_dimension(data.n_objects):
        return None
    reference = model.embedding_
    center = reference.mean(axis=0)
    matrix = squareform_of(data.combined())
    maps = []
    for _ in progress_bar("bootstrap", n_resamples, range(n_resamples), unit="fit"):
        if by == "annotators":
            points = refit_map(model, squareform_of(data.combined(rng.exponential(size=len(data.sums)))))
        else:
            points = refit_map(model, matrix, squareform_of(rng.exponential(size=len(data.pairs[0]))))
        aligned, closeness = match_size(points, reference - center)
        maps.append(closeness * aligned + center)
    stack = np.array(maps)
    factor = small_sample_factor(counted) ** 2 if by == "annotators" else 1.0
    covariances = factor * mean_squares(stack - reference)
    return Bootstrap(reference, stack, covariances, model.objects_, factor, by=by)


def split_half_people(
    model: NonmetricMDS, data: Dissimilarities, *, n_splits: int = N_SPLITS, random_state: RandomState = None
) -> SplitHalf | None:
    """Return how well maps of two halves of the people agree in their distances, or else of two halves of the cells."""
    rng = stream(random_state, "split")
    counted = np.flatnonzero(data.counted)
    of_people = data.people is not None and len(counted) >= 2 * MIN_PEOPLE
    if not of_people and data.n_objects < 2 * _MIN_OBJECTS:
        return None
    found = []
    for _ in progress_bar("halves", n_splits, range(n_splits), unit="split"):
        halves = _halves_of_people(data, rng.permutation(counted)) if of_people else _halves_of_cells(data, rng)
        first, second = (rankdata(pdist(_fresh_map(model, half))) for half in halves)
        is_point = np.ptp(first) == 0 or np.ptp(second) == 0
        found.append(0.0 if is_point else float(np.corrcoef(np.array([first, second]))[0, 1]))
    half, each = float(np.mean(found)), [spearman_brown(value) for value in found]
    by: Grouping = "annotators" if of_people else "questions"
    return SplitHalf(half, spearman_brown(half), min(each), max(each), n_splits, data.n_objects, by)


def _halves_of_people(data: Dissimilarities, people: NDArray[np.intp]) -> Iterator[FloatArray]:
    for part in (people[: len(people) // 2], people[len(people) // 2 :]):
        weights = np.zeros(len(data.sums))
        weights[part] = 1
        yield data.combined(weights)


def _halves_of_cells(data: Dissimilarities, rng: np.random.Generator) -> Iterator[FloatArray]:
    values = data.combined()
    first = rng.permutation(len(values)) % 2 == 0
    for part in (first, ~first):
        yield np.where(part, values, np.nan)

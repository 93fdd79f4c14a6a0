"""The distances of a map: as a matrix for other programs, and whether other answers would reproduce them.

The matrix of a `PosteriorEmbedding` is the mean over draws of all dimensions, the spread its standard deviation; that
of a method with one map is of resampled maps, calibrated as their ellipses are. The reliability R = 2 r / (1 + r)
(Spearman 1910, Brown 1910), r correlating the ranks of distances on maps of two halves of the answers, is multiplied by
the validity V where the answers call for more dimensions. The page on mathematics has both, and their limits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.spatial.distance import cdist, pdist, squareform
from scipy.stats import rankdata
from sklearn.base import clone

from nearer._common.arrays import FloatArray
from nearer._common.formatting import percent, pluralize
from nearer._common.parameters import check_integer
from nearer._common.progress import progress_bar
from nearer._common.randomness import RandomState, stream
from nearer._common.results import Result
from nearer._common.tables import csv_text
from nearer.data.comparisons import Comparisons
from nearer.data.groups import Grouping, group_indices, resolve_grouping, seen_objects, with_positive_weight
from nearer.data.labels import Labels
from nearer.embedding.base import OrdinalEmbedding
from nearer.evaluation.held_out import read_weighted
from nearer.evaluation.uncertainty import Bootstrap

#: Files of a run.
DISTANCES_FILE, SPREAD_FILE = "distances.csv", "distances_spread.csv"
#: Beyond so many objects a matrix fills tens of megabytes: the map says the same in a thousandth of it.
MAX_MATRIX_OBJECTS = 1000
#: From this reliability on distances can be trusted, and from this one on at least what is near and what is far.
DISTANCES_GOOD, DISTANCES_FAIR = 0.9, 0.6
#: The same for the size of 95% ellipses, as a share of the typical distance between two objects.
ELLIPSES_GOOD, ELLIPSES_FAIR = 0.4, 0.8
_N_DRAWS = 400  # of a posterior
_N_RELIABILITY_DRAWS = 200
_MAX_FACTOR = 20  # times as many answers: beyond, a number is no advice
_MIN_OBJECTS = 5  # of which there are ten distances
_MIN_COMPARISONS = 2  # for each object in a half: fewer leave its place to the method, not to the answers
_MAX_OBJECTS = 2000  # for the reliability of distances from draws
_MAX_CORRELATED_OBJECTS = 700  # of two maps: a correlation of 0.75 or more has an error below 0.01


@dataclass(frozen=True, eq=False)
class Distances(Result):
    """Distances between all objects, in the units of the map.

    Attributes
    ----------
    matrix : ndarray, shape (n, n)
    spread : ndarray, shape (n, n), or None
        The standard deviation of each; None where it is not known.
    objects : ndarray, shape (n,)
        Labels, in the order of rows and columns.
    """

    matrix: FloatArray
    spread: FloatArray | None
    objects: Labels


def distance_matrix(model: OrdinalEmbedding, places: Bootstrap | None = None) -> Distances:
    """Return the distances between all objects of a fitted map.

    Parameters
    ----------
    model : fitted estimator
        Of a posterior, the mean distances of its draws; otherwise the distances on the map.
    places : Bootstrap, optional
        Of this map, for the spread of a method that finds one map.

    Examples
    --------
    >>> from nearer.embedding import STE
    >>> model = STE(random_state=0).fit([("a", "b", "c"), ("c", "b", "a"), ("b", "a", "c")])
    >>> found = distance_matrix(model)
    >>> found.matrix.shape, bool(found.matrix[0, 1] < found.matrix[0, 2]), found.spread
    ((3, 3), True, None)
    """
    draws = model._chosen._full_rank_draws(_N_DRAWS, 0)
    if draws is not None:
        mean, spread = _moments(draws)
        return Distances(mean, spread, model.objects_)
    own = cdist(model.embedding_, model.embedding_)
    if places is None or len(places.maps) < 2 or len(places.embedding) != len(own):
        return Distances(own, None, model.objects_)
    return Distances(own, np.sqrt(places.inflation) * _moments(places.maps)[1], model.objects_)


@dataclass(frozen=True, eq=False)
class DistanceReliability(Result):
    """How surely a posterior knows the order of distances: of all, of each object's, and of each pair.

    Attributes
    ----------
    overall : float
        The expected squared correlation of the mean ranks of distances with the true ranks.
    of_objects : ndarray, shape (n,)
        The same for the distances of each object to all others.
    of_pairs : ndarray, shape (n, n)
        By how much less the rank of each distance varies over the posterior than ranks of all distances vary; 1 on the
        diagonal.
    objects : ndarray, shape (n,)

    Examples
    --------
    >>> objects = np.array(["cat", "dog", "car"])
    >>> print(DistanceReliability(0.82, np.array([0.9, 0.85, 0.7]), np.eye(3), objects))
    reliability of distances 0.82; of those of single objects 0.70 (car) to 0.90 (cat)
    """

    overall: float
    of_objects: FloatArray
    of_pairs: FloatArray
    objects: Labels

    def summary(self) -> str:
        """Return the reliability, and which objects have the lowest and the highest."""
        low, high = int(self.of_objects.argmin()), int(self.of_objects.argmax())
        of = (f"{self.of_objects[each]:.2f} ({self.objects[each]})" for each in (low, high))
        return f"reliability of distances {self.overall:.2f}; of those of single objects {' to '.join(of)}"


def distance_reliability(model: OrdinalEmbedding) -> DistanceReliability:
    r"""Return how surely a posterior knows the order of distances, of all, of each object's and of each pair.

    With r_sa the rank of the distance of pair a in draw s, standardized, and V_a its variance over draws,

    .. math:: \rho_a = 1 - V_a, \qquad \rho = \frac{1}{A} \sum_a \rho_a, \qquad
              \rho_i = 1 - \frac{\sum_s \mathrm{Var}_j(r_{sij} - \bar r_{ij})}{\sum_s \mathrm{Var}_j(r_{sij})}.

    These are reliabilities of classical test theory: the share of signal in the variance, which is the squared
    correlation of the mean ranks with the true ones, as far as the model is right. Objects in no comparison have 0.

    Parameters
    ----------
    model : fitted PosteriorEmbedding
        Of up to 2,000 objects.

    Examples
    --------
    >>> from nearer.datasets import make_gaussian, sample_triplets
    >>> from nearer.embedding import PosteriorEmbedding
    >>> points = make_gaussian(12, 2, random_state=0)
    >>> few, many = (sample_triplets(points, m, flipped=0.05, random_state=0) for m in (60, 600))
    >>> one, other = (distance_reliability(PosteriorEmbedding(random_state=0).fit(each)) for each in (few, many))
    >>> one.overall < other.overall, one.of_objects.shape, one.of_pairs.shape
    (True, (12,), (12, 12))
    """
    draws = model._chosen._full_rank_draws(_N_RELIABILITY_DRAWS, 0)
    if draws is None or len(draws) < 2:
        raise ValueError("the reliability of single distances takes draws of a posterior; fit a PosteriorEmbedding")
    n, known = len(model.objects_), np.flatnonzero(compared_objects(model))
    k = len(known)
    if not 3 <= k <= _MAX_OBJECTS:
        raise ValueError(f"the reliability of distances takes 3 to {_MAX_OBJECTS:,} objects that are compared, got {k}")
    mean, squares = np.zeros(k * (k - 1) // 2), np.zeros(k * (k - 1) // 2)
    totals = np.zeros(k)  # variance of the ranks of each object's distances
    common = np.zeros((k, len(draws)))  # their mean in each draw
    for number, points in enumerate(draws):
        ranks = rankdata(pdist(points[known]))
        ranks = (ranks - ranks.mean()) / ranks.std()
        mean += ranks / len(draws)
        squares += ranks**2 / len(draws)
        means, variances = _row_moments(squareform(ranks), squareform(ranks**2))
        common[:, number] = means
        totals += variances / len(draws)
    spread = (squares - mean**2) * len(draws) / (len(draws) - 1)
    noise = squareform(spread).sum(axis=1) / (k - 1) - common.var(axis=1, ddof=1)
    of_objects, of_pairs = np.zeros(n), np.zeros((n, n))
    of_objects[known] = (1 - noise / totals).clip(0, 1)
    of_pairs[np.ix_(known, known)] = squareform((1 - spread).clip(0, 1))
    of_pairs[np.diag_indices(n)] = 1.0
    return DistanceReliability(float(1 - spread.mean()), of_objects, of_pairs, model.objects_)


def _row_moments(values: FloatArray, squared: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and variance of each row of a symmetric matrix without its diagonal of zeros."""
    means = values.sum(axis=1) / (len(values) - 1)
    return means, squared.sum(axis=1) / (len(values) - 1) - means**2


def compared_objects(model: OrdinalEmbedding) -> NDArray[np.bool_]:
    """Return which objects of a map somebody compared, or have features, (n,): the places of others mean nothing."""
    comparisons = model.comparisons_
    if not isinstance(comparisons, Comparisons):
        return np.ones(len(model.objects_), dtype=bool)
    return seen_objects(with_positive_weight(comparisons)) | model._has_features()


def _moments(maps: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation of each distance over maps, one map in memory at a time."""
    mean = np.zeros((maps.shape[1], maps.shape[1]))
    squares = np.zeros_like(mean)
    for number, points in enumerate(maps, start=1):
        away = cdist(points, points) - mean
        mean += away / number
        squares += (1 - 1 / number) * away**2  # Welford: no difference of large numbers
    return mean, np.sqrt(squares / max(len(maps) - 1, 1))


def matrix_csv(matrix: FloatArray, objects: Labels) -> str:
    r"""Return a square matrix as CSV, with the names of the objects in the first row and the first column."""
    labels = [str(label) for label in objects.tolist()]
    rows = zip(labels, matrix.tolist(), strict=True)
    return csv_text([["object", *labels], *([label, *(f"{value:.6g}" for value in row)] for label, row in rows)])


def describe_reliability(reliability: float) -> str:
    """Return in words how reproducible distances are."""
    if reliability >= DISTANCES_GOOD:
        return "would come out much the same with other answers"
    if reliability >= DISTANCES_FAIR:
        return "would come out alike only roughly with other answers"
    return "would come out quite differently with other answers"


def spearman_brown(half: float, times: float = 2.0) -> float:
    """Return the reliability of so many times the answers: the Spearman-Brown formula."""
    half = max(half, 0.0)
    return times * half / (1 + (times - 1) * half)


def describe_answers_needed(reliability: float) -> str:
    """Return in words how many times as many answers distances to be trusted would take.

    Examples
    --------
    >>> describe_answers_needed(0.75), describe_answers_needed(0.88), describe_answers_needed(0.1)
    ('about 3 times as many answers', 'somewhat more answers', 'many more answers')
    """
    times = answers_factor(reliability)
    if times < 1.5:
        return "somewhat more answers"
    return f"about {times:.0f} times as many answers" if times <= _MAX_FACTOR else "many more answers"


def answers_factor(reliability: float, wanted: float = DISTANCES_GOOD) -> float:
    """Return how many times as many answers would have the wanted reliability."""
    return float("inf") if reliability <= 0 else wanted * (1 - reliability) / (reliability * (1 - wanted))


@dataclass(frozen=True)
class SplitHalf(Result):
    """How well maps of two halves of the answers agree in their distances.

    Attributes
    ----------
    half : float
        Mean correlation, over splits, of the distances on the maps of two halves.
    reliability : float
        The same for all answers (Spearman-Brown), times ``validity``; 0 where ``half`` is below 0.
    low, high : float
        The least and the greatest reliability that a single split would give. No confidence interval.
    n_splits, n_objects : int
        Splits, and how many objects both halves compare in the split where they are fewest.
    by : {"trials", "annotators", "questions"}
        What was kept whole.
    validity : float
        How much of the variance of distances in enough dimensions those on the map explain, noise apart: the squared
        correlation. 1 where no method with more dimensions was given.

    Examples
    --------
    >>> print(SplitHalf(0.85, 0.919, 0.89, 0.94, 5, 30, "trials"))
    distances on the map would come out much the same with other answers: reliability 0.92 (0.89 to 0.94 in 5 splits)
    """

    half: float
    reliability: float
    low: float
    high: float
    n_splits: int
    n_objects: int
    by: Grouping
    validity: float = 1.0

    def summary(self) -> str:
        """Return the reliability, its range over splits and the validity as text."""
        explained = ""
        if self.validity < 1:
            share = percent(self.validity)
            explained = f"; distances in its dimensions explain {share} of the variance of those in all of them"
        return (
            f"distances on the map {describe_reliability(self.reliability)}: reliability {self.reliability:.2f} "
            f"({self.low:.2f} to {self.high:.2f} in {pluralize(self.n_splits, 'split')}){explained}"
        )


class Halves(NamedTuple):
    """The maps of two halves of the answers, (n, p), and which objects both halves compare, (n,)."""

    first: FloatArray
    second: FloatArray
    both: NDArray[np.bool_]

    def subset(self, chosen: NDArray[np.bool_]) -> Halves:
        """Return the maps of some objects, of those that both halves compare."""
        kept = self.both & chosen
        return Halves(self.first[kept], self.second[kept], kept)


def split_half(
    estimator: OrdinalEmbedding,
    comparisons: Any,
    *,
    unrestricted: OrdinalEmbedding | None = None,
    n_splits: int = 5,
    by: Grouping = "trials",
    n_jobs: int | None = None,
    random_state: RandomState = None,
) -> SplitHalf:
    """Return how reproducible the distances of a map are, by maps of halves of the answers.

    Parameters
    ----------
    estimator : estimator of `nearer.embedding`
        Copies of it are fitted, two for each split.
    comparisons : Comparisons or array-like, shape (m, 3) or (m, 4)
        Four units or more, two comparisons for each object in each half, and five objects in both.
    unrestricted : estimator of `nearer.embedding`, optional
        One with as many dimensions as the answers call for, where the other has fewer: twice as many fits. Left out,
        the dimensions of the map are taken to be enough.
    n_splits : int >= 1
        Random splits, whose correlations are averaged.
    by : {"trials", "annotators", "questions"}
        What is kept whole, as for `WholeKFold`: by="annotators" asks whether other people would give the same map.
    n_jobs : int, optional
        Fits at a time; 1 if left out, -1 for all cores.
    random_state : None, int, SeedSequence, Generator or RandomState
        For the splits.

    Examples
    --------
    >>> from nearer.datasets import make_gaussian, sample_triplets
    >>> from nearer.embedding import STE
    >>> points = make_gaussian(15, 2, random_state=0)
    >>> many, few = (sample_triplets(points, m, flipped=0.1, random_state=0) for m in (1200, 90))
    >>> found = split_half(STE(2, trace=0.03, random_state=0), many, random_state=0)
    >>> found.low <= found.reliability <= found.high, found.reliability > 0.9
    (True, True)
    >>> split_half(STE(2, trace=0.03, random_state=0), few, random_state=0).reliability < 0.6
    True
    """
    check_integer("n_splits", n_splits, 1)
    judged, rng = read_weighted(comparisons), stream(random_state, "split")
    methods = [estimator] if unrestricted is None else [estimator, unrestricted]
    splits, *others = maps_of_halves(methods, judged, n_splits=n_splits, by=by, n_jobs=n_jobs, rng=rng)
    shown = _correlated_objects(judged.n_objects, rng)
    least = min(int(halves.both.sum()) for halves in splits)
    if least < _MIN_OBJECTS:
        raise ValueError(f"only {pluralize(least, 'object')} can be compared in both halves of the answers; ask more")
    splits, *others = ([halves.subset(shown) for halves in of] for of in (splits, *others))
    found = [_correlation(halves.first, halves.second) for halves in splits]
    mean, validity = float(np.mean(found)), _validity(splits, others[0]) if others else 1.0
    reliabilities = [spearman_brown(r) * validity for r in found]
    reliability, kept = spearman_brown(mean) * validity, resolve_grouping(judged, by)
    return SplitHalf(mean, reliability, min(reliabilities), max(reliabilities), n_splits, least, kept, validity)


def _validity(splits: list[Halves], full: list[Halves]) -> float:
    """Return the squared correlation of distances on the map with those in enough dimensions, noise apart."""
    own, whole = (float(np.mean([_correlation(of.first, of.second) for of in each])) for each in (splits, full))
    if own <= 0 or whole <= 0:  # nothing but noise, as the reliability shows
        return 1.0
    pairs = [maps for a, b in zip(splits, full, strict=True) for maps in ((a.first, b.second), (a.second, b.first))]
    across = max(float(np.mean([_correlation(*maps) for maps in pairs])), 0.0)
    return min(across**2 / (own * whole), 1.0)


def maps_of_halves(
    methods: Sequence[OrdinalEmbedding],
    judged: Comparisons,
    *,
    n_splits: int,
    by: Grouping,
    n_jobs: int | None,
    rng: np.random.Generator,
) -> list[list[Halves]]:
    """Return for each method, and each split, the maps of both halves and which objects both halves compare."""
    kept, units = resolve_grouping(judged, by), group_indices(judged, by)
    sizes = np.bincount(units)
    n_seen = int(seen_objects(judged).sum())
    if len(sizes) < 4:
        raise ValueError(f"{len(sizes)} of the {kept}, which stay whole, cannot be split into two halves; ask more")
    if len(judged) < 2 * _MIN_COMPARISONS * n_seen:
        raise ValueError(
            f"{pluralize(len(judged), 'comparison')} of {pluralize(n_seen, 'object')} are too few to make a map of "
            f"each half; ask at least {pluralize(2 * _MIN_COMPARISONS * n_seen, 'comparison')}"
        )
    first = [_first_half(sizes, rng)[units] for _ in range(n_splits)]
    parts = [judged[np.flatnonzero(half == which)] for half in first for which in (True, False)]
    tasks = [(method, part) for method in methods for part in parts]
    fits = Parallel(n_jobs, return_as="generator")(delayed(_map)(method, part) for method, part in tasks)
    maps = list(progress_bar("split halves", len(tasks), fits, unit="fit"))
    seen = [seen_objects(part) for part in parts]
    halves = [
        Halves(maps[k], maps[k + 1], seen[k % len(parts)] & seen[k % len(parts) + 1]) for k in range(0, len(maps), 2)
    ]
    return [halves[k : k + n_splits] for k in range(0, len(halves), n_splits)]


def ellipse_size(embedding: FloatArray, covariances: FloatArray, radius: float) -> float | None:
    """Return the typical half axis of the objects' ellipses, as a share of the typical distance between two objects.

    The median over objects of the root mean square of the half axes at ``radius`` standard deviations, over the median
    distance between pairs of objects of the map, (n, p); None where that is 0.

    Examples
    --------
    >>> round(ellipse_size(np.array([[0.0], [1.0]]), np.full((2, 1, 1), 0.01), 1.96), 6)
    0.196
    """
    shown = _correlated_objects(len(embedding), np.random.default_rng(0))
    apart = float(np.median(pdist(embedding[shown]))) if len(embedding) > 1 else 0.0
    if apart == 0:
        return None
    half_axes = radius * np.sqrt(np.trace(covariances, axis1=1, axis2=2) / embedding.shape[1])
    return float(np.median(half_axes)) / apart


def _first_half(sizes: NDArray[np.integer], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return which units are in the first of two halves, (u,): in random order, as many as come nearest to half."""
    order = rng.permutation(len(sizes))
    rows = np.cumsum(sizes[order])
    chosen = np.zeros(len(sizes), dtype=bool)
    chosen[order[: 1 + int(np.abs(rows[:-1] - rows[-1] / 2).argmin())]] = True
    return chosen


def _correlated_objects(n_objects: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return the objects whose distances are correlated, (n,): all, or a random sample of many."""
    shown = np.ones(n_objects, dtype=bool)
    shown[rng.permutation(n_objects)[_MAX_CORRELATED_OBJECTS:]] = False
    return shown


def _map(estimator: OrdinalEmbedding, part: Comparisons) -> FloatArray:
    return clone(estimator).fit(part).embedding_


def _correlation(first: FloatArray, second: FloatArray) -> float:
    """Return Spearman's correlation of the distances of two maps; 0 where a map has one distance for all."""
    if len(first) < _MIN_OBJECTS:
        return 0.0
    ranks = np.array([rankdata(pdist(points)) for points in (first, second)])
    return 0.0 if (np.ptp(ranks, axis=1) == 0).any() else float(np.corrcoef(ranks)[0, 1])

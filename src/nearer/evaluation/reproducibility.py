"""How far a map can be trusted: whether other answers would give the same distances, and the size of its ellipses.

**Split-half reliability.** Deal the answers out into two random halves, whole trials or people at a time; fit the same
method, in the same number of dimensions, to each half; and correlate the distances of all pairs of objects in the
one map with those in the other, over the objects that both halves compare. Distances need no alignment, and their
ranks (Spearman's correlation) neither a common scale nor a common shape of it, which comparisons do not fix. Let r be
the mean over several such splits. Half of the answers make a worse map than all of them. If the distances of a map are
the true ones plus errors, those of the two halves are independent, and twice the answers halve their variance, then
those of a map of all answers would correlate with those of another map, of as many other answers, at

    R = 2 r / (1 + r)                                                                   (Spearman 1910, Brown 1910),

and with the true distances at sqrt(R). For k times as many answers, R becomes k R / (1 + (k - 1) R).

**How true that is.** Over simulated studies (12, 30 and 80 objects in 1 to 5 dimensions, 0.5 to 16 n p ln n noisy
triplets, maps by STE, SOE and CKL) the correlation of the distances on the map of all answers with the true ones was:

    R                                     below 0.3   0.3-0.6     0.6-0.8     0.8-0.9     0.9-0.95    above
    studies                               142         104         92          60          71          114
    sqrt(R), mean                         0.30        0.66        0.84        0.92        0.96        0.99
    correlation with the truth, median    0.45        0.76        0.90        0.92        0.96        0.98
    5% and 95% of studies below           0.05 0.81   0.40 0.89   0.75 0.95   0.85 0.97   0.91 0.98   0.91 1.00
    true comparisons right, median        0.66        0.78        0.86        0.89        0.92        0.95

The step up assumes errors that fall as one over the number of answers. Where answers are few they fall faster, so
that R is too low there, which errs on the safe side. From R = 0.9 on the correlation with the truth is at least 0.9
in nineteen studies of twenty (178 of 185), from 0.6 on at least 0.75, and below it may be anything: `DISTANCES_GOOD`
and `DISTANCES_FAIR` are these two. Six of the seven others are maps by CKL, whose distances are reproduced with a bias,
and one is a folded line.

**Too few dimensions.** A map of two dimensions of something that has three is reproduced well and wrong all the same:
with 20 objects and 1500 noisy triplets sqrt(R) was 0.05 above the correlation with the true distances, where it is 0.01
above it if two dimensions are enough. What is missing is in both halves, so that their agreement does not tell. Maps of
enough dimensions tell: with d the distances on the map of one half, and D those of the other half in enough dimensions,

    V = cor(d, D)^2 / (cor(d, d') cor(D, D'))

is the squared correlation that both would have without noise (Spearman's correction for attenuation; d' and D' are
those of the other halves). It is the validity of the map as a picture of all dimensions, and the reliability is R V.

**What it cannot see.** A bias that both halves share otherwise: a method that pulls rarely compared objects to the
middle. The held-out error, against the noise ceiling, tells of that. Both are needed.

**Ellipses.** The typical ellipse is the median over objects of the root mean square of its half axes. It is told as a
share of the typical (median) distance between two objects: with a share of 0.1 a typical object is known to lie within
a tenth of the distance that objects typically are apart. In 118 further studies (12, 25 and 50 objects in 1 to 3
dimensions, STE and SOE) the correlation of distances with the true ones was, for 95% ellipses of a size of

    size                                  below 0.2   0.2-0.3     0.3-0.4     0.4-0.6     0.6-0.8     above
    studies                               38          28          14          18          10          10
    correlation with the truth, median    0.99        0.97        0.95        0.91        0.88        0.76
    5% of studies below                   0.97        0.93        0.90        0.82        0.75        0.63

so that up to 0.4 and up to 0.8 stand for the same as a reliability of 0.9 and 0.6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.spatial.distance import pdist
from scipy.stats import rankdata
from sklearn.base import clone

from nearer._common.arrays import FloatArray
from nearer._common.formatting import percent, pluralize
from nearer._common.parameters import check_integer
from nearer._common.progress import progress_bar
from nearer._common.randomness import RandomState, stream
from nearer.data.comparisons import Comparisons
from nearer.data.groups import Grouping, group_indices, resolve_grouping, seen_objects
from nearer.embedding.base import OrdinalEmbedding
from nearer.evaluation.held_out import read_judged

__all__ = ["DISTANCES_FAIR", "DISTANCES_GOOD", "SplitHalf", "ellipse_size", "split_half"]

#: From this reliability on distances can be trusted, and from this one on at least what is near and what is far.
DISTANCES_GOOD, DISTANCES_FAIR = 0.9, 0.6
#: The same for the size of 95% ellipses, as a share of the typical distance between two objects.
ELLIPSES_GOOD, ELLIPSES_FAIR = 0.4, 0.8
_MOST_TIMES = 20  # as many answers: beyond, a number is no advice
_FEWEST_OBJECTS = 5  # of which there are ten distances
_FEWEST_FOR_EACH = 2  # comparisons for each object in a half: fewer leave its place to the method, not to the answers
_MOST_OBJECTS = 2000  # whose distances, two million, are looked at


def reproduced(reliability: float) -> str:
    """Say how far distances are reproducible.

    Examples
    --------
    >>> reproduced(0.7)
    'would come out alike only roughly with other answers'
    """
    if reliability >= DISTANCES_GOOD:
        return "would come out much the same with other answers"
    if reliability >= DISTANCES_FAIR:
        return "would come out alike only roughly with other answers"
    return "would come out quite differently with other answers"


def stepped_up(half: float, times: float = 2.0) -> float:
    """Return the reliability of so many times the answers: the formula of Spearman and Brown.

    Examples
    --------
    >>> round(stepped_up(0.6), 6), stepped_up(-0.1)
    (0.75, 0.0)
    """
    half = max(half, 0.0)
    return times * half / (1 + (times - 1) * half)


def more_answers(reliability: float) -> str:
    """Say how many answers distances would need to be trusted, as a multiple of those there are.

    Examples
    --------
    >>> more_answers(0.75), more_answers(0.88), more_answers(0.1)
    ('about 3 times as many answers', 'somewhat more answers', 'many more answers')
    """
    times = times_needed(reliability)
    if times < 1.5:
        return "somewhat more answers"
    return f"about {times:.0f} times as many answers" if times <= _MOST_TIMES else "many more answers"


def times_needed(reliability: float, wanted: float = DISTANCES_GOOD) -> float:
    """Return how many times as many answers would bring a reliability to the wanted one.

    Examples
    --------
    >>> round(times_needed(0.75, 0.9), 6), times_needed(0.0)
    (3.0, inf)
    """
    return float("inf") if reliability <= 0 else wanted * (1 - reliability) / (reliability * (1 - wanted))


@dataclass(frozen=True)
class SplitHalf:
    """How well maps of two halves of the answers agree in their distances.

    Attributes
    ----------
    half : float
        Mean correlation, over splits, of the distances on the maps of two halves.
    reliability : float
        The same stepped up to all answers, times ``validity``; 0 where ``half`` is below 0.
    low, high : float
        The least and the greatest reliability that a single split would give. No confidence interval.
    n_splits : int
    n_objects : int
        How many objects both halves compare, in the split where they are fewest.
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

    def __str__(self) -> str:
        return (
            f"distances on the map {reproduced(self.reliability)}: reliability {self.reliability:.2f} "
            f"({self.low:.2f} to {self.high:.2f} in {pluralize(self.n_splits, 'split')}){self._missing()}"
        )

    def _missing(self) -> str:
        """Return how much of the distances in all dimensions the map shows."""
        if self.validity >= 1:
            return ""
        return f"; distances in its dimensions explain {percent(self.validity)} of the variance of those in all of them"


class Halves(NamedTuple):
    """The maps of two halves of the answers, (n, p), and which objects both halves compare, (n,)."""

    first: FloatArray
    second: FloatArray
    both: NDArray[np.bool_]

    def only(self, shown: NDArray[np.bool_]) -> Halves:
        """Return the maps of those of these objects that both halves compare."""
        kept = self.both & shown
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

    Returns
    -------
    SplitHalf

    Raises
    ------
    ValueError
        Where it cannot be told: fewer than four units, fewer than five objects in both halves, or halves with fewer
        than two comparisons for each object.

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
    judged, rng = read_judged(comparisons), stream(random_state, "split")
    methods = [estimator] if unrestricted is None else [estimator, unrestricted]
    splits, *others = maps_of_halves(methods, judged, n_splits=n_splits, by=by, n_jobs=n_jobs, rng=rng)
    shown = _shown(judged.n_objects, rng)
    least = min(int(halves.both.sum()) for halves in splits)
    if least < _FEWEST_OBJECTS:
        raise ValueError(f"only {pluralize(least, 'object')} can be compared in both halves of the answers; ask more")
    splits, *others = ([halves.only(shown) for halves in of] for of in (splits, *others))
    found = [_correlation(halves.first, halves.second) for halves in splits]
    mean, validity = float(np.mean(found)), _validity(splits, others[0]) if others else 1.0
    stepped = [stepped_up(r) * validity for r in found]
    reliability, kept = stepped_up(mean) * validity, resolve_grouping(judged, by)
    return SplitHalf(mean, reliability, min(stepped), max(stepped), n_splits, least, kept, validity)


def _validity(splits: list[Halves], full: list[Halves]) -> float:
    """Return the squared correlation of distances on the map with those in enough dimensions, noise apart."""
    own, whole = (float(np.mean([_correlation(of.first, of.second) for of in each])) for each in (splits, full))
    if own <= 0 or whole <= 0:  # nothing but noise, as the reliability says
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
    _check_enough(judged, len(sizes), kept)
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

    Parameters
    ----------
    embedding : ndarray, shape (n, p)
    covariances : ndarray, shape (n, p, p)
    radius : float
        How many standard deviations an ellipse reaches out.

    Returns
    -------
    float or None
        None where the typical distance is 0.

    Examples
    --------
    >>> round(ellipse_size(np.array([[0.0], [1.0]]), np.full((2, 1, 1), 0.01), 1.96), 6)
    0.196
    """
    shown = _shown(len(embedding), np.random.default_rng(0))
    apart = float(np.median(pdist(embedding[shown]))) if len(embedding) > 1 else 0.0
    if apart == 0:
        return None
    half_axes = radius * np.sqrt(np.trace(covariances, axis1=1, axis2=2) / embedding.shape[1])
    return float(np.median(half_axes)) / apart


def _check_enough(comparisons: Comparisons, n_units: int, by: Grouping) -> None:
    seen = int(seen_objects(comparisons).sum())
    if n_units < 4:
        raise ValueError(f"two halves cannot be made of {n_units} of the {by}, which stay whole; ask more")
    if len(comparisons) < 2 * _FEWEST_FOR_EACH * seen:
        raise ValueError(
            f"{pluralize(len(comparisons), 'comparison')} of {pluralize(seen, 'object')} are too few to make a map "
            "of each "
            f"half; ask at least {pluralize(2 * _FEWEST_FOR_EACH * seen, 'comparison')}"
        )


def _first_half(sizes: NDArray[np.integer], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return which units are in the first of two halves, (u,): in random order, as many as come nearest to half."""
    order = rng.permutation(len(sizes))
    rows = np.cumsum(sizes[order])
    chosen = np.zeros(len(sizes), dtype=bool)
    chosen[order[: 1 + int(np.abs(rows[:-1] - rows[-1] / 2).argmin())]] = True
    return chosen


def _shown(n_objects: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return which objects' distances are looked at, (n,): all, or as many as there is time for."""
    shown = np.ones(n_objects, dtype=bool)
    shown[rng.permutation(n_objects)[_MOST_OBJECTS:]] = False
    return shown


def _map(estimator: OrdinalEmbedding, part: Comparisons) -> FloatArray:
    points: FloatArray = clone(estimator).fit(part).embedding_
    return points


def _correlation(first: FloatArray, second: FloatArray) -> float:
    """Return Spearman's correlation of the distances of two maps; 0 where a map has one distance for all."""
    if len(first) < _FEWEST_OBJECTS:
        return 0.0
    ranks = np.array([rankdata(pdist(points)) for points in (first, second)])
    return 0.0 if (np.ptp(ranks, axis=1) == 0).any() else float(np.corrcoef(ranks)[0, 1])

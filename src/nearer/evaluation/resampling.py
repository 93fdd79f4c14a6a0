"""The fits of a bootstrap: to resampled answers, and to copies of the data; and maps laid onto each other.

Answers like those at hand, given by a map that is known: how far an estimator errs, measured on copies of the data.

A copy asks the same questions. A map X of our choosing answers them, and errs with a chance that depends on how clear a
question is: on its rank among all questions by the difference of the two squared distances, or by their ratio,
whichever tells more of the errors that the fitted map makes. The chances at the middles of five groups of equal numbers
of questions, from unclear to clear, describe the noise; between them it is interpolated. Flips, logistic noise, noise
that grows with distance and much else are of this form. The estimator is fitted to the copy, and its map compared with
X, which it was to find.

The fitted map itself would be a poor X. It agrees with its own answers better than the truth does, so that noise
measured on it is too small; and what the estimator does to every map, such as pulling outer objects in when answers are
often wrong, it has done to this one already, and would do less the second time. So X and the chances are those whose
copies *look like the data once they are fitted* (indirect inference): with Y the map of the data, t the shares of
answers in the five groups that it has wrong, and E[.] the mean over copies,

    E[fitted map] = Y,        E[shares that the fitted map has wrong] = t.

Both are solved by stochastic approximation, starting at (Y, t): a step adds what is missing, steps become
shorter, and the second half of the way is averaged. Chances stay between 0 and 1/2.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from nearer.common.arrays import FloatArray
from nearer.data.comparisons import Comparisons
from nearer.data.units import restricted, seen_objects, with_positive_weight
from nearer.embedding.base import OrdinalEmbedding
from nearer.evaluation.metrics import margins
from nearer.geometry import rotation, same_size
from nearer.problems.margins import pair_distances

#: Fits many sets of comparisons and returns their maps, in order.
Fit: TypeAlias = Callable[[list[Comparisons]], list[FloatArray]]

Clearness: TypeAlias = Literal["difference", "ratio"]

N_STEPS, N_COPIES = 8, 4  # of the search; its last half is averaged
N_GROUPS = 5


@dataclass(frozen=True, eq=False)
class Imitation:
    """A map, over the objects that are compared, and noise, which together give answers like those at hand.

    Attributes
    ----------
    points : ndarray, shape (n, p)
        Centred.
    chances : ndarray, shape (N_GROUPS,)
        Of wrong answers, from the least clear questions to the clearest.
    clearness : {"difference", "ratio"}
        Of squared distances: by which questions are ranked.
    """

    points: FloatArray
    chances: FloatArray
    clearness: Clearness = "difference"

    def answers(self, comparisons: Comparisons, rng: np.random.Generator) -> Comparisons:
        """Return the questions of these comparisons with answers of this map."""
        gaps = gaps_of(comparisons, self.points, self.clearness)
        middles = (np.arange(N_GROUPS) + 0.5) / N_GROUPS
        wrong = rng.random(len(comparisons)) < np.interp(_ranks(gaps), middles, self.chances)
        as_read = (np.where(gaps == 0, rng.random(len(gaps)) - 0.5, gaps) > 0) != wrong
        turned = np.where(as_read, 1, -1).astype(np.int8)
        signs = np.int8(1) if comparisons.answers is None else comparisons.answers
        return replace(comparisons, answers=signs * turned)

    def misses(self, fitted: list[FloatArray]) -> FloatArray:
        """Return where the map lies as seen from fitted ones, in its own frame: (k, n, p)."""
        turned = [same_size(points, self.points) for points in fitted]
        return np.array([closeness * self.points - points for points, closeness in turned])


def imitate(comparisons: Comparisons, embedding: FloatArray, fit: Fit, rng: np.random.Generator) -> Imitation:
    """Return the map and the noise whose answers make the estimator find this embedding, and as many answers wrong.

    Parameters
    ----------
    comparisons : Comparisons
        Each object takes part in at least one.
    embedding : ndarray, shape (n, p)
        What the estimator makes of them.
    fit : callable
        The estimator: from sets of comparisons to maps.
    rng : Generator
    """
    centred = embedding - embedding.mean(axis=0)
    clearness = telling_clearness(comparisons, centred)
    target = shares_wrong(comparisons, centred, clearness)
    chances, points = target.clip(0, 0.5), centred
    way: list[Imitation] = []
    for step in range(N_STEPS):
        imitation = Imitation(points, chances, clearness)
        copies = [imitation.answers(comparisons, rng) for _ in range(N_COPIES)]
        fitted = fit(copies)
        wrong = [shares_wrong(copy, each, clearness) for copy, each in zip(copies, fitted, strict=True)]
        found = np.mean(wrong, axis=0)
        middle = np.mean([same_size(each, centred)[0] for each in fitted], axis=0)
        length = 1 / (1 + step / 3)
        chances = (chances + length * (target - found)).clip(0, 0.5)
        points = _as_large(points + length * (centred - middle), centred)
        way.append(Imitation(points, chances, clearness))
    later = way[N_STEPS // 2 :]
    points = _as_large(np.mean([each.points for each in later], axis=0), centred)
    return Imitation(points, np.mean([each.chances for each in later], axis=0), clearness)


def telling_clearness(comparisons: Comparisons, points: FloatArray) -> Clearness:
    """Return by which clearness the errors of a map are told better: where the shares in groups are likelier."""

    def likelihood(clearness: Clearness) -> float:
        shares = shares_wrong(comparisons, points, clearness)
        return -float(np.sum(entr(shares) + entr(1 - shares)))  # groups are of equal size

    return "ratio" if likelihood("ratio") > likelihood("difference") else "difference"


def shares_wrong(comparisons: Comparisons, points: FloatArray, clearness: Clearness = "difference") -> FloatArray:
    """Return the weighted shares of answers against a map, in groups from the least clear to the clearest questions.

    Examples
    --------
    >>> line = np.arange(7.0)[:, None]
    >>> shares_wrong(Comparisons.from_triplets([[0, 2, 1], [0, 1, 3], [0, 1, 4], [0, 1, 5], [0, 1, 6]]), line).tolist()
    [1.0, 0.0, 0.0, 0.0, 0.0]
    """
    gaps, weights = gaps_of(comparisons, points, clearness), comparisons.sample_weight
    group = (_ranks(gaps) * N_GROUPS).astype(int)
    wrong = np.where(gaps == 0, 0.5, gaps < 0)
    totals = np.bincount(group, weights, N_GROUPS)
    shares: FloatArray = np.bincount(group, weights * wrong, N_GROUPS) / np.where(totals > 0, totals, 1)
    return shares


def gaps_of(comparisons: Comparisons, points: FloatArray, clearness: Clearness) -> FloatArray:
    """Return how much larger the far squared distance of each answer is: by difference, or by the log of the ratio."""
    gaps = margins(comparisons, points)
    if clearness == "difference":
        return gaps
    i, j, l, k = comparisons.quadruplets.T  # noqa: E741
    near, far = pair_distances(points, i, j), pair_distances(points, l, k)
    least = np.finfo(np.float64).tiny  # of a distance between objects in one place
    ratios: FloatArray = np.sign(gaps) * np.abs(np.log(np.maximum(far, least) / np.maximum(near, least)))
    return ratios


def _as_large(points: FloatArray, other: FloatArray) -> FloatArray:
    size = np.linalg.norm(points)
    return points * (np.linalg.norm(other) / size) if size > 0 else other


def _ranks(gaps: FloatArray) -> FloatArray:
    """Return the ranks of the sizes of gaps, between 0 and 1."""
    ranks = np.empty(len(gaps))
    ranks[np.argsort(np.abs(gaps), kind="stable")] = (np.arange(len(gaps)) + 0.5) / len(gaps)
    return ranks


@dataclass(frozen=True, eq=False)
class Work:
    """What all fits of one bootstrap share."""

    estimator: OrdinalEmbedding
    reference: FloatArray
    comparisons: Comparisons
    n_jobs: int | None
    bar: Any

    @property
    def seen(self) -> NDArray[np.bool_]:
        """The objects that comparisons of positive weight mention."""
        return seen_objects(with_positive_weight(self.comparisons))

    def fit(self, sets: Iterable[Comparisons]) -> list[FloatArray]:
        """Return the maps of sets of comparisons."""
        from joblib import Parallel, delayed

        maps = []
        for points in Parallel(self.n_jobs, return_as="generator")(delayed(_map)(self.estimator, s) for s in sets):
            maps.append(points)
            self.bar.update()
        return maps

    def resampled(self, units: NDArray[np.intp], n_resamples: int, rng: np.random.Generator) -> FloatArray:
        """Return maps of answers with a random weight for each unit, aligned with the reference, (b, n, p)."""
        before = self.comparisons.sample_weight

        def drawn() -> Comparisons:
            weights = before * rng.exponential(size=units.max() + 1)[units]
            # A penalty may be in units of one comparison: their number stays.
            return replace(self.comparisons, weights=weights * (before.sum() / weights.sum()))

        seen = self.seen
        return np.array(
            [_aligned(points, self.reference, seen) for points in self.fit(drawn() for _ in range(n_resamples))]
        )

    def distances(self, spread: FloatArray, n_simulations: int, rng: np.random.Generator) -> FloatArray:
        """Return squared distances of true from fitted places in copies of the data, by this spread, (k * n seen,)."""
        kept, seen = restricted(with_positive_weight(self.comparisons))
        reference = self.reference[seen]
        work = replace(self, comparisons=kept, estimator=clone(self.estimator).set_params(n_objects=None))
        imitation = imitate(kept, reference, work.fit, rng)
        misses = imitation.misses(work.fit(imitation.answers(kept, rng) for _ in range(n_simulations)))
        onto = reference - reference.mean(axis=0)
        return squared_distances(misses @ rotation(imitation.points, onto)[0], spread[seen]).ravel()


def _map(estimator: OrdinalEmbedding, comparisons: Comparisons) -> FloatArray:
    with warnings.catch_warnings():
        # One fit of hundreds that stops early changes no ellipse; the fit to all answers has warned already.
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted: FloatArray = clone(estimator).fit(comparisons).embedding_
    return fitted


def _aligned(points: FloatArray, onto: FloatArray, seen: NDArray[np.bool_]) -> FloatArray:
    """Return points with those ``seen`` laid onto others; the rest, of which nothing is known, lie as these others."""
    centre = onto[seen].mean(axis=0)
    turned, closeness = same_size(points[seen], onto[seen] - centre)
    result = onto.copy()
    result[seen] = closeness * turned + centre
    return result


def mean_squares(away: FloatArray) -> FloatArray:
    """Return the mean of the outer products of deviations, (b, n, p), with themselves: (n, p, p)."""
    squares: FloatArray = np.einsum("bip,biq->ipq", away, away) / len(away)
    return squares


def squared_distances(away: FloatArray, covariances: FloatArray) -> FloatArray:
    """Return squared Mahalanobis distances, (..., n), of deviations, (..., n, p)."""
    p = covariances.shape[-1]
    # An object that never moves, or moves along a line, must not divide by zero.
    least = 1e-9 * np.trace(covariances, axis1=1, axis2=2).mean() or 1.0
    inverses = np.linalg.inv(covariances + least * np.eye(p))
    distances: FloatArray = np.einsum("...ip,ipq,...iq->...i", away, inverses, away)
    return distances

r"""How far to trust the place of each object: maps of resampled answers, and ellipses of a size that was checked.

**Resampling.** Each unit (trial, annotator or question) gets a weight from a flat Dirichlet distribution, the
Bayesian bootstrap of Rubin (1981): as multinomial counts have it, mean 1 and variance near 1, but never 0, so that no
object loses all its answers. The estimator is fitted again from its own start, so that a fit that can end in another
basin does so here too. The map X* is moved, turned, mirrored and scaled onto the reference X (Procrustes), and

    S_i = mean over resamples of (x*_i - x_i) (x*_i - x_i)^T.

The deviation is from the reference, not from the mean of the resamples, so that a bias that resampling shows counts.

**Why that is not enough.** A resample errs around X, and X errs around the truth; the two are alike only if the
estimator is nearly linear and unbiased. It is neither: a penalty pulls objects in, wrong answers bend the map even
where there are very many, and alignment takes up some of the variance. Ellipses of S_i that should cover 95% cover from
55% to 98%, depending on estimator and data.

**Calibration.** Copies of the data are made from a map and noise that were chosen such that the copies look like
the data (see `evaluation.uncertainty`). There the truth is known, so that its squared distances from fitted maps,

    d^2_ik = e_ik^T S_i^{-1} e_ik,        e_ik = (true - fitted place of i in copy k, after Procrustes alignment),

can be set beside chi^2_p, which they would follow if S_i told all. The covariances are

    C_i = c S_i,        c = (95% point of all d^2_ik) / (95% point of chi^2_p),

and an ellipse of another level has the radius that covers as many e_ik. One number c serves all objects: S_i says
which objects, and which directions, are less certain, and the copies say how large everything is. In copies rows are
answered independently. Where units have several rows, the S_i of d^2 is therefore that of resampled rows, and c
multiplies the one of resampled units, which keeps what answers of a unit have in common.

**People.** Answers of one person share that person's steepness, lapses and way of seeing things. By trials, ellipses
speak of further answers of the same people; by annotators, of further people, and are larger where people differ. That
is the default where enough people are known. As these are few, random weights understate the variance, and quantiles
of a normal distribution are too short: S_i is multiplied by `small_sample_factor`, squared.

**Dimension.** The copies are answered by a map of as many dimensions as the one shown: ellipses assume that these are
enough. Where the truth has more, they do not show what the missing ones do, and are too small. Those of
`PosteriorEmbedding` are of draws with all dimensions that the answers call for, projected onto the map.

An estimator that tunes itself is tuned once, on all answers, and keeps those settings in all further fits.
What the choice of settings adds to the uncertainty is not in the ellipses.

**Limits.** As ``python -m benchmarks coverage`` counts them, the ellipses of STE, over 100 maps of 30 objects each,
cover 94.5% with a tenth of the answers exchanged (88% without calibration) and 95.4% with logistic noise (85%). With
few answers for each object they are a little too large, 98% to 99%; with CKL and TSTE at their defaults, which let
objects fly far out when answers are exchanged, clearly too large. The measure is the average over objects, not each
object by itself.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr
from scipy.stats import chi2
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from nearer._common.arrays import FloatArray, checked_points
from nearer._common.parameters import check_integer, check_level
from nearer._common.progress import progress_bar
from nearer._common.randomness import RandomState, stream
from nearer.data.comparisons import Comparisons, as_comparisons
from nearer.data.groups import (
    Grouping,
    default_resampling_unit,
    question_indices,
    resolve_grouping,
    restrict_to_seen,
    seen_objects,
    small_sample_factor,
    with_positive_weight,
)
from nearer.data.labels import Labels, factorize
from nearer.data.streamed import StreamedComparisons
from nearer.embedding.base import OrdinalEmbedding
from nearer.evaluation.metrics import margins
from nearer.geometry import align, covariance_ellipses, match_size, rotation
from nearer.optimize.problems.margins import pair_distances

__all__ = ["Bootstrap", "bootstrap"]

N_SIMULATIONS = 60
LEVEL = 0.95  # at which the covariances are calibrated
_FEWEST = 10  # resamples, of which a covariance means something


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """A map, maps that other answers might have given, and where each object may lie.

    Attributes
    ----------
    embedding : ndarray, shape (n, p)
        The reference: the map of all answers.
    maps : ndarray, shape (b, n, p)
        Of the resamples, each aligned with the reference.
    covariances : ndarray, shape (n, p, p)
        Around the reference. Calibrated, so that they are larger or smaller than those of ``maps``.
    objects : ndarray, shape (n,)
        Labels.
    inflation : float
        The factor c between both; 1 without calibration.
    distances : ndarray, shape (k,)
        Squared Mahalanobis distances, by ``covariances``, of known truths from fitted maps, in rising order; empty
        without calibration.
    by : {"trials", "annotators", "questions"} or None
        What was resampled; None for draws of a posterior.

    Examples
    --------
    >>> maps = np.array([[[0.0], [1.0]], [[0.2], [0.8]]])
    >>> trust = Bootstrap(np.array([[0.1], [0.9]]), maps, np.full((2, 1, 1), 0.01), np.arange(2))
    >>> trust.std.round(6).tolist(), round(trust.radius(0.95), 3)
    ([[0.1], [0.1]], 1.96)
    """

    embedding: FloatArray
    maps: FloatArray
    covariances: FloatArray
    objects: Labels
    inflation: float = 1.0
    distances: FloatArray = field(default_factory=lambda: np.empty(0))
    by: Grouping | None = None

    @property
    def std(self) -> FloatArray:
        """Standard deviation of each coordinate, (n, p)."""
        return np.sqrt(np.diagonal(self.covariances, axis1=1, axis2=2))

    def radius(self, level: float = 0.95, n_axes: int | None = None) -> float:
        """Return how many standard deviations an ellipse over so many axes reaches out; all axes if left out.

        The square root of a quantile of chi-square, times what the copies of the data show at this level: nothing at
        95%, which the covariances are calibrated at.
        """
        check_level(level)
        p = self.embedding.shape[1]
        n_axes = p if n_axes is None else n_axes
        if n_axes not in range(1, p + 1):
            raise ValueError(f"n_axes must be from 1 to {p}, the dimension of the map, got {n_axes!r}")
        squared = float(chi2.ppf(level, n_axes))
        if len(self.distances):
            squared *= float(np.quantile(self.distances, level) / chi2.ppf(level, p))
        return float(np.sqrt(squared))

    def ellipses(self, level: float = 0.95, axes: tuple[int, int] = (0, 1)) -> FloatArray:
        """Return an ellipse for each object, (n, 5): centre, half axes (longer first), angle in degrees.

        Each covers the true place of its object with this probability; `nearer.plotting.plot_map` draws them.

        Parameters
        ----------
        level : float
            Between 0 and 1.
        axes : pair of int
            Which two axes of the map.
        """
        radius = self.radius(level, min(2, self.embedding.shape[1]))
        return covariance_ellipses(self.embedding, self.covariances, radius, axes)

    def covers(self, truth: ArrayLike, level: float = 0.95) -> NDArray[np.bool_]:
        """Return for each object whether its true place, the truth laid onto the map, is in its ellipse (ellipsoid).

        Parameters
        ----------
        truth : array of shape (n, p)
            Moved, turned, mirrored and scaled onto the map by all objects.
        level : float
        """
        points = checked_points(truth, "truth")
        if points.shape != self.embedding.shape:
            raise ValueError(f"truth must have the shape {self.embedding.shape} of the map, got {points.shape}")
        away = align(points, self.embedding) - self.embedding
        inside: NDArray[np.bool_] = squared_distances(away, self.covariances) <= self.radius(level) ** 2
        return inside


def bootstrap(
    estimator: OrdinalEmbedding,
    comparisons: Comparisons | ArrayLike,
    *,
    n_resamples: int = 100,
    by: Grouping | None = None,
    n_simulations: int = N_SIMULATIONS,
    n_jobs: int | None = None,
    random_state: RandomState = None,
) -> Bootstrap:
    """Return where each object may lie, by maps of resampled answers, calibrated on copies of the data.

    A `PosteriorEmbedding` has a distribution of maps of its own, from which ``n_resamples`` are drawn instead; it knows
    nothing of trials or annotators.

    Parameters
    ----------
    estimator : estimator of nearer.embedding
        Not changed. One that is fitted to these very comparisons is not fitted to them again.
    comparisons : Comparisons or array of shape (m, 3) or (m, 4)
    n_resamples : int
        At least 10.
    by : {"trials", "annotators", "questions"}, optional
        What is resampled as a whole, as for `WholeKFold`: without trials, by="trials" means questions. Left out:
        annotators where answers are known to be of enough people, else trials; see `nearer.data.groups`.
    n_simulations : int
        Copies of the data for the calibration, which takes 32 further fits. 0 leaves it out: the ellipses are then
        mostly too small, now and then too large.
    n_jobs : int, optional
        Fits side by side, as in joblib; -1 is one on each core. The result is the same for any number.
    random_state : int, Generator, SeedSequence or None

    Returns
    -------
    Bootstrap

    Examples
    --------
    >>> from nearer.datasets import make_gaussian, sample_triplets
    >>> from nearer.embedding import STE
    >>> points = make_gaussian(15, 2, random_state=0)
    >>> answers = sample_triplets(points, 600, flipped=0.1, random_state=0)
    >>> trust = bootstrap(STE(2), answers, n_resamples=20, n_simulations=10, random_state=0)
    >>> trust.maps.shape, trust.ellipses().shape
    ((20, 15, 2), (15, 5))
    >>> bool(trust.covers(points).mean() > 0.8)
    True
    """
    check_integer("n_resamples", n_resamples, _FEWEST)
    check_integer("n_simulations", n_simulations, 0)
    if isinstance(comparisons, StreamedComparisons):
        raise ValueError("a bootstrap needs all comparisons in memory; pass Comparisons")
    judgments = as_comparisons(comparisons, n_objects=estimator.n_objects)
    kept = resolve_grouping(judgments, by) if by else default_resampling_unit(judgments)
    units = _units(judgments, kept)
    model = _fitted(estimator, judgments)
    draws = model._map_draws(int(n_resamples), random_state)
    if draws is not None:
        return Bootstrap(model.embedding_, *draws, model.objects_)
    if not model.embedding_.any():
        raise ValueError("the map is a single point, which has no ellipses; see the warning of its fit")
    seed = np.random.SeedSequence(int(stream(random_state, "split").integers(2**63)))
    rng = np.random.default_rng(seed)
    alone = int(units.max()) + 1 == len(units)
    total = n_resamples * (1 if alone or not n_simulations else 2)
    total += n_simulations + N_STEPS * N_COPIES if n_simulations else 0
    with progress_bar("bootstrap", total, unit="fit") as bar:
        work = Work(model._with_chosen_settings(), model.embedding_, judgments, n_jobs, bar)
        maps = work.resampled(units, n_resamples, rng)
        spread = mean_squares(maps - model.embedding_)
        distances = np.empty(0)
        if n_simulations:
            rows = maps if alone else work.resampled(np.arange(len(judgments)), n_resamples, rng)
            distances = work.distances(mean_squares(rows - model.embedding_), n_simulations, rng)
        if kept == "annotators":
            spread *= small_sample_factor(units) ** 2
    # Above 0: where every copy is fitted to the last bit there is nothing to divide by.
    inflation = (
        max(float(np.quantile(distances, LEVEL)), 1e-12) / chi2.ppf(LEVEL, maps.shape[2]) if n_simulations else 1.0
    )
    covariances = inflation * spread
    # Of an object in no comparison nothing is known but the cloud that all come from.
    covariances[~work.seen] = np.cov(model.embedding_[work.seen].T).reshape(maps.shape[2], -1)
    distances = np.sort(distances) / inflation
    return Bootstrap(model.embedding_, maps, covariances, judgments.objects, inflation, distances, kept)


def _fitted(estimator: OrdinalEmbedding, comparisons: Comparisons) -> OrdinalEmbedding:
    if getattr(estimator, "comparisons_", None) is comparisons:
        return estimator
    fitted: OrdinalEmbedding = clone(estimator).fit(comparisons)
    return fitted


def _units(comparisons: Comparisons, kept: Grouping) -> NDArray[np.intp]:
    """Return the number of the unit that each row belongs to, (m,); trials and annotators in the order of labels."""
    units = question_indices(comparisons) if kept == "questions" else factorize(getattr(comparisons, kept))[1]
    if units.max() < 1:
        raise ValueError(f"there is only one of the {kept} to resample; at least two are needed")
    return units


# ---- evaluation.resampling: The fits of a bootstrap: to resampled answers, and to copies of the data; and maps laid
# onto each other.
#
# Answers like those at hand, given by a map that is known: how far an estimator errs, measured on copies of the data.
#
# A copy asks the same questions. A map X of our choosing answers them, and errs with a chance that depends on how
# clear a
# question is: on its rank among all questions by the difference of the two squared distances, or by their ratio,
# whichever tells more of the errors that the fitted map makes. The chances at the middles of five groups of equal
# numbers
# of questions, from unclear to clear, describe the noise; between them it is interpolated. Flips, logistic noise, noise
# that grows with distance and much else are of this form. The estimator is fitted to the copy, and its map compared
# with
# X, which it was to find.
#
# The fitted map itself would be a poor X. It agrees with its own answers better than the truth does, so that noise
# measured on it is too small; and what the estimator does to every map, such as pulling outer objects in when answers
# are
# often wrong, it has done to this one already, and would do less the second time. So X and the chances are those whose
# copies *look like the data once they are fitted* (indirect inference): with Y the map of the data, t the shares of
# answers in the five groups that it has wrong, and E[.] the mean over copies,
#
#     E[fitted map] = Y,        E[shares that the fitted map has wrong] = t.
#
# Both are solved by stochastic approximation, starting at (Y, t): a step adds what is missing, steps become
# shorter, and the second half of the way is averaged. Chances stay between 0 and 1/2.


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
        turned = [match_size(points, self.points) for points in fitted]
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
        middle = np.mean([match_size(each, centred)[0] for each in fitted], axis=0)
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
        kept, seen = restrict_to_seen(with_positive_weight(self.comparisons))
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
    turned, closeness = match_size(points[seen], onto[seen] - centre)
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

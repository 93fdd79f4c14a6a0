"""How far to trust the place of each object: maps of resampled answers, and calibrated ellipses.

Units (trials, annotators or questions) get random weights (the Bayesian bootstrap of Rubin 1981), and S_i is the mean
squared deviation of the places from the map of all answers. Covariances are C_i = c S_i, with c such that they hold the
truth in 95% of simulated copies of the data. The page on mathematics has how copies are made, and the limits.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr
from scipy.stats import chi2
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from nearer._common.arrays import FloatArray, checked_points
from nearer._common.parameters import check_integer, check_level
from nearer._common.progress import progress_bar
from nearer._common.randomness import RandomState, stream
from nearer._common.results import Result
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

#: Fits many sets of comparisons and returns their maps, in order.
Fit: TypeAlias = Callable[[list[Comparisons]], list[FloatArray]]
Clearness: TypeAlias = Literal["difference", "ratio"]

LEVEL = 0.95  # at which the covariances are calibrated
N_SIMULATIONS = 60
N_STEPS, N_COPIES = 8, 4  # of the search for the simulator; its last half is averaged
N_GROUPS = 5
_MIN_RESAMPLES = 10


@dataclass(frozen=True, eq=False)
class Bootstrap(Result):
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
        """Return the radius of an ellipse over so many axes, in standard deviations; over all axes if left out.

        The square root of a quantile of chi-square, calibrated on copies of the data at other levels than 95%.
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
        """Return an ellipse on two axes for each object, (n, 5): center, half axes (longer first), angle in degrees."""
        radius = self.radius(level, min(2, self.embedding.shape[1]))
        return covariance_ellipses(self.embedding, self.covariances, radius, axes)

    def covers(self, truth: ArrayLike, level: float = 0.95) -> NDArray[np.bool_]:
        """Return for each object whether its true place, once aligned with the map by all, is in its ellipsoid."""
        points = checked_points(truth, "truth")
        if points.shape != self.embedding.shape:
            raise ValueError(f"truth must have the shape {self.embedding.shape} of the map, got {points.shape}")
        errors = align(points, self.embedding) - self.embedding
        return squared_distances(errors, self.covariances) <= self.radius(level) ** 2


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
        What is resampled as a whole, as for `WholeKFold`. Left out: annotators where answers are known to be of enough
        people, else trials; see `nearer.data.groups`.
    n_simulations : int
        Copies of the data for the calibration, which takes 32 further fits. 0 leaves it out: the ellipses are then
        mostly too small.
    n_jobs : int, optional
        Fits at a time; 1 if left out, -1 for all cores. The result is the same for any number.
    random_state : int, Generator, SeedSequence or None

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
    check_integer("n_resamples", n_resamples, _MIN_RESAMPLES)
    check_integer("n_simulations", n_simulations, 0)
    if isinstance(comparisons, StreamedComparisons):
        raise ValueError("a bootstrap needs all comparisons in memory; pass Comparisons")
    judgments = as_comparisons(comparisons, n_objects=estimator.n_objects)
    kept = resolve_grouping(judgments, by) if by else default_resampling_unit(judgments)
    units = _units(judgments, kept)
    fitted_to = getattr(estimator, "comparisons_", None)
    model: OrdinalEmbedding = estimator if fitted_to is judgments else clone(estimator).fit(judgments)
    draws = model._map_draws(int(n_resamples), random_state)
    if draws is not None:
        return Bootstrap(model.embedding_, *draws, model.objects_)
    if not model.embedding_.any():
        raise ValueError("the map is a single point, which has no ellipses; see the warning of its fit")
    seed = np.random.SeedSequence(int(stream(random_state, "split").integers(2**63)))
    rng = np.random.default_rng(seed)
    is_single = int(units.max()) + 1 == len(units)
    total = n_resamples * (1 if is_single or not n_simulations else 2)
    total += n_simulations + N_STEPS * N_COPIES if n_simulations else 0
    with progress_bar("bootstrap", total, unit="fit") as bar:
        fits = _BootstrapFits(model._with_chosen_settings(), model.embedding_, judgments, n_jobs, bar)
        maps = fits.resampled(units, n_resamples, rng)
        spread = mean_squares(maps - model.embedding_)
        distances = np.empty(0)
        if n_simulations:
            rows = maps if is_single else fits.resampled(np.arange(len(judgments)), n_resamples, rng)
            distances = fits.distances(mean_squares(rows - model.embedding_), n_simulations, rng)
        if kept == "annotators":
            spread *= small_sample_factor(units) ** 2
    # Above 0, or where every copy is fitted exactly the division fails.
    inflation = (
        max(float(np.quantile(distances, LEVEL)), 1e-12) / chi2.ppf(LEVEL, maps.shape[2]) if n_simulations else 1.0
    )
    covariances = inflation * spread
    # An object in no comparison has the covariance of all objects.
    covariances[~fits.seen] = np.cov(model.embedding_[fits.seen].T).reshape(maps.shape[2], -1)
    distances = np.sort(distances) / inflation
    return Bootstrap(model.embedding_, maps, covariances, judgments.objects, inflation, distances, kept)


def _units(comparisons: Comparisons, kept: Grouping) -> NDArray[np.intp]:
    """Return the number of the unit that each row belongs to, (m,); trials and annotators in the order of labels."""
    units = question_indices(comparisons) if kept == "questions" else factorize(getattr(comparisons, kept))[1]
    if units.max() < 1:
        raise ValueError(f"there is only one of the {kept} to resample; at least two are needed")
    return units


@dataclass(frozen=True, eq=False)
class Simulator:
    """A centered map and noise which together give answers like those at hand.

    ``error_rates`` are of wrong answers, (N_GROUPS,), from the least clear questions to the clearest; ``clearness`` is
    by what of the squared distances questions are ranked.
    """

    points: FloatArray
    error_rates: FloatArray
    clearness: Clearness = "difference"

    def answers(self, comparisons: Comparisons, rng: np.random.Generator) -> Comparisons:
        """Return the questions of these comparisons with simulated answers."""
        gaps = gaps_of(comparisons, self.points, self.clearness)
        middles = (np.arange(N_GROUPS) + 0.5) / N_GROUPS
        wrong = rng.random(len(comparisons)) < np.interp(_ranks(gaps), middles, self.error_rates)
        as_read = (np.where(gaps == 0, rng.random(len(gaps)) - 0.5, gaps) > 0) != wrong
        reversed_signs = np.where(as_read, 1, -1).astype(np.int8)
        signs = np.int8(1) if comparisons.answers is None else comparisons.answers
        return replace(comparisons, answers=signs * reversed_signs)

    def errors(self, fitted: list[FloatArray]) -> FloatArray:
        """Return the errors of fitted maps, in the frame of this one: (k, n, p)."""
        aligned = [match_size(points, self.points) for points in fitted]
        return np.array([closeness * self.points - points for points, closeness in aligned])


def fit_simulator(comparisons: Comparisons, embedding: FloatArray, fit: Fit, rng: np.random.Generator) -> Simulator:
    """Return the simulator whose answers make the estimator find this embedding, and as many answers wrong.

    Indirect inference, by stochastic approximation. Each object is in at least one comparison; ``embedding`` is the
    estimator's map of these.
    """
    centred = embedding - embedding.mean(axis=0)
    clearness = choose_clearness(comparisons, centred)
    target = shares_wrong(comparisons, centred, clearness)
    rates, points = target.clip(0, 0.5), centred
    path: list[Simulator] = []
    for step in range(N_STEPS):
        simulator = Simulator(points, rates, clearness)
        copies = [simulator.answers(comparisons, rng) for _ in range(N_COPIES)]
        fitted = fit(copies)
        wrong = [shares_wrong(copy, each, clearness) for copy, each in zip(copies, fitted, strict=True)]
        found = np.mean(wrong, axis=0)
        middle = np.mean([match_size(each, centred)[0] for each in fitted], axis=0)
        length = 1 / (1 + step / 3)
        rates = (rates + length * (target - found)).clip(0, 0.5)
        points = _as_large(points + length * (centred - middle), centred)
        path.append(Simulator(points, rates, clearness))
    later = path[N_STEPS // 2 :]
    points = _as_large(np.mean([each.points for each in later], axis=0), centred)
    return Simulator(points, np.mean([each.error_rates for each in later], axis=0), clearness)


def choose_clearness(comparisons: Comparisons, points: FloatArray) -> Clearness:
    """Return the clearness that predicts the errors of a map better: where the shares in groups are likelier."""

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
    return np.bincount(group, weights * wrong, N_GROUPS) / np.where(totals > 0, totals, 1)


def gaps_of(comparisons: Comparisons, points: FloatArray, clearness: Clearness) -> FloatArray:
    """Return by how much the far squared distance of each answer is larger: the difference, or the log of the ratio."""
    gaps = margins(comparisons, points)
    if clearness == "difference":
        return gaps
    i, j, l, k = comparisons.quadruplets.T  # noqa: E741
    near, far = pair_distances(points, i, j), pair_distances(points, l, k)
    least = np.finfo(np.float64).tiny  # of a distance between objects in one place
    return np.sign(gaps) * np.abs(np.log(np.maximum(far, least) / np.maximum(near, least)))


def _as_large(points: FloatArray, other: FloatArray) -> FloatArray:
    size = np.linalg.norm(points)
    return points * (np.linalg.norm(other) / size) if size > 0 else other


def _ranks(gaps: FloatArray) -> FloatArray:
    """Return the ranks of the sizes of gaps, between 0 and 1."""
    ranks = np.empty(len(gaps))
    ranks[np.argsort(np.abs(gaps), kind="stable")] = (np.arange(len(gaps)) + 0.5) / len(gaps)
    return ranks


@dataclass(frozen=True, eq=False)
class _BootstrapFits:
    """The fits of one bootstrap: an estimator, the reference map and the comparisons."""

    estimator: OrdinalEmbedding
    reference: FloatArray
    comparisons: Comparisons
    n_jobs: int | None
    bar: Any

    @property
    def seen(self) -> NDArray[np.bool_]:
        """The objects that comparisons of positive weight mention, (n,)."""
        return seen_objects(with_positive_weight(self.comparisons))

    def fit(self, sets: Iterable[Comparisons]) -> list[FloatArray]:
        """Return the maps of sets of comparisons."""
        maps = []
        for points in Parallel(self.n_jobs, return_as="generator")(delayed(_map)(self.estimator, s) for s in sets):
            maps.append(points)
            self.bar.update()
        return maps

    def resampled(self, units: NDArray[np.intp], n_resamples: int, rng: np.random.Generator) -> FloatArray:
        """Return maps of answers with a random weight for each unit, aligned with the reference, (b, n, p)."""
        before, seen = self.comparisons.sample_weight, self.seen

        def drawn() -> Comparisons:
            weights = before * rng.exponential(size=units.max() + 1)[units]
            # A penalty may be in units of one comparison: the sum of weights stays.
            return replace(self.comparisons, weights=weights * (before.sum() / weights.sum()))

        maps = self.fit(drawn() for _ in range(n_resamples))
        return np.array([_aligned(points, self.reference, seen) for points in maps])

    def distances(self, spread: FloatArray, n_simulations: int, rng: np.random.Generator) -> FloatArray:
        """Return squared Mahalanobis distances of true from fitted places in copies of the data, (k * n seen,)."""
        kept, seen = restrict_to_seen(with_positive_weight(self.comparisons))
        reference = self.reference[seen]
        own = replace(self, comparisons=kept, estimator=clone(self.estimator).set_params(n_objects=None))
        simulator = fit_simulator(kept, reference, own.fit, rng)
        errors = simulator.errors(own.fit(simulator.answers(kept, rng) for _ in range(n_simulations)))
        onto = reference - reference.mean(axis=0)
        return squared_distances(errors @ rotation(simulator.points, onto)[0], spread[seen]).ravel()


def _map(estimator: OrdinalEmbedding, comparisons: Comparisons) -> FloatArray:
    with warnings.catch_warnings():
        # One fit of hundreds that stops early changes no ellipse; the fit to all answers has warned already.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return clone(estimator).fit(comparisons).embedding_


def _aligned(points: FloatArray, onto: FloatArray, seen: NDArray[np.bool_]) -> FloatArray:
    """Return points aligned with others by those that are ``seen``; the rest get the places of these others."""
    center = onto[seen].mean(axis=0)
    aligned, closeness = match_size(points[seen], onto[seen] - center)
    result = onto.copy()
    result[seen] = closeness * aligned + center
    return result


def mean_squares(deviations: FloatArray) -> FloatArray:
    """Return the mean of the outer products of deviations, (b, n, p), with themselves: (n, p, p)."""
    return np.einsum("bip,biq->ipq", deviations, deviations) / len(deviations)


def squared_distances(deviations: FloatArray, covariances: FloatArray) -> FloatArray:
    """Return squared Mahalanobis distances, (..., n), of deviations, (..., n, p)."""
    p = covariances.shape[-1]
    # An object that never moves, or moves along a line, must not divide by zero.
    least = 1e-9 * np.trace(covariances, axis1=1, axis2=2).mean() or 1.0
    inverses = np.linalg.inv(covariances + least * np.eye(p))
    return np.einsum("...ip,ipq,...iq->...i", deviations, inverses, deviations)

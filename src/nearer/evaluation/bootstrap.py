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
the data (see `nearer.evaluation.resampling`). There the truth is known, so that its squared distances from fitted maps,

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

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import chi2
from sklearn.base import clone

from nearer.common.arrays import FloatArray, checked_points
from nearer.common.parameters import check_integer, check_level
from nearer.common.randomness import RandomState, stream
from nearer.common.telling import progress_bar
from nearer.data.comparisons import Comparisons, as_comparisons
from nearer.data.labels import Labels, factorize
from nearer.data.streamed import StreamedComparisons
from nearer.data.units import By, kept_whole, questions_of, resampled_unit, small_sample_factor
from nearer.embedding.base import OrdinalEmbedding
from nearer.evaluation.resampling import N_COPIES, N_STEPS, Work, mean_squares, squared_distances
from nearer.geometry import align, ellipses_of

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
    by: By | None = None

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
        return ellipses_of(self.embedding, self.covariances, radius, axes)

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
    by: By | None = None,
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
        annotators where answers are known to be of enough people, else trials; see `nearer.data.units`.
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
    kept = kept_whole(judgments, by) if by else resampled_unit(judgments)
    units = _units(judgments, kept)
    model = _fitted(estimator, judgments)
    draws = model.map_draws(int(n_resamples), random_state)
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
        work = Work(model.with_chosen_settings(), model.embedding_, judgments, n_jobs, bar)
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


def _units(comparisons: Comparisons, kept: By) -> NDArray[np.intp]:
    """Return the number of the unit that each row belongs to, (m,); trials and annotators in the order of labels."""
    units = questions_of(comparisons) if kept == "questions" else factorize(getattr(comparisons, kept))[1]
    if units.max() < 1:
        raise ValueError(f"there is only one of the {kept} to resample; at least two are needed")
    return units

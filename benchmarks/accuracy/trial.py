"""What one trial gives to a method, and the best possible predictor of synthetic data.

The limit is the posterior vote of a predictor that knows how the data were made.
Prior and noise are those of the truth; only the map is unknown. Noise-free answers have a steep likelihood, as a step
cannot be sampled. A chain under a steep likelihood that starts at random gets stuck in a folded map: chains start where
others ended that had to learn the noise, and saw the map unfold while it was still soft.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from nearer._common.arrays import FloatArray
from nearer._common.randomness import stream
from nearer.data.comparisons import Comparisons
from nearer.sampling.model import HYPERPARAMETERS, Draws, Model, draws_of, model_of
from nearer.sampling.nuts import NUTS, sample_nuts
from nearer.sampling.summaries import predictive_probability


class Truth(NamedTuple):
    """How synthetic comparisons came about: all that a predictor which knows the model may use.

    Attributes
    ----------
    variance : float
        Of each coordinate of the Gaussian points.
    n_components : int
        Dimension of the points.
    flipped : float
        Probability that an answer is exchanged, whatever the distances.
    logistic_slope : float or None
        Slope of the logistic noise on the difference of squared distances; None for no such noise.
    """

    variance: float
    n_components: int
    flipped: float = 0.0
    logistic_slope: float | None = None


@dataclass(frozen=True, eq=False)
class Trial:
    """Training comparisons and test questions of one trial.

    Attributes
    ----------
    train : Comparisons
        Every row reads as it was answered; rows of one `trials` label must stay together in folds.
    test : Comparisons
        Rows as the truth has them, where there is one; as they were answered otherwise.
    answers : ndarray of int8, shape (len(test),)
        What was answered: +1 as the row of ``test`` has it, -1 the other way round.
    n_components : int
        Dimension p of the maps.
    seed : SeedSequence
        Of this trial; streams "start" and "folds" are free for methods.
    truth : Truth or None
    """

    train: Comparisons
    test: Comparisons
    answers: NDArray[np.int8]
    n_components: int
    seed: np.random.SeedSequence
    truth: Truth | None = None

    @property
    def folds_seed(self) -> int:
        """The seed that shuffles the folds of this trial, the same for every method."""
        return int(stream(self.seed, "folds").integers(2**31))

    @property
    def start_seed(self) -> int:
        """The seed of random starts."""
        return int(stream(self.seed, "start").integers(2**31))


def trial_seed(seed: int, trial: int) -> np.random.SeedSequence:
    """Return the seed of one trial of a run.

    Examples
    --------
    >>> trial_seed(0, 3).spawn_key
    (3,)
    """
    return np.random.SeedSequence(seed, spawn_key=(trial,))


class Predictions(NamedTuple):
    """What a method says about the test questions of a trial.

    Attributes
    ----------
    decision : ndarray, shape (m,)
        Positive: the row holds as written; exactly 0: cannot tell.
    embedding : ndarray, shape (n, p), or None
        The map, if the method has one.
    probability : ndarray, shape (m,), or None
        That the row is answered as written, if the method says so.
    settings : str
        What it chose.
    n_warnings : int
        Fits that stopped early.
    """

    decision: NDArray[np.float64]
    embedding: NDArray[np.float64] | None = None
    probability: NDArray[np.float64] | None = None
    settings: str = ""
    n_warnings: int = 0


_STEEP = 30.0  # for each ten comparisons an object, at least so much
_KERNEL = {"step": 3.0, "logistic": 300.0}  # the second is wide enough to be linear in squared distances
_LEARNER = NUTS(n_chains=2, n_warmup=200, n_draws=20, thin=5)
_SAMPLER = NUTS(n_chains=2, n_warmup=300, n_draws=1000, thin=5)
# Up to so many comparisons an object votes are so close that every draw counts: a fifth of them costs 0.002 of error.
_CLOSE_VOTES = 2


def posterior_vote(trial: Trial) -> Predictions:
    """Return the posterior vote under the true prior and the true noise."""
    assert trial.truth is not None
    model, seen = model_of(trial.train, trial.truth.n_components)
    given = known_numbers(model, trial.truth)
    seeds = np.random.SeedSequence(trial.start_seed).spawn(_SAMPLER.n_chains)
    learning = sample_nuts(model, _LEARNER, seeds, n_threads=1)
    ends = draws_of(model, learning.unknowns[:, -1]).points
    starts = np.tile(given, (len(ends), 1))
    # Coordinates have variance 1, and lengths of points a mean square of 1.
    starts[:, : ends[0].size] = (np.sqrt(model.n_components) * ends).reshape(len(ends), -1)
    close = len(trial.train) <= _CLOSE_VOTES * trial.train.n_objects
    sampler = replace(_SAMPLER, thin=1) if close else _SAMPLER
    sampled = sample_nuts(model, sampler, seeds, n_threads=1, fixed=given, starts=starts)
    draws = draws_of(model, sampled.unknowns.reshape(-1, model.size))
    points = _of_all_objects(draws.points, seen, trial.train.n_objects, trial.start_seed)
    draws = Draws(points, draws.slopes, draws.offsets, draws.lapses)
    probability = predictive_probability(draws, trial.test.quadruplets, n_threads=1)
    return Predictions(decision=np.asarray(logit(probability)), probability=probability)


def _of_all_objects(points: FloatArray, seen: NDArray[np.integer], n_objects: int, seed: int) -> FloatArray:
    """Return maps with the objects that no comparison mentions: drawn from the prior, they are rarely the nearest."""
    k, _, p = points.shape
    rng = np.random.default_rng([seed, 1])
    everything: FloatArray = rng.standard_normal((k, n_objects, p)) / np.sqrt(p)
    everything[:, seen] = points
    return everything


def known_numbers(model: Model, truth: Truth) -> FloatArray:
    """Return what the truth says about the unknowns of a model, (size,): all but the coordinates, which are NaN."""
    n, p = model.n_objects, model.n_components
    given = np.zeros(model.size)
    given[: n * p] = np.nan
    if truth.logistic_slope is None:
        kernel = _KERNEL["step"]
        steepness = _STEEP * max(1.0, len(model.comparisons) / (10 * n))
    else:
        # The model's unit of squared distance is the mean squared length of a point.
        kernel = _KERNEL["logistic"]
        steepness = 2 * kernel / (1 + kernel) * truth.logistic_slope * truth.variance * p
    numbers = dict(zip(HYPERPARAMETERS, range(-len(HYPERPARAMETERS), 0), strict=True))
    given[numbers["steepness"]] = np.log(steepness)
    given[numbers["kernel"]] = np.log(kernel)
    given[numbers["lapse"]] = logit(np.clip(2 * truth.flipped, 1e-4, 0.999))
    given[numbers["radius"]] = 30.0
    return given

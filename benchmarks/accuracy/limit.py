"""The best possible predictor of synthetic data: the posterior vote of one who knows how they came about.

Prior and noise are those of the truth; only the map is unknown. Noise-free answers have a steep likelihood, as a step
cannot be sampled. A chain under a steep likelihood that starts at random gets stuck in a folded map: chains start where
others ended that had to learn the noise, and saw the map unfold while it was still soft.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from benchmarks.accuracy.trial import Predictions, Trial, Truth
from nearer._common.arrays import FloatArray
from nearer.sampling.model import HYPERPARAMETERS, Draws, Model, draws_of, model_of
from nearer.sampling.nuts import NUTS, sample_nuts
from nearer.sampling.summaries import predictive_probability

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

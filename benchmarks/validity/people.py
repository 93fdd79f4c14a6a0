"""People who differ in weights and maps: intervals of both, ellipses of the common map, and what is said of people."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import pdist, squareform
from scipy.special import expit

from benchmarks.validity.ellipses import held
from benchmarks.validity.rates import Outcome, Rate
from nearer import Comparisons
from nearer._common.arrays import FloatArray
from nearer.comparing import compare_people, correlate_people
from nearer.comparing.matrix_tests import spearman
from nearer.embedding import PosteriorEmbedding
from nearer.sampling.differences import PeopleDifferences

TITLE = "People"
ABOUT = """
People answer random triplets about 20 objects, normal in two dimensions of variance 1/2 each. The logarithms of the
weights that people give to the two axes have a standard deviation of 0.7 where they *weigh axes differently*; where
they have *maps of their own*, these depart from the common one by 0.4 of its size. The probability of an answer is
$\\lambda / 2 + (1 - \\lambda) / (1 + ((d^2_\\mathrm{near} + 0.1) / (d^2_\\mathrm{far} + 0.1))^\\beta)$ with
$\\beta = 5$ and a lapse rate of 0.03; where people differ in *effort and noise*, $\\log \\beta$ has a standard
deviation of 0.6, lapse rates are uniform up to 0.3, and numbers of answers are those of a lognormal distribution with a
deviation of 0.5. Fits are of `PosteriorEmbedding(2, people="maps")`, in which people may differ in all of it.

*People weigh axes differently* where the axes are identified, which a single fit tells; that people *differ* is said
by `compare_people` where held-out answers are predicted better, and the interval of the spread over people is above
0.12 for logarithms of weights, or above 8% of the size of the map for departures.

Intervals of spreads are for spreads drawn from their prior, which has its center at 0.14 for weights: a true spread of
0.7 is far above that, and 12 people do not determine it. *Calibration*: where all is drawn from the prior (10 objects
on two axes, 8 people with 60 answers each, 110 studies of `people="weights"` and of `people="maps"`; `python -m
benchmarks.validity.calibration 110`), the ranks of the truth among draws from the posterior are uniform, by chi-square
of ten bins, for 39 quantities: distances on the common map and on those of people, weights, spreads, slopes and lapse
rates. Three p-values are below 0.05, the smallest is 0.008. Intervals of 95% then hold the spread of weights in 93% and
90%, and that of maps in 100%.
"""
_N, _SLOPE, _OFFSET, _LAPSE = 20, 5.0, 0.1, 0.03


class World(NamedTuple):
    """The common map, those of people, logarithms of weights relative to means over people and axes, and answers."""

    points: FloatArray
    own: FloatArray
    log_weights: FloatArray
    answers: Comparisons


def world(
    rng: np.random.Generator, *, people: int, each: int, weights: float = 0.0, maps: float = 0.0, noise: bool = False
) -> World:
    """Return the answers of people who differ in weights, maps or noise."""
    points = rng.normal(size=(_N, 2)) / np.sqrt(2)
    logs = weights * rng.normal(size=(people, 2))
    own = np.exp(logs / 2)[:, None] * (points + maps * rng.normal(size=(people, _N, 2)) / np.sqrt(2))
    slopes, lapses, effort = np.full(people, _SLOPE), np.full(people, _LAPSE), np.ones(people)
    if noise:
        slopes = slopes * np.exp(0.6 * rng.normal(size=people))
        lapses, effort = rng.uniform(0, 0.3, people), np.exp(0.5 * rng.normal(size=people))
    who = rng.choice(people, size=people * each, p=effort / effort.sum()) if noise else np.repeat(range(people), each)
    rows = rng.permuted(np.tile(np.arange(_N), (len(who), 1)), axis=1)[:, :3]
    near, far = (((own[who, rows[:, 0]] - own[who, rows[:, k]]) ** 2).sum(axis=1) + _OFFSET for k in (1, 2))
    chances = lapses[who] / 2 + (1 - lapses[who]) * expit(slopes[who] * np.log(far / near))
    y = np.where(rng.random(len(who)) < chances, 1, -1)
    logs = logs[np.unique(who)]
    logs = logs - logs.mean(axis=0)
    answers = Comparisons.from_triplets(rows, y, annotators=who, n_objects=_N)
    return World(points, own, logs - logs.mean(axis=1, keepdims=True), answers)


def _fit(answers: Comparisons, rng: np.random.Generator) -> tuple[PosteriorEmbedding, PeopleDifferences]:
    model = PosteriorEmbedding(2, people="maps", n_jobs=1, random_state=int(rng.integers(2**31)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(answers)
    assert model.differences_ is not None
    return model, model.differences_


def identifies(rng: np.random.Generator, **how: Any) -> Outcome:
    """Whether the axes are said to be identified."""
    return Outcome(int(_fit(world(rng, **how).answers, rng)[1].axes_identified))


def weights(rng: np.random.Generator, **how: Any) -> Outcome:
    """How many of the intervals hold the weight of their person, where the axes are identified."""
    of = world(rng, **how)
    model, found = _fit(of.answers, rng)
    if not found.axes_identified:
        return Outcome(0, 0)
    order = np.abs(np.corrcoef(of.points.T, model.embedding_.T)[:2, 2:]).argmax(axis=0)
    if order[0] == order[1]:
        order = np.array([0, 1])
    planted = np.exp(of.log_weights[:, order])
    inside = (found.weight_intervals[..., 0] <= planted) & (planted <= found.weight_intervals[..., 1])
    return Outcome(int(inside[:, 0].sum()), len(inside))  # of two axes the second has the inverse


def ellipses(rng: np.random.Generator, **how: Any) -> Outcome:
    """How many ellipses of the common map hold the place of their object."""
    of = world(rng, **how)
    model, _ = _fit(of.answers, rng)
    return held(of.points, model.embedding_, model.covariances_)


def spreads(rng: np.random.Generator, *, which: str, **how: Any) -> Outcome:
    """Whether the interval holds the spread over people: of weights, or of departures."""
    _, found = _fit(world(rng, **how).answers, rng)
    interval = found.weight_spread if which == "weights" else found.departure_spread
    return Outcome(int(interval.low <= how[which] <= interval.high))


def correlations(rng: np.random.Generator, *, people: int, each: int, maps: float) -> Outcome:
    """How many intervals hold the correlation of a model with the map of their person."""
    of = world(rng, people=people, each=each, maps=maps)
    model, _ = _fit(of.answers, rng)
    predicted = pdist(of.points + 0.4 * rng.normal(size=of.points.shape))
    found = correlate_people(model, squareform(predicted))
    true = np.array([spearman(pdist(own), predicted) for own in of.own])
    return Outcome(int(((found.lows <= true) & (true <= found.highs)).sum()), people)


def differ(rng: np.random.Generator, **how: Any) -> Outcome:
    """Whether people are said to differ, by held-out answers."""
    of = world(rng, **how)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = compare_people(of.answers, 2, n_splits=3, random_state=int(rng.integers(2**31)))
    return Outcome(int(found.differ))


_WEIGHTS, _ELLIPSES = "intervals of weights", "ellipses of the common map"
_CORRELATIONS = "intervals of the correlation of a model with each person"
_SPREADS, _AXES, _DIFFER = "intervals of spreads over people", "people weigh axes differently", "people differ"
_FEW: dict[str, Any] = {"people": 12, "each": 100}
_MANY: dict[str, Any] = {"people": 30, "each": 100}
_BOTH: dict[str, Any] = {"weights": 0.7, "maps": 0.4}

RATES = [
    Rate(_AXES, "12 people alike, 100 answers each", "size", partial(identifies, **_FEW), 200, 0.0, 0.05),
    Rate(_AXES, "12 people, effort and noise differ", "size", partial(identifies, **_FEW, noise=True), 200, 0.0, 0.05),
    Rate(_AXES, "12 people, maps of their own", "size", partial(identifies, **_FEW, maps=0.4), 200, 0.0, 0.05),
    Rate(_AXES, "12 people who weigh axes differently", "power", partial(identifies, **_FEW, weights=0.7), 100),
    Rate(_AXES, "12 people, weights and maps of their own", "power", partial(identifies, **_FEW, **_BOTH), 100),
    Rate(_DIFFER, "12 people alike, 100 answers each", "size", partial(differ, **_FEW), 100, 0.0, 0.05),
    Rate(_DIFFER, "12 people, effort and noise differ", "size", partial(differ, **_FEW, noise=True), 100, 0.0, 0.05),
    Rate(_DIFFER, "12 people who weigh axes differently", "power", partial(differ, **_FEW, weights=0.7), 40),
    Rate(_WEIGHTS, "12 people who weigh axes differently", "coverage",
         partial(weights, **_FEW, weights=0.7), 100, 0.92, 0.97),
    Rate(_WEIGHTS, "30 people who weigh axes differently", "coverage",
         partial(weights, **_MANY, weights=0.7), 60, 0.92, 0.97),
    Rate(_WEIGHTS, "30 people, weights and maps of their own", "coverage",
         partial(weights, **_MANY, **_BOTH), 60, 0.92, 0.97),
    Rate(_SPREADS, "of weights; 12 people, weights and maps of their own", "coverage",
         partial(spreads, which="weights", **_FEW, **_BOTH), 100, 0.90, 0.98),
    Rate(_SPREADS, "of departures; 12 people, weights and maps of their own", "coverage",
         partial(spreads, which="maps", **_FEW, **_BOTH), 100, 0.90, 0.98),
    Rate(_CORRELATIONS, "12 people, maps of their own", "coverage",
         partial(correlations, **_FEW, maps=0.4), 60, 0.92, 0.98),
    Rate(_ELLIPSES, "12 people, effort and noise differ", "coverage",
         partial(ellipses, **_FEW, noise=True), 60, 0.92, 0.97),
    Rate(_ELLIPSES, "12 people, maps of their own", "coverage", partial(ellipses, **_FEW, maps=0.4), 60, 0.92, 0.97),
    Rate(_ELLIPSES, "30 people, weights and maps of their own", "coverage",
         partial(ellipses, **_MANY, **_BOTH), 60, 0.92, 0.97),
]  # fmt: skip

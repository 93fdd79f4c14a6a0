"""Reliability of distances: biases of `split_half`, with enough and too few dimensions, and `distance_reliability`."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Literal

import numpy as np
from scipy.spatial.distance import pdist, squareform
from scipy.special import expit
from scipy.stats import rankdata, spearmanr

from benchmarks.validity.rates import Outcome, Rate
from nearer import Comparisons
from nearer._common.arrays import FloatArray
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import STE, PosteriorEmbedding
from nearer.evaluation import distance_reliability, split_half

TITLE = "Reliability of distances"
ABOUT = """
`split_half` says how well the distances on a map are known: its reliability is to be the squared rank correlation of
these distances with the true ones. Worlds: 18 objects drawn from a normal distribution in 2, 3 or 5 dimensions, 1,500
random triplets of which 10% are answered the other way round, a map of two dimensions by STE, and three splits. What
dimensions that are missing would show is the same in both halves, so that two halves alone cannot know of it:
`unrestricted=`, here STE in five dimensions, gives them. The bias is in percentage points of the reliability.

`distance_reliability` says the same of a posterior, and of the distances of each object. Worlds: 15 objects of 2 or 5
dimensions, one asked about seven times as often as another, answers by log-odds 3 log((0.3 + far^2) / (0.3 + near^2))
with 4% lapses, and posteriors of the fast sampler. *Sure* and *unsure* objects are those with a reliability above and
below one half. The reliability of few answers is too low rather than too high, as posteriors are somewhat wider than
they need be, and most for objects that hardly anybody was asked about. It is about the truth: a *second study* of as
many answers to questions of the same design agrees more, as both shrink alike where the design asks little.
"""
_N_OBJECTS, _N_TRIPLETS, _FLIPPED = 18, 1500, 0.1
_N_FEWER = 15


def excess(rng: np.random.Generator, dimension: int, unrestricted: bool) -> Outcome:
    """Return by how much the reliability is higher than what the true distances say."""
    points = make_gaussian(_N_OBJECTS, dimension, random_state=rng)
    answers = sample_triplets(points, _N_TRIPLETS, flipped=_FLIPPED, random_state=rng)
    seed = int(rng.integers(2**31))
    method, full = STE(2, random_state=seed), STE(5, random_state=seed) if unrestricted else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = split_half(method, answers, unrestricted=full, n_splits=3, random_state=seed)
        shown = method.fit(answers).embedding_
    return Outcome(round(found.reliability - float(spearmanr(pdist(shown), pdist(points)).statistic) ** 2, 4))


def _posterior(rng: np.random.Generator, points: FloatArray, n_answers: int) -> PosteriorEmbedding:
    """Return a posterior of answers that are about some objects more often than about others."""
    keys = rng.standard_exponential((n_answers, _N_FEWER)) / np.linspace(1, 7, _N_FEWER)
    rows = rng.permuted(np.argsort(keys, axis=1)[:, :3], axis=1)
    anchor, first, second = points[rows].transpose(1, 0, 2)
    one, other = np.square(anchor - first).sum(axis=1), np.square(anchor - second).sum(axis=1)
    chosen = rng.random(n_answers) < 0.02 + 0.96 * expit(3 * np.log((0.3 + other) / (0.3 + one)))
    answers = Comparisons.from_triplets(rows, np.where(chosen, 1, -1), n_objects=_N_FEWER)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return PosteriorEmbedding(solver="fast", n_jobs=1, random_state=int(rng.integers(2**31))).fit(answers)


def _mean_ranks(model: PosteriorEmbedding) -> FloatArray:
    return np.mean([rankdata(pdist(points)) for points in model.draws_.points], axis=0)


def posterior_excess(
    rng: np.random.Generator, dimension: int, n_answers: int, of: Literal["all", "sure", "unsure", "study"]
) -> Outcome:
    """Return by how much the reliability of a posterior is higher than the squared correlation with the truth."""
    points = rng.normal(size=(_N_FEWER, dimension))
    model = _posterior(rng, points, n_answers)
    found, ranks, truth = distance_reliability(model), _mean_ranks(model), rankdata(pdist(points))
    if of == "study":
        other = _mean_ranks(_posterior(rng, points, n_answers))
        return Outcome(round(found.overall - float(np.corrcoef(ranks, other)[0, 1]), 4))
    if of == "all":
        return Outcome(round(found.overall - float(np.corrcoef(ranks, truth)[0, 1]) ** 2, 4))
    chosen = np.flatnonzero((found.of_objects >= 0.5) == (of == "sure"))
    ones, others = squareform(ranks), squareform(truth)
    squares = [np.corrcoef(np.delete(ones[i], i), np.delete(others[i], i))[0, 1] ** 2 for i in chosen]
    return Outcome(round(float(np.sum(found.of_objects[chosen] - squares)), 4), len(chosen))


_OF = {
    "all": "all distances", "sure": "distances of sure objects", "unsure": "distances of unsure objects",
    "study": "all distances, correlated with a second study",
}  # fmt: skip
RATES = [
    *(
        Rate(
            "bias of the reliability",
            f"truth of {dimension} dimensions, map of 2; {'unrestricted=' if unrestricted else 'two halves alone'}",
            "bias",
            partial(excess, dimension=dimension, unrestricted=unrestricted),
            n_runs=100,
            low=-0.05 if unrestricted or dimension == 2 else 0.0,
            high=0.05 if unrestricted or dimension == 2 else 1.0,
        )
        for dimension in (2, 3, 5)
        for unrestricted in (False, True)
    ),
    *(
        Rate(
            "bias of the reliability by a posterior",
            f"{_OF[of]}; {dimension} dimensions, {n_answers} answers",
            "bias",
            partial(posterior_excess, dimension=dimension, n_answers=n_answers, of=of),
            n_runs=60,
            low=-1.0 if of == "study" else -0.1,
            high=1.0 if of == "study" else 0.05,
        )
        for of in ("all", "sure", "unsure", "study")
        for dimension, n_answers in ((2, 100), (2, 400), (5, 400))
    ),
]

"""Reliability of distances: the bias of `nearer.evaluation.split_half`, with enough dimensions and with too few."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
from scipy.spatial.distance import pdist
from scipy.stats import spearmanr

from benchmarks.validity.rates import Outcome, Rate
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import STE
from nearer.evaluation import split_half

TITLE = "Reliability of distances"
ABOUT = """
`split_half` says how well the distances on a map are known: its reliability is to be the squared rank correlation of
these distances with the true ones. Worlds: 18 objects drawn from a normal distribution in 2, 3 or 5 dimensions, 1,500
random triplets of which 10% are answered the other way round, a map of two dimensions by STE, and three splits. What
dimensions that are missing would show is the same in both halves, so that two halves alone cannot know of it:
`unrestricted=`, here STE in five dimensions, gives them. The bias is in percentage points of the reliability.
"""
_N_OBJECTS, _N_TRIPLETS, _FLIPPED = 18, 1500, 0.1


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


RATES = [
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
]

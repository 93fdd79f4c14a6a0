"""Features as a prior: intervals of their shares and of deviations from them, and the warning about useless ones."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.validity.rates import Outcome, Rate
from nearer import Comparisons
from nearer._common.arrays import FloatArray
from nearer.data.features import Features
from nearer.datasets import sample_triplets
from nearer.embedding import PosteriorEmbedding
from nearer.embedding.posterior_embedding import MIN_FEATURE_SHARE
from nearer.sampling.deviations import leave_one_out_distances
from nearer.sampling.features import FeatureKernel, feature_basis
from nearer.sampling.model import Model, draws_of, model_of

TITLE = "Features of objects"
ABOUT = """
`PosteriorEmbedding(features=...)` learns the share of the variance of the places that features account for, and how far
each object lies from where its features suggest. Maps, shares and noise are *drawn from the prior* of the model for the
intervals. For the warning that features say little about the answers (interval of the share below 0.3), objects lie in
two dimensions where 40 noisy columns say, to a share of their variance; *shuffled* columns belong to other objects.
"""
_P = 2


def _from_prior(rng: np.random.Generator, n: int, m: int) -> tuple[Features, Comparisons, Model, FloatArray]:
    """Return features, answers, the model, and the unknowns that the answers come from."""
    features, labels = Features(rng.normal(size=(n, 8))), np.arange(n)
    rows = rng.permuted(np.tile(labels, (m, 1)), axis=1)[:, :3]
    asked = Comparisons.from_triplets(rows, n_objects=n)
    model, seen = model_of(asked, _P, features=feature_basis([FeatureKernel.of(features, labels)], labels))
    assert len(seen) == n, "every object is asked about"
    truth = rng.normal(size=model.size)
    centers, scales = model.prior.centers, np.array(model.prior.scales)
    deviations = rng.normal(size=len(scales))
    deviations[6] = rng.standard_cauchy()  # the effect of exposure
    model.hyperparameters(truth)[:] = centers + scales * deviations
    assert model.features is not None
    numbers = model.feature_numbers(truth)
    numbers[:] = model.features.centers + model.features.scales * rng.normal(size=len(numbers))
    draw = draws_of(model, truth[None])
    near, far = (((draw.points[:, rows[:, 0]] - draw.points[:, rows[:, k]]) ** 2).sum(axis=2) for k in (1, 2))
    is_right = rng.random(m) < draw.answer_model.probability(near, far)[0]
    return features, Comparisons.from_triplets(_answered(rows, is_right), n_objects=n), model, truth


def _answered(rows: NDArray[np.integer], is_right: NDArray[np.bool_]) -> NDArray[np.integer]:
    return np.where(is_right[:, None], rows, rows[:, [0, 2, 1]])


def _fit(answers: Comparisons, features: Features, rng: np.random.Generator, **settings: int) -> PosteriorEmbedding:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PosteriorEmbedding(_P, features=features, n_jobs=1, random_state=int(rng.integers(2**31)), **settings)
        return model.fit(answers)


def share(rng: np.random.Generator, *, n: int, m: int) -> Outcome:
    """Whether the interval holds the share."""
    features, answers, model, truth = _from_prior(rng, n, m)
    found = _fit(answers, features, rng, max_components=_P).feature_share_
    assert found is not None
    value = 1 / (1 + np.exp(-model.feature_numbers(truth)[0]))
    return Outcome(int(found["features"].low <= value <= found["features"].high))


def deviations(rng: np.random.Generator, *, n: int, m: int) -> Outcome:
    """How many of the intervals hold the deviation of their object."""
    features, answers, model, truth = _from_prior(rng, n, m)
    true = leave_one_out_distances(model, truth)
    found = _fit(answers, features, rng, max_components=_P).feature_deviations()
    return Outcome(sum(bool(each.low <= true[each.object] <= each.high) for each in found), len(found))


def warned(rng: np.random.Generator, *, n: int, m: int, true_share: float | None) -> Outcome:
    """Whether features are called useless."""
    known, rest = rng.normal(size=(2, n, _P))
    part = true_share or 0.0
    points = np.sqrt(part) * known + np.sqrt(1 - part) * rest
    columns = known @ rng.normal(size=(_P, 40)) + 0.2 * rng.normal(size=(n, 40))
    answers = sample_triplets(points, m, flipped=0.1, random_state=int(rng.integers(2**31)))
    found = _fit(answers, Features(columns), rng).feature_share_
    assert found is not None
    return Outcome(int(found["features"].high < MIN_FEATURE_SHARE))


_SHARE, _DEVIATION = "the interval of the share of features", "intervals of deviations from features"
_USELESS = "features are said to be of little use"
_SIZES = ((14, 120), (30, 150), (30, 900))

RATES = [
    *(
        Rate(_SHARE, f"drawn from the prior; {n} objects, {m} answers", "coverage",
             partial(share, n=n, m=m), 200, 0.90, 0.98)
        for n, m in _SIZES
    ),
    *(
        Rate(_DEVIATION, f"drawn from the prior; {n} objects, {m} answers", "coverage",
             partial(deviations, n=n, m=m), 100, 0.90, 0.98)
        for n, m in _SIZES
    ),
    *(
        Rate(_USELESS, f"shuffled; 40 objects, {m} answers", "power", partial(warned, n=40, m=m, true_share=None), 40)
        for m in (40, 200, 800, 2000)
    ),
    *(
        Rate(_USELESS, f"a share of {part:g}; 40 objects, {m} answers", "size",
             partial(warned, n=40, m=m, true_share=part), 40, 0.0, 0.05)
        for part, m in ((0.5, 200), (0.5, 2000), (0.8, 40), (0.8, 800))
    ),
]  # fmt: skip

"""Features as a prior: what is said of right, shuffled and useless ones, and intervals of shares and deviations."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from benchmarks.validity.rates import Outcome, Rate
from nearer import Comparisons
from nearer._common.arrays import FloatArray
from nearer.checking.features import share_findings
from nearer.data.features import Features
from nearer.datasets import sample_triplets
from nearer.embedding import PosteriorEmbedding
from nearer.sampling.deviations import leave_one_out_distances
from nearer.sampling.features import FeatureKernel, feature_basis
from nearer.sampling.model import Model, draws_of, model_of

TITLE = "Features of objects"
ABOUT = """
`nearer check` and `nearer fit` call features useless if the 95% interval of their share of the variance lies below 0.3,
and say that they tell much if it lies above. Here 30 columns of features determine 80% of the variance of 20 objects in
2-D, up to some noise, or belong to other objects (shuffled). One answer in ten is wrong, or all are guesses. Answers
that agree with features are taken for no guesses, so that a dimension is determined.

For intervals of the shares, and of how far each object lies from where its features suggest, maps, shares and noise are
drawn from the prior of the model.
"""
_N, _P = 20, 2
Kind = Literal["right", "shuffled", "right, and guesses"]


def _fitted(rng: np.random.Generator, kind: Kind, n_answers: int) -> PosteriorEmbedding:
    known, own = rng.normal(size=(2, _N, 2))
    points = np.sqrt(0.8) * known + np.sqrt(0.2) * own
    features = known @ rng.normal(size=(2, 30)) + 0.3 * rng.normal(size=(_N, 30))
    if kind == "shuffled":
        features = features[rng.permutation(_N)]
    answers = sample_triplets(points, n_answers, flipped=0.1, random_state=int(rng.integers(2**31)))
    if kind == "right, and guesses":
        rows = answers.rows.copy()
        swapped = rng.random(len(rows)) < 0.5
        rows[swapped] = rows[swapped][:, [0, 2, 1]]
        answers = Comparisons.from_triplets(rows, n_objects=_N)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PosteriorEmbedding(features=features, solver="fast", n_jobs=1, random_state=int(rng.integers(2**31)))
        return model.fit(answers)


def finds(rng: np.random.Generator, *, kind: Kind, n_answers: int, code: str) -> Outcome:
    """Whether a finding is made."""
    return Outcome(int(any(each.code == code for each in share_findings(_fitted(rng, kind, n_answers)))))


def determines(rng: np.random.Generator, *, kind: Kind, n_answers: int) -> Outcome:
    """Whether any dimension is determined."""
    return Outcome(int(_fitted(rng, kind, n_answers).dimension_ is not None))


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


def _fit(answers: Comparisons, features: Features, rng: np.random.Generator) -> PosteriorEmbedding:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seed = int(rng.integers(2**31))
        model = PosteriorEmbedding(_P, max_components=_P, features=features, n_jobs=1, random_state=seed)
        return model.fit(answers)


def share(rng: np.random.Generator, *, n: int, m: int) -> Outcome:
    """Whether the interval holds the share."""
    features, answers, model, truth = _from_prior(rng, n, m)
    found = _fit(answers, features, rng).feature_share_
    assert found is not None
    value = 1 / (1 + np.exp(-model.feature_numbers(truth)[0]))
    return Outcome(int(found["features"].low <= value <= found["features"].high))


def deviations(rng: np.random.Generator, *, n: int, m: int) -> Outcome:
    """How many of the intervals hold the deviation of their object."""
    features, answers, model, truth = _from_prior(rng, n, m)
    true: dict[object, float] = dict(enumerate(leave_one_out_distances(model, truth).tolist()))
    found = _fit(answers, features, rng).feature_deviations()
    return Outcome(sum(bool(each.low <= true[each.object] <= each.high) for each in found), len(found))


_SHARE, _DEVIATION = "the interval of the share of features", "intervals of deviations from features"
_SIZES = ((14, 120), (30, 150), (30, 900))
_USELESS, _USED, _ANY = "features are called useless", "features are said to tell much", "any dimension is determined"


def _finding(inference: str, kind: Kind, n_answers: int, *target: float) -> Rate:
    code = "features-useless" if inference == _USELESS else "features-used"
    is_right = (kind == "right") == (inference == _USED)
    measure: Literal["power", "size"] = "power" if is_right else "size"
    simulate = partial(finds, kind=kind, n_answers=n_answers, code=code)
    return Rate(inference, f"{kind}; {_N} objects, {n_answers} answers", measure, simulate, 30, *target)


RATES = [
    *(_finding(_USELESS, "right", m, 0.0, 0.05) for m in (20, 200)),
    *(_finding(_USELESS, "shuffled", m) for m in (20, 100, 400)),
    *(_finding(_USED, "shuffled", m, 0.0, 0.05) for m in (20, 200)),
    *(_finding(_USED, "right", m) for m in (20, 100)),
    Rate(_ANY, f"right, and guesses; {_N} objects, 60 answers", "size",
         partial(determines, kind="right, and guesses", n_answers=60), 30, 0.0, 0.05),
    Rate(_ANY, f"right; {_N} objects, 60 answers", "power", partial(determines, kind="right", n_answers=60), 30),
    *(
        Rate(_SHARE, f"drawn from the prior; {n} objects, {m} answers", "coverage",
             partial(share, n=n, m=m), 100, 0.90, 0.98)
        for n, m in _SIZES
    ),
    *(
        Rate(_DEVIATION, f"drawn from the prior; {n} objects, {m} answers", "coverage",
             partial(deviations, n=n, m=m), 40, 0.90, 0.98)
        for n, m in _SIZES
    ),
]  # fmt: skip

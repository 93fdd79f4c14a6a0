"""What is said of features: how often right ones are called useless, and shuffled ones or guesses seem to agree."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Literal

import numpy as np

from benchmarks.validity.rates import Outcome, Rate
from nearer import Comparisons
from nearer.checking.features import share_findings
from nearer.datasets import sample_triplets
from nearer.embedding import PosteriorEmbedding

TITLE = "Features"
ABOUT = """
`nearer check` and `nearer fit` call features useless if the 95% interval of their share of the variance lies below 0.3,
and say that they tell much if it lies above. Here 30 columns of features determine 80% of the variance of 20 objects in
2-D, up to some noise, or belong to other objects (shuffled). One answer in ten is wrong, or all are guesses. Answers
that agree with features are taken for no guesses, so that a dimension is determined.
"""
_N = 20
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
]  # fmt: skip

"""Dimensions of SPoSE: intervals of the weights, and which dimensions count as reproducible."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from benchmarks.validity.rates import Outcome, Rate
from nearer._common.arrays import FloatArray
from nearer.datasets import make_dimensions, sample_odd_one_out
from nearer.embedding import SPoSE
from nearer.embedding.dimensions import MIN_REPRODUCIBILITY
from nearer.geometry import match_dimensions

TITLE = "Dimensions"
ABOUT = """
Objects have sparse weights on dimensions (`make_dimensions`), and odd-one-out trials are answered by them
(`sample_odd_one_out`); in a *lognormal* world, weights are from a lognormal distribution with a deviation of 0.5, where
they are not 0. A planted dimension is *found* where one of `SPoSE`, with its defaults, correlates with it by 0.7 or
more. Intervals are of dimensions that were found; of weights of 0, which most are, the low end is 0 in all. A dimension
of the fit is *spurious* where its largest correlation with a planted one is below 0.3.
"""
_FOUND, _SPURIOUS = 0.7, 0.3
_Fit: TypeAlias = tuple[FloatArray, SPoSE, FloatArray]
_fits: dict[int, _Fit] = {}  # of studies that several rates are of, by their random stream


def _fit(rng: np.random.Generator, **how: Any) -> _Fit:
    """Return planted weights, the fit, and the correlations of its dimensions with planted ones, (p, q)."""
    key = hash((rng.bit_generator.state["state"]["state"], *sorted(how.items())))
    if key not in _fits:
        _fits[key] = _new_fit(rng, **how)
    return _fits[key]


def _new_fit(rng: np.random.Generator, n: int, p: int, trials: int, *, lognormal: bool = False) -> _Fit:
    planted = make_dimensions(n, p, scale=1.0, random_state=int(rng.integers(2**31)))
    if lognormal:
        planted = np.where(planted > 0, np.exp(0.5 * rng.normal(size=planted.shape)), 0.0)
    answers = sample_odd_one_out(planted, trials, random_state=int(rng.integers(2**31)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SPoSE(random_state=int(rng.integers(2**31))).fit(answers)
    return planted, model, np.corrcoef(planted.T, model.embedding_.T)[:p, p:]


def held(rng: np.random.Generator, *, positive: bool, **how: Any) -> Outcome:
    """How many intervals hold the planted weights of dimensions that were found."""
    planted, model, _ = _fit(rng, **how)
    match = match_dimensions(planted, model.embedding_)
    found = match.correlations >= _FOUND
    assert model.weight_intervals_ is not None
    low, high = np.moveaxis(model.weight_intervals_[:, match.assignment[found]], 2, 0)
    true = planted[:, found]
    inside, counted = (low <= true) & (true <= high), (true > 0) | (not positive)
    return Outcome(int(inside[counted].sum()), int(counted.sum()))


def counts(rng: np.random.Generator, *, spurious: bool, **how: Any) -> Outcome:
    """How many dimensions count as reproducible, of those that are spurious, or that were planted and found."""
    _, model, correlations = _fit(rng, **how)
    largest = correlations.max(axis=0)
    of = largest < _SPURIOUS if spurious else largest >= _FOUND
    assert model.reproducibility_ is not None
    return Outcome(int((model.reproducibility_[of] >= MIN_REPRODUCIBILITY).sum()), int(of.sum()))


_INTERVALS, _REPRODUCIBLE = "intervals of weights", "a dimension counts as reproducible"
_SMALL: dict[str, Any] = {"n": 60, "p": 6, "trials": 10_000}
_LARGE: dict[str, Any] = {"n": 100, "p": 10, "trials": 40_000}
_LOGNORMAL: dict[str, Any] = {**_SMALL, "lognormal": True}
_WORLDS = {
    "60 objects, 6 dimensions, 10,000 trials": _SMALL,
    "100 objects, 10 dimensions, 40,000 trials": _LARGE,
    "60 objects, 6 lognormal dimensions, 10,000 trials": _LOGNORMAL,
}

RATES = [
    *(
        Rate(
            _INTERVALS,
            f"{which}; {world}",
            "coverage",
            partial(held, positive=positive, **how),
            20,
            0.92,
            0.98,
            studies=f"dimensions, {world}",
        )
        for world, how in _WORLDS.items()
        for which, positive in (("all", False), ("above 0", True))
    ),
    *(
        Rate(
            _REPRODUCIBLE,
            f"{which}; {world}",
            "size" if which == "spurious" else "power",
            partial(counts, spurious=which == "spurious", **how),
            20,
            studies=f"dimensions, {world}",
        )
        for world, how in _WORLDS.items()
        for which in ("spurious", "planted")
    ),
]

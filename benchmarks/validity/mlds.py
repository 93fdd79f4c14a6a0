"""Difference scaling: intervals of scale, noise and lapse rate, and the tests of fit."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from benchmarks.validity.rates import Outcome, Rate
from nearer import Comparisons
from nearer._common.arrays import FloatArray
from nearer.embedding import MLDS
from nearer.embedding.mlds import ScaleIntervals

TITLE = "Difference scaling (MLDS)"
ABOUT = """
Eight objects on a scale $x^{1.5}$, asked about in random triads with the anchor in the middle, or in random quadruples,
with noise of 0.25 unless stated otherwise. *One observer* answers 400 triads; with *lapses* a tenth of the answers is a
coin toss. Twenty *people who differ* have scales $x^g$, noise and lapse rates of their own: $\\log g$ is normal with a
standard deviation of 0.3 around $\\log 1.5$, that of the noise 0.4, lapse rates are uniform up to 0.2, and the numbers
of answers, 400 in all, are those of a lognormal distribution with a deviation of 0.5. Intervals of 95%, of 200
resamples, of the six inner objects; of people they should hold the mean of their scales. Tests at 5%, additivity with
39 simulations. *Three quarters of a circle*: differences are chords, asked about in quadruples with noise of 0.15.
"""

N_OBJECTS, EXPONENT, SIGMA = 8, 1.5, 0.25
N_ANSWERS, N_RESAMPLES, N_SIMULATIONS, LEVEL = 400, 200, 39, 0.05
POSITIONS = np.arange(N_OBJECTS) / (N_OBJECTS - 1)


class Observed(NamedTuple):
    """Answers, and the scale behind them."""

    comparisons: Comparisons
    scale: FloatArray


def drawn_triads(rng: np.random.Generator, m: int) -> NDArray[np.integer]:
    """Return triads with the anchor in the middle of the order, as quadruples."""
    triads = np.sort([rng.choice(N_OBJECTS, 3, replace=False) for _ in range(m)], axis=1)
    return triads[:, [1, 0, 1, 2]]


def drawn_quadruples(rng: np.random.Generator, m: int) -> NDArray[np.integer]:
    """Return pairs of intervals."""
    return np.array([rng.choice(N_OBJECTS, 4, replace=False) for _ in range(m)])


def answers(
    rng: np.random.Generator, rows: NDArray[np.integer], lengths: FloatArray, sigma: float, lapse: float
) -> NDArray[np.bool_]:
    """Return whether the first pair is called the nearer, given the lengths (m, 2) of both."""
    near = lengths[:, 1] - lengths[:, 0] + rng.normal(scale=sigma, size=len(rows)) > 0
    return np.where(rng.random(len(rows)) < lapse, rng.random(len(rows)) < 0.5, near)


def along(scale: FloatArray, rows: NDArray[np.integer]) -> FloatArray:
    """Return the lengths of both intervals."""
    first, second = scale[rows[:, :2]], scale[rows[:, 2:]]
    lengths: FloatArray = np.abs(np.column_stack([first[:, 1] - first[:, 0], second[:, 1] - second[:, 0]]))
    return lengths


def one_observer(rng: np.random.Generator, *, m: int = N_ANSWERS, sigma: float = SIGMA, lapse: float = 0.0) -> Observed:
    """Return the answers of one observer."""
    scale, rows = POSITIONS**EXPONENT, drawn_triads(rng, m)
    near = answers(rng, rows, along(scale, rows), sigma, lapse)
    return Observed(Comparisons.from_quadruplets(rows, near, n_objects=N_OBJECTS), scale)


def people_who_differ(rng: np.random.Generator, n_people: int = 20) -> Observed:
    """Return the answers of people, and the mean of the scales of all such people."""
    exponents = np.exp(np.log(EXPONENT) + 0.3 * rng.standard_normal(n_people))
    effort = np.exp(0.5 * rng.standard_normal(n_people))
    person = rng.choice(n_people, size=N_ANSWERS, p=effort / effort.sum())
    rows, near = drawn_triads(rng, N_ANSWERS), np.empty(N_ANSWERS, bool)
    for number in range(n_people):
        own = rows[person == number]
        sigma, lapse = SIGMA * np.exp(0.4 * rng.standard_normal()), rng.uniform(0, 0.2)
        near[person == number] = answers(rng, own, along(POSITIONS ** exponents[number], own), sigma, lapse)
    nodes, weights = np.polynomial.hermite_e.hermegauss(20)
    scales = POSITIONS ** np.exp(np.log(EXPONENT) + 0.3 * nodes)[:, None]
    mean = weights @ scales / weights.sum()
    return Observed(Comparisons.from_quadruplets(rows, near, annotators=person, n_objects=N_OBJECTS), mean)


def on_a_circle(rng: np.random.Generator, *, m: int) -> Observed:
    """Return answers about objects on three quarters of a circle."""
    rows = drawn_quadruples(rng, m)
    chords = np.sin(3 / 4 * np.pi * along(POSITIONS, rows))
    return Observed(Comparisons.from_quadruplets(rows, answers(rng, rows, chords, 0.15, 0.0)), POSITIONS)


def on_a_line(rng: np.random.Generator, *, m: int) -> Observed:
    """Return answers to the same questions about objects on a line."""
    rows = drawn_quadruples(rng, m)
    return Observed(
        Comparisons.from_quadruplets(rows, answers(rng, rows, along(POSITIONS, rows), 0.15, 0.0)), POSITIONS
    )


def fitted(observed: Observed, rng: np.random.Generator, lapse: float | None = None) -> MLDS:
    """Return the fit, silently."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return MLDS(lapse=lapse, random_state=int(rng.integers(2**31))).fit(observed.comparisons)


def holds_scale(found: ScaleIntervals, observed: Observed) -> Outcome:
    """Count the inner objects whose interval holds the scale."""
    inside = ((found.lower <= observed.scale) & (observed.scale <= found.upper))[1:-1]
    return Outcome(int(inside.sum()), len(inside))


def coverage_of_scale(
    rng: np.random.Generator,
    *,
    world: Callable[[np.random.Generator], Observed],
    by: Literal["trials", "annotators"] | None = None,
) -> Outcome:
    """Count intervals that hold the scale."""
    observed = world(rng)
    found = fitted(observed, rng).intervals(n_resamples=N_RESAMPLES, by=by)
    return holds_scale(found, observed)


def coverage_of_number(
    rng: np.random.Generator, *, number: Literal["sigma", "lapse"], truth: float, lapse: float
) -> Outcome:
    """Say whether the interval of the noise, or of the lapse rate, holds it."""
    found = fitted(one_observer(rng, lapse=lapse), rng).intervals(n_resamples=10)  # which these do not need
    low, high = getattr(found, number)
    return Outcome(int(low <= truth <= high))


def finds_lapses(rng: np.random.Generator, *, sigma: float, lapse: float) -> Outcome:
    """Say whether the test of lapses rejects."""
    found = fitted(one_observer(rng, sigma=sigma, lapse=lapse), rng).goodness_of_fit(10)
    return Outcome(int(found.lapse_p <= LEVEL))


def finds_nonadditivity(rng: np.random.Generator, *, world: Callable[[np.random.Generator], Observed]) -> Outcome:
    """Say whether the test of additivity rejects."""
    found = fitted(world(rng), rng).goodness_of_fit(N_SIMULATIONS)
    return Outcome(int(found.additivity_p <= LEVEL))


_LAPSING = partial(one_observer, lapse=0.1)
_SCALE, _LAPSES, _ADDS = "MLDS: intervals of the scale", "MLDS: test of lapses", "MLDS: test of additivity"

RATES = [
    Rate(_SCALE, "one observer", "coverage", partial(coverage_of_scale, world=one_observer), 200, 0.92, 0.98),
    Rate(_SCALE, "one observer, lapses", "coverage", partial(coverage_of_scale, world=_LAPSING), 100, 0.92, 0.98),
    Rate(
        _SCALE, "people who differ; by annotators, the default", "coverage",
        partial(coverage_of_scale, world=people_who_differ), 100, 0.92, 0.98,
    ),
    Rate(
        _SCALE, "people who differ; by trials, which speak of these people only", "coverage",
        partial(coverage_of_scale, world=people_who_differ, by="trials"), 100,
    ),
    Rate(
        "MLDS: interval of the noise", "one observer", "coverage",
        partial(coverage_of_number, number="sigma", truth=SIGMA, lapse=0.0), 100, 0.92, 0.98,
    ),
    Rate(
        "MLDS: interval of the noise", "one observer, lapses", "coverage",
        partial(coverage_of_number, number="sigma", truth=SIGMA, lapse=0.1), 300, 0.92, 0.98,
    ),
    Rate(
        "MLDS: interval of the lapse rate", "one observer, lapses", "coverage",
        partial(coverage_of_number, number="lapse", truth=0.1, lapse=0.1), 200, 0.92, 0.98,
    ),
    Rate(
        "MLDS: interval of the lapse rate", "one observer, no lapses", "coverage",
        partial(coverage_of_number, number="lapse", truth=0.0, lapse=0.0), 200, 0.92, 1.0,
    ),
    Rate(_LAPSES, "no lapses, noise 0.1", "size", partial(finds_lapses, sigma=0.1, lapse=0.0), 400, 0.0, 0.07),
    Rate(_LAPSES, "no lapses", "size", partial(finds_lapses, sigma=SIGMA, lapse=0.0), 400, 0.0, 0.07),
    Rate(_LAPSES, "a tenth lapses, noise 0.1", "power", partial(finds_lapses, sigma=0.1, lapse=0.1), 200),
    Rate(_LAPSES, "a tenth lapses", "power", partial(finds_lapses, sigma=SIGMA, lapse=0.1), 200),
    Rate(_ADDS, "one observer", "size", partial(finds_nonadditivity, world=one_observer), 200, 0.03, 0.07),
    Rate(_ADDS, "one observer, lapses", "size", partial(finds_nonadditivity, world=_LAPSING), 200, 0.03, 0.07),
    Rate(
        _ADDS, "a line, 300 quadruples", "size",
        partial(finds_nonadditivity, world=partial(on_a_line, m=300)), 200, 0.03, 0.07,
    ),
    Rate(
        _ADDS, "people who differ, taken for one observer", "size",
        partial(finds_nonadditivity, world=people_who_differ), 100,
    ),
    Rate(
        _ADDS, "three quarters of a circle, 300 quadruples", "power",
        partial(finds_nonadditivity, world=partial(on_a_circle, m=300)), 100,
    ),
]  # fmt: skip

"""Ratings of pairs: ellipses of maps by nonmetric scaling, and what is said of people who rate otherwise."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import pdist

from benchmarks.validity.rates import Outcome, Rate
from nearer._common.arrays import FloatArray
from nearer.checking import check_dissimilarities
from nearer.data.dissimilarities import Dissimilarities
from nearer.embedding import NonmetricMDS
from nearer.evaluation.dissimilarities import bootstrap_map, choose_dimension, fit_dissimilarities

TITLE = "Ratings of pairs"
ABOUT = """
Twelve people rate how different twenty objects are, all 190 pairs, on a scale of seven. Objects are normal points on a
plane; a person rates $a + b\\,(d / d_{\\max})^g$ with noise, cut off and rounded, where $\\log g$, $\\log b$ and $a$
are normal with deviations of 0.2, 0.1 and 0.05. Noise of 7.5%, 17.5% or 30% of the scale makes ratings correlate with
the mean of the others by about 0.9, 0.75 and 0.55. People who *differ* weight the two axes by $e^{w}$ and $e^{-w}$, $w$
normal with a deviation of 0.2. Ellipses of 95%, from 100 resamples of the people, of maps by `NonmetricMDS` of two
dimensions; of *one matrix* they are from resamples of its cells: these are too small, and are not shown.
"""

N_OBJECTS, N_PEOPLE, N_POINTS = 20, 12, 7
LOW, MIDDLE, HIGH = 0.075, 0.175, 0.3  # noise, of the scale
N_RESAMPLES = 100


class Rated(NamedTuple):
    """Ratings, and the points behind them."""

    data: Dissimilarities
    points: FloatArray


def rated(
    rng: np.random.Generator,
    *,
    noise: float = MIDDLE,
    n_people: int = N_PEOPLE,
    weights: float = 0.0,
    share: float = 1.0,
) -> Rated:
    """Return the ratings of people; ``share``: of the pairs, drawn for each, that a person rates."""
    points = rng.normal(size=(N_OBJECTS, 2))
    ratings = []
    for _ in range(n_people):
        w = weights * rng.normal()
        distances = pdist(points * np.exp([w, -w]))
        scaled = (distances / distances.max()) ** np.exp(0.2 * rng.normal())
        meant = 0.05 * rng.normal() + np.exp(0.1 * rng.normal()) * scaled + noise * rng.normal(size=len(scaled))
        given = np.clip(np.round(1 + (N_POINTS - 1) * meant), 1, N_POINTS)
        ratings.append(np.where(rng.random(len(given)) < share, given, np.nan))
    return Rated(data_of(np.array(ratings)), points)


def data_of(ratings: FloatArray) -> Dissimilarities:
    """Return ratings, (k, N), as they are read; NaN where there is none."""
    n_people, (a, b) = len(ratings), np.triu_indices(N_OBJECTS, 1)
    sums, trials = np.zeros((2, n_people, N_OBJECTS, N_OBJECTS))
    sums[:, a, b], trials[:, a, b] = np.nan_to_num(ratings), ~np.isnan(ratings)
    people = tuple(f"p{at}" for at in range(n_people)) if n_people > 1 else None
    return Dissimilarities(sums, trials, [f"o{at}" for at in range(N_OBJECTS)], "ratings", people)


def coverage(rng: np.random.Generator, *, world: Callable[[np.random.Generator], Rated]) -> Outcome:
    """Count the objects whose ellipse holds their true place."""
    found, seed = world(rng), int(rng.integers(2**31))
    model = fit_dissimilarities(NonmetricMDS(2, random_state=seed), found.data)
    places = bootstrap_map(model, found.data, n_resamples=N_RESAMPLES, random_state=seed)
    assert places is not None
    inside = places.covers(found.points)
    return Outcome(int(inside.sum()), len(inside))


def flags(rng: np.random.Generator, *, noise: float, code: str, odd: str = "") -> Outcome:
    """Count the people who are flagged: the first, who is odd, or all of them where nobody is."""
    data = rated(rng, noise=noise).data
    ratings = data.of_people.copy()
    if odd == "reversed":
        ratings[0] = N_POINTS + 1 - ratings[0]
    elif odd == "random":
        ratings[0] = rng.integers(1, N_POINTS + 1, size=ratings.shape[1])
    found = [each for each in check_dissimilarities(data_of(ratings)) if each.code == code]
    concerned = found[0].concerned if found else ()
    return Outcome(int("p0" in concerned)) if odd else Outcome(len(concerned), N_PEOPLE)


def finds_dimension(rng: np.random.Generator, *, noise: float | None) -> Outcome:
    """Say whether two dimensions are found, or, of ratings at random, any number."""
    random = data_of(rng.integers(1, N_POINTS + 1, size=(N_PEOPLE, N_OBJECTS * (N_OBJECTS - 1) // 2)).astype(float))
    data = random if noise is None else rated(rng, noise=noise).data
    found = choose_dimension(NonmetricMDS(2, random_state=0), data, (1, 2, 3, 4, 5), random_state=rng)
    assert found is not None
    return Outcome(int(found.chosen is not None if noise is None else found.chosen == 2))


_ELLIPSES, _REVERSED, _UNRELATED = "ellipses of ratings", "people who rate in reverse", "people who agree with nobody"
_DIMENSION = "number of dimensions of ratings"


def _covers(name: str, n_runs: int, low: float = 0.0, high: float = 1.0, **world: Any) -> Rate:
    return Rate(_ELLIPSES, name, "coverage", partial(coverage, world=partial(rated, **world)), n_runs, low, high)


RATES = [
    _covers("12 people, 20 objects", 60, 0.92, 0.98),
    _covers("less noise", 60, 0.92, 0.98, noise=LOW),
    _covers("more noise", 60, 0.92, 0.98, noise=HIGH),
    _covers("people who differ", 60, 0.92, 0.98, weights=0.2),
    _covers("each rates half of the pairs", 60, 0.92, 0.98, share=0.5),
    _covers("one matrix, resampled cells", 60, n_people=1, noise=LOW),
    Rate(_REVERSED, "nobody does", "size", partial(flags, noise=MIDDLE, code="reversed-raters"), 100, 0.0, 0.01),
    Rate(_REVERSED, "one does", "power", partial(flags, noise=MIDDLE, code="reversed-raters", odd="reversed"), 100),
    Rate(_UNRELATED, "nobody is", "size", partial(flags, noise=HIGH, code="unrelated-raters"), 100, 0.0, 0.07),
    Rate(
        _UNRELATED, "one rates at random", "power",
        partial(flags, noise=MIDDLE, code="unrelated-raters", odd="random"), 100,
    ),
    Rate(_DIMENSION, "ratings at random", "size", partial(finds_dimension, noise=None), 60, 0.0, 0.07),
    Rate(_DIMENSION, "two dimensions", "power", partial(finds_dimension, noise=MIDDLE), 60),
]  # fmt: skip

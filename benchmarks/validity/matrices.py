"""Models of a map (RSA): size, power and coverage of `nearer.comparing.compare_matrices`."""

from __future__ import annotations

import warnings
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist, pdist
from scipy.stats import spearmanr

from benchmarks.validity.rates import Outcome, Rate, own_questions
from nearer import Comparisons
from nearer._common.arrays import FloatArray
from nearer.comparing import (
    MatrixComparison,
    compare_matrices,
    full_posterior,
    matrix_noise,
    people_matrices,
)
from nearer.datasets import sample_triplets
from nearer.embedding import CKL, STE

TITLE = "Models of a map (RSA)"
ABOUT = """
`compare_matrices` and `nearer compare MAP --with` ask how well models explain the distances between objects, and
whether one does better than another, at 5%, with 95% intervals over objects. Worlds: 20 objects drawn from a normal
distribution in 2, 3 or 5 dimensions, 1,200 random triplets of which 5% are answered the other way round, and a map of
two dimensions by STE; models are compared in all dimensions all the same. *Axes*: each of two models is one of the true
axes, so that both are equally good. *Noisy copies*: the true places with noise of 0.7 standard deviations, equally good
as well. The better one of two has noise of 0.4 standard deviations, the other 1.2. Coverage is of the correlation with
the true distances of 600 objects. The upper end of the noise ceiling is to be within 0.02 of the correlation of the
true distances with those that are compared. *Over people*: 12 people give 80 triplets each, with lapse rates of up to
20%, about 16 objects of two dimensions that are mirrored in the diagonal, so that two models, one for each of the axes,
explain these objects equally well whoever answers; the 95% interval over people holds the true difference of 0 wherever
the test does not reject. With *own maps* each person sees every object with noise of half of a standard deviation.
"""

_N_OBJECTS, _N_TRIPLETS, _FLIPPED = 20, 1200, 0.05
_NOISE, _BETTER, _WORSE = 0.7, 0.4, 1.2
_N_MANY, _CLOSE = 600, 0.02
_N_COPIES = 8
_N_MIRRORED, _N_PEOPLE, _N_EACH, _MAX_LAPSE = 16, 12, 80, 0.2


class World(NamedTuple):
    """Places, models of them by name, and what came out."""

    points: FloatArray
    found: MatrixComparison


def axes_of(points: FloatArray) -> dict[str, FloatArray]:
    """Return two models, each of one true axis."""
    return {f"axis {k}": np.abs(points[:, k : k + 1] - points[:, k]) for k in range(2)}


def copies_of(points: FloatArray, noises: tuple[float, ...], rng: np.random.Generator) -> dict[str, FloatArray]:
    """Return models with noise of these standard deviations."""
    places = [points + noise * rng.normal(size=points.shape) for noise in noises]
    return {f"copy {k}": cdist(each, each) for k, each in enumerate(places)}


def world(
    rng: np.random.Generator, dimension: int, noises: tuple[float, ...], axes: bool, ceiling: bool = False
) -> World:
    """Simulate a study, fit a map of two dimensions, and compare models."""
    points = rng.normal(size=(_N_OBJECTS, dimension))
    answers = sample_triplets(points, _N_TRIPLETS, flipped=_FLIPPED, random_state=int(rng.integers(2**31)))
    models = {"truth": cdist(points, points), **copies_of(points, noises, rng), **(axes_of(points) if axes else {})}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seed = int(rng.integers(2**31))
        full = full_posterior(STE(2, random_state=seed).fit(answers), random_state=seed)
        noise = matrix_noise(full, random_state=seed) if ceiling else None
        found = compare_matrices(full, models, noise=noise, n_permutations=1, n_resamples=400, random_state=seed)
    return World(points, found)


@cache
def true_correlation(dimension: int, kind: str) -> float:
    """Return how well a model explains the true distances of many objects."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(_N_MANY, dimension))
    model = points[:, :1] if kind == "axis" else points + _NOISE * rng.normal(size=points.shape)
    return float(spearmanr(pdist(points), pdist(model)).statistic)


def better(rng: np.random.Generator, dimension: int, noises: tuple[float, ...] = (), axes: bool = False) -> Outcome:
    """Return how many of disjoint pairs of models are called different."""
    found = world(rng, dimension, noises, axes).found
    p_values = {(each.first, each.second): each.p_value for each in found.differences}
    names = [fit.name for fit in found.models if fit.name != "truth"]
    pairs = list(zip(names[::2], names[1::2], strict=True))
    return Outcome(sum(p_values[pair] <= 0.05 for pair in pairs), len(pairs))


def holds(rng: np.random.Generator, dimension: int) -> Outcome:
    """Return how many intervals hold the correlation with the true distances."""
    found = world(rng, dimension, (_NOISE,) * 4, axes=True).found
    held = [
        fit.low <= true_correlation(dimension, fit.name.split()[0]) <= fit.high
        for fit in found.models
        if fit.name != "truth"
    ]
    return Outcome(sum(held), len(held))


def better_over_people(rng: np.random.Generator, own: float) -> Outcome:
    """Return whether one of two models that are equally good for the objects at hand is called better over people."""
    half = rng.normal(size=(_N_MIRRORED // 2, 2))
    points = np.concatenate([half, half[:, ::-1]])
    rows, people = own_questions(rng, _N_PEOPLE, _N_EACH, _N_MIRRORED).reshape(-1, 3), np.arange(_N_PEOPLE)
    person = np.repeat(people, _N_EACH)
    seen = points + own * rng.normal(size=(_N_PEOPLE, *points.shape))
    anchor, first, second = (seen[person, rows[:, column]] for column in range(3))
    first_near = np.square(anchor - first).sum(axis=1) < np.square(anchor - second).sum(axis=1)
    wrong = rng.random(len(rows)) < rng.uniform(0, _MAX_LAPSE, _N_PEOPLE)[person] / 2
    answers = Comparisons.from_triplets(
        rows, np.where(first_near ^ wrong, 1, -1), annotators=person, n_objects=_N_MIRRORED
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seed = int(rng.integers(2**31))
        full = full_posterior(CKL(2, random_state=seed).fit(answers), random_state=seed)
        people_maps = people_matrices(full, random_state=seed)
        (found,) = compare_matrices(
            full, axes_of(points), people=people_maps, n_permutations=1, n_resamples=10, random_state=seed
        ).differences
    p_value = found.people_p_value
    return Outcome(int(p_value is not None and p_value <= 0.05))


def upper_end(rng: np.random.Generator, dimension: int) -> Outcome:
    """Return whether the upper end of the ceiling is near what the true distances reach."""
    found = world(rng, dimension, (), axes=False, ceiling=True).found
    assert found.ceiling is not None
    return Outcome(int(abs(found.ceiling.high - found.models[0].estimate) <= _CLOSE))


def _rates() -> list[Rate]:
    """Return all rates."""
    found: list[Rate] = []
    test = "one model is better than another"
    size: dict[str, Any] = {"kind": "size", "low": 0.0, "high": 0.07}
    for dimension, n_runs in ((2, 100), (3, 250), (5, 250)):
        truth = f"truth of {dimension} dimensions, map of 2"
        of: dict[str, Any] = {"dimension": dimension}
        found += [
            Rate(test, f"{truth}; axes", simulate=partial(better, axes=True, **of), n_runs=n_runs, **size),
            Rate(
                test,
                f"{truth}; noisy copies",
                simulate=partial(better, noises=(_NOISE,) * _N_COPIES, **of),
                n_runs=30,
                **size,
            ),
            Rate(
                test,
                f"{truth}; one is better",
                "power",
                partial(better, noises=(_BETTER, _WORSE), **of),
                n_runs=30,
                low=0.8,
            ),
            Rate("interval of a correlation", truth, "coverage", partial(holds, **of), n_runs=40, low=0.92, high=0.98),
            Rate("upper end of the noise ceiling", truth, "coverage", partial(upper_end, **of), n_runs=30, low=0.8),
        ]
    for people, own in (("people alike but for lapses", 0.0), ("own maps", 0.5)):
        world = f"12 people answer 80 triplets each, {people}"
        found.append(
            Rate(f"{test}, over people", world, simulate=partial(better_over_people, own=own), n_runs=60, **size)
        )
    return found


RATES = _rates()

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
    partial_mantel,
    people_matrices,
    weigh_models,
)
from nearer.datasets import sample_triplets
from nearer.embedding import CKL, STE, PosteriorEmbedding
from nearer.evaluation import distance_matrix

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

`partial_mantel` asks whether a model says more about distances than others do. Here 12 or 25 objects have coordinates
z of their own, on which distances and the model both depend, and otherwise on nothing in common: *axes*, as each has
one further axis; *noisy copies*, as both are z with noise of half of a standard deviation, and *of a fitted map*,
where the distances are those of a posterior of 600 answers; *clusters*, as z says only which of three groups an object
is of. Where dependence is not linear in z (*bends*, as both have a further axis with the squares of z in it), or not
all of it is known (*smooth*, as both change smoothly along a line whose distances are given), the test does not hold.
In the world with an effect the distances have an axis in common with the model, of 0.7 standard deviations.
`weigh_models` is given 20 objects and four models, none of which have anything to do with the distances; or two of
them are axes of these, with noise of half of a standard deviation.
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


def partial_world(rng: np.random.Generator, name: str, n: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return coordinates of objects as seen, of a model, and of what is given."""
    z, own, other, further = rng.normal(size=(4, n, 2))
    axis = z[:, :1]
    if name in ("noisy copies", "noisy copies, of a fitted map"):
        return z + 0.5 * own, z + 0.5 * other, z
    if name == "axes":
        return np.hstack([axis, own[:, :1]]), np.hstack([axis, other[:, :1]]), axis
    if name == "bends":
        return np.hstack([axis, axis**2 + own[:, :1]]), np.hstack([axis, axis**2 + other[:, :1]]), axis
    if name == "clusters":
        group = np.eye(3)[rng.integers(3, size=n)]
        return group @ (2 * further[:3]) + own, group @ (2 * z[:3]) + other, group
    if name == "smooth":
        line = np.sort(rng.random(n))[:, None]
        root = np.linalg.cholesky(np.exp(-(((line - line.T) / 0.3) ** 2) / 2) + 1e-8 * np.eye(n))
        return root @ own, root @ other, line
    common = own[:, :1]
    return np.hstack([axis, 0.7 * common, 0.5 * further]), np.hstack([axis, common + 0.5 * other[:, :1]]), axis


def more_than_given(rng: np.random.Generator, name: str, n: int) -> Outcome:
    """Return whether a model is said to explain more than what is given does."""
    seen, model, given = partial_world(rng, name, n)
    distances = cdist(seen, seen)
    if name.endswith("fitted map"):
        answers = sample_triplets(seen, 600, flipped=_FLIPPED, random_state=int(rng.integers(2**31)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            distances = distance_matrix(PosteriorEmbedding(solver="fast", n_jobs=1, random_state=0).fit(answers)).matrix
    found = partial_mantel(distances, cdist(model, model), [cdist(given, given)], n_permutations=199, random_state=rng)
    return Outcome(int(found.p_value <= 0.05))


def weights_found(rng: np.random.Generator, planted: bool) -> Outcome:
    """Return whether models with learned weights are said to explain distances of held-out objects."""
    points = rng.normal(size=(_N_OBJECTS, 3))
    axes = points[:, :2].T + 0.5 * rng.normal(size=(2, _N_OBJECTS)) if planted else rng.normal(size=(2, _N_OBJECTS))
    places = [*axes, *rng.normal(size=(2, _N_OBJECTS))]
    models = {f"model {k}": np.abs(each[:, None] - each) for k, each in enumerate(places)}
    found = weigh_models(cdist(points, points), models, n_splits=5, n_permutations=99, random_state=rng)
    return Outcome(int(found.p_value <= 0.05))


def _rates_of_several() -> list[Rate]:
    """Return the rates of partial correlations and of learned weights."""
    found: list[Rate] = []
    test, weights = "a model says more than what is given", "models with learned weights explain held-out objects"
    size: dict[str, Any] = {"kind": "size", "low": 0.0, "high": 0.07}
    for name in ("axes", "noisy copies", "clusters", "bends", "smooth"):
        target = {"kind": "size"} if name in ("bends", "smooth") else size
        found += [
            Rate(test, f"{name}; {n} objects", simulate=partial(more_than_given, name=name, n=n), n_runs=500, **target)
            for n in (12, 25)
        ]
    name = "noisy copies, of a fitted map"
    found.append(
        Rate(test, f"{name}; 20 objects", simulate=partial(more_than_given, name=name, n=20), n_runs=200, **size)
    )
    found += [
        Rate(test, f"an axis in common; {n} objects", "power", partial(more_than_given, name="effect", n=n), 100)
        for n in (12, 25)
    ]
    found.append(Rate(weights, "unrelated models", simulate=partial(weights_found, planted=False), n_runs=300, **size))
    found.append(Rate(weights, "two of four are noisy axes", "power", partial(weights_found, planted=True), 100))
    return found


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


RATES = [*_rates(), *_rates_of_several()]

"""Objects beyond those that a posterior was sampled for: some in no comparison, some added later."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray
from nearer.geometry import rotation
from nearer.sampling.features import FeatureBasis
from nearer.sampling.model import HYPERPARAMETERS, DistinctComparisons, Model, draws_of

_N_HYPER = len(HYPERPARAMETERS)
_N_FIRST_TRANSITIONS, _N_TRANSITIONS = 60, 6  # for the first draw, and for each one after it
_FIRST_STEP, _MAX_DEPTH = 0.2, 5
_MAX_COORDINATE = 3.0  # of a start: along an axis of hardly any spread, rounding errors would be large


def add_objects(
    model: Model,
    unknowns: FloatArray,
    known: NDArray[np.integer],
    n_objects: int,
    rng: np.random.Generator,
    features: FeatureBasis | None = None,
) -> tuple[Model, FloatArray]:
    """Return a model of ``n_objects`` without comparisons, and unknowns with new objects drawn from the prior.

    ``known`` has the positions of the objects of the model among all. Annotators are dropped: others may answer about
    the new objects. ``features`` are those of all objects, if any.
    """
    n, p = model.n_objects, model.n_components
    exposure = np.full(n_objects, model.least_exposure)
    exposure[known] = model.exposure
    larger = replace(model, exposure=exposure, comparisons=DistinctComparisons.empty(), features=features, people=None)
    coordinates = rng.standard_normal((len(unknowns), n_objects, p))
    coordinates[:, known] = unknowns[:, : n * p].reshape(-1, n, p)
    scales = rng.standard_normal((len(unknowns), n_objects))
    scales[:, known] = unknowns[:, n * p + p : n * p + p + n]
    axes, rest = unknowns[:, n * p : n * p + p], unknowns[:, model.core_size - _N_HYPER : model.first_of_people]
    return larger, np.hstack([coordinates.reshape(len(unknowns), -1), axes, scales, rest])


def draw_other_objects(
    model: Model, unknowns: FloatArray, alike: NDArray[np.integer], rng: np.random.Generator
) -> tuple[Model, FloatArray]:
    """Return a model of other objects, with the features of those at positions ``alike``, and unknowns, (k, size).

    What people make of features is kept; deviations and scales of the objects are drawn from the prior.
    """
    n, p, count = model.n_objects, model.n_components, len(alike)
    features = None if model.features is None else model.features.subset(alike)
    other = replace(model, exposure=np.zeros(count), comparisons=DistinctComparisons.empty(), features=features)
    own = rng.standard_normal((len(unknowns), count * (p + 1)))
    axes, rest = unknowns[:, n * p : n * p + p], unknowns[:, model.core_size - _N_HYPER :]
    return other, np.hstack([own[:, : count * p], axes, own[:, count * p :], rest])


def sample_new_objects(
    model: Model, unknowns: FloatArray, new: NDArray[np.bool_], rng: np.random.Generator
) -> FloatArray:
    """Return unknowns, (k, size), in which new objects are drawn given all others; the model has their comparisons.

    Each draw starts from the new objects of the one before, rotated as the old ones are rotated from that draw to this:
    in another chain the same map has another orientation, and an object that starts on the wrong side of it may stay
    there.
    """
    from nearer.optimize.kernels import samplers

    n, p = model.n_objects, model.n_components
    # Those with features start where these suggest, as `add_objects` has drawn them.
    carried = new if model.features is None else new & ~model.features.has_features
    free, kept = (
        np.concatenate([np.repeat(each, p), np.zeros(p, bool), each, np.zeros(model.size - n * p - p - n, bool)])
        for each in (new, carried)
    )
    arguments, inverse_mass, step = model.arguments, free.astype(np.float64), _FIRST_STEP
    old = np.setdiff1d(model.comparisons.pairs, np.flatnonzero(new))
    points = draws_of(model, unknowns).points[:, old]
    points -= points.mean(axis=1, keepdims=True)
    spreads = np.exp(np.exp(model.hyperparameters(unknowns)[:, :1]) * unknowns[:, n * p : n * p + p])
    spreads /= np.linalg.norm(spreads, axis=1, keepdims=True)
    result = unknowns.copy()
    coordinates = result[:, : n * p].reshape(-1, n, p)  # a view
    coordinates[0, carried] = _mean_of_near(model, coordinates[0], carried)
    for number, draw in enumerate(result):
        if number:
            draw[kept] = result[number - 1, kept]
            turn, _ = rotation(points[number - 1], points[number])
            rotated = (coordinates[number, carried] * spreads[number - 1]) @ turn / spreads[number]
            coordinates[number, carried] = rotated.clip(-_MAX_COORDINATE, _MAX_COORDINATE)
        here, length = draw, step
        value, gradient = model.density(here)
        for _ in range(_N_TRANSITIONS if number else _N_FIRST_TRANSITIONS):
            here, gradient, value, acceptance, *_ = samplers.transition(
                here, gradient, value, length, inverse_mass, _MAX_DEPTH, rng, arguments
            )
            if number == 0:
                step = length = length * (1.2 if acceptance > 0.8 else 0.7)
            elif acceptance < 0.1:  # far from the mode, where the density is steeper
                length *= 0.3
        draw[free] = here[free]
    return result


def _mean_of_near(model: Model, coordinates: FloatArray, new: NDArray[np.bool_]) -> FloatArray:
    """Return for each new object the mean of the old ones that it was judged near, or its own place without any."""
    near = model.comparisons.quadruplets[:, :2]
    pairs = np.concatenate([near, near[:, ::-1]])
    pairs = pairs[new[pairs[:, 0]] & ~new[pairs[:, 1]]]
    sums = np.zeros_like(coordinates)
    np.add.at(sums, pairs[:, 0], coordinates[pairs[:, 1]])
    counts = np.bincount(pairs[:, 0], minlength=len(new))[:, None]
    return np.where(counts > 0, sums / np.maximum(counts, 1), coordinates)[new]

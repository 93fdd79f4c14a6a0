"""Objects beyond those that a posterior was sampled for: some in no comparison, some placed later."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray
from nearer.geometry import rotation
from nearer.sampling.answers import Answers
from nearer.sampling.model import NUMBERS, Model, draws_of

_FIRST_MOVES, _MOVES = 60, 6  # transitions for the first draw, and for each one after it
_STEP, _DEPTH = 0.2, 5
_FARTHEST = 3.0  # that a coordinate begins from 0: along an axis that hardly has a spread, rounding would be large


def extended(
    model: Model, unknowns: FloatArray, known: NDArray[np.integer], n_objects: int, rng: np.random.Generator
) -> tuple[Model, FloatArray]:
    """Return a model and unknowns of more objects: those that are not known come from the prior.

    It has no answers, and no people: someone else may answer about the new objects.

    Parameters
    ----------
    model : Model
    unknowns : ndarray, shape (k, size)
    known : ndarray of int
        Where the objects of the model are among all.
    n_objects : int
    """
    n, p = model.n_objects, model.n_components
    exposure = np.full(n_objects, model.least_exposure)
    exposure[known] = model.exposure
    larger = replace(model, exposure=exposure, answers=Answers.none())
    coordinates = rng.standard_normal((len(unknowns), n_objects, p))
    coordinates[:, known] = unknowns[:, : n * p].reshape(-1, n, p)
    scales = rng.standard_normal((len(unknowns), n_objects))
    scales[:, known] = unknowns[:, n * p + p : n * p + p + n]
    axes, numbers = unknowns[:, n * p : n * p + p], unknowns[:, -len(NUMBERS) :]
    return larger, np.hstack([coordinates.reshape(len(unknowns), -1), axes, scales, numbers])


def settled(model: Model, unknowns: FloatArray, new: NDArray[np.bool_], rng: np.random.Generator) -> FloatArray:
    """Return unknowns in which the new objects are drawn given everything else, which stays as it is.

    The draws are visited in turn, each beginning where the new objects were in the one before, turned as the old ones
    are turned from that one to this: in another chain the same map lies another way round, and an object that begins on
    the wrong side of it may stay there.

    Parameters
    ----------
    model : Model
        With the comparisons that mention new objects.
    unknowns : ndarray, shape (k, size)
    new : ndarray of bool, shape (n,)
    """
    from nearer.optimize.kernels import samplers

    n, p = model.n_objects, model.n_components
    free = np.concatenate([np.repeat(new, p), np.zeros(p, bool), new, np.zeros(len(NUMBERS), bool)])
    arguments, inverse_mass, step = model.arguments, free.astype(np.float64), _STEP
    old = np.setdiff1d(model.answers.pairs, np.flatnonzero(new))
    points = draws_of(model, unknowns).points[:, old]
    points -= points.mean(axis=1, keepdims=True)
    spreads = np.exp(np.exp(unknowns[:, -len(NUMBERS), None]) * unknowns[:, n * p : n * p + p])
    spreads /= np.linalg.norm(spreads, axis=1, keepdims=True)
    result = unknowns.copy()
    coordinates = result[:, : n * p].reshape(-1, n, p)  # a view
    coordinates[0, new] = _near_means(model, coordinates[0], new)
    for number, draw in enumerate(result):
        if number:
            draw[free] = result[number - 1, free]
            turn, _ = rotation(points[number - 1], points[number])
            turned = (coordinates[number, new] * spreads[number - 1]) @ turn / spreads[number]
            coordinates[number, new] = turned.clip(-_FARTHEST, _FARTHEST)
        here, length = draw, step
        value, gradient = model.density(here)
        for _ in range(_MOVES if number else _FIRST_MOVES):
            here, gradient, value, acceptance, *_ = samplers.transition(
                here, gradient, value, length, inverse_mass, _DEPTH, rng, arguments
            )
            if number == 0:
                step = length = length * (1.2 if acceptance > 0.8 else 0.7)
            elif acceptance < 0.1:  # far from where it belongs, where the density is steeper
                length *= 0.3
        draw[free] = here[free]
    return result


def _near_means(model: Model, coordinates: FloatArray, new: NDArray[np.bool_]) -> FloatArray:
    """Return for each new object the mean of the old ones that it was called near to, or where it is without any."""
    near = model.answers.quadruplets[:, :2]
    pairs = np.concatenate([near, near[:, ::-1]])
    pairs = pairs[new[pairs[:, 0]] & ~new[pairs[:, 1]]]
    sums = np.zeros_like(coordinates)
    np.add.at(sums, pairs[:, 0], coordinates[pairs[:, 1]])
    counts = np.bincount(pairs[:, 0], minlength=len(new))[:, None]
    means: FloatArray = np.where(counts > 0, sums / np.maximum(counts, 1), coordinates)[new]
    return means

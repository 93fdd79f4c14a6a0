r"""Objects that answers place elsewhere than their features, and the objects like them, suggest.

Given all other objects, the coordinate of object i along an axis is normal, and lies away from its mean by

.. math:: (K^{-1} z)_i / (K^{-1})_{ii},

as in leave-one-out prediction with a Gaussian process. With K = D + U W U', D and W diagonal, this takes a matrix as
large as the number of directions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from nearer._common.arrays import FloatArray
from nearer.data.labels import Labels
from nearer.sampling.model import Model

_MIN_OWN_VARIANCE = 1e-4  # relative to that of the coordinates; below, rounding errors count
_MAX_DRAWS = 200


class FeatureDeviation(NamedTuple):
    """How far an object lies from where its features, and the objects like it, suggest.

    Attributes
    ----------
    object : label
    distance, low, high : float
        Relative to the typical distance between two objects: mean over the posterior, and interval of 95%.
    """

    object: object
    distance: float
    low: float
    high: float


def leave_one_out_deviations(model: Model, unknowns: FloatArray, objects: Labels) -> list[FeatureDeviation]:
    """Return the deviations of the objects with features, in the order of the lower ends of their intervals."""
    assert model.features is not None
    some = unknowns[np.unique(np.linspace(0, len(unknowns) - 1, min(len(unknowns), _MAX_DRAWS)).astype(int))]
    described = np.flatnonzero(model.features.described.any(axis=1))
    distances = np.array([leave_one_out_distances(model, q)[described] for q in some])
    lows, highs = np.percentile(distances, (2.5, 97.5), axis=0)
    columns = objects[described].tolist(), distances.mean(axis=0), lows, highs
    deviations = [FeatureDeviation(label, *map(float, row)) for label, *row in zip(*columns, strict=True)]
    return sorted(deviations, key=lambda each: -each.low)


def leave_one_out_distances(model: Model, q: FloatArray) -> FloatArray:
    """Return how far each object lies from where the others suggest, (n,), relative to the typical distance."""
    assert model.features is not None
    n, p = model.n_objects, model.n_components
    coordinates, own, weights = _coordinates(model, q)
    spreads = np.exp(np.exp(model.hyperparameters(q)[0]) * q[n * p : n * p + p])
    away = _residuals(coordinates, own, weights, model.features.directions) * spreads
    # The root mean square of the distances between two objects.
    return np.linalg.norm(away, axis=1) / np.sqrt(2 * np.sum(coordinates.var(axis=0) * spreads**2))


def _coordinates(model: Model, q: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the coordinates before they are scaled, and the weights of own deviations and of directions."""
    from nearer.optimize.kernels import posterior

    assert model.features is not None
    n, p = model.n_objects, model.n_components
    own, weights, coordinates = np.empty(n), np.empty(len(model.features.log_values)), np.empty((n, p))
    shares = np.empty(model.features.n_sets)
    posterior.mix_features(q, model.core_size, *model.features[:4], shares, weights, own, coordinates)
    return coordinates, own, weights


def _residuals(coordinates: FloatArray, own: FloatArray, weights: FloatArray, directions: FloatArray) -> FloatArray:
    """Return the leave-one-out residuals, (n, p), by Woodbury's identity."""
    precision = 1 / np.maximum(own**2, _MIN_OWN_VARIANCE)
    scaled = directions * weights  # U W^(1/2)
    weighted = precision[:, None] * scaled
    inner = np.eye(len(weights)) + scaled.T @ weighted
    solved = cho_solve(cho_factor(inner), weighted.T)
    diagonal = precision - np.einsum("ik,ki->i", weighted, solved)
    return np.asarray((precision[:, None] * coordinates - weighted @ (solved @ coordinates)) / diagonal[:, None])

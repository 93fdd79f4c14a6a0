r"""Objects that answers place elsewhere than their features, and the objects like them, suggest.

Given all other objects, the coordinate of object i along an axis is normal with a residual and a variance of

.. math:: \frac{(K^{-1} z)_i}{(K^{-1})_{ii}} \quad \text{and} \quad \frac{1}{(K^{-1})_{ii}},

as in leave-one-out prediction with a Gaussian process. With K = D + U W U', D and W diagonal, both come from a matrix as
large as the number of directions. Residuals of several draws are rotated as their maps are. The mean residual of an
object has the variance that the prior leaves open, less that which the answers leave open.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.stats import chi2

from nearer._common.arrays import FloatArray
from nearer.data.labels import Labels
from nearer.geometry import rotation
from nearer.sampling.model import Model

_MIN_OWN_VARIANCE = 1e-4  # relative to that of the coordinates; below, rounding errors count
_MAX_DRAWS = 200
_MIN_KNOWN_SHARE = 0.4  # of the variance of a deviation; where answers say less, the difference is mostly noise


class FeatureDeviation(NamedTuple):
    """How far an object lies from where its features, and the objects like it, suggest.

    Attributes
    ----------
    object : label
    distance, low, high : float
        Relative to the typical distance between two objects: mean over the posterior, and interval of 95%.
    p_value : float
        How likely so large a deviation is where the features leave as much open for this object as for all others.
    """

    object: object
    distance: float
    low: float
    high: float
    p_value: float


def leave_one_out_deviations(
    model: Model, unknowns: FloatArray, objects: Labels, embedding: FloatArray
) -> list[FeatureDeviation]:
    """Return the deviations of the objects with features, the least likely first; draws are rotated onto a map."""
    assert model.features is not None
    some = unknowns[np.unique(np.linspace(0, len(unknowns) - 1, min(len(unknowns), _MAX_DRAWS)).astype(int))]
    n, p = model.n_objects, model.n_components
    described = np.flatnonzero(model.features.described.any(axis=1))
    goal = embedding[described] - embedding[described].mean(axis=0)
    goal = np.hstack([goal, np.zeros((len(goal), p - goal.shape[1]))])
    residuals, expected = np.empty((len(some), len(described), p)), np.zeros((len(described), p, p))
    for draw, q in enumerate(some):
        coordinates, own, weights = _coordinates(model, q)
        spreads = np.exp(np.exp(model.hyperparameters(q)[0]) * q[n * p : n * p + p])
        around = (coordinates - coordinates[described].mean(axis=0))[described] * spreads
        size = np.sqrt(2 * np.mean(np.sum(around**2, axis=1)))  # the root mean square of the distances of two objects
        found, variances = _residuals(coordinates, own, weights, model.features.directions)
        turn, _ = rotation(around, goal)
        residuals[draw] = (found[described] * spreads / size) @ turn
        expected += np.multiply.outer(variances[described], turn.T @ ((spreads / size) ** 2 * turn.T).T)
    expected /= len(some)
    means = residuals.mean(axis=0)
    away = residuals - means
    open_variance, left = np.trace(expected, axis1=1, axis2=2), np.mean(np.sum(away**2, axis=2), axis=0)
    known = np.maximum(open_variance - left, _MIN_KNOWN_SHARE * open_variance)
    # A sum of squares with unequal weights is nearly chi-square, with so many degrees of freedom.
    freedom = open_variance**2 / np.einsum("ipq,ipq->i", expected, expected)
    p_values = chi2.sf(freedom * np.sum(means**2, axis=1) / known, freedom)
    distances = np.linalg.norm(residuals, axis=2)
    lows, highs = np.percentile(distances, (2.5, 97.5), axis=0)
    columns = distances.mean(axis=0), lows, highs, p_values
    labels = objects[described].tolist()
    deviations = [FeatureDeviation(label, *map(float, row)) for label, *row in zip(labels, *columns, strict=True)]
    return sorted(deviations, key=lambda each: each.p_value)


def _coordinates(model: Model, q: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the coordinates before they are scaled, and the weights of own deviations and of directions."""
    from nearer.optimize.kernels import posterior

    assert model.features is not None
    n, p = model.n_objects, model.n_components
    own, weights, coordinates = np.empty(n), np.empty(len(model.features.log_values)), np.empty((n, p))
    shares = np.empty(model.features.n_sets)
    posterior.mix_features(q, model.core_size, *model.features[:4], shares, weights, own, coordinates)
    return coordinates, own, weights


def _residuals(
    coordinates: FloatArray, own: FloatArray, weights: FloatArray, directions: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the leave-one-out residuals, (n, p), and their variances, (n,), by Woodbury's identity."""
    precision = 1 / np.maximum(own**2, _MIN_OWN_VARIANCE)
    scaled = directions * weights  # U W^(1/2)
    weighted = precision[:, None] * scaled
    inner = np.eye(len(weights)) + scaled.T @ weighted
    solved = cho_solve(cho_factor(inner), weighted.T)
    diagonal = precision - np.einsum("ik,ki->i", weighted, solved)
    solution = precision[:, None] * coordinates - weighted @ (solved @ coordinates)
    return solution / diagonal[:, None], 1 / diagonal

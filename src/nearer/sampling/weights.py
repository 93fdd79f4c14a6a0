"""Weights of the axes of a map, from draws whose own axes are in any order and of either sign.

In each draw a person stretches the map along the axes of that draw; laid onto a map of q dimensions by the rotation R,
the logarithm of this metric is the symmetric matrix R^T diag(log w) R, which does not depend on how axes are numbered.
Its posterior means over draws are made as diagonal as one rotation can make those of all people (Cardoso and Souloumiac
1996): along these axes people differ by weights alone, and the diagonals of each draw are draws of the weights.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nearer._common.arrays import FloatArray
from nearer.geometry import rotation
from nearer.sampling.annotators import PeopleDraws

_MAX_SWEEPS, _MIN_ANGLE = 100, 1e-9


class WeightDraws(NamedTuple):
    """Axes along which people differ, and what these count for each.

    Attributes
    ----------
    axes : ndarray, shape (q, q)
        The rotation of the map onto these axes.
    logs : ndarray, shape (k, people, q)
        Logarithms of weights in each draw; means over axes and over people are 0.
    angles : ndarray, shape (k, q)
        Between the axes and those of each draw, in radians.
    """

    axes: FloatArray
    logs: FloatArray
    angles: FloatArray


def weights_along_axes(people: PeopleDraws, points: FloatArray, embedding: FloatArray) -> WeightDraws:
    """Return the weights that people give to axes of a centered map, (n, q), by draws of it, (k, n, p)."""
    turns, _ = rotation(points - points.mean(axis=1, keepdims=True), embedding)
    metrics = np.einsum("kpq,ksp,kpr->ksqr", turns, people.log_weights, turns, optimize=True)
    means = metrics.mean(axis=0)
    axes = joint_axes(means - means.mean(axis=0))
    logs = np.einsum("qd,ksqr,rd->ksd", axes, metrics, axes, optimize=True)
    logs -= logs.mean(axis=1, keepdims=True)
    logs -= logs.mean(axis=2, keepdims=True)
    within = turns @ axes  # each axis in the coordinates of the draw
    cosines = np.abs(within).max(axis=1) / np.linalg.norm(within, axis=1)
    return WeightDraws(axes, logs, np.arccos(np.clip(cosines, 0.0, 1.0)))


def joint_axes(matrices: FloatArray) -> FloatArray:
    """Return the rotation Q, (q, q), for which the matrices Q^T M Q, (s, q, q) symmetric, are most nearly diagonal."""
    q = matrices.shape[1]
    # Of all that share their axes, those of the mean square are the axes: a start from which no sweep gets stuck.
    axes = np.linalg.eigh(np.einsum("sqr,srt->qt", matrices, matrices))[1][:, ::-1]
    turned = axes.T @ matrices @ axes
    for _ in range(_MAX_SWEEPS):
        largest = 0.0
        for i in range(q - 1):
            for j in range(i + 1, q):
                difference, both = turned[:, i, i] - turned[:, j, j], 2 * turned[:, i, j]
                angle = np.arctan2(2 * (difference @ both), difference @ difference - both @ both) / 4
                largest = max(largest, abs(float(angle)))
                turn = np.eye(q)
                turn[i, i] = turn[j, j] = np.cos(angle)
                turn[j, i], turn[i, j] = np.sin(angle), -np.sin(angle)
                turned, axes = turn.T @ turned @ turn, axes @ turn
        if largest < _MIN_ANGLE:
            break
    return axes

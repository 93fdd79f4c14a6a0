"""How people differ, along axes of the map: weights, departures from the common map, and latent classes of people.

Each draw has axes of its own, in any order and of either sign. Laid onto a map of q dimensions by the rotation R, the
logarithm of a person's metric is the symmetric matrix R^T diag(log w) R, which does not depend on how axes are
numbered. Its posterior means are made as diagonal as one rotation can make those of all people (Cardoso and Souloumiac
1996): along these axes people differ by weights alone, and the diagonals of each draw are draws of the weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray
from nearer.data.labels import Labels
from nearer.geometry import rotation
from nearer.sampling.annotators import PeopleDraws
from nearer.sampling.kinds import Kinds, find_kinds
from nearer.sampling.model import Draws

_MAX_SWEEPS, _MIN_ANGLE = 100, 1e-9  # of the rotations, in radians
_N_AXES_DRAWS = 200  # by which the error of the axes is known
# Where people do not differ in weights, the lower end of their spread was 0.02 to 0.06 in simulated studies, and with
# spreads of 0.7 it was 0.23 or more; see the page on validity.
MIN_WEIGHT_SPREAD = 0.12  # of the logarithms of weights
MAX_AXES_ERROR = 15.0  # degrees
_TAILS = (2.5, 97.5)  # percentiles


class Estimate(NamedTuple):
    """The mean over the posterior, and the ends of the interval of 95%."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, draws: FloatArray) -> Estimate:
        """Return the estimate of a quantity from its draws, (k,)."""
        return cls(float(draws.mean()), *np.percentile(draws, _TAILS).tolist())


@dataclass(frozen=True, eq=False)
class PeopleDifferences:
    """How people differ from the common map.

    Attributes
    ----------
    people : ndarray of labels, shape (s,)
    weights, weight_intervals : ndarray, shapes (s, q) and (s, q, 2)
        What each axis of the map counts for a person, by which squared distances along it are multiplied: medians, and
        ends of intervals of 95%. Geometric means are 1, over axes and over people.
    departures, departure_intervals : ndarray, shapes (s,) and (s, 2)
        How far the objects that a person was asked about lie from their places on the common map, once axes are
        weighted: root mean square, relative to the size of the map.
    weight_spread, departure_spread : Estimate
        Standard deviations over people: of the logarithms of weights, and of departures relative to the map.
    axes_identified : bool
        Whether people differ in weights, so that the directions of the axes mean something.
    axes_error : float
        Standard deviation of these directions, in degrees.
    kinds, kind_weights : ndarray, shapes (s,) and (k, q)
        The latent class of each person, the largest being 0, and the weights of each class.
    """

    people: Labels
    weights: FloatArray
    weight_intervals: FloatArray
    departures: FloatArray
    departure_intervals: FloatArray
    weight_spread: Estimate
    departure_spread: Estimate
    axes_identified: bool
    axes_error: float
    kinds: NDArray[np.intp]
    kind_weights: FloatArray


def people_differences(
    people: PeopleDraws, common: Draws, embedding: FloatArray
) -> tuple[PeopleDifferences, FloatArray]:
    """Return how people differ, and the rotation of a centered map, (n, q), onto the axes that they weigh."""
    spread, departure = (Estimate.of(column) for column in people.spreads.T)
    metrics = _log_metrics(people, common.points, embedding)
    axes, error = _axes_of(metrics)
    identified = embedding.shape[1] > 1 and spread.low > MIN_WEIGHT_SPREAD and error < MAX_AXES_ERROR
    axes = axes[:, np.argsort(-(embedding @ axes).var(axis=0))] if identified else np.eye(embedding.shape[1])
    turned = embedding @ axes
    axes = axes * np.sign(turned[np.abs(turned).argmax(axis=0), np.arange(axes.shape[1])] + 1e-300)
    logs = np.einsum("qd,ksqr,rd->ksd", axes, metrics, axes, optimize=True)
    logs -= logs.mean(axis=2, keepdims=True)
    kinds = Kinds.single(*logs.shape[1:])
    if identified:
        kinds = find_kinds(logs, float(np.median(people.spreads[:, 0])))
    squares = np.square(people.departures * (people.spreads[:, 1:] * people.axes)[:, None]).sum(axis=2)
    sizes = common.points.var(axis=1).sum(axis=1)
    counts = np.maximum(np.bincount(people.people, minlength=len(people.labels)), 1)
    departures = np.zeros((len(common), len(people.labels)))
    if not people.share_map:
        for k, each in enumerate(squares):
            departures[k] = np.sqrt(np.bincount(people.people, each, len(people.labels)) / counts / sizes[k])
    found = PeopleDifferences(
        people.labels,
        np.exp(np.median(logs, axis=0)),
        np.moveaxis(np.exp(np.percentile(logs, _TAILS, axis=0)), 0, -1),
        np.median(departures, axis=0),
        np.percentile(departures, _TAILS, axis=0).T,
        spread,
        departure,
        identified,
        error,
        kinds.of_people,
        kinds.weights,
    )
    return found, axes


def _log_metrics(people: PeopleDraws, points: FloatArray, embedding: FloatArray) -> FloatArray:
    """Return the logarithms of people's metrics in the coordinates of a map, less their means, (k, s, q, q)."""
    turns, _ = rotation(points - points.mean(axis=1, keepdims=True), embedding)
    metrics = np.einsum("kpq,ksp,kpr->ksqr", turns, people.log_weights, turns, optimize=True)
    return np.asarray(metrics - metrics.mean(axis=1, keepdims=True))


def _axes_of(metrics: FloatArray) -> tuple[FloatArray, float]:
    """Return the axes that people weigh, (q, q), and their standard deviation over draws, in degrees."""
    axes = joint_axes(metrics.mean(axis=0))
    some = np.unique(np.linspace(0, len(metrics) - 1, _N_AXES_DRAWS).astype(int))
    cosines = np.array([np.abs(axes.T @ joint_axes(metrics[k])).max(axis=0) for k in some])
    return axes, float(np.degrees(np.sqrt(np.mean(np.arccos(cosines.clip(0.0, 1.0)) ** 2))))


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

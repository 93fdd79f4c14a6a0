r"""How sure the weights are: the inverse of Fisher's information of everything, map, people and numbers.

With H_ss the block of person s, H_zz that of the map and the three numbers, and K_s = H_ss^-1 H_sz,

.. math:: S = \Big(H_{zz} - \sum_s H_{zs} H_{ss}^{-1} H_{sz}\Big)^{-1}, \qquad
          \mathrm{Cov}(\theta_s, \theta_t) = \delta_{st} H_{ss}^{-1} + K_s S K_t^T .

What is reported are weights relative to their mean over people, theta_s - mean theta, whose covariance follows from
these. That the axes may point elsewhere is part of it; that the spreads were estimated is not.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from nearer._common.arrays import FloatArray
from nearer.embedding.individual.evidence import slopes
from nearer.embedding.individual.likelihood import NUMBER_SCALES, Unknowns, WeightedModel

_MOST_COORDINATES = 5000  # or a matrix of all of them would fill the memory; the map is then taken as known


class Sureness(NamedTuple):
    """Standard deviations of the logarithms of weights, (s, p), and of the turn of the axes, in degrees."""

    log_weights: FloatArray
    axes: float


def sureness(model: WeightedModel, unknowns: Unknowns) -> Sureness:
    """Return how well weights and axes are known; weights that do not differ, exactly."""
    n_people, p = unknowns.people.shape[0], model.n_components
    if model.spread.weights == 0:
        return Sureness(np.zeros((n_people, p)), float("nan"))
    own, between, shared = _information(model, unknowns)
    inverse: FloatArray = np.linalg.inv(own).astype(np.float64, copy=False)
    links = inverse @ between  # K_s
    if shared is None:
        covariances, axes = _relative(inverse, np.zeros_like(links), np.zeros((links.shape[2],) * 2)), float("nan")
    else:
        spread = np.linalg.inv(shared - np.einsum("sdz,sdy->zy", between, links, optimize=True))
        covariances, axes = _relative(inverse, links, spread), _turn_error(unknowns.points, spread)
    directions = model.contrasts
    variances = np.einsum("kd,sde,ke->sk", directions, covariances[:, : p - 1, : p - 1], directions)
    return Sureness(np.sqrt(variances), axes)


def _relative(inverse: FloatArray, links: FloatArray, spread: FloatArray) -> FloatArray:
    """Return the covariances of what each person has relative to the mean, (s, d, d)."""
    n_people = len(inverse)
    mean_link, mean_own = links.mean(axis=0), inverse.mean(axis=0) / n_people
    apart = links - mean_link
    covariances: FloatArray = inverse * (1 - 2 / n_people) + mean_own + apart @ spread @ np.swapaxes(apart, 1, 2)
    return covariances


def _turn_error(points: FloatArray, spread: FloatArray) -> float:
    """Return the standard deviation of the least certain turn in the plane of two axes, in degrees."""
    n, p = points.shape
    largest = 0.0
    for a, b in combinations(range(p), 2):
        turning = np.zeros((n, p))
        turning[:, a], turning[:, b] = -points[:, b], points[:, a]
        along = turning.ravel()
        variance = along @ spread[: n * p, : n * p] @ along / (along @ along) ** 2
        largest = max(largest, float(np.degrees(np.sqrt(variance))))
    return largest


def _information(model: WeightedModel, unknowns: Unknowns) -> tuple[FloatArray, FloatArray, FloatArray | None]:
    """Return the blocks H_ss (s, d, d), H_sz (s, d, z) and H_zz (z, z) of the information, with that of the prior."""
    along, found = model.parts(unknowns)
    answers, p, n_people = model.answers, model.n_components, model.n_people
    root = np.sqrt(answers.total_weights / (found.probability * (1 - found.probability)))
    by_people = root[:, None] * slopes(found, along, model.contrasts)
    size = by_people.shape[1]
    m = len(by_people)
    columns = (answers.annotators[:, None] * size + np.arange(size)).ravel()
    people = csr_array((by_people.ravel(), (np.repeat(np.arange(m), size), columns)), shape=(m, n_people * size))
    starts = np.searchsorted(answers.annotators, np.arange(n_people))
    own = np.add.reduceat(by_people[:, :, None] * by_people[:, None, :], starts, axis=0)
    own += np.diag(1 / np.maximum(model.deviations, 1e-6) ** 2)
    if unknowns.points.size > _MOST_COORDINATES:
        return own, np.zeros((n_people, size, 1)), None
    by_numbers = np.stack([found.by_odds * found.odds, found.by_odds * found.by_kernel, found.by_lapse], axis=1)
    rest = _by_points(model, unknowns, root * found.by_odds * found.by_distance, root[:, None] * by_numbers)
    shared = (rest.T @ rest).toarray()
    shared += np.diag(np.concatenate([np.full(unknowns.points.size, float(p)), 1 / NUMBER_SCALES**2]))
    return own, (people.T @ rest).toarray().reshape(n_people, size, -1), shared


def _by_points(model: WeightedModel, unknowns: Unknowns, pulls: FloatArray, by_numbers: FloatArray) -> csr_array:
    """Return the derivatives of each probability by the points and the numbers, (m, n p + 3)."""
    answers, p = model.answers, model.n_components
    m, n_points = len(by_numbers), unknowns.points.size
    weights = np.exp(model.log_weights(unknowns.people))[answers.annotators]
    gaps, _ = model.squares(unknowns.points)
    values, columns = [by_numbers], [np.broadcast_to(n_points + np.arange(3), (m, 3))]
    for side in (0, 1):
        pairs = answers.rows[:, side]
        slope = 2 * pulls[side][:, None] * weights * gaps[pairs]
        for end, sign in ((0, 1.0), (1, -1.0)):
            values.append(sign * slope)
            columns.append(answers.pairs[pairs, end][:, None] * p + np.arange(p))
    wide = np.hstack(values)
    rows = np.repeat(np.arange(m), wide.shape[1])
    return csr_array((wide.ravel(), (rows, np.hstack(columns).ravel())), shape=(m, n_points + 3))

r"""How precisely answers fix a map, and what answers to come would add.

Where a map x is the true one, a comparison of weight w holds with the chance p(g) of `nearer.sampling.model`, with
log-odds :math:`g = \beta \log \frac{\alpha + d^2_\text{far}}{\alpha + d^2_\text{near}}`. Its answer carries the Fisher
information

.. math:: w \, \frac{p'(g)^2}{p (1 - p)} \, \nabla g \, \nabla g^T

about the coordinates. The sum over all answers, and the precision of the prior (a normal cloud with the spreads that
the map has), is the precision H of the posterior in its normal approximation. The truth then lies
:math:`d \sim N(0, H^{-1})` away from what is known. Answers to come with information :math:`M = U^T U` tell U d up to
standard normal noise, and what is learned from them is

.. math:: a = (H + M)^{-1} U^T (U d + \varepsilon), \qquad \varepsilon \sim N(0, I).

It has the covariance :math:`H^{-1} - (H + M)^{-1}`; d - a is left, with :math:`(H + M)^{-1}`, and is independent of it.
Both are drawn here: as changes of the log-odds of comparisons, and as distances of the places of objects once a
similarity, which is no error of a place, has been taken out.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.sparse import csr_array

from nearer._common.arrays import FloatArray
from nearer.model.answers import AnswerModel, answer_derivatives

_LEAST_VARIANCE = 1e-6  # of an axis, relative to the map
_DEPENDENT = 1e-12  # squared length, relative to the longest: a combination of other movements


class DrawnModel(NamedTuple):
    """A map and its answer model: one of the draws."""

    points: FloatArray
    answers: AnswerModel


class WeightedComparisons(NamedTuple):
    """Comparisons as rows of near and far pairs, (m, 4), and their weights, (m,). Which way they go plays no part."""

    rows: NDArray[np.integer]
    weights: FloatArray


class Imagined(NamedTuple):
    """How far the truth may lie from what is known, k times, and what of that answers to come would tell.

    Attributes
    ----------
    away, learned : ndarray, shape (k, t)
        In the log-odds of comparisons.
    squares_now, squares_then : ndarray, shape (n,)
        Mean squared distances of the places of objects from the truth, before and after.
    """

    away: FloatArray
    learned: FloatArray
    squares_now: FloatArray
    squares_then: FloatArray


def imagine(
    truth: DrawnModel,
    told: WeightedComparisons,
    to_come: WeightedComparisons,
    tested: NDArray[np.integer],
    k: int,
    rng: np.random.Generator,
    n_axes: int | None = None,
) -> Imagined:
    """Draw what may be the case, k times, if a map is about right.

    Parameters
    ----------
    truth : DrawnModel
    told, to_come : WeightedComparisons
        The answers that are there, and those that would follow.
    tested : ndarray of int, shape (t, 4)
        Comparisons whose log-odds are looked at.
    k : int
    rng : Generator
    n_axes : int, optional
        Distances are along the first so many axes; all if left out.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = np.array([rng.permutation(6)[:3] for _ in range(400)])[:, [0, 1, 0, 2]]
    >>> told = WeightedComparisons(rows, np.ones(400))
    >>> truth = DrawnModel(rng.normal(size=(6, 2)), AnswerModel(slope=5.0, offset=0.1))
    >>> twice = imagine(truth, told, told, rows[:50], 2000, rng)
    >>> left = (twice.away - twice.learned).var() / twice.away.var()
    >>> bool(0.45 < left < 0.55)
    True
    """
    size = truth.points.size
    new = _telling(truth, to_come)
    before = _prior_precision(truth.points) + _product(_telling(truth, told))
    factor = cho_factor(before, lower=True)
    away = solve_triangular(factor[0], rng.standard_normal((size, k)), lower=True, trans="T")
    heard = new.T @ (new @ away + rng.standard_normal((new.shape[0], k)))
    learned = cho_solve(cho_factor(before + _product(new), lower=True), heard)
    slopes = derivatives(truth, tested)
    similarities = _similarities(truth.points)
    now, then = (_squares(each, similarities, truth.points, n_axes) for each in (away, away - learned))
    return Imagined((slopes @ away).T, (slopes @ learned).T, now, then)


def log_odds(truth: DrawnModel, rows: NDArray[np.integer]) -> FloatArray:
    """Return the log-odds that comparisons hold, lapses aside, (m,)."""
    near, far = (np.square(away).sum(axis=1) for away in _differences(truth, rows))
    return truth.answers.log_odds(near, far)


def derivatives(truth: DrawnModel, rows: NDArray[np.integer]) -> csr_array:
    """Return the derivatives of log-odds by all coordinates, (m, n p)."""
    m, p = len(rows), truth.points.shape[1]
    near, far = _differences(truth, rows)
    by_distances = truth.answers.log_odds_gradient((near**2).sum(axis=1), (far**2).sum(axis=1))
    by_near, by_far = (2 * by[:, None] * away for by, away in zip(by_distances, (near, far), strict=True))
    values = np.stack([by_near, -by_near, by_far, -by_far], axis=1)
    columns = rows[:, :, None] * p + np.arange(p)
    places = np.repeat(np.arange(m), 4 * p), columns.ravel()
    return csr_array((values.ravel(), places), shape=(m, truth.points.size))  # an anchor comes twice: entries add up


def _differences(truth: DrawnModel, rows: NDArray[np.integer]) -> tuple[FloatArray, FloatArray]:
    """Return the differences between the objects of the near and of the far pairs, (m, p)."""
    points = truth.points
    return points[rows[:, 0]] - points[rows[:, 1]], points[rows[:, 2]] - points[rows[:, 3]]


def _telling(truth: DrawnModel, told: WeightedComparisons) -> csr_array:
    """Return U of answers, (m, n p): what they tell up to standard normal noise."""
    information = answer_derivatives(log_odds(truth, told.rows), truth.answers.lapse).information.odds
    return csr_array(derivatives(truth, told.rows).multiply(np.sqrt(told.weights * information)[:, None]))


def _product(telling: csr_array) -> FloatArray:
    """Return the information of answers about the coordinates, (n p, n p)."""
    information: FloatArray = (telling.T @ telling).toarray()
    return information


def _prior_precision(points: FloatArray) -> FloatArray:
    """Return the precision of a normal cloud with the spreads of a map, (n p, n p)."""
    spreads = points.var(axis=0)
    return np.diag(np.tile(1 / np.maximum(spreads, _LEAST_VARIANCE * spreads.sum()), len(points)))


def _squares(away: FloatArray, similarities: FloatArray, points: FloatArray, n_axes: int | None) -> FloatArray:
    """Return the mean squared distances of places, (n,), of changes (n p, k), similarities taken out."""
    held = away - similarities @ (similarities.T @ away)
    squares: FloatArray = (held**2).mean(axis=1).reshape(points.shape)[:, :n_axes].sum(axis=1)
    return squares


def _similarities(points: FloatArray) -> FloatArray:
    """Return an orthonormal basis, (n p, j), of what shifts, turns and another size do to coordinates."""
    n, p = points.shape
    centred = points - points.mean(axis=0)
    moves = [np.tile(axis, (n, 1)) for axis in np.eye(p)] + [centred]
    for first, second in combinations(range(p), 2):
        turn = np.zeros((n, p))
        turn[:, first], turn[:, second] = -centred[:, second], centred[:, first]
        moves.append(turn)
    across = np.array(moves).reshape(len(moves), -1)
    squares, vectors = np.linalg.eigh(across @ across.T)  # of few rows: a decomposition of all coordinates takes long
    kept = squares > _DEPENDENT * squares[-1]
    basis: FloatArray = across.T @ (vectors[:, kept] / np.sqrt(squares[kept]))
    return basis

r"""How precisely answers fix a map, and how much more precisely once there are more.

Where a map x is the true one, a comparison of weight w holds with the chance p(g) of `nearer.posterior.model`, with
log-odds :math:`g = \beta \log \frac{\alpha + d^2_\text{far}}{\alpha + d^2_\text{near}}`. Its answer carries the Fisher
information

.. math:: w \, \frac{p'(g)^2}{p (1 - p)} \, \nabla g \, \nabla g^T

about the coordinates. The sum over all answers, and the precision of the prior (a normal cloud with the spreads that
the map has), is the precision H of the posterior in its normal approximation; its inverse C is the covariance of the
coordinates. More answers add to H, and C becomes C'. So

- the log-odds of any comparison, now of variance :math:`v = \nabla g^T C \nabla g`, will have that of
  :math:`v' = \nabla g^T C' \nabla g`;
- the half axes of an object's ellipse will be :math:`(\mathrm{tr}\, C'_{ii} / \mathrm{tr}\, C_{ii})^{1/2}` of what they
  are. Before that, what a similarity does is taken out of C: a shift, a turn or another size of the whole map is no
  error of a place.

Only ratios are used, and draws say how large things are now: the approximation overstates variances of what is hardly
known, but v and v' alike.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array
from scipy.special import expit

from nearer.common.arrays import FloatArray

_LEAST_VARIANCE = 1e-6  # of an axis, relative to the map


class Truth(NamedTuple):
    """A map, and how people answer who see it: one of the draws."""

    points: FloatArray
    slope: float
    offset: float
    lapse: float


class Told(NamedTuple):
    """Comparisons as rows of near and far pairs, (m, 4), and their weights, (m,)."""

    rows: NDArray[np.integer]
    weights: FloatArray


class Sharper(NamedTuple):
    """What more answers do, as ratios of then to now.

    Attributes
    ----------
    variances : ndarray, shape (t,)
        Of the log-odds of comparisons.
    half_axes : ndarray, shape (n,)
        Of the ellipses of the objects.
    """

    variances: FloatArray
    half_axes: FloatArray


def sharpened(truth: Truth, told: Told, more: Told, tested: NDArray[np.integer], n_axes: int | None = None) -> Sharper:
    """Return what answers will add to others, if a map is the true one.

    Parameters
    ----------
    truth : Truth
    told, more : Told
        The answers that are there, and those to come; which way each goes plays no part.
    tested : ndarray of int, shape (t, 4)
        Comparisons whose log-odds are looked at.
    n_axes : int, optional
        The first so many axes are those of the ellipses; all if left out.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = np.array([rng.permutation(6)[:3] for _ in range(400)])[:, [0, 1, 0, 2]]
    >>> told = Told(rows, np.ones(400))
    >>> twice = sharpened(Truth(rng.normal(size=(6, 2)), 5.0, 0.1, 0.0), told, told, rows[:50])
    >>> bool(abs(twice.variances.mean() - 0.5) < 0.05)
    True
    """
    n, p = truth.points.shape
    _, slopes = log_odds(truth, tested)
    before = _prior_precision(truth.points) + _information(truth, told)
    after = before + _information(truth, more)
    loose = _similarities(truth.points)
    variances, squares = [], []
    for precision in (before, after):
        covariance = cho_solve(cho_factor(precision), np.eye(n * p))
        variances.append(np.asarray(slopes.multiply(slopes @ covariance).sum(axis=1)).ravel())
        squares.append(_squares_of_places(covariance, loose).reshape(n, p)[:, :n_axes].sum(axis=1))
    return Sharper(variances[1] / variances[0], np.sqrt(squares[1] / squares[0]))


def log_odds(truth: Truth, rows: NDArray[np.integer]) -> tuple[FloatArray, csr_array]:
    """Return the log-odds that comparisons hold, (m,), and their derivatives by all coordinates, (m, n p)."""
    points, (m, p) = truth.points, (len(rows), truth.points.shape[1])
    near, far = points[rows[:, 0]] - points[rows[:, 1]], points[rows[:, 2]] - points[rows[:, 3]]
    near_square, far_square = (truth.offset + (away**2).sum(axis=1) for away in (near, far))
    by_near, by_far = -near / near_square[:, None], far / far_square[:, None]
    values = 2 * truth.slope * np.stack([by_near, -by_near, by_far, -by_far], axis=1)
    columns = rows[:, :, None] * p + np.arange(p)
    places = np.repeat(np.arange(m), 4 * p), columns.ravel()
    slopes = csr_array((values.ravel(), places), shape=(m, points.size))  # an anchor comes twice: its entries add up
    return truth.slope * np.log(far_square / near_square), slopes


def _information(truth: Truth, told: Told) -> FloatArray:
    """Return the Fisher information of answers about the coordinates, (n p, n p)."""
    odds, slopes = log_odds(truth, told.rows)
    right = expit(odds)
    chance = truth.lapse / 2 + (1 - truth.lapse) * right
    rate = (1 - truth.lapse) * right * (1 - right)
    weights = told.weights * rate**2 / np.maximum(chance * (1 - chance), np.finfo(np.float64).tiny)
    weighted = csr_array(slopes.multiply(weights[:, None]))
    result: FloatArray = (slopes.T @ weighted).toarray()
    return result


def _prior_precision(points: FloatArray) -> FloatArray:
    """Return the precision of a normal cloud with the spreads of a map, (n p, n p)."""
    spreads = points.var(axis=0)
    return np.diag(np.tile(1 / np.maximum(spreads, _LEAST_VARIANCE * spreads.sum()), len(points)))


def _squares_of_places(covariance: FloatArray, loose: FloatArray) -> FloatArray:
    """Return the variances of coordinates, (n p,), once similarities, an orthonormal basis, are taken out."""
    shared = covariance @ loose
    inner = loose.T @ shared
    taken = 2 * (loose * shared).sum(axis=1) - (loose @ inner * loose).sum(axis=1)
    squares: FloatArray = np.maximum(np.diagonal(covariance) - taken, np.finfo(np.float64).tiny)
    return squares


def _similarities(points: FloatArray) -> FloatArray:
    """Return an orthonormal basis, (n p, k), of what shifts, turns and another size do to coordinates."""
    n, p = points.shape
    centred = points - points.mean(axis=0)
    moves = [np.tile(axis, (n, 1)) for axis in np.eye(p)] + [centred]
    for first, second in combinations(range(p), 2):
        turn = np.zeros((n, p))
        turn[:, first], turn[:, second] = -centred[:, second], centred[:, first]
        moves.append(turn)
    basis, sizes, _ = np.linalg.svd(np.array(moves).reshape(len(moves), -1).T, full_matrices=False)
    result: FloatArray = basis[:, sizes > 1e-9 * sizes[0]]
    return result

r"""How a group of people answers: a map, and a chance to lapse.

With the margin :math:`\gamma = d^2_\text{far} - d^2_\text{near}` of a comparison on the map X and a lapse rate
:math:`\lambda`,

.. math:: P = \frac{\lambda}{2} + (1 - \lambda)\, \mathrm{sigmoid}(\gamma),

which is STE for people who sometimes press any key: `nearer.model.answers` with margins for log-odds. A fit maximizes

    sum of w log P  -  precision / 2 * |X - centre|^2  -  (logit(lambda) + 4)^2 / (2 * 1.5^2),

so that a map of few answers stays near a centre, which is 0 or the map of everybody.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_array, diags_array
from scipy.special import expit, logit

from nearer._common.arrays import FloatArray
from nearer.data.comparisons import Comparisons
from nearer.model.answers import answer_derivatives, answer_probability

_LAPSE_CENTRE, _LAPSE_SCALE = -4.0, 1.5  # of the logit, as in the posterior
_MOST_STEPS = 500
_RATES = (0.005, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.98)
_ROUNDS = 30


@dataclass(frozen=True, eq=False)
class Fitted:
    """A map with the lapse rate of those who answered.

    Attributes
    ----------
    points : ndarray, shape (n, p)
    lapse : float, or ndarray, shape (m,)
        Of everybody, or of those who gave each of the answers.
    """

    points: FloatArray
    lapse: float | FloatArray


@dataclass(frozen=True, eq=False)
class Said:
    """Comparisons as the model takes them.

    Parameters
    ----------
    rows : ndarray of int, shape (m, 4)
        Near pair and far pair, as answered.
    weights : ndarray, shape (m,)
    n_objects : int

    Examples
    --------
    >>> said = Said.of(Comparisons.from_triplets([[0, 1, 2]]))
    >>> said.margins(np.array([[0.0], [1.0], [2.0]]))
    array([3.])
    """

    rows: NDArray[np.integer]
    weights: FloatArray
    n_objects: int

    @classmethod
    def of(cls, comparisons: Comparisons) -> Said:
        """Return comparisons with their answers applied."""
        return cls(comparisons.oriented, comparisons.sample_weight, comparisons.n_objects)

    def weighted(self, factors: FloatArray) -> Said:
        """Return the same comparisons, each counting so many times as much."""
        return Said(self.rows, self.weights * factors, self.n_objects)

    def among(self, chosen: NDArray[np.bool_]) -> Said:
        """Return some of the comparisons."""
        return Said(self.rows[chosen], self.weights[chosen], self.n_objects)

    def margins(self, points: FloatArray) -> FloatArray:
        """Return the margins on a map, (m,)."""
        i, j, l, k = self.rows.T  # noqa: E741
        far, near = (np.square(points[a] - points[b]).sum(axis=1) for a, b in ((l, k), (i, j)))
        gaps: FloatArray = far - near
        return gaps

    @cached_property
    def _signs(self) -> csr_array[np.float64]:
        """Which object of a comparison is in which pair: (2 m, n), 1 and -1 for near pairs, then for far ones."""
        m = len(self.rows)
        pairs = np.concatenate([self.rows[:, :2], self.rows[:, 2:]])
        signs = np.tile([1.0, -1.0], 2 * m)
        return csr_array((signs, (np.repeat(np.arange(2 * m), 2), pairs.ravel())), shape=(2 * m, self.n_objects))

    def pulls(self, points: FloatArray) -> FloatArray:
        """Return the derivatives of the margins by the vectors between the objects of the pairs, (2 m, p)."""
        m = len(self.rows)
        between = 2 * np.asarray(self._signs @ points)
        between[:m] *= -1
        return between

    def gradient(self, points: FloatArray, slopes: FloatArray) -> FloatArray:
        """Return the sum of slopes times the derivatives of the margins, (n, p)."""
        return np.asarray(self._signs.T @ (np.tile(slopes, 2)[:, None] * self.pulls(points)))

    def jacobian(self, points: FloatArray) -> csr_array[np.float64]:
        """Return the derivatives of the margins by the map, (m, n p), sparse."""
        m, p = len(self.rows), points.shape[1]
        pulls = self.pulls(points)
        pairs = np.stack([self.rows[:, :2], self.rows[:, 2:]])  # (2, m, 2)
        values = pulls.reshape(2, m, 1, p) * np.array([1.0, -1.0])[:, None]
        columns = pairs[..., None] * p + np.arange(p)
        which = np.broadcast_to(np.arange(m)[None, :, None, None], columns.shape)
        return csr_array(
            (values.ravel(), (which.ravel(), columns.ravel())), shape=(m, self.n_objects * p), dtype=np.float64
        )


def log_loss(said: Said, fitted: Fitted) -> FloatArray:
    """Return minus log P of each comparison, (m,)."""
    return -np.log(answer_probability(said.margins(fitted.points), fitted.lapse))


def fit_map(said: Said, start: Fitted, centre: FloatArray | float, precision: float) -> Fitted:
    """Return the map and the lapse rate of the largest penalized likelihood near a start.

    Lapse rates that are given for each answer stay as they are.

    Examples
    --------
    >>> said = Said.of(Comparisons.from_triplets([[0, 1, 2], [2, 1, 0]]))
    >>> found = fit_map(said, Fitted(np.array([[0.1], [0.0], [-0.2]]), 0.02), 0.0, 1.0)
    >>> bool((said.margins(found.points) > 0).all())
    True
    """
    shape, known = start.points.shape, start.lapse

    def price(unknowns: FloatArray) -> tuple[float, FloatArray]:
        points = unknowns[:-1].reshape(shape)
        lapse = known if isinstance(known, np.ndarray) else float(expit(unknowns[-1]))
        answers = answer_derivatives(said.margins(points), lapse)
        by_margin, by_lapse = answers.scores
        away, beyond = points - centre, unknowns[-1] - _LAPSE_CENTRE
        value = -float(said.weights @ np.log(answers.probability))
        value += precision / 2 * float(np.vdot(away, away)) + beyond**2 / (2 * _LAPSE_SCALE**2)
        gradient = precision * away - said.gradient(points, said.weights * by_margin)
        if isinstance(lapse, np.ndarray):
            return value, np.append(gradient.ravel(), 0.0)
        last = beyond / _LAPSE_SCALE**2 - float(said.weights @ by_lapse) * lapse * (1 - lapse)
        return value, np.append(gradient.ravel(), last)

    first = _LAPSE_CENTRE if isinstance(known, np.ndarray) else logit(np.clip(known, 1e-6, 1 - 1e-6))
    begin = np.append(start.points.ravel(), first)
    found = minimize(price, begin, jac=True, method="L-BFGS-B", options={"maxiter": _MOST_STEPS, "maxcor": 20})
    return Fitted(found.x[:-1].reshape(shape), known if isinstance(known, np.ndarray) else float(expit(found.x[-1])))


def own_lapses(said: Said, points: FloatArray, people: NDArray[np.intp]) -> FloatArray:
    """Return the lapse rate of who gave each answer, (m,): the mean given a person's answers and what people are like.

    What people are like is a distribution over a few rates, found by expectation maximization from the answers of all:
    a person of few answers is taken to be like the others.

    Examples
    --------
    >>> said = Said(np.tile([0, 1, 0, 2], (40, 1)), np.ones(40), 3)
    >>> said.rows[20::2] = [0, 2, 0, 1]  # the second person answers both ways alike
    >>> rates = own_lapses(said, np.array([[0.0], [1.0], [3.0]]), np.repeat([0, 1], 20))
    >>> bool(rates[0] < 0.2), bool(rates[-1] > 0.8)
    (True, True)
    """
    gaps = said.margins(points)
    chance = np.stack(
        [np.bincount(people, said.weights * np.log(answer_probability(gaps, rate))) for rate in _RATES], axis=1
    )
    likelihood = np.exp(chance - chance.max(axis=1, keepdims=True))
    shares = np.full(len(_RATES), 1 / len(_RATES))
    for _ in range(_ROUNDS):
        weights = likelihood * shares
        weights /= weights.sum(axis=1, keepdims=True)
        shares = weights.mean(axis=0)
    own: FloatArray = (weights @ np.array(_RATES))[people]
    return own


@dataclass(frozen=True, eq=False)
class Information:
    """The information of answers about a map and the lapse rate.

    Attributes
    ----------
    of_map : ndarray, shape (n p, n p)
    across : ndarray, shape (n p,)
        Between the map and the lapse rate.
    of_lapse : float
    """

    of_map: FloatArray
    across: FloatArray
    of_lapse: float


def information(said: Said, fitted: Fitted) -> Information:
    """Return the expected information."""
    each = answer_derivatives(said.margins(fitted.points), fitted.lapse).information
    jacobian = said.jacobian(fitted.points)
    scaled = diags_array(np.sqrt(said.weights * each.odds)) @ jacobian
    return Information(
        (scaled.T @ scaled).toarray(),
        np.asarray(jacobian.T @ (said.weights * each.cross)),
        float(said.weights @ each.lapse),
    )


def scores(said: Said, fitted: Fitted, units: NDArray[np.intp]) -> tuple[FloatArray, FloatArray]:
    """Return the scores of the map, (u, n p), and of the lapse rate, (u,), summed over the rows of each unit."""
    by_margin, by_lapse = answer_derivatives(said.margins(fitted.points), fitted.lapse).scores
    m, n_units = len(said.rows), int(units.max()) + 1
    sums = csr_array((said.weights * by_margin, (units, np.arange(m))), shape=(n_units, m))
    of_map = (sums @ said.jacobian(fitted.points)).toarray()
    return of_map, np.bincount(units, said.weights * by_lapse, n_units).astype(np.float64)

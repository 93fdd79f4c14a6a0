r"""The model: one map, and weights of its axes for each person.

For person s, the squared distance of two objects is

.. math:: d^2_s(i, j) = \sum_k w_{sk} (x_{ik} - x_{jk})^2, \qquad \log w_s = C c_s

where the columns of C are orthonormal and sum to 0: the weights of a person have a geometric mean of 1, and say by what
they judge, not how carefully. That is told by a steepness of their own: they answer "near" with probability

.. math:: P = \frac{\pi_s}{2} + (1 - \pi_s)\, \mathrm{sigmoid}\Big(e^{b + g_s} (1 + \kappa)
          \log \frac{2 \kappa + d^2_s(\text{far})}{2 \kappa + d^2_s(\text{near})}\Big),
          \qquad \mathrm{logit}\, \pi_s = \lambda + l_s

as in `nearer.sampling.model`. People are drawn from one population, c ~ N(0, tau^2 I), g ~ N(0, sigma^2), l ~ N(0, 1);
objects have x ~ N(0, I / p), which keeps the mean squared distance near 2.

Unknowns are packed into one vector: x (n, p), then for each person c / tau, g / sigma and l, then b, log kappa and
lambda. With c / tau in place of c a tau of 0 is no special case.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import helmert
from scipy.special import expit

from nearer._common.arrays import FloatArray
from nearer.model.answers import AnswerModel, answer_derivatives
from nearer.sampling.model import DistinctComparisons

NUMBER_CENTRES, NUMBER_SCALES = np.array([2.0, 0.0, -4.0]), np.array([1.0, 1.0, 1.5])  # of b, log kappa and lambda


class Spread(NamedTuple):
    """How much people differ: standard deviations of the logarithms of their weights, and of their steepness."""

    weights: float
    steepness: float


class Unknowns(NamedTuple):
    """What is to be found: points (n, p), people (s, p + 1), the three numbers."""

    points: FloatArray
    people: FloatArray
    numbers: FloatArray


class Chances(NamedTuple):
    """The probability of each answer, and its slopes.

    Attributes
    ----------
    probability : ndarray, shape (m,)
    by_odds : ndarray, shape (m,)
        Derivative by the log-odds of someone who does not lapse.
    by_lapse : ndarray, shape (m,)
        Derivative by logit of the lapse rate.
    odds : ndarray, shape (m,)
    by_distance : ndarray, shape (2, m)
        Derivatives of the log-odds by the squared distances of near and far pair.
    by_kernel : ndarray, shape (m,)
        Derivative of the log-odds by log kappa.
    """

    probability: FloatArray
    by_odds: FloatArray
    by_lapse: FloatArray
    odds: FloatArray
    by_distance: FloatArray
    by_kernel: FloatArray


def contrasts(n_components: int) -> FloatArray:
    """Return orthonormal columns that sum to 0, (p, p - 1).

    Examples
    --------
    >>> contrasts(2).round(3).tolist()
    [[0.707], [-0.707]]
    """
    return np.ascontiguousarray(helmert(n_components).T)


def chances(
    near: FloatArray, far: FloatArray, steepness: FloatArray, kernel: float, lapse_logit: FloatArray
) -> Chances:
    """Return how likely answers are at given squared distances.

    Parameters
    ----------
    near, far : ndarray, shape (m,)
    steepness : ndarray, shape (m,)
        Logarithm, b + g.
    kernel : float
        log kappa.
    lapse_logit : ndarray, shape (m,)

    Examples
    --------
    >>> one = np.ones(1)
    >>> chances(one, one, one, 0.0, one).probability.tolist()
    [0.5]
    """
    width = np.exp(kernel)
    alpha, lapse = 2 * width, expit(lapse_logit)
    model = AnswerModel(np.exp(steepness) * (1 + width), alpha, lapse)
    ratio = model.log_ratio(near, far)
    odds = model.slope * ratio
    answers = answer_derivatives(odds, lapse)
    by_distance = np.stack(model.log_odds_gradient(near, far))
    return Chances(
        answers.probability,
        answers.by_odds,
        lapse * (1 - lapse) * answers.by_lapse,
        odds,
        by_distance,
        width * np.exp(steepness) * ratio + alpha * by_distance.sum(axis=0),
    )


@dataclass(frozen=True, eq=False)
class WeightedModel:
    """The density of the unknowns given answers.

    Parameters
    ----------
    answers : DistinctComparisons
        Of two people or more.
    n_objects, n_components : int
    spread : Spread
    """

    answers: DistinctComparisons
    n_objects: int
    n_components: int
    spread: Spread

    @property
    def n_people(self) -> int:
        """The number of people."""
        return self.answers.n_annotators

    @cached_property
    def contrasts(self) -> FloatArray:
        """C, (p, p - 1)."""
        return contrasts(self.n_components)

    @cached_property
    def deviations(self) -> FloatArray:
        """Standard deviations of what is drawn for each person, (p + 1,)."""
        return np.array([*[self.spread.weights] * (self.n_components - 1), self.spread.steepness, 1.0])

    def pack(self, unknowns: Unknowns) -> FloatArray:
        """Return unknowns as one vector; people in units of their deviations."""
        scale = np.where(self.deviations > 0, self.deviations, 1.0)
        scaled = np.where(self.deviations > 0, unknowns.people / scale, 0.0)
        return np.concatenate([unknowns.points.ravel(), scaled.ravel(), unknowns.numbers])

    def unpack(self, vector: FloatArray) -> Unknowns:
        """Return what `pack` was given."""
        n, p = self.n_objects, self.n_components
        people = vector[n * p : -3].reshape(self.n_people, p + 1) * self.deviations
        return Unknowns(vector[: n * p].reshape(n, p), people, vector[-3:])

    def log_weights(self, people: FloatArray) -> FloatArray:
        """Return the logarithms of the weights of each person, (s, p)."""
        logs: FloatArray = people[:, : self.n_components - 1] @ self.contrasts.T
        return logs

    def squares(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return differences of the objects of each pair, (k, p), and their squares."""
        i, j = self.answers.pairs.T
        gaps = points[i] - points[j]
        return gaps, gaps * gaps

    def parts(self, unknowns: Unknowns) -> tuple[FloatArray, Chances]:
        """Return the weighted squared differences of near and far pair along each axis, (2, m, p), and the chances."""
        rows, who = self.answers.rows, self.answers.annotators
        weights = np.exp(self.log_weights(unknowns.people))[who]
        squares = self.squares(unknowns.points)[1]
        along = np.stack([squares[rows[:, side]] * weights for side in (0, 1)])
        steepness, kernel, lapse = unknowns.numbers
        of_people = unknowns.people[who, -2:]
        near, far = along.sum(axis=2)
        return along, chances(near, far, steepness + of_people[:, 0], kernel, lapse + of_people[:, 1])

    def log_likelihoods(self, unknowns: Unknowns) -> FloatArray:
        """Return the log-likelihood of the answers of each person, (s,)."""
        _, found = self.parts(unknowns)
        each = self.answers.total_weights * np.log(found.probability)
        return np.bincount(self.answers.annotators, each, self.n_people).astype(np.float64)

    def density(self, vector: FloatArray) -> tuple[float, FloatArray]:
        """Return the log-density of packed unknowns up to a constant, and its gradient."""
        n, p, answers = self.n_objects, self.n_components, self.answers
        unknowns = self.unpack(vector)
        along, found = self.parts(unknowns)
        weights = answers.total_weights
        per_answer = weights / found.probability
        by_odds, by_lapse = per_answer * found.by_odds, per_answer * found.by_lapse
        pulls = by_odds * found.by_distance  # (2, m)
        by_logs = np.einsum("am,amp->mp", pulls, along) @ self.contrasts
        columns = [*by_logs.T, by_odds * found.odds, by_lapse]
        people = np.stack([np.bincount(answers.annotators, column, self.n_people) for column in columns], axis=1)
        numbers = np.array([np.sum(columns[-2]), np.sum(by_odds * found.by_kernel), np.sum(by_lapse)])
        away = (unknowns.numbers - NUMBER_CENTRES) / NUMBER_SCALES
        scaled = vector[n * p : -3]
        value = (
            float(np.sum(weights * np.log(found.probability)))
            - p * float(np.sum(unknowns.points**2)) / 2
            - float(scaled @ scaled) / 2
            - float(away @ away) / 2
        )
        gradient = np.concatenate(
            [
                (self._by_points(unknowns, pulls) - p * unknowns.points).ravel(),
                (people * self.deviations).ravel() - scaled,
                numbers - away / NUMBER_SCALES,
            ]
        )
        return value, gradient

    def _by_points(self, unknowns: Unknowns, pulls: FloatArray) -> FloatArray:
        """Return the derivative by the points, given that by the squared distances, (n, p)."""
        answers, gaps = self.answers, self.squares(unknowns.points)[0]
        weights = np.exp(self.log_weights(unknowns.people))[answers.annotators]
        i, j = answers.pairs.T
        columns = []
        for axis in range(self.n_components):
            on_pairs = (
                2
                * gaps[:, axis]
                * sum(np.bincount(answers.rows[:, side], pulls[side] * weights[:, axis], len(gaps)) for side in (0, 1))
            )
            columns.append(np.bincount(i, on_pairs, self.n_objects) - np.bincount(j, on_pairs, self.n_objects))
        return np.stack(columns, axis=1)

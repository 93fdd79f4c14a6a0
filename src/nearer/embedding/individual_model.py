r"""The model of individual differences: one map, and weights of its axes for each person.

For person s, d2_s(i, j) = sum_k w_sk (x_ik - x_jk)^2 with log w_s = C c_s, where the columns of C are orthonormal and
sum to 0. Answers follow from it as in `nearer.sampling.model`; e^(b + g_s) is the steepness of a person, and lambda +
l_s the logit of the lapse rate. People are drawn from one population, c ~ N(0, tau^2 I), g ~ N(0, sigma^2), l ~ N(0,
1), objects from x ~ N(0, I / p), which keeps the mean squared distance near 2. Unknowns are packed into one vector: x
(n, p), then for each person c / tau, g / sigma and l, then b, log kappa and lambda. With c / tau, tau = 0 is no special
case.

*Evidence.* Around what was found, the log-likelihood of person s in theta = (c, g, l) is h' theta - theta' H theta / 2,
H Fisher's information and h = H theta + gradient. With theta ~ N(0, D^2) integrated out, by Laplace's approximation,

    -log det(I + D H D) / 2 + h' D (I + D H D)^-1 D h / 2.

The spreads in D maximize its sum over people (empirical Bayes).

*Standard errors* come from the inverse of Fisher's information of everything: with blocks H_ss of people, H_zz of the
map and the three numbers, and K_s = H_ss^-1 H_sz,

    S = (H_zz - sum_s H_zs H_ss^-1 H_sz)^-1,    Cov(theta_s, theta_t) = [s = t] H_ss^-1 + K_s S K_t'.

Reported are weights relative to their mean over people. That the axes may point elsewhere is part of it; that the
spreads were estimated is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.linalg import helmert
from scipy.optimize import minimize
from scipy.sparse import csr_array
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


class AnswerTerms(NamedTuple):
    """The probability of each answer, and its slopes."""

    probability: FloatArray  # (m,)
    by_odds: FloatArray  # (m,), derivative by the log-odds of someone who does not lapse
    by_lapse: FloatArray  # (m,), derivative by logit of the lapse rate
    odds: FloatArray  # (m,)
    by_distance: FloatArray  # (2, m), derivatives of the log-odds by the squared distances of near and far pair
    by_kernel: FloatArray  # (m,), derivative of the log-odds by log kappa


def answer_terms(
    near: FloatArray, far: FloatArray, steepness: FloatArray, kernel: float, lapse_logit: FloatArray
) -> AnswerTerms:
    """Return how likely answers are at given squared distances."""
    width = np.exp(kernel)
    alpha, lapse = 2 * width, expit(lapse_logit)
    model = AnswerModel(np.exp(steepness) * (1 + width), alpha, lapse)
    ratio = model.log_ratio(near, far)
    odds = model.slope * ratio
    answers = answer_derivatives(odds, lapse)
    by_distance = np.stack(model.log_odds_gradient(near, far))
    return AnswerTerms(
        answers.probability,
        answers.by_odds,
        lapse * (1 - lapse) * answers.by_lapse,
        odds,
        by_distance,
        width * np.exp(steepness) * ratio + alpha * by_distance.sum(axis=0),
    )


@dataclass(frozen=True, eq=False)
class WeightedModel:
    """The density of the unknowns given answers."""

    answers: DistinctComparisons  # of two people or more
    n_objects: int
    n_components: int
    spread: Spread

    @property
    def n_people(self) -> int:
        """The number of people."""
        return self.answers.n_annotators

    @cached_property
    def contrasts(self) -> FloatArray:
        """C, (p, p - 1): orthonormal columns that sum to 0."""
        return np.ascontiguousarray(helmert(self.n_components).T)

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
        return people[:, : self.n_components - 1] @ self.contrasts.T

    def gaps(self, points: FloatArray) -> FloatArray:
        """Return the differences of the objects of each pair, (k, p)."""
        i, j = self.answers.pairs.T
        return points[i] - points[j]

    def parts(self, unknowns: Unknowns) -> tuple[FloatArray, AnswerTerms]:
        """Return the weighted squared differences of near and far pair along each axis, (2, m, p), and the chances."""
        rows, who = self.answers.rows, self.answers.annotators
        weights = np.exp(self.log_weights(unknowns.people))[who]
        squares = self.gaps(unknowns.points) ** 2
        along = np.stack([squares[rows[:, side]] * weights for side in (0, 1)])
        steepness, kernel, lapse = unknowns.numbers
        of_people = unknowns.people[who, -2:]
        near, far = along.sum(axis=2)
        return along, answer_terms(near, far, steepness + of_people[:, 0], kernel, lapse + of_people[:, 1])

    def log_likelihoods(self, unknowns: Unknowns) -> FloatArray:
        """Return the log-likelihood of the answers of each person, (s,)."""
        each = self.answers.total_weights * np.log(self.parts(unknowns)[1].probability)
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
        answers, gaps = self.answers, self.gaps(unknowns.points)
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


MAX_SPREAD, MIN_SPREAD = 3.0, 0.01


class Quadratic(NamedTuple):
    """The log-likelihood of each person: curvatures H (s, d, d) and pulls h (s, d)."""

    curvature: FloatArray
    pull: FloatArray

    def along(self, directions: FloatArray) -> Quadratic:
        """Return it in other parameters phi, with theta = directions @ phi."""
        return Quadratic(directions.T @ self.curvature @ directions, self.pull @ directions)

    def evidence(self, deviations: FloatArray) -> float:
        """Return the logarithm of the likelihood with everything about people integrated out."""
        scaled = deviations[:, None] * self.curvature * deviations + np.eye(len(deviations))
        factor = np.linalg.cholesky(scaled)
        halves = np.linalg.solve(factor, (deviations * self.pull)[:, :, None])
        logs = np.log(np.diagonal(factor, axis1=1, axis2=2))
        return float(np.sum(halves**2) / 2 - np.sum(logs))


def slopes(found: AnswerTerms, along: FloatArray, directions: FloatArray) -> FloatArray:
    """Return the derivatives of each probability by (c, g, l), (m, d)."""
    by_weights = np.einsum("am,amq->mq", found.by_distance, along) @ directions
    by_people = np.column_stack([by_weights, found.odds]) * found.by_odds[:, None]
    return np.column_stack([by_people, found.by_lapse])


def quadratic(model: WeightedModel, found: AnswerTerms, by_people: FloatArray, people: FloatArray) -> Quadratic:
    """Return the log-likelihood of each person around what was found."""
    chance, answers = found.probability, model.answers
    weights = answers.total_weights
    information = weights / (chance * (1 - chance))
    order_is_of_people = np.searchsorted(answers.annotators, np.arange(model.n_people))
    products = (information[:, None] * by_people)[:, :, None] * by_people[:, None, :]
    curvature = np.add.reduceat(products, order_is_of_people, axis=0)
    gradient = np.add.reduceat((weights / chance)[:, None] * by_people, order_is_of_people, axis=0)
    return Quadratic(curvature, gradient + np.einsum("sde,se->sd", curvature, people))


def expand(model: WeightedModel, unknowns: Unknowns) -> Quadratic:
    """Return the log-likelihood of each person in (c, g, l) around what was found."""
    along, found = model.parts(unknowns)
    return quadratic(model, found, slopes(found, along, model.contrasts), unknowns.people)


def evidence(model: WeightedModel, unknowns: Unknowns) -> float:
    """Return the log-density of a map with everything about people integrated out."""
    shape = expand(model, unknowns)
    people = unknowns.people
    here = model.log_likelihoods(unknowns).sum()
    here -= float(np.sum(shape.pull * people) - np.einsum("sd,sde,se->", people, shape.curvature, people) / 2)
    return float(here + shape.evidence(model.deviations) - model.n_components * np.sum(unknowns.points**2) / 2)


def likeliest_spread(shape: Quadratic, start: Spread, *, weights: bool = True) -> Spread:
    """Return the spreads that make the answers most likely; that of weights stays if ``weights`` is False."""
    n_weights = shape.pull.shape[1] - 2

    def of(logs: FloatArray) -> Spread:
        return Spread(float(np.exp(logs[-2])) if weights else start.weights, float(np.exp(logs[-1])))

    def loss(logs: FloatArray) -> float:
        spread = of(logs)
        return -shape.evidence(np.array([*[spread.weights] * n_weights, spread.steepness, 1.0]))

    first = np.log(np.clip(start, 2 * MIN_SPREAD, MAX_SPREAD / 2))[0 if weights else 1 :]
    bounds = [(np.log(MIN_SPREAD), np.log(MAX_SPREAD))] * len(first)
    found = minimize(loss, first, method="Nelder-Mead", bounds=bounds, options={"xatol": 0.01, "fatol": 1e-3})
    return of(found.x)


_MAX_COORDINATES = 5000  # or a matrix of all of them would fill the memory; the map is then taken as known


def standard_errors(model: WeightedModel, unknowns: Unknowns) -> tuple[FloatArray, float]:
    """Return standard deviations of the logarithms of weights, (s, p), and of the rotation of the axes, in degrees."""
    n_people, p = unknowns.people.shape[0], model.n_components
    if model.spread.weights == 0:
        return np.zeros((n_people, p)), float("nan")
    own, between, shared = _information(model, unknowns)
    inverse = np.linalg.inv(own)
    links = inverse @ between  # K_s
    spread, axes = np.zeros((1, 1)), float("nan")
    if shared is not None:
        spread = np.linalg.inv(shared - np.einsum("sdz,sdy->zy", between, links, optimize=True))
        axes = _rotation_error(unknowns.points, spread)
    apart = links - links.mean(axis=0)  # what each person has is relative to the mean
    covariances = inverse * (1 - 2 / n_people) + inverse.mean(axis=0) / n_people
    covariances = covariances + apart @ spread @ np.swapaxes(apart, 1, 2)
    directions = model.contrasts
    variances = np.einsum("kd,sde,ke->sk", directions, covariances[:, : p - 1, : p - 1], directions)
    return np.sqrt(variances), axes


def _rotation_error(points: FloatArray, spread: FloatArray) -> float:
    """Return the standard deviation of the least certain rotation in the plane of two axes, in degrees."""
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
    if unknowns.points.size > _MAX_COORDINATES:
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
    gaps = model.gaps(unknowns.points)
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

r"""How much people differ, and what is known of each: Laplace's approximation of the likelihood of a person.

Around what was found, the log-likelihood of person s is quadratic in theta = (c, g, l),

.. math:: \ell_s(\theta) \approx \text{const} + h_s^T \theta - \tfrac12 \theta^T H_s \theta

with H Fisher's information and h = H theta + gradient. With theta ~ N(0, D^2) the likelihood with theta integrated out
is, but for the constant,

.. math:: -\tfrac12 \log\det(I + D H D) + \tfrac12 h^T D (I + D H D)^{-1} D h .

It is 0 for D = 0, so that a common map needs no case of its own. The spreads in D are those that make its sum over
people largest (empirical Bayes).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from nearer._common.arrays import FloatArray
from nearer.embedding.individual.likelihood import Chances, Spread, Unknowns, WeightedModel

MOST_SPREAD, LEAST_SPREAD = 3.0, 0.01


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


def slopes(found: Chances, along: FloatArray, directions: FloatArray) -> FloatArray:
    """Return the derivatives of each probability by (c, g, l), (m, d).

    Parameters
    ----------
    found : Chances
    along : ndarray, shape (2, m, q)
        What the squared distances of near and far pair change by.
    directions : ndarray, shape (q, d - 2)
        How the change depends on c.
    """
    by_weights = np.einsum("am,amq->mq", found.by_distance, along) @ directions
    by_people = np.column_stack([by_weights, found.odds]) * found.by_odds[:, None]
    return np.column_stack([by_people, found.by_lapse])


def quadratic(model: WeightedModel, found: Chances, by_people: FloatArray, people: FloatArray) -> Quadratic:
    """Return the log-likelihood of each person around what was found.

    Parameters
    ----------
    model : WeightedModel
    found : Chances
    by_people : ndarray, shape (m, d)
        From `slopes`.
    people : ndarray, shape (s, d)
        Where it is expanded.
    """
    chance, answers = found.probability, model.answers
    weights = answers.total_weights
    information = weights / (chance * (1 - chance))
    order_is_of_people = np.searchsorted(answers.annotators, np.arange(model.n_people))
    products = (information[:, None] * by_people)[:, :, None] * by_people[:, None, :]
    curvature = np.add.reduceat(products, order_is_of_people, axis=0)
    gradient = np.add.reduceat((weights / chance)[:, None] * by_people, order_is_of_people, axis=0)
    return Quadratic(curvature, gradient + np.einsum("sde,se->sd", curvature, people))


def around(model: WeightedModel, unknowns: Unknowns) -> Quadratic:
    """Return the log-likelihood of each person in (c, g, l) around what was found."""
    along, found = model.parts(unknowns)
    return quadratic(model, found, slopes(found, along, model.contrasts), unknowns.people)


def evidence(model: WeightedModel, unknowns: Unknowns) -> float:
    """Return the log-density of a map with everything about people integrated out."""
    shape = around(model, unknowns)
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

    first = np.log(np.clip(start, 2 * LEAST_SPREAD, MOST_SPREAD / 2))[0 if weights else 1 :]
    bounds = [(np.log(LEAST_SPREAD), np.log(MOST_SPREAD))] * len(first)
    found = minimize(loss, first, method="Nelder-Mead", bounds=bounds, options={"xatol": 0.01, "fatol": 1e-3})
    return of(found.x)

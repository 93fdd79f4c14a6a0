r"""The answers of one person, with the person's own slope and lapse rate integrated out.

Given a draw of the map, and of how people differ, a person has the slope :math:`\beta e^{\tau s}` and the lapse rate
:math:`\mathrm{expit}(\mathrm{logit}\, \pi + \upsilon t)`, with z = (s, t) standard normal. The likelihood of the
answers of somebody new is

.. math:: L = \int \phi(z) \prod_i P(y_i \mid z)^{w_i} \, dz \approx
              \sum_k c_k \, \frac{\phi(z_k)}{\phi(z_k; \mu, \Sigma)} \prod_i P(y_i \mid z_k)^{w_i},

by Gauss-Hermite quadrature with nodes placed where the integrand is large (Naylor and Smith 1982): mu and Sigma are
iterated moments of z. The terms of the sum are also the posterior of z in this draw.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, logsumexp

from nearer._common.arrays import FloatArray
from nearer.model.answers import answer_probability
from nearer.sampling.annotators import Population
from nearer.sampling.model import DistinctComparisons

_ORDER = 5  # of the quadrature, for slope and lapse rate each
_N_PLACING_ROUNDS = 4
_KEPT_VARIANCE = 0.1  # of the variance of the nodes before, in each round: they close in, but not on a single node


class AnnotatorQuadrature(NamedTuple):
    """The terms of the quadrature for one person.

    Attributes
    ----------
    slopes, lapses : ndarray, shape (draws, nodes)
    log_terms : ndarray, shape (draws, nodes)
        Logarithms of the terms of the sum.
    """

    slopes: FloatArray
    lapses: FloatArray
    log_terms: FloatArray

    @property
    def log_likelihood(self) -> FloatArray:
        """The log-likelihood of the answers in each draw, (draws,)."""
        return np.asarray(logsumexp(self.log_terms, axis=1))

    def draw(self, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Return slope and lapse rate of the person in each draw, from their posterior, (draws,) each."""
        gumbel = rng.gumbel(size=self.log_terms.shape)
        node = (self.log_terms + gumbel).argmax(axis=1)
        draws = np.arange(len(node))
        return self.slopes[draws, node], self.lapses[draws, node]


def log_ratios(population: Population, quadruplets: NDArray[np.integer]) -> FloatArray:
    """Return log (alpha + d^2 far) / (alpha + d^2 near) of each row in each draw, (draws, m)."""
    found = np.empty((len(population.points), len(quadruplets)))
    i, j, l, k = quadruplets.T  # noqa: E741
    for row, points, offset in zip(found, population.points, population.offsets, strict=True):
        near, far = np.square(points[i] - points[j]).sum(axis=1), np.square(points[l] - points[k]).sum(axis=1)
        row[:] = np.log((offset + far) / (offset + near))
    return found


def integrate_annotator(ratios: FloatArray, weights: FloatArray, population: Population) -> AnnotatorQuadrature:
    """Return the quadrature for a person whose answers have these log-ratios, (draws, m), and weights, (m,)."""
    abscissas, masses = np.polynomial.hermite_e.hermegauss(_ORDER)
    standard = np.stack(np.meshgrid(abscissas, abscissas, indexing="ij"), axis=-1).reshape(-1, 2)
    log_masses = np.log(np.outer(masses, masses).ravel() / (2 * np.pi)) + np.square(standard).sum(axis=1) / 2
    n_draws = len(ratios)
    means, covariances = np.zeros((n_draws, 2)), np.tile(np.eye(2), (n_draws, 1, 1))

    def at_nodes() -> tuple[FloatArray, AnnotatorQuadrature]:
        roots = np.linalg.cholesky(covariances)
        z = means[:, None] + standard @ np.swapaxes(roots, 1, 2)
        slopes = population.slopes[:, None] * np.exp(population.slope_spreads[:, None] * z[..., 0])
        lapses = expit(logit(population.lapses[:, None]) + population.lapse_spreads[:, None] * z[..., 1])
        terms = log_masses - np.square(z).sum(axis=2) / 2 + np.log(roots[:, [0, 1], [0, 1]]).sum(axis=1)[:, None]
        for row, ratio, slope, lapse in zip(terms, ratios, slopes, lapses, strict=True):
            row += np.log(answer_probability(slope[:, None] * ratio, lapse[:, None])) @ weights
        return z, AnnotatorQuadrature(slopes, lapses, terms)

    for _ in range(_N_PLACING_ROUNDS):
        z, found = at_nodes()
        shares = np.exp(found.log_terms - found.log_likelihood[:, None])
        means = np.einsum("sk,ski->si", shares, z)
        away = z - means[:, None]
        covariances = np.einsum("sk,ski,skj->sij", shares, away, away) + _KEPT_VARIANCE * covariances
    return at_nodes()[1]


def rows_of_annotators(
    population: Population, distinct: DistinctComparisons
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Return log-ratios, (draws, m), and weights, (m,), of the answers of one person after the other."""
    bounds = np.searchsorted(distinct.annotators, np.arange(distinct.n_annotators + 1))
    quadruplets, weights = distinct.quadruplets, distinct.total_weights
    for start, end in pairwise(bounds):
        yield log_ratios(population, quadruplets[start:end]), weights[start:end]

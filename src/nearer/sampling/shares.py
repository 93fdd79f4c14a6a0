r"""Redraw shares and powers of features given the coordinates of the objects: a Gibbs step between those of a chain.

The chains move own deviations of the objects and factors of directions, which together make coordinates z. With many
answers z is narrow: a share can then change only if all of them change with it, and a chain explores it slowly. Given
z, answers say nothing more about shares and powers, whose density follows from

.. math:: z \sim N(0, K), \qquad K = D + U W U^\top

with D and W diagonal, for each axis. They take Metropolis steps in that density, and factors and deviations are then
drawn from their normal distribution given z. With few answers the steps of the chain itself explore shares faster: both
are interwoven (Yu and Meng 2011).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from nearer._common.arrays import FloatArray
from nearer.sampling.model import Model

_N_PROPOSALS = 2  # of each number
_SMALLEST_STEP = 0.1  # of a proposal, in units of the scale of the prior; the largest is 1


class _Given(NamedTuple):
    """Shares and powers with what follows from them."""

    numbers: FloatArray  # logits of shares, logarithms of powers
    weights: FloatArray  # (r,): roots of W
    own: FloatArray  # (groups,): D, of objects that are described by the same sets
    factor: tuple[FloatArray, bool]  # of I + W^1/2 U' D^-1 U W^1/2
    projected: FloatArray  # (r, p): W^1/2 U' D^-1 z
    log_density: float


class ShareSampler:
    """Redraws shares and powers of a model with features."""

    def __init__(self, model: Model) -> None:
        assert model.features is not None
        self.model, self.features = model, model.features
        patterns, self.groups = np.unique(self.features.described, axis=0, return_inverse=True)
        self.groups = self.groups.reshape(-1)
        self.patterns, self.counts = patterns, np.bincount(self.groups)
        parts = [self.features.directions[self.groups == group] for group in range(len(patterns))]
        self.grams = np.array([part.T @ part for part in parts])

    def redraw(self, unknowns: FloatArray, rng: np.random.Generator) -> None:
        """Redraw the shares, powers, factors and deviations in unknowns, (size,); coordinates stay where they are."""
        model, features = self.model, self.features
        n, p = model.n_objects, model.n_components
        coordinates = model.mixed(unknowns)[: n * p].reshape(n, p)
        squares = np.bincount(self.groups, (coordinates**2).sum(axis=1)).astype(np.float64)
        products = np.array(
            [features.directions[self.groups == g].T @ coordinates[self.groups == g] for g in range(len(self.counts))]
        )
        numbers = model.feature_numbers(unknowns)
        given = self._given(numbers.copy(), squares, products)
        for number in np.tile(np.arange(len(numbers)), _N_PROPOSALS):
            moved = given.numbers.copy()
            moved[number] += features.scales[number] * _SMALLEST_STEP ** rng.random() * rng.standard_normal()
            proposal = self._given(moved, squares, products)
            if np.log(rng.random()) < proposal.log_density - given.log_density:
                given = proposal
        numbers[:] = given.numbers
        noise = solve_triangular(given.factor[0], rng.standard_normal(given.projected.shape), lower=True, trans="T")
        factors = cho_solve(given.factor, given.projected) + noise
        deviations = coordinates - features.directions @ (given.weights[:, None] * factors)
        unknowns[: n * p] = (deviations / np.sqrt(given.own)[self.groups, None]).ravel()
        unknowns[model.core_size : model.core_size + factors.size] = factors.ravel()

    def _given(self, numbers: FloatArray, squares: FloatArray, products: FloatArray) -> _Given:
        """Return the log-density of shares and powers given coordinates, and what it is made of.

        ``squares``, (groups,), are those of coordinates, and ``products``, (groups, r, p), U' z.
        """
        from nearer.optimize.kernels import posterior

        features = self.features
        shares, weights = np.empty(features.n_sets), np.empty(len(features.log_values))
        posterior.direction_weights(numbers, 0, features.log_values, features.owners, shares, weights)
        own = 1 - self.patterns @ shares
        inner = np.tensordot(1 / own, self.grams, 1) * weights * weights[:, None]
        inner[np.diag_indices_from(inner)] += 1
        factor = cho_factor(inner, lower=True)
        projected = weights[:, None] * np.tensordot(1 / own, products, 1)
        explained = solve_triangular(factor[0], projected, lower=True)
        log_volume = 0.5 * float(self.counts @ np.log(own)) + float(np.log(np.diag(factor[0])).sum())
        deviance = float(squares @ (1 / own)) - float(np.vdot(explained, explained))
        prior = float((((numbers - features.centers) / features.scales) ** 2).sum())
        log_density = -0.5 * (deviance + prior) - projected.shape[1] * log_volume
        return _Given(numbers, weights, own, factor, projected, log_density)

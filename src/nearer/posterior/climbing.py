"""Where chains begin: the best of several hills of the posterior, with the width of each.

A start climbs the evidence lower bound, E[log-density] + entropy, of one normal distribution for each unknown, by Adam
(Kingma and Ba 2015) on gradients at two draws a step, mirror images of each other. Unlike the density, which is highest
on a spike that explains the noise too, the bound prefers hills that hold much of the posterior.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nearer.common.arrays import FloatArray
from nearer.posterior.model import NUMBERS, Model

FIRST_RATE = 0.05
_FIRST_DEVIATION = np.exp(-2.0)
_FLAT, _SMALLEST = 0.1, 1e-6
_RECENT = 20  # steps, of which each is a guess at the bound


class Climb:
    """Means and deviations of all unknowns on their way up.

    Parameters
    ----------
    model : Model
    start : ndarray, shape (size,)
    rng : numpy Generator
    step : callable
        Called after each step.
    """

    def __init__(
        self, model: Model, start: FloatArray, rng: np.random.Generator, step: Callable[[], object] = lambda: None
    ) -> None:
        self.model, self.rng, self.step = model, rng, step
        self.mean = start.copy()
        self.log_deviation = np.full(model.size, np.log(_FIRST_DEVIATION))
        self.bounds: list[float] = []
        self._moments = np.zeros((2, 2, model.size))

    def go(self, n_steps: int, first_rate: float, last_rate: float) -> None:
        """Take so many steps, at rates that fall from the first to the last."""
        first, second = self._moments  # views
        for number in range(n_steps):
            noise = np.exp(self.log_deviation) * self.rng.standard_normal(self.model.size)
            (above, up), (below, down) = self.model.density(self.mean + noise), self.model.density(self.mean - noise)
            gradient = np.stack([(up + down) / 2, noise * (up - down) / 2 + 1])
            self.bounds.append(float(above + below) / 2 + float(self.log_deviation.sum()))
            step = len(self.bounds)
            first += 0.1 * (gradient - first)
            second += 0.01 * (gradient**2 - second)
            rate = first_rate * (last_rate / first_rate) ** (number / n_steps)
            moves = rate * first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)
            self.mean += moves[0]
            self.log_deviation += moves[1]
            self.step()

    @property
    def height(self) -> float:
        """The lower bound that was reached."""
        return float(np.mean(self.bounds[-_RECENT:])) if self.bounds else -np.inf

    def draw(self, count: int) -> FloatArray:
        """Return unknowns drawn from the approximation, (count, size)."""
        drawn: FloatArray = self.mean + np.exp(self.log_deviation) * self.rng.standard_normal((count, self.model.size))
        return drawn


def flattened(model: Model, unknowns: FloatArray) -> FloatArray:
    """Return the same map with hardly any extent along its least axis: on its way there it may have bent.

    Objects on a line, say, that are laid out in a plane: from a random start they come to lie on an arc, which explains
    the answers nearly as well, and no small step leads from there to the line.
    """
    n, p = model.n_objects, model.n_components
    result = unknowns.copy()
    axes = result[n * p : n * p + p]  # a view
    spreads = np.exp(np.exp(result[-len(NUMBERS)]) * axes)
    places = result[: n * p].reshape(n, p) * spreads / np.linalg.norm(spreads)
    places = places - places.mean(axis=0)
    turned = places @ np.linalg.svd(places, full_matrices=False)[2].T
    sizes = turned.std(axis=0) + _SMALLEST
    result[: n * p] = (turned / sizes).ravel()
    sizes[-1] *= _FLAT
    axes[:] = np.log(sizes) - np.log(sizes).mean()
    result[-len(NUMBERS)] = 0.0  # an unevenness of 1, by which the logarithms are the unknowns
    return result

"""Where chains begin: the best of several hills of the posterior, with the width of each.

A start climbs the evidence lower bound, E[log-density] + entropy, of one normal distribution for each unknown, by Adam
(Kingma and Ba 2015) on gradients at two draws a step, mirror images of each other. Unlike the density, which is highest
on a spike that explains the noise too, the bound prefers hills that hold much of the posterior.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nearer.common.arrays import FloatArray
from nearer.posterior.model import Model

FIRST_RATE = 0.05
_FIRST_DEVIATION = np.exp(-2.0)
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

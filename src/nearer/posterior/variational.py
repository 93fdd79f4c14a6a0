"""A cheap approximation for large data: one normal distribution for each unknown, all independent.

Its means and deviations maximize the evidence lower bound, E[log-density] + entropy, by Adam (Kingma and Ba 2015) on
gradients at two draws a step, mirror images of each other, which two threads share. With many comparisons an object the
posterior is nearly normal and little is lost; correlations between unknowns are, so that it is too sure of itself
where there are few.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from tqdm import tqdm

from nearer.common.arrays import FloatArray
from nearer.common.parameters import check_integer
from nearer.posterior.model import Model
from nearer.posterior.nuts import Sampled


@dataclass(frozen=True)
class Variational:
    """Settings of the approximation.

    Parameters
    ----------
    n_steps : int
        Of the best start.
    n_draws : int
        Drawn from the approximation in the end.
    rate : float
        Of Adam at first; it falls to a hundredth of it.
    n_starts, n_first : int
        Random starts, and the steps of each before the best one is chosen: the bound has local maxima.
    """

    n_steps: int = 1000
    n_draws: int = 200
    rate: float = 0.05
    n_starts: int = 8
    n_first: int = 100

    def __post_init__(self) -> None:
        for name, least in (("n_starts", 1), ("n_first", 10), ("n_steps", 10), ("n_draws", 4)):
            check_integer(name, getattr(self, name), least)
        if not 0 < self.rate < 1:
            raise ValueError(f"rate must be between 0 and 1, got {self.rate!r}")


def approximate(model: Model, settings: Variational, seed: np.random.SeedSequence, n_threads: int) -> Sampled:
    """Return draws from the approximation as a single chain; its densities are the lower bound at each step.

    Several starts climb for a while, and the highest goes on. Ctrl-C ends the climb, and the draws are those of the
    best approximation so far.
    """
    rng = np.random.default_rng(seed)
    # disable=None: a bar on a terminal, silence in a log file.
    n_steps = settings.n_starts * settings.n_first + settings.n_steps
    bar = tqdm(total=n_steps, desc="approximating", unit="step", disable=None, leave=False, delay=1)
    climbs: list[_Climb] = []
    best: _Climb | None = None
    interrupted = False
    with bar, ThreadPoolExecutor(min(n_threads, 2)) as pool:
        try:
            for _ in range(settings.n_starts):
                climbs.append(_Climb(model, rng, pool, bar))
                climbs[-1].go(settings.n_first, settings.rate, settings.rate)
            best = max(climbs, key=_Climb.height)
            best.go(settings.n_steps, settings.rate, settings.rate / 100)
        except KeyboardInterrupt:
            interrupted = True
    if best is None:
        best = max(climbs, key=_Climb.height, default=None)
    if best is None or not best.bounds:
        raise KeyboardInterrupt
    n_done = sum(len(climb.bounds) for climb in climbs)
    return Sampled(best.draw(settings.n_draws)[None], np.array([best.bounds]), 2 * n_done, 0, interrupted)


class _Climb:
    """Means and deviations on their way up from a random start, by Adam."""

    def __init__(self, model: Model, rng: np.random.Generator, pool: ThreadPoolExecutor, bar: tqdm[Any]) -> None:
        self.model, self.rng, self.pool, self.bar = model, rng, pool, bar
        self.state = np.stack([model.start(rng), np.full(model.size, -2.0)])
        self.moments = np.zeros((2, *self.state.shape))
        self.bounds: list[float] = []

    def go(self, n_steps: int, first_rate: float, last_rate: float) -> None:
        """Take so many steps, at rates that fall from the first to the last."""
        mean, log_deviation = self.state  # views
        for number in range(n_steps):
            noise = np.exp(log_deviation) * self.rng.standard_normal(self.model.size)
            (above, up), (below, down) = self.pool.map(self.model.density, (mean + noise, mean - noise))
            gradient = np.stack([(up + down) / 2, noise * (up - down) / 2 + 1])
            self.bounds.append(float(above + below) / 2 + float(log_deviation.sum()))
            step, (first, second) = len(self.bounds), self.moments
            first += 0.1 * (gradient - first)
            second += 0.01 * (gradient**2 - second)
            rate = first_rate * (last_rate / first_rate) ** (number / n_steps)
            self.state += rate * first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)
            self.bar.update()

    def height(self) -> float:
        """Return the lower bound that was reached: the mean of the last few, as each is a guess."""
        return float(np.mean(self.bounds[-20:])) if self.bounds else -np.inf

    def draw(self, count: int) -> FloatArray:
        """Return unknowns drawn from the approximation, (count, size)."""
        mean, log_deviation = self.state
        drawn: FloatArray = mean + np.exp(log_deviation) * self.rng.standard_normal((count, self.model.size))
        return drawn

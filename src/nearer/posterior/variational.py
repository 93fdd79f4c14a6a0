"""A cheap approximation for large data: one normal distribution for each unknown, all independent.

Its means and deviations maximize the evidence lower bound, E[log-density] + entropy, by Adam (Kingma and Ba 2015) on
gradients at two draws a step, mirror images of each other, which two threads share. With many comparisons an object the
posterior is nearly normal and little is lost; correlations between unknowns are, so that it is too sure of itself
where there are few.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from tqdm import tqdm

from nearer.posterior.model import Model
from nearer.posterior.nuts import Sampled


@dataclass(frozen=True)
class Variational:
    """Settings of the approximation.

    Parameters
    ----------
    n_steps : int
    n_draws : int
        Drawn from the approximation in the end.
    rate : float
        Of Adam at first; it falls to a hundredth of it.
    """

    n_steps: int = 1000
    n_draws: int = 200
    rate: float = 0.05

    def __post_init__(self) -> None:
        for name, least in (("n_steps", 10), ("n_draws", 4)):
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
                raise ValueError(f"{name} must be an integer >= {least}, got {value!r}")
        if not 0 < self.rate < 1:
            raise ValueError(f"rate must be between 0 and 1, got {self.rate!r}")


def approximate(model: Model, settings: Variational, seed: np.random.SeedSequence, n_threads: int) -> Sampled:
    """Return draws from the approximation as a single chain; its densities are the lower bound at each step.

    Ctrl-C ends the steps, and the draws are those of the approximation so far.
    """
    rng = np.random.default_rng(seed)
    state = np.stack([model.start(rng), np.full(model.size, -2.0)])
    mean, log_deviation = state
    moments = np.zeros((2, *state.shape))
    bounds: list[float] = []
    interrupted = False
    # disable=None: a bar on a terminal, silence in a log file.
    steps = tqdm(range(settings.n_steps), desc="approximating", unit="step", disable=None, leave=False, delay=1)
    with steps, ThreadPoolExecutor(min(n_threads, 2)) as pool:
        try:
            for step in steps:
                noise = np.exp(log_deviation) * rng.standard_normal(model.size)
                (above, up), (below, down) = pool.map(model.density, (mean + noise, mean - noise))
                gradient = np.stack([(up + down) / 2, noise * (up - down) / 2 + 1])
                moments[0] += 0.1 * (gradient - moments[0])
                moments[1] += 0.01 * (gradient**2 - moments[1])
                first, second = moments[0] / (1 - 0.9 ** (step + 1)), moments[1] / (1 - 0.99 ** (step + 1))
                state += settings.rate * 0.01 ** (step / settings.n_steps) * first / (np.sqrt(second) + 1e-8)
                bounds.append(float(above + below) / 2 + float(log_deviation.sum()))
        except KeyboardInterrupt:
            interrupted = True
    if not bounds:
        raise KeyboardInterrupt
    noise = rng.standard_normal((settings.n_draws, model.size))
    return Sampled((mean + np.exp(log_deviation) * noise)[None], np.array([bounds]), 2 * len(bounds), 0, interrupted)

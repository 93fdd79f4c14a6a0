"""A cheap approximation for large data: one normal distribution for each unknown, all independent.

Its means and deviations maximize the evidence lower bound (`nearer.sampling.climbing`). With many comparisons an
object the posterior is nearly normal and little is lost; correlations between unknowns are, so that it is too sure of
itself where there are few.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nearer._common.parameters import check_integer
from nearer._common.progress import progress_bar
from nearer.sampling.climbing import Climb
from nearer.sampling.model import Model
from nearer.sampling.nuts import Sampled


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


def approximate(model: Model, settings: Variational, seed: np.random.SeedSequence) -> Sampled:
    """Return draws from the approximation as a single chain; its densities are the lower bound at each step.

    Several starts climb for a while, and the highest goes on. Ctrl-C ends the climb, and the draws are those of the
    best approximation so far.
    """
    rng = np.random.default_rng(seed)
    n_steps = settings.n_starts * settings.n_first + settings.n_steps
    bar = progress_bar("approximating", n_steps, unit="step")
    climbs: list[Climb] = []
    best: Climb | None = None
    interrupted = False
    with bar:
        try:
            for _ in range(settings.n_starts):
                climbs.append(Climb(model, model.start(rng), rng, bar.update))
                climbs[-1].go(settings.n_first, settings.rate, settings.rate)
            best = max(climbs, key=lambda climb: climb.height)
            best.go(settings.n_steps, settings.rate, settings.rate / 100)
        except KeyboardInterrupt:
            interrupted = True
    if best is None:
        best = max(climbs, key=lambda climb: climb.height, default=None)
    if best is None or not best.bounds:
        raise KeyboardInterrupt
    n_done = sum(len(climb.bounds) for climb in climbs)
    return Sampled(best.draw(settings.n_draws)[None], np.array([best.bounds]), 2 * n_done, 0, interrupted)

"""The no-U-turn sampler: several chains, each adapting its own step and mass.

While a chain warms up, its step follows the acceptance by dual averaging (Hoffman and Gelman 2014), and its mass is set
at the end of each of seven windows to the square root of the variance of the gradient over that of the draws. As the
posterior is invariant to rotations, trajectories are kept short: they would spend most of their steps on rotating.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from tqdm import tqdm

from nearer._common.arrays import FloatArray
from nearer._common.parameters import check_integer
from nearer._common.progress import progress_bar
from nearer.sampling.chains import Moments, SamplingResult, largest_rectangle, run_in_threads
from nearer.sampling.model import Model

_WINDOW_ENDS = (0.05, 0.1, 0.17, 0.27, 0.4, 0.6, 0.85)  # shares of the warm-up
_WARMUP_DEPTHS = ((0.1, 6), (0.4, 8))  # (share, depth): no long trajectories while step and mass are far off
_FIRST_STEP = 0.02


@dataclass(frozen=True)
class NUTS:
    """Settings of the sampler.

    Parameters
    ----------
    n_chains : int
    n_warmup, n_draws : int
        Transitions of each chain: of the warm-up, and after it.
    thin : int
        One in so many draws is kept.
    acceptance : float
        Mean acceptance to adapt the step to.
    max_depth : int
        A trajectory has at most 2^max_depth steps.
    """

    n_chains: int = 4
    n_warmup: int = 300
    n_draws: int = 1000
    thin: int = 4
    acceptance: float = 0.8
    max_depth: int = 6

    def __post_init__(self) -> None:
        for name, least in (("n_chains", 1), ("n_warmup", 20), ("n_draws", 4), ("thin", 1), ("max_depth", 1)):
            check_integer(name, getattr(self, name), least)
        if not 0 < self.acceptance < 1:
            raise ValueError(f"acceptance must be between 0 and 1, got {self.acceptance!r}")
        if self.n_draws < 4 * self.thin:
            raise ValueError(f"n_draws={self.n_draws} leaves less than four draws with thin={self.thin}; lower thin")


def sample_nuts(
    model: Model,
    settings: NUTS,
    seeds: Sequence[np.random.SeedSequence],
    n_threads: int,
    fixed: FloatArray | None = None,
    starts: FloatArray | None = None,
) -> SamplingResult:
    """Run one chain for each seed, as many at a time as there are threads.

    Unknowns that are ``fixed``, (size,), stay as they are; the others are NaN there. Chains begin at ``starts``,
    (chains, size), or at random. Ctrl-C ends them early and keeps their draws; without any it is raised again.
    """
    transitions = settings.n_chains * (settings.n_warmup + settings.n_draws)
    stopped, interrupted = threading.Event(), False
    with progress_bar("sampling", transitions, unit="draw") as bar:
        chains = [
            _Chain(model, settings, np.random.default_rng(seed), bar, stopped, fixed, start)
            for seed, start in zip(seeds, [None] * len(seeds) if starts is None else starts, strict=True)
        ]
        try:
            run_in_threads([chain.run for chain in chains], n_threads, stopped)
        except KeyboardInterrupt:
            interrupted = True
    chains.sort(key=lambda chain: -len(chain.values))
    kept, drawn = largest_rectangle([len(chain.values) for chain in chains])
    if drawn == 0:
        raise KeyboardInterrupt
    chains = chains[:kept]
    return SamplingResult(
        np.array([chain.draws[:drawn] for chain in chains]),
        np.array([chain.values[:drawn] for chain in chains]),
        sum(chain.n_steps for chain in chains),
        sum(chain.n_divergent for chain in chains),
        interrupted,
    )


@dataclass(eq=False)
class _Chain:
    model: Model
    settings: NUTS
    rng: np.random.Generator
    bar: tqdm[Any]
    stopped: threading.Event
    fixed: FloatArray | None = None
    start: FloatArray | None = None
    n_steps: int = 0
    n_divergent: int = 0
    draws: list[FloatArray] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def run(self) -> None:
        self.unknowns = self.model.start(self.rng) if self.start is None else self.start.copy()
        self.free = np.ones(self.model.size, dtype=bool) if self.fixed is None else np.isnan(self.fixed)
        if self.fixed is not None:
            self.unknowns = np.where(self.free, self.unknowns, self.fixed)
        self.value, self.gradient = self.model.density(self.unknowns)
        self.inverse_mass = self.free.astype(np.float64)
        self.arguments = self.model.arguments
        self.step = _StepSize(_FIRST_STEP, self.settings.acceptance)
        self._warm_up()
        for number in range(1, self.settings.n_draws + 1):
            if self.stopped.is_set():
                return
            _, diverged = self._move(self.step.final, self.settings.max_depth)
            self.n_divergent += diverged
            if number % self.settings.thin == 0:
                self.draws.append(self.unknowns)
                self.values.append(self.value)

    def _warm_up(self) -> None:
        n_warmup = self.settings.n_warmup
        ends = {round(share * n_warmup) for share in _WINDOW_ENDS}
        moments = Moments(self.model.size)
        for number in range(n_warmup):
            if self.stopped.is_set():
                return
            depths = [depth for share, depth in _WARMUP_DEPTHS if number < share * n_warmup]
            acceptance, _ = self._move(self.step.current, min([self.settings.max_depth, *depths]))
            self.step.adapt(acceptance)
            moments.add(self.unknowns, self.gradient)
            if number + 1 in ends and moments.count > 1:
                self.inverse_mass = self.free * moments.inverse_mass()
                moments = Moments(self.model.size)
                self.step.restart()

    def _move(self, step: float, depth: int) -> tuple[float, bool]:
        from nearer.optimize.kernels import samplers

        self.unknowns, self.gradient, self.value, acceptance, n_steps, diverged = samplers.transition(
            self.unknowns, self.gradient, self.value, step, self.inverse_mass, depth, self.rng, self.arguments
        )
        self.n_steps += n_steps
        self.bar.update()
        return acceptance, diverged


class _StepSize:
    """The step size, adapted by dual averaging."""

    def __init__(self, first: float, target: float) -> None:
        self.current = first
        self.target = target
        self._restart_at(10 * first)

    def _restart_at(self, length: float) -> None:
        self._center, self._excess, self._log_mean, self._count = np.log(length), 0.0, np.log(self.current), 0

    def adapt(self, acceptance: float) -> None:
        """Lengthen the step if more was accepted than wanted, and shorten it if less."""
        self._count += 1
        self._excess += (self.target - acceptance - self._excess) / (self._count + 10)
        log_step = self._center - np.sqrt(self._count) / 0.05 * self._excess
        self._log_mean += self._count**-0.75 * (log_step - self._log_mean)
        self.current = float(np.exp(log_step))

    def restart(self) -> None:
        """Restart from the mean so far, after the mass has changed."""
        self.current = self.final
        self._restart_at(2 * self.current)

    @property
    def final(self) -> float:
        """The step size to draw with."""
        return float(np.exp(self._log_mean))

"""Draws from a model by the no-U-turn sampler: several chains, each adapting its own step and mass.

While a chain warms up, its step follows the acceptance by dual averaging (Hoffman and Gelman 2014). Its mass is set
anew at the end of each of seven windows, to the square root of the variance of the gradient over that of the draws:
where unknowns are independent both give the same answer, and where they are not their mean keeps the step long
without losing stability.

Trajectories are kept short. Maps can be turned without anybody noticing, and a sampler that may go on until it comes
back spends most of its steps on turning: up to 64 steps give the most independent distances for the time.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from tqdm import tqdm

from nearer._common.arrays import FloatArray
from nearer._common.parameters import check_integer
from nearer._common.progress import progress_bar
from nearer.sampling.microcanonical import Pace
from nearer.sampling.model import Model
from nearer.sampling.moments import Moments

_WINDOWS = (0.05, 0.1, 0.17, 0.27, 0.4, 0.6, 0.85)  # where they end, as shares of the warm-up
_DEPTHS = ((0.1, 6), (0.4, 8))  # no long trajectories while step and mass are far off: up to this share, this depth
_AWAKE = 0.1  # seconds
_FIRST_STEP = 0.02


@dataclass(frozen=True)
class NUTS:
    """Settings of the sampler.

    Parameters
    ----------
    n_chains : int
    n_warmup, n_draws : int
        Transitions of each chain that adapt, and those that count.
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


@dataclass(frozen=True, eq=False)
class Sampled:
    """What the chains found.

    Attributes
    ----------
    unknowns : ndarray, shape (chains, draws, size)
        Those that were kept.
    densities : ndarray, shape (chains, draws)
        The log-density of each draw.
    n_steps : int
        Steps of all trajectories, each one gradient.
    n_divergent : int
        Trajectories, after the warm-up, that left the region where the step can follow the density.
    interrupted : bool
    vote_error : float
        The share of predictions that more draws would make right; NaN where it is not known.
    n_replaced : int
        Chains that began anew, because they predicted clearly worse than the others.
    pace : Pace or None
        How the chains went in the end, for more answers to go on from there; None for other samplers.
    """

    unknowns: FloatArray
    densities: FloatArray
    n_steps: int
    n_divergent: int
    interrupted: bool = False
    vote_error: float = float("nan")
    n_replaced: int = 0
    pace: Pace | None = None


def sample(
    model: Model,
    settings: NUTS,
    seeds: Sequence[np.random.SeedSequence],
    n_threads: int,
    given: FloatArray | None = None,
    starts: FloatArray | None = None,
) -> Sampled:
    """Run the chains, as many at a time as there are threads.

    Unknowns that are ``given``, (size,), stay as they are; those to be drawn are NaN there. Chains begin at
    ``starts``, (chains, size), or at random.

    Ctrl-C ends them where they are, and what was drawn by then is returned: the same number of draws of each chain that
    got that far. Without a single draw the interrupt goes on.
    """
    transitions = settings.n_chains * (settings.n_warmup + settings.n_draws)
    with progress_bar("sampling", transitions, unit="draw") as bar:
        chains = [
            _Chain(model, settings, np.random.default_rng(seed), bar, given, None if starts is None else starts[number])
            for number, seed in enumerate(seeds)
        ]
        interrupted = _run(chains, n_threads)
    # After an interrupt some chains have drawn more than others: keep as many draws as a rectangle can hold.
    chains.sort(key=lambda chain: -len(chain.values))
    kept = max(range(1, len(chains) + 1), key=lambda number: number * len(chains[number - 1].values))
    chains, drawn = chains[:kept], len(chains[kept - 1].values)
    if drawn == 0:
        raise KeyboardInterrupt
    return Sampled(
        np.array([chain.draws[:drawn] for chain in chains]),
        np.array([chain.values[:drawn] for chain in chains]),
        sum(chain.n_steps for chain in chains),
        sum(chain.n_divergent for chain in chains),
        interrupted,
    )


def _run(chains: Sequence[_Chain], n_threads: int) -> bool:
    """Run chains in threads until they are done; say whether they were interrupted."""
    with ThreadPoolExecutor(min(n_threads, len(chains)), thread_name_prefix="nearer-chain") as pool:
        try:  # from the first chain on: whatever interrupts, a pool waits for all that were started
            pending = {pool.submit(chain.run) for chain in chains}
            while pending:
                # Awake now and then: a signal that another thread was given does not end a wait.
                done, pending = wait(pending, _AWAKE, FIRST_EXCEPTION)
                for future in done:
                    future.result()
        except KeyboardInterrupt:
            for chain in chains:
                chain.stopped.set()
            return True
        except BaseException:
            for chain in chains:
                chain.stopped.set()
            raise
    return False


@dataclass(eq=False)
class _Chain:
    model: Model
    settings: NUTS
    rng: np.random.Generator
    bar: tqdm[Any]
    given: FloatArray | None = None
    start: FloatArray | None = None
    n_steps: int = 0
    n_divergent: int = 0
    draws: list[FloatArray] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    stopped: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Warm up, then draw."""
        self.unknowns = self.model.start(self.rng) if self.start is None else self.start.copy()
        self.free = np.ones(self.model.size, dtype=bool) if self.given is None else np.isnan(self.given)
        if self.given is not None:
            self.unknowns = np.where(self.free, self.unknowns, self.given)
        self.value, self.gradient = self.model.density(self.unknowns)
        self.inverse_mass = self.free.astype(np.float64)
        self.arguments = self.model.arguments
        self.step = _Step(_FIRST_STEP, self.settings.acceptance)
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
        ends = {round(share * n_warmup) for share in _WINDOWS}
        moments = Moments(self.model.size)
        for number in range(n_warmup):
            if self.stopped.is_set():
                return
            depth = next((depth for share, depth in _DEPTHS if number < share * n_warmup), self.settings.max_depth)
            acceptance, _ = self._move(self.step.present, min(depth, self.settings.max_depth))
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


class _Step:
    """The length of a step, adapted by dual averaging."""

    def __init__(self, first: float, goal: float) -> None:
        self.present = first
        self.goal = goal
        self._aim(10 * first)

    def _aim(self, length: float) -> None:
        self._centre, self._excess, self._log_mean, self._count = np.log(length), 0.0, np.log(self.present), 0

    def adapt(self, acceptance: float) -> None:
        """Lengthen the step if more was accepted than wanted, and shorten it if less."""
        self._count += 1
        self._excess += (self.goal - acceptance - self._excess) / (self._count + 10)
        log_step = self._centre - np.sqrt(self._count) / 0.05 * self._excess
        self._log_mean += self._count**-0.75 * (log_step - self._log_mean)
        self.present = float(np.exp(log_step))

    def restart(self) -> None:
        """Go on from the mean so far: the mass has changed."""
        self.present = self.final
        self._aim(2 * self.present)

    @property
    def final(self) -> float:
        """The step to draw with."""
        return float(np.exp(self._log_mean))

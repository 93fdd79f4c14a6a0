"""What all samplers share: their result, running statistics of a chain, and chains that run in threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from nearer._common.arrays import FloatArray

POLL_SECONDS = 0.1


class Pace(NamedTuple):
    """How warmed-up chains move: the scales of the unknowns, (size,), and the length of a step."""

    scales: FloatArray
    step: float


class ConditionalMoves(NamedTuple):
    """How objects of draws lie from their means given all others, of which the covariance is known."""

    moves: FloatArray  # (draws, n, p)
    covariances: FloatArray  # (n, p, p)


@dataclass(frozen=True, eq=False)
class SamplingResult:
    """What the chains found."""

    unknowns: FloatArray  # (chains, draws, size): the draws that were kept
    densities: FloatArray  # (chains, draws): log-density of each draw
    n_steps: int  # gradient evaluations
    n_divergent: int  # trajectories, after the warm-up, that left the region where the step can follow the density
    interrupted: bool = False
    vote_error: float = float("nan")  # share of predictions that more draws would correct; NaN where it is not known
    n_replaced: int = 0  # chains that were restarted because they predicted significantly worse than the best
    pace: Pace | None = None  # of the chains in the end, to continue from with more answers; None for other samplers
    conditional: ConditionalMoves | None = None  # where the distribution of an object given all others is known


class Moments:
    """Running variances of unknowns and gradients along a chain (Welford's algorithm)."""

    def __init__(self, size: int) -> None:
        self.count = 0
        self._means = np.zeros((2, size))
        self._squares = np.zeros((2, size))

    def add(self, unknowns: FloatArray, gradient: FloatArray) -> None:
        self.count += 1
        both = np.stack([unknowns, gradient])
        deviations = both - self._means
        self._means += deviations / self.count
        self._squares += deviations * (both - self._means)

    def inverse_mass(self) -> FloatArray:
        """Return sqrt(var(unknowns) / var(gradient))."""
        of_draws, of_gradients = self._squares / self.count + 1e-10
        return np.asarray(np.sqrt(of_draws / of_gradients))


class Stopped(Exception):
    """Raised in the threads when time is up."""


def run_in_threads(tasks: Sequence[Callable[[], Any]], n_threads: int, stopped: threading.Event) -> None:
    """Run tasks to their ends; an error or Ctrl-C sets ``stopped``, which tasks must look at."""
    with ThreadPoolExecutor(min(n_threads, len(tasks)), thread_name_prefix="nearer-chain") as pool:
        try:  # from the first task on: whatever interrupts, a pool waits for all that were started
            pending = {pool.submit(task) for task in tasks}
            while pending:
                # A signal that arrives in another thread does not end a wait, so wake up now and then.
                done, pending = wait(pending, POLL_SECONDS, FIRST_EXCEPTION)
                for future in done:
                    if not isinstance(future.exception(), Stopped):
                        future.result()
        except BaseException:
            stopped.set()
            raise


def largest_rectangle(n_draws: Sequence[int]) -> tuple[int, int]:
    """Return how many chains, and draws of each, to keep of descending numbers of draws, so that most are kept.

    After an interrupt some chains have drawn more than others.
    """
    n_chains = max(range(1, len(n_draws) + 1), key=lambda number: number * n_draws[number - 1])
    return n_chains, n_draws[n_chains - 1]

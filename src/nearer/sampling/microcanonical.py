"""Draws from a model by microcanonical Langevin dynamics: the default, and for all sizes of data.

Each chain begins near the best of several starts (`nearer.sampling.climbing`), adapts its step and its scales, and
then draws in rounds until predictions have settled. Steps are not corrected by acceptance: they are short enough that
the error of the energy, for each unknown, has a variance of 3e-5. Where answers are few, steepness so comes out
somewhat too low, and predictions up to a tenth less sure; which of two answers is likelier hardly changes. In return a
draw takes a tenth of the gradients that the no-U-turn sampler needs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from nearer._common.arrays import FloatArray
from nearer._common.parameters import check_integer
from nearer.sampling.model import Model
from nearer.sampling.moments import Moments

_LENGTH = 4.0  # of the path on which a chain forgets its direction, in units of sqrt(size)
_FIRST_STEP = 0.1  # in the same units
_TUNED_EVERY = 5  # steps
_TOO_FAR = 0.3  # variance of the energy's error at which a chain goes back
_MUCH_WORK, _VERY_MUCH_WORK = 600_000, 6_000_000
_TOO_LONG, _MOST_ATTEMPTS = 4.0, 3  # times the error that is aimed at, where steps are shortened; and how often
_WINDOWS = (0.3, 0.85)  # shares of the warm-up: scales are learned between them


@dataclass(frozen=True)
class Microcanonical:
    """Settings of the sampler.

    Parameters
    ----------
    n_chains : int
    n_warmup : int
        Steps of each chain that adapt.
    n_steps : int
        At most so many steps of each chain that count; fewer where predictions settle before.
    thin : int
        One in so many steps is kept.
    tolerance : float
        Predictions have settled when more draws would make at most this share more of them right.
    error : float
        The variance, for each unknown, of the error of the energy in a step.
    n_starts, n_climb : int
        Starts, and the steps in which each climbs; the better half go on as many steps again and a half.
    """

    n_chains: int = 4
    n_warmup: int = 700
    n_steps: int = 6000
    thin: int = 20
    tolerance: float = 0.001
    error: float = 3e-5
    n_starts: int = 4
    n_climb: int = 80

    @classmethod
    def for_work(cls, work: int) -> Microcanonical:
        """Return settings for so many comparisons times dimensions: where each step takes long, fewer of them.

        With many comparisons an object the posterior is narrow, and few draws tell as much.
        """
        if work <= _MUCH_WORK:
            return cls()
        if work <= _VERY_MUCH_WORK:
            return cls(n_chains=2, n_warmup=600, n_steps=3000, n_starts=2, n_climb=60)
        return cls(n_chains=2, n_warmup=400, n_steps=1000, thin=10, n_starts=1, n_climb=40)

    @classmethod
    def thorough(cls) -> Microcanonical:
        """Return settings that draw until the chains agree, for posteriors in which they are slow to."""
        return cls(n_warmup=1000, n_steps=60_000, thin=40, tolerance=0.0002)

    @classmethod
    def for_judging(cls, work: int = 0) -> Microcanonical:
        """Return settings that are enough for predictions, from so many comparisons times dimensions."""
        if work > _MUCH_WORK // 2:
            return cls(n_chains=2, n_warmup=400, n_steps=1000, n_starts=1, n_climb=40)
        return cls(n_chains=2, n_warmup=500, n_steps=2000, n_starts=2, n_climb=50)

    def __post_init__(self) -> None:
        for name, least in (("n_chains", 1), ("n_warmup", 100), ("thin", 1), ("n_starts", 1), ("n_climb", 10)):
            check_integer(name, getattr(self, name), least)
        check_integer("n_steps", self.n_steps, 4 * self.thin)
        for name in ("tolerance", "error"):
            if not 0 < getattr(self, name) < 1:
                raise ValueError(f"{name} must be between 0 and 1, got {getattr(self, name)!r}")


class Pace(NamedTuple):
    """How chains that have warmed up go: the scales of the unknowns, (size,), and the length of a step."""

    scales: FloatArray
    step: float


@dataclass(eq=False)
class Chain:
    """One path through the posterior."""

    model: Model
    rng: np.random.Generator
    unknowns: FloatArray
    scales: FloatArray
    settings: Microcanonical
    advance: Callable[[int], object]
    n_steps: int = 0
    draws: list[FloatArray] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.size = self.model.size
        self.arguments = self.model.arguments
        self.value, self.gradient = self.model.density(self.unknowns)
        self.velocity = self.rng.standard_normal(self.size)
        self.velocity /= np.linalg.norm(self.velocity)
        self.step = _FIRST_STEP * np.sqrt(self.size)

    def warm_up(self) -> None:
        """Adapt the step, then the scales, then the step to these."""
        first, second = (round(share * self.settings.n_warmup) for share in _WINDOWS)
        self._tune(first)
        self.scales = self._tune(second - first)
        self._tune(self.settings.n_warmup - second)

    def keep_pace(self, pace: Pace) -> None:
        """Adapt the step to a posterior that is nearly the one in which the pace was found."""
        self.step = pace.step
        self._tune(self.settings.n_warmup)

    def go_on(self, n_steps: int) -> None:
        """Draw.

        Where the posterior turns out to be narrower than the warm-up saw, and steps are too long for it, the chain
        shortens them and draws again.
        """
        wanted = len(self.draws) + n_steps // self.settings.thin
        for _ in range(_MOST_ATTEMPTS):
            error = self._draw_until(wanted)
            if error <= _TOO_LONG * self.settings.error:
                return
            self.step *= max((self.settings.error / error) ** (1 / 6), 0.5)  # infinite where most walks went back
            self.draws, self.values = [], []
        self._draw_until(wanted)

    def _draw_until(self, wanted: int) -> float:
        """Draw until there are so many; return the median error of the energy."""
        errors = []
        while len(self.draws) < wanted:
            error = self._walk_back(self.settings.thin)
            errors.append(error)
            if error < _TOO_FAR:
                self.draws.append(self.unknowns.copy())
                self.values.append(self.value)
        return float(np.median(errors))

    def _walk_back(self, n_steps: int) -> float:
        """Take steps, but turn back where they have left the region that such steps can follow, and shorten them.

        Going on from there, it would come to the same place again, with ever shorter steps.
        """
        before = self.unknowns.copy(), -self.velocity, self.gradient.copy(), self.value
        error = self._walk(n_steps)
        if not error < _TOO_FAR:
            self.unknowns, self.velocity, self.gradient, self.value = before
            self.step *= 0.9
            return np.inf
        return error

    def _walk(self, n_steps: int) -> float:
        from nearer.optimize.kernels import samplers

        length = _LENGTH * np.sqrt(self.size)
        self.value, error = samplers.walk(
            self.unknowns, self.velocity, self.gradient, self.value, self.step, length, self.scales, n_steps, self.rng,
            self.arguments,
        )  # fmt: skip
        self.n_steps += n_steps
        self.advance(n_steps)
        return float(error) / self.size

    def _tune(self, n_steps: int) -> FloatArray:
        """Adapt the step; return scales: the root of the deviation of unknowns over that of the gradients."""
        steps, moments = [], Moments(self.size)
        for _ in range(n_steps // _TUNED_EVERY):
            error = self._walk_back(_TUNED_EVERY)
            if not error < _TOO_FAR:
                self.step *= 0.5
                continue
            # The error of a short step has a variance that goes with its sixth power.
            self.step *= float(np.clip((self.settings.error / max(error, 1e-12)) ** (1 / 6), 0.7, 1.3))
            steps.append(np.log(self.step))
            moments.add(self.unknowns, self.gradient)
        if len(steps) < 2:
            return self.scales
        self.step = float(np.exp(np.mean(steps[len(steps) // 2 :])))
        return np.sqrt(moments.inverse_mass())

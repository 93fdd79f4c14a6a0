"""Microcanonical Langevin dynamics: the default sampler, for all sizes of data.

Starts are optimized first (`nearer.sampling.variational`), and chains begin at the best ones, adapt their step and
their scales, and then draw in rounds until predictions have converged. Steps are not corrected by acceptance: they are
short enough that the error of the energy, for each unknown, has a variance of 3e-5. With few answers predictions are up
to a tenth less confident; in return a draw takes a tenth of the gradients that the no-U-turn sampler needs.

A chain in a negligible mode, such as a folded map, may stay there. So after the first round chains are compared by the
widely applicable information criterion (Watanabe 2010), and one that is significantly worse than the best restarts from
a draw of it. Chains in different modes that predict equally well stay: the map is ambiguous then.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from nearer._common.arrays import FloatArray
from nearer._common.parameters import check_integer, check_number
from nearer._common.progress import progress_bar
from nearer.sampling.annotators import answer_probabilities
from nearer.sampling.chains import Moments, Pace, SamplingResult, Stopped, largest_rectangle, run_in_threads
from nearer.sampling.model import Model, draws_of
from nearer.sampling.shares import ShareSampler
from nearer.sampling.summaries import (
    MAX_PAIRS,
    Diagnosis,
    diagnose,
    pairs_of,
    predictive_probability,
    relative_distances,
)
from nearer.sampling.variational import FIRST_RATE, MeanField, isomap_start

# Chains. Lengths are in units of sqrt(size).
_DECOHERENCE_LENGTH = 4.0  # of the path on which a chain forgets its direction
_FIRST_STEP = 0.1
_STEPS_PER_TUNING = 5
_STEPS_PER_REDRAW = 40  # of the shares of features, or the next multiple of it
_MAX_ERROR = 0.3  # variance of the energy's error at which a chain goes back
_MAX_ERROR_RATIO, _MAX_ATTEMPTS = 4.0, 3  # of the wanted error, beyond which steps are shortened; and how often
_SCALE_WINDOW = (0.3, 0.85)  # shares of the warm-up between which scales are learned
_MUCH_WORK, _VERY_MUCH_WORK = 600_000, 6_000_000
# Starts.
_LAST_RATE = 0.05  # of the first
_MORE_STEPS_FACTOR = 4  # times as many further steps of the better half of the starts
_MAX_ISOMAP_OBJECTS = 1000  # shortest paths between more take long
_MAX_BOUND_GAP = 10.0  # in log-evidence: a mode below that has no mass compared with the best
_OPTIMIZED_SHARE, _WARM_SHARE = 0.3, 0.6  # of the budget, by which starts, and warm-up, must be done
# Convergence.
_ROUND_STEPS = 1000  # of each chain between two checks, or a fourth of all
_N_QUESTIONS, _N_PAIRS = 1000, 50
_MAX_RHAT, _FAIR_RHAT = 1.06, 1.09
_SMALL_SHARE, _TINY_SHARE = 0.05, 0.001  # of the tolerance
_LONG_STEPS = 4000  # after which an error that is a small share is enough; a tiny one always is
_MAX_COMPARED_ANSWERS = 4000  # by which chains are compared
_MIN_Z = 3.0
_MAX_BYTES, _MAX_DRAWS, _MIN_DRAWS = 2e8, 1000, 100
_MAX_DIAGNOSED_DRAWS = 2000  # where distances have to converge
_MAX_HELD = 4  # times as many draws of a chain as are kept of it


@dataclass(frozen=True)
class Microcanonical:
    """Settings of the sampler.

    Parameters
    ----------
    n_chains : int
    n_warmup : int
        Steps of the warm-up of each chain.
    n_steps : int
        Steps of each chain after the warm-up, at most; fewer if predictions converge earlier.
    thin : int
        One in so many steps is kept.
    tolerance : float
        Predictions have converged when more draws would correct at most this share of them.
    error : float
        The variance, for each unknown, of the error of the energy in a step.
    n_starts, n_climb : int
        Starts, and the steps in which each is optimized; the better half take four times as many further steps.
    max_rhat, min_effective : float, optional
        Draw, too, until R-hat of all distances is below the first, and their bulk and tail effective sample sizes are
        above the second, among the draws that are kept.
    """

    n_chains: int = 4
    n_warmup: int = 700
    n_steps: int = 6000
    thin: int = 20
    tolerance: float = 0.001
    error: float = 3e-5
    n_starts: int = 4
    n_climb: int = 80
    max_rhat: float | None = None
    min_effective: float = 0.0

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
        """Return settings that draw until distances meet the rule of Vehtari et al. (2021), as papers report it."""
        return cls(n_warmup=1000, n_steps=200_000, thin=40, tolerance=0.0002, max_rhat=1.01, min_effective=400.0)

    @classmethod
    def for_cross_validation(cls, work: int = 0) -> Microcanonical:
        """Return settings that suffice for predictions from so many comparisons times dimensions."""
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
        if self.max_rhat is not None:
            check_number("max_rhat", self.max_rhat, above=1)
        check_number("min_effective", self.min_effective, least=0)

    def is_met_by(self, distances: Diagnosis) -> bool:
        """Whether the worst of the distances have converged by ``max_rhat`` and ``min_effective``."""
        if self.max_rhat is None:
            return True
        return distances.rhat < self.max_rhat and min(distances.effective, distances.tail) > self.min_effective


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
        self.thin = self.settings.thin
        self.shares = None if self.model.features is None else ShareSampler(self.model)

    def warm_up(self) -> None:
        """Adapt the step, then the scales, then the step to these."""
        first, second = (round(share * self.settings.n_warmup) for share in _SCALE_WINDOW)
        self._tune(first)
        self.scales = self._tune(second - first)
        self._tune(self.settings.n_warmup - second)

    def adapt_to(self, pace: Pace) -> None:
        """Adapt the step of a pace that was found for a similar posterior."""
        self.step = pace.step
        self._tune(self.settings.n_warmup)

    def draw(self, n_steps: int) -> None:
        """Draw; with shorter steps again where the posterior is narrower than it was during the warm-up."""
        n_draws = len(self.draws) + n_steps // self.thin
        for _ in range(_MAX_ATTEMPTS):
            error = self._draw_until(n_draws)
            if error <= _MAX_ERROR_RATIO * self.settings.error:
                return
            # the error is infinite where most walks were reversed
            self.step *= max((self.settings.error / error) ** (1 / 6), 0.5)
            self.draws, self.values = [], []
        self._draw_until(n_draws)

    def thin_out(self) -> None:
        """Keep every other draw, of those to come, too."""
        self.draws, self.values, self.thin = self.draws[1::2], self.values[1::2], 2 * self.thin

    def _draw_until(self, n_draws: int) -> float:
        """Draw until there are ``n_draws``; return the median error of the energy."""
        errors = []
        while len(self.draws) < n_draws:
            error = self._walk_or_reverse(self.thin)
            errors.append(error)
            if error < _MAX_ERROR:
                self.draws.append(self.unknowns.copy())
                self.values.append(self.value)
        return float(np.median(errors))

    def _walk_or_reverse(self, n_steps: int) -> float:
        """Take steps; if they left the region that such steps can follow, go back, reverse and shorten them.

        Without the reversal a chain would return to the same place, with ever shorter steps.
        """
        before = self.unknowns.copy(), -self.velocity, self.gradient.copy(), self.value
        error = self._walk(n_steps)
        if not error < _MAX_ERROR:
            self.unknowns, self.velocity, self.gradient, self.value = before
            self.step *= 0.9
            return np.inf
        if self.shares is not None and self.n_steps % _STEPS_PER_REDRAW == 0:
            self.shares.redraw(self.unknowns, self.rng)
            self.value, self.gradient = self.model.density(self.unknowns)
        return error

    def _walk(self, n_steps: int) -> float:
        """Take steps; return the error of the energy for each unknown."""
        from nearer.optimize.kernels import samplers

        length = _DECOHERENCE_LENGTH * np.sqrt(self.size)
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
        for _ in range(n_steps // _STEPS_PER_TUNING):
            error = self._walk_or_reverse(_STEPS_PER_TUNING)
            if not error < _MAX_ERROR:
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


def sample_until_converged(
    model: Model,
    settings: Microcanonical,
    starts: Sequence[FloatArray],
    seed: np.random.SeedSequence,
    n_threads: int,
    budget: float | None = None,
    pace: Pace | None = None,
    silent: bool = False,
) -> SamplingResult:
    """Optimize starts, warm chains up, and draw until predictions have converged or ``budget`` seconds have passed.

    Random starts are added to those given, up to ``settings.n_starts``. With the ``pace`` of chains of a posterior of
    fewer answers, starts are draws of that one, one for each chain, and ``settings.n_warmup`` steps adapt the step size
    alone. Ctrl-C ends the chains early and keeps their draws; without any it is raised again.
    """
    return _Run(model, settings, seed, n_threads, budget).result(starts, pace, silent)


def _is_significantly_larger(first: FloatArray, second: FloatArray) -> bool:
    """Return whether the sum of the first is larger than that of the second, by a z-test of the differences."""
    differences = first - second
    return bool(differences.sum() > _MIN_Z * (1 + np.sqrt(len(differences)) * differences.std()))


class _Run:
    """One run of all chains."""

    def __init__(
        self, model: Model, settings: Microcanonical, seed: np.random.SeedSequence, n_threads: int, budget: float | None
    ) -> None:
        self.model, self.settings, self.n_threads = model, settings, n_threads
        rngs = [np.random.default_rng(child) for child in seed.spawn(settings.n_starts + settings.n_chains + 2)]
        *self.rngs, self.rng, self.last_rng = rngs
        self.began, self.budget = time.monotonic(), budget
        self.deadline, self.stopped = np.inf, threading.Event()
        self.lock = threading.Lock()
        self.chains: list[Chain] = []
        self.fits: list[MeanField] = []
        self.n_replaced = 0
        self.vote_error = float("nan")
        self.questions, self.pairs = self._questions()
        if model.people is not None:
            self.answers = self.rng.permutation(len(model.comparisons))[:_N_QUESTIONS]

    def result(self, starts: Sequence[FloatArray], pace: Pace | None = None, silent: bool = False) -> SamplingResult:
        """Return what the chains found."""
        settings, interrupted = self.settings, False
        most = settings.n_chains * (settings.n_warmup + settings.n_steps)
        if pace is None:
            most += settings.n_climb * (settings.n_starts + _MORE_STEPS_FACTOR * (max(settings.n_starts // 2, 1) + 1))
        with progress_bar("finding starts", most, unit="step", silent=silent) as self.bar:
            try:
                if pace is None:
                    self._optimize_starts(starts)
                    self.bar.set_description("warming up")
                    fits = [self.fits[number % len(self.fits)] for number in range(settings.n_chains)]
                    self._begin_chains([(fit.draw(1)[0], np.exp(fit.log_deviation)) for fit in fits])
                    self._run_all([chain.warm_up for chain in self.chains])
                else:
                    self._begin_chains([(start.copy(), pace.scales.copy()) for start in starts])
                    self._run_all([partial(chain.adapt_to, pace) for chain in self.chains])
                self._draw()
            except KeyboardInterrupt:
                interrupted = True
        return self._result(interrupted)

    def _optimize_starts(self, starts: Sequence[FloatArray]) -> None:
        """Optimize starts, the better half of them longer, and one that is flattened; keep those in good modes."""
        settings, model = self.settings, self.model
        self._set_deadline(_OPTIMIZED_SHARE)
        given = list(starts)[: settings.n_starts]
        for rng in self.rngs[: settings.n_starts]:
            start = given.pop(0) if given else model.start(rng)
            self.fits.append(MeanField(model, start, rng, partial(self._advance, 1)))
        self._run_all([partial(fit.optimize, settings.n_climb, FIRST_RATE, FIRST_RATE) for fit in self.fits])
        self.fits.sort(key=lambda fit: -fit.lower_bound)
        better = self.fits[: max(len(self.fits) // 2, 1)]
        flat = []
        if 1 < model.n_components < model.n_objects - 1 and model.n_objects <= _MAX_ISOMAP_OBJECTS:
            flat = [MeanField(model, isomap_start(model, better[0].mean), self.last_rng, partial(self._advance, 1))]
        n_steps, last_rate = _MORE_STEPS_FACTOR * settings.n_climb, FIRST_RATE * _LAST_RATE
        self._run_all([partial(fit.optimize, n_steps, FIRST_RATE, last_rate) for fit in [*better, *flat]])
        better[0] = max(better[0], *flat, key=lambda fit: fit.lower_bound) if flat else better[0]
        better.sort(key=lambda fit: -fit.lower_bound)
        self.fits = [fit for fit in better if fit.lower_bound > better[0].lower_bound - _MAX_BOUND_GAP]

    def _begin_chains(self, places: Sequence[tuple[FloatArray, FloatArray]]) -> None:
        """Begin chains at unknowns, with scales of these."""
        self._set_deadline(_WARM_SHARE)
        rngs = self.rngs[self.settings.n_starts :]
        self.chains = [self._chain(rng, *place) for rng, place in zip(rngs, places, strict=True)]

    def _chain(self, rng: np.random.Generator, start: FloatArray, scales: FloatArray, n_steps: int = 0) -> Chain:
        return Chain(self.model, rng, start, scales, self.settings, self._advance, n_steps)

    def _draw(self) -> None:
        """Draw in rounds until predictions have converged."""
        self.bar.set_description("drawing")
        self._set_deadline(1.0)
        steps = 0
        most, thin = self.settings.n_steps, self.settings.thin
        while most - steps >= thin and not self._is_late():
            now = min(max(min(_ROUND_STEPS, most // 4), 4 * self.chains[0].thin, self._growth(steps)), most - steps)
            self._run_all([partial(chain.draw, now) for chain in self.chains])
            if self._is_late():
                return
            steps += now
            if self.n_replaced < self.settings.n_chains and len(self.chains) > 1:
                self._replace_bad_chains()
                if self._is_late():  # a restarted chain may have no draws yet
                    return
            error, rhat = self._agreement()
            # Shares are reported, however well predictions are known without them.
            settled = steps >= _LONG_STEPS or self._max_share_rhat() <= _FAIR_RHAT
            self.bar.set_postfix_str(f"{sum(len(c.draws) for c in self.chains)} draws, R-hat {rhat:.2f}")
            if len(self.chains) > 1:
                self.vote_error = error
            is_certain = error <= self.settings.tolerance and rhat <= self._max_rhat(error, steps)
            if settled and is_certain and self.settings.is_met_by(self._distances()):
                return
            if len(self.chains[0].draws) > _MAX_HELD * self._room():
                for chain in self.chains:
                    chain.thin_out()

    def _growth(self, steps: int) -> int:
        """Return how long a round must be at least after so many steps, as checks of all distances take long, too."""
        return 0 if self.settings.max_rhat is None else steps // 2

    def _room(self) -> int:
        """Return how many draws of each chain are kept."""
        most = _MAX_DRAWS if self.settings.max_rhat is None else _MAX_DIAGNOSED_DRAWS
        return int(np.clip(_MAX_BYTES / (8 * self.model.size), _MIN_DRAWS, most)) // len(self.chains)

    def _kept(self, n_draws: int) -> NDArray[np.integer]:
        """Return which of so many draws are kept."""
        return np.unique(np.linspace(0, n_draws - 1, min(n_draws, self._room())).round().astype(int))

    def _distances(self) -> Diagnosis:
        """Return the worst convergence among distances of the draws that would be kept."""
        kept = self._kept(len(self.chains[0].draws))
        pairs = pairs_of(self.model.n_objects, MAX_PAIRS)
        points = (draws_of(self.model, np.array([chain.draws[k] for k in kept])).points for chain in self.chains)
        return diagnose(np.stack([relative_distances(each, pairs).T for each in points], axis=1)).worst

    def _max_rhat(self, error: float, steps: int) -> float:
        """Return the R-hat to end with: where predictions have converged beyond doubt, more draws change nothing."""
        share = error / self.settings.tolerance
        if share <= _TINY_SHARE or (share <= _SMALL_SHARE and steps >= _LONG_STEPS):
            return np.inf
        return _FAIR_RHAT if share <= _SMALL_SHARE else _MAX_RHAT

    def _max_share_rhat(self) -> float:
        odds = np.array([self.model.log_share_odds(np.array(chain.draws)) for chain in self.chains])
        return max((diagnose(odds[:, :, number]).rhat for number in range(odds.shape[2])), default=1.0)

    def _replace_bad_chains(self) -> None:
        """Restart chains that predict significantly worse than the best, and let them catch up."""
        scores, wrong = self._scores()
        best = int(np.argmax(scores.sum(axis=1)))
        good, tasks = self.chains[best], []
        for number, old in enumerate(self.chains):
            worse = _is_significantly_larger(scores[best], scores[number])
            if not (worse and _is_significantly_larger(wrong[number], wrong[best])):
                continue
            start = good.draws[self.rng.integers(len(good.draws))]
            new = self._chain(old.rng, start.copy(), good.scales.copy(), old.n_steps)
            self.chains[number] = new
            new.thin = good.thin
            tasks.append(lambda new=new: (new.warm_up(), new.draw(len(good.draws) * good.thin)))
        self.n_replaced += len(tasks)
        if tasks:
            self._run_all(tasks)

    def _scores(self) -> tuple[FloatArray, FloatArray]:
        """Return for each chain the weighted log-score of each answer as if it were new, and which are mispredicted."""
        rows, weights = self.model.comparisons.quadruplets, self.model.comparisons.total_weights
        some = self.rng.permutation(len(rows))[:_MAX_COMPARED_ANSWERS]
        scores, wrong = [], []
        for chain in self.chains:
            if self.model.people is None:
                drawn = draws_of(self.model, np.array(chain.draws))
                each = (predictive_probability(drawn.one(k), rows[some], self.n_threads) for k in range(len(drawn)))
                probabilities = np.array(list(each))
            else:
                probabilities = answer_probabilities(self.model, np.array(chain.draws), some)
            means = probabilities.mean(axis=0)
            scores.append(weights[some] * (np.log(means) - np.log(probabilities).var(axis=0)))
            wrong.append(weights[some] * (means < 0.5))
        return np.array(scores), np.array(wrong)

    def _agreement(self) -> tuple[float, float]:
        """Return the vote error that more draws would remove, and the worst R-hat of distances and learned spreads."""
        chains = [draws_of(self.model, np.array(chain.draws)) for chain in self.chains]
        votes = [predictive_probability(drawn, self.questions, self.n_threads) for drawn in chains]
        if self.model.people is not None:
            every = [np.array(chain.draws) for chain in self.chains]
            of_people = [answer_probabilities(self.model, each, self.answers) for each in every]
            votes = [np.append(vote, own.mean(axis=0)) for vote, own in zip(votes, of_people, strict=True)]
        quantities = [
            np.log([relative_distances(drawn.points, self.pairs).T for drawn in chains]).swapaxes(0, 1),
            *(
                np.stack([numbers_of(np.array(chain.draws)).T for chain in self.chains], axis=1)
                for numbers_of in (self.model.log_share_odds, self.model.people_numbers)
            ),
        ]
        rhats = diagnose(np.concatenate(quantities)).rhat
        if len(chains) == 1:  # nothing to differ from: R-hat of its halves decides
            return self.settings.tolerance, float(np.nanmax(rhats))
        # The standard error of a vote, and with it the expected loss by votes on the wrong side.
        error = float(np.std(votes, axis=0, ddof=1).mean() / np.sqrt(len(votes))) + 1e-12
        lead = np.abs(np.mean(votes, axis=0) - 0.5)
        return float(np.mean(2 * lead * ndtr(-lead / error))), float(np.nanmax(rhats))

    def _questions(self) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
        """Draw triplets to compare predictions by, and pairs to compare distances by."""
        n = self.model.n_objects
        if n < 2000:
            drawn = self.rng.random((_N_QUESTIONS, n)).argpartition(min(3, n) - 1, axis=1)[:, :3]
        else:
            drawn = self.rng.integers(n, size=(_N_QUESTIONS, 3))
        if n < 3:
            drawn = np.zeros((1, 3), int)
        pairs = np.unique(np.sort(drawn[:_N_PAIRS, :2], axis=1), axis=0)
        return drawn[:, [0, 1, 0, 2]], pairs[(pairs[:, 0] < pairs[:, 1]) | (n < 3)]

    def _set_deadline(self, share: float) -> None:
        if self.budget is not None:
            self.deadline = self.began + share * self.budget

    def _is_late(self) -> bool:
        return time.monotonic() > self.deadline

    def _advance(self, n_steps: int) -> None:
        """Count steps of a thread, and end it when time is up."""
        if self.stopped.is_set() or self._is_late():
            raise Stopped
        if n_steps:
            with self.lock:
                self.bar.update(n_steps)

    def _run_all(self, tasks: Sequence[Callable[[], Any]]) -> None:
        run_in_threads(tasks, self.n_threads, self.stopped)

    def _result(self, interrupted: bool) -> SamplingResult:
        """Return the draws of the chains, or of the best start where no chain has any."""
        chains = sorted(self.chains, key=lambda chain: -len(chain.draws))
        n_gradients = sum(chain.n_steps for chain in chains) + 2 * sum(len(fit.bounds) for fit in self.fits)
        if not chains or not chains[0].draws:
            fits = [fit for fit in self.fits if fit.bounds]
            if interrupted or not fits:
                raise KeyboardInterrupt
            best = max(fits, key=lambda fit: fit.lower_bound)
            return SamplingResult(best.draw(_MIN_DRAWS)[None], np.array([best.bounds]), n_gradients, 0, False)
        n_kept, drawn = largest_rectangle([len(chain.draws) for chain in chains])
        self.chains = chains = chains[:n_kept]
        some = self._kept(drawn)
        paces = [(chain.scales, chain.step) for chain in chains]
        return SamplingResult(
            np.array([[chain.draws[k] for k in some] for chain in chains]),
            np.array([[chain.values[k] for k in some] for chain in chains]),
            n_gradients,
            0,
            interrupted,
            self.vote_error,
            self.n_replaced,
            Pace(*(np.exp(np.mean([np.log(of) for of in each], axis=0)) for each in zip(*paces, strict=True))),
        )

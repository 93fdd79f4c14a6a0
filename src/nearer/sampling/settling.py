"""Chains that draw until predictions have settled, and are replaced where they are stuck.

Some hills of the posterior are worthless: a map that is folded somewhere explains the answers much worse, and a chain
that begins there may stay there. So starts climb first, and chains begin on the best hills. After the first round
chains are compared by the answers that each would predict (the widely applicable information criterion of Watanabe
2010, an estimate of the log-probability of answers that were not seen). One that is clearly worse than the best begins
anew beside it. Chains on different hills that predict alike stay: the map is ambiguous then.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from nearer._common.arrays import FloatArray
from nearer._common.progress import progress_bar
from nearer.sampling.climbing import FIRST_RATE, Climb, unrolled
from nearer.sampling.diagnostics import diagnose
from nearer.sampling.maps import chances_of
from nearer.sampling.microcanonical import Chain, Microcanonical, Pace
from nearer.sampling.model import Model, draws_of
from nearer.sampling.nuts import Sampled

_AWAKE = 0.1  # seconds
_ROUND = 1000  # steps of each chain between two looks at the predictions, or a fourth of all
_N_QUESTIONS, _N_PAIRS = 1000, 50
_WORST_RHAT, _FAIR_RHAT = 1.06, 1.09
_BEYOND_DOUBT, _NOTHING = 0.05, 0.001  # of the tolerance
_LONG = 4000  # steps after which the former is enough; the latter always is
_JUDGED = 4000  # answers by which chains are compared
_CLEARLY = 3.0  # standard errors
_CLIMBING, _WARMING = 0.3, 0.6  # shares of the budget after which starts, and warm-up, must be done
_LAST_RATE = 0.05  # of the first
_CLIMB_ON = 4  # times as many steps for the better half of the starts
_MOST_UNROLLED = 1000  # objects: for more, all ways from one to another take long
_MUCH_LOWER = 10.0  # of the log-evidence of a hill: it has no mass beside the highest
_MOST_BYTES, _MOST_DRAWS, _FEWEST_DRAWS = 2e8, 1000, 100


class Stopped(Exception):
    """Raised in the threads when time is up."""


def sample_until_settled(
    model: Model,
    settings: Microcanonical,
    starts: Sequence[FloatArray],
    seed: np.random.SeedSequence,
    n_threads: int,
    budget: float | None = None,
    pace: Pace | None = None,
    silent: bool = False,
) -> Sampled:
    """Climb from the starts, warm chains up, and draw until predictions have settled or time is up.

    Ctrl-C ends the chains where they are, and what was drawn by then is returned; without a single draw the interrupt
    goes on.

    Parameters
    ----------
    model : Model
    settings : Microcanonical
    starts : sequence of ndarray, shape (size,)
        Given ones; random ones are added up to ``settings.n_starts``.
    seed : SeedSequence
    n_threads : int
    budget : float, optional
        Seconds.
    pace : Pace, optional
        Of chains that have drawn from a posterior of fewer answers. The starts are draws of that one then, one for each
        chain, from which these go on at once; ``settings.n_warmup`` steps adapt their length alone.
    silent : bool
        Whether no bar is shown: in the background.
    """
    return _Run(model, settings, seed, n_threads, budget).result(starts, pace, silent)


class _Judged(NamedTuple):
    """How the draws so far agree: the error that more of them would take away, and the worst R-hat of distances."""

    error: float
    rhat: float


def _clearly_more(first: FloatArray, second: FloatArray) -> bool:
    """Say whether a sum is larger than another beyond what chance does to the differences."""
    differences = first - second
    return bool(differences.sum() > _CLEARLY * (1 + np.sqrt(len(differences)) * differences.std()))


class _Run:
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
        self.climbs: list[Climb] = []
        self.n_replaced = 0
        self.vote_error = float("nan")
        self.questions, self.pairs = self._questions()

    def result(self, starts: Sequence[FloatArray], pace: Pace | None = None, silent: bool = False) -> Sampled:
        settings, interrupted = self.settings, False
        most = settings.n_chains * (settings.n_warmup + settings.n_steps)
        if pace is None:
            most += settings.n_climb * (settings.n_starts + _CLIMB_ON * (max(settings.n_starts // 2, 1) + 1))
        with progress_bar("finding starts", most, unit="step", silent=silent) as self.bar:
            try:
                if pace is None:
                    self._climb(starts)
                    self._warm_up()
                else:
                    self._follow(starts, pace)
                self._draw()
            except KeyboardInterrupt:
                interrupted = True
        return self._sampled(interrupted)

    def _climb(self, starts: Sequence[FloatArray]) -> None:
        settings, model = self.settings, self.model
        self._until(_CLIMBING)
        given = list(starts)[: settings.n_starts]
        for rng in self.rngs[: settings.n_starts]:
            start = given.pop(0) if given else model.start(rng)
            self.climbs.append(Climb(model, start, rng, partial(self._advance, 1)))
        self._all([partial(climb.go, settings.n_climb, FIRST_RATE, FIRST_RATE) for climb in self.climbs])
        self.climbs.sort(key=lambda climb: -climb.height)
        better = self.climbs[: max(len(self.climbs) // 2, 1)]
        flat = []
        if 1 < model.n_components < model.n_objects - 1 and model.n_objects <= _MOST_UNROLLED:
            flat = [Climb(model, unrolled(model, better[0].mean), self.last_rng, partial(self._advance, 1))]
        last = FIRST_RATE * _LAST_RATE
        self._all([partial(climb.go, _CLIMB_ON * settings.n_climb, FIRST_RATE, last) for climb in [*better, *flat]])
        better[0] = max(better[0], *flat, key=lambda climb: climb.height) if flat else better[0]
        better.sort(key=lambda climb: -climb.height)
        self.climbs = [climb for climb in better if climb.height > better[0].height - _MUCH_LOWER]

    def _warm_up(self) -> None:
        self.bar.set_description("warming up")
        self._until(_WARMING)
        self.chains = [
            Chain(self.model, rng, climb.draw(1)[0], np.exp(climb.log_deviation), self.settings, self._advance)
            for rng, climb in zip(self.rngs[self.settings.n_starts :], self._dealt(self.climbs), strict=False)
        ]
        self._all([chain.warm_up for chain in self.chains])

    def _follow(self, starts: Sequence[FloatArray], pace: Pace) -> None:
        self._until(_WARMING)
        self.chains = [
            Chain(self.model, rng, start.copy(), pace.scales.copy(), self.settings, self._advance)
            for rng, start in zip(self.rngs[self.settings.n_starts :], starts, strict=True)
        ]
        self._all([partial(chain.keep_pace, pace) for chain in self.chains])

    def _dealt(self, climbs: list[Climb]) -> list[Climb]:
        return [climbs[number % len(climbs)] for number in range(self.settings.n_chains)]

    def _draw(self) -> None:
        self.bar.set_description("drawing")
        self._until(1.0)
        steps = 0
        most, thin = self.settings.n_steps, self.settings.thin
        while most - steps >= thin and not self._late():
            now = min(max(min(_ROUND, most // 4), 4 * thin), most - steps)
            self._all([partial(chain.go_on, now) for chain in self.chains])
            if self._late():
                return
            steps += now
            if self.n_replaced < self.settings.n_chains and len(self.chains) > 1:
                self._replace_worthless()
                if self._late():  # what began anew may have no draws yet
                    return
            judged = self._judge()
            self.bar.set_postfix_str(f"{sum(len(c.draws) for c in self.chains)} draws, R-hat {judged.rhat:.2f}")
            if len(self.chains) > 1:
                self.vote_error = judged.error
            if judged.error <= self.settings.tolerance and judged.rhat <= self._worst_rhat(judged.error, steps):
                return

    def _worst_rhat(self, error: float, steps: int) -> float:
        """Return the R-hat to end with. Where predictions are settled beyond doubt, more draws change nothing there."""
        share = error / self.settings.tolerance
        if share <= _NOTHING or (share <= _BEYOND_DOUBT and steps >= _LONG):
            return np.inf
        return _FAIR_RHAT if share <= _BEYOND_DOUBT else _WORST_RHAT

    def _replace_worthless(self) -> None:
        """Begin chains anew that predict clearly worse than the best, and let them catch up."""
        scores, wrong = self._scores()
        best = int(np.argmax(scores.sum(axis=1)))
        worthless = [
            number
            for number in range(len(self.chains))
            if _clearly_more(scores[best], scores[number]) and _clearly_more(wrong[number], wrong[best])
        ]
        good = self.chains[best]
        tasks = []
        for number in worthless:
            old, start = self.chains[number], good.draws[self.rng.integers(len(good.draws))]
            new = Chain(
                self.model, old.rng, start.copy(), good.scales.copy(), self.settings, self._advance, old.n_steps
            )
            self.chains[number] = new
            tasks.append(lambda new=new: (new.warm_up(), new.go_on(len(good.draws) * self.settings.thin)))
        self.n_replaced += len(worthless)
        if tasks:
            self._all(tasks)

    def _scores(self) -> tuple[FloatArray, FloatArray]:
        """Return for each chain the log-probability of each answer, had it not been seen, and which are wrong."""
        rows, weights = self.model.answers.quadruplets, self.model.answers.total_weights
        some = self.rng.permutation(len(rows))[:_JUDGED]
        scores, wrong = [], []
        for chain in self.chains:
            drawn = draws_of(self.model, np.array(chain.draws))
            chances = np.array([chances_of(drawn.only(k), rows[some], self.n_threads) for k in range(len(drawn))])
            means = chances.mean(axis=0)
            scores.append(weights[some] * (np.log(means) - np.log(chances).var(axis=0)))
            wrong.append(weights[some] * (means < 0.5))
        return np.array(scores), np.array(wrong)

    def _judge(self) -> _Judged:
        chains = [draws_of(self.model, np.array(chain.draws)) for chain in self.chains]
        votes = [chances_of(drawn, self.questions, self.n_threads) for drawn in chains]
        i, j = self.pairs.T
        # Relative to the size of the map, which comparisons do not fix.
        sizes = [drawn.points.var(axis=1).sum(axis=1, keepdims=True) for drawn in chains]
        squares = [((drawn.points[:, i] - drawn.points[:, j]) ** 2).sum(axis=2) for drawn in chains]
        logs = [np.log(square / size) for square, size in zip(squares, sizes, strict=True)]
        rhats = [diagnose(np.array([log[:, pair] for log in logs])).rhat for pair in range(len(self.pairs))]
        if len(chains) == 1:  # which has nobody to differ from: R-hat of its halves decides
            return _Judged(self.settings.tolerance, float(np.nanmax(rhats)))
        # The standard error of a vote, and with it the share of votes on the wrong side, each with what that costs.
        error = float(np.std(votes, axis=0, ddof=1).mean() / np.sqrt(len(votes))) + 1e-12
        lead = np.abs(np.mean(votes, axis=0) - 0.5)
        return _Judged(float(np.mean(2 * lead * ndtr(-lead / error))), float(np.nanmax(rhats)))

    def _questions(self) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
        n = self.model.n_objects
        drawn = (
            self.rng.random((_N_QUESTIONS, n)).argpartition(min(3, n) - 1, axis=1)[:, :3]
            if n < 2000
            else (self.rng.integers(n, size=(_N_QUESTIONS, 3)))
        )
        if n < 3:
            drawn = np.zeros((1, 3), int)
        pairs = np.unique(np.sort(drawn[:_N_PAIRS, :2], axis=1), axis=0)
        return drawn[:, [0, 1, 0, 2]], pairs[(pairs[:, 0] < pairs[:, 1]) | (n < 3)]

    def _until(self, share: float) -> None:
        if self.budget is not None:
            self.deadline = self.began + share * self.budget

    def _late(self) -> bool:
        return time.monotonic() > self.deadline

    def _advance(self, n_steps: int) -> None:
        if self.stopped.is_set() or self._late():
            raise Stopped
        if n_steps:
            with self.lock:
                self.bar.update(n_steps)

    def _all(self, tasks: Sequence[Callable[[], Any]]) -> None:
        """Run tasks in threads until they are done or time is up."""
        with ThreadPoolExecutor(min(self.n_threads, len(tasks)), thread_name_prefix="nearer-chain") as pool:
            try:  # from the first on: whatever interrupts, a pool waits for all that were started
                pending = {pool.submit(task) for task in tasks}
                while pending:
                    # Awake now and then: a signal that another thread was given does not end a wait.
                    done, pending = wait(pending, _AWAKE, FIRST_EXCEPTION)
                    for future in done:
                        if not isinstance(future.exception(), Stopped):
                            future.result()
            except BaseException:
                self.stopped.set()
                raise

    def _sampled(self, interrupted: bool) -> Sampled:
        chains = sorted(self.chains, key=lambda chain: -len(chain.draws))
        steps = sum(chain.n_steps for chain in chains) + 2 * sum(len(climb.bounds) for climb in self.climbs)
        if not chains or not chains[0].draws:
            climbed = [climb for climb in self.climbs if climb.bounds]
            if interrupted or not climbed:
                raise KeyboardInterrupt
            best = max(climbed, key=lambda climb: climb.height)
            return Sampled(best.draw(_FEWEST_DRAWS)[None], np.array([best.bounds]), steps, 0, False)
        # After an interrupt some chains have drawn more than others: keep as many draws as a rectangle can hold.
        kept = max(range(1, len(chains) + 1), key=lambda number: number * len(chains[number - 1].draws))
        chains, drawn = chains[:kept], len(chains[kept - 1].draws)
        room = int(np.clip(_MOST_BYTES / (8 * self.model.size), _FEWEST_DRAWS, _MOST_DRAWS)) // len(chains)
        some = np.unique(np.linspace(0, drawn - 1, min(drawn, room)).round().astype(int))
        paces = [(chain.scales, chain.step) for chain in chains]
        return Sampled(
            np.array([[chain.draws[k] for k in some] for chain in chains]),
            np.array([[chain.values[k] for k in some] for chain in chains]),
            steps,
            0,
            interrupted,
            self.vote_error,
            self.n_replaced,
            Pace(*(np.exp(np.mean([np.log(of) for of in each], axis=0)) for each in zip(*paces, strict=True))),
        )

"""The posterior of the answers so far, updated in the background while answers come in.

A posterior of a few more answers is nearly the one before. So several chains start from draws of that one, with the
scales and step size that its chains had found, and after a few steps of adaptation they draw from the new one. Chains
that only continue may stay in a mode that later answers have made negligible; so whenever answers have grown by a
third, or objects come up for the first time, chains restart from the best of many starts (chosen questions leave more
modes than random ones do), of which a draw of the former posterior is one.

Before there are answers, the posterior is the prior, which says something where objects have features.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray
from nearer.data.comparisons import Comparisons
from nearer.embedding.posterior_embedding import MAX_COMPONENTS
from nearer.sampling.annotators import draw_annotator_effects
from nearer.sampling.chains import Pace
from nearer.sampling.features import FeatureBasis
from nearer.sampling.microcanonical import Microcanonical, sample_until_converged
from nearer.sampling.model import HYPERPARAMETERS, Draws, Model, Prior, draws_of, model_of
from nearer.sampling.new_objects import add_objects

_LOG = logging.getLogger("nearer.design.active")
_RESTART_GROWTH = 4 / 3  # of the number of answers
INITIAL_SETTINGS = Microcanonical(n_chains=2, n_warmup=500, n_steps=2000, n_starts=8, n_climb=80)
_MANY_ANSWERS = 6000  # each step takes long, and modes are fewer
REFRESH_SETTINGS = Microcanonical(
    n_chains=8, n_warmup=100, n_steps=240, thin=10, tolerance=1e-9, n_starts=1, n_climb=10
)
_MAX_DRAWS = 200


@dataclass(frozen=True, eq=False)
class Posterior:
    """Draws from a posterior, and what it takes to continue from there."""

    draws: Draws  # over all objects; those that no answer is about come from the prior, given their features
    n_answers: int  # the answers that it is given
    n_answers_at_restart: int  # when chains last began at new starts
    _unknowns: FloatArray
    _pace: Pace | None
    _seen: NDArray[np.integer]
    _features: FeatureBasis | None = None  # what the unknowns of features are about


def prior_posterior(n_objects: int, n_components: int | None, seed: int, features: FeatureBasis | None) -> Posterior:
    """Return what is known before there are answers."""
    model = Model(np.zeros(n_objects), 0.0, _dimension(n_components, n_objects), Prior(), features=features)
    unknowns = model.draw_prior(_MAX_DRAWS, np.random.default_rng(seed))
    return Posterior(draws_of(model, unknowns), 0, 0, unknowns, None, np.empty(0, np.intp))


def _dimension(n_components: int | None, n_objects: int) -> int:
    return min(n_components or MAX_COMPONENTS, max(n_objects - 1, 1))


def update_posterior(
    comparisons: Comparisons,
    n_components: int | None,
    seed: int,
    before: Posterior | None = None,
    n_threads: int = 1,
    *,
    features: FeatureBasis | None = None,
    silent: bool = True,
) -> Posterior:
    """Return the posterior given comparisons, from that of fewer on if there is one; with a bar unless silent."""
    p = _dimension(n_components, comparisons.n_objects)
    model, seen = model_of(comparisons, p, features=features)
    rng = np.random.default_rng(seed)
    children = np.random.SeedSequence(int(rng.integers(2**63)))
    m = n_at_restart = len(comparisons)
    settings = replace(INITIAL_SETTINGS, n_starts=4, n_steps=1000) if m > _MANY_ANSWERS else INITIAL_SETTINGS
    starts: list[FloatArray] = []
    pace = None
    if before is not None and np.array_equal(seen, before._seen) and features is before._features:
        starts, pace = _continued(before, model, rng)
        if m <= _RESTART_GROWTH * before.n_answers_at_restart:
            settings, n_at_restart = REFRESH_SETTINGS, before.n_answers_at_restart
        else:
            starts, pace = starts[:1], None
    sampled = sample_until_converged(model, settings, starts, children, n_threads, pace=pace, silent=silent)
    unknowns = sampled.unknowns.reshape(-1, model.size)
    unknowns = unknowns[evenly_spaced(len(unknowns), _MAX_DRAWS)]
    larger, all_unknowns = add_objects(model, unknowns, seen, comparisons.n_objects, rng, features)
    draws = draw_annotator_effects(model, unknowns, draws_of(larger, all_unknowns), rng)
    assert sampled.pace is not None
    return Posterior(draws, m, n_at_restart, unknowns, sampled.pace, seen, features)


def evenly_spaced(n: int, k: int) -> NDArray[np.intp]:
    """Return the positions of at most k of n draws, the first and the last among them."""
    return np.unique(np.linspace(0, n - 1, k).round().astype(np.intp))


def _continued(before: Posterior, model: Model, rng: np.random.Generator) -> tuple[list[FloatArray], Pace]:
    """Return draws to start from, and the pace, for a model of the same objects; annotators start at the median."""
    some = before._unknowns[rng.choice(len(before._unknowns), size=REFRESH_SETTINGS.n_chains)]
    shared = model.n_objects * (model.n_components + 1) + model.n_components
    starts = np.zeros((REFRESH_SETTINGS.n_chains, model.size))
    scales = np.ones(model.size)
    last = model.size - model.core_size + len(HYPERPARAMETERS)  # with those of features
    assert before._pace is not None
    for block in (slice(None, shared), slice(-last, None)):
        starts[:, block], scales[block] = some[:, block], before._pace.scales[block]
    return list(starts), Pace(scales, before._pace.step)


class BackgroundLearner:
    """Computes ``learn(count, former_result)`` of the latest count in a thread; the result stays if that fails."""

    def __init__(self, learn: Callable[[int, Any], Any]) -> None:
        self.learn = learn
        self.result: Any = None
        self._latest: int | None = None  # what was submitted since the thread last looked
        self._changed = threading.Condition()
        self._is_running = False

    def submit(self, count: int) -> None:
        """Take a new count, and return at once."""
        with self._changed:
            self._latest = count
            if not self._is_running:
                self._is_running = True
                threading.Thread(target=self._run, name="nearer-active", daemon=True).start()

    def wait(self) -> None:
        """Wait until the latest count is processed."""
        with self._changed:
            self._changed.wait_for(lambda: not self._is_running)

    def _run(self) -> None:
        while True:
            with self._changed:
                count, self._latest = self._latest, None
                if count is None:
                    self._is_running = False
                    self._changed.notify_all()
                    return
            try:
                self.result = self.learn(count, self.result)
            except Exception as error:  # whatever it is, questions continue
                if not threading.main_thread().is_alive():  # the program ends, and nobody asks any more
                    return
                _LOG.warning("the map could not be updated (%s); questions continue with the former one", error)

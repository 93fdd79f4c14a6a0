"""What the answers so far leave possible: draws from the posterior, from the last ones on.

A posterior of a few more answers is nearly the one before. So several chains start from draws of that one, at the pace
that its chains had found, and after a few steps that adapt they draw from the new one. Whoever only goes on may stay on
a hill that later answers have made worthless; whenever answers have grown by a third, or objects come up for the first
time, chains begin anew, on the best of several starts. Chosen questions leave more hills than random ones do, so there
are many of these, and where the chains were before is one of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray
from nearer.data.comparisons import Comparisons
from nearer.embedding.posterior_embedding import MOST_COMPONENTS
from nearer.sampling.microcanonical import Microcanonical, Pace, sample_until_converged
from nearer.sampling.model import HYPERPARAMETERS, Draws, Model, draw_annotator_effects, draws_of, model_of
from nearer.sampling.new_objects import add_objects

_GROWTH = 4 / 3
_BEGIN = Microcanonical(n_chains=2, n_warmup=500, n_steps=2000, n_starts=8, n_climb=80)
_MANY = 6000  # answers; of so many each step takes its time, and hills are fewer
_BEGIN_MANY = replace(_BEGIN, n_starts=4, n_steps=1000)
_ON = Microcanonical(n_chains=8, n_warmup=100, n_steps=240, thin=10, tolerance=1e-9, n_starts=1, n_climb=10)
_MOST_DRAWS = 200


@dataclass(frozen=True, eq=False)
class Belief:
    """Draws from a posterior, and what it takes to go on from there.

    Attributes
    ----------
    draws : Draws
        Over all objects; those that no answer is about come from the prior.
    n_answers : int
        That it knows.
    """

    draws: Draws
    n_answers: int
    _unknowns: FloatArray
    _pace: Pace
    _seen: NDArray[np.integer]
    _anew: int  # answers that there were when chains last began anew


def learn(
    comparisons: Comparisons,
    n_components: int | None,
    seed: int,
    before: Belief | None = None,
    n_threads: int = 1,
    *,
    silent: bool = True,
) -> Belief:
    """Return the belief that comparisons leave, from an earlier one on where there is one; with a bar unless silent.

    Examples
    --------
    >>> from nearer.datasets import make_gaussian, sample_triplets
    >>> answers = sample_triplets(make_gaussian(8, 2, random_state=0), 60, random_state=0)
    >>> first = learn(answers[:50], 2, seed=0)
    >>> learn(answers, 2, seed=1, before=first).draws.points.shape[1:]
    (8, 2)
    """
    p = min(n_components or MOST_COMPONENTS, max(comparisons.n_objects - 1, 1))
    model, seen = model_of(comparisons, p)
    begin = _BEGIN if len(comparisons) <= _MANY else _BEGIN_MANY
    rng = np.random.default_rng(seed)
    children = np.random.SeedSequence(int(rng.integers(2**63)))
    m = len(comparisons)
    goes_on = False
    if before is not None and np.array_equal(seen, before._seen):
        goes_on = m <= _GROWTH * before._anew
        starts, pace = _handed_over(before, model, rng)
        if goes_on:
            sampled = sample_until_converged(model, _ON, starts, children, n_threads, pace=pace, silent=silent)
        else:
            sampled = sample_until_converged(model, begin, starts[:1], children, n_threads, silent=silent)
    else:
        sampled = sample_until_converged(model, begin, [], children, n_threads, silent=silent)
    unknowns = sampled.unknowns.reshape(-1, model.size)
    unknowns = unknowns[np.unique(np.linspace(0, len(unknowns) - 1, _MOST_DRAWS).round().astype(int))]
    larger, all_unknowns = add_objects(model, unknowns, seen, comparisons.n_objects, rng)
    draws = draw_annotator_effects(model, unknowns, draws_of(larger, all_unknowns), rng)
    anew = before._anew if before is not None and goes_on else m
    assert sampled.pace is not None
    return Belief(draws, m, unknowns, sampled.pace, seen, anew)


def _handed_over(before: Belief, model: Model, rng: np.random.Generator) -> tuple[list[FloatArray], Pace]:
    """Return draws to start from, and the pace, for a model of the same objects; people begin as the usual person."""
    some = before._unknowns[rng.choice(len(before._unknowns), size=_ON.n_chains)]
    shared = model.n_objects * (model.n_components + 1) + model.n_components
    starts = np.zeros((_ON.n_chains, model.size))
    scales = np.ones(model.size)
    for block in (slice(None, shared), slice(-len(HYPERPARAMETERS), None)):
        starts[:, block], scales[block] = some[:, block], before._pace.scales[block]
    return list(starts), Pace(scales, before._pace.step)

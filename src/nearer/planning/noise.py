"""How noisy answers are, found by simulating studies that are as hard to learn as the real one.

Where few questions are repeated, people's disagreement cannot be counted, and a map that is learned from m answers errs
both because some of them are wrong and because they are few. Simulated studies tell the two apart. Their truth is the
map learned from all answers, and they ask the same questions as the real study: who was asked about what often has
to do with what is alike, and that makes a study easier to learn from. The noise is that at which maps of a part of the
simulated answers err on the rest as often as maps of a part of the real ones do.

A learned map shows fewer close calls than there were, and some of these then count as noise. Measured on made-up
answers (50 objects in 2 dimensions, 100 in 5): noise of 0.1 and 0.2 came out as 0.10 to 0.13 and as 0.20 to 0.21, but
0.05 as 0.06 to 0.10 and none at all as 0.05 to 0.07.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from nearer.common.arrays import FloatArray
from nearer.common.randomness import RandomState
from nearer.common.telling import progress_bar
from nearer.data.comparisons import Comparisons
from nearer.data.units import trials_of
from nearer.embedding import TSTE
from nearer.planning.design import Design, NoiseModel
from nearer.planning.errors import Replication, check_run, generators, learned_margins
from nearer.problems.margins import error_from_margins

_SHARES = (1 / 8, 1 / 4, 1 / 2)  # of the answers, to learn from
_MOST_ANSWERS = 20_000  # to learn from: a fit then takes a fraction of a second
_MOST_NOISE = 0.45
_STEPS = 7  # bisections: to 0.004
_FEWEST = 80
_LEAST_ERROR = 1e-4  # has a logarithm


@dataclass(frozen=True, eq=False)
class NoiseEstimate:
    """The noise of answers.

    Attributes
    ----------
    noise : float
        Share of comparisons answered wrongly.
    low, high : float
        Least and greatest value over replications.
    sizes : ndarray of int
        Numbers of answers that maps were learned from.
    errors, simulated : ndarray, of that shape
        Held-out error of real answers, and of simulated ones with this noise.
    points : ndarray, shape (n, p)
        The map that simulated answers were given by: that learned from all answers.

    Examples
    --------
    >>> size, error = np.array([100]), np.array([0.3])
    >>> NoiseEstimate(0.1, 0.08, 0.13, size, error, error, np.zeros((5, 2))).noise
    0.1
    """

    noise: float
    low: float
    high: float
    sizes: NDArray[np.int64]
    errors: FloatArray
    simulated: FloatArray
    points: FloatArray


def estimate_noise(
    comparisons: Comparisons,
    n_components: int = 2,
    *,
    noise_model: NoiseModel = "close-calls",
    n_replications: int = 6,
    random_state: RandomState = None,
) -> NoiseEstimate:
    """Estimate the share of wrong answers in a set that need not repeat any question.

    Parameters
    ----------
    comparisons : Comparisons
        At least 80 answers. Trials stay whole, each being one answer.
    n_components : int
        Dimension of the map.
    noise_model
        As in `Design`.
    n_replications : int
        Splits of the answers, each beside its own simulated study.
    random_state : None, int, SeedSequence, Generator or RandomState

    Returns
    -------
    NoiseEstimate

    Examples
    --------
    >>> from nearer.datasets import make_gaussian, sample_triplets
    >>> clean, noisy = (
    ...     sample_triplets(make_gaussian(20, 2, random_state=0), 800, flipped=share, random_state=0)
    ...     for share in (0.0, 0.2)
    ... )
    >>> [estimate_noise(each, 2, n_replications=2, random_state=0).noise > 0.1 for each in (clean, noisy)]
    [False, True]
    """
    n_answers = int(trials_of(comparisons).max()) + 1
    if n_answers < _FEWEST:
        raise ValueError(f"noise cannot be told from {n_answers} answers; {_FEWEST} or more are needed")
    design = Design(comparisons.n_objects, n_components, 0.0, noise_model=noise_model)
    check_run(design, "answers", 0.5, n_replications)
    sizes = np.unique([min(round(n_answers * share), _MOST_ANSWERS) for share in _SHARES])
    quick = TSTE(n_components, trace=0.02, n_objects=comparisons.n_objects)
    match = _Match(design, comparisons, sizes, quick, quick.fit(comparisons).embedding_)
    with progress_bar("estimating noise", n_replications * (_STEPS + 1)) as bar:
        found = [match.find(rng, bar) for rng in generators(random_state, n_replications)]
    noises, observed, simulated = (np.array(each) for each in zip(*found, strict=True))
    return NoiseEstimate(
        noise=float(noises.mean()),
        low=float(noises.min()),
        high=float(noises.max()),
        sizes=sizes,
        errors=observed.mean(axis=0),
        simulated=simulated.mean(axis=0),
        points=match.points,
    )


@dataclass(frozen=True, eq=False)
class _Match:
    """Simulated studies beside a real one."""

    design: Design
    comparisons: Comparisons
    sizes: NDArray[np.int64]
    estimator: TSTE
    points: FloatArray

    def find(self, rng: np.random.Generator, bar: tqdm[Any]) -> tuple[float, FloatArray, FloatArray]:
        """Return the noise at which simulated errors match the real ones, and both errors, at each size."""
        observed = self.observed(rng)
        bar.update()
        seed, low, high = int(rng.integers(2**62)), 0.0, _MOST_NOISE
        for _ in range(_STEPS):
            middle = (low + high) / 2
            simulated = self.simulated(middle, seed)
            # In proportion to the size: with few answers it is the map that is hard to learn, whatever the noise.
            difference = np.average(np.log(simulated / observed), weights=self.sizes)
            low, high = (middle, high) if difference < 0 else (low, middle)
            bar.update()
        return (0.0 if low == 0 else (low + high) / 2), observed, simulated

    def observed(self, rng: np.random.Generator) -> FloatArray:
        """Return the error on the rest of the real answers, learning from a random part of each size."""
        answer_of = trials_of(self.comparisons)
        answer_of = rng.permutation(int(answer_of.max()) + 1)[answer_of]
        errors = []
        for size in self.sizes:
            test = self.comparisons[answer_of >= size]
            margins = learned_margins(self.estimator, self.comparisons[answer_of < size], test)
            errors.append(error_from_margins(margins, test.sample_weight))
        return np.maximum(errors, _LEAST_ERROR)

    def simulated(self, noise: float, seed: int) -> FloatArray:
        """Return the same of simulated answers to the same questions."""
        design, rng = replace(self.design, noise=noise), np.random.default_rng(seed)
        replication = Replication.start(design, rng, self.comparisons, self.points)
        errors = [replication.errors(int(size), self.estimator)[0] for size in self.sizes]
        return np.maximum(errors, _LEAST_ERROR)

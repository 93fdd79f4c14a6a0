"""Synthetic data sets: Gaussian points, triplets answered by them, with or without noise.

The set ``synthetic`` is the paper's, trial by trial the one of `nearer reproduce`, judged by all questions that it was
not trained on. Its variants change one thing each. A trial of a variant asks its training questions in one order, so
that its sizes are nested, and 50 000 others in the test; noisy answers are learned from, right ones are what counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nearer.data.comparisons import Comparisons
from nearer.datasets import make_gaussian, sample_triplets
from nearer.lab.accuracy.trial import Trial, Truth, trial_seed
from nearer.lab.paper.protocol import SYNTHETIC, draw_trial

N_TEST = 50_000
VARIANCE = 1 / 20
#: Rightly answered with probability 0.8 on average, for 100 points in 5 dimensions.
LOGISTIC_SLOPE = 6.6


def sizes_for(n_objects: int) -> tuple[int, ...]:
    """Return the five training sizes for n objects, from n/2 to 20n.

    Examples
    --------
    >>> sizes_for(100)
    (50, 100, 300, 800, 2000)
    """
    return tuple(n_objects * times // 2 for times in (1, 2, 6, 16, 40))


@dataclass(frozen=True)
class Variant:
    """Gaussian points and how their triplets are answered; called with seed, trial and size it gives the trial.

    Examples
    --------
    >>> drawn = Variant(60, 10)(seed=0, trial=0, size=30)
    >>> len(drawn.train), len(drawn.test), drawn.truth.n_components
    (30, 50000, 10)
    """

    n_objects: int
    n_components: int
    flipped: float = 0.0
    logistic_slope: float | None = None

    def __call__(self, seed: int, trial: int, size: int) -> Trial:
        """Draw one trial."""
        source = trial_seed(seed, trial)
        points = make_gaussian(self.n_objects, self.n_components, VARIANCE, random_state=source)
        largest = sizes_for(self.n_objects)[-1]
        if not 0 < size <= largest:
            raise ValueError(
                f"size {size} does not fit: a variant of {self.n_objects} points has sizes up to {largest}"
            )
        # One seed asks the same questions at any noise.
        asked = largest + N_TEST
        given = sample_triplets(
            points, asked, logistic_slope=self.logistic_slope, flipped=self.flipped, random_state=source
        )
        right = sample_triplets(points, asked, random_state=source)[largest:]
        agree = (given.rows[largest:, 1] == right.rows[:, 1]).astype(np.int8)
        truth = Truth(VARIANCE, self.n_components, self.flipped, self.logistic_slope)
        return Trial(given[:size], right, 2 * agree - 1, self.n_components, source, truth)


def draw_paper(seed: int, trial: int, size: int) -> Trial:
    """Draw a trial of the paper's synthetic experiment.

    Examples
    --------
    >>> len(draw_paper(0, 0, 200).test)
    484900
    """
    drawn = draw_trial(SYNTHETIC, seed, trial, size)
    return Trial(
        drawn.train, drawn.test, all_as_written(drawn.test), 10, trial_seed(seed, trial), Truth(VARIANCE, 10)
    )  # fmt: skip


def all_as_written(comparisons: Comparisons) -> np.ndarray[tuple[int], np.dtype[np.int8]]:
    """Return the answers +1 to all comparisons."""
    return np.ones(len(comparisons), dtype=np.int8)

"""What one trial hands to a method: comparisons to learn from, questions to answer, and what is known of the truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearer._common.randomness import stream
from nearer.data.comparisons import Comparisons


class Truth(NamedTuple):
    """How synthetic comparisons came about: all that a predictor which knows the model may use.

    Attributes
    ----------
    variance : float
        Of each coordinate of the Gaussian points.
    n_components : int
        Dimension of the points.
    flipped : float
        Probability that an answer is exchanged, whatever the distances.
    logistic_slope : float or None
        Slope of the logistic noise on the difference of squared distances; None for no such noise.
    """

    variance: float
    n_components: int
    flipped: float = 0.0
    logistic_slope: float | None = None


@dataclass(frozen=True, eq=False)
class Trial:
    """Training comparisons and test questions of one trial.

    Attributes
    ----------
    train : Comparisons
        Every row reads as it was answered; rows of one `trials` label must stay together in folds.
    test : Comparisons
        Rows as the truth has them, where there is one; as they were answered otherwise.
    answers : ndarray of int8, shape (len(test),)
        What was answered: +1 as the row of ``test`` has it, -1 the other way round.
    n_components : int
        Dimension p of the maps.
    seed : SeedSequence
        Of this trial; streams "start" and "folds" are free for methods.
    truth : Truth or None
    """

    train: Comparisons
    test: Comparisons
    answers: NDArray[np.int8]
    n_components: int
    seed: np.random.SeedSequence
    truth: Truth | None = None

    @property
    def folds_seed(self) -> int:
        """The seed that shuffles the folds of this trial, the same for every method."""
        return int(stream(self.seed, "folds").integers(2**31))

    @property
    def start_seed(self) -> int:
        """The seed of random starts."""
        return int(stream(self.seed, "start").integers(2**31))


def trial_seed(seed: int, trial: int) -> np.random.SeedSequence:
    """Return the seed of one trial of a run.

    Examples
    --------
    >>> trial_seed(0, 3).spawn_key
    (3,)
    """
    return np.random.SeedSequence(seed, spawn_key=(trial,))


class Predictions(NamedTuple):
    """What a method says about the test questions of a trial.

    Attributes
    ----------
    decision : ndarray, shape (m,)
        Positive: the row holds as written; exactly 0: cannot tell.
    embedding : ndarray, shape (n, p), or None
        The map, if the method has one.
    probability : ndarray, shape (m,), or None
        That the row is answered as written, if the method says so.
    settings : str
        What it chose.
    n_warnings : int
        Fits that stopped early.
    """

    decision: NDArray[np.float64]
    embedding: NDArray[np.float64] | None = None
    probability: NDArray[np.float64] | None = None
    settings: str = ""
    n_warnings: int = 0

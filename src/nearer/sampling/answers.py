"""Answers as the model takes them: the different comparisons of two pairs of objects, their weights, and who gave them.

The k rows that one trial expands to are not k independent answers: an odd-one-out gives two from one choice among
three, a grid of twelve pictures thirty from one click or two. Each weighs k^-0.4, whether or not weights, such as those
that files are read with, already divide one answer among its rows. A likelihood of the choice as a whole predicts no
better; see docs/mathematics.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray
from nearer.data.comparisons import Comparisons
from nearer.data.groups import near_and_far, numbered, trials_of, with_positive_weight
from nearer.data.labels import factorize

#: How fast the weight of a comparison falls with the number of those from the same trial. On odd-one-out and
# most-central data 0.5 predicts best, on grids 0.3; without it all are predicted worse, and with too much confidence.
DEPENDENCE = 0.4


@dataclass(frozen=True, eq=False)
class Answers:
    """What people said.

    Attributes
    ----------
    pairs : ndarray of int32, shape (k, 2)
        The different pairs of objects that are compared.
    rows : ndarray of int32, shape (m, 2)
        Which of them is near, and which is far, in the order of people.
    weights : ndarray, shape (m,), or (0,) if all are 1
    people : ndarray of int32, shape (m,)
        Who answered; 0 where people are not told apart.
    n_people : int
        0 where people are not told apart.
    """

    pairs: NDArray[np.int32]
    rows: NDArray[np.int32]
    weights: FloatArray
    people: NDArray[np.int32]
    n_people: int

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def work(self) -> float:
        """How long a gradient of the posterior takes, in units of what one of these rows does: about 10 ns.

        Pairs and objects count for what is done in all of fifteen dimensions.
        """
        return len(self.rows) + 1.5 * len(self.pairs) + 30.0 * len(np.unique(self.pairs))

    @classmethod
    def none(cls) -> Answers:
        """Return no answers."""
        nothing = np.empty((0, 2), np.int32)
        return cls(nothing, nothing, np.empty(0), np.empty(0, np.int32), 0)

    @property
    def quadruplets(self) -> NDArray[np.int32]:
        """The comparisons, (m, 4)."""
        return self.pairs[self.rows].reshape(-1, 4)

    @property
    def total_weights(self) -> FloatArray:
        """The weight of each, (m,)."""
        return self.weights if self.weights.size else np.ones(len(self.rows))


def answers_of(comparisons: Comparisons, *, people: bool = True) -> Answers:
    """Return the different comparisons, each as answered, in an order of their own, and their total weights.

    A repeated row and a row of weight 2, or another order of the rows, give the same to the last bit. People are told
    apart if there are two or more, and ``people`` is not False.

    Examples
    --------
    >>> repeated = Comparisons.from_triplets([[0, 1, 2], [0, 2, 1], [0, 1, 2]], y=[1, -1, 1])
    >>> answers = answers_of(repeated)
    >>> answers.quadruplets, answers.weights
    (array([[0, 1, 0, 2]], dtype=int32), array([3.]))
    """
    comparisons = with_positive_weight(comparisons)
    n = comparisons.n_objects
    codes, which = np.unique(np.concatenate(near_and_far(comparisons.oriented, n)), return_inverse=True)
    pairs = np.column_stack(np.divmod(codes, n)).astype(np.int32)
    near, far = which.reshape(2, -1).astype(np.int32)
    person, n_people = np.zeros(len(near), np.int32), 0
    if people and comparisons.annotators is not None:
        labels, numbers = factorize(comparisons.annotators)
        if len(labels) > 1:
            person, n_people = numbers.astype(np.int32), len(labels)
    trials = trials_of(comparisons)
    totals, times = totals_and_times(comparisons.sample_weight, trials)
    n_rows = np.bincount(trials)
    weights = comparisons.sample_weight * (times * n_rows / totals * n_rows**-DEPENDENCE)[trials]
    order = np.lexsort((weights, far, near, person))  # or another order of the rows would be another rounding
    near, far, weights, person = near[order], far[order], weights[order], person[order]
    which = numbered(near, far, person)
    first = np.flatnonzero(np.diff(which, prepend=-1))
    summed = np.bincount(which, weights).astype(np.float64)
    rows = np.column_stack([near[first], far[first]])
    return Answers(pairs, rows, np.empty(0) if (summed == 1).all() else summed, person[first], n_people)


def totals_and_times(weights: FloatArray, trials: NDArray[np.integer]) -> tuple[FloatArray, FloatArray]:
    """Return the total weight of each trial, and how many times it counts.

    Rows of weight 1 are one trial however many they are, as are rows whose weights add up to 1; rows of weight 2 are
    two.
    """
    order = np.lexsort([weights, trials])  # or another order of the rows would be another rounding
    totals: FloatArray = np.bincount(trials[order], weights[order]).astype(np.float64)
    times: FloatArray = np.maximum(np.minimum(totals, 1.0), totals / np.bincount(trials))
    return totals, times

"""Answers as the model takes them: choices of one pair of objects among two or more.

The rows of one trial are not independent. An odd-one-out gives two rows from one choice among three pairs; a grid of
twelve pictures thirty from one click or two. So the rows of a trial become choices again. Rows with the same near pair
are one choice of the nearest among it and all their far pairs: the two rows of an odd-one-out, one picked picture of
a grid against those left over, one place of a ranking against all after it. If all rows of a trial have the same far
pair they are one choice of the farthest, as where people say which of three objects lies between the others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearer.common.arrays import FloatArray
from nearer.data.comparisons import Comparisons
from nearer.data.labels import factorize
from nearer.data.units import near_and_far, numbered, trials_of, with_positive_weight

# How fast the weight of a choice falls with the number of those from the same trial.
_DEPENDENCE = 0.4


class Twos(NamedTuple):
    """Comparisons of two pairs.

    Attributes
    ----------
    rows : ndarray of int32, shape (m, 2)
        Which pair is near, and which is far.
    weights : ndarray, shape (m,), or (0,) if all are 1
    people : ndarray of int32, shape (m,)
        Who answered; 0 where people are not told apart.
    """

    rows: NDArray[np.int32]
    weights: FloatArray
    people: NDArray[np.int32]


class Sets(NamedTuple):
    """Choices of one pair among three or more.

    Attributes
    ----------
    chosen : ndarray of int32, shape (c,)
    bounds : ndarray of int32, shape (c + 1,)
        Where the others of each choice begin and end.
    others : ndarray of int32
    signs : ndarray of int8, shape (c,)
        1 if the nearest was chosen, -1 if the farthest.
    weights : ndarray, shape (c,)
    people : ndarray of int32, shape (c,)
    """

    chosen: NDArray[np.int32]
    bounds: NDArray[np.int32]
    others: NDArray[np.int32]
    signs: NDArray[np.int8]
    weights: FloatArray
    people: NDArray[np.int32]


class Answers(NamedTuple):
    """All that people said.

    Attributes
    ----------
    pairs : ndarray of int32, shape (k, 2)
        The different pairs of objects that are compared.
    twos : Twos
    sets : Sets
    n_people : int
        0 where people are not told apart.
    """

    pairs: NDArray[np.int32]
    twos: Twos
    sets: Sets
    n_people: int

    @property
    def rows(self) -> tuple[NDArray[np.int32], FloatArray]:
        """The comparisons as quadruplets, (m, 4), and the weight of each."""
        twos, sets = self.twos, self.sets
        sizes = np.diff(sets.bounds)
        chosen, signs = np.repeat(sets.chosen, sizes), np.repeat(sets.signs, sizes)
        near = np.concatenate([twos.rows[:, 0], np.where(signs > 0, chosen, sets.others)])
        far = np.concatenate([twos.rows[:, 1], np.where(signs > 0, sets.others, chosen)])
        weights = twos.weights if twos.weights.size else np.ones(len(twos.rows))
        shares = np.repeat(sets.weights / np.maximum(sizes, 1), sizes)
        return np.column_stack([self.pairs[near], self.pairs[far]]), np.concatenate([weights, shares])

    @classmethod
    def none(cls) -> Answers:
        """Return no answers."""
        empty, ints = np.empty(0), np.empty(0, np.int32)
        pairs = np.empty((0, 2), np.int32)
        sets = Sets(ints, np.zeros(1, np.int32), ints, np.empty(0, np.int8), empty, ints)
        return cls(pairs, Twos(pairs, empty, ints), sets, 0)

    @property
    def n_rows(self) -> int:
        """The number of different comparisons."""
        return len(self.twos.rows) + len(self.sets.others)


def answers_of(comparisons: Comparisons, *, people: bool = True, choices: bool = True) -> Answers:
    """Return the different choices, in an order of their own, and their total weights.

    A repeated row and a row of weight 2, or another order of the rows, give the same to the last bit.

    Examples
    --------
    >>> odd_one_out = Comparisons.from_triplets([[0, 1, 2], [1, 0, 2], [0, 2, 1]], trials=["a", "a", "b"])
    >>> answers = answers_of(odd_one_out)
    >>> answers.pairs.tolist(), answers.twos.rows.tolist()
    ([[0, 1], [0, 2], [1, 2]], [[1, 0]])
    >>> answers.sets.chosen.tolist(), answers.sets.others.tolist()
    ([0], [1, 2])
    """
    comparisons = with_positive_weight(comparisons)
    n = comparisons.n_objects
    codes = near_and_far(comparisons.oriented, n)
    found, which = np.unique(np.concatenate(codes), return_inverse=True)
    near, far = which.reshape(2, -1).astype(np.int32)
    pairs = np.column_stack(np.divmod(found, n)).astype(np.int32)
    person, n_people = np.zeros(len(near), np.int32), 0
    if people and comparisons.annotators is not None:
        labels, numbers = factorize(comparisons.annotators)
        if len(labels) > 1:
            person, n_people = numbers.astype(np.int32), len(labels)
    trials = trials_of(comparisons)
    if n_people:
        trials = numbered(trials, person)
    group, sign = _grouped(trials, near, far) if choices else (np.arange(len(near)), np.ones(len(near), np.int8))
    # A trial of k choices (k pictures of a grid) is not k independent ones: each weighs k^-0.4 as much.
    weights = (times_of(comparisons.sample_weight, trials) * _different(trials, group) ** -_DEPENDENCE)[trials]
    alone = np.bincount(group)[group] == 1
    twos = _twos(near[alone], far[alone], weights[alone], person[alone])
    more = ~alone
    chosen, other = np.where(sign > 0, near, far)[more], np.where(sign > 0, far, near)[more]
    return Answers(pairs, twos, _sets(group[more], chosen, other, sign[more], weights[more], person[more]), n_people)


def _grouped(
    trials: NDArray[np.integer], near: NDArray[np.int32], far: NDArray[np.int32]
) -> tuple[NDArray[np.integer], NDArray[np.int8]]:
    """Return the choice that each row is a part of, and whether that is of the nearest (1) or the farthest (-1)."""
    n_near, n_far = _different(trials, near), _different(trials, far)
    farthest = ((n_far == 1) & (n_near > 1))[trials]
    sign = np.where(farthest, -1, 1).astype(np.int8)
    return numbered(trials, np.where(farthest, far, near)), sign


def _different(trials: NDArray[np.integer], values: NDArray[np.integer]) -> NDArray[np.integer]:
    """Return how many different values each trial has."""
    codes = np.unique(trials.astype(np.int64) * (int(values.max()) + 1) + values)
    return np.bincount(codes // (int(values.max()) + 1))


def times_of(weights: FloatArray, trials: NDArray[np.integer]) -> FloatArray:
    """Return how many times each trial counts.

    Once, however many rows of weight 1 it has, or of weights that add up to 1; rows of weight 2 are two trials.
    """
    order = np.lexsort([weights, trials])  # or another order of the rows would be another rounding
    totals: FloatArray = np.bincount(trials[order], weights[order]).astype(np.float64)
    times: FloatArray = np.maximum(np.minimum(totals, 1.0), totals / np.bincount(trials))
    return times


def _twos(near: NDArray[np.int32], far: NDArray[np.int32], weights: FloatArray, people: NDArray[np.int32]) -> Twos:
    order = np.lexsort([weights, far, near, people])
    near, far, weights, people = near[order], far[order], weights[order], people[order]
    which = numbered(near, far, people)
    first = np.flatnonzero(np.diff(which, prepend=-1))
    totals = np.bincount(which, weights).astype(np.float64)
    rows = np.column_stack([near[first], far[first]])
    return Twos(rows, np.empty(0) if (totals == 1).all() else totals, people[first])


def _sets(
    group: NDArray[np.integer],
    chosen: NDArray[np.int32],
    other: NDArray[np.int32],
    signs: NDArray[np.int8],
    weights: FloatArray,
    people: NDArray[np.int32],
) -> Sets:
    # Alike are those with the same others: told by a sum of random numbers, one for each pair.
    rng = np.random.default_rng(0)
    size = int(max(chosen.max(initial=0), other.max(initial=0))) + 1
    marks = rng.integers(2**63, size=size, dtype=np.uint64)[other]
    group = numbered(group)
    keys = np.zeros(int(group.max(initial=-1)) + 1, np.uint64)
    np.add.at(keys, group, marks)
    first = np.unique(group, return_index=True)[1]
    of_group = (weights[first], keys, chosen[first], signs[first], people[first])
    order = np.lexsort(of_group)
    same = numbered(*(key[order] for key in of_group[1:]))
    kept = np.flatnonzero(np.diff(same, prepend=-1))
    totals = np.bincount(same, weights[first][order], minlength=len(kept)).astype(np.float64)
    kept = order[kept]  # groups
    position = np.full(len(keys), -1)
    position[kept] = np.arange(len(kept))
    rows = np.flatnonzero(position[group] >= 0)
    rows = rows[np.lexsort([other[rows], position[group[rows]]])]
    bounds = np.concatenate([[0], np.cumsum(np.bincount(position[group[rows]], minlength=len(kept)))])
    first = first[kept]
    return Sets(chosen[first], bounds.astype(np.int32), other[rows], signs[first], totals, people[first])

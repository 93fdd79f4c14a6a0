"""Trials as trials: which of several items was named, recovered from the comparisons that were made of the answer.

The answer that c is the odd one of k items is held as (k - 1)(k - 2) triplets of one trial: of all other items a is
nearer to b than to c. That c is the central one is held as triplets in which a is nearer to c than to b. A likelihood
of choices needs the trial again: its items, the named one last. Whatever else a row may be of, it is a choice between
two pairs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray
from nearer.data.comparisons import Comparisons
from nearer.data.groups import trial_weights, with_positive_weight
from nearer.data.labels import factorize

_TRIALS_PER_BLOCK = 2**18


class ItemTrials(NamedTuple):
    """Trials in which one of k items was named, as the odd or as the central one."""

    items: NDArray[np.int32]  # (m, k); the named one last
    weights: FloatArray  # (m,), or (0,) if all are 1
    trials: NDArray[np.intp]  # (m,): the numbers of the trials
    central: bool

    @property
    def objects(self) -> NDArray[np.int32]:
        """All objects of each trial, (m, k)."""
        return self.items

    def take(self, chosen: NDArray[np.bool_]) -> ItemTrials:
        """Return some of the trials."""
        weights = self.weights[chosen] if self.weights.size else self.weights
        return ItemTrials(self.items[chosen], weights, self.trials[chosen], self.central)


class PairTrials(NamedTuple):
    """Rows in which one of two pairs was called the more alike one."""

    objects: NDArray[np.int32]  # (m, 3) or (m, 4); near pair first
    weights: FloatArray  # (m,), or (0,) if all are 1
    trials: NDArray[np.intp]  # (m,): the numbers of the trials

    def take(self, chosen: NDArray[np.bool_]) -> PairTrials:
        """Return some of the rows."""
        weights = self.weights[chosen] if self.weights.size else self.weights
        return PairTrials(self.objects[chosen], weights, self.trials[chosen])


@dataclass(frozen=True, eq=False)
class Choices:
    """The answers of a set of comparisons, each once.

    A trial counts as one answer however many rows it has, or as many as the weights of its rows say; see
    `nearer.data.groups.trial_weights`.
    """

    n_objects: int
    n_trials: int
    parts: tuple[ItemTrials | PairTrials, ...]

    @classmethod
    def of(cls, comparisons: Comparisons) -> Choices:
        """Recover the trials of comparisons."""
        kept = with_positive_weight(comparisons)
        rows = kept.oriented[:, [0, 1, 3]] if kept.is_triplets and kept.answers is not None else kept.rows
        rows = rows if kept.is_triplets else kept.oriented
        if kept.trials is None:
            weights = _unless_ones(kept.sample_weight)
            pairs = PairTrials(np.ascontiguousarray(rows, np.int32), weights, np.arange(len(rows)))
            return cls(kept.n_objects, len(rows), (pairs,))
        trials = _trial_numbers(kept)
        totals, times = trial_weights(kept.sample_weight, trials)
        left, parts = np.ones(len(rows), dtype=bool), list[ItemTrials | PairTrials]()
        if kept.is_triplets:
            for found, taken in _item_trials(np.asarray(rows), trials, times):
                parts.append(found)
                left[taken] = False
        if left.any():
            weights = kept.sample_weight[left] * (times / totals)[trials[left]]
            parts.append(PairTrials(np.ascontiguousarray(rows[left], np.int32), _unless_ones(weights), trials[left]))
        return cls(kept.n_objects, len(times), tuple(parts))

    def take(self, chosen: NDArray[np.bool_]) -> Choices:
        """Return the answers of some trials, (n_trials,), with the numbers that they have."""
        parts = tuple(part.take(chosen[part.trials]) for part in self.parts)
        return Choices(self.n_objects, self.n_trials, tuple(part for part in parts if len(part.trials)))

    def sample(self, n_trials: int, rng: np.random.Generator) -> Choices:
        """Return the answers of trials drawn at random."""
        chosen = np.zeros(self.n_trials, dtype=bool)
        chosen[rng.choice(self.n_trials, n_trials, replace=False)] = True
        return self.take(chosen)

    @property
    def n_answers(self) -> int:
        """Choices of one item, and of one of two pairs."""
        return sum(len(part.trials) for part in self.parts)

    @property
    def weights(self) -> FloatArray:
        """The weight of each answer, in the order of the parts, (n_answers,)."""
        return np.concatenate([part.weights if part.weights.size else np.ones(len(part.trials)) for part in self.parts])

    @property
    def total_weight(self) -> float:
        """The number of answers, if each has weight 1."""
        return float(sum(part.weights.sum() if part.weights.size else len(part.trials) for part in self.parts))


def _unless_ones(weights: FloatArray) -> FloatArray:
    return np.empty(0) if (weights == 1).all() else weights


def _trial_numbers(comparisons: Comparisons) -> NDArray[np.intp]:
    """Return the number of the trial of each row, (m,); trials of different people are different ones."""
    assert comparisons.trials is not None
    trials = factorize(comparisons.trials)[1]
    if comparisons.annotators is None:
        return trials
    # A trial has one person: only where a label recurs among people is a number for both needed.
    people, person = factorize(comparisons.annotators)
    return factorize(trials.astype(np.int64) * len(people) + person)[1]


def _item_trials(
    rows: NDArray[np.integer], trials: NDArray[np.intp], times: FloatArray
) -> Iterator[tuple[ItemTrials, NDArray[np.intp]]]:
    """Yield the trials that name one of k items, and the positions of their rows."""
    in_order = bool((trials[1:] >= trials[:-1]).all())
    order = None if in_order else np.argsort(trials, kind="stable")
    counts = np.bincount(trials)
    starts = np.cumsum(counts) - counts
    for size in np.unique(counts).tolist():
        k = (3 + round(np.sqrt(1 + 4 * size))) // 2
        if k < 3 or (k - 1) * (k - 2) != size:
            continue
        numbers = np.flatnonzero(counts == size)
        positions = starts[numbers][:, None] + np.arange(size)
        positions = positions if order is None else order[positions]
        for central in (False, True):
            items, named = _named_items(rows, positions, k, central)
            if named.any():
                weights = _unless_ones(times[numbers[named]])
                yield ItemTrials(items, weights, numbers[named], central), positions[named].ravel()


def _named_items(
    rows: NDArray[np.integer], positions: NDArray[np.intp], k: int, central: bool
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Return the items of trials, and of which of these (k - 1)(k - 2) rows are all that follow from naming one."""
    found, named = [np.empty((0, k), np.int32)], np.zeros(len(positions), dtype=bool)
    other, of_named = (2, 1) if central else (1, 2)
    for start in range(0, len(positions), _TRIALS_PER_BLOCK):
        block = rows[positions[start : start + _TRIALS_PER_BLOCK]]
        anchors, others, one = block[:, :, 0], block[:, :, other], block[:, :, of_named]
        order = np.lexsort((others, anchors)) if k > 3 else np.argsort(anchors, axis=1)
        anchors, others = (
            np.take_along_axis(each, order, axis=1).reshape(-1, k - 1, k - 2) for each in (anchors, others)
        )
        items = anchors[:, :, 0]
        # The anchor of each run is one item, and its partners, in order, are all the other items.
        partners = np.array([[b for b in range(k - 1) if b != a] for a in range(k - 1)])
        complete = (anchors == items[:, :, None]).all(axis=(1, 2)) & (np.diff(items, axis=1) > 0).all(axis=1)
        complete &= (others == items[:, partners]).all(axis=(1, 2)) & (one == one[:, :1]).all(axis=1)
        found.append(np.column_stack([items, one[:, 0]])[complete].astype(np.int32))
        named[start : start + len(block)] = complete
    return np.concatenate(found), named

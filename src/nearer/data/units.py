"""Folds that keep together what belongs together.

Rows of one trial are one act of judgment, and rows that ask one question, whatever the answer, are copies of each other
or contradict each other: split between training and test they would tell the one about the other. Folds therefore
take whole trials or, where no trials are known, whole questions. They are numbered in the order of first appearance, so
that neither the names of the objects, nor a repeated row in place of a weight, nor the way round in which a row is
written changes a fold.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nearer.data.comparisons import Comparisons
from nearer.data.rows import factorize


def counted(comparisons: Comparisons) -> Comparisons:
    """Return the comparisons that count: those of weight 0 say nothing and could fill a fold alone.

    Examples
    --------
    >>> counted(Comparisons.from_triplets([[0, 1, 2], [0, 2, 1]], weights=[1, 0]))
    Comparisons(1 triplet over 3 objects; weights)
    """
    whole = comparisons.weights is None or comparisons.weights.all()
    return comparisons if whole else comparisons[comparisons.sample_weight > 0]


def whole_units(comparisons: Comparisons) -> NDArray[np.intp]:
    """Return the number of the trial, or else of the question, that each row belongs to, by first appearance, (m,).

    Examples
    --------
    >>> whole_units(Comparisons.from_triplets([[0, 1, 2], [2, 0, 1], [0, 2, 1]])).tolist()
    [0, 1, 0]
    """
    if comparisons.trials is not None:
        numbers = factorize(comparisons.trials)[1]  # labels of several kinds cannot be sorted
        _, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
    else:
        n = comparisons.n_objects
        i, j, l, k = comparisons.quadruplets.T.astype(np.int64)  # noqa: E741
        pairs = np.sort([np.minimum(i, j) * n + np.maximum(i, j), np.minimum(l, k) * n + np.maximum(l, k)], axis=0)
        _, first, inverse = np.unique(pairs, axis=1, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    number = np.empty(len(order), dtype=np.intp)
    number[order] = np.arange(len(order))
    numbered: NDArray[np.intp] = number[inverse.ravel()]
    return numbered


def fold_of_each(units: NDArray[np.intp], n_folds: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return the fold of each row, (m,): units shuffled and dealt out in turn.

    Examples
    --------
    >>> folds = fold_of_each(np.array([0, 0, 1, 2, 3]), 2, np.random.default_rng(0))
    >>> bool(folds[0] == folds[1]), np.bincount(folds[[0, 2, 3, 4]]).tolist()
    (True, [2, 2])
    """
    dealt = rng.permutation(units.max() + 1) % n_folds
    folds: NDArray[np.intp] = dealt[units]
    return folds


def in_order_of_appearance(comparisons: Comparisons) -> tuple[Comparisons, NDArray[np.integer]]:
    """Return the comparisons of positive weight, answers applied, over the objects that they mention, and these.

    Examples
    --------
    >>> kept, seen = in_order_of_appearance(Comparisons.from_triplets([[3, 0, 2], [2, 0, 3]], y=[1, -1]))
    >>> kept.rows.tolist(), seen.tolist()
    ([[0, 1, 2], [2, 0, 1]], [3, 0, 2])
    """
    kept = comparisons[comparisons.sample_weight > 0]
    oriented = kept.oriented
    mentioned, first, inverse = np.unique(oriented, return_index=True, return_inverse=True)
    order = np.argsort(first)
    number = np.empty(len(order), np.intp)
    number[order] = np.arange(len(order))
    rows = number[inverse.reshape(oriented.shape)]
    rows = rows[:, [0, 1, 3]] if kept.is_triplets else rows
    return replace(kept, rows=rows, answers=None, objects=np.arange(len(order))), mentioned[order]

"""Dealing out units to folds, at random."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


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


def deal_out(sizes: NDArray[np.integer], n_folds: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return the fold of each unit: the largest first, in random order among equals, each to the emptiest fold.

    Every fold gets a unit of size > 0 if there are as many of them as folds.

    Parameters
    ----------
    sizes : ndarray of int >= 0, shape (u,)

    Examples
    --------
    >>> folds = deal_out(np.array([5, 1, 1, 1, 1, 1]), 2, np.random.default_rng(0))
    >>> np.bincount(folds, weights=[5, 1, 1, 1, 1, 1]).tolist()
    [5.0, 5.0]
    """
    order = rng.permutation(len(sizes))
    folds = np.empty(len(sizes), dtype=np.intp)
    loads = np.zeros(n_folds, dtype=np.int64)
    for size in np.unique(sizes)[::-1]:
        alike = order[sizes[order] == size]
        # Places in the folds, in the order in which they fill up: as dealing one by one, without a loop over units.
        spread = 0 if size == 0 else int(loads.max() - loads.min()) // int(size)
        rounds = len(alike) // n_folds + spread + 2
        places = loads[:, None] + size * np.arange(rounds)
        folds[alike] = np.argsort(places, axis=None, kind="stable")[: len(alike)] // rounds
        loads += size * np.bincount(folds[alike], minlength=n_folds)
    return folds

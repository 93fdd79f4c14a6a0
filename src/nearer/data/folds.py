"""Dealing out units to folds and to test parts, at random."""

from __future__ import annotations

import math
from typing import Any

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


def drawn_for_test(units: NDArray[np.intp], test_size: Any, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return which rows are in the test part, (m,): whole units until it is as large as wanted, but never the last.

    ``test_size`` is a share of the rows in (0, 1), rounded up, or a number of them.
    """
    sizes = np.bincount(units)
    wanted = _count_of(test_size, len(units))
    order = rng.permutation(len(sizes))
    n_drawn = min(int(np.searchsorted(np.cumsum(sizes[order]), wanted)) + 1, len(sizes) - 1)
    return np.isin(units, order[:n_drawn])


def _count_of(test_size: Any, m: int) -> int:
    """Turn a share or a count of m rows into a count that leaves neither side empty."""
    whole = isinstance(test_size, int | np.integer) and not isinstance(test_size, bool)
    if whole and 0 < test_size < m:
        return int(test_size)
    if isinstance(test_size, float | np.floating) and 0 < test_size < 1:
        return min(math.ceil(test_size * m - 1e-9), m - 1)  # 0.07 * 100 is a little more than 7
    raise ValueError(f"test_size={test_size!r} is neither a share in (0, 1) nor a number of rows in 1..{m - 1}")

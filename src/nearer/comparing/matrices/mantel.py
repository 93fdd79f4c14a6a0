r"""The Mantel test: whether two matrices of distances over the same objects have to do with each other.

Distances of one object hang together, so that the number of pairs says too much: n objects have n (n - 1) / 2 distances
and only n places. If the matrices have nothing to do with each other, then any order of the objects of one is as likely
as any other. So the objects of one matrix are exchanged at random, rows and columns alike, N times, and

    p = (1 + number of exchanges with a correlation at least as high) / (1 + N)             (Mantel 1967),

which is valid for any N, as the order at hand is one of the N + 1. No other assumption is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from nearer._common.arrays import FloatArray
from nearer._common.parameters import check_integer
from nearer._common.progress import progress_bar
from nearer._common.randomness import RandomState, stream
from nearer.comparing.matrices.measures import NAMES, Measure, measure_of, unit_length
from nearer.data.conversions import read_dissimilarities

FEWEST_OBJECTS = 4  # whose places can be exchanged in 24 ways
_ROUNDING = 1e-10
_BLOCK = 2**21  # numbers at a time


@dataclass(frozen=True)
class MantelTest:
    """The correlation of two matrices, and how often chance reaches it.

    Attributes
    ----------
    correlation : float
    p_value : float
        One-sided: of a correlation at least as high.
    n_objects, n_pairs, n_permutations : int
    measure : {"spearman", "kendall", "tau-a", "pearson"}

    Examples
    --------
    >>> print(MantelTest(0.8123, 0.0001, 12, 66, 9999, "spearman"))
    Spearman's correlation 0.812 over 66 pairs of 12 objects; Mantel test: p = 0.0001 (9999 permutations)
    """

    correlation: float
    p_value: float
    n_objects: int
    n_pairs: int
    n_permutations: int
    measure: Measure

    def __str__(self) -> str:
        return (
            f"{NAMES[self.measure]} {self.correlation:.3f} over {self.n_pairs} pairs of {self.n_objects} objects; "
            f"Mantel test: p = {self.p_value:.2g} ({self.n_permutations} permutations)"
        )


def mantel(
    first: ArrayLike,
    second: ArrayLike,
    *,
    measure: Measure = "spearman",
    n_permutations: int = 9999,
    random_state: RandomState = None,
) -> MantelTest:
    """Test whether two matrices of distances have to do with each other, by exchanging the objects of one.

    Parameters
    ----------
    first, second : array-like, shape (n, n)
        Symmetric, NaN where a distance is not known: such pairs are left out.
    measure : {"spearman", "kendall", "tau-a", "pearson"}
    n_permutations : int
    random_state : None, int, SeedSequence, Generator or RandomState
        For the exchanges.

    Returns
    -------
    MantelTest

    References
    ----------
    N. Mantel (1967). The detection of disease clustering and a generalized regression approach. Cancer Research 27.

    Examples
    --------
    >>> line = np.arange(8.0)
    >>> apart = np.abs(line[:, None] - line)
    >>> found = mantel(apart, apart**2, random_state=0)
    >>> found.correlation, found.p_value < 0.01
    (1.0, True)
    """
    check_integer("n_permutations", n_permutations, 1)
    function = measure_of(measure)
    one, other = read_dissimilarities(first), read_dissimilarities(second)
    n = len(one)
    if len(other) != n:
        raise ValueError(f"the matrices are about {n} and {len(other)} objects; give both in the same order")
    if n < FEWEST_OBJECTS:
        raise ValueError(f"a Mantel test needs at least {FEWEST_OBJECTS} objects, got {n}")
    rows, columns = np.triu_indices(n, 1)
    known = ~np.isnan(one[rows, columns]) & ~np.isnan(other[rows, columns])
    if known.sum() < FEWEST_OBJECTS:
        raise ValueError(f"only {known.sum()} distances are known in both matrices, which say nothing")
    observed = function(one[rows, columns][known], other[rows, columns][known])
    rng = stream(random_state, "split")
    orders = (rng.permutation(n) for _ in range(n_permutations))
    at_least = 0
    with progress_bar("Mantel test", n_permutations) as bar:
        for found in _exchanged(one, other, measure, orders):
            at_least += int((found >= observed - _ROUNDING).sum())
            bar.update(len(found))
    return MantelTest(
        observed, (1 + at_least) / (1 + n_permutations), n, int(known.sum()), int(n_permutations), measure
    )


def _exchanged(
    one: FloatArray, other: FloatArray, measure: Measure, orders: Iterator[NDArray[np.intp]]
) -> Iterator[FloatArray]:
    """Return the correlations with the objects of the first matrix in other orders, some at a time."""
    rows, columns = np.triu_indices(len(one), 1)
    whole = not np.isnan(one).any() and not np.isnan(other).any()
    if whole and measure in ("spearman", "pearson"):
        # Ranks, mean and length of all distances are the same in any order: what is left is one product.
        scores = [each[rows, columns] for each in (one, other)]
        scores = [unit_length(rankdata(each) if measure == "spearman" else each) for each in scores]
        square = np.zeros_like(one)
        square[rows, columns] = square[columns, rows] = scores[0]
        size = max(_BLOCK // len(rows), 1)
        while block := [order for order, _ in zip(orders, range(size), strict=False)]:
            drawn = np.array(block)
            yield square[drawn[:, rows], drawn[:, columns]] @ scores[1]
        return
    function = measure_of(measure)
    for order in orders:
        moved, fixed = one[order[rows], order[columns]], other[rows, columns]
        both = ~np.isnan(moved) & ~np.isnan(fixed)
        yield np.array([function(moved[both], fixed[both])])

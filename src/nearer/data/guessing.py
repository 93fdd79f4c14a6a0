r"""Whether answers could be mere guesses: an exact test by flipping signs.

If every answer is a guess, each of the two answers to a question is equally likely, whatever the others are. With y_q
= 1 for a comparison as it was answered, the score of a matrix of squared distances at "no structure" is

    S = sum_q y_q (L_far(q) - L_near(q)),        L_ij = (e_i - e_j)(e_i - e_j)',

and T = ||S||_F^2 measures how far it is from zero. Under guessing T has the same distribution when the sign of each
trial is flipped with probability 1/2, so that the rank of T among flipped ones is an exact p-value (Phipson and Smyth
2010, with the observed one counted). It needs no fit. With net counts s_ij of pairs, far less near, T is
2 sum_(i<j) s_ij^2 + sum_i (sum_j s_ij)^2 up to a constant factor.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array, csr_array

from nearer._common.arrays import FloatArray
from nearer.data.comparisons import Comparisons
from nearer.data.units import near_and_far, trials_of

#: Answers that guessing explains at this level say nothing of a map.
GUESSING_LEVEL = 0.05
_N_FLIPS, _FEW_FLIPS = 399, 199
_MANY = 20_000  # comparisons: beyond, fewer flips
_BLOCK = 2_000_000  # signs at a time


def guessing_p_value(comparisons: Comparisons, rng: np.random.Generator) -> float:
    """Return the p-value of the hypothesis that all answers are guesses.

    Parameters
    ----------
    comparisons : Comparisons
        Rows of one trial are flipped together.
    rng : numpy Generator

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> order = np.sort(rng.integers(12, size=(200, 3)), axis=1)
    >>> rows = Comparisons.from_triplets(order[(np.diff(order, axis=1) > 0).all(axis=1)], n_objects=12)
    >>> guessing_p_value(rows, rng) < 0.01
    True
    """
    n, m = comparisons.n_objects, len(comparisons)
    near, far = near_and_far(comparisons.oriented, n)
    codes, pairs = np.unique(np.concatenate([near, far]), return_inverse=True)
    units, weights = np.unique(trials_of(comparisons), return_inverse=True)[1], comparisons.sample_weight
    rows = np.concatenate([units, units])
    net = csr_array(
        coo_array((np.concatenate([-weights, weights]), (rows, pairs)), shape=(int(units.max()) + 1, len(codes)))
    )
    ends = np.concatenate(np.divmod(codes, n))
    of_objects = csr_array(
        coo_array((np.ones(len(ends)), (np.tile(np.arange(len(codes)), 2), ends)), shape=(len(codes), n))
    )
    n_flips = _N_FLIPS if m <= _MANY else _FEW_FLIPS
    least = _statistic(np.ones((1, net.shape[0])), net, of_objects)[0] * (1 - 1e-12)  # equal ones count
    n_as_large, block = 1, max(_BLOCK // net.shape[0], 1)
    for start in range(0, n_flips, block):
        signs = np.where(rng.random((min(block, n_flips - start), net.shape[0])) < 0.5, -1.0, 1.0)
        n_as_large += int((_statistic(signs, net, of_objects) >= least).sum())
    return n_as_large / (n_flips + 1)


def _statistic(signs: FloatArray, net: csr_array, of_objects: csr_array) -> FloatArray:
    """Return T for each row of signs of the trials."""
    of_pairs = signs @ net
    found: FloatArray = 2 * np.square(of_pairs).sum(axis=1) + np.square(of_pairs @ of_objects).sum(axis=1)
    return found

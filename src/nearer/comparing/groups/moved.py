r"""Which objects lie elsewhere in another group: displacements, and intervals that agree with the test.

The displacement of an object is what the test of objects is about (`nearer.comparing.groups.permuting`): a Newton step
from the map of all answers to that of each group, along the sums U_1 = -U_2 of their scores,

    w = (1 / f_1 + 1 / f_2) / 2 * (I / 2 + precision)^-1 U_2,

with f the groups' shares of the answers and next to no shrinkage. One step is too short where objects moved far: all
steps are made as long, by one factor, as the refitted maps of the groups are apart.

The length of a displacement is never 0: noise alone makes it positive. With T the statistic of the object, m its mean
over permutations and p the number of axes, x = p T / m is the squared length in units of s^2, s = |w| / sqrt(x), the
variance that people give it along each axis: about chi-square of p degrees of freedom where nothing moved, and
noncentral with delta = length / s where something did. So |w|^2 - p s^2 is an estimate of the squared length; its root,
or 0, is the *corrected* length. Intervals follow from the test (test-based intervals, Miettinen 1976). They are for all
objects at once: with c the statistic from which the test rejects, at the level of the family, s^2 counts as larger by
the factor that makes p c / m the quantile of chi-square at which an interval leaves 0. The low end is above 0 exactly
where p <= 1 - level. For the high end x counts as p at least, what noise alone gives on average: where two maps happen
to agree, the interval would end at 0.

Displacements are relative to the other objects: comparisons do not say which of them stay where they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import chndtr, chndtrinc, ndtri
from scipy.stats import chi2

from nearer._common.arrays import FloatArray
from nearer.comparing.groups.permuting import Blocks, Permuted, Scored

_FAR = 1e4  # squared deviations, where noncentral chi-square is as good as normal


@dataclass(frozen=True, eq=False)
class Displacements:
    """Where the objects of one group lie, as seen from another.

    Attributes
    ----------
    vectors : ndarray, shape (n, p)
        From the first group to the second; NaN for objects that one of them was never asked about.
    lengths, corrected, lows, highs : ndarray, shape (n,)
        Lengths as they are, less what noise adds, and their interval, which holds for all objects at once; as shares of
        the spread of the map, its root mean square distance from the center. Without people only the first is known,
        and with too few of them the high end is infinite.
    """

    vectors: FloatArray
    lengths: FloatArray
    corrected: FloatArray
    lows: FloatArray
    highs: FloatArray


def untested(apart: FloatArray, spread: float, seen: NDArray[np.bool_]) -> Displacements:
    """Return displacements between two maps without intervals, from their difference (n, p).

    Examples
    --------
    >>> untested(np.array([[3.0], [1.0]]), 2.0, np.array([True, False])).lengths.tolist()
    [1.5, nan]
    """
    vectors = np.where(seen[:, None], apart, np.nan)
    unknown = np.full(len(apart), np.nan)
    return Displacements(vectors, np.linalg.norm(vectors, axis=1) / spread, unknown, unknown, unknown)


def displacements(
    found: Scored,
    blocks: Blocks,
    test: Permuted,
    apart: FloatArray,
    spread: float,
    level: float,
    seen: NDArray[np.bool_],
) -> Displacements:
    """Return displacements from the first of two groups to the second.

    Parameters
    ----------
    found : Scored
    blocks : Blocks
        Of two groups.
    test : Permuted
        Of these.
    apart : ndarray, shape (n, p)
        The difference of the refitted maps.
    spread : float
    level : float
    seen : ndarray of bool, shape (n,)
        Objects that both groups were asked about.
    """
    p = apart.shape[1]
    second = blocks.groups == 1
    share = float(found.weights[second].sum() / found.weights.sum())
    steps = (1 / share + 1 / (1 - share)) / 2 * found.shifts[second].sum(axis=0)
    length = float(np.linalg.norm(steps[seen]))
    steps *= float(np.linalg.norm(apart[seen])) / length if length > 0 else 0.0
    vectors = np.where(seen[:, None], steps, np.nan)
    lengths = np.linalg.norm(vectors, axis=1)
    unit = np.maximum(test.expected_of_objects / p, np.finfo(float).tiny)
    squared = test.of_objects / unit
    deviations = lengths / np.sqrt(np.where(squared > 0, squared, np.nan))
    corrected = lengths * np.sqrt(np.maximum(1 - p / np.where(squared > 0, squared, np.nan), 0))
    lows, highs = length_intervals(squared, test.critical(1 - level) / unit, p, level)
    return Displacements(
        vectors, *(each / spread for each in (lengths, corrected, lows * deviations, highs * deviations))
    )


def length_intervals(
    squared: FloatArray, critical: FloatArray, n_components: int, level: float
) -> tuple[FloatArray, FloatArray]:
    """Return intervals of lengths in units of their deviation, of which squares were seen.

    They leave 0 where a square is above the critical one, chi-square's own quantile for a single length.

    Examples
    --------
    >>> low, high = length_intervals(np.array([100.0]), chi2.ppf([0.975], 1), 1, 0.95)
    >>> low.round(2), high.round(2)
    (array([8.04]), array([11.96]))
    """
    tail = 0.5 + level / 2
    factor = critical / chi2.ppf(tail, n_components)

    def end(tail: float, squared: FloatArray) -> FloatArray:
        near = np.clip(squared, 1e-12, _FAR)
        away = np.sqrt(chndtrinc(near, n_components, tail))
        away = np.where(squared < _FAR, away, np.sqrt(squared) - ndtri(tail))
        return np.where(chndtr(near, n_components, 0.0) > tail, away, 0.0)

    with np.errstate(invalid="ignore"):
        lows = np.where(squared > critical, end(tail, squared / factor) * np.sqrt(factor), 0.0)
        highs = end(1 - tail, np.maximum(squared / factor, n_components)) * np.sqrt(factor)
    return lows, np.where(np.isinf(factor), np.inf, highs)

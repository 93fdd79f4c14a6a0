r"""Which objects lie elsewhere in another group: displacements, and how sure they are.

Maps of groups are fitted with next to no shrinkage here, laid onto the map of all, and subtracted. People are then
resampled: each gets a weight from a flat Dirichlet distribution (Rubin 1981), and the map of the group moves by one
Newton step from where it is,

    X* = X + (I_g + precision)^-1 (sum over people of (w_b - 1) u_b),

with the scores u_b of its blocks: the bootstrap without fitting again. The maps X* are laid onto the map of all, too.

The length of a displacement is never 0: noise alone makes it positive. With S the covariance of the displacement v
over the resamples, |v|^2 - tr S is an unbiased estimate of the squared length; its root, or 0, is the *corrected*
length. The interval of the length comes from |v|^2 / s^2, s^2 = tr S / p, as a noncentral chi-square of p degrees of
freedom: its low end is 0 where the object may not have moved at all.

Displacements are relative to the other objects: comparisons do not say which of them stay where they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import brentq
from scipy.stats import ncx2

from nearer.common.arrays import FloatArray
from nearer.comparing.answering import Fitted, Said, fit_map, information, scores
from nearer.comparing.crossing import precision_of
from nearer.comparing.permuting import Blocks
from nearer.evaluation.resampling import mean_squares
from nearer.geometry import align

_LOOSE = 2.0  # departures of this share of the spread: hardly any shrinkage
_RESAMPLES = 400


@dataclass(frozen=True, eq=False)
class Displacements:
    """Where the objects of one group lie, as seen from another.

    Attributes
    ----------
    vectors : ndarray, shape (n, p)
        From the first group to the second; NaN for objects that one of them was never asked about.
    covariances : ndarray, shape (n, p, p)
        Over resampled people.
    lengths, corrected, lows, highs : ndarray, shape (n,)
        Lengths as they are, less what noise adds, and their interval; as shares of the spread of the map, its root mean
        square distance from the centre.
    """

    vectors: FloatArray
    covariances: FloatArray
    lengths: FloatArray
    corrected: FloatArray
    lows: FloatArray
    highs: FloatArray


def resampled_maps(
    said: Said, common: Fitted, blocks: Blocks, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return a map for each group, (k, n, p), and those of resampled people, (r, k, n, p), laid onto that of all."""
    precision = precision_of(common, _LOOSE)
    people = np.unique(blocks.people, return_inverse=True)[1]
    n_people = int(people.max()) + 1
    weights = rng.exponential(size=(_RESAMPLES, n_people))
    found, drawn = [], []
    for g in range(blocks.n_groups):
        of_group = np.flatnonzero(blocks.groups == g)
        rows = blocks.groups[blocks.of_rows] == g
        number = np.full(len(blocks.groups), -1, dtype=np.intp)
        number[of_group] = np.arange(len(of_group))
        inside = said.among(rows)
        fitted = fit_map(inside, common, common.points, precision)
        metric = information(inside, fitted).of_map
        metric[np.diag_indices_from(metric)] += precision
        of_blocks = scores(inside, fitted, number[blocks.of_rows[rows]])[0]
        own = weights[:, people[of_group]]
        own = own / own.mean(axis=1, keepdims=True) - 1
        # Deviations of so few people are too small by this factor.
        own *= np.sqrt(len(of_group) / max(len(of_group) - 1, 1))
        steps = np.asarray(cho_solve(cho_factor(metric), (own @ of_blocks).T).T)
        found.append(align(fitted.points, common.points))
        drawn.append(align(fitted.points + steps.reshape(-1, *fitted.points.shape), common.points))
    return np.array(found), np.stack(drawn, axis=1)


def displacements(
    maps: FloatArray, drawn: FloatArray, spread: float, level: float, seen: NDArray[np.bool_]
) -> Displacements:
    """Return displacements between two maps, (2, n, p), of which resamples are (r, 2, n, p).

    Examples
    --------
    >>> maps = np.array([[[0.0]], [[3.0]]])
    >>> drawn = maps + np.array([[[0.5]], [[-0.5]]]) * np.array([1.0, -1.0])[:, None, None, None]
    >>> found = displacements(maps, drawn, 1.0, 0.95, np.ones(1, dtype=bool))
    >>> found.lengths.tolist(), found.corrected.round(3).tolist(), found.lows.round(3).tolist()
    ([3.0], [2.828], [1.04])
    """
    vectors = maps[1] - maps[0]
    covariances = mean_squares(drawn[:, 1] - drawn[:, 0] - vectors)
    vectors = np.where(seen[:, None], vectors, np.nan)
    lengths = np.linalg.norm(vectors, axis=1)
    noise = np.trace(covariances, axis1=1, axis2=2)
    corrected = np.sqrt(np.maximum(lengths**2 - noise, 0))
    ends = np.array([
        length_interval(length, each, maps.shape[2], level) for length, each in zip(lengths, noise, strict=True)
    ])  # fmt: skip
    return Displacements(vectors, covariances, lengths / spread, corrected / spread, *(ends.T / spread))


def length_interval(length: float, noise: float, n_components: int, level: float) -> tuple[float, float]:
    """Return the interval of the true length of a vector that was seen with noise of this total variance.

    Examples
    --------
    >>> low, high = length_interval(10.0, 1.0, 1, 0.95)
    >>> round(low, 2), round(high, 2)
    (8.04, 11.96)
    """
    if not np.isfinite(length) or noise <= 0:
        return (length, length) if noise <= 0 else (np.nan, np.nan)
    deviation = np.sqrt(noise / n_components)
    squared = (length / deviation) ** 2

    def end(tail: float) -> float:
        def beyond(true: float) -> float:
            return float(ncx2.cdf(squared, n_components, true**2)) - tail

        most = np.sqrt(squared) + 10 + n_components
        return 0.0 if beyond(0.0) <= 0 else float(brentq(beyond, 0.0, most))

    return end(0.5 + level / 2) * float(deviation), end(0.5 - level / 2) * float(deviation)

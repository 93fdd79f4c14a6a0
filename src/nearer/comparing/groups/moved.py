r"""Which objects lie elsewhere in another group: displacements, and how sure they are.

Maps of groups are fitted with next to no shrinkage here, laid onto the map of all, and subtracted. People are then
resampled: each gets a weight from a flat Dirichlet distribution (Rubin 1981), and the map of the group moves by one
Newton step from where it is,

    X* = X + (I_g + precision)^-1 (sum over people of (w_b - 1) u_b),

with the scores u_b of its blocks: the bootstrap without fitting again. The maps X* are laid onto the map of all, too.

Such covariances are too small: a map of noisy answers bends further than one step tells. So copies of the data are
made, in which the map of all gives the answers of all groups, and covariances are multiplied by what makes them as
large as the displacements that are seen there, where none is true.

The length of a displacement is never 0: noise alone makes it positive. With S the covariance of the displacement v
over the resamples, |v|^2 - tr S is an unbiased estimate of the squared length; its root, or 0, is the *corrected*
length. The interval of the length comes from |v|^2 / s^2, s^2 = tr S / p, as a noncentral chi-square of p degrees of
freedom: its low end is 0 where the object may not have moved at all. For the high end |v|^2 / s^2 counts as p at least,
what noise alone gives on average: where two maps happen to agree, the interval would end at 0.

Displacements are relative to the other objects: comparisons do not say which of them stay where they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.special import chndtr, chndtrinc, ndtri
from scipy.stats import chi2

from nearer.common.arrays import FloatArray
from nearer.common.telling import progress_bar
from nearer.comparing.groups.answering import Fitted, Said, chances, fit_map, information, own_lapses, scores
from nearer.comparing.groups.crossing import precision_of
from nearer.comparing.groups.permuting import Blocks
from nearer.evaluation.resampling import mean_squares, squared_distances
from nearer.geometry import align

_LOOSE = 2.0  # departures of this share of the spread: hardly any shrinkage
_RESAMPLES = 400
_COPIES = 6
_SHARE = 0.9  # of the displacements of copies, that the covariances are calibrated by
_FAR = 1e4  # squared deviations, where noncentral chi-square is as good as normal


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


def inflation(said: Said, common: Fitted, blocks: Blocks, rng: np.random.Generator) -> float:
    """Return the factor by which covariances of displacements are too small, measured on copies of the data."""
    people = np.unique(blocks.people[blocks.of_rows], return_inverse=True)[1]
    chance = chances(said.margins(common.points), own_lapses(said, common.points, people))
    squared = []
    with progress_bar("copies of the data", _COPIES) as bar:
        for _ in range(_COPIES):
            turned = rng.random(len(chance)) >= chance
            rows = np.where(turned[:, None], said.rows[:, [2, 3, 0, 1]], said.rows)
            maps, drawn = resampled_maps(Said(rows, said.weights, said.n_objects), common, blocks, rng)
            for one, other in combinations(range(blocks.n_groups), 2):
                away = maps[other] - maps[one]
                spread = mean_squares(drawn[:, other] - drawn[:, one] - away)
                squared.append(squared_distances(away, spread))
            bar.update()
    return max(float(np.quantile(squared, _SHARE) / chi2.ppf(_SHARE, common.points.shape[1])), 1.0)


def displacements(
    maps: FloatArray, drawn: FloatArray, factor: float, spread: float, level: float, seen: NDArray[np.bool_]
) -> Displacements:
    """Return displacements between two maps, (2, n, p), of which resamples are (r, 2, n, p).

    Covariances over the resamples are multiplied by the factor.

    Examples
    --------
    >>> maps = np.array([[[0.0]], [[3.0]]])
    >>> drawn = maps + np.array([[[0.5]], [[-0.5]]]) * np.array([1.0, -1.0])[:, None, None, None]
    >>> found = displacements(maps, drawn, 1.0, 1.0, 0.95, np.ones(1, dtype=bool))
    >>> found.lengths.tolist(), found.corrected.round(3).tolist(), found.lows.round(3).tolist()
    ([3.0], [2.828], [1.04])
    """
    vectors = maps[1] - maps[0]
    covariances = factor * mean_squares(drawn[:, 1] - drawn[:, 0] - vectors)
    vectors = np.where(seen[:, None], vectors, np.nan)
    lengths = np.linalg.norm(vectors, axis=1)
    noise = np.trace(covariances, axis1=1, axis2=2)
    corrected = np.sqrt(np.maximum(lengths**2 - noise, 0))
    lows, highs = length_intervals(lengths, noise, maps.shape[2], level)
    return Displacements(vectors, covariances, *(each / spread for each in (lengths, corrected, lows, highs)))


def length_intervals(
    lengths: FloatArray, noise: FloatArray, n_components: int, level: float
) -> tuple[FloatArray, FloatArray]:
    """Return the intervals of the true lengths of vectors that were seen with noise of these total variances.

    Examples
    --------
    >>> low, high = length_intervals(np.array([10.0]), np.array([1.0]), 1, 0.95)
    >>> low.round(2), high.round(2)
    (array([8.04]), array([11.96]))
    """
    deviations = np.sqrt(noise / n_components)
    squared = (lengths / np.where(deviations > 0, deviations, np.nan)) ** 2

    def end(tail: float, squared: FloatArray) -> FloatArray:
        possible = chndtr(squared, n_components, 0.0) > tail
        near = np.where(possible & (squared < _FAR), squared, 100.0)
        away = np.sqrt(chndtrinc(near, n_components, tail)) * deviations
        away = np.where(squared < _FAR, away, lengths - ndtri(tail) * deviations)
        return np.where(np.isnan(squared), lengths, np.where(possible, away, 0.0))

    return end(0.5 + level / 2, squared), end(0.5 - level / 2, np.maximum(squared, n_components))

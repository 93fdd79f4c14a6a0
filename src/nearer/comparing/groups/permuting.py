r"""Does the group matter? A score test over people, whose p-value is that of a permutation.

One map X is fitted to all answers. It does not know who is in which group, and so neither do the scores u_b of the
blocks b: a person's derivative of the log-likelihood by the map. With U_g the sum over the blocks of group g, the maps
of the groups, each a little off X with departures drawn from N(0, tau^2), explain the answers better than X alone by
about half of the sum of U_g^T (f_g I + 1 / tau^2)^-1 U_g, with I the information of all answers and f_g the group's
share of it: a Laplace approximation of the likelihood ratio. One metric, W = (I / k + 1 / tau^2)^-1 for k groups,
serves all permutations. Shift and turn change no answer and have no score. Scale and lapse rate are how noisy people
are, not what they see: each person has a lapse rate of their own, and from U goes what a change of these two would give
(the efficient score), U - I_n (n^T I n)^-1 n^T U with n the two directions.

People who answer with less noise have larger scores. A small group of such people would have a larger sum than groups
that are dealt out at random, though all see the same. So each sum is measured by what it is expected to be,

    T = sum over g of  U_g^T W U_g / (s_g (1 - s_g / s)),   s_g = sum over the blocks of g of u_b^T W u_b,

with s the sum over all groups (the variance of a part of a sum that is 0; Chung and Romano 2013).

If groups do not matter, their labels could be on any people. So T is computed for labels dealt out anew, and
p = (1 + the number of times T is as large) / (1 + the number of permutations) is valid whatever people are like,
however much they differ and however many answers each gave; where groups differ in noise alone it is so in large
groups. Where people are in several groups (conditions), labels are dealt out anew among the blocks of each person, who
is then their own control.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from nearer._common.arrays import FloatArray
from nearer.comparing.groups.answering import Fitted, Said, fit_map, information, own_lapses, scores
from nearer.data.groups import numbered

_DEPARTURE = 0.25  # of objects from the map of all, as a share of its spread
_LOOSE = 2.0  # the same with hardly any shrinkage, for the places of single objects
_ALL = 1e-9  # of a whole
_ROUNDING = 1e-9  # equal labels sum in another order, which must not make their statistic smaller
_CHUNK = 500  # permutations at a time


@dataclass(frozen=True, eq=False)
class Blocks:
    """The answers that one person gave in one group, as one block each.

    Attributes
    ----------
    of_rows : ndarray of int, shape (m,)
        The block of each comparison.
    groups, people : ndarray of int, shape (b,)
        Of each block.
    n_groups : int

    Examples
    --------
    >>> blocks = Blocks.of(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 0]), 2)
    >>> blocks.groups.tolist(), blocks.people.tolist(), blocks.within
    ([0, 1, 0], [0, 0, 1], True)
    """

    of_rows: NDArray[np.intp]
    groups: NDArray[np.intp]
    people: NDArray[np.intp]
    n_groups: int

    @classmethod
    def of(cls, people: NDArray[np.intp], groups: NDArray[np.intp], n_groups: int) -> Blocks:
        """Return the blocks of rows, of which people and groups are known."""
        of_rows = numbered(people, groups)
        _, first = np.unique(of_rows, return_index=True)
        return cls(of_rows, groups[first], people[first], n_groups)

    @property
    def within(self) -> bool:
        """Whether some people are in several groups."""
        return len(np.unique(self.people)) < len(self.people)

    @property
    def strata(self) -> NDArray[np.intp]:
        """Within which blocks labels may be dealt out anew, (b,)."""
        return self.people if self.within else np.zeros(len(self.people), dtype=np.intp)

    def permutations(self, count: int, rng: np.random.Generator) -> Iterator[NDArray[np.intp]]:
        """Return groups of blocks, dealt out anew within strata, some permutations at a time: (c, b)."""
        strata = self.strata
        order = np.argsort(strata, kind="stable")
        for start in range(0, count, _CHUNK):
            size = min(_CHUNK, count - start)
            # Sorted by stratum and then at random: a random order of the blocks of each.
            keys = strata[order] + rng.random((size, len(order)))
            dealt = np.empty((size, len(order)), dtype=np.intp)
            dealt[:, order] = self.groups[order][np.argsort(keys, axis=1)]
            yield dealt

    @property
    def log_ways(self) -> float:
        """The logarithm of the number of permutations that can give different values of the statistic."""
        total = 0.0
        for stratum in np.unique(self.strata):
            counts = np.bincount(self.groups[self.strata == stratum], minlength=self.n_groups)
            total += math.lgamma(counts.sum() + 1) - sum(math.lgamma(count + 1) for count in counts)
        # Groups that could change names as a whole leave the statistic as it is.
        patterns = np.stack([np.bincount(self.strata[self.groups == g], minlength=1 + int(self.strata.max()))
                             for g in range(self.n_groups)])  # fmt: skip
        _, alike = np.unique(patterns, axis=0, return_counts=True)
        return max(total - sum(math.lgamma(count + 1) for count in alike), 0.0)


@dataclass(frozen=True, eq=False)
class Scored:
    """The scores of blocks, ready to be summed over groups.

    Attributes
    ----------
    whitened : ndarray, shape (b, n p)
        Squares of their sums are T.
    shifts : ndarray, shape (b, n, p)
        What each block adds to the first step from the map of all to that of its group.
    weights : ndarray, shape (b,)
        Of the answers of each block.
    """

    whitened: FloatArray
    shifts: FloatArray
    weights: FloatArray


def scored(said: Said, fitted: Fitted, blocks: Blocks) -> Scored:
    """Return the efficient scores of blocks on the map of all answers, each person with a lapse rate of their own."""
    people = numbered(blocks.people[blocks.of_rows])
    precision = 1 / float(np.square(fitted.points).mean())
    for _ in range(2):  # lapse rates, given the map, and the map, given lapse rates
        fitted = Fitted(fitted.points, own_lapses(said, fitted.points, people))
        fitted = fit_map(said, fitted, 0.0, precision)
    known = information(said, fitted)
    of_map, of_lapse = scores(said, fitted, blocks.of_rows)
    place = fitted.points.ravel()
    # Directions of nuisance: the scale of the map, and the lapse rate.
    across = np.column_stack([known.of_map @ place, known.across])
    inner = np.array([[place @ across[:, 0], place @ known.across], [place @ known.across, known.of_lapse]])
    noise = np.column_stack([of_map @ place, of_lapse])
    efficient = of_map - noise @ np.linalg.pinv(inner) @ across.T
    weights = np.bincount(blocks.of_rows, said.weights).astype(np.float64)
    efficient = _centred(efficient, weights, blocks.strata)
    spread = float(np.square(fitted.points - fitted.points.mean(axis=0)).mean())
    tight, loose = (
        cho_factor(known.of_map / blocks.n_groups + np.eye(len(place)) / (departure**2 * spread), lower=True)
        for departure in (_DEPARTURE, _LOOSE)
    )
    whitened = np.asarray(np.linalg.solve(np.tril(tight[0]), efficient.T).T)
    shifts = np.asarray(cho_solve(loose, efficient.T).T).reshape(-1, *fitted.points.shape)
    return Scored(whitened, shifts, weights)


def _centred(values: FloatArray, weights: FloatArray, strata: NDArray[np.intp]) -> FloatArray:
    """Return block sums less each block's share of the sum of its stratum: what all of them have in common."""
    totals = np.zeros((int(strata.max()) + 1, values.shape[1]))
    np.add.at(totals, strata, values)
    shares = weights / np.bincount(strata, weights)[strata]
    return values - shares[:, None] * totals[strata]


@dataclass(frozen=True, eq=False)
class Permuted:
    """What a permutation test found.

    Attributes
    ----------
    statistic, p : float
    of_objects, p_of_objects : ndarray, shape (n,)
        The same for each object; these p-values hold for the family of all objects.
    n_permutations : int
    smallest_p : float
        Below which no p can fall with so few people, or so few permutations.
    expected_of_objects : ndarray, shape (n,)
        The mean of the statistic of each object over permutations.
    largest : ndarray, shape (n_permutations,)
        The largest statistic of an object in each, in descending order.
    """

    statistic: float
    p: float
    of_objects: FloatArray
    p_of_objects: FloatArray
    n_permutations: int
    smallest_p: float
    expected_of_objects: FloatArray
    largest: FloatArray

    def critical(self, alpha: float) -> float:
        """Return the statistic above which the p-value of an object is at most alpha; infinite if none is so large."""
        allowed = math.floor(alpha * (1 + self.n_permutations) * (1 + _ROUNDING)) - 1
        if allowed < 0:
            return math.inf
        return float(self.largest[min(allowed, self.n_permutations - 1)]) * (1 + _ROUNDING)


def permutation_test(found: Scored, blocks: Blocks, count: int, rng: np.random.Generator) -> Permuted:
    """Test whether groups matter, for the map as a whole and for each object.

    For an object the statistic is the same, of the shifts of its blocks in units of how much these vary. The p-value of
    an object counts how often the largest statistic of all objects is as large (Westfall and Young 1993): the chance
    that any object is called moved, where none is, stays at the level.
    """
    scales = _standardized(found.shifts)
    whole, objects = _statistics(found, scales, blocks.groups[None], blocks.n_groups)
    as_large, expected, largest = 1, np.zeros(objects.shape[1]), []
    for dealt in blocks.permutations(count, rng):
        drawn, of_objects = _statistics(found, scales, dealt, blocks.n_groups)
        as_large += int((drawn >= whole[0] * (1 - _ROUNDING)).sum())
        expected += of_objects.sum(axis=0) / count
        largest.append(of_objects.max(axis=1))
    ordered = np.sort(np.concatenate(largest))
    larger = count - np.searchsorted(ordered, objects[0] * (1 - _ROUNDING))
    total = 1 + count
    smallest = max(1 / total, math.exp(-blocks.log_ways))
    return Permuted(
        float(whole[0]), as_large / total, objects[0], (1 + larger) / total, count, smallest, expected, ordered[::-1]
    )


def _standardized(shifts: FloatArray) -> FloatArray:
    """Return the shifts of blocks with uncorrelated axes for each object, whose squares sum to 1: (b, n, p)."""
    squares = np.einsum("bip,biq->ipq", shifts, shifts)
    values, vectors = np.linalg.eigh(squares)
    least = 1e-9 * max(float(values.max()), np.finfo(float).tiny)
    roots = vectors / np.sqrt(np.maximum(values, least))[:, None, :]
    standard: FloatArray = np.einsum("bip,ipq->biq", shifts, roots)
    return standard


def _statistics(
    found: Scored, standard: FloatArray, groups: NDArray[np.intp], n_groups: int
) -> tuple[FloatArray, FloatArray]:
    """Return T, (c,), and the statistics of objects, (c, n), for groups of blocks, (c, b)."""
    b, n, p = standard.shape
    flat = standard.reshape(b, n * p)
    sizes = np.square(found.whitened).sum(axis=1)
    sizes_of_objects = np.square(standard).sum(axis=2)
    whole, objects = np.zeros(len(groups)), np.zeros((len(groups), n))
    for group in range(n_groups):
        inside = (groups == group).astype(np.float64)
        whole += np.square(inside @ found.whitened).sum(axis=1) / _expected(inside, sizes)
        of_objects = np.square(inside @ flat).reshape(-1, n, p).sum(axis=2)
        objects += of_objects / _expected(inside, sizes_of_objects)
    return whole, objects


def _expected(inside: FloatArray, sizes: FloatArray) -> FloatArray:
    """Return what the square of a group's sum is expected to be if groups do not matter, for squares of blocks."""
    total = np.maximum(sizes.sum(axis=0), np.finfo(float).tiny)
    share = inside @ sizes / total
    # A group that says nothing, or all there is, cannot be compared with others.
    expected: FloatArray = np.where(share * (1 - share) > _ALL, total * share * (1 - share), np.inf)
    return expected

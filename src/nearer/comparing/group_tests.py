"""Do groups differ, and in which objects? A score test with the p-value of a permutation, and test-based intervals.

The formulas are on the page on mathematics, under groups of people; the functions below keep its letters.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.special import chndtr, chndtrinc, ndtri
from scipy.stats import chi2

from nearer._common.arrays import FloatArray
from nearer.comparing.group_models import FittedMap, Responses, fit_map, information, lapse_rates, scores
from nearer.comparing.group_results import ROUNDING, Displacements, PermutationTest
from nearer.data.groups import number_by_appearance

#: Departures of objects from the map of all, as shares of its spread: of the test, and with hardly any shrinkage.
TEST_DEPARTURE, LOOSE_DEPARTURE = 0.25, 2.0
_MIN_SHARE = 1e-9  # of the squares, that a group has and lacks
_CHUNK_SIZE = 500  # permutations at a time
_NORMAL_FROM = 1e4  # squared deviations, where noncentral chi-square is as good as normal


@dataclass(frozen=True, eq=False)
class Blocks:
    """The answers that one person gave in one group, as one block each: block of each row, (m,), and whose, (b,)."""

    of_rows: NDArray[np.intp]
    groups: NDArray[np.intp]
    people: NDArray[np.intp]
    n_groups: int

    @classmethod
    def of(cls, people: NDArray[np.intp], groups: NDArray[np.intp], n_groups: int) -> Blocks:
        """Return the blocks of rows, of which people and groups are known."""
        of_rows = number_by_appearance(people, groups)
        _, first = np.unique(of_rows, return_index=True)
        return cls(of_rows, groups[first], people[first], n_groups)

    @property
    def within(self) -> bool:
        """Whether some people are in several groups."""
        return len(np.unique(self.people)) < len(self.people)

    @property
    def strata(self) -> NDArray[np.intp]:
        """The stratum of each block, (b,), within which labels are permuted."""
        return self.people if self.within else np.zeros(len(self.people), dtype=np.intp)

    def permutations(self, count: int, rng: np.random.Generator) -> Iterator[NDArray[np.intp]]:
        """Return groups of blocks, permuted within strata, some permutations at a time: (c, b)."""
        strata = self.strata
        order = np.argsort(strata, kind="stable")
        for start in range(0, count, _CHUNK_SIZE):
            size = min(_CHUNK_SIZE, count - start)
            # Sorted by stratum and then at random: a random order of the blocks of each.
            keys = strata[order] + rng.random((size, len(order)))
            permuted = np.empty((size, len(order)), dtype=np.intp)
            permuted[:, order] = self.groups[order][np.argsort(keys, axis=1)]
            yield permuted

    @property
    def log_n_arrangements(self) -> float:
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
class BlockScores:
    """The scores of blocks, ready to be summed over groups."""

    whitened: FloatArray  # (b, n p), the squares of whose sums are T
    shifts: FloatArray  # (b, n, p), what each adds to the first step from the map of all to that of its group
    weights: FloatArray  # (b,), of the answers of each


def efficient_scores(responses: Responses, fitted: FittedMap, blocks: Blocks) -> BlockScores:
    """Return the efficient scores of blocks on the map of all answers, each person with a lapse rate of their own."""
    people = number_by_appearance(blocks.people[blocks.of_rows])
    precision = 1 / float(np.square(fitted.points).mean())
    for _ in range(2):  # lapse rates, given the map, and the map, given lapse rates
        fitted = FittedMap(fitted.points, lapse_rates(responses, fitted.points, people))
        fitted = fit_map(responses, fitted, 0.0, precision)
    known, cross, known_lapse = information(responses, fitted)
    of_map, of_lapse = scores(responses, fitted, blocks.of_rows)
    place = fitted.points.ravel()
    # Directions of nuisance: the scale of the map, and the lapse rate.
    across = np.column_stack([known @ place, cross])
    inner = np.array([[place @ across[:, 0], place @ cross], [place @ cross, known_lapse]])
    noise = np.column_stack([of_map @ place, of_lapse])
    efficient = of_map - noise @ np.linalg.pinv(inner) @ across.T
    weights = np.bincount(blocks.of_rows, responses.weights).astype(np.float64)
    efficient = _centered(efficient, weights, blocks.strata)
    spread = float(np.square(fitted.points - fitted.points.mean(axis=0)).mean())
    tight, loose = (
        cho_factor(known / blocks.n_groups + np.eye(len(place)) / (departure**2 * spread), lower=True)
        for departure in (TEST_DEPARTURE, LOOSE_DEPARTURE)
    )
    whitened = np.asarray(np.linalg.solve(np.tril(tight[0]), efficient.T).T)
    shifts = np.asarray(cho_solve(loose, efficient.T).T).reshape(-1, *fitted.points.shape)
    return BlockScores(whitened, shifts, weights)


def _centered(values: FloatArray, weights: FloatArray, strata: NDArray[np.intp]) -> FloatArray:
    """Return block sums less each block's share of the sum of its stratum: what all of them have in common."""
    totals = np.zeros((int(strata.max()) + 1, values.shape[1]))
    np.add.at(totals, strata, values)
    shares = weights / np.bincount(strata, weights)[strata]
    return values - shares[:, None] * totals[strata]


def permutation_test(found: BlockScores, blocks: Blocks, count: int, rng: np.random.Generator) -> PermutationTest:
    """Test whether groups matter, for the map as a whole and for each object.

    For an object the statistic is that of the standardized shifts of its blocks. Its p-value counts how often the
    largest of all objects is as large (Westfall and Young 1993), which keeps the familywise error rate.
    """
    standard = _standardized(found.shifts)
    whole, objects = _statistics(found, standard, blocks.groups[None], blocks.n_groups)
    as_large, expected, largest = 1, np.zeros(objects.shape[1]), []
    for permuted in blocks.permutations(count, rng):
        drawn, drawn_objects = _statistics(found, standard, permuted, blocks.n_groups)
        as_large += int((drawn >= whole[0] * (1 - ROUNDING)).sum())
        expected += drawn_objects.sum(axis=0) / count
        largest.append(drawn_objects.max(axis=1))
    ordered = np.sort(np.concatenate(largest))
    larger = count - np.searchsorted(ordered, objects[0] * (1 - ROUNDING))
    total = 1 + count
    smallest = max(1 / total, math.exp(-blocks.log_n_arrangements))
    return PermutationTest(
        float(whole[0]), as_large / total, objects[0], (1 + larger) / total, count, smallest, expected, ordered[::-1]
    )


def _standardized(shifts: FloatArray) -> FloatArray:
    """Return the shifts of blocks with uncorrelated axes for each object, whose squares sum to 1: (b, n, p)."""
    squares = np.einsum("bip,biq->ipq", shifts, shifts)
    values, vectors = np.linalg.eigh(squares)
    least = 1e-9 * max(float(values.max()), np.finfo(float).tiny)
    roots = vectors / np.sqrt(np.maximum(values, least))[:, None, :]
    return np.einsum("bip,ipq->biq", shifts, roots)


def _statistics(
    found: BlockScores, standard: FloatArray, groups: NDArray[np.intp], n_groups: int
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
    """Return the expected square of the sum of a group if groups do not matter, for the squares of its blocks."""
    total = np.maximum(sizes.sum(axis=0), np.finfo(float).tiny)
    share = inside @ sizes / total
    # A group without answers, or with all of them, cannot be compared with others.
    return np.where(share * (1 - share) > _MIN_SHARE, total * share * (1 - share), np.inf)


def untested_displacements(apart: FloatArray, spread: float, seen: NDArray[np.bool_]) -> Displacements:
    """Return displacements between two maps without intervals, from their difference (n, p)."""
    vectors = np.where(seen[:, None], apart, np.nan)
    unknown = np.full(len(apart), np.nan)
    return Displacements(vectors, np.linalg.norm(vectors, axis=1) / spread, unknown, unknown, unknown)


def displacements(
    found: BlockScores,
    blocks: Blocks,
    test: PermutationTest,
    apart: FloatArray,
    spread: float,
    level: float,
    seen: NDArray[np.bool_],
) -> Displacements:
    """Return displacements from the first of two groups to the second.

    ``apart`` is the difference of the refitted maps, (n, p), ``spread`` their unit; ``seen``, (n,), are the objects
    that both groups were asked about.
    """
    p = apart.shape[1]
    second = blocks.groups == 1
    share = float(found.weights[second].sum() / found.weights.sum())
    steps = (1 / share + 1 / (1 - share)) / 2 * found.shifts[second].sum(axis=0)
    length = float(np.linalg.norm(steps[seen]))
    steps *= float(np.linalg.norm(apart[seen])) / length if length > 0 else 0.0
    vectors = np.where(seen[:, None], steps, np.nan)
    lengths = np.linalg.norm(vectors, axis=1)
    unit = np.maximum(test.expected_object_statistics / p, np.finfo(float).tiny)
    squared = test.object_statistics / unit
    deviations = lengths / np.sqrt(np.where(squared > 0, squared, np.nan))
    corrected = lengths * np.sqrt(np.maximum(1 - p / np.where(squared > 0, squared, np.nan), 0))
    lows, highs = length_intervals(squared, test.critical(1 - level) / unit, p, level)
    return Displacements(
        vectors, *(each / spread for each in (lengths, corrected, lows * deviations, highs * deviations))
    )


def length_intervals(
    squared: FloatArray, critical: FloatArray, n_components: int, level: float
) -> tuple[FloatArray, FloatArray]:
    """Return intervals of lengths from their observed squares, in units of their deviation.

    They leave 0 where a square is above the critical one, which is chi-square's quantile for a single length.
    """
    tail = 0.5 + level / 2
    factor = critical / chi2.ppf(tail, n_components)

    def end(tail: float, squared: FloatArray) -> FloatArray:
        finite = np.clip(squared, 1e-12, _NORMAL_FROM)
        length = np.sqrt(chndtrinc(finite, n_components, tail))
        length = np.where(squared < _NORMAL_FROM, length, np.sqrt(squared) - ndtri(tail))
        return np.where(chndtr(finite, n_components, 0.0) > tail, length, 0.0)

    with np.errstate(invalid="ignore"):
        lows = np.where(squared > critical, end(tail, squared / factor) * np.sqrt(factor), 0.0)
        highs = end(1 - tail, np.maximum(squared / factor, n_components)) * np.sqrt(factor)
    return lows, np.where(np.isinf(factor), np.inf, highs)

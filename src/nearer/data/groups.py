"""What the rows of a set of comparisons belong to: trials, questions, pairs of objects, and the objects that are seen.

Rows of one *trial* are one act of judgment. A *question* is an unordered pair of unordered pairs, whichever way it is
written or answered. Groups that folds and resamples keep whole are numbered in the order of first appearance, so that
neither the names of the objects, nor a repeated row in place of a weight, nor the order of the pairs changes a fold.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray
from nearer._common.formatting import intcomma, pluralize
from nearer.data.labels import Indices, factorize

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from nearer.data.comparisons import Comparisons


Grouping: TypeAlias = Literal["trials", "annotators", "questions"]

#: Effective number of people from which on a bootstrap resamples people by default.
MIN_ANNOTATORS = 8
_MAX_CODE = 2**62
_FACTORS = tuple(np.random.default_rng(0).integers(2**63, size=3, dtype=np.uint64) * np.uint64(2) + np.uint64(1))
_ROWS_PER_BLOCK = 2**20  # rows at a time: indexing with all of them at once would copy them


def with_positive_weight(comparisons: Comparisons) -> Comparisons:
    """Return the comparisons of positive weight: the others carry no information and could fill a fold."""
    weights = comparisons.weights
    return comparisons if weights is None or weights.all() else comparisons[weights > 0]


def resolve_grouping(comparisons: Comparisons, by: Grouping) -> Grouping:
    """Return the grouping that folds and resamples keep whole: as given, but questions where no trials are known."""
    if by not in ("trials", "annotators", "questions"):
        raise ValueError(f"by={by!r} is not known; choose 'trials', 'annotators' or 'questions'")
    if by == "annotators" and comparisons.annotators is None:
        raise ValueError(
            "by='annotators', but the comparisons do not say who answered; pass annotators= when making them, or "
            "choose by='trials'"
        )
    return "questions" if by == "trials" and comparisons.trials is None else by


def default_resampling_unit(comparisons: Comparisons) -> Grouping:
    """Return what a bootstrap resamples by default: annotators where there are enough of them, trials otherwise."""
    # Answers of one person are correlated: resampled trials generalize to further answers of the same people only. From
    # a few people, or where one gave most of the answers, nothing can be concluded about others.
    if comparisons.annotators is not None and effective_n(group_indices(comparisons, "annotators")) >= MIN_ANNOTATORS:
        return "annotators"
    return resolve_grouping(comparisons, "trials")


def effective_n(groups: NDArray[np.intp]) -> float:
    """Return the effective number of groups of equal size: (sum of the sizes)^2 / sum of their squares."""
    sizes = np.bincount(groups)
    return float(sizes.sum() ** 2 / np.square(sizes).sum())


def small_sample_factor(groups: NDArray[np.intp], level: float = 0.95) -> float:
    """Return the factor by which intervals of resampled groups are too narrow where groups are few."""
    # Random weights of n groups give a mean the variance s^2 / (n + 1) with s^2 divided by n, in place of n - 1; and
    # the deviate of a normal distribution stands for one of Student's t with n - 1 degrees of freedom.
    from scipy.special import ndtri, stdtrit

    n = max(effective_n(groups), 2.0)
    upper = (1 + level) / 2
    return float(stdtrit(n - 1, upper) / ndtri(upper) * math.sqrt((n + 1) / (n - 1)))


def group_indices(comparisons: Comparisons, by: Grouping = "trials") -> NDArray[np.intp]:
    """Return the index of the group of each row, by first appearance, (m,); see `resolve_grouping`."""
    kept = resolve_grouping(comparisons, by)
    if kept == "questions":
        return question_indices(comparisons)
    return number_by_appearance(factorize(getattr(comparisons, kept))[1])


def trial_indices(comparisons: Comparisons) -> NDArray[np.intp]:
    """Return the number of the trial of each row, in the order of their labels, (m,); without trials a row is one."""
    return np.arange(len(comparisons)) if comparisons.trials is None else factorize(comparisons.trials)[1]


def trial_weights(weights: FloatArray, trials: NDArray[np.integer]) -> tuple[FloatArray, FloatArray]:
    """Return the total weight of the rows of each trial, and the weight of the trial as one answer.

    Rows of weight 1 are one answer however many they are, as are rows whose weights add up to 1; rows of weight 2 are
    two answers.
    """
    if weights.min() == weights.max():
        totals = weights[0] * np.bincount(trials)
    else:
        order = np.lexsort([weights, trials])  # or another order of the rows would be another rounding
        totals = np.bincount(trials[order], weights[order]).astype(np.float64)
    return totals, np.maximum(np.minimum(totals, 1.0), totals / np.bincount(trials))


def question_indices(comparisons: Comparisons) -> NDArray[np.intp]:
    """Return the number of the question of each row, by first appearance, (m,)."""
    near, far = near_far_codes(comparisons.quadruplets, comparisons.n_objects)
    return number_by_appearance(np.minimum(near, far), np.maximum(near, far))


def sorted_unique(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return distinct codes in order; `numpy.unique` takes ten times as long for millions."""
    ordered = np.sort(codes)
    first = np.ones(len(ordered), bool)
    first[1:] = ordered[1:] != ordered[:-1]
    return ordered[first]


def pair_codes(first: NDArray[Any], second: NDArray[Any], n_objects: int) -> NDArray[np.int64]:
    """Return a number for each unordered pair, in int64: int32 overflows beyond n = 46340."""
    return np.minimum(first, second).astype(np.int64) * n_objects + np.maximum(first, second)


def near_far_codes(quadruplets: NDArray[Any], n_objects: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the codes of near and far pair of each row (i, j, l, k)."""
    i, j, l, k = quadruplets.T  # noqa: E741
    return pair_codes(i, j, n_objects), pair_codes(l, k, n_objects)


def seen_objects(comparisons: Comparisons) -> NDArray[np.bool_]:
    """Return which objects the rows mention, (n,)."""
    seen = np.zeros(comparisons.n_objects, dtype=bool)
    for start in range(0, len(comparisons), _ROWS_PER_BLOCK):
        seen[comparisons.rows[start : start + _ROWS_PER_BLOCK]] = True
    return seen


def restrict_to_seen(comparisons: Comparisons) -> tuple[Comparisons, NDArray[np.intp]]:
    """Return the comparisons over the objects that they mention, in the order of all, and the positions of these."""
    seen = seen_objects(comparisons)
    if not seen.all():
        position = np.cumsum(seen) - 1
        comparisons = replace(comparisons, rows=position[comparisons.rows], objects=comparisons.objects[seen])
    return comparisons, np.flatnonzero(seen)


def relabel_by_appearance(comparisons: Comparisons) -> tuple[Comparisons, NDArray[np.integer]]:
    """Return the comparisons of positive weight, answers applied, over the objects that they mention, and these."""
    kept = with_positive_weight(comparisons)
    mentions = kept.oriented.ravel()
    numbers = number_by_appearance(mentions)
    seen = np.empty(int(numbers.max()) + 1, dtype=mentions.dtype)
    seen[numbers] = mentions
    rows = numbers.reshape(-1, 4)[:, [0, 1, 3] if kept.is_triplets else slice(None)]
    return replace(kept, rows=rows, answers=None, objects=np.arange(len(seen))), seen


def with_same_metadata(first: Comparisons, second: Comparisons) -> tuple[Comparisons, Comparisons]:
    """Return two sets that can be concatenated though only one of them has annotators, or trials."""
    # Rows without trials are a trial each; annotators that only one set knows are left out.
    if (first.annotators is None) != (second.annotators is None):
        first, second = replace(first, annotators=None), replace(second, annotators=None)
    if (first.trials is None) != (second.trials is None):
        before, after = trial_indices(first), trial_indices(second)
        first, second = replace(first, trials=before), replace(second, trials=after + int(before.max()) + 1)
    return first, second


def is_tied(comparisons: Comparisons) -> NDArray[np.bool_]:
    """Return which rows are of a trial that gives both answers to their question, (m,)."""
    # "Can't tell" may be split into the comparisons of all possible answers. One trial then gives both answers to
    # a question: that is no contradiction, and half of such an answer is wrong whatever is predicted.
    # Equal labels of trials of different annotators are different trials. Without trials there are no such rows.
    if comparisons.trials is None:
        return np.zeros(len(comparisons), dtype=bool)
    trials = trial_indices(comparisons).astype(np.int64)
    if comparisons.annotators is not None:
        people, person = factorize(comparisons.annotators)
        trials = trials * len(people) + person
    near, far = near_far_codes(comparisons.oriented, comparisons.n_objects)
    questions = np.minimum(near, far), np.maximum(near, far)
    hashes = np.sort(
        sum(key.astype(np.uint64) * factor for key, factor in zip((trials, *questions), _FACTORS, strict=True))
    )
    if not (hashes[1:] == hashes[:-1]).any():  # no trial asks a question twice, and nothing has to be numbered
        return np.zeros(len(comparisons), dtype=bool)
    group = number_by_appearance(trials, *questions)
    return _has_both_answers(near < far, group)[group]


def _has_both_answers(one_way: NDArray[np.bool_], groups: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return which groups of rows, each about one question, are answered both one way and the other."""
    counts = np.bincount(groups, one_way)
    return (counts > 0) & (counts < np.bincount(groups))


def number_by_appearance(*keys: NDArray[Any]) -> NDArray[np.intp]:
    """Return a number for each different combination of keys, by first appearance, (m,)."""
    sizes = [int(key.max()) + 1 if len(key) and key.dtype.kind in "iu" and key.min() >= 0 else 0 for key in keys]
    if len(keys) == 1 and sizes[0] and _is_numbered(keys[0]):
        return keys[0].astype(np.intp)
    if all(sizes) and math.prod(sizes) < _MAX_CODE:  # one number for each combination: one sort and not several
        codes = np.zeros(len(keys[0]), dtype=np.int64)
        for key, size in zip(keys, sizes, strict=True):
            codes = codes * size + key
        keys = (codes,)
    order = np.lexsort(keys)  # np.unique over several columns takes many times as long
    new = np.zeros(len(order), dtype=bool)
    new[:1] = True
    for key in keys:
        new[1:] |= key[order[1:]] != key[order[:-1]]
    first = order[new]  # a stable sort: the first of equal rows
    number = np.empty(len(first), dtype=np.intp)
    number[np.argsort(first)] = np.arange(len(first))
    numbers = np.empty(len(order), dtype=np.intp)
    numbers[order] = number[np.cumsum(new) - 1]
    return numbers


def _is_numbered(key: NDArray[Any]) -> bool:
    """Whether numbers are already those of first appearance."""
    return bool(key[0] == 0 and (key[1:] <= np.maximum.accumulate(key)[:-1] + 1).all())


def assign_folds(groups: NDArray[np.intp], n_folds: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return the fold of each row, (m,): groups shuffled and assigned in turn."""
    return (rng.permutation(groups.max() + 1) % n_folds)[groups]


def balance_folds(sizes: NDArray[np.integer], n_folds: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return the fold of each group: the largest first, in random order among equals, to the smallest fold."""
    # Every fold gets a group of size > 0 if there are as many of them as folds.
    order = rng.permutation(len(sizes))
    folds = np.empty(len(sizes), dtype=np.intp)
    loads = np.zeros(n_folds, dtype=np.int64)
    for size in np.unique(sizes)[::-1]:
        equals = order[sizes[order] == size]
        # Places in the folds in the order in which they fill up: as if assigned one by one, without a loop.
        spread = 0 if size == 0 else int(loads.max() - loads.min()) // int(size)
        rounds = len(equals) // n_folds + spread + 2
        places = loads[:, None] + size * np.arange(rounds)
        folds[equals] = np.argsort(places, axis=None, kind="stable")[: len(equals)] // rounds
        loads += size * np.bincount(folds[equals], minlength=n_folds)
    return folds


def draw_test_rows(groups: NDArray[np.intp], test_size: Any, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return which rows are in the test part, (m,): whole groups until it is large enough, but never the last."""
    sizes, m = np.bincount(groups), len(groups)
    if isinstance(test_size, int | np.integer) and not isinstance(test_size, bool) and 0 < test_size < m:
        wanted = int(test_size)
    elif isinstance(test_size, float | np.floating) and 0 < test_size < 1:
        wanted = min(math.ceil(test_size * m - 1e-9), m - 1)  # 0.07 * 100 is a little more than 7
    else:
        raise ValueError(f"test_size={test_size!r} is neither a share in (0, 1) nor a number of rows in 1..{m - 1}")
    order = rng.permutation(len(sizes))
    n_drawn = min(int(np.searchsorted(np.cumsum(sizes[order]), wanted)) + 1, len(sizes) - 1)
    return np.isin(groups, order[:n_drawn])


@dataclass(frozen=True)
class Summary:
    """What a set of comparisons holds; ``print`` it for a few readable lines.

    Attributes
    ----------
    n_objects, n_comparisons : int
    kind : {"triplets", "quadruplets"}
    n_unseen : int
        Objects in no comparison.
    fewest, most : int
    median : float
        Comparisons an object is part of.
    n_repeated : int
        Rows whose question was asked before.
    n_contradicted : int
        Questions that got both answers.
    n_annotators, n_trials : int or None
        None where they are not known.
    n_triads, n_possible_triads : int or None
        Sets of three objects that some triplet is about, and how many sets there are; None for quadruplets.
    """

    n_objects: int
    n_comparisons: int
    kind: str
    n_unseen: int
    fewest: int
    median: float
    most: int
    n_repeated: int
    n_contradicted: int
    n_annotators: int | None
    n_trials: int | None
    n_triads: int | None = None
    n_possible_triads: int | None = None

    def __str__(self) -> str:
        unseen = f", {intcomma(self.n_unseen)} of them never seen" if self.n_unseen else ""
        comparisons = pluralize(self.n_comparisons, self.kind.removesuffix("s"))
        lines = [
            f"{comparisons} over {pluralize(self.n_objects, 'object')}{unseen}",
            f"comparisons per object: fewest {self.fewest}, median {self.median:g}, most {self.most}",
            f"repeated questions: {pluralize(self.n_repeated, 'row')}; "
            f"answered both ways: {pluralize(self.n_contradicted, 'question')}",
        ]
        known = {"annotator": self.n_annotators, "trial": self.n_trials}
        lines += [pluralize(n, name) for name, n in known.items() if n is not None]
        return "\n".join(lines)


def summarize(comparisons: Comparisons) -> Summary:
    """Count what a set of comparisons holds."""
    rows, n = comparisons.rows, comparisons.n_objects
    per_object = _count_rows_per_object(rows, n)
    near, far = near_far_codes(comparisons.oriented, n)
    both_ways = _has_both_answers(near < far, question_indices(comparisons))
    triads = None
    if comparisons.is_triplets:
        first, second, third = np.sort(rows.astype(np.int64), axis=1).T
        triads = len(np.unique((first * n + second) * n + third))
    annotators, trials = (
        None if labels is None else len(factorize(labels)[0]) for labels in (comparisons.annotators, comparisons.trials)
    )
    return Summary(
        n_objects=n,
        n_comparisons=len(rows),
        kind="triplets" if comparisons.is_triplets else "quadruplets",
        n_unseen=int((per_object == 0).sum()),
        fewest=int(per_object.min()),
        median=float(np.median(per_object)),
        most=int(per_object.max()),
        n_repeated=len(rows) - len(both_ways),
        n_contradicted=int(both_ways.sum()),
        n_annotators=annotators,
        n_trials=trials,
        n_triads=triads,
        n_possible_triads=None if triads is None else math.comb(n, 3),
    )


def _count_rows_per_object(rows: Indices, n: int) -> NDArray[np.intp]:
    """Count the rows that each object is in, shape (n,)."""
    counts = np.bincount(rows.ravel(), minlength=n)
    if rows.shape[1] == 4:  # an object in both pairs was counted twice
        for column in rows[:, 2:].T:
            counts -= np.bincount(column[(column == rows[:, 0]) | (column == rows[:, 1])], minlength=n)
    return counts


#: Answers that guessing explains at this level do not determine a map.
GUESSING_LEVEL = 0.05
N_FLIPS, N_FLIPS_MANY_ROWS = 399, 199
MIN_ROWS_FOR_FEWER_FLIPS = 20_000  # comparisons: beyond, fewer flips
MAX_SIGNS = 2_000_000  # signs at a time


def guessing_p_value(comparisons: Comparisons, rng: np.random.Generator) -> float:
    """Return the p-value of the hypothesis that all answers are guesses, by an exact test that needs no fit.

    With y_q = 1 for a comparison as it was answered, the score of a matrix of squared distances at "no structure" is

        S = sum_q y_q (L_far(q) - L_near(q)),        L_ij = (e_i - e_j)(e_i - e_j)',

    and T = ||S||_F^2 measures how far it is from zero. Under guessing T has the same distribution when the sign of each
    trial is flipped with probability 1/2, so that the rank of T among flipped ones is an exact p-value (Phipson and
    Smyth 2010, with the observed one counted). With net counts s_ij of pairs, far less near, T is
    2 sum_(i<j) s_ij^2 + sum_i (sum_j s_ij)^2 up to a constant factor.
    """
    from scipy.sparse import coo_array, csr_array

    n, m = comparisons.n_objects, len(comparisons)
    near, far = near_far_codes(comparisons.oriented, n)
    codes, pairs = np.unique(np.concatenate([near, far]), return_inverse=True)
    groups, weights = np.unique(trial_indices(comparisons), return_inverse=True)[1], comparisons.sample_weight
    signed, rows = np.concatenate([-weights, weights]), np.concatenate([groups, groups])
    net = csr_array(coo_array((signed, (rows, pairs)), shape=(int(groups.max()) + 1, len(codes))))
    ends, rows = np.concatenate(np.divmod(codes, n)), np.tile(np.arange(len(codes)), 2)
    of_objects = csr_array(coo_array((np.ones(len(ends)), (rows, ends)), shape=(len(codes), n)))
    n_flips = N_FLIPS if m <= MIN_ROWS_FOR_FEWER_FLIPS else N_FLIPS_MANY_ROWS
    least = _structure_statistic(np.ones((1, net.shape[0])), net, of_objects)[0] * (1 - 1e-12)  # equal ones count
    n_as_large, block = 1, max(MAX_SIGNS // net.shape[0], 1)
    for start in range(0, n_flips, block):
        signs = np.where(rng.random((min(block, n_flips - start), net.shape[0])) < 0.5, -1.0, 1.0)
        n_as_large += int((_structure_statistic(signs, net, of_objects) >= least).sum())
    return n_as_large / (n_flips + 1)


def _structure_statistic(signs: FloatArray, net: csr_array, of_objects: csr_array) -> FloatArray:
    """Return T for each row of signs of the trials."""
    of_pairs = signs @ net
    return 2 * np.square(of_pairs).sum(axis=1) + np.square(of_pairs @ of_objects).sum(axis=1)

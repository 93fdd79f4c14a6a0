"""Copied answers: pairs of people who agree beyond what independent answers allow.

docs/mathematics.md derives the test, "Copied answers". At most 5% of studies of independent people have a pair that is
reported; nobody is without questions in common.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.stats import binom

from nearer._common.arrays import FloatArray
from nearer._common.findings import Finding
from nearer.checking.context import Context
from nearer.data.comparisons import Comparisons
from nearer.data.groups import is_tied, near_far_codes, question_indices
from nearer.data.labels import factorize

FALSE_ALARM_RATE = 0.05  # of studies in which any pair is reported wrongly
MAX_CHANGED_SHARE = 0.05  # of questions that a near copy may answer differently
_MIN_SHARED_QUESTIONS = 10
_MIN_AGREEMENT = 0.01  # below, all answer at random
_N_STANDARD_ERRORS = 2.0


class Shared(NamedTuple):
    """Pairs of people with questions in common: who, how many questions, and how many answered differently."""

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    n_shared: NDArray[np.int64]
    n_different: NDArray[np.int64]


class Pair(NamedTuple):
    """Two people whose answers agree beyond chance; ``expected`` is how often independent people would differ."""

    first: int
    second: int
    n_shared: int
    n_different: int
    expected: float


def copied_pairs(shared: Shared) -> tuple[tuple[Pair, ...], int]:
    """Return pairs of people with the same answers, smallest p-value first, and how many pairs were compared."""
    shared = Shared(*(each[shared.n_shared >= _MIN_SHARED_QUESTIONS] for each in shared))
    first, second, n_shared, n_different = shared
    if len(first) == 0:
        return (), 0
    near = n_different <= MAX_CHANGED_SHARE * n_shared
    expected = _expected(shared, near)
    if near.all():
        differing = n_different > 0
        share = n_different[differing].sum() / n_shared[differing].sum() if differing.any() else MAX_CHANGED_SHARE
        p_values: FloatArray = np.where(differing, 1.0, (1 - share) ** n_shared)
    else:
        quartile = np.quantile(n_different[~near] / np.maximum(expected[~near], 1e-9), 0.25)
        chances = min(1.0, float(quartile)) * expected / (2 * n_shared)
        p_values = np.asarray(binom.cdf(n_different, n_shared, chances))
    found = np.flatnonzero((p_values < FALSE_ALARM_RATE / len(first)) & near)
    found = found[np.argsort(p_values[found], kind="stable")]
    columns = (first, second, n_shared, n_different, expected)
    return tuple(Pair(*(each[at].item() for each in columns)) for at in found), len(first)


def _expected(shared: Shared, near: NDArray[np.bool_]) -> FloatArray:
    """Return a lower bound of the expected differences of each pair, from pairs that are no near copies."""
    first, second, n_shared, n_different = shared
    other = np.ones(int(max(first.max(), second.max())) + 1, dtype=bool)
    other[np.concatenate([first[near], second[near]])] = False
    of_others = other[first] & other[second]
    if not of_others.any():
        other[:], of_others = True, ~near
    net = n_shared - 2 * n_different
    with_first, with_second = ~near & other[second], ~near & other[first]
    ends = np.concatenate([first[with_first], second[with_second]])
    times = np.bincount(ends, np.concatenate([n_shared[with_first], n_shared[with_second]]), len(other))
    agreement = np.bincount(ends, np.concatenate([net[with_first], net[with_second]]), len(other))
    upper = _upper_mean(agreement / np.maximum(times, 1), np.maximum(times, 1))
    usual = max(float(net[of_others].sum() / max(n_shared[of_others].sum(), 1)), _MIN_AGREEMENT)
    products = np.clip(upper[first] * upper[second] / usual, 0.0, 1.0)
    found: FloatArray = n_shared * (1 - products) / 2
    return found


def _upper_mean(mean: FloatArray, times: FloatArray) -> FloatArray:
    """Return the upper end of Wilson's interval for the mean of answers of +1 and -1."""
    z2 = _N_STANDARD_ERRORS**2
    spread = _N_STANDARD_ERRORS * np.sqrt(times * (1 - mean**2) + z2)
    found: FloatArray = (times * mean + spread) / (times + z2)
    return found


def shared_answers(person: NDArray[np.intp], answered: Comparisons) -> Shared:
    """Return what pairs of people have in common, by the majority of each person's answers to a question."""
    near, far = near_far_codes(answered.oriented, answered.n_objects)
    questions = question_indices(answered)
    shape = (int(person.max()) + 1, int(questions.max()) + 1)
    votes = csr_array(coo_array((np.where(near < far, 1, -1), (person, questions)), shape=shape))
    votes.sum_duplicates()
    votes.data = np.sign(votes.data)
    votes.eliminate_zeros()
    common = coo_array(abs(votes) @ abs(votes).T)
    chosen = common.row < common.col
    first, second = common.row[chosen].astype(np.intp), common.col[chosen].astype(np.intp)
    n_shared = common.data[chosen].astype(np.int64)
    net = csr_array(votes @ votes.T)
    agree = np.asarray(net[first, second]).ravel().astype(np.int64) if len(first) else n_shared
    return Shared(first, second, n_shared, (n_shared - agree) // 2)


def check_copies(context: Context) -> Iterator[Finding]:
    """Find people whose answers are, but for a few, those of somebody else."""
    comparisons = context.comparisons_with_metadata
    decided = ~is_tied(comparisons)
    if comparisons.annotators is None or not decided.any():
        return
    labels, person = factorize(comparisons.annotators[decided])
    pairs, n_compared = copied_pairs(shared_answers(person, comparisons[decided]))
    people = np.unique([(pair.first, pair.second) for pair in pairs]).astype(np.intp)
    context.counts |= {"n_copied": len(people), "n_pairs_compared": n_compared}
    if not pairs:
        return
    rows = [pair._asdict() | {"people": labels[[pair.first, pair.second]].tolist()} for pair in pairs[:10]]
    names = tuple(labels[people].tolist())
    yield Finding("copies", "warning", numbers={"pairs": rows}, concerned=names)

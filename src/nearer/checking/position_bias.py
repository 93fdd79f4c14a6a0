"""Which position on the screen people choose: always the same one, or the same one in long runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from nearer._common.findings import Finding
from nearer.checking.context import Context, IntArray

_ALPHA = 0.001  # of a false alarm in a whole study
_MIN_ANSWERS = 10  # of a person
_CONSTANT_SHARE = 0.95
_MAX_RUNS_SHARE = 1 / 3  # of people; if more of them repeat a position, the file is sorted by the answer


def check_constant_position(context: Context) -> Iterator[Finding]:
    """See whether all people together choose one position."""
    _, positions, n_positions = _known_positions(context)
    if n_positions == 0 or len(positions) < _MIN_ANSWERS:
        return
    shares = np.bincount(positions, minlength=n_positions) / len(positions)
    first = int(shares.argmax())
    context.counts["position_shares"] = shares.tolist()
    if shares[first] >= _CONSTANT_SHARE:
        numbers = {"share": float(shares[first]), "position": first, "n_positions": max(n_positions, 2)}
        yield Finding("constant-position", "warning", numbers=numbers)


def check_order(context: Context) -> Iterator[Finding]:
    """See whether the options were shuffled."""
    is_fixed = order_is_fixed(context)
    if context.answers.places is not None:
        context.counts["fixed_order"] = is_fixed
    if is_fixed:
        yield Finding("fixed-order", "note")


def order_is_fixed(context: Context) -> bool:
    """Whether equal answers are nearly always at one position, or positions depend on objects."""
    known, positions, n_positions = _known_positions(context)
    if n_positions < 2 or np.bincount(positions).max() >= _CONSTANT_SHARE * len(positions):
        return False
    hashes = context.answer_hashes[known]
    order = np.argsort(hashes, kind="stable")
    again = hashes[order][1:] == hashes[order][:-1]
    same = int((positions[order][1:] == positions[order][:-1])[again].sum())
    n_again = int(again.sum())
    if n_again >= _MIN_ANSWERS and same > _CONSTANT_SHARE * n_again:
        return True
    first = np.unique(context.answers.answer_of, return_index=True)[1]  # one comparison stands for an answer
    return any(
        _are_associated(objects[known], positions) for objects in context.comparisons.oriented[first][:, [1, 3]].T
    )


def _are_associated(objects: NDArray[Any], positions: IntArray) -> bool:
    """Whether a table of objects and positions is six standard deviations of chi2 from independence."""
    table = _contingency(objects, positions, int(objects.max()) + 1, int(positions.max()) + 1).astype(np.float64)
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    freedom = (table.shape[0] - 1) * (table.shape[1] - 1)
    return bool(((table - expected) ** 2 / expected).sum() > freedom + 6 * np.sqrt(2 * freedom) + 20)


def check_position_bias(context: Context) -> Iterator[Finding]:
    """Find people who choose one position far more than the others do."""
    known, positions, n_positions = _known_positions(context)
    if context.people is None or context.names is None or n_positions < 2 or order_is_fixed(context):
        return
    if len(context.names) < 2:
        return
    table = _contingency(context.people[known], positions, len(context.names), n_positions)
    asked = table.sum(axis=1)
    others = table.sum(axis=0) - table
    # One answer of each kind is added, so that what the others never do is rare and not impossible.
    expected = (others + 1) / (others + 1).sum(axis=1, keepdims=True)
    share = table / np.maximum(asked, 1)[:, None]
    tail = binom.sf(table - 1, asked[:, None], expected)
    # Halfway from what the others do to always: a slight habit is common and does no harm.
    flagged = (tail * table.size < _ALPHA) & (share > (1 + expected) / 2) & (asked >= _MIN_ANSWERS)[:, None]
    found = np.argwhere(flagged)
    context.counts["n_position_bias"] = len(found)
    if len(found) == 0:
        return
    people = [
        {
            "position": int(position),
            "n_chosen": int(table[person, position]),
            "n_answers": int(asked[person]),
            "share_of_others": float(expected[person, position]),
        }
        for person, position in found[:10]
    ]
    numbers, names = {"n_positions": n_positions, "people": people}, context.people_names(found[:, 0])
    yield Finding("position-bias", "warning", numbers=numbers, concerned=names)


def check_runs(context: Context) -> Iterator[Finding]:
    """Find people who choose the same position many times in a row."""
    known, positions, n_positions = _known_positions(context)
    if context.people is None or context.names is None or n_positions < 2 or order_is_fixed(context):
        return
    people, order = context.people[known], np.argsort(context.people[known], kind="stable")
    n_people = len(context.names)
    table = _contingency(people, positions, n_people, n_positions)
    asked = table.sum(axis=1)
    longest, position = _longest_runs(people[order], positions[order], n_people)
    share = table[np.arange(n_people), position] / np.maximum(asked, 1)
    # A run of length L can start at any answer: its probability is at most n * share^L, never small at a share of 1.
    chance = asked * np.maximum(share, 1 / n_positions) ** longest
    found = np.flatnonzero((chance * n_people < _ALPHA) & (longest >= _MIN_ANSWERS))
    context.counts |= {"n_runs": len(found), "longest_run": int(longest.max())}
    if len(found) == 0 or (n_people > 2 and len(found) > _MAX_RUNS_SHARE * n_people):
        return
    found = found[np.argsort(-longest[found], kind="stable")]
    runs = [{"position": int(position[each]), "length": int(longest[each])} for each in found[:10]]
    numbers, names = {"n_positions": n_positions, "people": runs}, context.people_names(found)
    yield Finding("position-runs", "warning", numbers=numbers, concerned=names)


def _known_positions(context: Context) -> tuple[NDArray[np.bool_], IntArray, int]:
    """Return which answers have a position, these positions, and how many different ones there are."""
    if context.answers.places is None:
        return np.zeros(len(context.answers), dtype=bool), np.empty(0, dtype=np.int64), 0
    known = context.answers.places >= 0
    positions = context.answers.places[known]
    return known, positions, int(positions.max(initial=-1)) + 1


def _contingency(people: NDArray[Any], positions: IntArray, n_people: int, n_positions: int) -> IntArray:
    """Return how many answers of each person are at each position."""
    return np.bincount(people * n_positions + positions, minlength=n_people * n_positions).reshape(
        n_people, n_positions
    )


def _longest_runs(people: NDArray[Any], positions: IntArray, n_people: int) -> tuple[IntArray, IntArray]:
    """Return the length and the position of the longest run of each person; answers are sorted by person."""
    change = np.flatnonzero(np.r_[True, (np.diff(people) != 0) | (np.diff(positions) != 0)])
    lengths = np.diff(np.r_[change, len(people)])
    order = np.argsort(lengths, kind="stable")  # so that the longest is written last
    longest, position = np.zeros(n_people, dtype=np.int64), np.zeros(n_people, dtype=np.int64)
    longest[people[change[order]]] = lengths[order]
    position[people[change[order]]] = positions[change[order]]
    return longest, position

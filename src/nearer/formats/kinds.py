"""From what was shown and answered to comparisons, a function for every kind of question.

Every function takes whole columns of positions in the list of objects and returns the comparisons of all rows at
once. With a, b, c for objects:

- odd-one-out: c is the odd one of a, b, c: a is nearer to b than to c, and b is nearer to a than to c;
- most-central: c is the central one: a is nearer to c than to b, and b is nearer to c than to a;
- grid: the anchor is nearer to everything chosen than to everything shown and not chosen;
- ranking: the anchor is nearer to what stands earlier than to what stands later, for all pairs.

"Can't tell" can be split: the comparisons of every possible answer, all with the same weight.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer._rows import identical, itself
from nearer.formats.faults import Faults
from nearer.formats.places import UNDECIDED
from nearer.formats.table import Codes

Rows = NDArray[np.int32]


@dataclass(frozen=True)
class Expansion:
    """Comparisons that follow from the rows of a table.

    Attributes
    ----------
    rows : ndarray of int, shape (m, 3) or (m, 4)
    row_of : ndarray of int, shape (m,)
        Row of the table; in order.
    places : ndarray of int, shape (n,), or None
        Place of what was chosen in every row of the table, -1 where it is not known.
    undecided : ndarray of bool, shape (n,)
    """

    rows: Rows
    row_of: NDArray[np.intp]
    places: NDArray[np.signedinteger[Any]] | None
    undecided: NDArray[np.bool_]


def two_options(
    pairs: tuple[list[Codes], list[Codes]], places: NDArray[np.int8], faults: Faults, split: bool
) -> Expansion:
    """Return comparisons of near pairs with far pairs where one of two was chosen.

    ``pairs`` holds the objects of each side: anchor and option, or two objects; an anchor is written once.
    """
    left, right = pairs
    undecided = (places == UNDECIDED) & ~faults.bad
    good = ~faults.bad & (undecided if split else places >= 0) | (~faults.bad & (places >= 0))
    kept = np.flatnonzero(good)
    copies = np.where(undecided[kept], 2, 1) if split else np.ones(len(kept), np.int64)
    row_of = np.repeat(kept, copies)
    turned = places[row_of] == 1
    if split and undecided.any():
        second = np.r_[False, row_of[1:] == row_of[:-1]]
        turned |= second
    near = [np.where(turned, b[row_of], a[row_of]) for a, b in zip(left, right, strict=True)]
    far = [np.where(turned, a[row_of], b[row_of]) for a, b in zip(left, right, strict=True)]
    same_anchor = left[0] is right[0]
    rows = np.stack([*near, *(far[1:] if same_anchor else far)], axis=1)
    return Expansion(rows, row_of, np.where(places >= 0, places, -1).astype(np.int8), undecided)


def three_objects(
    objects: list[Codes], places: NDArray[np.int8], faults: Faults, split: bool, central: bool
) -> Expansion:
    """Return comparisons where the odd or the central one of three was named."""
    undecided = (places == UNDECIDED) & ~faults.bad
    good = ~faults.bad & ((places >= 0) | (undecided & split))
    kept = np.flatnonzero(good)
    copies = np.where(undecided[kept], 6, 2)
    row_of = np.repeat(kept, copies)
    number = np.arange(len(row_of)) - np.repeat(np.cumsum(copies) - copies, copies)  # which comparison of its row
    shown = np.stack(objects, axis=1)[row_of]
    named = np.where(undecided[row_of], number // 2, places[row_of])
    others = np.array([(1, 2), (0, 2), (0, 1)])[named]
    every = np.arange(len(row_of))
    turned = number % 2 == 1
    first = shown[every, np.where(turned, others[:, 1], others[:, 0])]
    second = shown[every, np.where(turned, others[:, 0], others[:, 1])]
    third = shown[every, named]
    rows = np.stack([first, third, second] if central else [first, second, third], axis=1)
    return Expansion(rows, row_of, np.where(places >= 0, places, -1).astype(np.int8), undecided)


def near_lists(
    anchor: Codes,
    lists: NDArray[np.intp],
    pairs: list[NDArray[np.int32]],
    faults: Faults,
    undecided: NDArray[np.bool_],
    places: NDArray[np.signedinteger[Any]] | None,
) -> Expansion:
    """Return comparisons of an anchor with lists.

    ``lists`` has a number for every row, and ``pairs`` for every such number the objects (k, 2), nearer and farther.
    """
    kept = np.flatnonzero(~faults.bad)
    sizes = np.array([len(each) for each in pairs] or [0])
    starts = np.cumsum(sizes) - sizes
    flat = np.concatenate(pairs) if pairs else np.empty((0, 2), np.int32)
    copies = sizes[lists[kept]]
    row_of = np.repeat(kept, copies)
    number = np.arange(len(row_of)) - np.repeat(np.cumsum(copies) - copies, copies)
    taken = flat[starts[lists[row_of]] + number]
    rows = np.column_stack([anchor[row_of], taken]).astype(np.int32)
    return Expansion(rows, row_of, places, undecided)


def grid_pairs(shown: list[int], chosen: list[int]) -> NDArray[np.int32]:
    """Return every pair of something chosen and something not chosen; without a choice, all pairs both ways.

    Examples
    --------
    >>> grid_pairs([5, 6, 7], [7]).tolist()
    [[7, 5], [7, 6]]
    """
    if not chosen:
        return np.array(list(permutations(shown, 2)), np.int32).reshape(-1, 2)
    left = [each for each in shown if each not in chosen]
    return np.array([(near, far) for near in chosen for far in left], np.int32).reshape(-1, 2)


def ranking_pairs(ranking: list[int]) -> NDArray[np.int32]:
    """Return every pair of something ranked earlier and something ranked later.

    Examples
    --------
    >>> ranking_pairs([3, 1, 2]).tolist()
    [[3, 1], [3, 2], [1, 2]]
    """
    first, second = np.triu_indices(len(ranking), 1)
    ranked = np.array(ranking, np.int32)
    return np.stack([ranked[first], ranked[second]], axis=1)


def mark_degenerate(columns: list[Codes], labels: list[object], faults: Faults) -> None:
    """Add rows that compare an object with itself: two columns hold the same object.

    ``columns`` are anchor, near and far, or two pairs; any three objects that must differ will do.
    """
    rows = np.stack(columns, axis=1)
    whole = (rows >= 0).all(axis=1)
    if len(columns) == 4:
        faults.add(whole & itself(rows), "an object is compared with itself")
        faults.add(whole & identical(rows), "both pairs are the same pair")
        return

    def twice(row: int) -> str:
        a, b, c = rows[row].tolist()
        return f"{str(labels[a if a in (b, c) else b])[:60]!r} is there twice"

    faults.add(whole & (itself(rows) | identical(rows)), twice)

"""From what was shown and answered to comparisons, a function for every kind of question.

Every function takes whole columns of positions in the list of objects and returns the comparisons of all rows at
once. With a, b, c for objects:

- odd-one-out: c is the odd one of k items: of all others, a is nearer to b than to c, for every ordered pair (a, b);
- most-central: c is the central one of k items: of all others, a is nearer to c than to b, for every ordered pair;
- grid: the anchor is nearer to everything chosen than to everything shown and not chosen;
- ranking: the anchor is nearer to what stands earlier than to what stands later, for all pairs;
- ranked-grid: both, with everything shown and not chosen behind what was chosen.

Both make (k - 1)(k - 2) comparisons. They are what "c is farthest from all the others" and "c is nearest to all the
others" say about pairs that share an object: whoever finds c odd because it is far from everything finds each other
item nearer to any third than to c. Nothing is said of pairs without a common object, and nothing that does not involve
c. With k = 3 these are the two comparisons that the choice of the closest pair, or of the farthest, says. A trial has a
total weight of 1, however many items it shows: a choice among more items is still one choice.

"Can't tell" can be split: the comparisons of every possible answer, all with the same weight.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer.data.rows import compares_same_pair, compares_with_itself
from nearer.io.faults import Faults
from nearer.io.places import UNDECIDED
from nearer.io.table import Codes, shortened

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


def one_of_items(items: Codes, places: NDArray[np.int8], faults: Faults, split: bool, central: bool) -> Expansion:
    """Return comparisons where the odd or the central one of several was named.

    ``items`` has a column for each place, (n, k), and -1 where a row has fewer. Rows that show and answer at the same
    places have the same pattern, which is worked out once.
    """
    undecided = (places == UNDECIDED) & ~faults.bad
    kept = np.flatnonzero(~faults.bad & ((places >= 0) | (undecided & split)))
    shown, named = items[kept], np.where(undecided[kept], -1, places[kept])
    n_places = items.shape[1]
    keys = ((shown >= 0) @ (1 << np.arange(n_places))) * (n_places + 1) + named + 1
    distinct, pattern_of = np.unique(keys, return_inverse=True)
    patterns = [_pattern(key // (n_places + 1), key % (n_places + 1) - 1, central) for key in distinct.tolist()]
    copies = np.array([len(pattern) for pattern in patterns] or [0])[pattern_of]
    starts = np.cumsum(copies) - copies
    rows = np.empty((int(copies.sum()), 3), np.int32)
    for at, pattern in enumerate(patterns):
        alike = np.flatnonzero(pattern_of == at)
        rows[starts[alike, None] + np.arange(len(pattern))] = shown[alike[:, None, None], pattern]
    return Expansion(rows, np.repeat(kept, copies), np.where(places >= 0, places, -1).astype(np.int8), undecided)


def _pattern(present: int, named: int, central: bool) -> NDArray[np.intp]:
    """Return the places, (m, 3), of anchor, near and far; ``present`` has a bit for every place that shows an item."""
    shown = [place for place in range(present.bit_length()) if present >> place & 1]
    rows = []
    for one in shown if named < 0 else [named]:
        others = [place for place in shown if place != one]
        rows += [(a, one, b) if central else (a, b, one) for a, b in permutations(others, 2)]
    return np.array(rows, np.intp).reshape(-1, 3)


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


def ranked_pairs(shown: list[int], chosen: list[int]) -> NDArray[np.int32]:
    """Return every pair of something chosen and something chosen later or not at all.

    Examples
    --------
    >>> ranked_pairs([5, 6, 7, 8], [7, 5]).tolist()
    [[7, 5], [7, 6], [7, 8], [5, 6], [5, 8]]
    """
    if not chosen:
        return grid_pairs(shown, chosen)
    left = [each for each in shown if each not in chosen]
    pairs = [(near, far) for at, near in enumerate(chosen) for far in [*chosen[at + 1 :], *left]]
    return np.array(pairs, np.int32).reshape(-1, 2)


def mark_twice(items: Codes, labels: list[Any], faults: Faults) -> None:
    """Add rows in which an item, (n, k) with -1 for none, is there twice."""
    ordered = np.sort(items, axis=1)
    same = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)

    def twice(row: int) -> str:
        return f"{shortened(labels[ordered[row, 1:][same[row]][0]])} is there twice"

    faults.add_twice(same.any(axis=1), twice)


def mark_degenerate(columns: list[Codes], labels: list[object], faults: Faults) -> None:
    """Add rows that compare an object with itself: two columns hold the same object.

    ``columns`` are anchor, near and far, or two pairs; any three objects that must differ will do.
    """
    rows = np.stack(columns, axis=1)
    whole = (rows >= 0).all(axis=1)
    if len(columns) == 4:
        faults.add(whole & compares_with_itself(rows), "an object is compared with itself")
        faults.add(whole & compares_same_pair(rows), "both pairs are the same pair")
        return

    def twice(row: int) -> str:
        a, b, c = rows[row].tolist()
        return f"{str(labels[a if a in (b, c) else b])[:60]!r} is there twice"

    faults.add_twice(whole & (compares_with_itself(rows) | compares_same_pair(rows)), twice)

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

The objects that a table names: one list of labels, and positions in it for every cell.

Lists of objects: in one cell, or over numbered columns; and items of which one was named, the odd or central one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer.data.rows import has_equal_pairs, has_self_comparison
from nearer.io.choice_coding import UNDECIDED
from nearer.io.table import Codes, Column, Numbers, RowErrors

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
    pairs: tuple[list[Codes], list[Codes]], places: NDArray[np.int8], errors: RowErrors, split: bool
) -> Expansion:
    """Return comparisons of near pairs with far pairs where one of two was chosen.

    ``pairs`` holds the objects of each side: anchor and option, or two objects; an anchor is written once.
    """
    left, right = pairs
    undecided = (places == UNDECIDED) & ~errors.bad
    good = ~errors.bad & (undecided if split else places >= 0) | (~errors.bad & (places >= 0))
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


def one_of_items(items: Codes, places: NDArray[np.int8], errors: RowErrors, split: bool, central: bool) -> Expansion:
    """Return comparisons where the odd or the central one of several was named.

    ``items`` has a column for each place, (n, k), and -1 where a row has fewer. Rows that show and answer at the same
    places have the same pattern, which is worked out once.
    """
    undecided = (places == UNDECIDED) & ~errors.bad
    kept = np.flatnonzero(~errors.bad & ((places >= 0) | (undecided & split)))
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
    errors: RowErrors,
    undecided: NDArray[np.bool_],
    places: NDArray[np.signedinteger[Any]] | None,
) -> Expansion:
    """Return comparisons of an anchor with lists.

    ``lists`` has a number for every row, and ``pairs`` for every such number the objects (k, 2), nearer and farther.
    """
    kept = np.flatnonzero(~errors.bad)
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


def mark_twice(items: Codes, labels: list[Any], errors: RowErrors) -> None:
    """Add rows in which an item, (n, k) with -1 for none, is there twice."""
    ordered = np.sort(items, axis=1)
    same = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)

    errors.add(same.any(axis=1), "twice", lambda row: {"concerned": (labels[ordered[row, 1:][same[row]][0]],)})


def mark_degenerate(columns: list[Codes], labels: list[object], errors: RowErrors) -> None:
    """Add rows that compare an object with itself: two columns hold the same object.

    ``columns`` are anchor, near and far, or two pairs; any three objects that must differ will do.
    """
    rows = np.stack(columns, axis=1)
    whole = (rows >= 0).all(axis=1)
    if len(columns) == 4:
        errors.add(whole & has_self_comparison(rows), "itself")
        errors.add(whole & has_equal_pairs(rows), "same-pair")
        return

    def twice(row: int) -> Numbers:
        a, b, c = rows[row].tolist()
        return {"concerned": (labels[a if a in (b, c) else b],)}

    errors.add(whole & (has_self_comparison(rows) | has_equal_pairs(rows)), "twice", twice)


LONGEST_LABEL = 2000
_OUTSIDE, _TOO_LONG = -2, -3


class Objects:
    """All labels of a table, sorted; integers if every one of them is an integer, else text.

    Parameters
    ----------
    columns : list of Column
    listed : iterable of str
        Labels that stand in lists.
    names : list, optional
        Labels that the integers in the columns are positions of.
    """

    def __init__(self, columns: list[Column], listed: Iterable[str] = (), names: list[Any] | None = None) -> None:
        self.named = names is not None
        values = {value for column in columns for value in column.values}
        more = set(listed)
        if names is not None:
            self.labels = list(names)
        elif all(isinstance(value, int) for value in values) and all(_is_integer(text) for text in more) and values:
            self.labels = sorted(values | {int(text) for text in more})
        else:
            self.labels = sorted(text for value in values | more if len(text := str(value)) <= LONGEST_LABEL)
            self.labels = list(dict.fromkeys(self.labels))
        self.position = {str(label): position for position, label in enumerate(self.labels)}

    def _place(self, value: Any) -> int:
        if self.named:
            return value if isinstance(value, int) and 0 <= value < len(self.labels) else _OUTSIDE
        return self.position.get(str(value), _TOO_LONG)

    def codes(self, column: Column, what: str, errors: RowErrors, must: bool = True) -> Codes:
        """Return positions of the objects in a column, -1 where there is none.

        Rows without an object are added to the errors if they ``must`` have one.
        """
        codes = np.asarray(column.mapped(self._place, -1, np.int32))
        if must:
            errors.add(codes == -1, "missing", what=what)
        if self.named:
            n_objects = len(self.labels)
            errors.add(
                codes == _OUTSIDE, "unknown-index", lambda row: {"value": column.value(row), "n_objects": n_objects}
            )
        errors.add(codes == _TOO_LONG, "long-label", what=what, most=LONGEST_LABEL)
        return codes

    def array(self, kept: NDArray[np.bool_] | None = None) -> NDArray[Any]:
        """Return the labels, or those that are kept, as an array."""
        chosen = self.labels if kept is None else [label for label, keep in zip(self.labels, kept, strict=True) if keep]
        return label_array(chosen)


def _is_integer(text: str) -> bool:
    return text.isascii() and text.isdigit() and (text == "0" or text[0] != "0") and len(text) < 18


def label_array(labels: list[Any]) -> NDArray[Any]:
    """Return labels as an array of integers or of text."""
    if labels and all(isinstance(label, int) for label in labels):
        try:
            return np.array(labels, np.int64)
        except OverflowError:
            pass
    return np.array([str(label) for label in labels], np.str_)


def spread(values: list[Any], codes: NDArray[Any]) -> NDArray[Any]:
    """Return ``values[codes]`` as labels; long columns of long text share their strings."""
    labels = label_array(values)
    if labels.dtype.kind == "U" and labels.dtype.itemsize * len(codes) > 2**28:
        labels = labels.astype(object)
    return np.asarray(labels[codes])


_SEPARATORS = (";", "|", ",")
_LEAST, _MOST = 3, 50  # items of a question


def split_column(column: Column) -> list[tuple[str, ...]]:
    """Return the list in every distinct cell of a column, all separated alike.

    Examples
    --------
    >>> split_column(Column(np.array([0, 1], np.int32), ["red car; bus", '["cat", "dog"]']))
    [('red car', 'bus'), ('cat', 'dog')]
    """
    texts = [str(value) for value in column.values]
    unquoted = [text for text in texts if not text.startswith("[")]
    separator = next((each for each in _SEPARATORS if any(each in text for text in unquoted)), None)
    return [_json_list(text) or _cut(text, separator) for text in texts]


def readings(text: str) -> Iterator[tuple[str, ...]]:
    """Return the ways to read a cell as a list, the likeliest first; a label may hold spaces."""
    listed = _json_list(text)
    if listed is not None:
        yield listed
    yield (text,)
    for separator in (*_SEPARATORS, None):
        yield _cut(text, separator)


def _cut(text: str, separator: str | None) -> tuple[str, ...]:
    parts = text.split() if separator is None else [part.strip() for part in text.split(separator)]
    return tuple(part for part in parts if part)


def _json_list(text: str) -> tuple[str, ...] | None:
    if not text.startswith("["):
        return None
    try:
        listed = json.loads(text)
    except (ValueError, RecursionError):
        inner = text.strip("[]")  # Python and R print lists with single quotes, or with none
        return tuple(part.strip(" '\"") for part in inner.split(",") if part.strip(" '\""))
    if not isinstance(listed, list):
        return None
    items = (item if isinstance(item, str) else json.dumps(item) for item in listed if item is not None)
    return tuple(item.strip() for item in items if item.strip())


def join_columns(columns: list[Column]) -> tuple[NDArray[np.int64], list[tuple[Any, ...]]]:
    """Return numbered columns as one: a code for every row, and the distinct lists; empty cells are left out."""
    table = np.stack([column.codes for column in columns], axis=1)
    distinct, codes = np.unique(table, axis=0, return_inverse=True)
    lists = [
        tuple(str(column.values[code]) for column, code in zip(columns, row, strict=True) if code >= 0)
        for row in distinct.tolist()
    ]
    return codes.reshape(-1), lists


def read_lists(columns: list[Column]) -> tuple[NDArray[np.intp], list[tuple[str, ...]]]:
    """Return the number of the list in every row, and the lists; an empty list comes last."""
    if len(columns) > 1:
        codes, lists = join_columns(columns)
        return codes.astype(np.intp), [*lists, ()]
    return columns[0].codes.astype(np.intp), [*split_column(columns[0]), ()]


def positions(items: tuple[str, ...], objects: Objects) -> tuple[int, ...]:
    """Return where items are in the list of objects, -1 for those that are not."""
    if objects.named:
        n = len(objects.labels)
        return tuple(int(i) if i.isascii() and i.isdigit() and len(i) < 10 and int(i) < n else -1 for i in items)
    return tuple(objects.position.get(item, -1) for item in items)


def read_items(columns: list[Column], errors: RowErrors, names: list[Any] | None) -> tuple[Objects, Codes]:
    """Return all objects, and which of them each place shows, (n, k), -1 where a row shows fewer.

    Rows that show fewer than three items, or one twice, are added to the errors.
    """
    if len(columns) > _MOST:
        raise ValueError(f"{len(columns)} columns of items; a question may show {_MOST}")
    objects, items = _in_columns(columns, errors, names) if len(columns) > 1 else _in_lists(columns[0], errors, names)
    errors.add((items >= 0).sum(axis=1) < _LEAST, "few-objects")
    mark_twice(items, objects.labels, errors)
    return objects, items


def _in_columns(columns: list[Column], errors: RowErrors, names: list[Any] | None) -> tuple[Objects, Codes]:
    objects = Objects(columns, names=names)
    return objects, np.stack([objects.codes(column, "object", errors, must=False) for column in columns], axis=1)


def _in_lists(column: Column, errors: RowErrors, names: list[Any] | None) -> tuple[Objects, Codes]:
    list_of, lists = read_lists([column])
    objects = Objects([], (item for each in lists for item in each), names)
    longest = np.array([len(each) for each in lists])
    errors.add(longest[list_of] > _MOST, "many-objects", most=_MOST)
    table = np.full((len(lists), min(int(longest.max()), _MOST)), -1, np.int32)
    unknown = np.zeros(len(lists), bool)
    for at, each in enumerate(lists):
        codes = positions(each[:_MOST], objects)
        unknown[at] = -1 in codes
        table[at, : len(codes)] = codes
    errors.add(unknown[list_of], "unknown-item", most=LONGEST_LABEL)
    return objects, np.asarray(table[list_of])

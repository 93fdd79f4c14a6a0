"""Lists of objects: in one cell, or over numbered columns; and items of which one was named, the odd or central one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer.io.faults import Faults
from nearer.io.kinds import mark_twice
from nearer.io.objects import LONGEST_LABEL, Objects
from nearer.io.table import Codes, Column

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


def read_items(columns: list[Column], faults: Faults, names: list[Any] | None) -> tuple[Objects, Codes]:
    """Return all objects, and which of them each place shows, (n, k), -1 where a row shows fewer.

    Rows that show fewer than three items, or one twice, are added to the faults.
    """
    if len(columns) > _MOST:
        raise ValueError(f"{len(columns)} columns of items; a question may show {_MOST}")
    objects, items = _in_columns(columns, faults, names) if len(columns) > 1 else _in_lists(columns[0], faults, names)
    faults.add((items >= 0).sum(axis=1) < _LEAST, "there are fewer than three objects")
    mark_twice(items, objects.labels, faults)
    return objects, items


def _in_columns(columns: list[Column], faults: Faults, names: list[Any] | None) -> tuple[Objects, Codes]:
    objects = Objects(columns, names=names)
    return objects, np.stack([objects.codes(column, "object", faults, must=False) for column in columns], axis=1)


def _in_lists(column: Column, faults: Faults, names: list[Any] | None) -> tuple[Objects, Codes]:
    list_of, lists = read_lists([column])
    objects = Objects([], (item for each in lists for item in each), names)
    longest = np.array([len(each) for each in lists])
    faults.add(longest[list_of] > _MOST, f"the list holds more than {_MOST} objects")
    table = np.full((len(lists), min(int(longest.max()), _MOST)), -1, np.int32)
    unknown = np.zeros(len(lists), bool)
    for at, each in enumerate(lists):
        codes = positions(each[:_MOST], objects)
        unknown[at] = -1 in codes
        table[at, : len(codes)] = codes
    reason = f"a name in the list is longer than {LONGEST_LABEL} characters, or none of the objects"
    faults.add(unknown[list_of], reason)
    return objects, np.asarray(table[list_of])

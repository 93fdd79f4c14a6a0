"""Lists of objects: in one cell, or over numbered columns."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer.formats.table import Column

_SEPARATORS = (";", "|", ",")


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

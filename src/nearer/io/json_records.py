"""JSON: an object a line, or arrays of objects.

Servers of experiments write one array of objects a line for every person, or for every part of an experiment, or an
object for every person with the array in it; those read like one long array, and what such an object says of the person
goes with every row. Where several lines are arrays, a column says which line a row is from, or which array if a line
has several. An object in a cell makes columns of its own, "question.anchor", beside the cell.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from nearer.io.answers import BadRow
from nearer.io.table import MOST_BAD_ROWS_KEPT, Encoder, Loaded, Table, cell

JSON_LINE = "json_line"  # the column of lines, where each may be a person's
_SPACES = re.compile(r"\s*")
_INSIDE = ("trials", "data", "responses", "answers")  # where an array of objects hides in an object of its own


def json_table(data: bytes, source: str) -> Table:
    """Return the table in JSON text: rows are numbered from 1 where one is in an array, and else by their lines."""
    text = data.decode("utf-8", "replace")
    whole = _parsed(text)
    listed = _array_in(whole)
    entries = list(enumerate(listed, 1)) if listed is not None else _of_lines(text)
    records = [(number, _flat(entry)) for number, entry in entries if isinstance(entry, dict)]
    odd = [(number, entry) for number, entry in entries if not isinstance(entry, dict)]
    if not records:
        raise ValueError(
            f"{source} holds no JSON objects; write an object a line, such as "
            '{"anchor": "cat", "near": "dog", "far": "car"}'
        )
    bad_rows = [
        BadRow(source, number, entry.reason if isinstance(entry, _Broken) else "is no JSON object such as {...}")
        for number, entry in odd[:MOST_BAD_ROWS_KEPT]
    ]
    names = tuple(dict.fromkeys(str(name) for _, record in records for name in record))

    def load(wanted: Sequence[str]) -> Loaded:
        columns = {}
        for name in wanted:
            encoder = Encoder()
            encoder.add([_text(record.get(name)) for _, record in records])
            columns[name] = encoder.column(strip="nearer_kind" not in names)
        lines = np.fromiter((number for number, _ in records), np.int64, len(records))
        return Loaded(columns, lines, bad_rows, len(odd))

    return Table(source, names, load)


class _Broken(NamedTuple):
    """A line that is no JSON, in place of all its answers."""

    line: int

    @property
    def reason(self) -> str:
        """What is wrong with it."""
        return f"is line {self.line} of the file, which is no JSON (was it cut off?): all answers on it are missing"


def _of_lines(text: str) -> list[tuple[int, Any]]:
    """Return what lines hold, with the line; numbered throughout where one holds several answers."""
    entries: list[tuple[int, Any]] = []
    arrays: list[int] = []  # for each entry the line of its array, and its number if a line has several
    lines = [(number, _values(line)) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    several = any(sum(_array_in(value) is not None for value in values) > 1 for _, values in lines)
    n_arrays = 0
    for number, values in lines:
        for value in values:
            inside = _array_in(value)
            n_arrays += inside is not None
            items = inside if inside is not None else [_Broken(number) if value is None else value]
            entries += [(number, item) for item in items]
            arrays += [n_arrays if several else number] * len(items)
    if n_arrays > 1:
        entries = [
            (number, {JSON_LINE: array, **item} if isinstance(item, dict) else item)
            for (number, item), array in zip(entries, arrays, strict=True)
        ]
    if len({number for number, _ in entries}) == len(entries):  # numbers of rows are those of lines
        return [(number, None if isinstance(item, _Broken) else item) for number, item in entries]
    return [(at, item) for at, (_, item) in enumerate(entries, 1)]


def _values(line: str) -> list[Any]:
    """Return the values in a line, where programs write several one behind the other; None for what is no JSON.

    Examples
    --------
    >>> _values('[1, 2][3]'), _values('[1] and more')
    ([[1, 2], [3]], [None])
    """
    line = line.strip()
    values, at, decoder = [], 0, json.JSONDecoder()
    while at < len(line):
        try:
            value, at = decoder.raw_decode(line, _SPACES.match(line, at).end())  # type: ignore[union-attr]
        except (ValueError, RecursionError):
            return [None]
        values.append(value)
    return values


def _parsed(text: str) -> Any:
    """Return the value, or None for text that is no JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _array_in(value: Any) -> list[Any] | None:
    if isinstance(value, list):
        inside = [_rows_in(item) for item in value]
        return [row for rows in inside for row in rows or ()] if value and all(inside) else value
    return _rows_in(value)


def _rows_in(value: Any) -> list[Any] | None:
    """Return the array of objects that hides in an object, with what the object says beside it."""
    for name in _INSIDE if isinstance(value, dict) else ():
        inside = value.get(name)
        if isinstance(inside, list) and inside and all(isinstance(item, dict) for item in inside):
            outer = {key: cell for key, cell in value.items() if not isinstance(cell, list | dict)}
            return [outer | item for item in inside]
    return None


def _flat(record: dict[str, Any]) -> dict[str, Any]:
    inner = {
        f"{name}.{key}": each
        for name, value in record.items()
        if isinstance(value, dict)
        for key, each in value.items()
    }
    return inner | record


def _text(value: Any) -> Any:
    """Return a cell as text: in text files the label 1 is "1"."""
    value = json.dumps(value) if isinstance(value, dict) else cell(value)
    return None if value is None else str(value)

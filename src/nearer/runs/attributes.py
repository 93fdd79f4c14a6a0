"""Columns to colour a map by, from a file with one row for each object."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from nearer.formats.inert import original

_LABELS = ("object", "label", "name", "item", "stimulus", "id")


def read_attributes(path: Path, objects: Sequence[str]) -> dict[str, list[float | None] | list[str | None]]:
    """Return the columns of a CSV file, ordered as the objects are; None where an object or a value is missing.

    The column of labels is the one called object, label, name, item, stimulus or id, or else the first. A column whose
    values are all numbers is one of numbers.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
        rows = [row for row in csv.reader(text.splitlines()) if any(cell.strip() for cell in row)]
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{path} is no CSV file in UTF-8: {error}; save it as CSV UTF-8") from error
    if len(rows) < 2 or len(rows[0]) < 2:
        raise ValueError(f"{path} needs a header, a column of labels and at least one more column")
    names = [name.strip() for name in rows[0]]
    labels = next((k for k, name in enumerate(names) if name.lower() in _LABELS), 0)
    wrong = next((k for k, row in enumerate(rows, 1) if len(row) != len(names)), None)
    if wrong is not None:
        raise ValueError(f"{path}: row {wrong} has {len(rows[wrong - 1])} cells and the header {len(names)}")
    cells = {original(row[labels].strip()): [cell.strip() for cell in row] for row in rows[1:]}
    if not any(label in cells for label in objects):
        raise ValueError(
            f"{path}: no label of its column {names[labels]!r} is an object of the map, such as {objects[0]!r}; "
            "call the column of labels 'object'"
        )
    empty = [""] * len(names)
    columns = {
        name: [cells.get(label, empty)[k] or None for label in objects]
        for k, name in enumerate(names)
        if k != labels and name
    }
    return {name: numbers_or_words(column) for name, column in columns.items()}


def numbers_or_words(column: list[str | None]) -> list[float | None] | list[str | None]:
    """Return a column as numbers if all its values are.

    Examples
    --------
    >>> numbers_or_words(["1", None, "2.5"]), numbers_or_words(["1", "two"])
    ([1.0, None, 2.5], ['1', 'two'])
    """
    import math

    try:
        numbers = [None if cell is None else float(cell) for cell in column]
    except ValueError:
        return column
    finite = all(number is None or math.isfinite(number) for number in numbers)
    return numbers if finite and any(number is not None for number in numbers) else column

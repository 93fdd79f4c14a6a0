"""Columns to colour a map by, from a file with one row for each object."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from pathlib import Path

from nearer._common.formatting import pluralize, quote_all
from nearer._common.tables import unescape_formula
from nearer.io.delimited import as_utf8, delimited_table, read_bytes
from nearer.io.labels import same_objects
from nearer.io.messages import sentence

_LABELS = ("object", "label", "name", "item", "stimulus", "id")


def read_attributes(path: Path, objects: Sequence[str]) -> dict[str, list[float | None] | list[str | None]]:
    """Return the columns of a table, ordered as the objects are; None where an object or a value is missing.

    The column of labels is the one called object, label, name, item, stimulus or id, or else the first. A column whose
    values are all numbers is one of numbers. Labels that are not on the map, and objects without a row, are warned of.
    """
    table = delimited_table(as_utf8(read_bytes(path), path.name)[0], path.name)
    if len(table.names) < 2:
        raise ValueError(f"{path} needs a column of labels and at least one more column")
    loaded = table.load(table.names)
    if loaded.n_bad:
        raise ValueError(sentence(loaded.bad_rows[0]))
    columns = [column.map_values(str, "", object).tolist() for column in loaded.columns.values()]
    key = next((k for k, name in enumerate(table.names) if name.strip().lower() in _LABELS), 0)
    labels = [unescape_formula(label) for label in columns[key]]
    on_map = set(objects)
    same = same_objects([label for label in labels if label not in on_map], objects)
    labels = [same.get(label, label) if same.get(label) not in labels else label for label in labels]
    row_of = {label: row for row, label in enumerate(labels)}
    if len(row_of) < len(labels):
        double = next(label for label in labels if labels.count(label) > 1)
        raise ValueError(f"{path}: {double!r} has several rows; give each object one")
    if not any(label in row_of for label in objects):
        raise ValueError(
            f"{path}: no label of its column {table.names[key]!r} is an object of the map, such as {objects[0]!r}; "
            "call the column of labels 'object'"
        )
    strange, bare = [label for label in labels if label not in on_map], [each for each in objects if each not in row_of]
    said = []
    if strange:
        said.append(f"{pluralize(len(strange), 'label is', 'labels are')} not on the map: {quote_all(strange, 10)}")
    if bare:
        said.append(f"{pluralize(len(bare), 'object has', 'objects have')} no attributes: {quote_all(bare, 10)}")
    if said:
        warnings.warn(f"{path.name}: {'; '.join(said)}", UserWarning, stacklevel=2)
    rows = [row_of.get(label) for label in objects]
    return {
        name: numbers_or_words([None if row is None else column[row] or None for row in rows])
        for k, (name, column) in enumerate(zip(table.names, columns, strict=True))
        if k != key
    }


def numbers_or_words(column: list[str | None]) -> list[float | None] | list[str | None]:
    """Return a column as numbers if all its values are.

    Examples
    --------
    >>> numbers_or_words(["1", None, "2.5"]), numbers_or_words(["1", "two"])
    ([1.0, None, 2.5], ['1', 'two'])
    """
    try:
        numbers = [None if cell is None else float(cell) for cell in column]
    except ValueError:
        return column
    finite = all(number is None or math.isfinite(number) for number in numbers)
    return numbers if finite and any(number is not None for number in numbers) else column

"""Tables as CSV, in which no cell is a formula to a spreadsheet.

Spreadsheets take a cell that begins with = + - @, a tab or a carriage return for a formula. Such labels are written
with an apostrophe before them, as are labels that begin with apostrophes and one of these, so that one apostrophe
less gives back exactly what was there. Files written here are known by their column ``nearer_kind``.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

_FORMULA_START = re.compile(r"'*[=+\-@\t\r]")
_ESCAPED_FORMULA = re.compile(r"'+[=+\-@\t\r]")


def escape_formula(label: str) -> str:
    """Return a label as it is written into a cell: with an apostrophe before what a spreadsheet would run."""
    return f"'{label}" if _FORMULA_START.match(label) else label


def unescape_formula(cell: Any) -> Any:
    """Return the label that was written as a cell."""
    return cell[1:] if isinstance(cell, str) and _ESCAPED_FORMULA.match(cell) else cell


def cell_text(value: Any) -> str:
    """Return the text of a cell: numbers to the last digit, nothing for None, NaN and infinity, labels escaped."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float):
        return repr(value) if np.isfinite(value) else ""
    return "" if value is None else escape_formula(value) if isinstance(value, str) else str(value)


def csv_text(rows: Iterable[Iterable[Any]], *, delimiter: str = ",", line_end: str = "\r\n") -> str:
    r"""Return rows of cells, the header first, as CSV.

    Lines end in ``\r\n``, or a label with a carriage return in it would not be quoted.
    """
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator=line_end)
    writer.writerows([cell_text(cell) for cell in row] for row in rows)
    return text.getvalue()


def rows_from_records(records: Sequence[Mapping[str, Any]]) -> list[list[Any]]:
    """Return records as rows of a table, with a column for every key that one of them has."""
    columns = list(dict.fromkeys(key for record in records for key in record))
    return [columns, *([record.get(column) for column in columns] for record in records)]


def coordinate_rows(labels: Iterable[Any], points: Iterable[Iterable[float]], names: Sequence[str]) -> list[list[Any]]:
    """Return a row for each object, of its label and its numbers, below the names of the columns."""
    return [["object", *names], *([str(label), *row] for label, row in zip(labels, points, strict=True))]

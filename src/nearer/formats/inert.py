"""Cells that a spreadsheet would run as formulas, made inert and back.

Spreadsheets take a cell that begins with = + - @, a tab or a carriage return for a formula. Such labels are written
with an apostrophe before them, as are labels that begin with apostrophes and one of these, so that one apostrophe
less gives back exactly what was there. Files written here are known by their column ``nearer_kind``.
"""

from __future__ import annotations

import re
from typing import Any

from nearer.formats.table import Column, merged

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_INERT = re.compile(r"'+[=+\-@\t\r]")


def inert(label: str) -> str:
    """Return a label as it is written into a cell.

    Examples
    --------
    >>> inert("=cmd()"), inert("cat")
    ("'=cmd()", 'cat')
    """
    return f"'{label}" if _FORMULA.match(label) else label


def original(cell: Any) -> Any:
    """Return the label that was written as a cell.

    Examples
    --------
    >>> original("'=cmd()"), original("'tis")
    ('=cmd()', "'tis")
    """
    return cell[1:] if isinstance(cell, str) and _INERT.match(cell) else cell


def restored(column: Column) -> Column:
    """Return a column with all its labels as they were."""
    return merged(column.codes, [original(value) for value in column.values])

"""Columns that hold no objects, whatever their names are.

A text that is the same in every row, and that no other column holds, is what people were asked, not what they were
asked about. So is HTML without a picture or a sound where other columns hold pictures, sounds or plain names. What was
found nearer or farther follows from answers and is no prompt. A column that the caller names is always believed, and
so is plain text under the very name of its role, such as the one object that a column "anchor" holds.
"""

from __future__ import annotations

import re
from collections import Counter

import numpy as np

from nearer.data.frame_columns import plain
from nearer.formats.layouts import ANSWERS, LISTS, NEAR_FAR, Found
from nearer.formats.table import Column, Loaded, shortened

_FEW_ROWS = 5  # in fewer rows than these, plain names may well be the same by chance
_TAG = re.compile(r"<\s*/?\s*[a-zA-Z][^>]*>")
_MEDIA = re.compile(r"<\s*(img|image|audio|video|source|picture|object|embed|svg|canvas|iframe)\b", re.IGNORECASE)
_MOSTLY = 0.9  # share of cells that tells what a column holds


def no_objects(loaded: Loaded, found: Found, believed: set[str], lists_too: bool) -> dict[str, str]:
    """Return the columns found that hold no objects, and why.

    ``believed`` are columns that the caller named; ``lists_too`` says that another reading of the table does without
    the column of lists, so that one list in all rows is what the buttons said.
    """
    names = {name for role in found.layout.roles if role not in ANSWERS for name in found.roles[role]}
    lists = {name for role in LISTS for name in found.roles.get(role, ()) if len(found.roles[role]) == 1}
    roles = {plain(role) for role in found.layout.roles}
    reasons: dict[str, str] = {}
    html = {name for name in names if _share(loaded.columns[name], _TAG) > _MOSTLY}
    media = {name for name in html if _share(loaded.columns[name], _MEDIA) > _MOSTLY}
    for name in sorted(names - believed - found.columns_of(["near", "far", *NEAR_FAR])):
        column = loaded.columns[name]
        if name in lists:
            if lists_too and len(_cells(column)) == 1 and len(column.codes) > 1:
                reasons[name] = "holds the same list in every row"
        elif (
            (constant := _constant(column, name in html)) is not None
            and (name in html or plain(name) not in roles)
            and not any(constant in _cells(loaded.columns[other]) for other in names - {name})
        ):
            reasons[name] = f"holds the same text in every row ({shortened(constant, 40)})"
        elif name in html and name not in media and (html != names or media):
            reasons[name] = "holds HTML beside plain names" if html != names else "holds HTML beside pictures or sounds"
    return reasons


def _cells(column: Column) -> Counter[str]:
    counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.values))
    return Counter({str(value): int(count) for value, count in zip(column.values, counts, strict=True) if count})


def _constant(column: Column, is_html: bool) -> str | None:
    """Return the one text of a column; numbers are indices of objects, which may well be the same."""
    cells = _cells(column)
    if len(cells) != 1:
        return None
    ((text, n_rows),) = cells.items()
    number = any(isinstance(value, int) for value in column.values) or re.fullmatch(r"[+-]?[\d.,]+", text)
    return None if number or n_rows < (2 if is_html else _FEW_ROWS) else text


def _share(column: Column, pattern: re.Pattern[str]) -> float:
    cells = _cells(column)
    total = sum(cells.values())
    return sum(count for text, count in cells.items() if pattern.search(text)) / total if total else 0.0

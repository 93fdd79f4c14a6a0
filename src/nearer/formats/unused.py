"""Columns that hold objects and take no part in a reading: always told, because an object may be missing."""

from __future__ import annotations

import re

from nearer.formats.columns import Found, listing
from nearer.formats.lists import readings
from nearer.formats.names import STEMS, by_plain, families
from nearer.formats.table import Column, Table

_MOSTLY = 0.5
_ENOUGH = 1000  # rows that show what a column holds
_MEMBER = re.compile(rf"({'|'.join(STEMS)})(\d{{1,4}}|[a-z])")


def told(table: Table, found: Found, objects: list[object], candidates: list[str]) -> str | None:
    """Return a note about columns that hold objects and are not used, or None.

    A column holds objects if it belongs to a family of items, or if most of its cells in the first rows are labels of
    objects, or lists of them. Where labels are numbers, cells that are numbers prove nothing.
    """
    used = set(found.names)
    unused = [name for name in dict.fromkeys(candidates) if name not in used]
    if not unused:
        return None
    labels = {str(label) for label in objects}
    by_name = _by_name(table.names, used)
    try:
        peeked = (table.peek or table.load)(unused).columns
    except ValueError:  # what is cut off at the beginning of a file may not be a table
        peeked = table.load(unused).columns
    holding = [name for name in unused if _holds(peeked[name], labels, name in by_name)]
    if not holding:
        return None
    if len(holding) == 1:
        return f"{table.source}: column {listing(holding)} holds objects and was not used"
    return f"{table.source}: columns {listing(holding)} hold objects and were not used"


def _by_name(names: tuple[str, ...], used: set[str]) -> set[str]:
    """Return columns that are named like items, with others of their family or beside one that is used."""
    spelled = by_plain(names)
    members = {name: match[1] for spelling, name in spelled.items() if (match := _MEMBER.fullmatch(spelling))}
    stems = {stem for name, stem in members.items() if name in used}
    return {name for family in families(spelled, used) for name in family} | {
        name for name, stem in members.items() if stem in stems
    }


def _holds(column: Column, labels: set[str], named_so: bool) -> bool:
    values = [str(column.values[code]) for code in set(column.codes[:_ENOUGH].tolist()) if code >= 0]
    if named_so:
        return bool(values)
    words = [value for value in values if not value.replace(".", "").isdigit()]
    return bool(words) and sum(_names(value, labels) for value in words) > _MOSTLY * len(values)


def _names(text: str, labels: set[str]) -> bool:
    """Whether a cell is the label of an object, or a list of such labels."""
    if text in labels:
        return True
    return len(text) < 10_000 and any(len(items) > 1 and set(items) <= labels for items in readings(text))

"""Columns that take no part in a reading.

All are listed with the answers. Those that hold objects are told in a note, because an object may be missing.
"""

from __future__ import annotations

import re
from dataclasses import replace

from nearer.formats.answers import Answers
from nearer.formats.layouts import Found, described, listing
from nearer.formats.lists import readings
from nearer.formats.names import STEMS, by_plain, families
from nearer.formats.table import Column, Table

_MOSTLY = 0.5
_ENOUGH = 1000  # rows that show what a column holds
_LISTED, _LONG = 10, 40  # columns in a message, and characters of each
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


def with_columns(answers: Answers, names: tuple[str, ...], found: Found, cells: dict[str, Column]) -> Answers:
    """Return answers that tell which columns they were read from, and which they were not.

    Columns that go with any kind of question may turn out to say nothing: empty ones, times that are no numbers, and
    answers beside near and far.
    """
    nothing = {
        "seconds": answers.seconds is None,
        "confidence": answers.confidences is None,
        "answer": "answer" not in found.layout.roles and answers.comparisons.answers is None,
    }
    columns = {
        role: taken
        for role, taken in found.roles.items()
        if not nothing.get(role) and any((cells[name].codes >= 0).any() for name in taken)
    }
    used = {name for taken in columns.values() for name in taken}
    return replace(answers, columns=columns, unused=tuple(dict.fromkeys(name for name in names if name not in used)))


def told_columns(answers: Answers) -> str | None:
    """Return in a line which columns were read and which were not; None if the answers come from no table."""
    if not answers.columns:
        return None
    said = f"read: {described(answers.columns)}"
    if not answers.unused:
        return said
    short = [name if len(name) <= _LONG else name[: _LONG - 3] + "..." for name in answers.unused[:_LISTED]]
    more = f" and {len(answers.unused) - _LISTED} more" if len(answers.unused) > _LISTED else ""
    return f"{said}; not used: {', '.join(short)}{more}"


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

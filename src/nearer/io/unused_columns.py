"""Columns that take no part in a reading, or hold no objects, whatever their names are.

All are listed with the answers. Those that may matter are told in a note: a column of objects, because an object may be
missing; a column that is named like an anchor where several items are read; and beside near and far, a column of two
values that may say whether a row is right as it stands.

A text that is the same in every row, and that no other column holds, is what people were asked, not what they were
asked about. So is HTML without a picture or a sound where other columns hold pictures, sounds or plain names. What was
found nearer or farther follows from answers and is no prompt. A column that the caller names is always believed, and
so is plain text under the very name of its role, such as the one object that a column "anchor" holds.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import numpy as np

from nearer.data.labels import plain
from nearer.io.answers import Answers
from nearer.io.column_names import STEMS, SYNONYMS, by_plain, families
from nearer.io.faults import as_column, one_of
from nearer.io.json_records import JSON_LINE
from nearer.io.layouts import ANSWERS, LISTS, NEAR_FAR, Found, described, listing
from nearer.io.lists import readings
from nearer.io.table import Column, Loaded, Table, present, shortened

HOLDS_HTML = "holds HTML beside"
MAJORITY = 0.5
_ANCHORS = tuple(name for name in SYNONYMS["anchor"] if len(name) > 1)
_RIGHT_WORDS = (
    "correct iscorrect corr label labels agree agrees agreed agreement accuracy accurate acc isnear nearer iscloser "
    "isright matches match sign truth outcome result valid vote"
)
_RIGHT = frozenset(_RIGHT_WORDS.split())
_ENOUGH = 1000  # rows that show what a column holds
_LISTED, MAX_NAME_LENGTH = 10, 40  # columns in a message, and characters of each
_MEMBER = re.compile(rf"({'|'.join(STEMS)})(\d{{1,4}}|[a-z])")
_FEW_ROWS = 5  # in fewer rows than these, plain names may well be the same by chance
_TAG = re.compile(r"<\s*/?\s*[a-zA-Z][^>]*>")
_MEDIA = re.compile(r"<\s*(img|image|audio|video|source|picture|object|embed|svg|canvas|iframe)\b", re.IGNORECASE)
_NEARLY_ALL = 0.9  # share of cells that tells what a column holds


def told(table: Table, found: Found, objects: list[object], candidates: list[str]) -> list[str]:
    """Return notes about columns that hold objects, or an answer, and are not used.

    A column holds objects if it belongs to a family of items, or if most of its cells in the first rows are labels of
    objects, or lists of them. Where labels are numbers, cells that are numbers prove nothing.
    """
    used = set(found.names)
    unused = [name for name in dict.fromkeys(candidates) if name not in used]
    if not unused:
        return []
    labels = {str(label) for label in objects}
    by_name = _by_name(table.names, used)
    try:
        peeked = (table.peek or table.load)(unused).columns
    except ValueError:  # what is cut off at the beginning of a file may not be a table
        peeked = table.load(unused).columns
    holding = [name for name in unused if _holds(peeked[name], labels, name in by_name)]
    notes = []
    if JSON_LINE in unused and "annotator" not in found.roles:
        advice = as_column("annotator", JSON_LINE)
        notes.append(f"{table.source}: no column says who answered; if each line is a person's, say {advice}")
    if len(holding) == 1:
        notes.append(f"{table.source}: column {listing(holding)} holds objects and was not used")
    elif holding:
        notes.append(f"{table.source}: columns {listing(holding)} hold objects and were not used")
    return notes + [
        f"{table.source}: column {name!r} {why}"
        for name in unused
        if name not in holding and (why := _may_matter(name, peeked[name], found))
    ]


def _may_matter(name: str, column: Column, found: Found) -> str:
    """Return what a column may mean that is not used and holds no object that others hold; nothing if it means none."""
    values = {str(value) for value in present(column)}
    if values and "items" in found.layout.roles and plain(name) in _ANCHORS:
        return f"was not used; if it is the anchor, say {one_of('kind', ['grid'])} and {as_column('anchor', name)}"
    named = "near" in found.roles or "near_1" in found.roles
    if named and "answer" not in found.roles and len(values) == 2 and plain(name) in _RIGHT:
        listed = " and ".join(sorted(values))
        return (
            f"holds {listed} and was not used; if it says whether near and far are right as they stand, say "
            f"{as_column('answer', name)}"
        )
    return ""


def with_columns(answers: Answers, names: tuple[str, ...], found: Found, cells: dict[str, Column]) -> Answers:
    """Return answers that tell which columns they were read from, and which they were not.

    Columns that go with any kind of question may turn out to say nothing: empty ones, trial numbers of many
    questions each, times that are no numbers, and answers beside near and far.
    """
    numbers = answers.trial_numbers
    nothing = {
        "trial": numbers is not None and numbers.n_trials == numbers.n_answers,
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
    short = [
        name if len(name) <= MAX_NAME_LENGTH else name[: MAX_NAME_LENGTH - 3] + "..."
        for name in answers.unused[:_LISTED]
    ]
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
    return bool(words) and sum(_names(value, labels) for value in words) > MAJORITY * len(values)


def _names(text: str, labels: set[str]) -> bool:
    """Whether a cell is the label of an object, or a list of such labels."""
    if text in labels:
        return True
    return len(text) < 10_000 and any(len(items) > 1 and set(items) <= labels for items in readings(text))


def no_objects(loaded: Loaded, found: Found, believed: set[str], lists_too: bool) -> dict[str, str]:
    """Return the columns found that hold no objects, and why.

    ``believed`` are columns that the caller named; ``lists_too`` says that another reading of the table does without
    the column of lists, so that one list in all rows is what the buttons said.
    """
    names = {name for role in found.layout.roles if role not in ANSWERS for name in found.roles[role]}
    lists = {name for role in LISTS for name in found.roles.get(role, ()) if len(found.roles[role]) == 1}
    roles = {plain(role) for role in found.layout.roles}
    reasons: dict[str, str] = {}
    html = {name for name in names if _share(loaded.columns[name], _TAG) > _NEARLY_ALL}
    media = {name for name in html if _share(loaded.columns[name], _MEDIA) > _NEARLY_ALL}
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
            reasons[name] = f"{HOLDS_HTML} {'plain names' if html != names else 'pictures or sounds'}"
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

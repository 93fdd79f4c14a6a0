"""What to type for a table whose columns do not say themselves what they hold.

Objects are found by what the cells hold: columns of objects share most of their values, and an answer is among the
objects of its own row, or says the place of one. Every proposal was read once, with what the caller said besides, and
is made only if that went well.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer.data.labels import plain
from nearer.io.ambiguity import in_words
from nearer.io.answer_codes import integer
from nearer.io.answers import Answers
from nearer.io.column_names import SYNONYMS, by_plain
from nearer.io.faults import Proposal
from nearer.io.places import place_of_word
from nearer.io.table import Column, Table

_MOST = 4  # proposals in a message
_LONGEST = 1000  # characters of a proposal
_WIDEST = 12  # columns of objects that a message names
_MOST_COLUMNS = 100  # a table with more is no table with a row for each answer
_ROWS = 2000  # that show what a column holds
_SHARED = 0.5  # share of the values of a column that are values of another one that holds the same objects
_NEARLY_ALL = 0.95  # share of rows that shows what a column is
_FEW_BAD = 0.05  # share of rows that may be bad in a reading that is proposed
_SPECIAL = re.compile(r"[,=+*]")  # which part names from each other on the command line
_ANSWERS = re.compile(r"answer|resp|choice|chose|select|pick|click|key|button|odd|cent[er]|sel|decision|judg|winner")
_PEOPLE = re.compile(r"particip|subject|subj|worker|user|person|rater|judge|observer|respondent|student|proband|annot")
_CENTRAL, _ODD = re.compile(r"cent(er|re|ral)|middle"), re.compile(r"odd|different|outlier")

Cells = dict[str, NDArray[Any]]
Columns = dict[str, str]


Read = Callable[[Columns, Mapping[str, str]], Answers]


def proposals(table: Table, kind: str | None, said: Mapping[str, Any], read: Read) -> list[Proposal]:
    """Return ways to read a table that work, the likeliest first.

    Parameters
    ----------
    table : Table
    kind : str, optional
        How people were asked, as the caller says.
    said : mapping
        Columns of roles, as the caller says.
    read : callable
        Takes columns of roles and settings, ``first_is`` and ``skip_bad``, and returns the answers read so.
    """
    if not 1 < len(table.names) <= _MOST_COLUMNS or len(set(table.names)) < len(table.names):
        return []
    found: list[Proposal] = []
    for columns in _candidates(table, kind):
        whole = {**columns, **_people(table, columns)}
        whole = {role: name for role, name in whole.items() if role not in said}
        if not any(_SPECIAL.search(part) for name in whole.values() for part in name.split("+")):
            found += _tried(whole, read, {role: _typed(name) for role, name in said.items()})
    return found[:_MOST]


def _typed(column: Any) -> str:
    """Return a column, or several or none, as it is typed on the command line."""
    return column if isinstance(column, str) else "+".join(map(str, column or ()))


def _tried(columns: Columns, read: Read, said: Columns) -> list[Proposal]:
    """Return the proposals that columns make beside those that the caller says.

    They are none, one, or two where numbers may mean either of two things.
    """
    found = []
    for first, skip in product(({}, {"first_is": "1"}, {"first_is": "0"}), ({}, {"skip_bad": "yes"})):
        settings = {**first, **skip}
        try:
            answers = read(columns, settings)
        except ValueError:
            continue
        if answers.n_bad > _FEW_BAD * (len(answers) + answers.n_bad):
            continue
        proposal = Proposal(settings, {**said, **columns}, in_words(answers))
        if len(str(proposal)) <= _LONGEST:
            found.append(proposal)
        if not first:
            return found
    return [each for each in found if "skip_bad" not in each.settings] or found


def _candidates(table: Table, kind: str | None) -> Iterator[Columns]:
    """Yield what columns may mean, the likeliest first."""
    loaded = (table.peek or table.load)(table.names).columns
    cells = {name: _cells(column) for name, column in loaded.items() if not _is_extra(name)}
    for group in _groups(cells):
        answers = [name for name in group if _among(cells, name, [each for each in group if each != name])]
        objects = [name for name in group if name not in answers]
        held = {cell for name in group for cell in cells[name].tolist()}
        if held >= set(group) and not all(name.isdecimal() for name in group):
            continue  # a file without a line of names: its first answer would be lost
        others = [name for name in cells if name not in group]
        answers += [name for name in others if _among(cells, name, objects) or _says_places(cells, name, objects)]
        for answer in sorted(answers, key=lambda name: not _ANSWERS.search(plain(name))):
            yield from (each for each in _with_answer(cells, objects, answer) if _is_of(each, kind))
        if not answers and not any(_may_answer(name) or _may_be_keys(cells, name, objects) for name in others):
            yield from (each for each in _without_answer(objects) if _is_of(each, kind))


def _cells(column: Column) -> NDArray[Any]:
    """Return the first cells of a column as text, empty where there is none."""
    values = np.array([*map(str, column.values), ""], dtype=object)
    return np.asarray(values[column.codes[:_ROWS]])


def _is_extra(name: str) -> bool:
    """Whether a column is named like something that goes with any kind of question."""
    return any(plain(name) in SYNONYMS[role] for role in ("annotator", "trial", "seconds", "confidence", "weight"))


def _groups(cells: Cells) -> list[list[str]]:
    """Return columns that hold the same objects, the largest group first."""
    held = {name: set(values.tolist()) - {""} for name, values in cells.items()}
    held = {name: values for name, values in held.items() if len(values) > 2}
    groups: list[list[str]] = []
    for name, values in held.items():
        group = [other for other, its in held.items() if _share(values, its) >= _SHARED and _alike(cells, name, other)]
        if len(group) > 2 and group not in groups:
            groups.append(group)
    return sorted(groups, key=len, reverse=True)


def _share(some: set[str], others: set[str]) -> float:
    return len(some & others) / min(len(some), len(others))


def _alike(cells: Cells, one: str, other: str) -> bool:
    """Whether two columns may hold the same objects; numbers are objects only in columns of one family of names."""
    numbers = all(integer(value) is not None for value in {*cells[one].tolist(), *cells[other].tolist()} - {""})
    return not numbers or _family(one) == _family(other)


def _family(name: str) -> str:
    return re.sub(r"\d+|(?<![a-z])[a-z](?![a-z])", "#", name.casefold())


def _places(cells: Cells, name: str, objects: list[str]) -> NDArray[np.intp]:
    """Return for every row which of the objects an answer is, -1 for none."""
    found = np.full(len(cells[name]), -1)
    for place in range(len(objects) - 1, -1, -1):
        found[(cells[name] == cells[objects[place]]) & (cells[name] != "")] = place
    return found


def _among(cells: Cells, name: str, others: list[str]) -> bool:
    """Whether a column holds one of the objects of other columns in nearly every row that has an answer."""
    there = cells[name] != ""
    return bool(there.any()) and float((_places(cells, name, others)[there] >= 0).mean()) >= _NEARLY_ALL


def _says_places(cells: Cells, name: str, objects: list[str]) -> bool:
    """Whether a column that is named like an answer holds places, by number or by word."""
    values = set(cells[name].tolist()) - {""}
    if not values or not _may_answer(name):
        return False
    numbers = [integer(value) for value in values]
    counted = all(number is not None and 0 <= number <= len(objects) for number in numbers)
    n_options = len(objects) - (len(values) < len(objects))
    return counted or all(place_of_word(value, objects, n_options) >= 0 for value in values)


def _may_answer(name: str) -> bool:
    return bool(_ANSWERS.search(plain(name)))


def _may_be_keys(cells: Cells, name: str, objects: list[str]) -> bool:
    """Whether a column of any name may hold an answer: as few values as there are objects, such as keys, or fewer."""
    values = set(cells[name].tolist()) - {""}
    return 1 < len(values) <= len(objects) and not _PEOPLE.search(plain(name))


def _with_answer(cells: Cells, objects: list[str], answer: str) -> Iterator[Columns]:
    """Yield the kinds of question that objects and an answer may make."""
    if not 3 <= len(objects) <= _WIDEST:
        return
    chosen = set(_places(cells, answer, objects).tolist()) - {-1}
    never = [name for place, name in enumerate(objects) if place not in chosen]
    named = next((name for name in objects if plain(name) in SYNONYMS["anchor"]), None)
    anchor = never[0] if len(never) == 1 else None
    if not chosen:  # places: as many as there are objects, or one less beside an anchor
        n_places = len(set(cells[answer].tolist()) - {""})
        if n_places not in (len(objects), len(objects) - 1):
            return
        anchor = (named or objects[0]) if n_places < len(objects) else named
    if anchor is not None:
        rest = [name for name in objects if name != anchor]
        if len(rest) == 2:
            yield {"anchor": anchor, "left": rest[0], "right": rest[1], "answer": answer}
        else:
            yield {"anchor": anchor, "shown": "+".join(rest), "chosen": answer}
        return
    spelled = plain(answer)
    roles = ["central"] if _CENTRAL.search(spelled) else ["odd"] if _ODD.search(spelled) else ["odd", "central"]
    for role in roles:
        yield {"items": "+".join(objects), role: answer}


def _without_answer(objects: list[str]) -> Iterator[Columns]:
    """Yield the kinds of question that objects in the order of their columns may make."""
    if len(objects) == 3:
        yield dict(zip(("anchor", "near", "far"), objects, strict=True))
        yield {"items": "+".join(objects), "odd": objects[-1]}
    if len(objects) == 4:
        yield dict(zip(("near_1", "near_2", "far_1", "far_2"), objects, strict=True))


def _is_of(columns: Columns, kind: str | None) -> bool:
    """Whether columns make the kind of question that the caller says."""
    role = {
        "odd-one-out": "odd",
        "most-central": "central",
        "triplet": "anchor",
        "grid": "shown",
        "quadruplet": "near_1",
    }
    return kind is None or role.get(kind, "ranking") in columns


def _people(table: Table, taken: Columns) -> Columns:
    """Return the column of who answered, where its name tells, though it is none that is read as such."""
    used = {part for name in taken.values() for part in name.split("+")}
    if any(name in SYNONYMS["annotator"] for name in by_plain(table.names)):
        return {}
    found = [name for name in table.names if name not in used and _PEOPLE.search(plain(name))]
    return {"annotator": found[0]} if len(found) == 1 else {}

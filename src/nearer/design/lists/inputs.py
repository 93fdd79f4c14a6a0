"""What lists are made from: answered questions, names of objects and participants, questions that may be asked.

Names come from a file, or from the command line. Every unknown name is reported, with a similar one.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import groupby
from pathlib import Path
from typing import Any

from nearer._common.formatting import pluralize, quote, quote_all
from nearer.io.answers import Answers
from nearer.io.columns import SYNONYMS, find_columns
from nearer.io.delimited import as_text, delimited_table, read_bytes
from nearer.io.formats import open_table
from nearer.io.labels import split_column

ASKABLE_KINDS = ("triplet", "odd-one-out", "most-central", "grid")  # others are read, and followed by triplets
_OBJECT_COLUMNS = ("object", "objects", "label", "name", "item", "stimulus", "id")
_ANSWER_COLUMNS = {"odd-one-out": "odd", "most-central": "central"}  # which a list of questions lacks


@dataclass(frozen=True)
class AnsweredQuestion:
    """A question that was answered."""

    shown: tuple[Any, ...]  # as it is asked: first the anchor, if there is one
    named: tuple[Any, ...]  # those that the answer names; none if "can't tell" was split
    person: Any = None
    purpose: str = "other"  # "other" if not known


def answered_questions(answers: Answers, purposes: Any = None) -> list[AnsweredQuestion]:
    """Return the questions of answers with their purposes; none if they are of a kind that cannot be asked."""
    if answers.kind not in ASKABLE_KINDS:
        return []
    labels = answers.comparisons.objects[answers.comparisons.oriented].tolist()
    found = []
    for at, rows in groupby(range(len(labels)), key=answers.answer_of.tolist().__getitem__):
        person = None if answers.annotators is None else answers.annotators[at]
        purpose = "other" if purposes is None else str(purposes[at]) or "other"
        found.append(AnsweredQuestion(*_question([labels[row] for row in rows], answers.kind), person, purpose))
    return found


def _question(rows: list[list[Any]], kind: str) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return the objects shown and named by the comparisons of an answer, near pair and far pair."""
    near, far = (tuple(dict.fromkeys(row[place] for row in rows)) for place in (1, 3))
    if kind in _ANSWER_COLUMNS:
        named = far if kind == "odd-one-out" else near
        return tuple(dict.fromkeys(label for row in rows for label in row)), named if len(named) == 1 else ()
    both = tuple(dict.fromkeys([*near, *far]))
    return (rows[0][0], *both), () if set(near) & set(far) else near


def read_names(path: Path, what: str = "object") -> list[str]:
    """Return the names of objects, or what else: one on each line of a file, or in a column of a table."""
    text = as_text(read_bytes(path), path.name)
    lines = [line.strip() for line in text.splitlines()]
    header = [cell.strip().lower() for cell in next(csv.reader(lines[:1]), [])]
    titles = (*_OBJECT_COLUMNS, *(SYNONYMS["annotator"] if what == "participant" else ()))
    known = [cell for cell in header if cell in titles]
    if len(header) > 1 and known:
        table = delimited_table(text.encode("utf-8"), path.name)
        column = table.names[header.index(known[0])]
        lines = table.load([column]).columns[column].map_values(str, "", object).tolist()
    elif known:  # a single column with its name
        lines = lines[1:]
    names = [line for line in lines if line]
    if not names:
        raise ValueError(f"{path.name} names no {what}; write one name on each line")
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise ValueError(f"{path.name} names {what}s twice: {quote_all(twice, 10)}; give each a name of its own")
    return names


def names_or_file(values: Sequence[str], what: str) -> list[str]:
    """Return the names given, or those in the file given."""
    if len(values) == 1 and Path(values[0]).is_file():
        return read_names(Path(values[0]), what)
    return list(values)


def read_groups(values: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return groups of names: those given, and those of files, which have one group on each line."""
    groups: list[list[str]] = []
    for names in values:
        rows = [list(names)]
        if len(names) == 1 and Path(names[0]).is_file():
            text = as_text(read_bytes(Path(names[0])), names[0])
            rows = [[cell.strip() for cell in row if cell.strip()] for row in csv.reader(text.splitlines())]
        groups += [row for row in rows if row]
    small = [group for group in groups if len(group) < 2]
    if small:
        raise ValueError(
            f"{quote(small[0][0])} alone cannot be kept apart from others; name two objects or more, separated by "
            "commas, or a file with one such group on each line"
        )
    return groups


def check_names(names: Sequence[Any], objects: Sequence[Any], option: str) -> None:
    """Reject names that are no objects of the study."""
    known = set(objects)
    unknown = [each for each in dict.fromkeys(names) if each not in known]
    if not unknown:
        return
    similar = get_close_matches(str(unknown[0]), [str(each) for each in objects], n=1)
    perhaps = f"; perhaps {quote(similar[0])} is meant" if similar else ""
    raise ValueError(
        f"{option}: {quote_all(unknown)} {'is' if len(unknown) == 1 else 'are'} none of the "
        f"{pluralize(len(objects), 'object')}{perhaps}"
    )


def read_allowed(path: Path, kind: str, width: int) -> list[tuple[str, ...]]:
    """Return the questions in a file, (k, width); it has the columns of answers of that kind, but for the answer."""
    table = open_table(path)
    own = kind if kind in ("triplet", *_ANSWER_COLUMNS) else "grid"
    answer = _ANSWER_COLUMNS.get(own, "answer" if own == "triplet" else "chosen")
    found = find_columns([*table.names, *([] if answer in table.names else [answer])], own, None, table.source)
    wanted = [role for role in ("anchor", "left", "right", "near", "far", "items", "shown") if role in found.roles]
    if "near" in wanted:
        wanted = ["anchor", "near", "far"]
    columns = [column for role in wanted for column in found.roles[role]]
    loaded = table.load(columns)
    cells = []
    for column in columns:
        is_list = len(columns) == 1 or (len(columns) < width and column != columns[0])
        read = loaded.columns[column]
        values = split_column(read) if is_list else [(str(value),) for value in read.values]
        cells.append([values[code] if code >= 0 else () for code in read.codes.tolist()])  # nothing where it is empty
    rows = [tuple(label for cell in row for label in cell) for row in zip(*cells, strict=True)]
    for row, line in zip(rows, loaded.sources.lines.tolist(), strict=True):
        if len(row) != width or len(set(row)) < width:
            raise ValueError(f"{path.name}:{line}: a question of kind {kind!r} has {width} different objects")
    return rows

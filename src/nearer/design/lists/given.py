"""What lists are made from: names of objects and people, objects that may not meet, questions that may be asked.

Each comes from a file, or from words of the command line. Every name that is not known is told, with those like it.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from nearer._common.formatting import pluralize, quote, quote_all
from nearer.io.columns import SYNONYMS, find_columns
from nearer.io.delimited import as_text, delimited_table, read_bytes
from nearer.io.formats import open_table
from nearer.io.kinds import split_column
from nearer.io.table import Column

_NAMED = ("object", "objects", "label", "name", "item", "stimulus", "id")
_WORDS = {"odd-one-out": "odd", "most-central": "central"}  # the answer of each kind, which a list of questions lacks


def read_names(path: Path, what: str = "object") -> list[str]:
    """Return names from a file: one on each line, or the column ``object`` of a table.

    Parameters
    ----------
    path : Path
    what : str
        What they are names of, for messages.
    """
    text = as_text(read_bytes(path), path.name)
    lines = [line.strip() for line in text.splitlines()]
    header = [cell.strip().lower() for cell in next(csv.reader(lines[:1]), [])]
    known = [cell for cell in header if cell in (*_NAMED, *_people(what))]
    if len(header) > 1 and known:
        table = delimited_table(text.encode("utf-8"), path.name)
        column = table.names[header.index(known[0])]
        lines = table.load([column]).columns[column].mapped(str, "", object).tolist()
    elif known:  # a single column with its name
        lines = lines[1:]
    names = [line for line in lines if line]
    if not names:
        raise ValueError(f"{path.name} names no {what}; write one name on each line")
    twice = sorted({each for each in names if names.count(each) > 1}) if len(set(names)) < len(names) else []
    if twice:
        raise ValueError(f"{path.name} names {what}s twice: {quote_all(twice, 10)}; give each a name of its own")
    return names


def _people(what: str) -> tuple[str, ...]:
    return SYNONYMS["annotator"] if what == "participant" else ()


def words_or_file(said: Sequence[str], what: str) -> list[str]:
    """Return names that were said, or those in the file that was said."""
    if len(said) == 1 and Path(said[0]).is_file():
        return read_names(Path(said[0]), what)
    return list(said)


def read_groups(said: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return groups of names: those that were said, and those of files, which have one group on each line.

    Examples
    --------
    >>> read_groups([["cat", "dog"], ["car", "bus"]])
    [['cat', 'dog'], ['car', 'bus']]
    """
    groups: list[list[str]] = []
    for words in said:
        if len(words) == 1 and Path(words[0]).is_file():
            text = as_text(read_bytes(Path(words[0])), words[0])
            rows = [[cell.strip() for cell in row if cell.strip()] for row in csv.reader(text.splitlines())]
            groups += [row for row in rows if row]
        else:
            groups.append(list(words))
    small = [group for group in groups if len(group) < 2]
    if small:
        raise ValueError(
            f"{quote(small[0][0])} alone cannot be kept apart from others; name two objects or more, separated by "
            "commas, or a file with one such group on each line"
        )
    return groups


def refuse_unknown(names: Sequence[Any], objects: Sequence[Any], option: str) -> None:
    """Refuse names that are no objects of the study."""
    known = set(objects)
    strange = [each for each in dict.fromkeys(names) if each not in known]
    if not strange:
        return
    alike = get_close_matches(str(strange[0]), [str(each) for each in objects], n=1)
    perhaps = f"; perhaps {quote(alike[0])} is meant" if alike else ""
    raise ValueError(
        f"{option}: {quote_all(strange)} {'is' if len(strange) == 1 else 'are'} none of the "
        f"{pluralize(len(objects), 'object')}{perhaps}"
    )


def read_allowed(path: Path, kind: str, width: int) -> list[tuple[str, ...]]:
    """Return the questions in a file, as they are asked: the columns of answers are not needed.

    Parameters
    ----------
    path : Path
        A table with the columns that answers of that kind have.
    kind : str
        How people are asked.
    width : int
        Objects in a question.
    """
    table = open_table(path).table
    own = kind if kind in ("triplet", *_WORDS) else "grid"
    answer = _WORDS.get(own, "answer" if own == "triplet" else "chosen")
    found = find_columns([*table.names, *([] if answer in table.names else [answer])], own, None, table.source)
    wanted = [role for role in ("anchor", "left", "right", "near", "far", "items", "shown") if role in found.roles]
    if "near" in wanted:
        wanted = ["anchor", "near", "far"]
    columns = [column for role in wanted for column in found.roles[role]]
    loaded = table.load(columns)
    cells = [_cells(loaded.columns[column], len(columns) < width and column != columns[0]) for column in columns]
    if len(columns) == 1:
        cells = [_cells(loaded.columns[columns[0]], True)]
    rows = [tuple(label for cell in row for label in cell) for row in zip(*cells, strict=True)]
    for row, line in zip(rows, loaded.sources.lines.tolist(), strict=True):
        if len(row) != width or len(set(row)) < width:
            raise ValueError(f"{path.name}:{line}: a question of kind {kind!r} has {width} different objects")
    return rows


def _cells(column: Column, lists: bool) -> list[tuple[str, ...]]:
    """Return what each cell holds: a list of objects, or one; nothing where it is empty."""
    values = split_column(column) if lists else [(str(value),) for value in column.values]
    return [values[code] if code >= 0 else () for code in column.codes.tolist()]


def names_of(n: int, taken: Sequence[Any]) -> list[str]:
    """Return names for n people that nobody else has.

    Examples
    --------
    >>> names_of(3, ["p02", "ann"])
    ['p01', 'p03', 'p04']
    """
    digits = max(2, len(str(n + len(taken))))
    known = {str(each) for each in taken}
    free = (each for number in range(1, n + len(known) + 1) if (each := f"p{number:0{digits}}") not in known)
    return [each for each, _ in zip(free, range(n), strict=False)]

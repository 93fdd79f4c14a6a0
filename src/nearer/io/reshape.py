"""Tables with a row for each person and columns for each question.

Two of them say what was asked. Either the name of a column lists what its question showed (``cat_dog_owl``), and its
cells name one of these; or every question has columns of its own with its number (``q1_left``, ``q1_right``,
``q1_choice``; ``left_1``, ``right_1``, ``choice_1``). Both become a row for each answer, whose line is that of the
person. Where names only number the questions (``Q1``, ``Q2``), what they showed is not in the table.

Objects that several columns make up: ``anchor=hue_1*lightness_1`` names the object "red/dark".

A combination is a column more, made of others when it is read. Whatever a role may name can be one, also each of the
columns of a list: ``shown=hue_1*lightness_1+hue_2*lightness_2``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nearer.io.messages import listing, note
from nearer.io.selecting import without_headers
from nearer.io.table import Column, Loaded, Table

_FEWEST = 3  # questions, and fields or objects of one
_MOST_OBJECTS = 8  # in a question
_SEPARATORS = ("|", ";", ",", "/", " vs. ", " vs ", "__", "_", " - ", "-", " ")
_NUMBER_FIRST = re.compile(r"(\D*\d{1,4})[\W_]+(\D.*)")
_NUMBER_LAST = re.compile(r"(.*\D)()(\d{1,4})")
_PREFIX = re.compile(r"[A-Za-z]{0,8}\d{1,4}")
_NEARLY_ALL = 0.9  # share of cells that name one of the objects of their column


@dataclass(frozen=True)
class _Wide:
    """Which columns of a table are questions: for each, the columns of its fields, and the objects its name lists."""

    fields: tuple[str, ...]
    questions: list[tuple[str, ...]]
    objects: list[tuple[str, ...]]

    @property
    def names(self) -> list[str]:
        """All columns of questions."""
        return [name for of in self.questions for name in of]


def with_rows_of_answers(table: Table) -> Table | None:
    """Return a table with a row for each answer, or None if there is none in it."""
    wide = _fields(table.names) or (_listing(table) if table.names else None)
    if wide is None:
        return None
    rest = [name for name in table.names if name not in set(wide.names)]
    n_objects = len(wide.objects[0])
    titles = (*(f"object_{at}" for at in range(1, n_objects + 1)), *wide.fields)
    if set(titles) & set(rest):
        return None
    read = note("wide", table.source, n_questions=len(wide.questions), first=wide.questions[0], titles=titles)

    def load(wanted: Sequence[str]) -> Loaded:
        others = [name for name in wanted if name not in titles]
        loaded = without_headers(table.load([*wide.names, *others]))
        return _melted(loaded, wide, titles, others)

    return table.with_findings(read, names=(*titles, *rest), load=load, peek=None, ragged=None)


def _melted(loaded: Loaded, wide: _Wide, titles: tuple[str, ...], others: list[str]) -> Loaded:
    """Return a row for each question that somebody was asked."""
    asked = np.array(
        [np.any([loaded.columns[name].codes >= 0 for name in names], axis=0) for names in wide.questions], dtype=bool
    )
    rows, questions = np.nonzero(asked.T)
    columns = {name: Column(loaded.columns[name].codes[rows], loaded.columns[name].values) for name in others}
    n_objects = len(wide.objects[0])
    for place, title in enumerate(titles[:n_objects]):
        index: dict[Any, int] = {}
        codes = np.array([index.setdefault(of[place], len(index)) for of in wide.objects], np.int32)
        columns[title] = Column(codes[questions], list(index))
    for place, title in enumerate(titles[n_objects:]):
        index = {}
        cells = np.empty(asked.shape, np.int32)
        for at, names in enumerate(wide.questions):
            column = loaded.columns[names[place]]
            new = [index.setdefault(value, len(index)) for value in column.values]
            cells[at] = np.append(np.array(new, np.int32), np.int32(-1))[column.codes]
        columns[title] = Column(cells[questions, rows], list(index))
    return Loaded(columns, loaded.sources[rows], loaded.bad_rows, loaded.n_bad)


def _fields(names: Sequence[str]) -> _Wide | None:
    """Return questions whose columns are fields with their number."""
    for pattern, order in ((_NUMBER_FIRST, (1, 2)), (_NUMBER_LAST, (3, 1))):
        of: dict[str, dict[str, str]] = {}
        for name in names:
            if match := pattern.fullmatch(name):
                of.setdefault(match[order[0]], {})[match[order[1]].strip("_.- ")] = name
        fields = next((tuple(each) for each in of.values() if len(each) >= _FEWEST), ())
        whole = [each for each in of.values() if set(each) == set(fields)]
        if fields and len(whole) >= _FEWEST and sum(map(len, whole)) >= _NEARLY_ALL * sum(map(len, of.values())):
            return _Wide(fields, [tuple(each[field] for field in fields) for each in whole], [()] * len(whole))
    return None


def _listing(table: Table) -> _Wide | None:
    """Return questions whose columns are named by the objects that they show."""
    loaded = None
    for separator in _SEPARATORS:
        split = {name: parts for name in table.names if (parts := _parts(name, separator))}
        if len(split) < _FEWEST:
            continue
        loaded = loaded or without_headers(table.load(table.names))
        shown = {name: parts for name in split if (parts := _shown(split[name], loaded.columns[name]))}
        widths = {len(parts) for parts in shown.values()}
        if len(shown) >= _FEWEST and len(widths) == 1:
            shown |= _others(split, shown, max(widths))
            named = [name for name in split if name in shown]  # in the order of the columns
            return _Wide(("response",), [(name,) for name in named], [shown[name] for name in named])
    return None


def _others(
    split: Mapping[str, tuple[str, ...]], shown: Mapping[str, tuple[str, ...]], width: int
) -> dict[str, tuple[str, ...]]:
    """Return further questions about objects of those that were found, whatever was answered to them."""
    objects = {label for parts in shown.values() for label in parts}
    rest = {name: parts for name, parts in split.items() if name not in shown}
    cut = {name: parts[len(parts) - width :] for name, parts in rest.items() if len(parts) - width in (0, 1)}
    return {
        name: parts
        for name, parts in cut.items()
        if set(parts) <= objects and (parts == rest[name] or _PREFIX.fullmatch(rest[name][0]))
    }


def _parts(name: str, separator: str) -> tuple[str, ...]:
    parts = tuple(part.strip() for part in name.split(separator))
    whole = all(parts) and len(set(parts)) == len(parts)
    return parts if whole and _FEWEST <= len(parts) <= _MOST_OBJECTS + 1 else ()


def _shown(parts: tuple[str, ...], column: Column) -> tuple[str, ...]:
    """Return the objects of a question if its answers are among them; a number before them, as of Q1, is left out."""
    values = [str(column.values[code]) for code in column.codes[column.codes >= 0].tolist()]
    if not values or sum(value in parts for value in values) < _NEARLY_ALL * len(values):
        return ()
    objects = parts[1:] if _PREFIX.fullmatch(parts[0]) and parts[0] not in values else parts
    return objects if _FEWEST <= len(objects) <= _MOST_OBJECTS else ()


_SIGN, _JOINER = "*", "/"


def with_combinations(table: Table, columns: Mapping[str, Any] | None) -> Table:
    """Return a table that also has the combinations which are named as columns of roles.

    Examples
    --------
    >>> from nearer.io.formats import frame_table
    >>> table = frame_table({"hue": ["red", "blue", "red"], "light": [1, 2, None]})
    >>> column = with_combinations(table, {"anchor": "hue*light"}).load(["hue*light"]).columns["hue*light"]
    >>> column.values, column.codes.tolist()
    (['blue/2', 'red/1'], [1, 0, -1])
    """
    wanted = {name: _columns_of(name, table) for name in _named(columns or {}) if name not in table.names}
    parts_of = {name: parts for name, parts in wanted.items() if len(parts) > 1}
    if not parts_of:
        return table

    def loading(load: Callable[[Sequence[str]], Loaded]) -> Callable[[Sequence[str]], Loaded]:
        def with_them(names: Sequence[str]) -> Loaded:
            plain = [part for name in names for part in parts_of.get(name, (name,))]
            loaded = load(list(dict.fromkeys(plain)))
            own = loaded.columns
            made = {
                name: _combined(name, [own[part] for part in parts_of[name]]) if name in parts_of else own[name]
                for name in names
            }
            return replace(loaded, columns=made)

        return with_them

    peek = None if table.peek is None else loading(table.peek)
    return replace(table, names=(*table.names, *parts_of), load=loading(table.load), peek=peek)


def _named(columns: Mapping[str, Any]) -> list[str]:
    """Return all that is named as a column and may be a combination."""
    said = [name for column in columns.values() for name in ([column] if isinstance(column, str) else column or ())]
    split = [part.strip() for name in said if isinstance(name, str) for part in name.split("+")]
    return [name for name in dict.fromkeys(split) if _SIGN in name]


def _columns_of(name: str, table: Table) -> tuple[str, ...]:
    parts = tuple(part.strip() for part in name.split(_SIGN))
    for part in parts:
        if part not in table.names:
            raise ValueError(f"{table.source} has no column {part!r}, of {name!r}; it has {listing(table.names)}")
    return parts


def _combined(name: str, parts: Sequence[Column]) -> Column:
    """Return one column of several; a cell is empty where one of theirs is."""
    codes = np.stack([part.codes for part in parts], axis=1)
    whole = (codes >= 0).all(axis=1)
    distinct, of_rows = np.unique(codes[whole], axis=0, return_inverse=True)
    values = [
        _JOINER.join(str(part.values[code]) for part, code in zip(parts, row, strict=True)) for row in distinct.tolist()
    ]
    order = {value: at for at, value in enumerate(sorted(values))}
    if len(order) < len(values):
        double = next(value for value in values if values.count(value) > 1)
        raise ValueError(f"two combinations of {name!r} are called {double!r}; take {_JOINER!r} out of their values")
    combined = np.full(len(codes), -1, np.int32)
    combined[whole] = np.array([order[value] for value in values], np.int32)[of_rows.reshape(-1)] if values else -1
    return Column(combined, list(order))

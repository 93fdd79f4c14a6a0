"""Objects that several columns make up: ``anchor=hue_1*lightness_1`` names the object "red/dark".

A combination is a column more, made of others when it is read. Whatever a role may name can be one, also each of the
columns of a list: ``shown=hue_1*lightness_1+hue_2*lightness_2``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from nearer.io.layouts import listing
from nearer.io.table import Column, Loaded, Table

_SIGN, _JOINER = "*", "/"


def with_combinations(table: Table, columns: Mapping[str, Any] | None) -> Table:
    """Return a table that also has the combinations which are named as columns of roles.

    Examples
    --------
    >>> from nearer.io.frames import frame_table
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

"""Exports of Salmon that name some objects and not others.

Files of 2020 hold the indices head, winner and loser with ``head_filename`` and ``winner_filename``, and no name of the
loser. Every pair of an index and a name in a row tells what an index is called; if that names all losers, and no two
names clash, the missing column is filled in. Else objects keep their indices, all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from nearer.formats.table import Column, Loaded, Table, merged

_ROLES = ("head", "winner", "loser")
_SHOWN = (*_ROLES, "left", "right")


def with_names(table: Table, notes: list[str]) -> Table:
    """Return the table with a column of names for each of head, winner and loser, where these can be told."""
    names = set(table.names)
    for ending in ("_filename", "_html", "_object"):
        there = [role for role in _ROLES if role + ending in names]
        if len(there) == len(_ROLES):
            return table
        if there and names >= set(_ROLES):
            called = _called(table, ending)
            if called is not None:
                return _filled(table, ending, [role for role in _ROLES if role not in there], called)
            missing = " and ".join(role + ending for role in _ROLES if role not in there)
            notes.append(f"{table.source} has no {missing}, so that objects keep their indices")
            return table
    return table


def _called(table: Table, ending: str) -> dict[Any, Any] | None:
    """Return the name of every index, or None if one has no name, or two, or shares its name with another."""
    pairs = [role for role in _SHOWN if {role, role + ending} <= set(table.names)]
    loaded = table.load(list(dict.fromkeys([*_ROLES, *pairs, *(role + ending for role in pairs)])))
    called: dict[Any, Any] = {}
    for role in pairs:
        index, name = loaded.columns[role], loaded.columns[role + ending]
        both = np.stack([index.codes, name.codes], axis=1)
        for one, other in np.unique(both[(both >= 0).all(axis=1)], axis=0).tolist():
            if called.setdefault(index.values[one], name.values[other]) != name.values[other]:
                return None
    needed = {value for role in _ROLES for value in loaded.columns[role].values}
    return called if needed <= called.keys() and len(set(called.values())) == len(called) else None


def _filled(table: Table, ending: str, missing: list[str], called: dict[Any, Any]) -> Table:
    new = {role + ending: role for role in missing}

    def load(wanted: Sequence[str]) -> Loaded:
        loaded = table.load(list(dict.fromkeys(new.get(name, name) for name in wanted)))
        columns: dict[str, Column] = {}
        for name in wanted:
            column = loaded.columns[new.get(name, name)]
            columns[name] = merged(column.codes, [called[v] for v in column.values]) if name in new else column
        return replace(loaded, columns=columns)

    return replace(table, names=(*table.names, *new), load=load)

"""Whole numbers that a program wrote with a decimal point.

A column of integers with an empty cell becomes one of floats in many programs, which then write 13 as 13.0. In text
files whose objects are all numbers, such a label is the integer, wherever an object or an answer stands. Where labels
are anything else they stay as they are written.
"""

from __future__ import annotations

import re
from dataclasses import replace

from nearer.io.layouts import ANSWERS, LISTS, TWO, Found
from nearer.io.lists import split_column
from nearer.io.table import Column, Loaded, merged

_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
_WHOLE = re.compile(r"(?<![\w.])([+-]?\d+)\.0+(?![\w.])")


def with_whole_numbers(loaded: Loaded, found: Found) -> Loaded:
    """Return a table in which 13.0 is the object 13, if all objects are numbers."""
    objects = found.columns_of([role for role in (*found.layout.roles, *TWO) if role not in ANSWERS])
    answers = found.columns_of([role for role in found.layout.roles if role in ANSWERS])
    lists = {name for role in LISTS for name in found.roles.get(role, ()) if len(found.roles[role]) == 1}
    columns = {name: loaded.columns[name] for name in objects | answers}
    if not any(_WHOLE.search(str(value)) for column in columns.values() for value in column.values):
        return loaded
    labels = {label for name in objects for label in _labels(columns[name], name in lists)}
    if not all(_NUMBER.fullmatch(label) for label in labels):
        return loaded
    whole = {
        name: merged(column.codes, [_WHOLE.sub(r"\1", str(value)) for value in column.values])
        for name, column in columns.items()
    }
    return replace(loaded, columns=loaded.columns | whole)


def _labels(column: Column, listed: bool) -> set[str]:
    """Return the labels in a column of objects, or of lists of them."""
    if listed:
        return {item for items in split_column(column) for item in items}
    return {str(value) for value in column.values}

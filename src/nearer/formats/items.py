"""Items of which one was named, the odd one or the central one: a column for each, or one column of lists."""

from __future__ import annotations

from typing import Any

import numpy as np

from nearer.formats.faults import Faults
from nearer.formats.grids import positions, read_lists
from nearer.formats.kinds import mark_twice
from nearer.formats.objects import LONGEST_LABEL, Objects
from nearer.formats.table import Codes, Column

_LEAST, _MOST = 3, 50


def read_items(columns: list[Column], faults: Faults, names: list[Any] | None) -> tuple[Objects, Codes]:
    """Return all objects, and which of them each place shows, (n, k), -1 where a row shows fewer.

    Rows that show fewer than three items, or one twice, are added to the faults.
    """
    if len(columns) > _MOST:
        raise ValueError(f"{len(columns)} columns of items; a question may show {_MOST}")
    objects, items = _in_columns(columns, faults, names) if len(columns) > 1 else _in_lists(columns[0], faults, names)
    faults.add((items >= 0).sum(axis=1) < _LEAST, "there are fewer than three objects")
    mark_twice(items, objects.labels, faults)
    return objects, items


def _in_columns(columns: list[Column], faults: Faults, names: list[Any] | None) -> tuple[Objects, Codes]:
    objects = Objects(columns, names=names)
    return objects, np.stack([objects.codes(column, "object", faults, must=False) for column in columns], axis=1)


def _in_lists(column: Column, faults: Faults, names: list[Any] | None) -> tuple[Objects, Codes]:
    list_of, lists = read_lists([column])
    objects = Objects([], (item for each in lists for item in each), names)
    longest = np.array([len(each) for each in lists])
    faults.add(longest[list_of] > _MOST, f"the list holds more than {_MOST} objects")
    table = np.full((len(lists), min(int(longest.max()), _MOST)), -1, np.int32)
    unknown = np.zeros(len(lists), bool)
    for at, each in enumerate(lists):
        codes = positions(each[:_MOST], objects)
        unknown[at] = -1 in codes
        table[at, : len(codes)] = codes
    reason = f"a name in the list is longer than {LONGEST_LABEL} characters, or none of the objects"
    faults.add(unknown[list_of], reason)
    return objects, np.asarray(table[list_of])

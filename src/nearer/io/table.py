"""Tables as all readers hand them on: columns of codes into few distinct values, and the line of every row.

Ten million rows name a few hundred objects. Everything that is done to a cell (stripping it, telling whether it means
"can't tell", parsing it) is done once for every distinct value, and to rows by whole arrays of codes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nearer.io.answers import BadRow

Codes: TypeAlias = NDArray[np.int32]
MOST_BAD_ROWS_KEPT = 1000


@dataclass(frozen=True)
class Column:
    """One column: ``values[codes]``, with a code of -1 for an empty cell.

    Values are strings, or integers where the table holds integers.
    """

    codes: Codes
    values: list[Any]

    def mapped(self, function: Callable[[Any], Any], missing: Any, dtype: Any) -> NDArray[Any]:
        """Return ``function`` of every cell, worked out once for every distinct value."""
        table = np.empty(len(self.values) + 1, dtype)
        for code, value in enumerate(self.values):
            table[code] = function(value)
        table[-1] = missing  # where a code of -1 points
        return table[self.codes]

    def taken(self, rows: NDArray[Any]) -> Column:
        """Return some rows, with the values that these have."""
        codes = self.codes[rows]
        there = np.bincount(codes[codes >= 0], minlength=len(self.values)) > 0
        if there.all():
            return Column(codes, self.values)
        new = np.append(np.where(there, np.cumsum(there) - 1, -1), -1).astype(np.int32)
        return Column(new[codes], [value for value, kept in zip(self.values, there.tolist(), strict=True) if kept])

    def text(self, row: int) -> str:
        """Return a cell as it is written in messages."""
        code = self.codes[row]
        return "" if code < 0 else shortened(self.values[code])


@dataclass(frozen=True)
class Loaded:
    """The columns asked for, the line of every row, and the rows that have no cells to speak of."""

    columns: dict[str, Column]
    lines: NDArray[np.int64]
    bad_rows: list[BadRow] = field(default_factory=list)
    n_bad: int = 0


@dataclass(frozen=True)
class Table:
    """A table whose columns are read when they are asked for.

    Attributes
    ----------
    source : str
        Name for messages.
    names : tuple of str
        Names of all columns, in order.
    load : callable
        Takes names and returns their columns.
    delimited : bool
        Whether this is a text file of cells, in which formulas may have been made inert.
    peek : callable, optional
        Takes names and returns the beginning of their columns, where that costs less than all of them.
    positional : bool
        Whether the columns were a matrix and have their names from their places.
    indices : bool
        Whether integers are indices of objects, and not labels that may be any number.
    ragged : callable, optional
        Takes names and returns their columns in the rows that have too few or too many cells, which `load` leaves out.
    """

    source: str
    names: tuple[str, ...]
    load: Callable[[Sequence[str]], Loaded]
    delimited: bool = False
    peek: Callable[[Sequence[str]], Loaded] | None = None
    positional: bool = False
    indices: bool = False
    ragged: Callable[[Sequence[str]], Loaded] | None = None


class Encoder:
    """Gives codes to values as they come, a block at a time."""

    def __init__(self) -> None:
        self.index: dict[Any, int] = {}
        self.blocks: list[Codes] = []

    def add(self, values: Sequence[Any]) -> None:
        """Append a block of values."""
        index = self.index
        self.blocks.append(np.fromiter((index.setdefault(v, len(index)) for v in values), np.int32, len(values)))

    def add_coded(self, codes: Codes, values: Sequence[Any]) -> None:
        """Append a block that has codes of its own."""
        index = self.index
        new = np.fromiter((index.setdefault(v, len(index)) for v in values), np.int32, len(values))
        self.blocks.append(np.append(new, np.int32(-1))[codes])  # -1 stays -1

    def column(self, strip: bool = True) -> Column:
        """Return the column; cells that hold nothing, or only spaces if ``strip``, are empty."""
        codes = np.concatenate(self.blocks) if self.blocks else np.empty(0, np.int32)
        return merged(codes, [_stripped(v) if strip else v for v in self.index])


def _stripped(value: Any) -> Any:
    return value.strip() if isinstance(value, str) else value


def merged(codes: Codes, values: Sequence[Any]) -> Column:
    """Return a column in which values are distinct and none is empty."""
    index: dict[Any, int] = {}
    new = np.empty(len(values) + 1, np.int32)
    for code, value in enumerate(values):
        new[code] = -1 if value is None or value == "" else index.setdefault(value, len(index))
    new[-1] = -1
    same = len(index) == len(values)
    return Column(codes if same else new[codes], list(index))


def encode(values: Any) -> Column:
    """Return a column of any array or list; integers stay integers, all else becomes text."""
    array = values if isinstance(values, np.ndarray) else _array_of(values)
    if array.ndim != 1:
        array = _array_of(list(array))
    if array.dtype.kind in "iu":
        distinct, codes = np.unique(array, return_inverse=True)
        return Column(codes.astype(np.int32), distinct.tolist())
    if array.dtype.kind == "f":
        distinct, codes = np.unique(array.astype(np.float64), return_inverse=True)  # 2**53 is no float16
        known = distinct[~np.isnan(distinct)]
        whole = bool((known == np.trunc(known)).all() and (np.abs(known) < 2**53).all())
        return merged(codes.astype(np.int32), [_number(v, whole) for v in distinct.tolist()])
    encoder = Encoder()
    encoder.add([cell(value) for value in array.tolist()])
    return encoder.column(strip=False)


def _array_of(values: Iterable[Any]) -> NDArray[Any]:
    listed = list(values)
    array = np.empty(len(listed), object)
    for position, value in enumerate(listed):  # one by one: NumPy would make a table of lists of the same length
        array[position] = value
    return array


def _number(value: float, whole: bool) -> Any:
    if value != value:
        return None
    return int(value) if whole else repr(value)


def cell(value: Any) -> Any:
    """Return a Python value as a cell: an integer, text (lists as JSON), or None where there is nothing."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return None if value != value else (int(value) if float(value).is_integer() else repr(float(value)))
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, list | tuple | np.ndarray | set | frozenset):
        return json.dumps([cell(item) for item in value], ensure_ascii=False)
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    return str(value)


def present(column: Column) -> list[Any]:
    """Return the distinct values that rows of a column have."""
    return [column.values[code] for code in np.unique(column.codes[column.codes >= 0]).tolist()]


def shortened(value: Any, most: int = 60) -> str:
    """Return a value for a message: quoted, and not longer than a line."""
    text = str(value)
    return repr(text if len(text) <= most else text[: most - 3] + "...")

"""Tables as all readers hand them on: columns of codes into few distinct values, and the line of every row.

Ten million rows name a few hundred objects. Everything that is done to a cell (stripping it, telling whether it means
"can't tell", parsing it) is done once for every distinct value, and to rows by whole arrays of codes.

Rows that cannot be used, collected with their reasons, then skipped or refused; and what to do about a file.

Advice is given as it is typed on the command line and as it is written in Python.

Columns of numbers: response times, confidences and weights.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nearer.data.labels import plain
from nearer.io.answers import BadAnswers, BadRow

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


_SKIP = "--skip-bad (skip_bad=True) skips them"
_CATCH = (
    "If those that show an object twice are catch questions, name the column that marks them: "
    "--catch NAME (catch='NAME')"
)


class Faults:
    """Rows found bad, each with its first reason."""

    def __init__(self, n_rows: int) -> None:
        self.bad = np.zeros(n_rows, bool)
        self.any_twice = False  # whether a row shows an object twice, as catch questions do
        self._found: list[tuple[NDArray[np.intp], Callable[[int], str]]] = []

    def add(self, mask: NDArray[np.bool_], reason: Callable[[int], str] | str) -> None:
        """Mark rows as bad; those that already are keep their reason."""
        new = np.flatnonzero(mask & ~self.bad)
        if len(new):
            self.bad[new] = True
            self._found.append((new, reason if callable(reason) else lambda _: reason))

    def add_twice(self, mask: NDArray[np.bool_], reason: Callable[[int], str]) -> None:
        """Mark rows that show an object twice."""
        self.any_twice |= bool((mask & ~self.bad).any())
        self.add(mask, reason)

    def rows(self, source: str, lines: NDArray[np.int64]) -> list[BadRow]:
        """Return the first thousand, in the order of the file."""
        listed: list[tuple[int, Callable[[int], str]]] = []
        for rows, reason in self._found:
            listed += [(int(row), reason) for row in rows[:MOST_BAD_ROWS_KEPT]]
        listed.sort(key=lambda found: found[0])
        return [BadRow(source, int(lines[row]), reason(row)) for row, reason in listed[:MOST_BAD_ROWS_KEPT]]


def gather_bad(
    loaded: Loaded, faults: Faults, source: str, skip_bad: bool, any_left: bool
) -> tuple[tuple[BadRow, ...], int]:
    """Return the rows to be skipped, or refuse them."""
    bad_rows = sorted([*loaded.bad_rows, *faults.rows(source, loaded.lines)], key=lambda row: row.line)[
        :MOST_BAD_ROWS_KEPT
    ]
    n_bad = loaded.n_bad + int(faults.bad.sum())
    if n_bad and not skip_bad:
        raise BadAnswers(bad_rows, n_bad, f"{_SKIP}\n{_CATCH}" if faults.any_twice else _SKIP)
    if not any_left:
        if n_bad:
            raise BadAnswers(bad_rows, n_bad, f"no answer of {source} is left without them")
        raise ValueError(f"{source} holds no answer that compares anything")
    return tuple(bad_rows), n_bad


_MISSING = frozenset({"", "na", "nan", "null", "none", "undefined", "nil"})
_NUMERIC = re.compile(r"[+-]?[\d.,]+")
_GROUPS = {mark: re.compile(rf"[+-]?[1-9]\d{{0,2}}({re.escape(mark)}\d{{3}})+") for mark in ",."}
_LONGEST_ANSWER = 100.0  # seconds; times whose median is above are in milliseconds


def _commas(texts: list[str]) -> tuple[str, str]:
    """Return what stands between thousands, and what before decimals, in a whole column.

    Half of Europe writes 1,5 and 1.234,5; others write 1.5 and 1,234.5. Where only numbers such as 1,234 have commas,
    these are thousands: numbers with decimals would not all have three of them and begin with 1 to 9.

    Examples
    --------
    >>> _commas(["1,234", "950"]), _commas(["1,234", "0,95"])
    ((',', '.'), ('', ','))
    """
    with_comma = [text for text in texts if "," in text and _NUMERIC.fullmatch(text)]
    both = next((text for text in with_comma if "." in text), None)
    if both is not None:
        return (",", ".") if both.rindex(",") < both.rindex(".") else (".", ",")
    if not with_comma:
        return "", "."
    return (",", ".") if all(_GROUPS[","].fullmatch(text) for text in with_comma) else ("", ",")


def _parsed(value: Any, thousands: str, decimal: str) -> float:
    """Return a number, NaN where there is none, and infinity for what is no number."""
    if isinstance(value, int):
        return float(value) if abs(value) < 2**63 else math.inf
    text = str(value).strip()
    if text.lower() in _MISSING:
        return math.nan
    if thousands and thousands in text:
        whole = text.split(decimal)[0]
        if not _GROUPS[thousands].fullmatch(whole):
            return math.inf
        text = whole.replace(thousands, "") + text[len(whole) :]
    try:
        return float(text.replace(decimal, "."))
    except ValueError:
        return math.inf


def plain_numbers(column: Column) -> NDArray[np.float64]:
    """Return the numbers of a column, (n,): NaN where there is none, infinity for what is no number.

    Examples
    --------
    >>> plain_numbers(Column(np.array([0, 1, -1, 2], np.int32), ["0,5", "1,25", "late"]))
    array([0.5 , 1.25,  nan,  inf])
    """
    commas = _commas([value for value in column.values if isinstance(value, str)])
    return np.asarray(column.mapped(lambda value: _parsed(value, *commas), math.nan, np.float64))


def read_numbers(
    column: Column, what: str, faults: Faults, source: str, notes: list[str], must: bool = False
) -> NDArray[np.float64] | None:
    """Return numbers, (n,), NaN where there is none; None for a column without any.

    Parameters
    ----------
    column : Column
    what : str
        Name for messages.
    faults : Faults
    source : str
    notes : list of str
    must : bool
        Whether a row without a number is bad.
    """
    numbers = plain_numbers(column)
    if not np.isfinite(numbers).any():
        if np.isinf(numbers).any():
            notes.append(f"{source}: the column of the {what} holds no numbers and was not used")
        return None
    wrong = np.isinf(numbers)
    if must:
        faults.add(wrong, lambda row: f"the {what} {column.text(row)} is no number")
        faults.add(np.isnan(numbers), f"there is no {what}")
    elif wrong.any():
        n_wrong, first = int(wrong.sum()), column.text(int(wrong.argmax()))
        rows = "1 row has" if n_wrong == 1 else f"{n_wrong} rows have"
        notes.append(f"{source}: {rows} a {what} that is no number, such as {first}; it counts as missing")
        numbers[wrong] = math.nan
    return numbers


def in_proportion(
    numbers: NDArray[np.float64],
    column: Column,
    what: str,
    faults: Faults,
    source: str,
    notes: list[str],
    most: float = 1e9,
) -> NDArray[np.float64]:
    """Return weights that sums and products can be made of.

    Rows whose weight is ``most`` times larger or smaller than the one in the middle are added to the faults. If the
    one in the middle is itself that far from 1, all are divided by it.
    """
    faults.add(numbers < 0, f"the {what} is negative")
    positive = np.sort(numbers[~faults.bad & (numbers > 0)])
    if len(positive) == 0:
        return numbers
    middle = float(positive[(len(positive) - 1) // 2])  # no mean of two: 1e308 + 1e308 is infinite
    with np.errstate(over="ignore"):
        ratio = numbers / middle
    apart = (ratio > most) | ((numbers > 0) & (ratio < 1 / most))
    faults.add(
        apart,
        lambda row: (
            f"the {what} {column.text(row)} is out of all proportion: {what}s of this file are about {middle:.3g}; "
            "correct it"
        ),
    )
    if 1 / most <= middle <= most:
        return numbers
    notes.append(f"{source}: {what}s were divided by {middle:.3g}, the one in the middle")
    return np.where(apart, 0.0, ratio)


def as_seconds(times: NDArray[np.float64], name: str, unit: Literal["s", "ms"] | None = None) -> NDArray[np.float64]:
    """Return response times in seconds; negative ones mean that there is none.

    Without a unit, the name of the column or the median tells milliseconds from seconds.

    Examples
    --------
    >>> as_seconds(np.array([1200.0, 800.0, -1.0]), "rt")
    array([1.2, 0.8, nan])
    """
    times = np.where(times < 0, np.nan, times)
    if unit is None:
        known = np.sort(times[~np.isnan(times)])
        says_so = plain(name).endswith(("ms", "msec", "msecs", "millis", "milliseconds"))
        long = len(known) > 0 and bool(known[(len(known) - 1) // 2] > _LONGEST_ANSWER)  # no mean of two, as above
        unit = "ms" if says_so or long else "s"
    return times / 1000 if unit == "ms" else times

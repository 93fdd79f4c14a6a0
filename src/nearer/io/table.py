"""Tables as all readers hand them on: columns of codes into few distinct values, and where every row stands.

Ten million rows name a few hundred objects: what is done to a cell is done once for every distinct value, and to rows
by whole arrays of codes. Rows that cannot be used are collected with their reasons, then skipped or refused. Columns
of numbers are response times, confidences and weights.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nearer._common.findings import Finding, Source
from nearer.data.labels import normalize_name
from nearer.io.answers import BadAnswers
from nearer.io.messages import note

Codes: TypeAlias = NDArray[np.int32]
MAX_BAD_ROWS = 1000


@dataclass(frozen=True)
class Column:
    """One column: ``values[codes]``, with a code of -1 for an empty cell.

    Values are strings, or integers where the table holds integers.
    """

    codes: Codes
    values: list[Any]

    def __getitem__(self, rows: Any) -> Column:
        return Column(self.codes[rows], self.values)

    @property
    def filled(self) -> NDArray[np.bool_]:
        """Whether a cell holds anything, (n,)."""
        return self.codes >= 0

    @property
    def present(self) -> list[Any]:
        """The distinct values that rows have."""
        return [self.values[code] for code in np.unique(self.codes[self.filled]).tolist()]

    def map_values(self, function: Callable[[Any], Any], missing: Any, dtype: Any) -> NDArray[Any]:
        """Return ``function`` of every cell, worked out once for every distinct value."""
        table = np.empty(len(self.values) + 1, dtype)
        for code, value in enumerate(self.values):
            table[code] = function(value)
        table[-1] = missing  # where a code of -1 points
        return table[self.codes]

    def replace_values(self, function: Callable[[Any], Any]) -> Column:
        """Return a column of ``function`` of every cell; cells without a value are empty."""
        return deduplicate(self.codes, list(map(function, self.values)))

    def take(self, rows: NDArray[Any]) -> Column:
        """Return some rows, with the values that these have."""
        codes = self.codes[rows]
        there = np.bincount(codes[codes >= 0], minlength=len(self.values)) > 0
        new = np.append(np.where(there, np.cumsum(there) - 1, -1), -1).astype(np.int32)
        return Column(new[codes], [value for value, kept in zip(self.values, there.tolist(), strict=True) if kept])

    def texts(self) -> NDArray[Any]:
        """Return the cells as text, (n,) of object; "" where they are empty."""
        return self.map_values(str, "", object)

    def value(self, row: int) -> Any:
        """Return a cell, None where it is empty."""
        return None if self.codes[row] < 0 else self.values[self.codes[row]]


@dataclass(frozen=True)
class RowSources:
    """Where rows stand: the line of each, (n,), from 1, and the number of its file, (n,), where there are several."""

    whole: str  # what all files together are called
    lines: NDArray[np.int64]
    files: tuple[str, ...] = ()  # the names of the files, in order
    file_of: NDArray[np.intp] | None = None

    def __len__(self) -> int:
        return len(self.lines)

    def __getitem__(self, rows: Any) -> RowSources:
        return replace(self, lines=self.lines[rows], file_of=None if self.file_of is None else self.file_of[rows])

    def at(self, row: int) -> Source:
        """Return where one row stands."""
        return Source(self.whole if self.file_of is None else self.files[self.file_of[row]], int(self.lines[row]))

    @property
    def names(self) -> NDArray[np.str_] | None:
        """The name of the file of each row, (n,); None for a single one."""
        return None if self.file_of is None else np.array(self.files)[self.file_of]

    def find(self, lines: NDArray[np.int64], names: NDArray[np.str_] | None) -> NDArray[np.intp]:
        """Return the numbers, (a,), of rows that stand on some lines of some files; all rows are in order."""
        if self.file_of is None or names is None:
            return np.searchsorted(self.lines, lines)
        distinct, of = np.unique(names, return_inverse=True)
        numbers = np.array([self.files.index(name) for name in distinct.tolist()])[of]
        n_lines = int(self.lines.max(initial=0)) + 1
        return np.searchsorted(self.file_of * n_lines + self.lines, numbers * n_lines + lines)


@dataclass(frozen=True)
class LoadedRows:
    """The columns asked for, where their rows stand, and the rows that have no cells to speak of."""

    columns: dict[str, Column]
    sources: RowSources
    bad_rows: list[Finding] = field(default_factory=list)
    n_bad: int = 0
    findings: tuple[Finding, ...] = ()  # about rows that were dropped on the way

    def __len__(self) -> int:
        return len(self.sources)

    def with_columns(self, columns: Mapping[str, Column]) -> LoadedRows:
        """Return the rows with further columns, or others of the same names."""
        return replace(self, columns={**self.columns, **columns})

    def only(self, rows: NDArray[Any], *findings: Finding) -> LoadedRows:
        """Return some rows, with findings about the others."""
        columns = {name: column[rows] for name, column in self.columns.items()}
        return replace(self, columns=columns, sources=self.sources[rows], findings=(*self.findings, *findings))

    def without(self, rows: NDArray[np.bool_], why: str, objects: Sequence[str] = ()) -> LoadedRows:
        """Return the other rows, with a finding that says why."""
        if not rows.any():
            return self
        return self.only(~rows, note("rows", self.sources.whole, objects, n_rows=int(rows.sum()), why=why))


@dataclass(frozen=True)
class Table:
    """A table whose columns are read when they are asked for."""

    source: str  # name for messages
    names: tuple[str, ...]  # names of all columns, in order
    load: Callable[[Sequence[str]], LoadedRows]  # takes names and returns their columns
    delimited: bool = False  # whether this is a text file of cells, in which formulas may have been made inert
    peek: Callable[[Sequence[str]], LoadedRows] | None = None
    positional: bool = False  # whether the columns were a matrix and have their names from their places
    indices: bool = False  # whether integers are indices of objects, and not labels that may be any number
    objects: list[Any] | None = None  # labels that integers stand for
    kind: str | None = None  # that an npz file says it holds
    ragged: Callable[[Sequence[str]], LoadedRows] | None = None
    findings: tuple[Finding, ...] = ()  # what a reader should know of the file

    def with_findings(self, *findings: Finding) -> Table:
        """Return the table with more findings."""
        return replace(self, findings=(*self.findings, *findings))

    def texts(self, name: str) -> NDArray[Any]:
        """Return the cells of a column as text."""
        return self.load([name]).columns[name].texts()


class Encoder:
    """Gives codes to values as they come, a block at a time."""

    def __init__(self) -> None:
        self.index: dict[Any, int] = {}
        self.blocks: list[Codes] = []

    def add(self, values: Sequence[Any]) -> None:
        """Append a block of values."""
        self.add_coded(np.arange(len(values), dtype=np.int32), values)

    def add_coded(self, codes: Codes, values: Sequence[Any]) -> None:
        """Append a block that has codes of its own."""
        index = self.index
        new = np.fromiter((index.setdefault(value, len(index)) for value in values), np.int32, len(values))
        self.blocks.append(np.append(new, np.int32(-1))[codes])  # -1 stays -1

    def column(self, strip: bool = True) -> Column:
        """Return the column; cells that hold nothing, or only spaces if ``strip``, are empty."""
        codes = np.concatenate(self.blocks) if self.blocks else np.empty(0, np.int32)
        return deduplicate(codes, [v.strip() if strip and isinstance(v, str) else v for v in self.index])


def join_rows(columns: Iterable[Column]) -> Column:
    """Return the rows of several columns, one below the other."""
    encoder = Encoder()
    for column in columns:
        encoder.add_coded(column.codes, column.values)
    return encoder.column(strip=False)


def deduplicate(codes: Codes, values: Sequence[Any]) -> Column:
    """Return a column in which values are distinct and none is empty."""
    index: dict[Any, int] = {}
    new = [-1 if value is None or value == "" else index.setdefault(value, len(index)) for value in values]
    return Column(codes if len(index) == len(values) else np.array([*new, -1], np.int32)[codes], list(index))


def encode_cells(values: Sequence[Any], strip: bool = False) -> Column:
    """Return a column of cells; those that hold nothing, or only spaces if ``strip``, are empty."""
    stripped = [value.strip() if strip and isinstance(value, str) else value for value in values]
    return deduplicate(np.arange(len(values), dtype=np.int32), stripped)


def encode(values: Any) -> Column:
    """Return a column of any array or list; integers stay integers, all else becomes text."""
    if not (isinstance(values, np.ndarray) and values.ndim == 1):
        listed = list(values)
        values = np.empty(len(listed), object)
        for position, value in enumerate(listed):  # one by one: NumPy would make a table of lists of the same length
            values[position] = value
    if values.dtype.kind in "iu":
        distinct, codes = np.unique(values, return_inverse=True)
        return Column(codes.astype(np.int32), distinct.tolist())
    if values.dtype.kind == "f":
        distinct, codes = np.unique(values.astype(np.float64), return_inverse=True)  # 2**53 is no float16
        known = distinct[~np.isnan(distinct)]
        whole = bool((known == np.trunc(known)).all() and (np.abs(known) < 2**53).all())
        numbers = [None if v != v else int(v) if whole else repr(v) for v in distinct.tolist()]
        return deduplicate(codes.astype(np.int32), numbers)
    return encode_cells([cell(value) for value in values.tolist()])


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


_SKIP_ADVICE = "--skip-bad (skip_bad=True) skips them"
_CATCH_ADVICE = (
    "If those that show an object twice are catch questions, name the column that marks them: "
    "--catch NAME (catch='NAME')"
)
Numbers: TypeAlias = Mapping[str, Any]


class RowErrors:
    """Rows that cannot be used, each with the first reason that was found."""

    def __init__(self, n_rows: int) -> None:
        self.bad = np.zeros(n_rows, bool)
        self._found: list[tuple[NDArray[np.intp], str, Callable[[int], Numbers]]] = []

    def add(
        self, mask: NDArray[np.bool_], code: str, of_row: Callable[[int], Numbers] | None = None, **numbers: Any
    ) -> None:
        """Mark rows as bad; those that already are keep their reason.

        ``code`` is that of a finding, which has the numbers ``of_row``, or the same ``numbers`` in all rows.
        """
        new = np.flatnonzero(mask & ~self.bad)
        if len(new):
            self.bad[new] = True
            self._found.append((new, code, of_row or (lambda _: numbers)))

    def collect(self, loaded: LoadedRows, skip_bad: bool, any_left: bool) -> tuple[tuple[Finding, ...], int]:
        """Return the first thousand rows to be skipped, in the order of the table, and their number; or refuse them."""
        first = [(int(row), at) for at, (rows, _, _) in enumerate(self._found) for row in rows[:MAX_BAD_ROWS]]
        found = [*loaded.bad_rows]
        for row, at in sorted(first)[:MAX_BAD_ROWS]:
            _, code, of_row = self._found[at]
            numbers = dict(of_row(row))
            found.append(Finding(code, "error", loaded.sources.at(row), numbers, numbers.pop("concerned", ())))
        file_order = {name: at for at, name in enumerate(loaded.sources.files)}
        found.sort(key=lambda each: (file_order.get(each.source.file if each.source else "", -1), each.row))
        bad_rows, n_bad = found[:MAX_BAD_ROWS], loaded.n_bad + int(self.bad.sum())
        if n_bad and not skip_bad:
            twice = any(code == "twice" for _, code, _ in self._found)  # as catch questions show an object
            raise BadAnswers(bad_rows, n_bad, f"{_SKIP_ADVICE}\n{_CATCH_ADVICE}" if twice else _SKIP_ADVICE)
        if n_bad and not any_left:
            raise BadAnswers(bad_rows, n_bad, f"no answer of {loaded.sources.whole} is left without them")
        if not any_left:
            raise ValueError(f"{loaded.sources.whole} holds no answer that compares anything")
        return tuple(bad_rows), n_bad


_MISSING = frozenset({"", "na", "nan", "null", "none", "undefined", "nil"})
_NUMERIC = re.compile(r"[+-]?[\d.,]+")
_GROUPS = {mark: re.compile(rf"[+-]?[1-9]\d{{0,2}}({re.escape(mark)}\d{{3}})+") for mark in ",."}
MAX_SECONDS = 100.0  # seconds; times whose median is above are in milliseconds


def _decimal_marks(texts: list[str]) -> tuple[str, str]:
    """Return what stands between thousands, and what before decimals, in a whole column.

    Half of Europe writes 1,5 and 1.234,5; others write 1.5 and 1,234.5. Where only numbers such as 1,234 have commas,
    these are thousands: numbers with decimals would not all have three of them and begin with 1 to 9.
    """
    with_comma = [text for text in texts if "," in text and _NUMERIC.fullmatch(text)]
    both = next((text for text in with_comma if "." in text), None)
    if both is not None:
        return (",", ".") if both.rindex(",") < both.rindex(".") else (".", ",")
    if not with_comma:
        return "", "."
    return (",", ".") if all(_GROUPS[","].fullmatch(text) for text in with_comma) else ("", ",")


def _parse_number(value: Any, thousands: str, decimal: str) -> float:
    """Return a number, NaN where there is none, and infinity for what is not a number."""
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
    """Return the numbers of a column, (n,): NaN where there is none, infinity for what is not a number."""
    marks = _decimal_marks([value for value in column.values if isinstance(value, str)])
    return column.map_values(lambda value: _parse_number(value, *marks), math.nan, np.float64)


def read_numbers(
    column: Column, what: str, errors: RowErrors, source: str, required: bool = False
) -> tuple[NDArray[np.float64] | None, tuple[Finding, ...]]:
    """Return numbers, (n,), NaN where there is none, and findings; None for a column without any.

    If they are ``required``, a row without a number is bad.
    """
    numbers = plain_numbers(column)
    wrong = np.isinf(numbers)
    if not np.isfinite(numbers).any():
        return None, (note("no-numbers", source, what=what),) if wrong.any() else ()
    if required:
        errors.add(wrong, "no-number", lambda row: {"what": what, "value": column.value(row)})
        errors.add(np.isnan(numbers), "missing", what=what)
    elif wrong.any():
        first = column.value(int(wrong.argmax()))
        numbers[wrong] = math.nan
        return numbers, (note("missing-numbers", source, what=what, n_rows=int(wrong.sum()), first=first),)
    return numbers, ()


def check_proportions(
    numbers: NDArray[np.float64], column: Column, what: str, errors: RowErrors, source: str, most: float = 1e9
) -> tuple[NDArray[np.float64], tuple[Finding, ...]]:
    """Return weights that sums and products can be made of, and findings.

    Rows whose weight is ``most`` times larger or smaller than the one in the middle are errors. If the one in the
    middle is itself that far from 1, all are divided by it.
    """
    errors.add(numbers < 0, "negative", what=what)
    positive = np.sort(numbers[~errors.bad & (numbers > 0)])
    if len(positive) == 0:
        return numbers, ()
    middle = float(positive[(len(positive) - 1) // 2])  # no mean of two: 1e308 + 1e308 is infinite
    with np.errstate(over="ignore"):
        ratio = numbers / middle
    apart = (ratio > most) | ((numbers > 0) & (ratio < 1 / most))
    errors.add(apart, "disproportionate", lambda row: {"what": what, "value": column.value(row), "middle": middle})
    if 1 / most <= middle <= most:
        return numbers, ()
    return np.where(apart, 0.0, ratio), (note("rescaled", source, what=what, middle=middle),)


def as_seconds(times: NDArray[np.float64], name: str, unit: Literal["s", "ms"] | None = None) -> NDArray[np.float64]:
    """Return response times in seconds; negative ones mean that there is none.

    Without a unit, the name of the column or the median tells milliseconds from seconds.
    """
    times = np.where(times < 0, np.nan, times)
    if unit is None:
        known = np.sort(times[~np.isnan(times)])
        says_so = normalize_name(name).endswith(("ms", "msec", "msecs", "millis", "milliseconds"))
        long = len(known) > 0 and bool(known[(len(known) - 1) // 2] > MAX_SECONDS)  # no mean of two, as above
        unit = "ms" if says_so or long else "s"
    return times / 1000 if unit == "ms" else times

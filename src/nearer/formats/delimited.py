"""CSV, TSV and the like.

Two readers of the same files. The fast one lets pyarrow cut the text, and is used only where it cannot be wrong about
lines: quotes stand around whole cells, and there are as many rows as lines. The exact one follows Python's csv module
row by row; it knows the line of every row across quoted newlines and blank lines, and which rows have too few or too
many cells.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from nearer.formats.answers import BadRow
from nearer.formats.table import MOST_BAD_ROWS_KEPT, Column, Encoder, Loaded, Table

_DELIMITERS = (",", ";", "\t", "|")
_BLOCK_ROWS = 50_000
_PIECE = 2**24

_Read: TypeAlias = tuple[list[Column], NDArray[np.int64], list[BadRow], int]


def delimited_table(data: bytes, source: str, own: bool | None = None) -> Table:
    """Return the table in UTF-8 text.

    Parameters
    ----------
    data : bytes
    source : str
    own : bool, optional
        Whether cells are to be kept to the last space; if left out, the header tells.
    """
    delimiter = _sniffed(data)
    names, first_row = _header(data, delimiter, source)
    keep_spaces = "nearer_kind" in names if own is None else own

    def load(wanted: Sequence[str]) -> Loaded:
        positions = [names.index(name) for name in wanted]
        loaded = _fast(data, delimiter, len(names), positions, source, keep_spaces) if first_row == 2 else None
        if loaded is None:
            loaded = _exact(data, delimiter, len(names), positions, source, keep_spaces)
        columns, lines, bad_rows, n_bad = loaded
        return Loaded(dict(zip(wanted, columns, strict=True)), lines, bad_rows, n_bad)

    return Table(source, tuple(names), load, delimited=True)


def _rows(data: bytes, delimiter: str, source: str) -> Iterator[tuple[int, list[str]]]:
    """Return the line that each row begins on, and its cells; blank lines are left out."""
    text = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", errors="surrogateescape", newline="")
    reader = csv.reader(text, delimiter=delimiter)
    line = 1
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise ValueError(
                f"{source}:{line}: {error}; a cell that long is most often a quote that was never closed"
            ) from error
        if row and not (len(row) == 1 and not row[0].strip()):
            yield line, row
        line = reader.line_num + 1


def _sniffed(data: bytes) -> str:
    """Return the delimiter that cuts the first lines into the most columns alike."""
    best, highest = ",", (0, 0)
    head = data[: 2**16]
    if len(data) > len(head) and b"\n" in head:
        head = head[: head.rindex(b"\n") + 1]
    for delimiter in _DELIMITERS:
        try:
            rows = [row for _, row in islice(_rows(head, delimiter, ""), 20)]
        except ValueError:
            continue
        width = len(rows[0]) if rows else 0
        score = (sum(len(row) == width for row in rows), width) if width > 1 else (0, 0)
        if score > highest:
            best, highest = delimiter, score
    return best


def _header(data: bytes, delimiter: str, source: str) -> tuple[list[str], int]:
    """Return the names of the columns and the line after them."""
    rows = _rows(data, delimiter, source)
    try:
        line, names = next(rows)
    except StopIteration:
        raise ValueError(f"{source} is empty; save the answers as CSV with a line of column names") from None
    names = [name.strip() or f"column {position}" for position, name in enumerate(names, 1)]
    while len(names) > 1 and names[-1] == f"column {len(names)}":
        names.pop()  # delimiters at the end of every line
    try:
        after, _ = next(rows)
    except StopIteration:
        raise ValueError(f"{source} has a header ({', '.join(names)[:200]}) and no rows below it") from None
    return names, after if line == 1 else 0


def _fast(
    data: bytes, delimiter: str, width: int, positions: Sequence[int], source: str, keep_spaces: bool
) -> _Read | None:
    """Return columns and lines, or None if anything is odd."""
    try:
        import pyarrow as pa
    except ModuleNotFoundError:
        return None
    n_lines = data.count(b"\n") + (not data.endswith(b"\n"))
    if data.count(b"\r") != data.count(b"\r\n") or not _plainly_quoted(data, delimiter):
        return None
    names = [str(position) for position in range(width)]
    wanted = [names[position] for position in dict.fromkeys(positions)]
    encoders = {name: Encoder() for name in wanted}
    wrong = _WrongRows(source, delimiter)
    try:
        n_rows = 0
        with tqdm(total=n_lines, desc="read", unit="row", unit_scale=True, delay=1, disable=None, leave=False) as bar:
            for batch in _batches(data, delimiter, names, wanted, wrong):
                n_rows += len(batch)
                bar.update(len(batch))
                for name in wanted:
                    array = batch.column(batch.schema.get_field_index(name))
                    encoders[name].add_coded(array.indices.to_numpy(), array.dictionary.to_pylist())
    except (pa.ArrowException, UnicodeDecodeError):
        return None
    if n_rows + len(wrong.lines) + 1 != n_lines:  # blank lines, or cells over several lines
        return None
    columns = {name: encoder.column(strip=not keep_spaces) for name, encoder in encoders.items()}
    lines = np.arange(2, n_lines + 1, dtype=np.int64)
    if wrong.lines:
        lines = np.delete(lines, np.array(wrong.lines) - 2)
    return [columns[names[position]] for position in positions], lines, wrong.bad_rows, len(wrong.lines)


def _batches(data: bytes, delimiter: str, names: list[str], wanted: list[str], wrong: _WrongRows) -> Any:
    """Return batches of the wanted columns, as codes and the values that they stand for."""
    import pyarrow as pa
    from pyarrow import csv as arrow

    return arrow.open_csv(
        pa.BufferReader(data),
        # One thread: only then is the line of a row of another width known.
        arrow.ReadOptions(column_names=names, skip_rows=1, block_size=_PIECE, use_threads=False),
        arrow.ParseOptions(delimiter=delimiter, invalid_row_handler=wrong.add),
        arrow.ConvertOptions(
            include_columns=wanted,
            column_types=dict.fromkeys(wanted, pa.dictionary(pa.int32(), pa.string())),
            strings_can_be_null=False,
        ),
    )


class _WrongRows:
    """Collects rows with too few or too many cells."""

    def __init__(self, source: str, delimiter: str) -> None:
        self.source, self.delimiter = source, delimiter
        self.lines: list[int] = []
        self.bad_rows: list[BadRow] = []

    def add(self, row: Any) -> str:
        """Note a row that pyarrow could not fit into the columns."""
        empty = self.delimiter * max(row.actual_columns - row.expected_columns, 0)
        if row.number is None or (empty and row.text.rstrip("\r\n ").endswith(empty)):
            return "error"  # empty cells at the end of a row do no harm: the exact reader knows
        self.lines.append(row.number)
        if len(self.bad_rows) < MOST_BAD_ROWS_KEPT:
            self.bad_rows.append(_wrong_width(self.source, row.number, row.actual_columns, row.expected_columns))
        return "skip"


def _wrong_width(source: str, line: int, n_cells: int, width: int) -> BadRow:
    return BadRow(source, line, f"has {n_cells} cell{'s' if n_cells != 1 else ''} where the header has {width}")


def _plainly_quoted(data: bytes, delimiter: str) -> bool:
    """Whether every quote stands at the very beginning or end of a cell, by turns."""
    if b'"' not in data:
        return True
    whole = np.frombuffer(data, np.uint8)
    before = np.zeros(256, bool)
    before[[ord(delimiter), 10]] = True
    after = before.copy()
    after[13] = True
    opening = True
    for start in range(0, len(whole), _PIECE):
        quotes = np.flatnonzero(whole[start : start + _PIECE] == 34) + start
        if len(quotes) == 0:
            continue
        opens = np.zeros(len(quotes), bool)
        opens[0 if opening else 1 :: 2] = True
        first, last = quotes[opens], quotes[~opens]
        if not (before[whole[first - 1]] | (first == 0)).all():
            return False
        if not (after[whole[np.minimum(last + 1, len(whole) - 1)]] | (last == len(whole) - 1)).all():
            return False
        opening ^= len(quotes) % 2 == 1
    return opening


def _exact(data: bytes, delimiter: str, width: int, positions: Sequence[int], source: str, keep_spaces: bool) -> _Read:
    encoders = {position: Encoder() for position in positions}
    lines: list[Any] = []
    bad_rows: list[BadRow] = []
    n_bad = 0
    rows = _rows(data, delimiter, source)
    next(rows)
    with tqdm(total=None, desc="read", unit="row", unit_scale=True, delay=1, disable=None, leave=False) as bar:
        while block := list(islice(rows, _BLOCK_ROWS)):
            bar.update(len(block))
            wrong = [len(row) != width and (len(row) < width or any(row[width:])) for _, row in block]
            if any(wrong):
                for (line, row), is_wrong in zip(block, wrong, strict=True):
                    if is_wrong:
                        n_bad += 1
                        if len(bad_rows) < MOST_BAD_ROWS_KEPT:
                            bad_rows.append(_wrong_width(source, line, len(row), width))
                block = [entry for entry, is_wrong in zip(block, wrong, strict=True) if not is_wrong]
            lines.append(np.fromiter((line for line, _ in block), np.int64, len(block)))
            for position, encoder in encoders.items():
                encoder.add([row[position] for _, row in block])
    columns = {position: encoder.column(strip=not keep_spaces) for position, encoder in encoders.items()}
    return (
        [columns[position] for position in positions],
        np.concatenate(lines or [np.empty(0, np.int64)]),
        bad_rows,
        n_bad,
    )

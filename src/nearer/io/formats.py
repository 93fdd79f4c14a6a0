"""Files of all formats as tables: Parquet files, data frames, dicts of columns, JSON, NumPy files and text.

Nothing is ever unpickled, and no array is made before its size is known to be in the file. JSON is an object a line, or
arrays of objects, such as those that servers of experiments write for every person, with what holds of the person next
to them: it goes with every row. An object in a cell also makes columns of its own, "question.anchor".
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearer._common.files import printable
from nearer._common.findings import Finding, Source
from nearer._common.progress import progress_bar
from nearer.io.columns import NEAR_FAR
from nearer.io.delimited import (
    GrowsTooLarge,
    as_utf8,
    delimited_table,
    members,
    read_bytes,
    refuse_growth,
    without_end,
    without_preamble,
)
from nearer.io.messages import note
from nearer.io.table import MAX_BAD_ROWS, Encoder, LoadedRows, RowSources, Table, cell, encode, encode_cells

PEEKED_BYTES, PEEKED_ROWS = 2**17, 1000  # that are looked at to see what a column that is not used holds
BYTES_PER_CODE = 4
_NPY = b"\x93NUMPY"


def open_table(source: Any, kind: str | None = None, sheet: str | None = None) -> Table:
    """Return the table in a file, a frame or a dict of columns.

    The ``kind`` names the columns of a matrix, ``sheet`` is that of a workbook.
    """
    if not isinstance(source, str | PathLike):
        return frame_table(source)
    path = Path(source)
    name = printable(path.name or str(path))
    data = read_bytes(path)
    if data[:4] == b"PAR1":
        return parquet_table(data, name)
    if data[:6] == _NPY or (data[:4] == b"PK\x03\x04" and b".npy" in data[:256]):
        return _arrays_table(data, kind, name)
    data, of_encoding = as_utf8(data, name, sheet)
    data, of_comments = without_preamble(data, name)
    data, findings = without_end(data), (*of_encoding, *of_comments)
    suffixes = {suffix.lower() for suffix in path.suffixes[-2:]}
    looks_like_json = data.lstrip()[:1] in (b"{", b"[") and not {".csv", ".tsv"} & suffixes
    if looks_like_json or {".json", ".jsonl", ".ndjson"} & suffixes:
        return json_table(data, name).with_findings(*findings)
    table = delimited_table(data, name).with_findings(*findings)
    if len(data) > PEEKED_BYTES:
        beginning = data[: data.rfind(b"\n", 0, PEEKED_BYTES) + 1]
        table = replace(table, peek=lambda wanted: delimited_table(beginning, name).load(wanted))
    return table


def parquet_table(data: bytes, source: str) -> Table:
    """Return the table in a Parquet file; only the columns asked for are read."""
    try:
        import pyarrow as pa
        from pyarrow.parquet import ParquetFile
    except ModuleNotFoundError as error:
        raise ValueError(
            f"{source}: reading Parquet needs pyarrow; pip install pyarrow, or save the table as CSV"
        ) from error

    def damaged(error: Exception) -> ValueError:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        return ValueError(f"{source} is not a whole Parquet file: {reason}; copy or write it again")

    try:
        file = ParquetFile(pa.BufferReader(data))
        names, n_rows = file.schema_arrow.names, file.metadata.num_rows
    except Exception as error:  # pyarrow has a dozen errors for damaged files, not all of them ValueErrors
        raise damaged(error) from error
    n_bytes = sum(file.metadata.row_group(at).total_byte_size for at in range(file.num_row_groups))
    refuse_growth(max(n_bytes, BYTES_PER_CODE * n_rows), len(data), source)  # runs of one value take no bytes

    def load(wanted: Sequence[str], most: int | None = None) -> LoadedRows:
        encoders = {name: Encoder() for name in wanted}
        with progress_bar("read", n_rows, unit="row", unit_scale=True) as bar:
            try:
                batches = file.iter_batches(most or 2**20, columns=list(encoders), use_threads=False)
                for batch in islice(batches, None if most is None else 1):
                    bar.update(len(batch))
                    for name, encoder in encoders.items():
                        add(encoder, batch.column(batch.schema.get_field_index(name)))
            except Exception as error:
                raise damaged(error) from error
        own = "nearer_kind" in names
        columns = {name: encoder.column(strip=not own) for name, encoder in encoders.items()}
        return LoadedRows(columns, _numbered_rows(source, len(next(iter(columns.values())).codes)))

    def add(encoder: Encoder, array: Any) -> None:
        kind = array.type
        if pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind):
            array = array.dictionary_encode()
        elif not pa.types.is_dictionary(kind):
            encoder.add([cell(value) for value in array.to_pylist()])
            return
        codes = array.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32)
        encoder.add_coded(codes, [cell(value) for value in array.dictionary.to_pylist()])

    return Table(source, tuple(names), load, peek=lambda wanted: load(wanted, PEEKED_ROWS))


def _numbered_rows(source: str, n_rows: int) -> RowSources:
    return RowSources(source, np.arange(1, n_rows + 1, dtype=np.int64))


def frame_table(frame: Any, source: str = "table") -> Table:
    """Return the table in a data frame or a dict of columns; rows are numbered from 1."""
    columns = dict(frame) if isinstance(frame, Mapping) else _columns_of_frame(frame)
    by_name = {str(name): column for name, column in columns.items()}
    for name, column in by_name.items():
        if isinstance(column, str | bytes) or not hasattr(column, "__len__"):
            raise ValueError(f"column {name!r} is {type(column).__name__}, not a list of cells; give a list a column")
    lengths = {name: len(column) for name, column in by_name.items()}
    if not lengths or max(lengths.values()) == 0:
        raise ValueError("the table is empty; it must have columns such as anchor, near and far, and rows")
    if len(set(lengths.values())) > 1:
        raise ValueError(f"the columns have different lengths: {lengths}")
    n_rows = max(lengths.values())

    def load(wanted: Sequence[str]) -> LoadedRows:
        return LoadedRows({name: encode(by_name[name]) for name in wanted}, _numbered_rows(source, n_rows))

    def peek(wanted: Sequence[str]) -> LoadedRows:
        encoded = {name: encode(list(islice(by_name[name], PEEKED_ROWS))) for name in wanted}
        return LoadedRows(encoded, _numbered_rows(source, min(n_rows, PEEKED_ROWS)))

    return Table(source, tuple(map(str, columns)), load, peek=peek)


def _columns_of_frame(frame: Any) -> dict[str, Any]:
    try:
        import narwhals as nw
    except ModuleNotFoundError as error:
        raise ValueError(
            "reading a data frame needs narwhals: pip install narwhals, or pass a dict of columns"
        ) from error
    try:
        table = nw.from_native(frame, eager_only=True)
    except TypeError as error:
        raise ValueError(
            f"cannot read answers from {type(frame).__name__}; give the name of a file, a frame or a dict of columns"
        ) from error
    for name in table.columns:
        if isinstance(name, tuple):
            raise ValueError(
                f"the columns of the frame have names of several levels, such as {name!r}; give them one each: "
                "df.columns = ['anchor', 'near', 'far', ...]"
            )
    return {name: table.get_column(name).to_numpy() for name in table.columns}


JSON_LINE = "json_line"  # the column of lines, where each may be a person's
_SPACES = re.compile(r"\s*")
_ROW_ARRAYS = ("trials", "data", "responses", "answers")  # where an array of objects hides in an object of its own


def json_table(data: bytes, source: str) -> Table:
    """Return the table in JSON text: rows are numbered from 1 where one is in an array, and else by their lines."""
    text = data.decode("utf-8", "replace")
    try:
        listed = _array_in(json.loads(text))
    except (ValueError, RecursionError):
        listed = None
    entries = list(enumerate(listed, 1)) if listed is not None else _line_entries(text)
    records: list[tuple[int, dict[str, Any]]] = []
    odd: list[Finding] = []
    for number, entry in entries:
        if isinstance(entry, dict):
            inner = {
                f"{name}.{key}": each
                for name, value in entry.items()
                if isinstance(value, dict)
                for key, each in value.items()
            }
            records.append((number, inner | entry))
        elif isinstance(entry, _BrokenLine):
            odd.append(Finding("broken-json", "error", Source(source, number), {"line": entry.line}))
        else:
            odd.append(Finding("no-json", "error", Source(source, number)))
    if not records:
        raise ValueError(
            f"{source} holds no JSON objects; write an object a line, such as "
            '{"anchor": "cat", "near": "dog", "far": "car"}'
        )
    names = tuple(dict.fromkeys(str(name) for _, record in records for name in record))

    def load(wanted: Sequence[str]) -> LoadedRows:
        cells = {name: [text_of(record.get(name)) for _, record in records] for name in wanted}
        columns = {name: encode_cells(each, strip="nearer_kind" not in names) for name, each in cells.items()}
        lines = np.fromiter((number for number, _ in records), np.int64, len(records))
        return LoadedRows(columns, RowSources(source, lines), odd[:MAX_BAD_ROWS], len(odd))

    def text_of(value: Any) -> str | None:  # in text files the label 1 is "1"
        value = json.dumps(value) if isinstance(value, dict) else cell(value)
        return None if value is None else str(value)

    return Table(source, names, load)


class _BrokenLine(NamedTuple):
    """A line that is no JSON, in place of all its answers."""

    line: int


def _line_entries(text: str) -> list[tuple[int, Any]]:
    """Return what lines hold, with the line; numbered throughout where one holds several answers."""
    entries: list[tuple[int, Any]] = []
    arrays: list[int] = []  # for each entry the line of its array, and its number if a line has several
    lines = [(number, _values(line)) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    several = any(sum(_array_in(value) is not None for value in values) > 1 for _, values in lines)
    n_arrays = 0
    for number, values in lines:
        for value in values:
            inside = _array_in(value)
            n_arrays += inside is not None
            items = inside if inside is not None else [_BrokenLine(number) if value is None else value]
            entries += [(number, item) for item in items]
            arrays += [n_arrays if several else number] * len(items)
    if n_arrays > 1:
        entries = [
            (number, {JSON_LINE: array, **item} if isinstance(item, dict) else item)
            for (number, item), array in zip(entries, arrays, strict=True)
        ]
    if len({number for number, _ in entries}) == len(entries):  # numbers of rows are those of lines
        return [(number, None if isinstance(item, _BrokenLine) else item) for number, item in entries]
    return [(at, item) for at, (_, item) in enumerate(entries, 1)]


def _values(line: str) -> list[Any]:
    """Return the values in a line, where programs write several one behind the other; None for what is no JSON."""
    line = line.strip()
    values, at, decoder = list[Any](), 0, json.JSONDecoder()
    while at < len(line):
        try:
            value, at = decoder.raw_decode(line, _SPACES.match(line, at).end())  # type: ignore[union-attr]
        except (ValueError, RecursionError):
            return [None]
        values.append(value)
    return values


def _array_in(value: Any) -> list[Any] | None:
    """Return the array that a value is, or that hides in it, or in all parts of it."""
    if isinstance(value, list):
        inside = [_rows_in(item) for item in value]
        return [row for rows in inside for row in rows or ()] if value and all(inside) else value
    return _rows_in(value)


def _rows_in(value: Any) -> list[Any] | None:
    """Return the array of objects that hides in an object, with what the object says next to it."""
    for name in _ROW_ARRAYS if isinstance(value, dict) else ():
        inside = value.get(name)
        if isinstance(inside, list) and inside and all(isinstance(item, dict) for item in inside):
            outer = {key: cell for key, cell in value.items() if not isinstance(cell, list | dict)}
            return [outer | item for item in inside]
    return None


_MATRICES = ("triplets", "X", "quadruplets", "comparisons", "queries", "data", "arr_0")
_NAMES = ("objects", "names", "object_names", "items")
MAX_OBJECTS = 2**31  # indices are 32 bits wide in compiled loops
_ANSWERS = ("y", "responses", "response", "answers", "answer")


def read_arrays(data: bytes, source: str) -> dict[str, NDArray[Any]]:
    """Return the arrays of an npz file, or the one of an npy file as "X".

    Arrays of Python objects are left out: they are pickles.
    """
    try:
        if data[:6] == _NPY:
            return {"X": _array(data)}
        arrays = {name: _array(array) for name, array in members(data, ".npy", source)}
    except GrowsTooLarge:
        raise
    except Exception as error:  # zipfile, zlib and NumPy each have errors of their own for damaged files
        reason = (str(error) or type(error).__name__)[:120]  # zipfile quotes what it found in place of a name
        raise ValueError(
            f"{source} is not a whole NumPy file of numbers and text: {reason}; write it with np.savez"
        ) from error
    if not arrays:
        raise ValueError(f"{source} holds no arrays; write it with np.savez(path, triplets=rows)")
    return arrays


def _array(data: bytes) -> NDArray[Any]:
    file = io.BytesIO(data)
    version = np.lib.format.read_magic(file)
    header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = header(file)
    if dtype.hasobject:
        raise ValueError("it holds a pickle, which is never opened; save arrays of numbers and of text")
    wanted = int(np.prod([int(size) for size in shape], dtype=object)) * dtype.itemsize if shape else dtype.itemsize
    if wanted > len(data):
        raise ValueError(f"an array of shape {shape} does not fit into {len(data)} bytes")
    file.seek(0)
    return np.asarray(np.lib.format.read_array(file, allow_pickle=False))


def _arrays_table(data: bytes, kind: str | None, source: str) -> Table:
    """Return the table in a NumPy file: columns, or a table of indices with what belongs to it.

    A table of indices becomes the columns that its width and the kind of question call for.
    """
    arrays = read_arrays(data, source)
    own = str(arrays["nearer_kind"]) if "nearer_kind" in arrays else None
    matrix_name = next((name for name in _MATRICES if name in arrays and arrays[name].ndim == 2), None)
    if matrix_name is None:
        columns = {name: array for name, array in arrays.items() if array.ndim == 1}
        longest = max(map(len, columns.values()), default=0)
        columns = {name: array for name, array in columns.items() if len(array) == longest}
        if not columns:
            raise ValueError(
                f"{source} holds no table of indices, such as triplets (m, 3); it has {sorted(arrays)[:20]}"
            )
        return replace(frame_table(columns, source), indices=True, kind=own)
    matrix = arrays[matrix_name]
    if matrix.dtype.kind not in "iuU":
        matrix = _as_integers(matrix, f"{source}: {matrix_name!r}")
    width, of_items = matrix.shape[1], kind in ("odd-one-out", "most-central")
    if len(matrix) == 0 or not (width in (3, 4) or (of_items and width > 2)):
        raise ValueError(
            f"{source}: {matrix_name!r} has shape {matrix.shape}; it must be (m, 3), triplets, or (m, 4), quadruplets"
        )
    roles: Sequence[str] = ("anchor", "near", "far") if width == 3 else NEAR_FAR
    roles = [f"object_{place}" for place in range(1, width + 1)] if of_items else roles
    columns = dict(zip(roles, matrix.T, strict=True))
    for name, array in arrays.items():
        if array.ndim == 1 and len(array) == len(matrix) and name not in (*_NAMES, matrix_name):
            columns["answer" if name in _ANSWERS else name] = array
    labels = next((arrays[name] for name in _NAMES if name in arrays and arrays[name].ndim == 1), None)
    labels = labels if matrix.dtype.kind in "iu" else None
    table = replace(frame_table(columns, source), positional=True, indices=labels is None, kind=own)
    if labels is not None and (len(set(labels.tolist())) < len(labels) or labels.dtype.kind not in "iuU"):
        return table.with_findings(note("doubled-names", source))  # they cannot tell objects apart
    return replace(table, objects=None if labels is None else labels.tolist())


def without_impossible(loaded: LoadedRows, objects: Iterable[str]) -> LoadedRows:
    """Return the rows whose objects can be indices, the others among the bad rows.

    Programs write -1, or the largest integer there is, where there is no object.
    """

    def is_no_index(value: Any) -> bool:
        return isinstance(value, int) and not 0 <= value < MAX_OBJECTS

    where = {name: loaded.columns[name].map_values(is_no_index, False, bool) for name in objects}
    bad = np.any([np.zeros(len(loaded), bool), *where.values()], axis=0)
    if not bad.any():
        return loaded
    rows = []
    for row in np.flatnonzero(bad)[:MAX_BAD_ROWS].tolist():
        name = next(name for name, mask in where.items() if mask[row])
        numbers = {"column": name, "value": loaded.columns[name].value(row), "most": MAX_OBJECTS - 1}
        rows.append(Finding("no-index", "error", loaded.sources.at(row), numbers))
    return replace(loaded.only(~bad), bad_rows=[*loaded.bad_rows, *rows], n_bad=loaded.n_bad + int(bad.sum()))


def _as_integers(matrix: NDArray[Any], what: str) -> NDArray[np.int64]:
    """Return floating-point indices as integers; beyond its digits a narrow type has rounded them."""
    if matrix.dtype.kind == "f":
        exact = min(2.0**31, 2.0 ** (np.finfo(matrix.dtype).nmant + 1))
        wide = matrix.astype(np.float64)
        if (wide == np.trunc(wide)).all() and (np.abs(wide) < exact).all():
            return wide.astype(np.int64)
        if (wide == np.trunc(wide)).all() and np.isfinite(wide).all() and exact < 2**31:
            raise ValueError(f"{what} holds {matrix.dtype}, which rounds indices from {exact:.0f} on; save integers")
    raise ValueError(f"{what} holds {matrix.dtype}; it must hold indices 0..n-1 or labels")

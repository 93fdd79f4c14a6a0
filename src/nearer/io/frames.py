"""Parquet files, data frames of any make (through narwhals) and dicts of columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from nearer._common.progress import progress_bar
from nearer.io.table import Column, Encoder, Loaded, Table, cell, encode
from nearer.io.text import refuse_growth

_BYTES_OF_A_CODE = 4
_PEEKED = 1000  # rows that show what a column holds


def parquet_table(data: bytes, source: str) -> Table:
    """Return the table in a Parquet file; only the columns asked for are read."""
    try:
        from pyarrow import BufferReader
        from pyarrow.parquet import ParquetFile
    except ModuleNotFoundError as error:
        raise ValueError(
            f"{source}: reading Parquet needs pyarrow; pip install pyarrow, or save the table as CSV"
        ) from error

    def damaged(error: Exception) -> ValueError:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        return ValueError(f"{source} is not a whole Parquet file: {reason}; copy or write it again")

    try:
        file = ParquetFile(BufferReader(data))
        names, n_rows = file.schema_arrow.names, file.metadata.num_rows
    except Exception as error:  # pyarrow has a dozen errors for damaged files, not all of them ValueErrors
        raise damaged(error) from error
    n_bytes = sum(file.metadata.row_group(at).total_byte_size for at in range(file.num_row_groups))
    refuse_growth(max(n_bytes, _BYTES_OF_A_CODE * n_rows), len(data), source)  # runs of one value take no bytes

    def load(wanted: Sequence[str], most: int | None = None) -> Loaded:
        encoders = {name: Encoder() for name in wanted}
        with progress_bar("read", n_rows, unit="row", unit_scale=True) as bar:
            try:
                size = 2**20 if most is None else most
                batches = file.iter_batches(size, columns=list(encoders), use_threads=False)
                for batch in batches if most is None else islice(batches, 1):
                    bar.update(len(batch))
                    for name in encoders:
                        _add(encoders[name], batch.column(batch.schema.get_field_index(name)))
            except Exception as error:
                raise damaged(error) from error
        own = "nearer_kind" in names
        columns = {name: encoder.column(strip=not own) for name, encoder in encoders.items()}
        n_read = len(next(iter(columns.values())).codes)
        return Loaded(columns, np.arange(1, n_read + 1, dtype=np.int64))

    return Table(source, tuple(names), load, peek=lambda wanted: load(wanted, _PEEKED))


def _add(encoder: Encoder, array: Any) -> None:
    import pyarrow as pa

    kind = array.type
    if pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind):
        array = array.dictionary_encode()
    elif not pa.types.is_dictionary(kind):
        encoder.add([cell(value) for value in array.to_pylist()])
        return
    codes = array.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32)
    encoder.add_coded(codes, [cell(value) for value in array.dictionary.to_pylist()])


def frame_table(frame: Any) -> Table:
    """Return the table in a data frame or a dict of columns; rows are numbered from 1."""
    columns = dict(frame) if isinstance(frame, Mapping) else _columns_of_frame(frame)
    names = tuple(str(name) for name in columns)
    by_name = dict(zip(names, columns.values(), strict=True))
    lengths = {name: _length(name, column) for name, column in by_name.items()}
    if not lengths or max(lengths.values()) == 0:
        raise ValueError("the table is empty; it must have columns such as anchor, near and far, and rows")
    if len(set(lengths.values())) > 1:
        raise ValueError(f"the columns have different lengths: {lengths}")
    n_rows = max(lengths.values())

    def load(wanted: Sequence[str]) -> Loaded:
        encoded: dict[str, Column] = {name: encode(by_name[name]) for name in wanted}
        return Loaded(encoded, np.arange(1, n_rows + 1, dtype=np.int64))

    def peek(wanted: Sequence[str]) -> Loaded:
        encoded = {name: encode(list(islice(by_name[name], _PEEKED))) for name in wanted}
        return Loaded(encoded, np.arange(1, min(n_rows, _PEEKED) + 1, dtype=np.int64))

    return Table("table", names, load, peek=peek)


def _length(name: str, column: Any) -> int:
    if isinstance(column, str | bytes) or not hasattr(column, "__len__"):
        raise ValueError(f"column {name!r} is {type(column).__name__}, not a list of cells; give a list a column")
    return len(column)


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

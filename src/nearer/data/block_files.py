"""Files of rows, read a block at a time: NumPy arrays, and Parquet by its row groups.

A NumPy file is read by plain reads and not mapped into memory: that is as fast (0.7 nanoseconds a row, out of the
system's cache), needs no address space for the whole of it where that is limited, and a file that is cut short while it
is read is an error and not the end of the process. Parquet takes 5 nanoseconds a row, with zstd 12.

Tables keep the name of the file and no handle, so that they can be copied and sent to another process.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nearer.data.locations import LocalFile, TableFile

RUNS_PER_BLOCK = 16
NAMES = (("anchor", "near", "far"), ("i", "j", "l", "k"))


class Block(NamedTuple):
    """Rows as they stand in the file: objects (m, 3) or (m, 4), and one answer and weight each, if it has them."""

    objects: NDArray[Any]
    answers: NDArray[Any] | None = None
    weights: NDArray[Any] | None = None


Blocks: TypeAlias = Generator[Block, None, None]


class RowTable(Protocol):
    """A file of rows."""

    @property
    def file(self) -> TableFile:
        """Where it lies."""
        ...

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns that hold objects; empty texts where they have none."""
        ...

    @property
    def others(self) -> tuple[str, ...]:
        """Of "answer" and "weight", those that there are."""
        ...

    def __len__(self) -> int:
        """Return the number of rows."""
        ...

    def read(self, start: int, stop: int, block_rows: int, dtype: type[np.integer[Any]] | None) -> Blocks:
        """Return these rows in order, at most so many at a time; objects as the file has them, or of a type."""
        ...

    def units(self, block_rows: int) -> list[int]:
        """Return the bounds of what it is best read by: runs of rows that make up a block, or row groups."""
        ...


def open_table(file: TableFile, columns: Sequence[str] | None) -> RowTable:
    """Return the table in a file, by the ending of its name."""
    if isinstance(file, LocalFile) and file.name.endswith(".npy"):
        if columns is not None:
            raise ValueError(f"columns={columns!r}: a .npy file has no names for its columns; leave columns out")
        return NpyTable(file)
    return ParquetTable(file, tuple(columns or ()))


NUMBERING = "labels, rows = np.unique(names, return_inverse=True) numbers names; whole numbers: rows.astype(np.int32)"


@dataclass(frozen=True)
class NpyTable:
    """An array on disk."""

    file: LocalFile
    length: int = field(init=False)
    width: int = field(init=False)
    dtype: np.dtype[Any] = field(init=False)
    offset: int = field(init=False)  # of the first row, in bytes
    others: tuple[str, ...] = field(init=False, default=())

    def __post_init__(self) -> None:
        shape, fortran, dtype, offset = self._header()
        if dtype.kind not in "iu":
            raise ValueError(f"{self.file} holds {dtype}, not indices 0..n-1; {NUMBERING}")
        if len(shape) != 2 or shape[1] not in (3, 4):
            wanted = "(m, 3) for triplets or (m, 4) for quadruplets"
            raise ValueError(f"{self.file} holds an array of shape {shape}; it must be {wanted}")
        if fortran and shape[0] > 1:
            raise ValueError(f"{self.file} is in Fortran order; save np.ascontiguousarray(rows)")
        for name, value in (("length", shape[0]), ("width", shape[1]), ("dtype", dtype), ("offset", offset)):
            object.__setattr__(self, name, value)

    @property
    def columns(self) -> tuple[str, ...]:
        """Empty texts: columns have no names here."""
        return ("",) * self.width

    def _header(self) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
        npy = np.lib.format
        try:
            with self.file.path.open("rb") as file:
                version = npy.read_magic(file)
                read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
                shape, fortran, dtype = read(file)
                offset = file.tell()
                if dtype.hasobject:
                    raise ValueError("it holds Python objects")
                missing = offset + dtype.itemsize * int(np.prod(shape)) - file.seek(0, 2)
                if missing > 0:
                    raise ValueError(f"{missing} bytes are missing at its end")
        except (ValueError, EOFError) as error:
            raise ValueError(
                f"{self.file} is not a whole .npy file of integers: {error}; write it with np.save"
            ) from error
        return shape, fortran, dtype, offset

    def __len__(self) -> int:
        return self.length

    def read(self, start: int, stop: int, block_rows: int, dtype: type[np.integer[Any]] | None) -> Blocks:
        """Return these rows in order; each block has memory of its own."""
        with self.file.path.open("rb") as file:
            file.seek(self.offset + start * self.width * self.dtype.itemsize)
            for first in range(start, stop, block_rows):
                count = min(block_rows, stop - first)
                rows = np.fromfile(file, self.dtype, count * self.width)
                if rows.size < count * self.width:
                    raise ValueError(f"{self.file} ends before row {first + count}: it was cut short; write it again")
                rows = rows.reshape(count, self.width)
                yield Block(rows if dtype is None else rows.astype(dtype, copy=False))

    def units(self, block_rows: int) -> list[int]:
        """Return the bounds of runs, so many to a block.

        Files are often sorted by object, and a block of one object's rows would pull at that object alone.
        """
        return [*range(0, self.length, -(-block_rows // RUNS_PER_BLOCK)), self.length]


@dataclass(frozen=True)
class ParquetTable:
    """Columns on disk or behind a URL, by row groups."""

    file: TableFile
    columns: tuple[str, ...]  # those that hold objects; found by their names if empty
    length: int = field(init=False)
    others: tuple[str, ...] = field(init=False)
    dtype: type[np.integer[Any]] = field(init=False)

    def __post_init__(self) -> None:
        with ExitStack() as stack:
            file = self._opened(stack)
            schema, length = file.schema_arrow, file.metadata.num_rows
        from pyarrow import types as kinds  # after the check that there is a pyarrow

        columns = columns_among(str(self.file), schema.names, self.columns)
        for name in columns:
            if not kinds.is_integer(schema.field(name).type):
                raise ValueError(
                    f"{self.file}: column {name!r} holds {schema.field(name).type}, not indices 0..n-1; {NUMBERING}"
                )
        others = tuple(name for name in ("answer", "weight") if name in schema.names and name not in columns)
        for name in others:
            kind = schema.field(name).type
            if not (kinds.is_integer(kind) or kinds.is_floating(kind) or (name == "answer" and kinds.is_boolean(kind))):
                raise ValueError(f"{self.file}: column {name!r} holds {kind}, not numbers; convert it")
        narrow = all(schema.field(name).type.bit_width <= 32 for name in columns)
        unsigned = any(str(schema.field(name).type) == "uint32" for name in columns)
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "others", others)
        object.__setattr__(self, "length", length)
        object.__setattr__(self, "dtype", np.int32 if narrow and not unsigned else np.int64)

    def _opened(self, stack: ExitStack) -> Any:
        try:
            from pyarrow import ArrowException
            from pyarrow.parquet import ParquetFile
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                "reading Parquet needs pyarrow: pip install pyarrow, or save the rows with np.save"
            ) from error
        try:
            # A path is read without the interpreter's lock; what fsspec opens is fetched a row group at a time.
            if isinstance(self.file, LocalFile):
                return stack.enter_context(ParquetFile(self.file.path))
            return stack.enter_context(ParquetFile(stack.enter_context(self.file.open()), pre_buffer=True))
        except (ArrowException, OSError) as error:
            raise ValueError(f"{self.file} is not a whole Parquet file: {error}") from error

    def __len__(self) -> int:
        return self.length

    def read(self, start: int, stop: int, block_rows: int, dtype: type[np.integer[Any]] | None) -> Blocks:
        """Return these rows in order; a row group that begins before them is read from its beginning."""
        names = [*self.columns, *self.others]
        with ExitStack() as stack:
            file = self._opened(stack)
            offset = 0
            for group in range(file.num_row_groups):
                first, offset = offset, offset + file.metadata.row_group(group).num_rows
                if offset <= start or first >= stop:
                    continue
                for batch in file.iter_batches(block_rows, [group], names, use_threads=False):
                    low, high = max(start - first, 0), min(stop - first, len(batch))
                    if low < high:
                        yield self._block(batch.slice(low, high - low), first + low, dtype)
                    first += len(batch)
                    if first >= stop:
                        break

    def _block(self, batch: Any, offset: int, dtype: type[np.integer[Any]] | None) -> Block:
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            if column.null_count:
                row = offset + int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
                raise ValueError(f"{self.file}: row {row}: {name!r} is missing; write the file without such rows")
        columns = {name: batch.column(name).to_numpy(zero_copy_only=False) for name in batch.schema.names}
        objects = np.empty((len(batch), len(self.columns)), dtype or self.dtype)
        for position, name in enumerate(self.columns):
            objects[:, position] = columns[name]
        return Block(objects, columns.get("answer"), columns.get("weight"))

    def units(self, block_rows: int) -> list[int]:
        """Return the bounds of the row groups."""
        with ExitStack() as stack:
            metadata = self._opened(stack).metadata
            sizes = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
        return [0, *np.cumsum(sizes).tolist()]


def columns_among(title: str, names: Sequence[str], columns: Sequence[str] | None = None) -> tuple[str, ...]:
    """Return the three or four columns that hold objects: those that were named, or found by their names.

    Examples
    --------
    >>> columns_among("rows", ["far", "near", "anchor", "who"])
    ('anchor', 'near', 'far')
    """
    if not columns:
        for wanted in NAMES:
            if set(wanted) <= set(names):
                return wanted
        known = " or ".join(", ".join(wanted) for wanted in NAMES)
        raise ValueError(f"{title} has columns {[*names]}, none of which are {known}; say which are with columns=[...]")
    chosen = tuple(columns)
    if len(chosen) not in (3, 4) or len(set(chosen)) != len(chosen):
        raise ValueError(f"columns={[*chosen]}: name 3 columns for triplets or 4 for quadruplets, each once")
    missing = [name for name in chosen if name not in names]
    if missing:
        raise ValueError(f"{title} has no column {missing[0]!r}; it has {[*names]}")
    return chosen

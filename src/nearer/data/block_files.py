"""Files of rows, read a block at a time: NumPy arrays mapped into memory, and Parquet.

With a random generator the blocks come in random order, and those of a NumPy file are put together from runs of rows
all over the file: such files are often sorted by object, and a block of one object's rows would pull at that object
alone. Parquet is read by whole row groups, which are what it can be read by.

Tables keep the path and no handle, so that they can be copied and sent to another process.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

RUNS_PER_BLOCK = 16
NAMES = (("anchor", "near", "far"), ("i", "j", "l", "k"))


class Block(NamedTuple):
    """Rows as they stand in the file: objects (m, 3) or (m, 4), and one answer and weight each, if it has them."""

    objects: NDArray[Any]
    answers: NDArray[Any] | None = None
    weights: NDArray[Any] | None = None


class RowTable(Protocol):
    """A file of rows."""

    def __len__(self) -> int:
        """Return the number of rows."""
        ...

    def blocks(self, block_rows: int, rng: np.random.Generator | None) -> Iterator[Block]:
        """Return all rows, some at a time; in the order of the file unless ``rng`` is given."""
        ...


def open_table(path: Path, columns: Sequence[str] | None) -> RowTable:
    """Return the table in a file, by the ending of its name."""
    if path.suffix == ".npy":
        if columns is not None:
            raise ValueError(f"columns={columns!r}: a .npy file has no names for its columns; leave columns out")
        return NpyTable(path)
    if path.suffix in (".parquet", ".pq"):
        return ParquetTable(path, tuple(columns or ()))
    raise ValueError(f"{path} is neither a .npy nor a .parquet file; write one with np.save(path, rows)")


_NUMBERING = "labels, rows = np.unique(names, return_inverse=True) numbers names; whole numbers: rows.astype(np.int32)"


@dataclass(frozen=True)
class NpyTable:
    """An array on disk."""

    path: Path
    length: int = field(init=False)

    def __post_init__(self) -> None:
        rows = self._rows()
        if rows.dtype.kind not in "iu":
            raise ValueError(f"{self.path} holds {rows.dtype}, not indices 0..n-1; {_NUMBERING}")
        if rows.ndim != 2 or rows.shape[1] not in (3, 4):
            wanted = "(m, 3) for triplets or (m, 4) for quadruplets"
            raise ValueError(f"{self.path} holds an array of shape {rows.shape}; it must be {wanted}")
        if len(rows) == 0:
            raise ValueError(f"{self.path} holds no comparisons (shape {rows.shape}); check how it was written")
        if not rows.flags.c_contiguous:
            raise ValueError(f"{self.path} is in Fortran order; save np.ascontiguousarray(rows)")
        object.__setattr__(self, "length", len(rows))

    def _rows(self) -> NDArray[Any]:
        try:
            mapped = np.lib.format.open_memmap(self.path, mode="r")
        except (ValueError, EOFError) as error:
            raise ValueError(
                f"{self.path} is not a whole .npy file of integers: {error}; write it with np.save"
            ) from error
        return np.asarray(mapped)  # a plain array on the same memory

    def __len__(self) -> int:
        return self.length

    def blocks(self, block_rows: int, rng: np.random.Generator | None) -> Iterator[Block]:
        """Return all rows: views of the file, or, if shuffled, copies."""
        rows = self._rows()
        if rng is None:
            for start in range(0, len(rows), block_rows):
                yield Block(rows[start : start + block_rows])
            return
        length = -(-block_rows // RUNS_PER_BLOCK)
        starts = rng.permutation(np.arange(0, len(rows), length))
        for first in range(0, len(starts), RUNS_PER_BLOCK):
            runs = [rows[start : start + length] for start in starts[first : first + RUNS_PER_BLOCK]]
            yield Block(np.concatenate(runs))


@dataclass(frozen=True)
class ParquetTable:
    """Columns on disk, by row groups."""

    path: Path
    columns: tuple[str, ...]  # those that hold objects; found by their names if empty
    length: int = field(init=False)
    others: tuple[str, ...] = field(init=False)  # of "answer" and "weight", those that there are
    dtype: type[np.integer[Any]] = field(init=False)

    def __post_init__(self) -> None:
        file = self._file()
        from pyarrow import types as kinds  # after the check that there is a pyarrow

        schema, length = file.schema_arrow, file.metadata.num_rows
        columns = self.columns or _columns_among(self.path, schema.names)
        if len(columns) not in (3, 4) or len(set(columns)) != len(columns):
            raise ValueError(f"columns={[*columns]}: name 3 columns for triplets or 4 for quadruplets, each once")
        missing = [name for name in columns if name not in schema.names]
        if missing:
            raise ValueError(f"{self.path} has no column {missing[0]!r}; it has {schema.names}")
        for name in columns:
            if not kinds.is_integer(schema.field(name).type):
                raise ValueError(
                    f"{self.path}: column {name!r} holds {schema.field(name).type}, not indices 0..n-1; {_NUMBERING}"
                )
        others = tuple(name for name in ("answer", "weight") if name in schema.names and name not in columns)
        for name in others:
            kind = schema.field(name).type
            if not (kinds.is_integer(kind) or kinds.is_floating(kind) or (name == "answer" and kinds.is_boolean(kind))):
                raise ValueError(f"{self.path}: column {name!r} holds {kind}, not numbers; convert it")
        if length == 0:
            raise ValueError(f"{self.path} holds no comparisons; check how it was written")
        narrow = all(schema.field(name).type.bit_width <= 32 for name in columns)
        unsigned = any(str(schema.field(name).type) == "uint32" for name in columns)
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "others", others)
        object.__setattr__(self, "length", length)
        object.__setattr__(self, "dtype", np.int32 if narrow and not unsigned else np.int64)

    def _file(self) -> Any:
        try:
            from pyarrow import ArrowException
            from pyarrow.parquet import ParquetFile
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                "reading Parquet needs pyarrow: pip install 'nearer[parquet]', or save the rows with np.save"
            ) from error
        try:
            return ParquetFile(self.path)
        except (ArrowException, OSError) as error:
            raise ValueError(f"{self.path} is not a whole Parquet file: {error}") from error

    def __len__(self) -> int:
        return self.length

    def blocks(self, block_rows: int, rng: np.random.Generator | None) -> Iterator[Block]:
        """Return all rows; if shuffled, row groups in random order."""
        with self._file() as file:
            groups = np.arange(file.num_row_groups)
            order = (groups if rng is None else rng.permutation(groups)).tolist()
            names, offset = [*self.columns, *self.others], 0
            for batch in file.iter_batches(block_rows, order, names, use_threads=False):
                for name, column in zip(batch.schema.names, batch.columns, strict=True):
                    if column.null_count:
                        row = offset + int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
                        raise ValueError(
                            f"{self.path}: row {row}: {name!r} is missing; write the file without such rows"
                        )
                offset += len(batch)
                columns = {name: batch.column(name).to_numpy(zero_copy_only=False) for name in names}
                objects = np.empty((len(batch), len(self.columns)), self.dtype)
                for position, name in enumerate(self.columns):
                    objects[:, position] = columns[name]
                yield Block(objects, columns.get("answer"), columns.get("weight"))


def _columns_among(path: Path, names: list[str]) -> tuple[str, ...]:
    for wanted in NAMES:
        if set(wanted) <= set(names):
            return wanted
    known = " or ".join(", ".join(wanted) for wanted in NAMES)
    raise ValueError(f"{path} has columns {names}, none of which are {known}; say which are with columns=[...]")

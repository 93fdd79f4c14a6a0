"""Tables of rows in files: which files there are, and reading them a block at a time.

A table lies in one file, a folder, a pattern or a list of these, here or behind a URL. The files of a folder or a
pattern come in natural order, part-2 before part-10. Those whose names begin with a dot or an underscore, such as
``_SUCCESS`` and ``_metadata``, and those that are no tables are skipped. URLs are opened by fsspec, which is loaded for
them alone.

A NumPy file is read by plain reads and not mapped into memory: that is as fast (0.7 nanoseconds a row, out of the
system's cache), needs no address space for the whole of it where that is limited, and a file that is cut short while it
is read is an error and not the end of the process. Parquet takes 5 nanoseconds a row, with zstd 12. Tables keep the
name of the file and no handle, so that they can be copied and sent to another process.
"""

from __future__ import annotations

import glob
import re
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Sources: TypeAlias = "str | PathLike[str] | Sequence[str | PathLike[str]]"
TABLE_SUFFIXES = (".npy", ".parquet", ".pq")
# What file systems call the time of a change or a digest of the content.
VERSION_KEYS = (
    "mtime",
    "etag",
    "lastmodified",
    "last_modified",
    "updated",
    "created",
    "generation",
    "md5hash",
    "checksum",
)


@dataclass(frozen=True)
class LocalFile:
    """A file on this machine."""

    path: Path

    @property
    def name(self) -> str:
        """The name without folders."""
        return self.path.name

    def open(self) -> AbstractContextManager[Any]:
        """Open for reading bytes."""
        return self.path.open("rb")

    def state(self) -> tuple[object, ...]:
        """Return size and time of the last change."""
        status = self.path.stat()
        return status.st_size, status.st_mtime_ns

    def __str__(self) -> str:
        return str(self.path)


@dataclass(frozen=True)
class RemoteFile:
    """A file behind a URL."""

    url: str

    @property
    def name(self) -> str:
        """The name without folders."""
        return PurePosixPath(self.url).name

    def open(self) -> AbstractContextManager[Any]:
        """Open for reading bytes."""
        system, path = _open_file_system(self.url)
        opened: AbstractContextManager[Any] = system.open(path, "rb")
        return opened

    def state(self) -> tuple[object, ...]:
        """Return the size and, where the file system has them, the time of the last change or a digest."""
        system, path = _open_file_system(self.url)
        system.invalidate_cache(path)  # listings are kept, and would hide a change
        facts = {key.lower(): str(value) for key, value in system.info(path).items()}
        return (facts.get("size"), *(facts.get(mark) for mark in VERSION_KEYS))

    def __str__(self) -> str:
        return self.url


TableFile: TypeAlias = LocalFile | RemoteFile  # its text is its name in messages


@dataclass(frozen=True)
class FoundFiles:
    """Files, and what to call them all."""

    files: tuple[TableFile, ...]
    title: str


def find_files(places: Sources) -> FoundFiles:
    """Return the files that a path, a folder, a pattern, a URL or a list of these means."""
    given = [places] if isinstance(places, str | PathLike) else [*places]
    if not given:
        raise ValueError("the list of files is empty; name one, or a folder of files")
    files = [file for each in given for file in _expand_path(each)]
    names = [str(file) for file in files]
    twice = next((name for name, count in Counter(names).items() if count > 1), None) if len(given) > 1 else None
    if twice is not None:
        raise ValueError(f"{twice} is named twice, and its rows would count twice; name each file once")
    kinds = sorted({".npy" if file.name.endswith(".npy") else ".parquet" for file in files})
    if len(kinds) > 1:
        raise ValueError(
            f"{given[0] if len(given) == 1 else 'the list'} holds both .npy and .parquet files; "
            "name those of one kind, for example 'many/*.parquet'"
        )
    if len(files) == 1:
        return FoundFiles(tuple(files), files[0].name)
    of_what = _short_name(given[0]) if len(given) == 1 else f"{files[0].name}, ..."
    return FoundFiles(tuple(files), f"{of_what} ({len(files)} files)")


def _expand_path(place: str | PathLike[str]) -> list[TableFile]:
    if isinstance(place, str) and is_url(place):
        return _expand_url(place)
    path = Path(place)
    if path.is_dir():
        found = [each for each in path.iterdir() if each.is_file()]
    elif path.exists() or not glob.has_magic(str(path)):
        path.stat()  # FileNotFoundError, where there is nothing
        if path.suffix not in TABLE_SUFFIXES:
            raise ValueError(f"{path} is neither a .npy nor a .parquet file; write one with np.save(path, rows)")
        return [LocalFile(path)]
    else:
        hits = [Path(each) for each in glob.glob(str(path), recursive=True)]
        found = [file for hit in hits for file in (hit.iterdir() if hit.is_dir() else [hit]) if file.is_file()]
    tables = sorted({each for each in found if _is_table(each.name)}, key=lambda each: _natural_sort_key(str(each)))
    if not tables:
        raise ValueError(_no_tables_message(str(path), path.is_dir()))
    return [LocalFile(each) for each in tables]


def _expand_url(url: str) -> list[TableFile]:
    system, path = _open_file_system(url)
    if glob.has_magic(path):
        found, folder = system.glob(path), False
    elif system.isdir(path):
        found, folder = [each["name"] for each in system.ls(path, detail=True) if each["type"] == "file"], True
    else:
        system.info(path)  # FileNotFoundError, where there is nothing
        found, folder = [path], False
        if not _is_parquet(path):
            raise ValueError(f"{url} is no .parquet file; of URLs, Parquet is read, and .npy files from a disk")
    tables = [each for each in found if _is_table(PurePosixPath(each).name)]
    if not tables:
        raise ValueError(_no_tables_message(url, folder))
    if not all(_is_parquet(each) for each in tables):
        raise ValueError(f"{url} holds .npy files; of URLs, Parquet is read, and .npy files from a disk")
    return [RemoteFile(system.unstrip_protocol(each)) for each in sorted(tables, key=_natural_sort_key)]


def is_url(place: str) -> bool:
    """Whether a text is a URL and no path."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]*(?:::[^/]+)*://", place) is not None


def _open_file_system(url: str) -> tuple[Any, str]:
    protocol = url.partition("://")[0]
    try:
        from fsspec.core import url_to_fs

        system, path = url_to_fs(url)
    except ImportError as error:
        raise ModuleNotFoundError(
            f"reading {url} needs fsspec and its package for {protocol}: pip install fsspec, "
            f"and s3fs for s3, gcsfs for gs, adlfs for abfs ({error})"
        ) from error
    return system, str(path)


def _is_table(name: str) -> bool:
    return not name.startswith((".", "_")) and name.endswith(TABLE_SUFFIXES)


def _is_parquet(path: str) -> bool:
    return path.endswith((".parquet", ".pq"))


def _natural_sort_key(path: str) -> tuple[list[tuple[int, str]], str]:
    """Return a key that orders numbers in names by their size."""
    pieces = re.split(r"(\d+)", path)
    return [(int(piece) if piece.isdecimal() else -1, piece) for piece in pieces], path


def _no_tables_message(place: str, folder: bool) -> str:
    if folder:
        return f"the folder {place} holds no .npy or .parquet files; those of its folders: '{place}/**/*.parquet'"
    return f"no .npy or .parquet file is named like {place}; check the pattern"


def _short_name(place: str | PathLike[str]) -> str:
    path = PurePosixPath(Path(place).as_posix() if not isinstance(place, str) else place.rstrip("/"))
    return f"{path.parent.name}/{path.name}" if glob.has_magic(path.name) and path.parent.name else path.name


N_RUNS_PER_BLOCK = 16
COLUMN_NAMES = (("anchor", "near", "far"), ("i", "j", "l", "k"))


class Block(NamedTuple):
    """Rows as they stand in the file: objects (m, 3) or (m, 4), and one answer and weight each, if it has them."""

    objects: NDArray[Any]
    answers: NDArray[Any] | None = None
    weights: NDArray[Any] | None = None


Blocks: TypeAlias = Generator[Block, None, None]


def open_table(file: TableFile, columns: Sequence[str] | None) -> RowTable:
    """Return the table in a file, by the ending of its name."""
    if isinstance(file, LocalFile) and file.name.endswith(".npy"):
        if columns is not None:
            raise ValueError(f"columns={columns!r}: a .npy file has no names for its columns; leave columns out")
        return NpyTable(file)
    return ParquetTable(file, tuple(columns or ()))


NUMBERING_ADVICE = (
    "labels, rows = np.unique(names, return_inverse=True) numbers names; whole numbers: rows.astype(np.int32)"
)


@dataclass(frozen=True)
class NpyTable:
    """An array on disk."""

    file: LocalFile
    length: int = field(init=False)
    width: int = field(init=False)
    dtype: np.dtype[Any] = field(init=False)
    offset: int = field(init=False)  # of the first row, in bytes
    extra_columns: tuple[str, ...] = field(init=False, default=())

    def __post_init__(self) -> None:
        shape, fortran, dtype, offset = self._header()
        if dtype.kind not in "iu":
            raise ValueError(f"{self.file} holds {dtype}, not indices 0..n-1; {NUMBERING_ADVICE}")
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

    def bounds(self, block_rows: int) -> list[int]:
        """Return the bounds of runs of rows, sixteen to a block."""
        # Files are often sorted by object, and a block of one object's rows would pull at that object alone.
        return [*range(0, self.length, -(-block_rows // N_RUNS_PER_BLOCK)), self.length]


@dataclass(frozen=True)
class ParquetTable:
    """Columns on disk or behind a URL, by row groups."""

    file: TableFile
    columns: tuple[str, ...]  # those that hold objects; found by their names if empty
    length: int = field(init=False)
    extra_columns: tuple[str, ...] = field(init=False)
    dtype: type[np.integer[Any]] = field(init=False)

    def __post_init__(self) -> None:
        with ExitStack() as stack:
            file = self._opened(stack)
            schema, length = file.schema_arrow, file.metadata.num_rows
        from pyarrow import types as kinds  # after the check that there is a pyarrow

        columns = find_object_columns(str(self.file), schema.names, self.columns)
        for name in columns:
            if not kinds.is_integer(schema.field(name).type):
                raise ValueError(
                    f"{self.file}: column {name!r} holds {schema.field(name).type}, not indices 0..n-1; "
                    f"{NUMBERING_ADVICE}"
                )
        others = tuple(name for name in ("answer", "weight") if name in schema.names and name not in columns)
        for name in others:
            kind = schema.field(name).type
            if not (kinds.is_integer(kind) or kinds.is_floating(kind) or (name == "answer" and kinds.is_boolean(kind))):
                raise ValueError(f"{self.file}: column {name!r} holds {kind}, not numbers; convert it")
        narrow = all(schema.field(name).type.bit_width <= 32 for name in columns)
        unsigned = any(str(schema.field(name).type) == "uint32" for name in columns)
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "extra_columns", others)
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
        names = [*self.columns, *self.extra_columns]
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

    def bounds(self, block_rows: int) -> list[int]:
        """Return the bounds of the row groups."""
        with ExitStack() as stack:
            metadata = self._opened(stack).metadata
            sizes = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
        return [0, *np.cumsum(sizes).tolist()]


RowTable: TypeAlias = NpyTable | ParquetTable


def find_object_columns(title: str, names: Sequence[str], columns: Sequence[str] | None = None) -> tuple[str, ...]:
    """Return the three or four columns that hold objects: those that were named, or found by their names."""
    if not columns:
        for wanted in COLUMN_NAMES:
            if set(wanted) <= set(names):
                return wanted
        known = " or ".join(", ".join(wanted) for wanted in COLUMN_NAMES)
        raise ValueError(
            f"{title} has no recognized columns (expected {known}; found {[*names]}); name them with columns=[...]"
        )
    chosen = tuple(columns)
    if len(chosen) not in (3, 4) or len(set(chosen)) != len(chosen):
        raise ValueError(f"columns={[*chosen]}: name 3 columns for triplets or 4 for quadruplets, each once")
    missing = [name for name in chosen if name not in names]
    if missing:
        raise ValueError(f"{title} has no column {missing[0]!r}; it has {[*names]}")
    return chosen

"""Tables of rows in files: which files there are, and reading them a block at a time.

The files of a folder or a pattern come in natural order, part-2 before part-10. Those whose names begin with a dot or
an underscore, such as ``_SUCCESS`` and ``_metadata``, and those that are no tables are skipped. URLs are opened by
fsspec, which is loaded for them alone.

A NumPy file is read by plain reads and not mapped into memory: that is as fast, needs no address space for the whole of
it where that is limited, and a file that is cut short while it is read is an error and not the end of the process.
Tables keep the name of the file and no handle, so that they can be copied and sent to another process.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Sources: TypeAlias = "str | PathLike[str] | Sequence[str | PathLike[str]]"
TABLE_SUFFIXES = (".npy", ".parquet", ".pq")
# What file systems call the time of a change or a digest of the content.
VERSION_KEYS = (
    "mtime", "etag", "lastmodified", "last_modified", "updated", "created", "generation", "md5hash", "checksum",
)  # fmt: skip
N_RUNS_PER_BLOCK = 16
COLUMN_NAMES = (("anchor", "near", "far"), ("i", "j", "l", "k"))
WANTED_SHAPES = "(m, 3) for triplets or (m, 4) for quadruplets"
NUMBERING_ADVICE = (
    "labels, rows = np.unique(names, return_inverse=True) numbers names; whole numbers: rows.astype(np.int32)"
)


class TableFile(NamedTuple):
    """A file on this machine, or behind a URL, which is a text."""

    place: Path | str

    @property
    def name(self) -> str:
        """The name without folders."""
        return self.place.name if isinstance(self.place, Path) else PurePosixPath(self.place).name

    def state(self) -> tuple[object, ...]:
        """Return the size and, where the file system has them, the time of the last change or a digest."""
        if isinstance(self.place, Path):
            status = self.place.stat()
            return status.st_size, status.st_mtime_ns
        system, path = _open_file_system(self.place)
        system.invalidate_cache(path)  # listings are kept, and would hide a change
        facts = {key.lower(): str(value) for key, value in system.info(path).items()}
        return (facts.get("size"), *(facts.get(mark) for mark in VERSION_KEYS))

    def __str__(self) -> str:
        return str(self.place)


def find_files(places: Sources) -> tuple[list[TableFile], str]:
    """Return the files that a path, a folder, a pattern, a URL or a list of these means, and what to call them all."""
    given = [places] if isinstance(places, str | PathLike) else [*places]
    if not given:
        raise ValueError("the list of files is empty; name one, or a folder of files")
    files = [file for each in given for file in _expand_path(each)]
    if len(given) > 1 and len(set(files)) < len(files):
        twice = next(file for file in files if files.count(file) > 1)
        raise ValueError(f"{twice} is named twice, and its rows would count twice; name each file once")
    if len({file.name.endswith(".npy") for file in files}) > 1:
        raise ValueError(
            f"{given[0] if len(given) == 1 else 'the list'} holds both .npy and .parquet files; "
            "name those of one kind, for example 'many/*.parquet'"
        )
    if len(files) == 1:
        return files, files[0].name
    of_what = _short_name(given[0]) if len(given) == 1 else f"{files[0].name}, ..."
    return files, f"{of_what} ({len(files)} files)"


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
        return [TableFile(path)]
    else:
        hits = [Path(each) for each in glob.glob(str(path), recursive=True)]
        found = [file for hit in hits for file in (hit.iterdir() if hit.is_dir() else [hit]) if file.is_file()]
    tables = sorted({each for each in found if _is_table(each.name)}, key=lambda each: _natural_sort_key(str(each)))
    if not tables:
        raise ValueError(_no_tables_message(str(path), path.is_dir()))
    return [TableFile(each) for each in tables]


def _expand_url(url: str) -> list[TableFile]:
    system, path = _open_file_system(url)
    folder = not glob.has_magic(path) and system.isdir(path)
    if folder:
        found = [each["name"] for each in system.ls(path, detail=True) if each["type"] == "file"]
    elif glob.has_magic(path):
        found = system.glob(path)
    else:
        system.info(path)  # FileNotFoundError, where there is nothing
        found = [path]
        if not _is_parquet(path):
            raise ValueError(f"{url} is no .parquet file; of URLs, Parquet is read, and .npy files from a disk")
    tables = [each for each in found if _is_table(PurePosixPath(each).name)]
    if not tables:
        raise ValueError(_no_tables_message(url, folder))
    if not all(_is_parquet(each) for each in tables):
        raise ValueError(f"{url} holds .npy files; of URLs, Parquet is read, and .npy files from a disk")
    return [TableFile(system.unstrip_protocol(each)) for each in sorted(tables, key=_natural_sort_key)]


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
    path = PurePosixPath(place.rstrip("/") if isinstance(place, str) else Path(place).as_posix())
    return f"{path.parent.name}/{path.name}" if glob.has_magic(path.name) and path.parent.name else path.name


class Block(NamedTuple):
    """Rows as they stand in the file: objects (m, 3) or (m, 4), and one answer and weight each, if it has them."""

    objects: NDArray[Any]
    answers: NDArray[Any] | None = None
    weights: NDArray[Any] | None = None


Blocks: TypeAlias = Generator[Block, None, None]
Dtype: TypeAlias = type[np.integer[Any]]


def open_table(file: TableFile, columns: Sequence[str] | None) -> RowTable:
    """Return the table in a file, by the ending of its name."""
    if isinstance(file.place, str) or not file.name.endswith(".npy"):
        return ParquetTable(file, columns)
    if columns is not None:
        raise ValueError(f"columns={columns!r}: a .npy file has no names for its columns; leave columns out")
    return NpyTable(file.place)


class NpyTable:
    """An array on disk."""

    def __init__(self, path: Path) -> None:
        npy = np.lib.format
        try:
            with path.open("rb") as file:
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
            raise ValueError(f"{path} is not a whole .npy file of integers: {error}; write it with np.save") from error
        if dtype.kind not in "iu":
            raise ValueError(f"{path} holds {dtype}, not indices 0..n-1; {NUMBERING_ADVICE}")
        if len(shape) != 2 or shape[1] not in (3, 4):
            raise ValueError(f"{path} holds an array of shape {shape}; it must be {WANTED_SHAPES}")
        if fortran and shape[0] > 1:
            raise ValueError(f"{path} is in Fortran order; save np.ascontiguousarray(rows)")
        self._path, self._dtype, self._offset = path, dtype, offset
        self._length, self._width = shape
        self.columns, self.extra_columns = ("",) * shape[1], ()  # columns have no names here

    def __len__(self) -> int:
        return self._length

    def read(self, start: int, stop: int, block_rows: int, dtype: Dtype | None) -> Blocks:
        """Return these rows in order; each block has memory of its own."""
        with self._path.open("rb") as file:
            file.seek(self._offset + start * self._width * self._dtype.itemsize)
            for first in range(start, stop, block_rows):
                count = min(block_rows, stop - first)
                rows = np.fromfile(file, self._dtype, count * self._width)
                if rows.size < count * self._width:
                    raise ValueError(f"{self._path} ends before row {first + count}: it was cut short; write it again")
                rows = rows.reshape(count, self._width)
                yield Block(rows if dtype is None else rows.astype(dtype, copy=False))

    def bounds(self, block_rows: int) -> list[int]:
        """Return the bounds of runs of rows, sixteen to a block."""
        # Files are often sorted by object, and a block of one object's rows would pull at that object alone.
        return [*range(0, self._length, -(-block_rows // N_RUNS_PER_BLOCK)), self._length]


class ParquetTable:
    """Columns on disk or behind a URL, by row groups."""

    def __init__(self, file: TableFile, columns: Sequence[str] | None) -> None:
        self._file = file
        with self._opened() as opened:
            schema, self._length = opened.schema_arrow, opened.metadata.num_rows
        from pyarrow import types as kinds  # after the check that there is a pyarrow

        self.columns, self.extra_columns = choose_columns(
            str(file), dict(zip(schema.names, schema.types, strict=True)), columns,
            kinds.is_integer, lambda kind: kinds.is_integer(kind) or kinds.is_floating(kind), kinds.is_boolean,
        )  # fmt: skip
        held = [schema.field(name).type for name in self.columns]
        narrow = all(kind.bit_width <= 32 and str(kind) != "uint32" for kind in held)
        self._dtype: Dtype = np.int32 if narrow else np.int64

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        try:
            from pyarrow import ArrowException
            from pyarrow.parquet import ParquetFile
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                "reading Parquet needs pyarrow: pip install pyarrow, or save the rows with np.save"
            ) from error
        with ExitStack() as stack:
            try:
                # A path is read without the interpreter's lock; what fsspec opens is fetched a row group at a time.
                place: Any = self._file.place
                if is_remote := isinstance(place, str):
                    system, path = _open_file_system(place)
                    place = stack.enter_context(system.open(path, "rb"))
                opened = stack.enter_context(ParquetFile(place, pre_buffer=is_remote))
            except (ArrowException, OSError) as error:
                raise ValueError(f"{self._file} is not a whole Parquet file: {error}") from error
            yield opened

    def __len__(self) -> int:
        return self._length

    def read(self, start: int, stop: int, block_rows: int, dtype: Dtype | None) -> Blocks:
        """Return these rows in order; a row group that begins before them is read from its beginning."""
        names = [*self.columns, *self.extra_columns]
        with self._opened() as file:
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

    def _block(self, batch: Any, offset: int, dtype: Dtype | None) -> Block:
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            if column.null_count:
                row = offset + int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
                raise ValueError(f"{self._file}: row {row}: {name!r} is missing; write the file without such rows")
        columns = {name: batch.column(name).to_numpy(zero_copy_only=False) for name in batch.schema.names}
        objects = [columns[name] for name in self.columns]
        return Block(stack_columns(objects, dtype or self._dtype), columns.get("answer"), columns.get("weight"))

    def bounds(self, block_rows: int) -> list[int]:
        """Return the bounds of the row groups."""
        with self._opened() as file:
            sizes = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
        return [0, *np.cumsum(sizes).tolist()]


RowTable: TypeAlias = NpyTable | ParquetTable


def stack_columns(columns: Sequence[NDArray[Any]], dtype: Dtype) -> NDArray[Any]:
    """Return columns side by side, (m, width)."""
    return np.stack(columns, axis=1, dtype=dtype, casting="unsafe")


def choose_columns(
    title: str,
    kinds: Mapping[str, Any],
    columns: Sequence[str] | None,
    is_integer: Callable[[Any], bool],
    is_number: Callable[[Any], bool],
    is_bool: Callable[[Any], bool],
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the columns that hold objects, those named or found by their names, and those of answers and weights."""
    names = list(kinds)
    chosen = tuple(columns or next((wanted for wanted in COLUMN_NAMES if set(wanted) <= set(names)), ()))
    if not chosen:
        known = " or ".join(", ".join(wanted) for wanted in COLUMN_NAMES)
        raise ValueError(
            f"{title} has no recognized columns (expected {known}; found {names}); name them with columns=[...]"
        )
    if len(chosen) not in (3, 4) or len(set(chosen)) != len(chosen):
        raise ValueError(f"columns={[*chosen]}: name 3 columns for triplets or 4 for quadruplets, each once")
    missing = [name for name in chosen if name not in names]
    if missing:
        raise ValueError(f"{title} has no column {missing[0]!r}; it has {names}")
    for name in chosen:
        if not is_integer(kinds[name]):
            raise ValueError(f"{title}: column {name!r} holds {kinds[name]}, not indices 0..n-1; {NUMBERING_ADVICE}")
    others = tuple(name for name in ("answer", "weight") if name in names and name not in chosen)
    for name in others:
        if not is_number(kinds[name]) and not (name == "answer" and is_bool(kinds[name])):
            raise ValueError(f"{title}: column {name!r} holds {kinds[name]}, not numbers; convert it")
    return chosen, others

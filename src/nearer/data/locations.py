"""Which files a table lies in: one, a folder, a pattern, a list of these, here or behind a URL.

The files of a folder or a pattern come in natural order, part-2 before part-10. Those whose names begin with a dot or
an underscore, such as ``_SUCCESS`` and ``_metadata``, and those that are no tables are passed over. URLs are opened by
fsspec, which is loaded for them alone.
"""

from __future__ import annotations

import glob
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import Any, Protocol, TypeAlias

Places: TypeAlias = "str | PathLike[str] | Sequence[str | PathLike[str]]"
ENDINGS = (".npy", ".parquet", ".pq")
# What file systems call the time of a change or a digest of the content.
_MARKS = ("mtime", "etag", "lastmodified", "last_modified", "updated", "created", "generation", "md5hash", "checksum")


class TableFile(Protocol):
    """A file that can be opened and looked at; its text is what to call it in messages."""

    @property
    def name(self) -> str:
        """The name without folders."""
        ...

    def open(self) -> AbstractContextManager[Any]:
        """Open for reading bytes."""
        ...

    def state(self) -> tuple[object, ...]:
        """Return what changes when it is written to."""
        ...


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
        system, path = _system_of(self.url)
        opened: AbstractContextManager[Any] = system.open(path, "rb")
        return opened

    def state(self) -> tuple[object, ...]:
        """Return the size and, as far as the file system tells, when it was changed or a digest."""
        system, path = _system_of(self.url)
        system.invalidate_cache(path)  # listings are kept, and would hide a change
        facts = {key.lower(): str(value) for key, value in system.info(path).items()}
        return (facts.get("size"), *(facts.get(mark) for mark in _MARKS))

    def __str__(self) -> str:
        return self.url


@dataclass(frozen=True)
class Found:
    """Files, and what to call them all."""

    files: tuple[TableFile, ...]
    title: str


def find_files(places: Places) -> Found:
    """Return the files that a path, a folder, a pattern, a URL or a list of these means.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     for name in ("part-10.npy", "part-2.npy", "_SUCCESS"):
    ...         _ = (Path(folder) / name).write_text("")
    ...     found = find_files(Path(folder) / "part-*.npy")
    >>> [file.name for file in found.files]
    ['part-2.npy', 'part-10.npy']
    """
    said = [places] if isinstance(places, str | PathLike) else [*places]
    if not said:
        raise ValueError("the list of files is empty; name one, or a folder of files")
    files = [file for each in said for file in _meant_by(each)]
    names = [str(file) for file in files]
    twice = next((name for name, count in Counter(names).items() if count > 1), None) if len(said) > 1 else None
    if twice is not None:
        raise ValueError(f"{twice} is named twice, and its rows would count twice; name each file once")
    kinds = sorted({".npy" if file.name.endswith(".npy") else ".parquet" for file in files})
    if len(kinds) > 1:
        raise ValueError(
            f"{said[0] if len(said) == 1 else 'the list'} holds both .npy and .parquet files; "
            "name those of one kind, for example 'many/*.parquet'"
        )
    if len(files) == 1:
        return Found(tuple(files), files[0].name)
    of_what = _short(said[0]) if len(said) == 1 else f"{files[0].name}, ..."
    return Found(tuple(files), f"{of_what} ({len(files)} files)")


def _meant_by(place: str | PathLike[str]) -> list[TableFile]:
    if isinstance(place, str) and is_url(place):
        return _behind(place)
    path = Path(place)
    if path.is_dir():
        found = [each for each in path.iterdir() if each.is_file()]
    elif path.exists() or not glob.has_magic(str(path)):
        path.stat()  # FileNotFoundError, where there is nothing
        if path.suffix not in ENDINGS:
            raise ValueError(f"{path} is neither a .npy nor a .parquet file; write one with np.save(path, rows)")
        return [LocalFile(path)]
    else:
        hits = [Path(each) for each in glob.glob(str(path), recursive=True)]
        found = [file for hit in hits for file in (hit.iterdir() if hit.is_dir() else [hit]) if file.is_file()]
    tables = sorted({each for each in found if _is_table(each.name)}, key=lambda each: _natural(str(each)))
    if not tables:
        raise ValueError(_nothing(str(path), path.is_dir()))
    return [LocalFile(each) for each in tables]


def _behind(url: str) -> list[TableFile]:
    system, path = _system_of(url)
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
        raise ValueError(_nothing(url, folder))
    if not all(_is_parquet(each) for each in tables):
        raise ValueError(f"{url} holds .npy files; of URLs, Parquet is read, and .npy files from a disk")
    return [RemoteFile(system.unstrip_protocol(each)) for each in sorted(tables, key=_natural)]


def is_url(place: str) -> bool:
    """Whether a text is a URL and no path.

    Examples
    --------
    >>> is_url("s3://bucket/many/*.parquet"), is_url("many/*.parquet")
    (True, False)
    """
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]*(?:::[^/]+)*://", place) is not None


def _system_of(url: str) -> tuple[Any, str]:
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
    return not name.startswith((".", "_")) and name.endswith(ENDINGS)


def _is_parquet(path: str) -> bool:
    return path.endswith((".parquet", ".pq"))


def _natural(path: str) -> tuple[list[tuple[int, str]], str]:
    """Return a key that orders numbers in names by their size."""
    pieces = re.split(r"(\d+)", path)
    return [(int(piece) if piece.isdecimal() else -1, piece) for piece in pieces], path


def _nothing(place: str, folder: bool) -> str:
    if folder:
        return f"the folder {place} holds no .npy or .parquet files; those of its folders: '{place}/**/*.parquet'"
    return f"no .npy or .parquet file is named like {place}; check the pattern"


def _short(place: str | PathLike[str]) -> str:
    path = PurePosixPath(Path(place).as_posix() if not isinstance(place, str) else place.rstrip("/"))
    return f"{path.parent.name}/{path.name}" if glob.has_magic(path.name) and path.parent.name else path.name

"""Files on disk: which can be read, how to write one atomically, and how to print its name."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_SPECIAL_FILES = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


def refuse_special_file(path: Path) -> None:
    """Refuse to read a pipe or a device: it may never end, and the checksum of a run needs a second reading."""
    try:
        mode = path.stat().st_mode
    except OSError:  # reading it says what is wrong
        return
    what = next((what for is_one, what in _SPECIAL_FILES if is_one(mode)), None)
    if what is not None:
        raise OSError(f"{path} is {what}, not a file; save what it gives in a file, and name that")


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Give a temporary path to write to, which replaces ``path`` at the end; on an error nothing is left."""
    special = path.exists() and not path.is_file()  # /dev/stdout, or a folder: writing to it says what is wrong
    part = path if special else path.with_name(f".part-{path.name}")
    try:
        yield part
        if not special:
            part.replace(path)
    except BaseException as error:
        if not special:
            with suppress(OSError):
                part.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno is not None and error.filename in (None, str(part)):
            raise OSError(error.errno, error.strerror, str(path)) from error  # a full disk names no file
        raise


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    with atomic_path(path) as part:
        part.write_text(text, encoding="utf-8", newline="")


def printable(name: str) -> str:
    r"""Return the name of a file with bytes that are no UTF-8 as escape codes."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")

"""Bytes of a file: what they are, and UTF-8 text of them.

What a file is, is told by its first bytes and not by its name: people rename spreadsheets to .csv.

Compressed files are unpacked no further than answers of people would grow. Answers become 5 to 15 times larger when
they are unpacked, even a list of all triplets in order; a file made to fill the memory, up to 1000 times. What grows
beyond 16 MB and 200 times its size is refused as soon as it does, whatever sizes the file itself claims.
"""

from __future__ import annotations

import codecs
import gzip
import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from nearer._common.files import refuse_special
from nearer._common.tables import unescape_formula
from nearer.io.table import Column, merged

_ALWAYS, _MOST_TIMES = 2**24, 200
_MOST_BYTES = 2**32
_UNPACKED_BYTES = 2**22
_GZIP = b"\x1f\x8b"
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_READABLE = "save the answers as CSV, TSV, Parquet, JSON lines or npz"


class GrowsTooLarge(ValueError):
    """A compressed file that would fill the memory."""


def unzipped(data: bytes, source: str) -> bytes:
    """Return what a gzip file holds, or the bytes themselves if they are none."""
    if not data.startswith(_GZIP):
        return data
    unpacked = io.BytesIO()
    try:
        packed = io.BytesIO(data)
        with gzip.open(packed) as file:
            while piece := file.read(_UNPACKED_BYTES):
                unpacked.write(piece)
                refuse_growth(unpacked.tell(), packed.tell(), source)
    except (EOFError, OSError, zlib.error) as error:
        raise ValueError(f"{source} is a gzip file that is not whole: {error}; copy or download it again") from error
    if unpacked.getvalue()[:2] in (b"PK", _GZIP):
        raise ValueError(f"{source} is packed twice; unpack it once")
    return unpacked.getvalue()


def members(data: bytes, ending: str, source: str) -> Iterator[tuple[str, bytes]]:
    """Return names and contents of the files in a zip archive whose names have that ending."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = [entry for entry in archive.infolist() if entry.filename.endswith(ending)]
        # Together: members may share their packed bytes.
        refuse_growth(sum(entry.file_size for entry in entries), len(data), source)
        for entry in entries:
            if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise ValueError(f"{entry.filename} is packed in a way that np.savez never uses")
            with archive.open(entry) as file:
                # By the size: without one, read() unpacks all there is before it looks at what was claimed.
                yield entry.filename.removesuffix(ending), file.read(entry.file_size)


def refuse_growth(n_unpacked: int, n_packed: int, source: str) -> None:
    """Refuse bytes that become more than any file of answers would."""
    if n_unpacked <= max(_ALWAYS, n_packed):
        return
    remedy = "unpack it first, or save it as Parquet"
    if n_unpacked > _MOST_TIMES * n_packed:
        raise GrowsTooLarge(
            f"{source} grows to more than {_MOST_TIMES} times its size when it is unpacked, as no file of answers "
            f"does, and was left alone; if it is one, {remedy}"
        )
    if n_unpacked > _MOST_BYTES:
        raise GrowsTooLarge(f"{source} unpacks to more than 4 GB; {remedy}")


_FOREIGN = (
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook"),
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF", "a PDF document"),
    (b"\x89HDF", "an HDF5 file"),
    (b"ARROW1", "a Feather file"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ", "an xz archive"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (b"\x80\x04\x95", "a pickle, which is never opened"),
)


def read_bytes(path: Path) -> bytes:
    """Return what a file holds, uncompressed if it is a gzip file."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the file of answers in it")
    refuse_special(path)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise FileNotFoundError(f"{path} does not exist; check the name and the folder") from None
    except OSError as error:
        raise OSError(f"{path} cannot be read: {error.strerror or error}") from error
    data = unzipped(data, path.name)
    if not data.strip(b" \t\r\n\xef\xbb\xbf"):
        raise ValueError(f"{path} is empty; {_READABLE}")
    return data


def refuse_foreign(data: bytes, source: str) -> None:
    """Refuse files that are no text and that no reader here knows."""
    if data[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        what = "a spreadsheet or a zip archive"
        if b"xl/" in data[:4096] or b"xl/workbook" in data[-65536:]:
            what = "an Excel workbook"
        raise ValueError(f"{source} is {what}, not text; open it and save the sheet as CSV (UTF-8)")
    for start, what in _FOREIGN:
        if data.startswith(start):
            raise ValueError(f"{source} is {what}, not a table of answers; {_READABLE}")


def as_utf8(data: bytes, source: str, notes: list[str]) -> bytes:
    """Return text in UTF-8 without a byte order mark, or say why the bytes are none."""
    refuse_foreign(data, source)
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _converted(data[len(mark) :], encoding, source)
    _refuse_binary(data, source)
    try:
        data.decode("utf-8") if len(data) < 2**26 else _check_utf8(data)
    except UnicodeDecodeError:
        notes.append(
            f"{source} is not in UTF-8 and was read as Windows-1252 (Western European); "
            "if letters with accents look wrong, save the file as CSV UTF-8"
        )
        return _western(data).encode("utf-8")
    return data


def _check_utf8(data: bytes) -> None:
    """Decode a piece at a time: a file of 500 MB is not to be in memory three times."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    view = memoryview(data)
    for start in range(0, len(data), 2**24):
        decoder.decode(view[start : start + 2**24])
    decoder.decode(b"", final=True)


def _converted(data: bytes, encoding: str, source: str) -> bytes:
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{source} begins as {encoding.upper()} text but is not: {error.reason} at byte {error.start}; "
            "save it as CSV UTF-8"
        ) from error
    if "\0" in text:
        raise ValueError(f"{source} holds NUL characters and is no text file; {_READABLE}")
    if not text.strip():
        raise ValueError(f"{source} is empty; {_READABLE}")
    return text.encode("utf-8")


def _refuse_binary(data: bytes, source: str) -> None:
    at = data.find(b"\0")
    if at >= 0:
        line = data.count(b"\n", 0, at) + 1
        raise ValueError(f"{source}:{line}: holds a NUL byte, so this is no text file or a damaged one; {_READABLE}")
    sample = data[:4096]
    odd = len(re.findall(rb"[\x01-\x08\x0b\x0c\x0e-\x1f]", sample))
    if odd > len(sample) // 20:
        raise ValueError(f"{source} holds bytes that are no text; {_READABLE}")


def _western(data: bytes) -> str:
    try:
        return data.decode("cp1252")
    except UnicodeDecodeError:  # five bytes mean nothing in Windows-1252
        return data.decode("latin-1")


def restored(column: Column) -> Column:
    """Return a column with all its labels as they were."""
    return merged(column.codes, [unescape_formula(value) for value in column.values])

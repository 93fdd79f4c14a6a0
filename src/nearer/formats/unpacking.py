"""Compressed files, unpacked no further than answers of people would grow.

Answers become 5 to 15 times larger when they are unpacked, even a list of all triplets in order; a file made to fill
the memory, up to 1000 times. What grows beyond 16 MB and 200 times its size is refused as soon as it does, whatever
sizes the file itself claims.
"""

from __future__ import annotations

import gzip
import io
import zipfile
import zlib
from collections.abc import Iterator

_ALWAYS, _MOST_TIMES = 2**24, 200
_MOST_BYTES = 2**32
_PIECE = 2**22
_GZIP = b"\x1f\x8b"


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
            while piece := file.read(_PIECE):
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

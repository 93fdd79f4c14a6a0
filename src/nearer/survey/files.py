"""Files that are sent as they are: small ones from memory, large ones, and parts of them, from the disk.

A study's page and its pictures are asked for by everybody who takes part. Opening a file takes a thread and longer than
all the rest of such an answer, so that what was sent once is kept, as long as the file does not change.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from starlette.datastructures import Headers
from starlette.responses import FileResponse, Response

_SMALL, _MOST = 1_000_000, 64_000_000  # bytes: of a file that is kept, and of all that are


class _Kept(NamedTuple):
    version: tuple[int, int, int]
    content: bytes
    tag: str


class Files:
    """Sends files.

    Parameters
    ----------
    small, most : int
        Bytes of a file that is kept in memory, and of all that are.
    """

    def __init__(self, small: int = _SMALL, most: int = _MOST) -> None:
        self.small, self.most = small, most
        self._kept: dict[Path, _Kept] = {}
        self._bytes = 0

    def send(self, path: Path, media_type: str, asked: Headers, headers: Mapping[str, str]) -> Response:
        """Return an answer that sends a file, or says that the browser has it already.

        Raises
        ------
        OSError
            If there is no such file, or it cannot be read.
        """
        found = path.stat()
        version = (found.st_mtime_ns, found.st_size, found.st_ino)
        kept = self._kept.get(path)
        if kept is not None and kept.version != version:
            self._bytes -= len(self._kept.pop(path).content)
            kept = None
        fits = found.st_size <= self.small and self._bytes + found.st_size <= self.most
        if "range" in asked or (kept is None and not fits):
            return FileResponse(path, media_type=media_type, headers=dict(headers), stat_result=found)
        kept = kept or self._keep(path, version)
        tagged = {**headers, "etag": kept.tag}
        if asked.get("if-none-match") == kept.tag:
            return Response(status_code=304, headers=tagged)
        return Response(kept.content, media_type=media_type, headers=tagged)

    def _keep(self, path: Path, version: tuple[int, int, int]) -> _Kept:
        content = path.read_bytes()
        self._kept[path] = _Kept(version, content, f'"{hashlib.sha256(content).hexdigest()[:20]}"')
        self._bytes += len(content)
        return self._kept[path]

"""A browser as small as it can be: one connection that is kept, a cookie, and requests one after the other.

The load comes from the machine that the server runs on, so that a request must cost little: a thousand browsers of a
library for HTTP would measure that library.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from typing import Any, NamedTuple

PATIENCE = 15.0  # seconds that the page waits for an answer


class Answer(NamedTuple):
    """What a server answered; status 0 when it did not."""

    status: int
    body: bytes

    @property
    def content(self) -> Any:
        """What its JSON says."""
        return json.loads(self.body)


NOTHING = Answer(0, b"")
_NUMBERS = itertools.count()


class Browser:
    """One person's connection to a server of this machine.

    Parameters
    ----------
    port : int
        At 127.0.0.1, and nowhere else.

    Attributes
    ----------
    number : int
        No other has it.
    """

    def __init__(self, port: int) -> None:
        self.port = port
        self.number = next(_NUMBERS)
        self.cookie = ""
        places = [self.number >> shift & 255 for shift in (16, 8, 0)]
        self.address = "x-forwarded-for: 10.{}.{}.{}\r\n".format(*places)  # as a proxy says where somebody comes from
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def get(self, path: str) -> Answer:
        """Ask for something."""
        return await self._ask(self._head("GET", path) + b"\r\n")

    async def post(self, path: str, body: Any) -> Answer:
        """Send JSON as the study's page does."""
        data = json.dumps(body).encode()
        head = f"content-type: application/json\r\nx-nearer: 1\r\ncontent-length: {len(data)}\r\n\r\n"
        return await self._ask(self._head("POST", path) + head.encode() + data)

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None

    def _head(self, method: str, path: str) -> bytes:
        return f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{self.port}\r\n{self.address}{self.cookie}".encode()

    async def _ask(self, message: bytes) -> Answer:
        """Send a message, once more on a new connection if the server has closed the one that was kept."""
        was_kept = self._streams is not None
        try:
            async with asyncio.timeout(PATIENCE):
                found = await self._once(message)
                return await self._once(message) if found is NOTHING and was_kept else found
        except TimeoutError:
            self.close()
            return NOTHING

    async def _once(self, message: bytes) -> Answer:
        try:
            if self._streams is None:
                self._streams = await asyncio.open_connection("127.0.0.1", self.port)
            reader, writer = self._streams
            writer.write(message)
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            status = int(head[9:12])
            length = 0
            for line in head.split("\r\n")[1:]:
                name, _, value = line.partition(":")
                if name == "content-length":
                    length = int(value)
                elif name == "set-cookie":
                    self.cookie = f"cookie: {value.strip().split(';')[0]}\r\n"
            body = await reader.readexactly(length) if length else b""
            if "\r\nconnection: close" in head:
                self.close()
            return Answer(status, body)
        except (OSError, EOFError, ValueError):  # refused, reset, or cut off in the middle
            self.close()
            return NOTHING

"""Limits on what a connection may cost before the application sees a request.

A proxy sets such limits; a laboratory that serves its own network has none before it. uvicorn reads headers of any
length for any time, and queues any number of requests of one connection. Here a head, a whole request and the requests
that wait behind it are bounded in bytes, number and seconds, and so are the connections of one network address, so that
nobody takes the memory of the server, or the places of others.

A browser opens up to six connections and keeps them for a while, and all computers of a laboratory may share one
address: where an address, or the server, has no place left, a connection that is idle is closed for a new one, which
browsers do not show.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from nearer.survey.security import Limit, network_of

MAX_HEAD_BYTES = 16_384  # of the first line and the headers of a request
MAX_HEADERS = 100
MAX_REQUEST_BYTES = 160_000  # of all of a request: twice what the application takes as a body, as pieces have headers
MAX_PIPELINED = 4  # requests that wait behind the one that is answered; browsers send none
REQUEST_SECONDS = 20.0  # until a request is complete, from when its connection was opened or its first byte came
SEND_SECONDS = 120.0  # that nothing of an answer is taken
_LOG = logging.getLogger("nearer.survey")


class Connections:
    """All connections of a server, by network address.

    Parameters
    ----------
    most : int
    most_each : int
        Of one network address.
    """

    def __init__(self, most: int, most_each: int) -> None:
        self.most, self.most_each, self.n = most, most_each, 0
        self._of: dict[str, dict[BoundedProtocol, None]] = {}
        self._lines = Limit(5, 0.1)

    def admit(self, connection: BoundedProtocol) -> bool:
        """Count a connection in, and return whether there was room for it, or could be made."""
        own = self._of.get(connection.network, {})
        if len(own) >= self.most_each:
            crowd, only_idle = own, True
        else:  # an address that has more than others gives way
            crowd = max(self._of.values(), key=len) if self.n >= self.most else {}
            only_idle = len(crowd) <= len(own)
        if crowd and not self._close_one(crowd, only_idle):
            self.refuse(f"a connection: {len(own)} are open from its address, {self.n} in all")
            return False
        self._of.setdefault(connection.network, {})[connection] = None
        self.n += 1
        return True

    def leave(self, connection: BoundedProtocol) -> None:
        """Count a connection out, if it is counted."""
        own = self._of.get(connection.network, {})
        if connection not in own:
            return
        del own[connection]
        self.n -= 1
        if not own:
            del self._of[connection.network]

    def refuse(self, what: str) -> None:
        """Log what was refused, but not so often that it would fill a disk."""
        if self._lines.allows("all"):
            _LOG.warning("refused: %s", what)

    def _close_one(self, crowd: dict[BoundedProtocol, None], only_idle: bool) -> bool:
        """Close the oldest idle connection of a crowd, or else its oldest, and return whether there was one."""
        found = next((each for each in crowd if each.is_idle), None if only_idle else next(iter(crowd)))
        if found is None:
            return False
        self.leave(found)
        found.close(at_once=not found.is_idle)
        return True


class BoundedProtocol(HttpToolsProtocol):
    """HTTP as uvicorn and httptools speak it, bounded.

    Parameters
    ----------
    table : Connections
    **given
        What uvicorn gives.
    """

    def __init__(self, table: Connections, **given: Any) -> None:
        super().__init__(**given)
        self.table, self.network = table, ""
        self._part = ""  # of a request that arrives now: "", "head" or "body"
        self._n_bytes = 0  # of that request, or since the last one was complete
        self._n_complete = 0  # requests so far
        self._deadline: asyncio.TimerHandle | None = None
        self._stuck: asyncio.TimerHandle | None = None

    @property
    def is_idle(self) -> bool:
        """Whether nothing arrives and nothing is to be answered."""
        return not self._part and not self._n_bytes and (self.cycle is None or self.cycle.response_complete)

    def close(self, *, at_once: bool) -> None:
        """Close the connection; what was sent still arrives, unless it is ended at once."""
        if at_once:
            self.transport.abort()
        else:
            self.transport.close()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, if there is a place."""
        super().connection_made(transport)
        self.network = network_of(self.client[0] if self.client else "")
        if self.table.admit(self):
            self._wait_for_request()
        else:
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        super().connection_lost(exc)
        self.table.leave(self)
        self._do_not_wait()
        _cancel(self._stuck)

    def data_received(self, data: bytes) -> None:
        """Read what came in pieces, so that what is beyond a limit is not read."""
        for start in range(0, len(data), MAX_HEAD_BYTES):
            if self.transport.is_closing():
                return
            self._take(data[start : start + MAX_HEAD_BYTES])

    def _take(self, piece: bytes) -> None:
        before = self._n_complete
        super().data_received(piece)
        if self.transport.is_closing():
            return
        self._n_bytes = 0 if self._n_complete > before else self._n_bytes + len(piece)
        most = MAX_REQUEST_BYTES if self._part == "body" else MAX_HEAD_BYTES
        if self._n_bytes > most or len(self.headers or ()) > MAX_HEADERS:
            self._refuse()
        elif not self._part and not self._n_bytes:
            self._do_not_wait()
        elif self._deadline is None:
            self._wait_for_request()

    def _refuse(self) -> None:
        """End a connection that brings too much, with an answer where none is being sent."""
        self.table.refuse("a request that is larger than any that the study's pages send")
        if self.cycle is None or self.cycle.response_complete:
            status = b"413 Content Too Large" if self._part == "body" else b"431 Request Header Fields Too Large"
            self.transport.write(b"HTTP/1.1 %s\r\nconnection: close\r\ncontent-length: 0\r\n\r\n" % status)
            self.transport.close()
        else:
            self.transport.abort()

    def _wait_for_request(self) -> None:
        self._deadline = self.loop.call_later(REQUEST_SECONDS, self.transport.abort)

    def _unsupported_upgrade_warning(self) -> None:
        """Say nothing of who asks for a web socket: the study has none, whatever is installed."""

    def _do_not_wait(self) -> None:
        _cancel(self._deadline)
        self._deadline = None

    # What the parser says.
    def on_message_begin(self) -> None:
        """Begin a request."""
        self._part = "head"
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Begin to answer a request, or let it wait behind others."""
        if len(self.headers) > MAX_HEADERS or len(self.pipeline) >= MAX_PIPELINED:
            raise ValueError("too many headers, or requests at once")  # uvicorn then closes the connection
        self._part = "body"
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Note that all of a request is there."""
        self._part = ""
        self._n_complete += 1
        super().on_message_complete()

    # What the transport says.
    def pause_writing(self) -> None:
        """Wait for whoever reads an answer, but not for ever."""
        super().pause_writing()
        _cancel(self._stuck)
        self._stuck = self.loop.call_later(SEND_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on."""
        super().resume_writing()
        _cancel(self._stuck)


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    """Cancel a timer, if there is one."""
    if timer is not None:
        timer.cancel()

"""Serving a study: the application under uvicorn, with bounded connections, and the engine next to it.

uvicorn reads headers of any length for any time, and queues any number of requests; a laboratory that serves its own
network has no proxy that limits them. Here requests and the connections of one network address are bounded. Where no
place is left, an idle connection is closed for a new one, which browsers do not show.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from nearer.survey.participants import ParticipantRoutes
from nearer.survey.researcher import ResearcherRoutes, first_secret, new_secret
from nearer.survey.store import DatabaseDamaged, Writer
from nearer.survey.study import Study, open_study
from nearer.survey.supervisor import Supervisor
from nearer.survey.web import NEWCOMERS_PER_MINUTE, Guarded, RateLimit, Survey, make_application, network_of

KEEP_ALIVE_SECONDS = 20  # longer than most people take for an answer
MAX_BACKLOG = 4096  # connections that wait to be accepted, when all pages come back after a restart
MAX_CONNECTIONS = 20_000
MAX_CONNECTIONS_PER_NETWORK = 500  # a large class, whose idle connections are closed for new ones
_RESERVED_FILES = 100
MAX_HEAD_BYTES = 16_384  # of the first line and the headers of a request
MAX_HEADERS = 100
MAX_REQUEST_BYTES = 160_000  # twice what the application takes as a body, as pieces have headers
MAX_PIPELINED = 4  # requests that wait behind the one that is answered; browsers send none
REQUEST_SECONDS = 20.0  # until a request is complete, from when its connection was opened or its first byte came
SEND_SECONDS = 120.0  # that nothing of a response is taken
_LOG = logging.getLogger("nearer.survey")


@dataclass(frozen=True)
class Serving:
    """Where a study is served."""

    host: str = "127.0.0.1"
    port: int = 8000
    address: str = ""  # as people reach it, where that is another than host and port: behind a proxy
    certificate: Path | None = None
    key: Path | None = None
    proxied: bool = False  # whether a proxy's word about network addresses is taken
    newcomers_per_minute: int = NEWCOMERS_PER_MINUTE  # of one network address; a quarter of an hour's may come at once

    @property
    def link(self) -> str:
        """The link for participants."""
        if self.address:
            return self.address.rstrip("/") + "/"
        scheme = "http" if self.certificate is None else "https"
        # All addresses of this computer: people can open one of them.
        host = _own_address(self.host) if self.host in ("0.0.0.0", "::") else self.host
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{self.port}/"


def _own_address(host: str) -> str:
    """Return the address of this computer in its network, or else its name."""
    family, elsewhere = (socket.AF_INET6, "2001:db8::1") if ":" in host else (socket.AF_INET, "192.0.2.1")
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((elsewhere, 9))  # sends nothing: it finds the address from which something would be sent
            found: str = probe.getsockname()[0]
        except OSError:  # there is no network
            return socket.gethostname()
    return found


def build(folder: Path, serving: Serving, seed: int | None = None) -> tuple[Guarded, Writer, Study]:
    """Return the application of a study, its writer, which is to be closed, and the study."""
    study, database = open_study(folder)
    try:
        database.check()
    except DatabaseDamaged:
        database.close()
        raise
    writer = Writer(database)
    secure, per_minute = serving.link.startswith("https:"), serving.newcomers_per_minute
    survey = Survey(study, writer, seed=seed, secure=secure, newcomers_per_minute=per_minute)
    routes = [*ParticipantRoutes(survey).routes(), *ResearcherRoutes(survey, serving.link).routes()]
    return make_application(routes), writer, study


def researcher_secret(folder: Path, *, renew: bool = False) -> str | None:
    """Return a new secret for the researcher if there is none yet, or with ``renew``; else None: none is stored."""
    _, database = open_study(folder)
    try:
        with database.engine.begin() as connection:
            return new_secret(connection) if renew else first_secret(connection)
    finally:
        database.close()


def listen(serving: Serving) -> socket.socket:
    """Return a socket that listens; a browser that comes from here on waits until it is served."""
    family = socket.AF_INET6 if ":" in serving.host else socket.AF_INET
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((serving.host, serving.port))
        listening.listen(MAX_BACKLOG)
    except OSError as error:
        listening.close()
        why = error.strerror or str(error)
        raise ValueError(
            f"cannot listen at {serving.host}, port {serving.port}: {why}; choose another with --port or --host"
        ) from error
    return listening


def serve(folder: Path, serving: Serving, listening: socket.socket, begun: Callable[[Study], None]) -> None:
    """Serve a study until somebody ends it; ``begun`` is called when it begins."""
    app, writer, study = build(folder, serving)
    engine = Supervisor(folder, writer.database)
    most = _allow_connections()
    table = Connections(most, most if serving.proxied else min(MAX_CONNECTIONS_PER_NETWORK, most // 2))
    config = uvicorn.Config(
        app, http=partial(BoundedProtocol, table),  # type: ignore[arg-type]  # it is called as a class is
        ws="none", backlog=MAX_BACKLOG, proxy_headers=serving.proxied,
        log_config=None, log_level="warning", access_log=False, server_header=False,
        timeout_graceful_shutdown=5, timeout_keep_alive=KEEP_ALIVE_SECONDS,
        ssl_certfile=serving.certificate, ssl_keyfile=serving.key,
    )  # fmt: skip
    lines = RateLimit(50, 1)  # of what is no HTTP at all: whoever sends nonsense must not fill a disk
    logging.getLogger("uvicorn.error").addFilter(lambda _: lines.allows())
    server = uvicorn.Server(config)
    with _ended_by_signals(server):
        engine.start()
        try:
            begun(study)
            server.run(sockets=[listening])
        finally:
            engine.stop()
            writer.close()


class Connections:
    """All connections of a server, by network address."""

    def __init__(self, max_connections: int, max_per_network: int) -> None:
        self.max_connections, self.max_per_network, self.n = max_connections, max_per_network, 0
        self._by_network: dict[str, dict[BoundedProtocol, None]] = {}
        self._lines = RateLimit(5, 0.1)

    def add(self, connection: BoundedProtocol) -> bool:
        """Add a connection, and return whether there was room for it, or could be made."""
        own = self._by_network.get(connection.network, {})
        if len(own) >= self.max_per_network:
            crowd, only_idle = own, True
        else:  # an address that has more than others gives way
            crowd = max(self._by_network.values(), key=len) if self.n >= self.max_connections else {}
            only_idle = len(crowd) <= len(own)
        if crowd and not self._close_one(crowd, only_idle):
            self.log_refusal(f"a connection: {len(own)} are open from its address, {self.n} in all")
            return False
        self._by_network.setdefault(connection.network, {})[connection] = None
        self.n += 1
        return True

    def remove(self, connection: BoundedProtocol) -> None:
        """Remove a connection, if it was added."""
        own = self._by_network.get(connection.network, {})
        if connection not in own:
            return
        del own[connection]
        self.n -= 1
        if not own:
            del self._by_network[connection.network]

    def log_refusal(self, what: str) -> None:
        """Log what was refused, but not so often that it would fill a disk."""
        if self._lines.allows():
            _LOG.warning("refused: %s", what)

    def _close_one(self, crowd: dict[BoundedProtocol, None], only_idle: bool) -> bool:
        """Close the oldest idle connection of a crowd, or else its oldest, and return whether there was one."""
        found = next((each for each in crowd if each.is_idle), None if only_idle else next(iter(crowd)))
        if found is None:
            return False
        self.remove(found)
        if found.is_idle:
            found.transport.close()  # what was sent still arrives
        else:
            found.transport.abort()
        return True


class BoundedProtocol(HttpToolsProtocol):
    """HTTP as uvicorn and httptools speak it, bounded; ``options`` are uvicorn's."""

    def __init__(self, table: Connections, **options: Any) -> None:
        super().__init__(**options)
        self.table, self.network = table, ""
        self._part = ""  # that arrives now: "", "head" or "body" of a request
        self._n_bytes = 0  # of that request, or since the last one was complete
        self._n_complete = 0  # requests so far
        self._open: list[RequestResponseCycle] = []  # requests whose responses may not be complete
        self._deadline: asyncio.TimerHandle | None = None
        self._stuck: asyncio.TimerHandle | None = None

    @property
    def is_idle(self) -> bool:
        """Whether nothing arrives and nothing is to be answered."""
        return not self._part and not self._n_bytes and (self.cycle is None or self.cycle.response_complete)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, if there is room."""
        super().connection_made(transport)
        self.network = network_of(self.client[0] if self.client else "")
        if self.table.add(self):
            self._wait_for_request()
        else:
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the connection."""
        super().connection_lost(exc)
        self._drop_responses()
        self.table.remove(self)
        self._stop_waiting()
        _cancel(self._stuck)

    def data_received(self, data: bytes) -> None:
        """Parse data in pieces, so that what is beyond a limit is not parsed."""
        for start in range(0, len(data), MAX_HEAD_BYTES):
            if self.transport.is_closing():
                return
            self._parse(data[start : start + MAX_HEAD_BYTES])

    def _parse(self, piece: bytes) -> None:
        before = self._n_complete
        super().data_received(piece)
        if self.transport.is_closing():
            return
        self._n_bytes = 0 if self._n_complete > before else self._n_bytes + len(piece)
        limit = MAX_REQUEST_BYTES if self._part == "body" else MAX_HEAD_BYTES
        if self._n_bytes > limit or len(self.headers or ()) > MAX_HEADERS:
            self._refuse()
        elif not self._part and not self._n_bytes:
            self._stop_waiting()
        elif self._deadline is None:
            self._wait_for_request()

    def _refuse(self) -> None:
        """End a connection that sends too much, with a response where none is being sent."""
        self.table.log_refusal("a request that is larger than any that the study's pages send")
        if self.cycle is None or self.cycle.response_complete:
            status = b"413 Content Too Large" if self._part == "body" else b"431 Request Header Fields Too Large"
            self.transport.write(b"HTTP/1.1 %s\r\nconnection: close\r\ncontent-length: 0\r\n\r\n" % status)
            self.transport.close()
        else:
            self.transport.abort()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP, and end the connection."""
        super().send_400_response(msg)
        self._drop_responses()

    def _drop_responses(self) -> None:
        """Let nothing more be written: of requests that wait behind each other uvicorn tells the last one alone."""
        for cycle in self._open:
            cycle.disconnected = True
            cycle.message_event.set()

    def _wait_for_request(self) -> None:
        self._deadline = self.loop.call_later(REQUEST_SECONDS, self.transport.abort)

    def _unsupported_upgrade_warning(self) -> None:
        """Log nothing about requests for web sockets: the study has none, whatever is installed."""

    def _stop_waiting(self) -> None:
        _cancel(self._deadline)
        self._deadline = None

    # Calls of the parser.
    def on_message_begin(self) -> None:
        """Begin a request."""
        self._part = "head"
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Begin to respond to a request, or let it wait behind others."""
        if len(self.headers) > MAX_HEADERS or len(self.pipeline) >= MAX_PIPELINED:
            raise ValueError("too many headers, or requests at once")  # uvicorn then closes the connection
        self._part = "body"
        super().on_headers_complete()
        self._open = [each for each in (*self._open, self.cycle) if not each.response_complete]

    def on_message_complete(self) -> None:
        """Note that all of a request is there."""
        self._part = ""
        self._n_complete += 1
        super().on_message_complete()

    # Calls of the transport.
    def pause_writing(self) -> None:
        """Wait for whoever reads a response, but not for ever."""
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


@contextmanager
def _ended_by_signals(server: uvicorn.Server) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM end the server from here on, and reach whoever else hears them once all is closed.

    uvicorn does so while it runs. One that comes while it starts is raised within the event loop, and may be lost.
    """
    received: list[int] = []

    def end(number: int, frame: FrameType | None) -> None:
        received.append(number)
        server.handle_exit(number, frame)

    before = {each: signal.signal(each, end) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
    for number in received[:1]:
        signal.raise_signal(number)


def _allow_connections() -> int:
    """Return the number of connections allowed; a browser opens several, and systems often allow a thousand files."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return MAX_CONNECTIONS
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_CONNECTIONS + _RESERVED_FILES
    allowed = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    return max(allowed - _RESERVED_FILES, 100)

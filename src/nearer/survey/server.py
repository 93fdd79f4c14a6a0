"""Serving a study: the application under uvicorn, the engine beside it, and the two links."""

from __future__ import annotations

import logging
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from nearer.survey.app import NEWCOMERS_PER_MINUTE, application, survey_of
from nearer.survey.participants import Participants
from nearer.survey.researcher import Researchers
from nearer.survey.security import Guarded, Limit, first_secret, new_secret
from nearer.survey.store.database import Damaged
from nearer.survey.store.writer import Writer
from nearer.survey.study import Study, open_study
from nearer.survey.supervising import Supervisor

if TYPE_CHECKING:
    import uvicorn

_KEEPS = 20  # seconds that a connection is kept open: longer than most people take for an answer
_WAITING = 4096  # connections that wait to be accepted, when all pages come back after a restart
_CONNECTIONS, _OTHER_FILES = 20_000, 100
_CONNECTIONS_EACH = 500  # of one network address: those of a large class, whose idle ones are closed for new ones


@dataclass(frozen=True)
class Serving:
    """Where a study is served.

    Attributes
    ----------
    host : str
    port : int
    address : str
        As people reach it, where that is another than host and port: behind a proxy.
    certificate, key : Path or None
        For TLS.
    proxied : bool
        Whether a proxy stands before it, whose word about addresses is taken.
    newcomers_per_minute : int
        New participants of one network address; a quarter of an hour's may come at once.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    address: str = ""
    certificate: Path | None = None
    key: Path | None = None
    proxied: bool = False
    newcomers_per_minute: int = NEWCOMERS_PER_MINUTE

    @property
    def link(self) -> str:
        """The link for participants."""
        if self.address:
            return self.address.rstrip("/") + "/"
        scheme = "http" if self.certificate is None else "https"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{scheme}://{host}:{self.port}/"

    @property
    def is_secure(self) -> bool:
        """Whether people reach it by TLS."""
        return self.link.startswith("https:")


def build(folder: Path, serving: Serving, seed: int | None = None) -> tuple[Guarded, Writer, Study]:
    """Return the application of a study, its writer, which is to be closed, and the study."""
    study, database = open_study(folder)
    try:
        database.check()
    except Damaged:
        database.close()
        raise
    writer = Writer(database)
    survey = survey_of(study, writer, seed, serving.is_secure, serving.newcomers_per_minute)
    routes = [*Participants(survey).routes(), *Researchers(survey, serving.link).routes()]
    return application(routes), writer, study


def secret_of(folder: Path, *, anew: bool = False) -> str | None:
    """Return a new secret for the researcher if there is none yet, or one is wanted; else None: it is kept nowhere."""
    _, database = open_study(folder)
    try:
        with database.engine.begin() as connection:
            return new_secret(connection) if anew else first_secret(connection)
    finally:
        database.close()


def listen(serving: Serving) -> socket.socket:
    """Return a socket that listens: from here on a browser that comes is waited on, if it has to wait itself.

    Raises
    ------
    ValueError
        If that address cannot be listened at.
    """
    family = socket.AF_INET6 if ":" in serving.host else socket.AF_INET
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((serving.host, serving.port))
        listening.listen(_WAITING)
    except OSError as error:
        listening.close()
        why = error.strerror or str(error)
        raise ValueError(
            f"cannot listen at {serving.host}, port {serving.port}: {why}; choose another with --port or --host"
        ) from error
    return listening


def serve(folder: Path, serving: Serving, listening: socket.socket, begun: Callable[[Study], None]) -> None:
    """Serve a study until somebody ends it; ``begun`` is called when it begins."""
    import uvicorn

    from nearer.survey.connections import BoundedProtocol, Connections

    app, writer, study = build(folder, serving)
    engine = Supervisor(folder, writer.database)
    most = _allow_connections()
    table = Connections(most, most if serving.proxied else min(_CONNECTIONS_EACH, most // 2))
    config = uvicorn.Config(
        app, http=partial(BoundedProtocol, table),  # type: ignore[arg-type]  # it is called as a class is
        ws="none", backlog=_WAITING, proxy_headers=serving.proxied,
        log_config=None, log_level="warning", access_log=False, server_header=False,
        timeout_graceful_shutdown=5, timeout_keep_alive=_KEEPS,
        ssl_certfile=serving.certificate, ssl_keyfile=serving.key,
    )  # fmt: skip
    lines = Limit(50, 1)  # of what is no HTTP at all: whoever sends nonsense must not fill a disk
    logging.getLogger("uvicorn.error").addFilter(lambda _: lines.allows("all"))
    server = uvicorn.Server(config)
    with _ended_by_signals(server):
        engine.start()
        try:
            begun(study)
            server.run(sockets=[listening])
        finally:
            engine.stop()
            writer.close()


@contextmanager
def _ended_by_signals(server: uvicorn.Server) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM end the server from here on, and reach whoever else hears them once all is closed.

    uvicorn does so while it runs. One that comes while it starts is raised within the event loop, and may be lost.
    """
    heard: list[int] = []

    def end(number: int, frame: FrameType | None) -> None:
        heard.append(number)
        server.handle_exit(number, frame)

    before = {each: signal.signal(each, end) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
    for number in heard[:1]:
        signal.raise_signal(number)


def _allow_connections() -> int:
    """Return how many connections there may be; a browser opens several, and systems often allow a thousand files."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return _CONNECTIONS
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = _CONNECTIONS + _OTHER_FILES if hard == resource.RLIM_INFINITY else min(hard, _CONNECTIONS + _OTHER_FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    return max(allowed - _OTHER_FILES, 100)

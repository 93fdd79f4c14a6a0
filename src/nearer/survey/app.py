"""What all addresses of the server share: the study and its writer, cookies, bodies, and answers that say why not."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

import jinja2
import numpy as np
from sqlalchemy import Connection
from sqlalchemy.exc import DataError, SQLAlchemyError
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from nearer.survey.asking import Asker
from nearer.survey.security import Guarded, Limit, TooLarge, from_own_page, network_of
from nearer.survey.store.database import Damaged, claim_fact, reason
from nearer.survey.store.writer import Busy, Writer, in_time
from nearer.survey.study import Study
from nearer.survey.visiting import Desk, NotYours

Result = TypeVar("Result")
WRITE_SECONDS = 10.0  # less than the 15 after which the page gives a request up
NEWCOMERS_PER_MINUTE = 20  # of one network address, which all computers of a laboratory may share
NEWCOMERS_MINUTES_AT_ONCE = 15  # the newcomers of so many minutes may come at once
_KEY = "key"
_KEPT = 30 * 24 * 3600  # seconds that a browser keeps a session
_LOG = logging.getLogger("nearer.survey")
_TROUBLES = Limit(50, 1)


@dataclass(eq=False)
class Survey:
    """What the addresses share.

    Attributes
    ----------
    study : Study
    writer : Writer
    desk : Desk
    key : str
        Random, and public: by it a browser tells the answers of this study from those of another at the same address.
    secure : bool
        Whether cookies are for TLS alone.
    """

    study: Study
    writer: Writer
    desk: Desk
    key: str
    secure: bool = False
    arrivals: Limit = field(default_factory=lambda: arrivals_of(NEWCOMERS_PER_MINUTE))
    answering: Limit = field(default_factory=lambda: Limit(60, 10))
    guesses: Limit = field(default_factory=lambda: Limit(10, 0.1))

    async def run(self, work: Callable[[Connection], Result], whom: str = "", *, places: bool = False) -> Result:
        """Let the writer work, and wait without holding up others, but not for ever: a page asks again by itself."""
        future = asyncio.wrap_future(self.writer.submit(work, whom, places=places))
        return await in_time(future, WRITE_SECONDS)

    def cookie(self, name: str) -> str:
        """Return the name of a cookie: browsers give those of a host to all its ports, where other studies may be."""
        return f"nearer_{name}_{self.key}"

    def page(self, name: str, **context: Any) -> str:
        """Return a page of a template."""
        return _templates().get_template(name).render(**context)


def survey_of(
    study: Study, writer: Writer, seed: int | None = None, secure: bool = False, per_minute: int = NEWCOMERS_PER_MINUTE
) -> Survey:
    """Return what the addresses share."""
    asker = Asker(study, writer.database, np.random.default_rng(seed))
    desk = Desk(study, writer.database, asker)
    key = writer.run(lambda connection: claim_fact(connection, _KEY, secrets.token_hex(8)))
    return Survey(study, writer, desk, key, secure, arrivals_of(per_minute))


def arrivals_of(per_minute: int) -> Limit:
    """Return the limit on new participants of one network address: a class may come at once, but not for ever."""
    return Limit(NEWCOMERS_MINUTES_AT_ONCE * per_minute, per_minute / 60)


def application(routes: list[Route]) -> Guarded:
    """Return the application that has these addresses; what goes wrong at one of them is answered as it should be."""
    handlers: Any = {
        Refused: lambda _, error: error_of(error.status, str(error)),
        TooLarge: lambda *_: error_of(413, "too large"),
        ClientDisconnect: lambda *_: Response(status_code=400),
        Busy: _busy,
        Damaged: _busy,
        DataError: lambda *_: error_of(400, "there is a character that no database takes"),
        SQLAlchemyError: _busy,
        NotYours: lambda _, error: error_of(403, str(error)),
        ValueError: lambda _, error: error_of(400, str(error)),
    }
    app = Starlette(routes=routes, exception_handlers=handlers)
    app.router.redirect_slashes = False
    return Guarded(app)


class Refused(Exception):
    """A request that is not carried out, with the status that says why."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


async def body_of(request: Request) -> Any:
    """Return the JSON that a request of our own page brings."""
    if not from_own_page(request.headers):
        raise Refused(403, "this is for the study's own page")
    if request.headers.get("content-type", "").split(";")[0] != "application/json":
        raise Refused(415, "JSON is needed")
    try:
        return json.loads(await request.body())
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        raise Refused(400, "this is no JSON") from None


def address_of(request: Request) -> str:
    """Return the network that a request comes from; for counting in memory, and nothing else."""
    return network_of(request.client.host if request.client else "")


def remember(response: Response, name: str, value: str, secure: bool) -> None:
    """Let a browser keep a value that no script reads.

    Lax, so that links in mails work; whatever changes something must come from our own pages all the same.
    """
    response.set_cookie(name, value, max_age=_KEPT, httponly=True, samesite="lax", secure=secure, path="/")


def error_of(status: int, why: str) -> JSONResponse:
    """Return an answer that says why not."""
    return JSONResponse({"error": why}, status_code=status, headers={"cache-control": "no-store"})


def trouble(what: str) -> None:
    """Log what went wrong, but not so often that the news of a full disk would fill it."""
    if _TROUBLES.allows("all"):
        _LOG.error("%s", what)


def _busy(_: Request, error: Exception) -> Response:
    trouble(reason(error) if isinstance(error, SQLAlchemyError) else str(error))
    response = error_of(503, "the server is busy; the answer is sent again by itself")
    response.headers["retry-after"] = "1"
    return response


@cache
def _templates() -> jinja2.Environment:
    loader = jinja2.FileSystemLoader(folder_of("templates"))
    return jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined)


def folder_of(name: str) -> Path:
    """Return a folder of this package."""
    return Path(str(resources.files("nearer.survey") / name))

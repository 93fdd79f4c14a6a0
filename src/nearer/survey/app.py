"""The participants' side of the server: a page, stimuli, and three addresses that the page talks to.

Each request is one piece of work for the writer, which is told about after it is committed: who an answer is from, the
answer, and the next questions. The page may send an answer again as often as it likes.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal, TypeVar

import jinja2
import numpy as np
from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from nearer.survey import people
from nearer.survey.asking import Asker
from nearer.survey.files import Files
from nearer.survey.security import Guarded, Limit, TooLarge, from_own_page
from nearer.survey.store.database import read_fact, reason, write_fact
from nearer.survey.store.writer import Busy, Writer
from nearer.survey.study import Study
from nearer.survey.visiting import Desk, Given, NotYours, Visit
from nearer.survey.words import words_of

Result = TypeVar("Result")
SESSION = "session"
_KEY = "key"
_KEPT = 30 * 24 * 3600  # seconds that a browser keeps a session
_MOST_AT_ONCE, _LONGEST_ID = 100, 40
_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_LOG = logging.getLogger("nearer.survey")
_TROUBLES = Limit(50, 1)
#: Pictures may hold scripts (SVG): on a page of their own these must not run either.
_STIMULUS_HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    "cache-control": "private, max-age=86400",
}


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
    arrivals: Limit = field(default_factory=lambda: Limit(2000, 50))
    answering: Limit = field(default_factory=lambda: Limit(60, 10))
    guesses: Limit = field(default_factory=lambda: Limit(10, 0.1))
    files: Files = field(default_factory=Files)

    async def run(self, work: Callable[[Connection], Result]) -> Result:
        """Let the writer work, and wait without holding up others."""
        return await asyncio.wrap_future(self.writer.submit(work))

    def cookie(self, name: str) -> str:
        """Return the name of a cookie: browsers give those of a host to all its ports, where other studies may be."""
        return f"nearer_{name}_{self.key}"

    def page(self, name: str, **context: Any) -> str:
        """Return a page of a template."""
        return _templates().get_template(name).render(**context)


def survey_of(study: Study, writer: Writer, seed: int | None = None, secure: bool = False) -> Survey:
    """Return what the addresses share."""
    asker = Asker(study, writer.database, np.random.default_rng(seed))
    return Survey(study, writer, Desk(study, writer.database, asker), writer.run(_key_of), secure)


def _key_of(connection: Connection) -> str:
    key = read_fact(connection, _KEY)
    if key is None:
        key = secrets.token_hex(8)
        write_fact(connection, _KEY, key)
    return key


def participants_routes(survey: Survey) -> list[Route]:
    """Return the addresses that participants use."""
    settings = survey.study.settings
    html = survey.page(
        "participant.html", title=settings.title, language=settings.language, words=words_of(settings.language),
        study=survey.key,
    )  # fmt: skip
    static = {path.name: path for path in _folder("static").iterdir()}

    async def page(request: Request) -> Response:
        response = HTMLResponse(html, headers={"cache-control": "no-store"})
        token = request.cookies.get(survey.cookie(SESSION), "")
        if not token or await survey.run(lambda connection: people.find(connection, token)) is None:
            if not survey.arrivals.allows(address_of(request)):
                return _error(429, "too many have begun at once; try again in a minute")
            code = "" if settings.completion_code == "each" else settings.completion_code
            _, token = await survey.run(lambda connection: people.begin(connection, request.query_params, code))
            remember(response, survey.cookie(SESSION), token, survey.secure)
        return response

    async def look(_: Request) -> Response:
        text = f":root {{ --accent: {settings.accent}; --background: {settings.background}; }}\n"
        return Response(text, media_type="text/css", headers={"cache-control": "max-age=60"})

    async def stimulus(request: Request) -> Response:
        number, labels = request.path_params["number"], survey.study.labels
        shown = survey.study.stimuli[labels[number]] if number < len(labels) else None
        if shown is None or shown.file is None:
            return _error(404, "there is no such object")
        return _sent(survey, request, shown.file, shown.media_type, _STIMULUS_HEADERS)

    async def part(request: Request) -> Response:
        path = static.get(request.path_params["name"])
        if path is None:
            return _error(404, "there is no such file")
        return _sent(survey, request, path, _TYPES[path.suffix], {"cache-control": "max-age=60"})

    async def state(request: Request) -> Response:
        return await _for_person(survey, request, lambda _: {})

    async def consent(request: Request) -> Response:
        await body_of(request)

        def agree(visit: Visit) -> dict[str, Any]:
            visit.agree()
            return {}

        return await _for_person(survey, request, agree)

    async def answer(request: Request) -> Response:
        given = _given(await body_of(request))
        now = time.time()

        def take(visit: Visit) -> dict[str, Any]:
            if visit.person.consented is None:
                raise NotYours("answers come after consent")
            if given and visit.phase == "closed":
                raise _Closed
            return {"saved": visit.take(given, now)}

        return await _for_person(survey, request, take)

    async def unseen(request: Request) -> Response:
        body = await body_of(request)
        fields: dict[str, Any] = body if isinstance(body, dict) else {}
        question, failed = fields.get("question"), fields.get("objects")
        if not isinstance(question, int) or not _whole(question) or not isinstance(failed, list):
            raise ValueError("say which question, and which of its objects")

        def take_back(visit: Visit) -> dict[str, Any]:
            labels = [survey.study.labels[number] for number in visit.take_back(question) if number in failed]
            _LOG.warning("a browser could not load %s; another question takes the place", ", ".join(labels) or "a file")
            return {}

        return await _for_person(survey, request, take_back)

    return [
        Route("/", page),
        Route("/look.css", look),
        Route("/stimuli/{number:int}", stimulus),
        Route("/api/state", state),
        Route("/api/consent", consent, methods=["POST"]),
        Route("/api/answers", answer, methods=["POST"]),
        Route("/api/unseen", unseen, methods=["POST"]),
        Route("/static/{name}", part),
    ]


def application(survey: Survey, further: list[Route] | None = None) -> Guarded:
    """Return the whole application."""
    handlers: Any = {
        Refused: lambda _, error: _error(error.status, str(error)),
        TooLarge: lambda *_: _error(413, "too large"),
        ClientDisconnect: lambda *_: Response(status_code=400),
        Busy: _busy,
        SQLAlchemyError: _busy,  # such as two servers that gave a person the same place at once
        NotYours: lambda _, error: _error(403, str(error)),
        _Closed: lambda *_: _error(409, "the study is closed"),
        ValueError: lambda _, error: _error(400, str(error)),
    }
    routes = [*participants_routes(survey), *(further or [])]
    return Guarded(Starlette(routes=routes, exception_handlers=handlers))


class Refused(Exception):
    """A request that is not carried out, with the status that says why."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class _Closed(Exception):
    pass


async def _for_person(survey: Survey, request: Request, work: Callable[[Visit], dict[str, Any]]) -> Response:
    """Do something for whoever asks, and return what that person sees then."""
    token = request.cookies.get(survey.cookie(SESSION), "")
    if not token:
        raise Refused(401, "there is no session; open the study's page")
    if request.method == "POST" and not survey.answering.allows(token):
        raise Refused(429, "too fast; wait a few seconds")

    def all_of_it(connection: Connection) -> dict[str, Any]:
        found = people.find(connection, token)
        if found is None:
            raise Refused(401, "there is no such session; open the study's page")
        visit = Visit(survey.desk, connection, *found)
        told = work(visit)
        return visit.state(time.time()) | told

    return JSONResponse(await survey.run(all_of_it), headers={"cache-control": "no-store"})


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


def _given(body: Any) -> list[Given]:
    """Return answers as the page sends them."""
    listed = body.get("answers") if isinstance(body, dict) else None
    if not isinstance(listed, list) or len(listed) > _MOST_AT_ONCE:
        raise ValueError(f"answers must be a list of at most {_MOST_AT_ONCE}")
    return [_one_given(each if isinstance(each, dict) else {}) for each in listed]


def _one_given(sent: dict[str, Any]) -> Given:
    question, chosen, sent_as, seconds = (sent.get(key) for key in ("question", "chosen", "id", "seconds"))
    if not _whole(question) or not isinstance(chosen, list) or not all(map(_whole, chosen)):
        raise ValueError("an answer names its question, and the places of what was chosen")
    if not isinstance(sent_as, str) or not 0 < len(sent_as) <= _LONGEST_ID:
        raise ValueError("an answer has an id of its own")
    usable = isinstance(seconds, int | float) and not isinstance(seconds, bool) and math.isfinite(seconds)
    took = float(seconds) if usable and seconds >= 0 else None  # type: ignore[arg-type, operator]
    return Given(int(question), tuple(chosen), took, sent_as)  # type: ignore[arg-type]


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31


def address_of(request: Request) -> str:
    """Return where a request comes from; for counting in memory, and nothing else."""
    return request.client.host if request.client else ""


def remember(
    response: Response, name: str, value: str, secure: bool, same_site: Literal["lax", "strict"] = "lax"
) -> None:
    """Let a browser keep a value that no script reads."""
    response.set_cookie(name, value, max_age=_KEPT, httponly=True, samesite=same_site, secure=secure, path="/")


def _error(status: int, why: str) -> JSONResponse:
    return JSONResponse({"error": why}, status_code=status, headers={"cache-control": "no-store"})


def _busy(_: Request, error: Exception) -> Response:
    if _TROUBLES.allows("all"):  # or a full disk would be filled with the news of it
        _LOG.error("%s", reason(error) if isinstance(error, SQLAlchemyError) else error)
    response = _error(503, "the server is busy; the answer is sent again by itself")
    response.headers["retry-after"] = "1"
    return response


def _sent(survey: Survey, request: Request, path: Path, media_type: str, headers: dict[str, str]) -> Response:
    try:
        return survey.files.send(path, media_type, request.headers, headers)
    except OSError as error:
        _LOG.error("%s cannot be read: %s", path.name, error.strerror)
        return _error(404, "this file cannot be read")


@cache
def _templates() -> jinja2.Environment:
    loader = jinja2.FileSystemLoader(_folder("templates"))
    return jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined)


def _folder(name: str) -> Path:
    return Path(str(resources.files("nearer.survey") / name))

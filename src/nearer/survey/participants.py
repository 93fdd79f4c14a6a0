"""The participants' side of the server: a page, stimuli, and the addresses that the page talks to.

Each request is one job of the writer, and is answered after its commit: who an answer is from, the answer, and the next
questions. The page may send an answer again as often as it likes. Opening a file takes longer than all the rest of a
response, so that small files stay in memory as long as they do not change.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from nearer.survey.session import (
    NotAssigned,
    ParticipantSession,
    SubmittedAnswer,
    add_participant,
    find_participant,
    hash_token,
)
from nearer.survey.settings import translations
from nearer.survey.stimuli import slug_of
from nearer.survey.web import (
    RequestError,
    Survey,
    client_network,
    error_response,
    is_plain,
    log_trouble,
    package_folder,
    read_json,
    set_cookie,
)

SESSION_COOKIE = "session"
_MAX_ANSWERS_PER_REQUEST, _MAX_ID_CHARACTERS, _MAX_ANSWER_SECONDS = 100, 40, 1e6
_MEDIA_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_PAGE_FILE_HEADERS = {"cache-control": "max-age=60"}
#: Pictures may hold scripts (SVG): on a page of their own these must not run either.
_STIMULUS_HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    "cache-control": "private, max-age=86400",
}


class ParticipantRoutes:
    """The addresses that participants use."""

    def __init__(self, survey: Survey) -> None:
        self.survey, self.study = survey, survey.study
        self.cookie = survey.cookie(SESSION_COOKIE)
        self.files = FileCache()
        self.page_files = {path.name: path for path in package_folder("static").iterdir()}
        settings = self.study.settings
        self.css = f":root {{ --accent: {settings.accent}; --background: {settings.background}; }}\n"
        self.html = survey.page(
            "participant.html", title=settings.title, language=settings.language,
            words=translations()[settings.language], study=survey.key,
        )  # fmt: skip

    def routes(self) -> list[Route]:
        """Return all routes."""
        return [
            Route("/", self.page),
            Route("/look.css", self.look),
            Route("/stimuli/{slug}", self.stimulus),
            Route("/api/state", self.state),
            Route("/api/consent", self.consent, methods=["POST"]),
            Route("/api/answers", self.answer, methods=["POST"]),
            Route("/api/unseen", self.unseen, methods=["POST"]),
            Route("/static/{name}", self.page_file),
        ]

    async def page(self, request: Request) -> Response:
        """Send the page; whoever comes for the first time becomes a participant."""
        survey, code = self.survey, self.study.settings.completion_code
        response = HTMLResponse(self.html)
        token, parameters = request.cookies.get(self.cookie, ""), request.query_params
        found = await survey.run(lambda connection: find_participant(connection, token)) if token else None
        if (found is None or found[0].is_another(parameters)) and request.method == "GET":
            if not survey.arrivals.allows(client_network(request)):
                raise RequestError(429, "too many have begun at once; try again in a minute")
            common_code = "" if code == "each" else code
            _, token = await survey.run(lambda connection: add_participant(connection, parameters, common_code))
            set_cookie(response, self.cookie, token, survey.secure)
        return response

    async def look(self, _: Request) -> Response:
        """Send the study's colors."""
        return Response(self.css, media_type="text/css", headers=_PAGE_FILE_HEADERS)

    async def stimulus(self, request: Request) -> Response:
        """Send the file of an object."""
        service, slug = self.survey.service, request.path_params["slug"]
        shown = service.by_slug.get(slug) or await run_in_threadpool(service.find_stimulus, slug)
        if shown is None or shown.file is None:
            return error_response(404, "there is no such object")
        return self._send(request, shown.file, shown.media_type, _STIMULUS_HEADERS)

    async def page_file(self, request: Request) -> Response:
        """Send a file of the page."""
        path = self.page_files.get(request.path_params["name"])
        if path is None:
            return error_response(404, "there is no such file")
        return self._send(request, path, _MEDIA_TYPES[path.suffix], _PAGE_FILE_HEADERS)

    async def state(self, request: Request) -> Response:
        """Send what a person sees now."""
        return await self._in_session(request, lambda _: {})

    async def consent(self, request: Request) -> Response:
        """Record that a person agrees to take part."""
        await read_json(request)

        def agree(session: ParticipantSession) -> dict[str, Any]:
            session.consent()
            return {}

        return await self._in_session(request, agree, places=self.survey.service.has_places)

    async def answer(self, request: Request) -> Response:
        """Keep answers."""
        submitted, now = _submitted_answers(await read_json(request)), time.time()

        def save(session: ParticipantSession) -> dict[str, Any]:
            if session.person.consented is None:
                raise NotAssigned("answers come after consent")
            if submitted and session.phase == "closed":
                raise RequestError(409, "the study is closed")
            return {"saved": session.save(submitted, now)}

        return await self._in_session(request, save)

    async def unseen(self, request: Request) -> Response:
        """Withdraw a question whose files a browser could not load."""
        body = await read_json(request)
        fields: dict[str, Any] = body if isinstance(body, dict) else {}
        question, failed = fields.get("question"), fields.get("objects")
        if not isinstance(question, int) or not _is_count(question) or not isinstance(failed, list):
            raise ValueError("name the question, and those of its objects that failed")

        def withdraw(session: ParticipantSession) -> dict[str, Any]:
            labels = [label for label in session.withdraw(question) if slug_of(label) in failed]
            what = ", ".join(labels) or "a file"
            log_trouble(f"a browser could not load {what}; another question takes the place")
            return {}

        return await self._in_session(request, withdraw)

    async def _in_session(
        self, request: Request, work: Callable[[ParticipantSession], dict[str, Any]], *, places: bool = False
    ) -> Response:
        """Do something for the participant who asks, and send what that person sees then."""
        survey, token = self.survey, request.cookies.get(self.cookie, "")
        if not token:
            raise RequestError(401, "there is no session; open the study's page")
        if request.method == "POST" and not survey.requests.allows(token):
            raise RequestError(429, "too fast; wait a few seconds")

        def transaction(connection: Connection) -> dict[str, Any]:
            found = find_participant(connection, token)
            if found is None:
                raise RequestError(401, "there is no such session; open the study's page")
            session = ParticipantSession(survey.service, connection, *found)
            result = work(session)
            return session.state(time.time()) | result

        return JSONResponse(await survey.run(transaction, hash_token(token), places=places))

    def _send(self, request: Request, path: Path, media_type: str, headers: dict[str, str]) -> Response:
        try:
            return self.files.send(path, media_type, request.headers, headers)
        except OSError as error:
            log_trouble(f"{path.name} cannot be read: {error.strerror}")
            return error_response(404, "this file cannot be read")


def _submitted_answers(body: Any) -> list[SubmittedAnswer]:
    """Return answers as the page sends them."""
    listed = body.get("answers") if isinstance(body, dict) else None
    if not isinstance(listed, list) or len(listed) > _MAX_ANSWERS_PER_REQUEST:
        raise ValueError(f"answers must be a list of at most {_MAX_ANSWERS_PER_REQUEST}")
    return [_submitted_answer(each if isinstance(each, dict) else {}) for each in listed]


def _submitted_answer(sent: dict[str, Any]) -> SubmittedAnswer:
    question, chosen, sent_as, seconds = (sent.get(key) for key in ("question", "chosen", "id", "seconds"))
    if not _is_count(question) or not isinstance(chosen, list) or not all(map(_is_count, chosen)):
        raise ValueError("an answer names its question, and the positions of the chosen options")
    if not isinstance(sent_as, str) or not 0 < len(sent_as) <= _MAX_ID_CHARACTERS or not is_plain(sent_as):
        raise ValueError("an answer has an id of its own, of letters, digits and signs")
    usable = isinstance(seconds, int | float) and not isinstance(seconds, bool) and 0 <= seconds < _MAX_ANSWER_SECONDS
    took = float(seconds) if usable else None  # type: ignore[arg-type]
    return SubmittedAnswer(int(question), tuple(chosen), took, sent_as)  # type: ignore[arg-type]


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31


class _CachedFile(NamedTuple):
    version: tuple[int, int, int]
    content: bytes
    tag: str


class FileCache:
    """Sends files: small ones from memory, others from the disk."""

    def __init__(self, max_file_bytes: int = 1_000_000, max_bytes: int = 64_000_000) -> None:
        self.max_file_bytes, self.max_bytes = max_file_bytes, max_bytes
        self._cached: dict[Path, _CachedFile] = {}
        self._n_bytes = 0

    def send(self, path: Path, media_type: str, asked: Headers, headers: Mapping[str, str]) -> Response:
        """Return a response with a file, or one that the browser has it already; OSError if it cannot be read."""
        found = path.stat()
        version = (found.st_mtime_ns, found.st_size, found.st_ino)
        cached = self._cached.get(path)
        if cached is not None and cached.version != version:
            self._n_bytes -= len(self._cached.pop(path).content)
            cached = None
        fits = found.st_size <= self.max_file_bytes and self._n_bytes + found.st_size <= self.max_bytes
        if "range" in asked or (cached is None and not fits):
            return FileResponse(path, media_type=media_type, headers=dict(headers), stat_result=found)
        cached = cached or self._add(path, version)
        tagged = {**headers, "etag": cached.tag}
        if asked.get("if-none-match") == cached.tag:
            return Response(status_code=304, headers=tagged)
        return Response(cached.content, media_type=media_type, headers=tagged)

    def _add(self, path: Path, version: tuple[int, int, int]) -> _CachedFile:
        content = path.read_bytes()
        self._cached[path] = _CachedFile(version, content, f'"{hashlib.sha256(content).hexdigest()[:20]}"')
        self._n_bytes += len(content)
        return self._cached[path]

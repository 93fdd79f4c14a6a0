"""The participants' side of the server: a page, stimuli, and the addresses that the page talks to.

Each request is one piece of work for the writer, which is told about after it is committed: who an answer is from, the
answer, and the next questions. The page may send an answer again as often as it likes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlalchemy import Connection
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from nearer.survey import people
from nearer.survey.app import Refused, Survey, address_of, body_of, error_of, folder_of, remember, trouble
from nearer.survey.files import Files
from nearer.survey.security import is_plain
from nearer.survey.stimuli import slug_of
from nearer.survey.visiting import Given, NotYours, Visit
from nearer.survey.words import words_of

SESSION = "session"
_MOST_AT_ONCE, _LONGEST_ID, _MOST_SECONDS = 100, 40, 1e6
_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_PART_HEADERS = {"cache-control": "max-age=60"}
#: Pictures may hold scripts (SVG): on a page of their own these must not run either.
_STIMULUS_HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    "cache-control": "private, max-age=86400",
}


class Participants:
    """The addresses that participants use.

    Parameters
    ----------
    survey : Survey
    """

    def __init__(self, survey: Survey) -> None:
        self.survey, self.study = survey, survey.study
        self.cookie = survey.cookie(SESSION)
        self.files = Files()
        self.parts = {path.name: path for path in folder_of("static").iterdir()}
        settings = self.study.settings
        self.look_of = f":root {{ --accent: {settings.accent}; --background: {settings.background}; }}\n"
        self.html = survey.page(
            "participant.html", title=settings.title, language=settings.language, words=words_of(settings.language),
            study=survey.key,
        )  # fmt: skip

    def routes(self) -> list[Route]:
        """Return all of them."""
        return [
            Route("/", self.page),
            Route("/look.css", self.look),
            Route("/stimuli/{slug}", self.stimulus),
            Route("/api/state", self.state),
            Route("/api/consent", self.consent, methods=["POST"]),
            Route("/api/answers", self.answer, methods=["POST"]),
            Route("/api/unseen", self.unseen, methods=["POST"]),
            Route("/static/{name}", self.part),
        ]

    async def page(self, request: Request) -> Response:
        """Send the page; whoever comes for the first time begins."""
        survey, code = self.survey, self.study.settings.completion_code
        response = HTMLResponse(self.html, headers={"cache-control": "no-store"})
        token, platform = request.cookies.get(self.cookie, ""), request.query_params
        found = await survey.run(lambda connection: people.find(connection, token)) if token else None
        if (found is None or found[0].is_another(platform)) and request.method == "GET":
            if not survey.arrivals.allows(address_of(request)):
                raise Refused(429, "too many have begun at once; try again in a minute")
            fixed = "" if code == "each" else code
            _, token = await survey.run(lambda connection: people.begin(connection, platform, fixed))
            remember(response, self.cookie, token, survey.secure)
        return response

    async def look(self, _: Request) -> Response:
        """Send the study's colours."""
        return Response(self.look_of, media_type="text/css", headers=_PART_HEADERS)

    async def stimulus(self, request: Request) -> Response:
        """Send the file of an object."""
        desk, slug = self.survey.desk, request.path_params["slug"]
        shown = desk.by_slug.get(slug) or await run_in_threadpool(desk.find, slug)
        if shown is None or shown.file is None:
            return error_of(404, "there is no such object")
        return self._sent(request, shown.file, shown.media_type, _STIMULUS_HEADERS)

    async def part(self, request: Request) -> Response:
        """Send a part of the page."""
        path = self.parts.get(request.path_params["name"])
        if path is None:
            return error_of(404, "there is no such file")
        return self._sent(request, path, _TYPES[path.suffix], _PART_HEADERS)

    async def state(self, request: Request) -> Response:
        """Say what a person sees now."""
        return await self._visited(request, lambda _: {})

    async def consent(self, request: Request) -> Response:
        """Note that a person agrees."""
        await body_of(request)

        def agree(visit: Visit) -> dict[str, Any]:
            visit.agree()
            return {}

        return await self._visited(request, agree, places=self.study.settings.most_people > 0)

    async def answer(self, request: Request) -> Response:
        """Keep answers."""
        given, now = _given(await body_of(request)), time.time()

        def take(visit: Visit) -> dict[str, Any]:
            if visit.person.consented is None:
                raise NotYours("answers come after consent")
            if given and visit.phase == "closed":
                raise Refused(409, "the study is closed")
            return {"saved": visit.take(given, now)}

        return await self._visited(request, take)

    async def unseen(self, request: Request) -> Response:
        """Take back a question whose files a browser could not load."""
        body = await body_of(request)
        fields: dict[str, Any] = body if isinstance(body, dict) else {}
        question, failed = fields.get("question"), fields.get("objects")
        if not isinstance(question, int) or not _whole(question) or not isinstance(failed, list):
            raise ValueError("say which question, and which of its objects")

        def take_back(visit: Visit) -> dict[str, Any]:
            labels = [label for label in visit.take_back(question) if slug_of(label) in failed]
            what = ", ".join(labels) or "a file"
            trouble(f"a browser could not load {what}; another question takes the place")
            return {}

        return await self._visited(request, take_back)

    async def _visited(
        self, request: Request, work: Callable[[Visit], dict[str, Any]], *, places: bool = False
    ) -> Response:
        """Do something for whoever asks, and return what that person sees then."""
        survey, token = self.survey, request.cookies.get(self.cookie, "")
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

        told = await survey.run(all_of_it, people.hashed(token), places=places)
        return JSONResponse(told, headers={"cache-control": "no-store"})

    def _sent(self, request: Request, path: Path, media_type: str, headers: dict[str, str]) -> Response:
        try:
            return self.files.send(path, media_type, request.headers, headers)
        except OSError as error:
            trouble(f"{path.name} cannot be read: {error.strerror}")
            return error_of(404, "this file cannot be read")


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
    if not isinstance(sent_as, str) or not 0 < len(sent_as) <= _LONGEST_ID or not is_plain(sent_as):
        raise ValueError("an answer has an id of its own, of letters, digits and signs")
    usable = isinstance(seconds, int | float) and not isinstance(seconds, bool) and 0 <= seconds < _MOST_SECONDS
    took = float(seconds) if usable else None  # type: ignore[arg-type]
    return Given(int(question), tuple(chosen), took, sent_as)  # type: ignore[arg-type]


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31

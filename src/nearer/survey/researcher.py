"""The researcher's side: a live page, what to do about it, and the answers to download; all behind the secret."""

from __future__ import annotations

import io
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from nearer.survey import people as persons
from nearer.survey.app import Refused, Survey, address_of, body_of, remember
from nearer.survey.codes import look_up
from nearer.survey.exporting import Columns, columns_of, csv_of
from nearer.survey.live import DOWNLOAD_SECONDS, Live, read
from nearer.survey.people import STATUS
from nearer.survey.security import is_plain, is_secret
from nearer.survey.store.database import write_fact

RESEARCHER = "researcher"
_MOST_CODES = 200

Handler = Callable[[Request], Awaitable[Response]]


class Researchers:
    """The addresses that need the secret.

    Parameters
    ----------
    survey : Survey
    link : str
        For participants.
    """

    def __init__(self, survey: Survey, link: str) -> None:
        self.survey, self.database = survey, survey.writer.database
        self.cookie = survey.cookie(RESEARCHER)
        self.live = Live(self.database, survey.study, link)

    def routes(self) -> list[Route]:
        """Return all of them."""
        return [
            Route("/researcher", self.enter),
            Route("/researcher/api/state", self._guarded(self.state)),
            Route("/researcher/api/status", self._guarded(self.status), methods=["POST"]),
            Route("/researcher/api/people", self._guarded(self.person), methods=["POST"]),
            Route("/researcher/api/codes", self._guarded(self.codes), methods=["POST"]),
            Route("/researcher/answers.csv", self._guarded(self.as_csv)),
            Route("/researcher/answers.parquet", self._guarded(self.as_parquet)),
        ]

    async def enter(self, request: Request) -> Response:
        """Let in whoever has the secret, which then leaves the address for a cookie."""
        said = request.query_params.get("key")
        if said is None:
            return await self._guarded(self.page)(request)
        await self._check(request, said)
        response = RedirectResponse("/researcher", status_code=303, headers={"cache-control": "no-store"})
        remember(response, self.cookie, said, self.survey.secure)
        return response

    async def page(self, _: Request) -> Response:
        """Send the live page."""
        html = self.survey.page("researcher.html", title=self.survey.study.settings.title)
        return HTMLResponse(html, headers={"cache-control": "no-store"})

    async def state(self, _: Request) -> Response:
        """Say what the live page shows."""
        return _written(await self.live.state())

    async def status(self, request: Request) -> Response:
        """Open, pause or close the study."""
        wanted = (await _fields(request)).get("status")
        if wanted not in ("open", "paused", "closed"):
            raise ValueError("status must be open, paused or closed")
        await self.survey.run(lambda connection: write_fact(connection, STATUS, str(wanted)))
        return _written(await self.live.state(anew=True))

    async def person(self, request: Request) -> Response:
        """Leave a person out, or take them back."""
        fields = await _fields(request)
        name, left_out = fields.get("id"), fields.get("left_out")
        if not isinstance(name, str) or not is_plain(name) or not isinstance(left_out, bool):
            raise ValueError("say who, and whether left out")
        await self.survey.run(lambda connection: persons.leave_out(connection, name, left_out), name)
        return _written(await self.live.state(anew=True))

    async def codes(self, request: Request) -> Response:
        """Look up completion codes."""
        said = (await _fields(request)).get("codes")
        if not isinstance(said, list) or len(said) > _MOST_CODES or not all(isinstance(each, str) for each in said):
            raise ValueError(f"codes must be a list of at most {_MOST_CODES}")
        settings = self.survey.study.settings
        found = await read(self.database, lambda connection: look_up(connection, settings, said))
        return JSONResponse({"codes": [each._asdict() for each in found]}, headers={"cache-control": "no-store"})

    async def as_csv(self, _: Request) -> Response:
        """Send all answers as CSV."""
        text = await read(
            self.database, lambda connection: csv_of(columns_of(connection, self.survey.study)), DOWNLOAD_SECONDS
        )
        return _download(text.encode(), "text/csv; charset=utf-8", "answers.csv")

    async def as_parquet(self, _: Request) -> Response:
        """Send all answers as Parquet."""
        content = await read(
            self.database, lambda connection: _parquet(columns_of(connection, self.survey.study)), DOWNLOAD_SECONDS
        )
        return _download(content, "application/vnd.apache.parquet", "answers.parquet")

    def _guarded(self, handler: Handler) -> Handler:
        async def with_secret(request: Request) -> Response:
            await self._check(request, request.cookies.get(self.cookie, ""))
            return await handler(request)

        return with_secret

    async def _check(self, request: Request, said: str) -> None:
        """Refuse whoever does not know the secret, and say so when somebody guesses."""
        right = bool(said) and await read(self.database, lambda connection: is_secret(connection, said))
        if right:
            return
        if said and not self.survey.guesses.allows(address_of(request)):
            raise Refused(429, "too many guesses; wait a minute")
        raise Refused(403, "this page needs the secret link that `nearer survey run` printed")


async def _fields(request: Request) -> dict[str, Any]:
    body = await body_of(request)
    if not isinstance(body, dict):
        raise ValueError("an object of JSON is needed")
    return body


def _written(content: bytes) -> Response:
    return Response(content, media_type="application/json", headers={"cache-control": "no-store"})


def _download(content: bytes, media_type: str, name: str) -> Response:
    headers = {"content-disposition": f'attachment; filename="{name}"', "cache-control": "no-store"}
    return Response(content, media_type=media_type, headers=headers)


def _parquet(columns: Columns) -> bytes:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ModuleNotFoundError:
        raise Refused(501, "Parquet needs pyarrow: pip install pyarrow; download CSV") from None
    target = io.BytesIO()
    parquet.write_table(pa.table(columns), target)
    return target.getvalue()

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
from nearer.survey.exporting import csv_of, rows_of
from nearer.survey.live import Live, read
from nearer.survey.people import STATUS
from nearer.survey.security import is_secret
from nearer.survey.store.database import write_fact

RESEARCHER = "researcher"
_MOST_CODES = 200

Handler = Callable[[Request], Awaitable[Response]]


def researchers_routes(survey: Survey, link: str) -> list[Route]:
    """Return the addresses that need the secret."""
    database = survey.writer.database
    live = Live(database, survey.study, link)

    def guarded(handler: Handler) -> Handler:
        async def with_secret(request: Request) -> Response:
            said = request.cookies.get(survey.cookie(RESEARCHER), "")
            await _checked(survey, request, said)
            return await handler(request)

        return with_secret

    async def enter(request: Request) -> Response:
        said = request.query_params.get("key")
        if said is None:
            return await guarded(page)(request)
        await _checked(survey, request, said)
        response = RedirectResponse("/researcher", status_code=303, headers={"cache-control": "no-store"})
        remember(response, survey.cookie(RESEARCHER), said, survey.secure, same_site="strict")
        return response

    async def page(_: Request) -> Response:
        html = survey.page("researcher.html", title=survey.study.settings.title)
        return HTMLResponse(html, headers={"cache-control": "no-store"})

    async def state(_: Request) -> Response:
        return _written(await live.state())

    async def status(request: Request) -> Response:
        wanted = (await _fields(request)).get("status")
        if wanted not in ("open", "paused", "closed"):
            raise ValueError("status must be open, paused or closed")
        await survey.run(lambda connection: write_fact(connection, STATUS, str(wanted)))
        return _written(await live.state(anew=True))

    async def person(request: Request) -> Response:
        fields = await _fields(request)
        name, left_out = fields.get("id"), fields.get("left_out")
        if not isinstance(name, str) or not isinstance(left_out, bool):
            raise ValueError("say who, and whether left out")
        await survey.run(lambda connection: persons.leave_out(connection, name, left_out))
        return _written(await live.state(anew=True))

    async def codes(request: Request) -> Response:
        said = (await _fields(request)).get("codes")
        if not isinstance(said, list) or len(said) > _MOST_CODES or not all(isinstance(each, str) for each in said):
            raise ValueError(f"codes must be a list of at most {_MOST_CODES}")
        found = await read(database, lambda connection: look_up(connection, survey.study.settings, said))
        return JSONResponse({"codes": [each._asdict() for each in found]}, headers={"cache-control": "no-store"})

    async def as_csv(_: Request) -> Response:
        text = await read(database, lambda connection: csv_of(rows_of(connection, survey.study)))
        return _download(text.encode(), "text/csv; charset=utf-8", "answers.csv")

    async def as_parquet(_: Request) -> Response:
        content = await read(database, lambda connection: _parquet(rows_of(connection, survey.study)))
        return _download(content, "application/vnd.apache.parquet", "answers.parquet")

    return [
        Route("/researcher", enter),
        Route("/researcher/api/state", guarded(state)),
        Route("/researcher/api/status", guarded(status), methods=["POST"]),
        Route("/researcher/api/people", guarded(person), methods=["POST"]),
        Route("/researcher/api/codes", guarded(codes), methods=["POST"]),
        Route("/researcher/answers.csv", guarded(as_csv)),
        Route("/researcher/answers.parquet", guarded(as_parquet)),
    ]


async def _checked(survey: Survey, request: Request, said: str) -> None:
    """Refuse whoever does not know the secret; who guesses must wait longer and longer."""
    right = bool(said) and await read(survey.writer.database, lambda connection: is_secret(connection, said))
    if right:
        return
    if said and not survey.guesses.allows(address_of(request)):
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


def _parquet(rows: list[dict[str, Any]]) -> bytes:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ModuleNotFoundError:
        raise Refused(501, "Parquet needs pyarrow: pip install 'nearer[parquet]'; download CSV") from None
    target = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(rows), target)
    return target.getvalue()

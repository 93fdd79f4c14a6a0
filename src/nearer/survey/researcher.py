"""The researcher's side: a live page, what to do about it, and the answers to download; all behind the secret."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import numpy as np
from sqlalchemy import Connection, select
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from nearer.survey import people as persons
from nearer.survey.app import Refused, Survey, address_of, body_of, remember
from nearer.survey.asking import CATCH, PRACTICE, numbers_in, right_places
from nearer.survey.engine import ENGINE
from nearer.survey.exporting import csv_of, rows_of
from nearer.survey.people import STATUS, status_of
from nearer.survey.security import is_secret
from nearer.survey.store.database import read_fact, write_fact
from nearer.survey.store.tables import answers, people, questions

RESEARCHER = "nearer_researcher"
_POINTS = 120  # of the curve over time
_TOO_FAST, _ONE_SIDE, _FEWEST = 0.4, 0.9, 10  # seconds; share of answers at one place; answers before anything is said
_OFF = {"state": "off", "message": "", "n_known": 0}

Handler = Callable[[Request], Awaitable[Response]]


def researchers_routes(survey: Survey, link: str) -> list[Route]:
    """Return the addresses that need the secret."""

    def guarded(handler: Handler) -> Handler:
        async def with_secret(request: Request) -> Response:
            said = request.cookies.get(RESEARCHER, "")
            await _checked(survey, request, said)
            return await handler(request)

        return with_secret

    async def enter(request: Request) -> Response:
        said = request.query_params.get("key")
        if said is None:
            return await guarded(page)(request)
        await _checked(survey, request, said)
        response = RedirectResponse("/researcher", status_code=303, headers={"cache-control": "no-store"})
        remember(response, RESEARCHER, said, survey.secure, same_site="strict")
        return response

    async def page(_: Request) -> Response:
        html = survey.page("researcher.html", title=survey.study.settings.title)
        return HTMLResponse(html, headers={"cache-control": "no-store"})

    async def state(_: Request) -> Response:
        return _json(await survey.run(lambda connection: live_state(connection, survey, link)))

    async def status(request: Request) -> Response:
        wanted = (await _fields(request)).get("status")
        if wanted not in ("open", "paused", "closed"):
            raise ValueError("status must be open, paused or closed")
        await survey.run(lambda connection: write_fact(connection, STATUS, str(wanted)))
        return await state(request)

    async def person(request: Request) -> Response:
        fields = await _fields(request)
        name, left_out = fields.get("id"), fields.get("left_out")
        if not isinstance(name, str) or not isinstance(left_out, bool):
            raise ValueError("say who, and whether left out")
        await survey.run(lambda connection: persons.leave_out(connection, name, left_out))
        return await state(request)

    async def as_csv(_: Request) -> Response:
        rows = await survey.run(lambda connection: rows_of(connection, survey.study))
        return _download(csv_of(rows).encode(), "text/csv; charset=utf-8", "answers.csv")

    async def as_parquet(_: Request) -> Response:
        rows = await survey.run(lambda connection: rows_of(connection, survey.study))
        return _download(_parquet(rows), "application/vnd.apache.parquet", "answers.parquet")

    return [
        Route("/researcher", enter),
        Route("/researcher/api/state", guarded(state)),
        Route("/researcher/api/status", guarded(status), methods=["POST"]),
        Route("/researcher/api/people", guarded(person), methods=["POST"]),
        Route("/researcher/answers.csv", guarded(as_csv)),
        Route("/researcher/answers.parquet", guarded(as_parquet)),
    ]


def live_state(connection: Connection, survey: Survey, link: str) -> dict[str, Any]:
    """Return what the live page shows."""
    rows = connection.execute(
        select(people.c.name, people.c.left_out, people.c.completed, questions.c.shown, questions.c.purpose,
               answers.c.chosen, answers.c.seconds, answers.c.received)
        .join_from(answers, questions, answers.c.question == questions.c.id)
        .join(people, people.c.id == questions.c.person)
        .where(questions.c.purpose != PRACTICE)
        .order_by(answers.c.received)
    ).all()  # fmt: skip
    known = _OFF | json.loads(read_fact(connection, ENGINE) or "{}")
    seconds = [row.seconds for row in rows if row.seconds is not None]
    by_name: dict[str, list[Any]] = {}
    for row in rows:
        by_name.setdefault(row.name, []).append(row)
    return {
        "title": survey.study.settings.title,
        "status": status_of(connection),
        "link": link,
        "n_answers": len(rows),
        "n_people": len(by_name),
        "n_objects": len(survey.study.labels),
        "over_time": _over_time(rows),
        "median_seconds": float(np.median(seconds)) if seconds else None,
        "error": known.get("error"),
        "ceiling": None,
        "outlook": known.get("outlook"),
        "engine": {key: known[key] for key in ("state", "message", "n_known")},
        "map": known.get("map"),
        "people": [_person(name, given, survey.study.is_headed) for name, given in by_name.items()],
    }


def _over_time(rows: Sequence[Any]) -> list[list[float]]:
    """Return how many answers and people there were at some times, the last of them now."""
    if not rows:
        return []
    some = np.unique(np.linspace(0, len(rows) - 1, _POINTS).round().astype(int)).tolist()
    seen: set[str] = set()
    counts = []
    for row in rows:
        seen.add(row.name)
        counts.append(len(seen))
    found = [[round(rows[at].received, 1), at + 1, counts[at]] for at in some]
    return [*found, [round(time.time(), 1), len(rows), counts[-1]]]


def _person(name: str, given: list[Any], headed: bool) -> dict[str, Any]:
    """Return what is known of somebody, and what looks careless."""
    seconds = [row.seconds for row in given if row.seconds is not None]
    median = float(np.median(seconds)) if seconds else None
    flags = []
    if len(given) >= _FEWEST:
        if median is not None and median < _TOO_FAST:
            flags.append("too fast")
        places = [row.chosen for row in given]
        if max(places.count(each) for each in set(places)) > _ONE_SIDE * len(places):
            flags.append("always the same side")
    catches = [row for row in given if row.purpose == CATCH]
    wrong = sum(not set(right_places(numbers_in(row.shown), headed)) <= set(numbers_in(row.chosen)) for row in catches)
    if wrong:
        flags.append(f"fails catch questions ({wrong} of {len(catches)})")
    return {
        "id": name, "n_answers": len(given), "median_seconds": median, "flags": flags,
        "left_out": bool(given[0].left_out), "done": given[0].completed is not None,
    }  # fmt: skip


async def _checked(survey: Survey, request: Request, said: str) -> None:
    """Refuse whoever does not know the secret; who guesses must wait longer and longer."""
    right = bool(said) and await survey.run(lambda connection: is_secret(connection, said))
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


def _json(value: Any) -> Response:
    return JSONResponse(value, headers={"cache-control": "no-store"})


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

"""The researcher's side: a live page, actions, and the answers to download; all behind the secret.

People answer while somebody looks at the page, so that looking must cost them nothing: the database counts, in a
thread apart from the one that writes, and results are kept for a moment. Whatever takes longer is up to the engine.
"""

from __future__ import annotations

import asyncio
import datetime
import hmac
import io
import json
import secrets
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

import numpy as np
from anyio import to_thread
from sqlalchemy import Connection, Integer, Row, and_, case, cast, func, or_, select
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from nearer._common.formatting import format_money, pluralize
from nearer.survey.exporting import Columns, answer_columns, columns_as_csv
from nearer.survey.session import hash_token, set_left_out, study_status
from nearer.survey.settings import Settings
from nearer.survey.store import (
    ANALYSIS,
    ENGINE_STATE,
    SECRET,
    STATUS,
    Database,
    answers,
    claim_fact,
    people,
    questions,
    read_fact,
    with_timeout,
    write_fact,
)
from nearer.survey.study import UNCOUNTED_PURPOSES, Study
from nearer.survey.web import RequestError, Survey, client_network, is_plain, read_json, set_cookie

Handler = Callable[[Request], Awaitable[Response]]
Result = TypeVar("Result")

RESEARCHER_COOKIE = "researcher"
READ_SECONDS, DOWNLOAD_SECONDS = 10.0, 60.0  # that a database is waited for
_MAX_CODES = 200
_REFRESH_SECONDS = 1.5
_MAX_LOAD = 0.1  # share of a thread's time that is spent on states
_CURVE_POINTS = 120
_PRESENT_SECONDS, _SPEED_SECONDS = 120.0, 600.0  # since when who answered is present; of the answers per minute
_MAX_PICTURE_BYTES = 5_000_000  # of all pictures on the map
_ENGINE_OFF = {"state": "off", "message": "", "n_learned": 0}
#: Answers that count, and times that somebody could not tell: the table of answers joined with its questions.
_IS_GIVEN = questions.c.purpose.not_in(UNCOUNTED_PURPOSES)
_IS_COUNTED = and_(_IS_GIVEN, answers.c.chosen != "")
_N_ANSWERS = func.count(case((answers.c.chosen != "", 1)))
_N_UNDECIDED = func.count(case((answers.c.chosen == "", 1)))


def new_secret(connection: Connection) -> str:
    """Make a secret for the researcher, in place of any before, and return it: it is stored nowhere."""
    secret = secrets.token_urlsafe(24)
    write_fact(connection, SECRET, hash_token(secret))
    return secret


def first_secret(connection: Connection) -> str | None:
    """Make a secret for the researcher and return it; None if there is one, such as of a server that began just now."""
    secret = secrets.token_urlsafe(24)
    return secret if claim_fact(connection, SECRET, hash_token(secret)) == hash_token(secret) else None


def is_secret(connection: Connection, candidate: str) -> bool:
    """Return whether this is the researcher's secret, in a time that does not depend on how much of it is right."""
    stored = read_fact(connection, SECRET)
    return stored is not None and hmac.compare_digest(stored, hash_token(candidate))


async def read(database: Database, work: Callable[[Connection], Result], seconds: float = READ_SECONDS) -> Result:
    """Let a thread read, which waits for nobody who writes and keeps nobody waiting."""

    def reading() -> Result:
        with database.reading() as connection:
            return work(connection)

    return await with_timeout(to_thread.run_sync(reading, abandon_on_cancel=True), seconds)


class ResearcherRoutes:
    """The addresses that need the secret; ``link`` is that for participants."""

    def __init__(self, survey: Survey, link: str) -> None:
        self.survey, self.database = survey, survey.writer.database
        self.cookie = survey.cookie(RESEARCHER_COOKIE)
        self.live = LivePage(self.database, survey.study, link)

    def routes(self) -> list[Route]:
        """Return all routes."""
        return [
            Route("/researcher", self.enter),
            Route("/researcher/api/state", self._guarded(self.state)),
            Route("/researcher/api/status", self._guarded(self.status), methods=["POST"]),
            Route("/researcher/api/people", self._guarded(self.person), methods=["POST"]),
            Route("/researcher/api/codes", self._guarded(self.codes), methods=["POST"]),
            *(Route(f"/researcher/{name}", self._guarded(self.download)) for name in _DOWNLOADS),
        ]

    async def enter(self, request: Request) -> Response:
        """Let in whoever has the secret, which then leaves the address for a cookie."""
        key = request.query_params.get("key")
        if key is None:
            return await self._guarded(self.page)(request)
        await self._check_secret(request, key)
        response = RedirectResponse("/researcher", status_code=303)
        set_cookie(response, self.cookie, key, self.survey.secure)
        return response

    async def page(self, _: Request) -> Response:
        """Send the live page."""
        return HTMLResponse(self.survey.page("researcher.html", title=self.survey.study.settings.title))

    async def state(self, _: Request) -> Response:
        """Send the state of the live page."""
        return _json_response(await self.live.state())

    async def status(self, request: Request) -> Response:
        """Open, pause or close the study."""
        wanted = (await _read_fields(request)).get("status")
        if wanted not in ("open", "paused", "closed"):
            raise ValueError("status must be open, paused or closed")
        await self.survey.run(lambda connection: write_fact(connection, STATUS, str(wanted)))
        return _json_response(await self.live.state(refresh=True))

    async def person(self, request: Request) -> Response:
        """Exclude a participant from the map, or include them again."""
        fields = await _read_fields(request)
        name, left_out = fields.get("id"), fields.get("left_out")
        if not isinstance(name, str) or not is_plain(name) or not isinstance(left_out, bool):
            raise ValueError("id must name a participant, and left_out be true or false")
        await self.survey.run(lambda connection: set_left_out(connection, name, left_out), name)
        return _json_response(await self.live.state(refresh=True))

    async def codes(self, request: Request) -> Response:
        """Look up completion codes."""
        codes = (await _read_fields(request)).get("codes")
        if not isinstance(codes, list) or len(codes) > _MAX_CODES or not all(isinstance(each, str) for each in codes):
            raise ValueError(f"codes must be a list of at most {_MAX_CODES}")
        settings = self.survey.study.settings
        found = await read(self.database, lambda connection: look_up_codes(connection, settings, codes))
        return JSONResponse({"codes": [each.to_dict() for each in found]})

    async def download(self, request: Request) -> Response:
        """Send all answers as CSV or Parquet."""
        name = request.scope["path"].rpartition("/")[2]
        encode, media_type = _DOWNLOADS[name]

        def encoded(connection: Connection) -> bytes:
            return encode(answer_columns(connection, self.survey.study))

        content = await read(self.database, encoded, DOWNLOAD_SECONDS)
        headers = {"content-disposition": f'attachment; filename="{name}"'}
        return Response(content, media_type=media_type, headers=headers)

    def _guarded(self, handler: Handler) -> Handler:
        async def with_secret(request: Request) -> Response:
            await self._check_secret(request, request.cookies.get(self.cookie, ""))
            return await handler(request)

        return with_secret

    async def _check_secret(self, request: Request, candidate: str) -> None:
        """Refuse whoever does not know the secret, and limit guessing."""
        is_right = bool(candidate) and await read(self.database, lambda connection: is_secret(connection, candidate))
        if is_right:
            return
        if candidate and not self.survey.guesses.allows(client_network(request)):
            raise RequestError(429, "too many guesses; wait a minute")
        raise RequestError(403, "this page needs the secret link that `nearer survey run` printed")


async def _read_fields(request: Request) -> dict[str, Any]:
    body = await read_json(request)
    if not isinstance(body, dict):
        raise ValueError("the body must be a JSON object")
    return body


def _json_response(content: bytes) -> Response:
    return Response(content, media_type="application/json")


def _parquet(columns: Columns) -> bytes:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ModuleNotFoundError:
        raise RequestError(501, "Parquet needs pyarrow: pip install pyarrow; or download CSV") from None
    target = io.BytesIO()
    parquet.write_table(pa.table(columns), target)
    return target.getvalue()


_DOWNLOADS: dict[str, tuple[Callable[[Columns], bytes], str]] = {
    "answers.csv": (lambda columns: columns_as_csv(columns).encode(), "text/csv; charset=utf-8"),
    "answers.parquet": (_parquet, "application/vnd.apache.parquet"),
}


@dataclass(frozen=True)
class CodeStatus:
    """What is known about a completion code that somebody handed in.

    Attributes
    ----------
    code : str
        As it was handed in.
    valid : bool
        Whether it belongs to somebody who has answered everything.
    person : str or None
        Whose it is; None if it is nobody's, or everybody's.
    completed : float or None
        When, in seconds since 1970.
    n_answers : int
    n_undecided : int
        How often the person could not tell; these are not among the answers.
    left_out : bool
        Whether the person is excluded from the map.
    n_holders : int or None
        Number of people who have the code, if all get the same.
    """

    code: str
    valid: bool = False
    person: str | None = None
    completed: float | None = None
    n_answers: int = 0
    n_undecided: int = 0
    left_out: bool = False
    n_holders: int | None = None

    @property
    def text(self) -> str:
        """All of it in words."""
        if self.n_holders is not None:
            return (
                "the code that everybody gets, which does not show who hands it in; "
                f'{pluralize(self.n_holders, "person has", "people have")} it so far. With completion_code = "each" '
                "everybody gets a different one"
            )
        if self.person is None:
            return "there is no such code"
        n_answers = pluralize(self.n_answers, "answer")
        if self.n_undecided:
            n_answers += f' and {self.n_undecided} "can\'t tell"'
        if self.completed is None:
            return f"of {self.person}, who is not done yet: {n_answers}"
        when = datetime.datetime.fromtimestamp(self.completed, datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
        return f"of {self.person}, done on {when}: {n_answers}{', excluded from the map' if self.left_out else ''}"

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain values, ready for JSON."""
        return asdict(self) | {"text": self.text}


def look_up_codes(connection: Connection, settings: Settings, codes: Sequence[str]) -> list[CodeStatus]:
    """Return what is known about completion codes, ignoring case and spaces."""
    return [_look_up_code(connection, settings, code) for code in codes]


def _look_up_code(connection: Connection, settings: Settings, code: str) -> CodeStatus:
    wanted = "".join(code.split()).upper()
    if wanted == settings.completion_code.upper() and settings.completion_code != "each":
        n_done = _count_completed(connection)
        return CodeStatus(code, valid=n_done > 0, n_holders=n_done)
    row = connection.execute(select(people).where(func.upper(people.c.code) == wanted)).first()
    if row is None or not wanted:
        return CodeStatus(code)
    counts = select(_N_ANSWERS, _N_UNDECIDED).join_from(answers, questions).where(answers.c.person == row.id, _IS_GIVEN)
    found = connection.execute(counts).one()
    return CodeStatus(code, row.completed is not None, row.name, row.completed, *found, row.left_out)


def _count_completed(connection: Connection) -> int:
    return connection.execute(select(func.count()).where(people.c.completed.is_not(None))).scalar_one()


class LivePage:
    """The state of the live page, which is worked out at most every second or two; ``link`` is for participants."""

    def __init__(self, database: Database, study: Study, link: str) -> None:
        self.database, self.study, self.link = database, study, link
        self._cached, self._until = b"", 0.0
        self._lock = asyncio.Lock()

    async def state(self, *, refresh: bool = False) -> bytes:
        """Return the state as JSON; ``refresh``: something was changed, and must show."""
        async with self._lock:
            began = time.monotonic()
            if refresh or began >= self._until:
                self._cached = await read(self.database, self._as_json)
                took = time.monotonic() - began
                self._until = began + took + max(_REFRESH_SECONDS, took * (1 / _MAX_LOAD - 1))
            return self._cached

    def _as_json(self, connection: Connection) -> bytes:
        return json.dumps(live_state(connection, self.study, self.link)).encode()


def live_state(connection: Connection, study: Study, link: str) -> dict[str, Any]:
    """Return what the live page shows."""
    settings = study.settings
    analysis = json.loads(read_fact(connection, ANALYSIS) or "{}")
    engine = _ENGINE_OFF | json.loads(read_fact(connection, ENGINE_STATE) or "{}")
    now = time.time()
    rows = _answering_people(connection)
    n_done = _count_completed(connection)
    medians = [row.median for row in rows if row.median is not None]
    n_answers, n_left_out = sum(row.n_answers for row in rows), sum(row.n_answers for row in rows if row.left_out)
    n_analyzed = analysis.get("n_answers", 0)
    n_since = max(n_answers - n_left_out - n_analyzed, 0)
    if engine["state"] == "ready" and n_since:
        engine["state"] = "behind"
    located = analysis.get("map")
    return {
        "title": settings.title,
        "status": study_status(connection),
        "link": link,
        "one_code": settings.completion_code != "each",
        "n_answers": n_answers,
        "n_left_out": n_left_out,
        "n_undecided": sum(row.n_undecided for row in rows),
        "n_people": len(rows),
        "n_done": n_done,
        "conditions": _condition_counts(connection),
        "n_now": sum(_is_present(row, now) for row in rows),
        "n_objects": len(study.labels),
        "per_minute": _answers_per_minute(connection, now),
        "median_seconds": float(np.median(medians)) if medians else None,
        "over_time": _growth_curve(connection, rows, now),
        "engine": {**engine, "n_analyzed": n_analyzed, "n_since": n_since, "proposes": settings.method == "active"},
        "cost": _cost(study, n_done, analysis.get("outlook")),
        "map": located and located | {"pictures": pictures_of(study, located["objects"])},
        **{name: analysis.get(name) for name in ("error", "ceiling", "outlook")},
        "findings": analysis.get("findings", []),
        "people": _people_rows(rows, analysis.get("people", {}), now),
    }


def pictures_of(study: Study, labels: Sequence[str]) -> list[str] | None:
    """Return the address of each object's picture; None if not all have one, or they are too large to load at once."""
    stimuli = [each for label in labels if (each := study.stimuli.get(label))]
    files = [each.file for each in stimuli if each.kind == "image" and each.file is not None]
    if len(files) < len(labels) or sum(file.stat().st_size for file in files if file.is_file()) > _MAX_PICTURE_BYTES:
        return None
    return [f"/stimuli/{each.slug}" for each in stimuli]


def _answering_people(connection: Connection) -> list[Row[Any]]:
    """Return everybody who has answered, in the order of arrival: how often, when first and last, and how fast.

    People who could not tell are counted, too; how long that took them is not.
    """
    seconds = case((answers.c.chosen != "", answers.c.seconds))
    ranked = (
        select(
            answers.c.person,
            answers.c.chosen,
            answers.c.received,
            seconds.label("seconds"),
            func.row_number().over(partition_by=answers.c.person, order_by=(seconds.is_(None), seconds)).label("rank"),
            func.count(seconds).over(partition_by=answers.c.person).label("timed"),
        )
        .join_from(answers, questions)
        .where(_IS_GIVEN)
        .subquery()
    )
    rank, timed = ranked.c.rank, ranked.c.timed
    in_the_middle = or_(rank == (timed + 1) // 2, rank == (timed + 2) // 2)
    each = (
        select(
            ranked.c.person,
            func.count(case((ranked.c.chosen != "", 1))).label("n_answers"),
            func.count(case((ranked.c.chosen == "", 1))).label("n_undecided"),
            func.min(ranked.c.received).label("first"),
            func.max(ranked.c.received).label("last"),
            func.avg(case((in_the_middle, ranked.c.seconds))).label("median"),
        )
        .group_by(ranked.c.person)
        .subquery()
    )
    found = select(people.c.name, people.c.condition, people.c.left_out, people.c.completed, each).join_from(
        people, each, people.c.id == each.c.person
    )
    return list(connection.execute(found.order_by(people.c.id)))


def _condition_counts(connection: Connection) -> list[dict[str, Any]]:
    """Return how many people of each condition have agreed to take part, and how many of them are done."""
    found = connection.execute(
        select(people.c.condition, func.count(), func.count(people.c.completed))
        .where(people.c.consented.is_not(None), people.c.condition != "")
        .group_by(people.c.condition)
        .order_by(people.c.condition)
    )
    return [{"name": name, "n_agreed": n_agreed, "n_done": n_done} for name, n_agreed, n_done in found]


def _growth_curve(connection: Connection, rows: list[Row[Any]], now: float) -> list[list[float]]:
    """Return the numbers of answers and people at some times, the last of them now.

    Whatever clocks did, time goes forward here, and so do the counts.
    """
    if not rows:
        return []
    first, last = min(row.first for row in rows), max(row.last for row in rows)
    width = max((last - first) / _CURVE_POINTS, 1e-3)
    part = cast((answers.c.received - first) / width, Integer)
    counts_by_part = connection.execute(
        select(func.max(answers.c.received), func.count())
        .join_from(answers, questions)
        .where(_IS_COUNTED)
        .group_by(part)
    )
    counts = sorted((time, count) for time, count in counts_by_part)
    begun = np.sort([row.first for row in rows])
    total, curve = 0, []
    for moment, count in counts:
        total += count
        curve.append([round(moment, 1), total, int(np.searchsorted(begun, moment, side="right"))])
    return [*curve, [round(max(now, last), 1), total, len(rows)]]


def _answers_per_minute(connection: Connection, now: float) -> float:
    """Return the recent number of answers per minute."""
    recent = answers.c.received.between(now - _SPEED_SECONDS, now)
    return 60 / _SPEED_SECONDS * connection.execute(select(func.count()).where(recent)).scalar_one()


def _cost(study: Study, n_done: int, outlook: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return amounts that were and would be paid; None where nobody is paid."""
    settings = study.settings
    if not settings.pay:
        return None
    more = None if outlook is None else format_money(outlook["n_answers_more"] * settings.pay / settings.per_person)
    return {"so_far": format_money(n_done * settings.pay), "more": more, "each": format_money(settings.pay)}


def _is_present(row: Row[Any], now: float) -> bool:
    """Return whether somebody is answering: has done so recently, and is not done."""
    return row.completed is None and abs(now - row.last) < _PRESENT_SECONDS


def _people_rows(found: list[Row[Any]], flags: dict[str, list[str]], now: float) -> list[dict[str, Any]]:
    """Return people as the page lists them: first those with flags, then all others, the latest first."""
    rows = [
        {
            "id": row.name, "condition": row.condition, "n_answers": row.n_answers, "n_undecided": row.n_undecided,
            "median_seconds": row.median, "flags": flags.get(row.name, []), "left_out": row.left_out,
            "done": row.completed is not None, "here": _is_present(row, now),
        }
        for row in reversed(found)
    ]  # fmt: skip
    return sorted(rows, key=lambda row: not row["flags"])

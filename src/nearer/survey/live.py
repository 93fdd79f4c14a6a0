"""What the researcher's live page shows.

People answer while somebody looks at the page, so that looking must cost them nothing: the database counts, by a few
statements whatever the number of answers, in a thread of its own, beside the one that writes; what it found is kept
for a moment, so that several tabs cost what one does. Whatever takes longer is the engine's (`nearer.survey.known`).
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from anyio import to_thread
from sqlalchemy import Connection, Integer, Row, case, cast, func, or_, select

from nearer._common.formatting import format_money
from nearer.survey.asking import NOT_COUNTED
from nearer.survey.people import status_of
from nearer.survey.store.database import Database, read_fact
from nearer.survey.store.tables import answers, people, questions
from nearer.survey.store.writer import in_time
from nearer.survey.study import Study
from nearer.survey.supervising import ENGINE, KNOWN

READ_SECONDS, DOWNLOAD_SECONDS = 10.0, 60.0  # that a database is waited for
_FRESH = 1.5  # seconds that a state is kept
_SHARE = 0.1  # of a thread's time that is spent on states, at most
_POINTS = 120  # of the curves over time
_NOW, _LATELY = 120.0, 600.0  # seconds: who answered since is there; answers since make the speed
_MOST_BYTES = 5_000_000  # of pictures on the map
_OFF = {"state": "off", "message": "", "n_told": 0}
#: Answers that count: the table of answers joined with its questions.
_COUNT = questions.c.purpose.not_in(NOT_COUNTED)

Result = TypeVar("Result")


async def read(database: Database, work: Callable[[Connection], Result], seconds: float = READ_SECONDS) -> Result:
    """Let a thread read, which waits for nobody who writes and keeps nobody waiting."""

    def reading() -> Result:
        with database.engine.connect().execution_options(reading=True) as connection:
            return work(connection)

    return await in_time(to_thread.run_sync(reading, abandon_on_cancel=True), seconds)


class Live:
    """The state of the page, which is worked out at most every second or two.

    Parameters
    ----------
    database : Database
    study : Study
    link : str
        For participants.
    """

    def __init__(self, database: Database, study: Study, link: str) -> None:
        self.database, self.study, self.link = database, study, link
        self._kept, self._until = b"", 0.0
        self._turn = asyncio.Lock()

    async def state(self, *, anew: bool = False) -> bytes:
        """Return the state as JSON; ``anew``: something was changed, and must show."""
        async with self._turn:
            began = time.monotonic()
            if anew or began >= self._until:
                self._kept = await read(self.database, self._written)
                took = time.monotonic() - began
                self._until = began + took + max(_FRESH, took * (1 / _SHARE - 1))
            return self._kept

    def _written(self, connection: Connection) -> bytes:
        return json.dumps(live_state(connection, self.study, self.link)).encode()


def live_state(connection: Connection, study: Study, link: str) -> dict[str, Any]:
    """Return what the live page shows."""
    settings = study.settings
    known = json.loads(read_fact(connection, KNOWN) or "{}")
    engine = _OFF | json.loads(read_fact(connection, ENGINE) or "{}")
    now = time.time()
    found = _people(connection)
    n_done = connection.execute(select(func.count()).where(people.c.completed.is_not(None))).scalar_one()
    medians = [row.median for row in found if row.median is not None]
    n_answers, n_left_out = sum(row.n_answers for row in found), sum(row.n_answers for row in found if row.left_out)
    n_known = known.get("n_known", 0)
    n_since = max(n_answers - n_left_out - n_known, 0)
    if engine["state"] == "ready" and n_since:
        engine["state"] = "behind"
    return {
        "title": settings.title,
        "status": status_of(connection),
        "link": link,
        "one_code": settings.completion_code != "each",
        "n_answers": n_answers,
        "n_left_out": n_left_out,
        "n_people": len(found),
        "n_done": n_done,
        "n_now": sum(_is_here(row, now) for row in found),
        "n_objects": len(study.labels),
        "per_minute": _per_minute(connection, now),
        "median_seconds": float(np.median(medians)) if medians else None,
        "over_time": _over_time(connection, found, now),
        "engine": {**engine, "n_known": n_known, "n_since": n_since, "proposes": settings.method == "active"},
        "cost": _cost(study, n_done, known.get("outlook")),
        "map": _map_of(study, known.get("map")),
        **{name: known.get(name) for name in ("error", "ceiling", "outlook")},
        "findings": known.get("findings", []),
        "people": _listed(found, known.get("people", {}), now),
    }


def pictures_of(study: Study, labels: Sequence[str]) -> list[str] | None:
    """Return where the picture of each object is; None if not all have one, or they are much to load at once."""
    stimuli = [each for label in labels if (each := study.stimuli.by_label.get(label))]
    files = [each.file for each in stimuli if each.kind == "image" and each.file is not None]
    if len(files) < len(labels) or sum(file.stat().st_size for file in files if file.is_file()) > _MOST_BYTES:
        return None
    return [f"/stimuli/{each.slug}" for each in stimuli]


def _map_of(study: Study, found: dict[str, Any] | None) -> dict[str, Any] | None:
    return found and found | {"pictures": pictures_of(study, found["objects"])}


def _people(connection: Connection) -> list[Row[Any]]:
    """Return everybody who has answered, in the order of coming: how often, when first and last, and how fast."""
    by_time = (answers.c.seconds.is_(None), answers.c.seconds)
    ranked = (
        select(
            answers.c.person,
            answers.c.seconds,
            answers.c.received,
            func.row_number().over(partition_by=answers.c.person, order_by=by_time).label("rank"),
            func.count(answers.c.seconds).over(partition_by=answers.c.person).label("timed"),
        )
        .join_from(answers, questions, answers.c.question == questions.c.id)
        .where(_COUNT)
        .subquery()
    )
    rank, timed = ranked.c.rank, ranked.c.timed
    in_the_middle = or_(rank == (timed + 1) // 2, rank == (timed + 2) // 2)
    each = (
        select(
            ranked.c.person,
            func.count().label("n_answers"),
            func.min(ranked.c.received).label("first"),
            func.max(ranked.c.received).label("last"),
            func.avg(case((in_the_middle, ranked.c.seconds))).label("median"),
        )
        .group_by(ranked.c.person)
        .subquery()
    )
    found = select(people.c.name, people.c.left_out, people.c.completed, each).join_from(
        people, each, people.c.id == each.c.person
    )
    return list(connection.execute(found.order_by(people.c.id)))


def _over_time(connection: Connection, found: list[Row[Any]], now: float) -> list[list[float]]:
    """Return how many answers and people there were at some times, the last of them now.

    Whatever clocks did, time goes forward here, and so do the counts.
    """
    if not found:
        return []
    first, last = min(row.first for row in found), max(row.last for row in found)
    width = max((last - first) / _POINTS, 1e-3)
    part = cast((answers.c.received - first) / width, Integer)
    counted = connection.execute(
        select(func.max(answers.c.received), func.count())
        .join_from(answers, questions, answers.c.question == questions.c.id)
        .where(_COUNT)
        .group_by(part)
    )
    counts = sorted((time, count) for time, count in counted)
    begun = np.sort([row.first for row in found])
    total, curve = 0, []
    for at, count in counts:
        total += count
        curve.append([round(at, 1), total, int(np.searchsorted(begun, at, side="right"))])
    return [*curve, [round(max(now, last), 1), total, len(found)]]


def _per_minute(connection: Connection, now: float) -> float:
    """Return how many answers a minute came lately."""
    lately = answers.c.received.between(now - _LATELY, now)
    return 60 / _LATELY * connection.execute(select(func.count()).where(lately)).scalar_one()


def _cost(study: Study, n_done: int, outlook: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return what was and would be paid, in words; None where nobody is paid."""
    settings = study.settings
    if not settings.pay:
        return None
    more = None if outlook is None else format_money(outlook["n_answers_more"] * settings.pay / settings.per_person)
    return {"so_far": format_money(n_done * settings.pay), "more": more, "each": format_money(settings.pay)}


def _is_here(row: Row[Any], now: float) -> bool:
    """Say whether somebody is answering: has done so lately, and is not done."""
    return row.completed is None and abs(now - row.last) < _NOW


def _listed(found: list[Row[Any]], flags: dict[str, list[str]], now: float) -> list[dict[str, Any]]:
    """Return people as the page lists them: first those to be looked at, then all others, the latest first."""
    rows = [
        {
            "id": row.name, "n_answers": row.n_answers, "median_seconds": row.median,
            "flags": flags.get(row.name, []), "left_out": row.left_out, "done": row.completed is not None,
            "here": _is_here(row, now),
        }
        for row in reversed(found)
    ]  # fmt: skip
    return sorted(rows, key=lambda row: not row["flags"])

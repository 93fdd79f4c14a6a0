"""Many people at once: how long they wait, what is kept of their answers, and what that takes."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import select

from benchmarks.survey.crowd import OPEN, Browser, Choice, Crowd, Log
from benchmarks.survey.serving import Server
from nearer.datasets import load_colors
from nearer.survey.stimuli import slug_of
from nearer.survey.store import answers
from nearer.survey.study import read_study

WITHIN = 0.1  # seconds that 95 of 100 responses may take
_LOOKS_EVERY = 2.0  # seconds between two looks of the researcher's page
_LAPSE = 0.1


@dataclass(frozen=True)
class Kept:
    """What a database has of the answers that the server confirmed."""

    n_confirmed: int
    n_kept: int
    n_lost: int
    n_changed: int
    n_doubled: int
    n_of_others: int


def as_seen(seed: int) -> Choice:
    """Return how somebody answers who sees colours as CIELAB has them, and sometimes does not look."""
    colors = load_colors()
    points = {slug_of(name): place for name, place in zip(colors.names, colors.lab, strict=True)}
    rng = np.random.default_rng(seed)

    def choose(question: dict[str, Any]) -> list[int]:
        options = np.array([points[item["object"]] for item in question["options"]])
        if rng.random() < _LAPSE:
            return [int(rng.integers(len(options)))]
        return [int(np.linalg.norm(options - points[question["head"]["object"]], axis=1).argmin())]

    return choose


def compare(folder: Path, log: Log) -> Kept:
    """Look for all confirmed answers in the database of a study."""
    _, database = read_study(folder)
    try:
        with database.engine.connect() as connection:
            columns = (answers.c.question, answers.c.person, answers.c.sent_as, answers.c.chosen)
            rows = connection.execute(select(*columns)).all()
    finally:
        database.close()
    kept = {row.question: (row.sent_as, tuple(map(int, row.chosen.split(",")))) for row in rows}
    lost = [question for question in log.confirmed if question not in kept]
    there = {question: response for question, response in log.confirmed.items() if question in kept}
    changed = [question for question, (_, *response) in there.items() if kept[question] != tuple(response)]
    doubled = len(rows) - len({row.sent_as for row in rows})
    owner = {row.question: row.person for row in rows}
    pairs = {(browser, owner[question]) for question, (browser, *_) in there.items()}
    of_others = len(pairs) - len({browser for browser, _ in pairs})
    n_lost = len(lost) + len(log.asked_again)
    return Kept(len(log.confirmed), len(rows), n_lost, len(changed), doubled, of_others)


def run_load(
    server: Server, *, n_people: int, pause: float, seconds: float, arriving: float, secret: str, seed: int
) -> tuple[dict[str, Any], Log]:
    """Let people answer for some seconds after all have arrived, and return figures and what they saw."""
    with many_files(), asyncio.Runner(loop_factory=event_loop) as runner:
        return runner.run(_measured(server, n_people, pause, seconds, arriving, secret, seed))


async def _measured(
    server: Server, n_people: int, pause: float, seconds: float, arriving: float, secret: str, seed: int
) -> tuple[dict[str, Any], Log]:
    crowd = Crowd(server.port, n_people, pause, as_seen(seed), seed)
    looking = asyncio.create_task(_look(server.port, secret, crowd.log))
    answering = asyncio.create_task(crowd.run(arriving))
    await asyncio.sleep(arriving + 2 * pause)
    weights, began, before = [], time.perf_counter(), (*server.cpu(), time.process_time())
    while time.perf_counter() - began < seconds and not answering.done():
        await asyncio.sleep(0.5)
        weights.append(server.memory())
    lasted = time.perf_counter() - began
    used = np.subtract((*server.cpu(), time.process_time()), before) / lasted
    for task in (answering, looking):
        task.cancel()
    ended = await asyncio.gather(answering, looking, return_exceptions=True)
    for error in ended:
        if not isinstance(error, asyncio.CancelledError):  # or people would seem to wait for nothing
            raise error if isinstance(error, BaseException) else RuntimeError("people left before the end")
    figures = {"n_people": n_people, "pause": pause, "seconds": lasted, **waits(crowd.log, began, began + lasted)}
    figures |= dict(zip(("server_megabytes", "engine_megabytes"), np.max(weights, axis=0).tolist(), strict=True))
    figures["megabytes"] = float(np.sum(weights, axis=1).max())
    figures |= dict(zip(("server_cpu", "engine_cpu", "crowd_cpu"), used.tolist(), strict=True))
    return figures, crowd.log


def waits(log: Log, began: float, ended: float) -> dict[str, Any]:
    """Return how long people waited for requests that were sent in a window of time."""
    inside = [each for each in log.waits if began <= each[0] < ended]
    kinds: dict[str, Any] = {}
    for kind in sorted({each[1] for each in inside}):
        times = np.array([each[2] for each in inside if each[1] == kind])
        kinds[kind] = {"n": len(times), **_quantiles(times)}
    times = np.array([each[2] for each in inside if each[1] != "researcher"])
    n_answers = sum(each[1] == "answer" and each[3] == 200 for each in inside)
    return {
        "answers_per_second": n_answers / (ended - began),
        "requests_per_second": len(times) / (ended - began),
        "n_failed": sum(each[3] not in (200, OPEN) for each in inside),
        **_quantiles(times),
        "share_within": float((times <= WITHIN).mean()) if len(times) else None,
        "kinds": kinds,
    }


def _quantiles(times: Any) -> dict[str, float | None]:
    if not len(times):
        return dict.fromkeys(("p50", "p95", "p99", "longest"))
    found = np.quantile(times, [0.5, 0.95, 0.99, 1.0]).tolist()
    return dict(zip(("p50", "p95", "p99", "longest"), found, strict=True))


async def _look(port: int, secret: str, log: Log) -> None:
    """Look at the researcher's page as a browser does that shows it."""
    browser = Browser(port)
    await browser.get(f"/researcher?key={secret}")
    while True:
        began = time.perf_counter()
        found = await browser.get("/researcher/api/state")
        log.waits.append((began, "researcher", time.perf_counter() - began, found.status))
        await asyncio.sleep(_LOOKS_EVERY)


def event_loop() -> asyncio.AbstractEventLoop:
    """Return the fastest loop that is there."""
    with contextlib.suppress(ImportError):
        import uvloop

        return uvloop.new_event_loop()
    return asyncio.new_event_loop()


@contextlib.contextmanager
def many_files() -> Iterator[None]:
    """Allow as many connections as the system lets this process have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

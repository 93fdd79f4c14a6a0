"""What goes wrong on real machines, made to happen while people answer.

Each trouble lasts as long as its context. People go on by themselves afterwards: how long that takes is measured, and
in the end every answer that the server has confirmed must be in its database exactly once.
"""

from __future__ import annotations

import asyncio
import random
import sqlite3
import subprocess
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.survey.crowd import Crowd
from benchmarks.survey.load import as_seen, event_loop, many_files
from benchmarks.survey.serving import Server
from nearer.survey.study import DATABASE_FILE

LOCKED, FULL, BACK = (
    5.0,
    5.0,
    3600,
)  # seconds that the file is locked and the disk is full; how far the clock is set back
_PATIENCE = 90.0  # seconds after which people who do not go on, and engines that do not come, are given up
_FAKE_CLOCKS = ("/usr/lib/*/faketime/libfaketime.so.1", "/usr/lib/faketime/libfaketime.so.1")
_SMALL_DISK = 256  # megabytes

Trouble = Callable[[Server], AbstractAsyncContextManager[None]]


@dataclass
class Outcome:
    """What came of a kind of trouble.

    Attributes
    ----------
    name : str
    times : int
    seconds : list of float
        After each, until as many answers as there are people had been confirmed.
    skipped : str
        Why it was not tried, if it was not.
    """

    name: str
    times: int = 0
    seconds: list[float] = field(default_factory=list)
    skipped: str = ""

    @property
    def record(self) -> dict[str, Any]:
        """As a row of a table."""
        longest = max(self.seconds, default=None)
        return {"fault": self.name, "times": self.times, "longest_seconds": longest, "skipped": self.skipped}


@asynccontextmanager
async def server_killed(server: Server) -> AsyncIterator[None]:
    """Kill the server, and start it again."""
    server.kill()
    yield
    await asyncio.to_thread(server.start)


@asynccontextmanager
async def engine_killed(server: Server) -> AsyncIterator[None]:
    """Kill the engine, once there is one; the server starts it again."""
    deadline = time.monotonic() + _PATIENCE
    while not server.kill_engine():
        if time.monotonic() > deadline:
            raise RuntimeError("there is no engine to be killed")
        await asyncio.sleep(0.1)
    yield


@asynccontextmanager
async def database_locked(server: Server) -> AsyncIterator[None]:
    """Let another program hold the database."""
    await asyncio.to_thread(_hold, server.folder / DATABASE_FILE)
    yield


def _hold(database: Path) -> None:
    connection = sqlite3.connect(database, timeout=30, isolation_level=None)
    try:
        connection.execute("BEGIN EXCLUSIVE")
        time.sleep(LOCKED)
        connection.execute("ROLLBACK")
    finally:
        connection.close()


@asynccontextmanager
async def disk_full(server: Server) -> AsyncIterator[None]:
    """Let another program fill the disk, to the last byte."""
    filler = server.folder / "filler"
    try:
        for size in (1_000_000, 4096, 1):
            with filler.open("ab", buffering=0) as file:
                try:
                    while True:
                        file.write(bytes(size))
                except OSError:
                    continue
        await asyncio.sleep(FULL)
    finally:
        filler.unlink()
    yield


@asynccontextmanager
async def clock_set_back(server: Server) -> AsyncIterator[None]:
    """Set the clock of the server back while it runs; it is started anew first, with a clock that can be set."""
    clock = server.log.with_name("clock")
    server.kill()
    server.environment = fake_clock(clock)
    await asyncio.to_thread(server.start)
    await asyncio.sleep(3.0)
    clock.write_text(f"-{BACK}", encoding="utf-8")
    yield


def run_faults(
    server: Server, troubles: list[tuple[str, Trouble, int]], *, n_people: int, pause: float, seed: int
) -> tuple[list[Outcome], Crowd]:
    """Let people answer while one trouble follows the other, and return what came of each."""
    with many_files(), asyncio.Runner(loop_factory=event_loop) as runner:
        return runner.run(_through_all(server, troubles, n_people, pause, seed))


async def _through_all(
    server: Server, troubles: list[tuple[str, Trouble, int]], n_people: int, pause: float, seed: int
) -> tuple[list[Outcome], Crowd]:
    crowd = Crowd(server.port, n_people, pause, as_seen(seed), seed)
    moments = random.Random(seed + 1)
    answering = asyncio.create_task(crowd.run(arriving=min(5.0, n_people / 50)))
    outcomes = []
    await _answers(crowd, answering, n_people)
    for name, trouble, times in troubles:
        outcome = Outcome(name)
        for _ in range(times):
            await asyncio.sleep(moments.uniform(0.2, 2.0))
            async with trouble(server):
                await asyncio.sleep(moments.uniform(0.0, 0.5))
            began = time.perf_counter()
            await _answers(crowd, answering, n_people)
            outcome.seconds.append(time.perf_counter() - began)
            outcome.times += 1
        outcomes.append(outcome)
    answering.cancel()
    await asyncio.gather(answering, return_exceptions=True)
    return outcomes, crowd


async def _answers(crowd: Crowd, answering: asyncio.Task[None], n_more: int) -> None:
    """Wait until so many more answers are confirmed."""
    wanted, deadline = len(crowd.log.confirmed) + n_more, time.monotonic() + _PATIENCE
    while len(crowd.log.confirmed) < wanted:
        if answering.done():
            answering.result()
        if time.monotonic() > deadline:
            raise RuntimeError(f"people did not go on within {_PATIENCE:.0f} s")
        await asyncio.sleep(0.02)


def fake_clock(file: Path) -> dict[str, str]:
    """Return the variables by which a program's clock is set by a file; none where libfaketime is not installed."""
    found = [path for pattern in _FAKE_CLOCKS for path in Path("/").glob(pattern[1:])]
    if not found:
        return {}
    file.write_text("+0", encoding="utf-8")
    return {
        "LD_PRELOAD": str(found[0]), "FAKETIME_TIMESTAMP_FILE": str(file), "FAKETIME_CACHE_DURATION": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }  # fmt: skip


@contextmanager
def small_disk(folder: Path) -> Any:
    """Make a folder a disk of its own that can be filled; yields why not where that is not possible."""
    folder.mkdir(parents=True, exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={_SMALL_DISK}m", "nearer", str(folder)]
    try:
        done = subprocess.run(mount, capture_output=True, text=True, check=False)
        why = done.stderr.strip() if done.returncode else ""
    except OSError as error:
        why = str(error)
    try:
        yield why
    finally:
        if not why:
            subprocess.run(["umount", "--lazy", str(folder)], check=False, capture_output=True)

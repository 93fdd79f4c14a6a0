"""What goes wrong on real machines, made to happen while people answer.

Each trouble lasts as long as its context. People go on by themselves afterwards: how long that takes is measured, and
in the end every answer that the server has confirmed must be in its database exactly once.

Attacks come from the same network: they try to fill the server's memory, or to keep others out, while an honest
participant answers.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import re
import sqlite3
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.survey.crowd import Browser, Crowd
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


ATTACKER = "127.0.0.66"
_PAUSE = 0.1  # seconds between two requests of the honest participant
_PIECE = 65_536  # bytes that an attacker sends at once
_AGAIN = 0.1  # seconds until an attacker connects again
_TIME_TO_CONNECT = 3.0
_HOST = b"host: 127.0.0.1\r\n"
_AGREED = re.compile(rb"set-cookie: nearer_session", re.IGNORECASE)


@dataclass(frozen=True)
class Attack:
    """What an attacker sends on each of several connections.

    Attributes
    ----------
    name : str
    n_connections : int
    start : bytes
        Sent first, on each connection.
    repeated : bytes
        Sent again and again after it; nothing if empty.
    n_bytes : int
        How much of that is sent at most, on all connections together.
    seconds : float
        How long it lasts, and how long its connections are held, at most.
    per_second : float
        Whole requests on connections of their own, so many a second, in place of connections that are held.
    """

    name: str
    n_connections: int
    start: bytes
    repeated: bytes = b""
    n_bytes: int = 0
    seconds: float = 15.0
    per_second: float = 0.0


_GET = b"GET / HTTP/1.1\r\n" + _HOST
_POST = b"POST /api/answers HTTP/1.1\r\nx-nearer: 1\r\ncontent-type: application/json\r\n" + _HOST
_PIPELINED = b"GET /look.css HTTP/1.1\r\n" + _HOST + b"\r\n"
ATTACKS = (
    Attack("200 MB of headers", 20, _GET, b"a: b\r\n", 200_000_000),
    Attack("one endless header", 1, _GET + b"a: ", b"b", 100_000_000),
    Attack("one endless URL", 1, b"GET /", b"b", 100_000_000),
    Attack("200 MB of pipelined requests", 50, b"", _PIPELINED, 200_000_000),
    Attack("200 MB of bodies", 20, _POST + b"content-length: 99999999999\r\n\r\n", b"b", 200_000_000),
    Attack("1,100 half-sent requests", 1100, _GET, seconds=30.0),
    Attack("1,100 half-sent bodies", 1100, _POST + b"content-length: 100\r\n\r\n", seconds=30.0),
    Attack("100 new people a second", 1, _GET + b"connection: close\r\n\r\n", seconds=20.0, per_second=100.0),
)


def run_attack(server: Server, attack: Attack) -> dict[str, Any]:
    """Carry an attack out while an honest person goes on, and return what that cost."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool, many_files():
        pool.submit(abs, 0).result()  # what is measured is the attack, not the start of its process
        before = server.peak_memory()
        with asyncio.Runner(loop_factory=event_loop) as runner:
            found = runner.run(_beside(server.port, pool, attack))
        return {"attack": attack.name, "mb_before": before, "mb_peak": server.peak_memory(), **found}


async def _beside(port: int, pool: ProcessPoolExecutor, attack: Attack) -> dict[str, Any]:
    browser = Browser(port)
    await browser.get("/")
    attacking = asyncio.get_running_loop().run_in_executor(pool, attack_server, port, attack)
    waits, n_failed = [], 0
    while not attacking.done():
        browser.close()
        began = time.perf_counter()
        n_failed += (await browser.get("/api/state")).status != 200
        waits.append(time.perf_counter() - began)
        await asyncio.sleep(_PAUSE)
    median, longest = np.quantile(waits, [0.5, 1.0]).tolist()
    return {**await attacking, "n_requests": len(waits), "n_failed": n_failed, "median": median, "longest": longest}


def attack_server(port: int, attack: Attack) -> dict[str, Any]:
    """Attack a server at 127.0.0.1, and return what was sent and taken."""
    with many_files(), asyncio.Runner(loop_factory=event_loop) as runner:
        return runner.run(_attack_in_time(port, attack))


async def _attack_in_time(port: int, attack: Attack) -> dict[str, Any]:
    ends = time.perf_counter() + attack.seconds
    if attack.per_second:
        return await _arrive(port, attack, ends)
    each = attack.n_bytes // attack.n_connections
    sent = await asyncio.gather(*(_attack_again(port, attack, each, ends) for _ in range(attack.n_connections)))
    return {"mb_sent": sum(sent) / 1e6, "n_new": 0}


async def _attack_again(port: int, attack: Attack, n_bytes: int, ends: float) -> int:
    """Connect again whenever the server has ended the connection, and return how much was sent."""
    sent = 0
    while time.perf_counter() < ends and (sent < n_bytes or not attack.repeated):
        sent += await _hold_connection(port, attack, n_bytes - sent, ends)
        await asyncio.sleep(_AGAIN)
    return sent


async def _hold_connection(port: int, attack: Attack, n_bytes: int, ends: float) -> int:
    """Send on one connection until the server ends it, and return how much that was."""
    sent, writer = 0, None
    try:
        async with asyncio.timeout(max(ends - time.perf_counter(), 0)):
            reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(ATTACKER, 0))
            writer.write(attack.start)
            for piece in _pieces(attack.repeated, n_bytes):
                await writer.drain()
                if writer.transport.is_closing():
                    return sent
                writer.write(piece)
                sent += len(piece)
            while await reader.read(_PIECE):
                pass
    except (OSError, TimeoutError):
        pass
    finally:
        if writer is not None:
            writer.transport.abort()
    return sent


def _pieces(repeated: bytes, n_bytes: int) -> Iterator[bytes]:
    if repeated:
        piece = repeated * (_PIECE // len(repeated))
        yield from itertools.repeat(piece, n_bytes // len(piece))


async def _arrive(port: int, attack: Attack, ends: float) -> dict[str, Any]:
    """Open the page again and again as somebody new, and return how often that made a new participant."""
    n_new = n_bytes = 0
    for at in range(int(attack.seconds * attack.per_second)):
        await asyncio.sleep(ends - attack.seconds + at / attack.per_second - time.perf_counter())
        if time.perf_counter() > ends:
            break
        try:
            async with asyncio.timeout(_TIME_TO_CONNECT):
                reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(ATTACKER, 0))
                writer.write(attack.start)
                n_new += _AGREED.search(await reader.read()) is not None
                n_bytes += len(attack.start)
                writer.close()
        except (OSError, TimeoutError):
            continue
    return {"mb_sent": n_bytes / 1e6, "n_new": n_new}

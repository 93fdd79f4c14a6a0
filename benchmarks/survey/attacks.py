"""Somebody in the same network who wants to fill the server's memory, or to keep others out; an honest person beside.

Each attack comes from an address of its own on this machine's loopback, from a process of its own, and is bounded in
connections, bytes and seconds. Meanwhile an honest person asks for the next question every tenth of a second, each time
by a new connection: how long that takes, and the most memory that the server has taken, are what is measured.
"""

from __future__ import annotations

import asyncio
import itertools
import re
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

import numpy as np

from benchmarks.survey.browsing import Browser
from benchmarks.survey.load import event_loop, many_files
from benchmarks.survey.serving import Server

ATTACKER = "127.0.0.66"
_PAUSE = 0.1  # seconds between two requests of the honest person
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
        sent += await _hold(port, attack, n_bytes - sent, ends)
        await asyncio.sleep(_AGAIN)
    return sent


async def _hold(port: int, attack: Attack, n_bytes: int, ends: float) -> int:
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

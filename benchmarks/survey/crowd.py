"""Simulated people: they open the page, load what it loads, and answer at their pace, through whatever happens.

Each does what the page does in a browser: an answer has an id of its own, waits until the server has listed it as
saved, and is sent again after growing pauses. All that the server has confirmed is noted, to be looked for in its
database.

`Browser` is as small as it can be: one connection that is kept, a cookie, and requests one after the other.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

PATIENCE = 15.0  # seconds that the page waits for an answer


class Answer(NamedTuple):
    """What a server answered; status 0 when it did not."""

    status: int
    body: bytes

    @property
    def content(self) -> Any:
        """What its JSON says."""
        return json.loads(self.body)


NOTHING = Answer(0, b"")
_NUMBERS = itertools.count()


class Browser:
    """One person's connection to a server of this machine.

    Parameters
    ----------
    port : int
        At 127.0.0.1, and nowhere else.

    Attributes
    ----------
    number : int
        No other has it.
    """

    def __init__(self, port: int) -> None:
        self.port = port
        self.number = next(_NUMBERS)
        self.cookie = ""
        places = [self.number >> shift & 255 for shift in (16, 8, 0)]
        self.address = "x-forwarded-for: 10.{}.{}.{}\r\n".format(*places)  # as a proxy says where somebody comes from
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def get(self, path: str) -> Answer:
        """Ask for something."""
        return await self._ask(self._head("GET", path) + b"\r\n")

    async def post(self, path: str, body: Any) -> Answer:
        """Send JSON as the study's page does."""
        data = json.dumps(body).encode()
        head = f"content-type: application/json\r\nx-nearer: 1\r\ncontent-length: {len(data)}\r\n\r\n"
        return await self._ask(self._head("POST", path) + head.encode() + data)

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None

    def _head(self, method: str, path: str) -> bytes:
        return f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{self.port}\r\n{self.address}{self.cookie}".encode()

    async def _ask(self, message: bytes) -> Answer:
        """Send a message, once more on a new connection if the server has closed the one that was kept."""
        was_kept = self._streams is not None
        try:
            async with asyncio.timeout(PATIENCE):
                found = await self._once(message)
                return await self._once(message) if found is NOTHING and was_kept else found
        except TimeoutError:
            self.close()
            return NOTHING

    async def _once(self, message: bytes) -> Answer:
        try:
            if self._streams is None:
                self._streams = await asyncio.open_connection("127.0.0.1", self.port)
            reader, writer = self._streams
            writer.write(message)
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            status = int(head[9:12])
            length = 0
            for line in head.split("\r\n")[1:]:
                name, _, value = line.partition(":")
                if name == "content-length":
                    length = int(value)
                elif name == "set-cookie":
                    self.cookie = f"cookie: {value.strip().split(';')[0]}\r\n"
            body = await reader.readexactly(length) if length else b""
            if "\r\nconnection: close" in head:
                self.close()
            return Answer(status, body)
        except (OSError, EOFError, ValueError):  # refused, reset, or cut off in the middle
            self.close()
            return NOTHING


#: Given a question as the page gets it, the places of the options that somebody chooses.
Choice = Callable[[dict[str, Any]], Sequence[int]]
OPEN = -1
_SHORTEST_WAIT, _LONGEST_WAIT, _DOUBLINGS = 0.5, 15.0, 6  # as in the page's sending.js
_LINKED = re.compile(rb'(?:href|src)="(/[^"]+)"')
_IMPORTED = re.compile(rb'from "\./([\w.]+)"')


@dataclass
class Log:
    """What people saw of the server.

    Attributes
    ----------
    waits : list of tuple
        When a request was sent, what kind it was, the seconds until it was answered, and the status; `OPEN` if it was
        not answered when people left.
    confirmed : dict from int to tuple
        The questions whose answers the server has confirmed: who answered, the id that was sent, the places chosen.
    asked_again : list of int
        Questions that a person was asked although the server had confirmed an answer: it must have lost it.
    n_done : int
        People who have reached the end.
    refused : list of str
        What the server would not take, and a page would never send.
    """

    waits: list[tuple[float, str, float, int]] = field(default_factory=list)
    confirmed: dict[int, tuple[int, str, tuple[int, ...]]] = field(default_factory=dict)
    asked_again: list[int] = field(default_factory=list)
    n_done: int = 0
    refused: list[str] = field(default_factory=list)


class Crowd:
    """People who answer, so many at a time; whoever is done makes room for somebody else.

    Parameters
    ----------
    port : int
    n_people : int
    pause : float
        Mean seconds between two answers of a person.
    choose : Choice
    seed : int
    """

    def __init__(self, port: int, n_people: int, pause: float, choose: Choice, seed: int) -> None:
        self.port, self.n_people, self.pause, self.choose = port, n_people, pause, choose
        self.random = random.Random(seed)
        self.log = Log()
        self._paths: tuple[str, ...] | None = None

    async def run(self, arriving: float) -> None:
        """Let people arrive over some seconds, and answer until this is cancelled."""
        async with asyncio.TaskGroup() as seats:
            for at in range(self.n_people):
                seats.create_task(self._seat(at * arriving / self.n_people))

    async def _seat(self, after: float) -> None:
        """One person after another."""
        await asyncio.sleep(after)
        while True:
            browser = Browser(self.port)
            try:
                await self._take_part(browser)
            finally:
                browser.close()

    async def _take_part(self, browser: Browser) -> None:
        state = await self._open(browser)
        if state is None:
            return
        seen: set[str] = set()
        while state["phase"] == "asking":
            await self._load_stimuli(browser, state, seen)
            await asyncio.sleep(self.random.expovariate(1 / self.pause))
            state = await self._answer(browser, state["next"][0])
            if state is None:
                return
        self.log.n_done += state["phase"] == "done"

    async def _open(self, browser: Browser) -> dict[str, Any] | None:
        """Load the page with all that it names, and agree."""
        page = await self._until(200, "page", lambda: browser.get("/"))
        if page is None:
            return None
        if self._paths is None:
            self._paths = await _paths_of(browser, page.body)
        for path in self._paths:
            await self._until(200, "file", lambda path=path: browser.get(path))  # type: ignore[misc]
        await self._until(200, "state", lambda: browser.get("/api/state"))
        agreed = await self._until(200, "consent", lambda: browser.post("/api/consent", {}))
        return None if agreed is None else agreed.content

    async def _load_stimuli(self, browser: Browser, state: dict[str, Any], seen: set[str]) -> None:
        """Load the pictures of the next questions; those that a browser has seen, it has kept."""
        shown = [item for each in state["next"] for item in (each["head"], *each["options"]) if item and item["url"]]
        for url in {item["url"] for item in shown} - seen:
            seen.add(url)
            await self._until(200, "stimulus", lambda url=url: browser.get(url))  # type: ignore[misc]

    async def _answer(self, browser: Browser, question: dict[str, Any]) -> dict[str, Any] | None:
        """Answer a question, and return what comes next, once the server has confirmed it."""
        chosen = tuple(sorted(self.choose(question)))
        sent_as = f"{self.random.getrandbits(120):030x}"
        sent = {"question": question["id"], "chosen": list(chosen), "seconds": self.pause, "id": sent_as}
        reply = await self._until(200, "answer", lambda: browser.post("/api/answers", {"answers": [sent]}))
        if reply is None:
            return None
        state: dict[str, Any] = reply.content
        if question["id"] in state["saved"]:
            if question["id"] in self.log.confirmed:
                self.log.asked_again.append(question["id"])
            self.log.confirmed[question["id"]] = (browser.number, sent_as, chosen)
        return state

    async def _until(self, wanted: int, kind: str, ask: Callable[[], Any]) -> Answer | None:
        """Ask until the server answers, as the page does; None if it refuses."""
        tries = 0
        while True:
            began = time.perf_counter()
            try:
                answer: Answer = await ask()
            except asyncio.CancelledError:
                self.log.waits.append((began, kind, time.perf_counter() - began, OPEN))
                raise
            self.log.waits.append((began, kind, time.perf_counter() - began, answer.status))
            if answer.status == wanted:
                return answer
            if 0 < answer.status < 500 and answer.status != 429:
                self.log.refused.append(f"{kind}: {answer.status} {answer.body[:200].decode(errors='replace')}")
                return None
            wait = _SHORTEST_WAIT * 2 ** min(tries, _DOUBLINGS) * (1 + self.random.random() / 2)
            await asyncio.sleep(min(wait, _LONGEST_WAIT))
            tries += 1


async def _paths_of(browser: Browser, page: bytes) -> tuple[str, ...]:
    """Return what a page names, and the scripts that its scripts name."""
    found = [path.decode() for path in _LINKED.findall(page)]
    for path in found:  # grows meanwhile
        if path.endswith(".js"):
            named = _IMPORTED.findall((await browser.get(path)).body)
            found += [new for each in named if (new := f"/static/{each.decode()}") not in found]
    return tuple(found)

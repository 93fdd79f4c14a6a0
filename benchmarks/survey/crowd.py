"""Simulated people: they open the page, load what it loads, and answer at their pace, through whatever happens.

Each does what the page does in a browser: an answer has an id of its own, waits until the server has listed it as
saved, and is sent again after growing pauses. All that the server has confirmed is noted, to be looked for in its
database.
"""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.survey.browsing import Answer, Browser

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
        told = await self._until(200, "answer", lambda: browser.post("/api/answers", {"answers": [sent]}))
        if told is None:
            return None
        state: dict[str, Any] = told.content
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

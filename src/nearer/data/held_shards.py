"""The side of the shards that the fit is on: it places them on workers, sends them requests, and replaces lost ones.

A worker that dies takes its shards with it. The recipes of their parts are kept here, so that another worker, or the
one that a nanny starts in its place, loads them again; the request that failed is then sent once more, to all.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

from nearer.common.telling import warn_caller
from nearer.common.words import counted
from nearer.data.rows import Rows
from nearer.data.shards import Node, Report, Shard, ask, reports_of, runs, tree

PATIENCE = 10.0  # seconds for a nanny to start a worker anew: two shards on one may be more than its memory holds
MOST_LOSSES = 5  # of workers in one request; whatever kills that many will kill the next
_REACH = 5.0  # seconds to find out whether this process can reach workers
_POLL = 0.5
_LOST = (OSError, KeyError)  # a connection that broke, or a worker that started anew and knows no shard


class HeldShards:
    """Shards on the workers of a client's cluster.

    Parameters
    ----------
    client : distributed.Client
    recipes : sequence of Delayed
        One for each `Part`, in order.
    title : str
        What to call the comparisons in messages.
    """

    def __init__(self, client: Any, recipes: Sequence[Any], title: str) -> None:
        self._client, self._title = client, title
        threads: dict[str, int] = dict(sorted(client.nthreads().items()))
        if not threads:
            raise RuntimeError(f"{client} has no workers; start some, or wait with client.wait_for_workers(1)")
        self._recipes = list(runs(list(recipes), len(threads), list(threads.values())))
        homes = list(threads.items())[: len(self._recipes)]
        self._n_lanes = [count for _, count in homes]
        self._futures: list[Any] = [None] * len(homes)
        self._addresses = [address for address, _ in homes]
        self.reports: list[Report] = [report for found in self._placed(range(len(homes))).values() for report in found]
        self._pool = self._connections()

    def __len__(self) -> int:
        return len(self._recipes)

    def reduce(self, each: Callable[..., Any], together: Callable[[Any, Any], Any], *arguments: Any) -> Any:
        """Return ``each(blocks, *arguments)`` of all comparisons, joined in their order by ``together``."""

        def requests() -> list[Any]:
            return [
                ask(self._pool, node, "reduce", each, together, node.below, *arguments)
                for node in tree([(node.address, node.key) for node in self._nodes()])
            ]

        return reduce(together, self._answers(requests))

    def every(self, step: int) -> list[Rows]:
        """Return every ``step``-th comparison of all, in some blocks."""
        offsets, total = [], 0
        lengths = iter(report.facts.n_rows for report in self.reports)
        for recipes in self._recipes:
            offsets.append(total)
            total += sum(next(lengths) for _ in recipes)

        def requests() -> list[Any]:
            return [
                ask(self._pool, node, "every", step, -offset % step)
                for node, offset in zip(self._nodes(), offsets, strict=True)
            ]

        return [Rows.of(*columns) for found in self._answers(requests) for columns in found if len(columns[0])]

    def _nodes(self) -> list[Node]:
        return [Node(address, future.key) for address, future in zip(self._addresses, self._futures, strict=True)]

    def _answers(self, requests: Callable[[], list[Any]]) -> list[Any]:
        """Return the answers to requests, which are made again after every loss of a worker."""
        for _ in range(MOST_LOSSES):
            if not self._lost():
                try:
                    answers: list[Any] = self._client.sync(self._gathered, requests)
                    return answers
                except _LOST:
                    # The scheduler learns of a lost worker about now. A connection that merely broke is tried again.
                    deadline = time.monotonic() + _POLL
                    while not self._lost() and time.monotonic() < deadline:
                        time.sleep(_POLL / 10)
            self._replace_lost()
        raise RuntimeError(
            f"{self._title}: {MOST_LOSSES} times in a row workers were lost before they had answered; see their logs, "
            "and give them more memory if that is what ended them"
        )

    async def _gathered(self, requests: Callable[[], list[Any]]) -> list[Any]:
        tasks = [asyncio.ensure_future(request) for request in requests()]
        try:
            waiting: set[Any] = set(tasks)
            while waiting:
                done, waiting = await asyncio.wait(waiting, timeout=_POLL, return_when=asyncio.FIRST_EXCEPTION)
                for task in done:
                    task.result()
                if self._lost():  # a machine that is gone closes no connection: the scheduler tells
                    raise ConnectionError("a worker was lost")
        finally:
            for task in tasks:
                task.cancel()
        return [task.result() for task in tasks]

    def _lost(self) -> list[int]:
        return [number for number, future in enumerate(self._futures) if future.status != "finished"]

    def _replace_lost(self) -> None:
        lost = self._lost()
        if self._client.status != "running":
            raise RuntimeError(f"{self._title}: the dask client is {self._client.status}; start one, and fit again")
        if not lost:
            return
        warn_caller(
            f"{self._title}: {counted(len(lost), 'worker')} of {len(self)} lost; the comparisons there are loaded again"
        )
        try:
            self._client.wait_for_workers(len(self), timeout=PATIENCE)
        except TimeoutError:
            pass
        workers = sorted(self._client.nthreads())
        if not workers:
            raise RuntimeError(f"{self._title}: no worker is left; start some, and fit again")
        load = Counter({address: 0 for address in workers})
        load.update(address for number, address in enumerate(self._addresses) if number not in lost)
        for number in lost:
            self._addresses[number] = min(workers, key=lambda address: load[address])
            load[self._addresses[number]] += 1
        self._placed(lost)

    def _placed(self, numbers: Sequence[int]) -> dict[int, list[Report]]:
        """Have workers load shards, and return what they report of the parts."""
        from distributed import KilledWorker, wait

        reports = {}
        for number in numbers:
            settings = {"workers": [self._addresses[number]], "allow_other_workers": True}
            parts = self._client.compute(list(self._recipes[number]), **settings)
            reports[number] = self._client.submit(reports_of, parts, pure=False, **settings)
            self._futures[number] = self._client.submit(
                Shard, parts, self._n_lanes[number], actor=True, pure=False, **settings
            )
            del parts  # or their rows would be kept beside the shard's, and counted twice
        placed = [self._futures[number] for number in numbers]
        wait([*reports.values(), *placed])
        try:
            found = self._client.gather(reports)
            self._client.gather(placed)
        except KilledWorker as error:
            raise RuntimeError(
                f"{self._title}: workers died while they loaded it: {error} Give them more memory, or make the "
                "partitions smaller"
            ) from error
        homes = self._client.who_has(placed)
        for number in numbers:
            (self._addresses[number],) = homes[self._futures[number].key]
        return dict(found)

    def _connections(self) -> Callable[[str], Any]:
        """Return connections to workers: straight ones, or by way of the scheduler where workers cannot be reached."""
        from distributed.actor import ProxyRPC

        async def reached() -> None:
            await asyncio.wait_for(ask(self._client.rpc, self._nodes()[0], "every", 2**62, 2**61), _REACH)

        if self._client.direct_to_workers is not False:
            try:
                self._client.sync(reached)
                return self._client.rpc  # type: ignore[no-any-return]
            except (OSError, TimeoutError):
                pass
        return partial(ProxyRPC, self._client.scheduler)

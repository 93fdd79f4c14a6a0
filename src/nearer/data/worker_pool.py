"""Shards: comparisons held by the workers of a dask cluster, and work done on them where they are.

A *shard* is what one worker holds: consecutive partitions of a collection, in order, cut into as many *lanes* as the
worker has threads, without a copy. It is an actor: a request goes straight to its worker, not by way of the scheduler,
and travels down a tree of shards, so that none sends the points to more than a few others. Results are joined on the
way back, in an order that is settled once: which worker is faster does not change a bit of the result.

`WorkerPool` is the side of the fit. The recipes of partitions are kept here, so that those of a worker that dies are
loaded again by another, or by the one that a nanny starts in its place; the request that failed is sent once more.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial, reduce
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from nearer._common.formatting import pluralize
from nearer._common.progress import warn_caller
from nearer.data.rows import Extent, Rows

FAN_OUT = 4  # shards that one sender passes a request on to


class Node(NamedTuple):
    """Where a shard is, and those that it passes requests on to."""

    address: str
    key: str
    below: tuple[Node, ...] = ()


class Report(NamedTuple):
    """Extent and fault of a part, and its columns, (width, answers or not, weights or not), if it has rows."""

    extent: Extent
    fault: str | None
    columns: tuple[int, bool, bool] | None


@dataclass(frozen=True, eq=False)
class Partition:
    """Rows that have passed all checks, and what is to be reported of them."""

    blocks: list[Rows]
    report: Report

    def __sizeof__(self) -> int:
        # dask goes by it. Of a list of rows it would try a few entries, and the length of rows is not that of a tuple.
        return sum(column.nbytes for block in self.blocks for column in block)


class Shard:
    """The comparisons on one worker."""

    def __init__(self, parts: list[Partition], n_lanes: int) -> None:
        from distributed import get_worker

        self.lanes = split_into_lanes([block for part in parts for block in part.blocks], n_lanes)
        self._threads = ThreadPoolExecutor(len(self.lanes), thread_name_prefix="nearer-shard")
        self._pool = get_worker().rpc

    async def reduce(
        self, work: Callable[..., Any], combine: Callable[[Any, Any], Any], below: tuple[Node, ...], *arguments: Any
    ) -> Any:
        """Return ``work(blocks, *arguments)`` of all lanes and of the shards below, joined in order by ``combine``."""
        loop = asyncio.get_running_loop()
        here = [loop.run_in_executor(self._threads, work, lane, *arguments) for lane in self.lanes]
        there = [send_request(self._pool, node, "reduce", work, combine, node.below, *arguments) for node in below]
        return reduce(combine, await asyncio.gather(*here, *there))

    async def at(self, positions: NDArray[np.int64]) -> list[tuple[Any, ...]]:
        """Return the columns of the comparisons at these rising positions, a tuple for each block that has any."""
        found, offset = [], 0
        for block in (block for lane in self.lanes for block in lane):
            start, stop = np.searchsorted(positions, [offset, offset + len(block)])
            here = positions[start:stop] - offset
            offset += len(block)
            if len(here):
                found.append(tuple(column[here] if column.size else column for column in block))
        return found


def split_into_lanes(blocks: Sequence[Rows], n_lanes: int) -> list[list[Rows]]:
    """Return blocks cut into about equal runs, in order and without a copy; at least one."""
    total = sum(len(block) for block in blocks)
    count = max(min(n_lanes, total), 1)
    bounds = [total * number // count for number in range(count + 1)]
    lanes: list[list[Rows]] = []
    for start, stop in pairwise(bounds):
        lane, offset = [], 0
        for block in blocks:
            here = slice(max(start - offset, 0), max(min(stop - offset, len(block)), 0))
            if here.start < here.stop:
                lane.append(block.take(here))
            offset += len(block)
        lanes.append(lane)
    return lanes


def report_parts(parts: list[Partition]) -> list[Report]:
    """Return the reports of parts."""
    return [part.report for part in parts]


async def send_request(pool: Callable[[str], Any], node: Node, method: str, *arguments: Any) -> Any:
    """Return what a method of the shard at a node returns; ``pool`` makes connections."""
    from distributed.protocol import to_serialize

    # This is what `distributed.Actor` sends. An Actor of a client would send it by way of the scheduler.
    reply = await pool(node.address).actor_execute(
        actor=node.key, function=method, args=[to_serialize(argument) for argument in arguments], kwargs={}
    )
    if reply["status"] != "OK":
        raise reply["exception"]
    return reply["result"]


def build_tree(positions: Sequence[tuple[str, str]]) -> tuple[Node, ...]:
    """Return nodes for the (address, key) of shards, of which a walk down the tree meets the shards in order."""
    return tuple(Node(run[0][0], run[0][1], build_tree(run[1:])) for run in split_into_runs(positions, FAN_OUT) if run)


def split_into_runs(items: Sequence[Any], count: int, shares: Sequence[float] | None = None) -> Iterator[Sequence[Any]]:
    """Yield ``count`` runs of consecutive items, of even lengths or in these shares; of few items some are empty."""
    weights = [1.0] * count if shares is None else shares
    bounds = [int(len(items) * sum(weights[:number]) / sum(weights) + 1e-9) for number in range(count + 1)]
    yield from (items[start:stop] for start, stop in pairwise(bounds))


RESTART_SECONDS = 10.0  # for a nanny to restart a worker: two shards on one may exceed its memory
MAX_LOST_WORKERS = 5  # of workers in one request; whatever kills that many will kill the next
CONNECT_SECONDS = 5.0  # to find out whether this process can reach workers
POLL_SECONDS = 0.5
ResultT = TypeVar("ResultT")


class _WorkerLost(Exception):
    """A worker with shards was lost, or cannot be reached."""


class WorkerPool:
    """Shards on the workers of a client's cluster."""

    def __init__(self, client: Any, recipes: Sequence[Any], title: str) -> None:
        self._client, self._title = client, title
        threads: dict[str, int] = dict(sorted(client.nthreads().items()))
        if not threads:
            raise RuntimeError(f"{client} has no workers; start some, or wait with client.wait_for_workers(1)")
        shares = zip(threads.items(), split_into_runs(list(recipes), len(threads), list(threads.values())), strict=True)
        workers, self._recipes = zip(*((worker, run) for worker, run in shares if run), strict=True)
        self._n_lanes = [count for _, count in workers]
        self._addresses = [address for address, _ in workers]
        self._futures: list[Any] = [None] * len(workers)
        self._reports: list[list[Report]] = [[] for _ in workers]
        self._retry_until_placed(lambda: None)
        self._pool = self._connections()

    @property
    def reports(self) -> list[Report]:
        """The report of each part, in order."""
        return [report for found in self._reports for report in found]

    def __len__(self) -> int:
        return len(self._recipes)

    def reduce(self, work: Callable[..., Any], combine: Callable[[Any, Any], Any], *arguments: Any) -> Any:
        """Return ``work(blocks, *arguments)`` of all comparisons, joined in their order by ``combine``."""

        def requests() -> list[Any]:
            return [
                send_request(self._pool, node, "reduce", work, combine, node.below, *arguments)
                for node in build_tree([(node.address, node.key) for node in self._nodes()])
            ]

        return reduce(combine, self._retry_until_placed(lambda: self._answers(requests)))

    def at(self, positions: NDArray[np.int64]) -> list[Rows]:
        """Return the comparisons at these rising positions among all, in some blocks."""
        lengths = [sum(report.extent.n_rows for report in found) for found in self._reports]
        bounds = [0, *accumulate(lengths)]

        def requests() -> list[Any]:
            return [
                send_request(self._pool, node, "at", positions[(start <= positions) & (positions < stop)] - start)
                for node, (start, stop) in zip(self._nodes(), pairwise(bounds), strict=True)
            ]

        answers = self._retry_until_placed(lambda: self._answers(requests))
        return [Rows.of(*columns) for found in answers for columns in found]

    def _nodes(self) -> list[Node]:
        return [Node(address, future.key) for address, future in zip(self._addresses, self._futures, strict=True)]

    def _retry_until_placed(self, action: Callable[[], ResultT]) -> ResultT:
        """Return what an action returns that needs all shards, done again after every loss of a worker."""
        for _ in range(MAX_LOST_WORKERS + 1):
            try:
                self._place_lost()
                return action()
            except _WorkerLost:
                # The scheduler learns of a lost worker about now. A connection that merely broke is tried again.
                deadline = time.monotonic() + POLL_SECONDS
                while not self._lost() and time.monotonic() < deadline:
                    time.sleep(POLL_SECONDS / 10)
        raise self._too_many_losses()

    def _too_many_losses(self) -> RuntimeError:
        return RuntimeError(
            f"{self._title}: {MAX_LOST_WORKERS + 1} times in a row workers were lost before they had answered; "
            "see their logs, and give them more memory if that is what ended them"
        )

    def _answers(self, requests: Callable[[], list[Any]]) -> list[Any]:
        try:
            return self._client.sync(self._gathered, requests)
        except (OSError, KeyError) as error:  # a connection broke, or a worker that started anew knows no shard
            raise _WorkerLost from error

    async def _gathered(self, requests: Callable[[], list[Any]]) -> list[Any]:
        tasks = [asyncio.ensure_future(request) for request in requests()]
        try:
            waiting: set[Any] = set(tasks)
            while waiting:
                done, waiting = await asyncio.wait(waiting, timeout=POLL_SECONDS, return_when=asyncio.FIRST_EXCEPTION)
                for task in done:
                    task.result()
                if self._lost():  # a machine that is gone closes no connection: the scheduler reports it
                    raise ConnectionError("a worker was lost")
        finally:
            for task in tasks:
                task.cancel()
        return [task.result() for task in tasks]

    def _lost(self) -> list[int]:
        return [number for number, future in enumerate(self._futures) if future is None or future.status != "finished"]

    def _place_lost(self) -> None:
        """Have workers load all shards that no worker holds."""
        lost = self._lost()
        if self._client.status != "running":
            raise RuntimeError(f"{self._title}: the dask client is {self._client.status}; start one, and fit again")
        if any(self._futures[number] is not None for number in lost):
            self._assign_workers(lost)
        if lost:
            self._place(lost)

    def _assign_workers(self, lost: Sequence[int]) -> None:
        """Choose the workers that take the place of lost ones: those with the fewest shards."""
        warn_caller(
            f"{self._title}: {pluralize(len(lost), 'worker')} of {len(self)} lost; the comparisons there are "
            "loaded again"
        )
        with suppress(TimeoutError):
            self._client.wait_for_workers(len(self), timeout=RESTART_SECONDS)
        workers = sorted(self._client.nthreads())
        if not workers:
            raise RuntimeError(f"{self._title}: no worker is left; start some, and fit again")
        load = Counter(dict.fromkeys(workers, 0))
        load.update(address for number, address in enumerate(self._addresses) if number not in lost)
        for number in lost:
            self._addresses[number] = min(workers, key=lambda address: load[address])
            load[self._addresses[number]] += 1

    def _place(self, numbers: Sequence[int]) -> None:
        from distributed import wait

        reports = {number: self._submitted(number) for number in numbers}
        losses = idle = 0
        while True:
            with suppress(TimeoutError):
                wait([*reports.values(), *(self._futures[number] for number in numbers)], timeout=POLL_SECONDS)
                break
            # A task that prefers a worker which is gone waits for it forever, if there was a time without any worker.
            # Nor does anything come of tasks that the scheduler has lost sight of, as it may when all workers die.
            idle = 0 if any(self._client.processing().values()) else idle + 1
            alive = () if idle * POLL_SECONDS >= RESTART_SECONDS else self._client.nthreads()
            stranded = [
                number
                for number, report in reports.items()
                if "pending" in (report.status, self._futures[number].status) and self._addresses[number] not in alive
            ]
            if stranded:
                losses += 1
                if losses > MAX_LOST_WORKERS:
                    raise self._too_many_losses()
                idle = 0
                self._assign_workers(stranded)
                self._client.cancel([reports[number] for number in stranded])
                reports.update((number, self._submitted(number)) for number in stranded)
        for report in reports.values():
            if report.status == "error":
                self._raise_for_loading(report.exception())
        placed = [self._futures[number] for number in numbers]
        if any(future.status != "finished" for future in placed):
            raise _WorkerLost
        holders = self._client.who_has(placed)
        for number, found in zip(numbers, self._client.gather(list(reports.values())), strict=True):
            # Other parts than those that were loaded first: rows would be lost, or never checked.
            for before, after in zip(self._reports[number], found, strict=False):
                if before != after:
                    why = after.fault or "it has changed since it was loaded"
                    raise ValueError(
                        f"{self._title}: a part cannot be loaded again: {why}; make it anew, and fit again"
                    )
            self._reports[number] = found
            addresses = holders[self._futures[number].key]
            if not addresses:
                raise _WorkerLost
            self._addresses[number] = addresses[0]

    def _submitted(self, number: int) -> Any:
        """Have a worker load a shard, and return the future of what it reports of the parts."""
        if self._futures[number] is not None:
            # The scheduler would take the same tasks for those that it knows, which prefer a worker that is gone.
            self._client.cancel([self._futures[number]])
        settings = {"workers": [self._addresses[number]], "allow_other_workers": True}
        parts = self._client.compute(list(self._recipes[number]), **settings)
        self._futures[number] = self._client.submit(
            Shard, parts, self._n_lanes[number], actor=True, pure=False, **settings
        )
        # The parts are not kept here: their rows would be in memory twice.
        return self._client.submit(report_parts, parts, pure=False, **settings)

    def _raise_for_loading(self, error: BaseException) -> NoReturn:
        from distributed import KilledWorker

        if isinstance(error, KilledWorker):
            raise RuntimeError(
                f"{self._title}: workers died while they loaded it: {error} Give them more memory, or make the "
                "partitions smaller"
            ) from error
        raise error

    def _connections(self) -> Callable[[str], Any]:
        """Return connections to workers: straight ones, or by way of the scheduler where workers cannot be reached."""
        from distributed.actor import ProxyRPC

        async def reached() -> None:
            await asyncio.wait_for(
                send_request(self._client.rpc, self._nodes()[0], "at", np.empty(0, np.int64)), CONNECT_SECONDS
            )

        if self._client.direct_to_workers is not False:
            with suppress(OSError):
                self._client.sync(reached)
                return self._client.rpc
        return partial(ProxyRPC, self._client.scheduler)

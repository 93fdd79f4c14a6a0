"""Shards: comparisons held by the workers of a dask cluster, and work done on them where they are.

A *shard* is what one worker holds: consecutive parts of a collection, in order, cut into as many *lanes* as the worker
has threads, without a copy. It is an actor: a request to it goes straight to its worker, in about a millisecond, where
a task that passes through the scheduler takes ten.

A request travels down a tree of shards, so that nobody sends the points to more than a few others, and results are
joined on the way back. Which parts a shard has, its lanes and the tree are settled once, and results are joined in
that order: which worker is faster, or takes the place of another, does not change a bit of the result.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearer.data.partitions import Part
from nearer.data.row_checks import Extent
from nearer.data.rows import Rows

FAN_OUT = 4  # shards that one sender passes a request on to


class Node(NamedTuple):
    """Where a shard is, and those that it passes requests on to."""

    address: str
    key: str
    below: tuple[Node, ...] = ()


class Report(NamedTuple):
    """What is known of one part: also its columns, (width, answers or not, weights or not), if it has rows."""

    extent: Extent
    fault: str | None
    columns: tuple[int, bool, bool] | None


class Shard:
    """The comparisons on one worker.

    Parameters
    ----------
    parts : list of Part
    n_lanes : int
        How many threads work on them.
    """

    def __init__(self, parts: list[Part], n_lanes: int) -> None:
        from distributed import get_worker

        self.lanes = lanes_of([block for part in parts for block in part.blocks], n_lanes)
        self._threads = ThreadPoolExecutor(len(self.lanes), thread_name_prefix="nearer-shard")
        self._pool = get_worker().rpc

    async def reduce(
        self,
        each: Callable[..., Any],
        together: Callable[[Any, Any], Any],
        below: tuple[Node, ...],
        *arguments: Any,
    ) -> Any:
        """Return ``each(blocks, *arguments)`` of all lanes and of the shards below, joined in order by ``together``."""
        loop = asyncio.get_running_loop()
        here = [loop.run_in_executor(self._threads, each, lane, *arguments) for lane in self.lanes]
        there = [ask(self._pool, node, "reduce", each, together, node.below, *arguments) for node in below]
        return reduce(together, await asyncio.gather(*here, *there))

    async def at(self, places: NDArray[np.int64]) -> list[tuple[Any, ...]]:
        """Return the columns of the comparisons at these rising places, a tuple for each block that has any."""
        found, offset = [], 0
        for block in (block for lane in self.lanes for block in lane):
            here = places[np.searchsorted(places, offset) : np.searchsorted(places, offset + len(block))] - offset
            offset += len(block)
            if len(here):
                found.append(tuple(column[here] if column.size else column for column in block))
        return found


def lanes_of(blocks: Sequence[Rows], n_lanes: int) -> list[list[Rows]]:
    """Return blocks cut into about equal runs, in order and without a copy; at least one.

    Examples
    --------
    >>> import numpy as np
    >>> rows = Rows.of(np.arange(15).reshape(5, 3))
    >>> [[len(block) for block in lane] for lane in lanes_of([rows, rows], 3)]
    [[3], [2, 1], [4]]
    """
    total = sum(len(block) for block in blocks)
    count = max(min(n_lanes, total), 1)
    bounds = [total * number // count for number in range(count + 1)]
    lanes: list[list[Rows]] = []
    for start, stop in pairwise(bounds):
        lane, offset = [], 0
        for block in blocks:
            here = slice(max(start - offset, 0), max(min(stop - offset, len(block)), 0))
            if here.start < here.stop:
                lane.append(block.taken(here))
            offset += len(block)
        lanes.append(lane)
    return lanes


def reports_of(parts: list[Part]) -> list[Report]:
    """Return what is known of parts."""
    return [Report(part.extent, part.fault, _columns(part.blocks)) for part in parts]


def _columns(blocks: Sequence[Rows]) -> tuple[int, bool, bool] | None:
    if not blocks:
        return None
    objects, answers, weights = blocks[0]
    return objects.shape[1], answers.size > 0, weights.size > 0


async def ask(pool: Callable[[str], Any], node: Node, method: str, *arguments: Any) -> Any:
    """Return what a method of the shard at a node returns; ``pool`` makes connections."""
    from distributed.protocol import to_serialize

    # This is what `distributed.Actor` sends. An Actor of a client would send it by way of the scheduler.
    reply = await pool(node.address).actor_execute(
        actor=node.key, function=method, args=[to_serialize(argument) for argument in arguments], kwargs={}
    )
    if reply["status"] != "OK":
        raise reply["exception"]
    return reply["result"]


def tree(places: Sequence[tuple[str, str]]) -> tuple[Node, ...]:
    """Return nodes for the (address, key) of shards, of which a walk down the tree meets the shards in order.

    Examples
    --------
    >>> [node.key + "".join(each.key for each in node.below) for node in tree([("", letter) for letter in "abcdefg"])]
    ['a', 'bc', 'de', 'fg']
    """
    return tuple(Node(run[0][0], run[0][1], tree(run[1:])) for run in runs(places, FAN_OUT) if run)


def runs(items: Sequence[Any], count: int, shares: Sequence[float] | None = None) -> Iterator[Sequence[Any]]:
    """Yield ``count`` runs of consecutive items, of even lengths or in these shares; of few items some are empty.

    Examples
    --------
    >>> list(runs("abcdefg", 3)), list(runs("ab", 3)), list(runs("ab", 2, [1, 8]))
    (['ab', 'cd', 'efg'], ['', 'a', 'b'], ['', 'ab'])
    """
    weights = [1.0] * count if shares is None else shares
    bounds = [0]
    for number in range(count):
        bounds.append(int(len(items) * sum(weights[: number + 1]) / sum(weights) + 1e-9))
    yield from (items[start:stop] for start, stop in pairwise(bounds))

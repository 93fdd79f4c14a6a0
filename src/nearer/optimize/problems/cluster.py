"""Comparisons on a cluster: sums over them are worked out by the workers that hold them.

The points go out, and a value and a gradient come back: O(n p) numbers for each worker, however many comparisons there
are. A worker's threads each add into one gradient, from block to block, so that many small partitions cost no more
than one large one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nearer._common.arrays import PointArray
from nearer.data.cluster import ComparisonsOnCluster
from nearer.data.rows import Rows
from nearer.model import Compiled
from nearer.optimize.problems.sources import Source, Tally


@dataclass(frozen=True, eq=False)
class OnCluster(Source):
    """Comparisons on the workers of a dask cluster."""

    comparisons: ComparisonsOnCluster

    @property
    def n_objects(self) -> int:
        """The number of objects."""
        return self.comparisons.n_objects

    def __len__(self) -> int:
        return len(self.comparisons)

    def blocks(self, rng: np.random.Generator | None = None) -> Iterator[Rows]:
        """Refuse: the rows stay on their workers."""
        return self.comparisons.blocks(rng)

    def check_blocks(self) -> None:
        """Refuse: the rows stay on their workers."""
        self.comparisons.refuse_blocks()

    @cached_property
    def tally(self) -> Tally:
        """What one pass over all comparisons counts."""
        return self.comparisons.reduce(Tally.of, Tally.merged, self.n_objects)

    def evaluate(
        self, compiled: Compiled, points: PointArray, n_threads: int | None = None
    ) -> tuple[float, PointArray]:
        """Return the weighted sum of a loss over all comparisons and its gradient at the points, (n, p).

        Workers use the threads that they were started with.
        """
        return self.comparisons.reduce(_evaluate, _added, compiled, points)

    def sample(self, n_rows: int) -> Rows:
        """Return at most so many comparisons: those that would be taken in memory."""
        return self.comparisons.sample(n_rows)


def _evaluate(blocks: Sequence[Rows], compiled: Compiled, points: PointArray) -> tuple[float, PointArray]:
    from nearer.optimize import kernels

    gradient = np.zeros_like(points)
    return sum(kernels.add_gradient(compiled, points, rows, gradient) for rows in blocks), gradient


def _added(one: tuple[float, PointArray], other: tuple[float, PointArray]) -> tuple[float, PointArray]:
    return one[0] + other[0], np.add(one[1], other[1], out=one[1])

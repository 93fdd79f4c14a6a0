"""Where the comparisons of a problem over points come from, and what is worked out over all of them.

A *source* gives out blocks of rows. The sums that a fit needs, losses with their gradients, pulls and tallies, are sums
over blocks; a source whose rows lie elsewhere, on a cluster or on a device, works them out there instead.

Comparisons in memory and those in files are summed over the same pieces in the same order, whatever files there are: a
fit finds the same map to the last bit, unless objects that nothing mentions are left out of the one in memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray, PointArray
from nearer.data.cluster import ComparisonsOnCluster, on_running_cluster
from nearer.data.comparisons import Comparisons
from nearer.data.rows import BLOCK_ROWS, Rows, sample_places
from nearer.data.streamed import ComparisonsFile, StreamedComparisons
from nearer.model import Compiled

_CHUNKS_PER_BLOCK = 8  # so that the streams of eight threads hold no more than one block would


class Tally(NamedTuple):
    """What one pass over all comparisons counts.

    Attributes
    ----------
    mentions : ndarray, shape (n,)
        The total weight of the comparisons that mention each object; 0 for those that nothing moves.
    parents : ndarray of int, shape (n,)
        A forest whose trees are the groups of objects that comparisons connect; a root is its own parent.
    total_weight : float
        The number of comparisons, if each has weight 1.
    """

    mentions: FloatArray
    parents: NDArray[np.intp]
    total_weight: float

    @classmethod
    def of(cls, blocks: Iterable[Rows], n_objects: int) -> Tally:
        """Count blocks of rows."""
        from nearer.optimize import kernels

        mentions, parents, total = np.zeros(n_objects), np.arange(n_objects), 0.0
        for rows in blocks:
            mentions += kernels.mentions(rows, n_objects)
            kernels.unite(rows, parents)
            total += float(rows.weights.sum() if rows.weights.size else len(rows))
        return cls(mentions, parents, total)

    def merged(self, other: Tally) -> Tally:
        """Return the tally of the comparisons of both."""
        from nearer.optimize import kernels

        parents = self.parents.copy()
        # Each object and its parent, as a pair to unite.
        kernels.unite(Rows.of(np.column_stack([np.arange(len(parents)), other.parents, other.parents])), parents)
        return Tally(self.mentions + other.mentions, parents, self.total_weight + other.total_weight)

    @property
    def n_groups(self) -> int:
        """The number of groups of objects that no comparison connects; objects in none of them do not count."""
        return int(np.sum((self.parents == np.arange(len(self.parents))) & (self.mentions > 0)))


class Source(ABC):
    """Where comparisons come from."""

    @property
    @abstractmethod
    def n_objects(self) -> int:
        """The number of objects."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of comparisons."""

    @abstractmethod
    def blocks(self, rng: np.random.Generator | None = None) -> Iterator[Rows]:
        """Return all comparisons, some at a time; blocks in random order if ``rng`` is given."""

    def check_blocks(self) -> None:  # noqa: B027 - most sources have nothing to refuse
        """Refuse where `blocks` would; a solver that needs them asks before it begins."""

    @cached_property
    def tally(self) -> Tally:
        """What one pass over all comparisons counts."""
        return Tally.of(self.blocks(), self.n_objects)

    def evaluate(
        self, compiled: Compiled, points: PointArray, n_threads: int | None = None
    ) -> tuple[float, PointArray]:
        """Return the weighted sum of a loss over all comparisons and its gradient at the points, (n, p)."""
        return evaluate_blocks(compiled, points, self.blocks(), n_threads)

    def beside(self, block: FloatArray) -> Any:
        """Return a tall matrix, (n, k), where the comparisons are, for `evaluate` to take and return its like."""
        return block

    def sample(self, n_rows: int) -> Rows:
        """Return at most so many comparisons, evenly spaced in the first block."""
        return next(self.blocks()).thinned(n_rows)


def evaluate_blocks(
    compiled: Compiled, points: PointArray, blocks: Iterator[Rows], n_threads: int | None = None
) -> tuple[float, PointArray]:
    """Return the weighted sum of a loss over blocks of rows and its gradient, added up in the order of the blocks."""
    from nearer.optimize import kernels

    total, gradient = 0.0, None
    for rows in blocks:
        value, slope = kernels.evaluate(compiled, points, rows, n_threads)
        total += value
        gradient = slope if gradient is None else np.add(gradient, slope, out=gradient)
    assert gradient is not None
    return total, gradient


class Cuttable(Source):
    """Comparisons that can be read from anywhere, one after another: what memory and files have in common."""

    @property
    @abstractmethod
    def block_rows(self) -> int:
        """How many rows are read at a time."""

    @abstractmethod
    def between(self, cuts: Sequence[int]) -> Generator[Rows, None, None]:
        """Return the comparisons from the first of these rising row numbers to the last, cut at each of them."""

    def evaluate(
        self, compiled: Compiled, points: PointArray, n_threads: int | None = None
    ) -> tuple[float, PointArray]:
        """Return the weighted sum of a loss over all comparisons and its gradient at the points, (n, p)."""
        from nearer.optimize import kernels

        chunk_rows = max(self.block_rows // _CHUNKS_PER_BLOCK, 1)
        return kernels.evaluate_stream(compiled, points, self.between, len(self), chunk_rows, n_threads)

    def sample(self, n_rows: int) -> Rows:
        """Return at most so many comparisons, evenly spaced; of very many those of a few places all over them."""
        parts = [
            rows.taken(slice(None, None, run.step))
            for run in sample_places(len(self), n_rows, self.block_rows)
            for rows in self.between([run.start, run.stop])
        ]
        if len(parts) == 1:
            return parts[0]
        return Rows.of(*(np.concatenate(columns)[:n_rows] for columns in zip(*parts, strict=True)))


@dataclass(frozen=True, eq=False)
class InMemory(Cuttable):
    """Comparisons that fit into memory, without a copy."""

    comparisons: Comparisons

    @property
    def n_objects(self) -> int:
        """The number of objects."""
        return self.comparisons.n_objects

    def __len__(self) -> int:
        return len(self.comparisons)

    @property
    def block_rows(self) -> int:
        """How many rows a file is read by."""
        return BLOCK_ROWS

    @cached_property
    def rows(self) -> Rows:
        """All comparisons."""
        return rows_of(self.comparisons)

    def blocks(self, rng: np.random.Generator | None = None) -> Iterator[Rows]:
        """Return blocks as a file would give them; but all as one where the order is to be random."""
        m = len(self)
        return iter([self.rows]) if rng is not None else self.between([*range(0, m, self.block_rows), m])

    def between(self, cuts: Sequence[int]) -> Generator[Rows, None, None]:
        """Return the comparisons from the first of these rising row numbers to the last, cut at each of them."""
        whole = len(self)  # needs no slice, and small problems are evaluated thousands of times
        return (
            self.rows if stop - start == whole else self.rows.taken(slice(start, stop))
            for start, stop in pairwise(cuts)
        )


@dataclass(frozen=True, eq=False)
class Streamed(Cuttable):
    """Comparisons in files, read a block at a time."""

    comparisons: ComparisonsFile

    @property
    def n_objects(self) -> int:
        """The number of objects."""
        return self.comparisons.n_objects

    def __len__(self) -> int:
        return len(self.comparisons)

    @property
    def block_rows(self) -> int:
        """How many rows are read at a time."""
        return self.comparisons.block_rows

    def blocks(self, rng: np.random.Generator | None = None) -> Iterator[Rows]:
        """Return the blocks."""
        return self.comparisons.blocks(rng)

    def between(self, cuts: Sequence[int]) -> Generator[Rows, None, None]:
        """Return the comparisons from the first of these rising row numbers to the last, cut at each of them."""
        return self.comparisons.between(cuts)


def rows_of(comparisons: Comparisons) -> Rows:
    """Return comparisons as the compiled loops take them, without a copy."""
    return Rows.of(comparisons.rows, comparisons.answers, comparisons.weights)


def source_of(judgments: Comparisons | StreamedComparisons, *, on_cluster: bool = False) -> Source:
    """Return where the rows of judgments come from; those of files from the workers of a running client, if wanted."""
    if isinstance(judgments, Comparisons):
        return InMemory(judgments)
    held = judgments
    if on_cluster and isinstance(judgments, ComparisonsFile):
        held = on_running_cluster(judgments) or judgments
    if isinstance(held, ComparisonsOnCluster):
        from nearer.optimize.problems.cluster import OnCluster  # which is a Source

        return OnCluster(held)
    assert isinstance(held, ComparisonsFile)
    return Streamed(held)

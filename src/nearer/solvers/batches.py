"""Some comparisons at a time: the batches and the samples of stochastic descent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from nearer.data.packed import Rows
from nearer.problems.points import FactoredProblem, Source

ROWS_PER_OBJECT, SMALLEST_BATCH, MOST_BATCH_SHARE = 4, 1000, 0.1
CHUNK = 2**17  # rows that are shuffled at a time: few enough to be taken from the cache
SMALLEST_SAVING = 4  # how many times a sample must go into the whole to be worth its while


def default_batch_size(n_objects: int, n_comparisons: int) -> int:
    """Return a batch large enough that the moves of all points, O(n p), cost no more than its loss.

    Examples
    --------
    >>> default_batch_size(100, 50_000), default_batch_size(5000, 10**6), default_batch_size(100, 500)
    (1000, 20000, 50)
    """
    return max(1, min(max(ROWS_PER_OBJECT * n_objects, SMALLEST_BATCH), int(MOST_BATCH_SHARE * n_comparisons)))


def batches(source: Source, size: int, rng: np.random.Generator) -> Iterator[Rows]:
    """Return all comparisons, each once, about ``size`` at a time and in random order.

    Rows are often sorted by object. A chunk therefore takes every k-th row of its block, and is shuffled before it is
    cut into batches; more than one chunk is never copied.
    """
    for rows in source.blocks(rng):
        n_chunks = -(-len(rows) // CHUNK)
        for first in rng.permutation(n_chunks):
            of_chunk = np.arange(first, len(rows), n_chunks)
            rng.shuffle(of_chunk)
            # take: a third of the time of rows[of_chunk]
            chunk = Rows.of(*(part.take(of_chunk, axis=0) if part.size else part for part in rows))
            count = max(1, round(len(of_chunk) / size))
            for number in range(count):
                cut = slice(len(of_chunk) * number // count, len(of_chunk) * (number + 1) // count)
                yield Rows(chunk.objects[cut], chunk.answers[cut], chunk.weights[cut])


@dataclass(frozen=True, eq=False)
class Sample:
    """Some comparisons of a source."""

    rows: Rows
    n_objects: int

    def __len__(self) -> int:
        return len(self.rows)

    def blocks(self, rng: np.random.Generator | None = None) -> Iterator[Rows]:
        """Return the one block."""
        yield self.rows


def sampled(problem: FactoredProblem, n_rows: int, rng: np.random.Generator) -> FactoredProblem | None:
    """Return the problem of about so many comparisons; None if that saves little, or leaves out an object."""
    from nearer import kernels

    if SMALLEST_SAVING * n_rows > len(problem.source):
        return None
    parts, count = [], 0
    for batch in batches(problem.source, CHUNK, rng):
        parts.append(batch)
        count += len(batch)
        if count >= n_rows:
            break
    rows = kernels.Rows.of(*(np.concatenate(columns)[:n_rows] for columns in zip(*parts, strict=True)))
    if (kernels.mentions(rows, problem.n_objects)[problem.mentions > 0] == 0).any():
        return None
    return replace(problem, source=Sample(rows, problem.n_objects))

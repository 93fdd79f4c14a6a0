"""Sums over comparisons that come in pieces, the same to the last bit wherever they come from.

All m comparisons over n objects are cut into 1, 2, 4 or 8 *ranges*, as `compiling.blocks` says, and each
range into *chunks* of so many rows. A range has one gradient, which the loop over each of its chunks adds to, and a
value that is the sum of theirs. Both depend on m, n and the rows in a chunk, not on the number of threads nor on
whether the rows lie in memory or in files of whatever sizes.

A thread takes ranges that follow each other, and reads their rows as one stream: files are read from front to back, at
as many places as there are threads.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from threading import Event
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer.data.rows import Rows
from nearer.model import Compiled
from nearer.optimize.kernels import points as _points
from nearer.optimize.kernels.compiling import blocks, default_threads, run


def evaluate_stream(
    compiled: Compiled,
    points: NDArray[Any],
    between: Callable[[Sequence[int]], Generator[Rows, None, None]],
    n_rows: int,
    chunk_rows: int,
    n_threads: int | None = None,
) -> tuple[float, NDArray[Any]]:
    """Return the weighted sum of a loss over comparisons and its gradient, as `nearer.optimize.kernels.evaluate` does.

    Parameters
    ----------
    compiled : Compiled
        Which loop, and its numbers.
    points : ndarray of float64 or float32, shape (n, p), in C order
    between : callable
        Called with rising row numbers, returns the rows between each and the next; in several threads at once.
    n_rows : int
        The number m of all comparisons.
    chunk_rows : int
        The most rows of a chunk.
    n_threads : int, optional
        As many as the machine allows if left out.

    Returns
    -------
    value : float
    gradient : ndarray, shape (n, p)
    """
    bounds = blocks(n_rows, len(points))
    count = len(bounds) - 1
    if count == 1 and n_rows <= chunk_rows:  # what follows takes microseconds, of which small problems have few
        (rows,) = between(bounds)
        return _points.evaluate(compiled, points, rows, n_threads)
    threads = min(count, n_threads or default_threads())
    values = np.zeros(count)
    gradients = _points.separate_gradients(count, points)
    ended = Event()

    def work(thread: int) -> None:
        cuts, ranges = [bounds[count * thread // threads]], []
        for number in range(count * thread // threads, count * (thread + 1) // threads):
            stops = [*range(bounds[number] + chunk_rows, bounds[number + 1], chunk_rows), bounds[number + 1]]
            cuts += stops
            ranges += [number] * len(stops)
        with closing(between(cuts)) as chunks:  # a thread of its own may read ahead
            for number, rows in zip(ranges, chunks, strict=False):
                if ended.is_set():
                    break
                values[number] += _points.add_gradient(compiled, points, rows, gradients[number])

    try:
        run(work, threads, threads)
    finally:
        ended.set()  # Ctrl-C, or one thread's file that cannot be read: the others need not go on to their end
    for other in gradients[1:]:
        gradients[0] += other
    return float(sum(values.tolist())), gradients[0]

"""Comparisons that stay in a file: read a block at a time, never all at once.

`ComparisonsFile` checks every row of a NumPy or Parquet file once, when it is made, and from then on gives out blocks
that inner code can trust.
"""

from __future__ import annotations

import multiprocessing
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nearer.common.parameters import check_integer
from nearer.data import rows as _rows
from nearer.data.block_files import Block, open_table
from nearer.data.labels import read_answers, show
from nearer.data.rows import Rows
from nearer.data.streamed import StreamedComparisons

if TYPE_CHECKING:
    from os import PathLike


__all__ = ["ComparisonsFile"]

_MOST_OBJECTS = 2**31  # beyond this an "index" is an identifier


class ComparisonsFile(StreamedComparisons):
    """Comparisons in a file that need not fit into memory.

    Every row is checked once, here. ``fit`` takes it in place of a `Comparisons`, with ``solver="svrg"``, which reads
    the file some twenty times in all, or ``solver="factored"``, which reads it once an iteration.

    Parameters
    ----------
    path : str or path
        A ``.npy`` file of integers, shape (m, 3) or (m, 4) and in C order, or a ``.parquet`` file with three or four
        columns of integers. A Parquet file may have a column ``answer`` (+1 and -1, or bool) and one ``weight``.
    n_objects : int, optional
        The number of objects; the largest index plus one if left out.
    block_rows : int
        Rows to read at a time. A few blocks are in memory at once.
    columns : sequence of str, optional
        Names of the three or four columns of a Parquet file that hold objects; ``anchor, near, far`` or ``i, j, l, k``
        (near pair, far pair) if left out.

    Attributes
    ----------
    path : Path
    n_objects : int
    objects : ndarray, shape (n_objects,)
        The indices 0..n-1, which stand for labels.
    block_rows : int

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name) / "triplets.npy"
    >>> np.save(path, np.array([[0, 1, 2], [2, 1, 0], [1, 2, 3]]))
    >>> judgments = ComparisonsFile(path)
    >>> judgments
    ComparisonsFile('triplets.npy', 3 triplets over 4 objects)
    >>> from nearer.embedding import STE
    >>> STE(solver="svrg", random_state=0).fit(judgments).embedding_.shape
    (4, 2)
    >>> folder.cleanup()
    """

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        n_objects: int | None = None,
        block_rows: int = 2**20,
        columns: Sequence[str] | None = None,
    ) -> None:
        self.path = Path(path)
        self.block_rows = check_integer("block_rows", block_rows, 1)
        self._state = _state(self.path)
        self._table = open_table(self.path, columns)
        known = None if n_objects is None else _rows.read_n_objects(n_objects)
        self.n_objects, self._width = self._checked(known)

    def __len__(self) -> int:
        return len(self._table)

    @property
    def title(self) -> str:
        """The name of the file."""
        return self.path.name

    @property
    def is_triplets(self) -> bool:
        """Whether the comparisons are triplets."""
        return self._width == 3

    def blocks(self, rng: np.random.Generator | None = None) -> Iterator[Rows]:
        """Return all comparisons, a block at a time; in random order if ``rng`` is given.

        Parameters
        ----------
        rng : numpy Generator, optional

        Yields
        ------
        Rows
        """
        if _state(self.path) != self._state:  # the compiled loops trust the indices
            raise ValueError(f"{self.path} has changed since it was checked; make a new ComparisonsFile")
        for objects, answers, weights in self._table.blocks(self.block_rows, rng):
            if answers is not None and answers.dtype.kind == "b":
                answers = read_answers(answers, len(answers))
            # The loops are compiled for 32 and 64 bits; blocks of those are not copied.
            wide = objects if objects.dtype in (np.int32, np.int64) else objects.astype(np.int64)
            yield Rows.of(wide, answers, weights)

    def _checked(self, n_objects: int | None) -> tuple[int, int]:
        """Return the number of objects and of columns, once every row has passed."""
        offset, lowest, highest, width, total = 0, _MOST_OBJECTS, -1, 0, 0.0
        # Workers of a pool stay silent, as in the driver of the solvers.
        silent = True if multiprocessing.current_process().name != "MainProcess" else None
        description = f"check {self.path.name}"
        from tqdm import tqdm

        with tqdm(
            total=len(self), desc=description, unit="row", unit_scale=True, delay=1, disable=silent, leave=False
        ) as bar:
            for block in self._table.blocks(self.block_rows, None):
                self._check(block, offset, _MOST_OBJECTS if n_objects is None else n_objects, n_objects is not None)
                lowest = min(lowest, int(block.objects.min()))
                highest = max(highest, int(block.objects.max()))
                total += len(block.objects) if block.weights is None else float(block.weights.sum())
                width = block.objects.shape[1]
                offset += len(block.objects)
                bar.update(len(block.objects))
        if not 0 < total < np.inf:
            raise ValueError(f"{self.path}: the weights have a sum of {total:g}; it must be positive and finite")
        if n_objects is None and lowest > 0:
            warnings.warn(
                f"{self.path}: index 0 never occurs, the lowest is {lowest}; if the objects are numbered from 1, "
                "subtract 1; if these are identifiers, number the objects 0..n-1",
                UserWarning,
                stacklevel=3,
            )
        return highest + 1 if n_objects is None else n_objects, width

    def _check(self, block: Block, offset: int, limit: int, given: bool) -> None:
        def refuse(bad: NDArray[np.bool_], what: Callable[[int], str], remedy: str) -> None:
            if bad.any():
                row = int(np.flatnonzero(bad if bad.ndim == 1 else bad.any(axis=1))[0])
                raise ValueError(f"{self.path}: row {offset + row}: {what(row)}; {remedy}")

        rows, answers, weights = block
        numbering = "objects are numbered 0..n-1"
        if rows.min() < 0:
            refuse(rows < 0, lambda row: f"index {rows[row].min()} is negative", numbering)
        if rows.max() >= limit:
            size, remedy = "the largest index supported", numbering
            if given:
                size, remedy = f"n_objects={limit}", "give a larger n_objects, or subtract 1 if numbered from 1"
            refuse(rows >= limit, lambda row: f"index {rows[row].max()} is out of range for {size}", remedy)
        degenerate = "write the file without such rows"
        refuse(_rows.itself(rows), lambda row: f"{rows[row].tolist()} compares an object with itself", degenerate)
        refuse(
            _rows.identical(rows), lambda row: f"near and far are the same pair, {rows[row, :2].tolist()}", degenerate
        )
        if answers is not None and answers.dtype.kind != "b":
            bad = (answers != 1) & (answers != -1)
            refuse(bad, lambda row: f"answer is {show(answers[row])}", "answers are +1 and -1, or bools")
        if weights is not None:
            bad = ~(np.isfinite(weights) & (weights >= 0))
            refuse(bad, lambda row: f"weight is {show(weights[row])}", "weights are finite and nonnegative")


def _state(path: Path) -> tuple[int, int]:
    """Return what changes when a file is written to."""
    status = path.stat()
    return status.st_size, status.st_mtime_ns

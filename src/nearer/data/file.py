"""Comparisons that stay in files: read a block at a time, never all at once.

`ComparisonsFile` checks every row of NumPy or Parquet files once, when it is made, and from then on gives out blocks
that inner code can trust. While a block is worked on, a thread reads the next.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from itertools import pairwise
from os import PathLike
from pathlib import Path

import numpy as np

from nearer._common.parameters import check_integer
from nearer._common.progress import progress_bar
from nearer.data.locations import Places, find_files, is_url
from nearer.data.parts import FilePart, cut, open_parts
from nearer.data.read_ahead import read_ahead
from nearer.data.row_checks import Extent
from nearer.data.rows import BLOCK_ROWS, Rows, read_n_objects
from nearer.data.streamed import StreamedComparisons

__all__ = ["ComparisonsFile"]


class ComparisonsFile(StreamedComparisons):
    """Comparisons in one or many files that need not fit into memory.

    Every row is checked once, here. ``fit`` takes it in place of a `Comparisons`, with ``solver="factored"``, which
    reads the files once an iteration and finds the map of the same comparisons in memory, to the last bit if they
    mention every object, or ``solver="svrg"``, which reads them some twenty times in all. With "factored", while a
    client of dask.distributed is running, its workers read the files and keep the rows.

    Parameters
    ----------
    path : str, path, or list of these
        A ``.npy`` file of integers, shape (m, 3) or (m, 4) and in C order, or a ``.parquet`` file with three or four
        columns of integers. A Parquet file may have a column ``answer`` (+1 and -1, or bool) and one ``weight``. Or
        many such files, all with the same columns: a folder, a pattern such as ``"many/part-*.parquet"``, or a list.
        Those of a folder or pattern are read in natural order, part-2 before part-10; hidden ones and those that begin
        with an underscore are passed over. Parquet may lie behind a URL, such as ``"s3://bucket/many"``, if fsspec and
        its package for the protocol are installed.
    n_objects : int, optional
        The number of objects; the largest index plus one if left out.
    block_rows : int
        Rows to read at a time; a few blocks are in memory at once. Any number gives the same sums to rounding, and the
        default those of comparisons in memory to the last bit.
    columns : sequence of str, optional
        Names of the three or four columns of a Parquet file that hold objects; ``anchor, near, far`` or ``i, j, l, k``
        (near pair, far pair) if left out.

    Attributes
    ----------
    path : Path, str or list of these
        A text if it is a URL.
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

    A folder of files:

    >>> np.save(Path(folder.name) / "more.npy", np.array([[3, 1, 2]]))
    >>> len(ComparisonsFile(folder.name))
    4
    >>> folder.cleanup()
    """

    def __init__(
        self,
        path: Places,
        *,
        n_objects: int | None = None,
        block_rows: int = BLOCK_ROWS,
        columns: Sequence[str] | None = None,
    ) -> None:
        self.path: Path | str | list[Path | str]
        self.path = _place(path) if isinstance(path, str | PathLike) else [_place(each) for each in path]
        self.block_rows = check_integer("block_rows", block_rows, 1)
        known = None if n_objects is None else read_n_objects(n_objects)
        found = find_files(path)
        self._title = found.title
        self._parts = open_parts(found, columns)
        self._firsts = [0, *np.cumsum([len(part) for part in self._parts]).tolist()]
        self._width = len(self._parts[0].table.columns)
        name = str(found.files[0]) if len(found.files) == 1 else found.title
        self.n_objects = self._checked(known).n_objects(known, name)

    def __len__(self) -> int:
        return int(self._firsts[-1])

    @property
    def title(self) -> str:
        """The name of the file; of many, where they lie and how many there are."""
        return self._title

    @property
    def is_triplets(self) -> bool:
        """Whether the comparisons are triplets."""
        return self._width == 3

    def blocks(self, rng: np.random.Generator | None = None) -> Generator[Rows, None, None]:
        """Return all comparisons, a block at a time; in random order if ``rng`` is given.

        Random order is one of runs of rows or of row groups, out of all files; blocks are put together from them.

        Parameters
        ----------
        rng : numpy Generator, optional

        Yields
        ------
        Rows
        """
        cuts = [*range(0, len(self), self.block_rows), len(self)]
        if rng is None:
            return self.between(cuts)
        units = [unit for part in self._parts for unit in part.units(self.block_rows)]
        # The order is drawn here and now: the thread that reads must not share the generator with the caller.
        return _read([units[place] for place in rng.permutation(len(units))], cuts)

    def between(self, cuts: Sequence[int]) -> Generator[Rows, None, None]:
        """Return the comparisons from the first of these rising row numbers to the last, cut at each of them.

        Parameters
        ----------
        cuts : sequence of int

        Yields
        ------
        Rows
        """
        pieces = []
        for part, first in zip(self._parts, self._firsts, strict=False):
            start, stop = max(cuts[0] - first, 0), min(cuts[-1] - first, len(part))
            if start < stop:
                pieces.append(part.taken(start, stop))
        return _read(pieces, cuts)

    def parts(self, most_rows: int | None = None) -> list[FilePart]:
        """Return the comparisons in parts that pickle as names: one for each file, in order.

        Parameters
        ----------
        most_rows : int, optional
            Files of more rows are cut into several parts; Parquet between row groups only.

        Returns
        -------
        list of FilePart
            With a length each, and a method ``blocks(block_rows)`` that yields `Rows`.

        Examples
        --------
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> for name, m in (("first", 1), ("second", 5)):
        ...     np.save(Path(folder.name) / name, np.array([[0, 1, 2]] * m))
        >>> judgments = ComparisonsFile(folder.name)
        >>> [len(part) for part in judgments.parts()], [len(part) for part in judgments.parts(3)]
        ([1, 5], [1, 3, 2])
        >>> folder.cleanup()
        """
        if most_rows is None:
            return [*self._parts]
        most_rows = check_integer("most_rows", most_rows, 1)
        return [piece for part in self._parts for piece in part.split(most_rows)]

    def _checked(self, n_objects: int | None) -> Extent:
        """Return what the check finds out about rows that all pass."""
        with progress_bar(f"check {self.title}", len(self)) as bar:
            return Extent.over([part.check(n_objects, self.block_rows, bar.update) for part in self._parts])


def _place(path: str | PathLike[str]) -> Path | str:
    return path if isinstance(path, str) and is_url(path) else Path(path)


def _read(pieces: list[FilePart], cuts: Sequence[int]) -> Generator[Rows, None, None]:
    """Return the rows of the pieces, one after another, in blocks as long as the cuts are apart."""
    lengths = [stop - start for start, stop in pairwise(cuts)]
    rows = (rows for piece in pieces for rows in piece.blocks(max(lengths)))
    blocks = cut(rows, iter(lengths))
    return blocks if len(lengths) == 1 else read_ahead(blocks)

"""Comparisons that no single process holds all at once, and those in files, read a block at a time.

`ComparisonsFile` checks every row once, when it is made, and from then on yields blocks that inner code can trust.
While a block is processed, a thread reads the next: reading and decompressing release the interpreter's lock, as the
compiled loops do, and a pass takes the time of the slower of the two and not of both.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from os import PathLike
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Semaphore, Thread
from typing import Any, NoReturn, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from nearer._common.parameters import check_integer
from nearer._common.progress import progress_bar
from nearer.data.comparisons import Comparisons
from nearer.data.files import Block, RowTable, Sources, TableFile, find_files, is_url, open_table
from nearer.data.labels import read_answers
from nearer.data.rows import BLOCK_ROWS, Extent, Rows, check_block, read_n_objects


class StreamedComparisons(ABC):
    """Comparisons that were checked once, where they are, and are given out a block at a time."""

    n_objects: int
    _title: str
    _length: int
    _width: int

    def __len__(self) -> int:
        return self._length

    @property
    def title(self) -> str:
        """What to call them in a sentence, such as the name of their file."""
        return self._title

    @property
    def is_triplets(self) -> bool:
        """Whether the comparisons are triplets."""
        return self._width == 3

    @abstractmethod
    def blocks(self, rng: np.random.Generator | None = None) -> Iterator[Rows]:
        """Return all comparisons, a block at a time; in random order if ``rng`` is given."""

    @property
    def objects(self) -> NDArray[np.intp]:
        """The indices 0..n-1, which stand for labels."""
        return np.arange(self.n_objects)

    def __repr__(self) -> str:
        kind = ("triplet" if self.is_triplets else "quadruplet") + ("s" if len(self) != 1 else "")
        return f"{type(self).__name__}({self.title!r}, {len(self)} {kind} over {self.n_objects} objects)"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        raise TypeError(
            f"a {type(self).__name__} is read a block at a time, and only fit takes it; "
            "load the rows that you need, for example np.load('rows.npy', mmap_mode='r')[:1000]"
        )


Judgments: TypeAlias = Comparisons | StreamedComparisons  # in memory, or elsewhere


REMEDY = "write the file without such rows"


@dataclass(frozen=True)
class FilePart:
    """Rows ``start`` to ``stop`` of one file."""

    file: TableFile
    table: RowTable
    state: tuple[object, ...]  # changes when the file is written to
    start: int
    stop: int

    @property
    def title(self) -> str:
        """The name of the file."""
        return self.file.name

    def __len__(self) -> int:
        return self.stop - self.start

    def check(self, n_objects: int | None, block_rows: int, report: Callable[[int], object] = int) -> Extent:
        """Raise ValueError for rows that are no comparisons; report the number of rows of each block that passed."""
        offset, extent = self.start, Extent()
        for block in read_ahead(self.table.read(self.start, self.stop, block_rows, None)):
            passed = check_block(*block, name=str(self.file), offset=offset, n_objects=n_objects, remedy=REMEDY)
            extent = Extent.merge((extent, passed))
            offset += len(block.objects)
            report(len(block.objects))
        return extent

    def blocks(self, block_rows: int) -> Generator[Rows, None, None]:
        """Return the rows in order, at most ``block_rows`` at a time; they must have passed the check."""
        if self.file.state() != self.state:  # the compiled loops trust the indices
            raise ValueError(f"{self.file} has changed since it was checked; make a new ComparisonsFile")
        # Indices below 2^31: 32 bits hold them, in half the memory.
        yield from map(pack_block, self.table.read(self.start, self.stop, block_rows, np.int32))

    def chunks(self, block_rows: int) -> list[FilePart]:
        """Return the part in pieces that it is best read by: runs that make up a block, or row groups."""
        bounds = np.unique(np.clip(self.table.bounds(block_rows), self.start, self.stop)).tolist()
        return [replace(self, start=start, stop=stop) for start, stop in pairwise(bounds)]

    def split(self, max_rows: int) -> list[FilePart]:
        """Return the part in pieces of at most ``max_rows``, where row groups are no longer than that."""
        pieces: list[FilePart] = []
        for chunk in self.chunks(max_rows):
            if pieces and chunk.stop - pieces[-1].start <= max_rows:
                pieces[-1] = replace(pieces[-1], stop=chunk.stop)
            else:
                pieces.append(chunk)
        return pieces


def pack_block(block: Block) -> Rows:
    """Return the rows of a file as the loops take them, their indices in 32 bits."""
    objects, answers, weights = block
    if answers is not None and answers.dtype.kind == "b":
        answers = read_answers(answers, len(answers))
    return Rows.of(objects.astype(np.int32, copy=False), answers, weights)


def _open_parts(files: Sequence[TableFile], name: str, columns: Sequence[str] | None) -> list[FilePart]:
    """Return one part for each file that holds rows; all must have the same columns."""
    parts: list[FilePart] = []
    for file in files:
        state, table = file.state(), open_table(file, columns)
        parts.append(FilePart(file, table, state, 0, len(table)))
        first = parts[0].table
        if (table.columns, table.extra_columns) != (first.columns, first.extra_columns):
            raise ValueError(
                f"{file} holds {_describe_columns(table)}, but {files[0].name} {_describe_columns(first)}; "
                "all files must have the same columns"
            )
    full = [part for part in parts if len(part)]  # programs that write many files write empty ones, too
    if not full:
        raise ValueError(f"{name} holds no comparisons; check how it was written")
    return full


def _describe_columns(table: RowTable) -> str:
    names = [name for name in (*table.columns, *table.extra_columns) if name]
    return f"the columns {', '.join(names)}" if names else f"{len(table.columns)} columns"


def rechunk(blocks: Iterator[Rows], lengths: Iterator[int]) -> Generator[Rows, None, None]:
    """Return the same rows in blocks of these lengths, copied only where a block is put together from several."""
    rest: Rows | None = None
    for length in lengths:
        pieces, count = [], 0
        while count < length:
            rows = next(blocks) if rest is None else rest
            here = min(len(rows), length - count)
            pieces.append(rows if here == len(rows) else rows.take(slice(0, here)))
            rest = None if here == len(rows) else rows.take(slice(here, None))
            count += here
        yield pieces[0] if len(pieces) == 1 else Rows.join(pieces)


Item = TypeVar("Item")


def read_ahead(items: Generator[Item, None, None], depth: int = 2) -> Generator[Item, None, None]:
    """Return the items in order, up to ``depth`` of them made in advance by a thread."""
    # What the items raise is raised here, in its order. The thread ends with this iterator, whether that is exhausted,
    # closed early, or ended by an exception such as KeyboardInterrupt.
    ready: SimpleQueue[tuple[Item] | BaseException | None] = SimpleQueue()  # None: that was all
    room, stopped = Semaphore(depth), Event()

    def fill() -> None:
        last: BaseException | None = None
        try:
            while room.acquire() and not stopped.is_set():
                ready.put((next(items),))
        except StopIteration:
            pass
        except BaseException as error:  # for the caller to deal with
            last = error
        finally:
            items.close()
            ready.put(last)

    thread = Thread(target=fill, name="nearer-read-ahead", daemon=True)
    thread.start()
    try:
        while (item := ready.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            room.release()
            yield item[0]
            del item  # or the block that the caller is done with would live until the next has come
    finally:
        stopped.set()
        room.release()  # in case it waits for that
        thread.join()


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
        The number of objects; by default the largest index plus one.
    block_rows : int
        Rows to read at a time; a few blocks are in memory at once. Any number gives the same sums to rounding, and the
        default those of comparisons in memory to the last bit.
    columns : sequence of str, optional
        Names of the three or four columns of a Parquet file that hold objects; by default ``anchor, near, far`` or
        ``i, j, l, k`` (near pair, far pair).

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
    >>> np.save(Path(folder.name) / "more.npy", np.array([[3, 1, 2]]))
    >>> len(ComparisonsFile(folder.name))
    4
    >>> folder.cleanup()
    """

    def __init__(
        self,
        path: Sources,
        *,
        n_objects: int | None = None,
        block_rows: int = BLOCK_ROWS,
        columns: Sequence[str] | None = None,
    ) -> None:
        self.path: Path | str | list[Path | str]
        self.path = _as_path(path) if isinstance(path, str | PathLike) else [_as_path(each) for each in path]
        self.block_rows = check_integer("block_rows", block_rows, 1)
        known = None if n_objects is None else read_n_objects(n_objects)
        files, self._title = find_files(path)
        name = str(files[0]) if len(files) == 1 else self._title
        self._parts = _open_parts(files, name, columns)
        self._firsts = [0, *np.cumsum([len(part) for part in self._parts]).tolist()]
        self._length, self._width = int(self._firsts[-1]), len(self._parts[0].table.columns)
        with progress_bar(f"check {self.title}", len(self)) as bar:
            extent = Extent.merge([part.check(known, self.block_rows, bar.update) for part in self._parts])
        self.n_objects = extent.n_objects(known, name)

    def blocks(self, rng: np.random.Generator | None = None) -> Generator[Rows, None, None]:
        """Return all comparisons, a block at a time; in random order if ``rng`` is given.

        Random order is one of runs of rows or of row groups, out of all files; blocks are put together from them.
        """
        cuts = [*range(0, len(self), self.block_rows), len(self)]
        if rng is None:
            return self.between(cuts)
        chunks = [chunk for part in self._parts for chunk in part.chunks(self.block_rows)]
        # The order is drawn here and now: the thread that reads must not share the generator with the caller.
        return _read_pieces([chunks[number] for number in rng.permutation(len(chunks))], cuts)

    def between(self, cuts: Sequence[int]) -> Generator[Rows, None, None]:
        """Return the comparisons from the first of these rising row numbers to the last, cut at each of them."""
        pieces = []
        for part, first in zip(self._parts, self._firsts, strict=False):
            start, stop = max(cuts[0] - first, 0), min(cuts[-1] - first, len(part))
            if start < stop:
                pieces.append(replace(part, start=part.start + start, stop=part.start + stop))
        return _read_pieces(pieces, cuts)

    def parts(self, max_rows: int | None = None) -> list[FilePart]:
        """Return the comparisons in parts that pickle as names: one for each file, in order.

        Parameters
        ----------
        max_rows : int, optional
            Files of more rows are cut into several parts; Parquet between row groups only.

        Returns
        -------
        list of FilePart
            With a length each, and a method ``blocks(block_rows)`` that yields `Rows`.
        """
        if max_rows is None:
            return [*self._parts]
        max_rows = check_integer("max_rows", max_rows, 1)
        return [piece for part in self._parts for piece in part.split(max_rows)]


def _as_path(path: str | PathLike[str]) -> Path | str:
    return path if isinstance(path, str) and is_url(path) else Path(path)


def _read_pieces(pieces: list[FilePart], cuts: Sequence[int]) -> Generator[Rows, None, None]:
    """Return the rows of the pieces, one after another, in blocks as long as the cuts are apart."""
    lengths = [stop - start for start, stop in pairwise(cuts)]
    rows = (rows for piece in pieces for rows in piece.blocks(max(lengths)))
    blocks = rechunk(rows, iter(lengths))
    return blocks if len(lengths) == 1 else read_ahead(blocks)

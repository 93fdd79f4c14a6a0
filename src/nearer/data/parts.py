"""Parts of a table that lies in files: what one worker, or one thread, reads by itself.

A part is a file, or some row groups of a large one. It pickles as a name and a few numbers. Rows are numbered within
their file, as messages name them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from nearer.data.block_files import RowTable, open_table
from nearer.data.labels import read_answers
from nearer.data.locations import Found
from nearer.data.read_ahead import read_ahead
from nearer.data.row_checks import Extent, check_block
from nearer.data.rows import Rows

_REMEDY = "write the file without such rows"


@dataclass(frozen=True)
class FilePart:
    """Rows ``start`` to ``stop`` of one file.

    Attributes
    ----------
    table : RowTable
    state : tuple
        What tells whether the file was changed since.
    start, stop : int
    """

    table: RowTable
    state: tuple[object, ...]
    start: int
    stop: int

    @property
    def title(self) -> str:
        """The name of the file."""
        return self.table.file.name

    def __len__(self) -> int:
        return self.stop - self.start

    def check(self, n_objects: int | None, block_rows: int, tell: Callable[[int], object] = int) -> Extent:
        """Refuse rows that are no comparisons; ``tell`` is called with the number of rows of each block that passed."""
        offset, extent = self.start, Extent()
        for block in read_ahead(self.table.read(self.start, self.stop, block_rows, None)):
            passed = check_block(*block, name=str(self.table.file), offset=offset, n_objects=n_objects, remedy=_REMEDY)
            extent = Extent.over((extent, passed))
            offset += len(block.objects)
            tell(len(block.objects))
        return extent

    def blocks(self, block_rows: int) -> Generator[Rows, None, None]:
        """Return the rows in order, at most so many at a time; they must have passed the check, here or elsewhere."""
        if self.table.file.state() != self.state:  # the compiled loops trust the indices
            raise ValueError(f"{self.table.file} has changed since it was checked; make a new ComparisonsFile")
        # Indices below 2^31: 32 bits hold them, in half the memory.
        for objects, answers, weights in self.table.read(self.start, self.stop, block_rows, np.int32):
            if answers is not None and answers.dtype.kind == "b":
                answers = read_answers(answers, len(answers))
            yield Rows.of(objects, answers, weights)

    def taken(self, start: int, stop: int) -> FilePart:
        """Return some rows of this part, counted from its first."""
        return replace(self, start=self.start + start, stop=self.start + stop)

    def units(self, block_rows: int) -> list[FilePart]:
        """Return the part in pieces that it is best read by: runs that make up a block, or row groups."""
        bounds = np.unique(np.clip(self.table.units(block_rows), self.start, self.stop)).tolist()
        return [replace(self, start=start, stop=stop) for start, stop in pairwise(bounds)]

    def split(self, most_rows: int) -> list[FilePart]:
        """Return the part in pieces of at most so many rows, where row groups are no longer than that."""
        pieces: list[FilePart] = []
        for unit in self.units(most_rows):
            if pieces and unit.stop - pieces[-1].start <= most_rows:
                pieces[-1] = replace(pieces[-1], stop=unit.stop)
            else:
                pieces.append(unit)
        return pieces


def open_parts(found: Found, columns: Sequence[str] | None) -> list[FilePart]:
    """Return one part for each file that holds rows; all must have the same columns."""
    parts: list[FilePart] = []
    for file in found.files:
        state = file.state()
        table = open_table(file, columns)
        if parts and (table.columns, table.others) != (parts[0].table.columns, parts[0].table.others):
            first = parts[0].table
            raise ValueError(
                f"{file} holds {_described(table)}, but {first.file.name} {_described(first)}; "
                "all files must have the same columns"
            )
        parts.append(FilePart(table, state, 0, len(table)))
    full = [part for part in parts if len(part)]  # programs that write many files write empty ones, too
    if not full:
        named = str(found.files[0]) if len(found.files) == 1 else found.title
        raise ValueError(f"{named} holds no comparisons; check how it was written")
    return full


def _described(table: RowTable) -> str:
    names = [name for name in (*table.columns, *table.others) if name]
    return f"the columns {', '.join(names)}" if names else f"{len(table.columns)} columns"


def cut(blocks: Iterator[Rows], lengths: Iterator[int]) -> Generator[Rows, None, None]:
    """Return the same rows in blocks of these lengths, copied only where a block is put together from several.

    Examples
    --------
    >>> three, four = Rows.of(np.arange(9).reshape(3, 3)), Rows.of(np.arange(12).reshape(4, 3))
    >>> [block.objects[:, 0].tolist() for block in cut(iter([three, four]), iter([2, 5]))]
    [[0, 3], [6, 0, 3, 6, 9]]
    """
    rest: Rows | None = None
    for length in lengths:
        pieces, count = [], 0
        while count < length:
            rows = next(blocks) if rest is None else rest
            here = min(len(rows), length - count)
            pieces.append(rows if here == len(rows) else rows.taken(slice(0, here)))
            rest = None if here == len(rows) else rows.taken(slice(here, None))
            count += here
        if len(pieces) == 1:
            yield pieces[0]
        else:
            yield Rows.of(*(np.concatenate(columns) for columns in zip(*pieces, strict=True)))

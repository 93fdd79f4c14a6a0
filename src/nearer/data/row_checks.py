"""The checks that rows of indices pass, wherever they are: in a file, or in a part of a collection on a cluster.

A part is checked by itself; what parts have to agree on is settled from their `Facts`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from nearer.common.telling import warn_caller
from nearer.data import rows as _rows
from nearer.data.block_files import NAMES, Block
from nearer.data.labels import show

MOST_OBJECTS = 2**31  # beyond this an "index" is an identifier
NUMBERING = "labels, rows = np.unique(names, return_inverse=True) numbers names; whole numbers: rows.astype(np.int32)"


class Facts(NamedTuple):
    """What is known of rows that have passed: enough to fit them without seeing them.

    Attributes
    ----------
    n_rows, width : int
        The shape of the table; a width of 0 where there are no rows.
    lowest, highest : int
        The least and the largest index.
    total : float
        The sum of the weights.

    Examples
    --------
    >>> Facts.of(Block(np.array([[0, 1, 2], [3, 1, 0]])))
    Facts(n_rows=2, width=3, lowest=0, highest=3, total=2.0)
    """

    n_rows: int = 0
    width: int = 0
    lowest: int = MOST_OBJECTS
    highest: int = -1
    total: float = 0.0

    @classmethod
    def of(cls, block: Block) -> Self:
        """Return the facts of a block, which may be empty."""
        rows, _, weights = block
        if not len(rows):
            return cls()
        total = float(len(rows) if weights is None else weights.sum())
        return cls(len(rows), rows.shape[1], int(rows.min()), int(rows.max()), total)

    @classmethod
    def joined(cls, parts: Iterable[Facts]) -> Self:
        """Return the facts of all parts together."""
        found = list(parts)
        return cls(
            sum(part.n_rows for part in found),
            max((part.width for part in found), default=0),
            min((part.lowest for part in found), default=MOST_OBJECTS),
            max((part.highest for part in found), default=-1),
            sum(part.total for part in found),
        )

    def number_of_objects(self, n_objects: int | None, title: str) -> int:
        """Return the number of objects, or refuse rows that nothing can be fitted to."""
        if not self.n_rows:
            raise ValueError(f"{title} holds no comparisons; check how it was made")
        if not 0 < self.total < np.inf:
            raise ValueError(f"{title}: the weights have a sum of {self.total:g}; it must be positive and finite")
        if n_objects is None and self.lowest > 0:
            warn_caller(
                f"{title}: index 0 never occurs, the lowest is {self.lowest}; if the objects are numbered from 1, "
                "subtract 1; if these are identifiers, number the objects 0..n-1"
            )
        return self.highest + 1 if n_objects is None else n_objects


def columns_among(title: str, names: Sequence[object], columns: Sequence[str] | None = None) -> tuple[str, ...]:
    """Return the three or four columns that hold objects: those that were named, or found by their names.

    Examples
    --------
    >>> columns_among("rows", ["far", "near", "anchor", "who"])
    ('anchor', 'near', 'far')
    """
    if columns is None:
        for wanted in NAMES:
            if set(wanted) <= set(names):
                return wanted
        known = " or ".join(", ".join(wanted) for wanted in NAMES)
        raise ValueError(f"{title} has columns {[*names]}, none of which are {known}; say which are with columns=[...]")
    chosen = tuple(columns)
    if len(chosen) not in (3, 4) or len(set(chosen)) != len(chosen):
        raise ValueError(f"columns={[*chosen]}: name 3 columns for triplets or 4 for quadruplets, each once")
    missing = [name for name in chosen if name not in names]
    if missing:
        raise ValueError(f"{title} has no column {missing[0]!r}; it has {[*names]}")
    return chosen


def refuse_bad_rows(
    block: Block, title: str, offset: int = 0, n_objects: int | None = None, remedy: str = "drop such rows"
) -> None:
    """Refuse indices out of range, rows that compare nothing, and answers and weights that are none.

    Parameters
    ----------
    block : Block
    title : str
        What to call the place that the block is from.
    offset : int
        The number of the block's first row there.
    n_objects : int, optional
        The number of objects, if it is known.
    remedy : str
        What to do with rows that compare nothing.

    Raises
    ------
    ValueError
        That names the first bad row.
    """

    def refuse(bad: NDArray[np.bool_], what: Callable[[int], str], remedy: str) -> None:
        if bad.any():
            row = int(np.flatnonzero(bad if bad.ndim == 1 else bad.any(axis=1))[0])
            raise ValueError(f"{title}: row {offset + row}: {what(row)}; {remedy}")

    rows, answers, weights = block
    if not len(rows):
        return
    numbering = "objects are numbered 0..n-1"
    if rows.min() < 0:
        refuse(rows < 0, lambda row: f"index {rows[row].min()} is negative", numbering)
    limit = MOST_OBJECTS if n_objects is None else n_objects
    if rows.max() >= limit:
        size, advice = "the largest index supported", numbering
        if n_objects is not None:
            size, advice = f"n_objects={limit}", "give a larger n_objects, or subtract 1 if numbered from 1"
        refuse(rows >= limit, lambda row: f"index {rows[row].max()} is out of range for {size}", advice)
    refuse(_rows.itself(rows), lambda row: f"{rows[row].tolist()} compares an object with itself", remedy)
    refuse(_rows.identical(rows), lambda row: f"near and far are the same pair, {rows[row, :2].tolist()}", remedy)
    if answers is not None and answers.dtype.kind != "b":
        bad = (answers != 1) & (answers != -1)
        refuse(bad, lambda row: f"answer is {show(answers[row])}", "answers are +1 and -1, or bools")
    if weights is not None:
        bad = ~(np.isfinite(weights) & (weights >= 0))
        refuse(bad, lambda row: f"weight is {show(weights[row])}", "weights are finite and nonnegative")

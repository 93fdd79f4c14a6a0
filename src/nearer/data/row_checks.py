"""The checks that every row of a streamed table passes once, wherever it lies: in a file here, or on a worker.

The compiled loops trust indices. A few passes of NumPy over a block take 1.5 nanoseconds a row, less than reading it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearer._common.progress import warn_caller
from nearer.data.labels import show
from nearer.data.rows import identical, itself

MOST_OBJECTS = 2**31  # beyond this an "index" is an identifier


class Extent(NamedTuple):
    """What a check finds out about rows that pass: enough to fit them without seeing them.

    Attributes
    ----------
    n_rows, width : int
        The shape of the table; a width of 0 where there are no rows.
    lowest, highest : int
        The least and the largest index.
    weight : float
        The sum of the weights.
    """

    n_rows: int = 0
    width: int = 0
    lowest: int = MOST_OBJECTS
    highest: int = -1
    weight: float = 0.0

    @classmethod
    def over(cls, extents: Iterable[Extent]) -> Extent:
        """Return that of all rows together; weights are added up in order."""
        n_rows, width, lowest, highest, weight = cls()
        for each in extents:
            n_rows, width = n_rows + each.n_rows, max(width, each.width)
            lowest, highest = min(lowest, each.lowest), max(highest, each.highest)
            weight += each.weight
        return cls(n_rows, width, lowest, highest, weight)

    def n_objects(self, given: int | None, name: str) -> int:
        """Return the number of objects, if all is well with the whole of a table.

        Parameters
        ----------
        given : int, optional
            The number that the user gave.
        name : str
            What to call the table in messages.
        """
        if not self.n_rows:
            raise ValueError(f"{name} holds no comparisons; check how it was made")
        if not 0 < self.weight < np.inf:
            raise ValueError(f"{name}: the weights have a sum of {self.weight:g}; it must be positive and finite")
        if given is None and self.lowest > 0:
            warn_caller(
                f"{name}: index 0 never occurs, the lowest is {self.lowest}; if the objects are numbered from 1, "
                "subtract 1; if these are identifiers, number the objects 0..n-1"
            )
        return self.highest + 1 if given is None else given


def check_block(
    objects: NDArray[Any],
    answers: NDArray[Any] | None = None,
    weights: NDArray[Any] | None = None,
    *,
    name: str,
    offset: int = 0,
    n_objects: int | None = None,
    remedy: str = "drop such rows",
) -> Extent:
    """Refuse rows that are no comparisons, with the number of the first of them.

    Parameters
    ----------
    objects : ndarray of int, shape (m, 3) or (m, 4)
        Of any width: indices that do not fit into 32 bits are found here.
    answers : ndarray of int, float or bool, shape (m,), optional
    weights : ndarray of float, shape (m,), optional
    name : str
        What to call the table in messages.
    offset : int
        The number of the first row.
    n_objects : int, optional
        What indices must be below; 2^31 if left out.
    remedy : str
        What to do with rows that compare nothing.

    Returns
    -------
    Extent

    Examples
    --------
    >>> check_block(np.array([[0, 1, 2]]), name="rows.npy")
    Extent(n_rows=1, width=3, lowest=0, highest=2, weight=1.0)
    >>> check_block(np.array([[0, 1, 2], [1, 2, 1]]), name="rows.npy", offset=100)
    Traceback (most recent call last):
    ValueError: rows.npy: row 101: [1, 2, 1] compares an object with itself; drop such rows
    """

    def refuse(bad: NDArray[np.bool_], what: Callable[[int], str], remedy: str) -> None:
        if bad.any():
            row = int(np.flatnonzero(bad if bad.ndim == 1 else bad.any(axis=1))[0])
            raise ValueError(f"{name}: row {offset + row}: {what(row)}; {remedy}")

    if not len(objects):
        return Extent()
    lowest, highest = int(objects.min()), int(objects.max())
    numbering = "objects are numbered 0..n-1"
    if lowest < 0:
        refuse(objects < 0, lambda row: f"index {objects[row].min()} is negative", numbering)
    if highest >= (limit := MOST_OBJECTS if n_objects is None else n_objects):
        size, advice = "the largest index supported", numbering
        if n_objects is not None:
            size, advice = f"n_objects={limit}", "give a larger n_objects, or subtract 1 if numbered from 1"
        refuse(objects >= limit, lambda row: f"index {objects[row].max()} is out of range for {size}", advice)
    refuse(itself(objects), lambda row: f"{objects[row].tolist()} compares an object with itself", remedy)
    refuse(identical(objects), lambda row: f"near and far are the same pair, {objects[row, :2].tolist()}", remedy)
    if answers is not None and answers.dtype.kind != "b":
        bad = (answers != 1) & (answers != -1)
        refuse(bad, lambda row: f"answer is {show(answers[row])}", "answers are +1 and -1, or bools")
    if weights is not None:
        bad = ~(np.isfinite(weights) & (weights >= 0))
        refuse(bad, lambda row: f"weight is {show(weights[row])}", "weights are finite and nonnegative")
    weight = float(len(objects) if weights is None else weights.sum(dtype=np.float64))
    return Extent(len(objects), objects.shape[1], lowest, highest, weight)

"""What people answered, as read from a file or a table.

An *answer* is one act of judgment: one row of a spreadsheet. It can say several things at once (the odd one of three is
farther from both others than they are from each other) and so expands to one or more comparisons, which keep together
as a trial.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nearer.comparisons import Comparisons

Kind: TypeAlias = Literal["triplet", "quadruplet", "odd-one-out", "most-central", "grid", "ranking"]


@dataclass(frozen=True)
class BadRow:
    """A row that could not be used, and why.

    Examples
    --------
    >>> str(BadRow("answers.csv", 17, "the answer 'banana' is none of the objects shown"))
    "answers.csv:17: the answer 'banana' is none of the objects shown"
    """

    source: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.source}:{self.line}: {self.reason}"


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers of people, and the comparisons that follow from them.

    Attributes
    ----------
    comparisons : Comparisons
        m comparisons. Those of one answer that expands to several share a trial and have a total weight of 1.
    answer_of : ndarray of int, shape (m,)
        Which of the a answers each comparison follows from.
    kind : str
        How people were asked.
    source : str
        Name of the file, for messages.
    lines : ndarray of int, shape (a,)
        Line of each answer in the file, or number of its row in a table; from 1, with the header counted in a file.
    annotators : ndarray of labels, shape (a,), or None
    seconds, confidences : ndarray of float, shape (a,), or None
        Response times and confidences, NaN where there is none.
    places : ndarray of int, shape (a,), or None
        Which of the options shown was chosen, 0 for the first (the left one), -1 where that is not known.
    n_undecided : int
        Answers "can't tell" in the file.
    bad_rows : tuple of BadRow
        Rows that were skipped, the first thousand of them.
    n_bad : int
        How many were skipped in all.
    """

    comparisons: Comparisons
    answer_of: NDArray[np.intp]
    kind: Kind
    source: str
    lines: NDArray[np.int64]
    annotators: NDArray[Any] | None = None
    seconds: NDArray[np.float64] | None = None
    confidences: NDArray[np.float64] | None = None
    places: NDArray[np.int64] | None = None
    n_undecided: int = 0
    bad_rows: tuple[BadRow, ...] = ()
    n_bad: int = 0

    def __len__(self) -> int:
        return len(self.lines)

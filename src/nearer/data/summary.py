"""What a set of comparisons holds: objects seen, questions repeated, questions answered both ways."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nearer._common.formatting import counted, digits
from nearer.data.labels import Indices, Labels, factorize
from nearer.data.units import near_and_far, questions_of

if TYPE_CHECKING:
    from nearer.data.comparisons import Comparisons


@dataclass(frozen=True)
class Summary:
    """What a set of comparisons holds; ``print`` it for a few readable lines.

    A *question* is an unordered pair of unordered pairs, whichever way it is written or answered.

    Attributes
    ----------
    n_objects, n_comparisons : int
    kind : {"triplets", "quadruplets"}
    n_unseen : int
        Objects in no comparison.
    fewest, most : int
    median : float
        Comparisons an object is part of.
    n_repeated : int
        Rows whose question was asked before.
    n_contradicted : int
        Questions that got both answers.
    n_annotators, n_trials : int or None
        None where the set does not say.
    n_triads, n_possible_triads : int or None
        Sets of three objects that some triplet is about, and how many sets there are; None for quadruplets.

    Examples
    --------
    >>> from nearer.data.comparisons import Comparisons
    >>> print(Comparisons.from_triplets([[0, 1, 2], [0, 2, 1]], n_objects=4).summary())
    2 triplets over 4 objects, 1 of them never seen
    comparisons per object: fewest 0, median 2, most 2
    repeated questions: 1 row; answered both ways: 1 question
    """

    n_objects: int
    n_comparisons: int
    kind: str
    n_unseen: int
    fewest: int
    median: float
    most: int
    n_repeated: int
    n_contradicted: int
    n_annotators: int | None
    n_trials: int | None
    n_triads: int | None = None
    n_possible_triads: int | None = None

    def __str__(self) -> str:
        unseen = f", {digits(self.n_unseen)} of them never seen" if self.n_unseen else ""
        comparisons = counted(self.n_comparisons, self.kind.removesuffix("s"))
        lines = [
            f"{comparisons} over {counted(self.n_objects, 'object')}{unseen}",
            f"comparisons per object: fewest {self.fewest}, median {self.median:g}, most {self.most}",
            f"repeated questions: {counted(self.n_repeated, 'row')}; "
            f"answered both ways: {counted(self.n_contradicted, 'question')}",
        ]
        groups = {"annotator": self.n_annotators, "trial": self.n_trials}
        lines += [counted(n, name) for name, n in groups.items() if n is not None]
        return "\n".join(lines)


def summarize(comparisons: Comparisons) -> Summary:
    """Count what a set of comparisons holds."""
    rows, n = comparisons.rows, comparisons.n_objects
    per_object = _appearances(rows, n)
    n_questions, n_contradicted = _questions(comparisons)
    return Summary(
        n_objects=n,
        n_comparisons=len(rows),
        kind="triplets" if rows.shape[1] == 3 else "quadruplets",
        n_unseen=int((per_object == 0).sum()),
        fewest=int(per_object.min()),
        median=float(np.median(per_object)),
        most=int(per_object.max()),
        n_repeated=len(rows) - n_questions,
        n_contradicted=n_contradicted,
        n_annotators=_n_labels(comparisons.annotators),
        n_trials=_n_labels(comparisons.trials),
        n_triads=_n_triads(rows, n) if rows.shape[1] == 3 else None,
        n_possible_triads=math.comb(n, 3) if rows.shape[1] == 3 else None,
    )


def _appearances(rows: Indices, n: int) -> NDArray[np.intp]:
    """Count the rows that each object is in, shape (n,)."""
    counts = sum((np.bincount(column, minlength=n) for column in rows.T), start=np.zeros(n, dtype=np.intp))
    if rows.shape[1] == 4:  # an object in both pairs was counted twice
        for column in rows[:, 2:].T:
            counts -= np.bincount(column[(column == rows[:, 0]) | (column == rows[:, 1])], minlength=n)
    return counts


def _questions(comparisons: Comparisons) -> tuple[int, int]:
    """Count the distinct questions, and those among them that got both answers."""
    questions = questions_of(comparisons)
    near, far = near_and_far(comparisons.oriented, comparisons.n_objects)
    one_way, rows = np.bincount(questions, near < far), np.bincount(questions)
    return len(rows), int(((one_way > 0) & (one_way < rows)).sum())


def _n_triads(rows: Indices, n: int) -> int:
    """Count the sets of three objects."""
    first, second, third = np.sort(rows.astype(np.int64), axis=1).T
    return len(np.unique((first * n + second) * n + third))


def _n_labels(labels: Labels | None) -> int | None:
    return None if labels is None else len(factorize(labels)[0])

r"""What stands where: each object in each place equally often, as far as questions leave a choice.

With the number :math:`c_{op}` of showings of object o in place p, the sum of :math:`c_{op}^2` is smallest when places
are balanced. One more showing of o in p adds :math:`2 c_{op} + 1` to it, so that the best places for one question,
given those of all others, solve an assignment problem. Questions take turns until none moves any more: each turn
lowers the sum. Balance within a list goes before balance over all lists.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

_ROUNDS = 20
_OVERALL = 1e-3  # of what balance within a list weighs
_RIGHT = 10.0  # right answers of catch trials in one place would be learned


@dataclass(frozen=True)
class Showing:
    """One showing of a question: in which list, and by how many places its options are moved on from the first one.

    Examples
    --------
    >>> Showing(0), Showing(1, shift=1)  # a second time, in another list, with sides swapped
    (Showing(list=0, shift=0), Showing(list=1, shift=1))
    """

    list: int
    shift: int = 0


def balanced_places(
    options: NDArray[np.intp],
    showings: Sequence[Sequence[Showing]],
    n_objects: int,
    rng: np.random.Generator,
    right: Sequence[int] | None = None,
) -> NDArray[np.intp]:
    """Return the options of questions in balanced places, (q, k).

    Parameters
    ----------
    options : ndarray of int, shape (q, k)
        Objects that can change places.
    showings : sequence of sequences of Showing
        Where each question is shown: once, or again with its options moved on.
    n_objects : int
    rng : Generator
        Decides where places are equally good.
    right : sequence of int, optional
        The object that is the right answer of a catch question, -1 for others: these are spread over places, too.

    Examples
    --------
    >>> rows = np.array([[0, 1], [0, 2], [1, 2], [0, 3], [1, 3], [2, 3]])
    >>> placed = balanced_places(rows, [[Showing(0)]] * 6, 4, np.random.default_rng(0))
    >>> left, right = (np.bincount(placed[:, place], minlength=4) for place in (0, 1))
    >>> np.abs(left - right)  # of three showings each
    array([1, 1, 1, 1])
    """
    n_places = options.shape[1]
    n_lists = 1 + max((one.list for shown in showings for one in shown), default=0)
    counts = np.zeros((n_lists, n_objects, n_places))
    overall = np.zeros((n_objects, n_places))
    rights = np.zeros((n_lists, n_places))
    wanted = np.full(len(options), -1) if right is None else np.asarray(right)
    placed = rng.permuted(options, axis=1)
    places = np.arange(n_places)

    def count(row: int, step: int) -> None:
        for one in showings[row]:
            where = (places + one.shift) % n_places
            counts[one.list, placed[row], where] += step
            overall[placed[row], where] += step
            if wanted[row] >= 0:
                rights[one.list, where[placed[row] == wanted[row]]] += step

    for row in range(len(placed)):
        count(row, 1)
    for _ in range(_ROUNDS):
        moved = False
        for row in rng.permutation(len(placed)).tolist():
            count(row, -1)
            cost = np.zeros((n_places, n_places))  # option, place in the first showing
            for one in showings[row]:
                where = (places + one.shift) % n_places
                here = counts[one.list, placed[row]] + _OVERALL * overall[placed[row]]
                cost += here[:, where]
                cost[placed[row] == wanted[row]] += _RIGHT * rights[one.list, where]
            best = linear_sum_assignment(cost)[1]
            if cost[places, best].sum() < cost[places, places].sum() - 1e-9:
                moved = True
                placed[row, best] = placed[row].copy()
            count(row, 1)
        if not moved:
            break
    return placed

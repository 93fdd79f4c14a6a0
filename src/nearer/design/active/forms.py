"""Ways to ask: how many objects a question shows, and which comparisons follow from each possible answer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray

if TYPE_CHECKING:
    from nearer.sampling.model import Draws

Key: TypeAlias = tuple[int, ...]
"""What makes a question the same as another: its head, and the others in order, or all in order."""

_GRID = re.compile(r"(\d+)\s*of\s*(\d+)")
_MOST_ANSWERS = 500


@dataclass(frozen=True, eq=False)
class Form:
    """A way to ask.

    Attributes
    ----------
    name : str
    width : int
        Objects in a question. If ``headed`` the first is the one that others are compared with.
    headed : bool
    said : ndarray of int, shape (o, r, 4)
        For each of o answers the r comparisons that follow from it: near pair and far pair, as places in the question.
    chosen : tuple of tuples of int
        For each answer which places are named by it.

    Examples
    --------
    >>> triplet = form_of("triplet")
    >>> triplet.said.tolist(), triplet.chosen
    ([[[0, 1, 0, 2]], [[0, 2, 0, 1]]], ((1,), (2,)))
    >>> form_of("2 of 8").said.shape
    (28, 12, 4)
    """

    name: str
    width: int
    headed: bool
    said: NDArray[np.intp]
    chosen: tuple[tuple[int, ...], ...]

    @property
    def n_answers(self) -> int:
        """The number of possible answers."""
        return len(self.said)

    def keys(self, questions: NDArray[np.integer]) -> list[Key]:
        """Return what makes each question, (k, width), the same as another: the order of the options does not."""
        inner = np.sort(questions[:, int(self.headed) :], axis=1)
        whole = np.column_stack([questions[:, :1], inner]) if self.headed else inner
        return [tuple(row) for row in whole.tolist()]

    def key_of(self, said: NDArray[np.integer]) -> Key | None:
        """Return the key of the question whose answer says (r, 4); None if it is a question of another form.

        Examples
        --------
        >>> form_of("triplet").key_of(np.array([[4, 7, 4, 2]])), form_of("triplet").key_of(np.array([[4, 7, 3, 2]]))
        ((4, 2, 7), None)
        """
        if said.shape != self.said.shape[1:]:
            return None
        shown = sorted(set(said.ravel().tolist()))
        if len(shown) != self.width:
            return None
        if not self.headed:
            return tuple(shown)
        pairs = said.reshape(-1, 2)
        heads = [each for each in shown if (pairs == each).any(axis=1).all()]
        return (heads[0], *(each for each in shown if each != heads[0])) if len(heads) == 1 else None

    def comparisons(self, question: NDArray[np.integer], answer: int) -> NDArray[np.intp]:
        """Return what an answer says, (r, 4): near pair and far pair of objects."""
        said: NDArray[np.intp] = np.asarray(question, dtype=np.intp)[self.said[answer]]
        return said

    def chances(self, draws: Draws, questions: NDArray[np.integer]) -> FloatArray:
        """Return the chance of each answer to each question in each draw, (k, q, o).

        Where there are more than two, comparisons that follow from one answer weigh what they weigh when the posterior
        learns from them.
        """
        from nearer.model.answers import answer_probability
        from nearer.sampling.model import TRIAL_EXPONENT

        places, which = np.unique(np.sort(self.said.reshape(-1, 2), axis=1), axis=0, return_inverse=True)
        near, far = np.moveaxis(which.reshape(self.said.shape[0], -1, 2), 2, 0)  # (o, r): numbers of pairs of places
        # Of few objects there are few pairs, however many questions: each is looked at once.
        n = draws.points.shape[1]
        first, second = questions[:, places[:, 0]], questions[:, places[:, 1]]
        pairs, at = np.unique(np.minimum(first, second) * n + np.maximum(first, second), return_inverse=True)
        some, others = np.divmod(pairs, n)
        at = at.reshape(first.shape)
        weight = self.said.shape[1] ** -TRIAL_EXPONENT
        result = np.empty((len(draws), len(questions), self.n_answers))
        for number, (points, slope, offset, lapse) in enumerate(zip(*draws, strict=True)):
            logs = np.log(np.square(points[some] - points[others]).sum(axis=1) + offset)[at]
            if self.n_answers == 2:
                held = answer_probability(slope * (logs[:, far[0, 0]] - logs[:, near[0, 0]]), lapse)
                result[number, :, 0], result[number, :, 1] = held, 1 - held
                continue
            held = answer_probability(slope * (logs[:, far] - logs[:, near]), lapse)
            likely = np.exp(weight * np.log(held).sum(axis=2))
            result[number] = likely / likely.sum(axis=1, keepdims=True)
        return result


def form_of(kind: str) -> Form:
    """Return the way to ask of a name.

    Parameters
    ----------
    kind : {"triplet", "odd-one-out", "most-central"}, or "k of m"
        "2 of 8": the two of eight objects shown that are nearest to another.
    """
    if kind == "triplet":
        return Form(kind, 3, True, np.array([[[0, 1, 0, 2]], [[0, 2, 0, 1]]]), ((1,), (2,)))
    others = ((0, 1, 2), (1, 0, 2), (2, 0, 1))
    if kind == "odd-one-out":
        said = [[[a, b, a, odd], [a, b, b, odd]] for odd, a, b in others]
        return Form(kind, 3, False, np.array(said), ((0,), (1,), (2,)))
    if kind == "most-central":
        said = [[[centre, a, a, b], [centre, b, a, b]] for centre, a, b in others]
        return Form(kind, 3, False, np.array(said), ((0,), (1,), (2,)))
    found = _GRID.fullmatch(kind)
    if found and 0 < int(found[1]) < int(found[2]) <= 20:
        return _grid(int(found[1]), int(found[2]))
    raise ValueError(
        f"kind={kind!r}: it must be 'triplet', 'odd-one-out', 'most-central', or such as '2 of 8' for a grid"
    )


def _grid(n_chosen: int, n_shown: int) -> Form:
    """Return the form of grids: some of the objects shown are nearer to the first than all others of them."""
    shown = range(1, n_shown + 1)
    chosen = tuple(combinations(shown, n_chosen))
    if len(chosen) > _MOST_ANSWERS:
        raise ValueError(f"'{n_chosen} of {n_shown}' has {len(chosen)} answers; at most {_MOST_ANSWERS} can be weighed")
    said = [[[0, near, 0, far] for near in some for far in shown if far not in some] for some in chosen]
    return Form(f"{n_chosen} of {n_shown}", n_shown + 1, True, np.array(said), chosen)

"""Which questions may be asked, and how to draw some of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import comb, inf

import numpy as np
from numpy.typing import NDArray

from nearer.active.forms import Form

_TRIES = 30  # rounds of drawing before a pool is taken to be exhausted


class Pool:
    """The questions that may be asked about n objects.

    Parameters
    ----------
    form : Form
    n_objects : int
    allowed : ndarray of int, shape (k, width), optional
        The only questions that may be asked; all if left out.
    apart : sequence of sequences of int
        Of the objects in each, no two may meet in a question.

    Examples
    --------
    >>> from nearer.active.forms import form_of
    >>> pool = Pool(form_of("triplet"), 5, apart=[[0, 1]])
    >>> drawn = pool.draw(100, np.random.default_rng(0))
    >>> drawn.shape, bool(((drawn == 0).any(axis=1) & (drawn == 1).any(axis=1)).any())
    ((100, 3), False)
    """

    def __init__(
        self,
        form: Form,
        n_objects: int,
        allowed: NDArray[np.integer] | None = None,
        apart: Sequence[Iterable[int]] = (),
    ) -> None:
        self.form, self.n_objects = form, n_objects
        self.groups = np.arange(n_objects)  # objects of one group may not meet
        for number, group in enumerate(apart):
            self.groups[list(group)] = n_objects + number
        self.allowed = None
        if allowed is not None:
            self.allowed = allowed[self._may_meet(allowed)]
            if not len(self.allowed):
                raise ValueError("no question is left that may be asked; see allowed and apart")
        elif len(np.unique(self.groups)) < form.width:
            raise ValueError(
                f"a question shows {form.width} objects, and there are only {len(np.unique(self.groups))} that may meet"
            )

    @property
    def size(self) -> float:
        """How many questions there are, the order of options aside; beyond counting if some may not meet."""
        if self.allowed is not None:
            return len(set(self.form.keys(self.allowed)))
        if len(np.unique(self.groups)) < self.n_objects:
            return inf
        width = self.form.width
        return self.n_objects * comb(self.n_objects - 1, width - 1) if self.form.headed else comb(self.n_objects, width)

    def draw(self, k: int, rng: np.random.Generator) -> NDArray[np.intp]:
        """Return k questions, (k, width), drawn at random, each with its options in random order."""
        if self.allowed is not None:
            return self._shuffled(self.allowed[rng.integers(len(self.allowed), size=k)], rng)
        parts: list[NDArray[np.intp]] = []
        missing = k
        while missing > 0:
            drawn = self._tuples(2 * missing + 10, rng)
            parts.append(drawn[self._may_meet(drawn)][:missing])
            missing -= len(parts[-1])
        return np.concatenate(parts)

    def draw_new(
        self, k: int, rng: np.random.Generator, used: set[tuple[int, ...]], balance: NDArray[np.float64] | None = None
    ) -> NDArray[np.intp]:
        """Return up to k different questions that are not among those used, (at most k, width).

        Parameters
        ----------
        k : int
        rng : Generator
        used : set of keys
        balance : ndarray, shape (n,), optional
            How often each object has come up: questions about those that came up less often are preferred.
        """
        chosen: list[NDArray[np.intp]] = []
        taken = set(used)
        counts = None if balance is None else balance.astype(np.float64)
        if self.allowed is not None:
            keys = self.form.keys(self.allowed)
            fresh = [row for row, key in enumerate(keys) if key not in taken]
            source = self._shuffled(self.allowed[rng.permutation(fresh)] if fresh else self.allowed[:0], rng)
            rounds = [source]
        else:
            rounds = [self.draw(4 * k + 20, rng) for _ in range(_TRIES if k else 0)]
        for drawn in rounds:
            keys = self.form.keys(drawn)
            left = [row for row, key in enumerate(keys) if key not in taken]
            while left and len(chosen) < k:
                best = 0
                if counts is not None:
                    some = left[:20]
                    best = int(np.argmin([counts[drawn[row]].sum() for row in some]))
                row = left.pop(best)
                if keys[row] in taken:
                    continue
                taken.add(keys[row])
                chosen.append(drawn[row])
                if counts is not None:
                    counts[drawn[row]] += 1
            if len(chosen) == k:
                break
        return np.array(chosen, dtype=np.intp).reshape(-1, self.form.width)

    def _tuples(self, k: int, rng: np.random.Generator) -> NDArray[np.intp]:
        """Return k tuples of objects, almost all of distinct ones."""
        return rng.integers(self.n_objects, size=(k, self.form.width))

    def _may_meet(self, questions: NDArray[np.integer]) -> NDArray[np.bool_]:
        groups = np.sort(self.groups[questions], axis=1)
        result: NDArray[np.bool_] = (groups[:, 1:] != groups[:, :-1]).all(axis=1)
        return result

    def _shuffled(self, questions: NDArray[np.integer], rng: np.random.Generator) -> NDArray[np.intp]:
        """Return questions with their options in random order."""
        first = int(self.form.headed)
        options = rng.permuted(questions[:, first:], axis=1)
        return np.column_stack([questions[:, :first], options]).astype(np.intp)

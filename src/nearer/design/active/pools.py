"""Which questions may be asked, and how to draw some of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray
from nearer.design.active.forms import Form, Key

_TRIES = 30  # rounds of drawing before a pool is taken to be exhausted
_LOOKED_AT = 20  # questions of which the one is taken whose objects came up least


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

    Attributes
    ----------
    size : int
        How many questions there are, the order of their options aside.

    Examples
    --------
    >>> from nearer.design.active.forms import form_of
    >>> pool = Pool(form_of("triplet"), 5, apart=[[0, 1]])
    >>> drawn = pool.draw(100, np.random.default_rng(0))
    >>> drawn.shape, bool(((drawn == 0).any(axis=1) & (drawn == 1).any(axis=1)).any()), pool.size
    ((100, 3), False, 21)
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
            members = list(group)
            if (self.groups[members] >= n_objects).any():
                raise ValueError("an object is in two groups of apart; put all that may not meet into one")
            self.groups[members] = n_objects + number
        self.allowed: NDArray[np.intp] | None = None
        self._keys: set[Key] | None = None
        if allowed is None:
            self.size = self._count()
        else:
            keys = form.keys(allowed)
            first = {key: row for row, key in reversed(list(enumerate(keys)))}
            once = np.asarray(allowed, dtype=np.intp)[sorted(first.values())]
            self.allowed = once[self._may_meet(once)]
            self._keys = set(form.keys(self.allowed))
            self.size = len(self.allowed)
        if self.size == 0:
            raise ValueError(
                f"no question is left that may be asked: one shows {form.width} objects that may meet, of {n_objects}; "
                "see objects, allowed and apart"
            )

    def __contains__(self, key: Key) -> bool:
        if self._keys is not None:
            return key in self._keys
        return len(key) == self.form.width and bool(self._may_meet(np.array([key]))[0])

    def draw(self, k: int, rng: np.random.Generator) -> NDArray[np.intp]:
        """Return k questions, (k, width), each as likely as any other, with options in random order."""
        if self.allowed is not None:
            return self.shuffled(self.allowed[rng.integers(len(self.allowed), size=k)], rng)
        parts: list[NDArray[np.intp]] = []
        missing = k
        while missing > 0:
            drawn = rng.integers(self.n_objects, size=(2 * missing + 10, self.form.width))
            parts.append(drawn[self._may_meet(drawn)][:missing])
            missing -= len(parts[-1])
        return np.concatenate(parts)

    def all_or_some(self, k: int, rng: np.random.Generator) -> NDArray[np.intp]:
        """Return all different questions if there are at most k, else about k drawn ones, each once."""
        if self.size <= k:
            return self.draw_new(self.size, rng, ())
        drawn = self.draw(k, rng)
        first = {key: row for row, key in reversed(list(enumerate(self.form.keys(drawn))))}
        return drawn[sorted(first.values())]

    def draw_new(
        self,
        k: int,
        rng: np.random.Generator,
        used: Collection[Key],
        times: FloatArray | None = None,
        about: int | None = None,
    ) -> NDArray[np.intp]:
        """Return up to k different questions that are not among those used, (at most k, width).

        Parameters
        ----------
        k : int
        rng : Generator
        used : collection of keys
        times : ndarray, shape (n,), optional
            How often each object has come up: questions about those that came up less often are preferred.
        about : int, optional
            An object that must be in them.
        """
        chosen: list[NDArray[np.intp]] = []
        taken = set(used)
        counts = np.zeros(self.n_objects) if times is None else times.copy()
        for drawn in self._rounds(k, rng, taken, about):
            keys = self.form.keys(drawn)
            left = [row for row, key in enumerate(keys) if key not in taken]
            while left and len(chosen) < k:
                best = 0 if times is None else int(np.argmin(counts[drawn[left[:_LOOKED_AT]]].sum(axis=1)))
                row = left.pop(best)
                if keys[row] not in taken:
                    taken.add(keys[row])
                    chosen.append(drawn[row])
                    counts[drawn[row]] += 1
            if len(chosen) >= k:
                break
        return np.array(chosen, dtype=np.intp).reshape(-1, self.form.width)

    def shuffled(self, questions: NDArray[np.integer], rng: np.random.Generator) -> NDArray[np.intp]:
        """Return questions with their options in random order."""
        first = int(self.form.headed)
        options = rng.permuted(questions[:, first:], axis=1)
        return np.column_stack([questions[:, :first], options]).astype(np.intp)

    def _rounds(
        self, k: int, rng: np.random.Generator, taken: set[Key], about: int | None
    ) -> Iterable[NDArray[np.intp]]:
        """Give questions, some of which may be taken; in the end, if there are not too many, all."""
        if self.allowed is None and self.size > 4 * (len(taken) + k):
            for _ in range(_TRIES):
                drawn = self.draw(4 * k + _LOOKED_AT, rng)
                if about is not None:
                    drawn[np.arange(len(drawn)), rng.integers(self.form.width, size=len(drawn))] = about
                    drawn = drawn[self._may_meet(drawn)]
                yield drawn
            return
        everything = self._everything() if self.allowed is None else self.allowed
        if about is not None:
            everything = everything[(everything == about).any(axis=1)]
        yield self.shuffled(rng.permutation(everything), rng)

    def _everything(self) -> NDArray[np.intp]:
        """Return all questions, where few are left."""
        width, n = self.form.width, self.n_objects
        sets = np.array(list(combinations(range(n), width)), dtype=np.intp)
        sets = sets[self._may_meet(sets)]
        if not self.form.headed:
            return sets
        turned = [np.column_stack([sets[:, place], np.delete(sets, place, axis=1)]) for place in range(width)]
        return np.concatenate(turned)

    def _count(self) -> int:
        """Return the number of sets of objects of different groups, times the number of heads that each may have."""
        ways = [1] + [0] * self.form.width  # of choosing 0, 1, ... objects from the groups so far
        for members in np.unique(self.groups, return_counts=True)[1].tolist():
            for chosen in range(self.form.width, 0, -1):
                ways[chosen] += ways[chosen - 1] * members
        return ways[-1] * (self.form.width if self.form.headed else 1)

    def _may_meet(self, questions: NDArray[np.integer]) -> NDArray[np.bool_]:
        groups = np.sort(self.groups[questions], axis=1)
        result: NDArray[np.bool_] = (groups[:, 1:] != groups[:, :-1]).all(axis=1)
        return result

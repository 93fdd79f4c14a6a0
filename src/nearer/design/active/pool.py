"""Which questions may be asked: the form of a question, and the pool of those that may be drawn."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray

if TYPE_CHECKING:
    from nearer.sampling.model import Draws

#: Identifies a question whatever the order of its options: its anchor and the sorted others, or all sorted.
QuestionKey: TypeAlias = tuple[int, ...]

_GRID_FORM = re.compile(r"(\d+)\s*of\s*(\d+)")
_MAX_ANSWERS = 500  # of a question
_MAX_ROUNDS = 30  # of drawing, before a pool is taken to be exhausted
_N_COMPARED = 20  # questions of which the one is taken whose objects came up least


@dataclass(frozen=True, eq=False)
class Form:
    """The form of a question: how many objects it shows, and what follows from each possible answer."""

    name: str
    width: int  # of objects; the first is the anchor, if there is one
    has_anchor: bool
    rows: NDArray[np.intp]  # (o, r, 4): for each of o answers its comparisons, as positions in the question
    named: tuple[tuple[int, ...], ...]  # for each answer the positions that it names

    @property
    def n_answers(self) -> int:
        """The number of possible answers."""
        return len(self.rows)

    def keys(self, questions: NDArray[np.integer]) -> list[QuestionKey]:
        """Return the key of each question, (k, width)."""
        inner = np.sort(questions[:, int(self.has_anchor) :], axis=1)
        whole = np.column_stack([questions[:, :1], inner]) if self.has_anchor else inner
        return [tuple(row) for row in whole.tolist()]

    def key_of(self, comparisons: NDArray[np.integer]) -> QuestionKey | None:
        """Return the key of the question that has these comparisons, (r, 4), as an answer; None if of another form."""
        if comparisons.shape != self.rows.shape[1:]:
            return None
        shown = sorted(set(comparisons.ravel().tolist()))
        if len(shown) != self.width:
            return None
        if not self.has_anchor:
            return tuple(shown)
        pairs = comparisons.reshape(-1, 2)
        anchors = [each for each in shown if (pairs == each).any(axis=1).all()]
        return (anchors[0], *(each for each in shown if each != anchors[0])) if len(anchors) == 1 else None

    def comparisons(self, question: NDArray[np.integer], answer: int) -> NDArray[np.intp]:
        """Return the comparisons of an answer, (r, 4): near pair and far pair of objects."""
        return np.asarray(question, dtype=np.intp)[self.rows[answer]]

    def probabilities(self, draws: Draws, questions: NDArray[np.integer]) -> FloatArray:
        """Return the probability of each answer to each question in each draw, (k, q, o).

        Of more than two answers, comparisons that follow from one have the weights that the posterior gives them.
        """
        from nearer.model.answers import answer_probability
        from nearer.sampling.model import TRIAL_EXPONENT

        positions, which = np.unique(np.sort(self.rows.reshape(-1, 2), axis=1), axis=0, return_inverse=True)
        near, far = np.moveaxis(which.reshape(self.rows.shape[0], -1, 2), 2, 0)  # (o, r): numbers of pairs of positions
        # Few objects have few pairs, however many questions there are: each is evaluated once.
        n = draws.points.shape[1]
        first, second = questions[:, positions[:, 0]], questions[:, positions[:, 1]]
        pairs, at = np.unique(np.minimum(first, second) * n + np.maximum(first, second), return_inverse=True)
        some, others = np.divmod(pairs, n)
        at = at.reshape(first.shape)
        weight = self.rows.shape[1] ** -TRIAL_EXPONENT
        result = np.empty((len(draws), len(questions), self.n_answers))
        for number, (points, slope, offset, lapse) in enumerate(zip(*draws, strict=True)):
            logs = np.log(np.square(points[some] - points[others]).sum(axis=1) + offset)[at]
            if self.n_answers == 2:
                held = answer_probability(slope * (logs[:, far[0, 0]] - logs[:, near[0, 0]]), lapse)
                result[number, :, 0], result[number, :, 1] = held, 1 - held
                continue
            held = answer_probability(slope * (logs[:, far] - logs[:, near]), lapse)
            likelihood = np.exp(weight * np.log(held).sum(axis=2))
            result[number] = likelihood / likelihood.sum(axis=1, keepdims=True)
        return result


def form_of(kind: str) -> Form:
    """Return the form with a name: "triplet", "odd-one-out", "most-central", or such as "2 of 8".

    The last is to choose the two of eight objects that are nearest to another.
    """
    if kind in ("odd-one-out", "most-central"):
        rows = [
            [[a, b, a, one], [a, b, b, one]] if kind == "odd-one-out" else [[one, a, a, b], [one, b, a, b]]
            for one, a, b in ((0, 1, 2), (1, 0, 2), (2, 0, 1))
        ]
        return Form(kind, 3, False, np.array(rows), ((0,), (1,), (2,)))
    found = _GRID_FORM.fullmatch("1 of 2" if kind == "triplet" else kind)
    n_chosen, n_shown = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 0 < n_chosen < n_shown <= 20:
        raise ValueError(
            f"kind={kind!r}: it must be 'triplet', 'odd-one-out', 'most-central', or such as '2 of 8' for a grid"
        )
    name, shown = f"{n_chosen} of {n_shown}", range(1, n_shown + 1)
    chosen = tuple(combinations(shown, n_chosen))
    if len(chosen) > _MAX_ANSWERS:
        raise ValueError(f"'{name}' has {len(chosen)} answers; at most {_MAX_ANSWERS} can be weighed")
    rows = [[[0, near, 0, far] for near in some for far in shown if far not in some] for some in chosen]
    return Form(kind if kind == "triplet" else name, n_shown + 1, True, np.array(rows), chosen)


class Pool:
    """The questions that may be asked about n objects: all, or those allowed, (k, width).

    No two objects of a group ``apart`` are in one question.
    """

    def __init__(
        self,
        form: Form,
        n_objects: int,
        allowed: NDArray[np.integer] | None = None,
        apart: Sequence[Iterable[int]] = (),
    ) -> None:
        self.form, self.n_objects = form, n_objects
        self.groups = np.arange(n_objects)  # objects of one group may not be in one question
        for number, group in enumerate(apart):
            members = list(group)
            if (self.groups[members] >= n_objects).any():
                raise ValueError("an object is in two groups of apart; merge these groups")
            self.groups[members] = n_objects + number
        self.allowed: NDArray[np.intp] | None = None
        if allowed is not None:
            distinct = self._distinct(np.asarray(allowed, dtype=np.intp))
            self.allowed = distinct[self._is_valid(distinct)]
            self._keys = set(form.keys(self.allowed))
        self.size = self._count() if self.allowed is None else len(self.allowed)
        if self.size == 0:
            raise ValueError(
                f"no question is left that may be asked: one shows {form.width} objects that are not kept apart, of "
                f"{n_objects}; see objects, allowed and apart"
            )

    def __contains__(self, key: QuestionKey) -> bool:
        if self.allowed is not None:
            return key in self._keys
        return len(key) == self.form.width and bool(self._is_valid(np.array([key]))[0])

    def draw(self, k: int, rng: np.random.Generator) -> NDArray[np.intp]:
        """Return k questions, (k, width), uniform with replacement, with options in random order."""
        if self.allowed is not None:
            return self.shuffled(self.allowed[rng.integers(len(self.allowed), size=k)], rng)
        found = np.empty((0, self.form.width), dtype=np.intp)
        while (missing := k - len(found)) > 0:
            drawn = rng.integers(self.n_objects, size=(2 * missing + 10, self.form.width))
            found = np.concatenate([found, drawn[self._is_valid(drawn)][:missing]])
        return found

    def all_or_sample(self, k: int, rng: np.random.Generator) -> NDArray[np.intp]:
        """Return all distinct questions if there are at most k, else about k of them."""
        return self.draw_new(self.size, rng, ()) if self.size <= k else self._distinct(self.draw(k, rng))

    def draw_new(
        self,
        k: int,
        rng: np.random.Generator,
        used: Collection[QuestionKey],
        counts: FloatArray | None = None,
        about: int | None = None,
    ) -> NDArray[np.intp]:
        """Return up to k distinct questions that are not among those used, (at most k, width).

        With ``counts``, (n,), of how often each object came up, questions about rarer objects are preferred; those
        ``about`` an object contain it.
        """
        chosen: list[NDArray[np.intp]] = []
        taken = set(used)
        counted = np.zeros(self.n_objects) if counts is None else counts.copy()
        for drawn in self._rounds(k, rng, taken, about):
            keys = self.form.keys(drawn)
            left = [row for row, key in enumerate(keys) if key not in taken]
            while left and len(chosen) < k:
                best = 0 if counts is None else int(np.argmin(counted[drawn[left[:_N_COMPARED]]].sum(axis=1)))
                row = left.pop(best)
                if keys[row] not in taken:
                    taken.add(keys[row])
                    chosen.append(drawn[row])
                    counted[drawn[row]] += 1
            if len(chosen) >= k:
                break
        return np.array(chosen, dtype=np.intp).reshape(-1, self.form.width)

    def shuffled(self, questions: NDArray[np.integer], rng: np.random.Generator) -> NDArray[np.intp]:
        """Return questions with their options in random order."""
        first = int(self.form.has_anchor)
        return np.column_stack([questions[:, :first], rng.permuted(questions[:, first:], axis=1)]).astype(np.intp)

    def _distinct(self, questions: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the first of questions with the same key."""
        first = {key: row for row, key in reversed(list(enumerate(self.form.keys(questions))))}
        return questions[sorted(first.values())]

    def _rounds(
        self, k: int, rng: np.random.Generator, taken: set[QuestionKey], about: int | None
    ) -> Iterable[NDArray[np.intp]]:
        """Yield random questions, some of which may be taken; all of them if the pool is small."""
        if self.allowed is None and self.size > 4 * (len(taken) + k):
            for _ in range(_MAX_ROUNDS):
                drawn = self.draw(4 * k + _N_COMPARED, rng)
                if about is not None:
                    drawn[np.arange(len(drawn)), rng.integers(self.form.width, size=len(drawn))] = about
                    drawn = drawn[self._is_valid(drawn)]
                yield drawn
            return
        everything = self.allowed
        if everything is None:
            sets = np.array(list(combinations(range(self.n_objects), self.form.width)), dtype=np.intp)
            everything = sets = sets[self._is_valid(sets)]
            if self.form.has_anchor:
                places = range(self.form.width)
                turns = [np.column_stack([sets[:, at], np.delete(sets, at, axis=1)]) for at in places]
                everything = np.concatenate(turns)
        if about is not None:
            everything = everything[(everything == about).any(axis=1)]
        yield self.shuffled(rng.permutation(everything), rng)

    def _count(self) -> int:
        """Return the number of sets of objects of different groups, times the number of anchors that each may have."""
        ways = [1] + [0] * self.form.width  # of choosing 0, 1, ... objects from the groups so far
        for members in np.unique(self.groups, return_counts=True)[1].tolist():
            for chosen in range(self.form.width, 0, -1):
                ways[chosen] += ways[chosen - 1] * members
        return ways[-1] * (self.form.width if self.form.has_anchor else 1)

    def _is_valid(self, questions: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Return whether all objects of each question are of different groups."""
        groups = np.sort(self.groups[questions], axis=1)
        return (groups[:, 1:] != groups[:, :-1]).all(axis=1)

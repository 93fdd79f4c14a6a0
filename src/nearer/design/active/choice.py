"""The next questions, weighed by what is believed about the map."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray
from nearer.design.active.forms import Form, Key, form_of
from nearer.design.active.information import Batch
from nearer.sampling.model import Draws

_MOST_OPEN = 100  # questions in the hands of people whose answers are taken as known
_TARGETS, _NEIGHBOURS = 1000, 8


class Choice:
    """Candidates, the best of which are asked one after the other.

    Parameters
    ----------
    form : Form
    draws : Draws
    candidates : ndarray of int, shape (q, width)
    waiting : ndarray of int, shape (w, width)
        Questions that were asked and not answered yet: what they will tell is taken as known.
    targets : ndarray, shape (k, t), optional
        The chances of what matters in each draw; everything does if left out.
    """

    def __init__(
        self,
        form: Form,
        draws: Draws,
        candidates: NDArray[np.intp],
        waiting: NDArray[np.intp],
        targets: FloatArray | None = None,
    ) -> None:
        everything = np.concatenate([waiting[-_MOST_OPEN:], candidates])
        self.questions = everything
        self.number = {key: number for number, key in enumerate(form.keys(everything))}
        self.batch = Batch(form.chances(draws, everything), targets, n_coordinates=draws.points[0].size)
        for number in range(len(everything) - len(candidates)):
            self.batch.take(number)
        self.ahead: list[int] = []

    def look_ahead(self, k: int) -> None:
        """Choose so many before anybody asks for them."""
        while len(self.ahead) < k:
            chosen = self.batch.pick()
            if chosen is None:
                return
            self.ahead.append(chosen)

    def best(self, k: int, barred: Collection[Key]) -> NDArray[np.intp]:
        """Return up to k questions that come next and are not barred, without taking any of them."""
        closed = {self.number[key] for key in barred if key in self.number}
        self.look_ahead(k + len(closed))
        chosen = [number for number in self.ahead if number not in closed][:k]
        return self.questions[chosen].reshape(-1, self.questions.shape[1])

    def next(self, barred: Collection[Key]) -> NDArray[np.intp] | None:
        """Return the most telling question that is not barred; None if there is none."""
        closed = {self.number[key] for key in barred if key in self.number}
        chosen = next((number for number in self.ahead if number not in closed), None)
        if chosen is not None:
            self.ahead.remove(chosen)
        else:
            mask = np.zeros(len(self.questions), dtype=bool)
            mask[list(closed)] = True
            chosen = self.batch.pick(mask)
        if chosen is None:
            return None
        question: NDArray[np.intp] = self.questions[chosen]
        return question


def targets_of(draws: Draws, focus: NDArray[np.intp] | str | None, rng: np.random.Generator) -> FloatArray | None:
    """Return chances of the answers that matter, (k, t); None where all matter.

    Parameters
    ----------
    draws : Draws
    focus : ndarray of int, "neighbours" or None
        Objects whose distances from each other matter; or which of its nearest objects is nearer to each.
    rng : Generator
    """
    if focus is None:
        return None
    if isinstance(focus, str):
        points = draws.points
        squares = np.zeros((points.shape[1],) * 2)
        for each in points:
            norms = np.square(each).sum(axis=1)
            squares += (norms[:, None] + norms - 2 * each @ each.T) / np.square(each).mean()
        np.fill_diagonal(squares, np.inf)
        near = np.argsort(squares, axis=1)[:, : min(_NEIGHBOURS, len(squares) - 1)]
        heads = rng.integers(len(near), size=_TARGETS)
        places = np.array([rng.permutation(near.shape[1])[:2] for _ in heads])
        rows = np.column_stack([heads, near[heads, places[:, 0]], near[heads, places[:, 1]]])
    else:
        rows = focus[np.array([rng.permutation(len(focus))[:3] for _ in range(_TARGETS)])]
    return form_of("triplet").chances(draws, rows)[:, :, 0]

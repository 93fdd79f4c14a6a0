"""The objects of a study by name: rows of labels, and what is said about them, as positions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearer._common.formatting import pluralize, quote, quote_all
from nearer.data.comparisons import Comparisons
from nearer.data.groups import trial_indices
from nearer.design.active.forms import Form


class Said(NamedTuple):
    """What answers say: the comparisons of each, (r, 4), who gave it, and in which row it began."""

    rows: list[NDArray[np.intp]]
    people: list[Any]
    first: NDArray[np.intp]


class Objects:
    """Labels, and the position of each.

    Parameters
    ----------
    labels : sequence of labels

    Examples
    --------
    >>> animals = Objects(["cat", "dog", "cow"])
    >>> animals.positions([["cow", "cat", "dog"]], 3).tolist()
    [[2, 0, 1]]
    >>> animals.positions([["cow", "cat", "cod"]], 3)
    Traceback (most recent call last):
    ValueError: 'cod' is none of the 3 objects; add it first
    """

    def __init__(self, labels: Iterable[Any]) -> None:
        given = list(labels)
        self._position = {label: position for position, label in enumerate(given)}
        if len(self._position) < len(given):
            twice = [label for label in self._position if given.count(label) > 1]
            raise ValueError(f"objects must have different names: {quote_all(twice)} more than once")
        self.labels: NDArray[Any] = np.array(given)

    def __len__(self) -> int:
        return len(self._position)

    def position(self, label: Any) -> int:
        """Return the position of an object."""
        try:
            return self._position[label]
        except (KeyError, TypeError):
            raise ValueError(f"{quote(label)} is none of the {pluralize(len(self), 'object')}; add it first") from None

    def positions(self, rows: Any, width: int) -> NDArray[np.intp]:
        """Return rows of labels as positions, (k, width)."""
        try:
            given = np.asarray(rows)
        except ValueError as error:
            raise ValueError(f"rows of {width} objects are needed, and these differ in length") from error
        if given.size == 0:
            return np.empty((0, width), dtype=np.intp)
        if given.ndim != 2 or given.shape[1] != width:
            raise ValueError(f"rows of {width} objects are needed, got an array of shape {given.shape}")
        found = np.array([[self.position(each) for each in row] for row in given.tolist()], dtype=np.intp)
        same = np.array([len(set(row)) < width for row in found.tolist()], dtype=bool)
        if same.any():
            raise ValueError(f"row {int(same.argmax())} names an object twice: {quote_all(given[same][0].tolist())}")
        return found

    def said(self, form: Form, rows: Any, answers: Any, person: Any) -> Said:
        """Return what someone's answers to questions, (k, width), say.

        Parameters
        ----------
        form : Form
        rows : array-like of labels, shape (k, width)
        answers : sequence or None
            The object, or objects, that each answer names. None for triplets whose second object is the nearer.
        person : label or None
        """
        questions = self.positions(rows, form.width)
        if answers is None:
            if form.name != "triplet":
                raise ValueError(f"answers to questions of kind {form.name!r} are needed, one for each row")
            numbers = [0] * len(questions)
        elif len(answers) != len(questions):
            raise ValueError(f"there are {len(answers)} answers to {pluralize(len(questions), 'question')}")
        else:
            numbers = [self._number(form, row, answer) for row, answer in zip(questions, answers, strict=True)]
        said = [form.comparisons(row, number) for row, number in zip(questions, numbers, strict=True)]
        return Said(said, [person] * len(said), np.arange(len(said)))

    def said_in(self, comparisons: Comparisons) -> Said:
        """Return what comparisons from elsewhere say, each trial as one answer."""
        if (comparisons.sample_weight != 1).any():
            raise ValueError("comparisons with weights cannot be told; leave out those of weight 0, and the weights")
        rows = np.array([self.position(label) for label in comparisons.objects.tolist()])[_oriented(comparisons)]
        trials = trial_indices(comparisons)
        order = np.argsort(trials, kind="stable")
        parts = np.split(order, np.flatnonzero(np.diff(trials[order])) + 1)
        parts.sort(key=lambda part: int(part[0]))
        first = np.array([part[0] for part in parts], dtype=np.intp)
        who = comparisons.annotators
        return Said([rows[part] for part in parts], [None] * len(parts) if who is None else who[first].tolist(), first)

    def _number(self, form: Form, question: NDArray[np.intp], answer: Any) -> int:
        """Return which of the possible answers to a question this is."""
        named = answer if isinstance(answer, list | tuple | np.ndarray) else [answer]
        where = {position: place for place, position in enumerate(question.tolist())}
        places = tuple(sorted(where.get(self._position.get(each, -1), -1) for each in named))
        if places not in form.chosen:
            shown = quote_all(self.labels[question].tolist())
            raise ValueError(f"{quote(answer)} is no answer to a question about {shown}")
        return form.chosen.index(places)


def _oriented(comparisons: Comparisons) -> NDArray[np.integer]:
    """Return near pair and far pair of each comparison as it was answered, (m, 4)."""
    rows = comparisons.oriented
    return rows if rows.shape[1] == 4 else rows[:, [0, 1, 0, 2]]

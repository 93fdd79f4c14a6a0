"""What was asked and what was answered: by whom, and for what."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray
from nearer.data.comparisons import Comparisons
from nearer.design.active.forms import Form, Key
from nearer.design.mix import AGAIN, INFORMATION, OTHER, REPEAT, START, TEST


class Open(NamedTuple):
    """A question that waits for its answer."""

    question: NDArray[np.intp]
    purpose: str


class Record:
    """Questions that were asked, and answers, in their order.

    Parameters
    ----------
    form : Form
    n_objects : int

    Attributes
    ----------
    said : list of ndarray, shape (r, 4)
        The comparisons that follow from each answer, as positions of objects.
    keys, people, purposes : list
        The question of each answer (None if it has another form), who gave it (None if nobody is named), and for what.
    times : ndarray, shape (n,)
        How often each object has come up, in questions and in answers to others.
    open : dict
        By person and key, in the order of asking.
    """

    def __init__(self, form: Form, n_objects: int) -> None:
        self.form = form
        self.said: list[NDArray[np.intp]] = []
        self.keys: list[Key | None] = []
        self.people: list[Any] = []
        self.purposes: list[str] = []
        self.times: FloatArray = np.zeros(n_objects)
        self.open: dict[tuple[Any, Key], Open] = {}
        self._had: dict[Any, set[Key]] = {}

    def __len__(self) -> int:
        return len(self.said)

    def had(self, person: Any) -> set[Key]:
        """Return the questions that someone was asked or has answered."""
        return self._had.get(person, set())

    def had_by_anybody(self) -> set[Key]:
        """Return the questions that anybody was asked or has answered."""
        return set().union(*self._had.values())

    def waiting(self, person: Any) -> set[Key]:
        """Return the questions that wait for an answer of someone."""
        return {key for who, key in self.open if who == person}

    def shares(self) -> Counter[str]:
        """Return how many questions were asked for each purpose."""
        asked = Counter(self.purposes) + Counter(each.purpose for each in self.open.values())
        return Counter({purpose: asked[purpose] for purpose in (START, INFORMATION, TEST, REPEAT)})

    def ask(self, question: NDArray[np.intp], purpose: str, person: Any) -> None:
        """Note that a question is asked."""
        key = self.form.keys(question[None])[0]
        self.open[person, key] = Open(question, purpose)
        self._note(key, person)
        self.times[question] += 1

    def tell(self, said: NDArray[np.intp], person: Any, purpose: str | None = None) -> None:
        """Take an answer; what it was for follows from who was asked what, unless it is given."""
        key = self.form.key_of(said)
        asked = self._closed(person, key)
        if asked is None:
            self.times[np.unique(said)] += 1
        if asked is not None:
            purpose = asked.purpose
        elif purpose is None:
            twice = person is not None and key is not None and key in self._had.get(person, ())
            purpose = AGAIN if twice else OTHER
        if key is not None:
            self._note(key, person)
        self.said.append(said)
        self.keys.append(key)
        self.people.append(person)
        self.purposes.append(purpose)

    def promote(self, person: Any, key: Key) -> str:
        """Let a question that someone has had count as a random one, which it would have been asked as by now.

        Returns
        -------
        str
            What it counted as before; a repeat stays one.
        """
        if (person, key) in self.open:
            waiting = self.open[person, key]
            if waiting.purpose != REPEAT:
                self.open[person, key] = waiting._replace(purpose=TEST)
            return waiting.purpose
        for number, (who, which) in enumerate(zip(self.people, self.keys, strict=True)):
            if which == key and who in (person, None) and self.purposes[number] not in (REPEAT, AGAIN):
                before, self.purposes[number] = self.purposes[number], TEST
                return before
        return REPEAT

    def comparisons(self, objects: NDArray[Any], count: int | None = None) -> Comparisons:
        """Return all answers, or the first so many, as comparisons."""
        said, people = self.said[:count], self.people[:count]
        sizes = np.array([len(rows) for rows in said])
        number = np.repeat(np.arange(len(said)), sizes)
        rows = np.concatenate(said)
        counts = np.array([purpose != AGAIN for purpose in self.purposes[:count]])
        chosen = np.array([purpose == INFORMATION for purpose in self.purposes[:count]])
        annotators = None
        if any(person is not None for person in people):
            annotators = np.array(["" if person is None else str(person) for person in people])[number]
        triplets = bool((rows[:, 0] == rows[:, 2]).all())
        make = Comparisons.from_triplets if triplets else Comparisons.from_quadruplets
        return make(
            objects[rows[:, [0, 1, 3]] if triplets else rows],
            objects=objects,
            weights=None if counts.all() else counts[number].astype(np.float64),
            annotators=annotators,
            trials=number if (sizes > 1).any() else None,
            chosen=chosen[number] if chosen.any() else None,
        )

    def purposes_of_rows(self) -> NDArray[np.str_]:
        """Return what each comparison was asked for."""
        sizes = [len(rows) for rows in self.said]
        return np.repeat(np.array(self.purposes, dtype=np.str_), sizes)

    def state(self) -> dict[str, Any]:
        """Return what was asked and answered as values that a file can hold."""
        return {
            "said": np.concatenate([np.empty((0, 4), np.intp), *self.said]),
            "sizes": np.array([len(rows) for rows in self.said], dtype=np.intp),
            "people": list(self.people),
            "purposes": list(self.purposes),
            "asked": [each.question for each in self.open.values()],
            "asked_for": [each.purpose for each in self.open.values()],
            "asked_of": [person for person, _ in self.open],
        }

    @classmethod
    def from_state(cls, form: Form, n_objects: int, state: dict[str, Any]) -> Self:
        """Return what `state` described."""
        record = cls(form, n_objects)
        said = np.asarray(state["said"], dtype=np.intp)
        if said.size and not 0 <= said.min() <= said.max() < n_objects:
            raise ValueError("an answer is about an object that is not there")
        if said.shape != (state["sizes"].sum(), 4):
            raise ValueError("its answers have no comparisons of their own")
        parts = np.split(said, np.cumsum(state["sizes"])[:-1]) if len(state["sizes"]) else []
        for rows, person, purpose in zip(parts, state["people"], state["purposes"], strict=True):
            record.tell(rows, person, purpose)
        for row, purpose, person in zip(state["asked"], state["asked_for"], state["asked_of"], strict=True):
            record.ask(np.asarray(row, dtype=np.intp), purpose, person)
        return record

    def _note(self, key: Key, person: Any) -> None:
        self._had.setdefault(person, set()).add(key)

    def _closed(self, person: Any, key: Key | None) -> Open | None:
        """Close the question that an answer is to: one that this person was asked, or that nobody in particular was."""
        if key is None:
            return None
        for who in dict.fromkeys((person, None)):
            if (who, key) in self.open:
                return self.open.pop((who, key))
        return None

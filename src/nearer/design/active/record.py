"""What was asked and what was answered: objects by name, batches of questions, and the record of both."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray
from nearer._common.formatting import pluralize, quote, quote_all
from nearer.data.comparisons import Comparisons
from nearer.data.groups import trial_indices
from nearer.design.active.pool import Form, QuestionKey
from nearer.design.mix import AGAIN, INFORMATION, OTHER, REPEAT, START, TEST

_UNNAMED_ANNOTATOR = "(unnamed)"  # annotator of answers that nobody is named for, among others that are


class QuestionBatch(Sequence[NDArray[Any]]):
    """The questions of one request.

    Attributes
    ----------
    rows : ndarray of labels, shape (k, width)
        The anchor and those to compare with it, or the objects of a set; in the order in which they are shown.
    purposes : list of str
        What each is for: "start", "information", "test" or "repeat".

    Examples
    --------
    >>> batch = QuestionBatch(np.array([["cat", "dog", "cow"]]), ["test"])
    >>> len(batch), batch[0].tolist(), batch[:, 0].tolist(), batch.purposes
    (1, ['cat', 'dog', 'cow'], ['cat'], ['test'])
    """

    def __init__(self, rows: NDArray[Any], purposes: list[str]) -> None:
        self.rows, self.purposes = rows, purposes

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.rows, dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        return f"QuestionBatch({pluralize(len(self), 'question')})"


#: An answer: its comparisons, (r, 4), the annotator, and the row it begins in.
Response: TypeAlias = tuple[NDArray[np.intp], Any, int]


class Objects:
    """The labels of the objects, and the position of each."""

    def __init__(self, labels: Iterable[Any]) -> None:
        given = list(labels)
        self._position = {label: position for position, label in enumerate(given)}
        if len(self._position) < len(given):
            repeated = [label for label in self._position if given.count(label) > 1]
            raise ValueError(f"objects must have different names: {quote_all(repeated)} more than once")
        self.labels: NDArray[Any] = np.array(given)

    def position(self, label: Any) -> int:
        """Return the position of an object."""
        try:
            return self._position[label]
        except (KeyError, TypeError):
            there = pluralize(len(self.labels), "object")
            raise ValueError(f"{quote(label)} is none of the {there}; add it first") from None

    def positions(self, rows: Any, width: int) -> NDArray[np.intp]:
        """Return rows of labels as positions, (k, width)."""
        try:
            labels = np.asarray(rows)
        except ValueError as error:
            raise ValueError(f"rows of {width} objects are needed, and these differ in length") from error
        if labels.size == 0:
            return np.empty((0, width), dtype=np.intp)
        if labels.ndim != 2 or labels.shape[1] != width:
            raise ValueError(f"rows of {width} objects are needed, got an array of shape {labels.shape}")
        found = np.array([[self.position(each) for each in row] for row in labels.tolist()], dtype=np.intp)
        for number, row in enumerate(found.tolist()):
            if len(set(row)) < width:
                raise ValueError(f"row {number} names an object twice: {quote_all(labels[number].tolist())}")
        return found

    def responses(self, form: Form, rows: Any, answers: Any, annotator: Any) -> list[Response]:
        """Return answers to questions, (k, width), each given by the labels it names; None if the second is nearer.

        Of comparisons from elsewhere each trial is one answer.
        """
        if isinstance(rows, Comparisons):
            return self._responses_in(rows)
        questions = self.positions(rows, form.width)
        if answers is None and form.name != "triplet":
            raise ValueError(f"answers to questions of kind {form.name!r} are needed, one for each row")
        if answers is not None and len(answers) != len(questions):
            raise ValueError(f"there are {len(answers)} answers to {pluralize(len(questions), 'question')}")
        named = [None] * len(questions) if answers is None else answers
        return [
            (form.comparisons(row, 0 if answers is None else self._answer_number(form, row, answer)), annotator, at)
            for at, (row, answer) in enumerate(zip(questions, named, strict=True))
        ]

    def _responses_in(self, comparisons: Comparisons) -> list[Response]:
        if (comparisons.sample_weight != 1).any():
            raise ValueError("comparisons with weights cannot be added; drop those of weight 0, and the weights")
        rows = np.array([self.position(label) for label in comparisons.objects.tolist()])[comparisons.oriented]
        people = None if comparisons.annotators is None else comparisons.annotators.tolist()
        parts: dict[int, list[int]] = {}
        for row, trial in enumerate(trial_indices(comparisons).tolist()):
            parts.setdefault(trial, []).append(row)
        return [(rows[part], None if people is None else people[part[0]], part[0]) for part in parts.values()]

    def _answer_number(self, form: Form, question: NDArray[np.intp], answer: Any) -> int:
        """Return which of the possible answers to a question this is."""
        named = answer if isinstance(answer, list | tuple | np.ndarray) else [answer]
        at = {position: place for place, position in enumerate(question.tolist())}
        places = tuple(sorted(at.get(self._position.get(each, -1), -1) for each in named))
        if places not in form.named:
            shown = quote_all(self.labels[question].tolist())
            raise ValueError(f"{quote(answer)} is no answer to a question about {shown}")
        return form.named.index(places)


class Record:
    """Questions that were asked, and answers, in their order."""

    def __init__(self, form: Form, n_objects: int) -> None:
        self.form = form
        self.answers: list[NDArray[np.intp]] = []  # the comparisons of each, (r, 4), as positions of objects
        self.keys: list[QuestionKey | None] = []  # the question of each answer, None if of another form
        self.annotators: list[Any] = []  # of each answer, None if unnamed
        self.purposes: list[str] = []  # of each answer
        self.counts: FloatArray = np.zeros(n_objects)  # how often each object came up, in questions and other answers
        # Questions that wait for an answer, with their purposes, by annotator and key, in the order of asking.
        self.open: dict[tuple[Any, QuestionKey], tuple[NDArray[np.intp], str]] = {}
        self.seen: defaultdict[Any, set[QuestionKey]] = defaultdict(set)  # what an annotator was asked or has answered

    def __len__(self) -> int:
        return len(self.answers)

    def n_asked(self) -> Counter[str]:
        """Return how many questions were asked for each purpose."""
        asked = Counter(self.purposes) + Counter(purpose for _, purpose in self.open.values())
        return Counter({purpose: asked[purpose] for purpose in (START, INFORMATION, TEST, REPEAT)})

    def ask(self, question: NDArray[np.intp], purpose: str, annotator: Any) -> None:
        """Record a question."""
        key = self.form.keys(question[None])[0]
        self.open[annotator, key] = question, purpose
        self.seen[annotator].add(key)
        self.counts[question] += 1

    def tell(self, comparisons: NDArray[np.intp], annotator: Any, purpose: str | None = None) -> None:
        """Record an answer; its purpose is that of the open question, if there is one."""
        key = self.form.key_of(comparisons)
        asked = None
        if key is not None:  # asked of this annotator, or of nobody in particular
            asked = self.open.pop((annotator, key), None) or self.open.pop((None, key), None)
        if asked is not None:
            purpose = asked[1]
        else:
            self.counts[np.unique(comparisons)] += 1
            purpose = purpose or (AGAIN if annotator is not None and key in self.seen[annotator] else OTHER)
        if key is not None:
            self.seen[annotator].add(key)
        self.answers.append(comparisons)
        self.keys.append(key)
        self.annotators.append(annotator)
        self.purposes.append(purpose)

    def count_as_test(self, annotator: Any, key: QuestionKey) -> str:
        """Count a question that an annotator has seen as random, now that it was drawn; return its former purpose.

        A repeat stays one.
        """
        if (annotator, key) in self.open:
            question, before = self.open[annotator, key]
            self.open[annotator, key] = question, REPEAT if before == REPEAT else TEST
            return before
        for number, (who, which) in enumerate(zip(self.annotators, self.keys, strict=True)):
            if which == key and who in (annotator, None) and self.purposes[number] not in (REPEAT, AGAIN):
                before, self.purposes[number] = self.purposes[number], TEST
                return before
        return REPEAT

    def comparisons(self, objects: NDArray[Any], count: int | None = None) -> Comparisons:
        """Return all answers, or the first ``count``, as comparisons."""
        answers, annotators = self.answers[:count], self.annotators[:count]
        number = np.repeat(np.arange(len(answers)), [len(rows) for rows in answers])
        rows, purposes = np.concatenate(answers), np.array(self.purposes[:count])[number]
        counts, chosen = purposes != AGAIN, purposes == INFORMATION
        names = None
        if any(each is not None for each in annotators):
            names = np.array([_UNNAMED_ANNOTATOR if each is None else str(each) for each in annotators])[number]
        triplets = bool((rows[:, 0] == rows[:, 2]).all())
        make = Comparisons.from_triplets if triplets else Comparisons.from_quadruplets
        return make(
            objects[rows[:, [0, 1, 3]] if triplets else rows],
            objects=objects,
            weights=None if counts.all() else counts.astype(np.float64),
            annotators=names,
            trials=number if len(rows) > len(answers) else None,
            chosen=chosen if chosen.any() else None,
        )

    def purposes_of_rows(self) -> NDArray[np.str_]:
        """Return the purpose of each comparison."""
        return np.repeat(np.array(self.purposes, dtype=np.str_), [len(rows) for rows in self.answers])

    def state(self) -> dict[str, Any]:
        """Return the record as values that a file can hold."""
        return {
            "answers": np.concatenate([np.empty((0, 4), np.intp), *self.answers]),
            "sizes": np.array([len(rows) for rows in self.answers], dtype=np.intp),
            "annotators": list(self.annotators),
            "purposes": list(self.purposes),
            "open_questions": [question for question, _ in self.open.values()],
            "open_purposes": [purpose for _, purpose in self.open.values()],
            "open_annotators": [annotator for annotator, _ in self.open],
        }

    @classmethod
    def from_state(cls, form: Form, n_objects: int, state: dict[str, Any]) -> Self:
        """Return the record that `state` described."""
        record = cls(form, n_objects)
        rows = np.asarray(state["answers"], dtype=np.intp)
        if rows.size and not 0 <= rows.min() <= rows.max() < n_objects:
            raise ValueError("an answer is about an object that is not there")
        if rows.shape != (state["sizes"].sum(), 4):
            raise ValueError(f"the sizes of the answers do not add up to their {len(rows)} comparisons")
        parts = np.split(rows, np.cumsum(state["sizes"])[:-1]) if len(state["sizes"]) else []
        for part, annotator, purpose in zip(parts, state["annotators"], state["purposes"], strict=True):
            record.tell(part, annotator, purpose)
        columns = state["open_questions"], state["open_purposes"], state["open_annotators"]
        for question, purpose, annotator in zip(*columns, strict=True):
            record.ask(np.asarray(question, dtype=np.intp), purpose, annotator)
        return record

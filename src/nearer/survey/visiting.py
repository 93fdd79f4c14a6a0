"""A person at one request: what they were asked, what becomes of their answers, and what they see next.

A person's questions are made as they are needed, a few ahead so that pictures can be loaded, and belong to that person.
They are read once a request, and all that a request does is done in one transaction, in which no other server receives
the same person (see `nearer.survey.store.Writer.submit`). So an answer and a take-back of one question at the same time
never both succeed: a question whose answer was confirmed keeps that answer and is never taken back, and one that was
taken back is never answered.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, select

from nearer.design.mix import PRACTICE
from nearer.survey import people
from nearer.survey.asking import NOT_COUNTED, Asker, text_of
from nearer.survey.people import Person
from nearer.survey.stimuli import Stimuli, Stimulus, gather_stimuli, slug_of
from nearer.survey.store.database import Database, insertion
from nearer.survey.store.tables import UNSEEN, answers, questions
from nearer.survey.store.writer import Busy
from nearer.survey.study import Study, labels_in, text_of_labels

_AHEAD = 3  # questions that wait for an answer, so that the next can be loaded
_LOOK_SECONDS = 1.0  # between two looks into the folder for objects that came later
# Statements are made once: making one takes longer than carrying it out.
_ASKED = (
    select(questions.c.id, questions.c.shown, questions.c.purpose,
           answers.c.question.is_not(None).label("done"))
    .join_from(questions, answers, answers.c.question == questions.c.id, isouter=True)
    .where(questions.c.person == bindparam("person"))
    .order_by(questions.c.place)
)  # fmt: skip
_ASK = questions.insert()
_TAKE_BACK = questions.update().where(questions.c.id == bindparam("number")).values(purpose=UNSEEN)


class NotYours(Exception):
    """An answer to a question that was given to somebody else, or to nobody."""


class Given(NamedTuple):
    """An answer as it arrived.

    Attributes
    ----------
    question : int
        Its number.
    chosen : tuple of int
        Places among the options.
    seconds : float or None
    sent_as : str
        The id that the browser gave it.
    """

    question: int
    chosen: tuple[int, ...]
    seconds: float | None
    sent_as: str


@dataclass
class _Question:
    """A question that a person was given."""

    id: int
    shown: str
    purpose: str
    done: bool

    @property
    def waits(self) -> bool:
        """Whether it is still to be answered."""
        return not self.done and self.purpose != UNSEEN


class Desk:
    """Where people are received: what is the same for all of them.

    Parameters
    ----------
    study : Study
    database : Database
    asker : Asker
    """

    def __init__(self, study: Study, database: Database, asker: Asker) -> None:
        self.study, self.asker = study, asker
        self.by_slug, self._next_look = _by_slug(study.stimuli), 0.0
        dialect = database.engine.dialect.name
        self.keep = insertion(dialect, answers).on_conflict_do_nothing()
        settings = study.settings
        self.page: dict[str, Any] = {
            "phase": "asking", "welcome": paragraphs(settings.welcome), "consent": paragraphs(settings.consent),
            "thanks": paragraphs(settings.thanks), "question": settings.question, "kind": settings.kind, "n_done": 0,
            "n_all": asker.n_all, "breaks": breaks(asker.n_all, settings.break_every),
            "completion_url": "", "completion_code": "", "next": [],
        }  # fmt: skip

    def item(self, question: _Question) -> dict[str, Any]:
        """Return a question as the page takes it; what it is for is nobody's business there."""
        items = [self._shown(label) for label in labels_in(question.shown)]
        head = items.pop(0) if self.study.is_headed else None
        practice = question.purpose == PRACTICE
        return {
            "id": question.id, "practice": practice, "n_chosen": self.study.n_chosen, "head": head, "options": items,
        }  # fmt: skip

    def find(self, slug: str) -> Stimulus | None:
        """Return what is shown of an object, even if it came into the folder after the start; None if there is none.

        While servers are started again one after the other, those that were started ask about objects that the others
        must show.
        """
        if slug not in self.by_slug and time.monotonic() >= self._next_look:
            later, _ = gather_stimuli(self.study.folder)
            self._next_look = time.monotonic() + _LOOK_SECONDS
            self.by_slug = _by_slug(later) | self.by_slug
        return self.by_slug.get(slug)

    def _shown(self, label: str) -> dict[str, Any]:
        slug = slug_of(label)
        stimulus = self.find(slug)
        if stimulus is None:
            raise Busy(
                f"another server asks about {label!r}, which this one does not have: start it again with its file"
            )
        url = f"/stimuli/{slug}" if stimulus.kind != "text" else ""
        return {"object": slug, "caption": stimulus.caption, "kind": stimulus.kind, "url": url}


def breaks(n_all: int, every: int) -> list[int]:
    """Return after how many answers a break is offered; none shortly before the end, where it only keeps people.

    Examples
    --------
    >>> breaks(90, 30), breaks(62, 30), breaks(75, 30), breaks(60, 0)
    ([30, 60], [30], [30, 60], [])
    """
    return [at for at in range(every, n_all, every) if 2 * (n_all - at) >= every] if every else []


class Visit:
    """A person at one request, whom no other server receives meanwhile.

    Parameters
    ----------
    desk : Desk
    connection : Connection
    person : Person
    status : str
        Whether the study is open, paused or closed.
    """

    def __init__(self, desk: Desk, connection: Connection, person: Person, status: str) -> None:
        self.desk, self.connection, self.person, self.status = desk, connection, person, status

    @cached_property
    def asked(self) -> list[_Question]:
        """What this person was asked so far, in its order."""
        rows = self.connection.execute(_ASKED, {"person": self.person.id})
        return [_Question(*row) for row in rows]

    def agree(self) -> None:
        """Note that this person agrees to take part, if the study is open to them."""
        if self.phase == "welcome":
            self.person = people.consent(self.connection, self.person)

    def take(self, given: Sequence[Given], received: float) -> list[int]:
        """Keep answers, each once, and return the numbers of their questions.

        Raises
        ------
        NotYours
            Nothing of the call is kept then.
        ValueError
            About places that no option has. Nothing is kept.
        """
        mine = {each.id: each for each in self.asked if each.purpose != UNSEEN}
        for each in given:
            if each.question not in mine:
                raise NotYours(f"question {each.question} was not given to this person")
            self._refuse_other_places(each.chosen, mine[each.question])
        for each in given:
            mine[each.question].done = True
        if given:
            values = [
                {
                    "question": each.question, "person": self.person.id, "sent_as": each.sent_as,
                    "chosen": text_of(sorted(each.chosen)), "seconds": each.seconds, "received": received,
                }
                for each in given
            ]  # fmt: skip
            self.connection.execute(self.desk.keep, values)
        return [each.question for each in given]

    def take_back(self, number: int) -> tuple[str, ...]:
        """Take back a question that could not be shown, and return its objects; another comes in its place.

        Raises
        ------
        NotYours
            If it is not this person's, is answered, or as many as the person's list is long were taken back before.
        """
        found = next((each for each in self.asked if each.id == number), None)
        n_before = sum(each.purpose == UNSEEN for each in self.asked)
        if found is None or found.done or n_before >= self.desk.asker.n_all:
            raise NotYours(f"question {number} cannot be taken back")
        if found.waits:
            self.connection.execute(_TAKE_BACK, {"number": number})
            found.purpose = UNSEEN
        return labels_in(found.shown)

    def state(self, now: float) -> dict[str, Any]:
        """Return what this person sees now, with questions made ahead; whoever has answered everything is done."""
        desk, n_done, n_all = self.desk, 0, self.desk.asker.n_all
        if self.person.consented is not None:
            n_done = sum(each.done and each.purpose != PRACTICE for each in self.asked)
        if self.person.completed is not None or n_done >= n_all:  # whatever has become of the study, or its settings
            self.person = people.complete(self.connection, self.person)
            code = self.person.code
            url = desk.study.settings.completion_url.replace("{code}", code)
            return desk.page | {"phase": "done", "n_done": n_all, "completion_url": url, "completion_code": code}
        phase = self.phase
        if phase != "asking":
            return desk.page | {"phase": phase}
        self._ask_ahead(now)
        waiting = [each for each in self.asked if each.waits]
        return desk.page | {"n_done": n_done, "next": [desk.item(each) for each in waiting[:_AHEAD]]}

    @property
    def phase(self) -> str:
        """What this person is at, before answers are counted."""
        if self.person.completed is None and self.status != "open":
            return self.status
        if self.person.consented is not None:
            return "asking"
        most = self.desk.study.settings.most_people
        return "closed" if most and people.count(self.connection) >= most else "welcome"

    def _ask_ahead(self, now: float) -> None:
        """Make questions until enough of them wait, or this person has had all."""
        asker, n_practice = self.desk.asker, self.desk.study.settings.practice
        n_given = sum(each.purpose not in (PRACTICE, UNSEEN) for each in self.asked)
        n_left = max(n_practice - len(self.asked), 0) + asker.n_all - n_given
        n_missing = min(_AHEAD - sum(each.waits for each in self.asked), n_left)
        if n_missing <= 0:
            return
        had = {asker.key(labels_in(each.shown)) for each in self.asked if each.purpose not in NOT_COUNTED}
        for place in range(len(self.asked), len(self.asked) + n_missing):
            shown, purpose = asker.next(self.connection, place, had)
            row = {"shown": text_of_labels(shown), "purpose": purpose}
            added = self.connection.execute(_ASK, row | {"person": self.person.id, "place": place, "asked": now})
            number = added.inserted_primary_key
            assert number is not None
            had.add(asker.key(shown))
            asker.remember(shown, purpose)
            self.asked.append(_Question(id=number[0], done=False, **row))

    def _refuse_other_places(self, chosen: tuple[int, ...], question: _Question) -> None:
        study = self.desk.study
        n_options = len(labels_in(question.shown)) - int(study.is_headed)
        places = set(chosen)
        if len(places) != len(chosen) or len(places) != study.n_chosen:
            raise ValueError(f"an answer names {study.n_chosen} different options")
        if not all(0 <= place < n_options for place in places):
            raise ValueError(f"options are numbered from 0 to {n_options - 1}")


def _by_slug(stimuli: Stimuli) -> dict[str, Stimulus]:
    return {stimulus.slug: stimulus for stimulus in stimuli.by_label.values()}


def paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a text, which empty lines part."""
    parts = (" ".join(part.split()) for part in text.replace("\r\n", "\n").split("\n\n"))
    return [part for part in parts if part]

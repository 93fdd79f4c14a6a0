"""A participant's session: who it is, which questions they are given, what they answered, and what they see next.

A person's questions are made as they are needed, a few ahead so that pictures can be loaded. All that a request does is
done in one transaction, in which no other server serves the same person (see `nearer.survey.store.Writer.submit`): an
answer to a question and its withdrawal at the same time never both succeed.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, bindparam, func, select

from nearer.design.mix import PRACTICE
from nearer.survey.assignment import Plan, assign, plan_of
from nearer.survey.notice import notice_text
from nearer.survey.sequencer import Sequencer
from nearer.survey.stimuli import Stimuli, Stimulus, gather_stimuli, slug_of
from nearer.survey.store import (
    ANALYSIS,
    STATUS,
    UNSEEN,
    Busy,
    Database,
    answers,
    facts,
    insert_into,
    people,
    questions,
)
from nearer.survey.study import UNCOUNTED_PURPOSES, Study, join_labels, join_numbers, split_labels

#: The parameters that Prolific and MTurk add to the address that people open; no others are read.
PLATFORM_PARAMETERS = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID", "workerId", "assignmentId", "hitId")
#: Those that name a person, and those that name what one person did; the others are the same for all.
_PERSON_PARAMETERS = ("PROLIFIC_PID", "workerId")
_OWN_PARAMETERS = ("PROLIFIC_PID", "SESSION_ID", "workerId", "assignmentId")
_MAX_PARAMETER_CHARACTERS = 100
_OPEN = "open"
_CODE_ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"  # none that looks like another
_N_AHEAD = 3  # questions that wait for an answer, so that the next can be loaded
_FOLDER_SECONDS = 1.0  # between two looks into the folder for objects that came later
# Statements are made once: making one takes longer than executing it.
_STATUS = select(facts.c.value).where(facts.c.name == STATUS)
_FIND = select(people, _STATUS.scalar_subquery().label("status")).where(people.c.session == bindparam("hash"))
_ASSIGNED = (
    select(questions.c.id, questions.c.shown, questions.c.purpose,
           answers.c.question.is_not(None).label("answered"))
    .join_from(questions, answers, isouter=True)
    .where(questions.c.person == bindparam("person"))
    .order_by(questions.c.place)
)  # fmt: skip
_ASSIGN = questions.insert()
_WITHDRAW = questions.update().where(questions.c.id == bindparam("number")).values(purpose=UNSEEN)


class Participant(NamedTuple):
    """Somebody who takes part, known by a token that only their browser has."""

    id: int
    name: str
    code: str
    consented: float | None
    completed: float | None
    left_out: bool
    external: str
    condition: str = ""
    question_list: str = ""

    def is_another(self, parameters: Mapping[str, str]) -> bool:
        """Return whether a platform names somebody else: two people may share a computer."""
        known = json.loads(self.external or "{}")
        return any(
            parameters.get(key, "")[:_MAX_PARAMETER_CHARACTERS] not in ("", known.get(key))
            for key in _PERSON_PARAMETERS
        )


def add_participant(
    connection: Connection, parameters: Mapping[str, str], common_code: str = ""
) -> tuple[Participant, str]:
    """Add a participant; return the record, and the token of the session."""
    token = secrets.token_urlsafe(24)
    known = {key: parameters[key][:_MAX_PARAMETER_CHARACTERS] for key in PLATFORM_PARAMETERS if parameters.get(key)}
    row: dict[str, Any] = {
        "name": _random_code(8),
        "session": hash_token(token),
        "external": json.dumps(known, sort_keys=True) if known else "",
        "code": common_code or _random_code(10).upper(),
        "began": time.time(),
        "left_out": False,
    }
    number = connection.execute(people.insert().values(row)).inserted_primary_key
    assert number is not None
    return Participant(number[0], row["name"], row["code"], None, None, False, row["external"]), token


def find_participant(connection: Connection, token: str) -> tuple[Participant, str] | None:
    """Return the participant whose session a token is of, and the status of the study; None if there is none."""
    row = connection.execute(_FIND, {"hash": hash_token(token)}).first()
    if row is None:
        return None
    found = Participant(*(getattr(row, field) for field in Participant._fields))
    return found, row.status or _OPEN


def study_status(connection: Connection) -> str:
    """Return whether the study is open, paused or closed."""
    return connection.execute(_STATUS).scalar() or _OPEN


def set_left_out(connection: Connection, name: str, left_out: bool) -> None:
    """Exclude a participant's answers from the map, or include them again."""
    changed = connection.execute(people.update().where(people.c.name == name).values(left_out=left_out))
    if changed.rowcount == 0:
        raise ValueError(f"there is no participant {name!r}")


def forget_participant(connection: Connection, name: str) -> dict[str, int]:
    """Delete a participant with all answers, and return the number of deleted rows by table.

    ``name`` is that of the participant, or the id that a recruiting platform gave them or what they did; not that of a
    study, which is the same for all.
    """
    rows = connection.execute(select(people.c.id, people.c.name, people.c.external)).all()
    found = [row.id for row in rows if name == row.name or name in _platform_ids(row.external)]
    if not found:
        raise ValueError(f"there is no participant {name!r}; see the column participant of the answers for names")
    # Whoever is served now is waited for, and comes too late afterwards; SQLite has one writer anyway.
    connection.execute(select(people.c.id).where(people.c.id.in_(found)).order_by(people.c.id).with_for_update())
    counts = {"people": len(found)}
    for table, column in ((answers, answers.c.person), (questions, questions.c.person), (people, people.c.id)):
        counts[table.name] = connection.execute(table.delete().where(column.in_(found))).rowcount
    connection.execute(facts.delete().where(facts.c.name == ANALYSIS))  # which speaks of people by name
    return counts


def hash_token(token: str) -> str:
    """Return what is kept of a token: whoever reads the database cannot use it."""
    return hashlib.sha256(token.encode()).hexdigest()


def _platform_ids(external: str) -> list[str]:
    known = json.loads(external or "{}")
    return [known[key] for key in _OWN_PARAMETERS if key in known]


def _random_code(length: int) -> str:
    return "".join(secrets.choice(_CODE_ALPHABET) for _ in range(length))


class NotAssigned(Exception):
    """An answer to a question that was given to somebody else, or to nobody."""


class SubmittedAnswer(NamedTuple):
    """An answer as it arrived: the number of its question, positions of options, and an id that the browser made."""

    question: int
    chosen: tuple[int, ...]
    seconds: float | None
    sent_as: str


@dataclass
class _AssignedQuestion:
    """A question that a person was given."""

    id: int
    shown: str
    purpose: str
    answered: bool

    @property
    def is_open(self) -> bool:
        """Whether it is still to be answered."""
        return not self.answered and self.purpose != UNSEEN


class QuestionService:
    """What the sessions of all participants share: the study, the sequencer, and the fixed parts of the page."""

    def __init__(self, study: Study, database: Database, rng: np.random.Generator) -> None:
        self.study, self.sequencer = study, Sequencer(study, database, rng)
        self.by_slug, self._next_look = _by_slug(study.stimuli), 0.0
        self.insert_answers = insert_into(database.engine.dialect.name, answers).on_conflict_do_nothing()
        settings = study.settings
        self.has_places = bool(settings.most_people or settings.conditions or study.lists)
        self.page: dict[str, Any] = {
            "phase": "asking", "welcome": paragraphs(settings.welcome), "consent": paragraphs(settings.consent),
            "notice": paragraphs(notice_text(settings)), "thanks": paragraphs(settings.thanks), "kind": settings.kind,
            "cant_tell": settings.cant_tell, "n_done": 0, "completion_url": "", "completion_code": "", "next": [],
        }  # fmt: skip

    def page_of(self, person: Participant, n_questions: int) -> dict[str, Any]:
        """Return the parts of the page that are the same for all, and those of a participant's condition."""
        settings = self.study.settings
        condition = settings.in_condition(person.condition)
        return self.page | {
            "question": condition.question, "instructions": paragraphs(condition.instructions),
            "n_all": n_questions, "breaks": break_positions(n_questions, settings.break_every),
        }  # fmt: skip

    def page_item(self, question: _AssignedQuestion) -> dict[str, Any]:
        """Return a question as the page gets it, without its purpose."""
        items = [self._shown(label) for label in split_labels(question.shown)]
        head = items.pop(0) if self.study.has_anchor else None
        practice = question.purpose == PRACTICE
        count = self.study.n_chosen
        return {"id": question.id, "practice": practice, "n_chosen": count, "head": head, "options": items}

    def find_stimulus(self, slug: str) -> Stimulus | None:
        """Return the stimulus of an object, even if it came into the folder after the start; None if there is none.

        While servers are restarted one after the other, those that were started ask about objects that the others must
        show.
        """
        if slug not in self.by_slug and time.monotonic() >= self._next_look:
            later, _ = gather_stimuli(self.study.folder)
            self._next_look = time.monotonic() + _FOLDER_SECONDS
            self.by_slug = _by_slug(later) | self.by_slug
        return self.by_slug.get(slug)

    def _shown(self, label: str) -> dict[str, Any]:
        slug = slug_of(label)
        stimulus = self.find_stimulus(slug)
        if stimulus is None:
            what = f"another server asks about {label!r}, which this one does not have"
            raise Busy(f"{what}: start it again with its file")
        url = f"/stimuli/{slug}" if stimulus.kind != "text" else ""
        return {"object": slug, "caption": stimulus.caption, "kind": stimulus.kind, "url": url}


class ParticipantSession:
    """A participant at one request, whom no other server serves meanwhile; ``status`` is that of the study."""

    def __init__(self, service: QuestionService, connection: Connection, person: Participant, status: str) -> None:
        self.service, self.connection, self.person, self.status = service, connection, person, status

    @cached_property
    def assigned(self) -> list[_AssignedQuestion]:
        """The questions of this person so far, in their order."""
        rows = self.connection.execute(_ASSIGNED, {"person": self.person.id})
        return [_AssignedQuestion(*row) for row in rows]

    @cached_property
    def plan(self) -> Plan:
        """What is asked of this person."""
        person = self.person
        return plan_of(self.service.study, person.condition, person.question_list, person.name)

    @property
    def n_questions(self) -> int:
        """Number of questions of this person, without practice; for one of a list that cannot be shown none is put."""
        first = self.service.study.mix.n_practice
        listed = self.assigned[first : first + len(self.plan.listed)] if self.plan.listed else []
        n_unseen = sum(each.purpose == UNSEEN for each in listed)
        return len(self.plan.listed) - n_unseen + self.plan.n_others

    @property
    def phase(self) -> str:
        """The phase of the study that this person is in, before answers are counted."""
        if self.person.completed is None and self.status != "open":
            return self.status
        if self.person.consented is not None:
            return "asking"
        # Only who has consented counts: whoever only looked takes nobody's place.
        most = self.service.study.settings.most_people
        n_consented = select(func.count()).where(people.c.consented.is_not(None))
        return "closed" if most and self.connection.execute(n_consented).scalar_one() >= most else "welcome"

    def consent(self) -> None:
        """Record that this person agrees to take part, if the study is open to them."""
        if self.phase == "welcome":
            service = self.service
            self.person = self._stamp("consented", **assign(self.connection, service.study, service.sequencer.rng))

    def save(self, submitted: Sequence[SubmittedAnswer], received: float) -> list[int]:
        """Keep answers, each once, and return the numbers of their questions; if one is invalid, none is kept.

        Raises NotAssigned for a question of somebody else, and ValueError for options that there are not.
        """
        own = {each.id: each for each in self.assigned if each.purpose != UNSEEN}
        for each in submitted:
            if each.question not in own:
                raise NotAssigned(f"question {each.question} was not given to this person")
            self._check_options(each.chosen, own[each.question])
        for each in submitted:
            own[each.question].answered = True
        if submitted:
            values = [
                {
                    "question": each.question, "person": self.person.id, "sent_as": each.sent_as,
                    "chosen": join_numbers(sorted(each.chosen)), "seconds": each.seconds, "received": received,
                }
                for each in submitted
            ]  # fmt: skip
            self.connection.execute(self.service.insert_answers, values)
        return [each.question for each in submitted]

    def withdraw(self, number: int) -> tuple[str, ...]:
        """Withdraw a question that could not be shown, and return its objects; another takes its place.

        Raises NotAssigned if it is not this person's or is answered, or if too many were withdrawn before.
        """
        found = next((each for each in self.assigned if each.id == number), None)
        n_before = sum(each.purpose == UNSEEN for each in self.assigned)
        if found is None or found.answered or n_before >= self.n_questions:
            raise NotAssigned(f"question {number} cannot be withdrawn")
        if found.is_open:
            self.connection.execute(_WITHDRAW, {"number": number})
            found.purpose = UNSEEN
        return split_labels(found.shown)

    def state(self, now: float) -> dict[str, Any]:
        """Return what this person sees now, with questions made ahead; whoever has answered everything is done."""
        service, n_done, n_all = self.service, 0, self.n_questions
        page = service.page_of(self.person, n_all)
        if self.person.consented is not None:
            n_done = sum(each.answered and each.purpose != PRACTICE for each in self.assigned)
        if self.person.completed is not None or n_done >= n_all:  # whatever has become of the study, or its settings
            self.person = self._stamp("completed")
            code = self.person.code
            url = service.study.settings.completion_url.replace("{code}", code)
            return page | {"phase": "done", "n_done": n_all, "completion_url": url, "completion_code": code}
        phase = self.phase
        if phase != "asking":
            return page | {"phase": phase}
        self._assign_ahead(now)
        waiting = [each for each in self.assigned if each.is_open]
        return page | {"n_done": n_done, "next": [service.page_item(each) for each in waiting[:_N_AHEAD]]}

    def _stamp(self, column: str, **more: str) -> Participant:
        """Record the time of an event that happens to a person once, and what comes with it; return the person."""
        if getattr(self.person, column) is not None:
            return self.person
        event: dict[str, Any] = {column: time.time(), **more}
        self.connection.execute(people.update().where(people.c.id == self.person.id).values(event))
        return self.person._replace(**event)

    def _assign_ahead(self, now: float) -> None:
        """Assign questions until enough of them wait, or this person has had all."""
        sequencer, n_practice = self.service.sequencer, self.service.study.settings.practice
        n_given = sum(each.purpose not in (PRACTICE, UNSEEN) for each in self.assigned)
        n_left = max(n_practice - len(self.assigned), 0) + self.n_questions - n_given
        n_missing = min(_N_AHEAD - sum(each.is_open for each in self.assigned), n_left)
        if n_missing <= 0:
            return
        counted = (each for each in self.assigned if each.purpose not in UNCOUNTED_PURPOSES)
        had = {sequencer.key(split_labels(each.shown)) for each in counted}
        for place in range(len(self.assigned), len(self.assigned) + n_missing):
            shown, purpose, correct = sequencer.next_question(self.connection, place, had, self.plan)
            row = {"shown": join_labels(shown), "purpose": purpose}
            values = row | {"correct": join_numbers(correct), "person": self.person.id, "place": place, "asked": now}
            added = self.connection.execute(_ASSIGN, values)
            number = added.inserted_primary_key
            assert number is not None
            had.add(sequencer.key(shown))
            sequencer.record(shown, purpose)
            self.assigned.append(_AssignedQuestion(id=number[0], answered=False, **row))

    def _check_options(self, chosen: tuple[int, ...], question: _AssignedQuestion) -> None:
        study = self.service.study
        n_options = len(split_labels(question.shown)) - int(study.has_anchor)
        places = set(chosen)
        if not chosen and study.settings.cant_tell:
            return
        if len(places) != len(chosen) or len(places) != study.n_chosen:
            raise ValueError(f"an answer names {study.n_chosen} different options")
        if not all(0 <= place < n_options for place in places):
            raise ValueError(f"options are numbered from 0 to {n_options - 1}")


def break_positions(n_questions: int, every: int) -> list[int]:
    """Return after how many answers a break is offered; none shortly before the end, where it only delays people."""
    return [at for at in range(every, n_questions, every) if 2 * (n_questions - at) >= every] if every else []


def paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a text, which empty lines separate."""
    parts = (" ".join(part.split()) for part in text.replace("\r\n", "\n").split("\n\n"))
    return [part for part in parts if part]


def _by_slug(stimuli: Stimuli) -> dict[str, Stimulus]:
    return {stimulus.slug: stimulus for stimulus in stimuli.values()}

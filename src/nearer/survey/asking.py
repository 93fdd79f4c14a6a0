"""Which question a person gets next, and what becomes of an answer.

A person's questions are made as they are needed, a few ahead so that pictures can be loaded, and belong to that person.
A share of them is drawn at random for an honest error, a share repeats such questions of others, and the rest are those
that the engine has proposed; while it has proposed none, all objects come up equally often.

Catch questions need no knowledge of the objects: one of the options is the head itself, or two of three are the same.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, func, select

from nearer.active.record import INFORMATION, REPEAT, START, TEST
from nearer.survey import people
from nearer.survey.people import Person
from nearer.survey.store.database import Database
from nearer.survey.store.tables import answers, proposals, questions
from nearer.survey.study import Study

PRACTICE, CATCH = "practice", "catch"
UNSEEN = "unseen"  # what a question is for whose files a browser could not load: nothing, and never answered
_AHEAD = 3  # questions that wait for an answer, so that the next can be loaded
_LOOKED_AT = 30  # proposals, of which somebody may have had some
_REMEMBERED = 1000  # random questions, to be repeated


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


class Asker:
    """Gives questions to people and takes their answers.

    Parameters
    ----------
    study : Study
    database : Database
    rng : Generator
    """

    def __init__(self, study: Study, database: Database, rng: np.random.Generator) -> None:
        self.study, self.database, self.rng = study, database, rng
        self.times = np.zeros(len(study.labels))
        self.tests: deque[tuple[int, ...]] = deque(maxlen=_REMEMBERED)
        with database.engine.connect() as connection:
            for row in connection.execute(select(questions.c.shown, questions.c.purpose).order_by(questions.c.id)):
                self._remember(numbers_in(row.shown), row.purpose)

    @property
    def n_all(self) -> int:
        """How many questions a person answers, practice aside."""
        return self.study.settings.per_person + self.study.n_catch

    def take(self, connection: Connection, person: Person, given: Sequence[Given], received: float) -> list[int]:
        """Keep answers, each once, and return the numbers of their questions.

        Raises
        ------
        NotYours
            Nothing of the call is kept then.
        ValueError
            About places that no option has. Nothing is kept.
        """
        wanted = [each.question for each in given]
        asked = (questions.c.id.in_(wanted), questions.c.person == person.id, questions.c.purpose != UNSEEN)
        rows = connection.execute(select(questions).where(*asked))
        shown = {row.id: numbers_in(row.shown) for row in rows}
        for each in given:
            if each.question not in shown:
                raise NotYours(f"question {each.question} was not given to this person")
            n_options = len(shown[each.question]) - int(self.study.is_headed)
            places = set(each.chosen)
            if len(places) != len(each.chosen) or len(places) != self.study.n_chosen:
                raise ValueError(f"an answer names {self.study.n_chosen} different options")
            if not all(0 <= place < n_options for place in places):
                raise ValueError(f"options are numbered from 0 to {n_options - 1}")
        if given:
            values = [
                {
                    "question": each.question, "person": person.id, "sent_as": each.sent_as,
                    "chosen": text_of(sorted(each.chosen)), "seconds": each.seconds, "received": received,
                }
                for each in given
            ]  # fmt: skip
            connection.execute(self.database.ignoring(answers), values)
        return wanted

    def take_back(self, connection: Connection, person: Person, question: int) -> tuple[int, ...]:
        """Take back a question that could not be shown, and return what it shows; another comes in its place.

        Raises
        ------
        NotYours
            If it is not this person's, is answered, or as many as the person's list is long were taken back before.
        """
        its = (questions.c.id == question, questions.c.person == person.id)
        shown = connection.execute(select(questions.c.shown).where(*its)).scalar()
        answered = connection.execute(select(answers.c.question).where(answers.c.question == question)).first()
        before = select(func.count()).where(questions.c.person == person.id, questions.c.purpose == UNSEEN)
        if shown is None or answered is not None or connection.execute(before).scalar_one() >= self.n_all:
            raise NotYours(f"question {question} cannot be taken back")
        connection.execute(questions.update().where(*its).values(purpose=UNSEEN))
        return numbers_in(shown)

    def progress(self, connection: Connection, person: Person, now: float) -> tuple[int, list[dict[str, Any]]]:
        """Return how many questions a person has answered, and those that wait; new ones are made."""
        settings = self.study.settings
        asked = connection.execute(
            select(questions.c.id, questions.c.place, questions.c.shown, questions.c.purpose, answers.c.question)
            .join_from(questions, answers, answers.c.question == questions.c.id, isouter=True)
            .where(questions.c.person == person.id)
            .order_by(questions.c.place)
        ).all()
        waiting = [(row.id, numbers_in(row.shown), row.purpose) for row in asked if _is_open(row)]
        n_done = sum(row.question is not None and row.purpose != PRACTICE for row in asked)
        n_unseen = sum(row.purpose == UNSEEN and row.place >= settings.practice for row in asked)
        n_most = settings.practice + self.n_all + n_unseen
        had: set[tuple[int, ...]] | None = None
        while len(waiting) < _AHEAD and len(asked) + len(waiting) - _n_open(asked) < n_most:
            place = len(asked) + len(waiting) - _n_open(asked)
            if had is None:
                had = {self._key(numbers_in(row.shown)) for row in asked if row.purpose not in (PRACTICE, CATCH)}
            shown, purpose = self._next(connection, place, had)
            row = {
                "person": person.id, "place": place, "shown": text_of(shown), "purpose": purpose, "asked": now,
                "same": text_of(self._key(shown)),
            }  # fmt: skip
            number = connection.execute(questions.insert().values(row)).inserted_primary_key
            assert number is not None
            had.add(self._key(shown))
            self._remember(shown, purpose)
            waiting.append((number[0], shown, purpose))
        return n_done, [self._item(*each) for each in waiting[:_AHEAD]]

    def _next(self, connection: Connection, place: int, had: set[tuple[int, ...]]) -> tuple[tuple[int, ...], str]:
        """Return what a person is shown at a place of the list, and what for."""
        settings, pool = self.study.settings, self.study.pool
        if place < settings.practice:
            return _plain(pool.draw(1, self.rng)[0]), PRACTICE
        if place - settings.practice in catch_places(settings.per_person, self.study.n_catch):
            return self._catch(), CATCH
        luck = self.rng.random()
        if luck < settings.test_share:
            drawn = _plain(pool.draw(1, self.rng)[0])
            if self._key(drawn) not in had:
                return drawn, TEST
        elif luck < settings.test_share + settings.repeat_share:
            again = self._asked_before(had)
            if again is not None:
                return again, REPEAT
        if settings.method == "active":
            chosen = self._proposed(connection, had)
            if chosen is not None:
                return chosen, INFORMATION
        drawn_new = pool.draw_new(1, self.rng, had, self.times)
        shown = drawn_new[0] if len(drawn_new) else pool.draw(1, self.rng)[0]  # had all: what is left but again
        return _plain(shown), START

    def _proposed(self, connection: Connection, had: set[tuple[int, ...]]) -> tuple[int, ...] | None:
        """Return a question that the engine has proposed and this person has not had, and take it from the list."""
        rows = connection.execute(select(proposals).order_by(proposals.c.id).limit(_LOOKED_AT)).all()
        for row in rows:
            shown = numbers_in(row.shown)
            if self._key(shown) in had:
                continue
            if connection.execute(proposals.delete().where(proposals.c.id == row.id)).rowcount == 1:
                return self._shuffled(shown)
        return None

    def _asked_before(self, had: set[tuple[int, ...]]) -> tuple[int, ...] | None:
        """Return a random question of somebody else."""
        for _ in range(min(len(self.tests), 10)):
            again = self.tests[int(self.rng.integers(len(self.tests)))]
            if self._key(again) not in had:
                return self._shuffled(again)
        return None

    def _catch(self) -> tuple[int, ...]:
        """Return a question whose answer anybody can see."""
        width, headed = self.study.form.width, self.study.is_headed
        different = self.rng.permutation(len(self.study.labels))[: width - 1].tolist()
        options = self.rng.permutation([*different, different[0]] if not headed else different).tolist()
        return (different[0], *options) if headed else tuple(options)

    def _shuffled(self, shown: tuple[int, ...]) -> tuple[int, ...]:
        return _plain(self.study.pool.shuffled(np.array([shown], dtype=np.intp), self.rng)[0])

    def _key(self, shown: Sequence[int]) -> tuple[int, ...]:
        first = int(self.study.is_headed)
        return (*shown[:first], *sorted(shown[first:]))

    def _remember(self, shown: tuple[int, ...], purpose: str) -> None:
        if purpose in (PRACTICE, CATCH):
            return
        self.times[list(shown)] += 1
        if purpose == TEST:
            self.tests.append(shown)

    def _item(self, number: int, shown: tuple[int, ...], purpose: str) -> dict[str, Any]:
        """Return a question as the page takes it; what it is for is nobody's business there."""
        items = [self._shown(each) for each in shown]
        head = items.pop(0) if self.study.is_headed else None
        n_chosen = self.study.n_chosen
        return {"id": number, "practice": purpose == PRACTICE, "n_chosen": n_chosen, "head": head, "options": items}

    def _shown(self, number: int) -> dict[str, Any]:
        stimulus = self.study.stimuli[self.study.labels[number]]
        url = f"/stimuli/{number}" if stimulus.kind != "text" else ""
        return {"number": number, "caption": stimulus.caption, "kind": stimulus.kind, "url": url}


def state_of(
    asker: Asker, connection: Connection, person: Person, status: str, now: float
) -> tuple[dict[str, Any], Person]:
    """Return what a person sees now; whoever has answered everything is done."""
    settings = asker.study.settings
    state: dict[str, Any] = {
        "phase": "asking", "welcome": paragraphs(settings.welcome), "consent": paragraphs(settings.consent),
        "thanks": paragraphs(settings.thanks), "question": settings.question, "kind": settings.kind, "n_done": 0,
        "n_all": asker.n_all, "break_every": settings.break_every, "completion_url": "", "completion_code": "",
        "next": [],
    }  # fmt: skip
    if person.completed is None and status != "open":
        return state | {"phase": status}, person
    if person.consented is None:
        full = settings.most_people and people.count(connection) >= settings.most_people
        return state | {"phase": "closed" if full else "welcome"}, person
    n_done, waiting = asker.progress(connection, person, now)
    if n_done >= asker.n_all:
        person = people.complete(connection, person)
        url = settings.completion_url.replace("{code}", person.code)
        done = {"phase": "done", "n_done": asker.n_all, "completion_url": url, "completion_code": person.code}
        return state | done, person
    return state | {"n_done": n_done, "next": waiting}, person


def catch_places(n_questions: int, n_catch: int) -> set[int]:
    """Return where catch questions stand in a list, evenly, neither first nor last.

    Examples
    --------
    >>> sorted(catch_places(10, 2))
    [4, 8]
    """
    return {round((at + 1) * (n_questions + n_catch) / (n_catch + 1)) for at in range(n_catch)}


def right_places(shown: Sequence[int], headed: bool) -> tuple[int, ...]:
    """Return which options of a catch question are right.

    Examples
    --------
    >>> right_places([4, 7, 4], headed=True), right_places([4, 4, 7], headed=False)
    ((1,), (2,))
    """
    if headed:
        return tuple(place for place, each in enumerate(shown[1:]) if each == shown[0])
    return tuple(place for place, each in enumerate(shown) if list(shown).count(each) == 1)


def paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a text, which empty lines part."""
    parts = (" ".join(part.split()) for part in text.replace("\r\n", "\n").split("\n\n"))
    return [part for part in parts if part]


def numbers_in(text: str) -> tuple[int, ...]:
    """Return numbers that `text_of` wrote."""
    return tuple(int(each) for each in text.split(","))


def text_of(numbers: Sequence[int]) -> str:
    """Return numbers as they are kept."""
    return ",".join(map(str, numbers))


def n_answers(connection: Connection) -> int:
    """Return how many answers there are."""
    return connection.execute(select(func.count()).select_from(answers)).scalar_one()


def _n_open(asked: Sequence[Any]) -> int:
    return sum(map(_is_open, asked))


def _is_open(row: Any) -> bool:
    return row.question is None and row.purpose != UNSEEN


def _plain(row: NDArray[np.intp]) -> tuple[int, ...]:
    return tuple(row.tolist())

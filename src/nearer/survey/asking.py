"""Which question a person gets next.

A share of a person's questions is drawn at random for an honest error, a share repeats such questions of others, and
the rest are those that the engine has proposed; while it has proposed none, all objects come up equally often.

Catch questions need no knowledge of the objects: one of the options is the head itself, or two of three are the same.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

import numpy as np
from sqlalchemy import Connection, bindparam, select

from nearer.design.mix import CATCH, INFORMATION, PRACTICE, REPEAT, START, TEST
from nearer.survey.store.database import Database
from nearer.survey.store.tables import UNSEEN, proposals, questions
from nearer.survey.study import Study, labels_in

NOT_COUNTED = (PRACTICE, CATCH, UNSEEN)
_LOOKED_AT = 8  # proposals, of which somebody may have had some
_REMEMBERED = 1000  # random questions, to be repeated
# Statements are made once: making one takes longer than carrying it out.
# What another server has just taken is passed over (SQLite has one writer, and no such words).
_PROPOSED = select(proposals).order_by(proposals.c.id).limit(_LOOKED_AT).with_for_update(skip_locked=True)
_TAKEN = proposals.delete().where(proposals.c.id == bindparam("number"))


class Asker:
    """Chooses questions for people.

    Parameters
    ----------
    study : Study
    database : Database
    rng : Generator
    """

    def __init__(self, study: Study, database: Database, rng: np.random.Generator) -> None:
        self.study, self.rng = study, rng
        self.times = np.zeros(len(study.labels))
        self.tests: deque[tuple[str, ...]] = deque(maxlen=_REMEMBERED)
        with database.engine.connect().execution_options(reading=True) as connection:
            for row in connection.execute(select(questions.c.shown, questions.c.purpose).order_by(questions.c.id)):
                self.remember(labels_in(row.shown), row.purpose)

    @property
    def n_all(self) -> int:
        """How many questions a person answers, practice aside."""
        return self.study.settings.per_person + self.study.mix.n_catch

    def next(self, connection: Connection, place: int, had: set[tuple[int, ...]]) -> tuple[tuple[str, ...], str]:
        """Return the objects that a person is shown at a place of the list, and what for.

        Parameters
        ----------
        connection : Connection
        place : int
        had : set of tuples of int
            Keys of the questions that this person has had.
        """
        settings, pool = self.study.settings, self.study.pool
        purpose = self.study.mix.purpose_at(place, settings.per_person, self.rng)
        if purpose == PRACTICE:
            return self._named(pool.draw(1, self.rng)[0]), PRACTICE
        if purpose == CATCH:
            return self._catch(), CATCH
        if purpose == TEST:
            drawn = self._named(pool.draw(1, self.rng)[0])
            if self.key(drawn) not in had:
                return drawn, TEST
        elif purpose == REPEAT:
            again = self._asked_before(had)
            if again is not None:
                return again, REPEAT
        if settings.method == "active":
            chosen = self._proposed(connection, had)
            if chosen is not None:
                return chosen, INFORMATION
        drawn_new = pool.draw_new(1, self.rng, had, self.times)
        shown = drawn_new[0] if len(drawn_new) else pool.draw(1, self.rng)[0]  # had all: what is left but again
        return self._named(shown), START

    def key(self, shown: Sequence[str]) -> tuple[int, ...]:
        """Return what makes a question the same as another; () of one with an object that this server does not have."""
        first, positions = int(self.study.is_headed), self.study.positions(shown)
        return (*positions[:first], *sorted(positions[first:]))

    def remember(self, shown: tuple[str, ...], purpose: str) -> None:
        """Note that a question was given to somebody."""
        positions = self.study.positions(shown)
        if purpose in NOT_COUNTED or not positions:
            return
        self.times[list(positions)] += 1
        if purpose == TEST:
            self.tests.append(shown)

    def _proposed(self, connection: Connection, had: set[tuple[int, ...]]) -> tuple[str, ...] | None:
        """Return a question that the engine has proposed and this person has not had, and take it from the list."""
        for row in connection.execute(_PROPOSED).all():
            shown = labels_in(row.shown)
            key = self.key(shown)
            if not key or key in had:
                continue
            if connection.execute(_TAKEN, {"number": row.id}).rowcount == 1:
                return self._shuffled(shown)
        return None

    def _asked_before(self, had: set[tuple[int, ...]]) -> tuple[str, ...] | None:
        """Return a random question of somebody else."""
        for _ in range(min(len(self.tests), 10)):
            again = self.tests[int(self.rng.integers(len(self.tests)))]
            if self.key(again) not in had:
                return self._shuffled(again)
        return None

    def _catch(self) -> tuple[str, ...]:
        """Return a question whose answer anybody can see."""
        width, headed = self.study.form.width, self.study.is_headed
        different = self.rng.permutation(len(self.study.labels))[: width - 1].tolist()
        options = self.rng.permutation([*different, different[0]] if not headed else different).tolist()
        return self._named([different[0], *options] if headed else options)

    def _shuffled(self, shown: tuple[str, ...]) -> tuple[str, ...]:
        positions = np.array([self.study.positions(shown)], dtype=np.intp)
        return self._named(self.study.pool.shuffled(positions, self.rng)[0])

    def _named(self, positions: Iterable[int]) -> tuple[str, ...]:
        """Return the labels of objects."""
        return tuple(self.study.labels[position] for position in positions)


def right_places(shown: Sequence[str], headed: bool) -> tuple[int, ...]:
    """Return which options of a catch question are right.

    Examples
    --------
    >>> right_places(["emu", "cat", "emu"], headed=True), right_places(["emu", "emu", "cat"], headed=False)
    ((1,), (2,))
    """
    if headed:
        return tuple(place for place, each in enumerate(shown[1:]) if each == shown[0])
    return tuple(place for place, each in enumerate(shown) if list(shown).count(each) == 1)


def numbers_in(text: str) -> tuple[int, ...]:
    """Return numbers that `text_of` wrote."""
    return tuple(int(each) for each in text.split(","))


def text_of(numbers: Sequence[int]) -> str:
    """Return numbers as they are kept."""
    return ",".join(map(str, numbers))

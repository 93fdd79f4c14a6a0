"""The engine: a process that learns from the answers so far, and proposes the questions that would tell most.

It reads answers from the database and writes proposals, and what it knows, back: the server never waits for it, and
goes on without it. Whatever ends it, the server starts it again, and it begins anew from what is in the database. Where
questions are drawn at random it proposes none, and learns for the researcher's page alone.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, func, select
from sqlalchemy.exc import SQLAlchemyError

from nearer._common.formatting import pluralize
from nearer.design.mix import OTHER, PURPOSES
from nearer.survey.asking import NOT_COUNTED, numbers_in
from nearer.survey.exporting import answers_of
from nearer.survey.known import judged, known_of
from nearer.survey.store.database import Damaged, Database, one_at_a_time, read_fact, reason, write_fact
from nearer.survey.store.tables import answers, people, proposals, questions
from nearer.survey.study import Study, labels_in, open_study, text_of_labels
from nearer.survey.supervising import KNOWN, write_state

_WAIT = 0.5  # seconds between two looks at the answers
_PROPOSED = 200
_HOLDS = 600.0  # seconds after which a question that was given may be proposed to others
_MAP_GROWTH, _MAP_SECONDS = 1.1, 5.0  # a map is fitted when there is a tenth more, and not more often than that
_NICER = 10  # steps behind the server, which comes first
_MAP_AT_LAST = 120.0  # seconds after which fewer new answers are worth a map too
_SHARE = 0.2  # of its time that the engine spends on maps, at most
_AT_ONCE = 500  # answers that are read by number
_LOG = logging.getLogger("nearer.survey")


class Engine:
    """Learns and proposes.

    Parameters
    ----------
    study : Study
    database : Database
    seed : int
    """

    n_told: int
    n_fitted: int
    fitted_at: float
    next_fit: float

    def __init__(self, study: Study, database: Database, seed: int = 0) -> None:
        self.study, self.database, self.seed = study, database, seed
        self.left_out: frozenset[int] = frozenset()
        with database.engine.connect().execution_options(reading=True) as connection:
            self.known: dict[str, Any] = json.loads(read_fact(connection, KNOWN) or "{}")
        self._begin_anew()
        self._note("waiting")

    @property
    def proposes(self) -> bool:
        """Whether it proposes questions."""
        return self.study.settings.method == "active"

    def look(self) -> bool:
        """Learn from what has come since the last look, and propose questions; say whether anything had come."""
        with self.database.engine.connect().execution_options(reading=True) as connection:
            left_out = frozenset(connection.execute(select(people.c.id).where(people.c.left_out)).scalars())
            new = self._new_answers(connection, left_out)
            n_proposals = connection.execute(select(func.count()).select_from(proposals)).scalar_one()
        enough = not self.proposes or not self.n_told or n_proposals >= _PROPOSED // 2
        if not new and enough:
            return False
        self._tell(new)
        if self.proposes:
            self.questions.update(progress=False)
            self._propose()
        self._note("ready" if self.known else "waiting")
        return True

    def fit_if_due(self) -> bool:
        """Fit a map for the researcher, if enough answers have come since the last one; say whether it did."""
        now = time.monotonic()
        growth = 1.0 if now > self.fitted_at + _MAP_AT_LAST else _MAP_GROWTH
        due = self.n_told > self.n_fitted and self.n_told >= max(growth * self.n_fitted, 2 * len(self.study.labels))
        if not due or now < self.next_fit:
            return False
        self._note("learning")
        try:
            self._fit()
            self._note("ready")
        except Exception as error:  # questions are worth more than the page
            _LOG.exception("no map could be made")
            self._note("failed", f"no map could be made: {error}")
        self.n_fitted, self.fitted_at = self.n_told, time.monotonic()
        self.next_fit = self.fitted_at + max(_MAP_SECONDS, (self.fitted_at - now) * (1 / _SHARE - 1))
        return True

    def _begin_anew(self) -> None:
        from nearer.design import Questions  # loads what only this process needs

        settings = self.study.settings
        self.questions = Questions(
            len(self.study.labels), settings.dimensions, settings.kind,
            test_share=0.0, repeat_share=0.0, random_state=self.seed,
        )  # fmt: skip
        self.n_told, self.n_fitted = 0, 0
        self.fitted_at, self.next_fit = 0.0, 0.0
        self.seen: set[int] = set()
        self._sum = (0, 0)

    def _new_answers(self, connection: Connection, left_out: frozenset[int]) -> list[Any]:
        """Return answers that were not told yet; if some must be forgotten, begin anew and return all.

        Answers come in any order, and clocks are set back: what is new is told by the numbers of the questions alone,
        which are looked at only if their count or their sum has changed.
        """
        totals = select(func.count(), func.coalesce(func.sum(answers.c.question), 0)).select_from(answers)
        n_answers, total = connection.execute(totals).one()
        if left_out == self.left_out and self._sum == (n_answers, total):
            return []
        there = set(connection.execute(select(answers.c.question)).scalars())
        if left_out != self.left_out or not self.seen <= there:
            self.left_out = left_out
            self._begin_anew()
        new = [row for row in _answers_to(connection, there - self.seen) if row.person not in left_out]
        self.seen, self._sum = there, (n_answers, int(total))
        here = [row for row in new if self.study.positions(labels_in(row.shown))]
        if len(here) < len(new):
            n_others = pluralize(len(new) - len(here), "answer")
            _LOG.warning("%s about objects that came into the folder later: start the server again", n_others)
        return here

    def _tell(self, new: list[Any]) -> None:
        by_person: dict[int, list[Any]] = {}
        for row in new:
            by_person.setdefault(row.person, []).append(row)
        for person, rows in by_person.items():
            shown = [self.study.positions(labels_in(row.shown)) for row in rows]
            named = [self._named(each, numbers_in(row.chosen)) for each, row in zip(shown, rows, strict=True)]
            purposes = [row.purpose if row.purpose in PURPOSES else OTHER for row in rows]
            self.questions.tell(shown, named, annotator=person, purposes=purposes, learn=self.proposes)
        self.n_told += len(new)

    def _named(self, shown: tuple[int, ...], chosen: tuple[int, ...]) -> Any:
        """Return the object, or the objects, that an answer names."""
        options = shown[int(self.study.is_headed) :]
        named = [options[place] for place in chosen]
        return named if self.study.n_chosen > 1 else named[0]

    def _propose(self) -> None:
        """Put the next questions in place of those before, the most telling first, without those somebody has."""
        with self.database.engine.connect().execution_options(reading=True) as connection:
            given = self._waiting(connection)
        chosen = self.questions.peek(_PROPOSED, given)
        rows = [{"shown": text_of_labels(self.study.labels[at] for at in row)} for row in chosen.tolist()]
        with self.database.engine.begin() as connection:
            one_at_a_time(connection)
            connection.execute(proposals.delete())
            if rows:
                connection.execute(proposals.insert(), rows)

    def _waiting(self, connection: Connection) -> list[tuple[int, ...]]:
        """Return the questions that people have and have not answered; of those who left long ago, not for ever."""
        now = time.time()
        rows = connection.execute(
            select(questions.c.shown)
            .join_from(questions, answers, answers.c.question == questions.c.id, isouter=True)
            .where(answers.c.question.is_(None), questions.c.purpose.not_in(NOT_COUNTED))
            .where(questions.c.asked.between(now - _HOLDS, now + _HOLDS))  # a clock may have been set back
        )
        waiting = [self.study.positions(labels_in(shown)) for shown in rows.scalars()]
        return [positions for positions in waiting if positions]

    def _fit(self) -> None:
        """Find out what the researcher's page shows."""
        known = {"n_known": self.n_told, "fitted": time.time(), **known_of(self.questions, self.study)}
        # Read, and only then looked at: as long as somebody reads, SQLite's log of what is written can only grow.
        with self.database.engine.connect().execution_options(reading=True) as connection:
            found = answers_of(connection, self.study)
            left_out = set(connection.execute(select(people.c.name).where(people.c.left_out)).scalars())
        known |= judged(found, self.study.settings.dimensions, left_out, self.known)
        self.known = known
        with self.database.engine.begin() as connection:
            write_fact(connection, KNOWN, json.dumps(known))

    def _note(self, state: str, message: str = "") -> None:
        write_state(self.database, state, message, self.n_told)


def _answers_to(connection: Connection, numbers: Iterable[int]) -> list[Any]:
    """Return the answers to some questions that count, in the order of their numbers."""
    found: list[Any] = []
    ordered = sorted(numbers)
    for first in range(0, len(ordered), _AT_ONCE):
        found += connection.execute(
            select(questions.c.id, questions.c.person, questions.c.shown, questions.c.purpose, answers.c.chosen)
            .join_from(answers, questions, answers.c.question == questions.c.id)
            .where(questions.c.id.in_(ordered[first : first + _AT_ONCE]))
            .where(questions.c.purpose.not_in(NOT_COUNTED))
            .order_by(questions.c.id)
        )
    return found


def run_engine(folder: Path) -> None:
    """Learn and propose until the process is ended."""
    if hasattr(os, "nice"):  # Windows has none
        os.nice(_NICER)
    try:
        study, database = open_study(folder)
    except (ValueError, Damaged) as error:  # such as a database that does not answer; the server tries again
        sys.exit(f"nearer: {error}")
    try:
        engine = Engine(study, database)
        while True:
            looked, fitted = engine.look(), engine.fit_if_due()
            if not looked and not fitted:
                time.sleep(_WAIT)
    except (SQLAlchemyError, Damaged) as error:  # what it has learned may be half of what came: it begins anew
        _LOG.error("the engine stops: %s", reason(error) if isinstance(error, SQLAlchemyError) else error)
        sys.exit(1)

"""The engine: a process that learns from the answers so far and proposes the questions that would tell most.

It reads answers from the database and writes proposals, and what it knows, back: the server never waits for it, and
goes on without it. Whatever ends it, the server starts it again, and it begins anew from what is in the database.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import Connection, func, select

from nearer.active.record import OTHER, PURPOSES
from nearer.survey.asking import CATCH, PRACTICE, numbers_in, text_of
from nearer.survey.store.database import Database, read_fact, write_fact
from nearer.survey.store.tables import answers, people, proposals, questions
from nearer.survey.study import Study, open_study

ENGINE = "engine"
_WAIT = 0.5  # seconds between two looks at the answers
_PROPOSED = 200
_HOLDS = 600.0  # seconds after which a question that was given may be proposed to others
_MAP_GROWTH, _MAP_SECONDS = 1.1, 20.0  # a map is fitted when there is a tenth more, and not more often than that
_LEVEL = 0.95
#: One thread, and memory that is given back: the server on the same small machine comes first.
_MODEST = {
    "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2",
    "MALLOC_TRIM_THRESHOLD_": "1000000",
}  # fmt: skip
_NICER = 10
_LOG = logging.getLogger("nearer.survey")


class Engine:
    """Learns and proposes.

    Parameters
    ----------
    study : Study
    database : Database
    seed : int
    """

    def __init__(self, study: Study, database: Database, seed: int = 0) -> None:
        self.study, self.database, self.seed = study, database, seed
        self.left_out: frozenset[int] = frozenset()
        self.n_told, self.n_fitted, self.next_fit = 0, 0, 0.0
        self.known: dict[str, Any] = {}
        self._begin_anew()

    def look(self) -> bool:
        """Learn from what has come since the last look, and propose questions; say whether anything had come."""
        with self.database.engine.connect().execution_options(reading=True) as connection:
            left_out = frozenset(connection.execute(select(people.c.id).where(people.c.left_out)).scalars())
            if left_out != self.left_out:
                self.left_out = left_out
                self._begin_anew()
            new = self._new_answers(connection)
            given = self._waiting(connection)
            n_proposals = connection.execute(select(func.count()).select_from(proposals)).scalar_one()
        if not new and n_proposals >= _PROPOSED // 2:
            return False
        if not new and not self.n_told:
            return False
        self._tell(new)
        self.questions.update()
        rows = self._chosen(given)
        with self.database.engine.begin() as connection:
            connection.execute(proposals.delete())
            if rows:
                connection.execute(proposals.insert(), rows)
        self._note("ready", "")
        return True

    def fit_if_due(self) -> bool:
        """Fit a map for the researcher, if enough answers have come since the last one; say whether it did."""
        due = self.n_told >= max(_MAP_GROWTH * self.n_fitted, 2 * len(self.study.labels))
        if not due or time.monotonic() < self.next_fit:
            return False
        self._note("learning", "")
        began = time.monotonic()
        self.known = self._summary()
        self.n_fitted = self.n_told
        self.next_fit = time.monotonic() + max(_MAP_SECONDS, 5 * (time.monotonic() - began))
        self._note("ready", "")
        return True

    def _begin_anew(self) -> None:
        from nearer.active import Questions  # loads what only this process needs

        settings = self.study.settings
        self.questions = Questions(
            len(self.study.labels), settings.dimensions, settings.kind,
            test_share=0.0, repeat_share=0.0, random_state=self.seed,
        )  # fmt: skip
        self.n_told, self.n_fitted, self.next_fit = 0, 0, 0.0
        self.told: set[int] = set()

    def _new_answers(self, connection: Connection) -> list[Any]:
        """Return answers that were not told yet."""
        rows = connection.execute(
            select(questions.c.id, questions.c.person, questions.c.shown, questions.c.purpose, answers.c.chosen,
                   answers.c.received)
            .join_from(answers, questions, answers.c.question == questions.c.id)
            .where(questions.c.purpose.not_in((PRACTICE, CATCH)))
            .order_by(questions.c.id)
        ).all()  # fmt: skip
        return [row for row in rows if row.id not in self.told and row.person not in self.left_out]

    def _waiting(self, connection: Connection) -> list[tuple[int, ...]]:
        """Return the questions that people have and have not answered; of those who left long ago, not for ever."""
        rows = connection.execute(
            select(questions.c.shown)
            .join_from(questions, answers, answers.c.question == questions.c.id, isouter=True)
            .where(answers.c.question.is_(None), questions.c.purpose.not_in((PRACTICE, CATCH)))
            .where(questions.c.asked > time.time() - _HOLDS)
        )
        return [numbers_in(shown) for shown in rows.scalars()]

    def _tell(self, new: list[Any]) -> None:
        for row in new:
            shown, chosen = numbers_in(row.shown), numbers_in(row.chosen)
            options = shown[int(self.study.is_headed) :]
            named = [options[place] for place in chosen]
            purpose = row.purpose if row.purpose in PURPOSES else OTHER
            answer = named if self.study.n_chosen > 1 else named[0]
            self.questions.tell([shown], [answer], person=row.person, purposes=[purpose])
            self.told.add(row.id)
        self.n_told += len(new)

    def _chosen(self, given: list[tuple[int, ...]]) -> list[dict[str, Any]]:
        """Return the next questions, the most telling first, without those that were given to somebody."""
        rows = self.questions.most_telling(_PROPOSED, given)
        keys = self.study.form.keys(rows) if len(rows) else []
        return [{"shown": text_of(row), "same": text_of(key)} for row, key in zip(rows.tolist(), keys, strict=True)]

    def _summary(self) -> dict[str, Any]:
        """Return what the researcher's page shows: the map, the honest error and what more answers would bring."""
        model = self.questions.model_
        found: dict[str, Any] = {"n_known": self.n_told, "error": None, "outlook": None, "map": None}
        if model.embedding_.shape[1] == 2:
            ellipses = model.ellipses(_LEVEL)
            found["map"] = {
                "objects": list(self.study.labels),
                "points": np.round(model.embedding_, 4).tolist(),
                "ellipses": np.round(ellipses, 4).tolist(),
            }
        try:
            error = self.questions.held_out_error()
            found["error"] = {"value": float(error), "low": error.low, "high": error.high, "n": error.n_answers}
            found["outlook"] = str(self.questions.outlook())
        except ValueError as reason:  # no random questions yet
            _LOG.info("no honest error yet: %s", reason)
        return found

    def _note(self, state: str, message: str) -> None:
        fact = {"state": state, "message": message, "n_known": self.n_told, "pid": os.getpid(), **self.known}
        with self.database.engine.begin() as connection:
            write_fact(connection, ENGINE, json.dumps(fact))


def run_engine(folder: Path, parent: int) -> None:
    """Learn and propose until the server ends."""
    os.nice(_NICER)
    study, database = open_study(folder)
    engine = Engine(study, database)
    while os.getppid() == parent:
        if not engine.look() and not engine.fit_if_due():
            time.sleep(_WAIT)


class Supervisor:
    """Keeps an engine running beside the server.

    Parameters
    ----------
    folder : Path
        Of the study.
    database : Database
    """

    def __init__(self, folder: Path, database: Database) -> None:
        self.folder, self.database = folder, database
        self.process: subprocess.Popen[bytes] | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="nearer-engine", daemon=True)

    def start(self) -> None:
        """Start the engine, and start it again whenever it ends."""
        self._thread.start()

    def stop(self) -> None:
        """End the engine."""
        self._ended.set()
        if self.process is not None:
            self.process.terminate()
        self._thread.join(5)

    def _watch(self) -> None:
        wait = 1.0
        while not self._ended.is_set():
            began = time.monotonic()
            command = [sys.executable, "-m", "nearer.survey.engine", str(self.folder), str(os.getpid())]
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, env=os.environ | _MODEST)
            status = self.process.wait()
            if self._ended.is_set():
                return
            wait = 1.0 if time.monotonic() - began > 60 else min(2 * wait, 60.0)
            _LOG.warning("the engine ended with status %d; it starts again in %.0f s", status, wait)
            self._tell_failed(status)
            self._ended.wait(wait)

    def _tell_failed(self, status: int) -> None:
        try:
            with self.database.engine.begin() as connection:
                known = json.loads(read_fact(connection, ENGINE) or "{}")
                known |= {"state": "failed", "message": f"ended with status {status}; it starts again"}
                write_fact(connection, ENGINE, json.dumps(known))
        except Exception as error:  # the page is worth less than the engine
            _LOG.warning("the state of the engine could not be written: %s", error)


if __name__ == "__main__":
    run_engine(Path(sys.argv[1]), int(sys.argv[2]))

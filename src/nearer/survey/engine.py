"""The engine: a process that learns from the answers so far, and proposes the most informative questions.

It reads answers from the database and writes proposals, and what the researcher's page shows, back: the server never
waits for it. Whatever ends it, the server starts it again, and it starts afresh from what is in the database. Where
questions are drawn at random it proposes none. Error and noise ceiling on the page are those on questions drawn at
random: chosen questions are harder than others, for people as for maps.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from sqlalchemy import Connection, func, select
from sqlalchemy.exc import SQLAlchemyError

from nearer._common.formatting import pluralize
from nearer.checking.doctor import check_collected
from nearer.data.features import Features
from nearer.design import Questions
from nearer.design.mix import OTHER, PURPOSES, REPEAT, START, TEST
from nearer.evaluation.ceiling import noise_ceiling
from nearer.io import Answers
from nearer.survey.exporting import answers_of
from nearer.survey.store import (
    ANALYSIS,
    Database,
    DatabaseDamaged,
    answers,
    driver_message,
    lock_step,
    people,
    proposals,
    questions,
    read_fact,
    write_fact,
)
from nearer.survey.study import UNCOUNTED_PURPOSES, Study, join_labels, open_study, split_labels, split_numbers
from nearer.survey.supervisor import write_state

POLL_SECONDS = 0.5
_N_PROPOSALS = 200
_HOLD_SECONDS = 600.0  # after which a question that was given may be proposed to others
_MIN_FIT_GROWTH, _MIN_FIT_SECONDS = 1.1, 5.0  # a map is fitted when there is a tenth more, and not more often than that
_MAX_FIT_DELAY_SECONDS = 120.0  # after which fewer new answers are worth a map too
_MAX_FIT_LOAD = 0.2  # share of its time that the engine spends on maps
_NICE_INCREMENT = 10  # the server comes first
_ANSWERS_PER_FETCH = 500
_LEVEL = 0.95
#: Questions that were not chosen for the information of their answers.
_RANDOM_PURPOSES = (START, TEST, REPEAT)
_LOG = logging.getLogger("nearer.survey")
Found = TypeVar("Found")


class Engine:
    """Learns and proposes."""

    n_learned: int
    n_fitted: int
    fitted_at: float
    next_fit: float

    def __init__(self, study: Study, database: Database, seed: int = 0) -> None:
        self.study, self.database, self.seed = study, database, seed
        self.left_out: frozenset[int] = frozenset()
        with database.reading() as connection:
            self.analysis: dict[str, Any] = json.loads(read_fact(connection, ANALYSIS) or "{}")
        self._reset()
        self._write_state("waiting")

    @property
    def proposes(self) -> bool:
        """Whether it proposes questions: where lists are all that is asked, they would be chosen in vain."""
        return self.study.settings.method == "active" and self.study.draws_questions

    def update(self) -> bool:
        """Learn from what has come since the last update, and propose questions; return whether anything had come."""
        with self.database.reading() as connection:
            left_out = frozenset(connection.execute(select(people.c.id).where(people.c.left_out)).scalars())
            new = self._new_answers(connection, left_out)
            n_proposals = connection.execute(select(func.count()).select_from(proposals)).scalar_one()
        knows_nothing = not self.n_learned and not self.questions.features_
        enough = not self.proposes or knows_nothing or n_proposals >= _N_PROPOSALS // 2
        if not new and enough:
            return False
        self._learn(new)
        if self.proposes:
            self.questions.update(progress=False)
            self._propose()
        self._write_state("ready" if self.analysis else "waiting")
        return True

    def fit_if_due(self) -> bool:
        """Fit a map for the researcher if enough answers have come since the last one; return whether it did."""
        now = time.monotonic()
        growth = 1.0 if now > self.fitted_at + _MAX_FIT_DELAY_SECONDS else _MIN_FIT_GROWTH
        n_needed = max(growth * self.n_fitted, 2 * len(self.study.labels))
        if not self.n_fitted < self.n_learned >= n_needed or now < self.next_fit:
            return False
        self._write_state("learning")
        try:
            self._analyze()
            self._write_state("ready")
        except Exception as error:  # questions are worth more than the page
            _LOG.exception("no map could be made")
            self._write_state("failed", f"no map could be made: {error}")
        self.n_fitted, self.fitted_at = self.n_learned, time.monotonic()
        self.next_fit = self.fitted_at + max(_MIN_FIT_SECONDS, (self.fitted_at - now) * (1 / _MAX_FIT_LOAD - 1))
        return True

    def _reset(self) -> None:
        """Forget all answers."""
        settings = self.study.settings
        self.questions = Questions(
            len(self.study.labels), settings.dimensions, settings.kind,
            test_share=0.0, repeat_share=0.0, features=self.study.features or None, random_state=self.seed,
        )  # fmt: skip
        self.n_learned, self.n_fitted = 0, 0
        self.fitted_at, self.next_fit = 0.0, 0.0
        self.seen: set[int] = set()
        self._checksum = (0, 0)

    def _new_answers(self, connection: Connection, left_out: frozenset[int]) -> list[Any]:
        """Return answers that are new; if some must be forgotten, start afresh and return all.

        Answers come in any order, and clocks are set back: what is new shows in the numbers of the questions alone,
        which are looked at only if their count or their sum has changed.
        """
        totals = select(func.count(), func.coalesce(func.sum(answers.c.question), 0)).select_from(answers)
        n_answers, total = connection.execute(totals).one()
        if left_out == self.left_out and self._checksum == (n_answers, total):
            return []
        there = set(connection.execute(select(answers.c.question)).scalars())
        if left_out != self.left_out or not self.seen <= there:
            self.left_out = left_out
            self._reset()
        new = [row for row in _answers_to(connection, there - self.seen) if row.person not in left_out]
        self.seen, self._checksum = there, (n_answers, int(total))
        known = [row for row in new if self.study.positions(split_labels(row.shown))]
        if len(known) < len(new):
            n_others = pluralize(len(new) - len(known), "answer")
            _LOG.warning("%s about objects that came into the folder later: start the server again", n_others)
        return known

    def _learn(self, new: list[Any]) -> None:
        by_person: dict[int, list[Any]] = {}
        for row in new:
            by_person.setdefault(row.person, []).append(row)
        for person, rows in by_person.items():
            shown = [self.study.positions(split_labels(row.shown)) for row in rows]
            chosen = [self._chosen(each, split_numbers(row.chosen)) for each, row in zip(shown, rows, strict=True)]
            purposes = [row.purpose if row.purpose in PURPOSES else OTHER for row in rows]
            self.questions.tell(shown, chosen, annotator=person, purposes=purposes, learn=self.proposes)
        self.n_learned += len(new)

    def _chosen(self, shown: tuple[int, ...], places: tuple[int, ...]) -> Any:
        """Return the object, or the objects, that an answer names."""
        options = shown[int(self.study.has_anchor) :]
        chosen = [options[place] for place in places]
        return chosen if self.study.n_chosen > 1 else chosen[0]

    def _propose(self) -> None:
        """Replace the proposals by the next questions, the most informative first, without those somebody has."""
        with self.database.reading() as connection:
            given = self._open_questions(connection)
        chosen = self.questions.peek(_N_PROPOSALS, given)
        rows = [{"shown": join_labels(self.study.labels[at] for at in row)} for row in chosen.tolist()]
        with self.database.engine.begin() as connection:
            lock_step(connection)
            connection.execute(proposals.delete())
            if rows:
                connection.execute(proposals.insert(), rows)

    def _open_questions(self, connection: Connection) -> list[tuple[int, ...]]:
        """Return the questions that people have and have not answered; of those who left long ago, not for ever."""
        now = time.time()  # of a clock that may have been set back
        rows = connection.execute(
            select(questions.c.shown)
            .join_from(questions, answers, isouter=True)
            .where(answers.c.question.is_(None), questions.c.purpose.not_in(UNCOUNTED_PURPOSES))
            .where(questions.c.asked.between(now - _HOLD_SECONDS, now + _HOLD_SECONDS))
        )
        shown = [self.study.positions(split_labels(text)) for text in rows.scalars()]
        return [positions for positions in shown if positions]

    def _analyze(self) -> None:
        """Find out what the researcher's page shows."""
        analysis = {"n_answers": self.n_learned, "fitted": time.time(), **analyze_map(self.questions, self.study)}
        # Read, and only then checked: as long as somebody reads, SQLite's log of what is written can only grow.
        with self.database.reading() as connection:
            found = answers_of(connection, self.study)
            left_out = set(connection.execute(select(people.c.name).where(people.c.left_out)).scalars())
        analysis |= analyze_people(
            found, self.study.settings.dimensions, left_out, self.analysis, self.study.features_by_label
        )
        self.analysis = analysis
        with self.database.engine.begin() as connection:
            write_fact(connection, ANALYSIS, json.dumps(analysis))

    def _write_state(self, state: str, message: str = "") -> None:
        write_state(self.database, state, message, self.n_learned)


def _answers_to(connection: Connection, numbers: Iterable[int]) -> list[Any]:
    """Return the answers to some questions that count, in the order of their numbers; not where people cannot tell."""
    found: list[Any] = []
    ordered = sorted(numbers)
    for first in range(0, len(ordered), _ANSWERS_PER_FETCH):
        found += connection.execute(
            select(questions.c.id, questions.c.person, questions.c.shown, questions.c.purpose, answers.c.chosen)
            .join_from(answers, questions)
            .where(questions.c.id.in_(ordered[first : first + _ANSWERS_PER_FETCH]))
            .where(questions.c.purpose.not_in(UNCOUNTED_PURPOSES), answers.c.chosen != "")
            .order_by(questions.c.id)
        )
    return found


def analyze_map(questions: Questions, study: Study) -> dict[str, Any]:
    """Return the map with its ellipses, its error on random questions, the noise ceiling and the outlook.

    What cannot be estimated yet is None.
    """
    return {
        "map": _map(questions, study),
        "error": _or_none(lambda: _error(questions)),
        "ceiling": _or_none(lambda: _ceiling(questions)),
        "outlook": _or_none(lambda: _outlook(questions, study)),
    }


def analyze_people(
    answers: Answers,
    n_components: int,
    left_out: Collection[str],
    before: Mapping[str, Any],
    features: Sequence[Features] = (),
) -> dict[str, Any]:
    """Return the findings of `nearer check` on the answers so far, and the flags of each person.

    People who are excluded are not judged any more; they keep their flags from ``before``, the last analysis.
    """
    findings = check_collected(answers, n_components=n_components, random_state=0, features=features)
    kept = {person: flags for person, flags in before.get("people", {}).items() if person in left_out}
    return {"findings": findings.to_dicts(), "people": {**kept, **findings.flags()}}


def _map(questions: Questions, study: Study) -> dict[str, Any] | None:
    """Return the first two axes of the map; a line is drawn on one."""
    model = questions.model_
    points = model.embedding_[:, :2]
    if points.shape[1] == 1:
        reach = 1.96 * model.embedding_std_[:, 0]
        flat = np.zeros(len(points))
        points, ellipses = np.column_stack([points, flat]), np.column_stack([points, flat, reach, flat, flat])
    else:
        ellipses = model.ellipses(_LEVEL)
    return {
        "objects": list(study.labels),
        "n_dimensions": model.embedding_.shape[1],
        "points": np.round(points, 4).tolist(),
        "ellipses": np.round(ellipses, 4).tolist(),
    }


def _error(questions: Questions) -> dict[str, Any]:
    error = questions.held_out_error()
    return {"value": float(error), "low": error.low, "high": error.high, "n": error.n_answers}


def _ceiling(questions: Questions) -> dict[str, Any] | None:
    """Return the least error of a map that all share, on random questions; None as long as too few came again."""
    is_random = np.isin(questions.purposes_, _RANDOM_PURPOSES)
    if not is_random.any():
        return None
    found = noise_ceiling(questions.comparisons_[is_random], level=_LEVEL)
    if found is None:
        return None
    return {
        "value": found.error, "low": found.low, "high": found.high, "n": found.n_questions,
        "vague": found.is_vague,
    }  # fmt: skip


def _outlook(questions: Questions, study: Study) -> dict[str, Any]:
    found = questions.outlook(choose="information" if study.settings.method == "active" else "random")
    names = (
        "n_answers_more", "error_now", "error_then", "gain_low", "gain_high", "gain_of_a_fifth", "min_gain", "floor",
        "ellipse_now", "ellipse_then", "recommendation", "warning",
    )  # fmt: skip
    return {name: getattr(found, name) for name in names}


def _or_none(work: Callable[[], Found]) -> Found | None:
    try:
        return work()
    except ValueError as reason:  # such as no random questions yet
        _LOG.info("%s", reason)
        return None


def run_engine(folder: Path) -> None:
    """Learn and propose until the process is ended."""
    if hasattr(os, "nice"):  # Windows has none
        os.nice(_NICE_INCREMENT)
    try:
        study, database = open_study(folder)
    except (ValueError, DatabaseDamaged) as error:  # such as a database that does not answer; the server tries again
        sys.exit(f"nearer: {error}")
    try:
        engine = Engine(study, database)
        while True:
            updated, fitted = engine.update(), engine.fit_if_due()
            if not updated and not fitted:
                time.sleep(POLL_SECONDS)
    except (SQLAlchemyError, DatabaseDamaged) as error:
        # What it has learned may be half of what came, so that it starts afresh.
        _LOG.error("the engine stops: %s", driver_message(error) if isinstance(error, SQLAlchemyError) else error)
        sys.exit(1)

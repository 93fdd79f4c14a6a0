"""Which question a participant is asked next: of their list, drawn at random, repeated, or proposed by the engine."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

import numpy as np
from sqlalchemy import Connection, bindparam, select

from nearer.design.mix import CATCH, INFORMATION, PRACTICE, REPEAT, START, TEST
from nearer.survey.assignment import Plan
from nearer.survey.store import Database, proposals, questions
from nearer.survey.study import UNCOUNTED_PURPOSES, Study, split_labels

_MAX_PROPOSALS = 8  # that are looked at, as the person may have had some
_MAX_RANDOM_QUESTIONS = 1000  # that are remembered, to be repeated
_REPEAT_TRIES = 10
# What another server has just taken is skipped (SQLite has one writer, and no such clause).
_PROPOSALS = select(proposals).order_by(proposals.c.id).limit(_MAX_PROPOSALS).with_for_update(skip_locked=True)
_TAKE_PROPOSAL = proposals.delete().where(proposals.c.id == bindparam("number"))


class Sequencer:
    """Chooses the next question of a participant.

    A share of the questions is drawn at random for an unbiased error, a share repeats such questions of others, and the
    rest are those that the engine has proposed; while it has proposed none, all objects come up equally often.
    """

    def __init__(self, study: Study, database: Database, rng: np.random.Generator) -> None:
        self.study, self.rng = study, rng
        self.n_shown = np.zeros(len(study.labels))
        self.random_questions: deque[tuple[str, ...]] = deque(maxlen=_MAX_RANDOM_QUESTIONS)
        with database.reading() as connection:
            for row in connection.execute(select(questions.c.shown, questions.c.purpose).order_by(questions.c.id)):
                self.record(split_labels(row.shown), row.purpose)

    def next_question(
        self, connection: Connection, place: int, had: set[tuple[int, ...]], plan: Plan
    ) -> tuple[tuple[str, ...], str, tuple[int, ...]]:
        """Return the objects to show at a place of a participant's sequence, their purpose, and the right options.

        ``had``: keys of the questions that the participant has had. Right options are given of catch questions of a
        list alone: see `correct_options` for others.
        """
        after_practice = place - self.study.mix.n_practice
        if 0 <= after_practice < len(plan.listed):
            trial = plan.listed[after_practice]
            options = trial.shown[int(self.study.has_anchor) :]
            return trial.shown, trial.purpose, tuple(at for at, each in enumerate(options) if each in trial.right)
        place -= len(plan.listed) if after_practice >= 0 else 0
        return *self._drawn_question(connection, place, had), ()

    def _drawn_question(
        self, connection: Connection, place: int, had: set[tuple[int, ...]]
    ) -> tuple[tuple[str, ...], str]:
        """Return the objects to show at a place among questions of no list, and the purpose of the question."""
        settings, pool = self.study.settings, self.study.pool
        purpose = self.study.mix.purpose_at(place, settings.per_person, self.rng)
        if purpose == PRACTICE:
            return self._labels(pool.draw(1, self.rng)[0]), PRACTICE
        if purpose == CATCH:
            return self._catch_question(), CATCH
        if purpose == TEST:
            drawn = self._labels(pool.draw(1, self.rng)[0])
            if self.key(drawn) not in had:
                return drawn, TEST
        elif purpose == REPEAT:
            repeated = self._repeated_question(had)
            if repeated is not None:
                return repeated, REPEAT
        if settings.method == "active":
            proposed = self._proposed_question(connection, had)
            if proposed is not None:
                return proposed, INFORMATION
        new = pool.draw_new(1, self.rng, had, self.n_shown)
        shown = new[0] if len(new) else pool.draw(1, self.rng)[0]  # who has had all gets one again
        return self._labels(shown), START

    def key(self, shown: Sequence[str]) -> tuple[int, ...]:
        """Return what identifies a question, in any order of options; () if this server lacks one of its objects."""
        first, positions = int(self.study.has_anchor), self.study.positions(shown)
        return (*positions[:first], *sorted(positions[first:]))

    def record(self, shown: tuple[str, ...], purpose: str) -> None:
        """Count a question that was given to somebody."""
        positions = self.study.positions(shown)
        if purpose in UNCOUNTED_PURPOSES or not positions:
            return
        self.n_shown[list(positions)] += 1
        if purpose == TEST:
            self.random_questions.append(shown)

    def _proposed_question(self, connection: Connection, had: set[tuple[int, ...]]) -> tuple[str, ...] | None:
        """Return a question that the engine has proposed and this person has not had, and take it from the list."""
        for row in connection.execute(_PROPOSALS).all():
            shown = split_labels(row.shown)
            key = self.key(shown)
            if not key or key in had:
                continue
            if connection.execute(_TAKE_PROPOSAL, {"number": row.id}).rowcount == 1:
                return self._shuffled(shown)
        return None

    def _repeated_question(self, had: set[tuple[int, ...]]) -> tuple[str, ...] | None:
        """Return a random question of somebody else."""
        for _ in range(min(len(self.random_questions), _REPEAT_TRIES)):
            shown = self.random_questions[int(self.rng.integers(len(self.random_questions)))]
            if self.key(shown) not in had:
                return self._shuffled(shown)
        return None

    def _catch_question(self) -> tuple[str, ...]:
        """Return a question whose answer needs no knowledge: an option is the anchor, or two of three are the same."""
        width, has_anchor = self.study.form.width, self.study.has_anchor
        different = self.rng.permutation(len(self.study.labels))[: width - 1].tolist()
        options = self.rng.permutation([*different, different[0]] if not has_anchor else different).tolist()
        return self._labels([different[0], *options] if has_anchor else options)

    def _shuffled(self, shown: tuple[str, ...]) -> tuple[str, ...]:
        """Return a question with its options in random order."""
        positions = np.array([self.study.positions(shown)], dtype=np.intp)
        return self._labels(self.study.pool.shuffled(positions, self.rng)[0])

    def _labels(self, positions: Iterable[int]) -> tuple[str, ...]:
        return tuple(self.study.labels[position] for position in positions)


def correct_options(shown: Sequence[str], has_anchor: bool) -> tuple[int, ...]:
    """Return the positions of the correct options of a catch question."""
    if has_anchor:
        return tuple(place for place, each in enumerate(shown[1:]) if each == shown[0])
    return tuple(place for place, each in enumerate(shown) if list(shown).count(each) == 1)

"""Completion codes: whether one that somebody hands in is of a person who has answered everything."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, func, select

from nearer._common.formatting import pluralize
from nearer.survey.asking import NOT_COUNTED
from nearer.survey.settings import Settings
from nearer.survey.store.tables import answers, people, questions


class Code(NamedTuple):
    """What is known about a code.

    Attributes
    ----------
    code : str
        As it was handed in.
    right : bool
        Whether it is of somebody who has answered everything.
    person : str or None
        Whose it is; None if it is nobody's, or that of all.
    completed : float or None
        When, in seconds since 1970.
    n_answers : int
    said : str
        All of it in words.
    """

    code: str
    right: bool
    person: str | None
    completed: float | None
    n_answers: int
    said: str


def look_up(connection: Connection, settings: Settings, codes: Sequence[str]) -> list[Code]:
    """Return what is known about codes; letters may be small or large, and spaces do not matter."""
    return [_look_up(connection, settings, code) for code in codes]


def _look_up(connection: Connection, settings: Settings, code: str) -> Code:
    wanted = "".join(code.split()).upper()
    if wanted == settings.completion_code.upper() and settings.completion_code != "each":
        return _of_all(connection, code)
    row = connection.execute(select(people).where(func.upper(people.c.code) == wanted)).first()
    if row is None or not wanted:
        return Code(code, False, None, None, 0, "there is no such code")
    n_answers = _n_answers(connection, row)
    given = pluralize(n_answers, "answer")
    if row.completed is None:
        return Code(code, False, row.name, None, n_answers, f"of {row.name}, who is not done yet: {given}")
    when = datetime.datetime.fromtimestamp(row.completed, datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    left_out = ", left out of the map" if row.left_out else ""
    return Code(code, True, row.name, row.completed, n_answers, f"of {row.name}, done on {when}: {given}{left_out}")


def _of_all(connection: Connection, code: str) -> Code:
    """Say what a code is worth that everybody gets."""
    n_done = connection.execute(select(func.count()).where(people.c.completed.is_not(None))).scalar_one()
    said = (
        f"the code of all, which does not tell who hands it in; {pluralize(n_done, 'person has', 'people have')} it so "
        'far. With completion_code = "each" everybody gets another'
    )
    return Code(code, n_done > 0, None, None, 0, said)


def _n_answers(connection: Connection, person: Any) -> int:
    return connection.execute(
        select(func.count())
        .select_from(answers)
        .join(questions, answers.c.question == questions.c.id)
        .where(answers.c.person == person.id, questions.c.purpose.not_in(NOT_COUNTED))
    ).scalar_one()

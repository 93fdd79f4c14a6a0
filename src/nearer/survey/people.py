"""People who take part: they begin, consent, and end; each is known by a token that only their browser has."""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, func, select
from sqlalchemy.engine import Row

from nearer.survey.store.tables import answers, facts, people, questions
from nearer.survey.supervising import KNOWN

#: What Prolific and MTurk add to the address that people open; nothing else of it is read.
PLATFORM = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID", "workerId", "assignmentId", "hitId")
#: Those that name a person, and those that name what one person did; the others are the same for all.
_WHO, _OF_ONE = ("PROLIFIC_PID", "workerId"), ("PROLIFIC_PID", "SESSION_ID", "workerId", "assignmentId")
_LONGEST = 100
STATUS = "status"
_OPEN = "open"
# Made once: making a statement takes longer than carrying it out.
_STATUS = select(facts.c.value).where(facts.c.name == STATUS)
_FIND = select(people, _STATUS.scalar_subquery().label("status")).where(people.c.session == bindparam("hash"))
_LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"  # none that looks like another


class Person(NamedTuple):
    """Somebody who takes part."""

    id: int
    name: str
    code: str
    consented: float | None
    completed: float | None
    left_out: bool
    external: str

    def is_another(self, platform: Mapping[str, str]) -> bool:
        """Say whether a platform names somebody else: two people may share a computer."""
        known = json.loads(self.external or "{}")
        return any(platform.get(key, "")[:_LONGEST] not in ("", known.get(key)) for key in _WHO)


def begin(connection: Connection, platform: Mapping[str, str], fixed_code: str = "") -> tuple[Person, str]:
    """Let somebody begin; return who it is, and the token of the session."""
    token = secrets.token_urlsafe(24)
    known = {key: platform[key][:_LONGEST] for key in PLATFORM if platform.get(key)}
    row: dict[str, Any] = {
        "name": _word(8),
        "session": hashed(token),
        "external": json.dumps(known, sort_keys=True) if known else "",
        "code": fixed_code or _word(10).upper(),
        "began": time.time(),
        "left_out": False,
    }
    number = connection.execute(people.insert().values(row)).inserted_primary_key
    assert number is not None
    return Person(number[0], row["name"], row["code"], None, None, False, row["external"]), token


def find(connection: Connection, token: str) -> tuple[Person, str] | None:
    """Return whose session a token is of, and the status of the study; None if it is of nobody."""
    row = connection.execute(_FIND, {"hash": hashed(token)}).first()
    return None if row is None else (_person(row), row.status or _OPEN)


def status_of(connection: Connection) -> str:
    """Return whether the study is open, paused or closed."""
    return connection.execute(_STATUS).scalar() or _OPEN


def consent(connection: Connection, person: Person) -> Person:
    """Note that somebody agrees to take part, or has read what it is about."""
    if person.consented is not None:
        return person
    now = time.time()
    connection.execute(people.update().where(people.c.id == person.id).values(consented=now))
    return person._replace(consented=now)


def complete(connection: Connection, person: Person) -> Person:
    """Note that somebody has answered everything."""
    if person.completed is not None:
        return person
    now = time.time()
    connection.execute(people.update().where(people.c.id == person.id).values(completed=now))
    return person._replace(completed=now)


def count(connection: Connection) -> int:
    """Return how many have consented: whoever only looked takes nobody's place."""
    return connection.execute(select(func.count()).where(people.c.consented.is_not(None))).scalar_one()


def leave_out(connection: Connection, name: str, left_out: bool) -> None:
    """Leave somebody's answers out of the map, or take them back."""
    changed = connection.execute(people.update().where(people.c.name == name).values(left_out=left_out))
    if changed.rowcount == 0:
        raise ValueError(f"nobody is called {name!r}")


def forget(connection: Connection, name: str) -> dict[str, int]:
    """Delete somebody and all that they said, and return how much that was.

    Parameters
    ----------
    name : str
        Of the person, or the id that a recruiting platform gave them, or gave what they did; not that of a study.
    """
    rows = connection.execute(select(people.c.id, people.c.name, people.c.external)).all()
    found = [row.id for row in rows if name == row.name or name in _ids_in(row.external)]
    if not found:
        raise ValueError(f"nobody is called {name!r}; the name stands in the column participant of the answers")
    # Whoever is received now is waited for, and comes too late afterwards; SQLite has one writer anyway.
    connection.execute(select(people.c.id).where(people.c.id.in_(found)).order_by(people.c.id).with_for_update())
    counts = {"people": len(found)}
    for table, column in ((answers, answers.c.person), (questions, questions.c.person), (people, people.c.id)):
        counts[table.name] = connection.execute(table.delete().where(column.in_(found))).rowcount
    connection.execute(facts.delete().where(facts.c.name == KNOWN))  # what the engine says of people by name
    return counts


def hashed(token: str) -> str:
    """Return what is kept of a token: whoever reads the database cannot use it."""
    return hashlib.sha256(token.encode()).hexdigest()


def _person(row: Row[Any]) -> Person:
    return Person(row.id, row.name, row.code, row.consented, row.completed, row.left_out, row.external)


def _ids_in(external: str) -> list[str]:
    known = json.loads(external or "{}")
    return [known[key] for key in _OF_ONE if key in known]


def _word(length: int) -> str:
    return "".join(secrets.choice(_LETTERS) for _ in range(length))

"""The tables of a study.

A question is a row of its own, made when it is given to a person and bound to that person. An answer belongs to one
question, whose number is its key: a question is answered once, however often an answer arrives. Nothing is kept of
people but what a recruiting platform says of them (`external`), and no address.
"""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData()

#: Single facts: the version of the tables, the status of the study, the hash of the researcher's secret, the engine.
facts = Table("facts", metadata, Column("name", String(40), primary_key=True), Column("value", Text, nullable=False))

#: The number of each object, for good: files may be added to a study, and a number never changes its meaning.
objects = Table(
    "objects",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("label", String(200), nullable=False, unique=True),
)

people = Table(
    "people",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(20), nullable=False, unique=True),
    Column("session", String(64), nullable=False, unique=True),  # hash of the session's token
    Column("external", Text, nullable=False, default=""),  # JSON: what a recruiting platform says
    Column("code", String(20), nullable=False),
    Column("began", Float, nullable=False),
    Column("consented", Float),
    Column("completed", Float),
    Column("left_out", Boolean, nullable=False, default=False),
    sqlite_autoincrement=True,  # numbers of those who are forgotten are not given again
)

questions = Table(
    "questions",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("person", ForeignKey("people.id", ondelete="CASCADE"), nullable=False),
    Column("place", Integer, nullable=False),  # in the order of this person's questions
    Column("shown", Text, nullable=False),  # JSON: numbers of the objects, the head first
    Column("same", String(200), nullable=False),  # equal for questions that ask the same
    Column("purpose", String(20), nullable=False),
    Column("asked", Float, nullable=False),
    UniqueConstraint("person", "place"),
    sqlite_autoincrement=True,
)

answers = Table(
    "answers",
    metadata,
    Column("question", ForeignKey("questions.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("person", ForeignKey("people.id", ondelete="CASCADE"), nullable=False),
    Column("sent_as", String(40), nullable=False),  # the id that the browser gave it
    Column("chosen", Text, nullable=False),  # JSON: places among the options
    Column("seconds", Float),
    Column("received", Float, nullable=False),
    Index("answers_person", "person"),
)

#: Questions that the engine has chosen and nobody was given yet, the most telling first.
proposals = Table(
    "proposals",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("shown", Text, nullable=False),
    Column("same", String(200), nullable=False),
)

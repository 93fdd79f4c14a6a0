"""The tables of a study.

A question is a row of its own, made when it is given to a person and bound to that person. It names the objects that
it shows by their labels, so that what people were asked, and what they answered, can be read whatever has become of the
study's folder since. An answer belongs to one question, whose number is its key: a question is answered once, however
often an answer arrives. Nothing is kept of people but what a recruiting platform says of them (`external`), and no
address.
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

UNSEEN = "unseen"  # the purpose of a question that was taken back, as its files could not be loaded: it has no answer
metadata = MetaData()

#: Single facts: the version of the tables, the status of the study, the hash of the researcher's secret, the engine.
facts = Table("facts", metadata, Column("name", String(40), primary_key=True), Column("value", Text, nullable=False))

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
    Column("shown", Text, nullable=False),  # labels of the objects with tabs between them, the head first
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
    Column("chosen", Text, nullable=False),  # places among the options, with commas between them
    Column("seconds", Float),
    Column("received", Float, nullable=False),
    Index("answers_person", "person"),
)

#: Questions that the engine has chosen and nobody was given yet, the most telling first.
proposals = Table(
    "proposals",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("shown", Text, nullable=False),  # as in questions
)

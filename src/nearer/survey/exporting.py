"""Answers as a table that `nearer fit` reads: what was shown where and what for, what was chosen, by whom, how fast."""

from __future__ import annotations

import csv
import hashlib
import io
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, select

from nearer.formats import Answers, Catches, read_answers
from nearer.formats.file_lists import FileList
from nearer.formats.showing import columns_shown
from nearer.formats.text import inert
from nearer.survey.asking import CATCH, NOT_COUNTED, numbers_in, right_places
from nearer.survey.store.tables import answers, people, questions
from nearer.survey.study import Study, open_study

_ANSWER = {"triplet": "answer", "odd-one-out": "odd", "most-central": "central"}


def rows_of(connection: Connection, study: Study, *, everybody: bool = False) -> list[dict[str, Any]]:
    """Return all answers but those for practice and to catch questions, in the order of asking, whatever clocks did.

    Parameters
    ----------
    connection : Connection
    study : Study
    everybody : bool
        Whether the answers of people who were left out are among them.
    """
    found = connection.execute(
        select(people.c.name, people.c.left_out, questions, answers.c.chosen, answers.c.seconds, answers.c.received)
        .join_from(answers, questions, answers.c.question == questions.c.id)
        .join(people, people.c.id == questions.c.person)
        .where(questions.c.purpose.not_in(NOT_COUNTED))
        .order_by(questions.c.id)
    )
    return [_row(row, study) for row in found if everybody or not row.left_out]


def csv_of(rows: Sequence[dict[str, Any]]) -> str:
    """Return the table as CSV, in which no cell is a formula to a spreadsheet."""
    text = io.StringIO()
    names = list(rows[0]) if rows else ["participant"]
    writer = csv.DictWriter(text, names, lineterminator="\r\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: inert(value) if isinstance(value, str) else value for name, value in row.items()})
    return text.getvalue()


@dataclass(frozen=True)
class StudyTable(FileList):
    """The answers in the folder of a study, for commands that take files of answers.

    Attributes
    ----------
    columns : dict of str to list
        As `nearer.formats.read_answers` takes them.
    catches : Catches or None
        How people did on catch questions.
    """

    columns: dict[str, list[Any]] = field(default_factory=dict)
    catches: Catches | None = None

    def digest(self) -> str:
        """Return the SHA-256 of the table as CSV: the same answers, the same digest."""
        rows = [dict(zip(self.columns, row, strict=True)) for row in zip(*self.columns.values(), strict=True)]
        return hashlib.sha256(csv_of(rows).encode()).hexdigest()

    def named(self, answers: Answers) -> Answers:
        """Return answers that were read from the columns, called after the study, with catch questions."""
        old, new = f"{answers.source}: ", f"{self.source}: "
        notes = tuple(new + note.removeprefix(old) if note.startswith(old) else note for note in answers.notes)
        catches = self.catches
        if catches is not None and answers.annotators is not None:
            here = set(answers.annotators.tolist())
            kept = [each for each in zip(*catches[2:], strict=True) if each[0] in here]
            catches = Catches(catches.column, catches.by, *zip(*kept, strict=True)) if kept else None
        return replace(answers, source=self.source, notes=notes, catches=catches)


def study_table(folder: Path) -> StudyTable:
    """Return the answers in the folder of a study.

    Raises
    ------
    ValueError
        If there are none yet.
    """
    study, database = open_study(folder)
    try:
        with database.engine.connect().execution_options(reading=True) as connection:
            rows, catches = rows_of(connection, study), catches_of(connection, study)
    finally:
        database.close()
    if not rows:
        raise ValueError(f"{folder}: nobody has answered yet; serve the study with `nearer survey run {folder}`")
    name = folder.resolve().name
    columns = {column: [row[column] for row in rows] for column in rows[0]}
    return StudyTable((folder,), name, study.settings.title or name, columns=columns, catches=catches)


def table_of(folder: Path) -> dict[str, list[Any]]:
    """Return the answers in the folder of a study, by columns, as `nearer.formats.read_answers` takes them."""
    return study_table(folder).columns


def answers_of(connection: Connection, study: Study) -> Answers:
    """Return the answers so far as `nearer.formats.read_answers` would, with how people did on catch questions."""
    rows = rows_of(connection, study)
    table = {name: [row[name] for row in rows] for name in rows[0]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of chosen questions, which are known here
        answers = read_answers(table)
    return replace(answers, catches=catches_of(connection, study))


def catches_of(connection: Connection, study: Study) -> Catches | None:
    """Return how people did on catch questions; None if nobody has answered one.

    They are in no table of answers: to say that an object is more like itself than like another places nothing.
    """
    found = connection.execute(
        select(people.c.name, questions.c.shown, answers.c.chosen)
        .join_from(answers, questions, answers.c.question == questions.c.id)
        .join(people, people.c.id == questions.c.person)
        .where(questions.c.purpose == CATCH, people.c.left_out.is_(False))
        .order_by(people.c.id)
    )
    right: dict[str, list[bool]] = {}
    for row in found:
        places = right_places(numbers_in(row.shown), study.is_headed)
        right.setdefault(row.name, []).append(set(places) <= set(numbers_in(row.chosen)))
    if not right:
        return None
    counts = (tuple(map(len, right.values())), tuple(map(sum, right.values())))
    return Catches("purpose", "expected", tuple(right), *counts)


def _row(row: Any, study: Study) -> dict[str, Any]:
    """Return one answer by the names of columns that are read back."""
    kind = study.settings.kind
    shown, chosen = numbers_in(row.shown), numbers_in(row.chosen)
    labels = tuple(study.labels[number] for number in shown)
    options = labels[int(study.is_headed) :]
    return {
        "participant": row.name,
        "trial": row.id,
        **columns_shown(labels, kind),
        _ANSWER.get(kind, "chosen"): ";".join(options[place] for place in chosen),
        "seconds": row.seconds,
        "purpose": row.purpose,
        "received": round(row.received, 3),
    }

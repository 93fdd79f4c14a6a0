"""Answers as a table that `nearer fit` reads: what was shown where and what for, what was chosen, by whom, how fast."""

from __future__ import annotations

import csv
import hashlib
import io
import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path
from sys import intern
from typing import Any, TypeAlias

from sqlalchemy import Connection, select

from nearer._common.findings import Source
from nearer._common.tables import escape_formula
from nearer.design.mix import CATCH
from nearer.io import Answers, Catches, read_answers
from nearer.io.multi_file import FileList
from nearer.io.writing import question_columns
from nearer.survey.asking import NOT_COUNTED, numbers_in, right_places
from nearer.survey.store.tables import answers, people, questions
from nearer.survey.study import SEPARATOR, Study, labels_in, read_study

Columns: TypeAlias = dict[str, list[Any]]

_AT_A_TIME = 2000  # answers: a hundred thousand of them as rows would take a small machine's memory
_ANSWER = {"triplet": "answer", "odd-one-out": "odd", "most-central": "central"}


def columns_of(connection: Connection, study: Study) -> Columns:
    """Return all answers but those for practice, to catch questions, and of people who were left out, by columns.

    They are in the order of asking, whatever clocks did. There are no columns if there are no answers.
    """
    found = connection.execute(
        select(people.c.name, questions.c.id, questions.c.shown, questions.c.purpose, answers.c.chosen,
               answers.c.seconds, answers.c.received)
        .join_from(answers, questions, answers.c.question == questions.c.id)
        .join(people, people.c.id == questions.c.person)
        .where(questions.c.purpose.not_in(NOT_COUNTED), people.c.left_out.is_(False))
        .order_by(questions.c.id),
        execution_options={"yield_per": _AT_A_TIME},
    )  # fmt: skip
    columns: Columns = {}
    for row in found:
        for name, value in _row(row, study).items():
            columns.setdefault(name, []).append(value)
    return columns


def csv_of(columns: Columns) -> str:
    """Return the table as CSV, in which no cell is a formula to a spreadsheet."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(columns or ["participant"])
    for row in zip(*columns.values(), strict=True):
        writer.writerow([escape_formula(value) if isinstance(value, str) else value for value in row])
    return text.getvalue()


@dataclass(frozen=True)
class StudyTable(FileList):
    """The answers in the folder of a study, for commands that take files of answers.

    Attributes
    ----------
    columns : dict of str to list
        As `nearer.io.read_answers` takes them.
    catches : Catches or None
        How people did on catch questions.
    n_components : int or None
        Dimension of the map, as the study's settings have it.
    """

    columns: Columns = field(default_factory=dict)
    catches: Catches | None = None
    n_components: int | None = None

    def digest(self) -> str:
        """Return the SHA-256 of the table as CSV: the same answers, the same digest."""
        return hashlib.sha256(csv_of(self.columns).encode()).hexdigest()

    def named(self, answers: Answers) -> Answers:
        """Return answers that were read from the columns, called after the study, with catch questions."""
        findings = tuple(replace(each, source=Source(self.source)) for each in answers.report.findings)
        catches = self.catches
        if catches is not None and answers.annotators is not None:
            here = set(answers.annotators.tolist())
            kept = [each for each in zip(*catches[2:], strict=True) if each[0] in here]
            catches = Catches(catches.column, catches.by, *zip(*kept, strict=True)) if kept else None
        report = replace(answers.report, findings=findings, catches=catches)
        return replace(answers, source=self.source, report=report)


def study_table(folder: Path) -> StudyTable:
    """Return the answers in the folder of a study.

    Raises
    ------
    ValueError
        If there are none yet.
    """
    study, database = read_study(folder)
    try:
        with database.engine.connect().execution_options(reading=True) as connection:
            columns, catches = columns_of(connection, study), catches_of(connection, study)
    finally:
        database.close()
    if not columns:
        raise ValueError(f"{folder}: nobody has answered yet; serve the study with `nearer survey run {folder}`")
    name = folder.resolve().name
    return StudyTable(
        (folder,), name, study.settings.title or name, columns=columns, catches=catches,
        n_components=study.settings.dimensions,
    )  # fmt: skip


def table_of(folder: Path) -> Columns:
    """Return the answers in the folder of a study, by columns, as `nearer.io.read_answers` takes them."""
    return study_table(folder).columns


def answers_of(connection: Connection, study: Study) -> Answers:
    """Return the answers so far as `nearer.io.read_answers` would, with how people did on catch questions."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of chosen questions, which are known here
        answers = read_answers(columns_of(connection, study), separate_labels=True)  # of one list
    return answers.reported(catches=catches_of(connection, study))


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
        places = right_places(labels_in(row.shown), study.is_headed)
        right.setdefault(row.name, []).append(set(places) <= set(numbers_in(row.chosen)))
    if not right:
        return None
    counts = (tuple(map(len, right.values())), tuple(map(sum, right.values())))
    return Catches("purpose", "expected", tuple(right), *counts)


def _row(row: Any, study: Study) -> dict[str, Any]:
    """Return one answer by the names of columns that are read back."""
    kind = study.settings.kind
    labels, chosen = tuple(map(intern, labels_in(row.shown))), numbers_in(row.chosen)
    options = labels[int(study.is_headed) :]
    return {
        "participant": intern(row.name),
        "trial": row.id,
        **question_columns(labels, kind),
        _ANSWER.get(kind, "chosen"): SEPARATOR.join(options[place] for place in chosen),
        "seconds": row.seconds,
        "purpose": intern(row.purpose),
        "received": round(row.received, 3),
    }

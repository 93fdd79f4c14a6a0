"""Answers as a table that `nearer fit` reads: what was shown where and why, what was chosen, by whom, how fast."""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path
from sys import intern
from typing import Any, TypeAlias

from sqlalchemy import Connection, select

from nearer._common.findings import Source
from nearer._common.tables import csv_text
from nearer.design.mix import CATCH
from nearer.io import Answers, Catches, read_answers
from nearer.io.multi_file import FileList
from nearer.io.writing import question_columns
from nearer.survey.sequencer import correct_options
from nearer.survey.store import answers, people, questions
from nearer.survey.study import (
    CANT_TELL,
    SEPARATOR,
    UNCOUNTED_PURPOSES,
    Study,
    feature_paths,
    read_study,
    split_labels,
    split_numbers,
)

Columns: TypeAlias = dict[str, list[Any]]

_ROWS_PER_FETCH = 2000  # a hundred thousand answers as rows would take a small machine's memory
_ANSWER_COLUMNS = {"triplet": "answer", "odd-one-out": "odd", "most-central": "central"}


def answer_columns(connection: Connection, study: Study) -> Columns:
    """Return all answers but those to practice and catch questions, and of excluded people, by columns.

    They are in the order of asking, whatever clocks did. Where somebody could not tell, `CANT_TELL` stands in place of
    the answer. There are no columns if there are no answers.
    """
    found = connection.execute(
        select(people.c.name, people.c.condition, questions.c.id, questions.c.shown, questions.c.purpose,
               answers.c.chosen, answers.c.seconds, answers.c.received)
        .join_from(answers, questions)
        .join(people, people.c.id == questions.c.person)
        .where(questions.c.purpose.not_in(UNCOUNTED_PURPOSES), people.c.left_out.is_(False))
        .order_by(questions.c.id),
        execution_options={"yield_per": _ROWS_PER_FETCH},
    )  # fmt: skip
    kind, columns = study.settings.kind, Columns()
    for row in found:
        labels = tuple(map(intern, split_labels(row.shown)))
        options = labels[int(study.has_anchor) :]
        chosen = SEPARATOR.join(options[at] for at in split_numbers(row.chosen))
        cells = {
            "participant": intern(row.name),
            **({"condition": intern(row.condition)} if study.settings.conditions else {}),
            "trial": row.id,
            **question_columns(labels, kind),
            _ANSWER_COLUMNS.get(kind, "chosen"): chosen or CANT_TELL,
            "seconds": row.seconds,
            "purpose": intern(row.purpose),
            "received": round(row.received, 3),
        }
        for name, value in cells.items():
            columns.setdefault(name, []).append(value)
    return columns


def columns_as_csv(columns: Columns) -> str:
    """Return a table as CSV, in which no cell is a formula to a spreadsheet."""
    return csv_text([columns or ["participant"], *zip(*columns.values(), strict=True)])


@dataclass(frozen=True)
class StudyTable(FileList):
    """The answers in the folder of a study, for commands that take files of answers.

    ``columns`` are as `nearer.io.read_answers` takes them, ``catches`` the catch questions of each person, and
    ``n_components`` and ``feature_files`` the dimension and the features in the study's settings.
    """

    columns: Columns = field(default_factory=dict)
    catches: Catches | None = None
    n_components: int | None = None
    feature_files: tuple[tuple[str | None, Path], ...] = ()

    def digest(self) -> str:
        """Return the SHA-256 of the table as CSV: the same answers, the same digest."""
        return hashlib.sha256(columns_as_csv(self.columns).encode()).hexdigest()

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
    """Return the answers in the folder of a study; raise ValueError if there are none yet."""
    study, database = read_study(folder)
    try:
        with database.reading() as connection:
            columns, catches = answer_columns(connection, study), catch_results(connection, study)
    finally:
        database.close()
    if not columns:
        raise ValueError(f"{folder}: nobody has answered yet; serve the study with `nearer survey run {folder}`")
    name = folder.resolve().name
    return StudyTable(
        (folder,), name, study.settings.title or name, columns=columns, catches=catches,
        n_components=study.settings.dimensions, feature_files=tuple(feature_paths(folder, study.settings)),
    )  # fmt: skip


def answers_of(connection: Connection, study: Study) -> Answers:
    """Return the answers so far as `nearer.io.read_answers` would, with the results of catch questions."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of chosen questions, which are known here
        answers = read_answers(answer_columns(connection, study), separate_labels=True)  # of one list
    return answers.reported(catches=catch_results(connection, study))


def catch_results(connection: Connection, study: Study) -> Catches | None:
    """Return how many catch questions each person got right; None if nobody has answered one.

    They are in no table of answers: to say that an object is more like itself than like another places nothing.
    """
    found = connection.execute(
        select(people.c.name, questions.c.shown, questions.c.correct, answers.c.chosen)
        .join_from(answers, questions)
        .join(people, people.c.id == questions.c.person)
        .where(questions.c.purpose == CATCH, people.c.left_out.is_(False))
        .order_by(people.c.id)
    )
    correct: dict[str, list[bool]] = {}
    for row in found:
        options = split_numbers(row.correct) or correct_options(split_labels(row.shown), study.has_anchor)
        correct.setdefault(row.name, []).append(set(options) <= set(split_numbers(row.chosen)))
    if not correct:
        return None
    counts = (tuple(map(len, correct.values())), tuple(map(sum, correct.values())))
    return Catches("purpose", "expected", tuple(correct), *counts)

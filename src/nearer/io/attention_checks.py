"""Catch questions: asked to see who looks, and never part of the map.

The column that marks them holds the right answers and is empty elsewhere, or yes and no; then the answer of more than
half of at least three people to the same question is right. They are set aside before the others are read, and right
answers are read in place of those given, so that all ways to write one down are known. A question may show one object
twice: the second of the two gets a name of its own, and to call an object more like another than like itself is wrong.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nearer._common.findings import Finding
from nearer.io.answers import Answers, BadAnswers, Catches, LeftOut
from nearer.io.choice_coding import normalize_code
from nearer.io.column_checks import objects_of, rows_with_same_label
from nearer.io.columns import ANSWERS, LayoutMatch
from nearer.io.labels import split_column
from nearer.io.messages import note
from nearer.io.selecting import resolve_column, with_rows
from nearer.io.table import Column, LoadedRows, RowSources, Table, deduplicate, join_rows

YES_WORDS = frozenset(["1", "true", "yes", "y", "t", "x", "catch", "attention", "attentioncheck", "check"])
NO_WORDS = frozenset(["0", "false", "no", "n", "f"])
EMPTY_WORDS = frozenset(["none", "na", "n/a", "nan", "-", "null"])
MIN_PEOPLE = 3  # of whom more than half must give the same answer
REPEAT_MARK = "\1"  # ends the label of an object that is in a question for the second time; NumPy would cut off a "\0"

ScoredBy: TypeAlias = Literal["expected", "majority"]
Response: TypeAlias = frozenset[tuple[Any, ...]]
ReadTable: TypeAlias = Callable[[Table], Answers]


@dataclass(frozen=True)
class CatchRows:
    """The rows of a table that ask catch questions."""

    table: Table  # all rows, numbered from 0 in place of their lines
    sources: RowSources
    name: str  # of the column that marks catch questions
    by: ScoredBy
    rows: NDArray[np.bool_]  # (n,)
    read: ReadTable  # skips bad rows, takes "can't tell" for all answers, and allows an object twice in a row

    def score(self, answers: Answers) -> Answers:
        """Return the answers to all other questions, with how people did on these."""
        source, n_rows = self.table.source, int(self.rows.sum())
        if not n_rows:
            return answers.reported(note("no-catch", source, column=self.name))
        given, findings = self._responses_given(), list[Finding]()
        scores = {row: _score_repeated_object(response) for row, response in given.items()}
        right = {row: score for row, score in scores.items() if score is not None}
        if self.by == "expected":
            expected = self._expected(answers, given, right)
            right |= {
                row: row in given and _without_marks(given[row]) == _without_marks(each)
                for row, each in expected.items()
            }
        else:
            if len(right) < n_rows:
                findings.append(note("catch-majority", source, column=self.name))
            others = {row: response for row, response in given.items() if row not in right}
            right |= {row: given[row] == each for row, each in _majority_responses(others, answers.kind).items()}
        if n_rows > len(right):
            findings.insert(0, note("catch-unjudged", source, n_answers=n_rows - len(right)))
        unused = tuple(column for column in answers.report.unused if column != self.name)
        left_out = (*answers.report.left_out, LeftOut(n_rows, self.name, "catch"))
        catches = self._scores_of_people(right, answers)
        return answers.reported(*findings, catches=catches, unused=unused, left_out=left_out)

    def _responses_given(self) -> dict[int, Response]:
        """Return the responses, by row: read among all rows, or alone where no other row is about their objects."""
        given: dict[int, Response] = {}
        for table in (self.table, with_rows(self.table, self.rows)):
            with suppress(ValueError):
                given = _responses(self.read(table), self.rows) | given
            if len(given) == self.rows.sum():
                break
        return given

    def _expected(
        self, answers: Answers, given: dict[int, Response], repeated: Mapping[int, bool]
    ) -> dict[int, Response]:
        """Return what the right answers say, by row: the table is read with them in place of the answers."""
        column = _answer_column(answers)
        if column is None:
            return self._expected_near(answers, given, repeated)
        table = replace(self.table, load=partial(self._load_right_answers, column))
        best: dict[int, Response] = {}
        bad_rows: dict[int, Finding] = {}
        failed: ValueError | None = None
        for some in (table, with_rows(table, self.rows)):  # alone, they may be objects where answers are sides
            try:
                read = self.read(some)
            except BadAnswers as error:
                bad_rows = {row.row: row for row in error.bad_rows} | bad_rows
            except ValueError as error:
                failed = failed or error
            else:
                best = max(best, _responses(read, self.rows), key=len)
                bad_rows = {row.row: row for row in read.report.bad_rows} | bad_rows
            if len(best) == self.rows.sum():
                return best
        open_rows = given.keys() - best.keys() - repeated.keys()
        wrong = [replace(bad_rows[row], source=self.sources.at(row)) for row in sorted(open_rows & bad_rows.keys())]
        if wrong:
            failed = BadAnswers(wrong, len(wrong), "correct them, or let the column say yes and no")
        if failed and open_rows:
            raise ValueError(f"right answers in column {self.name!r} cannot be read: {failed}") from failed
        return best

    def _load_right_answers(self, column: str, names: Sequence[str]) -> LoadedRows:
        """Return the table in which a column holds the right answers in place of those given."""
        if column not in names:
            return self.table.load(names)
        loaded = self.table.load(list(dict.fromkeys([*names, self.name])))
        both = join_rows([loaded.columns[column], loaded.columns[self.name]])
        return loaded.with_columns({column: both[np.arange(len(loaded)) + len(loaded) * self.rows]})

    def _expected_near(
        self, answers: Answers, given: dict[int, Response], repeated: Mapping[int, bool]
    ) -> dict[int, Response]:
        """Return what right answers say where columns name what is near and far; they name the near object."""
        near = answers.report.columns.get("near")
        if near is None and not repeated:
            raise ValueError(
                f"{self.table.source}: right answers in column {self.name!r} can be used where a column holds the "
                f"answer; for questions of kind {answers.kind} let it say yes or no"
            )
        if near is None:
            return {}
        right, found = (self.table.texts(name) for name in (self.name, near[0]))
        return {row: response if right[row] == found[row] else frozenset() for row, response in given.items()}

    def _scores_of_people(self, right: Mapping[int, bool], answers: Answers) -> Catches:
        """Return how many catch questions each person answered, and how many rightly."""
        column = answers.report.columns.get("annotator")
        cells = self.table.texts(column[0]) if column else np.full(len(self.rows), "", object)
        n_asked = Counter(cells[row] for row in right)
        n_right = Counter(cells[row] for row, is_right in right.items() if is_right)
        people = tuple(sorted(n_asked))
        counts = (tuple(n[person] for person in people) for n in (n_asked, n_right))
        return Catches(self.name, self.by, people, *counts)


def catch_rows(table: Table, marking_column: str, columns: Mapping[str, Any] | None, read: ReadTable) -> CatchRows:
    """Return the rows of a table that ask catch questions."""
    name = resolve_column(marking_column, table, columns)
    marks = table.load([name])

    def load(names: Sequence[str]) -> LoadedRows:
        loaded = table.load(names)
        return LoadedRows(loaded.columns, RowSources(table.source, np.arange(len(loaded))))

    numbered = replace(table, load=load, peek=None, ragged=None)
    rows, by = _catch_mask(marks.columns[name], numbered, read)
    if rows.all():
        raise ValueError(f"{table.source}: all answers are to catch questions by column {name!r}; name another column")
    return CatchRows(numbered, marks.sources, name, by, rows, read)


def _catch_mask(column: Column, table: Table, read: ReadTable) -> tuple[NDArray[np.bool_], ScoredBy]:
    """Return which rows are catch questions, and what their right answers are known by."""
    words = {normalize_code(value) for value in column.values} - EMPTY_WORDS
    marked = column.map_values(lambda value: normalize_code(value) not in EMPTY_WORDS, False, np.bool_)
    truth = words <= YES_WORDS | NO_WORDS
    if truth and words & NO_WORDS and not marked.all():
        truth = not words <= _known_values(table, ~marked, read)  # 0 and 1 may be answers, next to empty cells
    if truth:
        return column.map_values(lambda value: normalize_code(value) in YES_WORDS, False, np.bool_), "majority"
    return marked, "expected"


def _known_values(table: Table, rows: NDArray[np.bool_], read: ReadTable) -> set[str]:
    """Return what some rows hold as objects and as answers."""
    try:
        answers = read(with_rows(table, rows))
    except ValueError:
        return set()
    answer = _answer_column(answers)
    written = table.load([answer]).columns[answer].values if answer else []
    return {*map(str, answers.comparisons.objects.tolist()), *map(normalize_code, written)}


def _answer_column(answers: Answers) -> str | None:
    """Return the column of the answer; None where near and far say it."""
    columns = answers.report.columns
    role = next((role for role in ANSWERS if role in columns), None)
    return None if role is None or len(columns[role]) > 1 else columns[role][0]


def _responses(answers: Answers, chosen: NDArray[np.bool_]) -> dict[int, Response]:
    """Return what answers in chosen rows say, as sets of comparisons, by row."""
    row_of = answers.lines[answers.answer_of]
    rows = np.flatnonzero(chosen[row_of])
    labels = answers.comparisons.objects[answers.comparisons.oriented[rows]]
    responses: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
    for of, row in zip(row_of[rows].tolist(), labels.tolist(), strict=True):
        responses[of].append(tuple(map(str, row)))
    return {row: frozenset(each) for row, each in responses.items()}


def _without_marks(response: Response) -> Response:
    """Return what a response says, whichever of two twins it names."""
    return frozenset(tuple(label.rstrip(REPEAT_MARK) for label in row) for row in response)


def _score_repeated_object(response: Response) -> bool | None:
    """Return whether a response to a question with one object twice is right; None if every response is."""
    rows = _without_marks(response)
    if any(row[2] == row[3] and row[0] != row[1] for row in rows):
        return False
    return True if any(row[0] == row[1] and row[2] != row[3] for row in rows) else None


def with_labels(loaded: LoadedRows, found: LayoutMatch, names: Sequence[Any]) -> LoadedRows:
    """Return columns in which objects have labels in place of their numbers."""

    def label(value: Any) -> Any:
        return names[value] if isinstance(value, int) and 0 <= value < len(names) else str(value)

    columns = {each.name: loaded.columns[each.name] for each in objects_of(found, loaded.columns)}
    return loaded.with_columns({name: column.replace_values(label) for name, column in columns.items()})


def mark_repeated_objects(loaded: LoadedRows, found: LayoutMatch) -> LoadedRows:
    """Return columns in which an object that is in a row twice has two labels."""
    columns = list(objects_of(found, loaded.columns))
    if found.layout.kind == "quadruplet":
        earlier = {1: [0], 3: [2]}
    else:  # an anchor gives way to the options, and a later option to earlier ones
        first = int("anchor" in found.layout.roles)
        earlier = {at: list(range(first, at)) for at in range(first + 1, len(columns))}
        earlier |= {0: list(range(1, len(columns)))} if first else {}
    new = {}
    for at, others in earlier.items():
        own = columns[at]
        twice = np.any([rows_with_same_label(own, columns[other]) for other in others], axis=0)
        if twice.any():
            values = loaded.columns[own.name].values
            codes = np.where(twice, own.codes + len(values), own.codes).astype(np.int32)
            new[own.name] = Column(codes, [*values, *(f"{value}{REPEAT_MARK * (at + 1)}" for value in values)])
    items = found.roles.get("items", ())
    if len(items) == 1:
        column = loaded.columns[items[0]]
        marked = [
            [f"{item}{REPEAT_MARK * each[:at].count(item)}" for at, item in enumerate(each)]
            for each in split_column(column)
        ]
        new[items[0]] = deduplicate(column.codes, list(map(json.dumps, marked)))
    return loaded.with_columns(new)


def _majority_responses(given: dict[int, Response], kind: str) -> dict[int, Response]:
    """Return by line the response of more than half of at least three people to the same question."""
    questions = {line: _question(response, kind) for line, response in given.items()}
    asked: dict[Any, Counter[Response]] = defaultdict(Counter)
    for line, response in given.items():
        asked[questions[line]][response] += 1
    usual = {
        question: most
        for question, counts in asked.items()
        for most, number in counts.most_common(1)
        if counts.total() >= MIN_PEOPLE and 2 * number > counts.total()
    }
    return {line: usual[question] for line, question in questions.items() if question in usual}


def _question(response: Response, kind: str) -> Any:
    """Return what was asked, whatever was answered."""
    rows = list(response)
    if kind == "quadruplet":
        return frozenset(frozenset((frozenset(row[:2]), frozenset(row[-2:]))) for row in rows)
    shown = frozenset(label for row in rows for label in row)
    return shown if kind in ("odd-one-out", "most-central") else (rows[0][0], shown)

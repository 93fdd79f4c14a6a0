"""Catch questions: asked to see who looks, and never part of the map.

A column says which rows they are, in one of two ways. It holds the *right answer* (an object, a side or a number, as
the answers are written) and is empty elsewhere; or it holds *yes and no*, and then the right answer is the one that
more than half of at least three people gave to the same question. "Can't tell" is not right.

Such rows are set aside before the others are read, so that nothing that is wrong with them stops the reading. Right
answers are read like the answers themselves, in place of them, so that all ways to write one down are known.

The obvious catch question shows one object twice: which is more like a, a or b? It is never refused, and needs no right
answer: to say that an object is more like another than like itself is wrong. To read the answer, the second of the two
gets a name of its own, which is taken off before it is judged.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
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
from nearer.io.table import Column, LoadedRows, RowSources, Table, deduplicate

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
        source, numbers = self.table.source, np.flatnonzero(self.rows).tolist()
        unused = tuple(column for column in answers.report.unused if column != self.name)
        if not numbers:
            return answers.reported(note("no-catch", source, column=self.name))
        given, findings = self._responses_given(), list[Finding]()
        scores = {row: _score_repeated_object(response) for row, response in given.items()}
        repeated = {row: score for row, score in scores.items() if score is not None}
        if self.by == "expected":
            expected = self._expected(answers, given, repeated)
            right = repeated | {
                row: row in given and _same_response(given[row], response) for row, response in expected.items()
            }
        else:
            usual = _majority_responses(
                {row: response for row, response in given.items() if row not in repeated}, answers.kind
            )
            right = repeated | {row: given[row] == response for row, response in usual.items()}
            if len(repeated) < len(numbers):
                findings.append(note("catch-majority", source, column=self.name))
        if n_open := len(numbers) - len(right):
            findings.insert(0, note("catch-unjudged", source, n_answers=n_open))
        left_out = (*answers.report.left_out, LeftOut(len(numbers), self.name, "catch"))
        return answers.reported(
            *findings, catches=self._scores_of_people(right, answers), unused=unused, left_out=left_out
        )

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
            near = answers.report.columns.get("near")
            if near is None and not repeated:
                raise ValueError(
                    f"{self.table.source}: right answers in column {self.name!r} can be used where a column holds the "
                    f"answer; for questions of kind {answers.kind} let it say yes or no"
                )
            return {} if near is None else self._expected_near(near[0], given)
        table = replace(self.table, load=self._with_right_answers(column))
        best: dict[int, Response] = {}
        bad_rows: dict[int, Finding] = {}
        failed: ValueError | None = None
        for some in (table, with_rows(table, self.rows)):  # alone, they may be objects where answers are sides
            found, bad, error = self._try_reading(some)
            best, bad_rows, failed = max(best, found, key=len), bad | bad_rows, failed or error
            if len(best) == self.rows.sum():
                return best
        open_rows = given.keys() - best.keys() - repeated.keys()
        wrong = [replace(bad_rows[row], source=self.sources.at(row)) for row in sorted(open_rows & bad_rows.keys())]
        if wrong:
            failed = BadAnswers(wrong, len(wrong), "correct them, or let the column say yes and no")
        if failed and open_rows:
            raise ValueError(f"right answers in column {self.name!r} cannot be read: {failed}") from failed
        return best

    def _try_reading(self, table: Table) -> tuple[dict[int, Response], dict[int, Finding], ValueError | None]:
        """Return what a table says in these rows, those that cannot be used, and why it cannot be read at all."""
        try:
            read = self.read(table)
        except BadAnswers as error:
            return {}, _by_row(error.bad_rows), None
        except ValueError as error:
            return {}, {}, error
        return _responses(read, self.rows), _by_row(read.report.bad_rows), None

    def _with_right_answers(self, column: str) -> Callable[[Sequence[str]], LoadedRows]:
        """Return a way to load the table in which a column holds the right answers in place of those given."""

        def load(names: Sequence[str]) -> LoadedRows:
            if column not in names:
                return self.table.load(names)
            loaded = self.table.load(list(dict.fromkeys([*names, self.name])))
            mixed = _with_right_answers_in(loaded.columns[column], loaded.columns[self.name], self.rows)
            return replace(loaded, columns=loaded.columns | {column: mixed})

        return load

    def _expected_near(self, near: str, given: dict[int, Response]) -> dict[int, Response]:
        """Return what right answers say where columns name what is near and far; they name the near object."""
        loaded = self.table.load([self.name, near])
        right, found = (loaded.columns[name].map_values(str, "", object) for name in (self.name, near))
        return {row: response if right[row] == found[row] else frozenset() for row, response in given.items()}

    def _scores_of_people(self, right: Mapping[int, bool], answers: Answers) -> Catches:
        """Return how many catch questions each person answered, and how many rightly."""
        who = dict.fromkeys(right, "")
        if "annotator" in answers.report.columns:
            column = answers.report.columns["annotator"][0]
            cells = self.table.load([column]).columns[column].map_values(str, "", object)
            who = {row: cells[row] for row in right}
        people = sorted(set(who.values()))
        n = Counter(who.values())
        n_right = Counter(who[row] for row, is_right in right.items() if is_right)
        counts = tuple(n[person] for person in people), tuple(n_right[person] for person in people)
        return Catches(self.name, self.by, tuple(people), *counts)


def _by_row(bad_rows: Sequence[Finding]) -> dict[int, Finding]:
    return {row.row: row for row in bad_rows}


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
    if (
        truth and words & NO_WORDS and not marked.all()
    ):  # 0 and 1 next to empty cells: answers, if answers are written so
        truth = not words <= _known_values(table, ~marked, read)
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
    known = set(map(str, answers.comparisons.objects.tolist()))
    return known | (
        {normalize_code(value) for value in table.load([answer]).columns[answer].values} if answer else set()
    )


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


def _same_response(response: Response, expected: Response) -> bool:
    """Return whether two answers say the same, whichever of two twins they name."""
    return _without_marks(response) == _without_marks(expected)


def _without_marks(response: Response) -> Response:
    return frozenset(tuple(label.rstrip(REPEAT_MARK) for label in row) for row in response)


def _score_repeated_object(response: Response) -> bool | None:
    """Return whether a response to a question with one object twice is right; None if every response is."""
    rows = _without_marks(response)
    if any(row[2] == row[3] and row[0] != row[1] for row in rows):
        return False
    return True if any(row[0] == row[1] and row[2] != row[3] for row in rows) else None


def with_labels(loaded: LoadedRows, found: LayoutMatch, names: Sequence[Any]) -> LoadedRows:
    """Return columns in which objects have labels in place of their numbers."""
    new = {}
    for column in objects_of(found, loaded.columns):
        cells = loaded.columns[column.name]
        new[column.name] = deduplicate(
            cells.codes, [names[v] if _is_index(v, len(names)) else str(v) for v in cells.values]
        )
    return replace(loaded, columns=loaded.columns | new)


def _is_index(value: Any, n_names: int) -> bool:
    return isinstance(value, int) and 0 <= value < n_names


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
            values = [*loaded.columns[own.name].values]
            codes = np.where(twice, own.codes + len(values), own.codes).astype(np.int32)
            new[own.name] = Column(codes, [*values, *(f"{value}{REPEAT_MARK * (at + 1)}" for value in values)])
    if "items" in found.roles and len(found.roles["items"]) == 1:
        name = found.roles["items"][0]
        column = loaded.columns[name]
        new[name] = deduplicate(column.codes, [_mark_repeats_in_list(items) for items in split_column(column)])
    return replace(loaded, columns=loaded.columns | new)


def _mark_repeats_in_list(items: Sequence[str]) -> str:
    """Write a list in which items that are there twice have two labels."""
    return json.dumps([f"{item}{REPEAT_MARK * items[:at].count(item)}" for at, item in enumerate(items)])


def _with_right_answers_in(answer: Column, right: Column, wanted: NDArray[np.bool_]) -> Column:
    """Return a column of answers with the right ones where they are wanted."""
    codes = np.where(wanted, np.where(right.codes < 0, -1, right.codes + len(answer.values)), answer.codes)
    values: dict[Any, int] = {}
    new = [values.setdefault(value, len(values)) for value in [*answer.values, *right.values]]
    return Column(np.append(np.array(new, np.int32), np.int32(-1))[codes], list(values))


def _majority_responses(given: dict[int, Response], kind: str) -> dict[int, Response]:
    """Return by line the response of more than half of at least three people to the same question."""
    asked: dict[Any, Counter[Response]] = defaultdict(Counter)
    for response in given.values():
        asked[_question(response, kind)][response] += 1
    usual = {
        question: most
        for question, counts in asked.items()
        for most, number in counts.most_common(1)
        if counts.total() >= MIN_PEOPLE and 2 * number > counts.total()
    }
    questions = {line: _question(response, kind) for line, response in given.items()}
    return {line: usual[question] for line, question in questions.items() if question in usual}


def _question(response: Response, kind: str) -> Any:
    """Return what was asked, whatever was answered."""
    rows = list(response)
    if kind == "quadruplet":
        return frozenset(frozenset((frozenset(row[:2]), frozenset(row[-2:]))) for row in rows)
    shown = frozenset(label for row in rows for label in row)
    return shown if kind in ("odd-one-out", "most-central") else (rows[0][0], shown)

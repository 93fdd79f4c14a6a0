"""Catch questions: asked to see who looks, and never part of the map.

A column says which rows they are, in one of two ways. It holds the *right answer* (an object, a side or a number, as
the answers are written) and is empty elsewhere; or it holds *yes and no*, and then the right answer is the one that
more than half of at least three people gave to the same question. "Can't tell" is not right.

Right answers are read like the answers themselves, in place of them, so that all ways to write one down are known.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nearer.common.words import counted
from nearer.data.units import seen_objects
from nearer.formats.answer_codes import spelled
from nearer.formats.answers import Answers, Catches, LeftOut
from nearer.formats.layouts import ANSWERS
from nearer.formats.selecting import column_of
from nearer.formats.table import Column, Loaded, Table

_YES = frozenset(["1", "true", "yes", "y", "t", "x", "catch", "attention", "attentioncheck", "check"])
_NO = frozenset(["0", "false", "no", "n", "f"])
_NOTHING = frozenset(["none", "na", "n/a", "nan", "-", "null"])
_FEWEST = 3  # people of whom more than half can be said to answer alike
Said = frozenset[tuple[Any, ...]]


def without_catches(
    answers: Answers,
    table: Table,
    said: str,
    columns: Mapping[str, Any] | None,
    read: Callable[[Table], Answers],
) -> Answers:
    """Return the answers to all other questions, with how people did on the catch questions.

    Parameters
    ----------
    answers : Answers
        To all questions of the table.
    table : Table
    said : str
        The column that says which are catch questions.
    columns : mapping, optional
        What the caller says about columns.
    read : callable
        Returns the answers of a table like this one.
    """
    name = column_of(said, table, columns)
    marks = table.load([name])
    wanted, by = _marked(marks.columns[name], answers, table)
    if not wanted.any():
        note = f"{table.source}: no row is a catch question by column {name!r}"
        return replace(answers, notes=(*answers.notes, note))
    lines = marks.lines[wanted]
    is_catch = np.isin(answers.lines, lines)
    if is_catch.all():
        raise ValueError(f"{table.source}: all answers are to catch questions by column {name!r}; name another column")
    given = dict(zip(answers.lines[is_catch].tolist(), _said(answers, is_catch), strict=True))
    right = _expected(answers, table, name, wanted, read) if by == "expected" else _majority(given, answers.kind)
    judged = [line for line in lines.tolist() if line in right or (line not in given and by == "expected")]
    n_open = len(lines) - len(judged)
    catches = _counted(name, by, judged, [given.get(line) == right.get(line) for line in judged], answers, table)
    rest = _rest(answers, ~is_catch)
    n_undecided = max(answers.n_undecided - len(set(lines.tolist()) - set(answers.lines.tolist())), 0)
    notes = [f"{table.source}: {counted(n_open, 'answer')} to catch questions could not be judged"] if n_open else []
    if by == "majority":
        notes.append(f"{table.source}: column {name!r} names no right answers, so that what most people said is right")
    useless = f"{table.source}: column {name!r} holds objects and was not used"  # it was, now
    return replace(
        rest,
        catches=catches,
        unused=tuple(column for column in answers.unused if column != name),
        n_undecided=n_undecided,
        left_out=(*answers.left_out, LeftOut(len(lines), f"{name} marks a catch question")),
        notes=(*(note for note in answers.notes if note != useless), *notes),
    )


def _marked(
    column: Column, answers: Answers, table: Table
) -> tuple[NDArray[np.bool_], Literal["expected", "majority"]]:
    """Return which rows are catch questions, and what their right answers are known by."""
    words = {spelled(value) for value in column.values} - _NOTHING
    empty = bool((column.codes < 0).any()) or any(spelled(value) in _NOTHING for value in column.values)
    truth = words <= _YES | _NO
    if truth and empty and words & _NO:  # 0 and 1 beside empty cells: answers, if that is how answers are written
        answer = _answer_column(answers)
        known = set(map(str, answers.comparisons.objects.tolist()))
        known |= {spelled(value) for value in table.load([answer]).columns[answer].values} if answer else set()
        truth = not words <= known
    if truth:
        return column.mapped(lambda value: spelled(value) in _YES, False, np.bool_), "majority"
    return column.mapped(lambda value: spelled(value) not in _NOTHING, False, np.bool_), "expected"


def _answer_column(answers: Answers) -> str | None:
    """Return the column of the answer; None where near and far say it."""
    role = next((role for role in ANSWERS if role in answers.columns), None)
    return None if role is None or len(answers.columns[role]) > 1 else answers.columns[role][0]


def _said(answers: Answers, chosen: NDArray[np.bool_]) -> list[Said]:
    """Return what some of the answers say, as sets of comparisons."""
    rows = np.flatnonzero(chosen[answers.answer_of])
    labels = answers.comparisons.objects[answers.comparisons.oriented[rows]]
    said: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
    for of, row in zip(answers.answer_of[rows].tolist(), labels.tolist(), strict=True):
        said[of].append(tuple(map(str, row)))
    return [frozenset(said[of]) for of in np.flatnonzero(chosen).tolist()]


def _expected(
    answers: Answers, table: Table, name: str, wanted: NDArray[np.bool_], read: Callable[[Table], Answers]
) -> dict[int, Said]:
    """Return what the right answers say, by line: the table is read with them in place of the answers."""
    column = _answer_column(answers)
    if column is None:
        near = answers.columns.get("near")
        if near is None:
            raise ValueError(
                f"{table.source}: right answers in column {name!r} can be used where a column holds the answer; for "
                f"questions of kind {answers.kind} let it say yes or no"
            )
        return _expected_near(answers, table, name, near[0])

    def load(names: Sequence[str]) -> Loaded:
        loaded = table.load(list(dict.fromkeys([*names, *([name] if column in names else [])])))
        if column in names:
            loaded.columns[column] = _mixed(loaded.columns[column], loaded.columns[name], wanted)
        return loaded

    def only(names: Sequence[str]) -> Loaded:
        loaded, rows = load(names), np.flatnonzero(wanted)
        columns = {each: Column(cells.codes[rows], cells.values) for each, cells in loaded.columns.items()}
        return replace(loaded, columns=columns, lines=loaded.lines[rows])

    lines, best, failed = table.load([name]).lines[wanted], None, None
    for way in (load, only):  # alone, they may be objects where answers are sides
        try:
            right = read(replace(table, load=way, peek=None))
        except ValueError as error:
            failed = failed or error
            continue
        chosen = np.isin(right.lines, lines)
        found = dict(zip(right.lines[chosen].tolist(), _said(right, chosen), strict=True))
        best = found if best is None or len(found) > len(best) else best
        if len(best) == len(lines):
            break
    if best is None:
        raise ValueError(f"right answers in column {name!r} cannot be read: {failed}") from failed
    return best


def _expected_near(answers: Answers, table: Table, name: str, near: str) -> dict[int, Said]:
    """Return what right answers say where columns name what is near and far, and the right answer names the near."""
    loaded = table.load([name, near])
    right = loaded.columns[name].mapped(str, "", object)
    found = loaded.columns[near].mapped(str, "", object)
    alike = dict(zip(loaded.lines.tolist(), (right == found).tolist(), strict=True))
    every = _said(answers, np.ones(len(answers), bool))
    return {
        line: said if alike[line] else frozenset() for line, said in zip(answers.lines.tolist(), every, strict=True)
    }


def _mixed(answer: Column, right: Column, wanted: NDArray[np.bool_]) -> Column:
    """Return a column of answers with the right ones where they are wanted."""
    codes = np.where(wanted, np.where(right.codes < 0, -1, right.codes + len(answer.values)), answer.codes)
    values: dict[Any, int] = {}
    new = [values.setdefault(value, len(values)) for value in [*answer.values, *right.values]]
    return Column(np.append(np.array(new, np.int32), np.int32(-1))[codes], list(values))


def _majority(given: dict[int, Said], kind: str) -> dict[int, Said]:
    """Return by line what more than half of at least three people said to the same question."""
    asked: dict[Any, Counter[Said]] = defaultdict(Counter)
    for said in given.values():
        asked[_question(said, kind)][said] += 1
    usual = {
        question: most
        for question, counts in asked.items()
        for most, number in counts.most_common(1)
        if counts.total() >= _FEWEST and 2 * number > counts.total()
    }
    questions = {line: _question(said, kind) for line, said in given.items()}
    return {line: usual[question] for line, question in questions.items() if question in usual}


def _question(said: Said, kind: str) -> Any:
    """Return what was asked, whatever was answered."""
    rows = list(said)
    if kind == "quadruplet":
        return frozenset(frozenset((frozenset(row[:2]), frozenset(row[-2:]))) for row in rows)
    shown = frozenset(label for row in rows for label in row)
    return shown if kind in ("odd-one-out", "most-central") else (rows[0][0], shown)


def _counted(
    name: str,
    by: Literal["expected", "majority"],
    lines: list[int],
    right: list[bool],
    answers: Answers,
    table: Table,
) -> Catches:
    """Return how many catch questions each person answered, and how many rightly."""
    who = dict.fromkeys(lines, "")
    if "annotator" in answers.columns:
        column = answers.columns["annotator"][0]
        loaded = table.load([column])
        cells = loaded.columns[column].mapped(str, "", object)
        who = dict(zip(loaded.lines.tolist(), cells.tolist(), strict=True))
    people = sorted({who[line] for line in lines})
    n = Counter(who[line] for line in lines)
    n_right = Counter(who[line] for line, is_right in zip(lines, right, strict=True) if is_right)
    return Catches(
        name, by, tuple(people), tuple(n[person] for person in people), tuple(n_right[person] for person in people)
    )


def _rest(answers: Answers, kept: NDArray[np.bool_]) -> Answers:
    """Return some answers, without objects that only the others are about."""
    rest = answers[kept]
    unneeded = seen_objects(answers.comparisons) & ~seen_objects(rest.comparisons)
    if not unneeded.any():
        return rest
    return replace(rest, comparisons=rest.comparisons.over(rest.comparisons.objects[~unneeded]))

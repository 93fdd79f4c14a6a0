"""What reading says, as text: the one place where findings become sentences.

`_TEXTS` has the sentence of every code, as a function of what the finding holds; `sentence` puts before it where it was
found. Advice is given as it is typed on the command line and as it is written in Python.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import PurePath
from typing import Any

from nearer._common.findings import Finding, Source
from nearer._common.formatting import intcomma, pluralize, quote_all

_FLAGS = ("skip_bad", "separate_labels")  # settings without a value
_MAX_LISTED = 5  # files, people and columns in a sentence
_MAX_OBJECTS, _MAX_STRAY = 8, 6  # objects shown, and objects of stray rows
MAX_COMPARED_CHARACTERS = 100  # of labels that may be misspelt
MIN_SIMILARITY = 0.7  # difflib's ratio of two spellings of a word: one letter of four is wrong, or two of seven
_MAX_NAMES = 30  # of columns
_MAX_OBJECTS_OF_A_ROW = 4


def note(code: str, source: str, concerned: Iterable[Any] = (), **numbers: Any) -> Finding:
    """Return what a reader of a file should know."""
    return Finding(code, "note", Source(source), numbers, tuple(concerned))


def sentence(finding: Finding) -> str:
    """Return a finding as a sentence that begins with where it was found."""
    n_more = len(finding.numbers.get("files", ())) - 1
    more = f" and {pluralize(n_more, 'other file')}" if n_more > 0 else ""
    return f"{finding.source}{more}: {statement(finding)}"


def statement(finding: Finding) -> str:
    """Return a finding as text, without where it was found."""
    concerned = {"concerned": finding.concerned} if finding.concerned else {}
    numbers = {name: value for name, value in finding.numbers.items() if name != "files"}  # that say the same
    return _TEXTS[finding.code](**numbers, **concerned)


def place(source: Source, whole: str) -> str:
    """Return where a row stands, for a message about ``whole``: its line, or file and line where there are several."""
    return f"line {source.row}" if source.file == whole else str(source)


def clipped(text: str, most: int = 40) -> str:
    """Return a text, cut where it is too long."""
    return text if len(text) <= most else text[: most - 3] + "..."


def shortened(value: Any, most: int = 60) -> str:
    """Return a value for a message: quoted, and not longer than a line."""
    return repr(clipped(str(value), most))


def listing(names: Sequence[str]) -> str:
    """Return names of columns for a message."""
    listed = ", ".join(shortened(name, 40) for name in names[:_MAX_NAMES])
    return listed + (f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else "")


@dataclass(frozen=True)
class Proposal:
    """Options that read a table, as typed and as written in Python, and what its first row then says."""

    settings: Mapping[str, str]
    columns: Mapping[str, str] = field(default_factory=dict)
    words: str = ""

    def __str__(self) -> str:
        typed, python = [], []
        for name, value in self.settings.items():
            option = f"--{name.replace('_', '-')}"
            typed.append(option if name in _FLAGS else f"{option} {shlex.quote(value)}")
            python.append(f"{name}=True" if name in _FLAGS else f"{name}={value!r}")
        if self.columns:
            typed.insert(0, f"--columns {shlex.quote(','.join(map('='.join, self.columns.items())))}")
            python.insert(0, f"columns={dict(self.columns)}")
        return f"{' '.join(typed)} ({', '.join(python)}){f': {self.words}' if self.words else ''}"


def format_proposals(proposals: Sequence[Proposal]) -> str:
    """Return proposals as the last lines of a message."""
    return "\nTry: " + "\n or: ".join(map(str, proposals)) if proposals else ""


def without_column(role: str) -> str:
    """Return how to do without a column."""
    return f"--columns {role}= (columns={{{role!r}: None}})"


def with_column(role: str) -> str:
    """Return how to say which column has a role."""
    return f"--columns {role}=NAME,... (columns={{{role!r}: 'NAME', ...}})"


def with_columns(roles: Iterable[str]) -> str:
    """Return how to say which columns have some roles."""
    named = dict.fromkeys(roles, "NAME")
    return f"--columns {','.join(f'{role}={name}' for role, name in named.items())} (columns={named})"


def as_column(role: str, name: str) -> str:
    """Return how to say that a column has a role."""
    return f"--columns {role}={name} (columns={{{role!r}: {name!r}}})"


def one_of(setting: str, values: Iterable[str]) -> str:
    """Return how to say which of some values a setting has."""
    return " or ".join(f"--{setting.replace('_', '-')} {value} ({setting}={value!r})" for value in values)


_COMPLEMENTS = {
    "==": "is not", "!=": "is",
    "<=": "is not at most", ">=": "is not at least", "<": "is not below", ">": "is not above",
}  # fmt: skip


def left_out_where(column: str, sign: str, values: Sequence[str]) -> str:
    """Return where rows are left out, if those are kept whose cell of a column has that sign."""
    if sign == "catch":
        return f"{column} marks a catch question"
    compared = [repr(value) if sign in ("==", "!=") else value for value in values[:_MAX_LISTED]]
    more = [f"{len(values) - _MAX_LISTED} others"] if len(values) > _MAX_LISTED else []
    return f"{column} {_COMPLEMENTS[sign]} {' or '.join(compared + more)}"


def trial_example(rows: Sequence[tuple[Source, Sequence[str]]], n_rows: int, whole: str) -> str:
    """Return the first of some rows with one number of a trial, and what they are about."""
    lines = []
    for source, objects in rows:
        listed = [shortened(each, 30) for each in objects[:_MAX_OBJECTS_OF_A_ROW]]
        more = ["..."] if len(objects) > _MAX_OBJECTS_OF_A_ROW else []
        lines.append(f"{place(source, whole)} ({', '.join(listed + more)})")
    return ", ".join(lines) + (f", and {n_rows - len(rows)} more" if n_rows > len(rows) else "")


ASKED_ADVICE = f"If the column holds the prompt, use {one_of('kind', ['odd-one-out', 'most-central'])}"


def _was(number: int) -> str:
    return "was" if number == 1 else "were"


def _skipped_files(names: Sequence[str], endings: Sequence[str]) -> str:
    n = len(names)
    what = f"{pluralize(n, 'file')} that {'is' if n == 1 else 'are'} no table, or empty, {_was(n)} ignored"
    if n <= _MAX_LISTED:
        return f"{what}: {quote_all(names)}"
    suffixes = {name: PurePath(name).suffix.lower() for name in names}
    tables = [name for name in names if suffixes[name] in endings]
    others = Counter(suffixes[name] or name for name in names if suffixes[name] not in endings)
    counts = ", ".join(f"{count} {ending}" for ending, count in others.most_common(_MAX_LISTED))
    counts += ", ..." if len(others) > _MAX_LISTED else ""
    return f"{what}: {'; '.join(filter(None, [quote_all(tables), counts]))}"


def _no_person_column(people: Sequence[str], n_files: int) -> str:
    each = "each file is a person" if len(people) == n_files else "1 file is a person"
    each = each if len(people) in (1, n_files) else f"{len(people)} files are people"
    return f"no column identifies who answered, so that {each} by name: {quote_all(people)}"


def _absent_value(column: str, value: str, values: Sequence[str]) -> str:
    alike = get_close_matches(value, values, n=1)
    perhaps = f"; perhaps {alike[0]!r} is meant" if alike else f"; there are {quote_all(values)}"
    return f"no row has {value!r} in column {column!r}{perhaps}"


_PROMPTS = {
    "same-list": "holds the same list in every row",
    "same-text": "holds the same text in every row",
    "html-among-names": "holds HTML, where other columns hold plain names",
    "html-among-media": "holds HTML, where other columns hold pictures or sounds",
}


def describe_prompt(reason: str, text: str = "") -> str:
    """Return why a column was taken for what people were asked."""
    return _PROMPTS[reason] + (f" ({shortened(text, 40)})" if text else "")


_ROWS = {
    "header": ("is a further line of headers", "are further lines of headers"),
    "empty": ("is empty", "are empty"),
    "no-objects": ("names no objects", "name no objects"),
    "fewer-than-two": ("shows fewer than two objects", "show fewer than two objects"),
    "fewer-than-three": ("shows fewer than three objects", "show fewer than three objects"),
    "no-response": ("has no response", "have no response"),
    "stray": ("is about objects that no other row mentions", "are about objects that no other row mentions"),
}


def _rows(n_rows: int, why: str, passed: bool = True, concerned: Sequence[str] = ()) -> str:
    more = f" and {len(concerned) - _MAX_STRAY} more" if len(concerned) > _MAX_STRAY else ""
    about = f" ({', '.join(map(shortened, concerned[:_MAX_STRAY]))}{more})" if concerned else ""
    rows = f"1 row {_ROWS[why][0]}" if n_rows == 1 else f"{intcomma(n_rows)} rows {_ROWS[why][1]}"
    return f"{rows}{about} and {_was(n_rows)} ignored" if passed else f"{rows}{about}"


def _chosen_questions(n_chosen: int, n_random: int, n_questions: int) -> str:
    unbiased = f"that of the {pluralize(n_random, 'random one')}, which `nearer ask` reports, is unbiased"
    unbiased = unbiased if n_random else "random questions among them would give an unbiased one"
    return (
        f"{intcomma(n_chosen)} of {pluralize(n_questions, 'question')} were chosen to be informative (column "
        f"'purpose'), and are harder than random ones: an error over all answers is biased upward; {unbiased}"
    )


def _unknown_answer(answer: Any, shown: Sequence[str]) -> str:
    message = f"the answer {shortened(answer)} is none of the objects shown"
    if not shown:  # a pair has no name
        return message
    short = [shortened(label) for label in shown[:_MAX_OBJECTS]]
    more = f" and {len(shown) - _MAX_OBJECTS} more" if len(shown) > _MAX_OBJECTS else f" and {short.pop()}"
    message += f"; shown were {', '.join(short)}{more}"
    text = str(answer)[:MAX_COMPARED_CHARACTERS]
    words = [each for each in shown if len(each) <= MAX_COMPARED_CHARACTERS and not (each.isdigit() or text.isdigit())]
    alike = get_close_matches(text, words, n=1, cutoff=MIN_SIMILARITY)
    return f"{message}; perhaps {shortened(alike[0])} or the answer is misspelt" if alike else message


_TEXTS: dict[str, Callable[..., str]] = {
    # of files
    "passed-files": _skipped_files,
    "files-without-rows": lambda names: (
        f"{pluralize(len(names), 'file holds', 'files hold')} no answer: {quote_all(names)}"
    ),
    "filtered-files": lambda names: (
        f"{pluralize(len(names), 'file')} without a row that the filters keep: {quote_all(names)}"
    ),
    "unread-files": lambda reasons: (
        f"{pluralize(len(reasons), 'file was', 'files were')} ignored: {'; '.join(reasons)}"
    ),
    "no-person-column": _no_person_column,
    "lacking-columns": lambda columns, lacking: (
        f"{pluralize(len(lacking), 'file has', 'files have')} no column{'s' * (len(columns) > 1)} "
        f"{quote_all(columns)}: {quote_all(lacking)}"
    ),
    "encoding": lambda: (
        "not in UTF-8, and read as Windows-1252 (Western European); if letters with accents look wrong, save the file "
        "as CSV UTF-8"
    ),
    "comments": lambda n_lines: f"{pluralize(n_lines, 'line')} of comments {_was(n_lines)} ignored",
    "matrix": lambda what: what,
    "assumed-direction": lambda what: (
        f"a large number{f' in column {what!r}' if what else ''} was taken to mean that objects are different; if it "
        f"means that they are similar, use {one_of('high_is', ['similar'])}"
    ),
    "identical-pairs": lambda n_rows: (
        f"{'1 row is' if n_rows == 1 else f'{intcomma(n_rows)} rows are'} about an object and itself, which a map "
        "cannot use"
    ),
    "not-judged": lambda n_rows: (
        f"{'1 row has' if n_rows == 1 else f'{intcomma(n_rows)} rows have'} no pair or no judgment and {_was(n_rows)} "
        "ignored"
    ),
    "title-rows": lambda n_rows: f"{pluralize(n_rows, 'row')} above the header {_was(n_rows)} ignored",
    "doubled-names": lambda: "the names of the objects are not distinct, so that objects keep their numbers",
    "indices": lambda columns: f"no {' and '.join(columns)}, so that objects keep their indices",
    "wide": lambda n_questions, first, titles: (
        f"{pluralize(n_questions, 'question has columns of its', 'questions have columns of their')} own, "
        f"{', '.join(map(repr, first))} and so on, which were read as rows of {', '.join(titles)}"
    ),
    "chosen-questions": _chosen_questions,
    "short-paths": lambda path, name: (
        f"labels are file paths, shortened to the parts that differ: {path!r} becomes {name!r}"
    ),
    # of columns
    "prompt": lambda column, reason, text: (
        f"column {column!r} {describe_prompt(reason, text)} and was not read as objects"
    ),
    "empty-answer": lambda column: f"column {column!r} is empty and was not used",
    "other-labels": lambda column, anchor: (
        f"column {column!r} has none of the labels of the options, so that {anchor!r} was read as the anchor"
    ),
    "unmatched-anchor": lambda column: (
        f"column {column!r} was read as the anchor, and none of its values is ever an option. {ASKED_ADVICE}"
    ),
    "answer-not-used": lambda column: f"column {column!r} was not used; near and far already give the answer",
    "no-numbers": lambda what: f"the column of the {what} holds no numbers and was not used",
    "missing-numbers": lambda what, n_rows, first: (
        f"{'1 row has' if n_rows == 1 else f'{intcomma(n_rows)} rows have'} a {what} that is not a number, such as "
        f"{shortened(first)}; it counts as missing"
    ),
    "rescaled": lambda what, middle: f"{what}s were divided by {middle:.3g}, their median",
    "json-lines": lambda column: (
        f"no column identifies who answered; if each line is a person's, use {as_column('annotator', column)}"
    ),
    "likely-annotator": lambda column: (
        f"no column identifies who answered; if column {column!r} does, use {as_column('annotator', column)}"
    ),
    "unused-objects": lambda columns: (
        f"column {listing(columns)} holds objects and was not used"
        if len(columns) == 1
        else f"columns {listing(columns)} hold objects and were not used"
    ),
    "unused-anchor": lambda column: (
        f"column {column!r} was not used; if it is the anchor, use {one_of('kind', ['grid'])} and "
        f"{as_column('anchor', column)}"
    ),
    "unused-answer": lambda column, values: (
        f"column {column!r} holds {' and '.join(values)} and was not used; if it marks whether near and far are "
        f"correct as written, use {as_column('answer', column)}"
    ),
    "absent-value": _absent_value,
    "not-numbers": lambda column, n_values: (
        f"column {column!r} holds {pluralize(n_values, 'value that is not a number', 'values that are not numbers')}; "
        "rows with them are left out"
    ),
    # of trials and catch questions
    "scattered-trials": lambda: (
        "rows of the same trial are not next to each other; each trial counts as one judgment. If trials are "
        "only numbered within a person or a block, name that column as annotator or leave the trials out: "
        f"{without_column('trial')}"
    ),
    "grouped-rows": lambda n_rows, n_trials: (
        f"the rows of a trial count as one answer: {intcomma(n_rows)} rows are {pluralize(n_trials, 'trial')}. If each "
        f"row is an answer of its own, use {without_column('trial')}"
    ),
    "no-catch": lambda column: f"no row is a catch question by column {column!r}",
    "catch-majority": lambda column: (
        f"column {column!r} names no right answers, so that the answer of the majority counts as right"
    ),
    "catch-unjudged": lambda n_answers: f"{pluralize(n_answers, 'answer')} to catch questions could not be scored",
    # of rows
    "rows": _rows,
    "cells": lambda n_cells, width: f"has {n_cells} cell{'' if n_cells == 1 else 's'} where the header has {width}",
    "no-json": lambda: "is no JSON object such as {...}",
    "broken-json": lambda line: (
        f"is line {line} of the file, which is no JSON (was it cut off?): all answers on it are missing"
    ),
    "no-index": lambda column, value, most: f"the {column} {shortened(value)} is no index of an object, 0 to {most:,}",
    "off-scale": lambda value, low, high: f"the rating {shortened(value)} is not from {low:g} to {high:g}",
    "no-same": lambda value: f"the answer {shortened(value)} is neither same nor different",
    "too-many-same": lambda: "more answers are same than there are answers",
    "missing": lambda what: f"there is no {what}",
    "missing-label": lambda what: (
        f"there is no {what}; fill it in, or use {without_column(what)} to do without the column"
    ),
    "no-number": lambda what, value: f"the {what} {shortened(value)} is not a number",
    "negative": lambda what: f"the {what} is negative",
    "disproportionate": lambda what, value, middle: (
        f"the {what} {shortened(value)} is out of proportion: the median {what} of this file is {middle:.3g}; "
        "correct it"
    ),
    "twice": lambda concerned: f"{shortened(concerned[0])} appears twice",
    "itself": lambda: "an object is compared with itself",
    "same-pair": lambda: "both pairs are the same pair",
    "unknown-index": lambda value, n_objects: f"{shortened(value)} is none of 0..{n_objects - 1}",
    "long-label": lambda what, most: f"the {what} is longer than {most} characters; a quote may have been left open",
    "few-objects": lambda: "there are fewer than three objects",
    "many-objects": lambda most: f"the list holds more than {most} objects",
    "unknown-item": lambda most: f"a name in the list is longer than {most} characters, or none of the objects",
    "unknown-answer": _unknown_answer,
    "number-after-gap": lambda value: (
        f"the answer {shortened(value)} is a number, and an item before it is missing; name the object"
    ),
    "no-sign": lambda value: f"the answer {shortened(value)} is neither +1 nor -1",
    "option-gap": lambda: "an option before another is missing, and the choice is a number; name the object",
    "anchor-shown": lambda concerned: f"the anchor {shortened(concerned[0])} is among the objects shown",
    "few-shown": lambda: "fewer than two objects were shown",
    "long-list": lambda n_objects, most: f"the list holds {n_objects} objects, more than {most}",
    "long-name": lambda most: f"a name in the list is longer than {most} characters",
    "unlisted": lambda concerned: f"{shortened(concerned[0])} in the list is none of the objects",
    "shown-twice": lambda: "an object was shown twice",
    "nothing-chosen": lambda: "nothing was chosen",
    "not-shown": lambda value: f"the choice {shortened(value)} is not among the objects shown",
    "chosen-twice": lambda: "an object was chosen twice",
    "all-chosen": lambda: "everything shown was chosen, which compares nothing",
}

"""Columns that are not read, that hold no objects, or that label the objects in another way than the rest.

*Columns not read* are all listed with the answers. A finding names those that may matter: columns of objects; a column
named like an anchor where several items are read; and, next to near and far, a column of two values that may mark
whether a row is correct as written.

*Prompts*: a text that is the same in every row, and in no other column, is what people were asked, and no object. So is
HTML without a picture or a sound where other columns hold pictures, sounds or plain names. A column that the caller
names is always believed, and so is plain text under the very name of its role.

*Two naming schemes*: indices in one column and names of files in the others, say. Read as they are, such tables have
each object twice, and no comparison ever brings the two together. Some designs do have anchors that are never options,
so that chance has to decide. Take an anchor with all options it was shown with as a *block* of objects. If the anchor
could have been any of its objects, it is one that no other block mentions with probability u / s, for a block of s
objects of which u are in no other. The number of such anchors is a sum of independent trials, and at least as many as
were found have a probability of at most that of a binomial variable with the mean probability (Hoeffding 1956). It is
large for a single anchor that everybody gets, for two landmarks, and for so few answers that most objects were seen
once. Options may be few and fixed, too: where no label of the anchors is ever an option, the same must hold with
anchors and options exchanged. Any other column is judged against the rest in the same way. Reading stops if labels that
are never among the others are written in another way (numbers, names of files, other text) and so many have a
probability below 1e-3; or if no label of the column ever is among the others, and the probability is below 1e-6: ten
objects under two names each are found with some 30 answers, a hundred with 60.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nearer._common.findings import Finding
from nearer.data.groups import sorted_unique
from nearer.data.labels import normalize_name
from nearer.io.answers import Answers, ReadingReport
from nearer.io.columns import (
    ANSWERS,
    LISTS,
    NEAR_FAR,
    STEMS,
    SYNONYMS,
    LayoutMatch,
    Roles,
    by_plain,
    families,
    find_columns,
    format_roles,
)
from nearer.io.formats import JSON_LINE
from nearer.io.labels import possible_lists, read_lists
from nearer.io.messages import ASKED_ADVICE, as_column, listing, note, shortened
from nearer.io.presets import TableHints
from nearer.io.table import Codes, Column, LoadedRows, Table, distinct_values

MIN_LABEL_SHARE = 0.5
_ANCHORS = tuple(name for name in SYNONYMS["anchor"] if len(name) > 1)
_RIGHT_WORDS = (
    "correct iscorrect corr label labels agree agrees agreed agreement accuracy accurate acc isnear nearer iscloser "
    "isright matches match sign truth outcome result valid vote"
)
_RIGHT = frozenset(_RIGHT_WORDS.split())
SAMPLED_CELLS = 1000  # rows that show what a column holds
MAX_LISTED_COLUMNS, MAX_NAME_LENGTH = 10, 40  # columns in a message, and characters of each
_MEMBER = re.compile(rf"({'|'.join(STEMS)})(\d{{1,4}}|[a-z])")
MIN_CONSTANT_ROWS = 5  # in fewer rows than these, plain names may well be the same by chance
_TAG = re.compile(r"<\s*/?\s*[a-zA-Z][^>]*>")
_MEDIA = re.compile(r"<\s*(img|image|audio|video|source|picture|object|embed|svg|canvas|iframe)\b", re.IGNORECASE)
MIN_HTML_SHARE = 0.9  # share of cells that tells what a column holds


def unused_columns(table: Table, found: LayoutMatch, objects: list[object], candidates: list[str]) -> list[Finding]:
    """Return findings about columns that hold objects, or an answer, and are not used.

    A column holds objects if it belongs to a family of items, or if most of its cells in the first rows are labels of
    objects, or lists of them. Where labels are numbers, cells that are numbers prove nothing.
    """
    used = set(found.names)
    unused = [name for name in dict.fromkeys(candidates) if name not in used]
    if not unused:
        return []
    labels = {str(label) for label in objects}
    by_name = _item_columns(table.names, used)
    try:
        peeked = (table.peek or table.load)(unused).columns
    except ValueError:  # what is cut off at the beginning of a file may not be a table
        peeked = table.load(unused).columns
    holding = [name for name in unused if _holds_objects(peeked[name], labels, name in by_name)]
    findings = []
    people = [name for name in unused if "prolific" in normalize_name(name)]
    if "annotator" not in found.roles and len(people) == 1:
        findings.append(note("likely-annotator", table.source, column=people[0]))
    elif "annotator" not in found.roles and JSON_LINE in unused:
        findings.append(note("json-lines", table.source, column=JSON_LINE))
    if holding:
        findings.append(note("unused-objects", table.source, columns=holding))
    others = [name for name in unused if name not in holding]
    return findings + [each for name in others for each in _possible_roles(name, peeked[name], found, table.source)]


def _possible_roles(name: str, column: Column, found: LayoutMatch, source: str) -> Iterator[Finding]:
    """Return what a column may mean that is not used and holds no object that others hold."""
    values = {str(value) for value in distinct_values(column)}
    named = "near" in found.roles or "near_1" in found.roles
    if values and "items" in found.layout.roles and normalize_name(name) in _ANCHORS:
        yield note("unused-anchor", source, column=name)
    elif named and "answer" not in found.roles and len(values) == 2 and normalize_name(name) in _RIGHT:
        yield note("unused-answer", source, column=name, values=sorted(values))


def with_columns(answers: Answers, names: tuple[str, ...], found: LayoutMatch, cells: dict[str, Column]) -> Answers:
    """Return answers that tell which columns they were read from, and which they were not.

    Columns that go with any kind of question may turn out to say nothing: empty ones, trial numbers of many
    questions each, times that are no numbers, and answers where near and far are given.
    """
    numbers = answers.report.trial_numbers
    nothing = {
        "trial": numbers is not None and numbers.n_trials == numbers.n_answers,
        "seconds": answers.seconds is None,
        "confidence": answers.confidences is None,
        "answer": "answer" not in found.layout.roles and answers.comparisons.answers is None,
    }
    columns = {
        role: taken
        for role, taken in found.roles.items()
        if not nothing.get(role) and any((cells[name].codes >= 0).any() for name in taken)
    }
    used = {name for taken in columns.values() for name in taken}
    return answers.reported(columns=columns, unused=tuple(dict.fromkeys(name for name in names if name not in used)))


def has_other_names(columns: Roles) -> bool:
    """Whether columns were read that are not called as what they hold."""
    return any([normalize_name(name) for name in names] != [normalize_name(role)] for role, names in columns.items())


def columns_line(report: ReadingReport) -> str | None:
    """Return in a line which columns were read and which were not; None if the answers come from no table."""
    if not report.columns:
        return None
    read, unused = f"read: {format_roles(report.columns)}", report.unused
    if not unused:
        return read
    short = [
        name if len(name) <= MAX_NAME_LENGTH else name[: MAX_NAME_LENGTH - 3] + "..."
        for name in unused[:MAX_LISTED_COLUMNS]
    ]
    more = f" and {len(unused) - MAX_LISTED_COLUMNS} more" if len(unused) > MAX_LISTED_COLUMNS else ""
    return f"{read}; not used: {', '.join(short)}{more}"


def _item_columns(names: tuple[str, ...], used: set[str]) -> set[str]:
    """Return columns that are named like items, with others of their family or next to one that is used."""
    spelled = by_plain(names)
    members = {name: match[1] for spelling, name in spelled.items() if (match := _MEMBER.fullmatch(spelling))}
    stems = {stem for name, stem in members.items() if name in used}
    return {name for family in families(spelled, used) for name in family} | {
        name for name, stem in members.items() if stem in stems
    }


def _holds_objects(column: Column, labels: set[str], named_so: bool) -> bool:
    values = [str(column.values[code]) for code in set(column.codes[:SAMPLED_CELLS].tolist()) if code >= 0]
    if named_so:
        return bool(values)
    words = [value for value in values if not value.replace(".", "").isdigit()]
    return bool(words) and sum(_is_label(value, labels) for value in words) > MIN_LABEL_SHARE * len(values)


def _is_label(text: str, labels: set[str]) -> bool:
    """Whether a cell is the label of an object, or a list of such labels."""
    if text in labels:
        return True
    return len(text) < 10_000 and any(len(items) > 1 and set(items) <= labels for items in possible_lists(text))


class Prompt(NamedTuple):
    """Why a column holds what people were asked, and no objects; and the text that is the same in every row."""

    reason: str
    text: str = ""

    @property
    def is_html(self) -> bool:
        """Whether it holds HTML where other columns hold plain names or pictures."""
        return self.reason.startswith("html")


def find_prompts(loaded: LoadedRows, found: LayoutMatch, believed: set[str], lists_too: bool) -> dict[str, Prompt]:
    """Return the columns found that hold no objects, and why.

    ``believed`` are columns that the caller named; ``lists_too`` says that another reading of the table does without
    the column of lists, so that one list in all rows holds the labels of buttons.
    """
    names = found.columns_of([role for role in found.layout.roles if role not in ANSWERS])
    roles = {normalize_name(role) for role in found.layout.roles}
    reasons: dict[str, Prompt] = {}
    html = {name for name in names if _share(loaded.columns[name], _TAG) > MIN_HTML_SHARE}
    media = {name for name in html if _share(loaded.columns[name], _MEDIA) > MIN_HTML_SHARE}
    for name in sorted(names - believed - found.columns_of(["near", "far", *NEAR_FAR])):
        column = loaded.columns[name]
        if name in found.lists:
            if lists_too and len(_cells(column)) == 1 and len(column.codes) > 1:
                reasons[name] = Prompt("same-list")
        elif (
            (constant := _constant(column, name in html)) is not None
            and (name in html or normalize_name(name) not in roles)
            and not any(constant in _cells(loaded.columns[other]) for other in names - {name})
        ):
            reasons[name] = Prompt("same-text", constant)
        elif name in html and name not in media and (html != names or media):
            reasons[name] = Prompt("html-among-names" if html != names else "html-among-media")
    return reasons


def _cells(column: Column) -> Counter[str]:
    counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.values))
    return Counter({str(value): int(count) for value, count in zip(column.values, counts, strict=True) if count})


def _constant(column: Column, is_html: bool) -> str | None:
    """Return the one text of a column; numbers are indices of objects, which may well be the same."""
    cells = _cells(column)
    if len(cells) != 1:
        return None
    ((text, n_rows),) = cells.items()
    number = any(isinstance(value, int) for value in column.values) or re.fullmatch(r"[+-]?[\d.,]+", text)
    return None if number or n_rows < (2 if is_html else MIN_CONSTANT_ROWS) else text


def _share(column: Column, pattern: re.Pattern[str]) -> float:
    cells = _cells(column)
    total = sum(cells.values())
    return sum(count for text, count in cells.items() if pattern.search(text)) / total if total else 0.0


MAX_CHANCE_SAME_FORM, MAX_CHANCE_OTHER_FORM = (
    1e-6,
    1e-3,
)  # least probability of labels that are written alike, and in another way
MAX_LISTED_LABELS, MAX_LABEL_CHARACTERS = 3, 30  # labels in a message, and characters of each
MIN_COMMON_LABELS = 0.5  # share of labels that columns of the same objects have in common
MAX_REPEATED_ROWS = 0.05  # share of rows in which an anchor may be among its options by mistake
_NUMBER = re.compile(r"[+-]?\d+([.,]\d+)?")
_FILE = re.compile(r".*(\.[a-z][a-z0-9]{1,4}|[/\\].*|>)", re.DOTALL | re.IGNORECASE)

_ONE_LABEL_EACH = "If they name the same objects, give each object the same label in all columns"

Labels: TypeAlias = frozenset[str]


@dataclass(frozen=True)
class ObjectColumn:
    """A column of objects: the labels in each distinct cell, and the cell of every row that counts, -1 for none."""

    role: str
    name: str
    cells: list[tuple[str, ...]]
    codes: Codes

    @property
    def labels(self) -> Labels:
        """All labels."""
        counts = np.bincount(self.codes[self.codes >= 0], minlength=len(self.cells))
        return frozenset(label for code in np.flatnonzero(counts).tolist() for label in self.cells[code])


@dataclass(frozen=True)
class Unmatched:
    """A column of objects with labels that no other column of the question has."""

    role: str  # of the column
    name: str  # of the column
    labels: Labels  # all labels of the column, and of the others
    others: Labels  # all labels of the column, and of the others
    other_names: tuple[str, ...]  # the other columns
    chance: float

    @property
    def missing(self) -> Labels:
        """Labels of the column that the others do not have."""
        return self.labels - self.others

    @property
    def has_other_form(self) -> bool:
        """Whether they are written in another way than all labels of the others."""
        return not set(map(_label_form, self.missing)) & set(map(_label_form, self.others))

    @property
    def is_other_naming_scheme(self) -> bool:
        """Whether this is beyond chance, and no matter of design."""
        return self.chance < (
            MAX_CHANCE_OTHER_FORM if self.has_other_form else MAX_CHANCE_SAME_FORM * (self.missing == self.labels)
        )


def unmatched_columns(
    found: LayoutMatch, columns: Mapping[str, Column], rows: NDArray[np.bool_]
) -> Iterator[Unmatched]:
    """Return the columns of objects with labels that no other column of the question has, in the rows that count."""
    cells = [replace(column, codes=np.where(rows, column.codes, -1)) for column in objects_of(found, columns)]
    labels = [column.labels for column in cells]
    for at, own in enumerate(cells):
        rest = [column for column in cells if column is not own]
        others = frozenset[str]().union(*(labels[other] for other in range(len(cells)) if other != at))
        missing = labels[at] - others
        if len(missing) < 2 or any(len(cell) > 1 for cell in own.cells):
            continue
        pairs = list(_pairs(own, rest))
        chance = chance_of_design(pairs, len(missing))
        if missing == labels[at]:  # a few options that everybody gets are no more two names than a few anchors are
            chance = max(chance, chance_of_design([(other, mine) for mine, other in pairs], len(others)))
        yield Unmatched(own.role, own.name, labels[at], others, tuple(column.name for column in rest), chance)


def objects_of(found: LayoutMatch, columns: Mapping[str, Column]) -> Iterator[ObjectColumn]:
    """Return every column of objects, with all its rows."""
    for role in found.layout.roles:
        names = found.roles[role]
        if role in ANSWERS or (role == "ranking" and "shown" in found.layout.roles):
            continue
        for name in names:
            if role in LISTS and len(names) == 1:
                codes, lists = read_lists([columns[name]])
                yield ObjectColumn(role, name, lists, codes.astype(np.int32))
            else:
                yield ObjectColumn(role, name, [(str(value),) for value in columns[name].values], columns[name].codes)


def _pairs(own: ObjectColumn, rest: Iterable[ObjectColumn]) -> Iterator[tuple[str, str]]:
    """Return each label of a column with each label that was next to it."""
    for other in rest:
        both = (own.codes >= 0) & (other.codes >= 0)
        keys = sorted_unique(own.codes[both].astype(np.int64) * len(other.cells) + other.codes[both])
        for mine, its in zip(*(each.tolist() for each in np.divmod(keys, len(other.cells))), strict=True):
            yield from ((own.cells[mine][0], label) for label in other.cells[its])


def chance_of_design(pairs: Iterable[tuple[Any, Any]], n_missing: int) -> float:
    """Return how probable it is that so many blocks have a label first that is in no other block."""
    blocks: dict[Any, set[Any]] = {}
    for first, second in pairs:
        blocks.setdefault(first, {first}).add(second)
    n_blocks = Counter(label for block in blocks.values() for label in block)
    shares = [sum(n_blocks[label] == 1 for label in block) / len(block) for block in blocks.values()]
    possible = [share for share in shares if share]
    if not possible:
        return 1.0
    from scipy.stats import binom  # the survey's server reads formats, and loads no scipy

    return float(binom.sf(n_missing - 1, len(possible), sum(possible) / len(possible)))


def _label_form(label: str) -> str:
    """Return how a label is written."""
    return "number" if _NUMBER.fullmatch(label) else "file" if _FILE.fullmatch(label) else "text"


def shares_labels(found: LayoutMatch, columns: Mapping[str, Column], role: str, least: float = 0) -> bool:
    """Return whether the column of a role has labels of the other columns, and hardly ever that of one next to it.

    More than the ``least`` share of its labels must be among theirs.
    """
    cells = list(objects_of(found, columns))
    own = next(column for column in cells if column.role == role)
    rest = [column for column in cells if column is not own]
    mine, others = own.labels, frozenset[str]().union(*(column.labels for column in rest))
    repeated = np.any([rows_with_same_label(own, other) for other in rest], axis=0)
    return len(mine & others) > least * len(mine) and float(np.mean(repeated)) <= MAX_REPEATED_ROWS


def rows_with_same_label(own: ObjectColumn, other: ObjectColumn) -> NDArray[np.bool_]:
    """Return the rows in which the label in a column is in another, too."""
    both = np.flatnonzero((own.codes >= 0) & (other.codes >= 0))
    keys = own.codes[both].astype(np.int64) * len(other.cells) + other.codes[both]
    pair_keys, of = np.unique(keys, return_inverse=True)
    pairs = zip(*(each.tolist() for each in np.divmod(pair_keys, len(other.cells))), strict=True)
    same = np.array([own.cells[mine][0] in other.cells[its] for mine, its in pairs], bool)
    repeated = np.zeros(len(own.codes), bool)
    repeated[both[same[of]]] = True
    return repeated


def refuse_two_naming_schemes(
    table: Table, found: LayoutMatch, hints: TableHints, columns: Mapping[str, Column], rows: NDArray[np.bool_]
) -> None:
    """Refuse a table in which a column of objects writes other labels than the rest."""
    for each in unmatched_columns(found, columns, rows):
        if each.is_other_naming_scheme:
            raise ValueError(f"{table.source}: {_describe_mismatch(each)}. {_advice(table, hints, each)}")


def _describe_mismatch(found: Unmatched) -> str:
    """Return what a column holds, and the others do not."""
    role, others = ("the anchor", "an option") if found.role == "anchor" else (found.role, "in another column")
    n_missing, n_labels = len(found.missing), len(found.labels)
    never = f"none of its {n_labels} labels" if n_missing == n_labels else f"{n_missing} of its {n_labels} labels"
    is_ever = "is ever" if n_missing == n_labels else "are never"
    return (
        f"column {found.name!r} was read as {role}, but {never} ({_list_labels(found.missing)}) {is_ever} {others} "
        f"({_list_labels(found.others)} in {listing(found.other_names)})"
    )


def _list_labels(labels: Labels) -> str:
    shown = sorted(labels, key=lambda label: (len(label), label))[:MAX_LISTED_LABELS]
    return ", ".join(shortened(label, MAX_LABEL_CHARACTERS) for label in shown) + (
        ", ..." if len(labels) > MAX_LISTED_LABELS else ""
    )


def _advice(table: Table, hints: TableHints, each: Unmatched) -> str:
    """Return which other columns have the labels of the rest, and what to say if there are none."""
    fitting = []
    for name in dict.fromkeys(table.names) if each.role not in LISTS else ():
        columns = hints.columns | {each.role: name}
        if name == each.name or name in [column for role, column in hints.columns.items() if role != each.role]:
            continue
        with suppress(ValueError):  # there is no such question
            found = find_columns(table.names, hints.kind, columns, table.source, hints.suggested, (each.name,))
            if shares_labels(found, table.load(found.names).columns, each.role, MIN_COMMON_LABELS):
                fitting.append(as_column(each.role, name))
    same = f"If they name the same objects, use {' or '.join(fitting[:2])}" if fitting else _ONE_LABEL_EACH
    asked = f". {ASKED_ADVICE}" if hints.suggested.get(each.role) == each.name else ""
    return f"{same}. If they are different objects by design, use --separate-labels (separate_labels=True){asked}"

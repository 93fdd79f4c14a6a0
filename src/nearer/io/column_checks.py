"""Columns that are not read, that hold no objects, or that label the objects in another way than the rest.

*Prompts*: a text that is the same in every row, and in no other column, is what people were asked, and no object. So is
HTML without a picture or a sound where other columns hold pictures, sounds or plain names. A column that the caller
names is always believed, and so is plain text under the very name of its role.

*Two naming schemes*: indices in one column and names of files in the others, say. Some designs do have anchors that are
never options, so that chance has to decide. Take an anchor with all options it was shown with as a *block* of objects.
If the anchor could have been any of its objects, it is one that no other block mentions with probability u / s, for a
block of s objects of which u are in no other. The number of such anchors is a sum of independent trials, and as many as
were found, or more, have a probability of at most that of a binomial variable with the mean one (Hoeffding 1956).
Where no label of the anchors is ever an option, the same must hold with anchors and options exchanged. Reading stops if
labels that are never among the others are written in another way (numbers, names of files, other text) and so many have
a probability below 1e-3; or if no label of the column is among the others, and the probability is below 1e-6.
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
from nearer.io.columns import ANSWERS, LISTS, NEAR_FAR, STEMS, SYNONYMS, LayoutMatch, by_plain, families, format_roles
from nearer.io.formats import JSON_LINE
from nearer.io.labels import possible_lists, split_column
from nearer.io.messages import ASKED_ADVICE, as_column, clipped, listing, note, shortened
from nearer.io.presets import TableHints
from nearer.io.table import Codes, Column, LoadedRows, Table

MIN_LABEL_SHARE = 0.5
_ANCHORS = tuple(name for name in SYNONYMS["anchor"] if len(name) > 1)
_RIGHT_WORDS = (
    "correct iscorrect corr label labels agree agrees agreed agreement accuracy accurate acc isnear nearer iscloser "
    "isright matches match sign truth outcome result valid vote"
)
_RIGHT = frozenset(_RIGHT_WORDS.split())
SAMPLED_CELLS = 1000  # rows that show what a column holds
MAX_LISTED_COLUMNS = 10  # in a message
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
    labels, by_name = set(map(str, objects)), _item_columns(table.names, used)
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
    for name in (each for each in unused if each not in holding):
        values, plain = set(map(str, peeked[name].present)), normalize_name(name)
        if values and "items" in found.layout.roles and plain in _ANCHORS:
            findings.append(note("unused-anchor", table.source, column=name))
        elif found.layout.says_near and "answer" not in found.roles and len(values) == 2 and plain in _RIGHT:
            findings.append(note("unused-answer", table.source, column=name, values=sorted(values)))
    return findings


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
        if not nothing.get(role) and any(cells[name].filled.any() for name in taken)
    }
    used = {name for taken in columns.values() for name in taken}
    return answers.reported(columns=columns, unused=tuple(name for name in dict.fromkeys(names) if name not in used))


def columns_line(report: ReadingReport) -> str | None:
    """Return in a line which columns were read and which were not; None if the answers come from no table."""
    if not report.columns:
        return None
    read, n_more = f"read: {format_roles(report.columns)}", len(report.unused) - MAX_LISTED_COLUMNS
    short = ", ".join(map(clipped, report.unused[:MAX_LISTED_COLUMNS]))
    return f"{read}; not used: {short}{f' and {n_more} more' if n_more > 0 else ''}" if report.unused else read


def _item_columns(names: tuple[str, ...], used: set[str]) -> set[str]:
    """Return columns that are named like items, with others of their family or next to one that is used."""
    spelled = by_plain(names)
    stem_of = {name: match[1] for spelling, name in spelled.items() if (match := _MEMBER.fullmatch(spelling))}
    used_stems = {stem_of[name] for name in used if name in stem_of}
    next_to_used = {name for name, stem in stem_of.items() if stem in used_stems}
    return next_to_used.union(*families(spelled, used))


def _holds_objects(column: Column, labels: set[str], named_so: bool) -> bool:
    values = list(map(str, column[:SAMPLED_CELLS].present))
    if named_so:
        return bool(values)
    words = [value for value in values if not value.replace(".", "").isdigit()]
    return bool(words) and sum(_is_label(value, labels) for value in words) > MIN_LABEL_SHARE * len(values)


def _is_label(text: str, labels: set[str]) -> bool:
    """Whether a cell is the label of an object, or a list of such labels."""
    lists = possible_lists(text) if len(text) < 10_000 else ()
    return text in labels or any(len(items) > 1 and set(items) <= labels for items in lists)


class Prompt(NamedTuple):
    """Why a column holds what people were asked, and no objects; and the text that is the same in every row."""

    reason: str
    text: str = ""


def find_prompts(loaded: LoadedRows, found: LayoutMatch, believed: set[str], lists_too: bool) -> dict[str, Prompt]:
    """Return the columns found that hold no objects, and why.

    ``believed`` are columns that the caller named; ``lists_too`` says that another reading of the table does without
    the column of lists, so that one list in all rows holds the labels of buttons.
    """
    names = found.columns_of([role for role in found.layout.roles if role not in ANSWERS])
    roles = {normalize_name(role) for role in found.layout.roles}
    reasons: dict[str, Prompt] = {}
    cells = {name: _cells(loaded.columns[name]) for name in names}
    html = {name for name in names if _share(cells[name], _TAG) > MIN_HTML_SHARE}
    media = {name for name in html if _share(cells[name], _MEDIA) > MIN_HTML_SHARE}
    for name in sorted(names - believed - found.columns_of(["near", "far", *NEAR_FAR])):
        least = 2 if name in html else MIN_CONSTANT_ROWS
        constant = _constant(cells[name], loaded.columns[name].values, least)
        if name in found.lists:
            if lists_too and len(cells[name]) == 1 and len(loaded) > 1:
                reasons[name] = Prompt("same-list")
        elif (
            constant is not None
            and (name in html or normalize_name(name) not in roles)
            and not any(constant in cells[other] for other in names - {name})
        ):
            reasons[name] = Prompt("same-text", constant)
        elif name in html and name not in media and (html != names or media):
            reasons[name] = Prompt("html-among-names" if html != names else "html-among-media")
    return reasons


def _cells(column: Column) -> Counter[str]:
    counts = np.bincount(column.codes[column.filled], minlength=len(column.values))
    return Counter({str(value): int(count) for value, count in zip(column.values, counts, strict=True) if count})


def _constant(cells: Counter[str], values: list[Any], least: int) -> str | None:
    """Return the one text of a column; numbers are indices of objects, which may well be the same."""
    text, n_rows = next(iter(cells.items()), ("", 0))
    number = any(isinstance(value, int) for value in values) or re.fullmatch(r"[+-]?[\d.,]+", text)
    return None if len(cells) != 1 or number or n_rows < least else text


def _share(cells: Counter[str], pattern: re.Pattern[str]) -> float:
    return sum(count for text, count in cells.items() if pattern.search(text)) / max(cells.total(), 1)


# least probability of labels that are written alike, and in another way
MAX_CHANCE_SAME_FORM, MAX_CHANCE_OTHER_FORM = 1e-6, 1e-3
MAX_LISTED_LABELS, MAX_LABEL_CHARACTERS = 3, 30  # labels in a message, and characters of each
MIN_COMMON_LABELS = 0.5  # share of labels that columns of the same objects have in common
MAX_REPEATED_ROWS = 0.05  # share of rows in which an anchor may be among its options by mistake
_NUMBER = re.compile(r"[+-]?\d+([.,]\d+)?")
_FILE = re.compile(r".*(\.[a-z][a-z0-9]{1,4}|[/\\].*|>)", re.DOTALL | re.IGNORECASE)

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
        return frozenset(label for cell in Column(self.codes, self.cells).present for label in cell)


@dataclass(frozen=True)
class Unmatched:
    """A column of objects with labels that no other column of the question has."""

    role: str
    name: str
    labels: Labels  # of the column
    others: Labels  # of the other columns
    other_names: tuple[str, ...]
    chance: float

    @property
    def missing(self) -> Labels:
        """Labels of the column that the others do not have."""
        return self.labels - self.others

    @property
    def has_other_form(self) -> bool:
        """Whether they are written in another way than all labels of the others."""
        return set(map(_label_form, self.missing)).isdisjoint(map(_label_form, self.others))

    @property
    def is_other_naming_scheme(self) -> bool:
        """Whether this is beyond chance, and no matter of design."""
        if self.has_other_form:
            return self.chance < MAX_CHANCE_OTHER_FORM
        return self.missing == self.labels and self.chance < MAX_CHANCE_SAME_FORM


def unmatched_columns(
    found: LayoutMatch, columns: Mapping[str, Column], rows: NDArray[np.bool_]
) -> Iterator[Unmatched]:
    """Return the columns of objects with labels that no other column of the question has, in the rows that count."""
    cells = [replace(column, codes=np.where(rows, column.codes, -1)) for column in objects_of(found, columns)]
    labels = [column.labels for column in cells]
    for at, own in enumerate(cells):
        rest = [*cells[:at], *cells[at + 1 :]]
        others = Labels().union(*labels[:at], *labels[at + 1 :])
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
        if role in ANSWERS or (role == "ranking" and "shown" in found.layout.roles):
            continue
        names = found.roles[role]
        for name in names:
            column, is_list = columns[name], role in LISTS and len(names) == 1
            cells: list[tuple[str, ...]] = (
                split_column(column) if is_list else [(str(value),) for value in column.values]
            )
            yield ObjectColumn(role, name, cells, column.codes)


def _pairs(own: ObjectColumn, rest: Iterable[ObjectColumn]) -> Iterator[tuple[str, str]]:
    """Return each label of a column with each label that was next to it."""
    for other in rest:
        both = (own.codes >= 0) & (other.codes >= 0)
        keys = sorted_unique(own.codes[both].astype(np.int64) * len(other.cells) + other.codes[both])
        for key in keys.tolist():
            yield from ((own.cells[key // len(other.cells)][0], label) for label in other.cells[key % len(other.cells)])


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
    return "number" if _NUMBER.fullmatch(label) else "file" if _FILE.fullmatch(label) else "text"


def shares_labels(found: LayoutMatch, columns: Mapping[str, Column], role: str, least: float = 0) -> bool:
    """Return whether the column of a role has labels of the other columns, and hardly ever that of one next to it.

    More than the ``least`` share of its labels must be among theirs.
    """
    cells = list(objects_of(found, columns))
    own = next(column for column in cells if column.role == role)
    rest = [column for column in cells if column is not own]
    common = own.labels & Labels().union(*(column.labels for column in rest))
    repeated = np.any([rows_with_same_label(own, other) for other in rest], axis=0)
    return len(common) > least * len(own.labels) and float(np.mean(repeated)) <= MAX_REPEATED_ROWS


def rows_with_same_label(own: ObjectColumn, other: ObjectColumn) -> NDArray[np.bool_]:
    """Return the rows in which the label in a column is in another, too."""
    both = np.flatnonzero((own.codes >= 0) & (other.codes >= 0))
    n = len(other.cells)
    keys, of = np.unique(own.codes[both].astype(np.int64) * n + other.codes[both], return_inverse=True)
    same = np.array([own.cells[key // n][0] in other.cells[key % n] for key in keys.tolist()], bool)
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
    role, others = ("the anchor", "an option") if found.role == "anchor" else (found.role, "in another column")
    n_missing, n_labels = len(found.missing), len(found.labels)
    never, is_ever = f"{n_missing} of its {n_labels} labels", "are never"
    if n_missing == n_labels:
        never, is_ever = f"none of its {n_labels} labels", "is ever"
    return (
        f"column {found.name!r} was read as {role}, but {never} ({_list_labels(found.missing)}) {is_ever} {others} "
        f"({_list_labels(found.others)} in {listing(found.other_names)})"
    )


def _list_labels(labels: Labels) -> str:
    shown = sorted(labels, key=lambda label: (len(label), label))[:MAX_LISTED_LABELS]
    more = ["..."] if len(labels) > MAX_LISTED_LABELS else []
    return ", ".join([shortened(label, MAX_LABEL_CHARACTERS) for label in shown] + more)


def _advice(table: Table, hints: TableHints, each: Unmatched) -> str:
    """Return which other columns have the labels of the rest, and what to say if there are none."""
    fitting = []
    for name in dict.fromkeys(table.names) if each.role not in LISTS else ():
        if name == each.name or name in [column for role, column in hints.columns.items() if role != each.role]:
            continue
        with suppress(ValueError):  # there is no such question
            changed = replace(hints, columns=hints.columns | {each.role: name})
            found = changed.find_columns(table.names, table.source, (each.name,))
            if shares_labels(found, table.load(found.names).columns, each.role, MIN_COMMON_LABELS):
                fitting.append(as_column(each.role, name))
    same = "If they name the same objects, "
    same += f"use {' or '.join(fitting[:2])}" if fitting else "give each object the same label in all columns"
    asked = f". {ASKED_ADVICE}" if hints.suggested.get(each.role) == each.name else ""
    return f"{same}. If they are different objects by design, use --separate-labels (separate_labels=True){asked}"

"""Columns that write other labels than the rest of the question does: indices beside names of files, say.

Read as they are, such tables have each object twice, once as an anchor and once as an option, and no comparison ever
brings the two together. Some designs do have anchors that are never options, so that chance has to decide. Take an
anchor with all options it was shown with as a *block* of objects. If the anchor could have been any of its objects, it
is one that no other block mentions with probability u / s, for a block of s objects of which u are in no other. The
number of such anchors is then a sum of independent trials, and at least as many as were found have a probability of at
most that of a binomial variable with the mean probability (Hoeffding 1956). It is large for a single anchor that
everybody gets, for two landmarks, and for so few answers that most objects were seen once; and it does not change
where the same question is asked again and again. Options may be few and fixed, too: where no label of the anchors is
ever an option, the same must hold with the parts of anchors and options exchanged. Any other column is judged against
the rest in the same way.

Labels that are never among the others stop the reading if they are written in another way (numbers, names of files,
other text) than any of the others and that many have a probability below 1e-3; or if no label of the column ever is
among the others, and the probability is below 1e-6: ten objects under two names each are found with some 30 answers, a
hundred with 60. Anchors that are never options beside others that are, written alike, are a matter of design.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nearer.data.groups import distinct
from nearer.io.faults import as_column, one_of
from nearer.io.finding_columns import find_columns
from nearer.io.layouts import ANSWERS, LISTS, Found, listing
from nearer.io.lists import read_lists
from nearer.io.presets import Reading
from nearer.io.table import Codes, Column, Table, shortened

ALIKE, OTHERWISE = 1e-6, 1e-3  # least probability of labels that are written alike, and in another way
_SHOWN, _LONG = 3, 30  # labels in a message, and characters of each
_MOSTLY = 0.5  # share of labels that columns of the same objects have in common
_MISTAKES = 0.05  # share of rows in which an anchor may be among its options by mistake
_NUMBER = re.compile(r"[+-]?\d+([.,]\d+)?")
_FILE = re.compile(r".*(\.[a-z][a-z0-9]{1,4}|[/\\].*|>)", re.DOTALL | re.IGNORECASE)

_ONE_WAY = "If they name the same objects, give each object the same label in all columns"
ASKED = f"If the column holds the question as people read it, say {one_of('kind', ['odd-one-out', 'most-central'])}"

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
    """A column of objects with labels that no other column of the question has.

    Attributes
    ----------
    role, name : str
        Of the column.
    labels, others : frozenset of str
        All labels of the column, and of the others.
    other_names : tuple of str
        The other columns.
    chance : float
        Probability of at least as many such labels, if any object of a question could have been in the column.
    """

    role: str
    name: str
    labels: Labels
    others: Labels
    other_names: tuple[str, ...]
    chance: float

    @property
    def missing(self) -> Labels:
        """Labels of the column that the others do not have."""
        return self.labels - self.others

    @property
    def written_otherwise(self) -> bool:
        """Whether they are written in another way than all labels of the others."""
        return not set(map(_form, self.missing)) & set(map(_form, self.others))

    @property
    def two_schemes(self) -> bool:
        """Whether this is beyond chance, and no matter of design."""
        return self.chance < (OTHERWISE if self.written_otherwise else ALIKE * (self.missing == self.labels))


def unmatched(found: Found, columns: Mapping[str, Column], rows: NDArray[np.bool_]) -> Iterator[Unmatched]:
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
        chance = chance_of(pairs, len(missing))
        if missing == labels[at]:  # a few options that everybody gets are no more two names than a few anchors are
            chance = max(chance, chance_of([(other, mine) for mine, other in pairs], len(others)))
        yield Unmatched(own.role, own.name, labels[at], others, tuple(column.name for column in rest), chance)


def objects_of(found: Found, columns: Mapping[str, Column]) -> Iterator[ObjectColumn]:
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
    """Return each label of a column with each label that was beside it."""
    for other in rest:
        both = (own.codes >= 0) & (other.codes >= 0)
        keys = distinct(own.codes[both].astype(np.int64) * len(other.cells) + other.codes[both])
        for mine, its in zip(*(each.tolist() for each in np.divmod(keys, len(other.cells))), strict=True):
            yield from ((own.cells[mine][0], label) for label in other.cells[its])


def chance_of(pairs: Iterable[tuple[Any, Any]], n_missing: int) -> float:
    """Return how probable it is that so many blocks have a label first that is in no other block.

    Examples
    --------
    >>> pairs = [(anchor, option) for anchor in range(4) for option in "abcdefghi"]
    >>> f"{chance_of(pairs, 4):.6f}"
    '0.000100'
    """
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


def _form(label: str) -> str:
    """Return how a label is written.

    Examples
    --------
    >>> [_form(label) for label in ("12", "stimuli/cat.png", "cat", "<img src='cat.png'>")]
    ['number', 'file', 'text', 'file']
    """
    return "number" if _NUMBER.fullmatch(label) else "file" if _FILE.fullmatch(label) else "text"


def shares_labels(found: Found, columns: Mapping[str, Column], role: str, least: float = 0) -> bool:
    """Return whether the column of a role has labels of the other columns, and hardly ever that of one beside it.

    More than the ``least`` share of its labels must be among theirs.
    """
    cells = list(objects_of(found, columns))
    own = next(column for column in cells if column.role == role)
    rest = [column for column in cells if column is not own]
    mine, others = own.labels, frozenset[str]().union(*(column.labels for column in rest))
    beside = np.any([is_beside(own, other) for other in rest], axis=0)
    return len(mine & others) > least * len(mine) and float(np.mean(beside)) <= _MISTAKES


def is_beside(own: ObjectColumn, other: ObjectColumn) -> NDArray[np.bool_]:
    """Return the rows in which the label in a column is in another, too."""
    both = np.flatnonzero((own.codes >= 0) & (other.codes >= 0))
    keys = own.codes[both].astype(np.int64) * len(other.cells) + other.codes[both]
    pair_keys, of = np.unique(keys, return_inverse=True)
    pairs = zip(*(each.tolist() for each in np.divmod(pair_keys, len(other.cells))), strict=True)
    same = np.array([own.cells[mine][0] in other.cells[its] for mine, its in pairs], bool)
    beside = np.zeros(len(own.codes), bool)
    beside[both[same[of]]] = True
    return beside


def refuse_two_schemes(
    table: Table, found: Found, reading: Reading, columns: Mapping[str, Column], rows: NDArray[np.bool_]
) -> None:
    """Refuse a table in which a column of objects writes other labels than the rest."""
    for each in unmatched(found, columns, rows):
        if each.two_schemes:
            raise ValueError(f"{table.source}: {_told(each)}. {_advice(table, reading, each)}")


def _told(found: Unmatched) -> str:
    """Return what a column holds, and the others do not."""
    role, others = ("the anchor", "an option") if found.role == "anchor" else (found.role, "in another column")
    n_missing, n_labels = len(found.missing), len(found.labels)
    never = f"none of its {n_labels} labels" if n_missing == n_labels else f"{n_missing} of its {n_labels} labels"
    is_ever = "is ever" if n_missing == n_labels else "are never"
    return (
        f"column {found.name!r} was read as {role}, but {never} ({_some(found.missing)}) {is_ever} {others} "
        f"({_some(found.others)} in {listing(found.other_names)})"
    )


def _some(labels: Labels) -> str:
    shown = sorted(labels, key=lambda label: (len(label), label))[:_SHOWN]
    return ", ".join(shortened(label, _LONG) for label in shown) + (", ..." if len(labels) > _SHOWN else "")


def _advice(table: Table, reading: Reading, each: Unmatched) -> str:
    """Return which other columns have the labels of the rest, and what to say if there are none."""
    fitting = []
    for name in dict.fromkeys(table.names) if each.role not in LISTS else ():
        columns = reading.columns | {each.role: name}
        if name == each.name or name in [column for role, column in reading.columns.items() if role != each.role]:
            continue
        with suppress(ValueError):  # there is no such question
            found = find_columns(table.names, reading.kind, columns, table.source, reading.suggested, (each.name,))
            if shares_labels(found, table.load(found.names).columns, each.role, _MOSTLY):
                fitting.append(as_column(each.role, name))
    same = f"If they name the same objects, say {' or '.join(fitting[:2])}" if fitting else _ONE_WAY
    asked = f". {ASKED}" if reading.suggested.get(each.role) == each.name else ""
    return f"{same}. If they are different objects by design, say --separate-labels (separate_labels=True){asked}"

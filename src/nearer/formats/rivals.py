"""Several columns that could each be the answer.

Exports hold the correct answer beside the one that was given, a column that was never filled, or the keys of two
screens. An empty column never goes before one that is filled. Of two that can both be read, and that say different
things, none is guessed; where they say the same in other words, the first is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nearer.data.frame_columns import plain
from nearer.formats.advice import as_column
from nearer.formats.faults import Faults
from nearer.formats.layouts import ANSWERS, Found
from nearer.formats.names import SYNONYMS, by_plain
from nearer.formats.questions import Asked, Question, read_question
from nearer.formats.table import Loaded

_MISTAKES = 0.05  # share of rows that may be bad in a column of answers


def answer_of(found: Found) -> str | None:
    """Return the role of the answer in a layout, or None if near and far say it."""
    return next((role for role in ANSWERS if role in found.layout.roles), None)


def answer_column(found: Found) -> str | None:
    """Return the column of the answer, or None if there is none."""
    role = answer_of(found)
    return None if role is None else found.roles[role][0]


def rivals(names: Sequence[str], found: Found, known: set[str]) -> list[str]:
    """Return other columns that are named like an answer; none if the role of the answer is ``known``."""
    role = answer_of(found)
    if role is None or role in known or len(found.roles[role]) > 1:
        return []
    spelled = by_plain(names)
    spellings = dict.fromkeys([*SYNONYMS[role], *SYNONYMS["answer"]])
    columns = dict.fromkeys(spelled[spelling] for spelling in spellings if spelling in spelled)
    return [name for name in columns if name not in found.names and list(names).count(name) == 1]


def empty_answer(loaded: Loaded, found: Found, others: Sequence[str]) -> str | None:
    """Return the column of the answer if it is empty and another is not."""
    role = answer_of(found)
    if role is None or not any((loaded.columns[name].codes >= 0).any() for name in others):
        return None
    name = found.roles[role][0]
    return None if (loaded.columns[name].codes >= 0).any() else name


def refuse_rivals(question: Question, asked: Asked, others: Sequence[str], lines: NDArray[np.int64]) -> None:
    """Refuse a table in which another column can be read as the answer, and says something else."""
    role = answer_of(question.found)
    places = asked.expansion.places
    if role is None or places is None:
        return
    for name in others:
        found = replace(question.found, roles=question.found.roles | {role: (name,)})
        faults = Faults(len(lines))
        try:
            other = read_question(replace(question, found=found, faults=faults, notes=[])).expansion.places
        except ValueError:  # it is no answer, or nobody knows what it means
            continue
        if other is None or (faults.bad & ~question.faults.bad).sum() > _MISTAKES * len(lines):
            continue
        differ = np.flatnonzero((places >= 0) & (other >= 0) & (places != other) & ~faults.bad & ~question.faults.bad)
        if len(differ):
            mine = question.name(role)
            raise ValueError(
                f"{question.source}: columns {mine!r} and {name!r} can each be the answer, and differ in "
                f"{len(differ)} of {len(lines)} rows, first in line {lines[differ[0]]}; say {as_column(role, mine)} or "
                f"{as_column(role, name)}"
            )


def twins(names: Sequence[str]) -> str:
    """Return a sentence on columns whose names end in the same word for an answer, or nothing.

    Examples
    --------
    >>> twins(["anchor", "q1.keys", "q2.keys"])
    ". Columns 'q1.keys' and 'q2.keys' can each be the answer; say which with --columns answer=q1.keys"
    """
    ends: dict[str, list[str]] = {}
    for name in names:
        if "." in name.strip("."):
            ends.setdefault(plain(name.rpartition(".")[2]), []).append(name)
    alike = next((ends[end] for end in SYNONYMS["answer"] if len(ends.get(end, ())) > 1), None)
    if alike is None:
        return ""
    listed = " and ".join(map(repr, alike[:4]))
    return f". Columns {listed} can each be the answer; say which with --columns answer={alike[0]}"

"""The questions behind answers: what was shown, and which of it was named."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from nearer.io.answers import Answers

_OF_ITEMS = ("odd-one-out", "most-central")
ASKED = ("triplet", *_OF_ITEMS, "grid")  # kinds that can be asked; others are read, and followed by triplets


@dataclass(frozen=True)
class Answered:
    """A question that was answered.

    Attributes
    ----------
    shown : tuple of labels
        As it is asked: first the object that others are compared with, where there is one.
    named : tuple of labels
        Which of them the answer names; none where "can't tell" was split.
    person : label or None
    purpose : str
        What it was asked for; "other" where nobody says.
    line : int
        Where it stands in its file.
    """

    shown: tuple[Any, ...]
    named: tuple[Any, ...]
    person: Any = None
    purpose: str = "other"
    line: int = 0


def answered_in(answers: Answers, purposes: Any = None) -> list[Answered]:
    """Return the questions of answers, of the kinds that can be asked; of others there are none.

    Parameters
    ----------
    answers : Answers
    purposes : sequence of str, optional
        What each answer was asked for.

    Examples
    --------
    >>> from nearer.io import read_answers
    >>> table = {"item1": ["cat"], "item2": ["car"], "item3": ["dog"], "odd": ["car"], "person": ["ann"]}
    >>> found, = answered_in(read_answers(table))
    >>> sorted(found.shown), found.named, str(found.person), found.purpose
    (['car', 'cat', 'dog'], ('car',), 'ann', 'other')
    """
    if answers.kind not in ASKED:
        return []
    labels = answers.comparisons.objects[answers.comparisons.oriented]
    ends = np.flatnonzero(np.diff(answers.answer_of, append=-1)) + 1
    starts = np.concatenate([[0], ends[:-1]])
    found = []
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        at = int(answers.answer_of[start])
        person = None if answers.annotators is None else answers.annotators[at]
        purpose = "other" if purposes is None else str(purposes[at]) or "other"
        shown, named = _question(labels[start:end].tolist(), answers.kind)
        found.append(Answered(shown, named, person, purpose, int(answers.lines[at])))
    return found


def _question(rows: list[list[Any]], kind: str) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return what the comparisons of an answer, near pair and far pair, have shown and named."""
    near, far = (tuple(dict.fromkeys(row[place] for row in rows)) for place in (1, 3))
    if kind in _OF_ITEMS:
        shown = tuple(dict.fromkeys(label for row in rows for label in row))
        named = far if kind == "odd-one-out" else near
        return shown, named if len(named) == 1 else ()
    both = tuple(dict.fromkeys([*near, *far]))
    return (rows[0][0], *both), () if set(near) & set(far) else near


def kind_asked(answers: Answers) -> str:
    """Return the kind of question that goes on with answers: for grids such as "2 of 8", the most frequent.

    Examples
    --------
    >>> from nearer.io import read_answers
    >>> kind_asked(read_answers({"anchor": ["cat"], "shown": ["dog;car;owl;bus"], "chosen": ["dog;owl"]}))
    '2 of 4'
    """
    if answers.kind not in ASKED:
        return "triplet"
    if answers.kind != "grid":
        return str(answers.kind)
    sizes = Counter((len(each.named), len(each.shown) - 1) for each in answered_in(answers) if each.named)
    chosen, shown = sizes.most_common(1)[0][0] if sizes else (2, 8)
    return f"{chosen} of {shown}"

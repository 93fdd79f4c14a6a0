"""Tables that can be read in several ways.

What the readings make of the first answer is told in words, and the reader of the message chooses. Exports also hold
the correct answer beside the one that was given, a column that was never filled, or the keys of two screens: an empty
column never goes before one that is filled. Of two that can both be read, and that say different things, none is
guessed; where they say the same in other words, the first is read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nearer.data.labels import plain
from nearer.io.answer_codes import UnclearCoding
from nearer.io.answers import Answers
from nearer.io.column_names import SYNONYMS, by_plain
from nearer.io.faults import Faults, Proposal, as_column, tries
from nearer.io.finding_columns import Unclear
from nearer.io.layouts import ANSWERS, Found, listing
from nearer.io.questions import Asked, Question, read_question
from nearer.io.table import Loaded, shortened

_MISTAKES = 0.05  # share of rows that may be bad in a column of answers
_NEVER = 1e-4  # probability at most that chance keeps a column of items from being chosen, for it to be an anchor


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


def refuse_anchor_among_items(question: Question, asked: Asked, kinds: Sequence[str], rows: NDArray[np.bool_]) -> None:
    """Refuse a question about three items of which one is never chosen and the others are: it is the anchor.

    Parameters
    ----------
    question : Question
    asked : Asked
    kinds : sequence of str
        What to propose for those who mean it so.
    rows : ndarray of bool
        Those that count.
    """
    role, items = answer_of(question.found), question.found.roles.get("items", ())
    places = asked.expansion.places
    if role not in ("odd", "central") or len(items) != 3 or places is None:
        return
    counts = np.bincount(places[rows & (places >= 0)], minlength=3)
    if np.count_nonzero(counts) != 2 or (2 / 3) ** counts.sum() > _NEVER:
        return
    never = items[int(counts.argmin())]
    left, right = (name for name in items if name != never)
    answer = question.name(role)
    ways = [
        Proposal({}, {"anchor": never, "left": left, "right": right, "answer": answer}),
        *(Proposal({"kind": kind}) for kind in kinds),
    ]
    raise ValueError(
        f"{question.source}: none of {counts.sum()} answers in column {answer!r} is the object in column {never!r}, "
        f"which may be the anchor that {left!r} and {right!r} are compared with.{tries(ways)}"
    )


def twins(names: Sequence[str]) -> str:
    """Return a sentence on columns whose names end in the same word for an answer, or nothing.

    Examples
    --------
    >>> twins(["anchor", "q1.keys", "q2.keys"])
    ". Columns 'q1.keys' and 'q2.keys' can each be the answer; say which with --columns answer=NAME"
    """
    ends: dict[str, list[str]] = {}
    for name in names:
        if "." in name.strip("."):
            ends.setdefault(plain(name.rpartition(".")[2]), []).append(name)
    alike = next((ends[end] for end in SYNONYMS["answer"] if len(ends.get(end, ())) > 1), None)
    if alike is None:
        return ""
    listed = " and ".join(map(repr, alike[:4]))
    return f". Columns {listed} can each be the answer; say which with --columns answer=NAME"


def settled(
    unclear: Unclear, names: tuple[str, ...], source: str, read: Callable[[str, str | None, bool], Answers]
) -> Answers:
    """Return the answers if all readings that are possible say the same, or raise an error that shows them.

    Parameters
    ----------
    unclear : Unclear
        With the kinds that the columns allow.
    names : tuple of str
        Columns of the table.
    source : str
    read : callable
        Takes a kind, what means the first option, and whether to skip bad rows; returns the answers read so.
    """
    found: dict[str, Answers] = {}
    counted: dict[str, ValueError] = {}
    ways: list[Proposal] = []
    errors: list[ValueError] = []
    for kind in unclear.kinds:
        try:
            found[kind] = read(kind, None, True)
            ways.append(Proposal({"kind": kind}))
        except UnclearCoding as error:  # it may well be of this kind
            counted[kind] = error
            for first in ("0", "1"):
                with suppress(ValueError):
                    found[kind] = read(kind, first, True)
                    ways.append(Proposal({"kind": kind, "first_is": first}))
        except ValueError as error:
            errors.append(error)
    kinds = [kind for kind in unclear.kinds if kind in found or kind in counted]
    if not kinds:
        raise errors[0]
    said = [_said(answers) for answers in found.values()]
    if not counted and all(each == said[0] for each in said):
        return read(kinds[0], None, False)
    if len(kinds) == 1:
        raise counted[kinds[0]]
    readings = [
        f"read as {kind}{', where 1 means the first,' if kind in counted else ','} {in_words(answers)}"
        for kind, answers in found.items()
    ]
    raise Unclear(
        f"{unclear.prompts}{source} has the columns {listing(names)}, which can be read in several ways. Its first "
        f"answer: {'; '.join(readings)}.{tries(ways)}",
        kinds,
    )


def _said(answers: Answers) -> list[tuple[object, ...]]:
    comparisons = answers.comparisons
    return sorted(map(tuple, comparisons.objects[comparisons.oriented].astype(str).tolist()))


def in_words(answers: Answers) -> str:
    """Return what the first answer says.

    Examples
    --------
    >>> from nearer.io import read_answers
    >>> print(in_words(read_answers({"item1": ["cat"], "item2": ["car"], "item3": ["dog"], "odd": ["car"]})))
    'car' is the odd one of 'car', 'cat', 'dog'
    """
    comparisons = answers.comparisons
    rows = comparisons.oriented[answers.answer_of == 0]

    def names(codes: object) -> str:
        return ", ".join(shortened(label) for label in comparisons.objects[np.unique(np.asarray(codes))].tolist())

    anchor, near, other, far = rows[0]
    if answers.kind in ("odd-one-out", "most-central"):
        odd = answers.kind == "odd-one-out"
        return f"{names(far if odd else near)} is the {'odd one' if odd else 'most central'} of {names(rows)}"
    if answers.kind == "quadruplet":
        return f"{names([anchor, near])} are more alike than {names([other, far])}"
    if answers.kind in ("ranking", "ranked-grid"):
        return f"{names(anchor)} is nearest to {names(near)} of {names(rows[:, [1, 3]])}"
    return f"{names(anchor)} is nearer to {names(rows[:, 1])} than to {names(rows[:, 3])}"

"""Who is in which group: from a column, a dict or an array to a group for each comparison."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer._common.formatting import pluralize, quote, quote_all
from nearer.data.comparisons import Comparisons, as_comparisons
from nearer.data.labels import factorize, missing
from nearer.io.answers import Answers

_MOST_GROUPS = 20
_NEARLY_ALL = 0.9  # of a person's comparisons


@dataclass(frozen=True, eq=False)
class Grouped:
    """Comparisons with the group of each, those without one left out.

    Attributes
    ----------
    comparisons : Comparisons
    groups : ndarray of int, shape (m,)
    names : tuple of str
        Of the groups, behind that of their column, such as "musician: yes".
    notes : tuple of str
        What was left out.
    """

    comparisons: Comparisons
    groups: NDArray[np.intp]
    names: tuple[str, ...]
    notes: tuple[str, ...]


def grouped(answers: Any, groups: Any) -> Grouped:
    """Return comparisons with their groups; see `compare_groups` for what is taken."""
    comparisons = comparisons_in(answers)
    said = _said(answers, comparisons, groups)
    known = np.array([text != "" for text in said])
    notes: tuple[str, ...] = ()
    if not known.any():
        raise ValueError("no answer says which group it is of; check the column of groups")
    if not known.all():
        notes = (_left_out(comparisons, known),)
        comparisons, said = comparisons[known], said[known]
    names, numbers = factorize(said)
    if len(names) < 2:
        raise ValueError(f"all answers are of one group, {quote(names[0])}; there is nothing to compare")
    if len(names) > _MOST_GROUPS:
        raise ValueError(
            f"there are {len(names)} groups, such as {quote_all(names.tolist(), 3)}; a column of groups has at most "
            f"{_MOST_GROUPS} values. Name another column, or put values together first"
        )
    notes += (*_alike([str(each) for each in names]), *_astray(comparisons, numbers, names))
    variable = f"{groups}: " if isinstance(groups, str) else ""
    return Grouped(comparisons, numbers, tuple(f"{variable}{each}" for each in names), notes)


def comparisons_in(answers: Any) -> Comparisons:
    """Return the comparisons of answers that were read from a file, or of whatever stands for comparisons."""
    return answers.comparisons if isinstance(answers, Answers) else as_comparisons(answers)


def _alike(names: list[str]) -> list[str]:
    """Return a note on groups whose names differ in capitals and spaces alone."""
    spelled: dict[str, list[str]] = {}
    for each in names:
        spelled.setdefault("".join(each.lower().split()), []).append(each)
    return [
        f"are {' and '.join(map(quote, same))} one group? Spell them alike" for same in spelled.values() if same[1:]
    ]


def _astray(comparisons: Comparisons, groups: NDArray[np.intp], names: Any) -> list[str]:
    """Return a note on people of one group with a few answers of another: that is most often a slip in the file."""
    if comparisons.annotators is None:
        return []
    people, person = factorize(comparisons.annotators)
    counts = np.zeros((len(people), len(names)), dtype=int)
    np.add.at(counts, (person, groups), 1)
    total = counts.sum(axis=1)
    slips = np.flatnonzero((counts.max(axis=1) < total) & (counts.max(axis=1) >= _NEARLY_ALL * total))
    if len(slips) == 0:
        return []
    first = counts[slips[0]]
    order = np.argsort(-first, kind="stable")[:2]
    such = " and ".join(f"{first[each]} of {quote(names[each])}" for each in order)
    return [
        f"{pluralize(len(slips), 'person has', 'people have')} nearly all comparisons in one group and a few in "
        "another, "
        f"such as {quote(people[slips[0]])}: {such}. If each person is of one group, correct the column: as it is, "
        "labels are permuted within people, who are compared with themselves"
    ]


def _said(answers: Any, comparisons: Comparisons, groups: Any) -> NDArray[np.str_]:
    """Return the group of each comparison as text, "" where there is none."""
    m = len(comparisons)
    if isinstance(groups, str):
        if not isinstance(answers, Answers) or groups not in answers.also:
            raise ValueError(
                f"there is no column {quote(groups)} with these answers; read it with "
                f"read_answers(..., also=[{quote(groups)}]), or give the group of each comparison"
            )
        return np.asarray(answers.also[groups][answers.answer_of])
    if isinstance(groups, Mapping):
        if comparisons.annotators is None:
            raise ValueError("groups are given by person, but the comparisons do not say who answered")
        by_person = {str(person): group for person, group in groups.items()}
        return _text([by_person.get(str(person)) for person in comparisons.annotators.tolist()])
    values = list(groups.tolist() if isinstance(groups, np.ndarray) else groups)
    if isinstance(answers, Answers) and len(values) == len(answers) != m:
        return _text(values)[answers.answer_of]
    if len(values) != m:
        raise ValueError(f"there are {len(values)} groups for {pluralize(m, 'comparison')}; give one for each")
    return _text(values)


def _text(values: list[Any]) -> NDArray[np.str_]:
    labels = np.empty(len(values), dtype=object)
    labels[:] = values
    return np.array(["" if none else str(value).strip() for value, none in zip(values, missing(labels), strict=True)])


def _left_out(comparisons: Comparisons, known: NDArray[np.bool_]) -> str:
    count = int((~known).sum())
    verb = "was" if count == 1 else "were"
    told = f"{pluralize(count, 'comparison')} {verb} left out, as nothing says which group they are of"
    if comparisons.annotators is not None:
        people = np.setdiff1d(comparisons.annotators[~known], comparisons.annotators[known])
        if len(people):
            told += f"; with them all of {quote_all(people.tolist(), 3)}"
    return told

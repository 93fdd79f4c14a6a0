"""Files that `write_answers` wrote: a row a comparison, with the answer that it follows from.

Columns: anchor, near and far, or near_1, near_2, far_1 and far_2; ``answer`` (+1 and -1), ``weight``, ``annotator``,
``trial``, ``seconds``, ``confidence`` and ``place`` where there are any; ``nearer_answer``, the number of the answer;
and ``nearer_kind``. A row whose ``nearer_kind`` is "object" names an object that no comparison mentions.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from nearer.data.comparisons import Comparisons
from nearer.data.labels import refuse_all_zero
from nearer.io.answer_codes import Coding
from nearer.io.answers import KINDS, Answers, Kind
from nearer.io.faults import Faults, gather_bad
from nearer.io.layouts import LAYOUTS, NEAR_FAR, Found, Roles
from nearer.io.many import kept_apart
from nearer.io.numbers import in_proportion, read_numbers
from nearer.io.objects import spread
from nearer.io.questions import Asked, Question, read_question
from nearer.io.table import Column, Loaded, Table, merged
from nearer.io.text import restored

TRIPLET = ("anchor", "near", "far")
LABELS = ("annotator", "trial")
NUMBERS = ("weight", "seconds", "confidence", "place")
_MOST_APART = 1e30  # weights here are products: of what a row counted, its share of a trial, and a confidence
_TRIPLET_LAYOUT, _QUADRUPLET_LAYOUT = LAYOUTS[1], LAYOUTS[3]


def is_native(table: Table) -> bool:
    """Whether `write_answers` wrote the table."""
    names = set(table.names)
    return "nearer_answer" in names and (set(TRIPLET) <= names or set(NEAR_FAR) <= names)


def read_native(
    table: Table,
    names: list[Any] | None,
    kind: str | None,
    skip_bad: bool,
    notes: list[str],
    weight_by_confidence: bool,
) -> Answers:
    """Return the answers as they were written."""
    if weight_by_confidence:
        raise ValueError(f"{table.source} has its weights from when it was written; weigh by confidence before that")
    layout = _TRIPLET_LAYOUT if set(TRIPLET) <= set(table.names) else _QUADRUPLET_LAYOUT
    roles: Roles = {role: (role,) for role in layout.roles}
    roles |= {role: (role,) for role in ("answer", *LABELS, *NUMBERS) if role in table.names}
    marks = [name for name in ("nearer_answer", "nearer_kind") if name in table.names]
    loaded = table.load([*(role for role in roles), *marks])
    if table.delimited:
        loaded = replace(loaded, columns={name: restored(column) for name, column in loaded.columns.items()})
    kind = _kind(loaded, kind, table.source)
    numbered = {
        name: kept_apart(loaded.columns[name], loaded.lines)
        for name in ("nearer_answer", "trial")
        if name in loaded.columns
    }
    loaded = replace(loaded, columns=loaded.columns | numbered)
    loaded, unmentioned = _without_objects(loaded, layout.roles)
    faults = Faults(len(loaded.lines))
    if len(loaded.lines) == 0:
        gather_bad(loaded, faults, table.source, skip_bad, any_left=False)
    numbers = {
        role: values
        for role in NUMBERS
        if role in roles
        and (values := read_numbers(loaded.columns[role], role, faults, table.source, notes, role == "weight"))
        is not None
    }
    if "weight" in numbers:
        numbers["weight"] = in_proportion(
            numbers["weight"], loaded.columns["weight"], "weight", faults, table.source, notes, _MOST_APART
        )
    for role in ("nearer_answer", *(each for each in LABELS if each in roles)):
        faults.add(loaded.columns[role].codes < 0, f"there is no {role}")
    question = Question(Found(layout, roles), loaded.columns, faults, table.source, False, Coding(), names, notes)
    asked = read_question(question)
    bad_rows, n_bad = gather_bad(loaded, faults, table.source, skip_bad, len(asked.expansion.rows) > 0)
    return _assembled(question, asked, numbers, loaded, unmentioned, kind, bad_rows, n_bad)


def _kind(loaded: Loaded, said: str | None, source: str) -> str:
    """Return the kind that an npz file says, or the one that the rows of another file do."""
    column = loaded.columns.get("nearer_kind")
    found = [said] if said is not None else (column.values if column else [])
    kinds = [str(value) for value in found if value in KINDS]
    if len(kinds) != 1:
        raise ValueError(f"{source}: 'nearer_kind' must be one of {', '.join(KINDS)}, and the same in all rows")
    return kinds[0]


def _without_objects(loaded: Loaded, roles: tuple[str, ...]) -> tuple[Loaded, list[Any]]:
    """Return the rows that are comparisons, and the labels that the others name."""
    column = loaded.columns.get("nearer_kind")
    if column is None or "object" not in column.values:
        return loaded, []
    named = column.codes == column.values.index("object")
    first = loaded.columns[roles[0]]
    labels = [first.values[code] for code in first.codes[named] if code >= 0]
    kept = {name: Column(each.codes[~named], each.values) for name, each in loaded.columns.items()}
    # The values stay, so that these labels are in the list of all objects.
    return replace(loaded, columns=kept, lines=loaded.lines[~named]), labels


def _assembled(
    question: Question,
    asked: Asked,
    numbers: dict[str, NDArray[np.float64]],
    loaded: Loaded,
    unmentioned: list[Any],
    kind: str,
    bad_rows: Any,
    n_bad: int,
) -> Answers:
    kept = asked.expansion.row_of
    answer_codes = loaded.columns["nearer_answer"].codes[kept]
    _, first, inverse = np.unique(answer_codes, return_index=True, return_inverse=True)
    order = np.argsort(np.argsort(first))  # answers in the order in which they appear
    answer_of = order[inverse].astype(np.intp)
    rows = kept[np.sort(first)]
    labels = {role: _integers_back(loaded.columns[role], role) for role in LABELS if role in question.found.roles}
    spread_labels = {role: spread(column.values, column.codes[kept]) for role, column in labels.items()}
    weights = numbers["weight"][kept] if "weight" in numbers else None
    if weights is not None:
        refuse_all_zero(weights)
    seen = asked.seen.copy()
    for label in unmentioned:
        seen[asked.objects.position[str(label)]] = True
    comparison_rows, objects = replace(asked, seen=seen).compressed()
    comparisons = Comparisons(
        rows=comparison_rows,
        answers=asked.signs,
        weights=weights,
        annotators=spread_labels.get("annotator"),
        trials=spread_labels.get("trial"),
        objects=objects,
    )
    annotators = spread_labels.get("annotator")
    return Answers(
        comparisons=comparisons,
        answer_of=answer_of,
        kind=cast(Kind, kind),
        source=question.source,
        lines=loaded.lines[rows],
        annotators=None if annotators is None else annotators[np.sort(first)],
        seconds=numbers["seconds"][rows] if "seconds" in numbers else None,
        confidences=numbers["confidence"][rows] if "confidence" in numbers else None,
        places=np.nan_to_num(numbers["place"][rows], nan=-1).astype(np.int64) if "place" in numbers else None,
        bad_rows=bad_rows,
        n_bad=n_bad,
        notes=tuple(question.notes),
    )


def _integers_back(column: Column, role: str) -> Column:
    """Return trials that were numbered as numbers, also from text."""
    if role != "trial" or not all(
        str(value).isascii() and str(value).isdigit() and len(str(value)) < 18 for value in column.values
    ):
        return column
    if any(str(int(value)) != str(value) for value in column.values):
        return column
    return merged(column.codes, [int(value) for value in column.values])

"""Comparisons and what comes with them, put together as answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer.data.comparisons import Comparisons
from nearer.data.labels import refuse_all_zero
from nearer.formats.answers import Answers, BadRow
from nearer.formats.faults import with_column, without
from nearer.formats.numbers import as_seconds, in_proportion, read_numbers
from nearer.formats.objects import spread
from nearer.formats.presets import Reading
from nearer.formats.questions import Asked, Question
from nearer.formats.table import Column


def read_extras(question: Question, reading: Reading, by_confidence: bool, own: bool) -> dict[str, NDArray[np.float64]]:
    """Return the numbers that come with answers, one for every row of the table."""
    extras = {}
    what = {"seconds": "response time", "confidence": "confidence", "weight": "weight", "place": "place"}
    for role, words in what.items():
        if role not in question.found.roles:
            continue
        must = role == "weight" or (role == "confidence" and by_confidence)
        numbers = read_numbers(question.column(role), words, question.faults, question.source, question.notes, must)
        if numbers is None:
            continue
        if role == "seconds":
            unit: Any = "s" if own else ("ms" if question.name(role) in reading.milliseconds else None)
            numbers = as_seconds(numbers, question.name(role), unit)
        if must:
            column = question.column(role)
            numbers = in_proportion(numbers, column, words, question.faults, question.source, question.notes)
        extras[role] = numbers
    if by_confidence and "confidence" not in extras:
        raise ValueError(
            f"{question.source} has no column of confidences to weigh by; say which it is with "
            f"{with_column('confidence')}"
        )
    for role in ("annotator", "trial"):
        if role in question.found.roles:
            codes = question.column(role).codes
            if (codes >= 0).any():
                remedy = f"fill it in, or say {without(role)} to do without the column"
                question.faults.add(codes < 0, f"there is no {role}; {remedy}")
    return extras


def _labels_of(question: Question, role: str, rows: NDArray[np.intp]) -> Column | None:
    if role not in question.found.roles:
        return None
    column = question.column(role)
    if not (column.codes >= 0).any():
        return None
    return Column(column.codes[rows], column.values)


@dataclass(frozen=True)
class _Counted:
    """Who gave the answers, (a,), and the trials and weights, (m,), of their comparisons."""

    annotators: NDArray[Any] | None
    trials: NDArray[Any] | None
    weights: NDArray[np.float64] | None


def _counted(
    question: Question,
    extras: dict[str, NDArray[np.float64]],
    rows: NDArray[np.intp],
    answer_of: NDArray[np.intp],
    weight_by_confidence: bool,
) -> _Counted:
    """Return what answers count; ``rows`` are those of the table, one for every answer."""
    annotator = _labels_of(question, "annotator", rows)
    trial = _labels_of(question, "trial", rows)
    trials: NDArray[Any] | None = None
    weights: NDArray[np.float64] | None = None
    if trial is not None:
        groups, labels = group_trials(trial, annotator, "weight" in extras, question.source, question.notes)
        trials, weights = labels[answer_of], shared_weights(groups[answer_of])
    elif len(rows) < len(answer_of):
        trials, weights = answer_of.astype(np.int64), shared_weights(answer_of)
    if "weight" in extras:
        share = shared_weights(answer_of)
        given = extras["weight"][rows][answer_of]
        weights = given if share is None else given * share
    if weight_by_confidence:
        confidence = extras["confidence"][rows][answer_of]
        weights = (1.0 if weights is None else weights) * (confidence / (confidence.max() or 1.0))
    if weights is not None:
        refuse_all_zero(weights)
    return _Counted(None if annotator is None else spread(annotator.values, annotator.codes), trials, weights)


def assembled(
    question: Question,
    asked: Asked,
    extras: dict[str, NDArray[np.float64]],
    lines: NDArray[np.int64],
    bad_rows: tuple[BadRow, ...],
    n_bad: int,
    weight_by_confidence: bool,
) -> Answers:
    """Return the answers, with the weights, trials and people of their comparisons."""
    expansion = asked.expansion
    new_answer = np.r_[True, expansion.row_of[1:] != expansion.row_of[:-1]]
    rows = expansion.row_of[new_answer]  # of the table, one for every answer
    answer_of = np.cumsum(new_answer) - 1
    counted = _counted(question, extras, rows, answer_of, weight_by_confidence)
    annotators = counted.annotators
    rows_of_objects, objects = asked.compressed()
    comparisons = Comparisons(
        rows=rows_of_objects,
        answers=asked.signs,
        weights=counted.weights,
        annotators=annotators if annotators is None or len(rows) == len(answer_of) else annotators[answer_of],
        trials=counted.trials,
        objects=objects,
    )
    return Answers(
        comparisons=comparisons,
        answer_of=answer_of,
        kind=asked.kind,
        source=question.source,
        lines=lines[rows],
        annotators=annotators,
        seconds=extras["seconds"][rows] if "seconds" in extras else None,
        confidences=extras["confidence"][rows] if "confidence" in extras else None,
        places=_places(extras.get("place", expansion.places), rows),
        n_undecided=int(expansion.undecided.sum()),
        bad_rows=bad_rows,
        n_bad=n_bad,
        notes=tuple(question.notes),
    )


def _places(places: NDArray[Any] | None, rows: NDArray[np.intp]) -> NDArray[np.int64] | None:
    if places is None or (places[rows] < 0).all():
        return None
    return np.asarray(np.nan_to_num(places[rows], nan=-1).astype(np.int64))


def group_trials(
    trial: Column, annotator: Column | None, weighted: bool, source: str, notes: list[str]
) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Return the number of the trial, (a,), and its label, (a,), of answers that all have one.

    Two annotators with the same trial id are two trials, which then have numbers for labels. ``weighted`` says whether
    the table has weights of its own, so that trials do not change what rows count.
    """
    codes = trial.codes.astype(np.int64)
    if annotator is not None:
        codes = codes * len(annotator.values) + annotator.codes
    _, groups = np.unique(codes, return_inverse=True)
    n_groups = int(groups.max()) + 1
    if int(np.count_nonzero(np.diff(groups))) + 1 > n_groups:
        notes.append(
            f"{source}: rows of the same trial are not next to each other; each trial counts as one act of judgment. "
            "If trials are only numbered within a person or a block, name that column as annotator or leave the "
            f"trials out: {without('trial')}"
        )
    elif annotator is None and n_groups < len(groups) and not weighted:
        notes.append(
            f"{source}: the rows of a trial count as one answer: {len(groups)} rows are {n_groups} trials. If each row "
            f"is an answer of its own, say {without('trial')}"
        )
    n_ids = len(np.unique(trial.codes))
    return groups, spread(trial.values, trial.codes) if n_ids == n_groups else groups.astype(np.int64)


def shared_weights(groups: NDArray[np.intp]) -> NDArray[np.float64] | None:
    """Return weights, (m,), that give every group a total of 1; None if every group has one member."""
    sizes = np.bincount(groups)
    if sizes.max(initial=1) <= 1:
        return None
    return np.asarray(1.0 / sizes[groups])

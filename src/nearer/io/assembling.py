"""Comparisons and what comes with them, put together as answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer.data.comparisons import Comparisons
from nearer.data.labels import refuse_all_zero
from nearer.io.answers import Answers, BadRow, TrialNumbers
from nearer.io.faults import with_column, without
from nearer.io.numbers import as_seconds, in_proportion, read_numbers
from nearer.io.objects import spread
from nearer.io.presets import Reading
from nearer.io.questions import Asked, Question
from nearer.io.table import Column
from nearer.io.trial_numbers import Judged, group_trials, shared_weights


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
    trial_numbers: TrialNumbers | None


def _counted(
    question: Question,
    extras: dict[str, NDArray[np.float64]],
    rows: NDArray[np.intp],
    judged: Judged,
    weight_by_confidence: bool,
) -> _Counted:
    """Return what answers count; ``rows`` are those of the table, one for every answer."""
    answer_of = judged.answer_of
    annotator = _labels_of(question, "annotator", rows)
    trial = _labels_of(question, "trial", rows)
    trials: NDArray[Any] | None = None
    weights: NDArray[np.float64] | None = None
    wrong: TrialNumbers | None = None
    if trial is not None:
        name, weighted = question.name("trial"), "weight" in extras
        groups, labels, wrong = group_trials(judged, trial, annotator, name, weighted, question.source, question.notes)
        if wrong is None or wrong.n_trials < wrong.n_answers:
            trials, weights = labels[answer_of], shared_weights(groups[answer_of])
    if trials is None and len(rows) < len(answer_of):
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
    who = None if annotator is None else spread(annotator.values, annotator.codes)
    return _Counted(who, trials, weights, wrong)


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
    judged = Judged(asked.kind, asked.near_first, answer_of, lines[rows], asked.objects.labels)
    counted = _counted(question, extras, rows, judged, weight_by_confidence)
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
        trial_numbers=counted.trial_numbers,
    )


def _places(places: NDArray[Any] | None, rows: NDArray[np.intp]) -> NDArray[np.int64] | None:
    if places is None or (places[rows] < 0).all():
        return None
    return np.asarray(np.nan_to_num(places[rows], nan=-1).astype(np.int64))

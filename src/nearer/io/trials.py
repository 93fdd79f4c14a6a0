"""Comparisons and what comes with them, put together as answers; and which rows are one trial.

Rows of one trial are about one question: about one set of objects, and no comparison is asked for twice. Triplets that
one grid or ranking was taken apart into share the anchor, and their options are linked by comparisons; those of an odd
one (a central one) of k > 3 share the far (the near) object, and are at least (k - 1)(k - 2) / 2; quadruplets of a
closest (most distant) pair share the near (the far) pair. Where more than a few numbers of trials bring unrelated
questions together, as they begin again with every block, the column does not number trials: rows next to each other
with the same number are a trial if they are about one question, and else each row is one.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nearer._common.findings import Finding, Source
from nearer.data.comparisons import Comparisons
from nearer.data.groups import number_by_appearance, pair_codes, sorted_unique
from nearer.data.labels import refuse_all_zero
from nearer.io.answers import Answers, Kind, ReadingReport, TrialExample, TrialNumbers
from nearer.io.labels import take_labels
from nearer.io.messages import note, with_column
from nearer.io.presets import TableHints
from nearer.io.questions import Question, TableComparisons
from nearer.io.selecting import connected_parts, rows_differ
from nearer.io.table import Column, RowSources, as_seconds, check_proportions, read_numbers

Extras: TypeAlias = dict[str, NDArray[np.float64]]
IntArray: TypeAlias = NDArray[np.intp]


def read_extras(
    question: Question, hints: TableHints, by_confidence: bool, own: bool
) -> tuple[Extras, tuple[Finding, ...]]:
    """Return the numbers that come with answers, one for every row of the table, and findings about them."""
    extras: Extras = {}
    findings: list[Finding] = []
    errors, source = question.errors, question.source
    what = {"seconds": "response time", "confidence": "confidence", "weight": "weight", "place": "place"}
    for role, words in what.items():
        if role not in question.found.roles:
            continue
        must = role == "weight" or (role == "confidence" and by_confidence)
        column, name = question.column(role), question.name(role)
        numbers, found = read_numbers(column, words, errors, source, must)
        findings += found
        if numbers is None:
            continue
        if role == "seconds":
            numbers = as_seconds(numbers, name, "s" if own else "ms" if name in hints.milliseconds else None)
        if must:
            numbers, found = check_proportions(numbers, column, words, errors, source)
            findings += found
        extras[role] = numbers
    if by_confidence and "confidence" not in extras:
        way = with_column("confidence")
        raise ValueError(f"{source} has no column of confidences to weight by; name it with {way}")
    for role in ("annotator", "trial"):
        if (labels := _labels_of(question, role)) is not None:
            errors.add(~labels.filled, "missing-label", what=role)
    return extras, tuple(findings)


def _labels_of(question: Question, role: str) -> Column | None:
    column = question.column(role) if role in question.found.roles else None
    return column if column is not None and column.filled.any() else None


def assemble(
    question: Question,
    asked: TableComparisons,
    extras: Extras,
    sources: RowSources,
    report: ReadingReport,
    weight_by_confidence: bool,
) -> Answers:
    """Return the answers, with the weights, trials and people of their comparisons."""
    new_answer = np.r_[True, asked.row_of[1:] != asked.row_of[:-1]]
    first, answer_of = np.flatnonzero(new_answer), np.cumsum(new_answer) - 1
    rows = asked.row_of[first]  # of the table, one for every answer
    annotator, trial = (_labels_of(question, role) for role in ("annotator", "trial"))
    undecided = Counter[str]()
    if annotator is not None:
        undecided.update(str(annotator.value(row)) for row in asked.undecided.tolist())
    annotator, trial = (None if column is None else column[rows] for column in (annotator, trial))
    trials: NDArray[Any] | None = None
    weights: NDArray[np.float64] | None = None
    wrong: TrialNumbers | None = None
    findings: tuple[Finding, ...] = ()
    if trial is not None:
        candidates = TrialCandidates(asked.kind, asked.near_first, answer_of, sources[rows], asked.objects.labels)
        groups, labels, wrong, findings = group_trials(
            candidates, trial, annotator, question.name("trial"), "weight" in extras
        )
        if wrong is None or wrong.n_trials < wrong.n_answers:
            trials, weights = labels[answer_of], shared_weights(groups[answer_of])
    if trials is None and len(rows) < len(answer_of):
        trials, weights = answer_of.astype(np.int64), shared_weights(answer_of)
    if "weight" in extras:
        share = shared_weights(answer_of)
        weights = extras["weight"][rows][answer_of]
        weights = weights if share is None else weights * share
    if weight_by_confidence:
        confidence = extras["confidence"][rows][answer_of]
        weights = (1.0 if weights is None else weights) * (confidence / (confidence.max() or 1.0))
    who = None if annotator is None else take_labels(annotator)
    who = who[answer_of] if who is not None and len(rows) < len(answer_of) else who
    answers = make_answers(asked, answer_of, first, sources, extras, annotators=who, trials=trials, weights=weights)
    report = replace(report, findings=(*report.findings, *findings), trial_numbers=wrong)
    report = replace(report, n_undecided=len(asked.undecided), undecided=dict(undecided))
    places = extras.get("place", asked.places)
    if places is not None and not (places[rows] < 0).all():
        answers = replace(answers, places=as_places(places[rows]))
    return replace(answers, report=report)


def make_answers(
    asked: TableComparisons, answer_of: IntArray, first: IntArray, sources: RowSources, extras: Extras, **known: Any
) -> Answers:
    """Return answers, by what is ``known`` of comparisons, and of rows; ``first`` has the first comparison of each."""
    rows, annotators = asked.row_of[first], known["annotators"]
    if known["weights"] is not None:
        refuse_all_zero(known["weights"])
    compared, objects = asked.rows_and_labels()
    return Answers(
        comparisons=Comparisons(rows=compared, answers=asked.signs, objects=objects, **known),
        answer_of=answer_of,
        kind=asked.kind,
        source=sources.whole,
        lines=sources.lines[rows],
        annotators=annotators if annotators is None or len(first) == len(answer_of) else annotators[first],
        seconds=extras["seconds"][rows] if "seconds" in extras else None,
        confidences=extras["confidence"][rows] if "confidence" in extras else None,
        files=sources[rows].names,
    )


def as_places(numbers: NDArray[Any]) -> NDArray[np.int64]:
    """Return places, -1 where there is none."""
    return np.nan_to_num(numbers, nan=-1).astype(np.int64)


MAX_MIXED_SHARE = 0.05  # share of trial numbers that may stand for several questions by mistake
MAX_EXAMPLES = 3
MAX_EXAMPLE_ROWS = 3  # of an example


@dataclass(frozen=True)
class TrialCandidates:
    """Answers whose trials are looked for."""

    kind: Kind
    rows: NDArray[Any]  # (m, 3) or (m, 4) Comparisons with near before far
    answer_of: IntArray  # (m,)
    sources: RowSources  # of the a answers
    labels: list[Any]  # of all objects


def group_trials(
    candidates: TrialCandidates, trial: Column, annotator: Column | None, name: str, weighted: bool
) -> tuple[IntArray, NDArray[Any], TrialNumbers | None, tuple[Finding, ...]]:
    """Return the number and the label of the trial of every answer, (a,), what is wrong with the column, and findings.

    Two annotators with the same trial id are two trials, which then have numbers for labels. ``name`` is the column's;
    ``weighted`` says whether the table has weights of its own, so that trials do not change what rows count.
    """
    source = candidates.sources.whole
    codes = trial.codes.astype(np.int64)
    if annotator is not None:
        codes = codes * len(annotator.values) + annotator.codes
    _, groups = np.unique(codes, return_inverse=True)
    runs = np.cumsum(np.r_[False, groups[1:] != groups[:-1]])
    n_groups = int(groups.max()) + 1
    several = np.bincount(groups) > 1
    mixed = several & ~_one_question(candidates, groups, np.arange(len(groups)) if annotator is None else runs)
    if mixed.any():
        taken_apart = mixed if mixed.sum() <= MAX_MIXED_SHARE * several.sum() else np.ones(n_groups, bool)
        split = _split_mixed(candidates, groups, runs, taken_apart)
        return split, split, _trial_numbers(candidates, name, groups, split, mixed), ()
    findings: tuple[Finding, ...] = ()
    if int(runs[-1]) + 1 > n_groups:
        findings = (note("scattered-trials", source),)
    elif annotator is None and n_groups < len(groups) and not weighted:
        findings = (note("grouped-rows", source, n_rows=len(groups), n_trials=n_groups),)
    n_ids = len(np.unique(trial.codes))
    labels = take_labels(trial) if n_ids == n_groups else groups.astype(np.int64)
    return groups, labels, None, findings


def shared_weights(groups: IntArray) -> NDArray[np.float64] | None:
    """Return weights, (m,), that give every group a total of 1; None if every group has one member."""
    sizes = np.bincount(groups)
    return 1.0 / sizes[groups] if sizes.max(initial=1) > 1 else None


def _split_mixed(candidates: TrialCandidates, groups: IntArray, runs: IntArray, mixed: NDArray[np.bool_]) -> IntArray:
    """Return trials, (a,), in which mixed groups are cut into runs of rows about one question, or into rows."""
    apart = mixed[groups]
    whole = _one_question(candidates, runs, np.arange(len(groups)))[runs]
    alone = apart & ~whole
    keys = np.where(apart, runs, groups) + np.where(apart, groups.max() + 1, 0)
    keys = np.where(alone, keys.max() + 1 + np.arange(len(groups)), keys)
    return number_by_appearance(keys)


def _one_question(candidates: TrialCandidates, groups: IntArray, units: IntArray) -> NDArray[np.bool_]:
    """Return for each group of answers, (g,), whether it is about one question.

    ``units``, (a,), are what may ask for the same comparison again and still be one question with itself: an answer, or
    rows next to each other that a person may have sent twice.
    """
    n_groups = int(groups.max()) + 1
    rows_in_group = np.bincount(groups, minlength=n_groups)
    kept = (rows_in_group > 1)[groups[candidates.answer_of]]
    if not kept.any():
        return np.ones(n_groups, bool)
    rows, answer_of = candidates.rows[kept].astype(np.int64), candidates.answer_of[kept]
    of = groups[answer_of]
    sizes = _n_objects(rows, of, n_groups)
    of_answer = _n_objects(rows, answer_of, len(groups))
    one: NDArray[np.bool_] = np.bincount(of, sizes[of] != of_answer[answer_of], minlength=n_groups) == 0
    if candidates.kind in ("grid", "ranking", "ranked-grid"):
        one &= _all_equal(rows[:, 0], of, n_groups)
    elif candidates.kind in ("triplet", "quadruplet"):
        one |= _may_be_one_choice(rows, of, sizes)
    asked = _answer_numbers(rows, answer_of) if candidates.kind == "grid" else _question_numbers(rows)
    return one & ~_is_repeated(asked, of, units[answer_of], n_groups)


def _may_be_one_choice(rows: NDArray[np.int64], of: IntArray, sizes: IntArray) -> NDArray[np.bool_]:
    """Return whether the comparisons of each group may be those of one grid, ranking or choice of items or pairs."""
    n_groups = len(sizes)
    n = int(rows.max()) + 1
    if rows.shape[1] == 4:
        near, far = (pair_codes(rows[:, i], rows[:, j], n) for i, j in ((0, 1), (2, 3)))
        return _all_equal(near, of, n_groups) | _all_equal(far, of, n_groups)
    n_rows = np.bincount(of, minlength=n_groups)
    named = _all_equal(rows[:, 1], of, n_groups) | _all_equal(rows[:, 2], of, n_groups)
    one_of_items = named & (2 * n_rows >= (sizes - 1) * (sizes - 2))
    return one_of_items | (_all_equal(rows[:, 0], of, n_groups) & _are_linked(rows[:, 1:], of, n_groups))


def _all_equal(values: NDArray[np.signedinteger[Any]], of: IntArray, n_groups: int) -> NDArray[np.bool_]:
    return ~rows_differ(values[:, None], of, n_groups)


def _n_objects(rows: NDArray[np.int64], of: IntArray, n_groups: int) -> IntArray:
    n = int(rows.max()) + 1
    named = sorted_unique((of[:, None] * n + rows).ravel())
    return np.bincount(named // n, minlength=n_groups)


def _are_linked(options: NDArray[np.int64], of: IntArray, n_groups: int) -> NDArray[np.bool_]:
    """Return whether the options of each group, (m, 2), are linked by its comparisons."""
    n = int(options.max()) + 1
    nodes, ends = np.unique((of[:, None] * n + options).ravel(), return_inverse=True)
    part = connected_parts(ends[::2], ends[1::2], len(nodes))
    return _all_equal(part, nodes // n, n_groups)


def _question_numbers(rows: NDArray[np.int64]) -> IntArray:
    """Return the number of what each comparison asks, whichever way it was answered."""
    n = int(rows.max()) + 1
    ends = ((0, 1), (0, 2)) if rows.shape[1] == 3 else ((0, 1), (2, 3))
    pairs = np.column_stack([pair_codes(rows[:, i], rows[:, j], n) for i, j in ends])
    return np.unique(np.sort(pairs, axis=1), axis=0, return_inverse=True)[1].reshape(-1)


def _answer_numbers(rows: NDArray[np.int64], answer_of: IntArray) -> NDArray[np.uint64]:
    """Return for each comparison a number of what its whole answer says: clicks on one grid differ."""
    _, distinct_row = np.unique(rows, axis=0, return_inverse=True)
    numbers = np.random.default_rng(0).integers(2**63, size=len(rows), dtype=np.uint64)[distinct_row.reshape(-1)]
    sums = np.zeros(int(answer_of.max()) + 1, np.uint64)
    np.add.at(sums, answer_of, numbers)
    return sums[answer_of]


def _is_repeated(asked: NDArray[Any], of: IntArray, units: IntArray, n_groups: int) -> NDArray[np.bool_]:
    """Return whether two units of a group ask for the same."""
    order = np.lexsort((units, asked, of))
    of, asked, units = of[order], asked[order], units[order]
    again = (of[1:] == of[:-1]) & (asked[1:] == asked[:-1]) & (units[1:] != units[:-1])
    return np.bincount(of[1:][again], minlength=n_groups) > 0


def _trial_numbers(
    candidates: TrialCandidates, name: str, groups: IntArray, split: IntArray, mixed: NDArray[np.bool_]
) -> TrialNumbers:
    """Return what the column held and what was made of it, with the first rows of the same number."""

    def row(answer: int) -> tuple[Source, tuple[str, ...]]:
        objects = np.unique(candidates.rows[candidates.answer_of == answer]).tolist()
        return candidates.sources.at(answer), tuple(str(candidates.labels[each]) for each in objects)

    _, first = np.unique(groups, return_index=True)
    examples: list[TrialExample] = []
    for group in sorted(np.flatnonzero(mixed).tolist(), key=lambda each: int(first[each])):
        at = np.flatnonzero(groups == group)
        apart = at[np.sort(np.unique(split[at], return_index=True)[1])]
        if len(apart) > 1:
            examples.append(TrialExample(tuple(map(row, apart[:MAX_EXAMPLE_ROWS].tolist())), len(apart)))
        if len(examples) == MAX_EXAMPLES:
            break
    return TrialNumbers(name, len(groups), len(mixed), int(mixed.sum()), int(split.max()) + 1, tuple(examples))

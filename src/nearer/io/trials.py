"""Comparisons and what comes with them, put together as answers; and which rows are one trial.

Rows of one trial are about one question. So they are about one set of objects, and no comparison is asked for twice:

- the two rows of an odd or a central one of three, and the clicks on one grid (which differ), name the same objects,
  and those of a grid or a ranking the same anchor;
- triplets that one grid or ranking was taken apart into share the anchor, and their options are linked by comparisons;
- those of an odd one (a central one) of k > 3 share the far (the near) object, and are at least (k - 1)(k - 2) / 2;
- quadruplets of a closest (most distant) pair share the near (the far) pair.

Numbers that begin again with every block, task or person bring unrelated questions together. Where more than a few of
the numbers do, the column does not number trials. Rows next to each other with the same number are then taken for a
trial if they are about one question, and else each row is a trial of its own. Without a column of people, rows that ask
for the same comparison are of two people.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nearer._common.findings import Finding
from nearer.data.comparisons import Comparisons
from nearer.data.groups import number_by_appearance, pair_codes, sorted_unique
from nearer.data.labels import refuse_all_zero
from nearer.io.answers import Answers, Kind, ReadingReport, TrialExample, TrialNumbers, TrialRow
from nearer.io.labels import take_labels
from nearer.io.messages import note, with_column
from nearer.io.presets import TableHints
from nearer.io.questions import Question, TableComparisons
from nearer.io.table import Column, RowSources, as_seconds, check_proportions, read_numbers

Extras: TypeAlias = dict[str, NDArray[np.float64]]


def read_extras(
    question: Question, hints: TableHints, by_confidence: bool, own: bool
) -> tuple[Extras, tuple[Finding, ...]]:
    """Return the numbers that come with answers, one for every row of the table, and findings about them."""
    extras: Extras = {}
    findings: list[Finding] = []
    what = {"seconds": "response time", "confidence": "confidence", "weight": "weight", "place": "place"}
    for role, words in what.items():
        if role not in question.found.roles:
            continue
        must = role == "weight" or (role == "confidence" and by_confidence)
        numbers, found = read_numbers(question.column(role), words, question.errors, question.source, must)
        findings += found
        if numbers is None:
            continue
        if role == "seconds":
            unit: Any = "s" if own else ("ms" if question.name(role) in hints.milliseconds else None)
            numbers = as_seconds(numbers, question.name(role), unit)
        if must:
            column = question.column(role)
            numbers, found = check_proportions(numbers, column, words, question.errors, question.source)
            findings += found
        extras[role] = numbers
    if by_confidence and "confidence" not in extras:
        raise ValueError(
            f"{question.source} has no column of confidences to weight by; name it with {with_column('confidence')}"
        )
    for role in ("annotator", "trial"):
        if role in question.found.roles:
            codes = question.column(role).codes
            if (codes >= 0).any():
                question.errors.add(codes < 0, "missing-label", what=role)
    return extras, tuple(findings)


def _labels_of(question: Question, role: str, rows: NDArray[np.intp]) -> Column | None:
    if role not in question.found.roles:
        return None
    column = question.column(role)
    if not (column.codes >= 0).any():
        return None
    return Column(column.codes[rows], column.values)


@dataclass(frozen=True)
class _Weighting:
    """Who gave the answers, (a,), and the trials and weights, (m,), of their comparisons."""

    annotators: NDArray[Any] | None
    trials: NDArray[Any] | None
    weights: NDArray[np.float64] | None
    trial_numbers: TrialNumbers | None
    findings: tuple[Finding, ...]


def _weighting(
    question: Question,
    extras: Extras,
    rows: NDArray[np.intp],
    candidates: TrialCandidates,
    weight_by_confidence: bool,
) -> _Weighting:
    """Return what answers count; ``rows`` are those of the table, one for every answer."""
    answer_of = candidates.answer_of
    annotator = _labels_of(question, "annotator", rows)
    trial = _labels_of(question, "trial", rows)
    trials: NDArray[Any] | None = None
    weights: NDArray[np.float64] | None = None
    wrong: TrialNumbers | None = None
    findings: tuple[Finding, ...] = ()
    if trial is not None:
        found = group_trials(candidates, trial, annotator, question.name("trial"), "weight" in extras)
        wrong, findings = found.wrong, found.findings
        if wrong is None or wrong.n_trials < wrong.n_answers:
            trials, weights = found.labels[answer_of], shared_weights(found.groups[answer_of])
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
    who = None if annotator is None else take_labels(annotator.values, annotator.codes)
    return _Weighting(who, trials, weights, wrong, findings)


def assemble(
    question: Question,
    asked: TableComparisons,
    extras: Extras,
    sources: RowSources,
    report: ReadingReport,
    weight_by_confidence: bool,
) -> Answers:
    """Return the answers, with the weights, trials and people of their comparisons."""
    expansion = asked.expansion
    new_answer = np.r_[True, expansion.row_of[1:] != expansion.row_of[:-1]]
    rows = expansion.row_of[new_answer]  # of the table, one for every answer
    answer_of = np.cumsum(new_answer) - 1
    candidates = TrialCandidates(asked.kind, asked.near_first, answer_of, sources[rows], asked.objects.labels)
    counted = _weighting(question, extras, rows, candidates, weight_by_confidence)
    annotators = counted.annotators
    rows_of_objects, objects = asked.rows_and_labels()
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
        lines=sources.lines[rows],
        annotators=annotators,
        seconds=extras["seconds"][rows] if "seconds" in extras else None,
        confidences=extras["confidence"][rows] if "confidence" in extras else None,
        places=_places(extras.get("place", expansion.places), rows),
        files=sources[rows].names,
        report=replace(
            report,
            findings=(*report.findings, *counted.findings),
            n_undecided=int(expansion.undecided.sum()),
            trial_numbers=counted.trial_numbers,
        ),
    )


def _places(places: NDArray[Any] | None, rows: NDArray[np.intp]) -> NDArray[np.int64] | None:
    if places is None or (places[rows] < 0).all():
        return None
    return np.asarray(np.nan_to_num(places[rows], nan=-1).astype(np.int64))


MAX_MIXED_SHARE = 0.05  # share of trial numbers that may stand for several questions by mistake
MAX_EXAMPLES = 3
MAX_EXAMPLE_ROWS = 3  # of an example

IntArray = NDArray[np.intp]


@dataclass(frozen=True)
class TrialCandidates:
    """Answers whose trials are looked for."""

    kind: Kind
    rows: NDArray[Any]  # (m, 3) or (m, 4) Comparisons with near before far
    answer_of: IntArray  # (m,)
    sources: RowSources  # of the a answers
    labels: list[Any]  # of all objects

    def row(self, answer: int) -> TrialRow:
        """Return where an answer stands, and its objects."""
        objects = np.unique(self.rows[self.answer_of == answer]).tolist()
        return TrialRow(self.sources.at(answer), tuple(str(self.labels[each]) for each in objects))


class Trials(NamedTuple):
    """The number of the trial, (a,), and its label, (a,), of every answer; and what is wrong with the column, if so."""

    groups: IntArray
    labels: NDArray[Any]
    wrong: TrialNumbers | None = None
    findings: tuple[Finding, ...] = ()


def group_trials(
    candidates: TrialCandidates, trial: Column, annotator: Column | None, name: str, weighted: bool
) -> Trials:
    """Return the trials of answers that all have one.

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
        return Trials(split, split, _trial_numbers(candidates, name, groups, split, mixed))
    findings: tuple[Finding, ...] = ()
    if int(runs[-1]) + 1 > n_groups:
        findings = (note("scattered-trials", source),)
    elif annotator is None and n_groups < len(groups) and not weighted:
        findings = (note("grouped-rows", source, n_rows=len(groups), n_trials=n_groups),)
    n_ids = len(np.unique(trial.codes))
    labels = take_labels(trial.values, trial.codes) if n_ids == n_groups else groups.astype(np.int64)
    return Trials(groups, labels, None, findings)


def shared_weights(groups: IntArray) -> NDArray[np.float64] | None:
    """Return weights, (m,), that give every group a total of 1; None if every group has one member."""
    sizes = np.bincount(groups)
    if sizes.max(initial=1) <= 1:
        return None
    return np.asarray(1.0 / sizes[groups])


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


def _all_equal(values: NDArray[np.int64], of: IntArray, n_groups: int) -> NDArray[np.bool_]:
    """Return whether all values of each group are the same."""
    first = np.zeros(n_groups, np.int64)
    first[of[::-1]] = values[::-1]
    all_equal: NDArray[np.bool_] = np.bincount(of, values != first[of], minlength=n_groups) == 0
    return all_equal


def _n_objects(rows: NDArray[np.int64], of: IntArray, n_groups: int) -> IntArray:
    """Return how many objects the comparisons of each group name."""
    n = int(rows.max()) + 1
    named = sorted_unique((of[:, None] * n + rows).ravel())
    return np.bincount(named // n, minlength=n_groups)


def _are_linked(options: NDArray[np.int64], of: IntArray, n_groups: int) -> NDArray[np.bool_]:
    """Return whether the options of each group, (m, 2), are linked by its comparisons."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = int(options.max()) + 1
    nodes, ends = np.unique((of[:, None] * n + options).ravel(), return_inverse=True)
    first, second = ends.reshape(-1, 2).T
    graph = coo_array((np.ones(len(first), bool), (first, second)), shape=(len(nodes), len(nodes)))
    part = connected_components(graph.tocsr(), directed=False)[1]
    return _all_equal(part.astype(np.int64), (nodes // n).astype(np.intp), n_groups)


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
    _, first = np.unique(groups, return_index=True)
    examples: list[TrialExample] = []
    for group in sorted(np.flatnonzero(mixed).tolist(), key=lambda each: int(first[each])):
        at = np.flatnonzero(groups == group)
        apart = at[np.sort(np.unique(split[at], return_index=True)[1])]
        if len(apart) > 1:
            examples.append(TrialExample(tuple(map(candidates.row, apart[:MAX_EXAMPLE_ROWS].tolist())), len(apart)))
        if len(examples) == MAX_EXAMPLES:
            break
    return TrialNumbers(name, len(groups), len(mixed), int(mixed.sum()), int(split.max()) + 1, tuple(examples))

"""Comparison of groups of people, or of conditions: a map of each, whether they differ, and in which objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer._common.formatting import pluralize, quote, quote_all
from nearer._common.parameters import check_integer, check_level
from nearer._common.randomness import RandomState, stream
from nearer.comparing.group_models import FittedMap, Responses, cross_predict, fit_common, fit_groups
from nearer.comparing.group_results import GroupComparison, PairOfGroups, PermutationTest
from nearer.comparing.group_tests import (
    LOOSE_DEPARTURE,
    Blocks,
    BlockScores,
    displacements,
    efficient_scores,
    permutation_test,
    untested_displacements,
)
from nearer.comparing.results import comparisons_of, holm
from nearer.data.comparisons import Comparisons
from nearer.data.groups import group_indices, restrict_to_seen, seen_objects, with_positive_weight
from nearer.data.labels import factorize, is_missing
from nearer.geometry import align, to_principal_axes
from nearer.io.answers import Answers

N_PERMUTATIONS = 4999
_FIRST_LAPSE = 0.05
_CANDIDATE_DIMENSIONS = (1, 2, 3, 4)  # dimensions
_MAX_GROUPS = 20
_NEARLY_ALL = 0.9  # of a person's comparisons


def compare_groups(
    answers: Any,
    groups: Any,
    *,
    n_components: int | None = None,
    n_permutations: int = N_PERMUTATIONS,
    level: float = 0.95,
    random_state: RandomState = None,
) -> GroupComparison:
    """Compare groups of people, or conditions: one map for each, and a permutation test over people.

    Parameters
    ----------
    answers : Answers, or Comparisons with annotators
    groups : str, dict or array-like
        The name of a column that was read with ``also=``; a group for each person; or one for each comparison (or
        answer). None, NaN and "" are left out.
    n_components : int, optional
        Dimensions of the maps; chosen by the answers of all groups if left out.
    n_permutations : int, default 4999
    level : float, default 0.95
        Of the intervals.
    random_state : None, int, SeedSequence, Generator or RandomState
        For permutations, folds and resamples.

    Notes
    -----
    Read the gains in held-out error first: with many people a test finds differences that do not matter. The p-value is
    valid if labels of people (or, where people are in several groups, of a person's own answers) are exchangeable; see
    the page on groups for groups that differ in noise and in size.

    Examples
    --------
    >>> from nearer.datasets import make_gaussian, sample_triplets
    >>> points = make_gaussian(9, 2, random_state=0)
    >>> elsewhere = points * np.array([-1.0] + 8 * [1.0])[:, None]  # the first object is on the other side
    >>> rows = [sample_triplets(each, 240, flipped=0.1, random_state=0).oriented for each in (points, elsewhere)]
    >>> people, groups = np.repeat(np.arange(16), 30), np.repeat(["old", "young"], 240)
    >>> judgments = Comparisons.from_triplets(np.concatenate(rows)[:, [0, 1, 3]], annotators=people)
    >>> found = compare_groups(judgments, groups, n_components=2, random_state=0)
    >>> found.groups, found.maps.shape, found.p_value < 0.05
    (('old', 'young'), (2, 9, 2), True)
    """
    check_level(level)
    check_integer("n_permutations", n_permutations, 19)
    kept = assign_groups(answers, groups)
    comparisons, _ = restrict_to_seen(with_positive_weight(kept.comparisons))
    kept = replace(kept, comparisons=comparisons, groups=kept.groups[kept.comparisons.sample_weight > 0])
    if len(np.unique(kept.groups)) < len(kept.names):
        raise ValueError("a group has no answers of positive weight; leave it out")
    if n_components is None:
        from nearer.embedding import STE
        from nearer.evaluation.dimension import choose_dimension

        candidates = [p for p in _CANDIDATE_DIMENSIONS if p < comparisons.n_objects]
        n_components = choose_dimension(STE(), comparisons, candidates, random_state=random_state).shown
    check_integer("n_components", n_components, 1, comparisons.n_objects - 1)
    rng = stream(random_state, "split")
    responses, common = Responses.of(comparisons), common_map(comparisons, n_components)
    has_people = comparisons.annotators is not None
    unit = "people" if has_people else "trials"  # which are independent
    units = group_indices(comparisons) if comparisons.annotators is None else factorize(comparisons.annotators)[1]
    blocks = Blocks.of(units, kept.groups, len(kept.names))
    if has_people and len(blocks.groups) == blocks.n_groups:
        raise ValueError(
            "every group is a single person, so that groups and people cannot be distinguished; "
            "name a column that several people share"
        )
    prediction, departure = cross_predict(responses, common, kept.groups, units, unit, level, rng)
    fitted = fit_groups(responses, common, kept.groups, [common] * len(kept.names), departure)
    scores = efficient_scores(responses, common, blocks) if has_people else None
    test = None if scores is None else permutation_test(scores, blocks, n_permutations, rng)
    pairs, notes = _pairs(kept, common, blocks, (scores, test), n_permutations, level, rng)
    return GroupComparison(
        kept.names,
        comparisons.objects,
        tuple(np.bincount(blocks.groups, minlength=len(kept.names)).tolist()) if has_people else None,
        tuple(np.bincount(kept.groups, minlength=len(kept.names)).tolist()),
        common.points,
        align(np.stack([each.points for each in fitted]), common.points),
        departure,
        tuple(float(np.mean(each.lapse)) for each in fitted),
        test,
        has_people and blocks.within,
        pairs,
        prediction,
        (*kept.notes, *notes),
    )


def common_map(comparisons: Comparisons, n_components: int) -> FittedMap:
    """Return the map of all answers with lapses, started at that of STE, along its principal axes."""
    from nearer.embedding import STE

    start = STE(n_components).fit(comparisons).embedding_
    fitted = fit_common(Responses.of(comparisons), FittedMap(start - start.mean(axis=0), _FIRST_LAPSE))
    return FittedMap(to_principal_axes(fitted.points, np.ones(len(start), dtype=bool)), fitted.lapse)


def _pairs(
    kept: GroupedComparisons,
    common: FittedMap,
    blocks: Blocks,
    of_all: tuple[BlockScores | None, PermutationTest | None],
    n_permutations: int,
    level: float,
    rng: np.random.Generator,
) -> tuple[tuple[PairOfGroups, ...], list[str]]:
    """Return the result for each pair of groups, and notes on objects that a group was never asked about."""
    responses, n_groups = Responses.of(kept.comparisons), len(kept.names)
    loose = fit_groups(responses, common, kept.groups, [common] * n_groups, LOOSE_DEPARTURE)
    maps = [align(each.points, common.points) for each in loose]
    spread = float(np.sqrt(np.square(common.points).sum(axis=1).mean()))
    seen = np.array([seen_objects(kept.comparisons[kept.groups == g]) for g in range(n_groups)])
    pairs = []
    for first, second in combinations(range(n_groups), 2):
        known, apart = seen[first] & seen[second], maps[second] - maps[first]
        names = kept.names[first], kept.names[second]
        (scores, test), of_pair = of_all, blocks
        if scores is None or test is None:
            pairs.append(PairOfGroups(*names, None, None, None, untested_displacements(apart, spread, known)))
            continue
        if n_groups > 2:
            chosen = np.isin(kept.groups, (first, second))
            units = blocks.people[blocks.of_rows[chosen]]
            of_pair = Blocks.of(units, (kept.groups[chosen] == second).astype(np.intp), 2)
            scores = efficient_scores(responses.subset(chosen), common, of_pair)
            test = permutation_test(scores, of_pair, n_permutations, rng)
        moves = displacements(scores, of_pair, test, apart, spread, level, known)
        of_objects = np.where(known, test.object_p_values, 1.0)
        pairs.append(PairOfGroups(*names, test.p_value, None, of_objects, moves))
    corrected = iter(holm([pair.p_value for pair in pairs if pair.p_value is not None]))
    pairs = [pair if pair.p_value is None else replace(pair, p_holm=next(corrected)) for pair in pairs]
    notes = [
        f"nobody in {quote(group)} was asked about {quote_all(kept.comparisons.objects[~known].tolist())}"
        for group, known in zip(kept.names, seen, strict=True)
        if not known.all()
    ]
    return tuple(pairs), notes


@dataclass(frozen=True, eq=False)
class GroupedComparisons:
    """Comparisons with the group of each, (m,), the names of groups, and notes on what was left out."""

    comparisons: Comparisons
    groups: NDArray[np.intp]
    names: tuple[str, ...]
    notes: tuple[str, ...]


def assign_groups(answers: Any, groups: Any) -> GroupedComparisons:
    """Return the comparisons that have a group; see `compare_groups` for what is taken."""
    comparisons = comparisons_of(answers)
    labels = _group_labels(answers, comparisons, groups)
    known = np.array([text != "" for text in labels])
    notes: tuple[str, ...] = ()
    if not known.any():
        raise ValueError("no answer has a group; check the column of groups")
    if not known.all():
        notes = (_exclusion_note(comparisons, known),)
        comparisons, labels = comparisons[known], labels[known]
    names, numbers = factorize(labels)
    if len(names) < 2:
        raise ValueError(f"all answers are of one group, {quote(names[0])}; there is nothing to compare")
    if len(names) > _MAX_GROUPS:
        raise ValueError(
            f"there are {len(names)} groups, such as {quote_all(names.tolist(), 3)}; a column of groups has at most "
            f"{_MAX_GROUPS} values. Name another column, or merge values first"
        )
    notes += (*_spelling_notes([str(each) for each in names]), *_mixed_people_notes(comparisons, numbers, names))
    variable = f"{groups}: " if isinstance(groups, str) else ""
    return GroupedComparisons(comparisons, numbers, tuple(f"{variable}{each}" for each in names), notes)


def _spelling_notes(names: list[str]) -> list[str]:
    """Return a note on groups whose names differ in capitals and spaces alone."""
    spelled: dict[str, list[str]] = {}
    for each in names:
        spelled.setdefault("".join(each.lower().split()), []).append(each)
    return [
        f"are {' and '.join(map(quote, same))} one group? Spell them alike" for same in spelled.values() if same[1:]
    ]


def _mixed_people_notes(comparisons: Comparisons, groups: NDArray[np.intp], names: Any) -> list[str]:
    """Return a note on people of one group with a few answers of another, most often a slip in the file."""
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
        f"another, such as {quote(people[slips[0]])}: {such}. If each person is of one group, correct the "
        "column: as it is, labels are permuted within people, who are compared with themselves"
    ]


def _group_labels(answers: Any, comparisons: Comparisons, groups: Any) -> NDArray[np.str_]:
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
            raise ValueError(
                "groups are given by person, but the comparisons do not say who answered; give one for each comparison"
            )
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
    return np.array(
        ["" if none else str(value).strip() for value, none in zip(values, is_missing(labels), strict=True)]
    )


def _exclusion_note(comparisons: Comparisons, known: NDArray[np.bool_]) -> str:
    count = int((~known).sum())
    verb = "was" if count == 1 else "were"
    note = f"{pluralize(count, 'comparison')} without a group {verb} left out"
    if comparisons.annotators is not None:
        people = np.setdiff1d(comparisons.annotators[~known], comparisons.annotators[known])
        if len(people):
            note += f", among them all comparisons of {quote_all(people.tolist(), 3)}"
    return note

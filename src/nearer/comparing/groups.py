"""Comparison of groups of people, or of conditions: a map of each, whether they differ, and in which objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer._common.formatting import pluralize, quote, quote_all
from nearer._common.parameters import check_integer, check_level, check_number
from nearer._common.randomness import RandomState, stream
from nearer.comparing.group_displacements import GroupMap, displacements, group_map, untested_displacements
from nearer.comparing.group_models import CommonMap, Responses, departure_precision, fit_departing, fit_maps
from nearer.comparing.group_prediction import cross_predict
from nearer.comparing.group_results import GroupComparison, PairOfGroups, SignFlipTest
from nearer.comparing.group_tests import Blocks, GroupScores, efficient_scores, sign_flip_test, step_down
from nearer.comparing.results import comparisons_of, holm
from nearer.data.comparisons import Comparisons
from nearer.data.groups import (
    group_indices,
    near_far_codes,
    restrict_to_seen,
    seen_objects,
    trial_indices,
    with_positive_weight,
)
from nearer.data.labels import factorize, is_missing
from nearer.geometry import align
from nearer.io.answers import Answers
from nearer.optimize.solvers.driver import limited_blas

N_PERMUTATIONS = 4999
BOUND = 0.25  # of the spread
_ALPHA = 0.05
_MAX_GROUPS = 20
_MIN_SHARED_OBJECTS = 3
_NEARLY_ALL = 0.9  # of a person's comparisons


def compare_groups(
    answers: Any,
    groups: Any,
    *,
    n_components: int | None = None,
    bound: float = BOUND,
    n_permutations: int = N_PERMUTATIONS,
    level: float = 0.95,
    random_state: RandomState = None,
) -> GroupComparison:
    """Compare groups of people, or conditions: one map for each, whether they differ, and in which objects.

    Parameters
    ----------
    answers : Answers, or Comparisons with annotators
    groups : str, dict or array-like
        The name of a column that was read with ``also=``; a group for each person; or one for each comparison (or
        answer). None, NaN and "" are left out.
    n_components : int, optional
        Dimensions of the maps; as many as predict best if left out. Tests take one more than predict best, or than are
        given.
    bound : float, default 0.25
        The largest displacement that counts as none, as a share of the spread of the map, for claims of equivalence.
    n_permutations : int, default 4999
        Random signs of people's scores.
    level : float, default 0.95
        Of the intervals.
    random_state : None, int, SeedSequence, Generator or RandomState
        For starts, folds and signs.

    Notes
    -----
    Read the gains in held-out error and log-loss first: with many people a test finds differences that do not matter.
    The p-value is valid where groups differ in how noisy they are, in size, and in what they were asked; see the page
    on groups for how often it errs.

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
    check_number("bound", bound, above=0)
    check_integer("n_permutations", n_permutations, 19)
    kept = assign_groups(answers, groups)
    comparisons, _ = restrict_to_seen(with_positive_weight(kept.comparisons))
    kept = replace(kept, comparisons=comparisons, groups=kept.groups[kept.comparisons.sample_weight > 0])
    if len(np.unique(kept.groups)) < len(kept.names):
        raise ValueError("a group has no answers of positive weight; leave it out")
    seen = _seen_by_group(kept)
    shared = max(int((one & other).sum()) for one, other in combinations(seen, 2))
    if shared < _MIN_SHARED_OBJECTS:
        raise ValueError(
            f"no two groups were asked about the same objects ({shared} in common): groups can be compared by "
            f"{_MIN_SHARED_OBJECTS} objects or more that both were asked about"
        )
    if n_components is not None:
        check_integer("n_components", n_components, 1, comparisons.n_objects - 1)
    rng = stream(random_state, "split")
    responses, n_groups = Responses.of(comparisons), len(kept.names)
    has_people = comparisons.annotators is not None
    unit = "people" if has_people else "trials"  # which are independent
    units = responses.people if has_people else group_indices(comparisons)
    blocks = Blocks.of(units, kept.groups, n_groups)
    if has_people and len(blocks.groups) == blocks.n_groups:
        raise ValueError(
            "every group is a single person, so that groups and people cannot be distinguished; "
            "name a column that several people share"
        )
    with limited_blas("points", comparisons.n_objects):
        common, tested = fit_maps(responses, trial_indices(comparisons), n_components, stream(random_state, "start"))
        prediction, departure = cross_predict(responses, common, kept.groups, units, unit, level, rng)
        precision = departure_precision(common, departure)
        parts = [responses.subset(kept.groups == g) for g in range(n_groups)]
        fitted = np.stack([fit_departing(part, common, precision) for part in parts])
        scores = efficient_scores(responses, tested, kept.groups, n_groups, rng) if has_people else None
        test = None if scores is None else sign_flip_test(scores, n_permutations, rng)
        pairs, notes = _pairs(kept, (common, tested), (scores, test), (bound, level, n_permutations), rng)
    by_person = common.lapses[responses.people]
    return GroupComparison(
        kept.names,
        comparisons.objects,
        tuple(np.bincount(blocks.groups, minlength=n_groups).tolist()) if has_people else None,
        tuple(np.bincount(kept.groups, minlength=n_groups).tolist()),
        common.points,
        align(fitted, common.points),
        departure,
        tuple(float(np.mean(by_person[kept.groups == g])) for g in range(n_groups)),
        tested.points.shape[1],
        _overlap(comparisons, kept.groups),
        float(bound),
        test,
        has_people and blocks.within,
        pairs,
        prediction,
        (*kept.notes, *notes),
    )


def _pairs(
    kept: GroupedComparisons,
    fitted: tuple[CommonMap, CommonMap],
    of_all: tuple[GroupScores | None, SignFlipTest | None],
    settings: tuple[float, float, int],
    rng: np.random.Generator,
) -> tuple[tuple[PairOfGroups, ...], list[str]]:
    """Return the result for each pair of groups, and notes on objects that a group was never asked about."""
    (common, tested), (bound, level, count) = fitted, settings
    responses, n_groups = Responses.of(kept.comparisons), len(kept.names)
    seen = _seen_by_group(kept)
    spread = float(np.sqrt(np.square(common.points).sum(axis=1).mean()))
    maps: list[GroupMap] = [group_map(responses.subset(kept.groups == g), common) for g in range(n_groups)]
    pairs = []
    for first, second in combinations(range(n_groups), 2):
        known = seen[first] & seen[second]
        names, (scores, test) = (kept.names[first], kept.names[second]), of_all
        if scores is None or test is None:
            moves = untested_displacements(maps[first].points, maps[second].points, spread, known)
            pairs.append(PairOfGroups(*names, None, None, None, moves))
            continue
        chosen = np.isin(kept.groups, (first, second))
        of_pair, labels = responses.subset(chosen), (kept.groups[chosen] == second).astype(np.intp)
        if n_groups > 2:
            scores = efficient_scores(of_pair, tested, labels, 2, rng)
            test = sign_flip_test(scores, count, rng)
        of_objects = step_down(of_pair, tested, labels, scores, known, count, _ALPHA, rng)
        moves = displacements(maps[first], maps[second], spread, bound, level, known)
        pairs.append(PairOfGroups(*names, test.p_value, None, of_objects, moves))
    corrected = iter(holm([pair.p_value for pair in pairs if pair.p_value is not None]))
    pairs = [pair if pair.p_value is None else replace(pair, p_holm=next(corrected)) for pair in pairs]
    notes = [
        f"nobody in {quote(group)} was asked about {quote_all(kept.comparisons.objects[~known].tolist())}"
        for group, known in zip(kept.names, seen, strict=True)
        if not known.all()
    ]
    return tuple(pairs), notes


def _seen_by_group(kept: GroupedComparisons) -> NDArray[np.bool_]:
    """Return which objects each group was asked about, (k, n)."""
    return np.array([seen_objects(kept.comparisons[kept.groups == g]) for g in range(len(kept.names))])


def _overlap(comparisons: Comparisons, groups: NDArray[np.intp]) -> float:
    """Return the least share of what two groups were asked that both were: pairs of objects, by how often."""
    codes = np.unique(np.concatenate(near_far_codes(comparisons.oriented, comparisons.n_objects)), return_inverse=True)[
        1
    ]
    counts = np.zeros((int(groups.max()) + 1, int(codes.max()) + 1))
    np.add.at(counts, (np.tile(groups, 2), codes), np.tile(comparisons.sample_weight, 2))
    shares = counts / counts.sum(axis=1, keepdims=True)
    return min(float(np.minimum(one, other).sum()) for one, other in combinations(shares, 2))


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
        "column: as it is, people are compared with themselves"
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

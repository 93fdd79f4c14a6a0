"""Groups of people, or conditions: whether they see objects differently, and which."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray
from nearer._common.formatting import decimals, format_interval, pluralize, quote, quote_all
from nearer._common.parameters import check_integer, check_level
from nearer._common.randomness import RandomState, stream
from nearer.comparing.groups.answering import Fitted, Said
from nearer.comparing.groups.crossing import CrossPrediction, cross_predict, fit_common, group_maps
from nearer.comparing.groups.grouping import Grouped, grouped
from nearer.comparing.groups.moved import Displacements, displacements, untested
from nearer.comparing.groups.permuting import Blocks, Permuted, Scored, permutation_test, scored
from nearer.comparing.holm import holm
from nearer.data.comparisons import Comparisons
from nearer.data.groups import restricted, seen_objects, units_of, with_positive_weight
from nearer.data.labels import Labels, factorize
from nearer.geometry import align, principal

_FIRST_LAPSE = 0.05
N_PERMUTATIONS = 4999
_CANDIDATES = (1, 2, 3, 4)
_ALPHA = 0.05
_LOOSE = 2.0  # departures of this share of the spread: hardly any shrinkage
_SHOWN = 10  # displacements


@dataclass(frozen=True, eq=False)
class PairOfGroups:
    """Two of the groups.

    Attributes
    ----------
    first, second : str
    p : float or None
        Whether they differ; None where nobody says who answered.
    p_adjusted : float or None
        By Holm's method, for the family of all pairs.
    p_of_objects : ndarray, shape (n,), or None
        Whether each object lies elsewhere, for the family of all objects of this pair.
    displacements : Displacements
        From the first to the second.
    """

    first: str
    second: str
    p: float | None
    p_adjusted: float | None
    p_of_objects: FloatArray | None
    displacements: Displacements

    def moved(self, alpha: float = 0.05) -> NDArray[np.bool_]:
        """Return whose displacement is significant at alpha, (n,); none where nobody says who answered."""
        if self.p_of_objects is None:
            return np.zeros(len(self.displacements.lengths), dtype=bool)
        return self.p_of_objects <= alpha


@dataclass(frozen=True, eq=False)
class GroupComparison:
    """What groups have in common, and where they differ.

    Attributes
    ----------
    groups : tuple of str
        k names.
    objects : ndarray, shape (n,)
        Labels.
    n_people : tuple of int, or None
        In each group.
    n_comparisons : tuple of int
    common : ndarray, shape (n, p)
        The map of all answers, along its principal axes.
    maps : ndarray, shape (k, n, p)
        One for each group, laid onto that of all.
    departure : float
        How far the maps of groups are expected to be from that of all, as a share of its spread: what predicts best.
    lapses : tuple of float
        The chance of a lapse in each group.
    test : Permuted or None
        Of all groups at once; None where nobody says who answered.
    within : bool
        Whether people are in several groups, and labels were permuted within people.
    pairs : tuple of PairOfGroups
    prediction : CrossPrediction
    notes : tuple of str
    """

    groups: tuple[str, ...]
    objects: Labels
    n_people: tuple[int, ...] | None
    n_comparisons: tuple[int, ...]
    common: FloatArray
    maps: FloatArray
    departure: float
    lapses: tuple[float, ...]
    test: Permuted | None
    within: bool
    pairs: tuple[PairOfGroups, ...]
    prediction: CrossPrediction
    notes: tuple[str, ...] = field(default=())

    @property
    def p(self) -> float | None:
        """The p-value of the test of all groups."""
        return None if self.test is None else self.test.p

    def __str__(self) -> str:
        return "\n".join([*self._heading(), *self._errors(), *self._test_lines(), *self._moved(), *self.notes])

    def _heading(self) -> list[str]:
        parts = []
        for k, (group, count) in enumerate(zip(self.groups, self.n_comparisons, strict=True)):
            people = "" if self.n_people is None else f"{pluralize(self.n_people[k], 'person', 'people')}, "
            parts.append(f"{quote(group)} ({people}{pluralize(count, 'comparison')})")
        return [f"groups: {'; '.join(parts)}", f"maps of {pluralize(self.common.shape[1], 'dimension')}"]

    def _test_lines(self) -> list[str]:
        if self.test is None:
            return [
                "no test of groups or objects: nothing says who answered, and answers of one person are not "
                "independent of each other"
            ]
        how = "labels permuted within people" if self.within else "labels permuted over people"
        lines = [
            f"test of a difference: p = {p_text(self.test.p)} ({self.test.n_permutations} permutations; {how})"
            + self._against_gains(self.test.p)
        ]
        if self.test.smallest_p > 0.01:
            lines.append(f"with so few people no p can be below {p_text(self.test.smallest_p)}")
        if len(self.pairs) > 1:
            lines += [
                f"  {quote(pair.first)} and {quote(pair.second)}: p = {p_text(pair.p_adjusted)} (Holm)"
                for pair in self.pairs
                if pair.p_adjusted is not None
            ]
        return lines

    def _against_gains(self, p: float) -> str:
        """Return what a significant difference is worth, where maps of groups do not predict better."""
        better = bool((np.nan_to_num(self.prediction.gain_lows, nan=-1.0) > 0).any())
        return (
            "" if p > _ALPHA or better else "; maps of their own predict no group significantly better than that of all"
        )

    def _errors(self) -> list[str]:
        found = self.prediction
        lines = [
            f"held-out error, and by how much a map of its own lowers it ({found.n_folds} folds of whole {found.unit}):"
        ]
        for g, group in enumerate(self.groups):
            others = ", ".join(
                f"of {quote(other)} {decimals(found.errors[g, k])}" for k, other in enumerate(self.groups) if k != g
            )
            if np.isnan(found.gains[g]):
                lines.append(
                    f"  answers of {quote(group)}: {others}, of all {decimals(found.errors[g, -1])}; "
                    f"too few {found.unit} to judge a map of its own"
                )
                continue
            gain = interval_text(found.gains[g], found.gain_lows[g], found.gain_highs[g])
            lines.append(
                f"  answers of {quote(group)}: lower by {gain}; own map {decimals(found.errors[g, g])} "
                f"({format_interval(found.lows[g, g], found.highs[g, g])}), {others}, of all "
                f"{decimals(found.errors[g, -1])}"
            )
        return lines

    def _moved(self) -> list[str]:
        lines = []
        for pair in self.pairs if self.test is not None else ():
            between, by = f"from {quote(pair.first)} to {quote(pair.second)}", pair.displacements
            moved = np.flatnonzero(pair.moved())
            moved = moved[np.argsort(-by.corrected[moved])]
            if not len(moved):
                lines.append(f"{between}: no object's displacement is significant (p > {_ALPHA}, all objects together)")
                continue
            each = [
                f"{quote(str(self.objects[k]))} {by.corrected[k]:.2f} ({by.lows[k]:.2f} to {by.highs[k]:.2f})"
                for k in moved[:_SHOWN]
            ]
            more = f" and {len(moved) - _SHOWN} more" if len(moved) > _SHOWN else ""
            lines.append(
                f"{between}, displacements as shares of the spread (p <= {_ALPHA}, all objects together): "
                f"{', '.join(each)}{more}"
            )
        return lines


def p_text(p: float | None) -> str:
    """Write a p-value in two digits.

    Examples
    --------
    >>> p_text(0.0002), p_text(0.25)
    ('0.0002', '0.25')
    """
    return "-" if p is None else f"{p:.2g}"


def interval_text(value: float, low: float, high: float) -> str:
    """Write a difference with its interval.

    Examples
    --------
    >>> interval_text(0.012, -0.001, 0.025)
    '0.012 (-0.001 to 0.025)'
    """
    return f"{value:.3f} ({low:.3f} to {high:.3f})"


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

    Returns
    -------
    GroupComparison

    Notes
    -----
    Read the gains in held-out error first: with many people a test finds differences that do not matter. The p-value is
    valid if the labels of people (or, where people are in several groups, the labels of a person's own
    answers) could as well have been dealt out otherwise. Groups that differ in noise alone, and in size, are not
    exchangeable; see the page on groups for what that does.

    Examples
    --------
    >>> from nearer.datasets import make_gaussian, sample_triplets
    >>> points = make_gaussian(9, 2, random_state=0)
    >>> elsewhere = points * np.array([-1.0] + 8 * [1.0])[:, None]  # the first object is on the other side
    >>> rows = [sample_triplets(each, 240, flipped=0.1, random_state=0).oriented for each in (points, elsewhere)]
    >>> people, groups = np.repeat(np.arange(16), 30), np.repeat(["old", "young"], 240)
    >>> judgments = Comparisons.from_triplets(np.concatenate(rows)[:, [0, 1, 3]], annotators=people)
    >>> found = compare_groups(judgments, groups, n_components=2, random_state=0)
    >>> found.groups, found.maps.shape, found.p < 0.05
    (('old', 'young'), (2, 9, 2), True)
    """
    check_level(level)
    check_integer("n_permutations", n_permutations, 19)
    kept = _positive(grouped(answers, groups))
    comparisons = kept.comparisons
    if n_components is None:
        n_components = chosen_dimension(comparisons, random_state)
    check_integer("n_components", n_components, 1, comparisons.n_objects - 1)
    rng = stream(random_state, "split")
    said, common = Said.of(comparisons), common_map(comparisons, n_components)
    units, unit, has_people = _units(comparisons)
    blocks = Blocks.of(units, kept.groups, len(kept.names))
    if has_people:
        _refuse_one_each(blocks)
    prediction, departure = cross_predict(said, common, kept.groups, units, unit, level, rng)
    fitted = group_maps(said, common, kept.groups, [common] * len(kept.names), departure)
    scores = scored(said, common, blocks) if has_people else None
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


def common_map(comparisons: Comparisons, n_components: int) -> Fitted:
    """Return the map of all answers, along its principal axes: STE's, and on from there with lapses."""
    from nearer.embedding import STE

    start = STE(n_components).fit(comparisons).embedding_
    fitted = fit_common(Said.of(comparisons), Fitted(start - start.mean(axis=0), _FIRST_LAPSE))
    return Fitted(principal(fitted.points, np.ones(len(start), dtype=bool)), fitted.lapse)


def chosen_dimension(comparisons: Comparisons, random_state: RandomState) -> int:
    """Return the number of dimensions that the answers of all groups ask for."""
    from nearer.embedding import STE
    from nearer.evaluation.dimension import choose_dimension

    candidates = [p for p in _CANDIDATES if p < comparisons.n_objects]
    return int(choose_dimension(STE(), comparisons, candidates, random_state=random_state).shown)


def _positive(kept: Grouped) -> Grouped:
    """Return what has a weight, over the objects that somebody was asked about."""
    weighs = kept.comparisons.sample_weight > 0
    comparisons, _ = restricted(with_positive_weight(kept.comparisons))
    groups = kept.groups[weighs]
    if len(np.unique(groups)) < len(kept.names):
        raise ValueError("a group has no answers of positive weight; leave it out")
    return Grouped(comparisons, groups, kept.names, kept.notes)


def _units(comparisons: Comparisons) -> tuple[NDArray[np.intp], str, bool]:
    """Return what is independent of each other: people, or else trials; what it is called; whether it is people."""
    if comparisons.annotators is None:
        return units_of(comparisons), "trials", False
    return factorize(comparisons.annotators)[1], "people", True


def _refuse_one_each(blocks: Blocks) -> None:
    if len(blocks.groups) == blocks.n_groups:
        raise ValueError(
            "every group is a single person, so that a difference of groups cannot be told from one of people; "
            "name a column that several people share"
        )


def _pairs(
    kept: Grouped,
    common: Fitted,
    blocks: Blocks,
    of_all: tuple[Scored | None, Permuted | None],
    n_permutations: int,
    level: float,
    rng: np.random.Generator,
) -> tuple[tuple[PairOfGroups, ...], list[str]]:
    """Return what is found for each pair of groups, and which objects a group was never asked about."""
    said, n_groups = Said.of(kept.comparisons), len(kept.names)
    loose = group_maps(said, common, kept.groups, [common] * n_groups, _LOOSE)
    maps = [align(each.points, common.points) for each in loose]
    spread = float(np.sqrt(np.square(common.points).sum(axis=1).mean()))
    seen = np.array([seen_objects(kept.comparisons[kept.groups == g]) for g in range(n_groups)])
    found: list[tuple[Permuted | None, Displacements]] = []
    for first, second in combinations(range(n_groups), 2):
        known, apart = seen[first] & seen[second], maps[second] - maps[first]
        (scores, test), of_pair = of_all, blocks
        if scores is None or test is None:
            found.append((None, untested(apart, spread, known)))
            continue
        if n_groups > 2:
            chosen = np.isin(kept.groups, (first, second))
            units = blocks.people[blocks.of_rows[chosen]]
            of_pair = Blocks.of(units, (kept.groups[chosen] == second).astype(np.intp), 2)
            scores = scored(said.among(chosen), common, of_pair)
            test = permutation_test(scores, of_pair, n_permutations, rng)
        found.append((test, displacements(scores, of_pair, test, apart, spread, level, known)))
    adjusted: list[float | None] = [*holm([test.p for test, _ in found if test is not None])] or [None] * len(found)
    pairs = []
    for (first, second), (test, moves), holms in zip(combinations(range(n_groups), 2), found, adjusted, strict=True):
        known = seen[first] & seen[second]
        of_objects = None if test is None else np.where(known, test.p_of_objects, 1.0)
        p = None if test is None else test.p
        pairs.append(PairOfGroups(kept.names[first], kept.names[second], p, holms, of_objects, moves))
    notes = [
        f"nobody in {quote(group)} was asked about {quote_all(kept.comparisons.objects[~known].tolist())}"
        for group, known in zip(kept.names, seen, strict=True)
        if not known.all()
    ]
    return tuple(pairs), notes

"""What a comparison of groups finds: a test, displacements of objects, held-out errors; as text, tables and figures."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray
from nearer._common.formatting import decimals, format_interval, format_level, intcomma, pluralize, quote, quote_all
from nearer._common.results import Result, Rows
from nearer._common.tables import coordinate_rows
from nearer.comparing.results import Comparison, is_significant, p_text
from nearer.data.labels import Labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ALPHA = 0.05
_LOW_OVERLAP = 0.7  # of pairs of objects
# In simulated studies without a difference 15 to 18% of tests reject at 5% with 4 to 6 answers for each coordinate, 9
# to 11% with 7 to 13, and 2 to 9% with 44 or more.
_FEW_PER_COORDINATE = 20
_VERDICTS = {
    "different": "the groups have maps of their own",
    "weights": "the groups have one map but for weights of its dimensions",
    "unclear": "the groups differ, but neither weights nor maps of their own predict people significantly better",
    "equivalent": "no difference, and none as large as {bound}",
    "none found": "no difference found, which does not rule out one of {bound}",
}
Verdict: TypeAlias = Literal["different", "weights", "unclear", "equivalent", "none found", "untested"]
_MAX_SHOWN = 10  # displacements in the text
_MAX_STEM_LENGTH = 40  # characters of a group's name in the name of a file
#: Relative: equal labels sum in another order, which must not make their statistic smaller.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class SignFlipTest(Result):
    """A test of groups by random signs of people's scores, for the map as a whole.

    Attributes
    ----------
    statistic, p_value : float
    n_permutations : int
        Random signs.
    smallest_p : float
        Below which no p-value can fall with so few people, or so few signs.
    """

    statistic: float
    p_value: float
    n_permutations: int
    smallest_p: float


@dataclass(frozen=True, eq=False)
class Displacements(Result):
    """Where the objects of one group lie, relative to another.

    Attributes
    ----------
    vectors : ndarray, shape (n, p)
        From the first group to the second, as shares of the spread of the map, its root mean square distance from the
        center; NaN for objects that one of them was never asked about.
    lengths, corrected, lows, highs : ndarray, shape (n,)
        Lengths as they are, less what noise adds, and their intervals, each for one object. Only the first is known
        without people, in a group of one person, and of objects that a group gave too few answers about; the others are
        NaN then.
    equivalence_p_values : ndarray, shape (n,)
        Of a length of the bound or more, for each object: a small one says that the length is less. NaN as intervals.
    """

    vectors: FloatArray
    lengths: FloatArray
    corrected: FloatArray
    lows: FloatArray
    highs: FloatArray
    equivalence_p_values: FloatArray


@dataclass(frozen=True, eq=False)
class CrossPrediction(Result):
    """Held-out errors: of the answers of each group, by the map of each group and by that of all.

    Attributes
    ----------
    errors, lows, highs : ndarray, shape (k, k + 1)
        A row for the answers of each group; a column for the map of each group, and the last for the map of all.
    gains, gain_lows, gain_highs : ndarray, shape (k,)
        By how much the error of a group falls when its own map takes the place of that of all, with an interval; NaN
        for a group of one person, whose map no other answers can test.
    log_losses : ndarray, shape (3,)
        Bits for each answer: with one map for all, one whose dimensions each group weighs, and a map for each group.
    log_loss_gains : ndarray, shape (3, 3)
        By how much weights lower the log-loss of one map, maps for each group that of one map, and that of weights: a
        row for each, of the gain and the ends of its interval.
    n_folds, unit : int, str
        Folds, and what they kept whole.
    level : float
    """

    errors: FloatArray
    lows: FloatArray
    highs: FloatArray
    gains: FloatArray
    gain_lows: FloatArray
    gain_highs: FloatArray
    log_losses: FloatArray
    log_loss_gains: FloatArray
    n_folds: int
    unit: str
    level: float


@dataclass(frozen=True, eq=False)
class PairOfGroups(Result):
    """Two of the groups.

    Attributes
    ----------
    first, second : str
    p_value, p_holm : float or None
        Of no difference, and for the family of all pairs; None where the comparisons do not say who answered.
    object_p_values : ndarray, shape (n,), or None
        Of no displacement of each object, for the family of all objects of this pair.
    displacements : Displacements
        From the first to the second.
    """

    first: str
    second: str
    p_value: float | None
    p_holm: float | None
    object_p_values: FloatArray | None
    displacements: Displacements

    def is_equivalent(self, alpha: float = _ALPHA) -> NDArray[np.bool_]:
        """Return whose displacement is less than the bound, (n,), each at alpha; so are all of them where all are."""
        return self.displacements.equivalence_p_values <= alpha

    @property
    def all_equivalent(self) -> bool:
        """Whether all displacements, of objects that both groups were asked about, are less than the bound."""
        compared = np.isfinite(self.displacements.lengths)
        return bool(compared.any() and self.is_equivalent()[compared].all())

    def is_displaced(self, alpha: float = _ALPHA) -> NDArray[np.bool_]:
        """Return whose displacement is significant at alpha, (n,); none where it is not known who answered."""
        return is_significant(self.object_p_values, len(self.displacements.lengths), alpha)


@dataclass(frozen=True, eq=False)
class GroupComparison(Comparison):
    """What groups have in common, and where they differ.

    Attributes
    ----------
    groups : tuple of str
        k names.
    objects : ndarray, shape (n,)
    n_people, n_comparisons : tuple of int
        In each group; the former may be None.
    common : ndarray, shape (n, p)
        The map of all answers, along its principal axes.
    maps : ndarray, shape (k, n, p)
        One for each group, aligned with that of all.
    departure : float
        How far the maps of groups are expected to be from that of all, as a share of its spread: what predicts best.
    lapses : tuple of float
        The mean lapse rate in each group.
    n_tested : int
        Dimensions of the map of the test.
    overlap : float
        The least share of what two groups were asked that both were: pairs of objects, by how often.
    bound : float
        The largest displacement that counts as none, as a share of the spread.
    test : SignFlipTest or None
        Of all groups at once; None where the comparisons do not say who answered.
    within : bool
        Whether people are in several groups, and are compared with themselves.
    pairs : tuple of PairOfGroups
    prediction : CrossPrediction
    notes : tuple of str
    """

    kind: ClassVar[str] = "groups"

    groups: tuple[str, ...]
    objects: Labels
    n_people: tuple[int, ...] | None
    n_comparisons: tuple[int, ...]
    common: FloatArray
    maps: FloatArray
    departure: float
    lapses: tuple[float, ...]
    n_tested: int
    overlap: float
    bound: float
    test: SignFlipTest | None
    within: bool
    pairs: tuple[PairOfGroups, ...]
    prediction: CrossPrediction
    notes: tuple[str, ...] = ()

    @property
    def p_value(self) -> float | None:
        """The p-value of the test of all groups."""
        return None if self.test is None else self.test.p_value

    @property
    def verdict(self) -> Verdict:
        """Whether groups have one space, up to weights of its dimensions, or spaces of their own.

        "different" and "weights" take a test with p <= 0.05 and maps, or weights, that predict held-out people better:
        the 95% interval of the gain is above 0; "unclear" is the test alone. Where it does not reject, the verdict is
        "equivalent" if all displacements are less than the bound, at 5% each, and "none found" otherwise.
        """
        if self.test is None:
            return "untested"
        if self.test.p_value > _ALPHA:
            return "equivalent" if all(pair.all_equivalent for pair in self.pairs) else "none found"
        stretched, own, beyond = self.prediction.log_loss_gains[:, 1] > 0
        if own and beyond:
            return "different"
        return "weights" if stretched else "different" if own else "unclear"

    def summary(self) -> str:
        """Return groups, verdict, held-out errors, test, displacements, equivalence and notes as text."""
        lines = [*self._heading(), *self._error_lines(), *self._test_lines(), *self._displacement_lines(), *self.notes]
        return "\n".join(lines)

    def _derived(self) -> Mapping[str, Any]:
        displaced, equivalent = (
            [[str(label) for label in self.objects[chosen].tolist()] for chosen in each]
            for each in (
                [pair.is_displaced() for pair in self.pairs],
                [pair.is_equivalent() for pair in self.pairs],
            )
        )
        return {**super()._derived(), "verdict": self.verdict, "displaced": displaced, "equivalent": equivalent}

    def _heading(self) -> list[str]:
        parts = []
        for k, (group, count) in enumerate(zip(self.groups, self.n_comparisons, strict=True)):
            people = "" if self.n_people is None else f"{pluralize(self.n_people[k], 'person', 'people')}, "
            parts.append(f"{quote(group)} ({people}{pluralize(count, 'comparison')})")
        dimensions = f"maps of {pluralize(self.common.shape[1], 'dimension')}"
        if self.test is None:
            return [f"groups: {'; '.join(parts)}", dimensions]
        bound = f"{self.bound:g} of the spread"
        verdict = _VERDICTS[self.verdict].format(bound=bound)
        if self.test.p_value <= _ALPHA:
            # With many people a test finds differences that hardly matter.
            gain = float(np.nan_to_num(self.prediction.gains, nan=0.0).max())
            more = f"by more than {gain:.3f}" if gain > 0 else "at all"
            verdict += f"; a map of its own lowers no group's held-out error {more}"
        lines = [f"groups: {'; '.join(parts)}", f"verdict: {verdict}", f"{dimensions}; tests in {self.n_tested}"]
        if self.overlap < _LOW_OVERLAP:
            lines.append(
                f"the groups were asked about different pairs of objects ({self.overlap:.0%} in common): what is said "
                f"about differences rests on {pluralize(self.n_tested, 'dimension')} being enough"
            )
        return lines

    def _error_lines(self) -> list[str]:
        found = self.prediction
        lines = [
            "held-out error, and by how much a group's own map lowers it "
            f"({found.n_folds} folds of whole {found.unit}; {format_level(found.level)} intervals):"
        ]
        for g, group in enumerate(self.groups):
            others = ", ".join(
                f"of {quote(other)} {decimals(found.errors[g, k])}" for k, other in enumerate(self.groups) if k != g
            )
            by_others = f"{others}, of all {decimals(found.errors[g, -1])}"
            if np.isnan(found.gains[g]):
                lines.append(
                    f"  answers of {quote(group)}: {by_others}; too few {found.unit} to judge a map of its own"
                )
                continue
            gain, low, high = found.gains[g], found.gain_lows[g], found.gain_highs[g]
            change = f"lower by {gain:.3f} ({low:.3f} to {high:.3f})"
            if gain < 0:
                change = f"higher by {-gain:.3f} ({-high:.3f} to {-low:.3f})"
            lines.append(
                f"  answers of {quote(group)}: {change}; own map {decimals(found.errors[g, g])} "
                f"({format_interval(found.lows[g, g], found.highs[g, g])}), {by_others}"
            )
        gains = [f"{gain:.3f} ({low:.3f} to {high:.3f})" for gain, low, high in found.log_loss_gains]
        lines.append(
            f"held-out log-loss of one map {found.log_losses[0]:.3f} bits; gain of weights of dimensions for each "
            f"group {gains[0]}, of maps of their own {gains[1]}, of these over weights {gains[2]}"
        )
        return lines

    def _test_lines(self) -> list[str]:
        if self.test is None:
            return [
                "no test of groups or objects: the comparisons do not say who answered, and answers of one person are "
                "not independent of each other"
            ]
        how = "people compared with themselves" if self.within else "people compared"
        lines = [
            f"test of a difference: p = {p_text(self.test.p_value)} "
            f"({intcomma(self.test.n_permutations)} sign flips of people's scores; {how})"
        ]
        if self.test.smallest_p > 0.01:
            lines.append(f"with so few people no p-value can be below {p_text(self.test.smallest_p)}")
        per_coordinate = sum(self.n_comparisons) / (len(self.objects) * self.n_tested)
        if per_coordinate < _FEW_PER_COORDINATE:
            lines.append(
                f"few answers for a map of {pluralize(self.n_tested, 'dimension')} ({per_coordinate:.1f} for each "
                "coordinate): the p-value may be too small"
            )
        if len(self.pairs) > 1:
            lines += [
                f"  {quote(pair.first)} and {quote(pair.second)}: p = {p_text(pair.p_holm)} (Holm)"
                for pair in self.pairs
            ]
        return lines

    def _displacement_lines(self) -> list[str]:
        lines = []
        for pair in self.pairs if self.test is not None else ():
            between, by = f"from {quote(pair.first)} to {quote(pair.second)}", pair.displacements
            displaced = np.flatnonzero(pair.is_displaced())
            displaced = displaced[np.argsort(-by.corrected[displaced])]
            if len(displaced):
                each = [self._displacement_text(by, k) for k in displaced[:_MAX_SHOWN]]
                more = f" and {len(displaced) - _MAX_SHOWN} more" if len(displaced) > _MAX_SHOWN else ""
                intervals = f"shares of the spread with {format_level(self.prediction.level)} intervals"
                significant = f"p <= {_ALPHA}, all objects together"
                lines.append(f"{between}, displacements as {intervals} ({significant}): {', '.join(each)}{more}")
            else:
                lines.append(f"{between}: no object's displacement is significant (p > {_ALPHA}, all objects together)")
            lines += [self._equivalence_line(pair), *self._undetermined_lines(pair)]
        return lines

    def _displacement_text(self, by: Displacements, k: int) -> str:
        if np.isnan(by.lows[k]):
            return f"{quote(str(self.objects[k]))} {by.lengths[k]:.2f} (no interval)"
        return f"{quote(str(self.objects[k]))} {by.corrected[k]:.2f} ({by.lows[k]:.2f} to {by.highs[k]:.2f})"

    def _undetermined_lines(self, pair: PairOfGroups) -> list[str]:
        """Return which displacements have no interval, and why."""
        by = pair.displacements
        unknown = self.objects[np.isfinite(by.lengths) & np.isnan(by.lows)].tolist()
        sizes = dict(zip(self.groups, self.n_people or (), strict=True))
        alone = [quote(each) for each in (pair.first, pair.second) if sizes[each] == 1]
        if alone:
            who = f"{alone[0]} is" if len(alone) == 1 else f"{' and '.join(alone)} are"
            return [f"no intervals of displacements: {who} one person, who does not tell how much people differ"]
        return [f"too few answers for intervals of the displacements of {quote_all(unknown)}"] if unknown else []

    def _equivalence_line(self, pair: PairOfGroups) -> str:
        """Return whose displacements are known to be small."""
        known = np.isfinite(pair.displacements.lengths)
        within, bound = pair.is_equivalent()[known], f"{self.bound:g} of the spread"
        if pair.all_equivalent:
            largest = float(pair.displacements.equivalence_p_values[known].max())
            return f"equivalence: all {len(within)} displacements are less than {bound} (p = {p_text(largest)})"
        how_many = f"{within.sum()} of {len(within)} displacements" if within.any() else "no displacement"
        return f"equivalence: {how_many} shown to be less than {bound} (p <= {_ALPHA} each)"

    def tables(self) -> dict[str, Rows]:
        """Return the displacements, and the maps of all and of each group."""
        axes = [f"x{k + 1}" for k in range(self.common.shape[1])]
        objects, maps = self.objects.tolist(), [self.common, *self.maps]
        return {"displacements.csv": self._displacement_rows()} | {
            f"map-{stem}.csv": coordinate_rows(objects, points.tolist(), axes)
            for stem, points in zip(_stems(["all", *self.groups]), maps, strict=True)
        }

    def _displacement_rows(self) -> Rows:
        axes = range(1, self.common.shape[1] + 1)
        measured = ["length", "corrected_length", "low", "high", "p_value", "significant", "equivalence_p_value"]
        rows: list[list[Any]] = [["object", "from", "to", *(f"dx{k}" for k in axes), *measured]]
        for pair in self.pairs:
            moves, displaced = pair.displacements, pair.is_displaced()
            for i, label in enumerate(self.objects.tolist()):
                lengths = [float(each[i]) for each in (moves.lengths, moves.corrected, moves.lows, moves.highs)]
                p = None if pair.object_p_values is None else float(pair.object_p_values[i])
                ends = [pair.first, pair.second, *moves.vectors[i].tolist(), *lengths, p]
                equivalence = float(moves.equivalence_p_values[i])
                rows.append([str(label), *ends, "yes" if displaced[i] else "no", equivalence])
        return rows

    def plot(self, ax: Axes | None = None, pair: PairOfGroups | None = None) -> Axes:
        """Draw the maps of two groups, those of the first pair if left out, with arrows from one to the other."""
        from nearer.plotting import plot_arrows

        pair = self.pairs[0] if pair is None else pair
        first, second = (self.maps[self.groups.index(each)].copy() for each in (pair.first, pair.second))
        first[~np.isfinite(pair.displacements.lengths)] = np.nan
        labels = [str(label) for label in self.objects.tolist()]
        return plot_arrows(first, second, labels, pair.is_displaced(), ax, names=(pair.first, pair.second))

    def figures(self) -> dict[str, Callable[[], Axes]]:
        """Return the figure of each pair."""
        stems = dict(zip(self.groups, _stems(["all", *self.groups])[1:], strict=True))
        several = len(self.pairs) > 1
        return {
            f"groups-{stems[pair.first]}-{stems[pair.second]}" if several else "groups": partial(self.plot, pair=pair)
            for pair in self.pairs
        }

    def write(self, folder: str | PathLike[str]) -> list[str]:
        """Write values, tables and figures into a folder, and return the names of the files.

        Maps and figures of an earlier comparison there, whose groups may have had other names, are removed.
        """
        path = Path(folder)
        if (path / self.json_name).is_file():
            for former in (*path.glob("map-*.csv"), *path.glob("groups*.png"), *path.glob("groups*.pdf")):
                former.unlink()
        return super().write(path)


def _stems(names: Iterable[str]) -> list[str]:
    """Return names as parts of names of files, each once."""
    stems: list[str] = []
    for each in names:
        stem = re.sub(r"[^\w-]+", "-", each).strip("-")[:_MAX_STEM_LENGTH] or "group"
        number, free = 2, stem
        while free.lower() in (other.lower() for other in stems):
            free, number = f"{stem}-{number}", number + 1
        stems.append(free)
    return stems

"""What a comparison of groups finds: a test, displacements of objects, held-out errors; as text, tables and figures."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray
from nearer._common.formatting import decimals, format_interval, format_level, intcomma, pluralize, quote
from nearer._common.results import NOT_STORED, Result, Rows
from nearer._common.tables import coordinate_rows
from nearer.comparing.results import Comparison, is_significant, p_text
from nearer.data.labels import Labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ALPHA = 0.05
_MIN_GAIN = 0.01  # of error, below which maps of their own hardly predict better
_MAX_SHOWN = 10  # displacements in the text
_MAX_STEM_LENGTH = 40  # characters of a group's name in the name of a file
#: Relative: equal labels sum in another order, which must not make their statistic smaller.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class PermutationTest(Result):
    """A permutation test of groups, for the map as a whole and for each object.

    Attributes
    ----------
    statistic, p_value : float
    object_statistics, object_p_values : ndarray, shape (n,)
        The same for each object; these p-values hold for the family of all objects.
    n_permutations : int
    smallest_p : float
        Below which no p-value can fall with so few people, or so few permutations.
    expected_object_statistics : ndarray, shape (n,)
        Their means over permutations.
    largest : ndarray, shape (n_permutations,)
        The largest statistic of an object in each permutation, in descending order.
    """

    statistic: float
    p_value: float
    object_statistics: FloatArray
    object_p_values: FloatArray
    n_permutations: int
    smallest_p: float
    expected_object_statistics: FloatArray
    largest: FloatArray = field(default_factory=lambda: np.empty(0), metadata=NOT_STORED)

    def critical(self, alpha: float) -> float:
        """Return the statistic above which the p-value of an object is at most alpha; infinite if none is so large."""
        allowed = math.floor(alpha * (1 + self.n_permutations) * (1 + ROUNDING)) - 1
        if allowed < 0:
            return math.inf
        return float(self.largest[min(allowed, self.n_permutations - 1)]) * (1 + ROUNDING)


@dataclass(frozen=True, eq=False)
class Displacements(Result):
    """Where the objects of one group lie, relative to another.

    Attributes
    ----------
    vectors : ndarray, shape (n, p)
        From the first group to the second; NaN for objects that one of them was never asked about.
    lengths, corrected, lows, highs : ndarray, shape (n,)
        Lengths as they are, less what noise adds, and their interval, which holds for all objects at once; as shares of
        the spread of the map, its root mean square distance from the center. Without people only the first is known,
        and with too few of them the high end is infinite.
    """

    vectors: FloatArray
    lengths: FloatArray
    corrected: FloatArray
    lows: FloatArray
    highs: FloatArray


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
        The lapse rate in each group.
    test : PermutationTest or None
        Of all groups at once; None where the comparisons do not say who answered.
    within : bool
        Whether people are in several groups, and labels were permuted within people.
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
    test: PermutationTest | None
    within: bool
    pairs: tuple[PairOfGroups, ...]
    prediction: CrossPrediction
    notes: tuple[str, ...] = ()

    @property
    def p_value(self) -> float | None:
        """The p-value of the test of all groups."""
        return None if self.test is None else self.test.p_value

    def summary(self) -> str:
        """Return groups, held-out errors, test, displacements and notes as text."""
        lines = [*self._heading(), *self._error_lines(), *self._test_lines(), *self._displacement_lines(), *self.notes]
        return "\n".join(lines)

    def _derived(self) -> Mapping[str, Any]:
        displaced = [[str(label) for label in self.objects[pair.is_displaced()].tolist()] for pair in self.pairs]
        return {**super()._derived(), "displaced": displaced}

    def _heading(self) -> list[str]:
        parts = []
        for k, (group, count) in enumerate(zip(self.groups, self.n_comparisons, strict=True)):
            people = "" if self.n_people is None else f"{pluralize(self.n_people[k], 'person', 'people')}, "
            parts.append(f"{quote(group)} ({people}{pluralize(count, 'comparison')})")
        return [f"groups: {'; '.join(parts)}", f"maps of {pluralize(self.common.shape[1], 'dimension')}"]

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
        return lines

    def _test_lines(self) -> list[str]:
        if self.test is None:
            return [
                "no test of groups or objects: the comparisons do not say who answered, and answers of one person are "
                "not independent of each other"
            ]
        how = f"labels permuted {'within' if self.within else 'over'} people"
        gains, lows = (np.nan_to_num(each, nan=-1.0) for each in (self.prediction.gains, self.prediction.gain_lows))
        gain, effect = float(gains.max()), ""
        if self.test.p_value <= _ALPHA and gain < _MIN_GAIN:
            better = f"hardly predict better (error lower by at most {gain:.3f})" if gain > 0 else "predict no better"
            effect = f"the groups differ, but maps of their own {better}; "
        elif self.test.p_value <= _ALPHA and not (lows > 0).any():
            effect = "maps of their own predict no group significantly better than that of all; "
        lines = [
            f"{effect}test of a difference: p = {p_text(self.test.p_value)} "
            f"({intcomma(self.test.n_permutations)} permutations; {how})"
        ]
        if self.test.smallest_p > 0.01:
            lines.append(f"with so few people no p-value can be below {p_text(self.test.smallest_p)}")
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
            if not len(displaced):
                lines.append(f"{between}: no object's displacement is significant (p > {_ALPHA}, permutation)")
                continue
            each = [
                f"{quote(str(self.objects[k]))} {by.corrected[k]:.2f} ({by.lows[k]:.2f} to {by.highs[k]:.2f})"
                for k in displaced[:_MAX_SHOWN]
            ]
            more = f" and {len(displaced) - _MAX_SHOWN} more" if len(displaced) > _MAX_SHOWN else ""
            intervals = f"shares of the spread with {format_level(self.prediction.level)} intervals"
            significant = f"p <= {_ALPHA}, all objects together"
            lines.append(f"{between}, displacements as {intervals} ({significant}): {', '.join(each)}{more}")
        return lines

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
        measured = ["length", "corrected_length", "low", "high", "p_value", "significant"]
        rows: list[list[Any]] = [["object", "from", "to", *(f"dx{k}" for k in axes), *measured]]
        for pair in self.pairs:
            moves, displaced = pair.displacements, pair.is_displaced()
            for i, label in enumerate(self.objects.tolist()):
                lengths = [float(each[i]) for each in (moves.lengths, moves.corrected, moves.lows, moves.highs)]
                p = None if pair.object_p_values is None else float(pair.object_p_values[i])
                ends = [pair.first, pair.second, *moves.vectors[i].tolist(), *lengths, p]
                rows.append([str(label), *ends, "yes" if displaced[i] else "no"])
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

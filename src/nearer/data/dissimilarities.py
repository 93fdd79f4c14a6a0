"""Dissimilarities: what people said of pairs of objects, for each person, and what they say together.

People use scales in their own ways, so that the judgments of each are standardized, z = (r - mean) / sd, before they
are averaged. Counts are pooled over people first, and then transformed:

    same or different    1 - P(same)                                the share of answers "different"
    free sorting         1 - P(same pile)                           Miller 1969; Rosenberg and Kim 1975
    confusions           -log sqrt(p_ij p_ji / (p_ii p_jj))         Shepard 1957; Luce 1963

Of confusions p_ij is the share of responses j to stimulus i, with half a response added to each cell (Krichevsky and
Trofimov 1981): the ratio does without the bias of people toward some responses. A nonmetric map takes the order of
these numbers alone, so that another increasing transformation gives the same map.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray
from nearer._common.findings import Finding
from nearer._common.formatting import pluralize

DissimilarityKind: TypeAlias = Literal["matrix", "ratings", "same-different", "confusions", "arrangement", "sorting"]
DISSIMILARITY_KINDS: tuple[DissimilarityKind, ...] = get_args(DissimilarityKind)
Direction: TypeAlias = Literal["different", "similar"]
#: How the direction of judgments is known.
Evidence: TypeAlias = Literal["option", "name", "diagonal", "kind", "assumed"]
#: What judgments of pairs are called, by their kind.
JUDGMENT_NOUNS = {
    "matrix": ("dissimilarity", "dissimilarities"),
    "ratings": ("rating", "ratings"),
    "same-different": ('answer "same" or "different"', 'answers "same" or "different"'),
    "confusions": ("response", "responses"),
    "arrangement": ("arranged distance", "arranged distances"),
    "sorting": ("pair of sorted objects", "pairs of sorted objects"),
}
_TRANSFORMATIONS = {
    "matrix": "Their order alone counts.",
    "ratings": "Ratings of each person are standardized, then averaged over people.",
    "same-different": 'The dissimilarity of a pair is 1 - P(same), the share of answers "different".',
    "confusions": "The dissimilarity of i and j is -log sqrt(p_ij p_ji / (p_ii p_jj)) (Shepard 1957), p_ij being the "
    "share of responses j to stimulus i, with half a response added to each cell.",
    "arrangement": "Distances of each person are divided by their root mean square, standardized, then averaged.",
    "sorting": "The dissimilarity of a pair is the share of people who put the two into different piles.",
}
_DIRECTIONS = {
    "option": "A large number means {word}, as was asked for (--high-is).",
    "name": "A large number means {word}, as the name of the column says.",
    "diagonal": "A large number means {word}, as the diagonal shows.",
    "assumed": "A large number was taken to mean {word}; --high-is {other} turns that round.",
}
_POOLED = ("same-different", "sorting")
_PRIOR_RESPONSES = 0.5  # added to each cell of a matrix of confusions


@dataclass(frozen=True, eq=False, repr=False)
class Dissimilarities:
    """Judgments, or counts, of pairs of n objects by k people.

    Attributes
    ----------
    sums : ndarray, shape (k, n, n)
        The sum over trials of what was said of an object (row) and another (column), larger for what is more different:
        ratings, or answers "different", or piles that differ. Of confusions: responses (column) to stimuli (row).
    trials : ndarray, shape (k, n, n)
        The number of these trials.
    objects : list of str
    kind : str
        One of `DISSIMILARITY_KINDS`.
    people : tuple of str or None
        None where it is not known who judged; k is 1 then.
    source : str
        The name of the file.
    high_is : {"different", "similar"}
        What a large value means in the file; those of similarities are turned round in ``sums``.
    known_by : {"option", "name", "diagonal", "kind", "assumed"}
        How that is known: from an option, the name of the column, the diagonal of the matrix, or not at all.
    columns : dict from str to str
        The columns that were read, by what they hold.
    findings : tuple of Finding
        What reading found out.
    n_bad : int
        Rows that could not be used.

    Examples
    --------
    >>> sums = np.array([[[0, 1, 6], [0, 0, 7], [0, 0, 0]], [[0, 3, 4], [0, 0, 5], [0, 0, 0]]])
    >>> found = Dissimilarities(sums, (sums > 0) * 1.0, ["a", "b", "c"], "ratings", ("p1", "p2"))
    >>> found
    Dissimilarities(ratings: 3 objects, 2 people, 3 of 3 pairs)
    >>> found.combined().round(2).tolist()
    [-1.31, 0.25, 1.06]
    """

    sums: FloatArray
    trials: FloatArray
    objects: list[str]
    kind: DissimilarityKind
    people: tuple[str, ...] | None = None
    source: str = "table"
    high_is: Direction = "different"
    known_by: Evidence = "kind"
    columns: dict[str, str] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    n_bad: int = 0

    @property
    def n_objects(self) -> int:
        """The number of objects."""
        return len(self.objects)

    @property
    def n_answers(self) -> int:
        """How many judgments there are."""
        return round(float(np.sum(self.trials)))

    @property
    def pairs(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The two objects of each pair, (N,) each, N = n (n - 1) / 2: the order of all that holds a pair."""
        first, second = np.triu_indices(self.n_objects, 1)
        return first, second

    @cached_property
    def of_people(self) -> FloatArray:
        """The dissimilarity of each pair to each person, (k, N); NaN where there is none."""
        if self.kind == "confusions":
            return np.array([shepard_distances(counts)[self.pairs] for counts in self.sums])
        sums, trials = (_both_ways(each, self.pairs) for each in (self.sums, self.trials))
        return np.divide(sums, trials, out=np.full(sums.shape, np.nan), where=trials > 0)

    @cached_property
    def counted(self) -> NDArray[np.bool_]:
        """The people who rank pairs, (k,): all but those who say the same of all."""
        values = self.of_people
        if self.kind in _POOLED:
            return np.atleast_1d((~np.isnan(values)).any(axis=1))
        low, high = np.nan_to_num(values, nan=np.inf).min(axis=1), np.nan_to_num(values, nan=-np.inf).max(axis=1)
        ranks: NDArray[np.bool_] = np.atleast_1d(high > low)
        return ranks

    @cached_property
    def standardized(self) -> FloatArray:
        """The dissimilarities of each person with mean 0 and variance 1, (k, N); NaN for those who do not count."""
        values = np.where(self.counted[:, None], self.of_people, np.nan)
        n = np.maximum(np.sum(~np.isnan(values), axis=1, keepdims=True), 1)
        centered = values - np.nansum(values, axis=1, keepdims=True) / n
        spread = np.sqrt(np.nansum(centered**2, axis=1, keepdims=True) / n)
        return np.divide(centered, spread, out=np.full(values.shape, np.nan), where=spread > 0)

    def combined(self, weights: FloatArray | None = None) -> FloatArray:
        """Return what people say together of each pair, (N,), with weights of people, (k,); NaN where nobody judged.

        Means of standardized judgments, or transformed counts; see the module.
        """
        weights = np.ones(len(self.sums)) if weights is None else weights
        if self.kind == "confusions":
            return shepard_distances(np.tensordot(weights, self.sums, 1))[self.pairs]
        if self.kind in _POOLED:
            sums, trials = (_both_ways(each, self.pairs) for each in (self.sums, self.trials))
        else:
            sums, trials = np.nan_to_num(self.standardized), ~np.isnan(self.standardized)
        totals = weights @ trials
        return np.divide(weights @ sums, totals, out=np.full(totals.shape, np.nan), where=totals > 0)

    def __repr__(self) -> str:
        parts = [pluralize(self.n_objects, "object")]
        if self.people is not None:
            parts.append(pluralize(len(self.people), "person", "people"))
        known = int((~np.isnan(self.combined())).sum())
        return f"Dissimilarities({self.kind}: {', '.join(parts)}, {known} of {pluralize(len(self.pairs[0]), 'pair')})"


def describe_judgments(kind: str, high_is: str, known_by: str) -> str:
    """Return what judgments of pairs are, which way they point, how that is known, and how they were transformed."""
    other = "similar" if high_is == "different" else "different"
    direction = _DIRECTIONS.get(known_by, "").format(word=high_is, other=other)
    return " ".join(filter(None, [direction, _TRANSFORMATIONS[kind]]))


def shepard_distances(counts: FloatArray) -> FloatArray:
    """Return -log sqrt(p_ij p_ji / (p_ii p_jj)) of counts of responses to stimuli, (n, n); NaN for a stimulus without.

    Examples
    --------
    >>> shepard_distances(np.array([[79.5, 19.5], [9.5, 89.5]])).round(3).tolist()
    [[0.0, 1.792], [1.792, 0.0]]
    """
    shares = counts + _PRIOR_RESPONSES
    with np.errstate(invalid="ignore"):
        logs = np.log(shares / shares.sum(axis=1, keepdims=True))
    logs[counts.sum(axis=1) == 0] = np.nan
    diagonal = np.diagonal(logs)
    found: FloatArray = (diagonal + diagonal[:, None] - logs - logs.T) / 2
    np.fill_diagonal(found, 0.0)
    return found


def _both_ways(values: FloatArray, pairs: tuple[NDArray[np.intp], NDArray[np.intp]]) -> FloatArray:
    """Return the sums of the two orders of each pair, (k, N)."""
    a, b = pairs
    total: FloatArray = np.asarray(values[:, a, b] + values[:, b, a], dtype=np.float64)
    return total

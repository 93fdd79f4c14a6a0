"""Ranks over many data sets: Friedman's test, and Nemenyi's critical difference (Demsar, JMLR 2006).

In every block, a data set at a size, k methods are ranked by their median error over the trials that all of them have,
1 for the best, ties sharing the mean of their ranks. With N blocks two mean ranks differ at level alpha if they are
further apart than

    CD = q / sqrt(2) * sqrt(k (k + 1) / (6 N)),

q the upper alpha point of the studentized range of k values. Sizes of one data set are not independent of each other,
so that the true level is above the nominal one: read a gap just above CD with care.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import friedmanchisquare, rankdata, studentized_range

from benchmarks.accuracy.entries import LIMIT, METHODS
from benchmarks.records import Record

ALPHA = 0.05


@dataclass(frozen=True)
class Ranking:
    """Mean ranks of methods, best first.

    Attributes
    ----------
    methods : tuple of str
    mean_ranks : tuple of float
    firsts : tuple of int
        In how many blocks each method was the best, alone or together with others.
    n_blocks : int
        Data sets times sizes on which all methods were run.
    n_left_out : int
        Those on which some method is missing.
    p_value : float
        Of Friedman's test that all methods are equally good; NaN for fewer than three methods.
    critical_difference : float
    """

    methods: tuple[str, ...]
    mean_ranks: tuple[float, ...]
    firsts: tuple[int, ...]
    n_blocks: int
    n_left_out: int
    p_value: float
    critical_difference: float

    def groups(self) -> list[tuple[int, int]]:
        """Return the largest runs of methods, as first and last place, within one critical difference."""
        runs: list[tuple[int, int]] = []
        for first, rank in enumerate(self.mean_ranks):
            last = max(place for place, other in enumerate(self.mean_ranks) if other <= rank + self.critical_difference)
            if last > first and (not runs or last > runs[-1][1]):
                runs.append((first, last))
        return runs


def critical_difference(n_methods: int, n_blocks: int, alpha: float = ALPHA) -> float:
    """Return Nemenyi's critical difference of mean ranks.

    Examples
    --------
    Demsar (2006) has q / sqrt(2) = 2.569 for four methods.

    >>> round(critical_difference(4, 14), 2)
    1.25
    """
    q = studentized_range.ppf(1 - alpha, n_methods, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6 * n_blocks)))


def rank_methods(records: Iterable[Record]) -> Ranking | None:
    """Rank the methods of some records; None if there are fewer than two, or no block has all of them.

    A fit that ran out of time counts as worse than any other.
    """
    blocks: dict[tuple[str, int], dict[str, dict[int, float]]] = {}
    for record in records:
        if record["method"] != LIMIT:
            error = np.inf if record["error"] is None else record["error"]
            block = blocks.setdefault((record["data"], record["size"]), {})
            block.setdefault(record["method"], {})[record["trial"]] = error
    present = {method for block in blocks.values() for method in block}
    methods = [method for method in METHODS if method in present]
    medians = [found for block in blocks.values() if (found := _paired_medians(block, methods)) is not None]
    if len(methods) < 2 or not medians:
        return None
    ranks = np.array([rankdata(row) for row in medians])
    mean = ranks.mean(axis=0)
    order = np.argsort(mean, kind="stable")
    firsts = (ranks == ranks.min(axis=1, keepdims=True)).sum(axis=0)
    enough = len(methods) > 2 and len(ranks) > 1
    return Ranking(
        methods=tuple(methods[place] for place in order),
        mean_ranks=tuple(mean[order].tolist()),
        firsts=tuple(firsts[order].tolist()),
        n_blocks=len(ranks),
        n_left_out=len(blocks) - len(ranks),
        p_value=float(friedmanchisquare(*ranks.T).pvalue) if enough else np.nan,
        critical_difference=critical_difference(len(methods), len(ranks)),
    )


def _paired_medians(block: dict[str, dict[int, float]], methods: Sequence[str]) -> list[float] | None:
    """Return the median of each method over the trials that all of them have, or None if there is no such trial."""
    shared = set.intersection(*(set(block.get(method, {})) for method in methods))
    return [float(np.median([block[method][trial] for trial in shared])) for method in methods] if shared else None

"""Rows of records: one for each data set, size and method, with medians over the trials; calibration and ranks.

Calibration is kept as counts, so that records of many trials can be pooled.

Ranks over many data sets: Friedman's test, and Nemenyi's critical difference (Demsar, JMLR 2006).

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
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray
from scipy.stats import friedmanchisquare, rankdata, studentized_range

from benchmarks.accuracy.datasets import DATA_SETS
from benchmarks.accuracy.entries import LIMIT, METHODS
from benchmarks.records import Record
from benchmarks.schema_checks import list_of, number, refuse
from nearer.evaluation.metrics import ReliabilityCurve, reliability_curve

N_BINS = 15
Counts = list[list[float]]


def reliability(probability: NDArray[np.float64], answers: NDArray[np.int8]) -> Counts:
    """Count predictions by their confidence.

    Parameters
    ----------
    probability : array of shape (m,)
        That the answer is +1.
    answers : array of {-1, +1}, shape (m,)

    Returns
    -------
    list of 3 lists of length 15
        For each bin: predictions, the sum of their confidences, and how many were right (of a confidence of exactly
        one half, half).

    Examples
    --------
    >>> counts = reliability(np.array([0.9, 0.1, 0.9]), np.array([1, -1, -1], dtype=np.int8))
    >>> [row[12] for row in counts]
    [3.0, 2.7, 2.0]
    """
    curve = reliability_curve(probability, answers, n_bins=N_BINS)
    means = (np.ones(N_BINS), curve.confidence, curve.right)
    return [np.nan_to_num(curve.weight * mean).round(6).tolist() for mean in means]


def check_counts(value: Any, place: str) -> None:
    """Want what `reliability` returns, of at least one prediction."""
    list_of(list_of(number(0)), least=3)(value, place)
    if [len(row) for row in value] != [N_BINS] * 3 or not sum(value[0]) > 0:
        refuse(place, f"three lists of {N_BINS} counts that are not all 0", value)


def curve_of(counts: Counts) -> ReliabilityCurve:
    """Return the curve that counts belong to.

    Examples
    --------
    >>> curve_of([[2.0, 0.0], [1.2, 0.0], [1.0, 0.0]]).confidence
    array([0.6, nan])
    """
    number, confidence, right = np.asarray(counts)
    seen = np.where(number > 0, number, np.nan)
    return ReliabilityCurve(number, confidence / seen, right / seen)


def expected_calibration_error(counts: Counts) -> float:
    """Return the mean gap between confidence and share of right predictions.

    Examples
    --------
    >>> expected_calibration_error(reliability(np.array([0.8, 0.8]), np.array([1, -1], dtype=np.int8)))
    0.3
    """
    return round(curve_of(counts).error, 9)


def pooled(many: Sequence[Counts]) -> Counts:
    """Return the counts of several records together, each record with the same weight.

    Examples
    --------
    >>> pooled([[[1.0], [0.8], [1.0]], [[9.0], [9.0], [0.0]]])
    [[2.0], [1.8], [1.0]]
    """
    shares = [np.asarray(counts) / np.sum(counts[0]) for counts in many]
    return [list(map(float, row)) for row in np.sum(shares, axis=0)]


def log_loss(probability: NDArray[np.float64], answers: NDArray[np.int8]) -> float:
    """Return the mean negative logarithm of the probability of what was answered; 0 and 1 count as the next float.

    Examples
    --------
    >>> round(log_loss(np.array([0.5, 0.5]), np.array([1, -1], dtype=np.int8)), 4)
    0.6931
    """
    tiny = np.finfo(np.float64).eps
    chance = np.where(answers > 0, probability, 1 - probability).clip(tiny, 1 - tiny)
    return float(-np.log(chance).mean())


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


class AccuracyRow(TypedDict):
    """Figures of one method on one data set at one size, medians over trials; None where there is no such figure."""

    data: str
    size: int
    method: str
    trials: int
    median: float | None
    lower_quartile: float | None
    upper_quartile: float | None
    map_median: float | None
    given_median: float | None
    log_loss: float | None
    ece: float | None
    limit: float | None
    seconds: float
    n_warnings: int
    n_without_map: int


def summary_rows(records: Iterable[Record]) -> list[AccuracyRow]:
    """Summarize records; data sets and methods in the order of the benchmark, sizes rising."""
    groups: dict[tuple[str, int, str], list[Record]] = {}
    for record in records:
        groups.setdefault((record["data"], record["size"], record["method"]), []).append(record)
    sets, methods = list(DATA_SETS), list(METHODS)
    keys = sorted(groups, key=lambda key: (sets.index(key[0]), key[1], methods.index(key[2])))
    limits = known_limits([record for group in groups.values() for record in group])
    return [_row(*key, groups[key], limits.get(key[:2])) for key in keys]


def known_limits(records: Sequence[Record]) -> dict[tuple[str, int], float]:
    """Return the error of the best possible predictor where it was run, or is known, by data set and size.

    Examples
    --------
    >>> known_limits([{"data": "synthetic", "size": 200, "method": "STE", "error": 0.4}])
    {('synthetic', 200): 0.379}
    """
    limits = {}
    for data, size in {(record["data"], record["size"]) for record in records}:
        found = [
            record["error"] for record in records
            if (record["data"], record["size"], record["method"]) == (data, size, LIMIT)
        ]  # fmt: skip
        if found:
            limits[data, size] = float(np.median(found))
        elif size in DATA_SETS[data].limits:
            limits[data, size] = DATA_SETS[data].limits[size]
    return limits


def _row(data: str, size: int, method: str, records: Sequence[Record], limit: float | None) -> AccuracyRow:
    errors = [record["error"] for record in records if record["error"] is not None]
    lower, median, upper = np.quantile(errors, [0.25, 0.5, 0.75]).tolist() if errors else (None, None, None)
    return AccuracyRow(
        data=data,
        size=size,
        method=method,
        trials=len(records),
        median=median,
        lower_quartile=lower,
        upper_quartile=upper,
        map_median=_median(records, "error_map"),
        given_median=_median(records, "error_given"),
        log_loss=_median(records, "log_loss"),
        ece=_median(records, "ece"),
        limit=limit,
        seconds=_median(records, "seconds") or 0.0,
        n_warnings=sum(record["n_warnings"] for record in records),
        n_without_map=len(records) - len(errors),
    )


def _median(records: Sequence[Record], name: str) -> float | None:
    values = [record[name] for record in records if record[name] is not None]
    return float(np.median(values)) if values else None


class CalibrationRow(TypedDict):
    """How far the probabilities of a method can be believed, over all data sets with wrong answers."""

    method: str
    ece: float
    log_loss: float
    counts: list[list[float]]


def calibration_rows(records: Iterable[Record]) -> list[CalibrationRow]:
    """Pool noisy and human data sets, each record with the same weight; methods without probabilities have no row.

    The ``ece`` is the mean over the records, each with an error of its own, and not that of the pooled ``counts``, in
    which too much confidence on one data set and too little on another would cancel.
    """
    groups: dict[str, list[Record]] = {}
    for record in records:
        if record["reliability"] is not None and DATA_SETS[record["data"]].noisy:
            groups.setdefault(record["method"], []).append(record)
    return [
        CalibrationRow(
            method=method,
            ece=float(np.mean([record["ece"] for record in groups[method]])),
            log_loss=float(np.mean([record["log_loss"] for record in groups[method]])),
            counts=pooled([record["reliability"] for record in groups[method]]),
        )
        for method in METHODS
        if method in groups
    ]

"""Records become rows: one for each data set, size and method, with medians over the trials."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypedDict

import numpy as np

from benchmarks.accuracy.calibration_table import pooled
from benchmarks.accuracy.datasets import DATA_SETS
from benchmarks.accuracy.entries import LIMIT, METHODS
from benchmarks.records import Record


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

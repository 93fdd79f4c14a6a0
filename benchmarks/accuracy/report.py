"""The report of `python -m benchmarks accuracy`: which methods and data sets, tables in Markdown, notes and files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np

from benchmarks.accuracy.datasets import DATA_SETS, DataSet, missing_sentence
from benchmarks.accuracy.entries import ENTRIES, LIMIT, METHODS, PEERS, TIMEOUT
from benchmarks.accuracy.run import AccuracyRun
from benchmarks.accuracy.summary import (
    ALPHA,
    AccuracyRow,
    CalibrationRow,
    Ranking,
    calibration_rows,
    rank_methods,
    summary_rows,
)
from benchmarks.records import Record, write_tables
from nearer._common.formatting import decimals

TUNED_PEERS = tuple(peer for peer in PEERS if peer.endswith("-cv"))


class Contest(NamedTuple):
    """Median errors of two maps on one data set at one size, over the trials that it and all tuned peers have run.

    ``peer`` is the best of these peers.
    """

    method: str
    data: str
    size: int
    error: float
    peer: str
    peer_error: float

    @property
    def is_won(self) -> bool:
        """Whether the map is better than that of the peer."""
        return self.error < self.peer_error


def contests(records: Sequence[Record]) -> list[Contest]:
    """Return a contest for each of our methods, data set and size for which all tuned peers have run.

    Examples
    --------
    >>> ours = {"data": "cars", "size": 60, "method": "STE", "trial": 0, "error_map": 0.3}
    >>> theirs = [ours | {"method": peer, "error_map": 0.4} for peer in TUNED_PEERS]
    >>> contests([ours, *theirs])[0].is_won
    True
    """
    errors: dict[tuple[str, int], dict[str, dict[int, float]]] = {}
    for record in records:
        if record["error_map"] is not None:
            methods = errors.setdefault((record["data"], record["size"]), {})
            methods.setdefault(record["method"], {})[record["trial"]] = record["error_map"]
    found = []
    for (data, size), methods in errors.items():
        for method in ENTRIES:
            shared = set.intersection(*(set(methods.get(each, {})) for each in (method, *TUNED_PEERS)))
            if not shared:
                continue
            ours, *theirs = (
                float(np.median([methods[each][trial] for trial in shared])) for each in (method, *TUNED_PEERS)
            )
            error, peer = min(zip(theirs, TUNED_PEERS, strict=True))
            found.append(Contest(method, data, size, ours, peer, error))
    return found


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table with its columns aligned, the first to the left and the others to the right.

    Examples
    --------
    >>> print(markdown(["method", "200"], [["STE", "0.4"]]))
    | method | 200 |
    | :----- | --: |
    | STE    | 0.4 |
    """
    widths = [max(3, *(len(row[column]) for row in (head, *rows))) for column in range(len(head))]
    rule = [f":{'-' * (width - 1)}" if column == 0 else f"{'-' * (width - 1)}:" for column, width in enumerate(widths)]
    lines = [head, rule, *rows]
    return "\n".join(
        "| "
        + " | ".join(
            cell.ljust(w) if c == 0 else cell.rjust(w) for c, (cell, w) in enumerate(zip(line, widths, strict=True))
        )
        + " |"
        for line in lines
    )


def accuracy_text(
    rows: Sequence[AccuracyRow],
    ranking: Ranking | None,
    maps: Sequence[Contest],
    calibration: Sequence[CalibrationRow],
    notes: Sequence[str],
) -> str:
    """Return all tables, with what a reader must know about them."""
    parts = [_ranks(ranking)] if ranking else []
    parts += [_maps(maps)] if maps else []
    parts += [_data_set(name, [row for row in rows if row["data"] == name]) for name in _names(rows)]
    parts += [_calibration(calibration)] if calibration else []
    parts += ["\n".join(f"- {note}" for note in notes)] if notes else []
    return "\n\n".join(parts) + "\n"


def _names(rows: Sequence[AccuracyRow]) -> list[str]:
    return list(dict.fromkeys(row["data"] for row in rows))


def _ranks(ranking: Ranking) -> str:
    chance = "" if np.isnan(ranking.p_value) else f"; Friedman's test: p = {ranking.p_value:.1g}"
    table = markdown(
        ["method", "mean rank", "best in"],
        [
            [method, f"{rank:.2f}", str(first)]
            for method, rank, first in zip(ranking.methods, ranking.mean_ranks, ranking.firsts, strict=True)
        ],
    )
    return (
        f"### Ranks\n\nMean rank over {ranking.n_blocks} pairs of data set and size{chance}. Ranks that differ by less "
        f"than {ranking.critical_difference:.2f} (Nemenyi, level {ALPHA}) cannot be distinguished.\n\n{table}"
    )


def _maps(contests: Sequence[Contest]) -> str:
    methods = dict.fromkeys(contest.method for contest in contests)
    lost = {method: [each for each in contests if each.method == method and not each.is_won] for method in methods}
    played = {method: sum(each.method == method for each in contests) for method in methods}
    best = sorted(methods, key=lambda method: len(lost[method]) / played[method])
    table = markdown(
        ["method", "better", "of"],
        [[method, str(played[method] - len(lost[method])), str(played[method])] for method in best],
    )
    exceptions = ", ".join(
        f"{each.data} {each.size} ({decimals(each.error)} against {decimals(each.peer_error)} of {each.peer})"
        for each in lost[best[0]]
    )
    return (
        "### Maps\n\nPairs of data set and size in which the p-dimensional map alone, `embedding_`, has a smaller "
        "median error than the map of every cross-validated estimator of cblearn, over the trials that all of them "
        "have run.\n\n"
        f"{table}\n\nWhere that of {best[0]} has not: {exceptions or 'nowhere'}."
    )


def _data_set(name: str, rows: Sequence[AccuracyRow]) -> str:
    data = DATA_SETS[name]
    sizes = sorted({row["size"] for row in rows})
    found = {(row["method"], row["size"]): row for row in rows}
    best = {
        size: min((row["median"] for row in rows if row["median"] is not None and _is_ranked(row, size)), default=None)
        for size in sizes
    }
    body = [
        [method, *(_figure(found.get((method, size)), best[size]) for size in sizes)]
        for method in dict.fromkeys(row["method"] for row in rows)
        if method != LIMIT
    ]
    limits = {row["size"]: row["limit"] for row in rows if row["limit"] is not None}
    if limits:
        body.append(["best possible", *(decimals(limits[size]) if size in limits else "-" for size in sizes)])
    counts = sorted({row["trials"] for row in rows})
    over = " to ".join(map(str, dict.fromkeys((counts[0], counts[-1])))) + (" trial" if counts == [1] else " trials")
    return (
        f"### {name}: {data.title}\n\nMedian held-out error over {over}, maps in {data.n_components} "
        f"dimensions, by number of comparisons.\n\n{markdown(['method', *map(str, sizes)], body)}"
    )


def _is_ranked(row: AccuracyRow, size: int) -> bool:
    return row["size"] == size and row["method"] != LIMIT


def _figure(row: AccuracyRow | None, best: float | None) -> str:
    if row is None:
        return ""
    if row["median"] is None:
        return "-"
    text = decimals(row["median"])
    return f"**{text}**" if best is not None and text == decimals(best) else text


def _calibration(rows: Sequence[CalibrationRow]) -> str:
    table = markdown(
        ["method", "calibration error", "log loss"],
        [[row["method"], decimals(row["ece"]), decimals(row["log_loss"])] for row in rows],
    )
    return (
        "### Calibration\n\nExpected calibration error and log loss of `predict_proba` on held-out answers as they "
        f"were given, mean over all trials of the noisy and the human data sets.\n\n{table}"
    )


_GROUPS = {"own": tuple(ENTRIES), "peers": PEERS}


def chosen_methods(names: Sequence[str], with_peers: bool = True) -> tuple[list[str], list[str]]:
    """Return the methods that names stand for, in the order of the benchmark, and sentences about those left out.

    Parameters
    ----------
    names : sequence of str
        In any case; "own" and "peers" stand for groups; none for all.
    with_peers : bool
        Whether peers may take part.

    Examples
    --------
    >>> chosen_methods(["ste", "dmoe"])
    (['DMOE', 'STE'], [])
    """
    known = {method.lower(): (method,) for method in METHODS} | _GROUPS
    unknown = [name for name in names if name.lower() not in known]
    if unknown:
        raise ValueError(f"method {unknown[0]} is not known; choose from own, peers, {', '.join(METHODS)}")
    wanted = {method for name in names for method in known[name.lower()]} or set(METHODS)
    notes, kept = [], []
    for method in METHODS:
        if method not in wanted or (method in PEERS and not with_peers):
            continue
        if method in PEERS or ENTRIES[method].is_there:
            kept.append(method)
        else:
            notes.append(f"{method} is left out: nearer.embedding has no {ENTRIES[method].needs} yet")
    if not kept:
        raise ValueError("; ".join(["no method is left to run", *notes]))
    return kept, notes


def chosen_data(names: Sequence[str]) -> tuple[list[DataSet], list[str]]:
    """Return the data sets that names stand for, all if there are none, and a sentence about those without data."""
    unknown = [name for name in names if name not in DATA_SETS]
    if unknown:
        raise ValueError(f"data set {unknown[0]} is not known; choose from {', '.join(DATA_SETS)}")
    wanted = [DATA_SETS[name] for name in names or DATA_SETS]
    missing = [data.name for data in wanted if not data.is_there]
    notes = [missing_sentence(missing)] if missing else []
    if len(missing) == len(wanted):
        raise ValueError(notes[0])
    return [data for data in wanted if data.is_there], notes


def size_notes(data: Sequence[DataSet], sizes: Sequence[int]) -> list[str]:
    """Say which sizes were lowered because too few rows would be left for the test."""
    notes = []
    for one in data:
        largest = one.largest_size()
        lowered = [size for size in sizes or one.sizes if size > largest]
        if lowered:
            notes.append(f"{one.name}: {lowered[0]} comparisons and more are lowered to {largest}, the most it allows")
    return notes


def record_notes(rows: Sequence[AccuracyRow], n_wanted: int, n_found: int) -> list[str]:
    """Say what is missing from the table, and which fits did not end."""
    notes = [f"{n_wanted - n_found} of {n_wanted} fits are not on file yet"] if n_found < n_wanted else []
    for method in dict.fromkeys(row["method"] for row in rows):
        lost = sum(row["n_without_map"] for row in rows if row["method"] == method)
        if lost:
            fits = "fit" if lost == 1 else "fits"
            notes.append(f"{method}: {lost} {fits} without a map, most often for taking more than {TIMEOUT:g} s")
    return notes


def write_report(run: AccuracyRun, records: Sequence[Record], notes: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """Write tables and figures; return the text and the figures for programs.

    Raises
    ------
    ValueError
        When there is nothing to report.
    """
    if not records:
        raise ValueError(f"there are no records of these methods and data sets in {run.folder}; run without --report")
    rows, ranking, calibration = summary_rows(records), rank_methods(records), calibration_rows(records)
    notes = [*notes, *record_notes(rows, len(run.units()), len(records)), *run.failures]
    maps = contests(records)
    text = accuracy_text(rows, ranking, maps, calibration, notes)
    write_tables(run.folder, text, rows)
    from benchmarks.accuracy.figures import draw_all

    written = draw_all(rows, ranking, calibration, run.folder)
    found = {"folder": str(run.folder), "notes": notes, "figures": written, "table": rows, "calibration": calibration}
    found["maps"] = [contest._asdict() for contest in maps]
    return text, {"benchmark": "accuracy", **found, "ranks": ranking and asdict(ranking)}

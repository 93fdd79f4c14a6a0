"""The command behind `python -m benchmarks accuracy`: which methods and data sets, what to say, what to write."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from benchmarks.accuracy.datasets import DATA_SETS, DataSet, missing_sentence
from benchmarks.accuracy.entries import ENTRIES, METHODS
from benchmarks.accuracy.peers import PEERS, TIMEOUT
from benchmarks.accuracy.ranks import rank_methods
from benchmarks.accuracy.run import AccuracyRun
from benchmarks.accuracy.summary import AccuracyRow, calibration_rows, summary_rows
from benchmarks.accuracy.table import accuracy_text, contests
from benchmarks.records import Record, write_tables

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
    try:
        from benchmarks.accuracy.figures import draw_all

        written = draw_all(rows, ranking, calibration, run.folder)
    except ImportError as error:
        sys.stderr.write(f"nearer: no figures: {error}\n")
        written = []
    found = {"folder": str(run.folder), "notes": notes, "figures": written, "table": rows, "calibration": calibration}
    found["maps"] = [contest._asdict() for contest in maps]
    return text, {"benchmark": "accuracy", **found, "ranks": ranking and asdict(ranking)}

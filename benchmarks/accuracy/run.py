"""Running the benchmark: which pieces of work are left, side by side, each kept as soon as it is done."""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from benchmarks.accuracy.datasets import DATA_SETS, DataSet
from benchmarks.accuracy.entries import ENTRIES, METHODS, PEERS, decides, fit_peers
from benchmarks.accuracy.summary import check_counts, expected_calibration_error, log_loss, reliability
from benchmarks.accuracy.trial import Predictions, Trial
from benchmarks.programs import MeasurementFailed, Program
from benchmarks.records import AMOUNT, SHARE, Interrupted, Record, RecordFile, side_by_side
from benchmarks.schema_checks import Check, maybe, string, whole
from nearer.evaluation.metrics import comparison_error, margins
from nearer.optimize.problems.margins import error_from_margins

#: Raised whenever the same seed would give other trials or other figures: old records then no longer count.
PROTOCOL_VERSION = 1
# Peers may run for hours next to our own methods: each has a file of its own, so that two runs never share one.
_OWN, _PEERS = "own.jsonl", "peers.jsonl"
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class Unit(NamedTuple):
    """What a record is identified by."""

    data: str
    size: int
    trial: int
    method: str


class Job(NamedTuple):
    """Methods that are run together: one of ours, or all peers that are left to do."""

    data: str
    size: int
    trial: int
    methods: tuple[str, ...]


def fingerprint(data: DataSet, size: int, method: str) -> str:
    """Return a short hash of everything but seed and trial that decides a record.

    Examples
    --------
    >>> fingerprint(DATA_SETS["d2"], 50, "STE") == fingerprint(DATA_SETS["d2"], 50, "CKL")
    False
    """
    what = [PROTOCOL_VERSION, data.name, data.n_components, method]
    what += decides(method, data.n_components, size, data.n_objects)
    return hashlib.sha256(repr(what).encode()).hexdigest()[:12]


def run_job(job: Job, seed: int, peer: Program | None) -> list[Record]:
    """Do a piece of work on one core and return its records, one for each method."""
    data = DATA_SETS[job.data]
    with threadpool_limits(limits=1):
        trial = data.draw(seed, job.trial, job.size)
        figures = _peers(job, trial, peer) if job.methods[0] in PEERS else [_own(job.methods[0], trial)]
    return [
        {
            "data": job.data,
            "seed": seed,
            "size": job.size,
            "trial": job.trial,
            "method": method,
            "fingerprint": fingerprint(data, job.size, method),
            "n_train": len(trial.train),
            "n_test": len(trial.test),
            **found,
        }
        for method, found in zip(job.methods, figures, strict=True)
    ]


def _own(method: str, trial: Trial) -> dict[str, Any]:
    start = time.perf_counter()
    found = ENTRIES[method].predict(trial)
    seconds = round(time.perf_counter() - start, 3)
    return {**judge(found, trial), "settings": found.settings, "n_warnings": found.n_warnings, "seconds": seconds}


def _peers(job: Job, trial: Trial, peer: Program | None) -> list[dict[str, Any]]:
    assert peer is not None, "a run with peers checks this before it starts"
    outcomes, maps = fit_peers(peer, job.methods, trial)
    figures = []
    for outcome in outcomes:
        method, settings = outcome.pop("method"), str(outcome.pop("settings"))
        figures.append({**judge_map(maps.get(method), trial), "settings": settings, **outcome})
    return figures


def judge(found: Predictions, trial: Trial) -> dict[str, Any]:
    """Compare predictions with the truth (``error``), and with the answers as they were given (all else).

    Returns
    -------
    dict
        ``error`` of what `predict` uses and ``error_map`` of the p-dimensional map, ties half; ``error_given`` as
        ``error``, on the answers that were given; ``log_loss``, ``ece`` and ``reliability`` of the probabilities.
    """
    counts = None if found.probability is None else reliability(found.probability, trial.answers)
    return {
        "error": error_from_margins(found.decision),
        "error_map": None if found.embedding is None else comparison_error(trial.test, found.embedding),
        "error_given": error_from_margins(found.decision * trial.answers),
        "log_loss": None if found.probability is None else log_loss(found.probability, trial.answers),
        "ece": None if counts is None else expected_calibration_error(counts),
        "reliability": counts,
    }


def judge_map(embedding: np.ndarray[Any, np.dtype[np.float64]] | None, trial: Trial) -> dict[str, Any]:
    """Judge a map alone; all figures are None if there is none, because time ran out."""
    if embedding is None or not np.isfinite(embedding).all():
        names = ("error", "error_map", "error_given", "log_loss", "ece", "reliability")
        return dict.fromkeys(names)
    return judge(Predictions(margins(trial.test, embedding), embedding), trial)


_FIGURES: dict[str, Check] = {
    **dict.fromkeys(("error", "error_map", "error_given", "ece"), maybe(SHARE)),
    "log_loss": maybe(AMOUNT), "reliability": maybe(check_counts), "seconds": AMOUNT, "n_warnings": whole(),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class AccuracyRun:
    """A run over data sets, sizes, trials and methods.

    Parameters
    ----------
    folder : Path
        Gets ``own.jsonl`` and ``peers.jsonl``; made if it is not there.
    data : sequence of DataSet
    methods : sequence of str
    peer : Program, optional
        cblearn; needed if peers are among the methods.
    sizes : sequence of int, optional
        Training sizes in place of each data set's own.
    n_trials, seed, n_jobs : int
    """

    folder: Path
    data: Sequence[DataSet] = tuple(DATA_SETS.values())
    methods: Sequence[str] = METHODS
    peer: Program | None = None
    sizes: Sequence[int] = ()
    n_trials: int = 10
    seed: int = 0
    n_jobs: int = 1
    _failures: list[str] = field(default_factory=list, init=False)

    @property
    def failures(self) -> tuple[str, ...]:
        """What went wrong, in a sentence each; the pieces of work concerned are tried again by the next run."""
        return tuple(self._failures)

    def units(self) -> list[Unit]:
        """Return all units: one data set after the other, large sizes first."""
        return [
            Unit(data.name, size, trial, method)
            for data in self.data
            for size in reversed(data.fitting_sizes(self.sizes))
            for trial in range(self.n_trials)
            for method in self.methods
            if not data.is_real or method in PEERS or not ENTRIES[method].needs_truth
        ]

    def finished(self) -> dict[Unit, Record]:
        """Return the records on file that this run would make again: same seed, same protocol, same grid."""
        wanted = {unit: fingerprint(DATA_SETS[unit.data], unit.size, unit.method) for unit in self.units()}
        found: dict[Unit, Record] = {}
        for name in (_OWN, _PEERS):
            file = RecordFile(self.folder / name)
            for record in file.read({"data": string}):
                if record["seed"] != self.seed:
                    continue
                if record["size"] is None:  # everything of this method before this line no longer counts
                    outdated = [
                        unit for unit in found if (unit.data, unit.method) == (record["data"], record["method"])
                    ]
                    for unit in outdated:
                        del found[unit]
                    continue
                unit = Unit(record["data"], record["size"], record["trial"], record["method"])
                if record["fingerprint"] == wanted.get(unit):
                    found[unit] = file.usable(record, _FIGURES)
        return found

    def on_file(self) -> list[Record]:
        """Return the records that are there, in the order of `units`, without running anything."""
        done = self.finished()
        return [done[unit] for unit in self.units() if unit in done]

    def forget(self, methods: Sequence[str]) -> None:
        """Make the records of methods on these data sets count no more, by a line that says so."""
        for method in methods:
            file = self._file(method)
            file.prepare()
            for data in self.data:
                mark = {"data": data.name, "seed": self.seed, "size": None, "trial": None, "method": method}
                file.append({**mark, "fingerprint": "again"})

    def jobs(self, units: Sequence[Unit]) -> list[Job]:
        """Put units together: the peers of a trial in one job, every other unit in one of its own."""
        grouped: dict[tuple[object, ...], list[Unit]] = {}
        for unit in units:
            grouped.setdefault((*unit[:3], "cblearn" if unit.method in PEERS else unit.method), []).append(unit)
        return [Job(*group[0][:3], tuple(unit.method for unit in group)) for group in grouped.values()]

    def execute(self) -> list[Record]:
        """Do what is left to do and return all records, in the order of `units`.

        Raises
        ------
        Interrupted
            On Ctrl-C. What was finished is on file.
        """
        units, done = self.units(), self.finished()
        jobs = self.jobs([unit for unit in units if unit not in done])
        if self.peer is None and any(job.methods[0] in PEERS for job in jobs):
            raise ValueError("peers are left to run, but no Python with cblearn was given")
        for file in {self._file(job.methods[0]) for job in jobs}:
            file.prepare()
        # disable=None: a bar on a terminal, silence in a log file.
        bar = tqdm(total=len(units), initial=len(done), desc="accuracy", unit="fit", disable=None)
        try:
            with bar, one_thread_each():
                calls = [(job, self.seed, self.peer) for job in jobs]
                for job, outcome in side_by_side(attempt, calls, self.n_jobs):
                    if isinstance(outcome, str):
                        self._failures.append(f"{job.data}, {job.size} comparisons, trial {job.trial}: {outcome}")
                        sys.stderr.write(f"nearer: {self._failures[-1]}\n")
                        continue
                    for record in outcome:
                        self._file(record["method"]).append(record)
                        done[Unit(job.data, job.size, job.trial, record["method"])] = record
                    bar.update(len(outcome))
        except KeyboardInterrupt:
            raise Interrupted(
                f"stopped with {len(done)} of {len(units)} tuned fits kept in {self.folder}; "
                "run the same command again (without --again) to go on"
            ) from None
        return [done[unit] for unit in units if unit in done]

    def _file(self, method: str) -> RecordFile:
        return RecordFile(self.folder / (_PEERS if method in PEERS else _OWN))


def attempt(job: Job, seed: int, peer: Program | None) -> tuple[Job, list[Record] | str]:
    """Do a piece of work and return its records, or what went wrong."""
    try:
        return job, run_job(job, seed, peer)
    except MeasurementFailed as failure:
        return job, str(failure)


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Let every process that is started meanwhile use one thread: the work is done side by side already."""
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value

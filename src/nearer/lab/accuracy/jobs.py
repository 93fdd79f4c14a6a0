"""One piece of work: a method, or all peers at once, in one trial; and the records that it leaves."""

from __future__ import annotations

import hashlib
import time
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from nearer.evaluation.metrics import comparison_error, margins
from nearer.lab.accuracy.calibration_table import expected_calibration_error, log_loss, reliability
from nearer.lab.accuracy.datasets import DATA_SETS, DataSet
from nearer.lab.accuracy.entries import ENTRIES, decides
from nearer.lab.accuracy.peers import PEERS, fit_peers
from nearer.lab.accuracy.trial import Predictions, Trial
from nearer.lab.common.programs import Program
from nearer.lab.common.records import Record
from nearer.problems.margins import error_from_margins

#: Raised whenever the same seed would give other trials or other figures: old records then no longer count.
PROTOCOL_VERSION = 1


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

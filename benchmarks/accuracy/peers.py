"""The peers: cblearn's estimators at their defaults and cross-validated, fitted under their own Python.

All peers of a trial share one process, so that imports are paid for once. It returns maps; they are judged here, like
every other map.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy import peer_worker
from benchmarks.accuracy.datasets import acts
from benchmarks.accuracy.trial import Trial
from benchmarks.paper.methods import Settings
from benchmarks.programs import MeasurementFailed, Program, reason

LOSSES = ("SOE", "GNMDS", "CKL", "STE", "TSTE")
PEERS = tuple(f"cblearn-{loss}{tuned}" for tuned in ("", "-cv") for loss in LOSSES)
N_FOLDS = 3
TIMEOUT = 60.0
#: Fits to folds choose settings and are thrown away: fewer iterations, and one start of SOE in place of ten.
TRYING: dict[str, Settings] = {loss: {"max_iter": 500, **({"n_init": 1} if loss == "SOE" else {})} for loss in LOSSES}


def peer_candidates(method: str, n_components: int) -> list[Settings]:
    """Return the settings that a peer may choose from; its defaults alone unless it is cross-validated.

    Examples
    --------
    >>> peer_candidates("cblearn-TSTE-cv", 10)
    [{'n_components': 10}, {'n_components': 5}, {'n_components': 2}]
    >>> peer_candidates("cblearn-CKL", 10)
    [{'n_components': 10}]
    """
    loss, p, half = loss_of(method), n_components, (n_components + 1) // 2
    if not method.endswith("-cv"):
        return [{"n_components": p}]
    if loss in ("STE", "TSTE"):  # the dimension is all that they have
        return [{"n_components": q} for q in sorted({p, half, min(p, 2)}, reverse=True)]
    name, *values = {"GNMDS": ("lambd", 0, 3, 10), "CKL": ("mu", 0, 1, 10), "SOE": ("margin", 0.1, 1, 3)}[loss]
    full: list[Settings] = [{"n_components": p, str(name): value} for value in values]
    # The defaults are among the candidates as they are, without naming the value: the fit is then made once.
    full[0].pop(str(name))
    return full + [{"n_components": half, str(name): values[1]}] * (half < p)


def loss_of(method: str) -> str:
    """Return the name of the estimator in cblearn.

    Examples
    --------
    >>> loss_of("cblearn-SOE-cv")
    'SOE'
    """
    return method.removeprefix("cblearn-").removesuffix("-cv")


def fold_of_rows(trial: Trial) -> NDArray[np.intp]:
    """Return the fold of each training row; rows of one act of judgment are in one fold."""
    act = acts(trial.train)
    order = np.random.default_rng(trial.folds_seed).permutation(act.max() + 1)
    return np.asarray((order % N_FOLDS)[act], dtype=np.intp)


def fit_peers(
    program: Program, methods: Sequence[str], trial: Trial, timeout: float = TIMEOUT
) -> tuple[list[dict[str, Any]], dict[str, NDArray[np.float64]]]:
    """Fit peers to the training rows of a trial, in one process.

    Returns
    -------
    outcomes : list of dict
        For each method ``choice``, ``settings``, ``seconds``, ``n_warnings`` and, without a map, ``timeout`` or
        ``failure``.
    maps : dict from method to ndarray of shape (n, p)

    Raises
    ------
    MeasurementFailed
        When the process ended without a result.
    """
    with TemporaryDirectory(prefix="nearer-peers-") as folder:
        data, maps, request = (Path(folder) / name for name in ("data.npz", "maps.npz", "request.json"))
        np.savez(data, rows=trial.train.rows, folds=fold_of_rows(trial))
        asked = {
            "data": str(data), "maps": str(maps), "n_objects": trial.train.n_objects, "seed": trial.start_seed,
            "timeout": timeout, "trying": TRYING, "tasks": [
                {"method": name, "loss": loss_of(name), "candidates": peer_candidates(name, trial.n_components)}
                for name in methods
            ],
        }  # fmt: skip
        request.write_text(json.dumps(asked), encoding="utf-8")
        command = [program.python, str(peer_worker.__file__), str(request)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise MeasurementFailed(f"{program.name} failed: {reason(done)}")
        with np.load(maps) as stored:
            # The last lines: whatever cblearn has to say comes before them.
            return [json.loads(line) for line in done.stdout.splitlines()[-len(methods) :]], dict(stored)

"""The methods of the benchmark, by name: each a function from a trial to its predictions.

The peers are cblearn's estimators at their defaults and cross-validated, fitted under a Python of their own.
"""

from __future__ import annotations

import json
import subprocess
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit
from sklearn.exceptions import ConvergenceWarning

from benchmarks.accuracy import peer_worker
from benchmarks.accuracy.datasets import acts
from benchmarks.accuracy.trial import Predictions, Trial, posterior_vote
from benchmarks.paper.methods import Settings, candidates, tune
from benchmarks.programs import MeasurementFailed, Program, reason
from nearer import embedding

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


Predictor = Callable[[Trial], Predictions]


@dataclass(frozen=True)
class Entry:
    """A method of our own.

    Parameters
    ----------
    predict : callable
        From a `Trial` to its `Predictions`.
    grid : callable
        From training size and number of objects to what the settings are chosen from, for the fingerprint.
    version : int
        Raised when the same grid gives other figures than before: older records then no longer count.
    needs_truth : bool
        Whether it can run on synthetic data alone.
    needs : str
        The estimator of `nearer.embedding` without which it cannot run.
    """

    predict: Predictor
    grid: Callable[[int, int], Any] = lambda size, n_objects: ()
    version: int = 1
    needs_truth: bool = False
    needs: str = ""

    @property
    def is_there(self) -> bool:
        """Whether this version of the package has what the method needs."""
        return not self.needs or hasattr(embedding, self.needs)


def plain(name: str) -> Predictor:
    """Return a predictor that fits an estimator at its defaults: it tunes itself, or needs no tuning."""

    def predict(trial: Trial) -> Predictions:
        model = getattr(embedding, name)(n_components=trial.n_components, random_state=trial.start_seed)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            model.fit(trial.train)
        early = sum(issubclass(warning.category, ConvergenceWarning) for warning in caught)
        return predictions_of(model, trial, early)

    return predict


def tuned(method: str) -> Predictor:
    """Return a predictor that chooses from the grid of a method by cross-validation; acts of judgment stay whole."""

    def predict(trial: Trial) -> Predictions:
        grid = wide_grid(method, len(trial.train), trial.train.n_objects)
        found = tune(method, trial.train, trial.n_components, trial.folds_seed, grid)
        return predictions_of(found.estimator, trial, found.n_warnings)

    return predict


def wide_grid(method: str, size: int, n_objects: int) -> list[Settings]:
    """Return the grid of the paper for a method over points, and stronger penalties for wrong answers.

    Examples
    --------
    >>> [settings["trace"] for settings in wide_grid("STE-X", 200, 100)][-3:]
    [0.1, 0.2, 0.35]
    """
    stronger = (0.01, 0.03, 0.1, 0.3) if method == "SOE-X" else (0.2, 0.35)
    heavier = [{"trace": trace, "alpha": 3.0} for trace in (0.0, 0.001, 0.01)] if method == "TSTE-X" else []
    return candidates(method, size, n_objects) + heavier + [{"trace": trace} for trace in stronger]


def predictions_of(model: Any, trial: Trial, n_warnings: int) -> Predictions:
    """Return what a fitted estimator says about the test questions."""
    probability = np.asarray(model.predict_proba(trial.test))[:, 1]
    if isinstance(model, embedding.PosteriorEmbedding):
        decision = np.asarray(logit(probability))  # which is its decision function; twice would take twice as long
    else:
        decision = model.decision_function(trial.test)
    return Predictions(
        decision=decision,
        embedding=model.embedding_,
        probability=probability,
        settings=str(model),
        n_warnings=n_warnings,
    )


def _over_points(name: str) -> Entry:
    method = f"{name}-X"
    return Entry(tuned(method), lambda size, n_objects: wide_grid(method, size, n_objects))


#: The best possible predictor of synthetic data: drawn as a line, and not ranked.
LIMIT = "limit"
ENTRIES: dict[str, Entry] = {
    "DMOE": Entry(plain("DMOE"), version=4),
    "Posterior": Entry(plain("PosteriorEmbedding"), version=4, needs="PosteriorEmbedding"),
    "BestOf": Entry(plain("BestOf"), version=3, needs="BestOf"),
    **{name: _over_points(name) for name in ("GNMDS", "STE", "TSTE", "CKL", "SOE")},
    LIMIT: Entry(posterior_vote, version=2, needs_truth=True),
}
#: Every method, in the order of tables and legends.
METHODS = (*ENTRIES, *PEERS)


def decides(method: str, n_components: int, size: int, n_objects: int) -> list[Any]:
    """Return all that decides the predictions of a method besides the data and the seed."""
    if method in PEERS:
        return [peer_candidates(method, n_components), TRYING[loss_of(method)], N_FOLDS, TIMEOUT]
    entry = ENTRIES[method]
    return [entry.version, entry.grid(size, n_objects)]

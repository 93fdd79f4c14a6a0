"""The methods of the benchmark, by name: each a function from a trial to its predictions.

A method sees the training comparisons and the questions of the test, never their answers. One that knows how synthetic
data came about (the best possible predictor, `LIMIT`) is an entry like any other, with ``needs_truth=True``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logit
from sklearn.exceptions import ConvergenceWarning

from benchmarks.accuracy.limit import posterior_vote
from benchmarks.accuracy.peers import N_FOLDS, PEERS, TIMEOUT, TRYING, loss_of, peer_candidates
from benchmarks.accuracy.trial import Predictions, Trial
from benchmarks.paper.methods import Settings, candidates, tune
from nearer import embedding

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
    """Return all that decides the predictions of a method beside the data and the seed."""
    if method in PEERS:
        return [peer_candidates(method, n_components), TRYING[loss_of(method)], N_FOLDS, TIMEOUT]
    entry = ENTRIES[method]
    return [entry.version, entry.grid(size, n_objects)]

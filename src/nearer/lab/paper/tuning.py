"""One unit of work: tune a method on the training comparisons of a trial, then judge it by the others.

Settings are chosen by cross-validation within the training comparisons. Every method is chosen by the same
criterion, `soft_error`, which tells settings apart on forty held-out rows where counting errors could not.
"""

from __future__ import annotations

import hashlib
import time
import warnings
from collections.abc import Sequence
from typing import NamedTuple

from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold
from threadpoolctl import threadpool_limits

from nearer.data.comparisons import Comparisons
from nearer.embedding.base import OrdinalEmbedding
from nearer.evaluation.metrics import comparison_error
from nearer.lab.common.records import Record
from nearer.lab.paper.methods import METHODS, Settings, candidates
from nearer.lab.paper.protocol import Experiment, draw_trial, n_folds
from nearer.problems.margins import error_from_margins, soft_error

#: Raised whenever the same seed and grid would give other figures than before: old records then no longer count.
PROTOCOL_VERSION = 1
#: The same for single methods.
METHOD_VERSIONS = {"DMOE": 2}  # its map is refined


class Unit(NamedTuple):
    """What one tuned fit is identified by."""

    size: int
    trial: int
    method: str


class Tuned(NamedTuple):
    """A fitted estimator, the place in the grid of the settings chosen for it, and how many fits stopped early."""

    estimator: OrdinalEmbedding
    choice: int
    n_warnings: int


def fingerprint(experiment: Experiment, method: str, size: int, n_objects: int) -> str:
    """Return a short hash of everything but seed and trial that decides a record."""
    grid = candidates(method, size, n_objects)
    what = [PROTOCOL_VERSION, n_folds(size), experiment.name, experiment.n_components, method, grid]
    what += [METHOD_VERSIONS[method]] if method in METHOD_VERSIONS else []
    return hashlib.sha256(repr(what).encode()).hexdigest()[:12]


def negative_soft_error(estimator: OrdinalEmbedding, X: Comparisons, y: None = None) -> float:
    """Score held-out comparisons, all answered +1: higher is better."""
    return -soft_error(estimator.decision_function(X))


def tune(
    method: str, train: Comparisons, n_components: int, folds_seed: int, grid: Sequence[Settings] | None = None
) -> Tuned:
    """Choose settings by cross-validation and fit them to all training comparisons.

    Parameters
    ----------
    method : str
    train : Comparisons
        Without answers: every row reads as it was answered. Rows of one of its `trials` stay in one fold.
    n_components : int
    folds_seed : int
    grid : sequence of dict, optional
        Settings to choose from, if not those of `candidates`.

    Examples
    --------
    >>> from nearer.datasets import make_gaussian, sample_triplets
    >>> train = sample_triplets(make_gaussian(12, 2, random_state=0), 100, random_state=0)
    >>> tune("STE", train, n_components=2, folds_seed=0).estimator.trace < 0.5
    True
    """
    base = METHODS[method](n_components=n_components)
    grid = candidates(method, len(train), train.n_objects) if grid is None else grid
    search = GridSearchCV(
        base,
        [{name: [value] for name, value in settings.items()} for settings in grid],
        scoring=negative_soft_error,
        cv=_folds(train, folds_seed),
        error_score="raise",
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        search.fit(train, **({} if train.trials is None else {"groups": train.trials}))
    # Hundreds of fits would bury the terminal in advice about single ones; the count is kept instead.
    early = [warning for warning in caught if issubclass(warning.category, ConvergenceWarning)]
    for other in caught:
        if other not in early:
            warnings.warn_explicit(other.message, other.category, other.filename, other.lineno)
    return Tuned(search.best_estimator_, search.best_index_, len(early))


def _folds(train: Comparisons, seed: int) -> KFold | GroupKFold:
    wanted = n_folds(len(train))
    if train.trials is None:
        return KFold(wanted, shuffle=True, random_state=seed)
    return GroupKFold(min(wanted, len(set(train.trials.tolist()))), shuffle=True, random_state=seed)


def run_unit(experiment: Experiment, seed: int, unit: Unit) -> Record:
    """Tune, fit and judge one method in one trial, on one core.

    Returns
    -------
    dict
        One record of ``trials.jsonl``: ``error`` is that of `gram_` with ties counted half, ``error_strict`` the same
        with ties taken as satisfied, ``error_embedding`` that of the p-dimensional map.
    """
    with threadpool_limits(limits=1):
        start = time.perf_counter()
        drawn = draw_trial(experiment, seed, unit.trial, unit.size)
        tuned = tune(unit.method, drawn.train, experiment.n_components, drawn.folds_seed)
        margins = tuned.estimator.decision_function(drawn.test)
        return {
            "experiment": experiment.name,
            "seed": seed,
            **unit._asdict(),
            "fingerprint": fingerprint(experiment, unit.method, unit.size, drawn.train.n_objects),
            "error": error_from_margins(margins),
            "error_strict": error_from_margins(margins, ties="satisfied"),
            "error_embedding": comparison_error(drawn.test, tuned.estimator.embedding_),
            "choice": int(tuned.choice),
            "settings": str(tuned.estimator),
            "n_warnings": tuned.n_warnings,
            "seconds": round(time.perf_counter() - start, 2),
        }

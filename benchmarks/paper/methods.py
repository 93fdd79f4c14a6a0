"""The methods of the comparison, the settings each may choose from, and how it is tuned and judged in a trial.

Settings are in units that carry over from one sample to the next (see `nearer.Penalty`), so that one grid serves all
sizes. They are chosen by cross-validation within the training comparisons. Every method is chosen by the same
criterion, `soft_error`, which tells settings apart on forty held-out rows where counting errors could not.
"""

from __future__ import annotations

import hashlib
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold
from threadpoolctl import threadpool_limits

from benchmarks.paper.protocol import Experiment, draw_trial, n_folds
from benchmarks.records import Record
from nearer.data.comparisons import Comparisons
from nearer.embedding import CKL, DMOE, GNMDS, SOE, STE, TSTE
from nearer.embedding.base import OrdinalEmbedding
from nearer.evaluation.metrics import comparison_error
from nearer.optimize.problems.margins import error_from_margins, soft_error
from nearer.optimize.problems.points import Penalty

Settings: TypeAlias = dict[str, Any]

# The paper's competitors are the descents over Gram matrices of rank p; those over points have an X.
METHODS: dict[str, Callable[..., OrdinalEmbedding]] = {
    "DMOE": DMOE,
    "GNMDS": partial(GNMDS, solver="projected"),
    "STE": partial(STE, solver="projected"),
    "TSTE": partial(TSTE, solver="projected"),
    "GNMDS-X": GNMDS,
    "STE-X": STE,
    "TSTE-X": TSTE,
    "CKL-X": CKL,
    "SOE-X": SOE,
}
#: Raised whenever the same seed and grid would give other figures than before: old records then no longer count.
PROTOCOL_VERSION = 1
#: The same for single methods.
METHOD_VERSIONS = {"DMOE": 2}  # its map is refined


def candidates(method: str, n_comparisons: int, n_objects: int) -> list[Settings]:
    """Return the settings that a method is tuned over.

    Parameters
    ----------
    method : str
        A key of `METHODS`.
    n_comparisons, n_objects : int
        The training comparisons m and the objects n.

    Examples
    --------
    >>> candidates("STE", 200, 100)[1]
    {'trace': 0.03}
    """
    if method == "DMOE":
        if n_comparisons < 5 * n_objects:
            return _few()
        return _few() + _many() if n_comparisons < 30 * n_objects else _plenty()
    if method.endswith("-X"):
        return _over_points(method)
    if method == "GNMDS":
        return [{"trace": trace} for trace in [0.0, 0.03, 0.1, 0.2]] + [{"trace": 0.1, "power": 1}]
    if method == "STE":
        return [{"trace": trace} for trace in [0.0, 0.03, 0.1, 0.3]]
    if method == "TSTE":
        # alpha = p - 1 is the default of its authors.
        return [{"trace": trace} for trace in [0.0, 0.01, 0.03, 0.1]] + [{"trace": 0.03, "alpha": 1.0}]
    raise ValueError(f"method {method!r} is not known; choose from {', '.join(METHODS)}")


def _few() -> list[Settings]:
    """Return settings of DMOE that can win at any number of comparisons: strong ridges.

    Kept short: on 200 comparisons cross-validation cannot tell neighbours apart, and each of them adds noise to the
    choice.
    """
    return [
        {"penalty": Penalty(trace=0.05, ridge=3.0)},
        {"penalty": Penalty(trace=0.05, ridge=3.0, diagonal=0.7)},
        {"penalty": Penalty(trace=0.05, ridge=3.0, diagonal=0.4)},
        {"penalty": Penalty(trace=0.0, ridge=10.0, specificity=20.0)},
        {"penalty": Penalty(trace=0.0, ridge=10.0), "solver": "closed"},
    ]


def _many() -> list[Settings]:
    """Return settings of DMOE that need several comparisons an object: weak ridges, and no price above the target."""
    return [
        {"penalty": Penalty(trace=0.15, ridge=0.3, specificity=20.0)},
        {"penalty": Penalty(trace=0.15, ridge=1.0, specificity=20.0)},
        {"penalty": Penalty(trace=0.0, ridge=3.0, diagonal=0.6)},
        {"penalty": Penalty(trace=0.06, ridge=0.1), "nu": 0.1},
        {"penalty": Penalty(trace=0.06, ridge=0.01), "nu": 0.0},
    ]


def _plenty() -> list[Settings]:
    """Return settings of DMOE for many comparisons an object, where the dimension is what has to be used.

    A high power weighs the comparisons that are hardest to satisfy, as the tail of a likelihood does; 2 and 4 are worse
    by 0.001 and 0.0003 at 100 comparisons an object.
    """
    return [
        {"penalty": Penalty(trace, ridge=0.0), "solver": "factored", "nu": 0.0, "power": 12}
        for trace in (0.001, 0.002, 0.003, 0.005, 0.01)
    ]


def _over_points(method: str) -> list[Settings]:
    """Return settings of the descents over points: a path of penalties, and what shape the loss can take."""
    traces = [0.0, 0.001, 0.002, 0.004, 0.01, 0.03, 0.1]
    if method == "SOE-X":
        traces = [trace / 30 for trace in traces]
    settings: list[Settings] = [{"trace": trace} for trace in traces]
    if method == "TSTE-X":
        settings += [{"trace": trace, "alpha": alpha} for trace in (0.001, 0.01) for alpha in (1.0, 30.0)]
    return settings


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

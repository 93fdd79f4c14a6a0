"""How many views answers were given from, and with how heavy tails: as held-out answers tell."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray
from nearer._common.progress import progress_bar
from nearer.data.comparisons import Comparisons
from nearer.data.groups import assign_folds, group_indices, with_positive_weight
from nearer.embedding.mvte.search import ViewSearch
from nearer.model import StudentT
from nearer.optimize.problems.views import PackedAnswers, assign_views

N_FOLDS, MOST_VIEWS = 5, 6
# A hundredth of the bit that an answer can tell at most. A second view that is nearly the first once more gains next to
# nothing, and the standard error of that is next to nothing, too.
LEAST_GAIN = 0.01 * float(np.log(2))


class Choice(NamedTuple):
    """A number of views, degrees of freedom (None if there was nothing to choose by), and what they were chosen by."""

    n_views: int
    alpha: float | None
    results: dict[str, Any] | None


def choose_number(comparisons: Comparisons, search: ViewSearch, rng: np.random.Generator) -> Choice:
    """Return the number of views and the degrees of freedom that held-out answers speak for.

    Views are added one by one, as long as each raises the log-likelihood of held-out answers by more than one standard
    error of that gain, and than `LEAST_GAIN` for each answer. Folds, and the standard error, take trials
    or questions as a whole.

    Parameters
    ----------
    comparisons : Comparisons
    search : ViewSearch
        How views are found in each fold.
    rng : numpy Generator

    Returns
    -------
    Choice
        See `MVTE` for the results; None if there are too few answers to hold any out.

    Examples
    --------
    >>> from nearer.optimize.solvers import Factored
    >>> search = ViewSearch(2, alpha=1.0, trace=0.001, n_init=2, solver=Factored())
    >>> choose_number(Comparisons.from_triplets([[0, 1, 2]]), search, np.random.default_rng(0))
    Choice(n_views=1, alpha=None, results=None)
    """
    comparisons = with_positive_weight(comparisons)
    units = group_indices(comparisons)
    n_folds = min(N_FOLDS, int(units.max()) + 1)
    if n_folds < 2:
        return Choice(1, None, None)
    folds = assign_folds(units, n_folds, rng)
    totals = np.bincount(units, comparisons.sample_weight).astype(np.float64)
    seeds = rng.integers(2**31, size=MOST_VIEWS)
    judged = [_held_out(comparisons, units, folds, 1, search, int(seeds[0]))]
    gains: list[tuple[float, float]] = []
    for number in range(2, MOST_VIEWS + 1):
        judged.append(_held_out(comparisons, units, folds, number, search, int(seeds[number - 1])))
        gains.append(_mean_and_error(judged[-1].log_likelihoods - judged[-2].log_likelihoods, totals))
        if gains[-1][0] <= max(gains[-1][1], LEAST_GAIN):
            break
    else:
        number += 1
    results = {
        "n_views": np.arange(1, len(judged) + 1),
        "alpha": np.array([each.alpha for each in judged]),
        "mean_test_log_likelihood": np.array([each.log_likelihoods.sum() for each in judged]) / totals.sum(),
        "gain": np.array([mean for mean, _ in gains]),
        "gain_standard_error": np.array([error for _, error in gains]),
    }
    return Choice(number - 1, judged[number - 2].alpha, results)


class _HeldOut(NamedTuple):
    """The best degrees of freedom, and the log-likelihood of each unit from views that were fitted without it."""

    alpha: float
    log_likelihoods: FloatArray


def _held_out(
    comparisons: Comparisons,
    units: NDArray[np.intp],
    folds: NDArray[np.intp],
    n_views: int,
    search: ViewSearch,
    seed: int,
) -> _HeldOut:
    totals: dict[float, FloatArray] = {}
    n_folds = int(folds.max()) + 1
    for fold in progress_bar(f"{n_views} views", n_folds, range(n_folds), unit="fold"):
        found = search.run(comparisons[folds != fold], n_views, np.random.default_rng(seed + fold))
        if found[-1].interrupted:
            raise KeyboardInterrupt
        answers = PackedAnswers(comparisons[folds == fold])
        acts = answers.trials
        unit_of_act = np.zeros(len(acts.trial_weights), np.intp)
        unit_of_act[slice(None) if acts.trial_indices is None else acts.trial_indices] = units[folds == fold]
        for views in (each.value for each in found):
            judged = assign_views(views.points, views.mixture, answers, StudentT(views.alpha))
            total = totals.setdefault(views.alpha, np.zeros(int(units.max()) + 1))
            total += np.bincount(unit_of_act, acts.trial_weights * judged.log_likelihoods, len(total))
    best = max(totals, key=lambda alpha: float(totals[alpha].sum()))
    return _HeldOut(best, totals[best])


def _mean_and_error(sums: FloatArray, totals: FloatArray) -> tuple[float, float]:
    """Return the mean per comparison of sums over units, and its standard error."""
    mean = float(sums.sum() / totals.sum())
    return mean, float(np.sqrt(np.sum((sums - mean * totals) ** 2)) / totals.sum())

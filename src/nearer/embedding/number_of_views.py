"""How many views answers were given from: as many as held-out answers can tell apart."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer.comparisons import Comparisons
from nearer.embedding.mixture import Answers, judge
from nearer.embedding.tuning_folds import fold_of_each, whole_units
from nearer.embedding.views import Search
from nearer.losses import StudentT
from nearer.margins import FloatArray

N_FOLDS, MOST_VIEWS = 5, 6
# A hundredth of the bit that an answer can tell at most. A second view that is nearly the first once more gains next to
# nothing, and the standard error of that is next to nothing, too.
LEAST_GAIN = 0.01 * float(np.log(2))


def choose_number(
    comparisons: Comparisons, search: Search, rng: np.random.Generator
) -> tuple[int, dict[str, Any] | None]:
    """Return the number of views, and what it was chosen by.

    Views are added one by one, as long as each raises the log-likelihood of held-out answers by more than one standard
    error of that gain, and than `LEAST_GAIN` for each answer. Folds, and the standard error, take trials
    or questions as a whole.

    Parameters
    ----------
    comparisons : Comparisons
    search : Search
        How views are found in each fold.
    rng : numpy Generator

    Returns
    -------
    n_views : int
    results : dict or None
        See `MVTE`; None if there are too few answers to hold any out.

    Examples
    --------
    >>> from nearer.solvers import Factored
    >>> search = Search(2, alpha=1.0, trace=0.001, n_init=2, solver=Factored(2))
    >>> choose_number(Comparisons.from_triplets([[0, 1, 2]]), search, np.random.default_rng(0))
    (1, None)
    """
    comparisons = comparisons[comparisons.sample_weight > 0]
    units = whole_units(comparisons)
    n_folds = min(N_FOLDS, int(units.max()) + 1)
    if n_folds < 2:
        return 1, None
    folds = fold_of_each(units, n_folds, rng)
    totals = np.bincount(units, comparisons.sample_weight).astype(np.float64)
    seeds = rng.integers(2**31, size=MOST_VIEWS)
    likelihoods = [_held_out(comparisons, units, folds, 1, search, int(seeds[0]))]
    gains: list[tuple[float, float]] = []
    for number in range(2, MOST_VIEWS + 1):
        likelihoods.append(_held_out(comparisons, units, folds, number, search, int(seeds[number - 1])))
        gains.append(_mean_and_error(likelihoods[-1] - likelihoods[-2], totals))
        if gains[-1][0] <= max(gains[-1][1], LEAST_GAIN):
            break
    else:
        number += 1
    return number - 1, {
        "n_views": np.arange(1, len(likelihoods) + 1),
        "mean_test_log_likelihood": np.array([each.sum() for each in likelihoods]) / totals.sum(),
        "gain": np.array([mean for mean, _ in gains]),
        "gain_standard_error": np.array([error for _, error in gains]),
    }


def _held_out(
    comparisons: Comparisons,
    units: NDArray[np.intp],
    folds: NDArray[np.intp],
    n_views: int,
    search: Search,
    seed: int,
) -> FloatArray:
    """Return the log-likelihood of each unit, from views that were fitted without its fold."""
    from tqdm import tqdm

    total = np.zeros(int(units.max()) + 1)
    bar = tqdm(range(int(folds.max()) + 1), desc=f"{n_views} views", unit="fold", delay=1, disable=None, leave=False)
    for fold in bar:
        test = comparisons[folds == fold]
        views = search.run(comparisons[folds != fold], n_views, np.random.default_rng(seed + fold))
        if views.interrupted:
            raise KeyboardInterrupt
        answers = Answers(test)
        judged = judge(views.points, views.mixture, answers, StudentT(views.alpha))
        acts = np.arange(len(test)) if answers.acts.members is None else answers.acts.members
        unit_of_act = np.zeros(len(answers.acts.counts), np.intp)
        unit_of_act[acts] = units[folds == fold]
        total += np.bincount(unit_of_act, answers.acts.counts * judged.likelihoods, len(total))
    return total


def _mean_and_error(sums: FloatArray, totals: FloatArray) -> tuple[float, float]:
    """Return the mean per comparison of sums over units, and its standard error."""
    mean = float(sums.sum() / totals.sum())
    return mean, float(np.sqrt(np.sum((sums - mean * totals) ** 2)) / totals.sum())

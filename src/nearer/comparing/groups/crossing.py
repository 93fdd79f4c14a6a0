"""Cross-prediction: how well the map of one group tells the answers of another, and how much to shrink maps.

Folds hold out whole people, dealt out group by group, so that every fold has some of each. On the rest, one map is
fitted to everybody and one to each group, with departures from the former drawn from N(0, tau^2) for several tau: a
small tau keeps a group of few answers near the map of all. The tau of the maps is the one with the least log-loss of
held-out answers by the map of their own group. Errors are told for a tau that was chosen on the other folds, so that
choosing costs nothing in honesty.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from nearer._common.arrays import FloatArray
from nearer._common.progress import progress_bar
from nearer.comparing.groups.answering import Fitted, Said, fit_map, log_loss
from nearer.evaluation.intervals import Interval, clustered_variance, error_interval

DEPARTURES = (0.1, 0.2, 0.4, 0.8)  # tau, as a share of the spread of the map of all
_MOST_FOLDS = 5


@dataclass(frozen=True, eq=False)
class CrossPrediction:
    """Held-out errors: of the answers of each group, by the map of each group and by that of all.

    Attributes
    ----------
    errors, lows, highs : ndarray, shape (k, k + 1)
        A row for the answers of each group; a column for the map of each group, and the last for the map of all.
    gains, gain_lows, gain_highs : ndarray, shape (k,)
        By how much the error of a group falls when its own map takes the place of that of all, with an interval; NaN
        for a group of one person, of whose map no other answers tell.
    n_folds : int
    unit : str
        What folds kept whole.
    level : float
    """

    errors: FloatArray
    lows: FloatArray
    highs: FloatArray
    gains: FloatArray
    gain_lows: FloatArray
    gain_highs: FloatArray
    n_folds: int
    unit: str
    level: float


def precision_of(common: Fitted, departure: float) -> float:
    """Return 1 / tau^2 for departures of so large a share of the spread of a map."""
    return 1 / (departure**2 * float(np.square(common.points - common.points.mean(axis=0)).mean()))


def fit_common(said: Said, start: Fitted) -> Fitted:
    """Return the map of all answers: with coordinates drawn from a normal distribution as wide as the start."""
    return fit_map(said, start, 0.0, 1 / float(np.square(start.points).mean()))


def folds_of(units: NDArray[np.intp], groups: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.intp]:
    """Return the fold of each row: units whole, those of a group dealt out in turn; two folds, up to five.

    A group of one unit is in one of the folds, which is then predicted without it.

    Examples
    --------
    >>> units, groups = np.repeat(np.arange(4), 2), np.repeat([0, 0, 1, 1], 2)
    >>> folds = folds_of(units, groups, np.random.default_rng(0))
    >>> int(folds.max()) + 1, [len(set(folds[groups == g].tolist())) for g in (0, 1)]
    (2, [2, 2])
    """
    kinds = np.unique(groups)
    fewest = min(len(np.unique(units[groups == g])) for g in kinds)
    n_folds = min(_MOST_FOLDS, max(fewest, 2))  # with one alone, maps would be judged by nothing but themselves
    fold = np.full(int(units.max()) + 1, -1, dtype=np.intp)
    for g in kinds:
        inside = rng.permutation(np.unique(units[groups == g]))
        new = inside[fold[inside] < 0]  # people who are in several groups were dealt out with the first
        fold[new] = np.arange(len(new)) % n_folds
    return fold[units]


def cross_predict(
    said: Said,
    common: Fitted,
    groups: NDArray[np.intp],
    units: NDArray[np.intp],
    unit: str,
    level: float,
    rng: np.random.Generator,
) -> tuple[CrossPrediction, float]:
    """Return the errors, and the departure that predicts best."""
    n_groups, m = int(groups.max()) + 1, len(groups)
    folds = folds_of(units, groups, rng)
    n_folds = int(folds.max()) + 1
    wrong = np.empty((len(DEPARTURES), m, n_groups + 1))
    losses = np.empty((len(DEPARTURES), m))
    with progress_bar("cross-prediction", n_folds) as bar:
        for fold in range(n_folds):
            test = folds == fold
            judged = said.among(test)
            of_all = fit_common(said.among(~test), common)
            maps = [of_all] * n_groups
            for step, departure in enumerate(DEPARTURES):
                maps = group_maps(said.among(~test), of_all, groups[~test], maps, departure)
                margins = np.column_stack([judged.margins(each.points) for each in (*maps, of_all)])
                wrong[step, test] = np.where(margins == 0, 0.5, margins < 0)
                each_loss = np.column_stack([log_loss(judged, each) for each in maps])
                losses[step, test] = each_loss[np.arange(len(each_loss)), groups[test]]
            bar.update()
    priced = losses * said.weights
    elsewhere = [int(priced[:, folds != fold].sum(axis=1).argmin()) for fold in range(n_folds)]
    chosen = wrong[np.array(elsewhere)[folds], np.arange(m)]
    best = DEPARTURES[int(priced.sum(axis=1).argmin())]
    return _summary(chosen, said.weights, groups, units, n_folds, unit, level), best


def group_maps(
    said: Said, common: Fitted, groups: NDArray[np.intp], starts: list[Fitted], departure: float
) -> list[Fitted]:
    """Return a map for each group, drawn towards that of all, from starts for each."""
    precision = precision_of(common, departure)
    return [fit_map(said.among(groups == g), start, common.points, precision) for g, start in enumerate(starts)]


def _summary(
    wrong: FloatArray,
    weights: FloatArray,
    groups: NDArray[np.intp],
    units: NDArray[np.intp],
    n_folds: int,
    unit: str,
    level: float,
) -> CrossPrediction:
    n_groups = wrong.shape[1] - 1
    cells: list[list[Interval]] = []
    gains, lows, highs = np.empty((3, n_groups))
    for g in range(n_groups):
        inside = groups == g
        clusters = np.unique(units[inside], return_inverse=True)[1]
        cells.append(
            [
                error_interval(wrong[inside, k], weights[inside], clusters, level, n_folds=n_folds)
                for k in range(n_groups + 1)
            ]
        )
        if not clusters.any():
            gains[g], lows[g], highs[g] = np.nan, np.nan, np.nan
            continue
        better = wrong[inside, n_groups] - wrong[inside, g]
        gain = float(np.average(better, weights=weights[inside]))
        error = np.sqrt(clustered_variance(better, weights[inside], clusters))
        reach = float(student.ppf(0.5 + level / 2, int(clusters.max()))) * error
        gains[g], lows[g], highs[g] = gain, gain - reach, gain + reach
    table = np.array([[tuple(cell) for cell in row] for row in cells])
    return CrossPrediction(table[..., 0], table[..., 1], table[..., 2], gains, lows, highs, n_folds, unit, level)

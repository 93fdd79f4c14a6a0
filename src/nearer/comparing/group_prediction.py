"""How much better people who were held out are predicted by maps of groups, or by weights, than by one map."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray
from nearer._common.progress import progress_bar
from nearer.comparing.group_models import (
    CommonMap,
    Responses,
    departure_precision,
    fit_common,
    fit_departing,
    fit_stretched,
    likelihood_by_person,
)
from nearer.comparing.group_results import CrossPrediction
from nearer.evaluation.intervals import Interval, error_interval, mean_interval
from nearer.model.answers import answer_probability

DEPARTURES = (0.1, 0.2, 0.4, 0.8)  # tau, as a share of the spread of the map of all; of weights, of 1
_MAX_FOLDS = 5
_ONE, _STRETCHED, _OWN = range(3)
_GAINS = ((_ONE, _STRETCHED), (_ONE, _OWN), (_STRETCHED, _OWN))


def cross_predict(
    responses: Responses,
    common: CommonMap,
    groups: NDArray[np.intp],
    units: NDArray[np.intp],
    unit: str,
    level: float,
    rng: np.random.Generator,
) -> tuple[CrossPrediction, float]:
    """Return held-out errors and log-losses, and the departure of maps of groups that predicts best.

    Folds hold out whole people of every group. How far maps of groups depart from that of all is what has the least
    log-loss; each fold is judged by the departure that the others choose, so that the choice does not bias it.
    """
    n_groups, m = int(groups.max()) + 1, len(groups)
    folds = stratified_folds(units, groups, rng)
    n_folds = int(folds.max()) + 1
    wrong = np.empty((len(DEPARTURES), m, n_groups + 1))
    losses = np.empty((len(DEPARTURES), 3, int(units.max()) + 1))  # in bits, of whole units
    with progress_bar("cross-prediction", n_folds) as bar:
        for fold in range(n_folds):
            test = folds == fold
            train, held_out = responses.subset(~test), responses.subset(test)
            of_all = fit_common(train, common, 1)
            parts = [train.subset(groups[~test] == g) for g in range(n_groups)]
            own = [of_all.points] * n_groups
            for step, departure in enumerate(DEPARTURES):
                precision = departure_precision(of_all, departure)
                own = [fit_departing(part, of_all, precision, start) for part, start in zip(parts, own, strict=True)]
                stretched = [fit_stretched(part, of_all, 1 / departure**2) for part in parts]
                margins = np.column_stack([_margins(held_out, points) for points in (*own, of_all.points)])
                wrong[step, test] = np.where(margins == 0, 0.5, margins < 0)
                for model, maps in enumerate(([of_all.points] * n_groups, stretched, own)):
                    found = _losses(held_out, of_all, maps, groups[test], units[test], unit)
                    losses[step, model, np.unique(units[test])] = found
            bar.update()
    of_units = folds[np.unique(units, return_index=True)[1]]
    elsewhere = np.array(
        [losses[..., of_units != fold].sum(axis=-1).argmin(axis=0) for fold in range(n_folds)]
    )  # (folds, models)
    chosen = losses[elsewhere[of_units].T, np.arange(3)[:, None], np.arange(len(of_units))]
    best = DEPARTURES[int(losses[:, _OWN].sum(axis=-1).argmin())]
    sizes = np.bincount(units, responses.weights).astype(np.float64)
    each = np.arange(len(of_units))
    gains = [mean_interval((chosen[a] - chosen[b]) / sizes, sizes, each, level) for a, b in _GAINS]
    log_losses = chosen.sum(axis=1) / sizes.sum()
    judged = wrong[elsewhere[folds, _OWN], np.arange(m)]
    (errors, lows, highs), (gain, low, high) = _errors(judged, responses.weights, groups, units, level, n_folds)
    prediction = CrossPrediction(
        errors, lows, highs, gain, low, high, log_losses, np.array(gains), n_folds, unit, level
    )
    return prediction, best


def _errors(
    wrong: FloatArray,
    weights: FloatArray,
    groups: NDArray[np.intp],
    units: NDArray[np.intp],
    level: float,
    n_folds: int,
) -> tuple[FloatArray, FloatArray]:
    """Return errors with low and high ends, (3, k, k + 1), and gains of own maps, (3, k)."""
    n_groups = wrong.shape[1] - 1
    cells: list[list[Interval]] = []
    gains = np.full((3, n_groups), np.nan)
    for g in range(n_groups):
        inside = groups == g
        of_group, clusters = wrong[inside], np.unique(units[inside], return_inverse=True)[1]
        columns = range(n_groups + 1)
        cells.append(
            [error_interval(of_group[:, k], weights[inside], clusters, level, n_folds=n_folds) for k in columns]
        )
        if clusters.any():
            gains[:, g] = mean_interval(of_group[:, n_groups] - of_group[:, g], weights[inside], clusters, level)
    return np.moveaxis(np.array(cells), -1, 0), gains


def _margins(responses: Responses, points: FloatArray) -> FloatArray:
    near, far = responses.distances(points)
    return far - near


def _losses(
    responses: Responses,
    fitted: CommonMap,
    maps: list[FloatArray],
    groups: NDArray[np.intp],
    units: NDArray[np.intp],
    unit: str,
) -> FloatArray:
    """Return the log-loss of each unit in bits, on the map of the group of each answer.

    People who were held out have slopes and lapse rates from the population of the others: their answers are averaged
    over it together.
    """
    log_odds = np.empty(len(groups))
    typical = fitted.typical
    for g, points in enumerate(maps):
        inside = groups == g
        log_odds[inside] = typical.log_odds(*responses.subset(inside).distances(points))
    numbers = np.unique(units, return_inverse=True)[1]
    if unit == "people":
        log_likelihood = likelihood_by_person(log_odds, responses)[np.unique(units)]
        largest = log_likelihood.max(axis=1)
        averaged = np.exp(log_likelihood - largest[:, None]) @ fitted.population.shares
        return -(np.log(averaged) + largest) / math.log(2)
    people = responses.people
    probability = answer_probability(np.exp(fitted.deviations[people]) * log_odds, fitted.lapses[people])
    return np.bincount(numbers, -responses.weights * np.log(probability)) / math.log(2)


def stratified_folds(units: NDArray[np.intp], groups: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.intp]:
    """Return the fold of each row: units whole, those of a group dealt out in turn; two to five folds.

    A group of one unit is in one of the folds, which is then predicted without it.
    """
    kinds = np.unique(groups)
    fewest = min(len(np.unique(units[groups == g])) for g in kinds)
    n_folds = min(_MAX_FOLDS, max(fewest, 2))  # with a single fold, maps would be judged by their own answers
    fold = np.full(int(units.max()) + 1, -1, dtype=np.intp)
    for g in kinds:
        inside = rng.permutation(np.unique(units[groups == g]))
        new = inside[fold[inside] < 0]  # people who are in several groups were dealt out with the first
        fold[new] = np.arange(len(new)) % n_folds
    return fold[units]

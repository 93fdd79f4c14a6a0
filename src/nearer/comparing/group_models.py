"""Maps of groups with lapse rates, fitted to all answers and to those of each group, and judged by held-out ones.

With a margin g and a lapse rate l, P = l / 2 + (1 - l) sigmoid(g): STE with lapses. A fit maximizes

    sum of w log P  -  precision / 2 * |X - center|^2  -  (logit(l) + 4)^2 / (2 * 1.5^2),

with a center of 0 or the map of all groups, from which a group departs by N(0, tau^2), tau^2 = 1 / precision.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_array, diags_array
from scipy.special import expit, logit

from nearer._common.arrays import FloatArray
from nearer._common.progress import progress_bar
from nearer.comparing.group_results import CrossPrediction
from nearer.data.comparisons import Comparisons
from nearer.evaluation.intervals import Interval, error_interval, mean_interval
from nearer.model.answers import answer_derivatives, answer_probability

DEPARTURES = (0.1, 0.2, 0.4, 0.8)  # tau, as a share of the spread of the map of all
_MAX_FOLDS = 5
_LAPSE_CENTER, _LAPSE_SCALE = -4.0, 1.5  # of the logit, as in the posterior
_MAX_ITERATIONS = 500
_RATES = (0.005, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.98)
_EM_ROUNDS = 30


@dataclass(frozen=True, eq=False)
class FittedMap:
    """A map, (n, p), with the lapse rate of everybody or, (m,), of those who gave each of the answers."""

    points: FloatArray
    lapse: float | FloatArray


@dataclass(frozen=True, eq=False)
class Responses:
    """Comparisons as the model takes them: near and far pair of each row as answered, (m, 4), and weights, (m,)."""

    rows: NDArray[np.integer]
    weights: FloatArray
    n_objects: int

    @classmethod
    def of(cls, comparisons: Comparisons) -> Responses:
        """Return comparisons with their answers applied."""
        return cls(comparisons.oriented, comparisons.sample_weight, comparisons.n_objects)

    def subset(self, chosen: NDArray[np.bool_]) -> Responses:
        """Return some of the responses."""
        return Responses(self.rows[chosen], self.weights[chosen], self.n_objects)

    def margins(self, points: FloatArray) -> FloatArray:
        """Return the margins on a map, (m,)."""
        i, j, l, k = self.rows.T  # noqa: E741
        far, near = (np.square(points[a] - points[b]).sum(axis=1) for a, b in ((l, k), (i, j)))
        return far - near

    @cached_property
    def _incidence(self) -> csr_array[np.float64]:
        """Which object of a comparison is in which pair: (2 m, n), 1 and -1 for near pairs, then for far ones."""
        m = len(self.rows)
        pairs = np.concatenate([self.rows[:, :2], self.rows[:, 2:]])
        signs = np.tile([1.0, -1.0], 2 * m)
        return csr_array((signs, (np.repeat(np.arange(2 * m), 2), pairs.ravel())), shape=(2 * m, self.n_objects))

    def _pair_gradients(self, points: FloatArray) -> FloatArray:
        """Return the derivatives of the margins by the vectors between the objects of the pairs, (2 m, p)."""
        m = len(self.rows)
        between = 2 * np.asarray(self._incidence @ points)
        between[:m] *= -1
        return between

    def gradient(self, points: FloatArray, slopes: FloatArray) -> FloatArray:
        """Return the sum of slopes times the derivatives of the margins, (n, p)."""
        return np.asarray(self._incidence.T @ (np.tile(slopes, 2)[:, None] * self._pair_gradients(points)))

    def jacobian(self, points: FloatArray) -> csr_array[np.float64]:
        """Return the derivatives of the margins by the map, (m, n p), sparse."""
        m, p = len(self.rows), points.shape[1]
        pairs = np.stack([self.rows[:, :2], self.rows[:, 2:]])  # (2, m, 2)
        values = self._pair_gradients(points).reshape(2, m, 1, p) * np.array([1.0, -1.0])[:, None]
        columns = pairs[..., None] * p + np.arange(p)
        which = np.broadcast_to(np.arange(m)[None, :, None, None], columns.shape)
        return csr_array(
            (values.ravel(), (which.ravel(), columns.ravel())), shape=(m, self.n_objects * p), dtype=np.float64
        )


def log_loss(responses: Responses, fitted: FittedMap) -> FloatArray:
    """Return minus log P of each response, (m,)."""
    return -np.log(answer_probability(responses.margins(fitted.points), fitted.lapse))


def fit_map(responses: Responses, start: FittedMap, center: FloatArray | float, precision: float) -> FittedMap:
    """Return the map and the lapse rate of the largest penalized likelihood near a start.

    Lapse rates that are given for each response stay as they are.
    """
    shape, known = start.points.shape, start.lapse

    def objective(unknowns: FloatArray) -> tuple[float, FloatArray]:
        points = unknowns[:-1].reshape(shape)
        lapse = known if isinstance(known, np.ndarray) else float(expit(unknowns[-1]))
        answers = answer_derivatives(responses.margins(points), lapse)
        by_margin, by_lapse = answers.scores
        departure, excess = points - center, unknowns[-1] - _LAPSE_CENTER
        value = -float(responses.weights @ np.log(answers.probability))
        value += precision / 2 * float(np.vdot(departure, departure)) + excess**2 / (2 * _LAPSE_SCALE**2)
        gradient = precision * departure - responses.gradient(points, responses.weights * by_margin)
        if isinstance(lapse, np.ndarray):
            return value, np.append(gradient.ravel(), 0.0)
        last = excess / _LAPSE_SCALE**2 - float(responses.weights @ by_lapse) * lapse * (1 - lapse)
        return value, np.append(gradient.ravel(), last)

    first = _LAPSE_CENTER if isinstance(known, np.ndarray) else logit(np.clip(known, 1e-6, 1 - 1e-6))
    begin = np.append(start.points.ravel(), first)
    found = minimize(objective, begin, jac=True, method="L-BFGS-B", options={"maxiter": _MAX_ITERATIONS, "maxcor": 20})
    return FittedMap(found.x[:-1].reshape(shape), known if isinstance(known, np.ndarray) else float(expit(found.x[-1])))


def fit_common(responses: Responses, start: FittedMap) -> FittedMap:
    """Return the map of all answers: with coordinates drawn from a normal distribution as wide as the start."""
    return fit_map(responses, start, 0.0, 1 / float(np.square(start.points).mean()))


def fit_groups(
    responses: Responses, common: FittedMap, groups: NDArray[np.intp], starts: list[FittedMap], departure: float
) -> list[FittedMap]:
    """Return a map for each group, shrunk towards that of all, from starts for each."""
    precision = departure_precision(common, departure)
    return [fit_map(responses.subset(groups == g), start, common.points, precision) for g, start in enumerate(starts)]


def departure_precision(common: FittedMap, departure: float) -> float:
    """Return 1 / tau^2 for departures of so large a share of the spread of a map."""
    return 1 / (departure**2 * float(np.square(common.points - common.points.mean(axis=0)).mean()))


def lapse_rates(responses: Responses, points: FloatArray, people: NDArray[np.intp]) -> FloatArray:
    """Return the lapse rate of who gave each response, (m,): its mean given the answers of that person and of all.

    Rates of people come from a distribution over a grid, found by expectation maximization (empirical Bayes).
    """
    margins = responses.margins(points)
    log_likelihood = np.stack(
        [np.bincount(people, responses.weights * np.log(answer_probability(margins, rate))) for rate in _RATES], axis=1
    )
    likelihood = np.exp(log_likelihood - log_likelihood.max(axis=1, keepdims=True))
    shares = np.full(len(_RATES), 1 / len(_RATES))
    for _ in range(_EM_ROUNDS):
        posterior = likelihood * shares
        posterior /= posterior.sum(axis=1, keepdims=True)
        shares = posterior.mean(axis=0)
    return (posterior @ np.array(_RATES))[people]


def information(responses: Responses, fitted: FittedMap) -> tuple[FloatArray, FloatArray, float]:
    """Return the expected information: of the map, (n p, n p), of map and lapse rate, (n p,), and of the rate."""
    each = answer_derivatives(responses.margins(fitted.points), fitted.lapse).information
    jacobian = responses.jacobian(fitted.points)
    scaled = diags_array(np.sqrt(responses.weights * each.odds)) @ jacobian
    cross = np.asarray(jacobian.T @ (responses.weights * each.cross))
    return (scaled.T @ scaled).toarray(), cross, float(responses.weights @ each.lapse)


def scores(responses: Responses, fitted: FittedMap, units: NDArray[np.intp]) -> tuple[FloatArray, FloatArray]:
    """Return the scores of the map, (u, n p), and of the lapse rate, (u,), summed over the rows of each unit."""
    by_margin, by_lapse = answer_derivatives(responses.margins(fitted.points), fitted.lapse).scores
    m, n_units = len(responses.rows), int(units.max()) + 1
    sums = csr_array((responses.weights * by_margin, (units, np.arange(m))), shape=(n_units, m))
    of_map = (sums @ responses.jacobian(fitted.points)).toarray()
    return of_map, np.bincount(units, responses.weights * by_lapse, n_units).astype(np.float64)


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


def cross_predict(
    responses: Responses,
    common: FittedMap,
    groups: NDArray[np.intp],
    units: NDArray[np.intp],
    unit: str,
    level: float,
    rng: np.random.Generator,
) -> tuple[CrossPrediction, float]:
    """Return the held-out errors, and the departure that predicts best.

    Folds hold out whole people of every group. The tau of the maps has the least log-loss of answers by the map of
    their own group; errors are stated for the tau that the other folds choose, so that the choice does not bias them.
    """
    n_groups, m = int(groups.max()) + 1, len(groups)
    folds = stratified_folds(units, groups, rng)
    n_folds = int(folds.max()) + 1
    wrong = np.empty((len(DEPARTURES), m, n_groups + 1))
    losses = np.empty((len(DEPARTURES), m))
    with progress_bar("cross-prediction", n_folds) as bar:
        for fold in range(n_folds):
            test = folds == fold
            train, held_out = responses.subset(~test), responses.subset(test)
            of_all = fit_common(train, common)
            maps = [of_all] * n_groups
            for step, departure in enumerate(DEPARTURES):
                maps = fit_groups(train, of_all, groups[~test], maps, departure)
                margins = np.column_stack([held_out.margins(each.points) for each in (*maps, of_all)])
                wrong[step, test] = np.where(margins == 0, 0.5, margins < 0)
                by_map = np.column_stack([log_loss(held_out, each) for each in maps])
                losses[step, test] = by_map[np.arange(len(by_map)), groups[test]]
            bar.update()
    weighted = losses * responses.weights
    elsewhere = [int(weighted[:, folds != fold].sum(axis=1).argmin()) for fold in range(n_folds)]
    chosen = wrong[np.array(elsewhere)[folds], np.arange(m)]
    best = DEPARTURES[int(weighted.sum(axis=1).argmin())]
    cells: list[list[Interval]] = []
    gains = np.full((3, n_groups), np.nan)
    for g in range(n_groups):
        inside = groups == g
        of_group, weights = chosen[inside], responses.weights[inside]
        clusters = np.unique(units[inside], return_inverse=True)[1]
        columns = range(n_groups + 1)
        cells.append([error_interval(of_group[:, k], weights, clusters, level, n_folds=n_folds) for k in columns])
        if clusters.any():
            gains[:, g] = mean_interval(of_group[:, n_groups] - of_group[:, g], weights, clusters, level)
    errors, lows, highs = np.moveaxis(np.array(cells), -1, 0)
    return CrossPrediction(errors, lows, highs, gains[0], gains[1], gains[2], n_folds, unit, level), best

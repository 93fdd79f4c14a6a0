r"""The model of groups: one map of all people, who differ in slope and lapse rate, and maps that depart from it.

A person b answers by the answer model (`nearer.model.answers`) with a slope and a lapse rate of their own,

.. math:: \log \beta_b = s + z_b + \log(1 + a), \quad \alpha = 2 q a, \quad z_b \sim N(0, \sigma^2),
    \quad \operatorname{logit} \pi_b \sim N(\mu, \nu^2),

for maps of q dimensions whose mean squared coordinate is 1: a large a is STE, a small one a ratio of distances. The
map, s and a maximize the penalized likelihood; z and pi of people are posterior means on a grid, sigma, mu and nu
those under which the answers are likeliest (empirical Bayes). Both are done in turn.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, minimize
from scipy.special import expit

from nearer._common.arrays import FloatArray
from nearer._common.progress import progress_bar
from nearer.data.comparisons import Comparisons
from nearer.data.groups import number_by_appearance, trial_indices
from nearer.data.labels import factorize
from nearer.model.answers import AnswerModel

MAX_DIMENSIONS = 6  # that answers choose among
_DIMENSION_FOLDS = 3
_LOG_KERNEL_SCALE, _STEEPNESS_CENTER, _STEEPNESS_SCALE = 1.5, 0.9, 1.0  # priors of log a and s
_LOG_KERNEL_BOUND, _STEEPNESS_BOUND = 5.0, 4.0
_FIRST_LAPSE = 0.05
_DEVIATIONS = np.arange(-2.4, 2.41, 0.4)  # of log slopes
_LAPSE_LOGITS = np.arange(-5.0, 1.1)
_GRID_DEVIATIONS, _GRID_LOGITS = (each.ravel() for each in np.meshgrid(_DEVIATIONS, _LAPSE_LOGITS, indexing="ij"))
_EM_ROUNDS = 20
_ROUNDS = 3  # of map and people
_EM_PEOPLE = 4.0  # how many people the priors of the spreads of people count for
_USUAL_VARIANCE = 0.1  # of log slopes
_ROUGH_ITERATIONS, _ITERATIONS = 40, 200  # of L-BFGS
_ROUGH_TOLERANCE, _TOLERANCE = (
    1e-6,
    1e-9,
)  # of the log-likelihood, relative; rough fits choose dimensions and start others


@dataclass(frozen=True, eq=False)
class Responses:
    """Comparisons as the model takes them: near and far pair of each row as answered, (m, 4), weights, and people."""

    rows: NDArray[np.int64]
    weights: FloatArray
    people: NDArray[np.intp]  # (m,): who answered; all 0 where that is not known
    n_people: int
    n_objects: int

    @classmethod
    def of(cls, comparisons: Comparisons) -> Responses:
        """Return comparisons with their answers applied."""
        labels = comparisons.annotators
        people = np.zeros(len(comparisons), np.intp) if labels is None else factorize(labels)[1]
        rows = np.ascontiguousarray(comparisons.oriented, dtype=np.int64)
        n_people = int(people.max()) + 1
        return cls(rows, comparisons.sample_weight.astype(np.float64), people, n_people, comparisons.n_objects)

    def subset(self, chosen: NDArray[np.bool_] | NDArray[np.intp]) -> Responses:
        """Return some of the responses, of the same people."""
        return replace(self, rows=self.rows[chosen], weights=self.weights[chosen], people=self.people[chosen])

    def distances(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the squared distances of near and far pairs, (m,) each."""
        i, j, l, k = self.rows.T  # noqa: E741
        near, far = (np.square(points[a] - points[b]).sum(axis=1) for a, b in ((i, j), (l, k)))
        return near, far


@dataclass(frozen=True)
class Population:
    """How people differ: deviation of log slopes, and mean and deviation of logits of lapse rates."""

    slope_deviation: float = 0.5
    lapse_center: float = -3.0
    lapse_deviation: float = 1.0

    @property
    def shares(self) -> FloatArray:
        """The share of people at each point of the grid."""
        deviates = _GRID_DEVIATIONS / self.slope_deviation, (_GRID_LOGITS - self.lapse_center) / self.lapse_deviation
        squares = np.square(deviates[0]) + np.square(deviates[1])
        found = np.exp((squares.min() - squares) / 2)
        return np.asarray(found / found.sum())


@dataclass(frozen=True, eq=False)
class CommonMap:
    """A map, (n, q), and how people answer by it."""

    points: FloatArray
    log_kernel: float
    steepness: float
    deviations: FloatArray  # (b,), of log slopes
    lapses: FloatArray  # (b,)
    population: Population = Population()

    @property
    def offset(self) -> float:
        """The offset alpha of the answer model."""
        return 2 * self.points.shape[1] * math.exp(self.log_kernel)

    @property
    def typical(self) -> AnswerModel:
        """How somebody answers who does not deviate from others, and never lapses."""
        return AnswerModel(math.exp(self.steepness) * (1 + math.exp(self.log_kernel)), self.offset)

    def answering(self, people: NDArray[np.intp]) -> AnswerModel:
        """Return how each of some people answers."""
        return AnswerModel(self.typical.slope * np.exp(self.deviations[people]), self.offset, self.lapses[people])

    def principal(self) -> CommonMap:
        """Return the same map along its principal axes."""
        centered = self.points - self.points.mean(axis=0)
        return replace(self, points=centered @ np.linalg.svd(centered, full_matrices=False)[2].T)

    def truncated(self, n_components: int) -> CommonMap:
        """Return the map along its first principal axes, at a mean squared coordinate of 1."""
        points = self.principal().points[:, :n_components]
        return replace(self, points=points / np.sqrt(np.square(points).mean()))


def log_probabilities(responses: Responses, fitted: CommonMap) -> FloatArray:
    """Return log P of each response, (m,)."""
    return np.log(fitted.answering(responses.people).probability(*responses.distances(fitted.points)))


def random_start(n_objects: int, n_components: int, n_people: int, rng: np.random.Generator) -> CommonMap:
    """Return a random map, and people who are alike."""
    points = rng.standard_normal((n_objects, n_components))
    alike = np.zeros(n_people), np.full(n_people, _FIRST_LAPSE)
    return CommonMap(points, 0.0, _STEEPNESS_CENTER, *alike)


def fit_common(
    responses: Responses,
    start: CommonMap,
    rounds: int,
    n_iterations: int = _ITERATIONS,
    tolerance: float = _TOLERANCE,
) -> CommonMap:
    """Return the map of all answers near a start, with the slope and lapse rate of each person."""
    fitted = start
    for _ in range(rounds):
        fitted = _update_people(responses, _update_map(responses, fitted, n_iterations, tolerance))
    return fitted


def _update_map(responses: Responses, start: CommonMap, n_iterations: int, tolerance: float) -> CommonMap:
    """Return the likeliest map, kernel and steepness, given how people deviate."""
    shape, count = start.points.shape, start.points.size
    relative, lapses = np.exp(start.deviations)[responses.people], start.lapses[responses.people]

    def objective(unknowns: FloatArray) -> tuple[float, FloatArray]:
        points, log_kernel, steepness = unknowns[:-2].reshape(shape), unknowns[-2], unknowns[-1]
        kernel = math.exp(log_kernel)
        slopes = relative * (math.exp(steepness) * (1 + kernel))
        value, gradient, by_offset, by_slope = _likelihood(responses, points, slopes, lapses, 2 * shape[1] * kernel)
        # Scale and slope are one: the mean squared coordinate is kept at 1.
        square = float(np.vdot(points, points))
        excess, above = math.log(square / count), steepness - _STEEPNESS_CENTER
        cost = count * excess**2 / 4 + (log_kernel / _LOG_KERNEL_SCALE) ** 2 / 2 + (above / _STEEPNESS_SCALE) ** 2 / 2
        by_points = count * excess / square * points - gradient
        by_kernel = log_kernel / _LOG_KERNEL_SCALE**2 - by_offset - by_slope * kernel / (1 + kernel)
        by_steepness = above / _STEEPNESS_SCALE**2 - by_slope
        return cost - value, np.concatenate([by_points.ravel(), [by_kernel, by_steepness]])

    first = np.concatenate([start.points.ravel(), [start.log_kernel, start.steepness]])
    ends = np.array([np.inf] * count + [_LOG_KERNEL_BOUND, _STEEPNESS_BOUND])
    found = _minimize(objective, first, n_iterations, tolerance, Bounds(-ends, ends))
    points = found[:-2].reshape(shape)
    return replace(start, points=points - points.mean(axis=0), log_kernel=float(found[-2]), steepness=float(found[-1]))


def _likelihood(
    responses: Responses, points: FloatArray, slopes: FloatArray | float, lapses: FloatArray | float, offset: float
) -> tuple[float, FloatArray, float, float]:
    from nearer.optimize.kernels.people import log_likelihood

    gradient = np.zeros_like(points)
    sums = log_likelihood(
        np.ascontiguousarray(points), responses.rows, slopes, lapses, responses.weights, offset, gradient
    )
    return sums[0], gradient, sums[1], sums[2]


def _minimize(
    objective: Callable[[FloatArray], tuple[float, FloatArray]],
    first: FloatArray,
    n_iterations: int,
    tolerance: float,
    bounds: Bounds[Any, Any] | None = None,
) -> FloatArray:
    found = minimize(
        objective,
        first,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": n_iterations, "maxcor": 20, "ftol": tolerance},
    )
    return np.asarray(found.x)


def likelihood_by_person(log_odds: FloatArray, responses: Responses) -> FloatArray:
    """Return the log-likelihood of people on the grid, (b, g), for log-odds of a typical person, (m,)."""
    from nearer.optimize.kernels.people import grid_log_likelihood

    found = np.zeros((responses.n_people, len(_DEVIATIONS), len(_LAPSE_LOGITS)))
    factors, lapses = np.exp(_DEVIATIONS), expit(_LAPSE_LOGITS)
    grid_log_likelihood(log_odds, responses.weights, responses.people, factors, lapses, found)
    return found.reshape(responses.n_people, -1)


def _update_people(responses: Responses, fitted: CommonMap) -> CommonMap:
    """Return the map with the posterior means of slopes and lapse rates, and the population they come from."""
    log_odds = fitted.typical.log_odds(*responses.distances(fitted.points))
    log_likelihood, population = likelihood_by_person(log_odds, responses), fitted.population
    likelihood = np.exp(log_likelihood - log_likelihood.max(axis=1, keepdims=True))
    n, prior = responses.n_people, Population()
    for _ in range(_EM_ROUNDS):
        posterior = likelihood * population.shares
        posterior /= posterior.sum(axis=1, keepdims=True)
        of_all = posterior.sum(axis=0)
        # Spreads of few people are drawn towards those of other studies.
        mean = float(of_all @ _GRID_DEVIATIONS) / n
        spread = float(of_all @ np.square(_GRID_DEVIATIONS - mean)) + _EM_PEOPLE * _USUAL_VARIANCE
        center = (float(of_all @ _GRID_LOGITS) + _EM_PEOPLE / 2 * prior.lapse_center) / (n + _EM_PEOPLE / 2)
        around = float(of_all @ np.square(_GRID_LOGITS - center)) + _EM_PEOPLE * prior.lapse_deviation**2
        population = Population(math.sqrt(spread / (n + _EM_PEOPLE)), center, math.sqrt(around / (n + _EM_PEOPLE)))
    deviations = posterior @ _GRID_DEVIATIONS
    mean = float(deviations.mean())
    steepness = float(np.clip(fitted.steepness + mean, -_STEEPNESS_BOUND, _STEEPNESS_BOUND))
    return replace(
        fitted,
        steepness=steepness,
        deviations=deviations - mean,
        lapses=posterior @ expit(_GRID_LOGITS),
        population=population,
    )


def fit_dimensions(responses: Responses, largest: int, rng: np.random.Generator) -> dict[int, CommonMap]:
    """Return maps of ``largest`` down to one dimension, each started at the principal axes of the one before."""
    start = random_start(responses.n_objects, largest, responses.n_people, rng)
    fitted = fit_common(responses, start, 2, _ITERATIONS, _ROUGH_TOLERANCE)
    found = {largest: fitted}
    for q in range(largest - 1, 0, -1):
        fitted = fit_common(responses, fitted.truncated(q), 1, _ROUGH_ITERATIONS, _ROUGH_TOLERANCE)
        found[q] = fitted
    return found


def choose_components(responses: Responses, trials: NDArray[np.intp], rng: np.random.Generator) -> int:
    """Return the number of dimensions that predicts held-out answers of the same people best, by log-loss.

    Folds keep trials, (m,), whole, and have trials of each person in turn.
    """
    largest = min(MAX_DIMENSIONS, max(responses.n_objects - 2, 1))
    if largest == 1:
        return 1
    folds = _folds_within_people(responses.people, trials, rng)
    losses = np.zeros(largest)
    with progress_bar("number of dimensions", _DIMENSION_FOLDS) as bar:
        for fold in range(_DIMENSION_FOLDS):
            test = folds == fold
            held_out = responses.subset(test)
            for q, fitted in fit_dimensions(responses.subset(~test), largest, rng).items():
                losses[q - 1] -= held_out.weights @ log_probabilities(held_out, fitted)
            bar.update()
    return int(losses.argmin()) + 1


def _folds_within_people(
    people: NDArray[np.intp], trials: NDArray[np.intp], rng: np.random.Generator
) -> NDArray[np.intp]:
    units = number_by_appearance(people, trials)
    _, first = np.unique(units, return_index=True)
    whose = people[first]
    order = np.lexsort([rng.random(len(whose)), whose])
    fold = np.empty(len(whose), dtype=np.intp)
    fold[order] = np.arange(len(whose)) % _DIMENSION_FOLDS
    return fold[units]


def fit_maps(
    responses: Responses, trials: NDArray[np.intp], n_components: int | None, rng: np.random.Generator
) -> tuple[CommonMap, CommonMap]:
    """Return the map of all to show, of as many dimensions as given or as predict best, and that of tests.

    The latter has one more dimension than predict best, or are shown: where a map lacks one, groups that were asked
    other questions have other maps, though they see the same.
    """
    chosen = choose_components(responses, trials, rng)
    shown = chosen if n_components is None else n_components
    tested = min(max(chosen, shown) + 1, responses.n_objects - 1)
    largest = max(tested, min(MAX_DIMENSIONS, responses.n_objects - 1))
    maps = fit_dimensions(responses, largest, rng)
    return fit_common(responses, maps[shown], _ROUNDS).principal(), fit_common(
        responses, maps[tested], _ROUNDS
    ).principal()


def fit_departing(
    responses: Responses, common: CommonMap, precision: float, start: FloatArray | None = None
) -> FloatArray:
    """Return the map, (n, q), of some responses that departs from that of all by N(0, 1 / precision)."""
    shape = common.points.shape
    answering = common.answering(responses.people)

    def objective(unknowns: FloatArray) -> tuple[float, FloatArray]:
        points = unknowns.reshape(shape)
        value, gradient, _, _ = _likelihood(responses, points, answering.slope, answering.lapse, common.offset)
        departure = points - common.points
        return precision / 2 * float(np.vdot(departure, departure)) - value, (precision * departure - gradient).ravel()

    first = (common.points if start is None else start).ravel()
    return _minimize(objective, first, _ITERATIONS, _TOLERANCE).reshape(shape)


def fit_stretched(responses: Responses, common: CommonMap, precision: float) -> FloatArray:
    """Return the map of all, (n, q), with weights of its dimensions that suit some responses.

    It is X (1 + S) with entries of S from N(0, 1 / precision): weights of whatever axes suit, as a map has none of its
    own.
    """
    q = common.points.shape[1]
    answering = common.answering(responses.people)

    def objective(unknowns: FloatArray) -> tuple[float, FloatArray]:
        departure = unknowns.reshape(q, q)
        points = common.points @ (np.eye(q) + departure)
        value, gradient, _, _ = _likelihood(responses, points, answering.slope, answering.lapse, common.offset)
        by_departure = precision * departure - common.points.T @ gradient
        return precision / 2 * float(np.vdot(departure, departure)) - value, by_departure.ravel()

    found = _minimize(objective, np.zeros(q * q), _ITERATIONS, _TOLERANCE).reshape(q, q)
    return common.points @ (np.eye(q) + found)


def trials_of(comparisons: Comparisons) -> NDArray[np.intp]:
    """Return the number of the trial of each row, (m,)."""
    return number_by_appearance(trial_indices(comparisons))


def departure_precision(common: CommonMap, departure: float) -> float:
    """Return 1 / tau^2 for departures of so large a share of the spread of a map."""
    return 1 / (departure**2 * float(np.square(common.points - common.points.mean(axis=0)).mean()))

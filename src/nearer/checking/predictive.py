r"""Posterior predictive checks: whether answers look like those that the fitted model would give.

Answers to the same questions are replicated with draws s of the posterior: their maps, and the slope and lapse rate of
each person. *Triads*, the share of intransitive triads among majority answers, and *position*, by which share
of answers the option shown first is chosen more often than the map predicts, are compared by

.. math:: p = P(T(y^{rep}, \theta_s) \ge T(y, \theta_s))

(Gelman, Meng and Stern 1996), which is conservative, as the draws have seen y and not its replication.

*Views* and *questions* are score tests for variance that the model has no place for. With u_a the derivative of the
log-likelihood of answer a with respect to a displacement of an object on the map of that person alone, or to the
log-odds of that question, products of answers that would share the displacement add up, but for those within a trial
or, of questions, within a person:

.. math:: T = \sum_{a, b \text{ of one person and object}} u_a \cdot u_b, \qquad
          T = \sum_{a, b \text{ of one question}} u_a u_b.

The mean of T over draws is compared with what it would be if the posterior of the replicated answers were taken: that
posterior is normal around the draw that gave them, to first order, so that residuals r, with derivatives J of the
probabilities divided by their deviations, W the weights of rows and Lambda the prior precision, become

.. math:: r - J (J^T W J + \Lambda)^{-1} J^T W r + J \epsilon, \qquad \epsilon \sim N(0, (J^T W J + \Lambda)^{-1}).

Where the log-odds of a typical answer scatter by more than 4 over draws, as without noise, this is no approximation,
and these two are compared as the others are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, diags_array
from scipy.sparse.linalg import splu
from scipy.special import expit

from nearer._common.arrays import FloatArray
from nearer._common.parameters import check_integer
from nearer._common.randomness import RandomState, stream
from nearer._common.results import Result, text_table
from nearer.checking.contradictions import MIN_QUESTIONS, count_triads
from nearer.data.comparisons import Comparisons
from nearer.data.groups import near_far_codes, question_indices, trial_indices, with_positive_weight
from nearer.data.labels import factorize
from nearer.evaluation.annotator_quadrature import integrate_annotator, log_ratios, rows_of_annotators
from nearer.model.answers import answer_probability
from nearer.sampling.annotators import Population
from nearer.sampling.model import TRIAL_EXPONENT, distinct_comparisons

if TYPE_CHECKING:
    from nearer.embedding import PosteriorEmbedding

_N_DRAWS = 200
_N_REFITTED_DRAWS = 20
_MIN_AXIS_SHARE = 0.01  # of the variance of a map: axes below it hardly change an answer
_MIN_VARIANCE = 1e-9  # of an answer
_MAX_SPREAD = 4.0  # of log-odds over draws: beyond, probabilities are no linear function of the unknowns


class _Statistic(Protocol):
    """A statistic of a draw and of residuals of answers, 1 or 0 less their probability."""

    def __call__(self, draw: _Draw, residuals: FloatArray) -> float: ...


@dataclass(frozen=True)
class PredictiveCheck(Result):
    """One statistic of the answers, and of answers that the model would give.

    Attributes
    ----------
    name : {"views", "questions", "triads", "position"}
    observed, expected : float
        Means over the posterior, of the answers and of replicated ones.
    spread : float
        The standard deviation over replications.
    p_value : float
        How often a replication reaches what is observed; of "position" on either side.
    """

    name: str
    observed: float
    expected: float
    spread: float
    p_value: float


@dataclass(frozen=True)
class PredictiveChecks(Result):
    """Posterior predictive checks of a fitted posterior.

    Examples
    --------
    >>> print(PredictiveChecks((PredictiveCheck("triads", 0.081, 0.065, 0.006, 0.01),), 400))
    check   observed  expected  p
    triads  0.081     0.065     0.01
    """

    checks: tuple[PredictiveCheck, ...]
    n_replications: int

    def __getitem__(self, name: str) -> PredictiveCheck:
        for check in self.checks:
            if check.name == name:
                return check
        raise KeyError(f"{name!r} was not checked; there are {', '.join(check.name for check in self.checks)}")

    def summary(self) -> str:
        """Return a table of checks as text."""
        rows = [[each.name, *(f"{value:.3g}" for value in (each.observed, each.expected, each.p_value))]
                for each in self.checks]  # fmt: skip
        return "\n".join(text_table([["check", "observed", "expected", "p"], *rows]))


def predictive_checks(
    model: PosteriorEmbedding,
    *,
    first_chosen: ArrayLike | None = None,
    n_replications: int = 400,
    random_state: RandomState = None,
) -> PredictiveChecks:
    """Check whether the answers look like those that a fitted posterior would give.

    "views": people differ by more than slope and lapse rate, as where each has a map of their own; needs to know who
    answered. "questions": people agree about single questions where no map of these dimensions does, as where distances
    depend on what they are compared with, or dimensions are missing; needs questions that were answered more than once.
    "triads": answers are more often intransitive than a map with noise explains; needs trials of one comparison, and 30
    triads. "position": the option shown first is chosen more or less often than the map predicts; needs
    ``first_chosen``. The p-values of the last two are conservative; of all, where answers are all but free of noise.

    Rows of one trial are not independent, and how a trial of several rows would be answered is not modeled: its
    residuals are replicated by random signs, the same for all rows. Draws must have converged: where they have not, as
    may be with solver="fast" and many answers, what the map lacks looks like agreement about questions.

    Parameters
    ----------
    model : fitted PosteriorEmbedding
        Its comparisons must be in memory.
    first_chosen : array-like of bool, shape (m,), optional
        For each comparison of the fit, whether the option shown first was chosen.
    n_replications : int >= 1
        Of each statistic.
    random_state : None, int, SeedSequence, Generator or RandomState

    Examples
    --------
    >>> from dataclasses import replace
    >>> from nearer.datasets import make_gaussian, sample_triplets
    >>> from nearer.embedding import PosteriorEmbedding
    >>> answers = sample_triplets(make_gaussian(10, 2, random_state=0), 300, flipped=0.1, random_state=0)
    >>> answers = replace(answers, annotators=np.arange(300) % 10)
    >>> model = PosteriorEmbedding(random_state=0).fit(answers)
    >>> found = predictive_checks(model, random_state=0)
    >>> [check.name for check in found.checks], found["views"].p_value > 0.05
    (['views', 'triads'], True)
    """
    check_integer("n_replications", n_replications, 1)
    comparisons = model.comparisons_
    if not isinstance(comparisons, Comparisons):
        raise ValueError("its comparisons are not in memory; fit the posterior to a part of them")
    rng = stream(random_state, "start")
    judged = with_positive_weight(comparisons)
    population = model.population(min(len(model.draws_), n_replications, _N_DRAWS), random_state=rng)
    answered = _Answered.of(judged, population, model.reliability_ is not None, rng)
    statistics: dict[str, _Statistic] = {}
    if model.reliability_ is not None:
        statistics["views"] = _Views.of_answers(answered, judged)
    questions = _Questions.of_answers(answered, judged)
    if questions.has_products:
        statistics["questions"] = questions
    if answered.is_single.all():
        triads = _Triads.of(judged, rng)
        if triads.n_closed >= MIN_QUESTIONS:
            statistics["triads"] = triads
    if first_chosen is not None:
        chosen = np.asarray(first_chosen, dtype=bool)
        if chosen.shape != (len(comparisons),):
            raise ValueError(f"first_chosen needs a value for each of {len(comparisons)} comparisons")
        statistics["position"] = _Position(np.where(chosen[comparisons.sample_weight > 0], 1.0, -1.0))
    log_odds = np.array([answered.draw(number).log_odds for number in range(answered.n_draws)])
    is_linear = float(np.median(log_odds.std(axis=0))) <= _MAX_SPREAD
    found = []
    for name, statistic in statistics.items():
        compare = _by_refits if isinstance(statistic, _CrossProducts) and is_linear else _by_draws
        observed, replicated = compare(statistic, answered, n_replications, rng)
        two_sided = name == "position"
        reached = np.abs(replicated) >= np.abs(observed) if two_sided else replicated >= observed
        p_value = (1 + np.count_nonzero(reached)) / (1 + n_replications)
        means = float(observed.mean()), float(replicated.mean())
        found.append(PredictiveCheck(name, *means, float(replicated.std()), float(p_value)))
    return PredictiveChecks(tuple(found), n_replications)


def _by_draws(
    statistic: _Statistic, answered: _Answered, n_replications: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return the statistic of the answers and of replicated ones, each with the same draw, (replications,)."""
    values = np.empty((2, n_replications))
    for number in range(n_replications):
        draw = answered.draw(number % answered.n_draws)
        both = 1 - draw.probability, draw.replicated_residuals(answered, rng)
        values[:, number] = [statistic(draw, residuals) for residuals in both]
    return values[0], values[1]


def _by_refits(
    statistic: _Statistic, answered: _Answered, n_replications: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return the mean of the statistic over draws, (1,), and that of each replication after a refit to it."""
    draws = (answered.draw(number) for number in range(answered.n_draws))
    observed = np.array([np.mean([statistic(draw, 1 - draw.probability) for draw in draws])])
    numbers = np.unique(np.linspace(0, answered.n_draws - 1, _N_REFITTED_DRAWS).astype(int))
    replicated, scattered = [], []
    for number, count in zip(numbers, np.bincount(np.arange(n_replications) % len(numbers)), strict=True):
        draw = answered.draw(int(number))
        refit = _Refit(draw, answered)
        replicated += [statistic(draw, refit.residuals(draw.replicated_residuals(answered, rng))) for _ in range(count)]
        scattered += [statistic(draw, refit.scatter(rng)) for _ in range(count)]
    return observed, np.array(replicated) + np.mean(scattered)


class _Refit:
    """The posterior of replicated answers around the draw that gave them, to first order."""

    def __init__(self, draw: _Draw, answered: _Answered) -> None:
        m, n = len(draw.quadruplets), len(draw.points)
        points = draw.points_of_wide_axes
        p, person, n_people = points.shape[1], answered.person, answered.slopes.shape[1]
        deviation = np.sqrt(draw.variance)
        steps = draw.directions(points, draw.attentive / deviation).reshape(4, m, p)
        effects = draw.effects / deviation  # of slope and lapse rate
        columns = [(draw.quadruplets.T[:, :, None] * p + np.arange(p)).ravel()]
        columns += [n * p + kind * n_people + person for kind in range(2)]
        rows = [np.tile(np.repeat(np.arange(m), p), 4), np.arange(m), np.arange(m)]
        values = np.concatenate([steps.ravel(), *effects])
        shape = m, n * p + 2 * n_people
        self.changes = csr_array((values, (np.concatenate(rows), np.concatenate(columns))), shape=shape)
        self.precision = np.concatenate([np.tile(1 / np.square(points).mean(axis=0), n), np.ones(2 * n_people)])
        self.deviation, self.weights = deviation, answered.weights
        information = self.changes.T @ (self.changes * self.weights[:, None]) + diags_array(self.precision)
        self.solve = splu(information.tocsc()).solve  # sparse, as people are in no row together

    def residuals(self, residuals: FloatArray) -> FloatArray:
        """Return what a refit leaves of residuals, (m,)."""
        standard = residuals / self.deviation
        step = self.solve(self.changes.T @ (self.weights * standard))
        return self.deviation * (standard - self.changes @ step)

    def scatter(self, rng: np.random.Generator) -> FloatArray:
        """Return a change of residuals by drawing from the posterior, (m,)."""
        answers, prior = rng.normal(size=len(self.weights)), rng.normal(size=len(self.precision))
        score = self.changes.T @ (np.sqrt(self.weights) * answers) + np.sqrt(self.precision) * prior
        return self.deviation * (self.changes @ self.solve(score))


class _Draw(NamedTuple):
    """A draw: its map, and of each answer the log-odds of an attentive person, slope, lapse rate and probability."""

    points: FloatArray
    offset: float
    quadruplets: NDArray[np.integer]
    sides: NDArray[np.int64]  # 1 or -1: which of the two answers to its question each is
    log_odds: FloatArray
    slopes: FloatArray
    lapses: FloatArray
    spreads: tuple[float, float]  # of people in log slope and in the logit of the lapse rate
    probability: FloatArray

    @property
    def variance(self) -> FloatArray:
        return np.maximum(self.probability * (1 - self.probability), _MIN_VARIANCE)

    @property
    def attentive(self) -> FloatArray:
        """The derivative of the probability by the log-odds."""
        return (1 - self.lapses) * expit(self.log_odds) * expit(-self.log_odds)

    @property
    def effects(self) -> FloatArray:
        """The derivatives of the probability by the standard normal effects of the person, (2, m)."""
        by_lapse = (0.5 - expit(self.log_odds)) * self.lapses * (1 - self.lapses)
        return np.array([self.spreads[0] * self.attentive * self.log_odds, self.spreads[1] * by_lapse])

    @property
    def points_of_wide_axes(self) -> FloatArray:
        """The map, without axes along which objects hardly differ, (n, q)."""
        left, sizes, _ = np.linalg.svd(self.points - self.points.mean(axis=0), full_matrices=False)
        return np.asarray((left * sizes)[:, sizes**2 >= _MIN_AXIS_SHARE * np.sum(sizes**2)])

    def scores(self, residuals: FloatArray) -> FloatArray:
        """Return the derivatives of the log-likelihood of answers by their log-odds, (m,)."""
        return residuals * self.attentive / self.variance

    def directions(self, points: FloatArray, factors: FloatArray) -> FloatArray:
        """Return factors times the derivatives of the log-odds by the four places of each row, (4 m, q)."""
        i, j, l, k = self.quadruplets.T  # noqa: E741
        near, far = points[i] - points[j], points[l] - points[k]
        scaled = 2 * self.slopes * factors
        near *= (scaled / (self.offset + np.square(near).sum(axis=1)))[:, None]
        far *= (scaled / (self.offset + np.square(far).sum(axis=1)))[:, None]
        return np.concatenate([-near, near, far, -far])

    def replicated_residuals(self, answered: _Answered, rng: np.random.Generator) -> FloatArray:
        """Return replicated answers, 1 if as observed, less their probabilities, (m,)."""
        drawn = (rng.random(len(self.probability)) < self.probability) - self.probability
        if answered.is_single.all():
            return drawn
        signs = rng.choice([-1.0, 1.0], size=int(answered.trial.max()) + 1)[answered.trial]
        return np.where(answered.is_single, drawn, signs * (1 - self.probability))


@dataclass(frozen=True, eq=False)
class _Answered:
    """Answers in the draws of a population, with effects of each person, (draws, people)."""

    population: Population
    quadruplets: NDArray[np.integer]
    sides: NDArray[np.int64]
    person: NDArray[np.intp]
    trial: NDArray[np.intp]
    weights: FloatArray  # (m,): of each row in a fit
    is_single: NDArray[np.bool_]  # whether each row is a trial by itself
    slopes: FloatArray
    lapses: FloatArray

    @classmethod
    def of(cls, judged: Comparisons, population: Population, by_annotator: bool, rng: np.random.Generator) -> _Answered:
        person = np.zeros(len(judged), dtype=np.intp)
        slopes, lapses = population.slopes[:, None], population.lapses[:, None]
        if by_annotator and judged.annotators is not None:
            person = factorize(judged.annotators)[1]
            rows = rows_of_annotators(population, distinct_comparisons(judged))
            effects = [integrate_annotator(*each, population).draw(rng) for each in rows]
            slopes, lapses = np.moveaxis(np.array(effects), 0, 2)
        trial = trial_indices(judged) * (int(person.max()) + 1) + person  # a label of two people is two trials
        trial = np.unique(trial, return_inverse=True)[1]
        n_rows = np.bincount(trial)[trial]
        near, far = near_far_codes(judged.oriented, judged.n_objects)
        sides = np.where(near < far, 1, -1)
        weights = n_rows.astype(np.float64) ** -TRIAL_EXPONENT
        return cls(population, judged.oriented, sides, person, trial, weights, n_rows == 1, slopes, lapses)

    @property
    def n_draws(self) -> int:
        return len(self.population.points)

    def draw(self, number: int) -> _Draw:
        one = Population(*(values[number : number + 1] for values in self.population))
        slopes, lapses = self.slopes[number, self.person], self.lapses[number, self.person]
        log_odds = slopes * log_ratios(one, self.quadruplets)[0]
        probability = answer_probability(log_odds, lapses)
        offset = float(one.offsets[0])
        spreads = float(one.slope_spreads[0]), float(one.lapse_spreads[0])
        return _Draw(
            one.points[0], offset, self.quadruplets, self.sides, log_odds, slopes, lapses, spreads, probability
        )


@dataclass(frozen=True, eq=False)
class _CrossProducts:
    """Sum of products of the scores of different answers of a group: squares of sums, less those of its parts."""

    of_groups: csr_array  # sparse sums, (groups, scores)
    of_parts: csr_array

    @classmethod
    def of(cls, groups: NDArray[np.integer], parts: NDArray[np.integer]) -> Self:
        """Return sums over groups and their parts, given by codes of the scores."""
        return cls(_sums(groups), _sums(parts))

    @property
    def has_products(self) -> bool:
        """Whether any group has more than one part."""
        return int(self.of_groups.shape[0]) < int(self.of_parts.shape[0])

    def total(self, scores: FloatArray) -> float:
        return float(np.square(self.of_groups @ scores).sum() - np.square(self.of_parts @ scores).sum())


def _sums(codes: NDArray[np.integer]) -> csr_array:
    """Return the matrix that adds up values of equal codes."""
    groups = np.unique(codes, return_inverse=True)[1]
    return csr_array((np.ones(len(codes)), (groups, np.arange(len(codes)))))


class _Questions(_CrossProducts):
    """The score statistic for log-odds of single questions that no map has."""

    @classmethod
    def of_answers(cls, answered: _Answered, judged: Comparisons) -> _Questions:
        question = question_indices(judged)
        unit = answered.person if answered.person.any() else answered.trial
        return cls.of(question, question * (int(unit.max()) + 1) + unit)

    def __call__(self, draw: _Draw, residuals: FloatArray) -> float:
        return self.total(draw.sides * draw.scores(residuals))


class _Views(_CrossProducts):
    """The score statistic for displacements of objects on the maps of single people."""

    @classmethod
    def of_answers(cls, answered: _Answered, judged: Comparisons) -> _Views:
        codes = (unit[:, None] * judged.n_objects + judged.oriented for unit in (answered.person, answered.trial))
        return cls.of(*(each.T.ravel() for each in codes))

    def __call__(self, draw: _Draw, residuals: FloatArray) -> float:
        return self.total(draw.directions(draw.points_of_wide_axes, draw.scores(residuals)))


class _Triads(NamedTuple):
    """The share of intransitive triads among majority answers."""

    ends: NDArray[np.int64]  # (questions, 2): pairs of objects
    question: NDArray[np.intp]  # (m,)
    sides: NDArray[np.int64]  # (m,): 1 where the answer as observed calls the first pair the near one, -1 otherwise
    n_pairs: int
    n_closed: int
    rng: np.random.Generator

    @classmethod
    def of(cls, judged: Comparisons, rng: np.random.Generator) -> _Triads:
        near, far = near_far_codes(judged.oriented, judged.n_objects)
        pairs, both = np.unique(np.concatenate([near, far]), return_inverse=True)
        near, far = both.reshape(2, -1)
        ends, question = np.unique(np.sort(np.column_stack([near, far])), axis=0, return_inverse=True)
        sides = np.where(near < far, 1, -1)
        found = cls(ends, question.ravel(), sides, len(pairs), 0, rng)
        return found._replace(n_closed=found.share_of(np.ones(len(near)))[0])

    def share_of(self, answers: FloatArray) -> tuple[int, float]:
        """Return how many triads are closed, and which share of them is intransitive; answers are 1 as observed."""
        votes = np.bincount(self.question, answers * self.sides, len(self.ends))
        decided = votes != 0
        ends = np.where(votes[:, None] > 0, self.ends, self.ends[:, ::-1])[decided]
        found = count_triads(ends[:, 0], ends[:, 1], self.n_pairs, self.rng)
        return found.n_closed, found.share_cyclic or 0.0

    def __call__(self, draw: _Draw, residuals: FloatArray) -> float:
        return self.share_of(np.where(residuals > 0, 1.0, -1.0))[1]


class _Position(NamedTuple):
    """How much more often the first option is chosen than predicted, as a share of answers."""

    signs: FloatArray  # (m,): 1 where the first option was chosen

    def __call__(self, draw: _Draw, residuals: FloatArray) -> float:
        return float(np.mean(self.signs * residuals))

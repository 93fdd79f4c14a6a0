"""Noise ceiling: the smallest error that any predictor could have, from questions that were asked more than once.

With q the share of people who give the minority answer to a question, the ceiling is E_G[q], G being the distribution
of q over questions: any, estimated on a grid by maximum likelihood of a mixture of binomials. Estimate and interval
(profile likelihood) are all E_G[q] of distributions that fit best, or as well as a test allows; see the page on
mathematics.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.special import chdtri, xlog1py, xlogy

from nearer._common.arrays import FloatArray
from nearer._common.formatting import format_level, intcomma, percent, pluralize
from nearer._common.parameters import check_level
from nearer._common.results import Result
from nearer.data.comparisons import Comparisons
from nearer.data.groups import is_tied, near_far_codes, question_indices, trial_indices
from nearer.data.labels import factorize
from nearer.evaluation.held_out import read_weighted

NEAR_CHANCE = 0.45  # an error whose interval reaches this may be that of guessing
AT_CHANCE = 0.4  # an error whose interval begins above this is that of guessing
WIDE_INTERVAL = 0.15  # a wider one is not informative
MIN_QUESTIONS = 20
_MAX_POINT_WIDTH = 0.01  # values that fit equally well and lie farther apart are stated as bounds
_FIT_TOL = 1e-3  # in log-likelihood: distributions that are this near the best fit as well as it
# Of q, evenly spaced in the angle whose squared sine it is, on which binomials are equally wide everywhere.
_ERROR_GRID = np.sin(np.linspace(0.0, np.pi / 4, 101)) ** 2
_CLASS_MIN_ANSWERS = (4, 6)  # least answers of the classes after the first
_DUALITY_GAP = 1e-6  # of a solution, in log-likelihood
_MAX_CODED_OBJECTS = 50_000  # whose questions, n^4, are codes of 64 bits
_MAX_ITERATIONS = 100
_MAX_TILT = 1e4  # per question: the mean of q is then at its bound
_SMALLEST_FLOAT = float(np.finfo(np.float64).tiny)


#: What a ceiling leaves open.
OTHER_PREDICTORS = "A predictor that knows who answers may do better."


@dataclass(frozen=True)
class NoiseCeiling(Result):
    """The smallest error that a map which all people share could have on questions such as these.

    Attributes
    ----------
    error : float
        The smallest value that fits the answers best.
    low, high : float
        Interval of the ceiling.
    at_most : float or None
        The largest value that fits the answers as well as ``error``, which with few answers per question is a lower
        bound. None where it is not known.
    n_questions, n_answers : int
        Questions that were answered more than once, and their answers.
    level : float
        Of the interval.

    Examples
    --------
    >>> print(NoiseCeiling(0.104, 0.0871, 0.1212, 0.106, 340, 912))
    a map that all people share is estimated to err in 10% of answers at best (95% interval 8.7% to 12%): \
    340 questions asked 912 times
    >>> print(NoiseCeiling(0.104, 0.0871, 0.2012, 0.185, 340, 680))
    a map that all people share is estimated to err in 10% to 18% of answers at best (95% interval 8.7% to 20%; more \
    answers per question would narrow it): 340 questions asked 680 times
    >>> NoiseCeiling(0.16, 0.13, 0.18).is_vague, NoiseCeiling(0.39, 0.18, 0.5).is_vague
    (False, True)
    """

    error: float
    low: float
    high: float
    at_most: float | None = None
    n_questions: int = 0
    n_answers: int = 0
    level: float = 0.95

    @classmethod
    def read(cls, figures: Mapping[str, Any], level: float = 0.95) -> NoiseCeiling | None:
        """Return the ceiling among the figures of findings or results; one without an interval is taken as exact."""
        error = figures.get("ceiling")
        if error is None:
            return None
        low, high = (figures.get(f"ceiling_{end}") for end in ("low", "high"))
        ends = error if low is None else low, error if high is None else high
        return cls(error, *ends, figures.get("ceiling_at_most"), level=level)

    @classmethod
    def read_informative(cls, figures: Mapping[str, Any]) -> NoiseCeiling | None:
        """Return the ceiling among figures, if there is one and it is not vague."""
        found = cls.read(figures)
        return None if found is None or found.is_vague else found

    @property
    def is_bound(self) -> bool:
        """Whether the error is only a lower bound: markedly larger values fit the answers as well."""
        return self.at_most is not None and self.at_most - self.error > _MAX_POINT_WIDTH

    @property
    def is_vague(self) -> bool:
        """Whether the interval is too wide to be informative, or reaches chance."""
        return self.high - self.low > WIDE_INTERVAL or (self.high >= NEAR_CHANCE and self.low < AT_CHANCE)

    @property
    def interval_text(self) -> str:
        """The interval as text."""
        return f"{percent(self.low)} to {percent(self.high)}"

    def text(self, write: Callable[[float], str] = percent) -> str:
        """Write the error, or where it is a bound the range of values that fit as well."""
        return write(self.error) + (f" to {write(self.at_most)}" if self.at_most is not None and self.is_bound else "")

    def statement(self) -> str:
        """Return the error and its interval in words."""
        text = f"a map that all people share is estimated to err in {self.text()} of answers at best"
        narrower = "; more answers per question would narrow it" if self.is_bound else ""
        if self.low >= self.high:
            return text
        return f"{text} ({format_level(self.level)} interval {self.interval_text}{narrower})"

    def summary(self) -> str:
        """Return the statement, and how many questions it is from, as text."""
        asked = f"{pluralize(self.n_questions, 'question')} asked {intcomma(self.n_answers)} times"
        return f"{self.statement()}: {asked}"


def noise_ceiling(comparisons: Any, *, level: float = 0.95) -> NoiseCeiling | None:
    """Estimate the smallest error that any predictor could have, from 20 repeated questions or more.

    Questions count as the held-out error counts them: as often as they were asked, or by the weights of their rows.
    Those asked once are taken to be no easier or harder than the others. Answers are taken to be independent: where it
    is known who answered, a person counts once for each question, with the first answer, and otherwise, or if there is
    only one person, each trial does. Rows of one trial are never repeats; where they contradict each other about a
    question, half of them are wrong whatever is predicted, and such questions count as repeated only if there are no
    others.

    Parameters
    ----------
    comparisons : Comparisons or array-like, shape (m, 3) or (m, 4)
    level : float
        Of the interval.

    Notes
    -----
    A predictor that knows who is asked may do better. With two or three answers per question the ceiling is only
    identified between bounds, ``error`` and ``at_most``, however many questions there are. With six or more the bounds
    mostly meet. The interval is about the people who answered and questions like these: where a few people answer
    everything and differ much in lapses, it covers the ceiling of all people less often.

    Examples
    --------
    >>> from nearer.datasets import make_gaussian, sample_triplets
    >>> points = make_gaussian(10, 2, random_state=0)
    >>> asked = [sample_triplets(points, flipped=0.1, random_state=seed) for seed in range(5)]
    >>> found = noise_ceiling(Comparisons.concatenate(asked))
    >>> found.n_questions, bool(found.low < 0.1 < found.high)
    (360, True)
    """
    check_level(level)
    weighted = read_weighted(comparisons)
    contradictory = is_tied(weighted)
    counts = _count(weighted if contradictory.all() else weighted[~contradictory])
    if counts.n_questions < MIN_QUESTIONS:
        return None
    weights = _scaled(weighted)
    split = float(weights[contradictory].sum() / weights.sum())
    found = (0.5, 0.5, 0.5, 0.5) if contradictory.all() else _mean_minority(counts, level)
    error, at_most, low, high = (split / 2 + (1 - split) * each for each in found)
    return NoiseCeiling(error, low, high, at_most, counts.n_questions, counts.n_answers, level)


def _scaled(comparisons: Comparisons) -> FloatArray:
    """Return weights divided by the largest, as squares of huge weights would be infinite."""
    return comparisons.sample_weight / comparisons.sample_weight.max()


class _QuestionCounts(NamedTuple):
    """Questions grouped by how often they were answered, and how often by the minority: c kinds, each a column."""

    minority: NDArray[np.int64]
    answers: NDArray[np.int64]
    n_alike: FloatArray  # questions of each kind
    weights: FloatArray  # sum of the weights of these questions
    squares: FloatArray  # sum of their squares

    @property
    def n_questions(self) -> int:
        return int(self.n_alike.sum())

    @property
    def n_answers(self) -> int:
        return int(self.n_alike @ self.answers)


def _count(comparisons: Comparisons) -> _QuestionCounts:
    """Return the kinds of questions that were answered more than once."""
    scaled = _scaled(comparisons)
    total, again = float(scaled.sum()), _asked_again(comparisons)
    if not again.any():
        nothing = np.empty(0)
        return _QuestionCounts(nothing.astype(np.int64), nothing.astype(np.int64), nothing, nothing, nothing)
    comparisons, scaled = comparisons[again], scaled[again]
    questions = question_indices(comparisons)
    respondents = trial_indices(comparisons)
    if comparisons.annotators is not None:
        people, person = factorize(comparisons.annotators)
        respondents = person if len(people) > 1 else respondents
    # The first answer of each respondent to each question.
    kept = np.unique(questions.astype(np.int64) * (int(respondents.max()) + 1) + respondents, return_index=True)[1]
    near, far = near_far_codes(comparisons.oriented[kept], comparisons.n_objects)
    answers = np.bincount(questions[kept])
    first = np.bincount(questions[kept], near < far).astype(np.int64)
    weights = np.bincount(questions, scaled)
    repeated = answers > 1
    # Questions asked once weigh as repeated ones do, each of which is as likely to be like them.
    weights = weights + (total - weights[repeated].sum()) / max(repeated.sum(), 1)
    answers, first, weights = answers[repeated], first[repeated], weights[repeated]
    kinds, kind = np.unique([np.minimum(first, answers - first), answers], axis=1, return_inverse=True)
    sums = [np.bincount(kind.ravel(), each).astype(np.float64) for each in (weights**0, weights, weights**2)]
    return _QuestionCounts(kinds[0], kinds[1], *sums)


def _asked_again(comparisons: Comparisons) -> NDArray[np.bool_]:
    """Return which rows ask a question that another row asks, too, (m,)."""
    if comparisons.n_objects > _MAX_CODED_OBJECTS:
        return np.ones(len(comparisons), dtype=bool)
    near, far = near_far_codes(comparisons.quadruplets, comparisons.n_objects)
    codes = np.minimum(near, far) * comparisons.n_objects**2 + np.maximum(near, far)
    ordered = np.sort(codes)
    several = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    if len(several) == 0:
        return np.zeros(len(codes), dtype=bool)
    places = np.searchsorted(several, codes).clip(max=len(several) - 1)
    return np.asarray(several[places] == codes)


def _mean_minority(counts: _QuestionCounts, level: float) -> tuple[float, float, float, float]:
    """Return the smallest and the largest mean of q that fit best, and the interval of the mean of q."""
    classes = np.searchsorted(_CLASS_MIN_ANSWERS, counts.answers, side="right")
    mixtures = [_Mixture.of(counts, classes == each) for each in np.unique(classes)]
    most = float(chdtri(1, 1 - level)) / 2
    low, error, at_most, high = (
        _end(mixtures, sign, fall) for sign, fall in ((-1, most), (-1, _FIT_TOL), (1, _FIT_TOL), (1, most))
    )
    return error, max(at_most, error), min(low, error), max(high, at_most, error)


def _end(mixtures: list[_Mixture], sign: int, fall: float) -> float:
    """Return the smallest (sign -1) or largest (+1) mean of q whose log-likelihood is ``fall`` below the best.

    Either maximizes l(G) + t E_G[q], and the tilt t, one for all mixtures, is found such that the likelihood falls so
    far.
    """
    n = sum(float(mixture.n.sum()) for mixture in mixtures)
    # Where the mean is well known, the likelihood falls with the square of the tilt.
    low, high, tilt = 0.0, np.inf, float(np.sqrt(n * fall))
    for _ in range(_MAX_ITERATIONS):
        masses = [mixture.fit(sign * tilt * mixture.share) for mixture in mixtures]
        pairs = list(zip(mixtures, masses, strict=True))
        fallen = max(sum(mixture.best - mixture.log_likelihood(mass) for mixture, mass in pairs), 0.0)
        if abs(fallen - fall) <= 0.02 * fall or tilt > _MAX_TILT * n:
            break
        low, high = (tilt, high) if fallen < fall else (low, tilt)
        guess = tilt * float(np.sqrt(fall / max(fallen, fall / 100)))
        tilt = guess if low < guess < high else (low + min(high, 4 * low)) / 2
    return sum(mixture.share * float(_ERROR_GRID @ mass) for mixture, mass in pairs)


class _Mixture(NamedTuple):
    """The mixture of binomials over the grid of q in one class of questions, and its best log-likelihood."""

    chances: FloatArray  # (c, g), each row divided by its largest
    n: FloatArray  # (c,), effective numbers of questions
    share: float  # of the class in the weight of all questions
    best: float

    @classmethod
    def of(cls, counts: _QuestionCounts, inside: NDArray[np.bool_]) -> _Mixture:
        minority, answers, _, weights, squares = (column[inside] for column in counts)
        few, many = minority[:, None], (answers - minority)[:, None]
        logs = np.logaddexp(
            *(xlogy(one, _ERROR_GRID) + xlog1py(other, -_ERROR_GRID) for one, other in ((few, many), (many, few)))
        )
        chances = np.exp(logs - logs.max(axis=1, keepdims=True))
        n = weights * (weights.sum() / max(float(squares.sum()), _SMALLEST_FLOAT))
        flat = cls(chances, n, float(weights.sum() / counts.weights.sum()), 0.0)
        return flat._replace(best=flat.log_likelihood(flat.fit(0.0)))

    def log_likelihood(self, mass: FloatArray) -> float:
        return float(self.n @ np.log(self.chances @ mass))

    def fit(self, tilt: float) -> FloatArray:
        """Return the masses on the grid that maximize the log-likelihood plus ``tilt`` times the mean of q, (g,).

        A primal-dual interior-point method: masses x > 0 that sum to 1, multipliers s > 0, x s brought down to 0.
        """
        size, total = len(_ERROR_GRID), self.n.sum()
        mass, slack, multiplier = np.full(size, 1 / size), np.full(size, total), total
        for _ in range(_MAX_ITERATIONS):
            mixed = self.chances @ mass
            gradient = -(self.chances.T @ (self.n / mixed)) - tilt * _ERROR_GRID
            dual, gap = gradient + multiplier - slack, float(mass @ slack)
            if gap < _DUALITY_GAP and np.abs(dual).max() < _DUALITY_GAP * total:
                break
            target = 0.1 * gap / size
            hessian = (self.chances.T * (self.n / mixed**2)) @ self.chances
            hessian[np.diag_indices(size)] += slack / mass
            factor = cho_factor(hessian)
            along, ones = (cho_solve(factor, side) for side in (target / mass - gradient - multiplier, np.ones(size)))
            change = (along.sum() + mass.sum() - 1) / ones.sum()
            step = along - change * ones
            slack_step = (target - slack * step) / mass - slack
            length = min(_longest(mass, step), _longest(slack, slack_step))
            mass, slack, multiplier = mass + length * step, slack + length * slack_step, multiplier + length * change
        return mass / mass.sum()


def _longest(values: FloatArray, step: FloatArray) -> float:
    """Return the largest share of a step, at most 1, that keeps all values positive."""
    shrinks = step < 0
    return float(min(0.99 * np.min(-values[shrinks] / step[shrinks], initial=np.inf), 1.0))

"""The smallest error that any predictor could have, from questions that were asked more than once.

Let q be the share of people who give the minority answer to a question, 0 <= q <= 1/2. Who knows nothing about the
person asked does best to predict the majority, and errs with probability q; the ceiling is the mean of q. The minority
share *seen* among few answers is smaller than q on average (of two answers that agree it is 0). And how often two
answers disagree, D = mean of 2 q (1 - q), only confines the mean of q: it lies between (1 - sqrt(1 - 2 D)) / 2, when
all questions are equally hard, and D, when some are toss-ups and all others sure. So the spread of q over questions
gets a model with two parameters,

    q = lapse + (1 - 2 lapse) min(b, 1 - b),        b ~ Beta(shape, shape):

answers that are wrong whatever the question, and close calls of every degree. Counts of answers then follow a mixture
of binomials, whose likelihood is worked out on a grid of both parameters. The ceiling is the mean of q over the
questions given their counts, averaged over the grid by its likelihood. Its interval holds all that a likelihood ratio
test does not refuse, of both parameters (much, where questions were asked only twice) and of q given these. Where
questions are either toss-ups or sure, and nothing between, the model puts the ceiling too low, which errs on the side
of what is still possible.

Of an answer "can't tell" that was split, so that one trial says both ways about a question, half is wrong whatever is
predicted. Such answers take no part in the model, and the ceiling is the mean of its q and of one half, by weight.

The ceiling says something only if its interval is informative: no wider than 0.15, and not reaching near chance from
an error that is markedly better. Where it is vague, nothing may be measured by it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, ndtri

from nearer.common.arrays import FloatArray
from nearer.common.parameters import check_level
from nearer.common.words import counted, digits, figure, interval, level_of, percent
from nearer.data.comparisons import Comparisons
from nearer.data.labels import factorize
from nearer.data.units import near_and_far, questions_of, torn, trials_of
from nearer.evaluation.held_out import read_judged

NEAR_CHANCE = 0.45  # an error that may be above this may be a coin's
SURELY_CHANCE = 0.4  # one that is known to be above this is as good as a coin's
WIDE = 0.15  # an interval beyond this tells little
FEWEST_QUESTIONS = 20
_N_GRID = 24  # values of each parameter
_LEAST_LIKELY = 10.0  # in log-likelihood below the best: what is left out of the grid is e^-10 times as likely
# Lapses, and logarithms of shapes, each as likely as the other before the counts are seen.
_RANGES = ((0.0, 0.5), (float(np.log(0.003)), float(np.log(100.0))))
# Finer towards 0, where Beta distributions of small shape have their mass.
_EDGES = np.concatenate([[0.0], np.geomspace(1e-5, 0.5, 120)])


class Best(NamedTuple):
    """A noise ceiling with its interval.

    Examples
    --------
    >>> Best(0.16, 0.13, 0.18).vague, Best(0.39, 0.18, 0.5).vague
    (False, True)
    """

    error: float
    low: float
    high: float

    @property
    def vague(self) -> bool:
        """Whether the interval leaves open what is possible."""
        return self.high - self.low > WIDE or (self.high >= NEAR_CHANCE and self.low < SURELY_CHANCE)

    @property
    def within(self) -> str:
        """The interval in words."""
        return f"{percent(self.low)} to {percent(self.high)}"

    @classmethod
    def read(cls, figures: Mapping[str, Any]) -> Best | None:
        """Return the ceiling among the figures of findings or results; one without an interval is taken as exact."""
        error = figures.get("ceiling")
        if error is None:
            return None
        low, high = (figures.get(f"ceiling_{end}") for end in ("low", "high"))
        return cls(error, error if low is None else low, error if high is None else high)

    @classmethod
    def known(cls, figures: Mapping[str, Any]) -> Best | None:
        """Return the ceiling among figures, if there is one and it is not vague."""
        found = cls.read(figures)
        return None if found is None or found.vague else found


@dataclass(frozen=True)
class NoiseCeiling:
    """The smallest error that any predictor could have on these answers.

    Attributes
    ----------
    error, low, high : float
        With its interval.
    n_questions, n_answers : int
        Questions that were answered more than once, and their answers.
    level : float
        Of the interval.

    Examples
    --------
    >>> print(NoiseCeiling(0.104, 0.0871, 0.1212, 340, 912))
    no predictor can err less than 0.104 (95% interval 0.087 to 0.121), judging by 340 questions asked 912 times
    """

    error: float
    low: float
    high: float
    n_questions: int
    n_answers: int
    level: float = 0.95

    @property
    def best(self) -> Best:
        """The error with its interval, which may be vague."""
        return Best(self.error, self.low, self.high)

    def __str__(self) -> str:
        least = "the least possible error is hardly known:" if self.best.vague else "no predictor can err less than"
        return (
            f"{least} {figure(self.error)} ({level_of(self.level)} interval {interval(self.low, self.high)}), "
            f"judging by {counted(self.n_questions, 'question')} asked {digits(self.n_answers)} times"
        )


def noise_ceiling(comparisons: Any, *, level: float = 0.95) -> NoiseCeiling | None:
    """Estimate the smallest error that any predictor could have, from repeated questions.

    Questions count as the held-out error counts them: as often as they were asked, or by the weights of their rows.
    Those asked once say nothing here, and are taken to be no easier or harder than the others. Answers are taken to be
    given independently of each other: where it is known who answered, a person counts once for each question, with the
    first answer, and otherwise, or if there is only one person, each trial does. Rows of one trial are never repeats;
    where they say both ways about a question, nobody could get more than half of them right.

    Parameters
    ----------
    comparisons : Comparisons or array-like, shape (m, 3) or (m, 4)
    level : float
        Of the interval.

    Returns
    -------
    NoiseCeiling or None
        None with fewer than 20 repeated questions. Those that say both ways count only if there are no others.

    Notes
    -----
    A predictor that knows who is asked may do better. Two answers a question leave it to a model of the spread over
    questions how far the ceiling lies below the rate of disagreement (see the top of this module); more than two make
    the model matter less.

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
    judged = read_judged(comparisons)
    both_ways = torn(judged)
    counts = _count(judged if both_ways.all() else judged[~both_ways])
    if counts.n_questions < FEWEST_QUESTIONS:
        return None
    weights = _scaled(judged)
    split = float(weights[both_ways].sum() / weights.sum())
    found = (0.5, 0.5, 0.5) if both_ways.all() else _mean_minority(counts, level)
    error, low, high = (split / 2 + (1 - split) * each for each in found)
    return NoiseCeiling(error, low, high, counts.n_questions, counts.n_answers, level)


def _scaled(comparisons: Comparisons) -> FloatArray:
    """Return weights as parts of the largest: only ratios count, and squares of huge weights would be infinite."""
    scaled: FloatArray = comparisons.sample_weight / comparisons.sample_weight.max()
    return scaled


class _Counts(NamedTuple):
    """Questions put together by how often they were answered, and how often by the minority; c kinds."""

    minority: NDArray[np.int64]
    answers: NDArray[np.int64]
    n_alike: FloatArray  # questions of each kind
    weights: FloatArray  # sum of the weights of these questions
    squares: FloatArray  # sum of their squares

    @property
    def n_questions(self) -> int:
        return int(self.n_alike[self.answers > 1].sum())

    @property
    def n_answers(self) -> int:
        return int(self.n_alike @ (self.answers * (self.answers > 1)))


def _count(comparisons: Comparisons) -> _Counts:
    questions = questions_of(comparisons)
    voices = _voices(comparisons)
    # The first answer of each voice to each question.
    kept = np.unique(questions.astype(np.int64) * (int(voices.max()) + 1) + voices, return_index=True)[1]
    near, far = near_and_far(comparisons.oriented[kept], comparisons.n_objects)
    answers = np.bincount(questions[kept])
    first = np.bincount(questions[kept], near < far).astype(np.int64)
    weights = np.bincount(questions, _scaled(comparisons))
    kinds, kind = np.unique([np.minimum(first, answers - first), answers], axis=1, return_inverse=True)
    sums = (np.bincount(kind.ravel(), each).astype(np.float64) for each in (np.ones(len(first)), weights, weights**2))
    return _Counts(kinds[0], kinds[1], *sums)


def _voices(comparisons: Comparisons) -> NDArray[np.intp]:
    """Return for each row the number of who must not be heard twice on a question: a person, or else a trial."""
    if comparisons.annotators is not None:
        people, voices = factorize(comparisons.annotators)
        if len(people) > 1:
            return voices
    return trials_of(comparisons)


def _mean_minority(counts: _Counts, level: float) -> tuple[float, float, float]:
    """Return the mean of q, and its interval."""
    likelihoods, errors, variances = _zoomed(counts)
    behind = likelihoods.max() - likelihoods
    error = float(np.average(errors, weights=np.exp(-behind)))
    # What a likelihood ratio test does not refuse: q may stray from its mean by as much as the parameters leave over.
    left_over = float(ndtri(0.5 + level / 2)) ** 2 / 2 - behind
    astray = np.sqrt(2 * variances * np.maximum(left_over, 0.0))
    low, high = (errors - astray)[left_over >= 0].min(), (errors + astray)[left_over >= 0].max()
    return error, float(np.clip(low, 0.0, error)), float(np.clip(high, error, 0.5))


def _zoomed(counts: _Counts) -> FloatArray:
    """Return log-likelihoods, mean q and its variance on a grid of all likely parameters and no more, (3, g)."""
    ranges = np.array(_RANGES)
    while True:
        axes = [np.linspace(low, high, _N_GRID) for low, high in ranges]
        found = _on_grid(counts, *axes)
        likely = found[0] > found[0].max() - _LEAST_LIKELY
        narrower = np.empty_like(ranges)
        for axis, values in enumerate(axes):
            here = np.flatnonzero(likely.any(axis=1 - axis))
            narrower[axis] = values[max(here[0] - 1, 0)], values[min(here[-1] + 1, _N_GRID - 1)]
        if (np.ptp(narrower, axis=1) > 0.7 * np.ptp(ranges, axis=1)).all():
            return found.reshape(3, -1)
        ranges = narrower  # or all that is likely would fall between a few points of the grid


def _on_grid(counts: _Counts, lapses: FloatArray, log_shapes: FloatArray) -> FloatArray:
    """Return log-likelihood, weighted mean of q given the counts and its variance, (3, lapses, shapes)."""
    shapes = np.exp(log_shapes)
    mass = 2 * np.diff(betainc(shapes, shapes, _EDGES[:, None]), axis=0)
    nodes = (_EDGES[1:] + _EDGES[:-1]) / 2
    few, many = counts.minority[:, None], (counts.answers - counts.minority)[:, None]
    total = counts.weights.sum()
    found = np.empty((3, len(lapses), len(shapes)))
    for number, lapse in enumerate(lapses):
        q = lapse + (1 - 2 * lapse) * nodes
        right, wrong = np.log1p(-q), np.log(q)
        logs = np.logaddexp(few * wrong + many * right, many * wrong + few * right)
        peak = logs.max(axis=1, keepdims=True)
        chances = np.exp(logs - peak)
        # Shapes far from the counts leave nothing; their likelihood is then too small to matter.
        marginal = np.maximum(chances @ mass, np.finfo(np.float64).tiny)
        mean, square = ((chances * q**power) @ mass / marginal for power in (1, 2))
        found[0, number] = counts.n_alike @ (np.log(marginal) + peak)
        found[1, number] = counts.weights @ mean / total
        found[2, number] = counts.squares @ np.maximum(square - mean**2, 0.0) / total**2
    return found

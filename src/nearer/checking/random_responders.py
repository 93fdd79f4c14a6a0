"""Random responders, people who answer in reverse, and people who fail catch questions.

Each person is judged by maps of the others: docs/mathematics.md has the model, "Random responders". The probability
that any attentive person of a study is flagged is at most 5%, and the number of answers that detect nine of ten random
responders is reported.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, ndtri
from scipy.stats import beta, binom
from sklearn.base import clone

from nearer._common.arrays import FloatArray
from nearer._common.findings import Finding
from nearer._common.formatting import round_to_two_digits
from nearer.checking.context import Context, fast_estimator, subsample
from nearer.data.comparisons import Comparisons
from nearer.data.groups import is_tied
from nearer.data.labels import factorize
from nearer.evaluation.annotators import AnnotatorReliability, count_trials
from nearer.evaluation.held_out import WholeKFold, read_weighted
from nearer.evaluation.intervals import wilson_interval

FALSE_ALARM_RATE = 0.05  # of studies in which anybody is flagged wrongly
MIN_CATCH_ACCURACY = 0.9  # of attentive people
MAX_SIMULATED_ANSWERS = 2_000  # of each person: up to so many the power was simulated
_MISS_RATE = 0.025  # of random responders who look better than chance
_MIN_POWER = 0.9
_IDEALIZED_POWER = 0.94  # of an idealized study: real ones vary more
_CATCH_ALPHA = 0.02
_MIN_ANSWERS, _MAX_ANSWERS = 10, 10_000
_MIN_PEOPLE, _MAX_IDEALIZED_PEOPLE = 3, 200
_MAX_JUDGED_COMPARISONS = 2_000_000  # each person needs enough of them, and judging is fast
_MAX_TRAINING_COMPARISONS = 200_000
_N_FOLDS = 10
_N_COMPONENTS = 2  # of the maps that people are judged by
# Standard deviations of people's true errors in five studies, of mean errors of 0.2, were 0.04 to 0.07. The nearer to
# chance people are, the less room they have to differ.
_PRIOR_SPREAD, _PRIOR_SPREAD_LOG_SD = 0.06, 0.5
_PRIOR_ROOM = 0.3  # from a mean error of 0.2 to chance
_ERROR_EDGES = np.linspace(0.0, 0.5, 201)
_ERROR_GRID = (_ERROR_EDGES[:-1] + _ERROR_EDGES[1:]) / 2
# Shares of random responders, and of people who answer in reverse.
_KIND_SHARES = [(r, v) for r in (0.01, 0.03, 0.08, 0.2, 0.4, 0.7) for v in (0.003, 0.03, 0.2) if r + v < 1]


def check_random_responders(context: Context) -> Iterator[Finding]:
    """Find random responders, and people who answer in reverse."""
    part = read_weighted(subsample(context, _MAX_JUDGED_COMPARISONS))
    decided = ~is_tied(part)  # who cannot tell is not careless
    if part.annotators is None or not decided.any():
        return
    names, person = factorize(part.annotators[decided])
    if len(names) < 2:
        return
    people = _judge_twice(context, part[decided], person)
    found, errors, quantile = people.found, people.errors, float(ndtri(0.5 + context.level / 2))
    lows, highs = np.array([wilson_interval(*each, quantile) for each in zip(errors, people.weights, strict=True)]).T
    context.reliability = AnnotatorReliability(names, people.n_answers, errors, lows, highs)
    if found is None:
        return
    usual, judged = ~found.doubtful, errors[people.judged]
    typical = float(np.median(judged[usual] if usual.any() else judged))
    context.counts |= {"typical_error": typical, "n_judged": len(judged)}
    context.counts |= {"power": found.power, "answers_for_power": people.n_for_power}
    context.counts |= {"n_at_chance": int(found.at_chance.sum()), "n_reversed": int(found.reverse.sum())}
    power = {
        "power": found.power,
        "n_for_power": people.n_for_power,
        "typical_error": typical,
        "typical_n_answers": int(np.median(people.n_answers[people.judged])),
    }
    if not found.at_chance.any():
        is_sure = found.power >= _MIN_POWER
        yield Finding("at-chance", "good", numbers=power) if is_sure else Finding("low-power", "note", numbers=power)
    for code, chosen in (("at-chance", found.at_chance), ("reversed", found.reverse)):
        if chosen.any():
            which = people.judged[chosen]
            rows = [{"error": float(errors[at]), "n_answers": int(people.n_answers[at])} for at in which[:10]]
            yield Finding(code, "warning", numbers=power | {"people": rows}, concerned=tuple(names[which].tolist()))


def check_catches(context: Context) -> Iterator[Finding]:
    """Find people who fail catch questions."""
    found = context.answers.report.catches
    if found is None or not sum(found.n_asked):
        return
    asked, right = np.array(found.n_asked), np.array(found.n_right)
    failed = np.flatnonzero(binom.cdf(right, asked, MIN_CATCH_ACCURACY) < _CATCH_ALPHA)
    total, share = int(asked.sum()), float(right.sum() / asked.sum())
    counts = {"n_catch": total, "share_catch_right": share, "n_failed_catch": len(failed)}
    context.counts |= counts
    if len(failed) == 0:
        yield Finding("catch", "good", numbers=counts)
        return
    failed = failed[np.argsort(right[failed] / asked[failed], kind="stable")]
    label_of = {str(label): label for label in (context.names.tolist() if context.names is not None else ())}
    names = tuple(label_of.get(found.people[at], found.people[at]) for at in failed if found.people[at])
    people = [{"n_right": int(right[at]), "n_asked": int(asked[at])} for at in failed[:10]]
    yield Finding("fails-catch", "warning", numbers=counts | {"people": people}, concerned=names)


class _People(NamedTuple):
    """People, their errors against maps of the others, and the classification of those with enough answers."""

    judged: NDArray[np.intp]  # people with enough answers
    n_answers: NDArray[np.int64]  # of each person
    weights: FloatArray  # effective numbers of answers
    errors: FloatArray  # of each person
    found: Responders | None
    n_for_power: int | None  # in answers, where `Responders` counts weights


def _judge_twice(context: Context, part: Comparisons, person: NDArray[np.intp]) -> _People:
    """Judge people by maps of the others, and again by maps without those who are doubtful."""
    rng = context.stream("people")
    learned = rng.random(len(part)) < _MAX_TRAINING_COMPARISONS / len(part)
    people = _judge(part, person, _agreement(context, part, learned, rng))
    if people.found is None or not people.found.doubtful.any():
        return people
    doubtful = np.isin(person, people.judged[people.found.doubtful])
    return _judge(part, person, _agreement(context, part, learned & ~doubtful, rng))


def _agreement(context: Context, part: Comparisons, learned: NDArray[np.bool_], rng: np.random.Generator) -> FloatArray:
    """Return 2 P - 1 of each answer, (m,), under a map fitted to the other people of the training set."""
    agreement = np.zeros(len(part))
    answers = 1 if part.answers is None else part.answers
    estimator = fast_estimator(_N_COMPONENTS)
    for others, own in WholeKFold(_N_FOLDS, by="annotators", random_state=rng).split(part):
        train = others[learned[others]]
        model = clone(estimator).fit(part[train if len(train) else others])
        agreement[own] = 2 * model.predict_proba(part[own])[:, 1] - 1
    return agreement * answers


def _judge(part: Comparisons, person: NDArray[np.intp], agreement: FloatArray) -> _People:
    """Judge people by their agreement with the maps, if at least three gave enough answers."""
    wrong, weights = np.where(agreement == 0, 0.5, agreement < 0), part.sample_weight
    clear = weights * np.maximum(np.abs(agreement), 1e-9)  # somebody's questions may all be undecided
    (n_answers, effective), (_, worth) = (count_trials(each, person) for each in (part, replace(part, weights=clear)))
    judged = np.flatnonzero(n_answers >= _MIN_ANSWERS)
    errors, clear_errors = (np.bincount(person, w * wrong) / np.bincount(person, w) for w in (weights, clear))
    found, n_for_power = None, None
    if len(judged) >= _MIN_PEOPLE:
        clarity = np.bincount(person, clear * np.abs(agreement)) / np.bincount(person, clear)
        ratio = np.maximum(clarity / np.median(clarity[judged]), 1e-3)
        worth = worth * ratio**2
        found = Responders.from_counts(((0.5 - (0.5 - clear_errors) / ratio).clip(0, 1) * worth)[judged], worth[judged])
        if found.n_for_power is not None:
            answers_per_unit = float(np.median((n_answers / worth)[judged]))
            n_for_power = round_to_two_digits(math.ceil(found.n_for_power * answers_per_unit))
    return _People(judged, n_answers, effective, errors, found, n_for_power)


class _Grid(NamedTuple):
    """Distributions of attentive people's errors: mean, spread, probabilities (t, e), and log prior."""

    means: FloatArray
    spreads: FloatArray
    chances: FloatArray
    log_prior: FloatArray


@cache
def _grid() -> _Grid:
    pairs = [
        (mean, spread)
        for mean in np.linspace(0.01, 0.49, 33)
        for spread in np.geomspace(0.003, 0.16, 12)
        if spread < _widest(mean)
    ]
    means, spreads = np.array(pairs).T
    chances = np.array([np.diff(_distribution(*pair).cdf(2 * _ERROR_EDGES)) for pair in pairs])
    usual = _PRIOR_SPREAD * np.minimum((0.5 - means) / _PRIOR_ROOM, 1.0)
    log_prior = -0.5 * (np.log(spreads / usual) / _PRIOR_SPREAD_LOG_SD) ** 2
    return _Grid(means, spreads, chances / chances.sum(axis=1, keepdims=True), log_prior)


def _widest(mean: float) -> float:
    """Return a spread beyond which errors would pile up at 0 and 1/2."""
    return max(0.6 * float(np.sqrt(mean * (0.5 - mean))), 0.004)


def _distribution(mean: float, spread: float) -> Any:
    """Return the distribution of b = 2 e."""
    size = 2 * mean * (1 - 2 * mean) / (2 * spread) ** 2 - 1
    return beta(2 * mean * size, (1 - 2 * mean) * size)


@dataclass(frozen=True, eq=False)
class Responders:
    """A classification of people by how many of their answers go against a map of the others.

    Doubtful people are more likely random or in reverse than attentive: not a finding, but excluded from maps.
    """

    at_chance: NDArray[np.bool_]
    reverse: NDArray[np.bool_]
    doubtful: NDArray[np.bool_]
    usual: FloatArray  # errors of as many attentive people, as they are estimated
    n_answers: float  # the median
    level: float

    @classmethod
    def from_counts(cls, wrong: FloatArray, answers: FloatArray) -> Responders:
        """Judge people by how many of their answers go against the map; counts need not be whole."""
        posterior = _Posterior.from_counts(wrong, answers)
        level = FALSE_ALARM_RATE / len(wrong)
        attentive = (_at_least(wrong[:, None], answers[:, None], _ERROR_GRID) * posterior.errors).sum(axis=1)
        better = _at_least(answers - wrong, answers, 0.5) < _MISS_RATE
        reverse = _at_least(wrong, answers, 0.5) < level
        doubtful = posterior.attentive < 0.5
        usual = posterior.idealized(int(min((~doubtful).sum(), _MAX_IDEALIZED_PEOPLE)))
        at_chance = (attentive < level) & ~better & ~reverse
        return cls(at_chance, reverse, doubtful, usual, float(np.median(answers)), level)

    @cached_property
    def power(self) -> float:
        """Probability to detect a random responder with a median number of answers."""
        return _power(self.usual, self.n_answers, self.level)

    @cached_property
    def n_for_power(self) -> int | None:
        """Answers per person from which on that is 90%; None if more than 10,000."""
        return _n_for_power(self.usual, self.level)


class _Posterior(NamedTuple):
    """The posterior of people's errors in a study.

    ``errors`` has for each person the distribution of another attentive person's error given all others, (a, e);
    ``attentive`` the probability that the person is; ``mean`` and ``spread`` lie one posterior standard deviation above
    the posterior means, so that the number of answers that is reported is rather too large.
    """

    errors: FloatArray
    attentive: FloatArray
    mean: float
    spread: float

    @classmethod
    def from_counts(cls, wrong: FloatArray, answers: FloatArray) -> _Posterior:
        grid = _grid()
        attentive, reverse = _log_likelihoods(wrong, answers), _log_likelihoods(answers - wrong, answers)
        at_random = -answers[:, None] * np.log(2)
        of_others = np.full(attentive.shape, -np.inf)
        kinds = np.full((2, len(wrong)), -np.inf)  # attentive or not
        of_all = np.full(len(grid.means), -np.inf)
        for random_share, reverse_share in _KIND_SHARES:
            own = attentive + np.log(1 - random_share - reverse_share)
            other = np.logaddexp(at_random + np.log(random_share), reverse + np.log(reverse_share))
            each = np.logaddexp(own, other)
            total = each.sum(axis=0) + grid.log_prior
            without = total - each
            of_all, of_others = np.logaddexp(of_all, total), np.logaddexp(of_others, without)
            kinds = np.logaddexp(kinds, [np.logaddexp.reduce(without + kind, axis=1) for kind in (own, other)])
        weights = _normalized(of_others)
        all_weights = _normalized(of_all[None])[0]
        share = 1 / (1 + np.exp(np.clip(kinds[1] - kinds[0], -700, 700)))
        mean, spread = (_upper(all_weights, of) for of in (grid.means, grid.spreads))
        return cls(weights @ grid.chances, share, mean, spread)

    def idealized(self, n_people: int) -> FloatArray:
        """Return quantiles of the estimated distribution of errors, as many as there are attentive people."""
        places = (np.arange(max(n_people, 2)) + 0.5) / max(n_people, 2)
        mean = float(np.clip(self.mean, 0.01, 0.49))
        found: FloatArray = _distribution(mean, min(self.spread, _widest(mean))).ppf(places) / 2
        return found


def _log_likelihoods(wrong: FloatArray, answers: FloatArray) -> FloatArray:
    """Return the log-likelihood of each count under each distribution of errors, (a, t)."""
    found = wrong[:, None] * np.log(_ERROR_GRID) + (answers - wrong)[:, None] * np.log1p(-_ERROR_GRID)
    largest = found.max(axis=1, keepdims=True)
    return np.asarray(np.log(np.exp(found - largest) @ _grid().chances.T + 1e-300) + largest)


def _upper(weights: FloatArray, values: FloatArray) -> float:
    """Return the posterior mean and one standard deviation more."""
    mean = float(weights @ values)
    return mean + float(np.sqrt(weights @ (values - mean) ** 2))


def _normalized(log_weights: FloatArray) -> FloatArray:
    weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _at_least(wrong: FloatArray, answers: FloatArray, error: FloatArray | float) -> FloatArray:
    """Return P(K >= wrong) of a binomial K; counts need not be whole."""
    tail: FloatArray = np.where(wrong > 0, betainc(np.maximum(wrong, 1e-9), answers - wrong + 1, error), 1.0)
    return tail


def _power(usual: FloatArray, n_answers: float, level: float) -> float:
    """Return the probability that a random responder is flagged among people with these errors."""
    answers = np.full(len(usual), n_answers)
    errors = _Posterior.from_counts(usual * n_answers, answers).errors.mean(axis=0)
    low, high = 0, int(n_answers) + 1
    while low < high:  # the smallest count that is significant
        middle = (low + high) // 2
        tail = _at_least(np.array(float(middle)), np.array(n_answers), _ERROR_GRID) @ errors
        low, high = (middle + 1, high) if tail >= level else (low, middle)
    critical = max(low, int(binom.ppf(_MISS_RATE, int(n_answers), 0.5)))
    return float(binom.sf(critical - 1, int(n_answers), 0.5))


def _n_for_power(usual: FloatArray, level: float) -> int | None:
    """Return the least number of answers, to within 5%, with which the power is 90%."""
    steps = np.unique(np.geomspace(_MIN_ANSWERS, _MAX_ANSWERS, 140).round())
    low, high = 0, len(steps)
    while low < high:
        middle = (low + high) // 2
        low, high = (
            (low, middle) if _power(usual, float(steps[middle]), level) >= _IDEALIZED_POWER else (middle + 1, high)
        )
    return int(steps[low]) if low < len(steps) else None

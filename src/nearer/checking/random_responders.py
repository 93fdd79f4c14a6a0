r"""Random responders: whose answers are no better than chance, and how many answers it takes to detect them.

The answers of person a are predicted by a map fitted without them. Of n_a answers, k_a go against that map, each with
probability e_a, the person's error. People are of three kinds:

    e_a = b / 2,  b ~ Beta          attentive, with a mean error and a spread that the study shows;
    e_a = 1/2                       random responders, whose answers have nothing to do with the objects;
    1 - e_a = b / 2,  b ~ Beta      people who took near for far.

Mean, spread and the shares of the kinds have a posterior, on a grid. Person a is judged by the posterior of the others,
and with N people judged

    responds at random   if  P(K >= k_a | attentive) < 0.05 / N   and   P(K <= k_a | e = 1/2) >= 0.025;
    responds in reverse  if  P(K >= k_a | e = 1/2) < 0.05 / N,

where K is the number of answers against the map: in the first probability that of another attentive person of this
study, whose error is drawn from the posterior predictive distribution, in the others binomial.

**Size.** By Bonferroni's inequality the probability that any attentive person of a study is flagged is at most 5% for
each rule, as far as the distribution of errors is right. An attentive person who is unlike all others is flagged only
while their answers are not significantly better than chance.

**Power.** A random responder is missed with probability 2.5%, and more where answers are few or where attentive people
err nearly as often as chance. The power with n answers of each person follows from the critical count: that of a study
whose attentive people have the quantiles of the estimated distribution as their errors, with n answers each. The number
of answers that is reported is the least n with a power of 94% in that study, whose mean and spread are set a posterior
standard deviation above the estimates: counts of real studies vary more, and 9 of 10 random responders shall be
detected in these.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc
from scipy.stats import beta, binom

from nearer._common.arrays import FloatArray

FALSE_ALARMS = 0.05  # studies in which anybody is flagged wrongly
MISSED = 0.025  # random responders who look better than chance
POWER = 0.9
_AIM = 0.94  # power of an idealized study: real ones vary more
_FEWEST_ANSWERS, _MOST_ANSWERS = 10, 10_000
_MOST_QUANTILES = 200  # people in the study that power is worked out for
# Standard deviations of people's true errors in five studies, of mean errors of 0.2, were 0.04 to 0.07. The nearer to
# chance people are, the less room they have to differ.
_USUAL_SPREAD, _SPREAD_LOG_SD = 0.06, 0.5
_ROOM = 0.3  # from a mean error of 0.2 to chance
_EDGES = np.linspace(0.0, 0.5, 201)
_ERRORS = (_EDGES[:-1] + _EDGES[1:]) / 2
# Shares of random responders, and of people who answer in reverse.
_SHARES = [(r, v) for r in (0.01, 0.03, 0.08, 0.2, 0.4, 0.7) for v in (0.003, 0.03, 0.2) if r + v < 1]


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
    chances = np.array([np.diff(_distribution(*pair).cdf(2 * _EDGES)) for pair in pairs])
    usual = _USUAL_SPREAD * np.minimum((0.5 - means) / _ROOM, 1.0)
    log_prior = -0.5 * (np.log(spreads / usual) / _SPREAD_LOG_SD) ** 2
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
    """What counts of answers against a map of the others say of people.

    Attributes
    ----------
    at_chance, reverse : ndarray of bool, shape (a,)
        Who responds at random, and who in reverse.
    doubtful : ndarray of bool, shape (a,)
        Who is more likely one of these than attentive; not a finding, but no one to fit a map to.
    power : float
        Probability to detect a random responder who gave as many answers as people typically did.
    n_for_power : int or None
        Answers per person from which on it is 90%; None if more than 10,000.
    """

    at_chance: NDArray[np.bool_]
    reverse: NDArray[np.bool_]
    doubtful: NDArray[np.bool_]
    power: float
    n_for_power: int | None

    @classmethod
    def of(cls, wrong: FloatArray, answers: FloatArray) -> Responders:
        """Judge people by how many of their answers go against the map; counts need not be whole.

        Examples
        --------
        >>> answers = np.full(20, 300.0)
        >>> wrong = np.append(np.linspace(40.0, 90.0, 18), [120, 150])
        >>> found = Responders.of(wrong, answers)
        >>> found.at_chance.nonzero()[0].tolist(), bool(found.reverse.any()), 30 < found.n_for_power < 300
        ([19], False, True)
        """
        posterior = _Posterior.of(wrong, answers)
        level = FALSE_ALARMS / len(wrong)
        attentive = (_at_least(wrong[:, None], answers[:, None], _ERRORS) * posterior.errors).sum(axis=1)
        better = _at_least(answers - wrong, answers, 0.5) < MISSED
        reverse = _at_least(wrong, answers, 0.5) < level
        doubtful = posterior.attentive < 0.5
        usual = posterior.idealized(int(min((~doubtful).sum(), _MOST_QUANTILES)))
        power = _power(usual, float(np.median(answers)), level)
        return cls((attentive < level) & ~better & ~reverse, reverse, doubtful, power, _n_for_power(usual, level))


class _Posterior(NamedTuple):
    """What a study shows of people's errors.

    ``errors`` has for each person the distribution of another attentive person's error given all others, (a, e);
    ``attentive`` the probability that the person is; ``mean`` and ``spread`` lie one posterior standard deviation above
    the posterior means, so that the number of answers that is reported is rather too large.
    """

    errors: FloatArray
    attentive: FloatArray
    mean: float
    spread: float

    @classmethod
    def of(cls, wrong: FloatArray, answers: FloatArray) -> _Posterior:
        grid = _grid()
        attentive, reverse = _log_likelihoods(wrong, answers), _log_likelihoods(answers - wrong, answers)
        at_random = -answers[:, None] * np.log(2)
        of_others = np.full(attentive.shape, -np.inf)
        kinds = np.full((2, len(wrong)), -np.inf)  # attentive or not
        of_all = np.full(len(grid.means), -np.inf)
        for random_share, reverse_share in _SHARES:
            own = attentive + np.log(1 - random_share - reverse_share)
            other = np.logaddexp(at_random + np.log(random_share), reverse + np.log(reverse_share))
            each = np.logaddexp(own, other)
            total = each.sum(axis=0) + grid.log_prior
            without = total - each
            of_all, of_others = np.logaddexp(of_all, total), np.logaddexp(of_others, without)
            kinds = np.logaddexp(kinds, [_log_sum(without + own), _log_sum(without + other)])
        weights = _normalized(of_others)
        all_weights = _normalized(of_all[None])[0]
        share = 1 / (1 + np.exp(np.clip(kinds[1] - kinds[0], -700, 700)))
        mean, spread = (_upper(all_weights, of) for of in (grid.means, grid.spreads))
        return cls(weights @ grid.chances, share, mean, spread)

    def idealized(self, n_people: int) -> FloatArray:
        """Return errors that so many attentive people would typically have: quantiles."""
        places = (np.arange(max(n_people, 2)) + 0.5) / max(n_people, 2)
        mean = float(np.clip(self.mean, 0.01, 0.49))
        found: FloatArray = _distribution(mean, min(self.spread, _widest(mean))).ppf(places) / 2
        return found


def _log_likelihoods(wrong: FloatArray, answers: FloatArray) -> FloatArray:
    """Return the log-likelihood of each count under each distribution of errors, (a, t)."""
    found = wrong[:, None] * np.log(_ERRORS) + (answers - wrong)[:, None] * np.log1p(-_ERRORS)
    largest = found.max(axis=1, keepdims=True)
    return np.asarray(np.log(np.exp(found - largest) @ _grid().chances.T + 1e-300) + largest)


def _upper(weights: FloatArray, values: FloatArray) -> float:
    """Return the posterior mean and one standard deviation more."""
    mean = float(weights @ values)
    return mean + float(np.sqrt(weights @ (values - mean) ** 2))


def _log_sum(values: FloatArray) -> FloatArray:
    return np.asarray(np.logaddexp.reduce(values, axis=1))


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
    errors = _Posterior.of(usual * n_answers, answers).errors.mean(axis=0)
    low, high = 0, int(n_answers) + 1
    while low < high:  # the smallest count that is significant
        middle = (low + high) // 2
        tail = _at_least(np.array(float(middle)), np.array(n_answers), _ERRORS) @ errors
        low, high = (middle + 1, high) if tail >= level else (low, middle)
    critical = max(low, int(binom.ppf(MISSED, int(n_answers), 0.5)))
    return float(binom.sf(critical - 1, int(n_answers), 0.5))


def _n_for_power(usual: FloatArray, level: float) -> int | None:
    """Return the least number of answers, to within 5%, with which the power is 90%."""
    steps = np.unique(np.geomspace(_FEWEST_ANSWERS, _MOST_ANSWERS, 140).round())
    low, high = 0, len(steps)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _power(usual, float(steps[middle]), level) >= _AIM else (middle + 1, high)
    return int(steps[low]) if low < len(steps) else None

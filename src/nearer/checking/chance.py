r"""Whose answers are a coin's, and how many answers it takes to know.

Everybody is judged by a map fitted without them. Of the n_a answers of person a, k_a go against it, each with
probability e_a, the person's error. True errors are of three kinds:

    e_a ~ Beta(mean, size)        people, careful and less careful;
    e_a = 1/2                     coins, whose answers have nothing to do with the objects;
    1 - e_a ~ Beta(mean, size)    people who took near for far.

The shares of the three kinds and the Beta distribution are those that make all counts likeliest, so that one coin or
many leave what is usual where it is. How much people differ has a prior, as a few of them cannot show it. Coins spoil
the maps as well: whoever is likelier of the second or third kind is left out of the maps of a second round, which
judges everybody anew.

How many times likelier the count of person a is for a coin than for one of the people are the *odds*, shares of both
kinds included. *What others reach*, R, is the error that three of four people of the first kind stay below. With N
people judged and K ~ Binomial(n_a, e), person a

    is unlike the others      if  N >= 10 and the odds are above 5, or above 50 where n_a is less than it
                                  takes (see below); or
                                  P(K >= k_a | e = R) < 0.00001 / N and the odds are above 0.1;
    is better than a coin     if  P(K <= k_a | e = 1/2) < 0.001;
    is worse than a coin      if  P(K >= k_a | e = 1/2) < 0.0001.

Who is unlike the others and neither better nor worse than a coin answers at chance: an exact interval of their error
holds 1/2 and leaves out what others reach. Who is unlike the others and worse answers the wrong way round. The second
way of being unlike is for people who differ so much that a Beta distribution of their errors reaches 1/2.

Drawn counts of 39 people and 1 to 20 coins with 300 answers each, 24 studies, with bounds of 3 and 20 in place of 5
and 50: with true errors of 0.1 to 0.35, 99% of the coins were named, and nobody else; with errors of 0.25 to 0.35, 90
to 98%, and nobody else; with errors that reach 0.4 (mean 0.2, standard deviation 0.08), all coins, and in one study
of four somebody who errs in 40% of cases: no coin, but like one until there are answers enough, some five hundred,
for 1/2 to leave the interval.

*What it takes* is the number of answers n at which nine of ten coins have odds above 5: one that is luckier than nine
of ten has n / 2 - 0.64 sqrt(n) answers against the map.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import betainc, betaincinv, betaln, expit, log_softmax, logit, logsumexp

from nearer.common.arrays import FloatArray

_UNLIKE = 1e-5  # in a whole study
_ODDS, _ODDS_OF_FEW, _LEAST_ODDS = math.log(5.0), math.log(50.0), math.log(0.1)
_FEW_PEOPLE = 10  # cannot show how often people err as much as a coin
_LUCKY = 1.2816  # standard deviations: one coin in ten
_MOST_ANSWERS = 10_000  # that are worth telling
_OVERLOOKED = 1e-3  # of coins
_TURNED = 1e-4  # of coins that are taken for people who took near for far
_REACHED_BY = 0.75  # of people
# Standard deviations of people's true errors; those of five real studies were 0.04 to 0.07. A few people cannot show
# how much they differ: the logarithm of theirs has a normal prior that is worth as much as eight people.
_LEAST_SPREAD, _USUAL_SPREAD, _LARGEST_SPREAD = 0.02, 0.07, 0.25
_PRIOR_PEOPLE = 8


class Usual(NamedTuple):
    """What is usual among people: their errors' Beta distribution, and the share of each kind."""

    first: float
    second: float
    log_shares: FloatArray  # of people, coins, and people who took near for far

    @property
    def error(self) -> float:
        """The mean error of people."""
        return self.first / (self.first + self.second)

    @property
    def spread(self) -> float:
        """The standard deviation of people's errors."""
        return math.sqrt(self.error * (1 - self.error) / (self.first + self.second + 1))

    @property
    def reached(self) -> float:
        """What others reach, R."""
        return float(min(betaincinv(self.first, self.second, _REACHED_BY), 0.5))

    def log_likelihoods(self, wrong: FloatArray, answers: FloatArray) -> FloatArray:
        """Return log(share of the kind * likelihood of the count) for each person and kind, shape (a, 3)."""
        right, one = answers - wrong, betaln(self.first, self.second)
        people = betaln(wrong + self.first, right + self.second) - one
        coins = -answers * math.log(2)
        reverse = betaln(right + self.first, wrong + self.second) - one
        joint: FloatArray = np.column_stack([people, coins, reverse]) + self.log_shares
        return joint

    @classmethod
    def of(cls, wrong: FloatArray, answers: FloatArray) -> Usual:
        """Return the likeliest for these counts; half a person of each kind is added, so that no share is 0."""

        def cost(unknowns: FloatArray) -> float:
            usual = cls._read(unknowns)
            prior = usual.log_shares.sum() / 2 - _PRIOR_PEOPLE * math.log(usual.spread / _USUAL_SPREAD) ** 2
            return -float(logsumexp(usual.log_likelihoods(wrong, answers), axis=1).sum() + prior)

        means = (np.quantile(wrong / answers, share).clip(0.01, 0.49) for share in (0.1, 0.4))
        found = [minimize(cost, [float(logit(2 * mean)), 0.0, 2.0, 0.0], method="L-BFGS-B") for mean in means]
        return cls._read(min(found, key=lambda each: float(each.fun)).x)

    @classmethod
    def _read(cls, unknowns: FloatArray) -> Usual:
        """Return what four numbers without bounds say: mean error, spread, and two shares against the third."""
        mean = 0.5 * (0.002 + 0.996 * expit(unknowns[0]))
        # A Beta distribution cannot be wider than that of a coin's two sides.
        largest = min(_LARGEST_SPREAD, 0.7 * math.sqrt(mean * (1 - mean)))
        least = min(_LEAST_SPREAD, 0.7 * largest)
        spread = least + (largest - least) * expit(unknowns[1])
        size = mean * (1 - mean) / spread**2 - 1
        shares = log_softmax(np.append(unknowns[2:], -1.0))
        return cls(mean * size, (1 - mean) * size, shares)


@dataclass(frozen=True, eq=False)
class Verdicts:
    """What counts of answers against the map of the others say of people.

    Attributes
    ----------
    usual : Usual
    chance, reverse : ndarray of bool, shape (a,)
        Who answers at chance, and who the wrong way round.
    doubtful : ndarray of bool, shape (a,)
        Who is likelier one of these than not, known for sure or not.
    maybe : ndarray of bool, shape (a,)
        Who of them may be a coin, and may as well be like the others.
    enough : int or None
        From how many answers on nine of ten coins are told; None if they never are.
    """

    usual: Usual
    chance: NDArray[np.bool_]
    reverse: NDArray[np.bool_]
    doubtful: NDArray[np.bool_]
    maybe: NDArray[np.bool_]
    enough: int | None

    @classmethod
    def of(cls, wrong: FloatArray, answers: FloatArray) -> Verdicts:
        """Judge people by how many of their answers are wrong.

        Examples
        --------
        >>> answers = np.full(20, 300.0)
        >>> wrong = np.append(np.linspace(40.0, 90.0, 18), [120, 150])
        >>> found = Verdicts.of(wrong, answers)
        >>> found.chance.nonzero()[0].tolist(), bool(found.reverse.any()), 100 < found.enough < 300
        ([19], False, True)
        """
        usual = Usual.of(wrong, answers)
        joint = usual.log_likelihoods(wrong, answers)
        odds = joint[:, 1:].max(axis=1) - joint[:, 0]
        doubtful = odds > 0
        far_off = _at_least(wrong, answers, usual.reached) < _UNLIKE / len(wrong)
        enough = _enough(usual)
        needed = np.where(answers >= (enough or np.inf), _ODDS, _ODDS_OF_FEW)
        likely = (odds > needed) & (len(wrong) >= _FEW_PEOPLE)
        unlike = likely | (far_off & (odds > _LEAST_ODDS))
        below = _at_least(answers - wrong, answers, 0.5) < _OVERLOOKED
        above = _at_least(wrong, answers, 0.5) < _TURNED
        coin = ~below & ~above
        return cls(usual, unlike & coin, unlike & above, doubtful, doubtful & coin & ~unlike, enough)


def _at_least(wrong: FloatArray, answers: FloatArray, error: float) -> FloatArray:
    """Return P(K >= wrong) of a binomial K; counts need not be whole."""
    tail: FloatArray = np.where(wrong > 0, betainc(np.maximum(wrong, 1e-9), answers - wrong + 1, error), 1.0)
    return tail


def _enough(usual: Usual) -> int | None:
    """Return from how many answers on nine of ten coins are told from people."""
    answers = np.unique(np.geomspace(10, _MOST_ANSWERS, 200).round())
    joint = usual.log_likelihoods(answers / 2 - _LUCKY * np.sqrt(answers) / 2, answers)
    told = joint[:, 1] - joint[:, 0] > _ODDS
    return int(answers[told.argmax()]) if told.any() else None

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

*What others reach*, R, is the error that three of four people of the first kind stay below. With N people judged and
K ~ Binomial(n_a, e), person a

    is unlike the others      if  P(K >= k_a | e = R) < 0.00001 / N;
    is better than a coin     if  P(K <= k_a | e = 1/2) < 0.001;
    is worse than a coin      if  P(K >= k_a | e = 1/2) < 0.0001.

Who is unlike the others and neither better nor worse than a coin answers at chance: an exact interval of their error
holds 1/2 and leaves out what others reach. Who is unlike the others and worse answers the wrong way round. The first
bound is this strict because one person in four is above R: with it, in studies of 5 to 400 people whose true errors had
a mean of 0.2, a standard deviation of 0.08 and reached up to 0.4, about one study in fifty had a false alarm where
people gave 50 or 100 answers. The second is how often a coin is overlooked. Who errs in 40% of cases where others err
in 20% is no coin, but looks like one until there are answers enough, some five hundred, for 1/2 to leave the interval.

A coin is told for sure, but for once in a thousand, when no k lies between the first two bounds. With z_1 and z_2 the
normal quantiles of 1 - 0.00001 / N and 1 - 0.001, that takes

    n = ((z_1 sqrt(R (1 - R)) + z_2 / 2) / (1/2 - R))^2  answers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import betainc, betaincinv, betaln, expit, log_softmax, logit, logsumexp, ndtri

from nearer.margins import FloatArray

_UNLIKE = 1e-5  # in a whole study
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
        From how many answers on a coin is told for sure; None if it never is.
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
        doubtful = joint[:, 1:].max(axis=1) > joint[:, 0]
        unlike = _at_least(wrong, answers, usual.reached) < _UNLIKE / len(wrong)
        below = _at_least(answers - wrong, answers, 0.5) < _OVERLOOKED
        above = _at_least(wrong, answers, 0.5) < _TURNED
        coin = ~below & ~above
        enough = _enough(usual.reached, len(wrong))
        return cls(usual, unlike & coin, unlike & above, doubtful, doubtful & coin & ~unlike, enough)


def _at_least(wrong: FloatArray, answers: FloatArray, error: float) -> FloatArray:
    """Return P(K >= wrong) of a binomial K; counts need not be whole."""
    tail: FloatArray = np.where(wrong > 0, betainc(np.maximum(wrong, 1e-9), answers - wrong + 1, error), 1.0)
    return tail


def _enough(reached: float, n_people: int) -> int | None:
    if reached >= 0.5:
        return None
    unlike, coin = -ndtri(_UNLIKE / n_people), -ndtri(_OVERLOOKED)
    return math.ceil(((unlike * math.sqrt(reached * (1 - reached)) + coin / 2) / (0.5 - reached)) ** 2)

r"""The answer model: the probability of an answer, given the distances that are compared.

Whoever attends to a comparison answers with log-odds

.. math:: \eta = \beta \log \frac{\alpha + d^2_\text{far}}{\alpha + d^2_\text{near}},

and with probability :math:`\pi`, the lapse rate, guesses whatever is shown:

.. math:: P(\text{near}) = \frac{\pi}{2} + (1 - \pi)\, F(\eta),

with F the logistic distribution function. The functions take log-odds, for models that define them otherwise, by
margins or several views, or another *link* F, which maps a difference in units of the noise to the probability that it
is judged positive. F is symmetric, and log F is concave, so that the likelihood of a linear model has one maximum.
Outside the compiled kernels this module alone has the formula.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.special import expit, log_expit, log_ndtr, ndtr

from nearer._common.arrays import FloatArray

LinkName: TypeAlias = Literal["probit", "logit"]
_LOG_ROOT_TWO_PI = float(np.log(2 * np.pi) / 2)


class Link(NamedTuple):
    """A link function F, and log F with two derivatives, elementwise."""

    probability: Callable[[FloatArray], FloatArray]  # F
    log_probability: Callable[[FloatArray], FloatArray]  # log F, without underflow
    slope: Callable[[FloatArray], FloatArray]  # the derivative of log F
    curvature: Callable[[FloatArray], FloatArray]  # minus its second derivative, which is not negative


def _probit_slope(eta: FloatArray) -> FloatArray:
    """Return the density over F: the inverse of Mills' ratio."""
    return np.exp(-(eta**2) / 2 - _LOG_ROOT_TWO_PI - log_ndtr(eta))


def _probit_curvature(eta: FloatArray) -> FloatArray:
    slope = _probit_slope(eta)
    return np.clip(slope * (eta + slope), 0.0, 1.0)  # where it lies; far in the tail the sum cancels


def _logit_slope(eta: FloatArray) -> FloatArray:
    return expit(-eta)


def _logit_curvature(eta: FloatArray) -> FloatArray:
    return expit(eta) * expit(-eta)


#: Gaussian noise, and logistic noise, which has heavier tails.
LINKS = {
    "probit": Link(ndtr, log_ndtr, _probit_slope, _probit_curvature),
    "logit": Link(expit, log_expit, _logit_slope, _logit_curvature),
}
_LOGIT = LINKS["logit"]
_MIN_VARIANCE = 1e-12  # of an answer: keeps the information finite at a lapse rate of 0 and overwhelming odds


def answer_probability(log_odds: FloatArray, lapse: float | FloatArray = 0.0, link: Link = _LOGIT) -> FloatArray:
    """Return the probability of answers with these log-odds (arguments of the link); ``lapse`` broadcasts with them."""
    return lapse / 2 + (1 - lapse) * link.probability(log_odds)


class LogProbability(NamedTuple):
    """Log-probability of an answer, and log-probability that it was given attentively."""

    answer: FloatArray
    attentive: FloatArray


def log_answer_probability(log_attentive: FloatArray, lapse: float | FloatArray) -> LogProbability:
    """Return log-probabilities of answers, given those of attentive answers."""
    with np.errstate(divide="ignore"):  # log(0) for a lapse rate of 0
        guessed, kept = np.log(np.asarray(lapse) / 2), np.log1p(-np.asarray(lapse))
    attended = log_attentive + kept
    answer = np.logaddexp(attended, guessed)
    return LogProbability(answer, attended - answer)


class FisherInformation(NamedTuple):
    """Entries of the information matrix of each answer: log-odds, cross term, lapse rate."""

    odds: FloatArray
    cross: FloatArray
    lapse: FloatArray


class AnswerDerivatives(NamedTuple):
    """The probability of answers and its derivatives with respect to log-odds and lapse rate, elementwise."""

    probability: FloatArray
    by_odds: FloatArray
    by_lapse: FloatArray

    @property
    def scores(self) -> tuple[FloatArray, FloatArray]:
        """Derivatives of log P with respect to log-odds and lapse rate."""
        return self.by_odds / self.probability, self.by_lapse / self.probability

    @property
    def information(self) -> FisherInformation:
        """The Fisher information of one answer about log-odds and lapse rate."""
        deviation = np.sqrt(np.maximum(self.probability * (1 - self.probability), _MIN_VARIANCE))
        by_odds, by_lapse = self.by_odds / deviation, self.by_lapse / deviation
        return FisherInformation(by_odds**2, by_odds * by_lapse, by_lapse**2)


def answer_derivatives(log_odds: FloatArray, lapse: float | FloatArray = 0.0) -> AnswerDerivatives:
    """Return the probability of answers with these log-odds, and its derivatives with respect to both."""
    attentive = _LOGIT.probability(log_odds)
    by_odds = (1 - lapse) * attentive * (1 - attentive)
    return AnswerDerivatives(answer_probability(log_odds, lapse), by_odds, 0.5 - attentive)


@dataclass(frozen=True)
class AnswerModel:
    """How people answer who compare two squared distances.

    Arrays broadcast: slopes of annotators, (s, 1), and distances, (m,), give probabilities of shape (s, m).
    """

    slope: float | FloatArray = 1.0  # how fast log-odds rise with the logarithm of the ratio of the distances
    offset: float | FloatArray = 0.0  # the squared distance below which pairs are hardly distinguished
    lapse: float | FloatArray = 0.0  # share of answers that are guesses

    def log_ratio(self, near: FloatArray, far: FloatArray) -> FloatArray:
        """Return the logarithm of the ratio of far to near squared distances, each plus the offset."""
        return np.log((self.offset + far) / (self.offset + near))

    def log_odds(self, near: FloatArray, far: FloatArray) -> FloatArray:
        """Return the log-odds of attentive answers."""
        return self.slope * self.log_ratio(near, far)

    def log_odds_gradient(self, near: FloatArray, far: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the derivatives of the log-odds with respect to near and far squared distances."""
        return -self.slope / (self.offset + near), self.slope / (self.offset + far)

    def probability(self, near: FloatArray, far: FloatArray) -> FloatArray:
        """Return the probability that the pair at squared distance ``near`` is judged the nearer."""
        return answer_probability(self.log_odds(near, far), self.lapse)

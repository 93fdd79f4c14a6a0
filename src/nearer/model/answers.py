r"""The answer model: how likely people are to give which answer, given the distances that they compare.

Whoever attends to a comparison answers with log-odds

.. math:: \eta = \beta \log \frac{\alpha + d^2_\text{far}}{\alpha + d^2_\text{near}},

and with probability :math:`\pi`, the lapse rate, somebody guesses whatever is shown:

.. math:: P(\text{near}) = \frac{\pi}{2} + (1 - \pi)\, F(\eta),

with F the logistic distribution function. `AnswerModel` holds slope beta, offset alpha and lapse rate. The functions
beside it take log-odds, for models that have others than these: margins, several views, or another link F.

Outside the compiled kernels this module alone knows the formula. With :math:`\sigma = F(\eta)`,

.. math:: \frac{\partial P}{\partial \eta} = (1 - \pi)\, \sigma (1 - \sigma), \qquad
          \frac{\partial P}{\partial \pi} = \frac12 - \sigma,

scores are these over P, and the Fisher information of an answer is their outer product over :math:`P (1 - P)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit

from nearer._common.arrays import FloatArray
from nearer.model.links import LINKS, Link

_LOGIT = LINKS["logit"]
_MIN_VARIANCE = 1e-12  # of an answer: keeps the information finite where nobody lapses and odds are overwhelming


def answer_probability(log_odds: FloatArray, lapse: float | FloatArray = 0.0, link: Link = _LOGIT) -> FloatArray:
    """Return the probability of answers with these log-odds, or arguments of another link.

    Parameters
    ----------
    log_odds : ndarray
    lapse : float or ndarray
        Broadcasts with the log-odds.
    link : Link
        Logistic by default.

    Examples
    --------
    >>> answer_probability(np.array([0.0, 100.0, -100.0]), lapse=0.1).round(3).tolist()
    [0.5, 0.95, 0.05]
    """
    probability: FloatArray = lapse / 2 + (1 - lapse) * link.probability(log_odds)
    return probability


class LogProbability(NamedTuple):
    """The logarithm of the probability of an answer, and that of the probability that such an answer is no lapse."""

    answer: FloatArray
    attentive: FloatArray


def log_answer_probability(log_attentive: FloatArray, lapse: float | FloatArray) -> LogProbability:
    """Return log-probabilities of answers that people who attend give with log-probability ``log_attentive``.

    Examples
    --------
    >>> found = log_answer_probability(np.log([0.5, 1e-300]), lapse=0.1)
    >>> np.exp(found.answer).round(3).tolist(), np.exp(found.attentive).round(3).tolist()
    ([0.5, 0.05], [0.9, 0.0])
    """
    with np.errstate(divide="ignore"):  # log(0) where nobody lapses
        guessed, kept = np.log(np.asarray(lapse) / 2), np.log1p(-np.asarray(lapse))
    attended = log_attentive + kept
    answer = np.logaddexp(attended, guessed)
    return LogProbability(answer, attended - answer)


class AnswerDerivatives(NamedTuple):
    """The probability of answers and its derivatives, elementwise.

    Attributes
    ----------
    probability : ndarray
    by_odds, by_lapse : ndarray
        Derivatives of the probability with respect to log-odds and lapse rate.
    """

    probability: FloatArray
    by_odds: FloatArray
    by_lapse: FloatArray

    @property
    def scores(self) -> tuple[FloatArray, FloatArray]:
        """Derivatives of log P with respect to log-odds and lapse rate."""
        return self.by_odds / self.probability, self.by_lapse / self.probability

    @property
    def information(self) -> FisherInformation:
        """The Fisher information of one answer, whichever it is, about log-odds and lapse rate."""
        deviation = np.sqrt(np.maximum(self.probability * (1 - self.probability), _MIN_VARIANCE))
        by_odds, by_lapse = self.by_odds / deviation, self.by_lapse / deviation
        return FisherInformation(by_odds**2, by_odds * by_lapse, by_lapse**2)


class FisherInformation(NamedTuple):
    """Entries of the information matrix of each answer: of the log-odds, between them and the lapse rate, of this."""

    odds: FloatArray
    cross: FloatArray
    lapse: FloatArray


def answer_derivatives(log_odds: FloatArray, lapse: float | FloatArray = 0.0) -> AnswerDerivatives:
    """Return the probability of answers with these log-odds, and its derivatives with respect to both."""
    attentive = _LOGIT.probability(log_odds)
    by_odds: FloatArray = (1 - lapse) * attentive * (1 - attentive)
    return AnswerDerivatives(answer_probability(log_odds, lapse), by_odds, 0.5 - attentive)


@dataclass(frozen=True)
class AnswerModel:
    """How people answer who compare two squared distances.

    Arrays broadcast: slopes of people, (s, 1), with distances, (m,), give probabilities of shape (s, m).

    Parameters
    ----------
    slope : float or ndarray
        How fast log-odds rise with the logarithm of the ratio of the distances.
    offset : float or ndarray
        The squared distance below which pairs are hardly distinguished.
    lapse : float or ndarray
        How often an answer is a guess.

    Examples
    --------
    >>> model = AnswerModel(slope=1.0, offset=1.0, lapse=0.1)
    >>> model.probability(np.array([1.0, 3.0]), np.array([3.0, 1.0])).round(3)
    array([0.65, 0.35])
    """

    slope: float | FloatArray = 1.0
    offset: float | FloatArray = 0.0
    lapse: float | FloatArray = 0.0

    def log_ratio(self, near: FloatArray, far: FloatArray) -> FloatArray:
        """Return the logarithm of the ratio of far to near squared distances, each plus the offset."""
        ratio: FloatArray = np.log((self.offset + far) / (self.offset + near))
        return ratio

    def log_odds(self, near: FloatArray, far: FloatArray) -> FloatArray:
        """Return the log-odds of attentive answers."""
        odds: FloatArray = self.slope * self.log_ratio(near, far)
        return odds

    def log_odds_gradient(self, near: FloatArray, far: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the derivatives of the log-odds with respect to near and far squared distances."""
        return -self.slope / (self.offset + near), self.slope / (self.offset + far)

    def probability(self, near: FloatArray, far: FloatArray) -> FloatArray:
        """Return the probability that the pair at squared distance ``near`` is called the nearer."""
        return answer_probability(self.log_odds(near, far), self.lapse)

    def log_likelihood(self, near: FloatArray, far: FloatArray) -> FloatArray:
        """Return the log-likelihood of each answer, without underflow."""
        return log_answer_probability(log_expit(self.log_odds(near, far)), self.lapse).answer

    def derivatives(self, near: FloatArray, far: FloatArray) -> AnswerDerivatives:
        """Return the probability of answers, and its derivatives with respect to log-odds and lapse rate."""
        return answer_derivatives(self.log_odds(near, far), self.lapse)

    def information(self, near: FloatArray, far: FloatArray) -> FisherInformation:
        """Return the Fisher information of one answer to each comparison about log-odds and lapse rate."""
        return self.derivatives(near, far).information

    def simulate(self, near: FloatArray, far: FloatArray, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Draw whether the pair at squared distance ``near`` is called the nearer."""
        probability = self.probability(near, far)
        called_nearer: NDArray[np.bool_] = rng.random(np.shape(probability)) < probability
        return called_nearer

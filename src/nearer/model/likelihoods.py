"""Likelihoods: the price of a comparison is minus the logarithm of its chance to be answered so."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, xlog1py, xlogy

from nearer._common.arrays import FloatArray
from nearer._common.parameters import check_number
from nearer.model.answers import answer_probability
from nearer.model.base import Compiled, Evaluation, Loss, MarginLoss


@dataclass(frozen=True)
class Logistic(MarginLoss):
    """The logistic loss log(1 + exp(-gamma)) of STE: minus the log-likelihood under Gaussian kernels.

    Its conjugate is the negative entropy; its prox has no closed form.

    Examples
    --------
    >>> Logistic().value(np.array([0.0])).round(4)
    array([0.6931])
    """

    def value(self, margins: FloatArray) -> FloatArray:
        """Return log(1 + exp(-gamma)) elementwise, without overflow."""
        return np.logaddexp(0.0, -margins)

    def derivative(self, margins: FloatArray) -> FloatArray:
        """Return -1 / (1 + exp(gamma)) elementwise."""
        return -expit(-margins)

    def conjugate(self, slopes: FloatArray) -> FloatArray:
        """Return q log q + (1 - q) log(1 - q) for q = -v in [0, 1]."""
        q = np.clip(-slopes, 0, 1)
        return np.where(q == -slopes, xlogy(q, q) + xlog1py(1 - q, -q), np.inf)

    def probability(self, margins: FloatArray) -> FloatArray:
        """Return the model's own probability."""
        return answer_probability(margins)

    @property
    def compiled(self) -> Compiled:
        """The compiled loop that evaluates this loss on points."""
        return Compiled("logistic", (0.0,))


class LogRatio(Loss):
    """Minus the log-likelihood of answers whose log-odds are a multiple of the log-ratio of the distances.

    P(near) = sigmoid(slope * log((offset + d2(far)) / (offset + d2(near)))): crowd kernel learning and t-STE.
    """

    @property
    @abstractmethod
    def offset(self) -> float:
        """The squared distance below which pairs are hardly told apart."""

    @property
    @abstractmethod
    def slope(self) -> float:
        """How much a ratio of distances says."""

    @property
    def compiled(self) -> Compiled:
        """The compiled loop that evaluates this loss on points."""
        return Compiled("log_ratio", (self.offset, self.slope))

    def log_odds(self, near: FloatArray, far: FloatArray) -> FloatArray:
        """Return log P(near) - log P(far), (m,)."""
        # Distances of a Gram matrix that is only numerically PSD may be -1e-17.
        near, far = np.maximum(near, 0) / self.offset, np.maximum(far, 0) / self.offset
        result: FloatArray = self.slope * (np.log1p(far) - np.log1p(near))
        return result

    def evaluate(self, near: FloatArray, far: FloatArray, shares: FloatArray) -> Evaluation:
        """Return the mean under ``shares`` and its derivatives."""
        odds = self.log_odds(near, far)
        slopes = shares * -expit(-odds) * self.slope
        value = float(shares @ np.logaddexp(0.0, -odds))
        return Evaluation(value, -slopes / (self.offset + near), slopes / (self.offset + far))

    def probability_of(self, near: FloatArray, far: FloatArray) -> FloatArray:
        """Return the model's own probability."""
        return answer_probability(self.log_odds(near, far))


@dataclass(frozen=True)
class StudentT(LogRatio):
    """Minus the log-likelihood of t-STE: heavy-tailed kernels on the distances.

    P(near) = s(near) / (s(near) + s(far)) with s(d2) = (1 + d2 / alpha)^(-(alpha + 1) / 2).

    Parameters
    ----------
    alpha : float > 0
        Degrees of freedom.

    Examples
    --------
    >>> float(StudentT(alpha=1.0).probability_of(np.array([1.0]), np.array([3.0]))[0])
    0.666...
    """

    alpha: float = 1.0

    def __post_init__(self) -> None:
        check_number("alpha", self.alpha, above=0)

    @property
    def offset(self) -> float:
        """The degrees of freedom."""
        return float(self.alpha)

    @property
    def slope(self) -> float:
        """The exponent of the kernel."""
        return (self.alpha + 1) / 2


@dataclass(frozen=True)
class CrowdKernel(LogRatio):
    """Minus the log-likelihood of crowd kernel learning.

    P(near) = (mu + d2(far)) / (2 mu + d2(near) + d2(far)).

    Parameters
    ----------
    mu : float > 0
        The squared distance below which answers become guesses.

    Examples
    --------
    >>> float(CrowdKernel(mu=1.0).probability_of(np.array([1.0]), np.array([3.0]))[0])
    0.666...
    """

    mu: float = 1.0

    def __post_init__(self) -> None:
        check_number("mu", self.mu, above=0)

    @property
    def offset(self) -> float:
        """The number mu."""
        return float(self.mu)

    @property
    def slope(self) -> float:
        """The odds are the ratio itself."""
        return 1.0

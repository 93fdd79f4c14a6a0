"""Links: how the difference of two intervals becomes the chance that one of them is called the larger.

With a difference eta in units of the noise, F(eta) is that chance. F is symmetric, F(-eta) = 1 - F(eta), and log F is
concave, so that the likelihood of a linear model has one maximum.
"""

from __future__ import annotations

from typing import Literal, Protocol, TypeAlias

import numpy as np
from scipy.special import expit, log_expit, log_ndtr, ndtr

from nearer._common.arrays import FloatArray

LinkName: TypeAlias = Literal["probit", "logit"]
_LOG_ROOT_TWO_PI = float(np.log(2 * np.pi) / 2)


class Link(Protocol):
    """What a model of answers needs of F: itself, and log F with two derivatives."""

    def probability(self, eta: FloatArray) -> FloatArray:
        """Return F, elementwise."""
        ...

    def log_probability(self, eta: FloatArray) -> FloatArray:
        """Return log F without underflow."""
        ...

    def slope(self, eta: FloatArray) -> FloatArray:
        """Return the derivative of log F."""
        ...

    def curvature(self, eta: FloatArray) -> FloatArray:
        """Return minus the second derivative of log F, which is not negative."""
        ...


class Probit:
    """F of the normal distribution: the noise is Gaussian.

    Examples
    --------
    >>> Probit().probability(np.array([0.0, 1.0])).round(4)
    array([0.5   , 0.8413])
    """

    def probability(self, eta: FloatArray) -> FloatArray:
        """Return F, elementwise."""
        return np.asarray(ndtr(eta))

    def log_probability(self, eta: FloatArray) -> FloatArray:
        """Return log F without underflow."""
        return np.asarray(log_ndtr(eta))

    def slope(self, eta: FloatArray) -> FloatArray:
        """Return density over F: the inverse of Mills' ratio."""
        return np.asarray(np.exp(-(eta**2) / 2 - _LOG_ROOT_TWO_PI - log_ndtr(eta)))

    def curvature(self, eta: FloatArray) -> FloatArray:
        """Return minus the second derivative of log F."""
        slope = self.slope(eta)
        # It lies between 0 and 1; far in the tail the sum cancels.
        return np.clip(slope * (eta + slope), 0.0, 1.0)


class Logit:
    """F of the logistic distribution, whose tails are heavier.

    Examples
    --------
    >>> Logit().probability(np.array([0.0, 1.0])).round(4)
    array([0.5   , 0.7311])
    """

    def probability(self, eta: FloatArray) -> FloatArray:
        """Return F, elementwise."""
        return np.asarray(expit(eta))

    def log_probability(self, eta: FloatArray) -> FloatArray:
        """Return log F without underflow."""
        return np.asarray(log_expit(eta))

    def slope(self, eta: FloatArray) -> FloatArray:
        """Return the derivative of log F."""
        return np.asarray(expit(-eta))

    def curvature(self, eta: FloatArray) -> FloatArray:
        """Return minus the second derivative of log F."""
        return np.asarray(expit(eta) * expit(-eta))


LINKS: dict[str, Link] = {"probit": Probit(), "logit": Logit()}

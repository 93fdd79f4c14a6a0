"""Losses: what a comparison costs, given the squared distances of its near and far pair.

A *margin loss* is a function phi of the margin gamma = d2(far) - d2(near) alone, with a derivative (a subgradient at
kinks) and the probability that a comparison with this margin holds, elementwise. Every loss offers `evaluate`, the
weighted mean over comparisons and its derivatives with respect to the near and far squared distances, which is all a
descent method needs. One that is a sum over comparisons names the compiled loop of `nearer.optimize.kernels` that
computes the same from points. Likelihoods are minus the logarithm of the probability of the answer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.special import expit

from nearer._common.arrays import FloatArray
from nearer._common.parameters import check_number
from nearer.model.answers import answer_probability

Family: TypeAlias = Literal["linear", "hinge", "logistic", "log_ratio", "distance_hinge"]


class Compiled(NamedTuple):
    """The compiled loop of a loss: its name in `nearer.optimize.kernels`, and the numbers it takes."""

    family: Family
    parameters: tuple[float, ...] = ()


class Evaluation(NamedTuple):
    """A weighted mean loss and its derivatives with respect to the squared distances, (m,) each."""

    value: float
    near: FloatArray
    far: FloatArray


class Loss(ABC):
    """A loss on the squared distances of the near and far pairs of the comparisons."""

    @abstractmethod
    def evaluate(self, near: FloatArray, far: FloatArray, shares: FloatArray) -> Evaluation:
        """Return the mean under ``shares`` (weights that sum to 1) and its derivatives."""

    @abstractmethod
    def probability_of(self, near: FloatArray, far: FloatArray) -> FloatArray:
        """Return the probability that each comparison holds, given its squared distances."""

    @property
    def compiled(self) -> Compiled:
        """The compiled loop that evaluates this loss on points."""
        raise ValueError(
            f"{type(self).__name__} is no sum over comparisons, which solver='factored' and 'svrg' need; "
            "use solver='projected'"
        )

    @property
    def slope_at_zero(self) -> float:
        """-d loss / d margin where all objects coincide; at G = 0 it is the same for every comparison."""
        zero, one = np.zeros(1), np.ones(1)
        return -float(self.evaluate(zero, zero, one).far[0])


class MarginLoss(Loss):
    """A loss phi(gamma) of the margin alone, the same function for every comparison."""

    @abstractmethod
    def value(self, margins: FloatArray) -> FloatArray: ...

    @abstractmethod
    def derivative(self, margins: FloatArray) -> FloatArray: ...

    @abstractmethod
    def probability(self, margins: FloatArray) -> FloatArray: ...

    def evaluate(self, near: FloatArray, far: FloatArray, shares: FloatArray) -> Evaluation:
        margins = far - near
        slopes = shares * self.derivative(margins)
        return Evaluation(float(shares @ self.value(margins)), -slopes, slopes)

    def probability_of(self, near: FloatArray, far: FloatArray) -> FloatArray:
        return self.probability(far - near)


@dataclass(frozen=True)
class TwoSidedHinge(MarginLoss):
    """The distributional-margin loss of DMOE: max(1 - gamma, 0)^power + nu * max(gamma - 1, 0)^power."""

    nu: float = 1.0  # price of a margin above the target of 1, relative to one below it
    power: float = 2  # at least 1; descent methods take any, the prox has a closed form for 1 and 2

    def __post_init__(self) -> None:
        check_number("power", self.power, least=1)
        check_number("nu", self.nu, least=0)

    def value(self, margins: FloatArray) -> FloatArray:
        shortfall, excess = np.maximum(1 - margins, 0), np.maximum(margins - 1, 0)
        return np.asarray(shortfall**self.power + self.nu * excess**self.power)

    def derivative(self, margins: FloatArray) -> FloatArray:
        if self.power == 1:
            return np.where(margins < 1, -1.0, np.where(margins > 1, self.nu, 0.0))
        if self.power == 2:
            return 2.0 * (margins - 1) * np.where(margins < 1, 1.0, self.nu)
        size = self.power * np.abs(margins - 1) ** (self.power - 1)
        return np.where(margins < 1, -size, self.nu * size)

    @property
    def compiled(self) -> Compiled:
        return Compiled("hinge", (float(self.nu), float(self.power)))

    @property
    def has_prox(self) -> bool:
        """Whether prox and conjugate have a closed form."""
        return self.power in (1, 2)

    def prox(self, points: FloatArray, step: float | FloatArray) -> FloatArray:
        """Return argmin_x phi(x) + (x - z)^2 / (2 step): a shift (power 1) or a contraction (2) towards the target."""
        if self.power == 1:
            return np.where(points < 1, np.minimum(points + step, 1), np.maximum(points - self.nu * step, 1))
        strength = 2 * step * np.where(points < 1, 1.0, self.nu)
        return np.asarray((points + strength) / (1 + strength))

    def conjugate(self, slopes: FloatArray) -> FloatArray:
        """Return sup_gamma v gamma - phi(gamma): v on [-1, nu], or v + v^2 / 4 (over nu where v > 0) for power 2."""
        if self.power == 1:
            return np.where((slopes >= -1) & (slopes <= self.nu), slopes, np.inf)
        below, above = np.minimum(slopes, 0), np.maximum(slopes, 0)
        if self.nu == 0:
            return np.where(above > 0, np.inf, below + below**2 / 4)
        return np.asarray(slopes + below**2 / 4 + above**2 / (4 * self.nu))

    def clip_slopes(self, slopes: FloatArray) -> FloatArray:
        """Return the nearest slopes in the domain of the conjugate, to undo rounding."""
        if self.power == 1:
            return np.clip(slopes, -1, self.nu)
        return np.minimum(slopes, 0) if self.nu == 0 else slopes

    def probability(self, margins: FloatArray) -> FloatArray:
        """Return (1 + gamma) / 2 within [0.01, 0.99]."""
        # The mean of (1 - y gamma)^2 over answers y = +-1 is least at gamma = E[y] = 2 P(y = 1) - 1. A share of lapses
        # keeps the logarithm of a wrong answer's probability finite.
        return np.clip((1 + margins) / 2, 0.01, 0.99)


@dataclass(frozen=True)
class Hinge(TwoSidedHinge):
    """The one-sided hinge max(1 - gamma, 0)^power of GNMDS."""

    nu: float = field(default=0.0, init=False)


class _Softplus(MarginLoss):
    """log(1 + exp(target - gamma))."""

    target: ClassVar[float]

    @property
    def compiled(self) -> Compiled:
        return Compiled("logistic", (self.target,))

    def value(self, margins: FloatArray) -> FloatArray:
        return np.logaddexp(0.0, self.target - margins)

    def derivative(self, margins: FloatArray) -> FloatArray:
        return -expit(self.target - margins)


@dataclass(frozen=True)
class SoftHinge(_Softplus):
    """The smooth hinge log(1 + exp(1 - gamma)) of LORE: no kink at the target, and a little left to gain beyond it."""

    target = 1.0

    def probability(self, margins: FloatArray) -> FloatArray:
        """Return the probability P whose mean loss P phi(gamma) + (1 - P) phi(-gamma) is least at this margin."""
        # There the odds P / (1 - P) are phi'(-gamma) / phi'(gamma).
        return expit(np.logaddexp(0.0, margins - 1) - np.logaddexp(0.0, -margins - 1))


@dataclass(frozen=True)
class Logistic(_Softplus):
    """The logistic loss log(1 + exp(-gamma)) of STE: minus the log-likelihood under Gaussian kernels."""

    target = 0.0

    def probability(self, margins: FloatArray) -> FloatArray:
        return answer_probability(margins)


@dataclass(frozen=True)
class MeanVariance(Loss):
    """The explicit margin-distribution objective (the paper's opt:ldm).

    mean(max(1 - gamma, 0)) - mean_weight * mean(gamma) + variance_weight * variance(gamma)

    At (0, 0) it is the hinge of GNMDS. It does not split into a sum over comparisons, which is why DMOE replaces it.
    """

    mean_weight: float = 0.0  # the paper's lambda_1
    variance_weight: float = 0.0  # and lambda_2

    def __post_init__(self) -> None:
        for name in ("mean_weight", "variance_weight"):
            check_number(name, getattr(self, name), least=0)

    def evaluate(self, near: FloatArray, far: FloatArray, shares: FloatArray) -> Evaluation:
        margins = far - near
        hinge = Hinge(power=1)
        mean = float(shares @ margins)
        deviations = margins - mean
        value = float(shares @ hinge.value(margins)) - self.mean_weight * mean
        value += self.variance_weight * float(shares @ deviations**2)
        slopes = shares * (hinge.derivative(margins) - self.mean_weight + 2 * self.variance_weight * deviations)
        return Evaluation(value, -slopes, slopes)

    def probability_of(self, near: FloatArray, far: FloatArray) -> FloatArray:
        return Hinge(power=1).probability(far - near)


@dataclass(frozen=True)
class DistanceHinge(Loss):
    """The loss of soft ordinal embedding: max(1 + d(near) - d(far), 0)^2, with distances and not their squares.

    The target difference of 1 is no loss of generality: another one rescales the map.
    """

    slope_at_zero = 2.0  # the value of the squared hinge on squared distances: that of this loss has no bound
    compiled = Compiled("distance_hinge")

    # A distance has no derivative at 0; below this one it is taken at this one.
    MIN_DISTANCE = 1e-8

    def evaluate(self, near: FloatArray, far: FloatArray, shares: FloatArray) -> Evaluation:
        near, far = np.sqrt(np.maximum(near, 0)), np.sqrt(np.maximum(far, 0))
        shortfall = np.maximum(1 + near - far, 0)
        slopes = shares * shortfall
        return Evaluation(
            float(shares @ shortfall**2),
            slopes / np.maximum(near, self.MIN_DISTANCE),
            -slopes / np.maximum(far, self.MIN_DISTANCE),
        )

    def probability_of(self, near: FloatArray, far: FloatArray) -> FloatArray:
        """Return (1 + d(far) - d(near)) / 2 within [0.01, 0.99], as for the hinge on squared distances."""
        return np.clip((1 + np.sqrt(np.maximum(far, 0)) - np.sqrt(np.maximum(near, 0))) / 2, 0.01, 0.99)


class LogRatio(Loss):
    """Minus the log-likelihood of answers whose log-odds are a multiple of the log-ratio of the distances.

    P(near) = sigmoid(slope * log((offset + d2(far)) / (offset + d2(near)))), as in `AnswerModel`.
    """

    @property
    @abstractmethod
    def parameters(self) -> tuple[float, float]:
        """Offset and slope."""

    @property
    def compiled(self) -> Compiled:
        return Compiled("log_ratio", self.parameters)

    def log_odds(self, near: FloatArray, far: FloatArray) -> FloatArray:
        """Return log P(near) - log P(far), (m,)."""
        offset, slope = self.parameters
        # Distances of a Gram matrix that is only numerically PSD may be -1e-17.
        near, far = np.maximum(near, 0) / offset, np.maximum(far, 0) / offset
        return np.asarray(slope * (np.log1p(far) - np.log1p(near)))

    def evaluate(self, near: FloatArray, far: FloatArray, shares: FloatArray) -> Evaluation:
        offset, slope = self.parameters
        odds = self.log_odds(near, far)
        slopes = shares * -expit(-odds) * slope
        value = float(shares @ np.logaddexp(0.0, -odds))
        return Evaluation(value, -slopes / (offset + near), slopes / (offset + far))

    def probability_of(self, near: FloatArray, far: FloatArray) -> FloatArray:
        return answer_probability(self.log_odds(near, far))


@dataclass(frozen=True)
class StudentT(LogRatio):
    """The loss of t-STE, with heavy-tailed kernels on the distances.

    P(near) = s(near) / (s(near) + s(far)) with s(d2) = (1 + d2 / alpha)^(-(alpha + 1) / 2).
    """

    alpha: float = 1.0  # degrees of freedom

    def __post_init__(self) -> None:
        check_number("alpha", self.alpha, above=0)

    @property
    def parameters(self) -> tuple[float, float]:
        return float(self.alpha), (self.alpha + 1) / 2


@dataclass(frozen=True)
class CrowdKernel(LogRatio):
    """The loss of crowd kernel learning: P(near) = (mu + d2(far)) / (2 mu + d2(near) + d2(far))."""

    mu: float = 1.0  # the squared distance below which answers become guesses

    def __post_init__(self) -> None:
        check_number("mu", self.mu, above=0)

    @property
    def parameters(self) -> tuple[float, float]:
        return float(self.mu), 1.0  # the odds are the ratio itself

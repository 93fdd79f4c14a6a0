"""Hinges: what falls short of a target costs, and so may what exceeds it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.special import expit

from nearer._common.arrays import FloatArray
from nearer._common.parameters import check_number
from nearer.model.base import Compiled, Evaluation, Loss, MarginLoss, ProximableLoss


@dataclass(frozen=True)
class TwoSidedHinge(ProximableLoss):
    """The distributional-margin loss of DMOE, for a target margin of 1.

    phi(gamma) = max(1 - gamma, 0)^a + nu * max(gamma - 1, 0)^a

    Parameters
    ----------
    nu : float >= 0
        The price of a margin above the target, relative to one below it.
    power : float >= 1
        The exponent a. Its prox has a closed form for 1 and 2; descent methods take any.

    Examples
    --------
    >>> TwoSidedHinge(nu=0.5, power=1).value(np.array([0.0, 1.0, 3.0]))
    array([1., 0., 1.])
    """

    nu: float = 1.0
    power: float = 2

    def __post_init__(self) -> None:
        check_number("power", self.power, least=1)
        check_number("nu", self.nu, least=0)

    def value(self, margins: FloatArray) -> FloatArray:
        """Return phi(gamma) elementwise."""
        shortfall, excess = np.maximum(1 - margins, 0), np.maximum(margins - 1, 0)
        result: FloatArray = shortfall**self.power + self.nu * excess**self.power
        return result

    def derivative(self, margins: FloatArray) -> FloatArray:
        """Return phi'(gamma) elementwise; 0 at the kink."""
        if self.power == 1:
            return np.where(margins < 1, -1.0, np.where(margins > 1, self.nu, 0.0))
        if self.power == 2:
            return 2.0 * (margins - 1) * np.where(margins < 1, 1.0, self.nu)
        size = self.power * np.abs(margins - 1) ** (self.power - 1)
        return np.where(margins < 1, -size, self.nu * size)

    @property
    def compiled(self) -> Compiled:
        """The compiled loop that evaluates this loss on points."""
        return Compiled("hinge", (float(self.nu), float(self.power)))

    @property
    def has_prox(self) -> bool:
        """Whether prox and conjugate have a closed form."""
        return self.power in (1, 2)

    def prox(self, points: FloatArray, step: float | FloatArray) -> FloatArray:
        """Return the proximal point: a shift (power 1) or a contraction (power 2) towards the target."""
        if self.power == 1:
            return np.where(points < 1, np.minimum(points + step, 1), np.maximum(points - self.nu * step, 1))
        strength = 2 * step * np.where(points < 1, 1.0, self.nu)
        result: FloatArray = (points + strength) / (1 + strength)
        return result

    def conjugate(self, slopes: FloatArray) -> FloatArray:
        """Return phi*(v): v on [-1, nu] for power 1, v + v^2 / 4 (over nu where v > 0) for power 2."""
        if self.power == 1:
            return np.where((slopes >= -1) & (slopes <= self.nu), slopes, np.inf)
        below, above = np.minimum(slopes, 0), np.maximum(slopes, 0)
        if self.nu == 0:
            return np.where(above > 0, np.inf, below + below**2 / 4)
        result: FloatArray = slopes + below**2 / 4 + above**2 / (4 * self.nu)
        return result

    def clip_slopes(self, slopes: FloatArray) -> FloatArray:
        """Return slopes within [-1, nu] for power 1, at most 0 for power 2 without an upper side."""
        if self.power == 1:
            return np.clip(slopes, -1, self.nu)
        return np.minimum(slopes, 0) if self.nu == 0 else slopes

    def probability(self, margins: FloatArray) -> FloatArray:
        """Return (1 + gamma) / 2 within [0.01, 0.99].

        The mean of (1 - y gamma)^2 over answers y = +-1 is least at gamma = E[y] = 2 P(y = 1) - 1, so a margin fitted
        by this loss is itself an estimate of that expectation, shrunk towards even odds by the penalties.
        """
        # Nobody's answer is certain: a share of lapses keeps the logarithm of a wrong one finite.
        return np.clip((1 + margins) / 2, 0.01, 0.99)


@dataclass(frozen=True)
class Hinge(TwoSidedHinge):
    """The one-sided hinge max(1 - gamma, 0)^a of GNMDS.

    Examples
    --------
    >>> Hinge(power=1).value(np.array([0.0, 1.0, 3.0]))
    array([1., 0., 0.])
    """

    nu: float = field(default=0.0, init=False)


@dataclass(frozen=True)
class SoftHinge(MarginLoss):
    """The smooth hinge log(1 + exp(1 - gamma)) of LORE: no kink at the target, and a little left to gain beyond it.

    Examples
    --------
    >>> SoftHinge().value(np.array([-20.0, 1.0, 20.0])).round(4)
    array([21.    ,  0.6931,  0.    ])
    """

    def value(self, margins: FloatArray) -> FloatArray:
        """Return log(1 + exp(1 - gamma)) elementwise, without overflow."""
        return np.logaddexp(0.0, 1 - margins)

    def derivative(self, margins: FloatArray) -> FloatArray:
        """Return -1 / (1 + exp(gamma - 1)) elementwise."""
        return -expit(1 - margins)

    def probability(self, margins: FloatArray) -> FloatArray:
        """Return the chance P whose mean loss P phi(gamma) + (1 - P) phi(-gamma) is least at this margin.

        There the odds P / (1 - P) are phi'(-gamma) / phi'(gamma).
        """
        return expit(np.logaddexp(0.0, margins - 1) - np.logaddexp(0.0, -margins - 1))

    @property
    def compiled(self) -> Compiled:
        """The compiled loop that evaluates this loss on points."""
        return Compiled("logistic", (1.0,))


@dataclass(frozen=True)
class DistanceHinge(Loss):
    """The loss of soft ordinal embedding: max(1 + d(near) - d(far), 0)^2, with distances and not their squares.

    The target difference of 1 is no loss of generality: another one rescales the map.

    Examples
    --------
    >>> near, far = np.array([1.0, 0.0]), np.array([1.0, 4.0])
    >>> DistanceHinge().evaluate(near, far, np.array([0.5, 0.5])).value
    0.5
    """

    # A distance has no derivative at 0; below this one it is taken at this one.
    SMALLEST = 1e-8

    @property
    def compiled(self) -> Compiled:
        """The compiled loop that evaluates this loss on points."""
        return Compiled("distance_hinge")

    @property
    def pull_of_zero(self) -> float:
        """That of the squared hinge on squared distances: its own has no bound."""
        return 2.0

    def shortfall(self, near: FloatArray, far: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return max(1 + d(near) - d(far), 0) and the two distances, (m,) each."""
        near, far = np.sqrt(np.maximum(near, 0)), np.sqrt(np.maximum(far, 0))
        return np.maximum(1 + near - far, 0), near, far

    def evaluate(self, near: FloatArray, far: FloatArray, shares: FloatArray) -> Evaluation:
        """Return the mean under ``shares`` and its derivatives."""
        shortfall, near, far = self.shortfall(near, far)
        slopes = shares * shortfall
        return Evaluation(
            float(shares @ shortfall**2),
            slopes / np.maximum(near, self.SMALLEST),
            -slopes / np.maximum(far, self.SMALLEST),
        )

    def probability_of(self, near: FloatArray, far: FloatArray) -> FloatArray:
        """Return (1 + d(far) - d(near)) / 2 within [0.01, 0.99], as for the hinge on squared distances."""
        return np.clip((1 + np.sqrt(np.maximum(far, 0)) - np.sqrt(np.maximum(near, 0))) / 2, 0.01, 0.99)


@dataclass(frozen=True)
class MeanVariance(Loss):
    """The explicit margin-distribution objective (the paper's opt:ldm).

    mean(max(1 - gamma, 0)) - mean_weight * mean(gamma) + variance_weight * variance(gamma)

    At (0, 0) it is the hinge of GNMDS. It does not split into a sum over comparisons, which is why DMOE replaces it.

    Parameters
    ----------
    mean_weight, variance_weight : float >= 0
        The paper's lambda_1 and lambda_2.

    Examples
    --------
    >>> near, far = np.zeros(2), np.array([1.0, 3.0])
    >>> MeanVariance(mean_weight=1.0, variance_weight=0.5).evaluate(near, far, np.array([0.5, 0.5])).value
    -1.5
    """

    mean_weight: float = 0.0
    variance_weight: float = 0.0

    def __post_init__(self) -> None:
        for name in ("mean_weight", "variance_weight"):
            check_number(name, getattr(self, name), least=0)

    def evaluate(self, near: FloatArray, far: FloatArray, shares: FloatArray) -> Evaluation:
        """Return the objective under ``shares`` and its derivatives."""
        margins = far - near
        hinge = Hinge(power=1)
        mean = float(shares @ margins)
        deviations = margins - mean
        value = float(shares @ hinge.value(margins)) - self.mean_weight * mean
        value += self.variance_weight * float(shares @ deviations**2)
        slopes = shares * (hinge.derivative(margins) - self.mean_weight + 2 * self.variance_weight * deviations)
        return Evaluation(value, -slopes, slopes)

    def probability_of(self, near: FloatArray, far: FloatArray) -> FloatArray:
        """Return what the hinge's margins stand for."""
        return Hinge(power=1).probability(far - near)

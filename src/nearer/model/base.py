"""What every loss offers.

A *margin loss* is a function phi of the margin gamma = d2(far) - d2(near) alone. It offers

    value        phi(gamma)
    derivative   phi'(gamma)              (a subgradient at kinks)
    prox         argmin_x phi(x) + (x - z)^2 / (2 s)
    conjugate    phi*(v) = sup_gamma v gamma - phi(gamma), infinite outside its domain
    probability  the chance that the comparison holds, which a margin stands for

each elementwise. `prox` and `conjugate` exist where they have a closed form; solvers that need them check for them.
Every loss also offers `evaluate`, the weighted mean over comparisons and its derivatives with respect to the near and
far squared distances, which is all a descent method needs. A loss that is a sum over comparisons names the compiled
loop of `nearer.optimize.kernels` that does the same on points.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from nearer._common.arrays import FloatArray

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
        """Return the chance that each comparison holds, given its squared distances."""

    @property
    def compiled(self) -> Compiled:
        """The compiled loop that evaluates this loss on points."""
        raise ValueError(
            f"{type(self).__name__} is no sum over comparisons, which solver='factored' and 'svrg' need; "
            "use solver='projected'"
        )

    @property
    def pull_of_zero(self) -> float:
        """How strongly a comparison pulls its pairs apart when all objects lie at one point: -d loss / d margin there.

        At G = 0 it is the same for every comparison.
        """
        zero, one = np.zeros(1), np.ones(1)
        return -float(self.evaluate(zero, zero, one).far[0])


class MarginLoss(Loss):
    """A loss that depends on the margin alone, the same function for every comparison."""

    @abstractmethod
    def value(self, margins: FloatArray) -> FloatArray:
        """Return phi(gamma) elementwise."""

    @abstractmethod
    def derivative(self, margins: FloatArray) -> FloatArray:
        """Return phi'(gamma) elementwise, a subgradient where phi has a kink."""

    @abstractmethod
    def probability(self, margins: FloatArray) -> FloatArray:
        """Return the chance that a comparison with this margin holds."""

    def evaluate(self, near: FloatArray, far: FloatArray, shares: FloatArray) -> Evaluation:
        """Return the mean under ``shares`` and its derivatives."""
        margins = far - near
        slopes = shares * self.derivative(margins)
        return Evaluation(float(shares @ self.value(margins)), -slopes, slopes)

    def probability_of(self, near: FloatArray, far: FloatArray) -> FloatArray:
        """Return the chance that each comparison holds."""
        return self.probability(far - near)


class ProximableLoss(MarginLoss):
    """A convex margin loss with prox and conjugate in closed form: what ADMM and the duality gap need."""

    @property
    def has_prox(self) -> bool:
        """Whether they exist at these settings."""
        return True

    @abstractmethod
    def prox(self, points: FloatArray, step: float | FloatArray) -> FloatArray:
        """Return argmin_x phi(x) + (x - points)^2 / (2 step) elementwise."""

    @abstractmethod
    def conjugate(self, slopes: FloatArray) -> FloatArray:
        """Return phi*(slopes) elementwise; infinite outside its domain."""

    @abstractmethod
    def clip_slopes(self, slopes: FloatArray) -> FloatArray:
        """Return the nearest slopes in the domain of phi*, to undo rounding."""

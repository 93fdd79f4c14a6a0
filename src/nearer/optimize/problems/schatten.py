"""The problem over points with a Schatten quasi-norm: few dimensions, as many as the comparisons pay for.

    minimize over X    sum_q c_q loss(d2(near_q), d2(far_q)) + weight * sum_k sigma_k(X)^power,    0 < power < 1

The shares c_q are the weights of the comparisons divided by their sum, sigma_k the singular values of X. A sum of their
squares is the trace of the Gram matrix and shrinks all dimensions alike; with a power below 1 the price of a small
dimension rises without bound against its size, so that weak ones vanish and strong ones are hardly touched.

The loss depends on X through X X^T alone, so its gradient is M X for a matrix M: no step along it raises the rank.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nearer._common.arrays import FloatArray
from nearer.optimize.problems.points import FactoredProblem


@dataclass(frozen=True, eq=False)
class SchattenProblem:
    """A problem over points and the quasi-norm that is added to its loss.

    Parameters
    ----------
    factored : FactoredProblem
        Comparisons and loss; its own penalties are not used.
    weight : float >= 0
        Of the quasi-norm, beside the mean loss.
    power : float in (0, 1]
        1 is the nuclear norm of X.

    Examples
    --------
    >>> from nearer.data.comparisons import Comparisons
    >>> from nearer.model import Hinge
    >>> from nearer.optimize.problems.sources import InMemory
    >>> comparisons = Comparisons.from_triplets([[0, 1, 2]])
    >>> problem = SchattenProblem(FactoredProblem(InMemory(comparisons), Hinge()), weight=0.1, power=0.5)
    >>> problem.objective(np.array([[0.0], [0.0], [4.0]]))
    0.2
    """

    factored: FactoredProblem
    weight: float
    power: float = 0.5

    @property
    def n_objects(self) -> int:
        """The number of objects n."""
        return self.factored.n_objects

    def penalty(self, sizes: FloatArray) -> float:
        """Return weight * sum_k sigma_k^power."""
        return self.weight * float(np.sum(sizes**self.power))

    def slopes(self, sizes: FloatArray) -> FloatArray:
        """Return the derivative of the penalty with respect to positive singular values, (r,).

        The penalty is concave in each of them: its tangents lie above it.
        """
        slopes: FloatArray = self.weight * self.power * sizes ** (self.power - 1)
        return slopes

    def objective(self, points: FloatArray) -> float:
        """Return the value to be minimized."""
        sizes = np.asarray(np.linalg.svd(points, compute_uv=False), np.float64)
        return self.factored.loss_and_gradient(points)[0] + self.penalty(sizes)

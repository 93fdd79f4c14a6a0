"""The convex problem over Gram matrices, its dual, and the certificate between them.

    minimize over G >= 0    sum_q c_q phi((A G)_q) + trace * tr(G) + ridge / 2 * ||G||_F^2

The shares c_q are the weights of the comparisons divided by their sum. With a finite `specificity` each object also has
a number s_i, of any sign, and the margins are those of G + diag(s) (Winsberg and Carroll 1989), at the price
specificity / 2 * ||s||^2: what the common space cannot express about an object. With slopes v_q in the domain of phi*
and S = -A^T (c v), a lower bound on the minimum is

    D(v) = - sum_q c_q phi*(v_q) - ||(S - trace I)_+||_F^2 / (2 ridge) - ||diag(S)||^2 / (2 specificity)

With features the unknown is the representer B of G (see `optimize.problems.covariance`), with the same penalty: margins
are those of R B R^T + diag(s), and R^T S R takes the place of the first S in the bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray
from nearer.model import Loss, TwoSidedHinge
from nearer.optimize.problems.covariance import Covariance
from nearer.optimize.problems.margins import MarginMap


class Gram(NamedTuple):
    """A solution: a Gram matrix, (n, n), and the specificities, (n,), of a problem with them."""

    matrix: FloatArray
    specificities: FloatArray | None = None

    def expand(self, seen: NDArray[np.intp], n_objects: int, covariance: Covariance | None = None) -> Gram:
        """Return the solution over all objects, those not ``seen`` at the origin, or where features expect them."""
        if covariance is None:
            matrix = np.zeros((n_objects, n_objects))
            matrix[np.ix_(seen, seen)] = self.matrix
        else:
            loadings = covariance.loadings(seen)
            matrix = loadings @ self.matrix @ loadings.T
            matrix = (matrix + matrix.T) / 2
        if self.specificities is None:
            return Gram(matrix)
        specificities = np.zeros(n_objects)
        specificities[seen] = self.specificities
        return Gram(matrix, specificities)


@dataclass(frozen=True, eq=False)
class Problem:
    """Margins, loss and penalty of one fit."""

    margins: MarginMap  # of m comparisons, each oriented so that it reads as answered
    loss: Loss
    weights: FloatArray  # (m,); positive
    trace: float = 0.0  # weight of tr(G)
    ridge: float = 0.0  # weight of ||G||_F^2 / 2
    specificity: float = np.inf  # weight of ||s||^2 / 2; infinity for a problem without specificities

    @property
    def n_objects(self) -> int:
        return self.margins.n_objects

    @cached_property
    def total_weight(self) -> float:
        """The sum of the weights: the number of comparisons, if each has weight 1."""
        return float(self.weights.sum())

    @cached_property
    def shares(self) -> FloatArray:
        return self.weights / self.total_weight

    @property
    def has_specificities(self) -> bool:
        return bool(np.isfinite(self.specificity))

    def penalty(self, gram: FloatArray, specificities: FloatArray | None = None) -> float:
        value = float(self.trace * np.trace(gram) + self.ridge / 2 * np.vdot(gram, gram))
        if self.has_specificities and specificities is not None:
            value += self.specificity / 2 * float(specificities @ specificities)
        return value

    def objective(self, gram: FloatArray, specificities: FloatArray | None = None) -> float:
        distances = self.margins.distances(gram, specificities)
        return self.loss.evaluate(*distances, self.shares).value + self.penalty(gram, specificities)

    @cached_property
    def objective_at_zero(self) -> float:
        """The objective when all objects lie at one point."""
        return self.objective(np.zeros((self.n_objects, self.n_objects)))

    def objective_and_gradient(self, gram: FloatArray) -> tuple[float, FloatArray]:
        """Return the value at s = 0 and its gradient with respect to G, (n, n), without regard to the cone."""
        value, near, far = self.loss.evaluate(*self.margins.distances(gram), self.shares)
        gradient = self.margins.distances_adjoint(near, far) + self.ridge * gram
        gradient[np.diag_indices_from(gradient)] += self.trace
        return value + self.penalty(gram), gradient

    @cached_property
    def pull_at_zero(self) -> FloatArray:
        """The negative gradient of the mean loss at G = 0, s = 0, (n, n)."""
        zero = np.zeros(len(self.margins))
        _, near, far = self.loss.evaluate(zero, zero, self.shares)
        return -self.margins.distances_adjoint(near, far)

    @cached_property
    def vanishing_trace(self) -> float:
        """The smallest `trace` at which G = 0 solves the convex problem without specificities, whatever the ridge."""
        # G = 0 is optimal exactly when the gradient there plus trace * I is positive semidefinite. Specificities take
        # over part of the pull and lower this value.
        limit = float(np.linalg.eigvalsh(self.pull_at_zero)[-1])
        # Answers that cancel each other leave rounding of a pull of 0.
        return limit if limit > 1e-12 else 0.0

    def dual_bound(self, slopes: FloatArray) -> float:
        """Return D(v), a lower bound on the minimum, for slopes v in the domain of phi* up to rounding."""
        loss = require_prox(self, "the duality gap")
        slopes = loss.clip_slopes(slopes)
        weights = self.shares * slopes
        pull = -self.margins.laplacian(-weights, weights)
        eigenvalues = np.linalg.eigvalsh(self.margins.to_representer(pull))
        conjugate_penalty, shrink = 0.0, 1.0
        if self.ridge > 0:
            conjugate_penalty += float(np.sum(np.maximum(eigenvalues - self.trace, 0) ** 2)) / (2 * self.ridge)
        else:
            # 0 lies in the domain of phi*, so every shrunk v does too.
            shrink = self.trace / float(eigenvalues[-1]) if eigenvalues[-1] > max(self.trace, 1e-12) else 1.0
        if self.has_specificities:
            conjugate_penalty += float(np.sum((shrink * np.diagonal(pull)) ** 2)) / (2 * self.specificity)
        return -float(self.shares @ loss.conjugate(shrink * slopes)) - conjugate_penalty


def require_prox(problem: Problem, what: str) -> TwoSidedHinge:
    """Return the loss of the problem; ValueError if it has no prox."""
    loss = problem.loss
    if not isinstance(loss, TwoSidedHinge) or not loss.has_prox:
        raise ValueError(
            f"{what} needs a loss with a prox in closed form (TwoSidedHinge or Hinge of power 1 or 2), "
            f"got {loss}; use solver='factored' or 'projected'"
        )
    return loss

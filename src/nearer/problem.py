"""The convex problem over Gram matrices, its dual, and the certificate between them.

    minimize over G >= 0    sum_q c_q phi((A G)_q) + trace * tr(G) + ridge / 2 * ||G||_F^2

The shares c_q are the weights of the comparisons divided by their sum, so that a repeated row and a row of weight 2
are the same thing, and so that `trace` and `ridge` mean the same at every number of comparisons with the same ratio of
fit to penalty.

A negative `trace` is allowed together with a ridge: up to a constant the penalty is then
``ridge / 2 * ||G - c I||^2`` with ``c = -trace / ridge``, a pull towards the regular simplex (all objects equally far
apart) instead of towards a point. As c grows the cone stops mattering and the closed form is reached.

Dual. With slopes v_q in the domain of phi* and S = -A^T (c v),

    D(v) = - sum_q c_q phi*(v_q) - h*(S),    h*(S) = ||(S - trace I)_+||_F^2 / (2 ridge)

bounds the minimum from below. Without a ridge h* is the constraint lambda_max(S) <= trace, met by shrinking v.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import eigvalsh

from nearer.losses import Loss, ProximableLoss
from nearer.margins import FloatArray, MarginMap


@dataclass(frozen=True, eq=False)
class Problem:
    """Margins, loss and penalty of one fit.

    Parameters
    ----------
    margins : MarginMap
        Of m comparisons, each oriented so that it reads as answered.
    loss : Loss
    shares : ndarray, shape (m,)
        Nonnegative, sum 1.
    trace, ridge : float
        Weights of tr(G) and of ||G||_F^2 / 2.

    Examples
    --------
    >>> from nearer.losses import Hinge
    >>> margins = MarginMap.from_quadruplets(np.array([[0, 1, 0, 2]]), n_objects=3)
    >>> problem = Problem(margins, Hinge(), np.array([1.0]), trace=0.1)
    >>> problem.objective(np.zeros((3, 3)))
    1.0
    """

    margins: MarginMap
    loss: Loss
    shares: FloatArray
    trace: float = 0.0
    ridge: float = 0.0

    def penalty(self, gram: FloatArray) -> float:
        """Return trace * tr(G) + ridge / 2 * ||G||_F^2."""
        return float(self.trace * np.trace(gram) + self.ridge / 2 * np.vdot(gram, gram))

    def objective(self, gram: FloatArray) -> float:
        """Return the value to be minimized at a Gram matrix."""
        return self.loss.evaluate(*self.margins.distances(gram), self.shares).value + self.penalty(gram)

    def objective_and_gradient(self, gram: FloatArray) -> tuple[float, FloatArray]:
        """Return the value and its gradient, (n, n), without regard to the cone."""
        value, near, far = self.loss.evaluate(*self.margins.distances(gram), self.shares)
        gradient = self.margins.distances_adjoint(near, far) + self.ridge * gram
        gradient[np.diag_indices_from(gradient)] += self.trace
        return value + self.penalty(gram), gradient

    @cached_property
    def pull_at_zero(self) -> FloatArray:
        """The negative gradient of the mean loss at G = 0, (n, n)."""
        zero = np.zeros(len(self.margins))
        _, near, far = self.loss.evaluate(zero, zero, self.shares)
        return -self.margins.distances_adjoint(near, far)

    @cached_property
    def vanishing_trace(self) -> float:
        """The smallest `trace` at which G = 0 solves the convex problem, whatever the ridge.

        G = 0 is optimal exactly when the gradient there plus trace * I is positive semidefinite.
        """
        return float(eigvalsh(self.pull_at_zero)[-1])

    def scale(self, gram: FloatArray) -> float:
        """Return the size of the terms of the objective, to which a duality gap is compared."""
        terms = self.objective(gram) - self.penalty(gram)
        return float(terms + abs(self.trace) * np.trace(gram) + self.ridge / 2 * np.vdot(gram, gram))

    def dual_bound(self, slopes: FloatArray) -> float:
        """Return D(v), a lower bound on the minimum, for slopes v in the domain of phi* up to rounding."""
        loss = require_prox(self, "the duality gap")
        slopes = loss.clip_slopes(slopes)
        eigenvalues = eigvalsh(-self.margins.adjoint(self.shares * slopes))
        if self.ridge > 0:
            conjugate_penalty = float(np.sum(np.maximum(eigenvalues - self.trace, 0) ** 2)) / (2 * self.ridge)
        else:
            # 0 lies in the domain of phi*, so every shrunk v does too.
            slopes = slopes * min(1.0, self.trace / max(eigenvalues[-1], np.finfo(float).tiny))
            conjugate_penalty = 0.0
        return -float(self.shares @ loss.conjugate(slopes)) - conjugate_penalty


def require_prox(problem: Problem, solver: str) -> ProximableLoss:
    """Return the loss of the problem, or say that the solver cannot handle it."""
    if not isinstance(problem.loss, ProximableLoss):
        raise ValueError(
            f"{solver} needs a loss with a prox in closed form (TwoSidedHinge or Hinge), "
            f"got {type(problem.loss).__name__}; use solver='projected'"
        )
    return problem.loss

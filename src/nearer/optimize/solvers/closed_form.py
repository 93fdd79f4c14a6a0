"""The closed form: squared loss on both sides, ridge alone, no cone.

With nu = 1, power 2, trace = 0 and the cone dropped, the problem is ridge regression of the constant 1 on margins:

    minimize  sum_q c_q (1 - (A G)_q)^2 + ridge / 2 * ||G||_F^2,    solved by  (A^T C A + ridge / 2 I) G = A^T c

or G = A^T (A A^T + ridge / 2 C^{-1})^{-1} 1. Conjugate gradients solve it without forming a matrix; the eigenvalues of
A^T C A cluster so well that a few dozen products suffice. Every K_q has trace 0, so G has too and is never positive
semidefinite: it ranks comparisons, and its positive part gives a map.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from nearer._common.arrays import FloatArray
from nearer.model import TwoSidedHinge
from nearer.optimize.problems.gram import Gram, Problem
from nearer.optimize.solvers.convex_steps import solve_normal_equations
from nearer.optimize.solvers.driver import Outcome, Progress, Space


@dataclass(frozen=True, eq=False)
class ClosedFormState:
    """The solution, once solved."""

    gram: FloatArray
    progress: Progress
    outcome: Outcome | None


@dataclass(frozen=True)
class ClosedForm:
    """Settings of the closed form.

    Parameters
    ----------
    tol : float
        Relative residual of the linear system.

    Examples
    --------
    >>> ClosedForm().tol
    1e-10
    """

    tol: float = 1e-10

    space: ClassVar[Space] = "gram"

    @property
    def max_iter(self) -> int:
        """One solve is all it takes."""
        return 1

    def check(self, problem: Problem) -> None:
        """Refuse problems the closed form does not cover."""
        if problem.loss != TwoSidedHinge(nu=1.0, power=2) or problem.trace != 0 or not problem.ridge > 0:
            raise ValueError(
                "solver='closed' needs nu=1, power=2, trace=0 and ridge > 0, "
                f"got {problem.loss}, trace={problem.trace}, ridge={problem.ridge}; use solver='admm' otherwise"
            )

    def init(self, problem: Problem, start: Any, rng: np.random.Generator) -> ClosedFormState:
        """Start from nothing."""
        zero = np.zeros((problem.margins.n_objects,) * 2)
        return ClosedFormState(zero, Progress(0, problem.objective(zero), float("nan")), None)

    def step(self, problem: Problem, state: ClosedFormState) -> ClosedFormState:
        """Solve the linear system."""
        right = problem.margins.adjoint(problem.shares)
        gram, _, solved = solve_normal_equations(
            problem.margins, problem.shares, problem.ridge / 2, right, state.gram, rtol=self.tol
        )
        outcome = Outcome.CONVERGED if solved else Outcome.MAX_ITER
        return ClosedFormState(gram, Progress(1, problem.objective(gram), float("nan")), outcome)

    def done(self, problem: Problem, state: ClosedFormState) -> Outcome | None:
        """Stop after the solve."""
        return state.outcome

    def value(self, state: ClosedFormState) -> Gram:
        """Return the solution."""
        return Gram(state.gram)

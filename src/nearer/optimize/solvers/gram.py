"""Over Gram matrices: the steps that convex solvers share, the closed form, and projected gradient descent.

**Steps.** A linear system, by conjugate gradients, without forming a matrix:

    (A^T W A + shift I) G = right

and, for problems with specificities s, whose margins are those of G + diag(s),

    A^T W A (G + diag(s)) + shift G = right,    diag(A^T W A (G + diag(s))) + own.shift * s = own.right;

and proximal points in the cone of semidefinite matrices.

**Closed form.** With nu = 1, power 2, trace = 0 and the cone dropped, the problem is ridge regression of the constant 1
on margins:

    minimize  sum_q c_q (1 - (A G)_q)^2 + ridge / 2 * ||G||_F^2,    solved by  (A^T C A + ridge / 2 I) G = A^T c

or G = A^T (A A^T + ridge / 2 C^{-1})^{-1} 1. The eigenvalues of A^T C A cluster so well that a few dozen products
suffice. Every K_q has trace 0, so G has too and is never positive semidefinite: it ranks comparisons, and its positive
part gives a map.

**Projected descent** over matrices of rank at most p. Each step moves against the gradient and keeps the p largest
eigenvalues (Jain, Jamieson and Nowak, NIPS 2016):

    G+ = P_p(G - t grad f(G)),    accepted when  f(G+) <= f(G) - s / (2 t) ||G+ - G||^2

The first trial step t of each line search is the spectral (Barzilai-Borwein) one. The set is not convex, so the start
matters: G = 0 makes the first step the best rank-p approximation of the pull of the data, a spectral start that is as
good as the best of many random ones and always the same. A loss with kinks (the plain hinge) can hold the descent at
one of them, short of a minimum.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from nearer._common.arrays import FloatArray
from nearer.geometry import leading_spectrum
from nearer.model import TwoSidedHinge
from nearer.optimize.problems.gram import Gram, Problem
from nearer.optimize.problems.margins import MarginMap
from nearer.optimize.solvers.driver import Outcome, Progress, Space


class SpecificityEquations(NamedTuple):
    """The equations of the specificities: the shift of their diagonal, the right side and the start, (n,) each."""

    shift: float
    right: FloatArray
    start: FloatArray


class LinearSolution(NamedTuple):
    """G, (n, n), s, (n,), and whether the residual got small enough."""

    gram: FloatArray
    specificities: FloatArray
    ok: bool


def solve_normal_equations(
    margins: MarginMap,
    weights: FloatArray,
    shift: float,
    right: FloatArray,
    start: FloatArray,
    *,
    rtol: float,
    cut: float = 0.0,
    own: SpecificityEquations | None = None,
    max_iter: int | None = None,
) -> LinearSolution:
    """Solve until the residual is below ``rtol`` times the right side, or below ``cut`` times that of the start."""
    from nearer.optimize.kernels import normal_cg

    n = margins.n_objects
    gram = np.array(start, np.float64, order="C")
    own = own or SpecificityEquations(np.inf, np.zeros(n), np.zeros(n))
    specificities = np.array(own.start, np.float64)
    right = np.ascontiguousarray(right, np.float64)
    limit = max(10 * n, 500) if max_iter is None else max_iter
    equations = (margins.ends, weights, margins.diagonal, shift, own.shift, right, own.right)
    ok = normal_cg(*equations, gram, specificities, cut, rtol, limit)
    return LinearSolution(gram, specificities, bool(ok))


def nearest_psd(matrix: FloatArray, max_rank: int | None = None) -> FloatArray:
    """Return the nearest positive semidefinite matrix in Frobenius norm, of rank at most ``max_rank``.

    Examples
    --------
    >>> nearest_psd(np.diag([2.0, -1.0]))
    array([[2., 0.],
           [0., 0.]])
    """
    return from_spectrum(*leading_spectrum(matrix, max_rank))


def from_spectrum(eigenvalues: FloatArray, vectors: FloatArray) -> FloatArray:
    """Return V diag(s) V^T for eigenvalues s >= 0, using only those above 0."""
    kept = eigenvalues > 0
    half = vectors[:, kept] * np.sqrt(eigenvalues[kept])
    product: FloatArray = half @ half.T
    return product


def penalty_prox(matrix: FloatArray, trace: float, ridge: float, step: float) -> FloatArray:
    """Return argmin over G >= 0 of trace * tr(G) + ridge / 2 * ||G||^2 + ||G - matrix||^2 / (2 step)."""
    eigenvalues, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return from_spectrum(np.maximum(eigenvalues - step * trace, 0) / (1 + step * ridge), vectors)


def shrink_spectrum(matrix: FloatArray, amount: float) -> FloatArray:
    """Return argmin of amount * ||G||_* + ||G - matrix||^2 / 2 over symmetric G: eigenvalues drawn towards 0."""
    eigenvalues, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    shrunk = np.sign(eigenvalues) * np.maximum(np.abs(eigenvalues) - amount, 0)
    product: FloatArray = (vectors * shrunk) @ vectors.T
    return product


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
        return 1

    def check(self, problem: Problem) -> None:
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
        right = problem.margins.adjoint(problem.shares)
        gram, _, solved = solve_normal_equations(
            problem.margins, problem.shares, problem.ridge / 2, right, state.gram, rtol=self.tol
        )
        outcome = Outcome.CONVERGED if solved else Outcome.MAX_ITER
        return ClosedFormState(gram, Progress(1, problem.objective(gram), float("nan")), outcome)

    def done(self, problem: Problem, state: ClosedFormState) -> Outcome | None:
        return state.outcome

    def value(self, state: ClosedFormState) -> Gram:
        return Gram(state.gram)


MIN_DECREASE = 1e-2
MIN_STEP_RATIO = 2.0**-40


@dataclass(frozen=True, eq=False)
class ProjectedState:
    """Iterates of `Projected`."""

    gram: FloatArray
    gradient: FloatArray
    progress: Progress
    reference: float  # the objective at G = 0
    step_size: float
    small_changes: int  # consecutive steps that changed the objective by less than tol
    stalled: bool


@dataclass(frozen=True)
class Projected:
    """Settings of projected gradient descent.

    Parameters
    ----------
    rank : int
        The largest rank p of the Gram matrix.
    tol : float
        Stop when three steps in a row lower the objective by less than ``tol`` times its value at G = 0. Relative to
        its current value a logistic loss on separable comparisons would never settle.
    max_iter : int
    start : {"zero", "random"}
        G = 0, or the Gram matrix of small Gaussian points.

    Examples
    --------
    >>> Projected(rank=2).start
    'zero'
    """

    rank: int
    tol: float = 1e-5
    max_iter: int = 2000
    start: Literal["zero", "random"] = "zero"
    space: ClassVar[Space] = "gram"

    def check(self, problem: Problem) -> None:
        if self.rank < 1:
            raise ValueError(f"rank must be at least 1, got {self.rank}")
        if self.start not in ("zero", "random"):
            raise ValueError(f"start must be 'zero' or 'random', got {self.start!r}")
        if not (0 <= problem.trace < np.inf and 0 <= problem.ridge < np.inf):
            raise ValueError(
                f"solver='projected' needs trace >= 0 and ridge >= 0, got {problem.trace} and {problem.ridge}"
            )

    def init(self, problem: Problem, start: Any, rng: np.random.Generator) -> ProjectedState:
        """Evaluate the start; the first step size takes the typical margin from 0 to about 1."""
        n = problem.margins.n_objects
        points = rng.normal(scale=1e-2, size=(n, self.rank)) if self.start == "random" else np.zeros((n, self.rank))
        gram = points @ points.T
        objective, gradient = problem.objective_and_gradient(gram)
        margin_change = float(problem.shares @ np.abs(problem.margins(nearest_psd(-gradient, self.rank))))
        step_size = 1 / margin_change if margin_change > 0 else 1.0
        reference = problem.objective(np.zeros((n, n)))
        return ProjectedState(gram, gradient, Progress(0, objective, float("nan")), reference, step_size, 0, False)

    def step(self, problem: Problem, state: ProjectedState) -> ProjectedState:
        objective, iteration = state.progress.objective, state.progress.iteration
        step_size = state.step_size
        while True:
            gram = nearest_psd(state.gram - step_size * state.gradient, self.rank)
            change = gram - state.gram
            size = float(np.vdot(change, change))
            trial, gradient = problem.objective_and_gradient(gram)
            if trial <= objective - MIN_DECREASE / (2 * step_size) * size:
                break
            step_size /= 2
            if step_size < MIN_STEP_RATIO * state.step_size:
                return replace(state, stalled=True)
        small = objective - trial <= self.tol * state.reference
        # The spectral step is the inverse curvature along the last change; where that is not positive, try longer.
        curvature = float(np.vdot(change, gradient - state.gradient))
        following = size / curvature if curvature > 0 else 4 * step_size
        return replace(
            state,
            gram=gram,
            gradient=gradient,
            progress=Progress(iteration + 1, trial, float("nan")),
            step_size=float(np.clip(following, step_size / 16, step_size * 16)),
            small_changes=state.small_changes + 1 if small else 0,
            stalled=size == 0,
        )

    def done(self, problem: Problem, state: ProjectedState) -> Outcome | None:
        if state.stalled:
            return Outcome.STALLED
        return Outcome.CONVERGED if state.small_changes >= 3 else None

    def value(self, state: ProjectedState) -> Gram:
        return Gram(state.gram)

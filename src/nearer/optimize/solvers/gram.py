"""Over Gram matrices: the steps that convex solvers share, the closed form, and projected gradient descent.

Without the cone, with nu = 1, power 2 and trace = 0, the problem is ridge regression of the constant 1 on margins:

    minimize  sum_q c_q (1 - (A G)_q)^2 + ridge / 2 * ||G||_F^2,    solved by  (A^T C A + ridge / 2 I) G = A^T c

The eigenvalues of A^T C A cluster so well that a few dozen products suffice. Every K_q has trace 0, so G has too and is
never positive semidefinite: it ranks comparisons, and its positive part gives a map.

Projected descent over matrices of rank at most p moves against the gradient and keeps the p largest eigenvalues (Jain,
Jamieson and Nowak, NIPS 2016). The first trial step of each line search is the spectral (Barzilai-Borwein) one. The set
is not convex, so the start matters: G = 0 makes the first step the best rank-p approximation of the pull of the data,
which is as good as the best of many random starts and always the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from nearer._common.arrays import FloatArray
from nearer.geometry import leading_spectrum
from nearer.model import TwoSidedHinge
from nearer.optimize.problems.gram import Gram, Problem
from nearer.optimize.problems.margins import MarginMap
from nearer.optimize.solvers.driver import Outcome, Progress, Solver, Space


def solve_normal_equations(
    margins: MarginMap,
    weights: FloatArray,
    shift: float,
    right: FloatArray,
    start: FloatArray,
    *,
    rtol: float,
    cut: float = 0.0,
    own: tuple[float, FloatArray, FloatArray] | None = None,
    max_iter: int | None = None,
) -> tuple[FloatArray, FloatArray, bool]:
    """Return G and s that solve the equations of `optimize.kernels.gram.normal_cg`, and whether they do.

    ``own`` holds the shift, the right side and the start of the equations of s, which stays 0 without it. The residual
    gets below ``rtol`` times the right side, or below ``cut`` times that of the start.
    """
    from nearer.optimize.kernels import normal_cg

    n = margins.n_objects
    own_shift, own_right, own_start = own or (np.inf, np.zeros(n), np.zeros(n))
    gram, specificities = np.array(start, np.float64, order="C"), np.array(own_start, np.float64)
    right = np.ascontiguousarray(right, np.float64)
    limit = max(10 * n, 500) if max_iter is None else max_iter
    if margins.root is not None:
        return _representer_cg(
            margins, weights, (shift, own_shift), (right, own_right), (gram, specificities), cut, rtol, limit
        )
    equations = (margins.ends, weights, margins.diagonal, shift, own_shift, right, own_right)
    ok = normal_cg(*equations, gram, specificities, cut, rtol, limit)
    return gram, specificities, bool(ok)


def _representer_cg(
    margins: MarginMap,
    weights: FloatArray,
    shifts: tuple[float, float],
    right: tuple[FloatArray, FloatArray],
    start: tuple[FloatArray, FloatArray],
    cut: float,
    rtol: float,
    max_iter: int,
) -> tuple[FloatArray, FloatArray, bool]:
    """Solve the equations of `normal_cg` for a representer: G = S B S^T in the product, and its image S^T L S."""
    from nearer.optimize.kernels import normal_product

    root, with_own = margins.root, bool(np.isfinite(shifts[1]))
    assert root is not None
    n = margins.n_objects

    def flat(representer: FloatArray, own: FloatArray) -> FloatArray:
        return np.concatenate([representer.ravel(), own if with_own else np.zeros(0)])

    def product(unknowns: FloatArray) -> FloatArray:
        representer, own = unknowns[: n * n].reshape(n, n), unknowns[n * n :]
        image = np.empty((n, n))
        gram = np.ascontiguousarray(root.congruence(representer))
        normal_product(margins.ends, weights, margins.diagonal, gram, own if with_own else np.zeros(n), image)
        return flat(
            root.transposed_congruence(image) + shifts[0] * representer,
            np.diagonal(image) + shifts[1] * own if with_own else own,
        )

    unknowns, wanted = flat(*start), flat(*right)
    residual = wanted - product(unknowns)
    size = float(residual @ residual)
    goal, direction = max(cut**2 * size, rtol**2 * float(wanted @ wanted)), residual
    for _ in range(max_iter):
        if size <= goal:
            break
        image = product(direction)
        step = size / float(direction @ image)
        unknowns = unknowns + step * direction
        residual = residual - step * image
        before, size = size, float(residual @ residual)
        direction = residual + size / before * direction
    own = unknowns[n * n :] if with_own else start[1]
    return unknowns[: n * n].reshape(n, n), own, size <= goal


def nearest_psd(matrix: FloatArray, max_rank: int | None = None) -> FloatArray:
    """Return the nearest positive semidefinite matrix in Frobenius norm, of rank at most ``max_rank``.

    Examples
    --------
    >>> nearest_psd(np.diag([2.0, -1.0]))
    array([[2., 0.],
           [0., 0.]])
    """
    return _from_spectrum(*leading_spectrum(matrix, max_rank))


def _from_spectrum(eigenvalues: FloatArray, vectors: FloatArray) -> FloatArray:
    kept = eigenvalues > 0
    half = vectors[:, kept] * np.sqrt(eigenvalues[kept])
    return half @ half.T


def penalty_prox(matrix: FloatArray, trace: float, ridge: float, step: float) -> FloatArray:
    """Return argmin over G >= 0 of trace * tr(G) + ridge / 2 * ||G||^2 + ||G - matrix||^2 / (2 step)."""
    eigenvalues, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return _from_spectrum(np.maximum(eigenvalues - step * trace, 0) / (1 + step * ridge), vectors)


def shrink_spectrum(matrix: FloatArray, amount: float) -> FloatArray:
    """Return argmin of amount * ||G||_* + ||G - matrix||^2 / 2 over symmetric G: eigenvalues drawn towards 0."""
    eigenvalues, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    shrunk = np.sign(eigenvalues) * np.maximum(np.abs(eigenvalues) - amount, 0)
    return (vectors * shrunk) @ vectors.T


@dataclass(frozen=True, eq=False)
class ClosedFormState:
    gram: FloatArray
    progress: Progress
    outcome: Outcome | None = None


@dataclass(frozen=True)
class ClosedForm(Solver):
    """Settings of the closed form.

    Parameters
    ----------
    tol : float
        Relative residual of the linear system.
    """

    tol: float = 1e-10
    space: ClassVar[Space] = "gram"

    def check(self, problem: Problem) -> None:
        if problem.loss != TwoSidedHinge(nu=1.0, power=2) or problem.trace != 0 or not problem.ridge > 0:
            raise ValueError(
                "solver='closed' needs nu=1, power=2, trace=0 and ridge > 0, "
                f"got {problem.loss}, trace={problem.trace}, ridge={problem.ridge}; use solver='admm' otherwise"
            )

    def init(self, problem: Problem, start: Any, rng: np.random.Generator) -> ClosedFormState:
        return ClosedFormState(np.zeros((problem.n_objects,) * 2), Progress(0, problem.objective_at_zero))

    def step(self, problem: Problem, state: ClosedFormState) -> ClosedFormState:
        right = problem.margins.adjoint(problem.shares)
        gram, _, solved = solve_normal_equations(
            problem.margins, problem.shares, problem.ridge / 2, right, state.gram, rtol=self.tol
        )
        outcome = Outcome.CONVERGED if solved else Outcome.MAX_ITER
        return ClosedFormState(gram, Progress(1, problem.objective(gram)), outcome)

    def done(self, problem: Problem, state: ClosedFormState) -> Outcome | None:
        return state.outcome

    def value(self, state: ClosedFormState) -> Gram:
        return Gram(state.gram)


MIN_DECREASE = 1e-2
MIN_STEP_RATIO = 2.0**-40


@dataclass(frozen=True, eq=False)
class ProximalState:
    """Iterates of descent that projects or shrinks after each move."""

    points: FloatArray  # or a Gram matrix
    gradient: FloatArray
    progress: Progress
    step_size: float  # the first to try next
    small_changes: int = 0  # consecutive steps that changed the objective by less than tol
    stalled: bool = False


def backtrack(state: Any, attempt: Callable[[float], Any]) -> Any:
    """Return the first attempt, at half the step each time, that lowers the objective enough, and the step after it.

    An attempt is the points, their objective and their gradient, and whatever else; None if no step is short enough.
    """
    step_size = state.step_size
    while True:
        found = points, objective, gradient, *_ = attempt(step_size)
        change = points - state.points
        size = float(np.vdot(change, change))
        if objective <= state.progress.objective - MIN_DECREASE / (2 * step_size) * size:
            break
        step_size /= 2
        if step_size < MIN_STEP_RATIO * state.step_size:
            return None
    # The spectral step is the inverse curvature along the last change; where that is not positive, try longer.
    curvature = float(np.vdot(change, gradient - state.gradient))
    following = size / curvature if curvature > 0 else 4 * step_size
    return found, float(np.clip(following, step_size / 16, step_size * 16)), size == 0


@dataclass(frozen=True)
class Projected(Solver):
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

    def init(self, problem: Problem, start: Any, rng: np.random.Generator) -> ProximalState:
        """Evaluate the start; the first step size takes the typical margin from 0 to about 1."""
        shape = problem.n_objects, self.rank
        points = rng.normal(scale=1e-2, size=shape) if self.start == "random" else np.zeros(shape)
        gram = points @ points.T
        objective, gradient = problem.objective_and_gradient(gram)
        margin_change = float(problem.shares @ np.abs(problem.margins(nearest_psd(-gradient, self.rank))))
        return ProximalState(gram, gradient, Progress(0, objective), 1 / margin_change if margin_change > 0 else 1.0)

    def step(self, problem: Problem, state: ProximalState) -> ProximalState:
        def attempt(step_size: float) -> tuple[FloatArray, float, FloatArray]:
            gram = nearest_psd(state.points - step_size * state.gradient, self.rank)
            return gram, *problem.objective_and_gradient(gram)

        found = backtrack(state, attempt)
        if found is None:
            return replace(state, stalled=True)
        (gram, objective, gradient), step_size, stalled = found
        small = state.progress.objective - objective <= self.tol * problem.objective_at_zero
        progress = Progress(state.progress.iteration + 1, objective)
        return ProximalState(gram, gradient, progress, step_size, state.small_changes + 1 if small else 0, stalled)

    def done(self, problem: Problem, state: ProximalState) -> Outcome | None:
        if state.stalled:
            return Outcome.STALLED
        return Outcome.CONVERGED if state.small_changes >= 3 else None

    def value(self, state: ProximalState) -> Gram:
        return Gram(state.points)

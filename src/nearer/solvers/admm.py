"""Two-block ADMM for the convex problem, stopped by its duality gap.

Split the problem as

    minimize sum_q c_q phi(e_q) + h(Z)    subject to    e = A G,  Z = G

with h(Z) = trace * tr(Z) + ridge / 2 * ||Z||^2 on the cone. One block is G, the other is (e, Z), and both are exact:

    G      (A^T C A + theta I) G = A^T C (e - u) + theta (Z - U)      conjugate gradients, warm-started
    e      prox of phi / rho at A G + u                               closed form
    Z      prox of h / (rho theta) at G + U                           one eigendecomposition

where u, U are the scaled multipliers and C = diag(c). Measuring e = A G in the norm of C makes the prox of every
comparison the same, whatever its weight, and keeps a repeated row equal to a row of weight 2 at every iterate.
Both are over-relaxed; rho balances primal and dual residuals; the slopes rho u lie in the domain of phi* by
construction, so each check of the gap costs one set of eigenvalues.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from nearer.margins import FloatArray
from nearer.problem import Problem, require_prox
from nearer.solvers.driver import Outcome, Progress
from nearer.solvers.psd import penalty_prox


@dataclass(frozen=True, eq=False)
class ADMMState:
    """Iterates of `ADMM`; ``gram`` is the best feasible point seen so far."""

    gram: FloatArray
    progress: Progress
    lower_bound: float
    relative_gap: float
    free_gram: FloatArray  # G
    margins: FloatArray  # e
    cone_gram: FloatArray  # Z
    margin_multiplier: FloatArray  # u
    cone_multiplier: FloatArray  # U
    rho: float
    theta: float
    iteration: int


@dataclass(frozen=True)
class ADMM:
    """Settings of the two-block ADMM.

    Parameters
    ----------
    tol : float
        Stop when the duality gap is below ``tol`` times the size of the objective's terms.
    max_iter : int
    relaxation : float in [1, 2)
    check_every : int
        Iterations between two checks of the gap (and two changes of the step).

    Examples
    --------
    >>> ADMM(tol=1e-6).max_iter
    5000
    """

    tol: float = 1e-4
    max_iter: int = 5000
    relaxation: float = 1.6
    check_every: int = 5

    def check(self, problem: Problem) -> None:
        """Refuse problems without a bounded solution or a prox."""
        require_prox(problem, "solver='admm'")
        if problem.ridge < 0:
            raise ValueError(f"ridge must be >= 0, got {problem.ridge}")
        if problem.ridge == 0 and problem.trace <= 0:
            raise ValueError(
                f"trace={problem.trace} without a ridge has no unique solution; set trace > 0 or ridge > 0"
            )

    def init(self, problem: Problem, rng: np.random.Generator) -> ADMMState:
        """Start from G = 0, which is the solution if the trace penalty is large enough."""
        n, m = problem.margins.n_objects, len(problem.margins)
        zero, none = np.zeros((n, n)), np.zeros(m)
        objective = problem.objective(zero)
        loss = require_prox(problem, "solver='admm'")
        bound = problem.dual_bound(loss.derivative(none))
        return ADMMState(
            gram=zero,
            progress=Progress(0, objective, objective - bound),
            lower_bound=bound,
            relative_gap=(objective - bound) / objective,
            free_gram=zero,
            margins=none,
            cone_gram=zero,
            margin_multiplier=none,
            cone_multiplier=zero,
            rho=2.0,
            theta=_theta(problem),
            iteration=0,
        )

    def step(self, problem: Problem, state: ADMMState) -> ADMMState:
        """Update both blocks and the multipliers; every few iterations check the gap and adapt rho."""
        loss = require_prox(problem, "solver='admm'")
        gram = _solve_free_gram(problem, state)
        fitted = problem.margins(gram)
        relaxed_margins = self.relaxation * fitted + (1 - self.relaxation) * state.margins
        relaxed_gram = self.relaxation * gram + (1 - self.relaxation) * state.cone_gram
        margins = loss.prox(relaxed_margins + state.margin_multiplier, 1 / state.rho)
        cone_gram = penalty_prox(
            relaxed_gram + state.cone_multiplier, problem.trace, problem.ridge, 1 / (state.rho * state.theta)
        )
        after = replace(
            state,
            free_gram=gram,
            margins=margins,
            cone_gram=cone_gram,
            margin_multiplier=state.margin_multiplier + relaxed_margins - margins,
            cone_multiplier=state.cone_multiplier + relaxed_gram - cone_gram,
            iteration=state.iteration + 1,
        )
        if after.iteration % self.check_every:
            return after
        return _adapt_rho(problem, state, _check_gap(problem, after), fitted)

    def done(self, problem: Problem, state: ADMMState) -> Outcome | None:
        """Stop on a small gap, or at once when G = 0 is the solution."""
        if problem.trace >= problem.vanishing_trace:
            return Outcome.VANISHED
        return Outcome.CONVERGED if state.relative_gap <= self.tol else None


def _theta(problem: Problem) -> float:
    # The weight of Z = G against e = A G. The optimum lies near the pull at zero, so the curvature of the quadratic
    # form A^T C A along it sets the scale; a ridge adds its own. The choice moves the number of iterations only.
    pull = problem.pull_at_zero
    margins = problem.margins(pull)
    size = np.vdot(pull, pull)
    curvature = float(problem.shares @ margins**2) / float(size) if size > 0 else 1.0
    return curvature / 6 + problem.ridge / 2


def _solve_free_gram(problem: Problem, state: ADMMState) -> FloatArray:
    n = problem.margins.n_objects

    def apply(flat: FloatArray) -> FloatArray:
        matrix = flat.reshape(n, n)
        curved = problem.margins.adjoint(problem.shares * problem.margins(matrix)) + state.theta * matrix
        return curved.ravel()

    target = problem.margins.adjoint(problem.shares * (state.margins - state.margin_multiplier))
    target += state.theta * (state.cone_gram - state.cone_multiplier)
    start = state.free_gram.ravel()
    # Inexact steps suffice while far from the solution: a fixed cut of the residual that the last G leaves.
    residual = np.linalg.norm(target.ravel() - apply(start))
    floor = 1e-12 * float(np.linalg.norm(target))
    operator = LinearOperator((n * n, n * n), matvec=apply, dtype=np.float64)
    solution, _ = cg(operator, target.ravel(), x0=start, rtol=0.0, atol=max(0.05 * residual, floor), maxiter=100)
    result: FloatArray = solution.reshape(n, n)
    return result


def _check_gap(problem: Problem, state: ADMMState) -> ADMMState:
    """Evaluate both bounds at the current iterates and keep the better of old and new."""
    objective = problem.objective(state.cone_gram)
    gram = state.cone_gram
    if state.progress.objective < objective:
        objective, gram = state.progress.objective, state.gram
    bound = max(state.lower_bound, problem.dual_bound(state.rho * state.margin_multiplier))
    gap = max(objective - bound, 0.0)
    return replace(
        state,
        gram=gram,
        progress=Progress(state.iteration, objective, gap),
        lower_bound=bound,
        relative_gap=gap / problem.scale(gram),
    )


def _adapt_rho(problem: Problem, before: ADMMState, after: ADMMState, fitted: FloatArray) -> ADMMState:
    """Balance the relative primal and dual residuals (Boyd et al. 2011, section 3.4.1)."""

    def norm(margins: FloatArray, gram: FloatArray) -> float:
        return float(np.sqrt(problem.shares @ margins**2 + after.theta * np.vdot(gram, gram)))

    primal = norm(fitted - after.margins, after.free_gram - after.cone_gram) / norm(after.margins, after.cone_gram)
    dual = norm(after.margins - before.margins, after.cone_gram - before.cone_gram) / norm(
        after.margin_multiplier, after.cone_multiplier
    )
    tiny = np.finfo(float).tiny
    # A change loses the guarantee of convergence if it never ends: its size falls off with the iterations.
    reach = 1 + 4 / (1 + after.iteration / 100)
    factor = float(np.clip(np.sqrt(primal / max(dual, tiny)), 1 / reach, reach))
    if 1 / 1.5 < factor < 1.5:
        return after
    return replace(
        after,
        rho=after.rho * factor,
        margin_multiplier=after.margin_multiplier / factor,
        cone_multiplier=after.cone_multiplier / factor,
    )

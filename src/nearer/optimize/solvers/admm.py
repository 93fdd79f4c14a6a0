"""ADMM for the convex problem: in two blocks, stopped by its duality gap, and Algorithm 1 of the paper in five.

    minimize  sum_q c_q phi(e_q) + h(Z) + specificity / 2 ||s||^2    subject to    e = A (G + diag(s)),  Z = G

with h(Z) = trace * tr(Z) + ridge / 2 * ||Z||^2 on the cone, scaled multipliers u, U and steps rho, theta; see
docs/mathematics.md. One block is (G, s), by conjugate gradients, the other is (e, Z), by a prox in closed form and one
eigendecomposition. In the norm of C = diag(c) a repeated row is equal to a row of weight 2 at every iterate. Both
constraints are over-relaxed; the slopes rho u lie in the domain of phi* by construction.

The paper's five blocks are those of its sum form, with y = 1 as comparisons here are oriented:

    minimize  sum_q w_q (e1)_+^a + nu sum_q w_q (e2)_+^a + lambda ||G1||_*
    subject to  e1 = e, e2 = -e, G = G1, G = G2, G2 >= 0,    e = 1 - A G

Corrected against print: the squared distance in the map to G, the nuclear-norm prox at G + Z3 / mu, the names of
the matrix multipliers, and nu. From a random start every direction that no comparison constrains stays behind.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from nearer._common.arrays import FloatArray
from nearer.model import TwoSidedHinge
from nearer.optimize.problems.gram import Gram, Problem, require_prox
from nearer.optimize.solvers.driver import Outcome, Progress, Solver, Space
from nearer.optimize.solvers.gram import nearest_psd, penalty_prox, shrink_spectrum, solve_normal_equations


@dataclass(frozen=True, eq=False)
class ADMMState:
    """Iterates of `ADMM`; ``gram`` and ``specificities`` are the best feasible point seen so far."""

    gram: FloatArray
    specificities: FloatArray | None
    progress: Progress
    lower_bound: float
    free_gram: FloatArray  # G
    free_specificities: FloatArray | None  # s
    margins: FloatArray  # e
    cone_gram: FloatArray  # Z
    margin_multiplier: FloatArray  # u
    cone_multiplier: FloatArray  # U
    rho: float
    theta: float
    iteration: int = 0


@dataclass(frozen=True)
class ADMM(Solver):
    """Settings of the two-block ADMM.

    Parameters
    ----------
    tol : float
        Stop when the duality gap is below ``tol`` times the objective, and below a tenth of what is gained over G = 0.
    max_iter : int
    relaxation : float in [1, 2)
    check_every : int
        Iterations between two checks of the gap (and two changes of the step).
    """

    tol: float = 1e-4
    max_iter: int = 5000
    relaxation: float = 1.6
    check_every: int = 5
    space: ClassVar[Space] = "gram"

    def check(self, problem: Problem) -> None:
        require_prox(problem, "solver='admm'")
        bounded = problem.trace + problem.ridge > 0 or problem.vanishing_trace == 0
        if not (0 <= problem.trace < np.inf and 0 <= problem.ridge < np.inf and bounded):
            raise ValueError(
                "solver='admm' needs finite trace >= 0 and ridge >= 0, and one of them above 0, "
                f"got trace={problem.trace}, ridge={problem.ridge}"
            )
        if not problem.specificity > 0:
            raise ValueError(f"specificity must be above 0 (infinity for none), got {problem.specificity}")
        if not (self.tol > 0 and 1 <= self.relaxation < 2 and self.check_every >= 1):
            raise ValueError(f"ADMM needs tol > 0, 1 <= relaxation < 2 and check_every >= 1, got {self}")

    def init(self, problem: Problem, start: Any, rng: np.random.Generator) -> ADMMState:
        """Start from G = 0, which is the solution if the trace penalty is large enough, or where another fit ended.

        The state of a fit to the same comparisons with a penalty nearby saves most of the way. The solution does not
        depend on it.
        """
        if start is not None and len(start.margins) != len(problem.margins):
            raise ValueError("start must be the state of a fit to the same comparisons")
        n, m = problem.n_objects, len(problem.margins)
        zero, none = np.zeros((n, n)), np.zeros(m)
        own = np.zeros(n) if problem.has_specificities else None
        objective, theta = problem.objective_at_zero, _theta(problem)
        if start is None:
            bound = problem.dual_bound(require_prox(problem, "solver='admm'").derivative(none))
            progress = Progress(0, objective, objective - bound)
            return ADMMState(zero, own, progress, bound, zero, own, none, zero, none, zero, 2.0, theta)
        # The bound at G = 0 costs a set of eigenvalues; the first check evaluates the iterates of the other fit.
        return replace(
            start,
            gram=zero,
            specificities=own,
            progress=Progress(0, objective, np.inf),
            lower_bound=-np.inf,
            free_specificities=own if own is None or start.free_specificities is None else start.free_specificities,
            cone_multiplier=start.cone_multiplier * (start.theta / theta),  # the slopes rho theta U carry over
            theta=theta,
            iteration=0,
        )

    def step(self, problem: Problem, state: ADMMState) -> ADMMState:
        loss = require_prox(problem, "solver='admm'")
        gram, specificities = _solve_free_block(problem, state)
        fitted = problem.margins(gram, specificities)
        relaxed_margins = self.relaxation * fitted + (1 - self.relaxation) * state.margins
        relaxed_gram = self.relaxation * gram + (1 - self.relaxation) * state.cone_gram
        margins = loss.prox(relaxed_margins + state.margin_multiplier, 1 / state.rho)
        cone_gram = penalty_prox(
            relaxed_gram + state.cone_multiplier, problem.trace, problem.ridge, 1 / (state.rho * state.theta)
        )
        after = replace(
            state,
            free_gram=gram,
            free_specificities=specificities,
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
        _, objective, gap = state.progress
        # Under strong penalties the gain over G = 0 may be less than tol: the gap must be small relative to it too.
        reference = problem.objective_at_zero
        gain = reference - state.lower_bound
        if not gap <= self.tol * abs(objective) or gap > max(0.1 * gain, 1e-12 * reference):
            return None
        return Outcome.CONVERGED if state.gram.any() else Outcome.VANISHED

    def value(self, state: ADMMState) -> Gram:
        return Gram(state.gram, state.specificities)


def _theta(problem: Problem) -> float:
    # The weight of Z = G against e = A G. The optimum lies near the pull at zero, so the curvature of the quadratic
    # form A^T C A along it sets the scale; a ridge adds its own. The choice moves the number of iterations only.
    pull = problem.pull_at_zero
    margins = problem.margins(pull)
    size = np.vdot(pull, pull)
    curvature = float(problem.shares @ margins**2) / float(size) if size > 0 else 1.0
    return curvature / 6 + problem.ridge / 2


def _solve_free_block(problem: Problem, state: ADMMState) -> tuple[FloatArray, FloatArray | None]:
    """Return the G and s that minimize the augmented Lagrangian."""
    weights = problem.shares * (state.margins - state.margin_multiplier)
    pull = problem.margins.laplacian(-weights, weights)
    right = problem.margins.to_representer(pull) + state.theta * (state.cone_gram - state.cone_multiplier)
    own = None
    if state.free_specificities is not None:
        own = problem.specificity / state.rho, np.diagonal(pull).copy(), state.free_specificities
    gram, specificities, _ = solve_normal_equations(
        problem.margins,
        problem.shares,
        state.theta,
        right,
        state.free_gram,
        # Inexact steps suffice while far from the solution: a fixed cut of the residual that the last block leaves.
        cut=0.05,
        rtol=1e-12,
        own=own,
        max_iter=100,
    )
    return gram, specificities if own is not None else None


def _check_gap(problem: Problem, state: ADMMState) -> ADMMState:
    """Evaluate both bounds at the current iterates and keep the better of old and new."""
    objective = problem.objective(state.cone_gram, state.free_specificities)
    if objective <= state.progress.objective:
        state = replace(state, gram=state.cone_gram, specificities=state.free_specificities)
    else:
        objective = state.progress.objective
    bound = max(state.lower_bound, problem.dual_bound(state.rho * state.margin_multiplier))
    # Rounding may leave a bound above the objective by the last bit.
    progress = Progress(state.iteration, objective, max(objective - bound, 0.0))
    return replace(state, progress=progress, lower_bound=bound)


def _adapt_rho(problem: Problem, before: ADMMState, after: ADMMState, fitted: FloatArray) -> ADMMState:
    """Balance the relative primal and dual residuals (Boyd et al. 2011, section 3.4.1)."""

    def norm(margins: FloatArray, gram: FloatArray) -> float:
        return float(np.sqrt(problem.shares @ margins**2 + after.theta * np.vdot(gram, gram)))

    tiny = np.finfo(float).tiny
    primal = norm(fitted - after.margins, after.free_gram - after.cone_gram)
    primal /= max(norm(after.margins, after.cone_gram), tiny)
    dual = norm(after.margins - before.margins, after.cone_gram - before.cone_gram)
    dual /= max(norm(after.margin_multiplier, after.cone_multiplier), tiny)
    # Changes that never end would void the guarantee of convergence: their reach falls off with the iterations.
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


@dataclass(frozen=True, eq=False)
class PaperState:
    """Iterates of Algorithm 1, named as there; ``gram`` is G2, the feasible one."""

    gram: FloatArray
    progress: Progress
    objective_change: float
    G: FloatArray
    G1: FloatArray
    e: FloatArray
    z1: FloatArray
    z2: FloatArray
    Z3: FloatArray
    Z4: FloatArray
    mu: float


@dataclass(frozen=True)
class Paper(Solver):
    """Settings of Algorithm 1.

    Parameters
    ----------
    mu, growth : float
        The first step parameter and the factor (> 1) by which each iteration multiplies it; the paper gives neither.
    tol : float
        Stop when the objective, in the paper's sum form, changes by less than this.
    max_iter : int
    start : {"zero", "random"}
        G_0. A random start is a Gaussian Gram matrix.
    """

    mu: float = 0.1
    growth: float = 1.05
    tol: float = 1e-3
    max_iter: int = 1000
    start: Literal["zero", "random"] = "zero"
    space: ClassVar[Space] = "gram"

    def check(self, problem: Problem) -> None:
        if not isinstance(problem.loss, TwoSidedHinge):
            raise ValueError(f"solver='paper' knows the two-sided hinge only, got {type(problem.loss).__name__}")
        if problem.ridge != 0 or not 0 <= problem.trace < np.inf:
            raise ValueError(
                f"solver='paper' needs ridge=0 and trace >= 0, got ridge={problem.ridge}, trace={problem.trace}; "
                "use solver='admm' for other penalties"
            )
        if not self.growth > 1 or not self.mu > 0:
            raise ValueError(f"Paper needs mu > 0 and growth > 1, got mu={self.mu}, growth={self.growth}")
        if self.start not in ("zero", "random"):
            raise ValueError(f"start must be 'zero' or 'random', got {self.start!r}")

    def init(self, problem: Problem, start: Any, rng: np.random.Generator) -> PaperState:
        n = problem.n_objects
        points = rng.normal(size=(n, n)) if self.start == "random" else np.zeros((n, n))
        gram = points @ points.T / n
        e = 1 - problem.margins(gram)
        zero, none = np.zeros((n, n)), np.zeros_like(e)
        progress = Progress(0, problem.objective(gram))
        return PaperState(gram, progress, np.inf, gram, gram, e, none, none, zero, zero, self.mu)

    def step(self, problem: Problem, state: PaperState) -> PaperState:
        loss = problem.loss
        assert isinstance(loss, TwoSidedHinge)
        mu, weights = state.mu, problem.weights
        e1 = _shrink_positive(state.e - state.z1 / mu, weights / mu, loss.power)
        e2 = _shrink_positive(-state.e - state.z2 / mu, loss.nu * weights / mu, loss.power)

        # 2 (A^T A + I) G = -A^T (e1 + z1/mu - e2 - z2/mu - 2) + G1 - Z3/mu + G2 - Z4/mu
        right = problem.margins.adjoint(2 - e1 - state.z1 / mu + e2 + state.z2 / mu)
        right += state.G1 - state.Z3 / mu + state.gram - state.Z4 / mu
        G, _, _ = solve_normal_equations(problem.margins, np.ones_like(e1), 1.0, right / 2, state.G, rtol=1e-8)
        G1 = shrink_spectrum(G + state.Z3 / mu, problem.trace * problem.total_weight / mu)
        G2 = nearest_psd(G + state.Z4 / mu)
        e = 1 - problem.margins(G)

        objective = problem.objective(G2)
        change = abs(objective - state.progress.objective) * problem.total_weight
        return PaperState(
            gram=G2,
            progress=Progress(state.progress.iteration + 1, objective),
            objective_change=change,
            G=G,
            G1=G1,
            e=e,
            z1=state.z1 + mu * (e1 - e),
            z2=state.z2 + mu * (e2 + e),
            Z3=state.Z3 + mu * (G - G1),
            Z4=state.Z4 + mu * (G - G2),
            mu=mu * self.growth,
        )

    def done(self, problem: Problem, state: PaperState) -> Outcome | None:
        return Outcome.CONVERGED if state.objective_change < self.tol else None

    def value(self, state: PaperState) -> Gram:
        return Gram(state.gram)


def _shrink_positive(points: FloatArray, step: FloatArray, power: float) -> FloatArray:
    """Return the prox of step * max(x, 0)^power: equation (solution_e1_1), for both powers."""
    if power == 1:
        return np.where(points > 0, np.maximum(points - step, 0), points)
    return np.where(points > 0, points / (1 + 2 * step), points)

"""Algorithm 1 of the paper: ADMM with five blocks and a growing step.

In the paper's sum form, with W the total weight,

    minimize  sum_q w_q (y e1)_+^a + nu sum_q w_q (y e2)_+^a + lambda ||G1||_*
    subject to  e1 = e, e2 = -e, G = G1, G = G2, G2 >= 0,    e = y - A_y G

for answers y and the map A_y before orientation. Comparisons here are oriented, so every y is +1 and e = 1 - A G.
Corrected against print: the squared distance in the map to G, the nuclear-norm prox at G + Z3 / mu, the names of
the matrix multipliers (Z3, Z4 throughout), and nu, which the printed algorithm drops. The start is G = 0: a random one
stays behind in every direction that no comparison constrains. It is drawn on request, to show just that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from nearer._common.arrays import FloatArray
from nearer.model import TwoSidedHinge
from nearer.optimize.problems.gram import Gram, Problem
from nearer.optimize.solvers.convex_steps import nearest_psd, shrink_spectrum, solve_normal_equations
from nearer.optimize.solvers.driver import Outcome, Progress, Space


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
class Paper:
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

    Examples
    --------
    >>> Paper().tol
    0.001
    """

    mu: float = 0.1
    growth: float = 1.05
    tol: float = 1e-3
    max_iter: int = 1000
    start: Literal["zero", "random"] = "zero"
    space: ClassVar[Space] = "gram"

    def check(self, problem: Problem) -> None:
        """Refuse what Algorithm 1 does not know."""
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
        """Set every multiplier to 0 and e from G_0."""
        n = problem.margins.n_objects
        points = rng.normal(size=(n, n)) if self.start == "random" else np.zeros((n, n))
        gram = points @ points.T / n
        e = 1 - problem.margins(gram)
        zero = np.zeros((n, n))
        progress = Progress(0, problem.objective(gram), float("nan"))
        none = np.zeros_like(e)
        return PaperState(gram, progress, np.inf, gram, gram, e, none, none, zero, zero, self.mu)

    def step(self, problem: Problem, state: PaperState) -> PaperState:
        """One pass over the five blocks, then the multipliers and mu."""
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
            progress=Progress(state.progress.iteration + 1, objective, float("nan")),
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
        """Stop when the objective hardly changes between two iterations."""
        return Outcome.CONVERGED if state.objective_change < self.tol else None

    def value(self, state: PaperState) -> Gram:
        """Return G2, the feasible one."""
        return Gram(state.gram)


def _shrink_positive(points: FloatArray, step: FloatArray, power: float) -> FloatArray:
    """Return the prox of step * max(x, 0)^power: equation (solution_e1_1), for both powers."""
    if power == 1:
        return np.where(points > 0, np.maximum(points - step, 0), points)
    return np.where(points > 0, points / (1 + 2 * step), points)

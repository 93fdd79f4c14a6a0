"""What the classical methods share: a loss, a trace penalty, and a map of p dimensions that is also the predictor."""

from __future__ import annotations

from typing import Any

from nearer.embedding.base import OrdinalEmbedding
from nearer.problems.penalty import Penalty
from nearer.solvers import SVRG, Factored, Projected, Solver


class RankLimited(OrdinalEmbedding):
    """Base of the classical methods.

    ``solver="factored"`` moves the points themselves, by L-BFGS on compiled loops; ``solver="svrg"`` does so by
    stochastic descent, which reads the comparisons fewer times. ``solver="projected"`` is the descent over Gram
    matrices of rank p that gives the paper's GNMDS-p, STE-p and TSTE-p.
    """

    trace: float
    solver: str | Solver[Any, Any]

    def _penalty(self, solver: Solver[Any, Any]) -> Penalty:
        return Penalty(trace=self.trace, ridge=0.0)

    def _solver(self, n_objects: int, n_comparisons: int) -> Solver[Any, Any]:
        if not isinstance(self.solver, str):
            return self.solver
        solvers: dict[str, Solver[Any, Any]] = {
            "factored": Factored(),
            "svrg": SVRG(),
            "projected": Projected(self.n_components),
        }
        if self.solver not in solvers:
            raise ValueError(f"solver must be one of {[*solvers]} or a solver object, got {self.solver!r}")
        return solvers[self.solver]

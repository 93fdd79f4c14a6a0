"""The classical methods: a loss, a trace penalty, and a map of p dimensions that is also the predictor."""

from __future__ import annotations

from nearer.common.arrays import FloatArray
from nearer.common.randomness import stream
from nearer.data.comparisons import Comparisons
from nearer.data.file import ComparisonsFile
from nearer.embedding.fitting import Recipe, checked_solver, fit, turned
from nearer.embedding.loss_based import LossEmbedding
from nearer.problems.penalty import Penalty
from nearer.solvers import SVRG, Factored, Projected
from nearer.solvers.driver import AnySolver, Callback


class Classical(LossEmbedding):
    """Base of the classical methods.

    ``solver="factored"`` moves the points themselves, by L-BFGS on compiled loops; ``solver="svrg"`` does so by
    stochastic descent, which reads the comparisons fewer times. ``solver="projected"`` is the descent over Gram
    matrices of rank p that gives the paper's GNMDS-p, STE-p and TSTE-p.
    """

    trace: float
    solver: str | AnySolver

    def _fit(
        self,
        comparisons: Comparisons | ComparisonsFile,
        callback: Callback | None = None,
        start: FloatArray | None = None,
    ) -> None:
        recipe = self._recipe()
        with self._telling_of_interrupts():
            fitted = fit(comparisons, recipe, stream(self.random_state, "start"), start, callback)
        self._keep_fitted(turned(fitted, start), comparisons, recipe.solver)
        self._report(fitted)

    def _recipe(self) -> Recipe:
        return Recipe(self._loss(), Penalty(trace=self.trace, ridge=0.0), self._solver(), self.n_components)

    def _solver(self) -> AnySolver:
        if not isinstance(self.solver, str):
            return checked_solver(self.solver)
        solvers: dict[str, AnySolver] = {
            "factored": Factored(),
            "svrg": SVRG(),
            "projected": Projected(self.n_components),
        }
        if self.solver not in solvers:
            raise ValueError(f"solver must be one of {[*solvers]} or a solver object, got {self.solver!r}")
        return solvers[self.solver]

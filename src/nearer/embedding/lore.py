"""LORE: low-rank ordinal embedding, a map that finds its own number of dimensions."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from nearer._common.arrays import FloatArray
from nearer._common.parameters import check_integer, check_number
from nearer._common.randomness import stream
from nearer.data.comparisons import Comparisons
from nearer.data.groups import restrict_to_seen, with_positive_weight
from nearer.data.streamed import Judgments
from nearer.embedding.base import OrdinalEmbedding
from nearer.embedding.fitting import Fitted, LossEmbedding, Recipe, fit_points
from nearer.geometry import to_principal_axes
from nearer.model import Loss, SoftHinge
from nearer.optimize.problems.points import FactoredProblem, Penalty
from nearer.optimize.problems.sources import InMemory
from nearer.optimize.solvers import Factored, Outcome, Shrinkage, solve
from nearer.optimize.solvers.driver import Callback, limited_blas
from nearer.optimize.solvers.shrinkage import SchattenProblem

_MAX_DIMENSIONS = 15
_START_TRACE = 0.01  # as a share: where between 0.001 and 0.1 it is hardly changes what is found


@dataclass(eq=False, repr=False, kw_only=True)
class LORE(LossEmbedding):
    """Low-rank ordinal embedding (Anand et al. 2026): the number of dimensions is found along with the map.

    Minimizes the smooth hinge log(1 + exp(1 - margin)) plus a Schatten quasi-norm of the map, the sum of its singular
    values to a power below 1, which takes weak dimensions away and hardly shrinks strong ones.

    Parameters
    ----------
    n_components : int, optional
        The most dimensions. If left out, 15, and the map has as many columns as were found; a given number is the
        number of columns, and those beyond `dimension_` are 0.
    penalty : float >= 0, default 2
        The price of a dimension, in units of log(1 + m / 2n) for each of n coordinates of mean square 1, given m
        comparisons. Answers that are wrong whatever the distances may need 3.
    power : float above 0, at most 1, default 0.5
        Of the singular values. 1 is the nuclear norm, which shrinks strong dimensions as much as weak ones.
    tol : float >= 0, default 1e-6
        Stop when three steps in a row lower the objective by less than this, against the loss of a map that is a point.
    max_iter : int, default 2000
    n_objects, random_state
        As for every estimator; the fit draws nothing.

    Attributes
    ----------
    dimension_ : int
        The number of dimensions that were found; 0 if none lowers the loss by its price, and the map is a point.
    singular_values_ : ndarray, shape (dimension_,)
        Of the map, falling.
    embedding_, objects_, n_objects_, n_iter_, converged_, history_, restarts_, solver_, trace_, comparisons_
        As for every estimator. `trace_` is the trace penalty that pulls at the first dimension as the quasi-norm does.

    Examples
    --------
    >>> from nearer.datasets import make_gaussian, sample_triplets
    >>> triplets = sample_triplets(make_gaussian(30, 3, random_state=0), 2000, random_state=0)
    >>> model = LORE().fit(triplets)
    >>> model.dimension_, model.embedding_.shape
    (3, (30, 3))
    """

    n_components: Any = field(default=None, kw_only=False)  # an int, or None
    penalty: float = 2.0
    power: float = 0.5
    tol: float = 1e-6
    max_iter: int = 2000

    def _with_chosen_settings(self) -> OrdinalEmbedding:
        """Return an estimator, not yet fitted, whose maps have as many columns as this one."""
        check_is_fitted(self)
        return self._copy_with(n_components=self.embedding_.shape[1])

    def _fast_surrogate(self) -> OrdinalEmbedding:
        """Return the same: many fits are compared with each other, which takes maps of one shape."""
        return self._with_chosen_settings()

    def _check_settings(self) -> None:
        if self.n_components is not None:
            super()._check_settings()
        check_number("penalty", self.penalty, least=0)
        check_number("tol", self.tol, least=0)
        check_integer("max_iter", self.max_iter, 1)
        if check_number("power", self.power, above=0) > 1:
            raise ValueError(f"power must be at most 1, got {self.power!r}; 0.5 is usual")

    def _loss(self) -> Loss:
        return SoftHinge()

    def _fit(self, comparisons: Judgments, callback: Callback | None = None, start: FloatArray | None = None) -> None:
        comparisons = self._require_in_memory(comparisons)
        solver = Shrinkage(tol=self.tol, max_iter=self.max_iter)
        among, seen = restrict_to_seen(with_positive_weight(comparisons))
        most = min(_MAX_DIMENSIONS if self.n_components is None else self.n_components, among.n_objects - 1)
        recipe = Recipe(self._loss(), Penalty(_START_TRACE, ridge=0.0), Factored(n_init=1), most)
        with self._warning_of_early_interrupt(), limited_blas("points", among.n_objects):
            first = fit_points(InMemory(among), recipe, stream(self.random_state, "start"), callback=callback)
            problem = self._problem(among, most)
            if first.solution.interrupted:
                solver = replace(solver, max_iter=1)  # so that there is a map
            solution = solve(problem, solver, first.embedding, callback=callback)
        if first.solution.interrupted:
            solution = replace(solution, outcome=Outcome.INTERRUPTED)
        # Objects in no comparison lie at the origin.
        sizes, found = solution.state.sizes, solution.value.shape[1]
        embedding = np.zeros((comparisons.n_objects, self.n_components or max(found, 1)))
        if found:
            embedding[seen, :found] = to_principal_axes(solution.value, np.ones(among.n_objects, dtype=bool))
        # That of a trace penalty with the same derivative with respect to the largest singular value.
        trace = float(problem.slopes(sizes[:1])[0] / (2 * sizes[0])) if sizes.size else 0.0
        fitted = Fitted(embedding, solution, trace, 0.0, problem.factored.total_weight, first.vanishing_trace)
        same_columns = start is not None and start.shape == embedding.shape
        self._store_fit(fitted, comparisons, solver, start if same_columns else None)
        self.singular_values_, self.dimension_ = sizes, len(sizes)
        self._report(fitted)

    def _problem(self, comparisons: Comparisons, rank: int) -> SchattenProblem:
        """Return the problem with the penalty in its own units."""
        factored = FactoredProblem(InMemory(comparisons), self._loss(), rank=rank)
        total, n = factored.total_weight, factored.n_objects
        # A dimension of n coordinates of mean square 1 has the singular value sqrt(n).
        unit = n ** (1 - self.power / 2) * np.log1p(total / (2 * n)) / total
        return SchattenProblem(factored, self.penalty * float(unit), self.power)

    def _placed_points(self, points: FloatArray, added: Comparisons) -> FloatArray:
        found = max(self.dimension_, 1)  # columns beyond them are 0, for new objects as for old ones
        placed = super()._placed_points(np.ascontiguousarray(points[:, :found]), added)
        return np.pad(placed, ((0, 0), (0, points.shape[1] - found)))

    def _report(self, fitted: Fitted) -> None:
        outcome = fitted.solution.outcome
        if outcome is Outcome.MAX_ITER:
            self._warn(f"{outcome.value}. The result is usable; for a better one raise max_iter or tol")
        elif outcome is Outcome.INTERRUPTED or fitted.vanishing_trace == 0:
            super()._report(fitted)
        elif not self.dimension_:
            self._warn("no dimension lowers the loss by its price: the map is a point; choose a smaller penalty")

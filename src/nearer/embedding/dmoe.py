"""DMOE: distributional margin based ordinal embedding (Ma, Xu, Yang and Cao, AAAI 2019)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer.comparisons import Comparisons
from nearer.embedding.base import OrdinalEmbedding
from nearer.embedding.fitting import Fitted, refined
from nearer.factored import FactoredProblem
from nearer.losses import TwoSidedHinge
from nearer.margins import FloatArray, MarginMap
from nearer.penalty import Penalty
from nearer.problem import with_specificities
from nearer.solvers import ADMM, ClosedForm, Factored, Paper, Solver, embedding_from_gram
from nearer.streaming import ComparisonsFile
from nearer.streams import RandomState

_SOLVERS: dict[str, Solver[Any, Any]] = {
    "admm": ADMM(),
    "paper": Paper(),
    "closed": ClosedForm(),
    "factored": Factored(),
}
_DEFAULT_PENALTIES = {Paper: Penalty(ridge=0.0), ClosedForm: Penalty(trace=0.0), Factored: Penalty(0.01, ridge=0.0)}
# Beyond these the convex problem takes half a minute, and the map over points less than a second.
MOST_OBJECTS_CONVEX, MOST_COMPARISONS_CONVEX = 500, 50_000
FEW_COMPARISONS = 15  # for each object
_BLOCK = 2**20  # rows at a time: indexing with all of them at once would copy them


class DMOE(OrdinalEmbedding):
    r"""Distributional margin based ordinal embedding.

    Learns a Gram matrix whose margins have a high mean and a small spread, by the convex problem

    .. math:: \min_{G \succeq 0} \sum_q c_q \ell(\gamma_q) + \lambda \, \mathrm{tr}\, G
              + \frac{\kappa}{2} \lVert G \rVert_F^2, \qquad
              \ell(\gamma) = \max(1 - \gamma, 0)^a + \nu \max(\gamma - 1, 0)^a

    where :math:`c_q` are the weights of the comparisons divided by their sum.

    Parameters
    ----------
    n_components : int, default 2
        Dimension p of `embedding_`. Where there is a `gram_`, predictions use that, which it does not limit, so that
        tuning it changes no score; `nearer.metrics.comparison_error` scores the map itself.
    penalty : Penalty, optional
        Weights of the trace, the ridge and more, in units that carry over; see `nearer.Penalty`. Left out:
        ``Penalty()``, without ridge for ``solver="paper"``, without trace for ``solver="closed"``, and
        ``Penalty(0.01, ridge=0)`` for ``solver="factored"``.
    nu : float >= 0, optional
        The price of margins above the target, relative to those below it. Left out: 1 up to 15 comparisons for each
        object, and for "closed" and "paper"; beyond, where a large margin is no accident and the upper side fights
        geometry, 0.
    power : float >= 1, default 2
        The exponent a; 1 or 2 for the convex solvers.
    solver : {"auto", "admm", "paper", "closed", "factored"} or solver object, default "auto"
        The two-block ADMM with its certificate; Algorithm 1 of the paper; the closed form for nu = 1, power 2 and
        ridge alone, without the cone; L-BFGS over points of dimension p, without a Gram matrix. "auto" takes ADMM up
        to 500 objects and 50 000 comparisons, and "factored" beyond; `solver_` tells which. `ADMM(tol=1e-8)` and
        the like, from `nearer.solvers`, set more.
    n_objects : int, optional
        The number of objects, if it is more than the comparisons show.
    random_state : int, Generator, SeedSequence or None
        For random starts and for drawing held-out comparisons; a fit with the defaults needs none.

    Attributes
    ----------
    embedding_, objects_, n_objects_, n_iter_, converged_, history_, solver_, trace_, comparisons_
        As for every estimator: the map, labels, and how the solver got there. After a convex solver the map is the
        leading part of the Gram matrix, refined to a minimum of the same problem over points of dimension p.
    gram_ : ndarray, shape (n_objects_, n_objects_)
        The Gram matrix, which predicts; not with ``solver="factored"``.
    dual_gap_ : float
        Upper bound on how far the objective is from its minimum; NaN for solvers without a certificate.
    specificities_ : ndarray, shape (n_objects_,)
        What each object adds to its squared distances in `gram_`, at least 0: beyond the map, from the diagonal weight
        and the specificities of the penalty; all 0 for the default one.
    ridge_ : float
        kappa, the weight of the ridge.
    nu_ : float
        The price of large margins that was used.

    See Also
    --------
    GNMDS, STE, TSTE

    Examples
    --------
    >>> from nearer.datasets import make_gaussian, sample_triplets
    >>> points = make_gaussian(20, 2, random_state=0)
    >>> model = DMOE(n_components=2).fit(sample_triplets(points, 800, random_state=0))
    >>> model.embedding_.shape
    (20, 2)
    >>> model.score(sample_triplets(points)) > 0.9
    True
    """

    gram_: FloatArray
    specificities_: FloatArray

    def __init__(
        self,
        n_components: int = 2,
        *,
        penalty: Penalty | None = None,
        nu: float | None = None,
        power: float = 2,
        solver: str | Solver[Any, Any] = "auto",
        n_objects: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.penalty = penalty
        self.nu = nu
        self.power = power
        self.solver = solver
        self.n_objects = n_objects
        self.random_state = random_state

    def _loss(self) -> TwoSidedHinge:
        return TwoSidedHinge(self._nu, self.power)

    def _settle(self, comparisons: Comparisons | ComparisonsFile) -> None:
        if self.nu is not None:
            self._nu = self.nu
        elif self.solver in ("closed", "paper") or isinstance(self.solver, ClosedForm | Paper):
            self._nu = 1.0  # there is no other in the closed form and in Algorithm 1
        else:
            self._nu = float(len(comparisons) <= FEW_COMPARISONS * _compared(comparisons))

    def _solver(self, n_objects: int, n_comparisons: int) -> Solver[Any, Any]:
        if not isinstance(self.solver, str):
            return self.solver
        name = self.solver
        if name == "auto":
            small = n_objects <= MOST_OBJECTS_CONVEX and n_comparisons <= MOST_COMPARISONS_CONVEX
            name = "admm" if small and self.power in (1, 2) else "factored"
        if name not in _SOLVERS:
            raise ValueError(f"solver must be one of {['auto', *_SOLVERS]} or a solver object, got {self.solver!r}")
        return _SOLVERS[name]

    def _penalty(self, solver: Solver[Any, Any]) -> Penalty:
        penalty = self.penalty
        if penalty is None:
            penalty = _DEFAULT_PENALTIES.get(type(solver), Penalty())
        if not isinstance(penalty, Penalty):
            raise ValueError(f"penalty must be a nearer.Penalty, such as Penalty(trace=0.2), got {penalty!r}")
        if penalty.specificity < np.inf and not isinstance(solver, ADMM):
            raise ValueError(f"specificity={penalty.specificity} needs solver='admm', got {self.solver!r}")
        return penalty

    def _finished(self, fitted: Fitted, comparisons: Comparisons) -> Fitted:
        return refined(fitted, comparisons, self._loss())

    def _distances(self, quadruplets: NDArray[np.integer]) -> tuple[FloatArray, FloatArray]:
        if not hasattr(self, "gram_"):
            return super()._distances(quadruplets)
        return MarginMap.from_quadruplets(quadruplets, self.n_objects_).distances(self.gram_)

    def _extend(self, added: Comparisons) -> None:
        if hasattr(self, "gram_"):
            # The old objects keep their block of the matrix; new ones get points in the space that it spans. A
            # constant on the diagonal changes no margin; this one brings the matrix of the closed form into the cone.
            n = self.n_objects_
            lift = max(0.0, -float(np.linalg.eigvalsh(self.gram_)[0]))
            points = self._placed(embedding_from_gram(self.gram_ + lift * np.eye(n), n), added)
            gram = points @ points.T - lift * np.eye(len(points))
            gram[:n, :n] = self.gram_
            super()._extend(added)
            self.gram_, self.specificities_ = gram, np.pad(self.specificities_, (0, len(points) - n))
        else:
            super()._extend(added)

    def _keep(self, fitted: Fitted, comparisons: Comparisons | ComparisonsFile) -> None:
        super()._keep(fitted, comparisons)
        solution, problem = fitted.solution, fitted.problem
        self.dual_gap_ = solution.dual_gap
        self.ridge_ = problem.ridge
        self.nu_ = self._nu
        if isinstance(problem, FactoredProblem):
            if hasattr(self, "gram_"):  # of an earlier fit
                del self.gram_, self.specificities_
            return
        assert solution.gram is not None
        # The diagonal that predicts, w (g_ii + s_i). A constant on the diagonal changes no margin; it is set such that
        # nothing is taken away from that of G, and gram_ stays in the cone.
        lengths = np.diagonal(solution.gram)
        weighted = problem.margins.diagonal * np.diagonal(with_specificities(solution.gram, solution.specificities))
        self.specificities_ = weighted - lengths - (weighted - lengths).min()
        self.gram_ = with_specificities(solution.gram, self.specificities_)


def _compared(comparisons: Comparisons | ComparisonsFile) -> int:
    """Return the number of objects that comparisons mention; of a file, the number of all objects."""
    if isinstance(comparisons, ComparisonsFile):
        return comparisons.n_objects
    seen = np.zeros(comparisons.n_objects, dtype=bool)
    for start in range(0, len(comparisons), _BLOCK):
        seen[comparisons.rows[start : start + _BLOCK]] = True
    return int(seen.sum())

"""DMOE: distributional margin based ordinal embedding (Ma, Xu, Yang and Cao, AAAI 2019)."""

from __future__ import annotations

from typing import Any

import numpy as np

from nearer.comparisons import Comparisons
from nearer.embedding.base import OrdinalEmbedding
from nearer.losses import TwoSidedHinge
from nearer.penalty import Penalty
from nearer.problem import Problem, with_specificities
from nearer.solvers import ADMM, ClosedForm, Paper, Solution, Solver
from nearer.streams import RandomState

_SOLVERS: dict[str, Solver[Any]] = {"admm": ADMM(), "paper": Paper(), "closed": ClosedForm()}
_DEFAULT_PENALTIES = {Paper: Penalty(ridge=0.0), ClosedForm: Penalty(trace=0.0)}


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
        Dimension p of `embedding_`. Predictions use `gram_`, which it does not limit, so that tuning it changes no
        score; `nearer.metrics.comparison_error` scores the map itself.
    penalty : Penalty, optional
        Weights of the trace, the ridge and more, in units that carry over; see `nearer.Penalty`. Left out:
        ``Penalty()``, without ridge for ``solver="paper"`` and without trace for ``solver="closed"``.
    nu : float >= 0, default 1
        The price of margins above the target, relative to those below it.
    power : {1, 2}, default 2
        The exponent a.
    solver : {"admm", "paper", "closed"} or solver object, default "admm"
        The two-block ADMM with its certificate; Algorithm 1 of the paper; the closed form for nu = 1, power 2 and
        ridge alone, without the cone. `ADMM(tol=1e-8)` and the like, from `nearer.solvers`, set more.
    n_objects : int, optional
        The number of objects, if it is more than the comparisons show.
    random_state : int, Generator, SeedSequence or None
        Used by a solver with a random start only.

    Attributes
    ----------
    embedding_, gram_, objects_, n_objects_, n_iter_, converged_, history_, trace_
        As for every estimator: map, Gram matrix, labels, and how the solver got there.
    dual_gap_ : float
        Upper bound on how far the objective is from its minimum; NaN for solvers without a certificate.
    specificities_ : ndarray, shape (n_objects_,)
        What each object adds to its squared distances in `gram_`, at least 0: beyond the map, from the diagonal weight
        and the specificities of the penalty; all 0 for the default one.
    ridge_ : float
        kappa, the weight of the ridge.

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

    def __init__(
        self,
        n_components: int = 2,
        *,
        penalty: Penalty | None = None,
        nu: float = 1.0,
        power: int = 2,
        solver: str | Solver[Any] = "admm",
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
        return TwoSidedHinge(self.nu, self.power)

    def _solver(self) -> Solver[Any]:
        if not isinstance(self.solver, str):
            return self.solver
        if self.solver not in _SOLVERS:
            raise ValueError(f"solver must be one of {sorted(_SOLVERS)} or a solver object, got {self.solver!r}")
        return _SOLVERS[self.solver]

    def _penalized(self, problem: Problem) -> Problem:
        solver, penalty = self._solver(), self.penalty
        if penalty is None:
            penalty = _DEFAULT_PENALTIES.get(type(solver), Penalty())
        if not isinstance(penalty, Penalty):
            raise ValueError(f"penalty must be a nearer.Penalty, such as Penalty(trace=0.2), got {penalty!r}")
        problem = penalty.of(problem)
        if problem.has_specificities and not isinstance(solver, ADMM):
            raise ValueError(f"specificity={penalty.specificity} needs solver='admm', got {self.solver!r}")
        return problem

    def _keep(self, problem: Problem, solution: Solution, comparisons: Comparisons) -> None:
        super()._keep(problem, solution, comparisons)
        self.dual_gap_ = solution.dual_gap
        self.ridge_ = problem.ridge
        # The diagonal that predicts, w (g_ii + s_i). A constant on the diagonal changes no margin; it is set such that
        # nothing is taken away from that of G, and gram_ stays in the cone.
        lengths = np.diagonal(solution.gram)
        weighted = problem.margins.diagonal * np.diagonal(with_specificities(solution.gram, solution.specificities))
        self.specificities_ = weighted - lengths - (weighted - lengths).min()
        self.gram_ = with_specificities(solution.gram, self.specificities_)

"""DMOE: distributional margin based ordinal embedding (Ma, Xu, Yang and Cao, AAAI 2019)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from nearer.comparisons import Comparisons
from nearer.embedding.base import OrdinalEmbedding
from nearer.losses import TwoSidedHinge
from nearer.problem import Problem, with_specificities
from nearer.solvers import ADMM, ClosedForm, Paper, Solution, Solver
from nearer.streams import RandomState

_SOLVERS: dict[str, Solver[Any]] = {"admm": ADMM(), "paper": Paper(), "closed": ClosedForm()}


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
        Dimension p of `embedding_`. Predictions use `gram_`, which it does not limit.
    trace : float >= 0, optional
        The paper's lambda: prefers maps of low dimension. Left out: a tenth of the value at which the map vanishes;
        0 for ``solver="closed"``.
    ridge : float >= 0, optional
        kappa: prefers maps whose distances differ little; with it the solution is unique. Left out: 1 divided by the
        total weight; 0 for ``solver="paper"``, which knows none.
    specificity : float > 0, optional
        Penalty on the specificities, one number s_i for each object that is added to its squared distance from every
        other (Winsberg and Carroll 1989). Sensible values are 10 to 100 divided by the number of comparisons.
        Left out: no specificities.
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
    dual_gap_ : float
        Upper bound on how far the objective is from its minimum; NaN for solvers without a certificate.
    specificities_ : ndarray, shape (n_objects_,)
        What each object adds to its squared distances, at least 0; all 0 without `specificity`.
    trace_, ridge_ : float
        The penalties used.

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

    _more_iterations = "raise max_iter or tol: solver=ADMM(max_iter=20_000), or strengthen trace or ridge"

    def __init__(
        self,
        n_components: int = 2,
        *,
        trace: float | None = None,
        ridge: float | None = None,
        specificity: float | None = None,
        nu: float = 1.0,
        power: int = 2,
        solver: str | Solver[Any] = "admm",
        n_objects: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.trace = trace
        self.ridge = ridge
        self.specificity = specificity
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
        solver = self._solver()
        trace, ridge = self.trace, self.ridge
        if trace is None:
            trace = 0.0 if isinstance(solver, ClosedForm) else 0.1 * problem.vanishing_trace
        if ridge is None:
            ridge = 0.0 if isinstance(solver, Paper) else 1.0 / problem.total_weight
        specificity = np.inf if self.specificity is None else self.specificity
        if specificity < np.inf and not isinstance(solver, ADMM):
            raise ValueError(f"specificity={specificity} needs solver='admm', got {self.solver!r}")
        return replace(problem, trace=trace, ridge=ridge, specificity=specificity)

    def _keep(self, problem: Problem, solution: Solution, comparisons: Comparisons) -> None:
        super()._keep(problem, solution, comparisons)
        self.dual_gap_ = solution.dual_gap
        self.trace_, self.ridge_ = problem.trace, problem.ridge
        self.specificities_ = np.zeros(self.n_objects_)
        if solution.specificities is not None:
            # Only differences between specificities change a margin; the smallest becomes 0, so that gram_ stays in
            # the cone.
            self.specificities_ = solution.specificities - solution.specificities.min()
            self.gram_ = with_specificities(solution.gram, self.specificities_)

"""The classical methods: GNMDS, STE and t-STE, over Gram matrices of rank p.

With ``solver="projected"`` these are the GNMDS-p, STE-p and TSTE-p of the paper: gradient descent with line search on
the Gram matrix, projected onto rank p at every step.
"""

from __future__ import annotations

from typing import Any

from nearer.embedding.base import OrdinalEmbedding
from nearer.losses import Hinge, Logistic, Loss, StudentT
from nearer.penalty import Penalty
from nearer.problem import Problem
from nearer.solvers import Projected, Solver
from nearer.streams import RandomState


class _RankLimited(OrdinalEmbedding):
    """A loss, a trace penalty and a rank."""

    trace: float
    solver: str | Solver[Any]

    def _penalized(self, problem: Problem) -> Problem:
        return Penalty(trace=self.trace, ridge=0.0).of(problem)

    def _solver(self) -> Solver[Any]:
        if not isinstance(self.solver, str):
            return self.solver
        if self.solver != "projected":
            raise ValueError(f"solver must be 'projected' or a solver object, got {self.solver!r}")
        return Projected(self.n_components)


class GNMDS(_RankLimited):
    """Generalized non-metric multidimensional scaling (Agarwal et al. 2007).

    Minimizes the hinge max(1 - margin, 0)^power over Gram matrices of rank p.

    Parameters
    ----------
    n_components : int, default 2
        Dimension p of the map.
    trace : float >= 0, default 0
        Penalty on the trace of the Gram matrix, as a share of the value at which the map is a point.
    power : {1, 2}, default 2
        The exponent of the hinge. 1 is the original, whose kinks can hold the descent short of a minimum; 2 is smooth,
        descends further, and predicts better in all but the smallest samples.
    solver : {"projected"} or solver object, default "projected"
    n_objects : int, optional
        The number of objects, if it is more than the comparisons show.
    random_state : int, Generator, SeedSequence or None
        Used by a solver with a random start only.

    Attributes
    ----------
    embedding_, gram_, objects_, n_objects_, n_iter_, converged_, history_, trace_
        As for every estimator: map, Gram matrix, labels, and how the solver got there.

    Examples
    --------
    >>> from nearer.datasets import make_gaussian, sample_triplets
    >>> points = make_gaussian(20, 2, random_state=0)
    >>> GNMDS(n_components=2).fit(sample_triplets(points, 800, random_state=0)).score(sample_triplets(points)) > 0.9
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        trace: float = 0.0,
        power: int = 2,
        solver: str | Solver[Any] = "projected",
        n_objects: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.trace = trace
        self.power = power
        self.solver = solver
        self.n_objects = n_objects
        self.random_state = random_state

    def _loss(self) -> Loss:
        return Hinge(power=self.power)


class STE(_RankLimited):
    """Stochastic triplet embedding (van der Maaten and Weinberger 2012).

    Maximizes the likelihood P(near) = exp(-d2(near)) / (exp(-d2(near)) + exp(-d2(far))): a logistic loss on margins.

    Parameters
    ----------
    n_components : int, default 2
        Dimension p of the map.
    trace : float >= 0, default 0
        Penalty on the trace of the Gram matrix, as a share of the value at which the map is a point.
    solver : {"projected"} or solver object, default "projected"
    n_objects : int, optional
        The number of objects, if it is more than the comparisons show.
    random_state : int, Generator, SeedSequence or None
        Used by a solver with a random start only.

    Attributes
    ----------
    embedding_, gram_, objects_, n_objects_, n_iter_, converged_, history_, trace_
        As for every estimator: map, Gram matrix, labels, and how the solver got there.

    Examples
    --------
    >>> from nearer.datasets import make_gaussian, sample_triplets
    >>> points = make_gaussian(20, 2, random_state=0)
    >>> STE(n_components=2).fit(sample_triplets(points, 800, random_state=0)).score(sample_triplets(points)) > 0.9
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        trace: float = 0.0,
        solver: str | Solver[Any] = "projected",
        n_objects: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.trace = trace
        self.solver = solver
        self.n_objects = n_objects
        self.random_state = random_state

    def _loss(self) -> Loss:
        return Logistic()


class TSTE(_RankLimited):
    """t-distributed stochastic triplet embedding (van der Maaten and Weinberger 2012).

    As STE, with the heavy-tailed kernel (1 + d2 / alpha)^(-(alpha + 1) / 2) in place of the Gaussian one.

    Parameters
    ----------
    n_components : int, default 2
        Dimension p of the map.
    alpha : float > 0, optional
        Degrees of freedom; n_components - 1, at least 1, if left out.
    trace : float >= 0, default 0
        Penalty on the trace of the Gram matrix, as a share of the value at which the map is a point.
    solver : {"projected"} or solver object, default "projected"
    n_objects : int, optional
        The number of objects, if it is more than the comparisons show.
    random_state : int, Generator, SeedSequence or None
        Used by a solver with a random start only.

    Attributes
    ----------
    embedding_, gram_, objects_, n_objects_, n_iter_, converged_, history_, trace_
        As for every estimator: map, Gram matrix, labels, and how the solver got there.

    Examples
    --------
    >>> from nearer.datasets import make_gaussian, sample_triplets
    >>> points = make_gaussian(20, 2, random_state=0)
    >>> TSTE(n_components=2).fit(sample_triplets(points, 800, random_state=0)).score(sample_triplets(points)) > 0.9
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        alpha: float | None = None,
        trace: float = 0.0,
        solver: str | Solver[Any] = "projected",
        n_objects: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.trace = trace
        self.solver = solver
        self.n_objects = n_objects
        self.random_state = random_state

    def _loss(self) -> Loss:
        return StudentT(max(self.n_components - 1.0, 1.0) if self.alpha is None else self.alpha)

"""STE: the likelihood of answers under a logistic model (van der Maaten and Weinberger 2012)."""

from __future__ import annotations

from nearer.common.randomness import RandomState
from nearer.embedding.classical import Classical
from nearer.losses import Logistic, Loss
from nearer.solvers.driver import AnySolver


class STE(Classical):
    """Stochastic triplet embedding (van der Maaten and Weinberger 2012).

    Maximizes the likelihood P(near) = exp(-d2(near)) / (exp(-d2(near)) + exp(-d2(far))): a logistic loss on margins.

    Parameters
    ----------
    n_components : int, default 2
        Dimension p of the map.
    trace : float >= 0, default 0.001
        Penalty on the trace of the Gram matrix, as a share of the value at which the map is a point. A little of it
        keeps noise-free answers from growing the map without bound.
    solver : {"factored", "svrg", "projected"} or solver object, default "factored"
        L-BFGS over points, stochastic descent over points (for comparisons by the million, or in a
        `nearer.ComparisonsFile`), or projected descent over Gram matrices. `Factored(tol=1e-6, n_init=5)`
        and the like, from `nearer.solvers`, set more.
    n_objects : int, optional
        The number of objects, if it is more than the comparisons show.
    random_state : int, Generator, SeedSequence or None
        For random starts, held-out comparisons and the batches of ``solver="svrg"``; the default solver needs none.

    Attributes
    ----------
    embedding_, objects_, n_objects_, n_iter_, converged_, history_, restarts_, solver_, trace_, comparisons_
        As for every estimator: the map, labels, and how the solver got there.

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
        trace: float = 0.001,
        solver: str | AnySolver = "factored",
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

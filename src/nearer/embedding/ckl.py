"""CKL: the likelihood of answers as a ratio of distances (Tamuz et al. 2011)."""

from __future__ import annotations

from nearer.common.randomness import RandomState
from nearer.embedding.classical import Classical
from nearer.losses import CrowdKernel, Loss
from nearer.solvers.driver import AnySolver


class CKL(Classical):
    """Crowd kernel learning (Tamuz, Liu, Belongie, Shamir and Kalai 2011).

    Maximizes the likelihood P(near) = (mu + d2(far)) / (2 mu + d2(near) + d2(far)).

    Parameters
    ----------
    n_components : int, default 2
        Dimension p of the map.
    mu : float > 0, default 1
        The squared distance below which answers become guesses: the unit of the map, which the trace penalty is felt
        in. The smaller it is, the more only the ratio of two distances counts.
    trace : float >= 0, default 0.003
        Penalty on the trace of the Gram matrix, as a share of the value at which the map is a point.
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
    >>> CKL(n_components=2).fit(sample_triplets(points, 800, random_state=0)).score(sample_triplets(points)) > 0.9
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        mu: float = 1.0,
        trace: float = 0.003,
        solver: str | AnySolver = "factored",
        n_objects: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.mu = mu
        self.trace = trace
        self.solver = solver
        self.n_objects = n_objects
        self.random_state = random_state

    def _loss(self) -> Loss:
        return CrowdKernel(self.mu)

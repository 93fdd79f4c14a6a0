"""GNMDS: a margin on squared distances (Agarwal et al. 2007)."""

from __future__ import annotations

from nearer.common.randomness import RandomState
from nearer.embedding.classical import Classical
from nearer.losses import Hinge, Loss
from nearer.solvers.driver import AnySolver


class GNMDS(Classical):
    """Generalized non-metric multidimensional scaling (Agarwal et al. 2007).

    Minimizes the hinge max(1 - margin, 0)^power over maps of p dimensions.

    Parameters
    ----------
    n_components : int, default 2
        Dimension p of the map.
    trace : float >= 0, default 0.001
        Penalty on the trace of the Gram matrix, as a share of the value at which the map is a point. A little of it
        keeps the map away from the edge of what the comparisons allow.
    power : float >= 1, default 2
        The exponent of the hinge. 1 is the original, whose kinks can hold the descent short of a minimum; 2 is smooth,
        descends further, and predicts better in all but the smallest samples.
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
    >>> GNMDS(n_components=2).fit(sample_triplets(points, 800, random_state=0)).score(sample_triplets(points)) > 0.9
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        trace: float = 0.001,
        power: float = 2,
        solver: str | AnySolver = "factored",
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

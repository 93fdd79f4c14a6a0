"""SOE: a margin on distances (Terada and von Luxburg 2014)."""

from __future__ import annotations

from nearer.common.randomness import RandomState
from nearer.embedding.classical import Classical
from nearer.embedding.graph_input import TakesGraphs
from nearer.losses import DistanceHinge, Loss
from nearer.solvers.driver import AnySolver


class SOE(TakesGraphs, Classical):
    """Soft ordinal embedding (Terada and von Luxburg 2014).

    Minimizes max(1 + d(near) - d(far), 0)^2, with distances and not their squares. An unweighted graph is taken as the
    triplets that it stands for, a million of them, drawn evenly, if there are more; `LOE` takes them all.

    Parameters
    ----------
    n_components : int, default 2
        Dimension p of the map.
    trace : float >= 0, default 0.0001
        Penalty on the trace of the Gram matrix. In the unit of GNMDS, the value at which its map is a point: that of
        SOE is never one.
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
    >>> SOE(n_components=2).fit(sample_triplets(points, 800, random_state=0)).score(sample_triplets(points)) > 0.9
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        trace: float = 0.0001,
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
        return DistanceHinge()

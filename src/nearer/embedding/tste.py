"""t-STE: the likelihood of answers with heavy tails (van der Maaten and Weinberger 2012)."""

from __future__ import annotations

from nearer.common.randomness import RandomState
from nearer.embedding.classical import Classical
from nearer.losses import Loss, StudentT
from nearer.solvers.driver import AnySolver


class TSTE(Classical):
    """t-distributed stochastic triplet embedding (van der Maaten and Weinberger 2012).

    As STE, with the heavy-tailed kernel (1 + d2 / alpha)^(-(alpha + 1) / 2) in place of the Gaussian one.

    Parameters
    ----------
    n_components : int, default 2
        Dimension p of the map.
    alpha : float > 0, optional
        Degrees of freedom; n_components - 1, at least 1, if left out.
    trace : float >= 0, default 0.00001
        Penalty on the trace of the Gram matrix, as a share of the value at which the map is a point. Without any, a map
        has no finite size: on a large one only the ratio of two distances counts, and larger ones are always a little
        likelier. The size at which it settles grows with the fourth root of 1 / trace. With noisy answers 0.01 or 0.03
        is often better.
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
    >>> TSTE(n_components=2).fit(sample_triplets(points, 800, random_state=0)).score(sample_triplets(points)) > 0.9
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        alpha: float | None = None,
        trace: float = 0.00001,
        solver: str | AnySolver = "factored",
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

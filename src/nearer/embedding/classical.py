"""The classical methods: a loss, a trace penalty, and a map of p dimensions that is also the predictor."""

from __future__ import annotations

from dataclasses import dataclass, field
from inspect import cleandoc

from nearer._common.arrays import FloatArray
from nearer._common.randomness import stream
from nearer.data.comparisons import Comparisons
from nearer.data.streamed import Judgments
from nearer.embedding.fitting import LossEmbedding, Recipe, check_solver, fit
from nearer.model import CrowdKernel, Hinge, Logistic, Loss, StudentT
from nearer.optimize.problems.points import Penalty
from nearer.optimize.solvers import SVRG, Factored, Projected
from nearer.optimize.solvers.device_lbfgs import for_device
from nearer.optimize.solvers.driver import AnySolver, Callback

_SHARED = """\
solver : {"factored", "svrg", "projected"} or solver object, default "factored"
    L-BFGS over points, stochastic descent over points (for comparisons by the million, or in a
    `nearer.ComparisonsFile`), or projected descent over Gram matrices. `Factored(tol=1e-6, n_init=5)`
    and the like, from `nearer.optimize.solvers`, set more.
n_objects, random_state
    As for every estimator; the default solver draws nothing.
device : str, optional
    Experimental: "cuda", "cuda:1" and so on, "mps" or "cpu" for ``solver="factored"`` by PyTorch; "auto" takes a GPU
    where there is one. Left out: compiled loops on the processor. The map is the same but for rounding.
"""
_SHARED_BY_ALL = """\
Attributes
----------
embedding_, objects_, n_objects_, n_iter_, converged_, history_, restarts_, solver_, trace_, comparisons_
    As for every estimator.

Examples
--------
>>> from nearer.datasets import make_gaussian, sample_triplets
>>> points = make_gaussian(20, 2, random_state=0)
>>> {name}(n_components=2).fit(sample_triplets(points, 800, random_state=0)).score(sample_triplets(points)) > 0.9
True"""


@dataclass(eq=False, repr=False, kw_only=True)
class Classical(LossEmbedding):
    """Base of the classical methods.

    ``solver="factored"`` moves the points themselves, by L-BFGS on compiled loops; ``solver="svrg"`` does so by
    stochastic descent, which reads the comparisons fewer times. ``solver="projected"`` is the descent over Gram
    matrices of rank p that gives the paper's GNMDS-p, STE-p and TSTE-p.
    """

    trace: float = 0.001
    solver: str | AnySolver = "factored"
    device: str | None = None

    def __init_subclass__(cls) -> None:
        """Fill in what the docstrings of methods share."""
        super().__init_subclass__()
        shared = {"{shared}": _SHARED + "\n{end}", "{end}": _SHARED_BY_ALL, "{name}": cls.__name__}
        for name, text in shared.items():
            cls.__doc__ = cleandoc(cls.__doc__ or "").replace(name, text)

    def _fit(self, comparisons: Judgments, callback: Callback | None = None, start: FloatArray | None = None) -> None:
        recipe = self._recipe(isinstance(comparisons, Comparisons))
        with self._warning_of_early_interrupt():
            fitted = fit(comparisons, recipe, stream(self.random_state, "start"), start, callback)
        self._store_fit(fitted, comparisons, recipe.solver, start)
        self._report(fitted)

    def _recipe(self, in_memory: bool = True) -> Recipe:
        named: dict[str, AnySolver] = {
            "factored": Factored(),
            "svrg": SVRG(),
            "projected": Projected(self.n_components),
        }
        check_solver(self.solver, named)
        solver = named[self.solver] if isinstance(self.solver, str) else self.solver
        if self.device is not None:
            solver = for_device(solver, self.device, in_memory=in_memory)
        return Recipe(self._loss(), Penalty(trace=self.trace, ridge=0.0), solver, self.n_components)


@dataclass(eq=False, repr=False, kw_only=True)
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
    {shared}
    """

    power: float = 2

    def _loss(self) -> Loss:
        return Hinge(power=self.power)


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
    {shared}
    """

    def _loss(self) -> Loss:
        return Logistic()


@dataclass(eq=False, repr=False, kw_only=True)
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
        has no finite size; the one at which it settles grows with the fourth root of 1 / trace. With noisy answers 0.01
        or 0.03 is often better.
    {shared}
    """

    alpha: float | None = None
    trace: float = 0.00001

    def _loss(self) -> Loss:
        return StudentT(max(self.n_components - 1.0, 1.0) if self.alpha is None else self.alpha)


@dataclass(eq=False, repr=False, kw_only=True)
class CKL(Classical):
    """Crowd kernel learning (Tamuz, Liu, Belongie, Shamir and Kalai 2011).

    Maximizes the likelihood P(near) = (mu + d2(far)) / (2 mu + d2(near) + d2(far)).

    Parameters
    ----------
    n_components : int, default 2
        Dimension p of the map.
    mu : float > 0, default 1
        The squared distance below which answers become guesses: the unit of the map, in which the trace penalty
        acts. The smaller it is, the more only the ratio of two distances counts.
    trace : float >= 0, default 0.003
        Penalty on the trace of the Gram matrix, as a share of the value at which the map is a point.
    {shared}
    """

    mu: float = 1.0
    trace: float = 0.003

    def _loss(self) -> Loss:
        return CrowdKernel(self.mu)


@dataclass(eq=False, repr=False, kw_only=True)
class FORTE(Classical):
    """Ordinal embedding by projected descent over Gram matrices (Jain, Jamieson and Nowak 2016).

    Minimizes the logistic loss log(1 + exp(-margin)) over positive semidefinite Gram matrices of rank p. Each step
    follows the gradient and keeps the p largest eigenvalues; a line search sets its length. It is the model of `STE`.
    Memory and time grow with n^2 and n^3.

    Parameters
    ----------
    n_components : int, default 2
        Dimension p of the map. With n - 1 of them the problem is convex, and the solution the best there is.
    trace : float >= 0, default 0.001
        Penalty on the trace of the Gram matrix, as a share of the value at which the map is a point. The original has a
        bound on it, or none; noise-free answers then grow the map until the descent stops.
    solver : {"projected", "factored", "svrg"} or solver object, default "projected"
        `Projected(2, tol=1e-8)` and the like, from `nearer.optimize.solvers`, set more. With "factored" it is `STE`.
    n_objects, random_state
        As for every estimator; random_state is for ``Projected(2, start="random")``; the default starts at G = 0.

    {end}
    """

    solver: str | AnySolver = "projected"
    device: str | None = field(default=None, init=False)

    def _loss(self) -> Loss:
        return Logistic()

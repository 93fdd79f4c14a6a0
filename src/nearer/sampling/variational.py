"""A mean-field normal approximation: starts for chains, and a cheap approximation for large data.

It maximizes the evidence lower bound, E[log-density] + entropy, of one independent normal distribution for each
unknown, by Adam (Kingma and Ba 2015) on gradients at two antithetic draws a step. Unlike the density, the bound prefers
modes that hold much of the posterior. Correlations between unknowns are lost: with few comparisons it is overconfident.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.csgraph import minimum_spanning_tree, shortest_path
from scipy.spatial.distance import pdist, squareform

from nearer._common.arrays import FloatArray
from nearer._common.parameters import check_integer
from nearer._common.progress import progress_bar
from nearer.sampling.chains import SamplingResult
from nearer.sampling.model import Model, draws_of

FIRST_RATE = 0.05
_FIRST_DEVIATION = np.exp(-2.0)
_N_AVERAGED_STEPS = 20  # the lower bound of a single step is a noisy estimate
_FLAT_SHARE, _MIN_SIZE, _N_NEIGHBORS = 0.1, 1e-6, 5  # of the flattened start


class MeanField:
    """Means and deviations of all unknowns, optimized from ``start``, (size,); ``step`` is called after each step."""

    def __init__(
        self, model: Model, start: FloatArray, rng: np.random.Generator, step: Callable[[], object] = lambda: None
    ) -> None:
        self.model, self.rng, self.step = model, rng, step
        self.mean = start.copy()
        self.log_deviation = np.full(model.size, np.log(_FIRST_DEVIATION))
        self.bounds: list[float] = []
        self._moments = np.zeros((2, 2, model.size))

    def optimize(self, n_steps: int, first_rate: float, last_rate: float) -> None:
        """Take steps at rates that fall from the first to the last."""
        first, second = self._moments  # views
        for number in range(n_steps):
            noise = np.exp(self.log_deviation) * self.rng.standard_normal(self.model.size)
            (above, up), (below, down) = self.model.density(self.mean + noise), self.model.density(self.mean - noise)
            gradient = np.stack([(up + down) / 2, noise * (up - down) / 2 + 1])
            self.bounds.append(float(above + below) / 2 + float(self.log_deviation.sum()))
            step = len(self.bounds)
            first += 0.1 * (gradient - first)
            second += 0.01 * (gradient**2 - second)
            rate = first_rate * (last_rate / first_rate) ** (number / n_steps)
            moves = rate * first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)
            self.mean += moves[0]
            self.log_deviation += moves[1]
            self.step()

    @property
    def lower_bound(self) -> float:
        """The evidence lower bound, averaged over the last steps."""
        return float(np.mean(self.bounds[-_N_AVERAGED_STEPS:])) if self.bounds else -np.inf

    def draw(self, count: int) -> FloatArray:
        """Return unknowns drawn from the approximation, (count, size)."""
        return self.mean + np.exp(self.log_deviation) * self.rng.standard_normal((count, self.model.size))


def isomap_start(model: Model, unknowns: FloatArray) -> FloatArray:
    """Return unknowns of the map unbent into one dimension less, with hardly any extent along the last axis.

    From a random start, objects on a line that are placed in a plane come to lie on an arc, which explains the answers
    nearly as well, and no small step leads from there to the line. Distances along the arc, from neighbor to neighbor,
    give them new places (isomap; Tenenbaum, de Silva and Langford 2000).
    """
    n, p = model.n_objects, model.n_components
    unbent = _isomap(draws_of(model, unknowns[None]).points[0], p - 1)
    sizes = unbent.std(axis=0) + _MIN_SIZE
    result = unknowns.copy()
    # The map is in the deviations from the directions of features.
    result[model.core_size : model.first_of_people - len(model.feature_numbers(result))] = 0.0
    coordinates = result[: n * p].reshape(n, p)  # views
    coordinates[:, :-1] = unbent / sizes
    coordinates[:, -1] = 0.0
    logs = np.log(np.append(sizes, _FLAT_SHARE * sizes.min()))
    result[n * p : n * p + p] = logs - logs.mean()
    result[n * p + p : n * p + p + n] = 0.0
    model.hyperparameters(result)[0] = 0.0  # an unevenness of 1, with which the unknowns are the logarithms
    return result


def _isomap(points: FloatArray, n_axes: int) -> FloatArray:
    """Return points, (n, n_axes), whose distances are about the geodesic ones of the given points."""
    distances = squareform(pdist(points))
    radius = np.sort(distances, axis=1)[:, min(_N_NEIGHBORS, len(points) - 1)]
    near = distances <= np.maximum(radius[:, None], radius)  # either is a neighbor of the other
    tree = minimum_spanning_tree(distances).toarray() > 0  # connects all
    geodesics = shortest_path(np.where(near | tree | tree.T, distances, 0.0), directed=False)
    squares = geodesics**2
    centered = -0.5 * (squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean())
    values, vectors = eigh(centered, subset_by_index=[len(points) - n_axes, len(points) - 1])
    return vectors[:, ::-1] * np.sqrt(np.maximum(values[::-1], 0.0))


@dataclass(frozen=True)
class Variational:
    """Settings of the approximation.

    Parameters
    ----------
    n_steps : int
        Of the best start.
    n_draws : int
        Drawn from the approximation in the end.
    rate : float
        First learning rate of Adam; it falls to a hundredth of it.
    n_starts, n_start_steps : int
        Random starts, and the steps of each before the best one is chosen: the bound has local maxima.
    """

    n_steps: int = 1000
    n_draws: int = 200
    rate: float = 0.05
    n_starts: int = 8
    n_start_steps: int = 100

    def __post_init__(self) -> None:
        for name, least in (("n_starts", 1), ("n_start_steps", 10), ("n_steps", 10), ("n_draws", 4)):
            check_integer(name, getattr(self, name), least)
        if not 0 < self.rate < 1:
            raise ValueError(f"rate must be between 0 and 1, got {self.rate!r}")


def sample_variational(model: Model, settings: Variational, seed: np.random.SeedSequence) -> SamplingResult:
    """Return draws from the approximation as a single chain; its densities are the lower bound at each step.

    Ctrl-C ends the optimization, and the draws are those of the best approximation so far.
    """
    rng = np.random.default_rng(seed)
    n_steps = settings.n_starts * settings.n_start_steps + settings.n_steps
    fits: list[MeanField] = []
    best: MeanField | None = None
    interrupted = False
    with progress_bar("approximating", n_steps, unit="step") as bar:
        try:
            for _ in range(settings.n_starts):
                fits.append(MeanField(model, model.start(rng), rng, bar.update))
                fits[-1].optimize(settings.n_start_steps, settings.rate, settings.rate)
            best = max(fits, key=attrgetter("lower_bound"))
            best.optimize(settings.n_steps, settings.rate, settings.rate / 100)
        except KeyboardInterrupt:
            interrupted = True
    best = best or max(fits, key=attrgetter("lower_bound"), default=None)
    if best is None or not best.bounds:
        raise KeyboardInterrupt
    n_gradients = 2 * sum(len(fit.bounds) for fit in fits)
    return SamplingResult(best.draw(settings.n_draws)[None], np.array([best.bounds]), n_gradients, 0, interrupted)

"""Where chains begin: the best of several hills of the posterior, with the width of each.

A start climbs the evidence lower bound, E[log-density] + entropy, of one normal distribution for each unknown, by Adam
(Kingma and Ba 2015) on gradients at two draws a step, mirror images of each other. Unlike the density, which is highest
on a spike that explains the noise too, the bound prefers hills that hold much of the posterior.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.csgraph import minimum_spanning_tree, shortest_path
from scipy.spatial.distance import pdist, squareform

from nearer._common.arrays import FloatArray
from nearer.sampling.model import NUMBERS, Model, draws_of

FIRST_RATE = 0.05
_FIRST_DEVIATION = np.exp(-2.0)
_FLAT, _SMALLEST, _NEIGHBOURS = 0.1, 1e-6, 5
_RECENT = 20  # steps, of which each is a guess at the bound


class Climb:
    """Means and deviations of all unknowns on their way up.

    Parameters
    ----------
    model : Model
    start : ndarray, shape (size,)
    rng : numpy Generator
    step : callable
        Called after each step.
    """

    def __init__(
        self, model: Model, start: FloatArray, rng: np.random.Generator, step: Callable[[], object] = lambda: None
    ) -> None:
        self.model, self.rng, self.step = model, rng, step
        self.mean = start.copy()
        self.log_deviation = np.full(model.size, np.log(_FIRST_DEVIATION))
        self.bounds: list[float] = []
        self._moments = np.zeros((2, 2, model.size))

    def go(self, n_steps: int, first_rate: float, last_rate: float) -> None:
        """Take so many steps, at rates that fall from the first to the last."""
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
    def height(self) -> float:
        """The lower bound that was reached."""
        return float(np.mean(self.bounds[-_RECENT:])) if self.bounds else -np.inf

    def draw(self, count: int) -> FloatArray:
        """Return unknowns drawn from the approximation, (count, size)."""
        drawn: FloatArray = self.mean + np.exp(self.log_deviation) * self.rng.standard_normal((count, self.model.size))
        return drawn


def unrolled(model: Model, unknowns: FloatArray) -> FloatArray:
    """Return a map of one dimension less, with hardly any extent along the last axis: on its way up it may have bent.

    Objects on a line, say, that are laid out in a plane: from a random start they come to lie on an arc, which explains
    the answers nearly as well, and no small step leads from there to the line. Distances along the arc, from neighbour
    to neighbour, lay them out again (isomap; Tenenbaum, de Silva and Langford 2000).
    """
    n, p = model.n_objects, model.n_components
    laid_out = _along(draws_of(model, unknowns[None]).points[0], p - 1)
    sizes = laid_out.std(axis=0) + _SMALLEST
    result = unknowns.copy()
    coordinates = result[: n * p].reshape(n, p)  # views
    coordinates[:, :-1] = laid_out / sizes
    coordinates[:, -1] = 0.0
    logs = np.log(np.append(sizes, _FLAT * sizes.min()))
    result[n * p : n * p + p] = logs - logs.mean()
    result[n * p + p : n * p + p + n] = 0.0
    result[-len(NUMBERS)] = 0.0  # an unevenness of 1, by which the logarithms are the unknowns
    return result


def _along(places: FloatArray, n_axes: int) -> FloatArray:
    """Return places, (n, n_axes), whose distances are about those from neighbour to neighbour of the given ones."""
    distances = squareform(pdist(places))
    farthest = np.sort(distances, axis=1)[:, min(_NEIGHBOURS, len(places) - 1)]
    near = distances <= np.maximum(farthest[:, None], farthest)  # to one of the two the other is a neighbour
    tree = minimum_spanning_tree(distances).toarray() > 0  # by which all are connected
    ways = shortest_path(np.where(near | tree | tree.T, distances, 0.0), directed=False)
    squares = ways**2
    centred = -0.5 * (squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean())
    values, vectors = eigh(centred, subset_by_index=[len(places) - n_axes, len(places) - 1])
    laid_out: FloatArray = vectors[:, ::-1] * np.sqrt(np.maximum(values[::-1], 0.0))
    return laid_out

"""Soft ordinal embedding of a graph, with all its triplets and without writing them down.

    minimize over X    (1/m) sum over neighbours j and all other k of each i of max(1 + d(i, j) - d(i, k), 0)^2

plus the trace penalty of every method over points. A value with its gradient costs what the pairs within reach cost.

A graph is easily folded, and no small step unfolds a map. So the descent has one dimension more than is wanted, begins
at a map of the numbers of steps between objects along the graph, and pays more and more for the extra dimension: in it
the sheet can turn over before it is pressed flat. Classical scaling of all numbers of steps takes an n x n matrix; here
some hundred landmarks are scaled, and the others are placed by their steps to these (de Silva and Tenenbaum 2004).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse.csgraph import shortest_path

from nearer._graph import Graph
from nearer.embedding.fitting import Fitted, principal
from nearer.factored import FactoredProblem, PointArray
from nearer.losses import DistanceHinge
from nearer.margins import FloatArray
from nearer.penalty import Penalty
from nearer.solvers import Factored, Outcome, Solution, centred, embedding_from_gram, solve
from nearer.solvers.driver import Callback
from nearer.solvers.restarts import best_of
from nearer.solvers.start import leading_pull
from nearer.streams import stream

if TYPE_CHECKING:
    from nearer.kernels import Rows

_LANDMARKS = 300
_PRESSURES = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28)  # on the extra dimension, for each object and neighbour
_UNFOLDING_STEPS = 200  # at each of them


@dataclass(frozen=True, eq=False)
class GraphTriplets:
    """The triplets of a graph as a source of comparisons, made a block at a time."""

    graph: Graph

    @property
    def n_objects(self) -> int:
        """The number of objects."""
        return self.graph.n_objects

    def __len__(self) -> int:
        return self.graph.n_triplets

    def blocks(self, rng: np.random.Generator | None = None) -> Iterator[Rows]:
        """Return all triplets, some at a time."""
        from nearer.kernels import Rows

        for block in self.graph.blocks():
            yield Rows.of(block)


@dataclass(frozen=True, eq=False)
class GraphProblem(FactoredProblem):
    """The problem over points for all triplets of a graph, none of which is written down.

    Parameters
    ----------
    source : GraphTriplets
    loss : DistanceHinge
    pressure : float
        Weight of the squares of the coordinates from ``flat`` on.
    flat : int
        The number of dimensions that cost nothing more.

    Examples
    --------
    >>> path = GraphTriplets(Graph.from_adjacency([[0, 1, 0], [1, 0, 1], [0, 1, 0]]))
    >>> GraphProblem(path, DistanceHinge()).objective_and_gradient(np.array([[0.0], [1.0], [1.5]]))[0]
    0.125
    """

    source: GraphTriplets
    pressure: float = 0.0
    flat: int = 0

    @property
    def graph(self) -> Graph:
        """The graph."""
        return self.source.graph

    @property
    def mentions(self) -> FloatArray:
        """The number of triplets that mention each object, (n,)."""
        graph = self.graph
        degrees = graph.degrees.astype(np.float64)
        others = graph.n_objects - 1 - degrees
        near = graph.adjacency.T @ others
        far = degrees.sum() - degrees - graph.adjacency.T @ degrees
        total: FloatArray = degrees * others + near + far
        return total

    @property
    def n_groups(self) -> int:
        """One: an anchor is compared with all others."""
        return 1

    @property
    def total_weight(self) -> float:
        """The number of triplets."""
        return float(len(self.source))

    @property
    def others(self) -> float:
        """The number of triplets for each edge, on average."""
        return self.total_weight / len(self.graph.neighbours)

    def objective_and_gradient(self, points: PointArray, trace: float | None = None) -> tuple[float, PointArray]:
        """Return the value to be minimized and its gradient with respect to X, (n, p); at another trace if given."""
        value, gradient = super().objective_and_gradient(points, trace)
        if self.pressure:
            extra = points[:, self.flat :]
            value += self.pressure * float(np.vdot(extra, extra))
            gradient[:, self.flat :] += points.dtype.type(2 * self.pressure) * extra
        return value, gradient

    def loss_and_gradient(self, points: PointArray) -> tuple[float, PointArray]:
        """Return the mean loss alone and its gradient."""
        from nearer.kernels.graph import graph_hinge

        value, gradient = graph_hinge(points, self.graph.starts, self.graph.neighbours, self.n_threads)
        gradient /= points.dtype.type(self.total_weight)
        return value / self.total_weight, gradient

    def pull(self, points: PointArray) -> PointArray:
        """Return A^T c applied to the columns of ``points``, (n, p): the signed Laplacian of the triplets."""
        return self.graph.pull(points) / self.total_weight


def fit_graph_points(
    graph: Graph, penalty: Penalty, solver: Factored, rng: np.random.Generator, callback: Callback | None = None
) -> Fitted:
    """Solve for points of a graph; the map is these points, centred, axes in order of falling variance.

    The tolerance of the solver is meant for each edge: most triplets of a large graph cost nothing at any time, and
    their mean would be small from the beginning.
    """
    problem = GraphProblem(GraphTriplets(graph), DistanceHinge(), n_threads=solver.n_threads)
    if solver.validation:
        raise ValueError("validation holds out comparisons; a graph is fitted whole, pass solver settings without it")
    solver = replace(solver, tol=solver.tol / problem.others)
    solver.check(problem)
    problem = replace(problem, spectrum=leading_pull(problem, solver.rank))
    assert problem.spectrum is not None
    penalized = penalty.over_points(problem, float(problem.spectrum.eigenvalues[0]))
    problem = replace(problem, trace=penalized.trace, ridge=penalized.ridge)
    descents = (_descend(problem, descent, rng, callback) for descent in solver.descents())
    best = best_of(descents, problem, solver.tol)
    assert best.points is not None
    everything = np.ones(graph.n_objects, dtype=bool)
    return Fitted(principal(np.asarray(best.points, np.float64), everything), problem, best, np.inf)


def _descend(problem: GraphProblem, solver: Factored, rng: np.random.Generator, callback: Callback | None) -> Solution:
    """Return where a descent ends; one that starts with the graph begins with an extra dimension."""
    if not isinstance(solver.start, str) or solver.start == "random":
        return solve(problem, solver, rng, callback)
    rank, n_iter = solver.rank, 0
    points = steps_map(problem.graph, rank + 1)
    everything = np.ones(len(points), dtype=bool)
    for pressure in _PRESSURES:
        pressed = replace(problem, pressure=pressure / (problem.n_objects * problem.others), flat=rank)
        unfolding = replace(
            solver, rank=rank + 1, start=scaled(problem, principal(points, everything)), max_iter=_UNFOLDING_STEPS
        )
        solution = solve(pressed, unfolding, rng, callback)
        assert solution.points is not None
        points, n_iter = np.asarray(solution.points, np.float64), n_iter + solution.n_iter
        if solution.outcome is Outcome.INTERRUPTED:
            return replace(solution, points=principal(points, everything)[:, :rank], n_iter=n_iter)
    flat = scaled(problem, principal(points, everything)[:, :rank])
    solution = solve(problem, replace(solver, start=flat), rng, callback)
    return replace(solution, n_iter=n_iter + solution.n_iter)


def steps_map(graph: Graph, n_components: int) -> FloatArray:
    """Return points whose distances are near to the numbers of steps between objects along the graph, (n, p).

    Objects that no path connects are put as far apart as the farthest of the others and one step more.
    """
    n = graph.n_objects
    landmarks = np.sort(stream(0, "start").permutation(n)[:_LANDMARKS])
    steps = shortest_path(graph.adjacency, unweighted=True, directed=False, indices=landmarks)
    reached = np.isfinite(steps)
    steps[~reached] = steps[reached].max() + 1
    squares = steps**2
    among = embedding_from_gram(-centred(squares[:, landmarks]) / 2, n_components)
    sizes = np.sum(among**2, axis=0)
    sizes[sizes <= 1e-12 * sizes[0]] = np.inf
    away = squares - squares[:, landmarks].mean(axis=1, keepdims=True)
    points: FloatArray = -(away.T @ among) / (2 * sizes)
    # A dimension that starts at 0 has no gradient and would stay there, and objects at one place would stay together.
    points += stream(0, "start").normal(scale=0.01 * np.sqrt(np.mean(points**2)), size=points.shape)
    return points


def scaled(problem: GraphProblem, points: FloatArray) -> FloatArray:
    """Return points scaled such that the loss is least, of sizes at which neighbours are 0.1 to 100 apart."""
    first, second = problem.graph.edges.T
    typical = float(np.mean(np.linalg.norm(points[first] - points[second], axis=1)))
    # A grid, not a search: rounding must not decide where the descent begins.
    scales = np.geomspace(0.1, 100, 31) / typical
    best = min(scales, key=lambda scale: problem.loss_and_gradient(scale * points)[0])
    result: FloatArray = best * points
    return result

"""The descent of a graph that begins with one dimension more than is wanted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.sparse.csgraph import shortest_path

from nearer.common.arrays import FloatArray, PointArray
from nearer.common.randomness import stream
from nearer.data.graph import Graph
from nearer.geometry import centred, embedding_from_gram, principal
from nearer.problems.graph import GraphProblem
from nearer.solvers import Factored, Solution, solve
from nearer.solvers.driver import Callback

_LANDMARKS = 300


_PRESSURES = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28)  # on the extra dimension, for each object and neighbour


_UNFOLDING_STEPS = 200  # at each of them


def descend(
    problem: GraphProblem, solver: Factored, rng: np.random.Generator, callback: Callback | None
) -> Solution[PointArray]:
    """Return where a descent ends; one that starts with the graph begins with an extra dimension."""
    if not isinstance(solver.start, str) or solver.start == "random":
        return solve(problem, solver, rng=rng, callback=callback)
    rank, n_iter = problem.rank, 0
    points = steps_map(problem.graph, rank + 1)
    everything = np.ones(len(points), dtype=bool)
    short = replace(solver, max_iter=_UNFOLDING_STEPS)
    for pressure in _PRESSURES:
        pressed = replace(problem, rank=rank + 1, pressure=pressure / (problem.n_objects * problem.others), flat=rank)
        start = scaled(problem, principal(points, everything))
        solution = solve(pressed, short, start, rng=rng, callback=callback)
        points, n_iter = np.asarray(solution.value, np.float64), n_iter + solution.n_iter
        if solution.interrupted:
            return replace(solution, value=principal(points, everything)[:, :rank], n_iter=n_iter)
    flat = scaled(problem, principal(points, everything)[:, :rank])
    solution = solve(problem, solver, flat, rng=rng, callback=callback)
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

"""Local ordinal embedding: soft ordinal embedding of a graph.

The descent of a graph begins with one dimension more than is wanted, in which a folded map has room to unfold.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.sparse.csgraph import shortest_path

from nearer._common.arrays import FloatArray, PointArray
from nearer._common.randomness import RandomState, stream
from nearer.data.comparisons import Comparisons
from nearer.data.conversions import Graph
from nearer.embedding.classical import SOE
from nearer.embedding.fitting import Fitted, Recipe
from nearer.geometry import double_center, embedding_from_gram, to_principal_axes
from nearer.optimize.problems.points import GraphProblem, GraphTriplets, laplacian_spectrum
from nearer.optimize.solvers import Factored, Solution, solve
from nearer.optimize.solvers.descent import agreement_tolerance, best_of_restarts
from nearer.optimize.solvers.driver import AnySolver, Callback, limited_blas

_LANDMARKS = 300
_TIE_BREAK = 1e-6
_PRESSURES = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28)  # on the extra dimension, for each object and neighbour
_UNFOLDING_STEPS = 200  # at each of them


class LOE(SOE):
    """Local ordinal embedding (Terada and von Luxburg 2014): a map of an unweighted graph.

    Minimizes max(1 + d(i, j) - d(i, k), 0)^2 over all neighbours j and all other objects k of each i, so that in the
    map, too, neighbours are nearest. All triplets of the graph count, but only those within reach are looked at.
    Comparisons are taken as well, and then the method is `SOE`.

    Parameters
    ----------
    n_components : int, default 2
        Dimension p of the map.
    trace : float >= 0, default 0
        Penalty on the trace of the Gram matrix, in the unit of GNMDS. The original has none.
    solver : {"factored", "svrg", "projected"} or solver object, default "factored"
        L-BFGS over points, for which a graph is taken whole; its ``tol`` is then meant for each edge. The others take
        comparisons, of a graph at most a million, drawn evenly.
    n_objects : int, optional
        The number of objects, if it is more than the comparisons show.
    random_state : int, Generator, SeedSequence or None
        For random starts and drawn triplets; the default solver needs none.

    Attributes
    ----------
    embedding_, objects_, n_objects_, n_iter_, converged_, history_, restarts_, solver_, trace_, comparisons_
        As for every estimator: the map, labels, and how the solver got there. After a graph with more than a million
        triplets `comparisons_` has a million of them, drawn evenly.

    Examples
    --------
    >>> from nearer.datasets import make_gaussian
    >>> from nearer.data import graph_from_embedding
    >>> graph = graph_from_embedding(make_gaussian(40, 2, random_state=0), 6)
    >>> model = LOE(n_components=2).fit(graph)
    >>> int(graph.multiply(graph_from_embedding(model.embedding_, 6)).sum()) >= 0.95 * 40 * 6
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        trace: float = 0.0,
        solver: str | AnySolver = "factored",
        n_objects: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        super().__init__(n_components, trace=trace, solver=solver, n_objects=n_objects, random_state=random_state)

    def _fit_graph(self, graph: Graph, comparisons: Comparisons, callback: Callback | None) -> None:
        solver = self._solver()
        if self.solver == "factored":
            solver = Factored(tol=1e-5)  # what is left of a fold costs little, and is worth the steps
        if not isinstance(solver, Factored):
            super()._fit_graph(graph, comparisons, callback)
            return
        with self._telling_of_interrupts(), limited_blas("points", graph.n_objects):
            fitted = fit_graph_points(graph, self._recipe(), solver, stream(self.random_state, "start"), callback)
        self._keep_fitted(fitted, comparisons, solver)
        self._report(fitted)


def fit_graph_points(
    graph: Graph, recipe: Recipe, solver: Factored, rng: np.random.Generator, callback: Callback | None = None
) -> Fitted:
    """Solve for points of a graph; the map is these points, centred, axes in order of falling variance.

    The tolerance of the solver is meant for each edge: most triplets of a large graph cost nothing at any time, and
    their mean would be small from the beginning.
    """
    problem = GraphProblem(GraphTriplets(graph), recipe.loss, rank=recipe.rank, n_threads=solver.n_threads)
    if solver.validation:
        raise ValueError("validation holds out comparisons; a graph is fitted whole, pass solver settings without it")
    solver = replace(solver, tol=solver.tol / problem.n_triplets_per_edge)
    solver.check(problem)
    spectrum = laplacian_spectrum(problem, problem.rank)
    problem = replace(problem, spectrum=spectrum)
    penalized = recipe.penalty.over_points(problem, float(spectrum.eigenvalues[0]))
    problem = replace(problem, trace=penalized.trace, ridge=penalized.ridge)
    descents = (descend(problem, descent, rng, callback) for descent in solver.descents())
    best = best_of_restarts(descents, agreement_tolerance(solver.tol) * problem.objective_at_zero)
    everything = np.ones(graph.n_objects, dtype=bool)
    embedding = to_principal_axes(np.asarray(best.value, np.float64), everything)
    return Fitted(embedding, best, problem.trace, problem.ridge, problem.total_weight, np.inf)


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
        pressed = replace(
            problem, rank=rank + 1, pressure=pressure / (problem.n_objects * problem.n_triplets_per_edge), flat=rank
        )
        start = scaled(problem, to_principal_axes(points, everything))
        solution = solve(pressed, short, start, rng=rng, callback=callback)
        points, n_iter = np.asarray(solution.value, np.float64), n_iter + solution.n_iter
        if solution.interrupted:
            return replace(solution, value=to_principal_axes(points, everything)[:, :rank], n_iter=n_iter)
    flat = scaled(problem, to_principal_axes(points, everything)[:, :rank])
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
    # Axes that are equally long, as those of a ring, could be any; which ones must not depend on rounding.
    uneven = 1 + _TIE_BREAK * stream(0, "start").random(2 * (len(landmarks),))
    among = embedding_from_gram(-double_center(squares[:, landmarks] * (uneven + uneven.T)) / 4, n_components)
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

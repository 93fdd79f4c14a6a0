"""Structure preserving embedding: the graph can be read from the map, and no better map exists."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from nearer import Comparisons
from nearer.data import comparisons_from_graph, graph_from_embedding
from nearer.data.conversions import Graph
from nearer.embedding import SPE
from nearer.evaluation import margins
from nearer.optimize import solve
from nearer.optimize.solvers.cutting_planes import (
    BMatching,
    Cuts,
    CuttingPlanes,
    NearestNeighbors,
    StructureProblem,
    project_multipliers,
)


def grid(rows, columns):
    """The planar graph of a board: neighbours share a side."""
    places = np.array(list(itertools.product(range(rows), range(columns))))
    return (np.abs(places[:, None] - places).sum(axis=2) == 1).astype(int)


def ring(n):
    one_way = np.roll(np.eye(n, dtype=int), 1, axis=1)
    return one_way + one_way.T


def all_cuts(adjacency):
    return Cuts.of_triplets(comparisons_from_graph(adjacency).rows)


def optimum_by_clarabel(similarity, cuts, n, margin, slack):
    """Return the optimum of the whole semidefinite program: every constraint, no cutting planes."""
    clarabel = pytest.importorskip("clarabel")
    # Centred matrices are Q H Q^T with Q orthogonal to ones. svec takes the upper triangle of H by columns, entries
    # off the diagonal times sqrt(2).
    basis = np.linalg.qr(np.column_stack([np.ones(n), np.eye(n)[:, 1:]]))[0][:, 1:]
    columns, rows = np.tril_indices(n - 1)
    scale = np.where(rows == columns, 1.0, np.sqrt(2))
    k = len(rows)

    def svec(matrix):
        return (basis.T @ matrix @ basis)[rows, columns] * scale

    sides = [svec(cuts.laplacian(unit, n)) for unit in np.eye(cuts.n_cuts)]
    objective = np.append(-svec(similarity), slack)
    blocks = [
        np.append(svec(np.eye(n)), 0.0)[None],  # tr(G) = n
        np.column_stack([-np.array(sides), -np.ones(len(sides))]),  # cut + xi >= margin
        np.append(np.zeros(k), -1.0)[None],  # xi >= 0
        np.column_stack([-np.eye(k), np.zeros(k)]),  # G >= 0
    ]
    right = np.concatenate([[n], np.full(len(sides), -margin), [0.0], np.zeros(k)])
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(len(sides) + 1), clarabel.PSDTriangleConeT(n - 1)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    empty = sp.csc_matrix((k + 1, k + 1))
    solver = clarabel.DefaultSolver(empty, objective, sp.csc_matrix(np.vstack(blocks)), right, cones, settings)
    return -solver.solve().obj_val


@pytest.mark.parametrize(
    ("adjacency", "slack"),
    [
        (grid(3, 3), 10.0),
        (grid(2, 6), 10.0),
        (ring(8), 10.0),
        (graph_from_embedding(np.random.default_rng(0).random((12, 2)), 3).toarray(), 10.0),
        ((np.random.default_rng(1).random((9, 9)) < 0.3) & ~np.eye(9, dtype=bool), 0.1),  # not all can be met
    ],
    ids=["board", "strip", "ring", "directed", "contradictory"],
)
@pytest.mark.filterwarnings("ignore:of . objects:UserWarning")
def test_the_optimum_is_that_of_a_general_solver_with_all_constraints(adjacency, slack):
    n = len(adjacency)
    problem = StructureProblem(NearestNeighbors(Graph.from_adjacency(adjacency)), 0.01, slack, rank=n)
    solution = solve(problem, CuttingPlanes(tol=1e-4), rng=np.random.default_rng(0))
    best = optimum_by_clarabel(problem.similarity.toarray(), all_cuts(adjacency), n, 0.01, slack)
    objective, gap = solution.history[-1][1:]
    assert objective == pytest.approx(best, abs=3e-3)
    assert objective <= best + 1e-6
    assert objective + gap >= best - 1e-6  # the bound holds
    assert gap < 3e-3
    assert solution.outcome.ok


def test_a_planar_graph_is_embedded_with_all_constraints_met():
    adjacency = grid(5, 5)
    model = SPE(n_components=2).fit_graph(adjacency)
    assert margins(comparisons_from_graph(adjacency), gram=model.gram_).min() > 0
    assert model.converged_
    assert model.shortfall_ <= 0.001
    assert model.dual_gap_ < 0.02
    spectrum = np.linalg.eigvalsh(model.gram_)[::-1]
    assert spectrum[:2].sum() > 0.85 * spectrum.sum()
    assert np.trace(model.gram_) == pytest.approx(25)
    assert model.score(model.comparisons_) == 1.0
    assert model.n_iter_ >= 2


def test_the_map_itself_meets_them_at_its_own_rank():
    adjacency = grid(5, 5)
    model = SPE(n_components=2, rank=2).fit_graph(adjacency)
    assert not hasattr(model, "gram_")
    assert margins(comparisons_from_graph(adjacency), model.embedding_).min() > 0
    convex = SPE(n_components=2).fit_graph(adjacency)
    # What is optimal over all ranks is at least as good.
    assert model.history_[-1].objective <= convex.history_[-1].objective + convex.dual_gap_


@pytest.mark.parametrize("most_for_bound", [600, 30])
def test_many_objects_take_the_low_rank_form(monkeypatch, most_for_bound):
    monkeypatch.setattr("nearer.embedding.graphs.MAX_OBJECTS_FULL_RANK", 30)
    monkeypatch.setattr("nearer.optimize.solvers.cutting_planes.MAX_OBJECTS_FOR_BOUND", most_for_bound)
    adjacency = grid(6, 6)
    model = SPE(random_state=0).fit(sp.csr_array(adjacency))
    assert np.linalg.matrix_rank(model.gram_) <= 10
    assert margins(comparisons_from_graph(adjacency), gram=model.gram_).min() > 0
    assert np.isnan(model.dual_gap_) == (most_for_bound == 30)


def test_the_cuts_of_an_oracle_are_the_worst_ones():
    adjacency = grid(3, 4)
    points = np.random.default_rng(0).normal(size=(12, 2))
    found, shortfall = NearestNeighbors(Graph.from_adjacency(adjacency)).worst(points, 0.01)
    assert shortfall == pytest.approx(0.01 - all_cuts(adjacency).values(points).min())
    assert (found.values(points) < 0.01).all()
    assert found.values(points).min() == pytest.approx(0.01 - shortfall)


def test_a_cut_is_linear_in_the_gram_matrix():
    rng = np.random.default_rng(0)
    cuts = all_cuts(grid(2, 3)).plus(Cuts.of_triplets(np.array([[0, 1, 3, 5]])))
    points, multipliers = rng.normal(size=(6, 3)), rng.random(cuts.n_cuts)
    product = np.vdot(cuts.laplacian(multipliers, 6), points @ points.T)
    assert product == pytest.approx(multipliers @ cuts.values(points))
    differences = cuts.incidence(6) @ points
    np.testing.assert_allclose((differences**2).sum(1), ((points[cuts.first] - points[cuts.second]) ** 2).sum(1))


@pytest.mark.parametrize("slack", [0.5, 2.0, 100.0])
def test_the_projection_of_multipliers_is_the_nearest_point(slack):
    rng = np.random.default_rng(0)
    for _ in range(20):
        multipliers = rng.normal(size=6)
        projected = project_multipliers(multipliers, slack)
        assert projected.min() >= 0
        assert projected.sum() <= slack + 1e-12
        others = rng.dirichlet(np.ones(7), size=200)[:, :6] * slack
        # The angle at a projection onto a convex set is never acute.
        assert ((others - projected) @ (multipliers - projected)).max() < 1e-9


def shortest_matching(points, adjacency):
    """Return the least total squared length of a graph with these degrees, by trying all of them."""
    n = len(points)
    pairs = list(itertools.combinations(range(n), 2))
    lengths = np.array([((points[i] - points[j]) ** 2).sum() for i, j in pairs])
    incidence = np.array([[k in pair for pair in pairs] for k in range(n)]).astype(int)
    best = np.inf
    for chosen in itertools.combinations(range(len(pairs)), adjacency.sum() // 2):
        if (incidence[:, chosen].sum(axis=1) == adjacency.sum(axis=1)).all():
            best = min(best, lengths[list(chosen)].sum())
    return best


def test_the_oracle_of_a_matching_finds_the_shortest_graph():
    adjacency = ring(6)
    points = np.random.default_rng(3).normal(size=(6, 2))
    own = sum(((points[i] - points[j]) ** 2).sum() for i, j in np.argwhere(np.triu(adjacency)))
    cuts, shortfall = BMatching(Graph.from_adjacency(adjacency)).worst(points, 0.0)
    value = float(cuts.values(points)[0])
    assert value == pytest.approx(-shortfall)
    swapped = cuts.weight[cuts.weight > 0].size and 1 / cuts.weight.max()
    # Halves may make the program a little shorter than any graph.
    assert own + value * round(2 * swapped) / 2 <= shortest_matching(points, adjacency) + 1e-9


def test_a_matching_is_the_shortest_graph_on_its_map():
    adjacency = grid(3, 3)
    model = SPE(connectivity="b-matching").fit_graph(adjacency)
    points = np.linalg.eigh(model.gram_)
    points = points[1] * np.sqrt(np.maximum(points[0], 0))
    cuts, shortfall = BMatching(Graph.from_adjacency(adjacency)).worst(points, 0.0)
    assert shortfall <= 0 or cuts.n_cuts == 0
    with pytest.raises(ValueError, match="only one is a neighbor of the other"):
        SPE(connectivity="b-matching").fit_graph(np.triu(adjacency) + np.eye(9, k=-8))
    with pytest.raises(ValueError, match="b-matching"):
        SPE(connectivity="b-matching").fit([[0, 1, 2], [1, 0, 2]])


def test_contradictions_share_the_shortfall():
    rows = [[0, 1, 2], [1, 2, 0], [2, 0, 1]]  # each side of a triangle shorter than the next
    model = SPE(slack=10.0).fit(Comparisons.from_triplets(rows))
    assert model.shortfall_ == pytest.approx(0.01, abs=2e-3)
    np.testing.assert_allclose(model.decision_function(rows), 0, atol=5e-3)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"connectivity": "magic"}, "connectivity"),
        ({"rank": 1}, "rank must be an integer, n_components=2 or more"),
        ({"rank": 2.5}, "rank"),
        ({"margin": -1}, "margin"),
        ({"slack": 0}, "slack"),
        ({"tol": np.nan}, "tol"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        SPE(**settings).fit_graph(ring(6))

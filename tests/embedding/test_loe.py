"""Local ordinal embedding: all triplets of a graph, counted without being written down."""

import numpy as np
import pytest
import scipy.sparse as sp

from nearer.data import comparisons_from_graph, graph_from_embedding
from nearer.data.conversions import Graph
from nearer.embedding import LOE, SOE
from nearer.embedding.graphs import isomap_start
from nearer.evaluation import procrustes_error
from nearer.model import DistanceHinge
from nearer.optimize import Factored
from nearer.optimize.kernels.graph import graph_hinge
from nearer.optimize.problems.points import FactoredProblem, GraphProblem, GraphTriplets
from nearer.optimize.problems.sources import InMemory


def hinge_twin(points, adjacency):
    """The loss and its gradient over all triplets, in plain NumPy."""
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    value, pushes = 0.0, np.zeros_like(distances)
    for i, linked in enumerate(adjacency > 0):
        far = ~linked
        far[i] = False
        missing = np.maximum(1 + distances[i, linked][:, None] - distances[i, far], 0)
        value += (missing**2).sum()
        pushes[i, linked] += 2 * missing.sum(axis=1)
        pushes[i, far] -= 2 * missing.sum(axis=0)
    slopes = (pushes + pushes.T) / np.maximum(distances, 1e-8)
    return value, np.einsum("ij,ijc->ic", slopes, points[:, None] - points)


def recovered(graph, embedding, k):
    return graph.multiply(graph_from_embedding(embedding, k)).sum() / graph.sum()


@pytest.mark.parametrize("size", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_screened_triplets_are_all_triplets(dimension, size):
    rng = np.random.default_rng(dimension)
    adjacency = rng.random((150, 150)) < 0.05  # several blocks, not symmetric
    np.fill_diagonal(adjacency, False)
    adjacency[3], adjacency[4] = False, True  # an object without neighbours and one with nothing else
    adjacency[4, 4] = False
    points = size * rng.normal(size=(150, dimension))
    points[7] = points[8]  # at one place
    graph = Graph.from_adjacency(adjacency)
    value, gradient = graph_hinge(points, graph.starts, graph.neighbors)
    expected, slope = hinge_twin(points, adjacency)
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(gradient, slope, rtol=1e-9, atol=1e-9 * np.abs(slope).max())


@pytest.mark.filterwarnings("ignore:of .. objects:UserWarning")
def test_the_problem_is_the_one_of_all_comparisons():
    rng = np.random.default_rng(0)
    adjacency = np.triu(rng.random((40, 40)) < 0.1, 1)
    adjacency |= adjacency.T
    screened = GraphProblem(GraphTriplets(Graph.from_adjacency(adjacency)), DistanceHinge(), trace=0.02, ridge=0.01)
    full = FactoredProblem(InMemory(comparisons_from_graph(adjacency)), DistanceHinge(), trace=0.02, ridge=0.01)
    points = 2 * rng.normal(size=(40, 2))
    (value, gradient), (expected, slope) = (p.objective_and_gradient(points) for p in (screened, full))
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(gradient, slope, atol=1e-13)
    np.testing.assert_allclose(screened.laplacian_product(points), full.laplacian_product(points), atol=1e-13)
    np.testing.assert_allclose(screened.object_weights, full.object_weights)
    assert screened.total_weight == full.total_weight
    assert sum(len(rows) for rows in screened.source.blocks()) == len(full.source)


def test_any_number_of_threads_gives_the_same_bits_and_float32_nearly_the_same():
    points = np.random.default_rng(0).normal(size=(600, 2))
    graph = Graph.from_adjacency(graph_from_embedding(points, 5))
    one, two = (graph_hinge(points, graph.starts, graph.neighbors, n_threads=k) for k in (1, 2))
    assert one[0] == two[0]
    np.testing.assert_array_equal(one[1], two[1])
    value, gradient = graph_hinge(points.astype(np.float32), graph.starts, graph.neighbors)
    assert gradient.dtype == np.float32
    assert value == pytest.approx(one[0], rel=1e-4)


@pytest.mark.parametrize("seed", range(4))
def test_a_graph_of_points_in_the_plane_is_recovered(seed):
    """The claim of the paper: the graph determines the points up to similarity."""
    points = np.random.default_rng([7, seed]).random((100, 2)) * [1 + seed % 2, 1]
    graph = graph_from_embedding(points, 10)
    model = LOE(n_components=2).fit(graph)
    assert recovered(graph, model.embedding_, 10) >= 0.95
    assert procrustes_error(model.embedding_, points) < 0.05
    assert model.converged_


def test_relabelling_the_graph_and_rotating_the_start_changes_nothing_that_counts():
    points = np.random.default_rng(1).random((60, 2))
    graph = graph_from_embedding(points, 8).toarray()
    order = np.random.default_rng(2).permutation(60)
    model = LOE().fit_graph(graph[np.ix_(order, order)], objects=[f"object {k}" for k in order])
    assert recovered(sp.csr_array(graph[np.ix_(order, order)]), model.embedding_, 8) >= 0.95
    assert model.objects_[0] == f"object {order[0]}"
    near, far = np.flatnonzero(graph[5])[0], np.flatnonzero(graph[5] + np.eye(60)[5] == 0)[0]
    assert model.predict([("object 5", f"object {near}", f"object {far}")])[0] == 1


def test_fit_takes_a_sparse_matrix_and_fit_graph_a_dense_one():
    graph = graph_from_embedding(np.random.default_rng(0).random((40, 2)), 6)
    first, second = LOE().fit(graph), LOE().fit_graph(graph.toarray())
    np.testing.assert_array_equal(first.embedding_, second.embedding_)
    assert first.score(first.comparisons_) == pytest.approx(1, abs=1e-3)
    assert len(first.comparisons_) == 40 * 6 * 33
    assert first.place([[40, 0, 1], [40, 0, 2]]).shape == (1, 2)


def test_soe_takes_the_same_graph():
    graph = graph_from_embedding(np.random.default_rng(0).random((40, 2)), 6)
    model, plain = SOE().fit(graph), SOE().fit(comparisons_from_graph(graph))
    np.testing.assert_array_equal(model.embedding_, plain.embedding_)
    other = LOE(solver="projected", trace=0.01).fit(graph)
    assert other.score(other.comparisons_) > 0.8


def test_large_graphs_keep_a_sample_of_their_triplets(monkeypatch):
    monkeypatch.setattr("nearer.embedding.graphs.MAX_TRIPLETS", 500)
    graph = graph_from_embedding(np.random.default_rng(0).random((40, 2)), 6)
    model = LOE().fit(graph)
    assert len(model.comparisons_) == 500
    assert recovered(graph, model.embedding_, 6) >= 0.95


def test_parts_that_no_edge_connects_lie_apart():
    part = np.roll(np.eye(10, dtype=int), 1, axis=1)
    part = part + part.T
    adjacency = np.block([[part, np.zeros_like(part)], [np.zeros_like(part), part]])
    assert np.isfinite(isomap_start(Graph.from_adjacency(adjacency), 2)).all()
    model = LOE().fit_graph(adjacency)
    assert model.score(model.comparisons_) > 0.99


def test_what_makes_no_sense_is_refused():
    graph = graph_from_embedding(np.random.default_rng(0).random((20, 2)), 3)
    with pytest.raises(ValueError, match="neither answers nor weights"):
        LOE().fit(graph, sample_weight=np.ones(20))
    with pytest.raises(ValueError, match="n_objects=30, but the adjacency matrix has 20"):
        LOE(n_objects=30).fit(graph)
    with pytest.raises(ValueError, match="3 objects are named"):
        LOE().fit_graph(graph, objects=["a", "b", "c"])
    with pytest.raises(ValueError, match="without it"):
        LOE(solver=Factored(validation=0.1)).fit(graph)
    with pytest.raises(ValueError, match="n_components"):
        LOE(n_components=0).fit(graph)

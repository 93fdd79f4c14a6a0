"""Graphs, dissimilarities and comparisons: what goes in comes out, and nothing else."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from nearer.data import comparisons_from_distances, comparisons_from_graph, count_triplets, graph_from_embedding
from nearer.data.conversions import Graph
from nearer.evaluation import comparison_error
from nearer.model import DistanceHinge
from nearer.optimize.problems.points import FactoredProblem
from nearer.optimize.problems.sources import InMemory

pytestmark = pytest.mark.filterwarnings("ignore:of . objects . have no neighbors:UserWarning")
PATH = np.array([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]])


def random_graph(n, seed=0, share=0.3):
    adjacency = np.random.default_rng(seed).random((n, n)) < share
    np.fill_diagonal(adjacency, False)
    return adjacency


def written_out(adjacency):
    n = len(adjacency)
    return {
        (i, j, k)
        for i, j, k in itertools.permutations(range(n), 3)
        if adjacency[i, j] and not adjacency[i, k]
    }  # fmt: skip


def as_set(comparisons):
    rows = [tuple(row) for row in comparisons.rows.tolist()]
    assert len(set(rows)) == len(rows)
    return set(rows)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, sp.coo_matrix, lambda a: sp.csc_array(a.astype(float))])
def test_all_triplets_of_a_directed_graph(make):
    adjacency = random_graph(9)
    expected = written_out(adjacency)
    assert as_set(comparisons_from_graph(make(adjacency))) == expected
    assert count_triplets(make(adjacency)) == len(expected)


def test_a_sample_is_part_of_all_and_even():
    adjacency = random_graph(8, seed=1)
    everything = written_out(adjacency)
    counts = dict.fromkeys(everything, 0)
    size, repeats = len(everything) // 3, 300
    for seed in range(repeats):
        sample = as_set(comparisons_from_graph(adjacency, n_samples=size, random_state=seed))
        assert len(sample) == size
        for row in sample:
            counts[row] += 1
    expected = repeats * size / len(everything)
    # Five standard deviations of a binomial.
    assert np.abs(np.array([*counts.values()]) - expected).max() < 5 * np.sqrt(expected)
    whole = comparisons_from_graph(adjacency, n_samples=len(everything), random_state=0)
    assert as_set(whole) == everything


def test_a_graph_with_more_triplets_than_memory_is_sampled():
    n = 100_000
    ring = sp.coo_array((np.ones(n, int), (np.arange(n), (np.arange(n) + 1) % n)), shape=(n, n))
    assert count_triplets(ring) == n * (n - 2)
    rows = comparisons_from_graph(ring, n_samples=1000, random_state=0).rows
    assert ((rows[:, 1] - rows[:, 0]) % n == 1).all()
    assert ((rows[:, 2] - rows[:, 0]) % n > 1).all()
    with pytest.raises(ValueError, match=r"9999800000 comparisons.*n_samples"):
        comparisons_from_graph(ring)


def test_blocks_of_triplets_join_to_all(monkeypatch):
    adjacency = random_graph(9, seed=2)
    monkeypatch.setattr("nearer.data.conversions.BLOCK_TRIPLETS", 50)
    assert as_set(comparisons_from_graph(adjacency)) == written_out(adjacency)


def test_objects_that_are_no_anchor_are_counted():
    adjacency = np.zeros((5, 5), int)
    adjacency[0, 1:] = 1
    adjacency[1, 0] = 1
    with pytest.warns(UserWarning, match="of 5 objects 3 have no neighbors and 1 have all others"):
        comparisons = comparisons_from_graph(adjacency)
    assert set(comparisons.rows[:, 0]) == {1}
    assert comparisons.n_objects == 5
    with pytest.raises(ValueError, match="has no triplets"):
        comparisons_from_graph(np.ones((4, 4)) - np.eye(4))


@pytest.mark.parametrize(
    ("adjacency", "message"),
    [
        (np.eye(4), "object 0 is a neighbor of itself, and 3 more"),
        (PATH * 0.5, r"holds 0.5 in row 0, column 1, and 5 more"),
        (np.where(PATH, np.nan, 0.0), "holds nan in row 0, column 1"),
        (sp.csr_array(-PATH), "holds -1 in row 0"),
        (PATH[:3], r"square.*\(3, 4\)"),
        (PATH[0], r"n rows and n columns.*\(4,\)"),
        ([["a", "b"], ["c", "d"]], "zeros and ones"),
        ([[0, 1], [1, 0]], "at least 3 rows"),
    ],
)
def test_what_is_no_adjacency_matrix_is_refused(adjacency, message):
    with pytest.raises(ValueError, match=message):
        comparisons_from_graph(adjacency)


@pytest.mark.parametrize("n_samples", [0, -1, 9])
def test_samples_of_impossible_size_are_refused(n_samples):
    with pytest.raises(ValueError, match=f"n_samples={n_samples}.*8 comparisons"):
        comparisons_from_graph(PATH, n_samples=n_samples)


def test_the_pull_is_that_of_all_triplets():
    adjacency = random_graph(12, seed=3)
    points = np.random.default_rng(0).normal(size=(12, 2))
    problem = FactoredProblem(InMemory(comparisons_from_graph(adjacency)), DistanceHinge())
    graph = Graph.from_adjacency(adjacency)
    np.testing.assert_allclose(
        graph.laplacian_product(points) / graph.n_triplets, problem.laplacian_product(points), atol=1e-13
    )


def partial_distances(n, seed=0):
    rng = np.random.default_rng(seed)
    distances = rng.integers(1, 6, size=(n, n)).astype(float)
    distances = np.triu(distances, 1) + np.triu(distances, 1).T
    missing = np.triu(rng.random((n, n)) < 0.3, 1)
    distances[missing | missing.T] = np.nan
    return distances


def test_all_triplets_of_dissimilarities_without_ties_and_unknown_ones():
    distances = partial_distances(8)
    expected = {
        (i, j, k) for i, j, k in itertools.permutations(range(8), 3) if distances[i, j] < distances[i, k]
    }  # a comparison with NaN is false
    assert as_set(comparisons_from_distances(distances)) == expected
    sample = as_set(comparisons_from_distances(distances, n_samples=20, random_state=0))
    assert len(sample) == 20
    assert sample <= expected


def test_all_quadruplets_of_dissimilarities():
    distances = partial_distances(6)
    pairs = list(itertools.combinations(range(6), 2))
    expected = {(*p, *q) for p in pairs for q in pairs if distances[p] < distances[q]}
    assert as_set(comparisons_from_distances(distances, kind="quadruplet")) == expected
    one_side = np.where(np.tril(np.ones((6, 6)), -1), np.nan, distances)
    assert as_set(comparisons_from_distances(one_side, kind="quadruplet")) == expected


def test_only_the_order_of_dissimilarities_counts():
    points = np.random.default_rng(0).normal(size=(10, 2))
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    plain = comparisons_from_distances(distances)
    np.testing.assert_array_equal(comparisons_from_distances(np.exp(distances)).rows, plain.rows)
    assert comparison_error(plain, points) == 0


def test_rows_may_disagree_where_only_rows_are_compared():
    distances = np.array([[0, 1, 2], [5, 0, 4], [1, 3, 0.0]])
    assert as_set(comparisons_from_distances(distances)) == {(0, 1, 2), (1, 2, 0), (2, 0, 1)}
    with pytest.raises(ValueError, match=r"row 0, column 1 holds 1.0 and row 1, column 0 holds 5.0"):
        comparisons_from_distances(distances, kind="quadruplet")


@pytest.mark.parametrize(
    ("distances", "options", "message"),
    [
        (np.ones((3, 4)), {}, r"square.*\(3, 4\)"),
        (np.ones((3, 3)), {}, "no two dissimilarities"),
        (np.full((3, 3), np.nan), {}, "no two dissimilarities"),
        (np.diag([1.0, 2.0], 1) + np.inf, {}, "row 0, column 1 is infinite"),
        (partial_distances(5), {"kind": "pairs"}, "kind must be"),
        (partial_distances(5), {"n_samples": 10**6}, "n_samples=1000000"),
    ],
)
def test_what_are_no_dissimilarities_is_refused(distances, options, message):
    with pytest.raises(ValueError, match=message):
        comparisons_from_distances(distances, **options)


def test_the_graph_of_a_map_holds_on_the_map():
    points = np.random.default_rng(0).normal(size=(30, 3))
    graph = graph_from_embedding(points, 4)
    assert isinstance(graph, sp.csr_array)
    assert (graph.sum(axis=1) == 4).all()
    assert comparison_error(comparisons_from_graph(graph), points) == 0
    symmetric = graph_from_embedding(points, 4, symmetric=True).toarray()
    np.testing.assert_array_equal(symmetric, np.maximum(graph.toarray(), graph.toarray().T))


@pytest.mark.parametrize("n_neighbors", [0, 3, 1.5, True])
def test_impossible_numbers_of_neighbors_are_refused(n_neighbors):
    with pytest.raises(ValueError, match="n_neighbors must be an integer >= 1 and at most 2"):
        graph_from_embedding([[0.0], [1.0], [2.0]], n_neighbors)

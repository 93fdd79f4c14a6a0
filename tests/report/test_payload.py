import numpy as np
import pytest
from helpers.report_sample import random_results
from scipy.spatial.distance import cdist

from nearer.report.page import MAX_MAP_AXES, nearest_neighbors, payload
from nearer.study import StudyResults


def test_neighbors_are_those_of_all_distances():
    points = np.random.default_rng(0).normal(size=(40, 3))
    index, distance = nearest_neighbors(points)
    distances = cdist(points, points)
    np.fill_diagonal(distances, np.inf)
    np.testing.assert_array_equal(index, np.argsort(distances, axis=1)[:, :5])
    np.testing.assert_allclose(distance, np.sort(distances, axis=1)[:, :5])


def test_nobody_is_their_own_neighbor_where_all_are_in_one_place():
    index, distance = nearest_neighbors(np.zeros((20, 2)))
    assert not (index == np.arange(20)[:, None]).any()
    assert (distance == 0).all()


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_objects_have_few_neighbors(n):
    index, _ = nearest_neighbors(np.arange(n, dtype=float)[:, None])
    assert index.shape == (n, n - 1)


def test_payload_keeps_positions_and_covariances_to_their_digits():
    results = random_results(30, 4)
    sent = payload(StudyResults.from_dict(results), {})
    np.testing.assert_allclose(sent["embedding"], results["embedding"], rtol=1e-5)
    upper = np.triu_indices(4)
    np.testing.assert_allclose(sent["covariances"], np.array(results["covariances"])[:, upper[0], upper[1]], rtol=1e-3)


def test_a_map_of_many_dimensions_shows_the_first_of_them():
    results = random_results(30, MAX_MAP_AXES + 3)
    sent = payload(StudyResults.from_dict(results), {})
    shown = np.array(results["embedding"])[:, :MAX_MAP_AXES]
    np.testing.assert_allclose(sent["embedding"], shown, rtol=1e-5)
    upper = np.triu_indices(MAX_MAP_AXES)
    np.testing.assert_allclose(sent["covariances"], np.array(results["covariances"])[:, upper[0], upper[1]], rtol=1e-3)
    assert sent["neighbors"] == nearest_neighbors(np.array(results["embedding"]))[0].tolist()

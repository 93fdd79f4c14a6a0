import numpy as np
import pytest
from helpers.report_sample import color_results, empty_results, random_results
from scipy.spatial.distance import cdist

from nearer.report.results import KEYS, checked, nearest_neighbours, payload
from nearer.report.schema import LATER


def test_neighbours_are_those_of_all_distances():
    points = np.random.default_rng(0).normal(size=(40, 3))
    index, distance = nearest_neighbours(points)
    distances = cdist(points, points)
    np.fill_diagonal(distances, np.inf)
    np.testing.assert_array_equal(index, np.argsort(distances, axis=1)[:, :5])
    np.testing.assert_allclose(distance, np.sort(distances, axis=1)[:, :5])


def test_nobody_is_their_own_neighbour_where_all_are_in_one_place():
    index, distance = nearest_neighbours(np.zeros((20, 2)))
    assert not (index == np.arange(20)[:, None]).any()
    assert (distance == 0).all()


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_objects_have_few_neighbours(n):
    index, _ = nearest_neighbours(np.arange(n, dtype=float)[:, None])
    assert index.shape == (n, n - 1)


def test_payload_keeps_positions_and_covariances_to_their_digits():
    results = random_results(30, 4)
    sent = payload(results, {})
    np.testing.assert_allclose(sent["embedding"], results["embedding"], rtol=1e-5)
    upper = np.triu_indices(4)
    np.testing.assert_allclose(sent["covariances"], np.array(results["covariances"])[:, upper[0], upper[1]], rtol=1e-3)


def test_the_sample_has_every_key():
    assert set(color_results()) == {*KEYS, *LATER} - {"notes", "placed"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": 2}, "format 2, and this version of nearer reads format 1"),
        ({"objects": []}, r"objects must be a list of 1 or more; got \[\]"),
        ({"embedding": [[0.0, 1.0]]}, r"shape \(3, p\); got \(1, 2\)"),
        ({"embedding": [[0.0], [1.0, 2.0], [3.0]]}, "rows of numbers of one length"),
        ({"embedding": [[0.0], [float("nan")], [1.0]]}, "row 1 holds a value that is not a finite number"),
        ({"embedding": [[], [], []]}, "shape"),
        ({"covariances": [[[1.0]]] * 3}, r"covariances must have the shape \(3, 2, 2\)"),
        ({"attributes": {"size": [1, 2]}}, "'size' has 2 values for 3 objects"),
    ],
)
def test_what_is_wrong_is_said(changes, message):
    with pytest.raises(ValueError, match=message):
        checked(empty_results(**changes))


def test_missing_keys_are_named():
    results = empty_results()
    del results["scree"], results["seed"]
    with pytest.raises(ValueError, match="lack scree, seed; write the results again"):
        checked(results)


def test_results_that_are_a_list_are_refused():
    with pytest.raises(ValueError, match="must be a JSON object; got list"):
        checked([])

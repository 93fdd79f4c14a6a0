"""Matrices of distances: what they hold for one map and for a distribution of maps, and how others read them."""

import csv
import io

import numpy as np
import pytest
from helpers.few import few_draws
from scipy.spatial.distance import pdist, squareform

from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import STE, PosteriorEmbedding
from nearer.evaluation.distances import MOST_OBJECTS, distance_matrix, matrix_csv
from nearer.evaluation.uncertainty import Bootstrap
from nearer.study.folder import write_distances

ANSWERS = sample_triplets(make_gaussian(8, 2, random_state=0), 120, random_state=0)


@pytest.fixture(scope="module")
def posterior():
    with pytest.MonkeyPatch.context() as patch:
        few_draws(patch)
        return PosteriorEmbedding(1, max_components=3, random_state=0, n_jobs=1).fit(ANSWERS)


def test_one_map_has_its_own_distances():
    model = STE(2, random_state=0).fit(ANSWERS)
    found = distance_matrix(model)
    np.testing.assert_allclose(found.matrix, squareform(pdist(model.embedding_)))
    assert found.spread is None


def test_the_spread_of_one_map_is_that_of_resampled_maps_as_large_as_the_ellipses():
    model = STE(2, random_state=0).fit(ANSWERS)
    maps = model.embedding_ + 0.1 * np.random.default_rng(1).normal(size=(7, 8, 2))
    places = Bootstrap(model.embedding_, maps, np.zeros((8, 2, 2)), model.objects_, inflation=4.0)
    found = distance_matrix(model, places)
    twin = squareform(2 * np.std([pdist(each) for each in maps], axis=0, ddof=1))
    np.testing.assert_allclose(found.spread, twin)


def test_a_posterior_has_the_mean_and_spread_of_its_draws_in_all_their_dimensions(posterior):
    maps = posterior.sample(len(posterior.draws_), 0)
    assert maps.shape[2] == 3 > posterior.embedding_.shape[1]
    apart = np.array([pdist(each) for each in maps])
    found = distance_matrix(posterior)
    np.testing.assert_allclose(squareform(found.matrix), apart.mean(axis=0))
    np.testing.assert_allclose(squareform(found.spread), apart.std(axis=0, ddof=1))


def test_a_table_has_names_on_both_sides_and_gives_back_the_numbers():
    labels = np.array(["a,b", "=x", "c"])
    matrix = squareform([1 / 3, 2.0, 1e-9])
    header, *rows = csv.reader(io.StringIO(matrix_csv(matrix, labels)))
    assert header == ["object", "a,b", "'=x", "c"]
    assert [row[0] for row in rows] == header[1:]
    np.testing.assert_allclose([[float(cell) for cell in row[1:]] for row in rows], matrix, rtol=1e-5)


def test_files_of_an_earlier_map_go(tmp_path, posterior):
    assert write_distances(posterior, tmp_path) == ["distances.csv", "distances_spread.csv"]
    assert write_distances(STE(2, random_state=0).fit(ANSWERS), tmp_path) == ["distances.csv"]
    assert [path.name for path in tmp_path.iterdir()] == ["distances.csv"]


def test_there_is_no_matrix_of_very_many_objects(tmp_path):
    model = STE(1, random_state=0).fit(ANSWERS)
    model.n_objects_ = MOST_OBJECTS + 1
    assert write_distances(model, tmp_path) == []

"""Estimators as steps of a pipeline: `transform` is the map, and its rows are the objects."""

import numpy as np
import pytest
from helpers.estimators import quicker
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from nearer import Comparisons
from nearer.data import ComparisonsFile, graph_from_embedding
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import LOE, MVTE, SOE, STE, NonmetricMDS
from nearer.embedding.storage import load_model, save_model

pytestmark = [
    pytest.mark.filterwarnings("ignore:PosteriorEmbedding:sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.usefixtures("one_start"),
]
N = 12
POINTS = make_gaussian(N, 2, random_state=4) + 3.0 * (np.arange(N)[:, None] % 3 == [1, 2])  # three clusters
TRIPLETS = sample_triplets(POINTS, 300, random_state=4)
NAMES = "DMOE GNMDS SOE STE TSTE CKL Posterior BestOf LOE LORE FORTE SPE MVTE NonmetricMDS"


@pytest.fixture(params=NAMES.split())
def estimator(request):
    return quicker(request.param)


def test_a_pipeline_labels_the_objects(estimator):
    pipeline = make_pipeline(estimator, KMeans(3, n_init=5, random_state=0))
    assert not hasattr(pipeline[0], "n_features_in_")
    labels = pipeline.fit(TRIPLETS.rows).predict(TRIPLETS.rows)
    assert labels.shape == (N,)
    np.testing.assert_array_equal(labels, labels[np.arange(N) % 3])  # the clusters are those of the truth
    assert len(set(labels)) == 3
    np.testing.assert_array_equal(clone(pipeline).fit_predict(TRIPLETS.rows), labels)
    assert pipeline.n_features_in_ == 3


def test_transform_is_the_map_whatever_comparisons_are_passed(estimator):
    with pytest.raises(NotFittedError):
        estimator.transform(TRIPLETS)
    fitted = estimator.fit_transform(TRIPLETS)
    np.testing.assert_array_equal(fitted, estimator.embedding_)
    for passed in (TRIPLETS, TRIPLETS.rows[:1], TRIPLETS.quadruplets, None):
        np.testing.assert_array_equal(estimator.transform(passed), fitted)
    with pytest.raises(ValueError, match=f"{N}"):
        estimator.transform([[0, 1, N]])
    with pytest.raises(ValueError, match="column"):
        estimator.transform(np.zeros((4, 7)))


def test_the_numbers_and_names_of_columns(estimator):
    model = estimator.fit(TRIPLETS)
    assert model.n_features_in_ == 3
    names = model.get_feature_names_out()
    assert list(names) == [f"{type(model).__name__.lower()}{axis}" for axis in range(2)]
    again = clone(estimator).fit(TRIPLETS.quadruplets)
    assert again.n_features_in_ == 4


def test_a_data_frame_of_the_map_has_the_objects_as_its_index():
    pandas = pytest.importorskip("pandas")
    labels = np.array([f"object {i:02d}" for i in range(N)])
    frame = pandas.DataFrame(labels[TRIPLETS.rows], columns=["anchor", "near", "far"])
    model = STE().set_output(transform="pandas")
    for output in (model.fit_transform(frame), model.transform(frame)):
        assert list(output.index) == list(labels)
        assert list(output.columns) == ["ste0", "ste1"]
        np.testing.assert_array_equal(output.to_numpy(), model.embedding_)
    pipeline = make_pipeline(STE(), KMeans(3, n_init=5, random_state=0)).set_output(transform="pandas")
    assert len(pipeline.fit(frame).predict(frame)) == N


def test_a_stored_model_transforms(tmp_path):
    model = SOE().fit(TRIPLETS)
    again = load_model(save_model(model, tmp_path))
    np.testing.assert_array_equal(again.transform(TRIPLETS), model.embedding_)
    assert again.n_features_in_ == 3
    assert again.restarts_ == model.restarts_


@pytest.mark.parametrize("method", [LOE(), SOE()], ids=["LOE", "SOE"])
def test_a_graph_has_as_many_columns_as_objects(method):
    graph = graph_from_embedding(POINTS, 4)
    fitted = method.fit_transform(graph)
    assert method.n_features_in_ == N
    np.testing.assert_array_equal(method.transform(graph), fitted)
    with pytest.raises(ValueError, match="11, 11"):
        method.transform(graph[:-1, :-1])
    assert method.fit(TRIPLETS).n_features_in_ == 3


def test_dissimilarities_have_as_many_columns_as_objects():
    distances = np.linalg.norm(POINTS[:, None] - POINTS, axis=2)
    model = NonmetricMDS(n_init=1).fit_dissimilarities(distances)
    assert model.n_features_in_ == N
    np.testing.assert_array_equal(model.transform(TRIPLETS), model.embedding_)


def test_several_views_give_the_first():
    model = MVTE(n_views=2, alpha=3.0, n_init=2).fit(TRIPLETS)
    np.testing.assert_array_equal(model.transform(), model.views_[0])


def test_a_file_of_comparisons(tmp_path):
    np.save(tmp_path / "rows.npy", TRIPLETS.rows)
    file = ComparisonsFile(tmp_path / "rows.npy")
    model = STE()
    fitted = model.fit_transform(file)
    assert model.n_features_in_ == 3
    np.testing.assert_array_equal(model.transform(file), fitted)
    small = STE().fit(Comparisons.from_triplets([[0, 1, 2], [2, 1, 0]]))
    with pytest.raises(ValueError, match="12 objects"):
        small.transform(file)

"""n points lie in n - 1 dimensions, whatever they are: more are refused at once, by every estimator."""

import numpy as np
import pytest
from helpers.estimators import ESTIMATORS
from sklearn.base import clone

from nearer.data import ComparisonsFile
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import LOE, SPE, STE, NonmetricMDS

ANSWERS = sample_triplets(make_gaussian(10, 2, random_state=0), 40, random_state=0)
SENTENCE = "is too many for 10 objects, which fill 9 dimensions at most; choose n_components=9 or fewer"
RING = np.roll(np.eye(10), 1, axis=1) + np.roll(np.eye(10), -1, axis=1)


@pytest.mark.parametrize("n_components", [10, 5000])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_more_dimensions_than_objects_can_fill_are_refused(name, n_components):
    model = clone(ESTIMATORS[name]).set_params(n_components=n_components)
    if "rank" in model.get_params() and name == "SPE":
        model.set_params(rank=None)
    with pytest.raises(ValueError, match=SENTENCE):
        model.fit(ANSWERS)
    assert not hasattr(model, "embedding_")


def test_as_many_as_they_can_fill_are_fitted():
    assert STE(9, random_state=0).fit(ANSWERS).embedding_.shape == (10, 9)
    assert STE(15, n_objects=16, random_state=0).fit(ANSWERS).embedding_.shape == (16, 15)


def test_every_way_to_fit_has_the_rule(tmp_path):
    with pytest.raises(ValueError, match=SENTENCE):
        NonmetricMDS(10).fit_dissimilarities(1 - RING - np.eye(10))
    for model in (LOE(10), SPE(10)):
        with pytest.raises(ValueError, match=SENTENCE):
            model.fit_graph(RING)
    np.save(tmp_path / "rows.npy", ANSWERS.rows)
    with pytest.raises(ValueError, match=SENTENCE):
        STE(10, solver="svrg").fit(ComparisonsFile(tmp_path / "rows.npy"))
    model = STE(2, random_state=0).fit(ANSWERS)
    with pytest.raises(ValueError, match=SENTENCE):
        model.set_params(n_components=10).partial_fit(ANSWERS.rows[:3])

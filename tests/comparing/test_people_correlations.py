"""Correlations of a model's distances with the maps of people."""

import numpy as np
import pytest
from helpers.people import planted_weights
from scipy.spatial.distance import pdist, squareform

from nearer.comparing import correlate_people
from nearer.embedding import PosteriorEmbedding
from nearer.sampling import Microcanonical

QUICK = Microcanonical(n_chains=2, n_warmup=400, n_steps=1200, n_starts=2, n_climb=50)


@pytest.fixture(scope="module")
def planted():
    steps = np.where(np.arange(8) % 2 == 0, 1.5, -1.5)
    return planted_weights(np.column_stack([steps, -steps]), 120, n_objects=10)


@pytest.fixture(scope="module")
def model(planted):
    settings = {"max_components": 3, "solver": QUICK, "random_state": 0}
    return PosteriorEmbedding(2, people="maps", **settings).fit(planted.comparisons)


def test_a_model_of_one_axis_explains_those_who_go_by_it(model, planted):
    by_first = squareform(pdist(planted.points[:, :1]))
    found = correlate_people(model, by_first)
    goes_by_first = np.array([int(name[1:]) % 2 == 0 for name in found.people])
    assert found.correlations[goes_by_first].min() > found.correlations[~goes_by_first].max() + 0.2
    assert ((found.lows < found.correlations) & (found.correlations < found.highs)).all()
    assert found.low < found.mean < found.high
    assert found.mean == pytest.approx(found.correlations.mean())
    assert str(found).startswith("Spearman")


def test_pairs_that_a_model_does_not_predict_are_left_out(model, planted):
    whole = squareform(pdist(planted.points))
    part = whole.copy()
    part[0, 1:] = part[1:, 0] = np.nan
    some = correlate_people(model, part)
    whole[0, 1:] = whole[1:, 0] = 1000.0  # as if one object were far from all
    other = correlate_people(model, whole)
    assert some.mean > 0.7
    assert other.mean < some.mean


def test_matrices_without_differences_are_refused(model):
    n = len(model.objects_)
    for matrix in (np.ones((n, n)) - np.eye(n), np.where(np.eye(n), 0.0, np.nan)):
        with pytest.raises(ValueError, match="no two distances that differ"):
            correlate_people(model, matrix)


@pytest.mark.parametrize(("matrix", "message"), [(np.zeros((4, 4)), "about 4 objects"), (np.zeros((4, 3)), "square")])
def test_matrices_of_others_are_refused(model, matrix, message):
    with pytest.raises(ValueError, match=message):
        correlate_people(model, matrix)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_one_map_for_all_is_refused(planted):
    model = PosteriorEmbedding(2, max_components=2, solver=QUICK, random_state=0)
    model.fit(planted.comparisons)
    with pytest.raises(ValueError, match="all people share one map"):
        correlate_people(model, squareform(pdist(planted.points)))

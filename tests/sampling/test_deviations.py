"""Objects that lie elsewhere than their features suggest."""

from dataclasses import replace

import numpy as np
import pytest

from nearer import Comparisons
from nearer.data.features import Features
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import PosteriorEmbedding
from nearer.sampling.deviations import leave_one_out_deviations, leave_one_out_distances
from nearer.sampling.features import FeatureKernel, feature_basis
from nearer.sampling.model import model_of

N = 12


@pytest.fixture(scope="module")
def model():
    """Of one axis, with features of all objects and of nine of them."""
    rng = np.random.default_rng(0)
    sets = Features(rng.normal(size=(N, 4)), name="sounds"), Features(rng.normal(size=(9, 30)), range(9), name="images")
    rows = rng.permuted(np.tile(np.arange(N), (60, 1)), axis=1)[:, :3]
    comparisons = Comparisons.from_triplets(rows)
    basis = feature_basis([FeatureKernel.of(each, np.arange(N)) for each in sets], comparisons.objects)
    return model_of(comparisons, 1, features=basis)[0]


def covariance(model, unknowns):
    """The prior covariance of the coordinates, from what each unknown adds to them."""
    columns = []
    for number in [*range(N), *range(model.core_size, model.size - 2 * model.features.n_sets)]:
        alone = unknowns.copy()
        alone[:N] = 0
        alone[model.core_size : model.size - 2 * model.features.n_sets] = 0
        alone[number] = 1
        columns.append(model.mixed(alone)[:N])
    return np.transpose(columns) @ columns


def test_residuals_are_those_of_a_prediction_from_all_other_objects(model):
    unknowns = np.random.default_rng(1).normal(size=model.size)
    kernel, places = covariance(model, unknowns), model.mixed(unknowns)[:N]
    found = leave_one_out_distances(model, unknowns)
    for i in range(N):
        others = np.delete(np.arange(N), i)
        predicted = np.linalg.solve(kernel[np.ix_(others, others)], kernel[others, i]) @ places[others]
        expected = abs(places[i] - predicted) / np.sqrt(2 * places.var())
        assert found[i] == pytest.approx(expected, rel=1e-8)


def test_an_object_that_people_see_otherwise_comes_first():
    points = make_gaussian(25, 2, random_state=0)
    features = points @ np.random.default_rng(1).normal(size=(2, 30))
    features += 0.2 * np.random.default_rng(2).normal(size=features.shape)
    seen = points.copy()
    seen[7] = -1.5 * points[7]
    answers = sample_triplets(seen, 500, flipped=0.1, random_state=3)
    model = PosteriorEmbedding(2, features=features, random_state=0).fit(answers)
    first, second, *_ = model.feature_deviations()
    assert first.object == 7
    assert second.low < first.low < first.distance < first.high
    assert first.distance > 2 * second.distance


def test_only_objects_with_features_deviate(model):
    described = model.features._replace(described=np.vstack([model.features.described[:-2], np.zeros((2, 2))]))
    without = replace(model, features=described)
    unknowns = np.random.default_rng(3).normal(size=(2, model.size))
    found = leave_one_out_deviations(without, unknowns, np.arange(N))
    assert {each.object for each in found} == set(range(N - 2))


def test_a_map_without_features_says_so():
    model = PosteriorEmbedding(2, solver="fast", random_state=0).fit(sample_triplets(make_gaussian(8, 2), 60))
    with pytest.raises(ValueError, match="without features"):
        model.feature_deviations()

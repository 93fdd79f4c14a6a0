"""Maps turned together with all that has their axes: what estimators predict stays, and so do they on disk."""

import numpy as np
import pytest
from helpers.estimators import quicker
from scipy.stats import ortho_group

from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import MLDS
from nearer.embedding.storage import load_model, save_model

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
POINTS = make_gaussian(10, 2, random_state=1)
TRIPLETS = sample_triplets(POINTS, 150, random_state=1)
TEST = sample_triplets(POINTS)
TURN = ortho_group.rvs(2, random_state=0)


def pairwise(draws):
    return np.square(draws[:, :, None] - draws[:, None]).sum(axis=3)


@pytest.mark.parametrize("name", ["DMOE-fixed", "STE", "MVTE", "BestOf", "NonmetricMDS", "Posterior"])
def test_a_turned_copy_predicts_the_same_and_can_be_kept(name, tmp_path):
    model = quicker(name).fit(TRIPLETS)
    before = model.embedding_.copy()
    turned = model.rotated(TURN)
    np.testing.assert_array_equal(model.embedding_, before)
    np.testing.assert_allclose(turned.embedding_, before @ TURN, atol=1e-12)
    again = load_model(save_model(turned, tmp_path))
    np.testing.assert_array_equal(again.embedding_, turned.embedding_)
    np.testing.assert_allclose(again.predict_proba(TEST), model.predict_proba(TEST), atol=1e-9)
    back = turned.rotated(TURN.T)
    np.testing.assert_allclose(back.embedding_, before, atol=1e-12)
    new = [[0, 10, 1], [1, 10, 2], [2, 0, 10], [10, 3, 4]]
    placed = turned.place(new)  # the old objects stay where they were turned to
    np.testing.assert_array_equal(turned.embedding_[:10], again.embedding_)
    assert placed.shape == (1, 2)


def test_covariances_of_a_posterior_are_turned_along():
    model = quicker("Posterior").fit(TRIPLETS)
    turned = model.rotated(TURN)
    before, after = model.sample(30, 0), turned.sample(30, 0)
    assert before.shape[2] > 2  # draws have dimensions that the map does not show, and keep them
    np.testing.assert_allclose(after[:, :, :2], before[:, :, :2] @ TURN, atol=1e-8)
    np.testing.assert_allclose(pairwise(after), pairwise(before), atol=1e-8)
    for old, new in zip(model.covariances_, turned.covariances_, strict=True):
        np.testing.assert_allclose(new, TURN.T @ old @ TURN, atol=1e-12)
    np.testing.assert_allclose(turned.embedding_std_[:, 0] ** 2, turned.covariances_[:, 0, 0])
    np.testing.assert_allclose(  # an ellipse keeps its axes, and its angle turns
        turned.ellipses()[:, 2:4], model.ellipses()[:, 2:4], atol=1e-9
    )


@pytest.mark.parametrize("axes", [2 * TURN, np.eye(3), np.ones((2, 2))])
def test_what_is_no_rotation_is_refused(axes):
    model = quicker("STE").fit(TRIPLETS)
    with pytest.raises(ValueError, match=r"axes must be an orthogonal matrix of shape \(2, 2\)"):
        model.rotated(axes)


def test_a_scale_that_has_a_direction_keeps_it():
    rng = np.random.default_rng(0)
    triads = np.sort([rng.choice(6, 3, replace=False) for _ in range(100)], axis=1)[:, [1, 0, 2]]
    model = MLDS().fit(triads, rng.random(100) < 0.5)
    np.testing.assert_array_equal(model.rotated([[1.0]]).embedding_, model.embedding_)
    with pytest.raises(ValueError, match="runs along its order"):
        model.rotated([[-1.0]])

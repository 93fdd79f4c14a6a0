import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import DMOE
from nearer.metrics import comparison_error
from nearer.solvers import ADMM, Paper

POINTS = make_gaussian(30, 3, random_state=0)
TRAIN = sample_triplets(POINTS, 500, random_state=0)
TEST = sample_triplets(POINTS)


def test_defaults_are_certified():
    model = DMOE().fit(TRAIN)
    assert 0 <= model.dual_gap_ <= 1e-4 * model.history_[-1].objective
    assert model.trace_ == pytest.approx(0.1 * model.vanishing_trace(TRAIN))
    assert model.ridge_ == pytest.approx(1 / 500)


def test_gram_is_positive_semidefinite_also_with_specificities():
    for specificity in (None, 0.02):
        model = DMOE(specificity=specificity).fit(TRAIN)
        assert np.linalg.eigvalsh(model.gram_).min() > -1e-10
        assert model.specificities_.min() == 0
    assert model.specificities_.max() > 0


def test_specificities_are_squared_distances_that_predictions_use():
    model = DMOE(30, specificity=0.02).fit(TRAIN)
    points = np.hstack([model.embedding_, np.diag(np.sqrt(model.specificities_))])
    np.testing.assert_allclose(points @ points.T, model.gram_, atol=1e-10)
    assert comparison_error(TEST, points) == pytest.approx(1 - model.score(TEST))


def test_weak_specificities_are_none():
    plain, weak = DMOE().fit(TRAIN), DMOE(specificity=1e6).fit(TRAIN)
    np.testing.assert_allclose(weak.gram_, plain.gram_, atol=1e-3)


def test_the_solution_does_not_depend_on_the_solver():
    settings = {"trace": 0.01, "ridge": 0.0, "nu": 0.5}
    paper = DMOE(solver=Paper(growth=1.01, tol=1e-6, max_iter=5000), **settings).fit(TRAIN)
    admm = DMOE(solver=ADMM(tol=1e-7), **settings).fit(TRAIN)
    assert paper.history_[-1].objective == pytest.approx(admm.history_[-1].objective, rel=1e-3)
    assert abs(paper.score(TEST) - admm.score(TEST)) < 0.01


def test_the_seed_of_a_random_start_is_not_the_seed_of_the_data():
    """random_state=0 on both sides must not hand the true points to the start."""
    start = DMOE(solver=Paper(start="random", max_iter=1), random_state=0, ridge=0.0, trace=1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = start.fit(TRAIN[:1])
    truth = (POINTS @ POINTS.T)[np.triu_indices(30, 1)]
    assert abs(np.corrcoef(model.gram_[np.triu_indices(30, 1)], truth)[0, 1]) < 4 / np.sqrt(30)


def test_unseen_objects_stay_at_the_origin_and_tie():
    model = DMOE(n_objects=33).fit(TRAIN)
    np.testing.assert_allclose(model.embedding_[30:], 0, atol=1e-6)
    assert model.decision_function([[0, 31, 32]])[0] == pytest.approx(0, abs=1e-10)


def test_running_out_of_iterations_warns_and_leaves_a_result():
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = DMOE(solver=ADMM(tol=1e-12, max_iter=10)).fit(TRAIN)
    assert not model.converged_
    assert model.score(TEST) > 0.7


def test_a_normal_fit_is_silent():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DMOE().fit(TRAIN)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"trace": -1.0}, "trace"),
        ({"ridge": -1.0}, "ridge"),
        ({"trace": 0.0, "ridge": 0.0}, "above 0"),
        ({"specificity": -1.0}, "specificity"),
        ({"specificity": 0.1, "solver": "paper"}, "admm"),
        ({"nu": -0.5}, "nu"),
        ({"power": 3}, "power"),
        ({"solver": "paper", "ridge": 0.1}, "ridge=0"),
        ({"solver": "closed", "nu": 0.5}, "nu=1"),
        ({"trace": float("nan")}, "trace"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        DMOE(**settings).fit(TRAIN)

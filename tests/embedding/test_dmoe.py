import warnings

import numpy as np
import pytest
from helpers.drawn_rows import kernel
from sklearn.exceptions import ConvergenceWarning

from nearer import Penalty
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import DMOE
from nearer.evaluation import comparison_error
from nearer.geometry import double_center, embedding_from_gram
from nearer.optimize import ADMM, Paper
from nearer.optimize.problems.margins import squared_distances

POINTS = make_gaussian(30, 3, random_state=0)
TRAIN = sample_triplets(POINTS, 500, random_state=0)
TEST = sample_triplets(POINTS)
EXTENDED = [
    Penalty(specificity=10),
    Penalty(diagonal=0.3),
    Penalty(diagonal=1.7),
    Penalty(diagonal=0.0, specificity=10),
]


def test_convex_fits_are_certified():
    model = DMOE(penalty=Penalty()).fit(TRAIN)
    assert 0 <= model.dual_gap_ <= 1e-4 * model.history_[-1].objective
    assert model.ridge_ == pytest.approx(1 / 500)


def test_penalties_are_in_their_units():
    """trace = 1 is where the map vanishes: the largest eigenvalue of the pull at G = 0."""
    pull = sum(2 / 500 * kernel(row, 30) for row in TRAIN.quadruplets)
    assert DMOE(penalty=Penalty()).fit(TRAIN).trace_ == pytest.approx(0.1 * np.linalg.eigvalsh(pull).max())


@pytest.mark.parametrize("penalty", EXTENDED, ids=str)
def test_gram_is_positive_semidefinite_whatever_the_diagonal(penalty):
    model = DMOE(penalty=penalty).fit(TRAIN)
    assert np.linalg.eigvalsh(model.gram_).min() > -1e-10
    assert model.specificities_.min() == 0
    assert model.specificities_.max() > 0


def test_the_default_of_a_penalty_is_the_papers_distance():
    assert not DMOE(penalty=Penalty()).fit(TRAIN).specificities_.any()


@pytest.mark.parametrize("penalty", EXTENDED, ids=str)
def test_specificities_are_squared_distances_that_predictions_use(penalty):
    model = DMOE(29, penalty=penalty).fit(TRAIN)
    without = double_center(model.gram_ - np.diag(model.specificities_))
    points = np.hstack([embedding_from_gram(without, 30), np.diag(np.sqrt(model.specificities_))])
    np.testing.assert_allclose(squared_distances(points @ points.T), squared_distances(model.gram_), atol=1e-10)
    assert comparison_error(TEST, points) == pytest.approx(1 - model.score(TEST))


def test_weak_specificities_are_none():
    plain, weak = DMOE(penalty=Penalty()).fit(TRAIN), DMOE(penalty=Penalty(specificity=1e9)).fit(TRAIN)
    np.testing.assert_allclose(weak.gram_, plain.gram_, atol=1e-3)


def test_the_solution_does_not_depend_on_the_solver():
    settings = {"penalty": Penalty(trace=0.05, ridge=0.0), "nu": 0.5}
    paper = DMOE(solver=Paper(growth=1.01, tol=1e-6, max_iter=5000), **settings).fit(TRAIN)
    admm = DMOE(solver=ADMM(tol=1e-7), **settings).fit(TRAIN)
    assert paper.history_[-1].objective == pytest.approx(admm.history_[-1].objective, rel=1e-3)
    assert abs(paper.score(TEST) - admm.score(TEST)) < 0.01


def test_the_seed_of_a_random_start_is_not_the_seed_of_the_data():
    """random_state=0 on both sides must not hand the true points to the start."""
    assert TRAIN.summary().n_unseen == 0
    drawn = []

    class Spy(Paper):
        def init(self, problem, start, rng):
            drawn.append(super().init(problem, start, rng).gram)
            return super().init(problem, start, rng)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        DMOE(solver=Spy(start="random", max_iter=1), random_state=0, penalty=Penalty(ridge=0.0)).fit(TRAIN)
    upper = np.triu_indices(30, 1)
    truth = POINTS @ POINTS.T
    assert drawn[0][upper].std() > 0
    assert abs(np.corrcoef(drawn[0][upper], truth[upper])[0, 1]) < 4 / np.sqrt(30)


@pytest.mark.parametrize("penalty", [Penalty(ridge=1e5), Penalty(trace=0.97)], ids=str)
def test_strong_penalties_still_give_a_map(penalty):
    """Where little is gained over G = 0, a gap that is small beside the objective proves nothing."""
    model = DMOE(penalty=penalty).fit(TRAIN)
    tight = DMOE(penalty=penalty, solver=ADMM(tol=1e-10)).fit(TRAIN)
    assert model.score(TEST) > 0.55
    assert model.score(TEST) == pytest.approx(tight.score(TEST), abs=0.02)


@pytest.mark.parametrize("rows", [[[0, 1, 2], [0, 2, 1]], [[0, 1, 2], [1, 2, 0], [2, 0, 1]]], ids=["pair", "cycle"])
@pytest.mark.parametrize("penalty", [Penalty(), Penalty(ridge=0)], ids=str)
def test_answers_that_cancel_out_say_so(rows, penalty):
    with pytest.warns(ConvergenceWarning, match="cancel"):
        model = DMOE(penalty=penalty).fit(rows)
    assert not model.gram_.any()
    assert model.dual_gap_ == 0


def test_identifiers_taken_for_indices_are_refused():
    with pytest.raises(ValueError, match=r"np\.unique"):
        DMOE(solver="admm").fit([[0, 1, 200_000]])


def test_running_out_of_iterations_warns_and_leaves_a_result():
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = DMOE(penalty=Penalty(), solver=ADMM(tol=1e-12, max_iter=10)).fit(TRAIN)
    assert not model.converged_
    assert model.score(TEST) > 0.7


def test_a_normal_fit_is_silent():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = DMOE().fit(TRAIN)
    assert model.converged_


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"penalty": 0.1}, "nearer.Penalty"),
        ({"penalty": Penalty(0, 0)}, "above 0"),
        ({"penalty": Penalty(specificity=9), "solver": "paper"}, "admm"),
        ({"nu": -0.5}, "nu"),
        ({"power": 0.5}, "power"),
        ({"power": 3, "solver": "admm"}, "power 1 or 2"),
        ({"solver": "paper", "penalty": Penalty()}, "ridge=0"),
        ({"solver": "closed", "nu": 0.5}, "nu=1"),
        ({"solver": "closed", "penalty": Penalty()}, "trace=0"),
        ({"solver": ADMM}, "object such as"),
        ({"solver": None}, "object such as"),
        ({"solver": ADMM(tol=float("nan"))}, "tol > 0"),
        ({"solver": ADMM(check_every=0)}, "check_every"),
        ({"solver": ADMM(relaxation=5)}, "relaxation"),
        ({"solver": Paper(start="foo")}, "start"),
        ({"rank": 0}, "rank"),
        ({"rank": "half"}, "rank"),
        ({"rank": True}, "rank"),
        ({"rank": 3, "solver": "admm"}, "solver='auto'"),
        ({"rank": "full", "solver": "factored"}, "n_components"),
        ({"rank": 3, "penalty": Penalty(diagonal=0.5)}, "Gram matrix"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        DMOE(**settings).fit(TRAIN)

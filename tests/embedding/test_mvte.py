"""MVTE: planted views are found again, and their number with them."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from nearer import Comparisons
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import MVTE, TSTE
from nearer.embedding.mvte import MIN_GAIN
from nearer.model import StudentT
from nearer.optimize import Outcome, solve
from nearer.optimize.problems.margins import pair_distances
from nearer.optimize.problems.views import Mixture, PackedAnswers, Trials, ViewsProblem, assign_views, best_mixture

N = 25


def planted(m, n=N, seed=0, share=0.5):
    """Return answers from two unrelated maps, which map each is from, and where the maps disagree."""
    maps = [make_gaussian(n, 2, random_state=10 * seed + k) for k in (1, 2)]
    rng = np.random.default_rng(seed)
    rows = np.argsort(rng.random((m, n)), axis=1)[:, :3]
    i, j, k = rows.T
    holds = np.array([pair_distances(points, i, j) < pair_distances(points, i, k) for points in maps])
    which = (rng.random(m) >= share).astype(int)
    near_first = holds[which, np.arange(m)]
    return np.where(near_first[:, None], rows, rows[:, [0, 2, 1]]), which, holds[0] != holds[1]


def in_trials(which, size):
    """Return a trial for each answer: so many of one view."""
    trials = np.empty(len(which), int)
    trials[np.argsort(which, kind="stable")] = np.arange(len(which)) // size
    return trials


ROWS, WHICH, DISAGREE = planted(4000)


@pytest.fixture(scope="module")
def model():
    return MVTE(n_views=2, n_init=6, random_state=0).fit(ROWS[:3200])


def problem(trials=None, softness=1.0):
    rows = Comparisons.from_triplets(ROWS[:60], weights=np.linspace(0.5, 2, 60), trials=trials)
    mixture = Mixture(np.array([0.3, 0.7]), 0.1)
    return ViewsProblem(PackedAnswers(rows), StudentT(3.0), 0.01, mixture=mixture, softness=softness, n_threads=1)


@pytest.mark.parametrize("trials", [None, np.arange(60) // 4])
@pytest.mark.parametrize("softness", [1.0, 0.3])
def test_the_gradient_is_that_of_the_objective(trials, softness):
    over = problem(trials, softness)
    points = np.random.default_rng(0).normal(size=2 * N * 2)

    def value(flat):
        return over.objective_and_gradient(flat.reshape(-1, 2))[0]

    def gradient(flat):
        return over.objective_and_gradient(flat.reshape(-1, 2))[1].ravel()

    assert check_grad(value, gradient, points) < 1e-6


def test_the_likelihood_is_that_of_the_mixture():
    """Written out plainly, with trials and weights as powers."""
    trials = np.arange(60) // 4
    over = problem(trials)
    views = np.random.default_rng(1).normal(size=(2, N, 2))
    i, j, k = ROWS[:60].T
    likelihood = 0.0
    chances = []
    for points in views:
        odds = StudentT(3.0).log_odds(pair_distances(points, i, j), pair_distances(points, i, k))
        chances.append((0.9 * expit(odds) + 0.05) ** np.linspace(0.5, 2, 60))
    for trial in range(15):
        likelihood += np.log(0.3 * chances[0][trials == trial].prod() + 0.7 * chances[1][trials == trial].prod())
    value, _ = over.loss_and_gradient(views.reshape(-1, 2))
    assert value == pytest.approx(-likelihood / np.linspace(0.5, 2, 60).sum())


def test_no_weights_or_lapse_rate_are_more_likely_than_the_best():
    answers = PackedAnswers(Comparisons.from_triplets(ROWS[:500]))
    views = np.random.default_rng(2).normal(size=(2, N, 2))
    best = best_mixture(views, Mixture.even(2), answers, StudentT(1.0))
    highest = assign_views(views, best, answers, StudentT(1.0)).log_likelihoods.sum()
    for weight in np.linspace(0.05, 0.95, 10):
        for lapse in (1e-6, 0.1, 0.3, 0.6, 0.9):
            other = Mixture(np.array([weight, 1 - weight]), lapse)
            assert assign_views(views, other, answers, StudentT(1.0)).log_likelihoods.sum() <= highest + 1e-2


def test_two_planted_views_are_recovered_and_predict_better_than_one_map(model):
    views = model.responsibilities_.argmax(axis=1)
    assert adjusted_rand_score(WHICH[:3200][DISAGREE[:3200]], views[DISAGREE[:3200]]) > 0.9
    np.testing.assert_allclose(model.weights_, 0.5, atol=0.05)
    assert model.score(ROWS[3200:]) > TSTE(2).fit(ROWS[:3200]).score(ROWS[3200:]) + 0.02


def test_predictions_are_those_of_the_mixture_and_assignments_add_up(model):
    i, j, k = ROWS[3200:].T
    expected = 0.0
    for weight, points in zip(model.weights_, model.views_, strict=True):
        odds = StudentT(model.alpha_).log_odds(pair_distances(points, i, j), pair_distances(points, i, k))
        expected = expected + weight * ((1 - model.lapse_) * expit(odds) + model.lapse_ / 2)
    np.testing.assert_allclose(model.predict_proba(ROWS[3200:])[:, 1], expected, rtol=1e-9)
    np.testing.assert_allclose(model.responsibilities_.sum(axis=1), 1)
    assert model.responsibilities_.shape == (3200, 2)
    np.testing.assert_array_equal(model.embedding_, model.views_[0])


def test_unequal_views_come_in_the_order_of_their_weights():
    rows, which, disagree = planted(3000, n=15, share=0.25)
    model = MVTE(n_views=2, alpha=7.0, n_init=6, random_state=0).fit(rows)
    np.testing.assert_allclose(model.weights_, [0.75, 0.25], atol=0.05)
    first = model.responsibilities_.argmax(axis=1) == 0
    assert np.mean(first[disagree] == (which[disagree] == 1)) > 0.92


def test_the_rows_of_a_trial_share_their_view():
    """Five rows from one view tell it where one row cannot."""
    rows, which, _ = planted(1500, n=15)
    trials = in_trials(which, 5)
    answers = Comparisons.from_triplets(rows, trials=trials)
    model = MVTE(n_views=2, alpha=3.0, n_init=4, random_state=0).fit(answers)
    shares = model.responsibilities_
    for trial in (0, 7, 299):
        assert np.ptp(shares[trials == trial], axis=0).max() == 0
    alone = MVTE(n_views=2, alpha=3.0, n_init=4, random_state=0).fit(rows).responsibilities_.argmax(axis=1)
    assert adjusted_rand_score(which, shares.argmax(axis=1)) > max(0.85, adjusted_rand_score(which, alone) + 0.3)
    assert Trials.of(answers).trial_weights.sum() == 300


@pytest.mark.parametrize("n_views", [1, 2])
def test_the_number_of_views_is_found(n_views):
    if n_views == 2:
        rows, which, _ = planted(400, n=12, seed=1)
        answers = Comparisons.from_triplets(rows, trials=in_trials(which, 4))
    else:
        answers = sample_triplets(make_gaussian(12, 2, random_state=3), 500, random_state=0)
    model = MVTE(alpha=7.0, n_init=2, random_state=0).fit(answers)
    assert model.n_views_ == n_views
    assert len(model.cv_results_["n_views"]) == n_views + 1
    gains, errors = model.cv_results_["gain"], model.cv_results_["gain_standard_error"]
    assert (gains[:-1] > errors[:-1]).all()
    assert gains[-1] <= max(errors[-1], MIN_GAIN)


def test_guesses_are_counted_and_make_no_view_of_their_own():
    points = make_gaussian(20, 2, random_state=0)
    rows = sample_triplets(points, 2500, flipped=0.1, random_state=0)
    model = MVTE(n_views=1, random_state=0).fit(rows)
    assert 0.1 < model.lapse_ < 0.25  # half of all guesses are right: 0.2
    assert model.score(sample_triplets(points)) > 0.93


def test_new_objects_are_placed_in_every_view():
    order = ROWS[(ROWS < N - 1).all(axis=1)]
    mentions = ROWS[(ROWS == N - 1).any(axis=1)]
    model = MVTE(n_views=2, alpha=7.0, n_init=6, random_state=0).fit(order)
    before = model.views_.copy()
    placed = model.place(mentions[:250])
    np.testing.assert_array_equal(model.views_[:, : N - 1], before)
    np.testing.assert_array_equal(placed, model.views_[0, N - 1 :])
    assert model.views_.shape == (2, N, 2)
    assert model.score(mentions[250:]) > 0.65  # of at most about 0.75: half of the answers where the views disagree
    assert len(model.responsibilities_) == len(order) + 250


def test_more_answers_go_on_from_the_present_views():
    model = MVTE(n_views=2, alpha=7.0, n_init=6, random_state=0).fit(ROWS[:2000])
    before = model.views_.copy()
    model.partial_fit(ROWS[2000:])
    assert len(model.responsibilities_) == 4000
    assert np.abs(model.views_ - before).max() < 0.5 * np.abs(before).max()
    views = model.responsibilities_.argmax(axis=1)
    assert adjusted_rand_score(WHICH[DISAGREE], views[DISAGREE]) > 0.85


def test_an_interrupt_leaves_the_best_views_so_far():
    steps = []

    def interrupt(progress):
        steps.append(progress)
        if len(steps) == 3:
            raise KeyboardInterrupt

    model = MVTE(n_views=2, alpha=3.0, n_init=2, random_state=0)
    with pytest.warns(ConvergenceWarning, match="best views so far"), pytest.raises(KeyboardInterrupt):
        model.fit(ROWS[:500], callback=interrupt)
    assert model.views_.shape == (2, N, 2)
    assert not model.converged_
    assert model.score(ROWS[:500]) > 0.6


def test_an_interrupt_among_the_starts_ends_the_search(monkeypatch):
    calls = []

    def interrupted_at_the_fourth(*arguments, **settings):
        calls.append(1)
        solution = solve(*arguments, **settings)
        return replace(solution, outcome=Outcome.INTERRUPTED) if len(calls) == 4 else solution

    monkeypatch.setattr("nearer.embedding.mvte.solve", interrupted_at_the_fourth)
    model = MVTE(n_views=2, alpha=3.0, n_init=9, random_state=0)
    with pytest.warns(ConvergenceWarning, match="best views so far"), pytest.raises(KeyboardInterrupt):
        model.fit(ROWS[:500])
    assert len(calls) == 4
    assert model.views_.shape == (2, N, 2)


def test_too_few_answers_for_folds_make_one_view():
    model = MVTE().fit([[0, 1, 2]])
    assert model.n_views_ == 1
    assert model.cv_results_ is None


def test_settings_that_make_no_sense_are_refused():
    wrong = [({"n_views": 0}, "n_views"), ({"n_init": 0}, "n_init"), ({"alpha": -1}, "alpha"), ({"trace": -1}, "trace")]
    for settings, message in wrong:
        with pytest.raises(ValueError, match=message):
            MVTE(**settings).fit(ROWS[:50])


def test_a_trace_that_is_too_large_says_so():
    with pytest.warns(ConvergenceWarning, match="trace well below 1"):
        MVTE(n_views=1, alpha=1.0, trace=1.5).fit(ROWS[:300])

"""Sparse nonnegative dimensions: planted ones are found, and what is said about them holds."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from nearer import Comparisons, ComparisonsFile
from nearer.data.choices import Choices
from nearer.datasets import draw_questions, make_dimensions, make_gaussian, sample_odd_one_out, simulate_answers
from nearer.embedding import CKL, STE, PosteriorEmbedding, SPoSE
from nearer.embedding.dimensions import MIN_REPRODUCIBILITY, reproducibility, spectral_starts
from nearer.embedding.storage import load_model, save_model
from nearer.evaluation import match_dimensions
from nearer.optimize.problems.choices import WeightsProblem, answer_losses
from nearer.sampling import Microcanonical

WEIGHTS = make_dimensions(60, 5, scale=1.0, random_state=0)
ANSWERS = sample_odd_one_out(WEIGHTS, 8000, random_state=1)
HELD_OUT = Choices.of(sample_odd_one_out(WEIGHTS, 8000, random_state=2))


@pytest.fixture(scope="module")
def model():
    return SPoSE(random_state=0).fit(ANSWERS)


def test_planted_dimensions_are_found(model):
    assert model.embedding_.shape == (60, 5)
    assert (match_dimensions(WEIGHTS, model.embedding_).correlations > 0.9).all()
    assert (model.embedding_ >= 0).all()
    assert 0.4 < (model.embedding_ == 0).mean() < 0.95
    totals = model.embedding_.sum(axis=0)
    assert (np.diff(totals) <= 1e-6 * totals[0]).all()
    losses = [answer_losses(points, HELD_OUT).mean() for points in (WEIGHTS, model.embedding_)]
    assert losses[1] < losses[0] + 0.015
    assert np.log(3) > losses[0] + 0.1  # there is something to be found


def test_the_path_is_judged_by_trials_that_were_held_out(model):
    path = model.penalty_path_
    assert path.penalties[path.best] == model.penalty_
    assert 0 < path.best < len(path.penalties) - 1
    assert (np.diff(path.n_dimensions) <= 0).all()
    assert path.held_out_loss[path.best] == path.held_out_loss.min()
    assert path.standard_error[path.best] == 0
    # Least penalties overfit: their held-out loss is clearly above the best.
    assert path.held_out_loss[0] - path.held_out_loss.min() > 2 * path.standard_error[0] > 0
    assert path.n_trials + path.n_held_out == 8000


def test_of_few_answers_a_ridge_predicts_better():
    weights = make_dimensions(300, 20, random_state=3)
    answers, held_out = (sample_odd_one_out(weights, m, random_state=m) for m in (18000, 18001))
    plain = SPoSE(25, ridge=0.0, n_starts=1, n_splits=0, random_state=0).fit(answers)
    chosen = SPoSE(25, n_starts=1, n_splits=0, random_state=0).fit(answers)
    assert plain.ridge_ == 0 < chosen.ridge_ == chosen.penalty_path_.ridge
    losses = [answer_losses(each.embedding_, Choices.of(held_out)).mean() for each in (plain, chosen)]
    assert losses[1] < losses[0]
    again = SPoSE(25, penalty=chosen.penalty_, ridge=chosen.ridge_, n_starts=1, n_splits=0, random_state=0).fit(answers)
    assert again.ridge_ == chosen.ridge_
    with pytest.raises(ValueError, match="ridge must be a finite number >= 0, got -1"):
        SPoSE(ridge=-1).fit(answers)


def test_intervals_hold_the_weights(model):
    assignment = match_dimensions(WEIGHTS, model.embedding_).assignment
    low, high = np.moveaxis(model.weight_intervals_[:, assignment], 2, 0)
    held = (low <= WEIGHTS) & (high >= WEIGHTS)
    assert held.mean() > 0.92
    assert held[WEIGHTS > 0].mean() > 0.85
    assert (low <= high).all()
    assert low.min() == 0
    # and they are no wider than they must be: weights that are 0 are known to be small
    assert np.median(high - low) < 0.5 * WEIGHTS[WEIGHTS > 0].mean()


def test_dimensions_of_noise_are_not_reproducible(model):
    """At a fifth of the penalty, most dimensions follow the noise of the trials."""
    choices, rng = Choices.of(ANSWERS), np.random.default_rng(0)
    many = SPoSE(penalty=model.penalty_ / 5, n_starts=1, n_splits=0, random_state=0).fit(ANSWERS).embedding_
    matched = match_dimensions(WEIGHTS, many)
    planted = np.isin(np.arange(many.shape[1]), matched.assignment[matched.correlations > 0.8])
    spurious = ~np.isin(np.arange(many.shape[1]), matched.assignment)
    found = reproducibility(many, WeightsProblem(choices, model.penalty_, model.ridge_), 1, rng)
    assert planted.sum() >= 3
    assert (found[planted] >= MIN_REPRODUCIBILITY).mean() >= 0.75
    assert spurious.sum() >= 10
    assert (found[spurious] >= MIN_REPRODUCIBILITY).mean() <= 0.1
    assert (model.reproducibility_ > 0.6).all()


def test_starts_do_not_depend_on_the_order_of_objects():
    choices = Choices.of(ANSWERS)
    order = np.random.default_rng(0).permutation(60)
    moved = Choices.of(Comparisons.from_triplets(order[ANSWERS.rows], weights=ANSWERS.weights, trials=ANSWERS.trials))
    first, second = (spectral_starts(WeightsProblem(c), 12, np.random.default_rng(1))() for c in (choices, moved))
    np.testing.assert_allclose(second[order], first, atol=1e-8)
    assert (first >= 0).all()


def test_a_penalty_that_is_given_is_used():
    given = SPoSE(penalty=6.0, n_starts=1, n_splits=0, random_state=0).fit(ANSWERS)
    assert given.penalty_ == 6.0
    assert given.penalty_path_ is given.reproducibility_ is given.weight_intervals_ is None
    few = SPoSE(2, penalty=6.0, n_starts=1, n_splits=0, random_state=0).fit(ANSWERS)
    assert few.embedding_.shape == (60, 2)


def test_a_penalty_that_leaves_nothing_says_so():
    with pytest.warns(ConvergenceWarning, match="leaves no dimension"):
        empty = SPoSE(penalty=1e4, n_starts=1, random_state=0).fit(ANSWERS)
    assert empty.embedding_.shape == (60, 0)
    np.testing.assert_allclose(empty.predict_proba(ANSWERS.rows[:3]), 0.5)


def test_objects_that_nobody_asked_about_have_no_weights():
    order = np.r_[0:10, 12:62]
    model = SPoSE(penalty=6.0, n_starts=1, n_splits=1, n_objects=62, random_state=0).fit(
        Comparisons.from_triplets(order[ANSWERS.rows], trials=ANSWERS.trials, n_objects=62)
    )
    assert not model.embedding_[10:12].any()
    assert np.isinf(model.weight_intervals_[10:12, :, 1]).all()
    assert np.isfinite(model.weight_intervals_[order]).all()


def test_new_objects_are_placed_and_answers_added(tmp_path):
    of_old = (ANSWERS.rows < 55).all(axis=1)
    old = Comparisons.from_triplets(ANSWERS.rows[of_old], trials=ANSWERS.trials[of_old])
    model = SPoSE(penalty=6.0, n_starts=1, n_splits=1, random_state=0).fit(old)
    before = model.embedding_.copy()
    again = load_model(save_model(model, tmp_path))
    np.testing.assert_array_equal(again.weight_intervals_, model.weight_intervals_)
    placed = model.place(ANSWERS[~of_old])
    np.testing.assert_array_equal(model.embedding_[:55], before)
    assignment = match_dimensions(WEIGHTS, model.embedding_).assignment
    found = placed[:, assignment[assignment >= 0]]
    truth = WEIGHTS[55:, assignment >= 0]
    assert np.corrcoef(found.ravel(), truth.ravel())[0, 1] > 0.8
    assert model.weight_intervals_.shape == (60, model.embedding_.shape[1], 2)
    together = again.partial_fit(ANSWERS[~of_old])
    assert together.embedding_.shape == (60, before.shape[1])
    assert together.penalty_ == 6.0
    assert answer_losses(together.embedding_, HELD_OUT).mean() < answer_losses(model.embedding_, HELD_OUT).mean() + 0.01


def test_what_it_cannot_do_is_said(tmp_path, model):
    with pytest.raises(ValueError, match="rotated weights would be negative"):
        model.rotated(np.eye(5))
    np.save(tmp_path / "rows.npy", ANSWERS.rows)
    with pytest.raises(ValueError, match="SPoSE needs all comparisons in memory"):
        SPoSE().fit(ComparisonsFile(tmp_path / "rows.npy"))
    for settings in ({"penalty": 0}, {"n_starts": 0}, {"n_splits": -1}, {"n_components": 0}):
        with pytest.raises(ValueError, match=next(iter(settings))):
            SPoSE(**settings).fit(ANSWERS)


QUESTIONS = draw_questions(20, 300, "odd-one-out", random_state=0)
ODD_ONES = simulate_answers(
    make_gaussian(20, 2, variance=1, random_state=0), QUESTIONS, kind="odd-one-out", slope=3, random_state=0
)


def softmax(utilities):
    shares = np.exp(utilities - utilities.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


def test_choices_are_predicted_by_the_model_of_each_method():
    for estimator, similarity in ((STE(2), lambda d2: -d2), (CKL(2), lambda d2: -np.log(1 + d2))):
        fitted = estimator.fit(ODD_ONES)
        points = fitted.embedding_[QUESTIONS]
        alike = [similarity(((points[:, a] - points[:, b]) ** 2).sum(axis=1)) for a, b in [(1, 2), (0, 2), (0, 1)]]
        expected = softmax(np.stack(alike, axis=1))
        np.testing.assert_allclose(fitted.predict_choice_proba(QUESTIONS), expected, atol=1e-9)


def test_choices_of_a_posterior_are_probabilities_that_do_not_depend_on_the_order():
    few = Microcanonical(1, n_warmup=100, n_steps=40, thin=5, n_starts=1, n_climb=10)
    with pytest.warns(ConvergenceWarning):
        fitted = PosteriorEmbedding(2, solver=few, random_state=0).fit(ODD_ONES)
    found = fitted.predict_choice_proba(QUESTIONS)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    order = [2, 0, 1]
    np.testing.assert_allclose(fitted.predict_choice_proba(QUESTIONS[:, order]), found[:, order], atol=1e-9)
    named = ODD_ONES.rows[::2, 2]
    assert np.mean(QUESTIONS[np.arange(300), found.argmax(axis=1)] == named) > 0.45


def test_choices_among_more_items(model):
    items = np.array([[0, 1, 2, 3], [10, 20, 30, 40]])
    gram = model.embedding_ @ model.embedding_.T
    utilities = [[-2 / 3 * sum(gram[c, a] for a in row if a != c) for c in row] for row in items]
    np.testing.assert_allclose(model.predict_choice_proba(items), softmax(np.array(utilities)), atol=1e-12)


@pytest.mark.parametrize(
    ("items", "message"),
    [([[0, 1]], "k >= 3"), ([[0, 1, 99]], "99 is not on the map"), ([[0, 1, 1]], "repeat an object")],
)
def test_items_that_make_no_trial_are_refused(model, items, message):
    with pytest.raises(ValueError, match=message):
        model.predict_choice_proba(items)


def test_matching_is_one_to_one_and_takes_the_best_sum():
    rng = np.random.default_rng(0)
    first = rng.gamma(1, size=(40, 4))
    second = np.column_stack([first[:, [2, 0, 3]] + rng.normal(scale=0.1, size=(40, 3)), np.ones(40)])
    found = match_dimensions(first, second)
    np.testing.assert_array_equal(found.assignment[[0, 2, 3]], [1, 0, 2])
    assert found.assignment[1] == 3
    assert found.correlations[1] == 0  # a constant correlates with nothing
    fewer = match_dimensions(first, second[:, :2])
    np.testing.assert_array_equal(fewer.assignment, [1, -1, 0, -1])
    with pytest.raises(ValueError, match="40 objects and second 39"):
        match_dimensions(first, second[1:])

"""BestOf: held-out answers choose, and the chosen method is what predicts."""

import numpy as np
import pytest

from nearer import Comparisons
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import CKL, SOE, STE, BestOf
from nearer.embedding.base import OrdinalEmbedding
from nearer.evaluation import comparison_error

pytestmark = pytest.mark.usefixtures("one_start")
POINTS = make_gaussian(25, 2, random_state=0)
NOISY = sample_triplets(POINTS, 600, flipped=0.15, random_state=0)


def test_the_method_with_the_smallest_held_out_error_is_fitted_to_everything():
    model = BestOf(2, methods=[STE(trace=0.95), CKL()], random_state=0).fit(NOISY)
    errors = model.cv_results_["mean_test_error"]
    assert model.best_index_ == 1
    assert errors[1] < errors[0]
    alone = CKL(2).fit(NOISY)
    np.testing.assert_allclose(model.embedding_, alone.embedding_, atol=1e-9)
    np.testing.assert_array_equal(model.predict(NOISY), alone.predict(NOISY))


def test_errors_are_those_of_maps_that_did_not_see_the_fold():
    """Answers at random: a map that saw them satisfies more than half of them, others do not."""
    rows = sample_triplets(POINTS, 400, flipped=0.5, random_state=1)
    model = BestOf(2, methods=[STE(), CKL()], random_state=0).fit(rows)
    assert comparison_error(rows, model.embedding_) < 0.42
    assert model.cv_results_["mean_test_error"].min() > 0.42


def test_trials_stay_whole():
    """Each answer is there four times; torn apart they would tell on each other."""
    once = sample_triplets(POINTS, 100, flipped=0.5, random_state=2)
    rows, trials = np.tile(once.rows, (4, 1)), np.tile(np.arange(100), 4)
    model = BestOf(2, methods=[STE(trace=0.0), CKL()], random_state=0)
    assert model.fit(Comparisons.from_triplets(rows, trials=trials)).cv_results_["mean_test_error"].min() > 0.35


def test_the_default_is_about_as_good_as_the_best_of_its_methods():
    truth = sample_triplets(POINTS)
    model = BestOf(2, random_state=0).fit(NOISY)
    errors = [comparison_error(truth, method.fit(NOISY).embedding_) for method in (CKL(), SOE(), STE(trace=0.03))]
    assert comparison_error(truth, model.embedding_) < min(errors) + 0.02
    assert len(model.cv_results_["method"]) == 10


def test_too_few_answers_to_hold_any_out_take_the_first_method():
    model = BestOf(methods=[SOE(), CKL()]).fit([[0, 1, 2]])
    assert model.cv_results_ is None
    assert isinstance(model.best_, SOE)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"methods": []}, "methods"),
        ({"methods": ["CKL"]}, "methods"),
        ({"methods": 5}, "methods"),
        ({"n_splits": 1}, "n_splits"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        BestOf(**settings).fit(NOISY)


@pytest.mark.parametrize("n_components", [2, 5, 6, 10])
def test_heavy_tails_are_tried_where_those_of_t_ste_are_light(n_components):
    answers = sample_triplets(make_gaussian(12, 2, random_state=0), 100, random_state=0)
    tails = [getattr(method, "alpha", None) for method in BestOf(n_components)._candidates(answers)]
    assert (3.0 in tails) == (n_components > 5)


def test_probabilities_are_calibrated_on_held_out_answers():
    """Some answers are wrong, which a map that was fitted to them does not know of."""
    noisy = sample_triplets(POINTS, 1200, flipped=0.2, random_state=3)
    new = sample_triplets(POINTS, flipped=0.2, random_state=4)
    # Whichever it chooses, it is SOE, which is far too sure of itself.
    model = BestOf(2, methods=[SOE(), SOE(trace=0.001)], random_state=0).fit(noisy)

    def log_loss(fitted):
        return -np.log(fitted.predict_proba(new)[:, 1]).mean()

    assert log_loss(model) < log_loss(model.best_) - 0.03
    sure = model.predict_proba(new).max(axis=1).mean()
    assert sure == pytest.approx(model.score(new), abs=0.03)
    np.testing.assert_array_equal(model.predict_proba(new)[:, 1] >= 0.5, model.predict(new) == 1)


def test_the_way_in_which_an_answer_is_written_does_not_matter():
    turned = Comparisons.from_triplets(NOISY.rows[:, [0, 2, 1]], y=-np.ones(len(NOISY), dtype=int))
    methods = [STE(), CKL()]
    one, other = (BestOf(2, methods=methods, random_state=0).fit(each) for each in (NOISY, turned))
    np.testing.assert_allclose(one.predict_proba(NOISY), other.predict_proba(NOISY), atol=1e-6)


def test_an_interrupted_choice_leaves_the_model_as_it_was(monkeypatch):
    model = BestOf(2, methods=[STE(), CKL()], random_state=0).fit(NOISY)
    before = model.predict_proba(NOISY)

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(CKL, "fit", stop)
    with pytest.raises(KeyboardInterrupt):
        model.fit(NOISY[:300])
    np.testing.assert_array_equal(model.predict_proba(NOISY), before)


def test_an_interrupted_fit_of_the_chosen_method_leaves_the_model_as_it_was(monkeypatch):
    model = BestOf(2, methods=[STE(), CKL()], random_state=0).fit(NOISY)
    before, fit = model.predict_proba(NOISY), OrdinalEmbedding.fit

    def stopped(self, comparisons, **options):
        if len(comparisons) == 300:  # all of them: the choice is made
            raise KeyboardInterrupt
        return fit(self, comparisons, **options)

    monkeypatch.setattr(CKL, "fit", stopped)
    monkeypatch.setattr(STE, "fit", stopped)
    with pytest.raises(KeyboardInterrupt):
        model.fit(NOISY[:300])
    np.testing.assert_array_equal(model.predict_proba(NOISY), before)


def test_a_handful_of_lucky_answers_makes_nothing_certain():
    points = make_gaussian(12, 2, random_state=0)
    truth = sample_triplets(points)
    for seed in range(5):
        few = sample_triplets(points, 5, random_state=seed)
        model = BestOf(2, methods=[CKL(), STE()], n_objects=12, random_state=0).fit(few)
        calibrated, own = (-np.log(each.predict_proba(truth)[:, 1]).mean() for each in (model, model.best_))
        assert calibrated < own + 0.5


def test_a_weight_is_as_good_as_a_repeated_row():
    weights = np.random.default_rng(0).integers(0, 4, size=len(NOISY))
    methods = [CKL(), SOE(trace=0.01)]
    weighted = BestOf(2, methods=methods, n_objects=25, random_state=0).fit(NOISY.rows, sample_weight=weights)
    repeated = BestOf(2, methods=methods, n_objects=25, random_state=0).fit(np.repeat(NOISY.rows, weights, axis=0))
    np.testing.assert_allclose(weighted.predict_proba(NOISY), repeated.predict_proba(NOISY), atol=1e-5)


@pytest.mark.parametrize("methods", [(), [], "CKL", [CKL]])
def test_no_methods_to_choose_from_are_refused(methods):
    with pytest.raises(ValueError, match="methods must be estimators"):
        BestOf(methods=methods).fit([[0, 1, 2], [1, 0, 2]])

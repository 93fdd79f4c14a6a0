"""PosteriorEmbedding: predictions, calibration, uncertainty, dimensions, new objects, messages."""

import copy
import os
import pickle
import signal
import time
import warnings
from dataclasses import replace

import numpy as np
import pytest
from helpers import posterior_reference as reference
from scipy.linalg import orthogonal_procrustes
from scipy.stats import chi2
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from nearer import Comparisons
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import PosteriorEmbedding
from nearer.embedding import distillation as answering
from nearer.embedding.distillation import distill_posterior
from nearer.embedding.storage import load_model, save_model
from nearer.evaluation import comparison_error
from nearer.geometry import align
from nearer.optimize import Outcome
from nearer.sampling import NUTS, Microcanonical, Prior, Variational, diagnose, microcanonical, nuts
from nearer.sampling.model import HYPERPARAMETERS, Draws, model_of
from nearer.sampling.summaries import predictive_probability

N = 20
SHORT = NUTS(2, n_warmup=60, n_draws=40, thin=2)
ENOUGH = NUTS(2, n_warmup=200, n_draws=400, thin=4)
POINTS = make_gaussian(N, 2, random_state=1)
QUIET = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def questions(m, n=N, seed=0):
    rng = np.random.default_rng(seed)
    return np.array([rng.choice(n, 3, replace=False) for _ in range(m)])


def truth(seed, n=N):
    """A map as the model makes them: a Gaussian cloud with squared distances of 2 on average."""
    return np.random.default_rng(seed).standard_normal((n, 2)) / np.sqrt(2)


def answer(points, rows, seed, slope=6.0, offset=1.0, lapse=0.02):
    """Rows as people answer them who follow the model."""
    holds = np.random.default_rng(seed).random(len(rows)) < reference.chances(points, slope, offset, lapse, rows)
    return np.where(holds[:, None], rows, rows[:, [0, 2, 1]])


@pytest.fixture(scope="module")
def fitted():
    """Well specified, and with answers enough for a good map."""
    points = truth(0)
    model = PosteriorEmbedding(2, max_components=2, solver=ENOUGH, random_state=0)
    return points, model.fit(answer(points, questions(1500), 1))


@pytest.fixture(scope="module")
def short():
    rows = sample_triplets(POINTS, 300, random_state=0).rows
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return PosteriorEmbedding(2, solver=SHORT, random_state=0, n_objects=N + 3).fit(rows)


def calibration_error(chances):
    """The mean gap between confidence and share of right answers over ten bins; all rows hold."""
    confidence, right = np.maximum(chances, 1 - chances), chances > 0.5
    place = np.minimum(((confidence - 0.5) * 20).astype(int), 9)
    return np.abs(np.bincount(place, confidence - right)).sum() / len(chances)


def test_predicts_nearly_as_well_as_the_true_map_and_is_calibrated(fitted):
    points, model = fitted
    rows = questions(20_000, seed=5)
    best = reference.chances(points, 6.0, 1.0, 0.02, rows)
    given = answer(points, rows, 6)
    assert model.converged_
    assert model.score(given) > np.maximum(best, 1 - best).mean() - 0.03
    assert calibration_error(model.predict_proba(given)[:, 1]) < 0.03
    # The chances themselves, and not only their ranks, are those that the answers were drawn by.
    assert np.mean(np.abs(model.predict_proba(rows)[:, 1] - best)) < 0.06


def test_calibrated_on_logistic_noise():
    """Answers of another model than its own."""
    points = make_gaussian(N, 3, random_state=2)
    train, test = sample_triplets(points, logistic_slope=20, random_state=3).split(2600, random_state=0)
    model = PosteriorEmbedding(3, solver=ENOUGH, random_state=0).fit(train)
    assert calibration_error(model.predict_proba(test)[:, 1]) < 0.04


def test_all_that_is_learned_lies_where_the_answers_come_from(fitted):
    _, model = fitted
    low, high = np.quantile(model.draws_.lapses, [0.01, 0.99])
    assert low < 0.02 < high
    steepness = 6.0 / (1 + 0.5)  # b of beta = b (1 + k) with alpha = 2 k = 1
    found = model.draws_.slopes / (1 + model.draws_.offsets / 2)
    assert np.quantile(found, 0.005) < steepness < np.quantile(found, 0.995)


@pytest.mark.parametrize("quadruplets", [False, True])
def test_probabilities_of_exchanged_pairs_are_complements_to_the_last_bit(short, quadruplets):
    rows = questions(500)
    rows = np.column_stack([rows, (rows[:, 2] + 1) % N]) if quadruplets else rows
    rows = rows[[len(set(row)) == len(row) for row in rows.tolist()]]
    exchanged = rows[:, [2, 3, 0, 1]] if quadruplets else rows[:, [0, 2, 1]]
    found = short.predict_proba(rows)
    np.testing.assert_array_equal(found, short.predict_proba(exchanged)[:, ::-1])
    np.testing.assert_array_equal(short.predict(rows), np.where(found[:, 1] >= 0.5, 1, -1))
    np.testing.assert_allclose(short.decision_function(rows), np.log(found[:, 1] / found[:, 0]), rtol=1e-9, atol=1e-12)


def test_predictions_are_means_over_the_draws(short):
    rows = questions(50)
    np.testing.assert_allclose(short.predict_proba(rows)[:, 1], reference.chances(*short.draws_, rows).mean(axis=0))


def test_of_objects_in_no_comparison_only_the_prior_is_known(short):
    unseen = [N, N + 1, N + 2]
    assert short.draws_.points.shape[1] == N + 3
    even = [[0, N, N + 1], [0, N + 1, N + 2], [N, N + 1, N + 2]]
    np.testing.assert_array_equal(short.predict_proba(even), 0.5)
    np.testing.assert_array_equal(short.predict_proba([[0, N, 1, N], [N, 2, N, 2 + 1]])[:, 0] > 0, True)
    np.testing.assert_array_equal(short.decision_function([[N, 0, N + 1, 0], [0, N, 0, N + 1]]), 0)
    # They may be anywhere in the cloud of the others, wherever the map has put them.
    spread = short.embedding_[:N].std()
    away = np.sqrt(short.embedding_[unseen] ** 2 + spread**2)
    np.testing.assert_allclose(short.embedding_std_[unseen], away, rtol=0.5)
    assert short.embedding_std_[unseen].min() > 2 * np.median(short.embedding_std_[:N])


def test_a_map_of_few_answers_does_not_put_unknown_objects_in_the_middle_of_all():
    """There they would be near to everything."""
    gains = []
    for seed in range(2, 5):
        points = make_gaussian(100, 10, random_state=seed)
        train, test = sample_triplets(points, 50, random_state=seed), sample_triplets(points, 20_000, random_state=9)
        model = PosteriorEmbedding(10, random_state=seed, n_objects=100).fit(train)
        middle = model.embedding_.copy()
        middle[np.setdiff1d(np.arange(100), train.rows)] = 0
        gains.append(comparison_error(test, middle) - comparison_error(test, model.embedding_))
    assert np.mean(gains) > 0.004


def test_pairs_of_four_objects_in_no_comparison_are_an_even_chance():
    with pytest.warns(ConvergenceWarning):
        model = PosteriorEmbedding(1, solver=SHORT, random_state=0, n_objects=8).fit([[0, 1, 2], [1, 0, 3]])
    assert model.decision_function([[4, 5, 6, 7]])[0] == 0
    assert model.decision_function([[0, 1, 6, 7]])[0] != 0


def test_the_map_is_the_one_of_the_draws(fitted):
    """Its pairwise distances are those of the typical draw: same shape, same size."""
    _, model = fitted
    np.testing.assert_allclose(model.embedding_.mean(axis=0), 0, atol=1e-9)
    draws = model.draws_.points
    distances = np.linalg.norm(draws[:, :, None] - draws[:, None], axis=3).mean(axis=0)
    own = np.linalg.norm(model.embedding_[:, None] - model.embedding_[None], axis=2)
    upper = np.triu_indices(N, 1)
    assert np.corrcoef(own[upper], distances[upper])[0, 1] > 0.97
    assert own[upper].mean() == pytest.approx(distances[upper].mean(), rel=0.1)
    variances = model.embedding_.var(axis=0)
    assert variances[0] >= variances[1]


def test_sampled_maps_lie_on_the_map_without_repetition(fitted):
    _, model = fitted
    maps = model.sample(50, random_state=0)
    assert maps.shape == (50, N, 2)
    np.testing.assert_array_equal(maps, model.sample(50, random_state=0))
    assert len(np.unique(maps[:, 0, 0])) == 50
    assert len(model.sample(2 * len(model.draws_))) == 2 * len(model.draws_)
    np.testing.assert_allclose(maps.mean(axis=1), 0, atol=1e-9)
    away = np.sqrt(((maps - model.embedding_) ** 2).mean(axis=0))
    np.testing.assert_allclose(away, model.embedding_std_, rtol=0.6)

    def shape(points):
        return np.linalg.norm(points[:, 0] - points[:, 1], axis=1) / np.linalg.norm(points[:, 2] - points[:, 3], axis=1)

    # Turned and scaled, and nothing else: ratios of distances are those of a draw.
    assert np.isclose(shape(maps)[0], shape(model.draws_.points), rtol=1e-9).any()


def test_ellipses_are_those_of_the_covariances(fitted):
    _, model = fitted
    ellipses = model.ellipses(0.9)
    assert ellipses.shape == (N, 5)
    np.testing.assert_array_equal(ellipses[:, :2], model.embedding_)
    assert (ellipses[:, 2] >= ellipses[:, 3]).all()
    for (_, _, a, b, degrees), covariance in zip(ellipses, model.covariances_, strict=True):
        turn = np.array(
            [
                [np.cos(np.radians(degrees)), -np.sin(np.radians(degrees))],
                [np.sin(np.radians(degrees)), np.cos(np.radians(degrees))],
            ]
        )
        np.testing.assert_allclose(turn @ np.diag([a**2, b**2]) @ turn.T, chi2.ppf(0.9, 2) * covariance, rtol=1e-9)
    np.testing.assert_allclose(model.embedding_std_**2, np.diagonal(model.covariances_, axis1=1, axis2=2))
    np.testing.assert_allclose(model.ellipses(0.9, axes=(1, 0))[:, 2:4], ellipses[:, 2:4])


def test_ellipses_hold_the_true_places_about_as_often_as_they_say(fitted):
    """Over several well specified studies, after the best motion and scale onto the map."""
    inside = []
    for seed in range(3):
        if seed == 0:
            points, model = fitted
        else:
            points = truth(seed)
            rows = answer(points, questions(600, seed=seed), seed + 10)
            model = PosteriorEmbedding(2, solver=ENOUGH, random_state=seed).fit(rows)
        centred = points - points.mean(axis=0)
        turn, _ = orthogonal_procrustes(centred, model.embedding_)
        turned = centred @ turn
        turned *= np.vdot(turned, model.embedding_) / np.vdot(turned, turned)
        away = turned - model.embedding_
        inside.append(np.einsum("ip,ipq,iq->i", away, np.linalg.inv(model.covariances_), away))
    inside = np.concatenate(inside)
    assert 0.85 < np.mean(inside < chi2.ppf(0.95, 2)) <= 1
    assert 0.3 < np.mean(inside < chi2.ppf(0.5, 2)) < 0.8


def test_ellipses_of_a_map_with_too_few_dimensions_hold_what_it_shows_of_the_truth():
    """Draws have the dimensions that the answers call for; without these, six of ten ellipses held the truth."""
    inside = {None: [], 2: []}
    for seed in range(2):
        points = np.random.default_rng(seed).standard_normal((N, 3)) / np.sqrt(3 / 2)
        rows = answer(points, questions(1500, seed=seed), seed + 10)
        for most in inside:
            model = PosteriorEmbedding(2, max_components=most, random_state=seed).fit(rows)
            away = align(points, model.embedding_) - model.embedding_
            squares = np.einsum("ip,ipq,iq->i", away, np.linalg.inv(model.covariances_), away)
            inside[most].append(np.mean(squares < chi2.ppf(0.95, 2)))
    assert np.mean(inside[None]) > 0.85
    assert np.mean(inside[2]) < 0.8


def test_few_answers_make_wide_ellipses(fitted, short):
    points, sure = fitted
    few = PosteriorEmbedding(2, solver=ENOUGH, random_state=0).fit(answer(points, questions(150), 1))
    assert np.median(few.embedding_std_) > 1.5 * np.median(sure.embedding_std_)


def test_the_data_choose_the_dimension():
    points = truth(0, 25)
    rows = answer(points, questions(2000, 25), 1)
    model = PosteriorEmbedding(solver=NUTS(2, n_warmup=150, n_draws=60, thin=2), random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(rows)
    assert model.dimension_ == 2
    assert model.embedding_.shape == (25, 2)
    assert model.dimension_evidence_.shape == (15,)
    assert model.dimension_evidence_.sum() == pytest.approx(1)
    assert model.draws_.points.shape[2] == 15
    assert model.sample(3).shape == (3, 25, 15)
    on_map = model.sample(200, random_state=0)[:, :, :2]
    assert np.corrcoef(on_map.mean(axis=0).ravel(), model.embedding_.ravel())[0, 1] > 0.95


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_guesses_have_no_dimension_and_a_map_of_two_for_show(tmp_path):
    rng = np.random.default_rng(0)
    rows = np.argpartition(rng.random((300, 20)), 3, axis=1)[:, :3]
    guesses = Comparisons.from_triplets(rows, n_objects=20, annotators=rng.integers(2, size=300))
    model = PosteriorEmbedding(budget=1, random_state=0).fit(guesses)
    assert model.dimension_ is None
    assert model.embedding_.shape == (20, 2)
    save_model(model, tmp_path)
    assert load_model(tmp_path).dimension_ is None


@QUIET
def test_one_dimension():
    points = np.random.default_rng(0).normal(size=(10, 1))
    rows = sample_triplets(points, 200, random_state=0)
    model = PosteriorEmbedding(1, solver=SHORT, random_state=0).fit(rows)
    assert model.embedding_.shape == (10, 1)
    assert abs(np.corrcoef(model.embedding_[:, 0], points[:, 0])[0, 1]) > 0.9
    with pytest.raises(ValueError, match="two dimensions"):
        model.ellipses()


OLD, NEW = N - 4, 4
ALL_ROWS = np.random.default_rng(7).permutation(sample_triplets(POINTS, logistic_slope=100, random_state=7).rows)
AMONG_OLD = ALL_ROWS[(ALL_ROWS < OLD).all(axis=1)]
ABOUT_NEW = ALL_ROWS[(ALL_ROWS >= OLD).any(axis=1)]


@pytest.fixture(scope="module")
def fitted_to_old():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return PosteriorEmbedding(2, solver=NUTS(4, n_warmup=150, n_draws=60, thin=4), random_state=0).fit(
            AMONG_OLD[:600]
        )


@pytest.fixture
def on_old(fitted_to_old):
    return copy.deepcopy(fitted_to_old)


def test_placed_objects_land_where_they_belong_and_old_ones_stay(on_old):
    before, points = on_old.embedding_.copy(), on_old.draws_.points.copy()
    chances = on_old.predict_proba(AMONG_OLD)
    placed = on_old.place(ABOUT_NEW[:300])
    assert placed.shape == (NEW, 2)
    np.testing.assert_array_equal(on_old.embedding_[:OLD], before)
    np.testing.assert_array_equal(on_old.draws_.points[:, :OLD], points)
    np.testing.assert_array_equal(on_old.predict_proba(AMONG_OLD), chances)
    assert on_old.score(ABOUT_NEW[300:]) > 0.85
    assert on_old.embedding_std_.shape == (N, 2)
    # On the map they are where the draws have them: it answers as the draws do.
    i, j, k = ABOUT_NEW[300:].T
    x = on_old.embedding_
    holds = ((x[i] - x[j]) ** 2).sum(axis=1) < ((x[i] - x[k]) ** 2).sum(axis=1)
    assert np.mean(holds) > 0.85


def test_many_new_objects_on_one_side_do_not_shift_the_map():
    """The map stays where its old objects are, whatever their mean with the new ones is."""
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.normal(size=(10, 2)), rng.normal(size=(15, 2)) * 0.3 + [4.0, 0.0]])
    rows = np.random.default_rng(1).permutation(sample_triplets(points).rows)
    old, new = rows[(rows < 10).all(axis=1)], rows[(rows >= 10).any(axis=1)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = PosteriorEmbedding(2, max_components=2, solver=SHORT, random_state=0).fit(old)
        model.place(new[:1500])
    maps = model.sample(20, random_state=0)
    away = (maps - model.embedding_).mean(axis=0)
    np.testing.assert_allclose(away[10:].mean(axis=0), 0, atol=0.15 * np.abs(model.embedding_).max())
    np.testing.assert_allclose(away[:10].mean(axis=0), 0, atol=0.15 * np.abs(model.embedding_).max())


def test_rows_of_weight_zero_place_nothing(on_old):
    other = clone(on_old)
    other.__dict__.update(pickle.loads(pickle.dumps(on_old)).__dict__)
    rows = ABOUT_NEW[:300]
    # A row of weight 0 about objects that no other row mentions.
    small = rows[(rows != 0).all(axis=1)]
    first, second = on_old.place(small), other.place(
        np.concatenate([[[0, OLD, 1]], small]), sample_weight=np.r_[0.0, np.ones(len(small))]
    )  # fmt: skip
    np.testing.assert_array_equal(first, second)


def test_placing_again_goes_on_from_there(on_old):
    for new in range(OLD, N):
        rows = ABOUT_NEW[(new == ABOUT_NEW).any(axis=1) & (ABOUT_NEW.max(axis=1) <= new)]
        on_old.place(rows[:120])
    assert on_old.n_objects_ == N
    assert on_old.score(ABOUT_NEW) > 0.8


@QUIET
def test_partial_fit_adds_comparisons_and_objects(on_old):
    first = on_old.embedding_.copy()
    on_old.set_params(solver=NUTS(2, n_warmup=100, n_draws=60, thin=4))
    on_old.partial_fit(np.concatenate([AMONG_OLD[600:700], ABOUT_NEW[:300]]))
    assert on_old.n_objects_ == N
    assert len(on_old.comparisons_) == 1000
    assert on_old.score(ABOUT_NEW[300:]) > 0.85
    # Turned onto the map before.
    assert np.corrcoef(on_old.embedding_[:OLD].ravel(), first.ravel())[0, 1] > 0.9
    everything = PosteriorEmbedding(2, solver=on_old.solver, random_state=0).fit(on_old.comparisons_)
    np.testing.assert_array_equal(everything.predict_proba(ABOUT_NEW), on_old.predict_proba(ABOUT_NEW))


def test_short_chains_warn_and_leave_a_result():
    rows = sample_triplets(POINTS, 300, random_state=0)
    with pytest.warns(ConvergenceWarning, match="solver=.thorough"):
        model = PosteriorEmbedding(2, solver=NUTS(2, n_warmup=20, n_draws=8, thin=2), random_state=0).fit(rows)
    assert not model.converged_
    assert model.score(rows) > 0.7
    with pytest.warns(ConvergenceWarning, match="independent ones"):
        PosteriorEmbedding(2, solver=NUTS(1, n_warmup=20, n_draws=4, thin=1), random_state=0).fit(rows)


def test_a_thorough_fit_ends_when_distances_meet_the_rule():
    rows = sample_triplets(POINTS[:8], 100, flipped=0.1, random_state=0)
    model = PosteriorEmbedding(2, solver="thorough", random_state=0).fit(rows)
    assert model.converged_
    found = model.convergence_
    assert (found.max_rhat, found.min_effective, found.n_distances, found.is_met) == (1.01, 400, 28, True)
    points = model.draws_.points.reshape(4, -1, 8, model.draws_.points.shape[2])
    for a, b in ((0, 1), (3, 7), (2, 5)):  # as a paper would: the distance over the size of the map
        size = np.sqrt(points.var(axis=2).sum(axis=2))
        one = diagnose(np.linalg.norm(points[:, :, a] - points[:, :, b], axis=2) / size)
        assert one.rhat <= found.rhat + 1e-9 < 1.01
        assert min(one.effective, one.tail) >= min(found.bulk, found.tail) - 1e-6 > 400


def test_a_rule_that_was_not_met_is_reported():
    rows = sample_triplets(POINTS[:8], 100, flipped=0.1, random_state=0)
    short = replace(Microcanonical.thorough(), n_steps=400, thin=20, n_warmup=200)
    with pytest.warns(ConvergenceWarning, match="have not met the rule"):
        model = PosteriorEmbedding(2, solver=short, random_state=0).fit(rows)
    assert not model.converged_
    assert not model.convergence_.is_met
    assert "did not draw until R-hat of all 28 distances was below 1.01" in str(model.convergence_)


def test_diagnostics_and_history(fitted):
    _, model = fitted
    assert set(model.diagnostics_) == {"log_density", "distances", *HYPERPARAMETERS}
    assert model.diagnostics_["distances"].rhat < 1.1
    assert model.diagnostics_["distances"].effective > 50
    assert len(model.history_) == 100
    assert model.n_iter_ > 1200  # each of 1200 transitions has a step or more


def test_the_approximation_predicts_too():
    rows = sample_triplets(POINTS, flipped=0.05, random_state=0)
    model = PosteriorEmbedding(2, solver=Variational(600, 50), random_state=0).fit(rows)
    assert model.converged_
    assert len(model.draws_) == 50
    assert model.score(sample_triplets(POINTS)) > 0.93
    objectives = np.array([progress.objective for progress in model.history_])
    assert objectives[-50:].mean() < objectives[:50].mean()


@pytest.fixture(scope="module")
def default(fitted):
    points, _ = fitted
    return PosteriorEmbedding(2, max_components=2, random_state=0).fit(answer(points, questions(1500), 1))


def test_by_default_predictions_are_those_of_the_exact_sampler(fitted, default):
    """Up to what the number of draws and the length of steps do: both are settled to 0.015."""
    points, exact = fitted
    rows = questions(20_000, seed=5)
    given = answer(points, rows, 6)
    assert default.converged_
    assert np.abs(default.predict_proba(rows) - exact.predict_proba(rows)).mean() < 0.015
    assert abs(default.score(given) - exact.score(given)) < 0.005
    assert calibration_error(default.predict_proba(given)[:, 1]) < 0.03
    assert np.median(default.embedding_std_) == pytest.approx(np.median(exact.embedding_std_), rel=0.25)
    assert set(default.diagnostics_) == set(exact.diagnostics_)
    assert len(default.history_) == len(default.draws_) // 4


CREW = np.arange(1500) % 6


@pytest.fixture(scope="module")
def crew(fitted):
    """Answers of six people, of whom the first two toss coins."""
    points, _ = fitted
    rows = answer(points, questions(1500), 1)
    tossed = (CREW < 2) & (np.random.default_rng(0).random(1500) < 0.5)
    named = Comparisons.from_triplets(np.where(tossed[:, None], rows[:, [0, 2, 1]], rows), annotators=CREW)
    return named, PosteriorEmbedding(2, random_state=0).fit(named)


def test_coin_tossers_cost_next_to_nothing(fitted, crew):
    points, _ = fitted
    named, model = crew
    given = answer(points, questions(20_000, seed=5), 6)
    without = PosteriorEmbedding(2, random_state=0).fit(named[CREW >= 2])
    assert model.score(given) > without.score(given) - 0.01
    # The map is about as sure as without them, and surer than where nobody knows who answered.
    unnamed = PosteriorEmbedding(2, random_state=0).fit(named.rows)
    assert np.median(model.embedding_std_) < 1.2 * np.median(without.embedding_std_)
    assert np.median(model.embedding_std_) < np.median(unnamed.embedding_std_)


def test_predictions_are_about_people_as_they_are(crew):
    """A third of the draws answer as a coin tosser would, and the probabilities are those of the study."""
    named, model = crew
    assert np.mean(model.draws_.lapses > 0.5) == pytest.approx(1 / 3, abs=0.15)
    chances = model.predict_proba(named.rows)[:, 1]
    assert np.maximum(chances, 1 - chances).mean() == pytest.approx(np.mean(chances > 0.5), abs=0.05)


def test_new_objects_are_placed_by_someone_who_is_not_distinguished(crew):
    _, model = crew
    model = pickle.loads(pickle.dumps(model))
    before = model.draws_
    model.place(Comparisons.from_triplets([[0, N, 1], [N, 0, 1], [0, N, 2]], annotators=["x", "y", "y"]))
    assert model.n_objects_ == N + 1
    np.testing.assert_array_equal(model.draws_.points[:, :N], before.points)
    np.testing.assert_array_equal(model.draws_.slopes, before.slopes)


def test_a_tiny_budget_leaves_a_result_and_says_so():
    rows = sample_triplets(POINTS, 300, random_state=0)
    solver = Microcanonical(n_steps=100_000_000, tolerance=1e-9)
    began = time.monotonic()
    with pytest.warns(ConvergenceWarning, match="a larger budget"):
        model = PosteriorEmbedding(2, solver=solver, budget=1e-6, random_state=0).fit(rows)
    assert time.monotonic() - began < 30
    assert not model.converged_
    assert np.isfinite(model.embedding_).all()
    assert model.predict_proba(rows).shape == (300, 2)


@QUIET
def test_an_interrupt_of_the_default_leaves_what_was_drawn(monkeypatch):
    plain, walked = microcanonical.Chain._walk, []

    def walk(self, *arguments):
        walked.append(1)
        if len(walked) == 300:
            os.kill(os.getpid(), signal.SIGINT)
        return plain(self, *arguments)

    monkeypatch.setattr(microcanonical.Chain, "_walk", walk)
    rows = sample_triplets(POINTS, 200, random_state=0)
    solver = Microcanonical(2, n_warmup=100, n_steps=10_000_000, thin=10, tolerance=1e-9)
    model = PosteriorEmbedding(2, solver=solver, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(rows)
    assert not model.converged_
    assert model.score(rows) > 0.7


def test_auto_is_microcanonical_at_all_sizes_and_the_others_have_names(monkeypatch):
    small, _ = model_of(sample_triplets(POINTS, 100, random_state=0), 2)
    assert PosteriorEmbedding()._sampler(small, False) == Microcanonical()
    monkeypatch.setattr(microcanonical, "_MUCH_WORK", 199)
    much = PosteriorEmbedding()._sampler(small, False)
    monkeypatch.setattr(microcanonical, "_VERY_MUCH_WORK", 199)
    very_much = PosteriorEmbedding()._sampler(small, False)
    assert Microcanonical().n_steps > much.n_steps > very_much.n_steps  # where each step takes long, fewer of them
    assert PosteriorEmbedding(solver="nuts")._sampler(small, False) == NUTS()
    assert PosteriorEmbedding(solver="variational")._sampler(small, False) == Variational()
    assert PosteriorEmbedding(solver=SHORT)._sampler(small, False) is SHORT


@QUIET
def test_trials_weigh_less_than_independent_answers():
    rows = sample_triplets(POINTS, 200, random_state=0).rows
    alone = Comparisons.from_triplets(rows, n_objects=N)
    together = Comparisons.from_triplets(rows, trials=np.arange(200) // 4, n_objects=N)
    first, second = (
        PosteriorEmbedding(2, solver=SHORT, random_state=0).fit(of).predict_proba(rows)[:, 1].mean()
        for of in (alone, together)
    )
    assert second < first


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_components": 0}, "n_components"),
        ({"solver": "magic"}, "magic"),
        ({"solver": NUTS}, "NUTS"),
        ({"prior": 3}, "prior must be"),
        ({"prior": Prior(centers=(0.0,))}, "a center and a scale for each"),
        ({"prior": Prior(scales=(0.5, 0.5, 1.0, 1.0, 1.5, 0.0, 0.06, 0.5, 0.7))}, "positive scales"),
        ({"prior": Prior(centers=(0.0,) * 8 + (np.nan,))}, "finite"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"budget": 0}, "budget"),
        ({"budget": -1.0}, "budget"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        PosteriorEmbedding(**settings).fit(sample_triplets(POINTS, 50, random_state=0))


def test_weights_that_are_all_zero_are_refused():
    with pytest.raises(ValueError, match="weight"):
        PosteriorEmbedding(2).fit([[0, 1, 2], [0, 2, 1]], sample_weight=[0, 0])


@pytest.mark.parametrize("bad", [{"level": 1.0}, {"level": 0}])
def test_levels_of_ellipses(short, bad):
    with pytest.raises(ValueError, match="between 0 and 1"):
        short.ellipses(**bad)


@pytest.mark.parametrize("k", [0, 2.5])
def test_numbers_of_maps(short, k):
    with pytest.raises(ValueError, match="k must be"):
        short.sample(k)


@QUIET
@pytest.mark.parametrize("solver", [SHORT, Microcanonical(2, n_warmup=100, n_steps=200, thin=10, n_climb=20)])
def test_seeds_and_threads(solver):
    rows = sample_triplets(POINTS, 100, random_state=0)
    one, threads, other = (
        PosteriorEmbedding(2, solver=solver, random_state=seed, n_jobs=n_jobs).fit(rows)
        for seed, n_jobs in ((0, 1), (0, 2), (1, 1))
    )
    np.testing.assert_array_equal(one.draws_.points, threads.draws_.points)
    np.testing.assert_array_equal(one.embedding_, threads.embedding_)
    assert (one.draws_.points != other.draws_.points).all()


@QUIET
def test_data_and_draws_of_one_seed_are_different_streams():
    points = make_gaussian(N, 2, random_state=0)
    rows = sample_triplets(points, 3, random_state=0)
    model = PosteriorEmbedding(2, solver=SHORT, random_state=0).fit(rows)
    seen = np.unique(rows.rows)
    starts = model._posterior.unknowns[0][: 2 * N].reshape(N, 2)
    assert abs(np.corrcoef(np.delete(starts, seen, 0).ravel(), np.delete(points, seen, 0).ravel())[0, 1]) < 0.5


def test_an_interrupt_leaves_what_was_drawn_on_the_estimator(monkeypatch):
    plain, made = nuts._Chain._move, []

    def move(self, step, depth):
        made.append(1)
        if len(made) == 600:
            os.kill(os.getpid(), signal.SIGINT)
        return plain(self, step, depth)

    monkeypatch.setattr(nuts._Chain, "_move", move)
    rows = sample_triplets(POINTS, 200, random_state=0)
    model = PosteriorEmbedding(2, solver=NUTS(2, n_warmup=60, n_draws=100_000, thin=4), random_state=0)
    with pytest.warns(ConvergenceWarning, match="interrupted"), pytest.raises(KeyboardInterrupt):
        model.fit(rows)
    assert not model.converged_
    assert model.embedding_.shape == (N, 2)
    assert model.score(rows) > 0.7


@QUIET
def test_an_interrupt_of_the_search_for_one_map_is_not_swallowed(monkeypatch):
    plain, fits = answering.fit_points, []

    def interrupted(*arguments):
        fitted = plain(*arguments)
        fits.append(fitted)
        return replace(fitted, solution=replace(fitted.solution, outcome=Outcome.INTERRUPTED))

    monkeypatch.setattr(answering, "fit_points", interrupted)
    model = PosteriorEmbedding(2, solver=SHORT, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(sample_triplets(POINTS, 200, random_state=0))
    assert len(fits) == 1
    assert model.embedding_.shape == (N, 2)


def test_one_map_answers_as_draws_of_one_map_do():
    """If all draws are one map, turned or not, that is the map which is found."""
    rows = sample_triplets(POINTS, 400, random_state=0)
    centred = POINTS - POINTS.mean(axis=0)
    turned = np.stack([centred, centred[:, ::-1], -centred]) / centred.std()
    draws = Draws(turned, np.full(3, 20.0), np.full(3, 0.5), np.zeros(3))
    rng = np.random.default_rng(0)
    found, interrupted = distill_posterior(rows.quadruplets, rows.sample_weight, np.zeros(N), draws, 2, rng, 1)
    assert not interrupted
    np.testing.assert_allclose(found.mean(axis=0), 0, atol=1e-9)
    everything = sample_triplets(POINTS).rows
    i, j, k = everything.T
    holds = ((found[i] - found[j]) ** 2).sum(axis=1) < ((found[i] - found[k]) ** 2).sum(axis=1)
    assert np.mean(holds == (predictive_probability(draws, everything) > 0.5)) > 0.97


def across_a_line(seed):
    """Answers about nine objects on a line and two beside it, which are never compared with each other."""
    rng = np.random.default_rng(seed)
    points = np.vstack([np.column_stack([np.linspace(-1.5, 1.5, 9), np.zeros(9)]), [[0.2, 0.9], [-0.3, 1.0]]])
    rows = np.array([rng.choice(11, 3, replace=False) for _ in range(900)])
    return answer(points, rows[~((rows == 9).any(axis=1) & (rows == 10).any(axis=1))], seed)


def test_a_map_that_is_truly_ambiguous_is_reported_and_not_taken_for_chains_that_disagree():
    """Both may lie on one side of the line, or on two: some fits find both, and those say so."""
    found = []
    for seed in range(6):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            # Through a third dimension the two would be one.
            model = PosteriorEmbedding(2, max_components=2, random_state=seed).fit(across_a_line(seed))
        apart = np.linalg.norm(model.draws_.points[:, 9] - model.draws_.points[:, 10], axis=1)
        found.append(bool(model.bimodal_objects_))
        told = [str(warning.message) for warning in caught if "two maps explain" in str(warning.message)]
        assert len(told) == bool(model.bimodal_objects_)
        if model.bimodal_objects_:
            assert set(model.bimodal_objects_) <= {9, 10}
            assert model.converged_
            assert np.percentile(apart, 90) > 1.8 * np.percentile(apart, 10)
            assert "may lie in either of two places; answers that compare them" in told[0]
            break
    assert any(found)


def test_where_answers_decide_no_object_has_two_places(default):
    assert default.bimodal_objects_ == []

"""MLDS against likelihoods written here, planted scales, and what every estimator must do that a scale can do."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_expit
from scipy.stats import chi2, norm
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import KFold, cross_val_score

from nearer import Comparisons
from nearer.data import ComparisonsFile
from nearer.embedding import MLDS
from nearer.embedding.mlds import corrected_quantiles, numbers_of, order_of
from nearer.embedding.storage import load_model, save_model

N = 9
PSI = (np.arange(N) / (N - 1)) ** 1.5
SIGMA = 0.25


def questions(kind, m, n=N, seed=0):
    """Return triads, anchor in the middle, or pairs of intervals that may overlap, as no answer."""
    rng = np.random.default_rng(seed)
    drawn = [rng.choice(n, 3 if kind == "triads" else 4, replace=False) for _ in range(m)]
    return np.sort(drawn, axis=1)[:, [1, 0, 2]] if kind == "triads" else np.array(drawn)


def quadruplets_of(rows):
    return rows if rows.shape[1] == 4 else rows[:, [0, 1, 0, 2]]


def answered(rows, psi=PSI, sigma=SIGMA, seed=1):
    """Return answers of an observer whose scale rises, with Gaussian noise: +1 where the first pair seems nearer."""
    i, j, l, k = psi[quadruplets_of(rows)].T  # noqa: E741
    noise = np.random.default_rng(seed).normal(scale=sigma, size=len(rows))
    return np.where(np.abs(l - k) - np.abs(i - j) + noise > 0, 1, -1)


def with_lapses(y, rate, seed=2):
    """Return answers of which this share is given without regard to the question."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random(len(y)) < rate, rng.choice([-1, 1], len(y)), y)


def people_who_differ(seed, n_people=15, each=30, n=7):
    """Return rows, answers and people, each with a scale, a noise and a lapse rate of their own."""
    rng = np.random.default_rng(seed)
    rows, y, people = questions("triads", n_people * each, n, seed), [], np.repeat(np.arange(n_people), each)
    for person in range(n_people):
        own, psi = rows[people == person], (np.arange(n) / (n - 1)) ** np.exp(0.5 * rng.standard_normal())
        given = answered(own, psi, 0.2 * np.exp(0.4 * rng.standard_normal()), [seed, person])
        y.append(with_lapses(given, rng.uniform(0, 0.2), [seed, person, 1]))
    return rows, np.concatenate(y), people


def likeliest(rows, y, log_chance, weights=None, n=N, sigma=None):
    """Return psi and sigma of a plain fit: psi_1 .. psi_{n-2} and log sigma by BFGS, the ends at 0 and 1.

    With ``sigma``, that is the noise, and psi alone is fitted.
    """
    ends = np.sort(quadruplets_of(rows).reshape(-1, 2, 2), axis=2)
    weights = np.ones(len(rows)) if weights is None else weights

    def price(parameters):
        if sigma is not None:
            parameters = np.append(parameters[:-1], np.log(sigma))
        psi = np.array([0.0, *parameters[:-1], 1.0])
        near, far = (psi[ends[..., 1]] - psi[ends[..., 0]]).T
        return -np.sum(weights * log_chance(y * (far - near) / np.exp(parameters[-1])))

    start = np.array([*np.linspace(0, 1, n)[1:-1], np.log(0.3)])
    found = minimize(price, start, method="BFGS", options={"gtol": 1e-5})
    return np.array([0.0, *found.x[:-1], 1.0]), np.exp(found.x[-1]), found.fun


@pytest.fixture(params=["triads", "quadruples"])
def rows(request):
    return questions(request.param, 400)


@pytest.fixture(scope="module")
def triads():
    return questions("triads", 400)


@pytest.fixture(scope="module")
def fitted(triads):
    return MLDS(random_state=0).fit(triads, answered(triads))


@pytest.mark.parametrize(("link", "log_chance"), [("probit", norm.logcdf), ("logit", log_expit)])
def test_it_is_the_maximum_of_the_likelihood(rows, link, log_chance):
    y = answered(rows)
    model = MLDS(link=link, lapse=0).fit(rows, y)
    psi, sigma, price = likeliest(rows, y, log_chance)
    np.testing.assert_allclose(model.scale_, psi, atol=1e-6)
    assert model.sigma_ == pytest.approx(sigma, abs=1e-6)
    assert model.deviance_ == pytest.approx(2 * price, rel=1e-9)
    assert model.aic_ == pytest.approx(2 * price + 2 * (N - 1), rel=1e-9)
    assert model.explained_deviance_ == pytest.approx(1 - price / (len(rows) * np.log(2)))
    assert model.converged_
    assert len(model.history_) == model.n_iter_ + 1


@pytest.mark.parametrize("shape", [lambda x: x**2, np.sqrt, lambda x: 3 * x**2 - 2 * x**3], ids=["2", "root", "s"])
@pytest.mark.parametrize("kind", ["triads", "quadruples"])
def test_a_planted_scale_is_recovered(kind, shape):
    psi, rows = shape(np.arange(10) / 9), questions(kind, 300, 10)
    model = MLDS().fit(rows, answered(rows, psi, 0.15))
    assert np.corrcoef(model.scale_, psi)[0, 1] >= 0.99
    assert model.sigma_ == pytest.approx(0.15, rel=0.35)


def test_a_scale_that_turns_is_found():
    psi = np.array([0.0, 0.5, 0.8, 0.9, 0.8, 0.9, 1.0])
    rows = questions("quadruples", 3000, 7)
    ends = np.sort(rows.reshape(-1, 2, 2), axis=2)
    near, far = (psi[ends[..., 1]] - psi[ends[..., 0]]).T
    y = np.where(far - near + np.random.default_rng(0).normal(scale=0.2, size=len(rows)) > 0, 1, -1)
    model = MLDS().fit(rows, y)
    assert model.scale_[4] < model.scale_[3]
    np.testing.assert_allclose(model.scale_, psi, atol=0.06)
    margins = model.decision_function(rows)
    near, far = (model.scale_[ends[..., 1]] - model.scale_[ends[..., 0]]).T
    np.testing.assert_allclose(margins, far - near, atol=1e-12)  # signed, as in the likelihood


def test_the_map_is_the_scale_and_its_ends_are_0_and_1(fitted):
    assert fitted.scale_[0] == 0
    assert fitted.scale_[-1] == 1
    assert fitted.embedding_.shape == (N, 1)
    np.testing.assert_allclose(fitted.embedding_[:, 0], fitted.scale_ - fitted.scale_.mean())
    np.testing.assert_array_equal(fitted.order_, np.arange(N))


def test_predictions_agree_with_each_other(fitted, triads):
    y = answered(triads)
    margins, chances = fitted.decision_function(triads), fitted.predict_proba(triads)
    np.testing.assert_allclose(chances[:, 1], norm.cdf(margins / fitted.sigma_))
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    np.testing.assert_array_equal(fitted.predict(triads), np.where(margins >= 0, 1, -1))
    assert fitted.score(triads, y) == pytest.approx(np.mean(margins * y > 0) + np.mean(margins == 0) / 2)
    assert -2 * np.log(np.where(y > 0, *chances.T[::-1])).sum() == pytest.approx(fitted.deviance_)
    with pytest.raises(NotFittedError):
        MLDS().predict(triads)


def test_which_way_round_a_question_is_written_plays_no_part(rows):
    y, turned = answered(rows), quadruplets_of(rows)[:, [2, 3, 1, 0]]
    np.testing.assert_array_equal(MLDS().fit(rows, y).scale_, MLDS().fit(turned, -y).scale_)
    swap = y < 0
    as_written = np.where(swap[:, None], turned, quadruplets_of(rows))
    np.testing.assert_array_equal(MLDS().fit(rows, y).scale_, MLDS().fit(as_written).scale_)


def test_weights_are_repeated_rows_and_no_rows(rows):
    y = answered(rows)
    weights = np.r_[np.full(50, 3.0), np.zeros(40), np.ones(len(rows) - 90)]
    repeated = np.repeat(np.arange(len(rows)), weights.astype(int))
    weighted, plain = MLDS().fit(rows, y, weights), MLDS().fit(rows[repeated], y[repeated])
    np.testing.assert_array_equal(weighted.scale_, plain.scale_)
    np.testing.assert_array_equal(weighted.standard_errors_, plain.standard_errors_)
    assert weighted.goodness_of_fit(20, 0) == plain.goodness_of_fit(20, 0)
    half = np.random.default_rng(0).random(len(rows)) + 0.5
    psi = likeliest(rows, y, norm.logcdf, half)[0]
    np.testing.assert_allclose(MLDS().fit(rows, y, half).scale_, psi, atol=2e-5)


def test_labels_and_orders(fitted, triads):
    y, names = answered(triads), np.array(["black", "soot", "slate", "iron", "grey", "ash", "fog", "snow", "white"])
    model = MLDS(order=list(names)).fit(names[triads], y)
    assert sorted(names) == model.objects_.tolist()
    np.testing.assert_allclose(model.scale_[np.argsort(np.argsort(names))], fitted.scale_)
    assert model.objects_[model.order_].tolist() == names.tolist()
    np.testing.assert_allclose(model.predict_proba(names[triads]), fitted.predict_proba(triads))
    # Numbers are in the order of their size, also as text.
    sizes = (np.arange(N) * 5).astype(str)
    model = MLDS().fit(sizes[triads], y)
    assert model.objects_.tolist() != sizes.tolist()
    assert model.objects_[model.order_].tolist() == sizes.tolist()
    np.testing.assert_allclose(model.scale_[model.order_], fitted.scale_)
    greys = np.array([f"grey {level}%" for level in range(4, 4 + N)])
    model = MLDS().fit(greys[triads], y)
    assert model.objects_[model.order_].tolist() == greys.tolist()
    with pytest.warns(UserWarning, match=r"in the order 'ash', 'black', 'fog', \.\.\.; say which is right by order="):
        MLDS().fit(names[triads], y)
    backwards = MLDS(order=np.arange(N)[::-1]).fit(triads, y)
    np.testing.assert_allclose(backwards.scale_, 1 - fitted.scale_, atol=1e-9)
    assert backwards.sigma_ == pytest.approx(fitted.sigma_)


def test_standard_errors_are_the_scatter_of_fits():
    rows = questions("triads", 600)
    fits = [MLDS().fit(rows, answered(rows, seed=seed)) for seed in range(120)]
    scatter = np.std([fit.scale_ for fit in fits], axis=0)
    claimed = np.mean([fit.standard_errors_ for fit in fits], axis=0)
    np.testing.assert_allclose(claimed[1:-1], scatter[1:-1], rtol=0.3)
    np.testing.assert_allclose(claimed[[0, -1]], 0, atol=1e-12)


@pytest.mark.parametrize("n_studies", [6, pytest.param(16, marks=pytest.mark.slow)])
def test_intervals_cover(n_studies):
    covered = []
    for seed in range(n_studies):
        rows = questions("triads", 600, seed=seed)
        model = MLDS().fit(rows, answered(rows, seed=seed + 100))
        found = model.intervals(0.9, n_resamples=50, random_state=seed)
        covered.append((found.lower <= PSI) & (found.upper >= PSI))
    assert 0.78 < np.mean(np.array(covered)[:, 1:-1]) < 0.98


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_the_noise_has_the_values_that_a_likelihood_ratio_does_not_reject(rows, level):
    y = answered(rows)
    ends = MLDS(lapse=0).fit(rows, y).intervals(level, n_resamples=10).sigma
    best = likeliest(rows, y, norm.logcdf)[2]
    for sigma in ends:
        ratio = 2 * (likeliest(rows, y, norm.logcdf, sigma=sigma)[2] - best)
        assert ratio == pytest.approx(chi2.ppf(level, 1), rel=0.02)


def test_answers_without_noise_leave_it_open_to_0(triads):
    with pytest.warns(ConvergenceWarning, match="a larger one is always likelier"):
        model = MLDS(lapse=0).fit(triads[:40], answered(triads[:40], sigma=1e-9))
    low, high = model.intervals(n_resamples=10).sigma
    assert low == 0
    assert high > model.sigma_


def test_intervals_are_as_wide_as_the_standard_errors(fitted):
    found = fitted.intervals(n_resamples=120)
    np.testing.assert_allclose((found.upper - found.lower)[1:-1], 2 * 1.96 * fitted.standard_errors_[1:-1], rtol=0.35)
    assert found.sigma[0] < fitted.sigma_ < found.sigma[1]
    again = fitted.intervals(n_resamples=120, random_state=0)
    np.testing.assert_array_equal(found.lower, again.lower)
    narrow = fitted.intervals(0.5, n_resamples=120)
    assert (narrow.upper - narrow.lower < found.upper - found.lower)[1:-1].all()


def test_lapses_are_not_taken_for_noise():
    rows = questions("triads", 3000)
    y = with_lapses(answered(rows, sigma=0.1), 0.1)
    model, without = MLDS().fit(rows, y), MLDS(lapse=0).fit(rows, y)
    assert model.lapse_ == pytest.approx(0.1, abs=0.03)
    assert model.sigma_ == pytest.approx(0.1, rel=0.2)
    assert without.sigma_ > 0.15
    assert without.lapse_ == 0
    assert model.aic_ < without.aic_
    assert model.predict_proba(rows).min() == pytest.approx(model.lapse_ / 2, abs=0.01)
    found = model.intervals(n_resamples=40, random_state=0)
    assert 0.05 < found.lapse[0] < model.lapse_ < found.lapse[1] < 0.15
    assert MLDS(lapse=0.1).fit(rows, y).sigma_ == pytest.approx(model.sigma_, rel=0.1)


@pytest.mark.parametrize("seed", range(6))
def test_the_lapse_rate_is_the_likeliest(seed):
    """The likelihood may have several maxima: no fixed rate does better than the one that was found."""
    rows = questions("triads", 200, 8, seed)
    sigma, rate = (0.1, 0.25)[seed % 2], (0.0, 0.03, 0.1)[seed % 3]
    y = with_lapses(answered(rows, (np.arange(8) / 7) ** 1.5, sigma, seed + 10), rate, seed)
    deviances = [MLDS(lapse=lapse).fit(rows, y).deviance_ for lapse in (0, 0.01, 0.03, 0.06, 0.1, 0.15, 0.25)]
    assert MLDS().fit(rows, y).deviance_ <= min(deviances) + 1e-6


def test_the_interval_of_the_lapse_rate_ends_where_a_likelihood_ratio_test_rejects():
    rows = questions("triads", 400)
    y = with_lapses(answered(rows, sigma=0.1), 0.1)
    model = MLDS().fit(rows, y)
    low, high = model.intervals(n_resamples=10, random_state=0).lapse
    assert 0 < low < model.lapse_ < high
    for end in (low, high):
        assert MLDS(lapse=end).fit(rows, y).deviance_ - model.deviance_ == pytest.approx(3.84, abs=0.05)
    assert MLDS(lapse=0.1).fit(rows, y).intervals(n_resamples=10, random_state=0).lapse == (0.1, 0.1)
    without = MLDS().fit(rows, answered(rows, sigma=0.1, seed=3))
    low, high = without.intervals(n_resamples=10, random_state=0).lapse
    assert low <= without.lapse_ < high < 0.1
    assert low == 0 if without.lapse_ == 0 else low >= 0


def test_without_lapses_the_rate_may_be_0(rows):
    fits = [MLDS().fit(rows, answered(rows, seed=seed)) for seed in range(10)]
    at_bound = [model for model in fits if model.lapse_ == 0]
    assert len(at_bound) >= 2
    for seed, model in enumerate(fits):
        if model.lapse_ == 0:
            np.testing.assert_array_equal(model.scale_, MLDS(lapse=0).fit(rows, answered(rows, seed=seed)).scale_)


def test_intervals_follow_people_where_enough_are_known():
    rows, y, people = people_who_differ(0)
    known = Comparisons.from_triplets(rows, y, annotators=people)
    model = MLDS(random_state=0).fit(known)
    by_people = model.intervals(n_resamples=100)
    by_trials = model.intervals(n_resamples=100, by="trials")
    assert (by_people.by, by_trials.by) == ("annotators", "trials")
    wider = (by_people.upper - by_people.lower)[1:-1].mean() / (by_trials.upper - by_trials.lower)[1:-1].mean()
    assert wider > 1.3
    few = Comparisons.from_triplets(rows, y, annotators=people % 3)
    assert MLDS(random_state=0).fit(few).intervals(n_resamples=10).by == "trials"
    assert MLDS(random_state=0).fit(rows, y).intervals(n_resamples=10).by == "trials"
    with pytest.raises(ValueError, match="do not say who answered"):
        MLDS().fit(rows, y).intervals(by="annotators")


@pytest.mark.parametrize("n_studies", [12, pytest.param(30, marks=pytest.mark.slow)])
def test_p_values_of_answers_of_the_model_are_uniform(n_studies):
    found = []
    for seed in range(n_studies):
        rows = questions("quadruples", 300, 6, seed)
        model = MLDS().fit(rows, answered(rows, np.arange(6) / 5, 0.4, seed=seed + 100))
        found.append(model.goodness_of_fit(19, seed))
    additivity, lapse = np.array([(fit.additivity_p, fit.lapse_p) for fit in found]).T
    # The mean of so many uniform numbers lies farther from 0.5 one time in ten thousand.
    assert abs(additivity.mean() - 0.5) < 0.2 * np.sqrt(30 / n_studies)
    assert np.mean(additivity <= 0.1) <= 0.3
    assert np.mean(lapse <= 0.05) <= 0.2
    assert np.mean(lapse == 1) >= 0.2  # the rate is 0


def test_intervals_that_do_not_add_up_do_not_fit():
    """Objects on three quarters of a circle: the ends are nearer to each other than to the middle."""
    rows = questions("quadruples", 600, 8)
    ends = np.sort(rows.reshape(-1, 2, 2), axis=2)
    chords = np.sin(3 / 4 * np.pi * (ends[..., 1] - ends[..., 0]) / 7)
    noise = np.random.default_rng(0).normal(scale=0.15, size=len(rows))
    found = MLDS().fit(rows, np.where(chords[:, 1] - chords[:, 0] + noise > 0, 1, -1)).goodness_of_fit(99, 0)
    assert found.additivity_p == 0.01
    assert found.n_simulations == 99


def test_lapses_are_found():
    rows = questions("triads", 600)
    found = MLDS().fit(rows, with_lapses(answered(rows, sigma=0.1), 0.1)).goodness_of_fit(10, 0)
    assert found.lapse_p < 0.001
    assert found.lapse_ratio > 10


def test_the_score_statistic_is_that_of_a_regression():
    """With Pearson residuals e and columns A: what a least squares fit to e explains with lengths beyond without."""
    rows = questions("quadruples", 300, 6)
    model = MLDS(lapse=0).fit(rows, answered(rows, np.arange(6) / 5, 0.4))
    distinct, _, problem, theta = model._solved()
    lengths = distinct.intervals()
    assert (lengths.sum(axis=1) == 0).all()
    chance = norm.cdf(problem.eta(theta))
    deviation = np.sqrt(problem.totals * chance * (1 - chance))
    residuals = (problem.farther - problem.totals * chance) / deviation
    weights = problem.totals * norm.pdf(problem.eta(theta)) / deviation

    def explained(columns):
        return np.sum((columns @ np.linalg.lstsq(columns, residuals)[0]) ** 2)

    both = weights[:, None] * np.column_stack([problem.design, lengths])
    expected = explained(both) - explained(both[:, : problem.n_steps])
    assert model.goodness_of_fit(10, 0).additivity == pytest.approx(expected, rel=1e-6)


def test_answers_without_errors_are_held_by_a_ridge():
    rows = questions("triads", 300)
    with pytest.warns(ConvergenceWarning, match="small ridge holds it"):
        model = MLDS().fit(rows, answered(rows, sigma=1e-9))
    assert np.corrcoef(model.scale_, PSI)[0, 1] >= 0.99
    assert np.isfinite(model.standard_errors_).all()
    assert model.score(rows, answered(rows, sigma=1e-9)) > 0.98
    # One object that every answer puts farther out is enough.
    some = np.concatenate([questions("triads", 300, N - 1), [[7, 6, 8], [6, 5, 8], [7, 3, 8]]])
    with pytest.warns(ConvergenceWarning, match="small ridge holds it"):
        model = MLDS().fit(some, np.r_[answered(some[:-3]), 1, 1, 1])
    assert np.isfinite(model.scale_).all()


def test_questions_that_leave_steps_open_are_reported():
    with pytest.warns(ConvergenceWarning, match="leave open 1 of the 2 steps"):
        model = MLDS().fit([[1, 0, 2]] * 3 + [[1, 2, 0]])
    assert model.scale_[0] == 0 < model.scale_[1] < 0.5
    assert model.scale_[2] == 1


def test_a_wrong_order_is_reported(triads):
    with pytest.warns(ConvergenceWarning, match="8, the last in the order, does not lie above 0, the first"):
        model = MLDS().fit(questions("quadruples", 500), -answered(questions("quadruples", 500)))
    assert model.scale_.min() == -1
    assert model.sigma_ > 0
    cancelling = np.concatenate([triads, triads[:, [0, 2, 1]]])
    with pytest.warns(ConvergenceWarning, match="cancel each other out"):
        model = MLDS().fit(cancelling)
    np.testing.assert_allclose(model.predict_proba(triads), 0.5)


def test_objects_in_no_comparison_lie_between_their_neighbours(fitted, triads):
    order = np.array([0, 1, 2, 3, 5, 6, 7, 8, 9])  # nobody asks about 4, nor about 10
    model = MLDS(n_objects=11).fit(order[triads], answered(triads))
    np.testing.assert_allclose(model.scale_[order], fitted.scale_)
    assert model.scale_[4] == pytest.approx(model.scale_[[3, 5]].mean())
    assert model.scale_[10] == 1
    assert np.isnan(model.standard_errors_[[4, 10]]).all()
    assert np.isfinite(cross_val_score(MLDS(n_objects=11), order[triads], answered(triads), cv=KFold(3))).all()
    assert model.intervals(n_resamples=20).lower.shape == (11,)


def test_new_objects_take_their_places():
    rows = questions("quadruples", 4000)
    y, old = answered(rows), (rows != 4).all(axis=1)
    kept = np.array([0, 1, 2, 3, 5, 6, 7, 8])
    labels = np.array([f"{i}" for i in range(N)])
    model = MLDS().fit(labels[rows[old]], y[old])
    before = model.scale_.copy()
    point = model.place(labels[rows[~old]], y[~old])
    assert model.objects_.tolist() == [*labels[kept], "4"]
    np.testing.assert_array_equal(model.scale_[:-1], before)
    assert model.scale_[-1] == pytest.approx(PSI[4], abs=0.03)
    assert point[0, 0] - model.embedding_[0, 0] == pytest.approx(model.scale_[-1])
    assert model.score(labels[rows], y) > 0.8
    assert model.intervals(n_resamples=20).upper.shape == (N,)
    together = MLDS().fit(labels[rows], y)
    again = MLDS().fit(labels[rows[old]], y[old]).partial_fit(labels[rows[~old]], y[~old])
    np.testing.assert_allclose(again.scale_[again.order_], together.scale_, atol=1e-7)


def test_an_object_beyond_the_end_keeps_the_unit_and_has_no_intervals():
    rows = questions("quadruples", 2000)
    y, old = answered(rows), (rows != N - 1).all(axis=1)
    model = MLDS(random_state=0).fit(rows[old], y[old])
    model.place(rows[~old], y[~old])
    assert model.scale_[N - 2] == 1
    assert model.scale_[N - 1] == pytest.approx(1 / PSI[N - 2], abs=0.05)
    with pytest.raises(ValueError, match="beyond an end of the scale"):
        model.intervals()
    again = model.partial_fit(rows[:1], y[:1])
    assert again.scale_[N - 1] == 1
    assert again.intervals(n_resamples=10).upper.shape == (N,)


def test_the_order_of_names_does_not_place_new_ones(triads):
    names = np.array([*"abcdefghi"])
    with pytest.warns(UserWarning, match="in the order 'a', 'b', 'c'"):
        model = MLDS().fit(names[triads], answered(triads))
    with pytest.raises(ValueError, match=r"set_params\(order="):
        model.place([("b", "a", "bb"), ("bb", "b", "i")])
    model.set_params(order=["a", "b", "bb", *names[2:]])
    model.place([("b", "a", "bb"), ("b", "bb", "a"), ("bb", "b", "i")])
    assert np.isfinite(model.scale_).all()
    assert model.objects_[model.order_].tolist() == ["a", "b", "bb", *names[2:]]


def test_settings_survive_and_models_are_stored(fitted, triads, tmp_path):
    model = MLDS(order=[str(i) for i in range(N)], link="logit", random_state=3)
    settings = model.get_params()
    first = model.fit_transform(triads.astype(str), answered(triads))
    assert model.get_params() == settings
    np.testing.assert_array_equal(clone(model).fit(triads.astype(str), answered(triads)).embedding_, first)
    again = load_model(save_model(model, tmp_path))
    np.testing.assert_array_equal(again.scale_, model.scale_)
    np.testing.assert_array_equal(again.predict_proba(triads.astype(str)), model.predict_proba(triads.astype(str)))
    assert again.goodness_of_fit(10) == model.goodness_of_fit(10)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"n_components": 2}, "n_components must be 1, got 2: MLDS finds a scale"),
        ({"n_components": 0}, "n_components"),
        ({"lapse": 1.0}, "lapse must be a rate from 0 to below 1, or None to estimate it; got 1.0"),
        ({"lapse": -0.1}, "lapse must be a finite number >= 0"),
        ({"link": "cauchy"}, "link must be 'probit' or 'logit', got 'cauchy'"),
        ({"order": [0, 1, 2]}, "order lacks 6 objects, the first is 3"),
        ({"order": [0, 1, 1]}, "twice"),
        ({"order": "ascending"}, "must be a sequence of labels"),
    ],
)
def test_bad_settings_are_refused(settings, words, triads):
    with pytest.raises(ValueError, match=words):
        MLDS(**settings).fit(triads)


def test_bad_numbers_are_refused(fitted, triads, tmp_path):
    with pytest.raises(ValueError, match="level"):
        fitted.intervals(level=95)
    with pytest.raises(ValueError, match="n_resamples must be an integer >= 10"):
        fitted.intervals(n_resamples=1)
    with pytest.raises(ValueError, match="n_simulations must be an integer >= 10"):
        fitted.goodness_of_fit(0)
    with pytest.raises(ValueError, match=r"9.*n_objects"):
        fitted.predict([[0, 1, N]])
    np.save(tmp_path / "rows.npy", np.ascontiguousarray(triads))
    with pytest.raises(ValueError, match="in memory"):
        MLDS().fit(ComparisonsFile(tmp_path / "rows.npy"))
    k = np.arange(40_000)
    many = Comparisons.from_triplets(np.column_stack([k % 4000, (k + 1) % 4000, (k + 2 + k // 4000) % 4000]))
    with pytest.raises(ValueError, match="MLDS is for some tens"):
        MLDS().fit(many)


def test_orders_and_numbers_of_labels():
    assert order_of(np.array(["10", "2", "30"]), None).tolist() == [1, 0, 2]
    assert order_of(np.array(["dark", "light", "mid"]), ["dark", "mid", "light"]).tolist() == [0, 2, 1]
    assert numbers_of(["gray 10", "gray 9"]).tolist() == [10, 9]
    assert numbers_of(["gray", "white"]) is None


def test_quantiles_around_their_median_need_no_correction():
    ends = corrected_quantiles(np.arange(101.0)[:, None], np.array([50.0]), 0.9)
    np.testing.assert_allclose(np.ravel(ends), [5, 95])

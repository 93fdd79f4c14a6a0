"""What the next answers would bring: against algebra, integrals, and posteriors of answers that were then given."""

import sys

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm

from nearer import Comparisons
from nearer.datasets import make_gaussian, sample_triplets
from nearer.design import Outlook, outlook
from nearer.design.active.errors import HeldOutError, error_reduction, map_errors
from nearer.design.active.lookahead import (
    DrawnModel,
    Lookahead,
    WeightedComparisons,
    draw_preposterior,
    log_odds,
    log_odds_jacobian,
)
from nearer.design.active.pool import Pool, form_of
from nearer.embedding import STE, PosteriorEmbedding
from nearer.model import AnswerModel
from nearer.sampling import Microcanonical
from nearer.sampling.model import Draws
from nearer.sampling.summaries import predictive_probability

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # draws are few

QUICK = Microcanonical(n_chains=2, n_warmup=200, n_steps=1000, thin=10, n_starts=2, n_climb=30)
MODULE = sys.modules[outlook.__module__]
TRUTH = DrawnModel(np.random.default_rng(0).normal(size=(5, 2)), AnswerModel(slope=4.0, offset=0.2, lapse=0.05))


def quadruplets(n, m, seed):
    rng = np.random.default_rng(seed)
    return np.array([rng.permutation(n)[:3] for _ in range(m)])[:, [0, 1, 0, 2]]


@pytest.fixture(scope="module")
def study():
    answers = sample_triplets(make_gaussian(12, 2, 0.25, random_state=3), 100, logistic_slope=10.0, random_state=3)
    return answers, PosteriorEmbedding(2, solver=QUICK, random_state=0).fit(answers)


def test_derivatives_of_log_odds():
    rows, step = np.array([[0, 1, 0, 2], [3, 4, 1, 2]]), 1e-6
    slopes = log_odds_jacobian(TRUTH, rows).toarray()
    for place in range(10):
        moved = [TRUTH.points.copy() for _ in range(2)]
        for points, by in zip(moved, (step, -step), strict=True):
            points.flat[place] += by
        up, down = (log_odds(TRUTH._replace(points=points), rows) for points in moved)
        np.testing.assert_allclose(slopes[:, place], (up - down) / (2 * step), rtol=1e-6, atol=1e-8)


def test_preposterior_draws_have_the_exact_covariances():
    told, new, tested = (quadruplets(5, m, seed) for m, seed in ((60, 1), (40, 2), (6, 3)))
    weights = np.linspace(0.5, 2, 40)
    known, future = WeightedComparisons(told, np.ones(60)), WeightedComparisons(new, weights)
    rng = np.random.default_rng(4)
    deviations, learned, squares_now, squares_then = draw_preposterior(TRUTH, known, future, tested, 40_000, rng)

    def information(rows, each):
        total = np.zeros((10, 10))
        for odds, slope, weight in zip(*(part for part in _dense(rows)), each, strict=True):
            chance = 0.025 + 0.95 * expit(odds)
            rate = 0.95 * expit(odds) * expit(-odds)
            total += weight * rate**2 / (chance * (1 - chance)) * np.outer(slope, slope)
        return total

    before = np.diag(np.tile(1 / TRUTH.points.var(axis=0), 5)) + information(told, np.ones(60))
    after = before + information(new, weights)
    slopes = _dense(tested)[1]
    now, left = (slopes @ np.linalg.inv(each) @ slopes.T for each in (before, after))
    scale = np.abs(now).max()
    np.testing.assert_allclose(np.cov(deviations.T), now, atol=0.04 * scale)
    np.testing.assert_allclose(np.cov(learned.T), now - left, atol=0.04 * scale)
    np.testing.assert_allclose(np.cov((deviations - learned).T), left, atol=0.04 * scale)
    assert (squares_then < squares_now).all()


def _dense(rows):
    return log_odds(TRUTH, rows), log_odds_jacobian(TRUTH, rows).toarray()


def test_similarity_transformations_are_no_displacement():
    nothing = WeightedComparisons(np.empty((0, 4), int), np.empty(0))
    _, learned, now, _ = draw_preposterior(
        TRUTH, nothing, nothing, quadruplets(5, 2, 0), 20_000, np.random.default_rng(0)
    )
    # Only the prior is left: of 10 directions, 4 are similarities, and the rest hold their share of the variance.
    assert 0.4 < now.sum() / (5 * TRUTH.points.var(axis=0).sum()) < 0.7
    assert (learned == 0).all()


def test_error_on_answers_is_floor_and_excess():
    rng = np.random.default_rng(0)
    odds, lapses = rng.normal(size=(30, 1)) + 2 * rng.normal(size=(30, 200)), rng.uniform(0, 0.2, size=30)
    chances = (lapses[:, None] / 2 + (1 - lapses[:, None]) * expit(odds)).mean(axis=0)
    _, floor, excess = map_errors(chances > 0.5, odds, lapses)
    assert np.isclose((floor + excess).mean(), np.minimum(chances, 1 - chances).mean())


@pytest.mark.parametrize(("mean", "deviation", "left"), [(0.5, 1.0, 0.5), (2.0, 1.5, 0.8), (0.1, 3.0, 0.2)])
def test_error_reduction_against_an_integral(mean, deviation, left):
    rng = np.random.default_rng(0)
    k = 200_000
    learned = np.sqrt(1 - left) * rng.standard_normal((k, 1))
    away = learned + np.sqrt(left) * rng.standard_normal((k, 1))
    odds = mean + deviation * np.array([[-1.0], [1.0]])  # two draws of this mean and deviation
    truth, excess = error_reduction(odds, 0.0, away, learned)

    def wrong(z):
        moved = mean + deviation * np.sqrt(1 - left) * z
        return norm.cdf(-abs(moved) / (deviation * np.sqrt(left))) * norm.pdf(z)

    kink = -mean / (deviation * np.sqrt(1 - left))
    then = quad(wrong, -8, kink)[0] + quad(wrong, kink, 8)[0]
    assert np.isclose(truth.mean(), 1 - then / norm.cdf(-mean / deviation), atol=0.015)
    assert excess.mean() > truth.mean()  # what is wrong by much is mended first


@pytest.mark.parametrize("kind", ["triplet", "odd-one-out", "2 of 4"])
def test_future_questions_of_every_kind(kind):
    rng = np.random.default_rng(0)
    draws = Draws(rng.normal(size=(30, 7, 2)), np.full(30, 5.0), np.full(30, 0.1), np.full(30, 0.02))
    ahead = Lookahead(draws, Pool(form_of(kind), 7), rng)
    future, counts = ahead.next_questions(60, "information")
    assert np.isclose(counts.sum(), 60)
    told = ahead.simulate(future, counts, 0)
    odds = log_odds(ahead.truth(0), told.rows)
    assert (odds > 0).mean() > 0.6  # people say what they see
    assert len(ahead.next_questions(60, "random")[0]) == 60


def test_chosen_questions_bring_more_than_random_ones_and_many_more_than_few(study):
    answers, model = study
    chosen, drawn = (outlook(model, answers, 60, choose=choose, random_state=1) for choose in ("information", "random"))
    assert np.isclose(chosen.error_now, drawn.error_now, atol=0.01)
    assert chosen.truth_then < drawn.truth_then < drawn.truth_now
    assert chosen.ellipse_then < drawn.ellipse_then < drawn.ellipse_now
    for each in (chosen, drawn):
        assert each.floor < each.error_then < each.error_now
        assert each.gain_low < each.gain < each.gain_high
        assert each.error_low < each.error_now < each.error_high


def test_gains_match_posteriors_of_simulated_answers(study):
    """Some draws are the truth in turn: they answer new questions, and a posterior is fitted to all answers."""
    answers, model = study
    rng = np.random.default_rng(5)
    tested, n_new = quadruplets(12, 1000, 6)[:, [0, 1, 3]], 400
    gains = []
    before = predictive_probability(model.draws_, tested) > 0.5
    for number in np.linspace(0, len(model.draws_) - 1, 5).astype(int):
        truth = model.draws_.one(number)
        rows = quadruplets(12, n_new, rng.integers(1000))[:, [0, 1, 3]]
        held = rng.random(n_new) < predictive_probability(truth, rows)
        rows = np.where(held[:, None], rows, rows[:, [0, 2, 1]])
        more = answers + Comparisons.from_triplets(rows, objects=answers.objects)
        after = PosteriorEmbedding(2, solver=QUICK, random_state=0).fit(more)
        right = log_odds(Lookahead(truth, Pool(form_of("triplet"), 12), rng).truth(0), tested[:, [0, 1, 0, 2]]) > 0
        gains.append((before != right).mean() - ((predictive_probability(after.draws_, tested) > 0.5) != right).mean())
    found = outlook(model, answers, n_new, choose="random", random_state=0)
    assert 0.5 < (found.truth_now - found.truth_then) / np.mean(gains) < 2


def test_map_of_fewer_dimensions_than_the_draws(study, monkeypatch):
    answers, _ = study
    model = PosteriorEmbedding(max_components=4, solver=QUICK, random_state=0).fit(answers)
    found = outlook(model, answers, random_state=0)
    assert model.embedding_.shape[1] < model.draws_.points.shape[2]
    assert found.n_answers_more == 20
    assert found.ellipse_then < found.ellipse_now
    monkeypatch.setattr(MODULE, "_MANY_COORDINATES", 24)  # of 48: the axes of the map alone
    fewer = outlook(model, answers, random_state=0)
    assert fewer.truth_now == found.truth_now
    assert 0.5 < fewer.gain / found.gain < 2
    monkeypatch.setattr(MODULE, "_MAX_COORDINATES", 12)
    with pytest.raises(ValueError, match="fit a map of fewer objects"):
        outlook(model, answers, random_state=0)


def an_outlook(**changed):
    figures = {
        "n_answers_now": 600, "n_answers_more": 300, "error_now": 0.123, "error_then": 0.112, "error_low": 0.11,
        "error_high": 0.14, "gain_low": 0.004, "gain_high": 0.019, "floor": 0.1, "truth_now": 0.05, "truth_then": 0.03,
        "ellipse_now": 0.2, "ellipse_then": 0.17,
    }  # fmt: skip
    return Outlook(**{**figures, **changed})


def test_recommendations_and_their_reasons():
    assert an_outlook().recommendation == "go on"
    small = an_outlook(error_then=0.121)
    assert small.recommendation == "stop"
    assert "0.023 could be gained at most" in small.reason
    noise = an_outlook(floor=0.12, error_then=0.121)
    assert noise.recommendation == "stop"
    assert "noise of people" in noise.reason
    assert an_outlook(min_gain=0.02).recommendation == "stop"
    assert "by 0.004 to 0.019 in 8 of 10 cases" in str(an_outlook())
    assert "by 0.019 at most in 9 of 10 cases" in str(an_outlook(gain_low=-0.001))
    assert "ellipses" not in str(an_outlook(ellipse_now=None, ellipse_then=None))
    assert an_outlook().to_dict()["recommendation"] == "go on"


def test_the_recommendation_does_not_depend_on_the_horizon():
    """What is above the floor falls like one over the answers; sizes that lie on that curve say the same."""
    near, far = (
        an_outlook(n_answers_more=more, floor=0.1, error_now=0.14, error_then=0.1 + 0.04 * 600 / (600 + more))
        for more in (30, 6000)
    )
    assert near.gain < 0.005 < far.gain
    assert near.gain_of_a_fifth == pytest.approx(0.04 * (1 - 1 / 1.2))
    assert far.gain_of_a_fifth == pytest.approx(near.gain_of_a_fifth)
    assert near.recommendation == far.recommendation == "go on"


def test_an_unexpected_held_out_error_is_a_warning():
    fits, worse = (HeldOutError.of(np.repeat([1.0, 0.0], sizes)) for sizes in ((12, 88), (40, 60)))
    assert an_outlook(held_out=fits).warning is None
    assert "erred more than the posterior expects, 0.40" in str(an_outlook(held_out=worse))
    assert an_outlook(held_out=worse).to_dict()["held_out"]["error"] == 0.4


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_answers": 0}, "n_answers must be an integer >= 1"),
        ({"choose": "best"}, "choose must be 'information' or 'random'"),
        ({"min_gain": -1.0}, "min_gain must be"),
    ],
)
def test_bad_settings(study, settings, message):
    answers, model = study
    with pytest.raises(ValueError, match=message):
        outlook(model, answers, **settings)


def test_models_without_a_posterior_are_rejected(study):
    answers, model = study
    with pytest.raises(ValueError, match="fit a PosteriorEmbedding"):
        outlook(STE(2), answers)
    with pytest.raises(ValueError, match="the answers about 3"):
        outlook(model, Comparisons.from_triplets([[0, 1, 2]]))

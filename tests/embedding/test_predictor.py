import numpy as np
import pytest
from scipy.special import expit

from nearer import Comparisons, Penalty
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import DMOE
from nearer.embedding.predictor import Calibration, Predictor, mean_squared_distance, mean_squared_distance_of_points
from nearer.optimize.problems.margins import MarginMap, squared_distances


@pytest.mark.parametrize(("slope", "lapse"), [(3.0, 0.05), (0.5, 0.02), (8.0, 0.3)])
def test_slope_and_lapse_of_simulated_answers_are_found(slope, lapse):
    rng = np.random.default_rng(0)
    margins = rng.normal(size=40_000)
    holds = rng.random(40_000) < lapse / 2 + (1 - lapse) * expit(slope * margins)
    found = Calibration.from_margins(np.where(holds, margins, -margins), np.ones(40_000))
    assert found.slope == pytest.approx(slope, rel=0.15)
    assert found.lapse == pytest.approx(lapse, abs=0.03)


def test_a_weight_of_two_is_a_repeated_row():
    margins = np.random.default_rng(1).normal(0.3, size=200)
    twice = Calibration.from_margins(np.concatenate([margins, margins[:50]]), np.ones(250))
    weighted = Calibration.from_margins(margins, np.where(np.arange(200) < 50, 2.0, 1.0))
    np.testing.assert_allclose(twice, weighted, rtol=1e-3)


def test_margins_that_say_nothing_give_even_odds():
    margins = np.random.default_rng(2).normal(size=5000)  # right half of the time, however large
    chances = Calibration.from_margins(margins, np.ones(5000)).probability(margins)
    assert np.abs(chances - 0.5).max() < 0.1
    assert Calibration.from_margins(np.zeros(10), np.ones(10)).probability(np.zeros(1)) == 0.5


def test_spread_is_the_mean_squared_distance():
    points = np.random.default_rng(3).normal(size=(9, 3))
    pairs = [np.sum((a - b) ** 2) for i, a in enumerate(points) for b in points[:i]]
    assert mean_squared_distance_of_points(points) == pytest.approx(np.mean(pairs))
    assert mean_squared_distance(points @ points.T) == pytest.approx(np.mean(pairs))


@pytest.mark.parametrize("n_objects", [40, 600])  # with a Gram matrix, and without
def test_dmoe_is_as_often_right_as_it_says(n_objects):
    points = make_gaussian(n_objects, 2, variance=1.0, random_state=4)
    answers = sample_triplets(points, 70 * n_objects, logistic_slope=0.7, random_state=4)
    train, test = answers[: 30 * n_objects], answers[30 * n_objects :]
    model = DMOE(2).fit(train)
    assert hasattr(model, "gram_") == (n_objects == 40)
    chances = model.predict_proba(test)[:, 1]
    confidence, right = np.maximum(chances, 1 - chances), chances > 0.5
    bins = np.digitize(confidence, np.quantile(confidence, np.linspace(0, 1, 11)[1:-1]))
    gaps = [abs(confidence[bins == b].mean() - right[bins == b].mean()) for b in range(10)]
    assert np.mean(gaps) < 0.04


def test_the_scale_of_the_map_plays_no_part():
    triplets = sample_triplets(make_gaussian(15, 2, random_state=5), 300, flipped=0.1, random_state=5)
    model = DMOE(2).fit(triplets)
    before = model.predict_proba(triplets)
    model.gram_, model._spread = 9 * model.gram_, 9 * model._spread
    np.testing.assert_allclose(model.predict_proba(triplets), before)


def test_without_a_search_probabilities_are_those_of_the_loss():
    triplets = Comparisons.from_triplets([[0, 1, 2], [1, 0, 2], [2, 1, 0]])
    model = DMOE(2, penalty=Penalty()).fit(triplets)
    margins = model.decision_function(triplets)
    np.testing.assert_allclose(model.predict_proba(triplets)[:, 1], np.clip((1 + margins) / 2, 0.01, 0.99))


POINTS = make_gaussian(8, 3, random_state=0)
TRIPLETS = sample_triplets(POINTS, 50, random_state=0)


@pytest.mark.parametrize("diagonal", [0.0, 0.4, 1.0, 1.5])
def test_plain_distances_give_the_margins_of_the_weighted_diagonal(diagonal):
    gram, own = POINTS @ POINTS.T, np.random.default_rng(0).normal(size=8)
    predictor = Predictor.from_solution(gram, own, diagonal)
    margins = MarginMap.from_quadruplets(TRIPLETS.oriented, 8)
    flat = squared_distances(gram + np.diag(own), diagonal).ravel()
    np.testing.assert_allclose(predictor.margins(TRIPLETS), flat[margins.far] - flat[margins.near], atol=1e-12)
    assert predictor.specificities.min() == 0
    np.testing.assert_allclose(predictor.gram - np.diag(predictor.specificities), gram)


def test_sums_are_sums_of_margins():
    gram = POINTS @ POINTS.T
    first, second = Predictor.from_solution(gram), Predictor.from_solution(gram**2, diagonal=0.5)
    total = first.scaled(0.5).plus(second.scaled(2.0))
    expected = 0.5 * first.margins(TRIPLETS) + 2 * second.margins(TRIPLETS)
    np.testing.assert_allclose(total.margins(TRIPLETS), expected, atol=1e-12)
    assert first.scaled(3.0).size(TRIPLETS) == pytest.approx(3 * first.size(TRIPLETS))

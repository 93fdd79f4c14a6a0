import numpy as np
import pytest

from benchmarks.accuracy.summary import expected_calibration_error, log_loss, pooled, reliability


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def answered(probability, rng):
    return np.where(rng.random(len(probability)) < probability, 1, -1).astype(np.int8)


def test_answers_drawn_from_the_probabilities_are_calibrated(rng):
    probability = rng.random(200_000)
    assert expected_calibration_error(reliability(probability, answered(probability, rng))) < 0.01


def test_too_much_confidence_is_reported(rng):
    truth = rng.uniform(0.4, 0.6, 50_000)
    boast = np.where(truth > 0.5, 0.95, 0.05)
    gap = 0.95 - np.maximum(truth, 1 - truth).mean()
    assert expected_calibration_error(reliability(boast, answered(truth, rng))) == pytest.approx(gap, abs=0.01)


def test_the_way_round_of_a_row_changes_nothing(rng):
    probability = rng.random(1000)
    answers = answered(probability, rng)
    turned = rng.random(1000) < 0.5
    other = reliability(np.where(turned, 1 - probability, probability), np.where(turned, -answers, answers))
    np.testing.assert_allclose(other, reliability(probability, answers), atol=1e-5)


def test_all_predictions_are_counted_at_the_ends_too():
    counts = reliability(np.array([0.0, 0.5, 1.0]), np.array([1, 1, 1], dtype=np.int8))
    assert sum(counts[0]) == 3
    assert (counts[0][0], counts[0][-1]) == (1, 2)
    assert sum(counts[2]) == 1.5


def test_pooling_weighs_records_alike(rng):
    probability = rng.random(4000)
    counts = reliability(probability, answered(probability, rng))
    tripled = (3 * np.asarray(counts)).tolist()
    assert expected_calibration_error(pooled([counts, tripled])) == pytest.approx(expected_calibration_error(counts))


def test_log_loss_is_least_for_the_true_probabilities(rng):
    probability = rng.uniform(0.1, 0.9, 50_000)
    answers = answered(probability, rng)
    sharper = probability**2 / (probability**2 + (1 - probability) ** 2)
    assert log_loss(probability, answers) < min(log_loss(sharper, answers), log_loss(np.full(50_000, 0.5), answers))
    assert np.isfinite(log_loss(np.array([0.0]), np.array([1], dtype=np.int8)))

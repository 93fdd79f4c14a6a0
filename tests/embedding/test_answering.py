"""A map that answers as a better predictor does."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

from nearer import Comparisons
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import DMOE, answering
from nearer.embedding.answering import Answered, answering_map, questions_like
from nearer.margins import MarginMap
from nearer.metrics import comparison_error
from nearer.solvers import Outcome

POINTS = make_gaussian(30, 2, random_state=0)
TRAIN = sample_triplets(POINTS, 200, random_state=1)


def answered_by(points, rng):
    drawn = list(rng.integers(len(TRAIN), size=(3, 5000)))
    questions, weights = questions_like(TRAIN.quadruplets, TRAIN.sample_weight, 30, drawn)
    near, far = MarginMap.from_quadruplets(questions, 30).distances(points @ points.T)
    return Answered(questions, expit(20 * (far - near)), weights)


def test_questions_are_like_those_asked():
    rng = np.random.default_rng(0)
    asked = np.array([[0, 1, 0, 2], [0, 3, 0, 1], [4, 0, 4, 2]], dtype=np.int32)
    questions, weights = questions_like(asked, np.array([1.0, 2.0, 1.0]), 6, list(rng.integers(3, size=(3, 1000))))
    np.testing.assert_array_equal(questions[-3:], asked)
    np.testing.assert_allclose(weights[-3:], [0.25, 0.5, 0.25])
    np.testing.assert_allclose([weights[:-3].sum(), weights.sum()], [1, 2])
    drawn = questions[:-3]
    assert len(np.unique(drawn, axis=0)) == len(drawn)
    Comparisons.from_quadruplets(drawn)  # which refuses what compares an object with itself
    anchored = np.bincount(drawn[:, 0], weights[:-3], minlength=6)
    assert anchored[[1, 2, 3, 5]].sum() == 0
    assert anchored[0] > anchored[4] > 0


def test_the_map_behind_the_answers_is_found():
    answered = answered_by(POINTS, np.random.default_rng(0))
    found, interrupted = answering_map(answered, 30, 2, (30.0,), [], np.random.default_rng(0))
    assert not interrupted
    assert comparison_error(sample_triplets(POINTS), found) < 0.05
    # A map that is there already is taken if it agrees better, and a worse one is not.
    assert answering_map(answered, 30, 2, (1.0,), [POINTS], np.random.default_rng(0))[0] is POINTS
    again, _ = answering_map(answered, 30, 2, (30.0,), [POINTS[::-1]], np.random.default_rng(0))
    np.testing.assert_array_equal(again, found)


def test_the_map_of_dmoe_predicts_better_than_one_fitted_to_the_comparisons_alone():
    gains = []
    for seed in range(5):
        points = make_gaussian(50, 10, random_state=seed)
        train, test = sample_triplets(points, 300, random_state=seed), sample_triplets(points)
        alone, taught = (DMOE(2, rank=rank).fit(train).embedding_ for rank in (2, None))
        gains.append(comparison_error(test, alone) - comparison_error(test, taught))
    assert np.mean(gains) > 0.01


def test_the_map_of_dmoe_has_the_size_of_its_matrix():
    model = DMOE(2).fit(TRAIN)
    of_map = MarginMap.from_quadruplets(TRAIN.quadruplets, 30)(model.embedding_ @ model.embedding_.T)
    np.testing.assert_allclose(np.abs(of_map).mean(), np.abs(model.decision_function(TRAIN)).mean(), rtol=1e-6)


def test_the_way_in_which_comparisons_are_written_does_not_change_the_map():
    rows = TRAIN.rows
    twice = np.vstack([rows, rows[:50]])
    plain = DMOE(2).fit(twice).embedding_
    weighted = DMOE(2).fit(rows, sample_weight=np.repeat([2.0, 1.0], [50, 150])).embedding_
    np.testing.assert_allclose(weighted, plain, atol=1e-6 * np.abs(plain).max())
    turned = DMOE(2).fit(twice[:, [0, 2, 1]], y=-np.ones(250)).embedding_
    np.testing.assert_allclose(turned, plain, atol=1e-6 * np.abs(plain).max())


def test_an_interrupt_on_the_way_to_the_map_leaves_a_map(monkeypatch):
    plain, calls = answering.fit_points, []

    def interrupted(*arguments):
        calls.append(arguments)
        fitted = plain(*arguments)
        return replace(fitted, solution=replace(fitted.solution, outcome=Outcome.INTERRUPTED))

    monkeypatch.setattr(answering, "fit_points", interrupted)
    model = DMOE(2)
    with pytest.warns(ConvergenceWarning, match="interrupted"), pytest.raises(KeyboardInterrupt):
        model.fit(TRAIN)
    assert len(calls) == 1
    assert model.embedding_.shape == (30, 2)
    assert not model.converged_

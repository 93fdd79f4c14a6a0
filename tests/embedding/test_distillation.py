"""A map that answers as a better predictor does."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

from nearer import Comparisons
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import DMOE
from nearer.embedding import distillation as answering
from nearer.embedding.distillation import SoftAnswers, _draw_questions, distill, mixed_questions
from nearer.evaluation import comparison_error
from nearer.optimize import Outcome
from nearer.optimize.problems.margins import MarginMap

POINTS = make_gaussian(30, 2, random_state=0)
TRAIN = sample_triplets(POINTS, 200, random_state=1)


def answered_by(points, rng):
    drawn = list(rng.integers(30, size=(3, 5000)))
    questions, weights = mixed_questions(TRAIN.quadruplets, TRAIN.sample_weight, drawn, 30)
    near, far = MarginMap.from_quadruplets(questions, 30).distances(points @ points.T)
    return SoftAnswers(questions, expit(20 * (far - near)), weights)


def test_questions_are_like_those_asked():
    rng = np.random.default_rng(0)
    asked = np.array([[0, 1, 0, 2], [0, 3, 0, 1], [4, 0, 4, 2]], dtype=np.int32)
    drawn = [rng.choice(objects, 1000) for objects in ([0, 0, 4], [1, 2, 3], [1, 2, 3])]
    questions, weights = mixed_questions(asked, np.array([1.0, 2.0, 1.0]), drawn, 6)
    np.testing.assert_array_equal(questions[-3:], asked)
    np.testing.assert_allclose(weights[-3:], [0.25, 0.5, 0.25])
    np.testing.assert_allclose([weights[:-3].sum(), weights.sum()], [1, 2])
    new = questions[:-3]
    assert len(np.unique(new, axis=0)) == len(new)
    fewer = mixed_questions(asked, np.array([1.0, 2.0, 1.0]), drawn, 6, share=0.1)[1]
    np.testing.assert_allclose([fewer[:-3].sum(), fewer[-3:].sum()], [1.8, 0.2])
    Comparisons.from_quadruplets(new)  # which refuses what compares an object with itself
    np.testing.assert_allclose(np.bincount(new[:, 0], weights[:-3])[[0, 4]], [2 / 3, 1 / 3], atol=0.05)


def test_the_map_behind_the_answers_is_found():
    answered = answered_by(POINTS, np.random.default_rng(0))
    found, interrupted = distill(answered, 30, 2, (30.0,), [])
    assert not interrupted
    assert comparison_error(sample_triplets(POINTS), found) < 0.05
    # A map that is there already is taken if it agrees better, and a worse one is not.
    assert distill(answered, 30, 2, (1.0,), [POINTS])[0] is POINTS
    again, _ = distill(answered, 30, 2, (30.0,), [POINTS[::-1]])
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
    i, j, k = twice.T
    ways = {
        "weights": DMOE(2).fit(rows, sample_weight=np.repeat([2.0, 1.0], [50, 150])),
        "other way round": DMOE(2).fit(twice[:, [0, 2, 1]], y=-np.ones(250)),
        "quadruplets": DMOE(2).fit(np.column_stack([j, i, i, k])),
    }
    for way, model in ways.items():
        np.testing.assert_allclose(model.embedding_, plain, atol=1e-6 * np.abs(plain).max(), err_msg=way)


def test_questions_of_quadruplets_are_about_all_their_objects():
    asked = np.array([[0, 1, 2, 3]])
    drawn = _draw_questions(asked, np.ones(1), 4, np.random.default_rng(0))
    for objects in drawn:  # the two pairs are groups that nothing connects, and a question needs three of one
        assert set(objects) == {0, 1, 2, 3}
    assert all((objects < 2).tolist() == (drawn[0] < 2).tolist() for objects in drawn)


def test_groups_that_nothing_connects_are_not_asked_about_each_other():
    """Of these the matrix has nothing to say; learning it would spoil the map of each."""
    points = make_gaussian(30, 2, random_state=0)
    halves = [sample_triplets(points[:15], 300, random_state=seed).rows + 15 * seed for seed in (0, 1)]
    model = DMOE(2).fit(np.vstack(halves))
    for seed, half in enumerate(halves):
        assert comparison_error(half, model.embedding_) < 0.05
        own = model.embedding_[15 * seed : 15 * (seed + 1)]
        sizes = np.linalg.svd(own - own.mean(axis=0), compute_uv=False)
        assert sizes[1] > 0.4 * sizes[0]


@pytest.mark.parametrize("p", [1, 12])
def test_maps_of_one_dimension_and_of_more_than_there_are_objects(p):
    rows = sample_triplets(make_gaussian(10, 2, random_state=0), 100, random_state=0).rows
    model = DMOE(p, n_objects=14).fit(rows)
    assert model.embedding_.shape == (14, p)
    assert not model.embedding_[10:].any()
    assert np.isfinite(model.embedding_).all()


def test_rows_of_weight_0_change_nothing():
    rows, new = TRAIN.rows, np.array([[0, 1, 30], [30, 2, 3]])
    weights = np.repeat([1.0, 0.0], [200, 2])
    with_them = DMOE(2, n_objects=31).fit(np.vstack([rows, new]), sample_weight=weights)
    without = DMOE(2, n_objects=31).fit(rows)
    np.testing.assert_allclose(with_them.embedding_, without.embedding_, atol=1e-9)
    np.testing.assert_allclose(with_them.predict_proba(rows), without.predict_proba(rows), atol=1e-9)


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


def test_an_interrupt_between_two_descents_keeps_the_averaged_matrix(monkeypatch):
    expected = DMOE(2).fit(TRAIN).gram_

    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("nearer.embedding.dmoe.distill_gram", interrupted)
    model = DMOE(2)
    with pytest.warns(ConvergenceWarning, match="interrupted"), pytest.raises(KeyboardInterrupt):
        model.fit(TRAIN)
    np.testing.assert_array_equal(model.gram_, expected)


def test_objects_can_be_placed_on_such_a_map_and_answers_added():
    points = make_gaussian(16, 2, random_state=5)
    answers = sample_triplets(points, 600, random_state=5).rows
    late = (answers >= 15).any(axis=1)
    model = DMOE(2, random_state=0).fit(answers[~late])
    before = model.embedding_.copy()
    model.place(answers[late])
    np.testing.assert_array_equal(model.embedding_[:15], before)
    truth = sample_triplets(points)
    placed = comparison_error(truth, model.embedding_)
    assert placed < 0.2
    assert comparison_error(truth, model.partial_fit(answers[late]).embedding_) < placed + 0.02


def test_a_generator_as_seed_repeats_the_map_from_the_same_state():
    answers = sample_triplets(make_gaussian(12, 2, random_state=6), 200, random_state=6)
    first, second = (DMOE(2, random_state=np.random.default_rng(1)).fit(answers) for _ in range(2))
    np.testing.assert_array_equal(first.embedding_, second.embedding_)


def test_disagreement_counts_a_tie_half():
    one = SoftAnswers(np.array([[0, 1, 0, 2]]), np.array([0.75]), np.array([1.0]))
    maps = ([[0.0], [1.0], [2.0]], [[0.0], [2.0], [1.0]], np.zeros((3, 1)))
    assert [one.disagreement(np.array(points)) for points in maps] == [0.25, 0.75, 0.5]

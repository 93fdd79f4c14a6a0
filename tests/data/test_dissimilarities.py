"""Dissimilarities: judgments that are standardized, counts that are pooled, and weights of people."""

import numpy as np
import pytest

from nearer.data.dissimilarities import Dissimilarities, shepard_distances

OBJECTS = list("abcde")
PAIRS = np.triu_indices(5, 1)


def data_of(values, kind="ratings", trials=None):
    """Return judgments of people, (k, N), NaN where there is none."""
    values = np.asarray(values, float)
    sums, counts = np.zeros((2, len(values), 5, 5))
    counts[:, *PAIRS] = ~np.isnan(values) if trials is None else trials
    sums[:, *PAIRS] = np.nan_to_num(values) * counts[:, *PAIRS]
    return Dissimilarities(sums, counts, OBJECTS, kind, tuple(f"p{at}" for at in range(len(values))))


def test_a_persons_use_of_the_scale_does_not_count():
    ratings = np.random.default_rng(0).normal(size=(3, 10))
    np.testing.assert_allclose(data_of(3 + 2 * ratings).combined(), data_of(ratings).combined())
    expected = ((ratings - ratings.mean(1, keepdims=True)) / ratings.std(1, keepdims=True)).mean(0)
    np.testing.assert_allclose(data_of(ratings).combined(), expected)


def test_a_person_of_weight_zero_is_not_there():
    ratings = np.random.default_rng(1).integers(1, 8, (4, 10)).astype(float)
    ratings[0, 3] = ratings[2, 3] = ratings[3, 3] = np.nan
    np.testing.assert_allclose(
        data_of(ratings).combined(np.array([1.0, 0, 1, 2])), data_of(ratings[[0, 2, 3, 3]]).combined()
    )
    assert np.isnan(data_of(ratings).combined(np.array([1.0, 0, 1, 2]))[3])


def test_who_says_the_same_of_all_does_not_count():
    ratings = np.random.default_rng(2).normal(size=(3, 10))
    ratings[1] = 4
    data = data_of(ratings)
    assert data.counted.tolist() == [True, False, True]
    np.testing.assert_allclose(data.combined(), data_of(ratings[[0, 2]]).combined())


def test_both_orders_of_a_pair_are_one_judgment():
    data = data_of(np.arange(10.0)[None])
    twice = Dissimilarities(data.sums + data.sums.transpose(0, 2, 1) + 2 * data.trials.transpose(0, 2, 1),
                            data.trials + data.trials.transpose(0, 2, 1), OBJECTS, "ratings")  # fmt: skip
    np.testing.assert_allclose(twice.of_people[0], np.arange(10.0) + 1)


def test_counts_are_pooled_by_trials():
    different, trials = np.array([[1.0] + [0] * 9, [0.5] * 10]), np.array([[1] * 10, [4] * 10])
    data = data_of(different, "same-different", trials)
    np.testing.assert_allclose(data.combined()[:2], [(1 + 2) / 5, (0 + 2) / 5])


def test_shepard_distances_by_definition():
    counts = np.random.default_rng(3).integers(0, 30, (5, 5)) + 20 * np.eye(5, dtype=int)
    p = (counts + 0.5) / (counts + 0.5).sum(axis=1, keepdims=True)
    found = shepard_distances(counts.astype(float))
    for i, j in zip(*PAIRS, strict=True):
        assert found[i, j] == pytest.approx(-np.log(np.sqrt(p[i, j] * p[j, i] / (p[i, i] * p[j, j]))))
    assert (found == found.T).all()


def test_shepard_distances_do_without_a_bias_of_responses():
    similarity, bias = np.exp(-np.abs(np.subtract.outer(np.arange(5.0), np.arange(5)))), np.array([1, 3, 1, 0.2, 1])
    counts = 1e9 * similarity * bias / (similarity * bias).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(shepard_distances(counts), -np.log(similarity), atol=1e-6)


def test_a_stimulus_without_responses_is_not_known():
    counts = np.full((5, 5), 3.0)
    counts[2] = 0
    found = shepard_distances(counts)
    assert np.isnan(found[2, [0, 1, 3, 4]]).all()
    assert np.isfinite(found[0, 1])

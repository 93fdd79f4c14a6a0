"""What is said of a map of dissimilarities, against brute force, and on noise."""

from itertools import combinations

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from nearer.data.dissimilarities import Dissimilarities
from nearer.embedding import NonmetricMDS
from nearer.evaluation.dissimilarities import (
    bootstrap_map,
    choose_dimension,
    fit_dissimilarities,
    held_out_order,
    order_error,
    split_half_people,
)

N, PAIRS = 12, np.triu_indices(12, 1)
POINTS = np.random.default_rng(5).normal(size=(N, 2))


def data_of(noise, n_people=8, named=True):
    """Return ratings of people, which have this much noise; None for ratings at random."""
    rng = np.random.default_rng(6)
    sums, trials = np.zeros((2, n_people, N, N))
    for person in range(n_people):
        d = rng.random(66) if noise is None else pdist(POINTS) + noise * rng.normal(size=66)
        sums[person, *PAIRS] = np.round(10 * d)
    trials[:, *PAIRS] = 1
    people = tuple(f"p{at}" for at in range(n_people)) if named else None
    return Dissimilarities(sums, trials, [f"o{at}" for at in range(N)], "ratings", people)


@pytest.fixture(scope="module")
def good():
    data = data_of(0.3)
    return data, fit_dissimilarities(NonmetricMDS(2, random_state=0), data)


def test_order_error_by_definition():
    rng = np.random.default_rng(0)
    values, distances = rng.integers(0, 4, 30).astype(float), rng.integers(0, 6, 30).astype(float)
    values[3] = np.nan
    wrong = [
        0.5 if distances[i] == distances[j] else float((values[i] < values[j]) != (distances[i] < distances[j]))
        for i, j in combinations([at for at in range(30) if at != 3], 2)
        if values[i] != values[j]
    ]
    assert order_error(values, distances) == pytest.approx(np.mean(wrong))
    assert order_error(values, np.zeros(30)) == 0.5
    assert np.isnan(order_error(np.ones(5), np.arange(5.0)))


def test_people_who_were_left_out_are_predicted(good):
    data, model = good
    found = held_out_order(model, data, random_state=0)
    assert (found.by, found.n_folds, len(found.of_people)) == ("annotators", 8, 8)
    assert found.low < found.error < found.high < 0.3
    assert found.ceiling.error < found.error < found.ceiling.at_most + 0.05
    assert held_out_order(model, data, random_state=0) == found


def test_noise_predicts_nothing():
    data = data_of(None)
    model = fit_dissimilarities(NonmetricMDS(2, random_state=0), data)
    assert held_out_order(model, data, random_state=0).high > 0.45
    assert split_half_people(model, data, random_state=0).reliability < 0.4
    assert choose_dimension(model, data, (1, 2, 3), random_state=0).chosen is None


def test_without_people_cells_are_held_out(good):
    _, model = good
    data = data_of(0.05, 1, named=False)
    found = held_out_order(model, data, random_state=0)
    assert (found.by, found.of_people, found.ceiling) == ("questions", (), None)
    assert found.error < 0.2
    assert bootstrap_map(model, data, n_resamples=10, random_state=0).by == "questions"
    assert split_half_people(model, data, random_state=0).by == "questions"


def test_the_dimension_is_found(good):
    data, model = good
    assert choose_dimension(model, data, (1, 2, 3, 4), random_state=0).chosen == 2


def test_ellipses_grow_with_noise_and_are_around_the_map(good):
    data, model = good
    places = bootstrap_map(model, data, n_resamples=30, random_state=0)
    np.testing.assert_array_equal(places.embedding, model.embedding_)
    noisy = data_of(0.9)
    wider = bootstrap_map(fit_dissimilarities(NonmetricMDS(2, random_state=0), noisy), noisy, n_resamples=30)
    assert wider.std.mean() > 1.5 * places.std.mean()
    assert places.covers(POINTS).mean() > 0.7


def test_a_map_with_as_many_coordinates_as_pairs_has_no_ellipses():
    data = data_of(0.05, 1, named=False)
    model = fit_dissimilarities(NonmetricMDS(3, random_state=0), data)
    assert bootstrap_map(model, data, n_resamples=10) is None

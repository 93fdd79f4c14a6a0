"""IndividualDifferences: planted weights come back, and people who do not differ are said not to."""

import itertools
from copy import deepcopy

import numpy as np
import pytest
from helpers.people import planted_weights

from nearer import Comparisons
from nearer.embedding import IndividualDifferences

pytestmark = pytest.mark.usefixtures("one_start")


@pytest.fixture(scope="module")
def differing():
    steps = np.random.default_rng(0).permutation(np.linspace(-0.9, 0.9, 15))
    return planted_weights(np.column_stack([steps, -steps]), 150, n_objects=15)


@pytest.fixture(scope="module")
def alike():
    return planted_weights(np.zeros((15, 2)), 150, n_objects=15)


@pytest.fixture(scope="module")
def model(differing):
    return IndividualDifferences(2, random_state=0).fit(differing.comparisons)


@pytest.fixture(scope="module")
def model_of_alike(alike):
    return IndividualDifferences(2, random_state=0).fit(alike.comparisons)


def matched(found, true):
    """Return the columns of found in the order in which they are most like the true ones."""
    orders = itertools.permutations(range(true.shape[1]))
    return list(max(orders, key=lambda order: np.sum(found[:, order] * true)))


def test_planted_weights_are_found(model, differing):
    found, true = np.log(model.weights_), differing.log_weights
    order = matched(found, true)
    assert np.corrcoef(found[:, order].ravel(), true.ravel())[0, 1] > 0.9
    assert model.axes_identified_
    assert model.axes_error_ < 10
    assert 0.4 < model.spread_ < 1.2
    low, high = np.log(model.weights_interval_[:, order]).transpose(2, 0, 1)
    assert np.mean((low < true) & (true < high)) > 0.8
    assert np.median(high - low) < 1.5


def test_the_axes_of_the_map_are_the_planted_ones(model, differing):
    found, true = model.embedding_, differing.points - differing.points.mean(axis=0)
    correlations = np.abs(np.corrcoef(found.T, true.T)[:2, 2:])
    assert np.sort(correlations.max(axis=0))[0] > 0.97


def test_axes_that_people_weigh_cannot_be_turned(model, model_of_alike):
    quarter = np.array([[0.0, 1.0], [-1.0, 0.0]])
    with pytest.raises(ValueError, match="cannot be rotated"):
        model.rotated(quarter)
    np.testing.assert_allclose(model_of_alike.rotated(quarter).embedding_, model_of_alike.embedding_ @ quarter)


def test_three_axes():
    planted = planted_weights(np.random.default_rng(1).normal(scale=0.8, size=(10, 3)), 200, n_objects=12)
    model = IndividualDifferences(3, random_state=0).fit(planted.comparisons)
    order = matched(np.log(model.weights_), planted.log_weights)
    found = np.log(model.weights_)[:, order]
    assert np.corrcoef(found.ravel(), planted.log_weights.ravel())[0, 1] > 0.9


def test_weights_have_geometric_means_of_one(model):
    np.testing.assert_allclose(np.log(model.weights_).mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(np.log(model.weights_).mean(axis=1), 0, atol=1e-9)


def test_people_who_do_not_differ_have_one_map(model_of_alike):
    np.testing.assert_array_equal(model_of_alike.weights_, 1)
    np.testing.assert_array_equal(model_of_alike.weights_interval_, 1)
    assert not model_of_alike.axes_identified_
    assert np.isnan(model_of_alike.axes_error_)
    assert model_of_alike.n_kinds_ == 1
    axes = model_of_alike.embedding_.T @ model_of_alike.embedding_
    assert abs(axes[0, 1]) < 1e-9 * axes[0, 0]
    assert axes[0, 0] > axes[1, 1]


def test_known_people_are_predicted_by_their_weights_and_others_by_the_common_map(model, differing):
    rows = differing.comparisons.rows[:50]
    people = differing.comparisons.annotators[:50]
    of_nobody = model.decision_function(rows)
    strange = Comparisons.from_triplets(rows, annotators=["stranger"] * 50, n_objects=15)
    np.testing.assert_array_equal(model.decision_function(strange), of_nobody)
    known = Comparisons.from_triplets(rows, annotators=people, n_objects=15)
    weights = model.weights_[np.searchsorted(model.people_, people)]
    points = model.embedding_
    near, far = (((points[rows[:, 0]] - points[rows[:, k]]) ** 2 * weights).sum(axis=1) for k in (1, 2))
    np.testing.assert_allclose(model.decision_function(known), far - near)
    assert not np.allclose(far - near, of_nobody)
    probabilities = model.predict_proba(known)
    np.testing.assert_array_equal(probabilities[:, 1] >= 0.5, far >= near)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)


def test_renaming_objects_changes_nothing(model, differing):
    order = np.random.default_rng(0).permutation(15)
    renamed = Comparisons.from_triplets(
        order[differing.comparisons.rows], differing.comparisons.answers, annotators=differing.comparisons.annotators
    )
    other = IndividualDifferences(2, random_state=0).fit(renamed)
    np.testing.assert_allclose(np.log(other.weights_), np.log(model.weights_), atol=0.05)


def test_a_new_object_is_placed_where_its_answers_say(model, differing):
    old = int(np.argmax(np.sum(model.embedding_**2, axis=1)))  # a copy of the outermost object, under another name
    rows = differing.comparisons.oriented[:, [0, 1, 3]]
    about = (rows == old).any(axis=1)
    renamed = np.where(rows[about] == old, 15, rows[about])
    added = Comparisons.from_triplets(renamed, annotators=differing.comparisons.annotators[about])
    placed = deepcopy(model)
    point = placed.place(added)[0]
    assert np.linalg.norm(point - model.embedding_[old]) < 0.2 * np.linalg.norm(model.embedding_[old])
    np.testing.assert_array_equal(placed.embedding_[:15], model.embedding_)


def test_going_on_keeps_the_axes(model, differing):
    more = deepcopy(model)
    more.partial_fit(differing.comparisons[:200])
    np.testing.assert_allclose(more.embedding_, model.embedding_, atol=0.3)


def test_a_spread_of_zero_is_the_common_map(differing):
    model = IndividualDifferences(2, spread=0.0, random_state=0).fit(differing.comparisons)
    np.testing.assert_array_equal(model.weights_, 1)
    assert model.score(differing.comparisons) < 0.9


def test_what_is_needed_is_said(differing):
    with pytest.raises(ValueError, match="do not say who answered"):
        IndividualDifferences().fit(differing.comparisons.rows)
    with pytest.raises(ValueError, match="all answers are of one person"):
        IndividualDifferences().fit(Comparisons.from_triplets([[0, 1, 2], [1, 2, 3]], annotators=["a", "a"]))
    with pytest.raises(ValueError, match="a single axis has nothing to be weighed against"):
        IndividualDifferences(1).fit(differing.comparisons)
    with pytest.raises(ValueError, match="spread must be a finite number >= 0"):
        IndividualDifferences(spread=-1).fit(differing.comparisons)


def test_an_interrupt_keeps_the_common_map(differing, monkeypatch):
    from nearer.embedding import individual_search as search

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(search, "likeliest_rotation", interrupted)
    model = IndividualDifferences(2, random_state=0)
    with pytest.warns(UserWarning, match="interrupted; the best map so far"), pytest.raises(KeyboardInterrupt):
        model.fit(differing.comparisons)
    assert model.embedding_.shape == (15, 2)
    np.testing.assert_array_equal(model.weights_, 1)


@pytest.mark.parametrize("seed", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_people_who_never_err_are_distinguished(seed):
    """Their steepness is without bounds: a climb that leaps must not throw away what was found before."""
    rng = np.random.default_rng(seed)
    points, weights = rng.normal(size=(12, 2)), np.exp(rng.normal(size=(8, 2)))
    rows = np.array([rng.choice(12, 3, replace=False) for _ in range(1600)])
    person = np.repeat(np.arange(8), 200)
    near, far = (((points[rows[:, 0]] - points[rows[:, k]]) ** 2 * weights[person]).sum(axis=1) for k in (1, 2))
    judgments = Comparisons.from_triplets(rows, far > near, annotators=person)
    model = IndividualDifferences(2, random_state=0).fit(judgments)
    found, true = (np.log(each[:, 0] / each[:, 1]) for each in (model.weights_, weights))
    assert model.axes_identified_
    assert abs(np.corrcoef(found, true)[0, 1]) > 0.9

"""A posterior that knows features of the objects: fewer answers, objects without any, and storage."""

import warnings
from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from nearer import Comparisons
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import PosteriorEmbedding
from nearer.embedding.storage import load_model, save_model
from nearer.sampling import NUTS

N, N_NEW = 30, 6
POINTS = make_gaussian(N, 2, random_state=0)
NAMES = np.array([f"o{k:02d}" for k in range(N)])
# What a network would tell of the objects: their places, turned into many columns, with noise.
_RNG = np.random.default_rng(1)
FEATURES = pd.DataFrame(POINTS @ _RNG.normal(size=(2, 40)) + 0.3 * _RNG.normal(size=(N, 40)), index=NAMES)
TEST = sample_triplets(POINTS, 3000, random_state=2)


def answers(count, objects=N, seed=3):
    rows = sample_triplets(POINTS[:objects], count, flipped=0.1, random_state=seed).rows
    return Comparisons.from_triplets(NAMES[rows], objects=NAMES[:objects])


def error(model, rows=TEST.rows):
    return 1 - model.score(NAMES[rows])


@pytest.fixture(scope="module")
def fitted():
    return PosteriorEmbedding(2, features=FEATURES, solver="fast", random_state=0).fit(answers(30))


@pytest.fixture(scope="module")
def of_some():
    """The last objects are known by nobody."""
    known = FEATURES.iloc[: N - N_NEW]
    return PosteriorEmbedding(2, features=known, solver="fast", random_state=0).fit(answers(200, N - N_NEW))


def test_few_answers_suffice(fitted):
    plain = PosteriorEmbedding(2, solver="fast", random_state=0).fit(answers(30))
    assert error(fitted) < error(plain) - 0.1
    assert plain.feature_share_ is None
    share = fitted.feature_share_["features"]
    assert 0.5 < share.mean < 1
    assert share.low < share.mean < share.high


def test_features_of_other_objects_do_little_harm_and_have_a_small_share():
    given = answers(300)
    shuffled = FEATURES.set_axis(np.random.default_rng(4).permutation(NAMES))
    with pytest.warns(UserWarning, match="explain little of the answers"):
        model = PosteriorEmbedding(2, features=shuffled, solver="fast", random_state=0).fit(given)
    plain = PosteriorEmbedding(2, solver="fast", random_state=0).fit(given)
    assert error(model) < error(plain) + 0.02
    assert model.feature_share_["features"].high < 0.3


def test_each_set_has_a_share_of_its_own():
    noise = pd.DataFrame(np.random.default_rng(5).normal(size=(N, 40)), index=NAMES)
    sets = {"network": FEATURES, "noise": noise}
    model = PosteriorEmbedding(2, features=sets, solver="fast", random_state=0).fit(answers(150))
    shares = model.feature_share_
    assert shares["network"].low > shares["noise"].high


def test_objects_without_answers_are_on_the_map_by_their_features():
    model = PosteriorEmbedding(2, features=FEATURES, solver="fast", random_state=0).fit(answers(200, N - N_NEW))
    assert sorted(model.objects_) == sorted(NAMES)
    assert error(model, TEST.rows[(TEST.rows >= N - N_NEW).any(axis=1)]) < 0.25


def test_objects_without_features_are_placed_by_answers():
    model = PosteriorEmbedding(2, features=FEATURES.iloc[:20], solver="fast", random_state=0).fit(answers(400))
    assert model._posterior.model.features.described.sum() == 20
    assert error(model) < 0.2


@pytest.mark.parametrize("with_answers", [False, True])
def test_new_objects_are_placed_by_features(of_some, with_answers, tmp_path):
    save_model(of_some, tmp_path)
    model, about_new = load_model(tmp_path), TEST.rows[(TEST.rows >= N - N_NEW).any(axis=1)]
    rows = sample_triplets(POINTS, 4000, random_state=6).rows
    rows = rows[(rows >= N - N_NEW).any(axis=1)][:100]
    before = model.embedding_.copy()
    placed = model.place(NAMES[rows] if with_answers else None, features=FEATURES.iloc[N - N_NEW :])
    assert placed.shape == (N_NEW, 2)
    np.testing.assert_array_equal(model.embedding_[: N - N_NEW], before)
    assert error(model, about_new) < (0.17 if with_answers else 0.22)


@pytest.mark.parametrize("stored", [False, True])
def test_objects_placed_by_features_keep_them_in_further_fits(of_some, stored, tmp_path):
    model = deepcopy(of_some)
    model.place(features=FEATURES)
    if stored:
        model = load_model(save_model(model, tmp_path))
    concerned = TEST.rows[(TEST.rows >= N - N_NEW).any(axis=1)]
    before = error(model, concerned)
    model.partial_fit(answers(20, N - N_NEW, seed=9))
    assert error(model, concerned) < before + 0.03
    assert len(model.features_[0].objects) == N
    assert model.fit(answers(20, N - N_NEW)).n_objects_ == N - N_NEW, "a fit begins anew"


def test_rows_of_an_array_stay_with_their_objects_when_others_come():
    known = sample_triplets(POINTS[:20], 60, random_state=4)
    model = PosteriorEmbedding(2, features=FEATURES.to_numpy()[:20], solver="fast", random_state=0).fit(known)
    model.partial_fit(sample_triplets(POINTS, 60, random_state=5))
    assert model.n_objects_ == N
    np.testing.assert_array_equal(model.features_[0].of(np.arange(20)), FEATURES.to_numpy()[:20])
    with pytest.raises(ValueError, match="20 rows without labels for 30 objects"):
        model.fit(sample_triplets(POINTS, 60, random_state=5))


def test_sets_of_new_objects_are_called_as_those_of_the_map(of_some):
    with pytest.raises(ValueError, match="no features called 'pixels', 'words'; it was made with 'features'"):
        deepcopy(of_some).place(features={"pixels": FEATURES, "words": FEATURES})


def test_a_map_without_features_cannot_place_by_them(of_some):
    plain = PosteriorEmbedding(2, solver="variational", random_state=0).fit(answers(60))
    with pytest.raises(ValueError, match="fitted without features"):
        plain.place(features=FEATURES)
    with pytest.raises(ValueError, match="place needs comparisons of the new objects, or their features"):
        plain.place()
    with pytest.raises(ValueError, match="all objects with these features are on the map already"):
        of_some.place(features=FEATURES.iloc[:3])


def test_a_model_with_features_is_stored_and_cloned(fitted, tmp_path):
    save_model(fitted, tmp_path)
    loaded = load_model(tmp_path)
    np.testing.assert_array_equal(
        loaded.predict_proba(NAMES[TEST.rows[:50]]), fitted.predict_proba(NAMES[TEST.rows[:50]])
    )
    assert loaded.feature_share_ == fitted.feature_share_
    again = clone(loaded).fit(answers(30))
    np.testing.assert_array_equal(again.embedding_, fitted.embedding_)


SHORT = NUTS(2, n_warmup=200, n_draws=300, thin=4)


def test_samplers_agree_on_predictions_and_shares(fitted):
    nuts = PosteriorEmbedding(2, features=FEATURES, max_components=4, solver=SHORT, random_state=0).fit(answers(30))
    other = PosteriorEmbedding(2, features=FEATURES, max_components=4, solver="thorough", random_state=0).fit(
        answers(30)
    )
    rows = NAMES[TEST.rows[:500]]
    difference = nuts.predict_proba(rows)[:, 1] - other.predict_proba(rows)[:, 1]
    assert np.abs(difference).mean() < 0.03
    assert abs(nuts.feature_share_["features"].mean - other.feature_share_["features"].mean) < 0.1


def test_answers_that_agree_with_features_are_no_guesses():
    points = make_gaussian(30, 2, random_state=0)
    answers = sample_triplets(points, 60, flipped=0.05, random_state=0)
    vectors = points @ np.random.default_rng(0).normal(size=(2, 30))
    shuffled = vectors[np.random.default_rng(1).permutation(30)]
    assert PosteriorEmbedding(features=vectors, solver="fast", random_state=0).fit(answers).dimension_ == 2
    for features in (None, shuffled):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert PosteriorEmbedding(features=features, solver="fast", random_state=0).fit(answers).dimension_ is None


def test_a_grid_search_chooses_the_features_that_say_something():
    points = make_gaussian(20, 2, random_state=0)
    telling = points @ np.random.default_rng(1).normal(size=(2, 30))
    noise = np.random.default_rng(2).normal(size=(20, 30))
    answers = sample_triplets(points, 60, flipped=0.1, random_state=3)
    model = PosteriorEmbedding(2, solver="fast", n_objects=20, random_state=0)
    search = GridSearchCV(model, {"features": [None, telling, noise]}, cv=3).fit(answers.rows)
    assert search.best_params_["features"] is telling

"""New objects on an old map, and comparisons that come in portions."""

import copy

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from nearer import Comparisons, Penalty
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import CKL, DMOE, GNMDS, SOE, STE, TSTE
from nearer.embedding.fitting import place_points
from nearer.evaluation import comparison_error
from nearer.model import DistanceHinge, Hinge, Logistic, StudentT
from nearer.optimize import Factored, solve

pytestmark = pytest.mark.usefixtures("one_start")
N_OLD, N_NEW = 30, 5
N = N_OLD + N_NEW
POINTS = make_gaussian(N, 2, random_state=3)
TRIPLETS = sample_triplets(POINTS).rows
AMONG_OLD = (TRIPLETS < N_OLD).all(axis=1)
OLD, NEW = TRIPLETS[AMONG_OLD], TRIPLETS[~AMONG_OLD]
FIT = np.random.default_rng(0).permutation(OLD)[:2000]
PLACE, UNSEEN = np.split(np.random.default_rng(1).permutation(NEW), [600])
NAMES = np.array([f"object {i:02d}" for i in range(N)])
MODELS = {
    "GNMDS": GNMDS(),
    "SOE": SOE(),
    "STE": STE(),
    "TSTE": TSTE(),
    "CKL": CKL(),
    "STE-projected": STE(solver="projected"),
    "GNMDS-float32": GNMDS(solver=Factored(dtype="float32")),
    "DMOE-factored": DMOE(solver="factored", nu=0.2),
    "DMOE": DMOE(),
    "DMOE-fixed": DMOE(penalty=Penalty()),
    "DMOE-closed": DMOE(solver="closed", nu=1.0),
}


# That of fixed penalties is placed in the same way, and makes no search with each new portion.
SEARCHES = "DMOE"


@pytest.fixture(params=[pytest.param(name, marks=[pytest.mark.slow] * (name == SEARCHES)) for name in MODELS])
def model(request):
    return clone(MODELS[request.param])


FITTED = {}


def fitted(estimator):
    """Return a copy of the estimator fitted to FIT: what most tests begin with, and change."""
    if repr(estimator) not in FITTED:
        FITTED[repr(estimator)] = clone(estimator).fit(FIT)
    return copy.deepcopy(FITTED[repr(estimator)])


def gram(model):
    return model.gram_ if hasattr(model, "gram_") else model.embedding_ @ model.embedding_.T


def test_new_objects_land_where_they_belong_and_old_ones_stay(model):
    model = fitted(model)
    old, old_gram, margins = model.embedding_.copy(), gram(model).copy(), model.decision_function(OLD)
    placed = model.place(PLACE)
    assert placed.shape == (N_NEW, 2)
    assert model.embedding_.shape == (N, 2)
    assert model.n_objects_ == N
    np.testing.assert_array_equal(model.objects_, np.arange(N))
    np.testing.assert_array_equal(model.embedding_[:N_OLD], old)  # to the last bit
    np.testing.assert_array_equal(model.embedding_[N_OLD:], placed)
    np.testing.assert_allclose(gram(model)[:N_OLD, :N_OLD], old_gram, rtol=1e-13)
    np.testing.assert_allclose(model.decision_function(OLD), margins, atol=1e-12)
    assert model.score(UNSEEN) > min(0.9, model.score(OLD) - 0.1)
    assert comparison_error(UNSEEN, model.embedding_) < 0.15


def test_a_gram_matrix_grows_around_the_old_block():
    model = fitted(DMOE())
    before = model.gram_
    model.place(PLACE)
    np.testing.assert_array_equal(model.gram_[:N_OLD, :N_OLD], before)
    assert model.gram_.shape == (N, N)
    assert model.specificities_.shape == (N,)
    np.testing.assert_array_equal(model.gram_, model.gram_.T)
    assert np.linalg.eigvalsh(model.gram_).min() > -1e-9
    assert set(model.predict(UNSEEN)) == {-1, 1} or model.score(UNSEEN) > 0.9
    assert model.score(UNSEEN) == pytest.approx(1 - comparison_error(UNSEEN, gram=model.gram_))


def test_placed_at_a_minimum_of_the_comparisons_that_mention_them():
    """Moving a new object a little in any direction lowers nothing."""
    model = fitted(STE())
    model.place(PLACE)
    judgments = Comparisons.from_triplets(PLACE, n_objects=N)
    trace = model.trace_ * len(FIT)

    def cost(embedding):
        near, far = ((embedding[judgments.rows[:, 0]] - embedding[judgments.rows[:, c]]) ** 2 for c in (1, 2))
        return Logistic().value((far - near).sum(axis=1)).sum() + trace * (embedding[N_OLD:] ** 2).sum()

    best = cost(model.embedding_)
    for at in np.ndindex(N_NEW, 2):
        for step in (-0.05, 0.05):
            moved = model.embedding_.copy()
            moved[N_OLD + at[0], at[1]] += step
            assert cost(moved) > best - 1e-4


def test_one_after_the_other_is_nearly_all_at_once(model):
    at_once = fitted(model)
    at_once.place(PLACE)
    model = fitted(model)
    for new in range(N_OLD, N):
        own = PLACE[np.isin(PLACE, new).any(axis=1) & (PLACE.max(axis=1) <= new)]
        assert model.place(own).shape == (1, 2)
    assert model.n_objects_ == N
    assert model.score(UNSEEN) > at_once.score(UNSEEN) - 0.1


def test_labels(model):
    model.fit(NAMES[FIT])
    plain = fitted(model)
    model.place(NAMES[PLACE])
    plain.place(PLACE)
    np.testing.assert_array_equal(model.objects_, NAMES)
    np.testing.assert_allclose(gram(model), gram(plain), atol=1e-8)
    assert model.score(NAMES[UNSEEN]) == pytest.approx(plain.score(UNSEEN))


def test_labels_that_sort_before_the_old_ones_become_the_last_rows():
    names = np.array([f"{'b' if i < N_OLD else 'a'} {i:02d}" for i in range(N)])
    model = GNMDS().fit(names[FIT])
    old = model.embedding_.copy()
    model.place(names[PLACE])
    np.testing.assert_array_equal(model.objects_, names)
    np.testing.assert_array_equal(model.embedding_[:N_OLD], old)
    assert model.score(names[UNSEEN]) > 0.9


def test_comparisons_in_another_order_of_objects(model):
    model.fit(Comparisons.from_triplets(NAMES[FIT]))
    plain = fitted(model)
    model.place(Comparisons.from_triplets(NAMES[PLACE], objects=[*NAMES[:N_OLD][::-1], *NAMES[N_OLD:]]))
    plain.place(PLACE)
    np.testing.assert_array_equal(model.objects_, NAMES)
    np.testing.assert_allclose(gram(model), gram(plain), atol=1e-8)


def test_answers_and_weights_count(model):
    models = [fitted(model) for _ in range(3)]
    models[0].place(PLACE)
    flip = np.random.default_rng(2).random(len(PLACE)) < 0.5
    turned = np.where(flip[:, None], PLACE[:, [0, 2, 1]], PLACE)
    models[1].place(turned, np.where(flip, -1, 1))
    nonsense = np.concatenate([PLACE, PLACE[:, [0, 2, 1]]])
    models[2].place(nonsense, sample_weight=np.repeat([1.0, 0.0], len(PLACE)))
    for other in models[1:]:
        np.testing.assert_allclose(gram(other), gram(models[0]), atol=1e-6)


def test_quadruplets_place_too():
    model = fitted(GNMDS())
    quadruplets = PLACE[:, [0, 1, 0, 2]]
    model.place(quadruplets)
    plain = fitted(GNMDS())
    plain.place(PLACE)
    np.testing.assert_allclose(model.embedding_, plain.embedding_, atol=1e-8)


def test_placing_needs_a_map_and_something_new(model):
    with pytest.raises(NotFittedError):
        model.place(PLACE)
    model = fitted(model)
    with pytest.raises(ValueError, match="partial_fit"):
        model.place(OLD[:10])
    with pytest.raises(ValueError, match="same labels"):
        model.place(NAMES[PLACE])
    with pytest.raises(ValueError, match="itself"):
        model.place([[N_OLD, N_OLD, 1]])
    assert model.n_objects_ == N_OLD
    assert model.embedding_.shape == (N_OLD, 2)


def test_a_map_of_labels_takes_no_indices():
    model = GNMDS().fit(NAMES[FIT])
    with pytest.raises(ValueError, match="same labels"):
        model.place(PLACE)
    with pytest.raises(ValueError, match="same labels"):
        model.partial_fit(PLACE)


@pytest.mark.parametrize("method", ["place", "partial_fit"])
def test_integers_that_are_labels(method):
    """What `fit` recommends for identifiers: Comparisons.from_triplets(rows, objects=np.unique(rows))."""
    names = 7 * np.arange(N) + 100
    model = GNMDS().fit(Comparisons.from_triplets(names[FIT], objects=names[:N_OLD]))
    assert model.score(names[OLD]) > 0.9
    getattr(model, method)(names[PLACE])
    np.testing.assert_array_equal(model.objects_, names)
    assert model.score(names[UNSEEN]) > 0.9


def test_settings_are_left_alone_and_a_clone_knows_nothing(model):
    settings = model.get_params()
    model.fit(FIT).place(PLACE)
    model.partial_fit(OLD[:5])
    assert model.get_params() == settings
    with pytest.raises(NotFittedError):
        clone(model).predict(OLD)


@pytest.mark.parametrize("loss", [Hinge(), Logistic(), StudentT(1.0), DistanceHinge()], ids=str)
def test_placing_recovers_the_truth_on_a_true_map(loss):
    """With the old points where they are in truth, many comparisons pin the new ones down."""
    scale = 10.0  # margins of about 1 are then small beside the map
    solution = place_points(scale * POINTS[:N_OLD], Comparisons.from_triplets(NEW, n_objects=N), loss, trace=1e-6)
    placed = solution.value
    assert solution.outcome.ok
    np.testing.assert_array_equal(placed[:N_OLD], scale * POINTS[:N_OLD])
    np.testing.assert_allclose(placed[N_OLD:] / scale, POINTS[N_OLD:], atol=0.1)


def test_partial_fit_begins_with_a_fit(model):
    first, plain = clone(model).partial_fit(FIT), fitted(model)
    np.testing.assert_array_equal(first.embedding_, plain.embedding_)
    assert len(first.comparisons_) == len(FIT)


def test_partial_fit_is_as_good_as_a_fit_to_everything(model):
    portions = np.split(np.random.default_rng(5).permutation(TRIPLETS)[:1500], 5)
    for portion in portions:
        model.partial_fit(portion)
    everything = clone(model).fit(np.concatenate(portions))
    assert len(model.comparisons_) == 1500
    assert model.n_objects_ == N
    assert model.score(TRIPLETS) > everything.score(TRIPLETS) - 0.02
    if hasattr(model, "gram_") and not hasattr(model, "cv_results_"):  # convex: it does not depend on the start
        np.testing.assert_allclose(model.gram_, everything.gram_, atol=1e-2)


def test_partial_fit_goes_on_from_the_present_map(monkeypatch):
    model = fitted(STE())
    before = model.embedding_.copy()
    starts = []

    def seen(problem, solver, start=None, **settings):
        starts.append(start)
        return solve(problem, solver, start, **settings)

    monkeypatch.setattr("nearer.optimize.solvers.descent.solve", seen)
    model.partial_fit(FIT[:3])
    np.testing.assert_allclose(model.embedding_, before, atol=0.1 * np.abs(before).max())
    (start,) = starts
    np.testing.assert_array_equal(start, before)
    assert model.n_iter_ < fitted(STE()).n_iter_


@pytest.mark.parametrize("estimator", [STE(), DMOE()], ids=["points", "gram"])
def test_a_partial_fit_neither_turns_nor_mirrors_the_map(estimator):
    model = fitted(estimator)
    mirrored = model.embedding_ * [-1, 1] @ np.array([[0.6, 0.8], [-0.8, 0.6]])
    model.embedding_ = mirrored
    model.partial_fit(FIT[:3])
    np.testing.assert_allclose(model.embedding_, mirrored, atol=0.1 * np.abs(mirrored).max())


def test_new_objects_join_a_partial_fit(model):
    model = fitted(model)
    model.partial_fit(PLACE)
    assert model.n_objects_ == N
    np.testing.assert_array_equal(model.objects_, np.arange(N))
    assert len(model.comparisons_) == len(FIT) + len(PLACE)
    assert model.score(UNSEEN) > 0.85
    assert model.score(OLD) > 0.85


def test_answers_and_weights_count_in_a_partial_fit(model):
    plain = fitted(model).partial_fit(PLACE)
    answered = clone(model).fit(FIT[:, [0, 2, 1]], -np.ones(len(FIT), int)).partial_fit(PLACE)
    nonsense = np.concatenate([PLACE, PLACE[:, [0, 2, 1]]])
    weighted = fitted(model).partial_fit(nonsense, sample_weight=np.repeat([1.0, 0.0], len(PLACE)))
    turned = fitted(model).partial_fit(PLACE[:, [0, 2, 1]], -np.ones(len(PLACE), int))
    for other in (answered, weighted, turned):
        np.testing.assert_allclose(gram(other), gram(plain), atol=1e-5 * np.abs(gram(plain)).max())


def test_partial_fit_takes_comparisons_in_another_order_of_objects(model):
    plain = clone(model).fit(NAMES[FIT]).partial_fit(NAMES[PLACE])
    shuffled = Comparisons.from_triplets(NAMES[PLACE], objects=NAMES[np.random.default_rng(0).permutation(N)])
    model.fit(Comparisons.from_triplets(NAMES[FIT], objects=NAMES[:N_OLD][::-1])).partial_fit(shuffled)
    np.testing.assert_array_equal(model.objects_[:N_OLD], NAMES[:N_OLD][::-1])
    assert set(model.objects_) == set(NAMES)
    assert model.score(NAMES[TRIPLETS]) == pytest.approx(plain.score(NAMES[TRIPLETS]), abs=0.02)


def test_triplets_and_quadruplets_go_together():
    model = fitted(GNMDS()).partial_fit(PLACE[:, [0, 1, 0, 2]])
    plain = fitted(GNMDS()).partial_fit(PLACE)
    np.testing.assert_allclose(model.embedding_, plain.embedding_, atol=1e-6)


def test_placed_objects_keep_their_place_in_a_partial_fit(model):
    model = fitted(model)
    model.place(PLACE)
    before = model.score(UNSEEN)
    model.partial_fit(OLD[:20])
    assert model.n_objects_ == N
    assert model.score(UNSEEN) > before - 0.05


def test_place_then_partial_fit_about_the_new_objects(model):
    model = fitted(model)
    model.place(PLACE[:100])
    model.partial_fit(PLACE[100:])
    assert model.n_objects_ == N
    np.testing.assert_array_equal(model.objects_, np.arange(N))
    assert model.score(UNSEEN) > 0.8


def test_what_places_an_object_also_predicts_it():
    """Comparisons that placed the objects hold for the points found: they must for the Gram matrix too."""
    model = fitted(DMOE(solver="closed", nu=1.0))
    model.place(PLACE)
    assert model.score(PLACE) > 0.9


def test_a_map_that_vanished_grows_again():
    with pytest.warns(UserWarning, match="cancel"):
        model = GNMDS().fit([[0, 1, 2], [0, 2, 1]])
    model.partial_fit(TRIPLETS)
    assert model.score(TRIPLETS) > 0.9


def test_a_flat_beginning_does_not_flatten_the_map_for_good():
    for estimator in (GNMDS(), STE(), TSTE(), SOE()):
        model = estimator.fit([[0, 1, 2]])
        for portion in np.array_split(TRIPLETS[::7], 3):
            model.partial_fit(portion)
        assert np.linalg.svd(model.embedding_, compute_uv=False)[1] > 0.1
        assert model.score(TRIPLETS) > 0.9


def test_a_partial_fit_that_fails_changes_nothing():
    model = fitted(GNMDS())
    with pytest.raises(ValueError, match="no comparison links"):
        model.partial_fit([[N_OLD, N_OLD + 1, N_OLD + 2]])
    assert model.n_objects_ == N_OLD
    assert len(model.embedding_) == N_OLD


def test_new_comparisons_need_not_say_who_answered_in_which_trial():
    model = GNMDS().fit(Comparisons.from_triplets(FIT, annotators=["me"] * len(FIT), trials=np.arange(len(FIT)) // 2))
    model.partial_fit(PLACE)
    assert model.score(PLACE) > 0.9
    assert len(np.unique(model.comparisons_.trials)) == -(-len(FIT) // 2) + len(PLACE)


def test_an_interrupted_partial_fit_keeps_what_placed_the_new_objects(monkeypatch):
    model = fitted(STE())

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("nearer.embedding.classical.fit", interrupt)
        with pytest.raises(KeyboardInterrupt), pytest.warns(ConvergenceWarning, match="no new map"):
            model.partial_fit(PLACE)
    assert model.n_objects_ == N
    model.partial_fit(PLACE[:3])
    assert model.score(PLACE) > 0.8

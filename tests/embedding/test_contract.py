"""What every estimator must do, whatever its method.

What follows from the data goes through all settings in `ESTIMATORS`; what follows from the class, through one of each.
"""

import functools
import pickle

import numpy as np
import pytest
from helpers.estimators import ESTIMATORS, quicker
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

from nearer import Comparisons, ComparisonsFile, Penalty
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import LOE, SOE, SPE, STE, NonmetricMDS, PosteriorEmbedding, SPoSE
from nearer.evaluation import comparison_error
from nearer.sampling import NUTS, Microcanonical

# Of the few draws of `ESTIMATORS`; that it comes when it should is checked in test_posterior.
pytestmark = pytest.mark.filterwarnings("ignore:PosteriorEmbedding:sklearn.exceptions.ConvergenceWarning")
N = 15
POINTS = make_gaussian(N, 2, random_state=1)
TRIPLETS = sample_triplets(POINTS, 300, random_state=1)
TEST = sample_triplets(POINTS)
# Two more fits each: of the methods that take longest, quadruplets are left to the slow tests. That these methods learn
# from quadruplets is checked with all of them.
EXPENSIVE = {
    "BestOf",
    "DMOE",
    "DMOE-admm",
    "DMOE-hinge",
    "MVTE",
    "NonmetricMDS",
    "Posterior",
    "Posterior-microcanonical",
    "Posterior-variational",
    "SPE",
}
of_both_kinds = pytest.mark.parametrize(
    ("name", "kind"),
    [
        pytest.param(name, kind, marks=[pytest.mark.slow] if name in EXPENSIVE and kind == "quadruplets" else [])
        for name in ESTIMATORS
        for kind in ("triplets", "quadruplets")
    ],
)


# One setting of each class, the quickest where several are equally telling.
ONE_OF_EACH = [
    "DMOE-fixed",
    "GNMDS",
    "SOE",
    "LOE",
    "LORE",
    "FORTE",
    "SPE",
    "STE",
    "TSTE",
    "CKL",
    "MVTE",
    "NonmetricMDS",
]
ONE_OF_EACH += ["SPoSE", "BestOf", "Posterior-microcanonical"]
of_each_class = pytest.mark.parametrize("name", ONE_OF_EACH)


def test_every_class_is_there():
    assert {type(ESTIMATORS[name]) for name in ONE_OF_EACH} == {type(each) for each in ESTIMATORS.values()}


@pytest.fixture(params=list(ESTIMATORS))
def name(request):
    return request.param


@pytest.fixture
def estimator(name):
    return clone(ESTIMATORS[name])


@pytest.fixture
def rows(kind):
    return rows_of(kind)


@pytest.fixture
def plain(name, kind):
    """Return the estimator fitted to `rows`: one fit for all tests, which only look at it."""
    return fitted(name, kind)


@pytest.fixture
def of_triplets(name):
    """Return the estimator fitted to TRIPLETS, likewise."""
    return fitted(name, "triplets")


@functools.cache
def fitted(name, kind):
    return clone(ESTIMATORS[name]).fit(rows_of(kind))


@functools.cache
def rows_of(kind):
    if kind == "triplets":
        return TRIPLETS.rows
    i, j, l, k = np.random.default_rng(0).integers(N, size=(600, 4)).T  # noqa: E741
    keep = (i != j) & (l != k) & ~((i == l) & (j == k)) & ~((i == k) & (j == l))
    quadruplets = np.column_stack([i, j, l, k])[keep]
    far_first = ((POINTS[i] - POINTS[j]) ** 2).sum(1)[keep] > ((POINTS[l] - POINTS[k]) ** 2).sum(1)[keep]
    quadruplets[far_first] = quadruplets[far_first][:, [2, 3, 0, 1]]
    return quadruplets


def gram(model):
    """What predicts: the Gram matrix of a convex method, that of the map for the others."""
    return model.gram_ if hasattr(model, "gram_") else model.embedding_ @ model.embedding_.T


def tolerance(model):
    """Another order of rows or objects is another rounding, which descent on a problem that is not convex magnifies.

    After a search such descents may have a share in the matrix. SPE ends within its tolerance of the optimum.
    """
    if isinstance(model, SPE):
        return model.tol
    if isinstance(model, SPoSE):  # which weights are 0 is a decision that rounding may change on the way
        return 0.06
    convex = getattr(model.solver_, "space", "draws") == "gram"
    return 1e-8 if convex and not hasattr(model, "cv_results_") else 1e-6


def _needs_a_solver(estimator):
    if "solver" not in estimator.get_params():
        pytest.skip("has no choice of solvers")


def swapped(rows):
    return rows[:, [0, 2, 1]] if rows.shape[1] == 3 else rows[:, [2, 3, 0, 1]]


def test_learns_from_triplets_and_quadruplets_and_scores_both(plain, rows):
    assert plain.score(TEST) > 0.85
    assert plain.score(rows) > 0.9
    # Of SPoSE the number of dimensions is found: nonnegative ones, of which distances need more.
    assert plain.embedding_.shape == (N, 6 if isinstance(plain, SPoSE) else 2)
    assert plain.n_objects_ == N
    # So few draws never agree, and it says so.
    assert plain.converged_ or isinstance(plain.solver_, NUTS | Microcanonical)
    assert plain.n_iter_ >= 1
    assert len(plain.history_) >= 2


@of_both_kinds
def test_swapping_near_and_far_against_an_answer_of_minus_one(estimator, plain, rows):
    flip = np.random.default_rng(2).random(len(rows)) < 0.5
    written, answers = np.where(flip[:, None], swapped(rows), rows), np.where(flip, -1, 1)
    model = clone(estimator).fit(written, answers)
    np.testing.assert_allclose(gram(model), gram(plain), atol=1e-8)
    for same in (answers, ~flip):
        np.testing.assert_allclose(model.score(written, same), plain.score(rows))
    assert plain.score(written) == pytest.approx(1 - plain.score(swapped(written)))


@of_both_kinds
def test_a_repeated_row_is_a_row_of_weight_two(estimator, rows):
    repeated = np.concatenate([rows, rows[:30]])
    weights = np.where(np.arange(len(rows)) < 30, 2.0, 1.0)
    twice, weighted = clone(estimator).fit(repeated), clone(estimator).fit(rows, sample_weight=weights)
    np.testing.assert_allclose(gram(twice), gram(weighted), atol=tolerance(twice))
    assert twice.score(repeated) == pytest.approx(weighted.score(rows, sample_weight=weights))


@of_both_kinds
def test_relabelling_objects_changes_nothing(estimator, plain, rows):
    order = np.random.default_rng(3).permutation(N)
    relabelled = clone(estimator).fit(order[rows])
    if isinstance(estimator, PosteriorEmbedding):
        # Another object gets the first random number: other draws, of the same posterior.
        gaps = plain.predict_proba(TEST) - relabelled.predict_proba(order[TEST.rows])
        assert np.abs(gaps).mean() < 0.1
        assert abs(gaps[:, 1].mean()) < 0.02
        return
    np.testing.assert_allclose(gram(relabelled)[np.ix_(order, order)], gram(plain), atol=tolerance(plain))


@of_both_kinds
def test_weight_zero_is_no_row(estimator, rows):
    weights = np.r_[np.ones(len(rows) - 50), np.zeros(50)]
    plain, weighted = clone(estimator).fit(rows[:-50]), clone(estimator).fit(rows, sample_weight=weights)
    np.testing.assert_allclose(gram(weighted), gram(plain), atol=tolerance(plain))


@of_each_class
def test_labels_in_labels_out(estimator, of_triplets):
    names = np.array([f"object {i:02d}" for i in range(N)])
    model = estimator.fit(names[TRIPLETS.rows])
    np.testing.assert_array_equal(model.objects_, names)
    np.testing.assert_allclose(gram(model), gram(of_triplets), atol=1e-8)
    label_rows = [tuple(row) for row in names[TEST.rows[:7]]]
    np.testing.assert_array_equal(model.predict(label_rows), of_triplets.predict(TEST.rows[:7]))
    with pytest.raises(ValueError, match="nobody"):
        model.predict([("object 00", "object 01", "nobody")])


def test_predictions_agree_with_each_other(of_triplets, rows):
    model = of_triplets
    margins = model.decision_function(rows)
    np.testing.assert_array_equal(model.predict(rows), np.where(margins >= 0, 1, -1))
    probabilities = model.predict_proba(rows)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert ((probabilities >= 0) & (probabilities <= 1)).all()
    np.testing.assert_array_equal(probabilities[:, 1] >= 0.5, margins >= 0)
    assert model.score(rows) == pytest.approx(np.mean(margins > 0) + 0.5 * np.mean(margins == 0))
    if isinstance(model, SPoSE):
        return  # it has similarities, and no distances
    # Draws predict by their mean, and no one map answers just so.
    tolerated = 0.05 if isinstance(model, PosteriorEmbedding) else 1e-6
    assert model.score(rows) == pytest.approx(1 - comparison_error(rows, gram=gram(model)), abs=tolerated)


def test_answers_of_the_test_set_do_not_change_what_is_predicted(of_triplets):
    answered = Comparisons.from_triplets(TEST.rows[:20], y=[1, -1] * 10, n_objects=N)
    np.testing.assert_array_equal(of_triplets.predict(answered), of_triplets.predict(TEST.rows[:20]))


def test_a_fitted_copy_predicts_and_fits_again_the_same(of_triplets):
    settings, expected = of_triplets.get_params(), of_triplets.predict_proba(TEST)
    copied = pickle.loads(pickle.dumps(of_triplets))
    np.testing.assert_array_equal(copied.predict_proba(TEST), expected)
    np.testing.assert_array_equal(copied.fit_transform(TRIPLETS), of_triplets.embedding_)
    assert repr(copied.get_params()) == repr(settings)


@of_each_class
def test_an_object_that_a_fold_misses_is_scored_nonetheless(name):
    estimator = quicker(name)
    lonely = np.concatenate([TRIPLETS.rows, [[0, 1, N], [N, 2, 3]]])  # object N is in the last fold only
    scores = cross_val_score(estimator.set_params(n_objects=N + 1), lonely, cv=KFold(2))
    assert np.isfinite(scores).all()
    scores = cross_val_score(estimator, Comparisons.from_triplets(lonely), cv=KFold(2))
    assert np.isfinite(scores).all()


@of_each_class
def test_labels_are_refused_by_a_map_of_indices(of_triplets):
    with pytest.raises(ValueError, match="labels such as"):
        of_triplets.score(TEST.rows.astype(str))


@of_each_class
def test_without_n_objects_a_missed_object_is_a_clear_error(of_triplets):
    assert of_triplets.n_objects is None
    with pytest.raises(ValueError, match=f"{N}.*n_objects"):
        of_triplets.predict([[0, 1, N]])


@of_each_class
def test_grid_search(name):
    estimator = quicker(name)
    search = GridSearchCV(estimator, {"n_components": [1, 2]}, cv=2, refit=False).fit(TRIPLETS.rows)
    assert search.best_params_["n_components"] in (1, 2)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    with_answers = GridSearchCV(clone(estimator), {"n_components": [2]}, cv=3)
    with_answers.fit(swapped(TRIPLETS.rows), -np.ones(len(TRIPLETS), int))
    assert with_answers.best_score_ > 0.75


@of_each_class
def test_not_fitted(estimator):
    with pytest.raises(NotFittedError):
        estimator.predict(TEST)


@of_each_class
def test_bad_dimensions_are_refused(estimator):
    for n_components in (0, -1, 1.5, "two", True):
        with pytest.raises(ValueError, match="n_components"):
            estimator.set_params(n_components=n_components).fit(TRIPLETS)


@pytest.mark.parametrize("name", ["LORE", "SPE", "MVTE", "NonmetricMDS", "BestOf", "Posterior-microcanonical"])
def test_methods_that_need_all_comparisons_in_memory_say_so(estimator, tmp_path):
    np.save(tmp_path / "rows.npy", TRIPLETS.rows)
    with pytest.raises(ValueError, match=f"{type(estimator).__name__} needs all comparisons in memory"):
        estimator.fit(ComparisonsFile(tmp_path / "rows.npy"))


TOO_MANY = "is too many for 10 objects, which fill 9 dimensions at most; choose n_components=9 or fewer"
FEW = sample_triplets(make_gaussian(10, 2, random_state=0), 40, random_state=0)


@pytest.mark.parametrize("n_components", [10, 5000])
def test_more_dimensions_than_objects_can_fill_are_refused(estimator, n_components):
    estimator.set_params(n_components=n_components)
    with pytest.raises(ValueError, match=TOO_MANY):
        estimator.fit(FEW)
    assert not hasattr(estimator, "embedding_")


def test_as_many_dimensions_as_objects_can_fill_are_fitted():
    assert STE(9, random_state=0).fit(FEW).embedding_.shape == (10, 9)
    assert STE(15, n_objects=16, random_state=0).fit(FEW).embedding_.shape == (16, 15)


def test_every_way_to_fit_refuses_too_many_dimensions(tmp_path):
    ring = np.roll(np.eye(10), 1, axis=1) + np.roll(np.eye(10), -1, axis=1)
    with pytest.raises(ValueError, match=TOO_MANY):
        NonmetricMDS(10).fit_dissimilarities(1 - ring - np.eye(10))
    for model in (LOE(10), SPE(10)):
        with pytest.raises(ValueError, match=TOO_MANY):
            model.fit_graph(ring)
    np.save(tmp_path / "rows.npy", FEW.rows)
    with pytest.raises(ValueError, match=TOO_MANY):
        STE(10, solver="svrg").fit(ComparisonsFile(tmp_path / "rows.npy"))
    model = STE(2, random_state=0).fit(FEW)
    with pytest.raises(ValueError, match=TOO_MANY):
        model.set_params(n_components=10).partial_fit(FEW.rows[:3])


@of_each_class
def test_unknown_solvers_are_refused_by_name(estimator):
    _needs_a_solver(estimator)
    with pytest.raises(ValueError, match="magic"):
        estimator.set_params(solver="magic").fit(TRIPLETS)


def test_a_map_that_vanishes_says_so(estimator):
    _needs_a_solver(estimator)
    if estimator.get_params()["solver"] == "closed":
        pytest.skip("the closed form has no trace penalty")
    if isinstance(estimator, SOE):
        pytest.skip("no trace makes a map of SOE vanish")
    if isinstance(estimator, PosteriorEmbedding):
        pytest.skip("a posterior has priors and no trace")
    too_much = {"penalty": Penalty(trace=1.01, ridge=0)} if "penalty" in estimator.get_params() else {"trace": 1.01}
    with pytest.warns(UserWarning, match="trace well below 1"):
        model = estimator.set_params(**too_much).fit(TRIPLETS)
    # Algorithm 1 ends near the solution, not at it.
    np.testing.assert_allclose(model.embedding_, 0, atol=0.3 if model.solver == "paper" else 1e-6)


def test_objects_in_no_comparison_stay_at_the_origin(estimator, of_triplets):
    order = np.r_[0:5, 8:18]  # objects 5, 6 and 7 are never mentioned
    model = estimator.set_params(n_objects=20).fit(order[TRIPLETS.rows])
    if isinstance(model, PosteriorEmbedding):
        # Its map answers like its draws, in which they may be anywhere: in the middle they would be near to everything.
        apart = np.abs(model.embedding_std_[[5, 6, 7, 18, 19]]) > np.median(model.embedding_std_[order])
        assert apart.all()
    else:
        np.testing.assert_allclose(model.embedding_[[5, 6, 7, 18, 19]], 0, atol=1e-12)
    np.testing.assert_allclose(
        model.decision_function(order[TEST.rows]), of_triplets.decision_function(TEST), atol=tolerance(of_triplets)
    )
    assert model.decision_function([[0, 5, 18]])[0] == 0


def test_rotating_the_truth_changes_no_answer():
    """So that no map can: all else, a fit repeats to the last bit."""
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(2, 2)))[0]
    rotated = sample_triplets(3 * POINTS @ rotation + 1, 300, random_state=1)
    np.testing.assert_array_equal(rotated.rows, TRIPLETS.rows)

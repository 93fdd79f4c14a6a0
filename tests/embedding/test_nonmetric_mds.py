"""NonmetricMDS: the order of dissimilarities, and nothing else, makes the map."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning
from sklearn.manifold import MDS

from nearer import Comparisons
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import NonmetricMDS
from nearer.embedding.storage import load_model, save_model
from nearer.evaluation import comparison_error, procrustes_error
from nearer.optimize import solve
from nearer.optimize.solvers.smacof import ComparedPairs, Smacof, StressProblem, TotalOrder

POINTS = make_gaussian(20, 2, random_state=0)
DISTANCES = cdist(POINTS, POINTS)
A, B = np.triu_indices(20, 1)


def noisy(seed=0, n=15):
    rng = np.random.default_rng(seed)
    noise = np.abs(rng.normal(size=(n, n)))
    matrix = noise + noise.T + 3 * DISTANCES[:n, :n]
    np.fill_diagonal(matrix, 0)
    return matrix


def stress_of(model):
    """Kruskal's formula, on what the model says it found."""
    distances = cdist(model.embedding_, model.embedding_)
    known = np.isfinite(model.disparities_) & ~np.eye(len(distances), dtype=bool)
    missed = (distances - model.disparities_)[known]
    return np.sqrt(np.sum(missed**2) / np.sum(distances[known] ** 2))


def test_points_of_the_plane_are_recovered_from_the_ranks_of_their_distances():
    model = NonmetricMDS(n_init=2).fit_dissimilarities(DISTANCES)
    assert model.stress_ < 1e-3
    assert model.stress_ == pytest.approx(stress_of(model), abs=1e-12)
    assert model.converged_
    assert procrustes_error(model.embedding_, POINTS) < 0.01


@pytest.mark.parametrize("transform", [np.exp, np.sqrt, lambda d: d**5])
def test_increasing_transformations_change_nothing(transform):
    plain = NonmetricMDS(n_init=2, max_iter=200).fit_dissimilarities(noisy())
    transformed = NonmetricMDS(n_init=2, max_iter=200).fit_dissimilarities(transform(noisy()))
    np.testing.assert_array_equal(transformed.embedding_, plain.embedding_)


def test_stress_is_no_larger_than_that_of_scikit_learn():
    for seed in (0, 1):
        matrix = noisy(seed)
        # scikit-learn 1.8 called the two settings by other names.
        renamed = "metric_mds" in MDS().get_params()
        kind = {"metric_mds": False, "metric": "precomputed"} if renamed else {
            "metric": False, "dissimilarity": "precomputed"
        }  # fmt: skip
        settings = {"n_init": 4, "eps": 1e-7, "normalized_stress": True, "random_state": 0, "max_iter": 500}
        theirs = MDS(2, **kind, **({"init": "random"} if renamed else {}), **settings).fit(matrix)
        assert NonmetricMDS(2).fit_dissimilarities(matrix).stress_ <= theirs.stress_ + 1e-4


@pytest.mark.parametrize("gap", [0.0, 0.3])
def test_stress_never_rises(gap):
    rows = Comparisons.from_triplets(sample_triplets(POINTS, 300, flipped=0.2, random_state=0).rows)
    for model in (NonmetricMDS(n_init=1, gap=gap).fit(rows), NonmetricMDS(n_init=1).fit_dissimilarities(noisy())):
        stresses = np.array([progress.objective for progress in model.history_])
        assert (np.diff(stresses) <= 1e-12).all()
        assert len(stresses) > 10


def test_a_map_is_at_a_minimum_of_the_stress():
    """A general minimizer, started there, finds nothing lower."""
    rows = sample_triplets(make_gaussian(8, 2, random_state=1), 150, flipped=0.1, random_state=0)
    model = NonmetricMDS(tol=1e-9).fit(rows)
    pairs, order = ComparedPairs.of(rows, model.gap)
    problem = StressProblem(pairs, order, 8)

    def stress(flat):
        return problem.stress(flat.reshape(8, 2))

    assert stress(model.embedding_.ravel()) == pytest.approx(model.stress_)
    lower = minimize(stress, model.embedding_.ravel(), method="Powell", options={"maxiter": 5}).fun
    assert lower > model.stress_ - 1e-4


def test_disparities_are_the_nearest_numbers_in_order():
    rng = np.random.default_rng(0)
    distances, ranks, weights = rng.random(30), rng.integers(12, size=30), rng.random(30)
    weights /= weights.sum()
    for ties in ("primary", "secondary"):
        order = TotalOrder(np.unique(ranks, return_inverse=True)[1], weights, ties)
        nearest, missed = order.disparities(distances)
        assert missed == pytest.approx(weights @ (distances - nearest) ** 2)
        below = ranks[:, None] < ranks
        assert (nearest[:, None] <= nearest + 1e-12)[below].all()
        if ties == "secondary":
            assert all(np.ptp(nearest[ranks == rank]) < 1e-12 for rank in set(ranks))
        # A projection onto a cone: what is left over is orthogonal to the result, and to others in order at most 90.
        assert weights @ ((distances - nearest) * nearest) == pytest.approx(0, abs=1e-12)
        assert weights @ ((distances - nearest) * ranks) < 1e-12


def test_disparities_of_a_comparison_are_the_nearest_with_a_gap():
    rng = np.random.default_rng(1)
    order = ComparedPairs(np.array([0]), np.array([1]), np.array([0.5]), 2, gap=0.5)
    for near, far in rng.random((20, 2)):
        got, missed = order.disparities(np.array([near, far]))
        best = minimize(
            lambda h, near=near, far=far: (h[0] - near) ** 2 + (h[1] - far) ** 2,
            [0.1, 0.9],
            bounds=[(0, None), (0, None)],
            constraints={"type": "ineq", "fun": lambda h: h[1] - h[0] - 0.5},
            tol=1e-12,
        )
        np.testing.assert_allclose(got, best.x, atol=1e-4)
        assert missed == pytest.approx(best.fun / 2, abs=1e-4)


def test_ties_may_be_broken_or_kept():
    coarse = noisy().round()
    primary = NonmetricMDS(n_init=2).fit_dissimilarities(coarse)
    secondary = NonmetricMDS(n_init=2, ties="secondary").fit_dissimilarities(coarse)
    assert primary.stress_ < secondary.stress_
    a, b = np.triu_indices(15, 1)
    for value in np.unique(coarse[a, b]):
        same = coarse[a, b] == value
        assert np.ptp(secondary.disparities_[a, b][same]) < 1e-12


def test_missing_dissimilarities_and_weights_of_zero_are_the_same():
    matrix, weights = DISTANCES.copy(), np.ones((20, 20))
    gone = np.random.default_rng(0).random((20, 20)) < 0.2
    gone |= gone.T
    weights[gone] = 0
    weighted = NonmetricMDS(n_init=2).fit_dissimilarities(matrix, weights)
    matrix[gone] = np.nan
    missing = NonmetricMDS(n_init=2).fit_dissimilarities(matrix)
    np.testing.assert_allclose(missing.embedding_, weighted.embedding_)
    assert procrustes_error(missing.embedding_, POINTS) < 0.02
    np.testing.assert_array_equal(np.isnan(missing.disparities_), gone & ~np.eye(20, dtype=bool))


def test_heavier_pairs_are_fitted_better():
    matrix, weights = noisy(), np.ones((15, 15))
    weights[:5, :5] = 50
    plain, heavy = (NonmetricMDS(n_init=2).fit_dissimilarities(matrix, w) for w in (None, weights))

    def missed(model):
        return np.abs(cdist(model.embedding_, model.embedding_) - model.disparities_)[:5, :5].mean()

    assert missed(heavy) < missed(plain)


def test_a_map_of_dissimilarities_predicts_places_and_is_saved(tmp_path):
    names = [f"object {k}" for k in range(20)]
    model = NonmetricMDS(n_init=1).fit_dissimilarities(DISTANCES, objects=names)
    assert comparison_error(sample_triplets(POINTS), model.embedding_) < 0.01
    assert model.score(model.comparisons_) > 0.8  # neighbours in the order are nearly tied
    assert len(model.comparisons_) == 189
    again = load_model(save_model(model, tmp_path))
    np.testing.assert_array_equal(again.disparities_, model.disparities_)
    new = [("new", "object 3", f"object {k}") for k in range(20) if k != 3]
    np.testing.assert_array_equal(again.place(new), model.place(new))
    assert model.score(new) > 0.9
    with pytest.raises(ValueError, match="fitted to dissimilarities"):
        model.partial_fit(new)


def test_more_comparisons_go_on_from_the_present_map():
    rows = sample_triplets(POINTS, 1500, random_state=0).rows
    model = NonmetricMDS(n_init=2).fit(rows[:700])
    score = model.score(rows)
    model.partial_fit(rows[700:])
    assert len(model.disparities_) == 1500
    assert model.score(rows) > score
    assert model.score(rows) > 0.95


def test_an_interrupt_leaves_the_best_map_so_far():
    def interrupt(progress):
        if progress.iteration == 5:
            raise KeyboardInterrupt

    model = NonmetricMDS()
    with pytest.warns(ConvergenceWarning, match="best map so far"), pytest.raises(KeyboardInterrupt):
        model.fit_dissimilarities(DISTANCES, callback=interrupt)
    assert model.stress_ < 0.2
    assert model.disparities_.shape == (20, 20)


def test_running_out_of_iterations_is_said():
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        NonmetricMDS(max_iter=3, n_init=1).fit_dissimilarities(DISTANCES)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.zeros((3, 4)), "square"),
        ([["a", "b"], ["b", "a"]], "matrix of numbers"),
        ([[0, 1, 2], [1, 0, 3], [9, 3, 0]], "0 and 2 is 2.0 one way and 9.0"),
        (np.full((4, 4), np.inf), "infinite"),
        (np.ones((5, 5)), "all 10 known dissimilarities are equal"),
        (np.full((5, 5), np.nan), "all 0 known"),
        (np.zeros((2, 2)), "at least 3"),
    ],
)
def test_bad_matrices_are_refused(matrix, message):
    with pytest.raises(ValueError, match=message):
        NonmetricMDS().fit_dissimilarities(matrix)


def test_bad_settings_weights_and_labels_are_refused():
    for settings, message in [({"ties": "tertiary"}, "ties"), ({"gap": -1}, "gap"), ({"tol": "small"}, "tol")]:
        with pytest.raises(ValueError, match=message):
            NonmetricMDS(**settings).fit_dissimilarities(DISTANCES)
    with pytest.raises(ValueError, match="weights must have shape"):
        NonmetricMDS().fit_dissimilarities(DISTANCES, np.ones((3, 3)))
    with pytest.raises(ValueError, match=">= 0"):
        NonmetricMDS().fit_dissimilarities(DISTANCES, -np.ones((20, 20)))
    with pytest.raises(ValueError, match="2 labels"):
        NonmetricMDS().fit_dissimilarities(DISTANCES, objects=["a", "b"])
    with pytest.raises(ValueError, match="leave n_objects out"):
        NonmetricMDS(n_objects=7).fit_dissimilarities(DISTANCES)
    with pytest.raises(ValueError, match="start must have"):
        solve(
            StressProblem(np.array([[0, 1]]), ComparedPairs.of(Comparisons.from_triplets([[0, 1, 2]]), 0)[1], 2),
            Smacof(),
        )

"""LORE: its descent, where it ends, and how many dimensions it finds."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from nearer.data.comparisons import Comparisons
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import LORE, STE
from nearer.model import SoftHinge
from nearer.optimize import Outcome, Shrinkage, solve
from nearer.optimize.problems.points import FactoredProblem
from nearer.optimize.problems.sources import InMemory
from nearer.optimize.solvers.shrinkage import SchattenProblem

POINTS = make_gaussian(20, 2, random_state=0)
NOISY = sample_triplets(POINTS, 600, logistic_slope=20.0, random_state=0)


def objective(points, rows, weight, power):
    """The function to be minimized, written down once more: from rows and singular values alone."""
    near = ((points[rows[:, 0]] - points[rows[:, 1]]) ** 2).sum(axis=1)
    far = ((points[rows[:, 0]] - points[rows[:, 2]]) ** 2).sum(axis=1)
    sizes = np.linalg.svd(points, compute_uv=False)
    return np.logaddexp(0, 1 + near - far).mean() + weight * (sizes**power).sum()


def numeric_gradient(function, points, step=1e-5):
    gradient = np.empty_like(points)
    for place in np.ndindex(points.shape):
        bump = np.zeros_like(points)
        bump[place] = step
        gradient[place] = (function(points + bump) - function(points - bump)) / (2 * step)
    return gradient


def problem(weight, power, rank=6):
    return SchattenProblem(FactoredProblem(InMemory(NOISY), SoftHinge(), rank=rank), weight, power)


@pytest.fixture(scope="module", params=[(0.12, 0.3), (0.08, 0.5), (0.05, 1.0)], ids=str)
def descent(request):
    """A problem of one weight and power, and where the descent from random points ends on it."""
    posed = problem(*request.param)
    start = np.random.default_rng(1).normal(size=(20, 6))
    return posed, solve(posed, Shrinkage(tol=1e-12, max_iter=20_000), start)


def test_the_objective_never_rises(descent):
    _, solution = descent
    values = [progress.objective for progress in solution.history]
    assert len(values) > 20
    assert (np.diff(values) <= 0).all()


def test_the_objective_is_what_it_says(descent):
    posed, solution = descent
    assert solution.outcome.ok
    again = objective(solution.value, NOISY.rows, posed.weight, posed.power)
    assert solution.objective == pytest.approx(again, abs=1e-12)
    assert posed.objective(solution.value) == pytest.approx(again, abs=1e-12)


def test_it_ends_where_no_point_of_its_rank_is_better(descent):
    posed, solution = descent
    rank = solution.value.shape[1]
    assert 1 <= rank < 6

    def cost(points):
        return objective(points.reshape(20, rank), NOISY.rows, posed.weight, posed.power)

    slope = numeric_gradient(lambda points: cost(points.ravel()), solution.value)
    start = numeric_gradient(lambda points: cost(points.ravel()), np.random.default_rng(2).normal(size=(20, rank)))
    assert np.abs(slope).max() < 1e-4 * np.abs(start).max()
    elsewhere = solution.value + np.random.default_rng(3).normal(scale=0.01, size=(20, rank))
    found = minimize(cost, elsewhere.ravel(), method="L-BFGS-B", options={"maxfun": 10_000})
    assert solution.objective <= found.fun + 1e-6


def test_a_dimension_that_is_left_out_is_not_missed(descent):
    """Added again, small and in any direction, it costs more than it is worth."""
    posed, solution = descent
    rng = np.random.default_rng(4)
    for scale in (1e-4, 1e-3):
        extra = rng.normal(scale=scale, size=(20, 1))
        wider = np.column_stack([solution.value, extra - extra.mean()])
        if posed.power < 1:
            assert posed.objective(wider) > solution.objective


def test_a_step_minimizes_its_majorizer():
    """Shrunken singular values against random matrices near them: nothing is below."""
    posed, solver = problem(0.02, 0.5), Shrinkage()
    rng = np.random.default_rng(0)
    before = solver.init(posed, rng.normal(size=(20, 6)), rng)
    after = solver.step(posed, before)
    target, slopes = before.points - before.step_size * before.gradient, posed.slopes(before.sizes)

    def majorizer(points):
        sizes = np.linalg.svd(points, compute_uv=False)
        return ((points - target) ** 2).sum() / (2 * before.step_size) + slopes @ sizes

    least = majorizer(after.points)
    assert after.points.shape == before.points.shape
    for scale in (1e-3, 1e-2, 0.1, 1.0):
        for _ in range(20):
            assert majorizer(after.points + rng.normal(scale=scale, size=(20, 6))) > least


@pytest.mark.parametrize("dimension", [2, 3, 5])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_planted_dimension_is_found(dimension, seed):
    points = make_gaussian(40, dimension, random_state=seed)
    triplets = sample_triplets(points, 3000, logistic_slope=20.0, random_state=seed)
    model = LORE().fit(triplets)
    assert model.dimension_ == dimension
    assert model.embedding_.shape == (40, dimension)
    np.testing.assert_allclose(np.linalg.norm(model.embedding_, axis=0), model.singular_values_, rtol=1e-6)
    # It predicts as a method that was told the number.
    told = STE(dimension).fit(triplets)
    truth = sample_triplets(points, 5000, random_state=99)
    assert model.score(truth) > told.score(truth) - 0.02


def test_a_given_number_is_an_upper_bound_and_the_number_of_columns():
    model = LORE(7).fit(NOISY)
    assert model.dimension_ == 2
    assert model.embedding_.shape == (20, 7)
    assert not model.embedding_[:, 2:].any()
    assert LORE(1).fit(NOISY).dimension_ == 1


@pytest.mark.filterwarnings("ignore:LORE. no dimension")
def test_further_fits_have_maps_of_the_same_shape():
    """As a bootstrap needs them, whatever number of dimensions other answers would lead to."""
    model = LORE().fit(NOISY)
    fewer = sample_triplets(POINTS, 60, random_state=5)
    assert LORE().fit(fewer).embedding_.shape != (20, 2)
    for again in (model._with_chosen_settings(), model._fast_surrogate()):
        assert again.fit(fewer).embedding_.shape == (20, 2)


def test_new_objects_are_placed_within_the_dimensions_found():
    model = LORE(5).fit(NOISY)
    placed = model.place([[20, 0, 1], [20, 2, 3], [4, 20, 5]])
    assert placed.shape == (1, 5)
    assert placed[:, :2].any()
    assert not placed[:, 2:].any()


def test_a_larger_penalty_leaves_fewer_dimensions():
    found = [LORE(penalty=penalty).fit(NOISY).dimension_ for penalty in (0.0, 0.5, 2.0)]
    assert found[0] > 10
    assert found == sorted(found, reverse=True)
    assert found[2] == 2


def test_a_map_that_is_a_point_is_reported():
    with pytest.warns(ConvergenceWarning, match="no dimension lowers the loss by its price.*smaller penalty"):
        model = LORE(penalty=50.0).fit(NOISY)
    assert model.dimension_ == 0
    assert not model.embedding_.any()
    assert model.score(NOISY) == 0.5


def test_answers_that_cancel_are_reported():
    rows = np.concatenate([NOISY.rows, NOISY.rows[:, [0, 2, 1]]])
    with pytest.warns(ConvergenceWarning, match="cancel each other out"):
        LORE().fit(rows)


def test_too_few_iterations_are_reported():
    with pytest.warns(ConvergenceWarning, match="raise max_iter or tol"):
        LORE(max_iter=2).fit(NOISY)


def test_objects_in_no_comparison_lie_at_the_origin_and_change_nothing():
    model, plain = LORE(n_objects=25).fit(NOISY.rows), LORE().fit(NOISY.rows)
    np.testing.assert_allclose(model.embedding_[:20], plain.embedding_, atol=1e-8)
    assert not model.embedding_[20:].any()


def test_an_interrupt_of_the_start_leaves_a_map():
    def stop(progress):
        if progress.iteration == 3:
            raise KeyboardInterrupt

    model = LORE()
    with pytest.warns(ConvergenceWarning, match="interrupted"), pytest.raises(KeyboardInterrupt):
        model.fit(NOISY, callback=stop)
    assert model.score(NOISY) > 0.5


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"power": 0.0}, "power must be a finite number > 0"),
        ({"power": 1.5}, "power must be at most 1"),
        ({"penalty": -1.0}, "penalty must be a finite number >= 0"),
        ({"max_iter": 0}, "max_iter must be an integer >= 1"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        LORE(**settings).fit(NOISY)


def test_the_solver_refuses_what_it_cannot_do():
    with pytest.raises(ValueError, match="pass one as start"):
        solve(problem(0.1, 0.5), Shrinkage())
    with pytest.raises(ValueError, match="at most 1"):
        solve(problem(0.1, 2.0), Shrinkage(), np.ones((20, 1)))
    nothing = solve(problem(0.1, 0.5), Shrinkage(), np.zeros((20, 3)))
    assert nothing.outcome is Outcome.VANISHED


def test_three_objects_are_enough():
    model = LORE(penalty=0.1).fit(Comparisons.from_triplets([[0, 1, 2], [1, 0, 2]] * 20))
    assert model.score([[0, 1, 2]]) == 1.0

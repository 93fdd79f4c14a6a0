import numpy as np
import pytest
from helpers.drawn_rows import random_quadruplets
from scipy.optimize import minimize

from nearer.model import Hinge, Logistic, MeanVariance, StudentT, TwoSidedHinge
from nearer.optimize import ADMM, Projected, solve
from nearer.optimize.problems.gram import Problem
from nearer.optimize.problems.margins import MarginMap

LOSSES = [Hinge(2), Logistic(), StudentT(2.0), TwoSidedHinge(0.5, 2)]


def make(loss, kind="triplets", n=10, m=120, trace=0.02, seed=0):
    rows = random_quadruplets(np.random.default_rng(seed), n, m, kind)
    return Problem(MarginMap.from_quadruplets(rows, n), loss, np.ones(m), trace)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_rank_is_kept_and_the_objective_falls(loss, kind):
    problem = make(loss, kind)
    solution = solve(problem, Projected(rank=3))
    eigenvalues = np.linalg.eigvalsh(solution.value.matrix)
    assert (eigenvalues > 1e-10).sum() <= 3
    assert eigenvalues.min() > -1e-10
    objectives = [progress.objective for progress in solution.history]
    assert objectives == sorted(objectives, reverse=True)
    assert solution.outcome.ok


@pytest.mark.parametrize("loss", [Hinge(2), TwoSidedHinge(0.5, 2)], ids=str)
def test_without_a_rank_limit_it_meets_admm(loss, kind):
    problem = make(loss, kind)
    best = problem.objective(solve(problem, ADMM(tol=1e-8)).value.matrix)
    found = problem.objective(solve(problem, Projected(rank=10, tol=1e-10, max_iter=20_000)).value.matrix)
    assert found == pytest.approx(best, rel=1e-5)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_ends_where_descent_on_the_points_finds_nothing_better(loss, kind):
    """Its result is a local minimum of the factored problem G = X X^T too."""
    problem = make(loss, kind)
    gram = solve(problem, Projected(rank=2, tol=1e-10, max_iter=20_000)).value.matrix
    eigenvalues, vectors = np.linalg.eigh(gram)
    points = vectors[:, -2:] * np.sqrt(eigenvalues[-2:])

    def cost(flat):
        x = flat.reshape(10, 2)
        value, gradient = problem.objective_and_gradient(x @ x.T)
        return value, 2 * (gradient @ x).ravel()

    refined = minimize(cost, points.ravel(), jac=True, method="L-BFGS-B", options={"ftol": 1e-14, "gtol": 1e-10})
    assert refined.fun == pytest.approx(problem.objective(gram), rel=1e-4)


def test_a_large_trace_gives_the_point():
    problem = make(Logistic(), trace=1.0)
    solution = solve(problem, Projected(rank=2))
    assert problem.trace > problem.vanishing_trace
    assert not solution.value.matrix.any()


def test_the_explicit_margin_distribution_objective_degenerates_to_gnmds():
    problems = make(MeanVariance(0, 0)), make(Hinge(1))
    plain, hinge = (solve(problem, Projected(rank=3)).value.matrix for problem in problems)
    np.testing.assert_array_equal(plain, hinge)


def test_a_price_on_the_variance_narrows_the_margins():
    def spread(variance_weight):
        problem = make(MeanVariance(0.1, variance_weight), trace=0.01)
        margins = problem.margins(solve(problem, Projected(rank=10)).value.matrix)
        return margins.std()

    assert spread(0.5) < spread(0.1) < spread(0.0)


def test_random_starts_follow_the_generator():
    problem = make(StudentT(1.0))
    first, again, other = (
        solve(problem, Projected(2, start="random", max_iter=3), rng=np.random.default_rng(seed)).value.matrix
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 1e-6


@pytest.mark.parametrize(("rank", "trace", "message"), [(0, 0.1, "rank"), (2, -0.1, "trace")])
def test_bad_settings_are_refused(rank, trace, message):
    with pytest.raises(ValueError, match=message):
        solve(make(Logistic(), trace=trace), Projected(rank))

"""The steps that solvers over Gram matrices share, the closed form, and projected descent."""

import numpy as np
import pytest
from helpers.drawn_rows import kernel, random_quadruplets
from scipy.optimize import minimize

from nearer.geometry import double_center, embedding_from_gram
from nearer.model import Hinge, Logistic, MeanVariance, StudentT, TwoSidedHinge
from nearer.optimize import ADMM, ClosedForm, Projected, solve
from nearer.optimize.problems.gram import Problem
from nearer.optimize.problems.margins import MarginMap
from nearer.optimize.solvers.gram import nearest_psd, penalty_prox, shrink_spectrum


def random_matrix(seed=0, n=7):
    return np.random.default_rng(seed).normal(size=(n, n))


@pytest.mark.parametrize("max_rank", [None, 1, 3, 20])
def test_projection_is_idempotent_psd_and_of_that_rank(max_rank):
    projected = nearest_psd(random_matrix(), max_rank)
    np.testing.assert_allclose(nearest_psd(projected, max_rank), projected, atol=1e-12)
    eigenvalues = np.linalg.eigvalsh(projected)
    assert eigenvalues.min() > -1e-12
    assert (eigenvalues > 1e-10).sum() <= (max_rank or 7)


def test_nearest_is_highams():
    """(B + H) / 2 with H the polar factor of the symmetric part B, as in the paper's theorem."""
    matrix = random_matrix(1)
    symmetric = (matrix + matrix.T) / 2
    _, singular, right = np.linalg.svd(symmetric)
    polar = right.T @ np.diag(singular) @ right
    np.testing.assert_allclose(nearest_psd(matrix), (symmetric + polar) / 2, atol=1e-12)


def test_prox_minimizes():
    matrix, trace, ridge, step = random_matrix(2), 0.4, 0.7, 0.8

    def cost(gram):
        return trace * np.trace(gram) + ridge / 2 * (gram**2).sum() + ((gram - matrix) ** 2).sum() / (2 * step)

    best = penalty_prox(matrix, trace, ridge, step)
    rng = np.random.default_rng(3)
    for size in (1e-3, 1e-1, 1.0):
        for _ in range(50):
            assert cost(best) <= cost(nearest_psd(best + size * rng.normal(size=(7, 7)))) + 1e-12


def test_embedding_reproduces_a_gram_matrix_of_its_rank():
    points = np.random.default_rng(4).normal(size=(9, 3))
    gram = points @ points.T
    embedding = embedding_from_gram(gram, 3)
    np.testing.assert_allclose(embedding @ embedding.T, gram, atol=1e-12)
    variances = (embedding**2).sum(axis=0)
    assert (np.diff(variances) <= 0).all()


def test_embedding_does_not_depend_on_the_sign_that_lapack_chose():
    points = np.random.default_rng(5).normal(size=(9, 2))
    np.testing.assert_allclose(
        embedding_from_gram(points @ points.T, 2), embedding_from_gram((-points) @ (-points).T, 2), atol=1e-12
    )
    assert (
        np.abs(embedding_from_gram(points @ points.T, 2)).max(0) == embedding_from_gram(points @ points.T, 2).max(0)
    ).all()


def test_more_components_than_objects_are_zero():
    assert not embedding_from_gram(np.eye(2), 4)[:, 2:].any()


def test_shrinking_minimizes_the_nuclear_norm():
    matrix, amount = random_matrix(6), 0.8

    def cost(gram):
        return amount * np.linalg.norm(gram, "nuc") + ((gram - (matrix + matrix.T) / 2) ** 2).sum() / 2

    best = shrink_spectrum(matrix, amount)
    rng = np.random.default_rng(7)
    for size in (1e-3, 1e-1, 1.0):
        for _ in range(50):
            noise = size * rng.normal(size=(7, 7))
            assert cost(best) <= cost(best + noise + noise.T) + 1e-12


def test_centring_is_that_of_the_points():
    points = np.random.default_rng(8).normal(3.0, 1.0, size=(9, 2))
    moved = points - points.mean(axis=0)
    np.testing.assert_allclose(double_center(points @ points.T), moved @ moved.T, atol=1e-12)


def test_is_ridge_regression_of_one_on_the_margins(kind):
    """G = A^T (A A^T + ridge / 2 C^-1)^-1 1, with A as a dense matrix."""
    n, m, ridge = 9, 50, 0.05
    rng = np.random.default_rng(0)
    rows = random_quadruplets(rng, n, m, kind)
    shares = rng.uniform(0.5, 2, m)
    shares /= shares.sum()
    design = np.array([kernel(row, n).ravel() for row in rows])
    expected = design.T @ np.linalg.solve(design @ design.T + ridge / 2 * np.diag(1 / shares), np.ones(m))
    problem = Problem(MarginMap.from_quadruplets(rows, n), TwoSidedHinge(), shares, 0.0, ridge)
    np.testing.assert_allclose(solve(problem, ClosedForm()).value.matrix.ravel(), expected, atol=1e-8)


def test_zero_weights_are_no_trouble():
    rows = random_quadruplets(np.random.default_rng(0), 6, 20, "triplets")
    shares = np.r_[np.full(10, 0.1), np.zeros(10)]
    whole = Problem(MarginMap.from_quadruplets(rows, 6), TwoSidedHinge(), shares, 0.0, 0.1)
    half = Problem(MarginMap.from_quadruplets(rows[:10], 6), TwoSidedHinge(), shares[:10], 0.0, 0.1)
    np.testing.assert_allclose(
        solve(whole, ClosedForm()).value.matrix, solve(half, ClosedForm()).value.matrix, atol=1e-10
    )


@pytest.mark.parametrize(
    "change", [{"trace": 0.1}, {"ridge": 0.0}, {"loss": TwoSidedHinge(nu=0.5)}, {"loss": TwoSidedHinge(power=1)}]
)
def test_refuses_what_it_does_not_solve(change):
    rows = random_quadruplets(np.random.default_rng(0), 6, 20, "triplets")
    settings = {"loss": TwoSidedHinge(), "trace": 0.0, "ridge": 0.1} | change
    problem = Problem(MarginMap.from_quadruplets(rows, 6), weights=np.ones(20), **settings)
    with pytest.raises(ValueError, match="closed"):
        solve(problem, ClosedForm())


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

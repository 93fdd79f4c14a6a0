"""Penalties by what features say: against a general SDP solver, finite differences and dense algebra."""

import numpy as np
import pytest
from helpers.drawn_rows import random_quadruplets
from helpers.sdp import sdp_minimum
from scipy.stats import multivariate_normal

from nearer import Comparisons
from nearer.model import TwoSidedHinge
from nearer.optimize import ADMM, Factored, solve
from nearer.optimize.problems.covariance import Covariance
from nearer.optimize.problems.gram import Problem
from nearer.optimize.problems.margins import MarginMap
from nearer.optimize.problems.points import FactoredProblem, Penalty, laplacian_spectrum
from nearer.optimize.problems.sources import InMemory
from nearer.optimize.solvers import ClosedForm, Paper
from nearer.optimize.solvers.descent import spectral_start

N = 8
RNG = np.random.default_rng(0)
# Few directions and many are applied by different products; one object has no features.
COVARIANCES = {
    r: Covariance(RNG.uniform(0.1, 0.5, N), np.vstack([RNG.normal(size=(N - 1, r)), np.zeros(r)])) for r in (2, 12)
}
ALL = np.arange(N)


@pytest.fixture(params=COVARIANCES)
def covariance(request):
    return COVARIANCES[request.param]


def make(covariance, kind="triplets", m=60, power=2, nu=1.0, trace=0.02, ridge=0.01, specificity=np.inf):
    rng = np.random.default_rng(1)
    rows = random_quadruplets(rng, N, m, kind)
    margins = MarginMap.from_quadruplets(rows, N)
    margins = MarginMap(margins.near, margins.far, N, root=covariance.root(ALL))
    return rows, Problem(margins, TwoSidedHinge(nu, power), rng.uniform(0.5, 2, m), trace, ridge, specificity)


def test_root_squares_to_the_covariance(covariance):
    root, places = covariance.root(ALL), np.random.default_rng(2).normal(size=(N, 3))
    np.testing.assert_allclose(root.matrix @ root.matrix.T, covariance.matrix, atol=1e-12)
    np.testing.assert_allclose(root.times(places), root.matrix @ places, atol=1e-12)
    np.testing.assert_allclose(root.transposed_times(places), root.matrix.T @ places, atol=1e-12)
    np.testing.assert_allclose(root.times(root.solve(places)), places, atol=1e-12)
    np.testing.assert_allclose(root.transposed_times(root.solve_transposed(places)), places, atol=1e-12)
    square = places @ places.T
    np.testing.assert_allclose(root.congruence(square), root.matrix @ square @ root.matrix.T, atol=1e-12)
    np.testing.assert_allclose(root.transposed_congruence(square), root.matrix.T @ square @ root.matrix, atol=1e-12)


def test_new_objects_are_expected_where_a_gaussian_process_puts_them(covariance):
    old, new, k = np.array([0, 2, 3, 6, 7]), np.array([1, 4, 5]), covariance.matrix
    weights = k[np.ix_(new, old)] @ np.linalg.inv(k[np.ix_(old, old)])
    np.testing.assert_allclose(covariance.regression(new, old), weights, atol=1e-10)
    rest = k[np.ix_(new, new)] - weights @ k[np.ix_(old, new)]
    np.testing.assert_allclose(covariance.conditional(new, old), rest, atol=1e-10)
    representers = np.random.default_rng(3).normal(size=(len(old), 2))
    places = covariance.loadings(old) @ representers
    np.testing.assert_allclose(places[old], covariance.root(old).times(representers), atol=1e-12)
    np.testing.assert_allclose(places[new], weights @ places[old], atol=1e-10)
    # No other places of the new objects have a smaller penalty.
    precision = np.linalg.inv(k)
    np.testing.assert_allclose((precision @ places)[new], 0, atol=1e-8)


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize(("trace", "ridge"), [(0.05, 0.0), (0.02, 0.01), (0.0, 0.05)], ids=["trace", "both", "ridge"])
@pytest.mark.parametrize("specificity", [np.inf, 0.1])
def test_agrees_with_a_general_sdp_solver(covariance, kind, power, trace, ridge, specificity):
    rows, problem = make(covariance, kind, power=power, trace=trace, ridge=ridge, specificity=specificity)
    shares, loss = problem.shares, problem.loss
    truth = sdp_minimum(rows, N, shares, loss, trace, ridge, specificity, covariance.matrix)
    solution = solve(problem, ADMM(tol=1e-7, max_iter=20_000))
    objective = problem.objective(*solution.value)
    assert objective == pytest.approx(truth, rel=1e-5)
    assert solution.dual_gap >= objective - truth - 1e-8
    assert solution.outcome.ok


def test_the_objective_is_that_of_the_gram_matrix(covariance):
    rows, problem = make(covariance)
    half = np.random.default_rng(4).normal(size=(N, 3))
    gram, precision = covariance.root(ALL).congruence(half @ half.T), np.linalg.inv(covariance.matrix)
    plain = MarginMap.from_quadruplets(rows, N)
    expected = problem.loss.evaluate(*plain.distances(gram), problem.shares).value
    expected += problem.trace * np.trace(gram @ precision)
    expected += problem.ridge / 2 * np.trace(gram @ precision @ gram @ precision)
    assert problem.objective(half @ half.T) == pytest.approx(expected)


def test_gradients_by_finite_differences(covariance):
    rng, (rows, problem) = np.random.default_rng(5), make(covariance)
    comparisons = Comparisons.from_quadruplets(rows, n_objects=N)
    factored = FactoredProblem(InMemory(comparisons), problem.loss, 0.02, 0.01, root=covariance.root(ALL))
    square = rng.normal(size=(N, N))
    for of, point, step in (
        (problem, square @ square.T, square + square.T),
        (factored, square[:, :2], rng.normal(size=(N, 2))),
    ):
        step = step / np.linalg.norm(step)
        slope = float(np.vdot(of.objective_and_gradient(point)[1], step))
        above, below = (of.objective_and_gradient(point + sign * 1e-5 * step)[0] for sign in (1, -1))
        assert slope == pytest.approx((above - below) / 2e-5, rel=1e-6, abs=1e-8)


def test_points_of_full_rank_and_gram_matrices_have_the_same_minimum(covariance):
    rows, problem = make(covariance)
    comparisons = Comparisons.from_quadruplets(rows, weights=problem.weights, n_objects=N)
    factored = FactoredProblem(
        InMemory(comparisons), problem.loss, problem.trace, problem.ridge, rank=N, root=covariance.root(ALL)
    )
    points = solve(factored, Factored(tol=1e-12, max_iter=5000)).value
    best = solve(problem, ADMM(tol=1e-8, max_iter=20_000)).objective
    assert factored.objective_and_gradient(points)[0] == pytest.approx(best, rel=1e-5)


def test_closed_form_solves_its_equations(covariance):
    _, problem = make(covariance, trace=0.0, ridge=0.05)
    gram = solve(problem, ClosedForm()).value.matrix
    np.testing.assert_allclose(problem.objective_and_gradient(gram)[1], 0, atol=1e-8)


def test_algorithm_of_the_paper_comes_near_the_minimum(covariance):
    _, problem = make(covariance, trace=0.05, ridge=0.0)
    best = solve(problem, ADMM(tol=1e-8, max_iter=20_000)).objective
    assert best * (1 - 1e-6) <= problem.objective(solve(problem, Paper(tol=1e-7)).value.matrix) <= 1.02 * best


def test_features_that_say_nothing_change_nothing():
    rows, problem = make(Covariance(np.ones(N), np.zeros((N, 2))))
    plain = Problem(MarginMap.from_quadruplets(rows, N), problem.loss, problem.weights, problem.trace, problem.ridge)
    tight = ADMM(tol=1e-8, max_iter=20_000)
    np.testing.assert_allclose(solve(problem, tight).value.matrix, solve(plain, tight).value.matrix, atol=1e-4)
    assert Penalty(0.1, 2.0).over_gram_matrices(problem).ridge == Penalty(0.1, 2.0).over_gram_matrices(plain).ridge


def test_the_unit_of_a_ridge_is_the_mean_size_of_a_comparison(covariance):
    rows, _ = make(covariance)
    root, sizes = covariance.root(ALL), []
    for factor in (root.matrix, np.eye(N)):
        near, far = (factor[rows[:, a]] - factor[rows[:, b]] for a, b in ((0, 1), (2, 3)))
        sizes.append([np.linalg.norm(np.outer(f, f) - np.outer(g, g)) ** 2 for f, g in zip(far, near, strict=True)])
    assert root.mean_curvature(rows) == pytest.approx(np.mean(sizes[0]) / np.mean(sizes[1]))


def test_the_start_of_a_descent_is_the_leading_pull_on_representers(covariance):
    rows, problem = make(covariance)
    comparisons = Comparisons.from_quadruplets(rows, n_objects=N)
    factored = FactoredProblem(InMemory(comparisons), problem.loss, root=covariance.root(ALL))
    pull = covariance.root(ALL).transposed_congruence(
        MarginMap.from_quadruplets(rows, N).adjoint(np.full(len(rows), 1 / len(rows)))
    )
    assert laplacian_spectrum(factored, 2).eigenvalues[0] == pytest.approx(np.linalg.eigvalsh(pull)[-1])
    start = spectral_start(factored)
    assert factored.objective_and_gradient(start)[0] < factored.objective_at_zero


def test_log_likelihood_is_that_of_a_normal_distribution_at_its_best_mean_and_variance(covariance):
    points, k = np.random.default_rng(6).normal(size=(N, 2)), covariance.matrix
    ones, precision = np.ones(N), np.linalg.inv(k)
    expected = []
    for axis in points.T:
        away = axis - ones @ precision @ axis / (ones @ precision @ ones)
        variance = away @ precision @ away / N
        density = multivariate_normal(np.zeros(N), variance * k).logpdf(away)
        expected.append(density + N / 2 * (1 + np.log(2 * np.pi)))
    assert covariance.log_likelihood(points, ALL) == pytest.approx(sum(expected))

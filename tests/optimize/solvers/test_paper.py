import numpy as np
import pytest
from helpers.drawn_rows import kernel, random_quadruplets

from nearer.model import TwoSidedHinge
from nearer.optimize import ADMM, Outcome, Paper, solve
from nearer.optimize.problems.gram import Problem
from nearer.optimize.problems.margins import MarginMap

SLOW = Paper(mu=0.1, growth=1.01, tol=1e-7, max_iter=5000)


def make(kind="triplets", power=2, nu=1.0, n=10, m=80, n_extra=0, trace=0.02):
    rows = random_quadruplets(np.random.default_rng(0), n, m, kind)
    margins = MarginMap.from_quadruplets(rows, n + n_extra)
    return Problem(margins, TwoSidedHinge(nu, power), np.ones(m), trace)


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("nu", [0.2, 1.0])
def test_reaches_the_convex_optimum_when_mu_grows_slowly(kind, power, nu):
    problem = make(kind, power, nu)
    best = problem.objective(solve(problem, ADMM(tol=1e-8)).value.matrix)
    assert problem.objective(solve(problem, SLOW).value.matrix) == pytest.approx(best, rel=2e-3)


def transcription(rows, n, weights, nu, trace, power, mu, growth, steps):
    """Algorithm 1 with explicit matrices, answers +1 and target 1, as corrected; returns G2 after each step."""
    design = np.array([kernel(row, n).ravel() for row in rows])
    m = len(rows)
    inverse = np.linalg.inv(design.T @ design + np.eye(n * n))
    G = G1 = G2 = Z3 = Z4 = np.zeros((n, n))
    z1, z2, e, found = np.zeros(m), np.zeros(m), np.ones(m), []

    def prox(s, price):
        if power == 1:
            return np.where(s > 0, np.sign(s) * np.maximum(np.abs(s) - price / mu, 0), s)
        return np.where(s > 0, s / (1 + 2 * price / mu), s)

    for _ in range(steps):
        e1, e2 = prox(e - z1 / mu, weights), prox(-e - z2 / mu, nu * weights)
        # e = 1 - K vec(G), so the data enter with the sign of -K and shifted by the target.
        right = design.T @ (2 - e1 - z1 / mu + e2 + z2 / mu) + (G1 - Z3 / mu + G2 - Z4 / mu).ravel()
        G = (inverse @ right / 2).reshape(n, n)
        values, vectors = np.linalg.eigh(G + Z3 / mu)
        G1 = vectors @ np.diag(np.sign(values) * np.maximum(np.abs(values) - trace / mu, 0)) @ vectors.T
        values, vectors = np.linalg.eigh(G + Z4 / mu)
        G2 = vectors @ np.diag(np.maximum(values, 0)) @ vectors.T
        e = 1 - design @ G.ravel()
        z1, z2 = z1 + mu * (e1 - e), z2 + mu * (e2 + e)
        Z3, Z4 = Z3 + mu * (G - G1), Z4 + mu * (G - G2)
        mu *= growth
        found.append(G2)
    return found


@pytest.mark.parametrize("power", [1, 2])
def test_is_algorithm_1_step_by_step(kind, power):
    n, m, nu, trace = 7, 30, 0.4, 0.9
    rng = np.random.default_rng(3)
    rows, weights = random_quadruplets(rng, n, m, kind), rng.uniform(0.5, 2, m)
    solver = Paper(mu=0.3, growth=1.2, tol=0.0)
    problem = Problem(MarginMap.from_quadruplets(rows, n), TwoSidedHinge(nu, power), weights, trace / weights.sum())
    state = solver.init(problem, None, rng)
    for expected in transcription(rows, n, weights, nu, trace, power, 0.3, 1.2, steps=8):
        state = solver.step(problem, state)
        np.testing.assert_allclose(state.gram, expected, atol=1e-6)


def test_default_stops_by_the_papers_rule_close_to_the_optimum():
    problem = make()
    solution = solve(problem, Paper())
    best = problem.objective(solve(problem, ADMM(tol=1e-8)).value.matrix)
    assert solution.outcome is Outcome.CONVERGED
    last, before = solution.history[-1].objective, solution.history[-2].objective
    assert abs(last - before) * len(problem.margins) < 1e-3
    assert problem.objective(solution.value.matrix) == pytest.approx(best, rel=0.05)


def test_weights_enter_as_repeated_rows():
    problem = make()
    rows_near, rows_far = problem.margins.near, problem.margins.far
    doubled = MarginMap(np.append(rows_near, rows_near[:20]), np.append(rows_far, rows_far[:20]), 10)
    weights = np.where(np.arange(80) < 20, 2.0, 1.0)
    objective = [
        p.objective(solve(p, SLOW).value.matrix)
        for p in (
            Problem(doubled, problem.loss, np.ones(100), 0.02),
            Problem(problem.margins, problem.loss, weights, 0.02),
        )
    ]
    assert objective[0] == pytest.approx(objective[1], rel=2e-3)


def test_a_random_start_stays_behind_where_nothing_constrains_it_and_zero_does_not():
    problem = make(n_extra=4, trace=1e-6)
    untouched = np.arange(10, 14)
    random = solve(problem, Paper(start="random"), rng=np.random.default_rng(1)).value.matrix
    zero = solve(problem, Paper()).value.matrix
    assert np.abs(zero[untouched]).max() < 1e-10
    assert np.abs(random[untouched]).max() > 1e-2


@pytest.mark.parametrize(
    ("problem", "solver", "message"),
    [
        (Problem(make().margins, TwoSidedHinge(), make().weights, 0.1, ridge=0.1), Paper(), "ridge=0"),
        (make(), Paper(growth=1.0), "growth"),
    ],
)
def test_what_algorithm_1_does_not_know_is_refused(problem, solver, message):
    with pytest.raises(ValueError, match=message):
        solve(problem, solver)

"""ADMM against a general SDP solver, and Algorithm 1 of the paper against its transcription."""

import numpy as np
import pytest
from helpers.drawn_rows import kernel, random_quadruplets
from helpers.sdp import sdp_minimum

from nearer.model import Logistic, TwoSidedHinge
from nearer.optimize import ADMM, Outcome, Paper, solve
from nearer.optimize.problems.gram import Problem
from nearer.optimize.problems.margins import MarginMap

TIGHT = ADMM(tol=1e-7, max_iter=20_000)


def make(n=8, m=60, kind="triplets", power=2, nu=1.0, trace=0.02, ridge=0.01, specificity=np.inf, seed=0):
    rng = np.random.default_rng(seed)
    rows = random_quadruplets(rng, n, m, kind)
    weights = rng.uniform(0.5, 2, m)
    margins = MarginMap.from_quadruplets(rows, n)
    return rows, Problem(margins, TwoSidedHinge(nu, power), weights, trace, ridge, specificity)


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("nu", [0.0, 0.3, 1.0])
@pytest.mark.parametrize(
    ("trace", "ridge"), [(0.05, 0.0), (0.0, 0.05), (0.02, 0.01), (0.3, 0.1)], ids=["trace", "ridge", "both", "strong"]
)
@pytest.mark.parametrize("n", [8, 12])
def test_agrees_with_a_general_sdp_solver(kind, power, nu, trace, ridge, n):
    rows, problem = make(n=n, kind=kind, power=power, nu=nu, trace=trace, ridge=ridge)
    truth = sdp_minimum(rows, n, problem.shares, problem.loss, trace, ridge)
    solution = solve(problem, TIGHT)
    objective = problem.objective(solution.value.matrix)
    assert objective == pytest.approx(truth, rel=1e-5)
    # The certificate bounds the true gap (up to the reference solver's own 1e-8).
    assert solution.dual_gap >= objective - truth - 1e-8
    assert solution.outcome.ok


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("ridge", [0.0, 0.02])
@pytest.mark.parametrize("specificity", [0.05, 1.0])
def test_specificities_agree_with_a_general_sdp_solver(kind, power, ridge, specificity):
    rows, problem = make(kind=kind, power=power, ridge=ridge, specificity=specificity)
    truth = sdp_minimum(rows, 8, problem.shares, problem.loss, problem.trace, ridge, specificity)
    solution = solve(problem, TIGHT)
    objective = problem.objective(solution.value.matrix, solution.value.specificities)
    assert objective == pytest.approx(truth, rel=1e-5)
    assert solution.dual_gap >= objective - truth - 1e-8


@pytest.mark.parametrize("tol", [1e-2, 1e-4])
def test_early_stops_are_certified_too(kind, tol):
    rows, problem = make(n=10, m=120, kind=kind)
    truth = sdp_minimum(rows, 10, problem.shares, problem.loss, problem.trace, problem.ridge)
    solution = solve(problem, ADMM(tol=tol))
    objective = problem.objective(solution.value.matrix)
    assert 0 <= objective - truth + 1e-8 <= solution.dual_gap + 2e-8
    assert solution.dual_gap <= tol * objective


def test_solution_is_in_the_cone_and_centred():
    _, problem = make(n=10, m=100)
    gram = solve(problem, TIGHT).value.matrix
    assert np.linalg.eigvalsh(gram).min() > -1e-12
    np.testing.assert_allclose(gram.sum(axis=1), 0, atol=1e-4 * np.abs(gram).max())


@pytest.mark.parametrize("ridge", [0.0, 0.05])
@pytest.mark.parametrize("power", [1, 2])
def test_vanishing_trace_is_where_the_solution_vanishes(kind, ridge, power):
    _, problem = make(kind=kind, power=power, ridge=ridge)
    limit = problem.vanishing_trace
    above = solve(make(kind=kind, power=power, ridge=ridge, trace=1.0001 * limit)[1], TIGHT)
    below = solve(make(kind=kind, power=power, ridge=ridge, trace=0.98 * limit)[1], TIGHT)
    assert above.outcome is Outcome.VANISHED
    assert not above.value.matrix.any()
    assert below.value.matrix.any()


def test_vanishing_trace_is_lower_with_specificities():
    _, problem = make(specificity=0.05, trace=0.0, ridge=0.02)
    nearly = solve(make(specificity=0.05, trace=0.97 * problem.vanishing_trace, ridge=0.02)[1], TIGHT)
    assert nearly.outcome is Outcome.VANISHED
    assert nearly.value.specificities.any()


def test_history_falls_and_the_gap_closes():
    _, problem = make(n=10, m=100, power=1, nu=0.2)
    history = solve(problem, TIGHT).history
    objectives, gaps = [p.objective for p in history], [p.gap for p in history]
    assert objectives == sorted(objectives, reverse=True)
    assert gaps == sorted(gaps, reverse=True)
    assert len(history) > 2


def test_running_out_of_iterations_is_named():
    _, problem = make(n=10, m=100, power=1)
    solution = solve(problem, ADMM(tol=1e-12, max_iter=5))
    assert solution.outcome is Outcome.MAX_ITER
    assert not solution.outcome.ok
    assert solution.n_iter == 5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"trace": 0.0, "ridge": 0.0}, "one of them above 0"),
        ({"trace": -0.1}, "trace >= 0"),
        ({"ridge": -0.1}, "ridge >= 0"),
        ({"specificity": 0.0}, "specificity"),
    ],
)
def test_unbounded_problems_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        solve(make(**change)[1], ADMM())


def test_losses_without_a_prox_are_refused():
    _, problem = make()
    with pytest.raises(ValueError, match="projected"):
        solve(Problem(problem.margins, Logistic(), problem.weights, 0.1), ADMM())


@pytest.mark.parametrize("specificity", [np.inf, 0.5])
def test_a_start_saves_iterations_and_changes_nothing(specificity):
    _, problem = make(n=12, m=150, trace=0.03, ridge=0.0, specificity=specificity)
    before = solve(make(n=12, m=150, trace=0.035, ridge=0.001)[1], ADMM(tol=1e-5))
    cold, warm = solve(problem, TIGHT), solve(problem, ADMM(tol=1e-7, max_iter=20_000), before.state)
    assert warm.outcome is Outcome.CONVERGED
    assert warm.history[-1].objective == pytest.approx(cold.history[-1].objective, rel=1e-6)
    loose = ADMM(tol=1e-3)
    assert solve(problem, loose, before.state).n_iter <= solve(problem, loose).n_iter


def test_a_start_from_other_comparisons_is_refused():
    before = solve(make(m=50)[1], ADMM())
    with pytest.raises(ValueError, match="same comparisons"):
        solve(make(m=60)[1], ADMM(), before.state)


SLOW_PAPER = Paper(mu=0.1, growth=1.01, tol=1e-7, max_iter=5000)


def paper_problem(kind="triplets", power=2, nu=1.0, n=10, m=80, n_extra=0, trace=0.02):
    rows = random_quadruplets(np.random.default_rng(0), n, m, kind)
    margins = MarginMap.from_quadruplets(rows, n + n_extra)
    return Problem(margins, TwoSidedHinge(nu, power), np.ones(m), trace)


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("nu", [0.2, 1.0])
def test_reaches_the_convex_optimum_when_mu_grows_slowly(kind, power, nu):
    problem = paper_problem(kind, power, nu)
    best = problem.objective(solve(problem, ADMM(tol=1e-8)).value.matrix)
    assert problem.objective(solve(problem, SLOW_PAPER).value.matrix) == pytest.approx(best, rel=2e-3)


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
    problem = paper_problem()
    solution = solve(problem, Paper())
    best = problem.objective(solve(problem, ADMM(tol=1e-8)).value.matrix)
    assert solution.outcome is Outcome.CONVERGED
    last, before = solution.history[-1].objective, solution.history[-2].objective
    assert abs(last - before) * len(problem.margins) < 1e-3
    assert problem.objective(solution.value.matrix) == pytest.approx(best, rel=0.05)


def test_weights_enter_as_repeated_rows():
    problem = paper_problem()
    rows_near, rows_far = problem.margins.near, problem.margins.far
    doubled = MarginMap(np.append(rows_near, rows_near[:20]), np.append(rows_far, rows_far[:20]), 10)
    weights = np.where(np.arange(80) < 20, 2.0, 1.0)
    objective = [
        p.objective(solve(p, SLOW_PAPER).value.matrix)
        for p in (
            Problem(doubled, problem.loss, np.ones(100), 0.02),
            Problem(problem.margins, problem.loss, weights, 0.02),
        )
    ]
    assert objective[0] == pytest.approx(objective[1], rel=2e-3)


def test_a_random_start_stays_behind_where_nothing_constrains_it_and_zero_does_not():
    problem = paper_problem(n_extra=4, trace=1e-6)
    untouched = np.arange(10, 14)
    random = solve(problem, Paper(start="random"), rng=np.random.default_rng(1)).value.matrix
    zero = solve(problem, Paper()).value.matrix
    assert np.abs(zero[untouched]).max() < 1e-10
    assert np.abs(random[untouched]).max() > 1e-2


@pytest.mark.parametrize(
    ("problem", "solver", "message"),
    [
        (
            Problem(paper_problem().margins, TwoSidedHinge(), paper_problem().weights, 0.1, ridge=0.1),
            Paper(),
            "ridge=0",
        ),
        (paper_problem(), Paper(growth=1.0), "growth"),
    ],
)
def test_what_algorithm_1_does_not_know_is_refused(problem, solver, message):
    with pytest.raises(ValueError, match=message):
        solve(problem, solver)

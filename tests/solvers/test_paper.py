import numpy as np
import pytest
from conftest import random_quadruplets

from nearer.losses import TwoSidedHinge
from nearer.margins import MarginMap
from nearer.problem import Problem
from nearer.solvers import ADMM, Outcome, Paper, solve

SLOW = Paper(mu=0.1, growth=1.01, tol=1e-7, max_iter=5000)


def make(kind="triplets", power=2, nu=1.0, n=10, m=80, n_extra=0, trace=0.02):
    rows = random_quadruplets(np.random.default_rng(0), n, m, kind)
    margins = MarginMap.from_quadruplets(rows, n + n_extra)
    return Problem(margins, TwoSidedHinge(nu, power), np.ones(m), trace)


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("nu", [0.2, 1.0])
def test_reaches_the_convex_optimum_when_mu_grows_slowly(kind, power, nu):
    problem = make(kind, power, nu)
    best = problem.objective(solve(problem, ADMM(tol=1e-8)).gram)
    assert problem.objective(solve(problem, SLOW).gram) == pytest.approx(best, rel=2e-3)


def test_default_stops_by_the_papers_rule_close_to_the_optimum():
    problem = make()
    solution = solve(problem, Paper())
    best = problem.objective(solve(problem, ADMM(tol=1e-8)).gram)
    assert solution.outcome is Outcome.CONVERGED
    last, before = solution.history[-1].objective, solution.history[-2].objective
    assert abs(last - before) * len(problem.margins) < 1e-3
    assert problem.objective(solution.gram) == pytest.approx(best, rel=0.05)


def test_weights_enter_as_repeated_rows():
    problem = make()
    rows_near, rows_far = problem.margins.near, problem.margins.far
    doubled = MarginMap(np.append(rows_near, rows_near[:20]), np.append(rows_far, rows_far[:20]), 10)
    weights = np.where(np.arange(80) < 20, 2.0, 1.0)
    objective = [
        p.objective(solve(p, SLOW).gram)
        for p in (
            Problem(doubled, problem.loss, np.ones(100), 0.02),
            Problem(problem.margins, problem.loss, weights, 0.02),
        )
    ]
    assert objective[0] == pytest.approx(objective[1], rel=2e-3)


def test_a_random_start_stays_behind_where_nothing_constrains_it_and_zero_does_not():
    problem = make(n_extra=4, trace=1e-6)
    untouched = np.arange(10, 14)
    random = solve(problem, Paper(start="random"), np.random.default_rng(1)).gram
    zero = solve(problem, Paper()).gram
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

import numpy as np
import pytest
from helpers.drawn_rows import random_quadruplets
from helpers.sdp import sdp_minimum

from nearer.model import Logistic, TwoSidedHinge
from nearer.optimize import ADMM, Outcome, solve
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

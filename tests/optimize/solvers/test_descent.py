"""Where a descent over points begins, and L-BFGS against SciPy's and against the solvers over Gram matrices."""

import itertools
import warnings
from dataclasses import replace

import numpy as np
import pytest
from helpers.drawn_rows import random_quadruplets
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from nearer import Comparisons
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import DMOE, GNMDS, STE, TSTE, fitting
from nearer.evaluation import comparison_error
from nearer.model import CrowdKernel, DistanceHinge, Hinge, Logistic, MeanVariance, StudentT, TwoSidedHinge
from nearer.optimize import ADMM, Factored, Outcome, Progress, Projected, solve
from nearer.optimize.problems.gram import Problem
from nearer.optimize.problems.margins import MarginMap
from nearer.optimize.problems.points import FactoredProblem, laplacian_spectrum
from nearer.optimize.problems.sources import InMemory, as_rows
from nearer.optimize.solvers import descent
from nearer.optimize.solvers.descent import random_start, spectral_start

LOSSES = [Hinge(1), Hinge(2), TwoSidedHinge(1.0, 2), Logistic(), StudentT(1.0), CrowdKernel(1.0), DistanceHinge()]
STARTS = {"spectral": lambda problem, _: spectral_start(problem), "random": random_start}


def gaussian(n, m, dimension=2, seed=0, n_objects=None):
    triplets = sample_triplets(make_gaussian(n, dimension, random_state=seed), m, random_state=seed)
    return Comparisons.from_triplets(triplets.rows, triplets.answers, n_objects=n_objects or n)


def problem_of(judgments, loss=None, rank=2):
    return FactoredProblem(InMemory(judgments), loss or Hinge(), rank=rank)


def dense_pull(judgments):
    weights = judgments.sample_weight
    margins = MarginMap.from_quadruplets(judgments.oriented, judgments.n_objects)
    return margins.adjoint(weights / weights.sum())


def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("rank", [1, 3, 12])
def test_few_objects_have_their_exact_eigenvectors(rank, kind):
    rows = random_quadruplets(np.random.default_rng(0), 12, 60, kind)
    judgments = Comparisons.from_quadruplets(rows, weights=np.linspace(0, 2, 60), n_objects=12)
    pull = dense_pull(judgments)
    eigenvalues, vectors = laplacian_spectrum(problem_of(judgments), rank)
    np.testing.assert_allclose(eigenvalues, np.linalg.eigvalsh(pull)[::-1][:rank], atol=1e-14)
    np.testing.assert_allclose(pull @ vectors, vectors * eigenvalues, atol=1e-13)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(rank), atol=1e-12)


def test_more_dimensions_than_objects():
    problem = problem_of(Comparisons.from_triplets([[0, 1, 2], [1, 2, 3]]))
    eigenvalues, vectors = laplacian_spectrum(problem, 9)
    assert eigenvalues.shape == (4,)
    assert vectors.shape == (4, 4)
    start = spectral_start(replace(problem, rank=9))
    assert start.shape == (4, 9)
    assert np.isfinite(start).all()


def test_many_objects_have_nearly_the_leading_eigenvectors():
    judgments = gaussian(350, 40_000)
    pull = dense_pull(judgments)
    exact = np.linalg.eigvalsh(pull)[::-1][:2]
    eigenvalues, vectors = laplacian_spectrum(problem_of(judgments), 2)
    assert (eigenvalues <= exact + 1e-12).all()  # those of a subspace
    np.testing.assert_allclose(eigenvalues, exact, rtol=0.1)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(2), atol=1e-10)
    np.testing.assert_allclose(np.diag(vectors.T @ pull @ vectors), eigenvalues)


def test_many_objects_and_few_comparisons():
    """Where no eigenvalue stands out, the Krylov space still finds most of the largest one."""
    judgments = gaussian(350, 3000)
    eigenvalues, _ = laplacian_spectrum(problem_of(judgments), 2)
    assert eigenvalues[0] > 0.85 * np.linalg.eigvalsh(dense_pull(judgments))[-1]


@pytest.mark.parametrize(
    ("n_seen", "rank", "n_objects"), [(60, 10, 400), (60, 40, 400), (301, 50, 400), (301, 300, 301), (400, 199, 400)]
)
def test_where_dimensions_are_many_beside_objects_that_are_compared(n_seen, rank, n_objects):
    """A space with more columns would find its eigenvalues several times, and one block of it hardly any of them."""
    judgments = gaussian(n_seen, 20 * n_seen, n_objects=n_objects)
    eigenvalues, vectors = laplacian_spectrum(problem_of(judgments), rank)
    exact = np.linalg.eigvalsh(dense_pull(judgments))[::-1][:rank]
    # Objects that nothing mentions have eigenvalue 0, which may come before those below it.
    np.testing.assert_allclose(np.maximum(eigenvalues, 0), np.maximum(exact, 0), atol=1e-12)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(rank), atol=1e-9)


def test_as_many_dimensions_as_objects_allow():
    judgments = gaussian(301, 6000)
    assert GNMDS(300, solver=Factored(max_iter=3)).fit(judgments).embedding_.shape == (301, 300)


def test_a_known_spectrum_is_not_worked_out_again():
    problem = problem_of(gaussian(20, 300))
    known = laplacian_spectrum(problem, 3)
    again = laplacian_spectrum(FactoredProblem(problem.source, problem.loss, spectrum=known), 2)
    assert again is known


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("start", STARTS)
def test_objects_in_no_comparison_start_at_the_origin(start, loss):
    problem = problem_of(gaussian(20, 300, n_objects=25), loss)
    points = STARTS[start](problem, rng())
    np.testing.assert_allclose(points[20:], 0, atol=1e-12)
    assert np.abs(points[:20]).min() > 0


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("dimension", [2, 5])
def test_the_spectral_start_beats_a_random_one(loss, dimension):
    for seed in range(3):
        judgments = gaussian(40, 2000, dimension, seed)
        problem = problem_of(judgments, loss, dimension)
        spectral, random = (comparison_error(judgments, make(problem, rng())) for make in STARTS.values())
        assert spectral < 0.3
        assert random > 0.4


def test_the_spectral_start_of_many_objects_beats_a_random_one():
    judgments = gaussian(400, 20_000)
    problem = problem_of(judgments)
    assert comparison_error(judgments, spectral_start(problem)) < 0.3
    assert comparison_error(judgments, random_start(problem, rng())) > 0.45


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("start", STARTS)
def test_a_start_never_collapses(start, loss):
    """Random answers fit best at a point, from which no descent would ever leave."""
    rows = random_quadruplets(np.random.default_rng(1), 15, 200, "triplets")[:, [0, 1, 3]]
    problem = problem_of(Comparisons.from_triplets(rows, n_objects=15), loss)
    points = STARTS[start](problem, rng())
    squares = ((points[:, None] - points) ** 2).sum(axis=2)
    typical = np.abs(squares[rows[:, 0], rows[:, 2]] - squares[rows[:, 0], rows[:, 1]]).mean()
    assert 0.099 < typical < 101
    assert np.abs(problem.objective_and_gradient(points)[1]).max() > 1e-4


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_the_size_suits_the_loss(loss):
    """No other size within the bounds, a typical margin of 0.1 to 100, has a loss that is clearly lower."""
    judgments = gaussian(30, 1000)
    problem = problem_of(judgments, loss)
    points = spectral_start(problem)
    cost = problem.loss_and_gradient(points)[0]
    assert cost < problem.objective_at_zero
    typical = np.abs(MarginMap.from_quadruplets(judgments.oriented, 30)(points @ points.T)).mean()
    for margin in np.geomspace(0.1, 100, 50):
        assert cost <= 1.02 * problem.loss_and_gradient(points * np.sqrt(margin / typical))[0]


def test_groups_that_no_comparison_connects_each_get_all_dimensions():
    """Their eigenvectors are separate: the leading ones of all may leave a group flat, and its descent with it."""
    judgments = gaussian(20, 500)
    both = Comparisons.from_triplets(np.concatenate([judgments.rows, judgments.rows + 20]), n_objects=40)
    points = spectral_start(problem_of(both))
    for group in (points[:20], points[20:]):
        assert np.linalg.svd(group - group.mean(axis=0), compute_uv=False)[1] > 1e-3


def test_random_starts_follow_the_generator():
    problem = problem_of(gaussian(20, 300))
    first, again, other = (random_start(problem, np.random.default_rng(seed)) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 0.01


def test_weights_of_zero_in_the_whole_sample_do_no_harm():
    judgments = gaussian(20, 300)
    weights = np.zeros(300)
    weights[-1] = 1.0
    weighted = Comparisons.from_triplets(judgments.rows, judgments.answers, weights=weights, n_objects=20)
    assert np.isfinite(spectral_start(problem_of(weighted))).all()


SMOOTH = [
    Hinge(2),
    Hinge(3.5),
    TwoSidedHinge(0.5, 2),
    TwoSidedHinge(1.0, 2),
    Logistic(),
    StudentT(1.0),
    StudentT(2.0),
    CrowdKernel(1.0),
    DistanceHinge(),
]
KINKED = [Hinge(1), TwoSidedHinge(0.5, 1)]
N = 12


def noisy(kind="triplets", n=N, m=150, seed=0):
    """Answers at random: nothing fits them, and minima are many."""
    rows = random_quadruplets(np.random.default_rng(seed), n, m, kind)
    return Comparisons.from_quadruplets(rows, n_objects=n)


def easy(n=15, m=500, dimension=2, seed=0):
    return sample_triplets(make_gaussian(n, dimension, random_state=seed), m, random_state=seed)


def over_points(judgments, loss, trace=0.01, **settings):
    return FactoredProblem(InMemory(judgments), loss, trace, **settings)


def over_gram(judgments, loss, trace=0.01):
    margins = MarginMap.from_quadruplets(judgments.oriented, judgments.n_objects)
    return Problem(margins, loss, judgments.sample_weight, trace)


def run(problem, solver, seed=0, callback=None):
    return solve(problem, solver, rng=np.random.default_rng(seed), callback=callback)


@pytest.mark.parametrize("start", ["spectral", "random"])
@pytest.mark.parametrize("loss", [*SMOOTH, *KINKED], ids=str)
def test_the_objective_never_rises_within_a_stage(loss, start, kind):
    """Progress and gradient are those of the iterate at the penalty of its stage, also where the stage changes."""
    problem, solver = (
        over_points(noisy(kind), loss, 1e-5, ridge=0.002),
        Factored(start=start, path=(0.3, 0.03, 0.003)),
    )
    state = solver.init(problem, None, np.random.default_rng(0))
    stages = [state.path]
    for _ in range(60):
        if solver.done(problem, state):
            break
        before, state = state, solver.step(problem, state)
        value, gradient = problem.objective_and_gradient(state.iterate, state.path[0])
        assert state.progress.objective == pytest.approx(value, rel=1e-9)
        np.testing.assert_allclose(state.gradient, gradient, atol=1e-9)
        assert value <= problem.objective_and_gradient(before.iterate, state.path[0])[0] + 1e-12
        stages.append(state.path)
    assert stages[-1] == (problem.trace,)
    assert len(stages[0]) == 4
    assert list(stages[0]) == sorted(stages[0], reverse=True)
    assert all(later in (earlier, earlier[1:]) for earlier, later in itertools.pairwise(stages))


def test_the_curvature_carries_over_to_the_next_penalty():
    """What H is made of, steps and changes of the gradient, are those at the present penalty."""
    problem, solver = over_points(noisy(), Logistic(), 1e-5), Factored()
    state = solver.init(problem, None, np.random.default_rng(0))
    moves, n_carried = [], 0
    for _ in range(40):
        before, state = state, solver.step(problem, state)
        moves.append((before.iterate, state.iterate))
        for pair in state.pairs if state.path != before.path else ():
            (ends,) = ((a, b) for a, b in moves if np.allclose(b - a, pair.step, rtol=0, atol=1e-12))
            first, last = (problem.objective_and_gradient(end, state.path[0])[1] for end in ends)
            np.testing.assert_allclose(pair.change, last - first, atol=1e-10)
            assert pair.product == pytest.approx(np.vdot(pair.step, pair.change))
            n_carried += 1
    assert n_carried > 5


def test_a_large_tolerance_does_not_end_it_before_the_penalty_asked_for():
    problem = over_points(easy(), Hinge(), 1e-5)
    solution = run(problem, Factored(tol=0.5))
    assert solution.outcome is Outcome.CONVERGED
    assert solution.history[-1].objective == pytest.approx(problem.objective_and_gradient(solution.value)[0])


def refined(problem, points):
    """The objective that SciPy reaches from there."""

    def cost(flat):
        value, gradient = problem.objective_and_gradient(flat.reshape(points.shape))
        return value, gradient.ravel()

    options = {"ftol": 1e-15, "gtol": 1e-12, "maxiter": 2000}
    return minimize(cost, points.ravel(), jac=True, method="L-BFGS-B", options=options).fun


@pytest.mark.parametrize("data", [noisy, easy])
@pytest.mark.parametrize("loss", SMOOTH, ids=str)
def test_ends_where_scipy_finds_nothing_better(loss, data):
    problem = over_points(data(), loss)
    solution = run(problem, Factored(tol=1e-9, max_iter=5000))
    assert solution.outcome.ok
    objective = solution.history[-1].objective
    assert problem.objective_and_gradient(solution.value)[0] == objective
    assert objective - refined(problem, solution.value) < 1e-5 * problem.objective_at_zero


@pytest.mark.parametrize("loss", SMOOTH, ids=str)
def test_the_default_tolerance_ends_near_a_minimum(loss):
    problem = over_points(easy(), loss)
    solution = run(problem, Factored())
    assert solution.outcome is Outcome.CONVERGED
    assert solution.history[-1].objective - refined(problem, solution.value) < 0.01 * problem.objective_at_zero


@pytest.mark.parametrize("loss", KINKED, ids=str)
def test_kinks_hold_it_short_of_a_minimum_but_not_by_much(loss):
    problem = over_points(easy(), loss)
    solution = run(problem, Factored(tol=1e-9, max_iter=5000))
    assert solution.outcome.ok
    assert solution.history[-1].objective - refined(problem, solution.value) < 0.05 * problem.objective_at_zero


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(
    "loss", [Hinge(2), TwoSidedHinge(0.5, 2), Logistic(), StudentT(1.0), CrowdKernel(1.0)], ids=str
)
def test_agrees_with_projected_descent_at_equal_rank(loss, seed):
    judgments = easy(seed=seed)
    gram = over_gram(judgments, loss)
    projected = gram.objective(run(gram, Projected(rank=2, tol=1e-9, max_iter=20_000)).value.matrix)
    problem = over_points(judgments, loss)
    factored = run(problem, Factored(tol=1e-9, max_iter=5000)).history[-1].objective
    assert factored == pytest.approx(projected, rel=1e-3)


def above_the_convex_minimum(loss, start, seed):
    """How far descent at p = n ends above the minimum that ADMM proves, as a share of it."""
    judgments = easy(10, 120, 4, seed)
    gram = over_gram(judgments, loss, 0.02)
    convex = gram.objective(run(gram, ADMM(tol=1e-8)).value.matrix)
    problem = over_points(judgments, loss, 0.02)
    found = run(replace(problem, rank=10), Factored(tol=1e-9, max_iter=5000, start=start)).history[-1].objective
    return found / convex - 1


@pytest.mark.parametrize("loss", [Hinge(2), TwoSidedHinge(0.5, 2), TwoSidedHinge(1.0, 2)], ids=str)
def test_at_full_rank_there_are_no_spurious_minima(loss):
    for seed in range(3):
        assert above_the_convex_minimum(loss, "random", seed) == pytest.approx(0, abs=1e-5)


@pytest.mark.parametrize("loss", [Hinge(2), TwoSidedHinge(0.5, 2), TwoSidedHinge(1.0, 2)], ids=str)
def test_the_spectral_start_uses_all_dimensions(loss):
    for seed in range(3):
        assert above_the_convex_minimum(loss, "spectral", seed) == pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize("estimator", [GNMDS(), STE(), TSTE()], ids=str)
def test_groups_that_no_comparison_connects_are_fitted_as_well_as_one(estimator):
    one = easy(20, 700)
    three = np.concatenate([one.rows, one.rows + 20, one.rows + 40])
    assert estimator.fit(three).score(three) > estimator.fit(one).score(one) - 0.05


def test_a_map_to_go_on_from_is_gone_on_from():
    problem = over_points(easy(), Logistic())
    first = run(problem, Factored(max_iter=30))
    again = run(problem, Factored(start=first.value, tol=1e-7))
    assert again.history[0].objective == pytest.approx(problem.objective_and_gradient(first.value)[0])
    assert again.history[0].objective == pytest.approx(first.history[-1].objective)
    assert again.history[-1].objective <= first.history[-1].objective
    settled = run(problem, Factored(start=again.value, tol=1e-7))
    assert settled.n_iter <= 10
    np.testing.assert_allclose(settled.value, again.value, atol=0.05)


def test_the_given_start_is_left_as_it_was():
    problem, start = over_points(easy(), Hinge()), make_gaussian(15, 2, random_state=3)
    kept = start.copy()
    run(problem, Factored(start=start))
    np.testing.assert_array_equal(start, kept)
    columns_first = run(problem, Factored(start=np.asfortranarray(start)))
    np.testing.assert_array_equal(columns_first.value, run(problem, Factored(start=start)).value)


def test_n_init_keeps_the_lowest_objective(monkeypatch):
    found = []

    def recorded(*arguments, **keywords):
        found.append(solve(*arguments, **keywords))
        return found[-1]

    monkeypatch.setattr(descent, "solve", recorded)
    model = TSTE(2, solver=Factored(n_init=5, start="random"), random_state=1).fit(noisy(n=20, m=300))
    objectives = [solution.history[-1].objective for solution in found]
    assert len(objectives) == 5
    assert len(set(objectives)) > 1
    assert np.argmin(objectives) != 0  # or this test could not fail
    assert model.history_[-1].objective == min(objectives)
    problem = over_points(model.comparisons_, StudentT(1.0), model.trace_)
    assert problem.objective_and_gradient(model.embedding_)[0] == pytest.approx(min(objectives), rel=1e-6)


def test_starts_after_the_first_are_random():
    first, *others = Factored(n_init=3).descents()
    assert first.start == "spectral"
    assert [other.start for other in others] == ["random", "random"]


def test_validation_stops_early_at_the_least_held_out_error(monkeypatch):
    judgments = noisy(n=20, m=400)
    train, judge = judgments.split(0.3, random_state=0)
    errors = []
    plain = FactoredProblem.held_out_error

    def recorded(problem, points):
        errors.append(plain(problem, points))
        return errors[-1]

    monkeypatch.setattr(FactoredProblem, "held_out_error", recorded)
    problem = over_points(train, Logistic(), 1e-5, held_out=as_rows(judge))
    solution = run(replace(problem, rank=5), Factored(patience=7))
    assert solution.outcome is Outcome.HELD_OUT
    assert solution.outcome.ok
    assert len(errors) - 1 - int(np.argmin(errors)) == 7
    assert plain(problem, solution.value) == min(errors)
    assert comparison_error(judge, solution.value) == pytest.approx(min(errors))
    assert errors[-1] > min(errors)
    to_the_end = run(over_points(train, Logistic(), 1e-5, rank=5), Factored())
    assert solution.n_iter < to_the_end.n_iter


def test_validation_of_an_estimator_holds_comparisons_out():
    judgments = easy(20, 800)
    model = GNMDS(solver=Factored(validation=0.2), random_state=0).fit(judgments)
    assert model.converged_
    assert len(model.comparisons_) == 800
    assert model.score(judgments) > 0.9
    again = GNMDS(solver=Factored(validation=0.2), random_state=0).fit(judgments)
    np.testing.assert_array_equal(again.embedding_, model.embedding_)
    other = GNMDS(solver=Factored(validation=0.2), random_state=1).fit(judgments)
    assert np.abs(other.embedding_ - model.embedding_).max() > 1e-6


@pytest.mark.parametrize("loss", SMOOTH, ids=str)
def test_float32_ends_as_low(loss):
    problem = over_points(easy(), loss)
    wide, narrow = (run(problem, Factored(dtype=dtype)) for dtype in ("float64", "float32"))
    assert narrow.value.dtype == np.float32
    assert wide.value.dtype == np.float64
    assert narrow.outcome.ok
    assert narrow.history[-1].objective == pytest.approx(
        wide.history[-1].objective, abs=2e-3 * problem.objective_at_zero
    )


def test_the_map_of_an_estimator_is_float64():
    judgments = easy()
    model = STE(solver=Factored(dtype="float32")).fit(judgments)
    assert model.embedding_.dtype == np.float64
    assert model.score(judgments) > 0.95


def test_running_out_of_iterations_warns_and_leaves_a_result():
    with pytest.warns(ConvergenceWarning, match=r"iterations ran out.*Factored.*max_iter above 4"):
        model = STE(solver=Factored(max_iter=4)).fit(easy())
    assert not model.converged_
    assert model.n_iter_ == 4
    assert model.score(easy()) > 0.8


def test_a_normal_fit_is_silent():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for estimator in (GNMDS(), STE(), TSTE(), DMOE(solver="factored")):
            assert estimator.fit(easy()).converged_


@pytest.mark.parametrize("loss", [Hinge(2), Logistic()], ids=str)
def test_the_path_leads_to_better_maps_where_minima_are_many(loss):
    errors = []
    for seed in range(5):
        truth = make_gaussian(300, 5, random_state=seed)
        train = sample_triplets(truth, 3000, random_state=seed)
        test = sample_triplets(truth, 5000, random_state=100 + seed)
        problem = over_points(train, loss, 1e-6)
        solvers = Factored(), Factored(path=())
        errors.append([comparison_error(test, run(replace(problem, rank=5), solver).value) for solver in solvers])
    with_path, without = np.mean(errors, axis=0)
    assert with_path < without - 0.01


def test_a_stage_above_the_penalty_asked_for_is_left_out():
    problem = over_points(easy(), Hinge(), 0.02)
    vanishing = problem.loss.slope_at_zero * fitting.laplacian_spectrum(problem, 2).eigenvalues[0]
    above = [share * vanishing for share in (0.3, 0.03, 0.003) if share * vanishing > 0.02]
    solver = Factored(path=(0.3, 0.03, 0.003))
    assert solver.init(problem, None, np.random.default_rng(0)).path == (*above, 0.02)
    assert 0 < len(above) < 3
    assert len(Factored(path=()).init(problem, None, np.random.default_rng(0)).path) == 1


class Interrupt:
    """A callback that presses Ctrl-C."""

    def __init__(self, after):
        self.after, self.calls = after, []

    def __call__(self, progress):
        self.calls.append(progress)
        if len(self.calls) == self.after:
            raise KeyboardInterrupt


@pytest.mark.parametrize(
    "estimator",
    [
        GNMDS(),
        TSTE(solver=Factored(n_init=3)),
        DMOE(solver="factored"),
        DMOE(solver=ADMM(tol=1e-12, check_every=5)),
        STE(solver="projected"),
    ],
    ids=["factored", "n_init", "DMOE-factored", "admm", "projected"],
)
def test_an_interrupt_leaves_the_best_map_so_far(estimator):
    judgments, callback = easy(), Interrupt(after=3)
    sentence = f"^{type(estimator).__name__}: the fit was interrupted after .* iterations; the best map so far is on"
    with pytest.raises(KeyboardInterrupt), pytest.warns(ConvergenceWarning, match=sentence):
        estimator.fit(judgments, callback=callback)
    assert len(callback.calls) == 3
    assert not estimator.converged_
    assert estimator.embedding_.shape == (15, 2)
    assert np.isfinite(estimator.embedding_).all()
    assert estimator.history_[-1] == callback.calls[-1]
    assert estimator.score(judgments) > 0.6


def test_another_error_in_a_callback_is_not_swallowed():
    def broken(progress):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        GNMDS().fit(easy(), callback=broken)


@pytest.mark.parametrize("estimator", [GNMDS(), DMOE(), STE(solver="projected"), DMOE(solver="factored")], ids=str)
def test_the_callback_gets_the_progress_of_each_iteration(estimator):
    calls = []
    model = estimator.fit(easy(), callback=calls.append)
    assert all(isinstance(call, Progress) for call in calls)
    descents = [[]]  # the iterations of each are counted from 1
    for call in calls:
        if descents[-1] and call.iteration < descents[-1][-1].iteration:
            descents.append([])
        descents[-1].append(call)
    assert any(descent[: len(model.history_) - 1] == model.history_[1:] for descent in descents)
    assert len(descents) >= model.restarts_.tried
    if model.restarts_.tried == 1:
        assert calls[: len(model.history_) - 1] == model.history_[1:]


@pytest.mark.parametrize("estimator", [GNMDS(), STE(), TSTE(), DMOE(solver="factored")], ids=str)
def test_the_number_of_threads_changes_nothing(estimator):
    judgments = sample_triplets(make_gaussian(40, 2, random_state=0))
    assert len(judgments) > 3 * 8192
    one, two = (
        estimator.set_params(solver=Factored(n_threads=n_threads)).fit(judgments).embedding_ for n_threads in (1, 2)
    )
    np.testing.assert_allclose(one, two, atol=1e-10)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_init": 0}, "n_init"),
        ({"memory": 0}, "memory"),
        ({"dtype": "float16"}, "dtype"),
        ({"start": "zero"}, "start"),
        ({"start": np.zeros((4, 2))}, r"shape \(15, 2\)"),
        ({"start": np.zeros((15, 3))}, r"shape \(15, 2\)"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        run(over_points(easy(), Hinge()), Factored(**settings))


def test_problems_that_it_cannot_handle_are_refused():
    with pytest.raises(ValueError, match="rank"):
        run(over_points(easy(), Hinge(), rank=0), Factored())
    with pytest.raises(ValueError, match="FactoredProblem"):
        run(over_gram(easy(), Hinge()), Factored())
    with pytest.raises(ValueError, match="projected"):
        run(over_points(easy(), MeanVariance()), Factored())


def test_an_array_start_may_hold_objects_that_nothing_mentions():
    start = np.random.default_rng(0).normal(size=(20, 2))
    model = STE(n_objects=20, solver=Factored(start=start)).fit(easy().rows)
    again = STE(solver=Factored(start=start[:15])).fit(easy().rows)
    np.testing.assert_array_equal(model.embedding_[:15], again.embedding_)
    assert not model.embedding_[15:].any()

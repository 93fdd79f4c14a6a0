from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from helpers.drawn_rows import random_quadruplets
from sklearn.base import clone

from nearer import Comparisons, Penalty
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import CKL, DMOE, GNMDS, SOE, STE, TSTE
from nearer.model import CrowdKernel, DistanceHinge, Hinge, Logistic, MeanVariance, StudentT, TwoSidedHinge
from nearer.optimize import SVRG, Factored, Outcome, solve
from nearer.optimize.kernels import evaluate
from nearer.optimize.problems.points import FactoredProblem, laplacian_spectrum
from nearer.optimize.problems.sources import InMemory
from nearer.optimize.solvers.svrg import batches, default_batch_size, estimate, sample_problem

LOSSES = [Hinge(2), Logistic(), StudentT(2.0), CrowdKernel(1.0), DistanceHinge()]
N = 40
POINTS = make_gaussian(N, 2, random_state=1)


def noisy(kind="triplets", m=3000, share=0.15, seed=0):
    """Comparisons of POINTS, a share of them answered wrongly, half of them written the other way round."""
    rng = np.random.default_rng(seed)
    rows = random_quadruplets(rng, N, m, kind)
    i, j, l, k = rows.T  # noqa: E741
    holds = ((POINTS[i] - POINTS[j]) ** 2).sum(1) < ((POINTS[l] - POINTS[k]) ** 2).sum(1)
    answers = np.where(holds ^ (rng.random(m) < share), 1, -1)
    make = Comparisons.from_triplets if kind == "triplets" else Comparisons.from_quadruplets
    return make(rows[:, [0, 1, 3]] if kind == "triplets" else rows, answers, weights=rng.random(m), n_objects=N)


def problem_of(comparisons, loss, share=0.003, **settings):
    problem = FactoredProblem(InMemory(comparisons), loss, **settings)
    largest = float(laplacian_spectrum(problem, 2).eigenvalues[0])
    return replace(problem, trace=share * loss.slope_at_zero * largest)


def descend(problem, seed=0, **settings):
    return solve(problem, SVRG(**settings), rng=np.random.default_rng(seed))


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("size", [70, 400])
def test_the_estimate_of_the_gradient_is_unbiased(loss, kind, size):
    """Drawn with probability |b| / m, batches estimate the gradient: their mean under these shares is exact."""
    problem = problem_of(noisy(kind, 1000), loss, ridge=0.01)
    rng = np.random.default_rng(3)
    snapshot, points = rng.normal(size=(2, N, 2))
    gradient = problem.objective_and_gradient(snapshot)[1]
    mean, estimates = np.zeros((N, 2)), []
    for batch in batches(problem.source, size, rng):
        estimates.append(estimate(problem, batch, points, snapshot, gradient))
        mean += len(batch) / len(problem.source) * estimates[-1]
    expected = problem.objective_and_gradient(points)[1]
    np.testing.assert_allclose(mean, expected, atol=1e-12)
    assert len(estimates) == round(1000 / size)
    assert np.abs(estimates[0] - expected).max() > 1e-4  # a single one is not exact


def test_the_estimate_has_no_variance_at_the_snapshot():
    problem = problem_of(noisy(m=500), Hinge(2))
    points = np.random.default_rng(3).normal(size=(N, 2))
    gradient = problem.objective_and_gradient(points)[1]
    for batch in batches(problem.source, 50, np.random.default_rng(0)):
        np.testing.assert_allclose(estimate(problem, batch, points, points, gradient), gradient, atol=1e-14)


def test_batches_hold_every_comparison_once_with_its_answer_and_weight(kind, monkeypatch):
    monkeypatch.setattr("nearer.optimize.solvers.svrg.CHUNK_ROWS", 300)
    comparisons = noisy(kind, 1001)
    parts = list(batches(InMemory(comparisons), 40, np.random.default_rng(0)))
    assert {len(part) for part in parts} <= set(range(35, 46))

    def table(rows, answers, weights):
        columns = np.column_stack([rows, answers, weights])
        return columns[np.lexsort(columns.T)]

    seen = table(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    np.testing.assert_array_equal(seen, table(comparisons.rows, comparisons.answers, comparisons.weights))
    assert not np.array_equal(parts[0].objects, comparisons.rows[: len(parts[0])])


def test_batches_of_sorted_rows_are_about_objects_of_all_kinds(monkeypatch):
    monkeypatch.setattr("nearer.optimize.solvers.svrg.CHUNK_ROWS", 500)
    rows = noisy(m=4000).rows
    sorted_rows = Comparisons.from_triplets(rows[np.argsort(rows[:, 0], kind="stable")], n_objects=N)
    for batch in batches(InMemory(sorted_rows), 100, np.random.default_rng(0)):  # five of them to a chunk
        assert len(np.unique(batch.objects[:, 0])) > 0.75 * N


@pytest.mark.parametrize("path", [(), Factored().path], ids=["no path", "path"])
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_it_descends_as_far_as_lbfgs_on_noisy_answers(loss, path, kind):
    problem = problem_of(noisy(kind), loss)
    best = solve(problem, Factored(path=path), rng=np.random.default_rng(0))
    found = descend(problem, path=path)
    assert found.outcome is Outcome.CONVERGED
    assert found.history[-1].objective <= 1.02 * best.history[-1].objective
    assert found.history[-1].objective == pytest.approx(problem.objective_and_gradient(found.value)[0])


def test_a_small_tolerance_leads_to_a_stationary_point(kind):
    problem = problem_of(noisy(kind), Logistic())
    start = np.linalg.norm(problem.objective_and_gradient(descend(problem, max_iter=1).value)[1])
    found = descend(problem, tol=1e-10, max_iter=1000)
    assert np.linalg.norm(problem.objective_and_gradient(found.value)[1]) < 1e-3 * start


def test_a_sample_does_for_the_path_when_there_are_many_comparisons():
    comparisons = noisy(m=12_000)
    problem = problem_of(comparisons, Logistic())
    sizes = []

    class Spy(InMemory):
        def blocks(self, rng=None):
            sizes.append(len(self))
            return super().blocks(rng)

    found = descend(replace(problem, source=Spy(comparisons)))
    best = solve(problem, Factored(), rng=np.random.default_rng(0))
    assert found.history[-1].objective <= 1.001 * best.history[-1].objective
    assert len(sizes) < 2 * found.n_iter  # an epoch over all comparisons reads them twice


def test_a_sample_keeps_the_scale_and_leaves_no_object_out():
    problem = problem_of(noisy(m=2000), Hinge(2))
    rng = np.random.default_rng(0)
    part = sample_problem(problem, 300, rng)
    assert part is not None
    assert len(part.source) == 300
    assert part.trace == problem.trace
    assert (part.object_weights > 0).all()
    value, points = part.objective_and_gradient, np.random.default_rng(1).normal(size=(N, 2))
    rows = next(part.source.blocks())
    mean = evaluate(problem.loss.compiled, points, rows)[0] / rows.weights.sum()
    assert value(points)[0] == pytest.approx(mean + part.trace * (points**2).sum())
    assert sample_problem(problem, 600, rng) is None  # saves little
    assert sample_problem(problem, 5, rng) is None  # leaves objects out


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_no_epoch_ends_higher_and_steps_that_are_too_long_are_undone(loss, monkeypatch):
    monkeypatch.setattr("nearer.optimize.solvers.svrg._curvature", lambda *_: 1e-6)  # a first step far too long
    problem = problem_of(noisy(), loss)
    found = descend(problem, path=(), max_iter=500, epsilon=1e-9)
    objectives = [progress.objective for progress in found.history]
    assert all(after <= before for before, after in pairwise(objectives))
    assert objectives[1] == objectives[0]  # undone
    assert objectives[-1] < 0.95 * objectives[0]
    assert np.isfinite(found.value).all()


def test_gives_up_where_no_step_helps(monkeypatch):
    monkeypatch.setattr("nearer.optimize.solvers.svrg.estimate", lambda problem, batch, points, snapshot, g, trace: -g)
    found = descend(problem_of(noisy(), Hinge(2)))
    assert found.outcome is Outcome.STALLED
    assert len({progress.objective for progress in found.history}) == 1


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_float32(loss):
    problem = problem_of(noisy(), loss)
    single, double = descend(problem, dtype="float32"), descend(problem)
    assert single.value.dtype == np.float32
    assert single.history[-1].objective == pytest.approx(double.history[-1].objective, rel=0.01)


def test_the_seed_decides_and_the_number_of_threads_does_not():
    problem = problem_of(noisy(m=60_000), Logistic())
    plain = descend(problem, batch_size=20_000).value
    np.testing.assert_array_equal(descend(problem, batch_size=20_000).value, plain)
    threaded = descend(replace(problem, n_threads=2), batch_size=20_000).value
    np.testing.assert_array_equal(descend(replace(problem, n_threads=1), batch_size=20_000).value, threaded)
    assert not np.array_equal(descend(problem, seed=1, batch_size=20_000).value, plain)


def test_only_movable_objects_move():
    movable = np.arange(N) >= 30
    problem = problem_of(noisy(), Hinge(2), movable=movable)
    start = np.random.default_rng(0).normal(size=(N, 2))
    found = descend(problem, start=start)
    np.testing.assert_array_equal(found.value[~movable], start[~movable])
    assert np.abs(found.value[movable] - start[movable]).min() > 0


def test_default_batches_are_neither_many_nor_few():
    assert default_batch_size(3, 5) == 1
    assert default_batch_size(10**5, 10**6) == 10**5
    assert default_batch_size(10**4, 10**8) == 4 * 10**4


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"batch_size": 0}, "batch_size"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"dtype": "int"}, "dtype"),
        ({"start": "zero"}, "start must be"),
        ({"start": np.zeros((3, 2))}, "shape"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        descend(problem_of(noisy(m=100), Hinge(2)), **settings)


def test_losses_and_problems_it_cannot_handle_are_refused():
    with pytest.raises(ValueError, match="rank"):
        descend(problem_of(noisy(m=100), Hinge(2), rank=0))
    with pytest.raises(ValueError, match="no sum over comparisons"):
        descend(FactoredProblem(InMemory(noisy(m=100)), MeanVariance()))
    with pytest.raises(ValueError, match="FactoredProblem"):
        solve(Comparisons.from_triplets([[0, 1, 2]]), SVRG())


@pytest.mark.parametrize("estimator", [GNMDS(), STE(), TSTE(), CKL(), SOE()], ids=lambda e: type(e).__name__)
def test_estimators_predict_as_well_as_with_lbfgs(estimator, kind):
    train, test = noisy(kind), sample_triplets(POINTS, 5000, random_state=7)
    model = clone(estimator).set_params(solver="svrg", random_state=0).fit(train)
    assert model.converged_
    assert isinstance(model.solver_, SVRG)
    assert model.score(test) > estimator.fit(train).score(test) - 0.02
    again = clone(model).fit(train)
    np.testing.assert_array_equal(again.embedding_, model.embedding_)
    more = model.partial_fit(noisy(kind, seed=5))
    assert more.score(test) > 0.85


def test_the_ridge_takes_part():
    problem = problem_of(noisy(), TwoSidedHinge(0.5), ridge=0.05)
    best = solve(problem, Factored(), rng=np.random.default_rng(0)).history[-1].objective
    assert descend(problem).history[-1].objective == pytest.approx(best, rel=0.01)
    model = DMOE(solver=SVRG(), penalty=Penalty(ridge=2), random_state=0).fit(noisy())
    assert model.ridge_ > 0
    assert model.score(sample_triplets(POINTS, 5000, random_state=7)) > 0.85

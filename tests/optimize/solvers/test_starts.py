"""Where a descent over points begins."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.drawn_rows import random_quadruplets

from nearer import Comparisons
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import GNMDS
from nearer.evaluation import comparison_error
from nearer.model import CrowdKernel, DistanceHinge, Hinge, Logistic, StudentT, TwoSidedHinge
from nearer.optimize import Factored
from nearer.optimize.problems.margins import MarginMap
from nearer.optimize.problems.points import FactoredProblem, leading_pull
from nearer.optimize.problems.sources import InMemory
from nearer.optimize.solvers.starts import random_start, spectral_start

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
    eigenvalues, vectors = leading_pull(problem_of(judgments), rank)
    np.testing.assert_allclose(eigenvalues, np.linalg.eigvalsh(pull)[::-1][:rank], atol=1e-14)
    np.testing.assert_allclose(pull @ vectors, vectors * eigenvalues, atol=1e-13)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(rank), atol=1e-12)


def test_more_dimensions_than_objects():
    problem = problem_of(Comparisons.from_triplets([[0, 1, 2], [1, 2, 3]]))
    eigenvalues, vectors = leading_pull(problem, 9)
    assert eigenvalues.shape == (4,)
    assert vectors.shape == (4, 4)
    start = spectral_start(replace(problem, rank=9))
    assert start.shape == (4, 9)
    assert np.isfinite(start).all()


def test_many_objects_have_nearly_the_leading_eigenvectors():
    judgments = gaussian(350, 40_000)
    pull = dense_pull(judgments)
    exact = np.linalg.eigvalsh(pull)[::-1][:2]
    eigenvalues, vectors = leading_pull(problem_of(judgments), 2)
    assert (eigenvalues <= exact + 1e-12).all()  # those of a subspace
    np.testing.assert_allclose(eigenvalues, exact, rtol=0.1)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(2), atol=1e-10)
    np.testing.assert_allclose(np.diag(vectors.T @ pull @ vectors), eigenvalues)


def test_many_objects_and_few_comparisons():
    """Where no eigenvalue stands out, the Krylov space still finds most of the largest one."""
    judgments = gaussian(350, 3000)
    eigenvalues, _ = leading_pull(problem_of(judgments), 2)
    assert eigenvalues[0] > 0.85 * np.linalg.eigvalsh(dense_pull(judgments))[-1]


@pytest.mark.parametrize(
    ("n_seen", "rank", "n_objects"), [(60, 10, 400), (60, 40, 400), (301, 50, 400), (301, 300, 301), (400, 199, 400)]
)
def test_where_dimensions_are_many_beside_objects_that_are_compared(n_seen, rank, n_objects):
    """A space with more columns would find its eigenvalues several times, and one block of it hardly any of them."""
    judgments = gaussian(n_seen, 20 * n_seen, n_objects=n_objects)
    eigenvalues, vectors = leading_pull(problem_of(judgments), rank)
    exact = np.linalg.eigvalsh(dense_pull(judgments))[::-1][:rank]
    # Objects that nothing mentions have eigenvalue 0, which may come before those below it.
    np.testing.assert_allclose(np.maximum(eigenvalues, 0), np.maximum(exact, 0), atol=1e-12)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(rank), atol=1e-9)


def test_as_many_dimensions_as_objects_allow():
    judgments = gaussian(301, 6000)
    assert GNMDS(300, solver=Factored(max_iter=3)).fit(judgments).embedding_.shape == (301, 300)


def test_a_known_spectrum_is_not_worked_out_again():
    problem = problem_of(gaussian(20, 300))
    known = leading_pull(problem, 3)
    again = leading_pull(FactoredProblem(problem.source, problem.loss, spectrum=known), 2)
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

"""The problem over points against that over Gram matrices, its leading eigenpairs, and the units of penalties."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.drawn_rows import random_quadruplets

from nearer import Comparisons, Penalty
from nearer.evaluation import comparison_error
from nearer.model import CrowdKernel, DistanceHinge, Hinge, Logistic, MeanVariance, StudentT, TwoSidedHinge
from nearer.optimize.problems.gram import Problem
from nearer.optimize.problems.margins import MarginMap
from nearer.optimize.problems.points import FactoredProblem, _orthonormal, leading_eigenpairs
from nearer.optimize.problems.sources import InMemory, as_rows

N, M, P = 9, 50, 3
LOSSES = [
    Hinge(1),
    Hinge(2),
    TwoSidedHinge(0.4, 1),
    TwoSidedHinge(1.0, 2),
    TwoSidedHinge(0.5, 3.0),
    Logistic(),
    StudentT(1.0),
    StudentT(2.5),
    CrowdKernel(0.3),
    DistanceHinge(),
]
PENALTIES = [(0.0, 0.0), (0.05, 0.0), (0.0, 0.3), (0.05, 0.3)]


def comparisons(kind="triplets", seed=0, extra=0):
    rng = np.random.default_rng(seed)
    rows = random_quadruplets(rng, N, M, kind)
    make = Comparisons.from_triplets if kind == "triplets" else Comparisons.from_quadruplets
    rows = rows[:, [0, 1, 3]] if kind == "triplets" else rows
    return make(rows, rng.choice([-1, 1], M), weights=rng.uniform(0.1, 2, M), n_objects=N + extra)


def points(seed=0, n=N):
    return np.random.default_rng(seed).normal(size=(n, P))


def over_gram(judgments, loss, trace=0.0, ridge=0.0):
    margins = MarginMap.from_quadruplets(judgments.oriented, judgments.n_objects)
    return Problem(margins, loss, judgments.sample_weight, trace, ridge)


@pytest.mark.parametrize(("trace", "ridge"), PENALTIES)
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_is_the_problem_over_gram_matrices_at_x_x_transposed(loss, trace, ridge, kind):
    judgments, x = comparisons(kind), points()
    value, gradient = FactoredProblem(InMemory(judgments), loss, trace, ridge).objective_and_gradient(x)
    expected, slope = over_gram(judgments, loss, trace, ridge).objective_and_gradient(x @ x.T)
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(gradient, 2 * slope @ x, atol=1e-11)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_gradient_matches_finite_differences(loss):
    problem, x = FactoredProblem(InMemory(comparisons()), loss, trace=0.1, ridge=0.2), points()
    gradient = problem.objective_and_gradient(x)[1]
    for at in np.ndindex(*x.shape):
        bump = np.zeros_like(x)
        bump[at] = 1e-6
        above, below = (problem.objective_and_gradient(x + side * bump)[0] for side in (1, -1))
        assert gradient[at] == pytest.approx((above - below) / 2e-6, abs=1e-6)


def test_another_trace_takes_the_place_of_its_own():
    judgments, x = comparisons(), points()
    problem, other = (FactoredProblem(InMemory(judgments), Logistic(), trace) for trace in (0.1, 0.7))
    for given, expected in zip(
        problem.objective_and_gradient(x, 0.7), other.objective_and_gradient(x, None), strict=True
    ):
        np.testing.assert_array_equal(given, expected)
    assert problem.objective_and_gradient(x, 0.0)[0] == problem.loss_and_gradient(x)[0]


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_float32_points_keep_their_type(loss):
    problem, x = FactoredProblem(InMemory(comparisons()), loss, trace=0.1, ridge=0.2), points()
    value, gradient = problem.objective_and_gradient(x.astype("float32"))
    expected, expected_gradient = problem.objective_and_gradient(x)
    assert gradient.dtype == np.float32
    assert value == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-4, atol=1e-4)


def test_objects_that_may_not_move_have_no_gradient():
    movable = np.arange(N) >= 6
    x, settings = points(), {"trace": 0.1, "ridge": 0.2}
    value, gradient = FactoredProblem(
        InMemory(comparisons()), Logistic(), movable=movable, **settings
    ).objective_and_gradient(x)
    expected, everything = FactoredProblem(InMemory(comparisons()), Logistic(), **settings).objective_and_gradient(x)
    assert value == expected
    assert not gradient[~movable].any()
    np.testing.assert_array_equal(gradient[movable], everything[movable])
    assert everything[~movable].any()


@pytest.mark.parametrize("loss", [Hinge(2), CrowdKernel(1.0), DistanceHinge()], ids=str)
def test_a_repeated_row_is_a_row_of_weight_two(loss, kind):
    judgments, x = comparisons(kind), points()
    counts = np.random.default_rng(1).integers(0, 4, M).clip(0)
    plain = Comparisons.from_quadruplets(judgments.oriented, n_objects=N)
    repeated = plain[np.repeat(np.arange(M), counts)]
    weighted = Comparisons.from_quadruplets(judgments.oriented, weights=counts.astype(float), n_objects=N)
    problems = [FactoredProblem(InMemory(each), loss, 0.1, 0.2) for each in (repeated, weighted)]
    (value, gradient), (other, same) = (problem.objective_and_gradient(x) for problem in problems)
    assert problems[0].total_weight == problems[1].total_weight == counts.sum()
    assert value == pytest.approx(other, rel=1e-12)
    np.testing.assert_allclose(gradient, same, atol=1e-12)
    np.testing.assert_allclose(problems[0].object_weights, problems[1].object_weights)


def test_the_scale_of_the_weights_means_nothing():
    judgments, x = comparisons(), points()
    scaled = Comparisons.from_triplets(judgments.rows, judgments.answers, weights=1e6 * judgments.weights)
    (value, gradient), (other, same) = (
        FactoredProblem(InMemory(each), Hinge(), 0.1).objective_and_gradient(x) for each in (judgments, scaled)
    )
    assert value == pytest.approx(other)
    np.testing.assert_allclose(gradient, same)


def test_pull_is_that_of_the_gram_problem_at_zero(kind):
    """-grad f(0) is the Laplacian times the slope of the loss at 0."""
    judgments, x = comparisons(kind), points()
    problem = FactoredProblem(InMemory(judgments), StudentT(3.0))
    dense = over_gram(judgments, StudentT(3.0)).pull_at_zero
    np.testing.assert_allclose(problem.loss.slope_at_zero * problem.laplacian_product(x), dense @ x, atol=1e-13)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_objective_at_zero(loss):
    problem = FactoredProblem(InMemory(comparisons()), loss, trace=0.1)
    assert problem.objective_at_zero == pytest.approx(problem.objective_and_gradient(np.zeros((N, P)))[0])


def test_mentions_tell_which_objects_nothing_moves():
    judgments = comparisons(extra=2)
    mentions = FactoredProblem(InMemory(judgments), Hinge()).object_weights
    np.testing.assert_allclose(
        mentions, np.bincount(judgments.rows.ravel(), np.repeat(judgments.weights, 3), minlength=N + 2)
    )
    assert not mentions[N:].any()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_held_out_error_is_the_comparison_error(kind, dtype):
    train, test = comparisons(kind, seed=1), comparisons(kind, seed=2)
    problem = FactoredProblem(InMemory(train), Hinge(), held_out=as_rows(test))
    x = points().astype(dtype)
    x[:4] = 0  # ties
    assert problem.held_out_error(x) == pytest.approx(comparison_error(test, x.astype(float)))
    plain = Comparisons.from_quadruplets(test.quadruplets, n_objects=N)
    problem = FactoredProblem(InMemory(train), Hinge(), held_out=as_rows(plain))
    assert problem.held_out_error(x) == pytest.approx(comparison_error(plain, x.astype(float)))
    assert problem.held_out_error(np.zeros((N, P), dtype)) == 0.5


def test_a_sample_is_spread_over_all_rows_with_their_answers_and_weights():
    judgments = comparisons()
    problem = FactoredProblem(InMemory(judgments), Hinge())
    sample = problem.source.sample(20)
    assert 10 <= len(sample) <= 20
    np.testing.assert_array_equal(sample.objects, judgments.rows[::3])
    np.testing.assert_array_equal(sample.answers, judgments.answers[::3])
    np.testing.assert_array_equal(sample.weights, judgments.weights[::3])
    assert len(problem.source.sample(1000)) == M


def test_rows_are_not_copied():
    judgments = comparisons("quadruplets")
    judgments = replace(judgments, rows=judgments.rows.astype(np.int32))
    assert np.shares_memory(InMemory(judgments).rows.objects, judgments.rows)
    assert InMemory(judgments).n_objects == N
    assert len(InMemory(judgments)) == M


def test_a_loss_that_is_no_sum_is_refused():
    with pytest.raises(ValueError, match="projected"):
        FactoredProblem(InMemory(comparisons()), MeanVariance()).objective_and_gradient(points())


def spread(n, n_leading, seed=0):
    """Return a symmetric matrix whose leading eigenvalues stand out, as those of the pull of comparisons do."""
    rng = np.random.default_rng(seed)
    vectors = np.linalg.qr(rng.normal(size=(n, n)))[0]
    values = np.concatenate([np.linspace(4, 2, n_leading), rng.uniform(-1, 1, n - n_leading)])
    return vectors * values @ vectors.T


def in_memory(block):
    return block


def on_device(block):
    torch = pytest.importorskip("torch")
    return torch.tensor(block)


KINDS = [in_memory, on_device]


@pytest.mark.parametrize("kind", KINDS)
def test_pairs_are_those_of_the_dense_matrix(kind):
    matrix = spread(400, 3)
    block = np.random.default_rng(1).normal(size=(400, 5))
    values, vectors = leading_eigenpairs(kind(matrix).__matmul__, kind(block), 3)
    exact_values, exact = np.linalg.eigh(matrix)
    np.testing.assert_allclose(values, exact_values[:-4:-1], rtol=1e-5)
    np.testing.assert_allclose(np.abs(vectors.T @ exact[:, :-4:-1]), np.eye(3), atol=5e-3)
    assert isinstance(vectors, np.ndarray)


def test_a_device_finds_what_memory_finds():
    torch = pytest.importorskip("torch")
    matrix, block = spread(350, 2), np.random.default_rng(1).normal(size=(350, 4))
    expected = leading_eigenpairs(matrix.__matmul__, block, 2)
    found = leading_eigenpairs(torch.tensor(matrix).__matmul__, torch.tensor(block), 2)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-11)


@pytest.mark.parametrize("kind", KINDS)
def test_no_eigenvalue_is_found_twice_where_the_space_is_soon_full(kind):
    """A matrix of rank 3: after two blocks there is nothing new, and rounding errors are what is left."""
    factor = np.random.default_rng(0).normal(size=(500, 3))
    matrix = factor @ factor.T
    values, vectors = leading_eigenpairs(
        kind(matrix).__matmul__, kind(np.random.default_rng(1).normal(size=(500, 4))), 4
    )
    np.testing.assert_allclose(values[:3], np.linalg.eigvalsh(matrix)[:-4:-1], rtol=1e-10)
    assert abs(values[3]) < 1e-9 * values[0]
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(4), atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("twice", [False, True])
def test_tall_matrices_get_orthonormal_columns_also_if_they_are_dependent(twice, kind):
    block = np.random.default_rng(0).normal(size=(500, 6)) * np.geomspace(1, 1e6, 6)
    if twice:
        block[:, 3] = block[:, 1] + 1e-9 * block[:, 0]
    basis = np.asarray(_orthonormal(kind(block)))
    np.testing.assert_allclose(basis.T @ basis, np.eye(6), atol=1e-9)
    np.testing.assert_allclose(basis @ (basis.T @ block), block, atol=1e-6 * np.abs(block).max())


def problem(m=40):
    rows = random_quadruplets(np.random.default_rng(0), 8, m, "triplets")
    return Problem(MarginMap.from_quadruplets(rows, 8), TwoSidedHinge(), np.full(m, 2.0))


def test_units():
    penalized = Penalty(trace=0.3, ridge=4.0, diagonal=0.5, specificity=16.0).over_gram_matrices(problem())
    assert penalized.trace == pytest.approx(0.3 * penalized.vanishing_trace)
    assert penalized.ridge == pytest.approx(4 / 80)
    assert penalized.specificity == pytest.approx(16 / 80)
    assert penalized.margins.diagonal == 0.5


def test_the_vanishing_trace_is_that_of_the_weighted_diagonal():
    assert (
        Penalty(diagonal=0.2).over_gram_matrices(problem()).vanishing_trace
        != Penalty().over_gram_matrices(problem()).vanishing_trace
    )


def test_infinite_specificity_is_none():
    assert not Penalty().over_gram_matrices(problem()).has_specificities


@pytest.mark.parametrize("loss", [TwoSidedHinge(0.5, 2), Hinge(1), Logistic(), CrowdKernel(0.5)], ids=str)
def test_the_units_over_points_are_those_over_gram_matrices(loss):
    rows = random_quadruplets(np.random.default_rng(0), 8, 40, "quadruplets")
    comparisons = Comparisons.from_quadruplets(rows, weights=np.full(40, 2.0), n_objects=8)
    points = FactoredProblem(InMemory(comparisons), loss)
    largest = np.linalg.eigvalsh(points.laplacian_product(np.eye(8)))[-1]
    over_points = Penalty(trace=0.3, ridge=4.0).over_points(points, largest)
    gram = Problem(MarginMap.from_quadruplets(rows, 8), loss, np.full(40, 2.0))
    over_gram = Penalty(trace=0.3, ridge=4.0).over_gram_matrices(gram)
    assert over_points.trace == pytest.approx(over_gram.trace)
    assert over_points.ridge == pytest.approx(over_gram.ridge)


def test_a_pull_of_rounding_gives_no_negative_trace():
    comparisons = Comparisons.from_triplets([[0, 1, 2], [0, 2, 1]])
    assert Penalty().over_points(FactoredProblem(InMemory(comparisons), Hinge()), -1e-18).trace == 0


@pytest.mark.parametrize("penalty", [Penalty(diagonal=0.5), Penalty(specificity=10)], ids=str)
def test_what_needs_a_gram_matrix_is_refused_over_points(penalty):
    problem = FactoredProblem(InMemory(Comparisons.from_triplets([[0, 1, 2]])), Hinge())
    with pytest.raises(ValueError, match="Gram matrix"):
        penalty.over_points(problem, 1.0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"trace": -0.1}, "trace"),
        ({"trace": np.nan}, "trace"),
        ({"ridge": np.inf}, "ridge"),
        ({"diagonal": -1}, "diagonal"),
        ({"specificity": 0}, "specificity"),
        ({"specificity": np.nan}, "specificity"),
        ({"trace": "0.1"}, "trace"),
        ({"specificity": "none"}, "specificity"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        Penalty(**settings)


def test_what_is_open_is_filled_and_nothing_else():
    half_open = Penalty(trace=None, ridge=2.0, diagonal=None)
    assert half_open.is_open
    assert Penalty.open().is_open
    assert not Penalty().is_open
    assert half_open.filled_from(Penalty(0.3, 5.0, 0.4, 20.0)) == Penalty(0.3, 2.0, 0.4)
    assert Penalty.open().filled_from(Penalty()) == Penalty()


@pytest.mark.parametrize("name", ["trace", "ridge", "diagonal", "specificity"])
def test_an_open_penalty_is_no_penalty(name):
    penalty = Penalty(**{name: None})
    with pytest.raises(ValueError, match="open values"):
        penalty.over_gram_matrices(problem())
    with pytest.raises(ValueError, match="open values"):
        penalty.over_points(FactoredProblem(InMemory(Comparisons.from_triplets([[0, 1, 2]])), Hinge()), 1.0)

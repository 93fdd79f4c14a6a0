import numpy as np
import pytest
from helpers.drawn_rows import random_quadruplets

from nearer import Comparisons, Penalty
from nearer.model import CrowdKernel, Hinge, Logistic, TwoSidedHinge
from nearer.optimize.problems.gram import Problem
from nearer.optimize.problems.margins import MarginMap
from nearer.optimize.problems.points import FactoredProblem
from nearer.optimize.problems.sources import InMemory


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
    largest = np.linalg.eigvalsh(points.pull(np.eye(8)))[-1]
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
    assert half_open.filled(Penalty(0.3, 5.0, 0.4, 20.0)) == Penalty(0.3, 2.0, 0.4)
    assert Penalty.open().filled(Penalty()) == Penalty()


@pytest.mark.parametrize("name", ["trace", "ridge", "diagonal", "specificity"])
def test_an_open_penalty_is_no_penalty(name):
    penalty = Penalty(**{name: None})
    with pytest.raises(ValueError, match="open values"):
        penalty.over_gram_matrices(problem())
    with pytest.raises(ValueError, match="open values"):
        penalty.over_points(FactoredProblem(InMemory(Comparisons.from_triplets([[0, 1, 2]])), Hinge()), 1.0)

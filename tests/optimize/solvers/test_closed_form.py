import numpy as np
import pytest
from helpers.drawn_rows import kernel, random_quadruplets

from nearer.model import TwoSidedHinge
from nearer.optimize import ClosedForm, solve
from nearer.optimize.problems.gram import Problem
from nearer.optimize.problems.margins import MarginMap


def test_is_ridge_regression_of_one_on_the_margins(kind):
    """G = A^T (A A^T + ridge / 2 C^-1)^-1 1, with A as a dense matrix."""
    n, m, ridge = 9, 50, 0.05
    rng = np.random.default_rng(0)
    rows = random_quadruplets(rng, n, m, kind)
    shares = rng.uniform(0.5, 2, m)
    shares /= shares.sum()
    design = np.array([kernel(row, n).ravel() for row in rows])
    expected = design.T @ np.linalg.solve(design @ design.T + ridge / 2 * np.diag(1 / shares), np.ones(m))
    problem = Problem(MarginMap.from_quadruplets(rows, n), TwoSidedHinge(), shares, 0.0, ridge)
    np.testing.assert_allclose(solve(problem, ClosedForm()).value.matrix.ravel(), expected, atol=1e-8)


def test_zero_weights_are_no_trouble():
    rows = random_quadruplets(np.random.default_rng(0), 6, 20, "triplets")
    shares = np.r_[np.full(10, 0.1), np.zeros(10)]
    whole = Problem(MarginMap.from_quadruplets(rows, 6), TwoSidedHinge(), shares, 0.0, 0.1)
    half = Problem(MarginMap.from_quadruplets(rows[:10], 6), TwoSidedHinge(), shares[:10], 0.0, 0.1)
    np.testing.assert_allclose(
        solve(whole, ClosedForm()).value.matrix, solve(half, ClosedForm()).value.matrix, atol=1e-10
    )


@pytest.mark.parametrize(
    "change", [{"trace": 0.1}, {"ridge": 0.0}, {"loss": TwoSidedHinge(nu=0.5)}, {"loss": TwoSidedHinge(power=1)}]
)
def test_refuses_what_it_does_not_solve(change):
    rows = random_quadruplets(np.random.default_rng(0), 6, 20, "triplets")
    settings = {"loss": TwoSidedHinge(), "trace": 0.0, "ridge": 0.1} | change
    problem = Problem(MarginMap.from_quadruplets(rows, 6), weights=np.ones(20), **settings)
    with pytest.raises(ValueError, match="closed"):
        solve(problem, ClosedForm())

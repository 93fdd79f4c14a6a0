"""FORTE: projected descent over Gram matrices against descent over points, written down once more."""

import numpy as np
import pytest
from scipy.optimize import minimize

from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import FORTE, STE
from nearer.optimize import Projected


def objective(points, rows, trace):
    """The mean logistic loss and the penalty, with the gradient, from rows alone."""
    anchor, near, far = rows.T
    to_near, to_far = points[anchor] - points[near], points[anchor] - points[far]
    margins = (to_far**2).sum(axis=1) - (to_near**2).sum(axis=1)
    slopes = (-1 / (1 + np.exp(margins)) / len(rows))[:, None]
    gradient = 2 * trace * points
    np.add.at(gradient, anchor, 2 * slopes * (to_far - to_near))
    np.add.at(gradient, far, -2 * slopes * to_far)
    np.add.at(gradient, near, 2 * slopes * to_near)
    return np.logaddexp(0, -margins).mean() + trace * (points**2).sum(), gradient


def best_over_points(start, rows, trace):
    shape = start.shape

    def cost(flat):
        value, gradient = objective(flat.reshape(shape), rows, trace)
        return value, gradient.ravel()

    return minimize(cost, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 5000, "ftol": 1e-14}).fun


@pytest.mark.parametrize("seed", [0, 1])
def test_with_all_dimensions_it_finds_the_one_minimum(seed):
    n = 8
    triplets = sample_triplets(make_gaussian(n, 2, random_state=seed), 120, flipped=0.1, random_state=seed)
    model = FORTE(n - 1, trace=0.01, solver=Projected(n - 1, tol=1e-10)).fit(triplets)
    found = objective(model.embedding_, triplets.rows, model.trace_)[0]
    assert model.history_[-1].objective == pytest.approx(found, abs=1e-9)
    # Over factors of full rank no local minimum is worse than the best: random starts must agree.
    start = np.random.default_rng(seed).normal(size=(n, n))
    assert found == pytest.approx(best_over_points(start, triplets.rows, model.trace_), abs=1e-6)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_at_rank_p_it_ends_in_a_minimum_over_points(seed):
    triplets = sample_triplets(make_gaussian(20, 2, random_state=seed), 800, logistic_slope=20.0, random_state=seed)
    model = FORTE(2, trace=0.01).fit(triplets)
    found = objective(model.embedding_, triplets.rows, model.trace_)[0]
    assert found <= best_over_points(model.embedding_, triplets.rows, model.trace_) + 1e-3
    told = STE(2, trace=0.01).fit(triplets)
    assert told.trace_ == pytest.approx(model.trace_)
    assert found == pytest.approx(objective(told.embedding_, triplets.rows, told.trace_)[0], abs=1e-3)


def test_by_points_it_is_ste():
    rows = sample_triplets(make_gaussian(12, 2, random_state=0), 200, random_state=0).rows
    ours, theirs = FORTE(solver="factored").fit(rows), STE().fit(rows)
    np.testing.assert_array_equal(ours.embedding_, theirs.embedding_)

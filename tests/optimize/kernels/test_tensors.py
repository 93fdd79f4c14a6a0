"""PyTorch's operations against the compiled loops, which are tested against plain NumPy."""

import numpy as np
import pytest
from helpers.drawn_rows import random_quadruplets

from nearer.model import Compiled, CrowdKernel, DistanceHinge, Hinge, Logistic, SoftHinge, StudentT, TwoSidedHinge
from nearer.optimize import kernels
from nearer.optimize.kernels import Rows

torch = pytest.importorskip("torch")
torch.set_num_threads(1)  # a second one takes five times as long over so little, in waiting
tensors = pytest.importorskip("nearer.optimize.kernels.tensors")

LOSSES = [
    Hinge(1),
    Hinge(2),
    Hinge(3.5),
    TwoSidedHinge(0.3, 2),
    TwoSidedHinge(1.0, 1),
    TwoSidedHinge(0.7, 1.5),
    Logistic(),
    SoftHinge(),
    StudentT(0.4),
    StudentT(1.0),
    StudentT(300.0),
    CrowdKernel(0.05),
    DistanceHinge(),
]
TOLERANCE = {"float64": 1e-10, "float32": 1e-5}


def make(kind, m=60, n=9, p=3, columns="both", seed=0):
    rng = np.random.default_rng(seed)
    rows = random_quadruplets(rng, n, m, kind)
    objects = rows[:, [0, 1, 3]] if kind == "triplets" else rows
    answers, weights = rng.choice([-1, 1], m).astype(np.int8), rng.uniform(0, 2, m)
    parts = (answers if columns in ("answers", "both") else None, weights if columns in ("weights", "both") else None)
    return rng.normal(size=(n, p)), Rows.of(objects, *parts)


def evaluate(compiled, points, rows, dtype="float64"):
    kind = getattr(torch, dtype)
    value, gradient = tensors.evaluate(
        compiled, torch.tensor(points, dtype=kind), tensors.TensorRows.of(rows, "cpu", kind)
    )
    assert value.dtype == torch.float64
    assert gradient.dtype == kind
    return float(value), gradient.numpy()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("columns", ["plain", "answers", "weights", "both"])
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_matches_the_compiled_loops(loss, columns, dtype, kind):
    points, rows = make(kind, columns=columns)
    value, gradient = evaluate(loss.compiled, points, rows, dtype)
    expected, slopes = kernels.evaluate(loss.compiled, points, rows)
    tolerance = TOLERANCE[dtype] * (10 if loss == StudentT(300.0) else 1)  # an exponent of 150
    assert value == pytest.approx(expected, rel=tolerance)
    np.testing.assert_allclose(gradient, slopes, rtol=tolerance, atol=tolerance * np.abs(slopes).max())


def test_the_pull_is_that_of_the_compiled_loops(kind):
    points, rows = make(kind)
    compiled = Compiled("linear")
    ours, theirs = evaluate(compiled, points, rows)[1], kernels.evaluate(compiled, points, rows)[1]
    np.testing.assert_allclose(ours, theirs, atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_at_kinks_and_where_objects_coincide(loss):
    # d2(near) = 0, margin 1: the kink of a hinge, and a distance without a slope; then all objects at one point
    rows = Rows.of(np.array([[0, 1, 2], [2, 0, 1]]))
    for points in (np.array([[0.0], [0.0], [1.0]]), np.zeros((3, 1)), np.array([[0.0], [1e-9], [0.0]])):
        value, gradient = evaluate(loss.compiled, points, rows)
        expected, slopes = kernels.evaluate(loss.compiled, points, rows)
        assert value == pytest.approx(expected, rel=1e-12)
        np.testing.assert_allclose(gradient, slopes, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("loss", [TwoSidedHinge(0.3, 2), Logistic(), StudentT(2.0), DistanceHinge()], ids=str)
def test_gradient_matches_finite_differences(loss, kind):
    points, rows = make(kind, m=20, n=6)
    gradient = evaluate(loss.compiled, points, rows)[1]
    for at in np.ndindex(*points.shape):
        bump = np.zeros_like(points)
        bump[at] = 1e-6
        above, below = (evaluate(loss.compiled, points + sign * bump, rows)[0] for sign in (1, -1))
        assert gradient[at] == pytest.approx((above - below) / 2e-6, rel=1e-5, abs=1e-5)


def test_chunks_change_nothing(monkeypatch, kind):
    points, rows = make(kind, m=101)
    whole = evaluate(Logistic().compiled, points, rows)
    monkeypatch.setattr(tensors, "CHUNK_COORDINATES", 30)
    parts = evaluate(Logistic().compiled, points, rows)
    assert parts[0] == pytest.approx(whole[0], rel=1e-12)
    np.testing.assert_allclose(parts[1], whole[1], atol=1e-12)


def test_rows_are_sorted_by_anchor_with_their_answers_and_weights(kind):
    _, rows = make(kind, m=200)
    there = tensors.TensorRows.of(rows, "cpu", torch.float64)
    assert (there.columns[0].diff() >= 0).all()
    objects = rows.objects.copy()
    turned = rows.answers < 0
    objects[turned] = objects[turned][:, [0, 2, 1] if kind == "triplets" else [2, 3, 0, 1]]
    found = sorted(zip(*there.columns.tolist(), there.weights.tolist(), strict=True))
    assert found == sorted((*row, weight) for row, weight in zip(objects.tolist(), rows.weights.tolist(), strict=True))


def test_far_apart_objects_cost_what_they_should():
    """Nothing overflows, and no weight of 0 makes a cost of infinity NaN, where float32 would hold the result."""
    rows = Rows.of(np.array([[0, 1, 2], [0, 2, 1]]), None, np.array([1.0, 1.0]))
    points = np.array([[0.0], [1.0], [3e3]])
    for loss in LOSSES:
        value, gradient = evaluate(loss.compiled, points, rows, "float32")
        expected, _ = kernels.evaluate(loss.compiled, points, rows)
        assert value == pytest.approx(expected, rel=1e-5)
        assert np.isfinite(gradient).all()


@pytest.mark.parametrize("chunk", [7, 1000])
@pytest.mark.parametrize("columns", ["plain", "both"])
@pytest.mark.parametrize("m", [3, 30, 300])
def test_weights_and_connected_components_are_those_of_the_compiled_loops(m, columns, chunk, kind, monkeypatch):
    monkeypatch.setattr(tensors, "CHUNK_COORDINATES", chunk)
    for seed in range(5):
        _, rows = make(kind, m, n=100, columns=columns, seed=seed)
        if rows.weights.size:
            rows = Rows.of(rows.objects, rows.answers, np.where(np.arange(m) % 3, rows.weights, 0))
        parents = np.arange(110)
        kernels.union(rows, parents)
        while not np.array_equal(parents, parents[parents]):
            parents = parents[parents]
        there = tensors.TensorRows.of(rows, "cpu", torch.float64)
        np.testing.assert_allclose(
            tensors.object_weights(there, 110).numpy(), kernels.object_weights(rows, 110), atol=1e-12
        )
        np.testing.assert_array_equal(tensors.connected_components(there, 110).numpy(), parents)


@pytest.mark.parametrize("order", ["rising", "falling", "random"])
def test_a_chain_is_one_connected_component(order):
    rising = np.arange(501)
    chain = {"rising": rising, "falling": rising[::-1], "random": np.random.default_rng(0).permutation(501)}[order]
    rows = Rows.of(np.column_stack([chain[1:-1:2], chain[:-2:2], chain[2::2]]))
    assert not tensors.connected_components(tensors.TensorRows.of(rows, "cpu", torch.float64), 501).any()

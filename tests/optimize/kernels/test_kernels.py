"""The compiled loops against plain NumPy, and what the module promises: threads, forks, caches and memory."""

import multiprocessing
import os
import shutil
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from helpers.drawn_rows import random_quadruplets
from numba.core.errors import TypingError

import nearer
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import GNMDS
from nearer.model import Compiled, CrowdKernel, DistanceHinge, Hinge, Logistic, SoftHinge, StudentT, TwoSidedHinge
from nearer.optimize import Factored, kernels
from nearer.optimize.kernels import Rows, compiling
from nearer.optimize.kernels import points as kernel_points
from nearer.optimize.problems.margins import MarginMap

ONE_OF_EACH = [TwoSidedHinge(0.3, 2), Logistic(), StudentT(2.0), DistanceHinge()]
LOSSES = [
    *ONE_OF_EACH,
    SoftHinge(),
    Hinge(1),
    Hinge(2),
    Hinge(3.5),
    TwoSidedHinge(1.0, 1),
    TwoSidedHinge(0.7, 1.5),
    StudentT(1.0),  # exponent 1
    StudentT(0.4),  # exponent 0.7: neither whole nor half, below 1
    StudentT(7.3),
    StudentT(126.0),  # exponent 63.5, the last by products
    StudentT(300.0),  # exponent 150.5: too many products
    CrowdKernel(0.05),
    CrowdKernel(3.0),
]
# Of float32 points: sums of squares carry a relative error of 1e-7, and differences of them more.
TOLERANCE = {"float64": {"rtol": 1e-11, "atol": 1e-11}, "float32": {"rtol": 2e-4, "atol": 2e-4}}


def quadruplets_of(objects, answers=None):
    """Near pair and far pair, answers applied: what a row means."""
    rows = objects[:, [0, 1, 0, 2]] if objects.shape[1] == 3 else objects.copy()
    if answers is not None:
        rows[answers < 0] = rows[answers < 0][:, [2, 3, 0, 1]]
    return rows


def distances(points, objects, answers=None):
    points = np.asarray(points, np.float64)
    i, j, l, k = quadruplets_of(objects, answers).T  # noqa: E741
    return ((points[i] - points[j]) ** 2).sum(axis=1), ((points[l] - points[k]) ** 2).sum(axis=1)


def numpy_reference(loss, points, objects, answers=None, weights=None):
    """The loops in plain NumPy: the loss of the distances, and the chain rule."""
    points = np.asarray(points, np.float64)
    weights = np.ones(len(objects)) if weights is None else weights
    value, near, far = loss.evaluate(*distances(points, objects, answers), weights)
    i, j, l, k = quadruplets_of(objects, answers).T  # noqa: E741
    gradient = np.zeros_like(points)
    for slopes, a, b in ((near, i, j), (far, l, k)):
        push = 2 * slopes[:, None] * (points[a] - points[b])
        np.add.at(gradient, a, push)
        np.add.at(gradient, b, -push)
    return value, gradient


def make(kind="triplets", n=9, m=60, p=3, dtype="float64", index="int64", seed=0):
    rng = np.random.default_rng(seed)
    rows = random_quadruplets(rng, n, m, kind).astype(index)
    objects = np.ascontiguousarray(rows[:, [0, 1, 3]] if kind == "triplets" else rows)
    answers = rng.choice([-1, 1], m).astype(np.int8)
    weights = rng.uniform(0, 2, m)
    weights[0] = 0
    return rng.normal(size=(n, p)).astype(dtype), objects, answers, weights


def many(m=100_003, n=40, p=2, seed=1):
    rng = np.random.default_rng(seed)
    i, shift, other = rng.integers(n, size=m), rng.integers(1, n, m), rng.integers(1, n - 1, m)
    j = (i + shift) % n
    k = (i + 1 + (shift - 1 + other) % (n - 1)) % n
    return rng.normal(size=(n, p)), np.column_stack([i, j, k]), rng.choice([-1, 1], m), rng.uniform(0, 2, m)


@pytest.mark.parametrize("columns", ["plain", "answers", "weights", "both"])
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_matches_numpy(loss, kind, columns):
    points, objects, answers, weights = make(kind)
    answers = answers if columns in ("answers", "both") else None
    weights = weights if columns in ("weights", "both") else None
    value, gradient = kernels.evaluate(loss.compiled, points, Rows.of(objects, answers, weights))
    expected, expected_gradient = numpy_reference(loss, points, objects, answers, weights)
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(gradient, expected_gradient, **TOLERANCE["float64"])


@pytest.mark.parametrize("loss", ONE_OF_EACH, ids=str)
def test_float32_and_int32_match_numpy(loss, kind):
    points, objects, answers, weights = make(kind, dtype="float32", index="int32")
    for columns in ((None, None), (answers, weights)):
        value, gradient = kernels.evaluate(loss.compiled, points, Rows.of(objects, *columns))
        expected, expected_gradient = numpy_reference(loss, points, objects, *columns)
        assert gradient.dtype == np.float32
        assert value == pytest.approx(expected, rel=1e-5)
        np.testing.assert_allclose(gradient, expected_gradient, **TOLERANCE["float32"])


def test_the_width_of_the_indices_changes_nothing(kind):
    points, objects, answers, weights = make(kind)
    wide, narrow = (
        kernels.evaluate(Hinge().compiled, points, Rows.of(objects.astype(index), answers, weights))
        for index in ("int64", "int32")
    )
    assert wide[0] == narrow[0]
    np.testing.assert_array_equal(wide[1], narrow[1])


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_gradient_matches_finite_differences(loss, kind):
    points, objects, answers, weights = make(kind, n=6, m=20)
    rows = Rows.of(objects, answers, weights)
    gradient = kernels.evaluate(loss.compiled, points, rows)[1]
    for at in np.ndindex(*points.shape):
        bump = np.zeros_like(points)
        bump[at] = 1e-6
        above, below = (kernels.evaluate(loss.compiled, points + side * bump, rows)[0] for side in (1, -1))
        assert gradient[at] == pytest.approx((above - below) / 2e-6, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", ONE_OF_EACH, ids=str)
def test_rows_over_several_blocks_match_numpy(loss, weighted):
    points, objects, answers, weights = many(m=4 * compiling.MIN_BLOCK_ROWS + 17)
    weights = weights if weighted else None
    assert len(compiling.block_bounds(len(objects), len(points))) > 3
    value, gradient = kernels.evaluate(loss.compiled, points, Rows.of(objects, answers, weights))
    expected, expected_gradient = numpy_reference(loss, points, objects, answers, weights)
    assert value == pytest.approx(expected, rel=1e-11)
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("dimension", range(1, 12))
def test_every_number_of_columns_is_pushed_whole(dimension, dtype):
    """Columns move four, two and one at a time; rows of quadruplets may share any of their objects."""
    rng = np.random.default_rng(dimension)
    points = rng.normal(size=(5, dimension)).astype(dtype)
    some = [[0, 1, 2, 3], [0, 1, 0, 2], [0, 1, 2, 0], [1, 0, 0, 2], [1, 0, 2, 0], [3, 4, 4, 2]]
    for objects in (np.array(some), np.array([[0, 1, 2], [4, 3, 0]])):
        gradient = kernels.evaluate(Logistic().compiled, points, Rows.of(objects))[1]
        np.testing.assert_allclose(gradient, numpy_reference(Logistic(), points, objects)[1], **TOLERANCE[dtype])


@pytest.mark.parametrize("n_rows", [255, 256, 257, 700])
@pytest.mark.parametrize("loss", ONE_OF_EACH, ids=str)
def test_the_last_tile_may_be_short(loss, n_rows):
    points, objects, answers, weights = make(m=n_rows)
    value, gradient = kernels.evaluate(loss.compiled, points, Rows.of(objects, answers, weights))
    expected, expected_gradient = numpy_reference(loss, points, objects, answers, weights)
    assert value == pytest.approx(expected, rel=1e-11)
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("loss", ONE_OF_EACH, ids=str)
def test_one_row(loss):
    points, objects, *_ = make(m=1)
    value, gradient = kernels.evaluate(loss.compiled, points, Rows.of(objects))
    expected, expected_gradient = numpy_reference(loss, points, objects)
    assert value == pytest.approx(expected)
    np.testing.assert_allclose(gradient, expected_gradient, atol=1e-14)


@pytest.mark.parametrize("n_rows", [255, 256, 257, 1025])
@pytest.mark.parametrize("loss", [Logistic(), CrowdKernel(1.0)], ids=str)
def test_logarithms_of_products_lose_no_row(loss, n_rows):
    """Factors are multiplied 256 at a time: whatever the number of rows, each must count once."""
    points, objects, *_ = make(m=1)
    value, _ = kernels.evaluate(loss.compiled, points, Rows.of(np.repeat(objects, n_rows, axis=0)))
    assert value == pytest.approx(n_rows * numpy_reference(loss, points, objects)[0], rel=1e-12)


@pytest.mark.parametrize("loss", [Logistic(), StudentT(1.0), StudentT(3.0), CrowdKernel(1e-6)], ids=str)
def test_products_of_many_even_odds_do_not_overflow(loss):
    """All objects at one point: every factor is 2, and 2^8000 would be infinite."""
    _, objects, *_ = make(m=8000)
    value, gradient = kernels.evaluate(loss.compiled, np.zeros((9, 2)), Rows.of(objects))
    assert value == pytest.approx(8000 * np.log(2))
    assert not gradient.any()


@pytest.mark.parametrize(
    ("loss", "dtype"), [*((loss, "float64") for loss in LOSSES), *((loss, "float32") for loss in ONE_OF_EACH)], ids=str
)
def test_margins_of_a_million_do_not_overflow(loss, dtype):
    index = "int32" if dtype == "float32" else "int64"
    points, objects, answers, weights = make(dtype=dtype, index=index)
    points *= 1000
    for columns in ((answers, None), (answers, weights)):
        value, gradient = kernels.evaluate(loss.compiled, points, Rows.of(objects, *columns))
        expected, expected_gradient = numpy_reference(loss, points, objects, *columns)
        scale = np.abs(expected_gradient).max()
        assert np.isfinite(gradient).all()
        assert value == pytest.approx(expected, rel=1e-11 if dtype == "float64" else 1e-5)
        np.testing.assert_allclose(gradient / scale, expected_gradient / scale, atol=2e-6 if dtype == "float32" else 0)


@pytest.mark.parametrize("loss", [Hinge(1), Hinge(2), Logistic(), StudentT(2.0), StudentT(1.0), DistanceHinge()])
@pytest.mark.parametrize("size", [1e-200, 1e70])
def test_extreme_sizes_give_no_nan(loss, size):
    points, objects, answers, weights = make()
    for columns in ((answers, None), (answers, weights)):
        value, gradient = kernels.evaluate(loss.compiled, size * points, Rows.of(objects, *columns))
        assert np.isfinite(value)
        assert np.isfinite(gradient).all()
        assert value == pytest.approx(numpy_reference(loss, size * points, objects, *columns)[0], rel=1e-11)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("loss", ONE_OF_EACH, ids=str)
def test_coinciding_points_have_a_finite_gradient(loss, dtype):
    """Object 1 lies on object 0; a distance has no derivative there."""
    points = np.array([[1.0, 2.0], [1.0, 2.0], [0.0, 0.5]], dtype)
    objects = np.array([[0, 1, 2], [0, 2, 1], [1, 0, 2]], "int32" if dtype == "float32" else "int64")
    value, gradient = kernels.evaluate(loss.compiled, points, Rows.of(objects))
    expected, expected_gradient = numpy_reference(loss, points, objects)
    assert value == pytest.approx(expected, rel=1e-6)
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("columns", ["plain", "both"])
@pytest.mark.parametrize("loss", ONE_OF_EACH, ids=str)
def test_any_number_of_threads_gives_the_same_bits(loss, columns):
    points, objects, *both = many()
    rows = Rows.of(objects, *(both if columns == "both" else ()))
    value, gradient = kernels.evaluate(loss.compiled, points, rows, n_threads=1)
    for n_threads in (2, 5, None):
        again, same = kernels.evaluate(loss.compiled, points, rows, n_threads)
        assert again == value
        np.testing.assert_array_equal(same, gradient)


@pytest.mark.parametrize("n_columns", [1, 2, 5, 9, 17])
@pytest.mark.parametrize("loss", [*ONE_OF_EACH, Compiled("linear")], ids=str)
def test_points_that_are_asked_for_in_advance_give_the_same_sums(loss, n_columns, kind, monkeypatch):
    """The first and the last object have nothing before and behind them that could be fetched."""
    rng = np.random.default_rng(n_columns)
    objects = random_quadruplets(rng, 30, 1000, kind)
    rows = Rows.of(objects[:, [0, 1, 3]] if kind == "triplets" else objects)
    points, compiled = rng.normal(size=(30, n_columns)), getattr(loss, "compiled", loss)
    value, gradient = kernels.evaluate(compiled, points, rows)
    near, far = kernels.squared_distances(points, rows)
    assert kernel_points._prefetches(points) is None
    monkeypatch.setattr(kernel_points, "PREFETCH_BYTES", points.nbytes)
    assert kernel_points._prefetches(points)
    again, slopes = kernels.evaluate(compiled, points, rows)
    assert again == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(slopes, gradient, atol=1e-12 * np.abs(gradient).max())
    for ours, theirs in zip(kernels.squared_distances(points, rows), (near, far), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_the_number_of_blocks_depends_on_the_problem_only(monkeypatch):
    before = compiling.block_bounds(100_000, 40)
    monkeypatch.setattr(compiling, "default_threads", lambda: 64)
    assert compiling.block_bounds(100_000, 40) == before
    assert before[0] == 0
    assert before[-1] == 100_000


def test_many_objects_share_few_blocks():
    """Each block has a gradient of its own, which must not cost more than its rows."""
    for n_rows in (1, 100, 8192, 100_000, 1_000_003):
        for n_objects in (3, 1000, 100_000, 10_000_000):
            bounds = compiling.block_bounds(n_rows, n_objects)
            assert bounds[0] == 0
            assert bounds[-1] == n_rows
            assert len(bounds) == 2 or np.diff(bounds).min() >= max(n_objects, 4096)
            assert len(bounds) <= 9  # the memory of eight gradients


def test_pull_is_the_laplacian_of_the_comparisons(kind):
    points, objects, answers, weights = make(kind)
    for columns in ((None, None), (answers, None), (answers, weights)):
        margins = MarginMap.from_quadruplets(quadruplets_of(objects, columns[0]), 9)
        dense = margins.adjoint(np.ones(len(objects)) if columns[1] is None else columns[1])
        twice = kernels.evaluate(Compiled("linear"), points, Rows.of(objects, *columns))[1]
        np.testing.assert_allclose(twice / 2, dense @ points, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_squared_distances(kind, dtype):
    points, objects, answers, _ = make(kind, dtype=dtype)
    for column in (None, answers):
        near, far = kernels.squared_distances(points, Rows.of(objects, column))
        expected = distances(points, objects, column)
        assert near.dtype == far.dtype == np.float64
        np.testing.assert_allclose([near, far], expected, rtol=1e-13 if dtype == "float64" else 1e-5)


def test_squared_distances_over_several_blocks_and_threads():
    points, objects, answers, _ = many()
    expected = distances(points, objects, answers)
    for n_threads in (1, 2, 5):
        found = kernels.squared_distances(points, Rows.of(objects, answers), n_threads)
        np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_mentions(kind):
    _, objects, answers, weights = make(kind)
    width = objects.shape[1]
    np.testing.assert_array_equal(
        kernels.object_weights(Rows.of(objects, answers), 11), np.bincount(objects.ravel(), minlength=11)
    )
    np.testing.assert_allclose(
        kernels.object_weights(Rows.of(objects, answers, weights), 11),
        np.bincount(objects.ravel(), np.repeat(weights, width), minlength=11),
    )


def test_rows_are_read_only_views_and_leave_the_callers_arrays_alone():
    points, objects, answers, weights = make()
    objects = objects.astype(np.int32)
    rows = Rows.of(objects, answers, weights)
    for column, given in zip(rows, (objects, answers, weights), strict=True):
        assert np.shares_memory(column, given)
        assert given.flags.writeable
        assert not column.flags.writeable
    assert len(rows) == len(objects)
    for column in (objects, answers, weights):
        column.flags.writeable = False
    sealed = kernels.evaluate(Hinge().compiled, points, Rows.of(objects, answers, weights))
    np.testing.assert_array_equal(sealed[1], kernels.evaluate(Hinge().compiled, points, rows)[1])


def test_few_rows_of_64_bit_indices_are_narrowed_so_that_one_type_is_compiled(monkeypatch):
    objects = make()[1].astype(np.int64)
    narrow = Rows.of(objects)
    assert narrow.objects.dtype == np.int32
    np.testing.assert_array_equal(narrow.objects, objects)
    monkeypatch.setattr("nearer.data.rows.MAX_COPIED_ROWS", len(objects) - 1)
    assert np.shares_memory(Rows.of(objects).objects, objects)


def test_rows_in_another_layout_are_copied_into_the_right_one():
    points, objects, answers, weights = make()
    plain = kernels.evaluate(Hinge().compiled, points, Rows.of(objects[::2], answers[::2], weights[::2]))
    expected = numpy_reference(Hinge(), points, objects[::2], answers[::2], weights[::2])
    np.testing.assert_allclose(plain[1], expected[1], **TOLERANCE["float64"])
    columns_first = kernels.evaluate(Hinge().compiled, points, Rows.of(np.asfortranarray(objects), answers, weights))
    np.testing.assert_allclose(
        columns_first[1], numpy_reference(Hinge(), points, objects, answers, weights)[1], atol=1e-11
    )


@pytest.mark.parametrize("form", [np.asfortranarray, lambda points: np.hstack([points, points])[:, :2]])
def test_points_in_another_layout_are_refused(form):
    points, objects, *_ = make()
    with pytest.raises(TypingError, match="C order"):
        kernels.evaluate(Hinge().compiled, form(points), Rows.of(objects))


def test_points_that_are_read_only():
    points, objects, *_ = make()
    expected = kernels.evaluate(Hinge().compiled, points, Rows.of(objects))
    points.flags.writeable = False
    value, gradient = kernels.evaluate(Hinge().compiled, points, Rows.of(objects))
    assert value == expected[0]
    np.testing.assert_array_equal(gradient, expected[1])
    assert gradient.flags.writeable


def _value_in_child(connection):
    points, objects, *_ = many()
    connection.send(kernels.evaluate(Hinge().compiled, points, Rows.of(objects), n_threads=2)[0])


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_process_can_use_threads_again():
    points, objects, *_ = many()
    expected = kernels.evaluate(Hinge().compiled, points, Rows.of(objects), n_threads=2)[0]
    assert 2 in compiling.thread_pools
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    child = context.Process(target=_value_in_child, args=(theirs,), daemon=True)
    child.start()
    try:
        assert ours.poll(60), "the forked process waits for threads that it does not have"
        assert ours.recv() == expected
    finally:
        child.kill()
        child.join()


def test_without_a_folder_for_the_cache_the_loops_are_compiled_each_time(tmp_path):
    """Where the package, the home and NUMBA_CACHE_DIR cannot be written to; permission bits would not stop root."""
    package = tmp_path / "nearer"
    shutil.copytree(Path(nearer.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in (package, package / "optimize" / "kernels"):
        (folder / "__pycache__").write_text("no folder")
    nowhere = str(package / "__pycache__" / "below a file")
    places = dict.fromkeys(("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "HOME", "LOCALAPPDATA"), nowhere)
    code = (
        "import numpy as np; from nearer.optimize import kernels; from nearer.model import Hinge\n"
        "value, _ = kernels.evaluate(Hinge().compiled, np.zeros((3, 1)), kernels.Rows.of(np.array([[0, 1, 2]])))\n"
        "print(value, type(kernels.points._hinge._cache).__name__, kernels.__file__)"
    )
    environment = {**os.environ, **places, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    value, cache, where = done.stdout.split(maxsplit=2)
    assert float(value) == 1.0
    assert cache == "NullCache"
    assert where.strip() == str(package / "optimize" / "kernels" / "__init__.py")


def test_nothing_of_size_n_squared_is_made():
    """30,000 objects: an (n, n) matrix of single bytes would be 900 MB."""
    n = 30_000
    triplets = sample_triplets(make_gaussian(n, 2, random_state=0), 60_000, random_state=0)
    model = GNMDS(2, solver=Factored(max_iter=3), n_objects=n, random_state=0)
    GNMDS(2).fit([[0, 1, 2]])  # compiles
    tracemalloc.start()
    try:
        with pytest.warns(UserWarning, match="iterations ran out"):
            model.fit(triplets)
        model.score(triplets)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100e6

"""Sums over comparisons in memory and in files: the same to the last bit."""

from itertools import pairwise

import numpy as np
import pytest

from nearer import Comparisons, ComparisonsFile
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import CKL, STE
from nearer.model import Hinge, Logistic, StudentT
from nearer.optimize import Factored
from nearer.optimize.kernels import compiling, evaluate
from nearer.optimize.kernels import points as kernel_points
from nearer.optimize.problems import sources
from nearer.optimize.problems.sources import InMemory, Streamed, as_source

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

pytestmark = pytest.mark.usefixtures("one_start")
N, M, BLOCK = 40, 6001, 800
ENDS = (0, 3, 1700, 1701, 4444, M)
ROWS = sample_triplets(make_gaussian(N, 2, random_state=0), M, random_state=0).rows.astype(np.int32)
RNG = np.random.default_rng(0)
ANSWERS, WEIGHTS = RNG.choice([-1, 1], M, p=[0.1, 0.9]).astype(np.int8), RNG.random(M)
POINTS = RNG.normal(size=(N, 3))
LOSSES = {"Hinge": Hinge(), "Logistic": Logistic(), "StudentT": StudentT()}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Several blocks, ranges and chunks of few rows."""
    monkeypatch.setattr(sources, "BLOCK_ROWS", BLOCK)
    monkeypatch.setattr(compiling, "MIN_BLOCK_ROWS", 700)
    assert len(compiling.block_bounds(M, N)) == 9


@pytest.fixture(params=["npy", "npy folder", "parquet folder", "weighted parquet"])
def pair(request, tmp_path):
    """The same comparisons in memory and in files."""
    weighted = request.param == "weighted parquet"
    ends = ENDS if request.param != "npy" else (0, M)
    for number, (start, stop) in enumerate(pairwise(ends)):
        if request.param.startswith("npy"):
            np.save(tmp_path / f"part-{number}.npy", ROWS[start:stop])
            continue
        columns = dict(zip(("anchor", "near", "far"), ROWS[start:stop].T, strict=True))
        if weighted:
            columns |= {"answer": ANSWERS[start:stop], "weight": WEIGHTS[start:stop]}
        pq.write_table(pa.table(columns), tmp_path / f"part-{number}.parquet", row_group_size=333)
    answers, weights = (ANSWERS, WEIGHTS) if weighted else (None, None)
    memory = Comparisons.from_triplets(ROWS, answers, weights=weights)
    return InMemory(memory), Streamed(ComparisonsFile(tmp_path, block_rows=BLOCK))


@pytest.mark.parametrize("large", [False, True], ids=["in the cache", "beyond the cache"])
@pytest.mark.parametrize("loss", LOSSES)
def test_losses_and_gradients(pair, loss, large, monkeypatch):
    memory, files = pair
    if large:
        monkeypatch.setattr(kernel_points, "PREFETCH_BYTES", 0)
    compiled = LOSSES[loss].compiled
    value, gradient = memory.evaluate(compiled, POINTS, 1)
    for source, threads in ((memory, 2), (memory, 3), (files, 1), (files, 2), (files, 3), (files, 8)):
        other, slope = source.evaluate(compiled, POINTS, threads)
        assert other == value
        np.testing.assert_array_equal(slope, gradient)
    one, slope = evaluate(compiled, POINTS, memory.rows)
    assert value == pytest.approx(one, rel=1e-12)
    np.testing.assert_allclose(gradient, slope, atol=1e-9)


def test_tallies_and_samples(pair):
    memory, files = pair
    for mine, other in zip(memory.tally, files.tally, strict=True):
        np.testing.assert_array_equal(mine, other)
    for n_rows in (1, 50, 300, 10_000):
        for mine, other in zip(memory.sample(n_rows), files.sample(n_rows), strict=True):
            np.testing.assert_array_equal(mine, other)
    assert len(memory.sample(300)) > 150
    assert len(memory.sample(50)) <= 50


@pytest.mark.parametrize("estimator", [STE, CKL])
def test_maps(pair, estimator):
    memory, files = pair
    maps = [
        estimator(2, solver=Factored(n_threads=threads), random_state=0).fit(source.comparisons).embedding_
        for source in (memory, files)
        for threads in (1, 2)
    ]
    for other in maps[1:]:
        np.testing.assert_array_equal(other, maps[0])


def test_other_blocks_give_the_same_to_rounding(tmp_path):
    np.save(tmp_path / "rows.npy", ROWS)
    value, gradient = InMemory(Comparisons.from_triplets(ROWS)).evaluate(Logistic().compiled, POINTS)
    for block_rows in (8, 77, 10**6):
        file = ComparisonsFile(tmp_path / "rows.npy", block_rows=block_rows)
        other, slope = as_source(file).evaluate(Logistic().compiled, POINTS)
        assert other == pytest.approx(value, rel=1e-12)
        np.testing.assert_array_equal(slope, gradient)


def test_the_sample_comes_from_all_over_the_rows():
    rows = ROWS[np.argsort(ROWS[:, 0], kind="stable")]
    sample = InMemory(Comparisons.from_triplets(rows)).sample(200)
    assert len(set(sample.objects[:, 0])) > 0.35 * N
    assert np.ptp(sample.objects[:, 0]) == N - 1


def test_an_error_in_one_thread_ends_the_others():
    read = []

    def between(cuts):
        for start, stop in pairwise(cuts):
            if start > M // 2:
                raise OSError("the disk is gone")
            read.append(start)
            yield InMemory(Comparisons.from_triplets(ROWS)).rows.take(slice(start, stop))

    with pytest.raises(OSError, match="the disk is gone"):
        kernel_points.evaluate_stream(Hinge().compiled, POINTS, between, M, 10, 2)
    assert len(read) < M // 10

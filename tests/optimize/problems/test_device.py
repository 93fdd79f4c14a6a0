"""Comparisons on a device: the same numbers as those in memory, and clear words where there is no device for them."""

from types import SimpleNamespace

import numpy as np
import pytest
from helpers.drawn_rows import random_quadruplets

from nearer import Comparisons
from nearer._common import devices
from nearer.model import DistanceHinge, Hinge, Logistic, StudentT
from nearer.optimize.problems import sources
from nearer.optimize.problems.points import FactoredProblem, laplacian_spectrum
from nearer.optimize.problems.sources import InMemory, OnDevice, objective_and_gradient

torch = pytest.importorskip("torch")
torch.set_num_threads(1)  # a second one takes five times as long over so little, in waiting
LOSSES = [Hinge(), Logistic(), StudentT(2.0), DistanceHinge()]


def judgments(n=12, m=150, kind="triplets", seed=0):
    rng = np.random.default_rng(seed)
    rows = random_quadruplets(rng, n, m, kind)
    y, weights = rng.choice([-1, 1], m), rng.uniform(0.5, 2, m)
    return Comparisons.from_quadruplets(rows, y, weights=weights, n_objects=n)


def on_both(loss, dtype="float64", **settings):
    host = InMemory(judgments())
    there = OnDevice.copy_of(host, "cpu", dtype)
    return FactoredProblem(host, loss, **settings), FactoredProblem(there, loss, **settings)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_the_objective_is_the_same(loss):
    host, there = on_both(loss, ridge=0.03)
    points = np.random.default_rng(1).normal(size=(12, 2))
    expected, slopes = host.objective_and_gradient(points, 0.1)
    value, gradient = objective_and_gradient(there, torch.tensor(points), torch.tensor(0.1, dtype=torch.float64))
    assert float(value) == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(gradient.numpy(), slopes, atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_points_of_the_host_may_be_evaluated_as_well(loss):
    host, there = on_both(loss)
    for dtype, tolerance in (("float64", 1e-12), ("float32", 1e-5)):
        points = np.random.default_rng(1).normal(size=(12, 2)).astype(dtype)
        expected, slopes = host.objective_and_gradient(points)
        value, gradient = there.objective_and_gradient(points)
        assert gradient.dtype == points.dtype
        assert value == pytest.approx(expected, rel=tolerance)
        np.testing.assert_allclose(gradient, slopes, atol=tolerance)


@pytest.mark.parametrize(("there", "working"), [(True, True), (True, False), (False, False)])
def test_cuda_takes_the_triton_loop_where_that_works(there, working, monkeypatch):
    """With tensors of the CPU under its name: what is chosen depends on the name alone."""
    loops = SimpleNamespace(is_usable=lambda *asked, **more: working, evaluate=lambda *given: "by Triton")
    monkeypatch.setattr(sources, "_triton_loops", lambda: loops if there else None)
    source = OnDevice(InMemory(judgments()), "cuda")
    vars(source)["rows"] = OnDevice(source.host, "cpu").rows
    found = source.evaluate_tensors(Hinge().compiled, torch.zeros((12, 2)))
    assert (found == "by Triton") is working
    assert working or float(found[0]) == pytest.approx(source.host.tally.total_weight, rel=1e-6)


def test_a_sample_is_that_of_the_host_also_beyond_a_block(monkeypatch):
    monkeypatch.setattr("nearer.optimize.problems.sources.BLOCK_ROWS", 32)
    rows = judgments().rows[np.argsort(judgments().rows[:, 0])]
    host = InMemory(Comparisons.from_quadruplets(rows, n_objects=12))
    np.testing.assert_array_equal(OnDevice(host, "cpu").sample(20).objects, host.sample(20).objects)
    assert len(np.unique(host.sample(20).objects[:, 0])) > 6


def test_counts_and_samples_are_those_of_the_host():
    host, there = on_both(Hinge(), "float32")
    for ours, theirs in zip(there.source.tally, host.source.tally, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    assert there.n_connected_components == host.n_connected_components
    assert len(there.source) == len(host.source)
    assert there.source.n_objects == 12
    np.testing.assert_array_equal(there.source.sample(20).objects, host.source.sample(20).objects)


@pytest.mark.parametrize("n", [12, 400])
def test_the_start_is_the_same(n):
    """Also for float32 points: the pull is in float64, and eigenvectors that rounding turns are no start to compare."""
    host = InMemory(judgments(n, 2000))
    there = FactoredProblem(OnDevice.copy_of(host, "cpu"), Hinge())
    expected, found = (laplacian_spectrum(problem, 2) for problem in (FactoredProblem(host, Hinge()), there))
    np.testing.assert_allclose(found.eigenvalues, expected.eigenvalues, rtol=1e-6)
    assert np.abs(np.sum(found.vectors * expected.vectors, axis=0)) == pytest.approx(1, abs=1e-5)


def test_only_what_is_in_memory_can_be_copied():
    _, there = on_both(Hinge())
    with pytest.raises(ValueError, match="needs all comparisons in memory"):
        OnDevice.copy_of(there.source, "cuda")


def test_unknown_devices_are_refused():
    for wrong in ("gpu", "cuda:", "CPU", 0, ""):
        with pytest.raises(ValueError, match="device must be None, 'auto', 'cuda'"):
            devices.available_device(wrong)


def test_missing_devices_are_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert [devices.available_device(each) for each in ("cpu", "cuda", "cuda:1", "auto")] == [
        "cpu",
        "cuda",
        "cuda:1",
        "cuda",
    ]
    with pytest.raises(ValueError, match=r"no device 'cuda:2' here: PyTorch .* finds cpu, cuda:0, cuda:1; check"):
        devices.available_device("cuda:2")
    with pytest.raises(ValueError, match="no device 'mps'"):
        devices.available_device("mps")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match="no device 'cuda' here"):
        devices.available_device("cuda")
    assert devices.available_device("auto") is None
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert devices.available_device("auto") == "mps"


def test_too_little_memory_is_reported_before_it_runs_out(monkeypatch):
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (100_000, 10**9))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: 0)  # earlier tests may have left memory cached
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: 0)
    source = OnDevice(InMemory(judgments()), "cuda")
    with pytest.raises(MemoryError, match=r"150 comparisons of 12 objects in 2 dimensions take about .* GB on 'cuda'"):
        source.check_memory(2, 1000)
    assert "rows" not in vars(source)  # nothing was copied
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (10**9, 10**9))
    source.check_memory(2, 1000)


def test_a_hundred_million_triplets_fit_into_twelve_gigabytes_and_not_into_four(monkeypatch):
    rows = SimpleNamespace(objects=np.empty((0, 3)), weights=np.empty(0))
    many = type("Rows", (), {"__len__": lambda self: 10**8, **vars(rows)})()
    source = OnDevice(SimpleNamespace(rows=many, n_objects=10**5), "cuda")
    monkeypatch.setattr(OnDevice, "__len__", lambda self: 10**8)
    for gigabytes, enough in ((4, False), (12, True)):
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device, free=gigabytes * 10**9: (free, free))
        try:
            source.check_memory(10, 56)
        except MemoryError:
            assert not enough
        else:
            assert enough


def test_without_pytorch_it_says_what_to_install(monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(devices, "import_module", missing)
    for name in ("cuda", "auto", "cpu"):
        with pytest.raises(ImportError, match=rf"device='{name}' needs PyTorch: pip install torch"):
            devices.available_device(name)
